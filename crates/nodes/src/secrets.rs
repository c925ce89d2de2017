//! Secrets in files that others cannot read, the certificate of a server, and the authorities of a client.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

/// The longest file of secrets that is read.
const FILE_MAX: u64 = 1 << 20;
/// The shortest secret that is shared: 128 bits in hexadecimal digits.
const SECRET_MIN: usize = 32;

/// The certificate of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tls {
    /// PEM: the chain of certificates.
    pub(crate) certificate: PathBuf,
    /// PEM: its private key.
    pub(crate) key: PathBuf,
}

/// Reads certificate and key.
pub(crate) fn tls(settings: &Tls) -> Result<ServerConfig, String> {
    let name = settings.certificate.display();
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(&settings.certificate).map_err(|e| format!("{name}: {e}"))?.collect();
    let chain = chain.map_err(|e| format!("{name}: {e}"))?;
    if chain.is_empty() {
        return Err(format!("{name}: it has no certificate; expected PEM"));
    }
    let key = settings.key.display();
    let pem = secret(&settings.key)?;
    let own = PrivateKeyDer::from_pem_slice(pem.as_bytes())
        .map_err(|e| format!("{key}: {e}; expected a private key in PEM"))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, own) // refuses a key of another certificate
        .map_err(|e| format!("{name} and {key}: {e}"))?;
    Ok(config)
}

/// The text of a file that only its owner can read, and that belongs to this process's user or to root.
pub(crate) fn secret(path: &Path) -> Result<String, String> {
    let name = path.display();
    let file = File::open(path).map_err(|e| format!("{name}: {e}"))?;
    // Metadata of the opened file: another file may take its name meanwhile.
    let about = file.metadata().map_err(|e| format!("{name}: {e}"))?;
    if !about.is_file() {
        return Err(format!("{name}: it is no file"));
    }
    if about.mode() & 0o077 != 0 {
        let mode = about.mode() & 0o777;
        return Err(format!("{name}: its mode is {mode:03o}, so that others can use it; chmod 600 {name}"));
    }
    let user = nix::unistd::geteuid().as_raw();
    if about.uid() != user && about.uid() != 0 {
        return Err(format!("{name}: it belongs to user {}; chown {user} {name}", about.uid()));
    }
    let mut text = String::new();
    let read = file.take(FILE_MAX + 1).read_to_string(&mut text).map_err(|e| format!("{name}: {e}"))?;
    if read as u64 > FILE_MAX { Err(format!("{name}: it is longer than 1 MiB")) } else { Ok(text) }
}

/// The secret that PEPs and servers share, in a file that only its owner can read.
pub(crate) fn shared(path: &Path) -> Result<Vec<u8>, String> {
    let text = secret(path)?;
    let text = text.trim_end_matches(['\n', '\r']);
    if text.len() < SECRET_MIN {
        let name = path.display();
        return Err(format!("{name}: shorter than {SECRET_MIN} characters; openssl rand -hex 32 > {name}"));
    }
    Ok(text.as_bytes().to_vec())
}

/// The TLS configuration of a client that trusts these authorities (PEM), or those of the machine.
pub(crate) fn trust(authorities: Option<&Path>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = authorities {
        let wrong = |e: &dyn core::fmt::Display| format!("{}: {e}", path.display());
        for certificate in CertificateDer::pem_file_iter(path).map_err(|e| wrong(&e))? {
            roots.add(certificate.map_err(|e| wrong(&e))?).map_err(|e| wrong(&e))?;
        }
        if roots.is_empty() {
            return Err(wrong(&"it has no certificate"));
        }
    } else {
        // Without any certificate, connections with TLS fail; others do not need them.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
