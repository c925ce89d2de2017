//! Headers of requests and responses as field sections of QPACK (RFC 9204 §4.5): with the static table,
//! without a dynamic table and Huffman coding.
//!
//! A header has the size given by the page, if its required content is not larger: a cookie fills it up. The
//! parameters of the response are in the path.

use core::str;

use airlane_core::{Bytes, Duration};

use crate::http::Request;

/// The prefix of a field section without references to a dynamic table: two zeros (RFC 9204 §4.5.1).
const PREFIX: [u8; 2] = [0, 0];
/// Entries of the static table (RFC 9204 appendix A).
const AUTHORITY: u8 = 0;
const PATH: u8 = 1;
const CONTENT_LENGTH: u8 = 4;
const COOKIE: u8 = 5;
const SET_COOKIE: u8 = 14;
const METHOD_GET: u8 = 17;
const SCHEME_HTTPS: u8 = 23;
const STATUS_200: u8 = 25;
const ACCEPT_ANY: u8 = 29;
const ACCEPT_RANGES: u8 = 32;
/// The name of the field for the urgency (RFC 9218 §5), which is 3 by default (§4.1).
const PRIORITY: &str = "priority";
const URGENCY: u8 = 3;

/// A body without an end.
const ENDLESS: Bytes = Bytes(u64::MAX);

/// The content of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// Bytes of the response's header.
    pub(super) head: Bytes,
    /// Bytes of its body.
    pub(super) body: Bytes,
    /// The server's processing time before it can answer.
    pub(super) wait: Duration,
    /// Urgency of the request.
    pub(super) urgency: u8,
}

/// The header of a request.
pub(super) fn request(request: &Request) -> Vec<u8> {
    let mut section = PREFIX.to_vec();
    indexed(&mut section, METHOD_GET);
    indexed(&mut section, SCHEME_HTTPS);
    named(&mut section, AUTHORITY, format!("s{}", request.server).as_bytes());
    let path = format!("/{}/{}/{}", request.body.get(), request.head.get(), request.wait.as_nanos());
    named(&mut section, PATH, path.as_bytes());
    if request.urgency != URGENCY {
        literal(&mut section, PRIORITY, format!("u={}", request.urgency).as_bytes());
    }
    fill(&mut section, request.request.get() as usize, COOKIE, ACCEPT_ANY);
    section
}

/// The header of a response.
pub(super) fn response(asked: &Asked) -> Vec<u8> {
    let mut section = PREFIX.to_vec();
    indexed(&mut section, STATUS_200);
    if asked.body != ENDLESS {
        named(&mut section, CONTENT_LENGTH, asked.body.get().to_string().as_bytes());
    }
    fill(&mut section, asked.head.get() as usize, SET_COOKIE, ACCEPT_RANGES);
    section
}

/// Decodes a request; `None` for a request that no client here sends.
pub(super) fn asked(section: &[u8]) -> Option<Asked> {
    let mut fields = Fields(section.strip_prefix(&PREFIX)?);
    let (mut path, mut urgency) = (None, URGENCY);
    while !fields.0.is_empty() {
        match fields.next()? {
            Field::Named(PATH, value) => path = Some(value),
            Field::Literal(name, value) if name == PRIORITY.as_bytes() => {
                urgency = str::from_utf8(value).ok()?.strip_prefix("u=")?.parse().ok()?;
            }
            Field::Indexed | Field::Named(..) | Field::Literal(..) => {}
        }
    }
    let mut numbers =
        str::from_utf8(path?).ok()?.strip_prefix('/')?.split('/').map(|n| n.parse::<u64>().ok());
    let mut next = || numbers.next().flatten();
    let (body, head, wait) = (Bytes(next()?), Bytes(next()?), Duration::from_nanos(next()?));
    Some(Asked { head, body, wait, urgency })
}

/// An integer after the flags in its first byte, of which it uses `bits` bits (RFC 7541 §5.1).
fn integer(to: &mut Vec<u8>, flags: u8, bits: u8, value: usize) {
    let most = (1 << bits) - 1;
    if value < most {
        return to.push(flags | value as u8);
    }
    to.push(flags | most as u8);
    let mut left = value - most;
    while left >= 0x80 {
        to.push(0x80 | (left & 0x7F) as u8);
        left >>= 7;
    }
    to.push(left as u8);
}

/// A field of the static table, including its value (RFC 9204 §4.5.2).
fn indexed(to: &mut Vec<u8>, entry: u8) {
    integer(to, 0xC0, 6, usize::from(entry));
}

/// A field with the name of an entry of the static table (RFC 9204 §4.5.4).
fn named(to: &mut Vec<u8>, entry: u8, value: &[u8]) {
    integer(to, 0x50, 4, usize::from(entry));
    integer(to, 0, 7, value.len());
    to.extend_from_slice(value);
}

/// A field whose name is in no table (RFC 9204 §4.5.6).
fn literal(to: &mut Vec<u8>, name: &str, value: &[u8]) {
    integer(to, 0x20, 3, name.len());
    to.extend_from_slice(name.as_bytes());
    integer(to, 0, 7, value.len());
    to.extend_from_slice(value);
}

/// Fills a section up to `size` with fields of one name, and with one of one byte if a single byte is
/// missing.
fn fill(section: &mut Vec<u8>, size: usize, entry: u8, single: u8) {
    while let Some(missing) = size.checked_sub(section.len()).filter(|missing| *missing > 0) {
        let before = section.len();
        if missing == 1 {
            indexed(section, single);
            continue;
        }
        // The name takes one byte, and the length of the value one or more.
        let mut value = missing - 2;
        loop {
            named(section, entry, &vec![b'x'; value]);
            if section.len() <= size {
                break;
            }
            section.truncate(before);
            value -= 1;
        }
    }
}

/// A field of a section.
#[derive(Debug, PartialEq, Eq)]
enum Field<'a> {
    /// An entry of the static table.
    Indexed,
    /// The value of a field with the name of an entry.
    Named(u8, &'a [u8]),
    /// A name and its value.
    Literal(&'a [u8], &'a [u8]),
}

/// The rest of a section.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The next field; `None` if this end does not support it.
    fn next(&mut self) -> Option<Field<'a>> {
        match self.0.first()? {
            0xC0..=0xFF => self.integer(6).map(|_| Field::Indexed),
            first @ 0x40..0x80 if first & 0x10 != 0 => {
                let entry = self.integer(4)?;
                Some(Field::Named(u8::try_from(entry).ok()?, self.string(7)?))
            }
            first @ 0x20..0x40 if first & 0x08 == 0 => Some(Field::Literal(self.string(3)?, self.string(7)?)),
            _ => None, // of a dynamic table, or with Huffman coding: not supported
        }
    }

    fn integer(&mut self, bits: u8) -> Option<usize> {
        let most = (1 << bits) - 1;
        let mut value = usize::from(self.byte()?) & most;
        if value < most {
            return Some(value);
        }
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value += usize::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn string(&mut self, bits: u8) -> Option<&'a [u8]> {
        let length = self.integer(bits)?;
        let (string, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(request: u64, urgency: u8) -> Request {
        Request {
            id: 1,
            server: 12,
            request: Bytes(request),
            head: Bytes(300),
            body: Bytes(54_321),
            wait: Duration::from_millis(15),
            urgency,
        }
    }

    /// RFC 9204 appendix B.1: the path of the example is a literal with a name reference.
    #[test]
    fn fields_are_those_of_the_standard() {
        let mut section = PREFIX.to_vec();
        named(&mut section, PATH, b"/index.html");
        let example =
            [0x00, 0x00, 0x51, 0x0b, 0x2f, 0x69, 0x6e, 0x64, 0x65, 0x78, 0x2e, 0x68, 0x74, 0x6d, 0x6c];
        assert_eq!(section, example);
        // RFC 7541 appendix C.1: 10 and 1337 after three other bits.
        let mut integers = Vec::new();
        integer(&mut integers, 0, 5, 10);
        integer(&mut integers, 0, 5, 1_337);
        assert_eq!(integers, [0b0_1010, 0b1_1111, 0b1001_1010, 0b0000_1010]);
        assert_eq!(
            (Fields(&integers[..1]).integer(5), Fields(&integers[1..]).integer(5)),
            (Some(10), Some(1_337))
        );
    }

    /// Every size from the required content on, to the byte; the content is preserved.
    #[test]
    fn heads_have_the_size_of_the_page() {
        for urgency in [0, 3, 7] {
            let least = request(&of(1, urgency)).len();
            assert!(least < 45, "{least}");
            for size in (least as u64..700).chain([16_000, 17_000]) {
                let section = request(&of(size, urgency));
                assert_eq!(section.len() as u64, size);
                let (head, body, wait) = (Bytes(300), Bytes(54_321), Duration::from_millis(15));
                assert_eq!(asked(&section), Some(Asked { head, body, wait, urgency }));
            }
        }
        for (body, least) in [(ENDLESS, 3), (Bytes(54_321), 3 + 2 + 5)] {
            for size in 1..500 {
                let asked = Asked { head: Bytes(size), body, wait: Duration::ZERO, urgency: 3 };
                assert_eq!(response(&asked).len() as u64, size.max(least));
            }
        }
    }

    #[test]
    fn what_is_no_request_is_none() {
        let section = request(&of(400, 5));
        assert!(asked(&section).is_some());
        for cut in 0..section.len() {
            // No truncation causes a panic.
            let _ = asked(&section[..cut]);
        }
        assert_eq!(asked(&[]), None);
        assert_eq!(asked(&[0, 0]), None);
        assert_eq!(asked(&[0, 0, 0x80]), None);
    }
}
