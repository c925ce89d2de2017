//! Addresses of objects, in a form in which equal addresses are equal texts.

/// Scheme and host of an address, including the port; both in lower case.
pub(super) fn scheme_and_host(url: &str) -> Option<(String, String)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    (!host.is_empty()).then(|| (scheme.to_ascii_lowercase(), host.to_ascii_lowercase()))
}

/// The address without its fragment, with scheme and authority in lower case and `/` as the empty path
/// (RFC 3986 sections 6.2.2.1 and 6.2.3).
pub(super) fn normal(url: &str) -> String {
    let url = url.trim().split('#').next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("{}://{}{slash}{path}", scheme.to_ascii_lowercase(), authority.to_ascii_lowercase())
}

/// The address to which `location` in a response from `base` leads (RFC 3986 section 5.2). Segments `..` are
/// kept as they are.
pub(super) fn resolve(base: &str, location: &str) -> String {
    let base = normal(base);
    if location.contains("://") {
        return normal(location);
    }
    let Some((scheme, rest)) = base.split_once("://") else { return normal(location) };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    if let Some(host) = location.strip_prefix("//") {
        return normal(&format!("{scheme}://{host}"));
    }
    let path = rest[authority.len()..].split('?').next().unwrap_or("/");
    match location.chars().next() {
        Some('/') => normal(&format!("{scheme}://{authority}{location}")),
        Some('?') => normal(&format!("{scheme}://{authority}{path}{location}")),
        _ => {
            let folder = &path[..path.rfind('/').map_or(0, |at| at + 1)];
            normal(&format!("{scheme}://{authority}{folder}{location}"))
        }
    }
}
