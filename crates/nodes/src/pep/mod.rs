//! The lightweight PEP on a real path: a program that watches the headers of packets on an interface, and reports
//! by the messages of `docs/pep-wire-format.md`.
//!
//! The protocol is that of the simulator ([`airlane_middlebox::Observer`]). Packets are neither delayed nor changed:
//! the kernel copies their beginning into a ring ([`airlane_live::packet_ring`]).

mod filter;
mod metrics;
mod settings;
#[cfg(test)]
mod tests;
mod watch;
mod worker;

use std::path::Path;
use std::time::Duration;

use airlane_live::packet_ring::{PacketRing, RingSize};
use airlane_settings::{SettingsError, from_toml};

use self::settings::{BLOCK, Settings};
use self::worker::Worker;
use crate::secrets::shared as secret_of;
use crate::{Common, Node, NodeError, Requirement, Running, Serving, Setup, rights};

/// `CAP_NET_RAW` in `linux/capability.h`.
const CAP_NET_RAW: u32 = 13;
/// Time after which the kernel hands over a block of packets that is not full: the least that it can.
const RETIRE: Duration = Duration::from_millis(1);

/// A PEP.
#[derive(Debug)]
struct Pep {
    settings: Settings,
    /// Resources that need rights, which the process has given up.
    opened: Option<Opened>,
}

/// The ring, and the secret of each rule.
#[derive(Debug)]
struct Opened {
    ring: PacketRing,
    secrets: Vec<Vec<u8>>,
}

/// Reads the settings of a PEP.
pub(crate) fn read(text: &str, file: &str) -> Result<Box<dyn Node>, SettingsError> {
    let mut settings = from_toml(text, file, &settings::defaults(), Settings::check)?;
    // Files are named as seen from the file of settings.
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    settings.rule.iter_mut().for_each(|rule| rule.secret = folder.join(&rule.secret));
    Ok(Box::new(Pep { settings, opened: None }))
}

impl Node for Pep {
    fn common(&self) -> &Common {
        &self.settings.node
    }

    fn requirements(&self) -> Vec<Requirement> {
        let mut all = vec![Requirement::capability("CAP_NET_RAW", CAP_NET_RAW)];
        if all[0].missing.is_none() {
            let help = "the kernel needs CONFIG_PACKET";
            let name = format!("interface {}, with a ring (PACKET_RX_RING)", self.settings.interface);
            let ring = self.open().and_then(|ring| ring.bind(&self.settings.interface));
            all.push(Requirement::tried(name, ring, help));
        }
        for rule in &self.settings.rule {
            let name = format!("secret {}", rule.secret.display());
            let help = "openssl rand -hex 32 > FILE; chmod 600 FILE";
            all.push(Requirement::tried(name, secret_of(&rule.secret).map(drop), help));
        }
        if let Some(name) = &self.settings.user {
            let help = "useradd --system --no-create-home NAME";
            all.push(Requirement::tried(format!("user {name}"), rights::user(name).map(drop), help));
        }
        all
    }

    fn setup(&self) -> Setup {
        Setup::default()
    }

    fn prepare(&mut self) -> Result<(), NodeError> {
        let ring = self.open().map_err(|e| {
            NodeError::new(
                format!("cannot open a ring of packets: {e}"),
                "airlane node pep CONFIG.toml --check",
            )
        })?;
        let secrets = self.settings.rule.iter().map(|rule| secret_of(&rule.secret)).collect::<Result<_, _>>();
        let secrets = secrets.map_err(|e| NodeError::new(e, ""))?;
        let interface = &self.settings.interface;
        ring.bind(interface).map_err(|e| {
            NodeError::new(format!("interface = \"{interface}\": {e}"), "choose one that `ip link` lists")
        })?;
        rights::give_up(self.settings.user.as_deref())?;
        self.opened = Some(Opened { ring, secrets });
        Ok(())
    }

    fn serve(self: Box<Self>, running: Running) -> Serving {
        Box::pin(async move {
            let Opened { ring, secrets } = self.opened.expect("`prepare` was called");
            Worker::new(self.settings, ring, &secrets).serve(running).await
        })
    }
}

impl Pep {
    fn open(&self) -> std::io::Result<PacketRing> {
        let filter = filter::program(&self.settings.rule).expect("checked with the settings");
        let blocks = (self.settings.ring.0.0 / u64::from(BLOCK)) as u32;
        PacketRing::open(&filter, RingSize { block: BLOCK, blocks, retire: RETIRE })
    }
}
