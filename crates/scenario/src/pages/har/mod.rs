//! Pages recorded by a browser: HTTP Archive 1.2 (Odvarko,
//! <http://www.softwareishard.com/blog/har-12-spec/>).
//!
//! An entry gives its host, the sizes of request and response, its start and the durations of its phases, and
//! may give its initiator. The part of the parent that must have arrived follows from the times: none before
//! the response of the parent, all after it. A server's processing time is the entry's waiting time less the
//! minimum connection time to that host, which is a round trip of the recording.
//!
//! Entries for which nothing was sent are left out: those from a cache or a service worker, `data:` and other
//! addresses not of HTTP, WebSockets, and those without a response (status 0). An entry of no page belongs to
//! the page that was being loaded. The [note](PageSet::note) counts both. Redirections are objects like any
//! other.

mod address;
mod at;
mod entry;
mod objects;
mod report;
mod sizes;
mod time;

use std::borrow::Cow;

use airlane_settings::Tree;

use super::{HOSTS_MAX, OBJECTS_MAX, PAGES_MAX, PageSet, assemble};
use crate::ScenarioError;
use at::{At, Read};
use entry::{Entry, Habits, LeftOut};
use report::Tally;
use sizes::Basis;

/// A page of the log.
#[derive(Debug)]
struct Recorded<'a> {
    id: Option<&'a str>,
    title: String,
    began_ms: Option<f64>,
}

/// Parses a file; errors name `file`.
pub(super) fn parse(text: &str, file: &str) -> Read<PageSet> {
    let json = json(text).map_err(|e| {
        let help = "export the file again: HAR 1.2 is JSON";
        let mut error = ScenarioError::new("", format!("invalid JSON: {e}"), help).in_file(file);
        error.line = u32::try_from(e.line()).ok().filter(|line| *line > 0);
        error
    })?;
    let tree = Tree::from_json(&json);
    let log = At::root(file, &tree).under("log");
    let entries_at = log.under("entries");
    let mut tally = Tally::default();
    let entries = entries(&entries_at, &mut tally)?;
    let pages = pages(&log);
    if pages.len() > PAGES_MAX {
        return log.under("pages").wrong("the file has too many pages", format!("the limit is {PAGES_MAX}"));
    }
    let mut described = Vec::new();
    for (page, own) in pages.iter().zip(assigned(&entries, &pages, &mut tally)) {
        let objects = objects::objects(&own);
        if objects.len() > OBJECTS_MAX {
            return entries_at.wrong(
                format!("a page has {} entries", objects.len()),
                format!("the limit is {OBJECTS_MAX}"),
            );
        }
        if !objects.is_empty() {
            described.push((page.title.clone(), objects));
        }
    }
    match assemble(described) {
        Some(set) => Ok(PageSet { note: Some(tally.line()), ..set }),
        None => entries_at.wrong("the file has too many hosts", format!("the limit is {HOSTS_MAX}")),
    }
}

/// The requests of the log, by the times of their beginnings; at least one was sent.
fn entries<'a>(at: &At<'a>, tally: &mut Tally) -> Read<Vec<Entry<'a>>> {
    let list = at.list()?;
    let habits = Habits::of(&list)?;
    let mut entries = Vec::new();
    let mut mistake = None;
    for at in &list {
        let reading = entry::read(at, habits)?;
        tally.count(reading.left_out.as_ref());
        if let Some(LeftOut::Broken(error)) = reading.left_out {
            mistake = mistake.or(Some(error));
        }
        if let Some(entry) = reading.entry.as_ref().filter(|entry| entry.sent) {
            tally.no_size += usize::from(entry.sizes.basis == Basis::Nothing);
            tally.decompressed += usize::from(entry.sizes.basis == Basis::Decompressed);
        }
        entries.extend(reading.entry);
    }
    if !entries.iter().any(|entry| entry.sent) {
        let help = "record the page with an empty cache";
        return match mistake {
            Some(error) => Err(error),
            None if list.is_empty() => at.wrong("the log has no entry", help),
            None => at.wrong(format!("no entry was fetched over the network; {}", tally.line()), help),
        };
    }
    entries.sort_by(|a, b| a.times.began_ms.total_cmp(&b.times.began_ms));
    Ok(entries)
}

/// The pages of a log; a log without pages is one page.
fn pages<'a>(log: &At<'a>) -> Vec<Recorded<'a>> {
    let page = |at: &At<'a>| {
        let id = at.under("id").words();
        let title: String = at.under("title").words().or(id).unwrap_or("page").chars().take(80).collect();
        let began_ms = at.under("startedDateTime").words().and_then(time::milliseconds);
        Recorded { id, title, began_ms }
    };
    let pages: Vec<Recorded<'a>> = log.under("pages").items().iter().map(page).collect();
    if pages.is_empty() {
        vec![Recorded { id: None, title: "page".to_owned(), began_ms: None }]
    } else {
        pages
    }
}

/// The entries of each page, by their times. An entry whose page is not in the file, or that names none,
/// belongs to the page that had begun last.
fn assigned<'a, 'b>(
    entries: &'b [Entry<'a>],
    pages: &[Recorded<'a>],
    tally: &mut Tally,
) -> Vec<Vec<&'b Entry<'a>>> {
    let began: Vec<Option<f64>> = pages
        .iter()
        .map(|page| {
            let own = |entry: &&Entry<'_>| page.id.is_some() && entry.page == page.id;
            page.began_ms.or_else(|| entries.iter().find(own).map(|entry| entry.times.began_ms))
        })
        .collect();
    let latest = |among: &[usize], entry: &Entry<'_>| {
        let begun = |page: &&usize| began[**page].is_some_and(|ms| ms <= entry.times.began_ms);
        let later = |a: &&usize, b: &&usize| began[**a].unwrap_or(0.0).total_cmp(&began[**b].unwrap_or(0.0));
        among.iter().filter(begun).max_by(later).or(among.first()).copied().unwrap_or(0)
    };
    let all: Vec<usize> = (0..pages.len()).collect();
    let mut own: Vec<Vec<&Entry<'_>>> = vec![Vec::new(); pages.len()];
    let mut strays: Vec<Vec<&Entry<'_>>> = vec![Vec::new(); pages.len()];
    for entry in entries {
        let named: Vec<usize> = all
            .iter()
            .copied()
            .filter(|page| entry.page.is_some() && pages[*page].id == entry.page)
            .collect();
        if !named.is_empty() {
            own[latest(&named, entry)].push(entry);
        } else if pages.len() == 1 && pages[0].id.is_none() {
            own[0].push(entry);
        } else {
            tally.no_page += usize::from(entry.sent);
            strays[latest(&all, entry)].push(entry);
        }
    }
    own.into_iter().zip(strays).map(|(own, strays)| with_strays(own, strays)).collect()
}

/// Entries of a page and those that came to it, by time; the first one is the page's own, if it has any.
fn with_strays<'a, 'b>(own: Vec<&'b Entry<'a>>, strays: Vec<&'b Entry<'a>>) -> Vec<&'b Entry<'a>> {
    let Some((first, rest)) = own.split_first() else { return strays };
    let mut others: Vec<&Entry<'_>> = rest.iter().copied().chain(strays).collect();
    others.sort_by(|a, b| a.times.began_ms.total_cmp(&b.times.began_ms));
    core::iter::once(*first).chain(others).collect()
}

/// The file as JSON. A byte order mark, a function call around it (JSONP, of HAR Viewer) and surrogates without
/// a partner, which browsers write where they cut a text, are accepted.
fn json(text: &str) -> Result<serde_json::Value, serde_json::Error> {
    let mut text = text.trim_start_matches('\u{feff}').trim();
    if let Some((name, call)) = text.split_once('(')
        && !name.is_empty()
        && name.trim().chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$'))
    {
        text = call.trim_end_matches(|c: char| c == ';' || c.is_whitespace()).trim_end_matches(')');
    }
    serde_json::from_str(text).or_else(|error| match without_lone_surrogates(text) {
        Cow::Borrowed(_) => Err(error),
        Cow::Owned(mended) => serde_json::from_str(&mended),
    })
}

/// The text with `\ufffd` for each escape of a surrogate that is not a part of a pair (RFC 8259 section 7).
fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    let code = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut mended = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = text[at..].find('\\') {
        at += found;
        match code(at) {
            Some(0xD800..=0xDBFF) if matches!(code(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => {
                mended += &text[copied..at];
                mended += "\\ufffd";
                at += 6;
                copied = at;
            }
            Some(_) => at += 6,
            // The escaped character may be of several bytes in a file that is not valid.
            None => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    mended += &text[copied..];
    Cow::Owned(mended)
}
