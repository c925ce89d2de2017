//! Counts of the entries of a HAR file that become no object, or an object with assumptions.

use super::entry::LeftOut;

/// Numbers of entries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    entries: usize,
    cache: usize,
    service_worker: usize,
    internal: usize,
    no_response: usize,
    not_http: usize,
    web_socket: usize,
    tunnel: usize,
    broken: usize,
    /// Of no page, or of a page that is not in the file.
    pub(super) no_page: usize,
    /// Without any size.
    pub(super) no_size: usize,
    /// With their size after decompression.
    pub(super) decompressed: usize,
}

impl Tally {
    pub(super) const fn count(&mut self, left_out: Option<&LeftOut>) {
        self.entries += 1;
        let Some(reason) = left_out else { return };
        *match reason {
            LeftOut::Cache => &mut self.cache,
            LeftOut::ServiceWorker => &mut self.service_worker,
            LeftOut::Internal => &mut self.internal,
            LeftOut::NoResponse => &mut self.no_response,
            LeftOut::NotHttp => &mut self.not_http,
            LeftOut::WebSocket => &mut self.web_socket,
            LeftOut::Tunnel => &mut self.tunnel,
            LeftOut::Broken(_) => &mut self.broken,
        } += 1;
    }

    /// The line about the file, such as `read 292 entries: left out 85 from the cache; kept 2 of no page`.
    pub(super) fn line(&self) -> String {
        let left_out = [
            (self.cache, "from the cache"),
            (self.service_worker, "from a service worker"),
            (self.internal, "redirected by the browser itself"),
            (self.no_response, "without a response"),
            (self.not_http, "not of HTTP"),
            (self.web_socket, "of WebSockets"),
            (self.tunnel, "of tunnels (CONNECT)"),
            (self.broken, "without an address or a time"),
        ];
        let kept = [
            (self.no_page, "of no page, with the page that was being loaded"),
            (self.no_size, "without a size, as empty"),
            (self.decompressed, "with their size after decompression"),
        ];
        let parts = [("left out", list(&left_out)), ("kept", list(&kept))];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(_, list)| !list.is_empty())
            .map(|(verb, list)| format!("{verb} {list}"))
            .collect();
        let entries = if self.entries == 1 { "entry" } else { "entries" };
        let end = if parts.is_empty() { String::new() } else { format!(": {}", parts.join("; ")) };
        format!("read {} {entries}{end}", self.entries)
    }
}

/// The numbers that are not zero, with their words.
fn list(numbers: &[(usize, &str)]) -> String {
    let shown: Vec<String> =
        numbers.iter().filter(|(n, _)| *n > 0).map(|(n, words)| format!("{n} {words}")).collect();
    shown.join(", ")
}
