//! The objects of a synthetic page, and their rows in a page set.

use std::fmt::Write;

use airlane_core::Stream;

/// The smallest object: an image of one pixel.
const SMALLEST: u64 = 43;

/// An object of a page.
pub(crate) struct Object {
    pub(crate) kind: usize,
    pub(crate) host: usize,
    pub(crate) bytes: f64,
    pub(crate) parent: Option<usize>,
    /// Share of the parent that has to arrive first, in thousandths.
    pub(crate) after: u64,
}

/// The rows of a page.
pub(crate) struct Rows<'a> {
    pub(crate) site: String,
    pub(crate) hosts: &'a [String],
    /// The fewest bytes of a request and of a header, and the numbers of sizes from there on.
    pub(crate) request: (u64, u64),
    pub(crate) head: (u64, u64),
}

/// The first lines of a page set.
pub(crate) fn head_of(what: &str) -> String {
    format!("# {what}\npage,type,host,request_bytes,head_bytes,body_bytes,parent,after_bytes,wait_ms\n")
}

/// One of the objects of a kind after the document.
pub(crate) fn one_of(draws: &mut Stream, kind: usize, objects: &[Object]) -> Option<usize> {
    let all: Vec<usize> = (1..objects.len()).filter(|index| objects[*index].kind == kind).collect();
    (!all.is_empty()).then(|| all[draws.below(all.len() as u64) as usize])
}

impl Rows<'_> {
    /// Writes a row for each object.
    pub(crate) fn write(
        &self,
        text: &mut String,
        draws: &mut Stream,
        objects: &[Object],
        name_of: impl Fn(usize) -> &'static str,
    ) {
        let Self { site, hosts, .. } = self;
        let size = |object: &Object| (object.bytes.round() as u64).max(SMALLEST);
        for object in objects {
            let request = self.request.0 + draws.below(self.request.1);
            let head = self.head.0 + draws.below(self.head.1);
            let wait_ms = match object.parent {
                None => draws.exponential(100.0).round() as u64,
                Some(_) => draws.below(21),
            };
            let (parent, after) = match object.parent {
                None => (String::new(), 0),
                Some(parent) => (parent.to_string(), size(&objects[parent]) * object.after / 1000),
            };
            let (kind, host, body) = (name_of(object.kind), &hosts[object.host], size(object));
            let line = format!("{site},{kind},{host},{request},{head},{body},{parent},{after},{wait_ms}");
            writeln!(text, "{line}").expect("a text takes all that is written");
        }
    }
}
