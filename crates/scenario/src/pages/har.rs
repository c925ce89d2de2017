//! Pages recorded by a browser: HTTP Archive 1.2 (Odvarko,
//! <http://www.softwareishard.com/blog/har-12-spec/>).
//!
//! An entry gives its host, the sizes of request and response, its start and the durations of its phases. An
//! entry that names its initiator (as Chrome's do, `_initiator`) depends on that one, any other on the
//! document. The part of the parent that must have arrived follows from the times: none before the response
//! of the parent, all after it. A server's processing time is the entry's waiting time less the minimum
//! connection time to that host, which is a round trip of the recording.
//!
//! Entries without network traffic are ignored: `data:` and other addresses without a host, and those without
//! a response (status 0). Redirections are objects like any other.

use std::collections::BTreeMap;

use airlane_core::Duration;

use super::{
    BYTES_MAX, Described, HEAD_BYTES, HOSTS_MAX, Kind, OBJECTS_MAX, PAGES_MAX, PageSet, REQUEST_BYTES,
    WAIT_MAX_MS, assemble,
};
use crate::error::ScenarioError;
use crate::tree::{Tree, Value};

type Read<T> = Result<T, ScenarioError>;

/// A position in the file.
#[derive(Clone, Debug)]
struct At<'a> {
    file: &'a str,
    key: String,
    tree: Option<&'a Tree>,
}

impl<'a> At<'a> {
    fn wrong<T>(&self, message: impl Into<Box<str>>, help: impl Into<Box<str>>) -> Read<T> {
        let mut error = ScenarioError::new(self.key.as_str(), message, help).in_file(self.file);
        error.value = self.tree.map(Tree::written).unwrap_or_default().into();
        Err(error)
    }

    fn needs<T>(&self, what: &str) -> Read<T> {
        match self.tree {
            None => self.wrong("the field is missing", format!("HAR 1.2 needs {what} here")),
            Some(tree) => {
                self.wrong(format!("wrong type: found {}", tree.kind()), format!("HAR 1.2 needs {what} here"))
            }
        }
    }

    fn under(&self, key: &str) -> Self {
        let key_path = if self.key.is_empty() { key.to_owned() } else { format!("{}.{key}", self.key) };
        Self { file: self.file, key: key_path, tree: self.tree.and_then(|tree| tree.get(key)) }
    }

    fn list(&self) -> Read<Vec<Self>> {
        let Some(Tree { value: Value::Array(items), .. }) = self.tree else { return self.needs("a list") };
        let item =
            |(index, tree)| Self { file: self.file, key: format!("{}.{index}", self.key), tree: Some(tree) };
        Ok(items.iter().enumerate().map(item).collect())
    }

    fn text(&self) -> Read<&'a str> {
        match self.tree.and_then(Tree::text) {
            Some(text) => Ok(text),
            None => self.needs("a string"),
        }
    }

    fn number(&self) -> Read<f64> {
        match self.tree.map(|tree| &tree.value) {
            Some(Value::Integer(i)) => Ok(*i as f64),
            Some(Value::Float(x)) if x.is_finite() => Ok(*x),
            _ => self.needs("a number"),
        }
    }

    /// A number of bytes; `None` if it is -1 or absent, which means unknown.
    fn bytes(&self) -> Read<Option<u64>> {
        if self.tree.is_none_or(|tree| matches!(tree.value, Value::Null)) {
            return Ok(None);
        }
        let number = self.number()?;
        if !(-1.0..=BYTES_MAX as f64).contains(&number) {
            return self.wrong(
                "out of range",
                format!("it must be from 0 to {BYTES_MAX} bytes, or -1 if the size is unknown"),
            );
        }
        Ok((number >= 0.0).then_some(number as u64))
    }

    /// Milliseconds; zero if it is -1 or absent, which means that there was no such phase.
    fn phase_ms(&self) -> Read<f64> {
        if self.tree.is_none_or(|tree| matches!(tree.value, Value::Null)) {
            return Ok(0.0);
        }
        let number = self.number()?;
        if !(-1.0..=1e9).contains(&number) {
            return self.wrong(
                "out of range",
                "write the duration in milliseconds, or -1 if the phase did not occur",
            );
        }
        Ok(number.max(0.0))
    }
}

/// An entry of the log.
#[derive(Debug)]
struct Entry<'a> {
    page: Option<&'a str>,
    url: &'a str,
    initiator: Option<&'a str>,
    host: String,
    kind: Kind,
    request: u64,
    head: u64,
    body: u64,
    /// Start of the request, and of its response: milliseconds since 1970.
    began_ms: f64,
    response_ms: f64,
    receive_ms: f64,
    wait_ms: f64,
    /// Duration of the connection setup, if there was one, without TLS.
    connect_ms: Option<f64>,
}

/// Parses a file; errors name `file`.
pub(super) fn parse(text: &str, file: &str) -> Read<PageSet> {
    let json: serde_json::Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|e| {
        let help = "export the file again: HAR 1.2 is JSON";
        let mut error = ScenarioError::new("", format!("invalid JSON: {e}"), help).in_file(file);
        error.line = u32::try_from(e.line()).ok().filter(|line| *line > 0);
        error
    })?;
    let tree = Tree::from_json(&json);
    let log = At { file, key: String::new(), tree: Some(&tree) }.under("log");
    let entries_at = log.under("entries");
    let mut entries = Vec::new();
    for at in entries_at.list()? {
        entries.extend(entry(&at)?);
    }
    if entries.is_empty() {
        return entries_at
            .wrong("no entry was fetched over the network", "record the page with an empty cache");
    }
    entries.sort_by(|a, b| a.began_ms.total_cmp(&b.began_ms));
    let mut pages = Vec::new();
    for (id, title) in titles(&log)? {
        let own: Vec<&Entry<'_>> = entries.iter().filter(|e| id.is_none() || e.page == id).collect();
        if own.len() > OBJECTS_MAX {
            return entries_at
                .wrong(format!("a page has {} entries", own.len()), format!("the limit is {OBJECTS_MAX}"));
        }
        if !own.is_empty() {
            pages.push((title, objects(&own)));
        }
    }
    if pages.is_empty() {
        return entries_at
            .wrong("no entry belongs to a page", "`pageref` of an entry must be the `id` of a page");
    }
    if pages.len() > PAGES_MAX {
        return log.under("pages").wrong("the file has too many pages", format!("the limit is {PAGES_MAX}"));
    }
    match assemble(pages) {
        Some(set) => Ok(set),
        None => entries_at.wrong("the file has too many hosts", format!("the limit is {HOSTS_MAX}")),
    }
}

/// Id and title of each page; a log without pages is one page.
fn titles<'a>(log: &At<'a>) -> Read<Vec<(Option<&'a str>, String)>> {
    let pages = log.under("pages");
    if pages.tree.is_none_or(Tree::is_empty) {
        return Ok(vec![(None, "page".to_owned())]);
    }
    let mut titles: Vec<(Option<&str>, String)> = Vec::new();
    for page in pages.list()? {
        let id = page.under("id").text()?;
        if titles.iter().any(|(other, _)| *other == Some(id)) {
            return page.under("id").wrong("two pages have this id", "give each page its own id");
        }
        let title = page.under("title").tree.and_then(Tree::text).filter(|title| !title.is_empty());
        let title: String = title.unwrap_or(id).chars().take(80).collect();
        titles.push((Some(id), title));
    }
    Ok(titles)
}

/// Parses an entry; `None` for one without network traffic.
fn entry<'a>(at: &At<'a>) -> Read<Option<Entry<'a>>> {
    let (request, response, timings) = (at.under("request"), at.under("response"), at.under("timings"));
    let url = request.under("url").text()?;
    let status = response.under("status").number()?;
    let Some((scheme, host)) = host(url) else {
        let web = url.starts_with("http:") || url.starts_with("https:");
        return if web {
            request
                .under("url")
                .wrong("the address has no host", "expected an address such as http://host/path")
        } else {
            Ok(None)
        };
    };
    if status <= 0.0 || !matches!(scheme, "http" | "https") {
        return Ok(None);
    }
    let known = |at: At<'a>| at.bytes();
    let content = response.under("content");
    let body = match known(response.under("bodySize"))? {
        Some(bytes) => bytes,
        None => known(content.under("size"))?.unwrap_or(0),
    };
    let head = known(response.under("headersSize"))?.unwrap_or(HEAD_BYTES).max(1);
    let fields = known(request.under("headersSize"))?.unwrap_or(REQUEST_BYTES).max(1);
    let started = at.under("startedDateTime");
    let Some(began_ms) = milliseconds(started.text()?) else {
        return started.wrong("not a time", "write it as in ISO 8601, such as 2011-09-15T12:00:00.000+02:00");
    };
    let phase = |name: &str| timings.under(name).phase_ms();
    let (connect, ssl) = (phase("connect")?, phase("ssl")?);
    let before = phase("blocked")? + phase("dns")? + connect + phase("send")? + phase("wait")?;
    let initiator = at.under("_initiator").under("url").tree.and_then(Tree::text);
    Ok(Some(Entry {
        page: at.under("pageref").tree.and_then(Tree::text),
        url,
        initiator,
        host,
        kind: kind(content.under("mimeType").tree.and_then(Tree::text).unwrap_or("")),
        request: fields + known(request.under("bodySize"))?.unwrap_or(0),
        head,
        body,
        began_ms,
        response_ms: began_ms + before,
        receive_ms: phase("receive")?,
        wait_ms: phase("wait")?,
        connect_ms: Some(connect - ssl).filter(|ms| *ms > 0.0),
    }))
}

/// The objects of a page, the document first.
fn objects(entries: &[&Entry<'_>]) -> Vec<Described> {
    let mut round_trip: BTreeMap<&str, f64> = BTreeMap::new();
    for entry in entries {
        if let Some(ms) = entry.connect_ms {
            let least = round_trip.entry(&entry.host).or_insert(ms);
            *least = least.min(ms);
        }
    }
    let object = |(index, entry): (usize, &&Entry<'_>)| {
        let named_by = |other: &&Entry<'_>| Some(other.url) == entry.initiator;
        let parent = entries[..index].iter().rposition(named_by).unwrap_or(0);
        let of = entries[parent];
        let share = if entry.began_ms >= of.response_ms + of.receive_ms {
            1.0
        } else if of.receive_ms > 0.0 {
            ((entry.began_ms - of.response_ms) / of.receive_ms).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let wait_ms = round_trip.get(entry.host.as_str()).map_or(0.0, |ms| (entry.wait_ms - ms).max(0.0));
        Described {
            host: entry.host.clone(),
            kind: entry.kind,
            request: entry.request,
            head: entry.head,
            body: entry.body,
            parent,
            after: if index == 0 { 0 } else { ((of.body as f64 * share) as u64).min(of.body) },
            wait: Duration::from_nanos((wait_ms.min(WAIT_MAX_MS as f64) * 1e6) as u64),
        }
    };
    entries.iter().enumerate().map(object).collect()
}

/// Scheme and host of an address, including the port.
fn host(url: &str) -> Option<(&str, String)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    (!host.is_empty()).then(|| (scheme, host.to_ascii_lowercase()))
}

fn kind(mime: &str) -> Kind {
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
    } else {
        Kind::Other
    }
}

/// Milliseconds since 1970 of a time in ISO 8601 as in HAR: `2011-09-15T12:00:00.000+02:00`, or with `Z` at
/// its end.
fn milliseconds(text: &str) -> Option<f64> {
    let number = |range: core::ops::Range<usize>| text.get(range)?.parse::<i64>().ok().filter(|n| *n >= 0);
    let marks = [(4, '-'), (7, '-'), (10, 'T'), (13, ':'), (16, ':')];
    if marks.iter().any(|(place, mark)| text.get(*place..).is_none_or(|rest| !rest.starts_with(*mark))) {
        return None;
    }
    let [year, month, day] = [number(0..4)?, number(5..7)?, number(8..10)?];
    let [hour, minute, second] = [number(11..13)?, number(14..16)?, number(17..19)?];
    let sane =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    let rest = text.get(19..)?;
    let zone_at = rest.find(['Z', '+', '-'])?;
    let (fraction, zone) = rest.split_at(zone_at);
    let fraction: f64 = if fraction.is_empty() { 0.0 } else { format!("0{fraction}").parse().ok()? };
    let offset = match zone.strip_prefix('Z') {
        Some("") => 0,
        Some(_) => return None,
        None => {
            let digits: String = zone.get(1..)?.chars().filter(|c| *c != ':').collect();
            let (hours, minutes) = (digits.get(..2)?.parse::<i64>().ok()?, digits.get(2..)?);
            let minutes = if minutes.is_empty() { 0 } else { minutes.parse::<i64>().ok()? };
            (hours * 60 + minutes) * if zone.starts_with('-') { -1 } else { 1 }
        }
    };
    // Days since 1970-01-01: years begin in March, so that a leap day is the last of one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    let minutes = (days * 24 + hour) * 60 + minute - offset;
    sane.then(|| (minutes * 60 + second) as f64 * 1e3 + fraction * 1e3)
}
