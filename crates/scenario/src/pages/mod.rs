//! Web pages: page sets in our own table format, or recorded by a browser.
//!
//! A table is text, with one line per object, after a line with the names of the columns; `#` begins a
//! comment:
//!
//! | column | meaning | if left out |
//! |---|---|---|
//! | `page` | the page's name; its lines are consecutive, the document's first | |
//! | `host` | host that serves the object | |
//! | `body_bytes` | its size | |
//! | `type` | `html`, `css`, `script`, `image`, `flash` or `other` | `other` |
//! | `request_bytes`, `head_bytes` | line and fields of request and response | 400 and 300 |
//! | `parent` | the object that names it, by its number in the page from 0 | 0 |
//! | `after_bytes` | bytes of that object that must arrive first | 0 |
//! | `wait_ms` | processing time of the server | 0 |
//!
//! A HAR file (HTTP Archive 1.2) is the export format of browsers' developer tools.

mod har;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use airlane_core::{Bytes, Duration};
use airlane_traffic::{Page, PageObject};

use crate::ScenarioError;
use crate::files::Files;

/// The bundled sets.
pub(crate) const SETS: [(&str, &str); 2] = [
    ("2011", include_str!("../../data/pages-2011.csv")),
    ("2025", include_str!("../../data/pages-2025.csv")),
];

/// Maximum numbers of pages, of objects of a page, and of hosts of a set.
const PAGES_MAX: usize = 1_000;
const OBJECTS_MAX: usize = 10_000;
const HOSTS_MAX: usize = 10_000;
/// Maximum bytes of an object, or of its request.
const BYTES_MAX: u64 = 1 << 30;
/// Maximum processing time of a server.
const WAIT_MAX_MS: u64 = 60_000;
/// Default size of the header of a request and of a response: choice, about that of browsers in 2011.
const REQUEST_BYTES: u64 = 400;
const HEAD_BYTES: u64 = 300;

/// A set of pages.
#[derive(Clone, Debug)]
pub struct PageSet {
    pub(crate) pages: Arc<[Page]>,
    pub(crate) hosts: usize,
    /// The line of a recording on its entries that were read and left out.
    pub(crate) note: Option<String>,
}

/// The type of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Html,
    Css,
    Script,
    Image,
    Flash,
    Other,
}

impl Kind {
    const NAMES: [(&'static str, Self); 6] = [
        ("html", Self::Html),
        ("css", Self::Css),
        ("script", Self::Script),
        ("image", Self::Image),
        ("flash", Self::Flash),
        ("other", Self::Other),
    ];

    /// Urgency as in RFC 9218 §4.1; choice: objects that block the page are first, as in browsers.
    const fn urgency(self) -> u8 {
        match self {
            Self::Html => 0,
            Self::Css => 1,
            Self::Script => 2,
            Self::Other => 3, // the RFC's default
            Self::Flash => 4,
            Self::Image => 5,
        }
    }
}

/// An object as described in a file.
#[derive(Clone, Debug)]
struct Described {
    host: String,
    kind: Kind,
    request: u64,
    head: u64,
    body: u64,
    parent: usize,
    after: u64,
    wait: Duration,
}

/// The set with this name, or in this file.
pub(crate) fn load(name: &str, files: &Files) -> Result<PageSet, ScenarioError> {
    if let Some((_, text)) = SETS.iter().find(|(set, _)| *set == name) {
        return table::parse(text, name);
    }
    let help = "expected a page set (.csv) or a HAR file (.har)";
    if is_har(name) {
        har::parse(&files.lossy_text(name, help)?, name)
    } else {
        table::parse(&files.text(name, help)?, name)
    }
}

/// True for a bundled set.
pub(crate) fn is_built_in(name: &str) -> bool {
    SETS.iter().any(|(set, _)| *set == name)
}

/// True for a file whose name has one of the two extensions.
pub(crate) fn is_file(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    matches!(extension, Some("csv" | "har"))
}

fn is_har(name: &str) -> bool {
    name.ends_with(".har")
}

/// Assigns numbers to servers, in the order in which they appear.
#[derive(Debug, Default)]
struct Hosts(std::collections::BTreeMap<String, u16>);

impl Hosts {
    /// The number of a host; `None` if there are too many.
    fn number(&mut self, host: &str) -> Option<u16> {
        let next = self.0.len();
        match self.0.get(host) {
            Some(number) => Some(*number),
            None if next >= HOSTS_MAX => None,
            None => {
                let number = u16::try_from(next).ok()?;
                self.0.insert(host.to_owned(), number);
                Some(number)
            }
        }
    }
}

/// A set of described pages, in order. Returns `None` if there are too many hosts.
fn assemble(pages: Vec<(String, Vec<Described>)>) -> Option<PageSet> {
    let mut hosts = Hosts::default();
    let mut all = Vec::with_capacity(pages.len());
    for (name, described) in pages {
        let mut objects = Vec::with_capacity(described.len());
        for object in described {
            objects.push(PageObject {
                server: hosts.number(&object.host)?,
                request: Bytes(object.request),
                head: Bytes(object.head),
                body: Bytes(object.body),
                wait: object.wait,
                urgency: object.kind.urgency(),
                parent: u32::try_from(object.parent).ok()?,
                after: Bytes(object.after),
            });
        }
        all.push(Page::new(name, objects));
    }
    Some(PageSet { pages: all.into(), hosts: hosts.0.len(), note: None })
}
