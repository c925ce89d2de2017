//! Entries of a HAR file: address, times and sizes of a request, and whether anything was sent.

use super::address;
use super::at::{At, Read};
use super::sizes::{self, Sizes};
use super::time::milliseconds;
use crate::ScenarioError;
use crate::pages::Kind;

/// Maximum number of initiators of an entry, of a stack and its asynchronous parents.
const INITIATORS_MAX: usize = 256;

/// A request over HTTP.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    /// The id of its page, as written.
    pub(super) page: Option<&'a str>,
    /// The address, in its normal form.
    pub(super) url: String,
    /// Addresses that may have caused the request, the nearest first.
    pub(super) initiators: Vec<String>,
    /// The address to which the response redirects.
    pub(super) redirect: Option<String>,
    pub(super) host: String,
    pub(super) kind: Kind,
    pub(super) sizes: Sizes,
    pub(super) times: Times,
    /// False if the browser had the response already: then others still depend on it.
    pub(super) sent: bool,
}

/// The times of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// Start of the request, and of its response: milliseconds since 1970.
    pub(super) began_ms: f64,
    pub(super) response_ms: f64,
    pub(super) receive_ms: f64,
    pub(super) wait_ms: f64,
    /// Duration of the connection setup, if there was one, without TLS.
    pub(super) connect_ms: Option<f64>,
}

/// Why nothing was sent for an entry, or why it is not read.
#[derive(Debug)]
pub(super) enum LeftOut {
    Cache,
    ServiceWorker,
    /// A redirection by the browser itself, as of HSTS (RFC 6797 section 8.3).
    Internal,
    /// Cancelled, blocked or failed.
    NoResponse,
    /// `data:`, `blob:`, `chrome-extension:` and others.
    NotHttp,
    WebSocket,
    /// A tunnel of a proxy (CONNECT).
    Tunnel,
    Broken(ScenarioError),
}

/// Habits of a recorder in all entries of a file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Habits {
    /// It records how long responses were waited for.
    waits: bool,
    /// `bodySize` includes the header, as in Firefox.
    body_has_head: bool,
}

impl Habits {
    pub(super) fn of(entries: &[At<'_>]) -> Read<Self> {
        let waits = entries.iter().any(|at| at.under("timings").under("wait").phase_ms() > 0.0);
        let (mut with, mut without) = (0, 0);
        for at in entries {
            let response = at.under("response");
            if response.under("status").number() != Some(200.0) {
                continue;
            }
            let head = response.under("headersSize").bytes()?.unwrap_or(0);
            let body = response.under("bodySize").bytes()?.unwrap_or(0);
            let size = response.under("content").under("size").bytes()?.unwrap_or(0);
            if head > 0 && size > 0 {
                with += u32::from(body == size + head);
                without += u32::from(body == size);
            }
        }
        Ok(Self { waits, body_has_head: with > without })
    }
}

/// The result for an entry: a request with its data, a reason for leaving it out, or both for one that the
/// browser answered itself.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    pub(super) entry: Option<Entry<'a>>,
    pub(super) left_out: Option<LeftOut>,
}

impl Reading<'_> {
    const fn without(reason: LeftOut) -> Self {
        Self { entry: None, left_out: Some(reason) }
    }
}

/// Reads an entry.
///
/// # Errors
/// If a size is beyond the limit of an object.
pub(super) fn read<'a>(at: &At<'a>, habits: Habits) -> Read<Reading<'a>> {
    let (request, response) = (at.under("request"), at.under("response"));
    let url = match request.under("url").text() {
        Ok(url) => url,
        Err(error) => return Ok(Reading::without(LeftOut::Broken(error))),
    };
    let status = response.under("status").number().unwrap_or(0.0);
    if request.under("method").words() == Some("CONNECT") {
        return Ok(Reading::without(LeftOut::Tunnel));
    }
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    if matches!(scheme.as_str(), "ws" | "wss")
        || status == 101.0
        || !at.under("_webSocketMessages").is_empty()
    {
        return Ok(Reading::without(LeftOut::WebSocket));
    }
    if !matches!(scheme.as_str(), "http" | "https") {
        return Ok(Reading::without(LeftOut::NotHttp));
    }
    let Some((_, host)) = address::scheme_and_host(url) else {
        let error = request
            .under("url")
            .error("the address has no host", "expected an address such as http://host/path");
        return Ok(Reading::without(LeftOut::Broken(error)));
    };
    let began_ms = match began(at) {
        Ok(ms) => ms,
        Err(error) => return Ok(Reading::without(LeftOut::Broken(error))),
    };
    let left_out = local_answer(at, status, habits)?;
    if matches!(left_out, Some(LeftOut::NoResponse)) {
        return Ok(Reading { entry: None, left_out });
    }
    let entry = Entry {
        page: at.under("pageref").words(),
        url: address::normal(url),
        initiators: initiators(at),
        redirect: redirect(&response, url, status),
        host,
        kind: kind(at),
        sizes: sizes::sizes(at, habits.body_has_head)?,
        times: times(at, began_ms),
        sent: left_out.is_none(),
    };
    Ok(Reading { entry: Some(entry), left_out })
}

/// Start of the request.
fn began(at: &At<'_>) -> Read<f64> {
    let started = at.under("startedDateTime");
    match milliseconds(started.text()?) {
        Some(ms) => Ok(ms),
        None => started.wrong("not a time", "write it as in ISO 8601, such as 2011-09-15T12:00:00.000+02:00"),
    }
}

fn times(at: &At<'_>, began_ms: f64) -> Times {
    let timings = at.under("timings");
    let phase = |name: &str| timings.under(name).phase_ms();
    let (connect, ssl, receive) = (phase("connect"), phase("ssl"), phase("receive"));
    let mut before = phase("blocked") + phase("dns") + connect + phase("send") + phase("wait");
    // HAR 1.2 counts `ssl` in `connect`; Firefox, Charles and mitmproxy do not, as their sums show.
    let time = at.under("time").phase_ms();
    let differs = |sum: f64| (sum - time).abs() > 1.0;
    let apart = ssl > 0.0 && time > 0.0 && differs(before + receive) && !differs(before + ssl + receive);
    before += if apart { ssl } else { 0.0 };
    // QUIC connects with its TLS handshake: both phases are the same (RFC 9001 section 4).
    let tcp = if apart || ssl >= connect { connect } else { connect - ssl };
    Times {
        began_ms,
        response_ms: began_ms + before,
        receive_ms: receive,
        wait_ms: phase("wait"),
        connect_ms: Some(tcp).filter(|ms| *ms > 0.0),
    }
}

/// True if an entry or its response has this mark.
fn marked_in(at: &At<'_>, key: &str) -> bool {
    at.under(key).is_set() || at.under("response").under(key).is_set()
}

/// Why the network had no part in an entry; `None` if it had.
fn local_answer(at: &At<'_>, status: f64, habits: Habits) -> Read<Option<LeftOut>> {
    let response = at.under("response");
    if status <= 0.0 {
        // A pushed response has no status in Firefox and WebPageTest, but a size.
        let received = sizes::arrived(at)?.or(response.under("bodySize").bytes()?).unwrap_or(0) > 0;
        let failed = marked_in(at, "_error");
        return Ok((failed || !received).then_some(LeftOut::NoResponse));
    }
    let marked = |key: &str| marked_in(at, key);
    let arrived = sizes::arrived(at)?;
    let body = response.under("bodySize").bytes()?.unwrap_or(0);
    let head = response.under("headersSize").bytes()?.unwrap_or(0);
    let source = response.under("_serviceWorkerResponseSource").words().unwrap_or_default();
    let fetch = at.under("_fetchType").words().unwrap_or("Network Load");
    if fetch == "Service Worker" || source == "cache-storage" || source == "http-cache" {
        return Ok(Some(LeftOut::ServiceWorker));
    }
    if marked("_fetchedViaServiceWorker") && arrived.unwrap_or(0) == 0 {
        return Ok(Some(LeftOut::ServiceWorker));
    }
    if fetch != "Network Load" {
        return Ok(Some(LeftOut::Cache));
    }
    if arrived.is_some_and(|bytes| bytes > 0) {
        return Ok(None);
    }
    if marked("_fromCache") {
        return Ok(Some(LeftOut::Cache));
    }
    if arrived == Some(0) && body == 0 {
        let redirects = (300.0..400.0).contains(&status) && status != 304.0;
        return Ok(Some(if redirects { LeftOut::Internal } else { LeftOut::Cache }));
    }
    let timings = at.under("timings");
    let quiet = ["dns", "connect", "send", "wait"].iter().all(|name| timings.under(name).phase_ms() == 0.0);
    let pushed = at.under("_was_pushed").number() == Some(1.0);
    let instant = timings.under("receive").phase_ms() == 0.0;
    let cached = habits.waits && quiet && !pushed && (head == 0 || body == 0 || instant);
    Ok(cached.then_some(LeftOut::Cache))
}

/// The addresses that may have caused a request: `_initiator` is an object with an address, with a stack of
/// calls, or both (Chrome), or an address as text (WebPageTest, Browsertime).
fn initiators(at: &At<'_>) -> Vec<String> {
    let named = at.under("_initiator");
    let mut all: Vec<String> = Vec::new();
    all.extend(named.words().map(address::normal));
    all.extend(named.under("url").words().map(address::normal));
    let mut stack = named.under("stack");
    while stack.is_present() && all.len() < INITIATORS_MAX {
        let calls = stack.under("callFrames").items();
        all.extend(calls.iter().filter_map(|call| call.under("url").words().map(address::normal)));
        stack = stack.under("parent");
    }
    all.dedup();
    all
}

/// The address to which a response redirects.
fn redirect(response: &At<'_>, url: &str, status: f64) -> Option<String> {
    if !(300.0..400.0).contains(&status) || status == 304.0 {
        return None;
    }
    let to = response.under("redirectURL").words().or_else(|| sizes::field(response, "location"))?;
    Some(address::resolve(url, to))
}

/// The type of an object, from its media type or Chrome's `_resourceType`.
fn kind(at: &At<'_>) -> Kind {
    let mime = at.under("response").under("content").under("mimeType").words().unwrap_or_default();
    let mime = mime.to_ascii_lowercase();
    let is = |text: &str| mime.contains(text);
    if is("html") {
        Kind::Html
    } else if is("css") {
        Kind::Css
    } else if is("javascript") || is("ecmascript") {
        Kind::Script
    } else if mime.starts_with("image/") {
        Kind::Image
    } else if is("flash") {
        Kind::Flash
    } else if mime.is_empty() || is("x-unknown") {
        match at.under("_resourceType").words() {
            Some("document") => Kind::Html,
            Some("stylesheet") => Kind::Css,
            Some("script") => Kind::Script,
            Some("image") => Kind::Image,
            _ => Kind::Other,
        }
    } else {
        Kind::Other
    }
}
