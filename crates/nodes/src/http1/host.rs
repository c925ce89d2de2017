//! The header Host of a request, and the ports of URIs.

use axum::http::uri::Authority;
use axum::http::{Request, Version, header};

/// Whether the header Host of a request is as RFC 9112 §3.2 demands: in HTTP/1.1 there is exactly one, with a host and
/// perhaps a port, or with nothing if the target has no authority.
pub(super) fn is_right<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => request.version() < Version::HTTP_11,
        (Some(host), None) => host.is_empty() || host.to_str().is_ok_and(is_host),
        (Some(_), Some(_)) => false,
    }
}

fn is_host(text: &str) -> bool {
    let Ok(authority) = text.parse::<Authority>() else { return false };
    !text.contains('@') && !authority.host().is_empty() && port_of(&authority).is_ok()
}

/// The port of an authority, if it names one: the library gives none for a number that is no port.
///
/// # Errors
/// If what follows the colon is no port, from 1 to 65535.
pub(crate) fn port_of(authority: &Authority) -> Result<Option<u16>, String> {
    // An IPv6 address is in brackets, and a user precedes the host.
    let behind = authority.as_str().rsplit('@').next().unwrap_or_default();
    let behind = behind.rsplit(']').next().unwrap_or_default();
    match behind.split_once(':') {
        None | Some((_, "")) => Ok(None), // RFC 3986 §3.2.3
        Some((_, text)) => {
            let port = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u16>().ok());
            let port = port.flatten().filter(|port| *port > 0);
            port.map(Some).ok_or_else(|| format!("{text} is no port; choose one from 1 to 65535"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_a_number_of_16_bits() {
        for (text, port) in [
            ("a", Some(None)),
            ("a:", Some(None)),
            ("a:80", Some(Some(80))),
            ("a:0080", Some(Some(80))),
            ("a:65535", Some(Some(65535))),
            ("[::1]", Some(None)),
            ("[::1]:8080", Some(Some(8080))),
            ("user:1@a:90", Some(Some(90))),
            ("a:0", None),
            ("a:65536", None),
            ("a:99999", None),
            ("a:+80", None),
            ("a:8_0", None),
            ("[::1]:99999", None),
        ] {
            let Ok(authority) = text.parse::<Authority>() else {
                assert_eq!(port, None, "{text}");
                continue;
            };
            assert_eq!(port_of(&authority).ok(), port, "{text}");
        }
    }

    #[test]
    fn a_request_of_http_1_1_has_one_host() {
        let is_right = |version: Version, hosts: &[&str]| {
            let request = Request::builder().version(version);
            let request = hosts.iter().fold(request, |request, host| request.header(header::HOST, *host));
            super::is_right(&request.body(()).unwrap())
        };
        for (hosts, right) in [
            (&["a"][..], true),
            (&["a:80"], true),
            (&["[::1]:80"], true),
            (&[""], true),
            (&[], false),
            (&["a", "a"], false),
            (&["a:99999"], false),
            (&["user@a"], false),
            (&["a b"], false),
            (&["a/b"], false),
            (&[":80"], false),
        ] {
            assert_eq!(is_right(Version::HTTP_11, hosts), right, "{hosts:?}");
        }
        assert!(is_right(Version::HTTP_10, &[]) && !is_right(Version::HTTP_10, &["a", "b"]));
    }
}
