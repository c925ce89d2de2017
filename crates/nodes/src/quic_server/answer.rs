//! The answer to a request: methods, preconditions and ranges (RFC 9110 §9, §13, §14).

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Uri, header};
use bytes::Bytes;
use headers::{
    ETag, HeaderMapExt, IfMatch, IfModifiedSince, IfNoneMatch, IfRange, IfUnmodifiedSince, LastModified,
};
use http_range_header::{SyntacticallyCorrectRange, parse_range_header_with_max_ranges};
use nix::errno::Errno;

use super::body::{Content, Part};
use super::files::{Found, Place, Root};

/// Bytes of the header of a part, with its boundary: two lines of names, a type, and three numbers.
const PART_HEADER: u64 = 256;

/// Answers a request. A separate thread waits for the file system.
pub(super) async fn answer(
    root: &Root,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    ranges: u16,
) -> Response<Content> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut refused = status(StatusCode::METHOD_NOT_ALLOWED);
        refused.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    let (folder, path) = (root.clone(), uri.path().to_owned());
    let place = tokio::task::spawn_blocking(move || folder.find(&path)).await;
    let mut answered = match place.unwrap_or_else(|e| Err(std::io::Error::other(e))) {
        Ok(Place::File(found)) => file(found, headers, ranges),
        Ok(Place::Folder) => moved(uri),
        Err(error) => status(status_of(&error)),
    };
    answered.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let size = answered.body().size();
    if answered.status() != StatusCode::NOT_MODIFIED {
        answered.headers_mut().insert(header::CONTENT_LENGTH, size.into());
    }
    if method == Method::HEAD {
        *answered.body_mut() = Content::default();
    }
    answered
}

/// An answer with a status only.
pub(super) fn status(code: StatusCode) -> Response<Content> {
    let mut answer = Response::new(Content::text(code.canonical_reason().unwrap_or_default()));
    *answer.status_mut() = code;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

/// The status for an error. A file that does not exist and one that may not be read have the same status; a lack of
/// descriptors is the server's own error.
fn status_of(error: &std::io::Error) -> StatusCode {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::NOT_FOUND,
    }
}

/// The path of a folder with a slash at its end. It begins with one slash only, so that it leads to no other host.
fn moved(uri: &Uri) -> Response<Content> {
    let mut answer = status(StatusCode::PERMANENT_REDIRECT);
    if let Ok(to) = HeaderValue::try_from(format!("{}/", uri.path())) {
        answer.headers_mut().insert(header::LOCATION, to);
    }
    answer
}

/// The answer for a file: the order of preconditions is that of RFC 9110 §13.2.2.
fn file(found: Found, headers: &HeaderMap, ranges: u16) -> Response<Content> {
    let modified = LastModified::from(found.modified);
    let tag: ETag = format!("\"{}\"", found.tag).parse().expect("it has no quotes");
    let mut answer = match precondition(&found, &tag, headers) {
        Some(code @ StatusCode::NOT_MODIFIED) => {
            let mut answer = Response::new(Content::default());
            *answer.status_mut() = code;
            answer
        }
        Some(code) => status(code),
        None => content(&found, chosen(&found, &tag, modified, headers, ranges)),
    };
    answer.headers_mut().typed_insert(tag);
    answer.headers_mut().typed_insert(modified);
    answer.headers_mut().insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    answer
}

/// The status of a precondition that decides the answer.
fn precondition(found: &Found, tag: &ETag, headers: &HeaderMap) -> Option<StatusCode> {
    if let Some(expected) = headers.typed_get::<IfMatch>() {
        if !expected.precondition_passes(tag) {
            return Some(StatusCode::PRECONDITION_FAILED);
        }
    } else if let Some(since) = headers.typed_get::<IfUnmodifiedSince>()
        && !since.precondition_passes(found.modified)
    {
        return Some(StatusCode::PRECONDITION_FAILED);
    }
    if headers.contains_key(header::IF_NONE_MATCH) {
        let known = headers.typed_get::<IfNoneMatch>().is_some_and(|known| !known.precondition_passes(tag));
        return known.then_some(StatusCode::NOT_MODIFIED);
    }
    let since = headers.typed_get::<IfModifiedSince>()?;
    (!since.is_modified(found.modified)).then_some(StatusCode::NOT_MODIFIED)
}

/// The bytes that a request asks for.
enum Chosen {
    All,
    Ranges(Vec<RangeInclusive<u64>>),
    /// None of the ranges is in the file, or they repeat its bytes.
    None,
}

fn chosen(found: &Found, tag: &ETag, modified: LastModified, headers: &HeaderMap, most: u16) -> Chosen {
    let mut values = headers.get_all(header::RANGE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return Chosen::All };
    let Ok(value) = value.to_str() else { return Chosen::All };
    let changed = match headers.typed_get::<IfRange>() {
        Some(known) => known.is_modified(Some(tag), Some(&modified)),
        None => headers.contains_key(header::IF_RANGE), // of another form
    };
    // A header of another form, another unit or with too many ranges is ignored (RFC 9110 §14.2).
    let most = NonZeroUsize::from(core::num::NonZeroU16::new(most).expect("checked with the settings"));
    let Ok(parsed) = parse_range_header_with_max_ranges(value, most) else { return Chosen::All };
    if changed {
        return Chosen::All;
    }
    let ranges = within(&parsed.into_ranges(), found.size);
    if ranges.is_empty() || total(&ranges) > found.size {
        return Chosen::None;
    }
    Chosen::Ranges(coalesced(ranges))
}

/// The ranges that are in a file of this size (RFC 9110 §14.1.2).
fn within(ranges: &[SyntacticallyCorrectRange], size: u64) -> Vec<RangeInclusive<u64>> {
    let Some(last) = size.checked_sub(1) else { return vec![] };
    let range = |one: &SyntacticallyCorrectRange| match *one {
        SyntacticallyCorrectRange::FromStart(from) => (from <= last).then_some(from..=last),
        SyntacticallyCorrectRange::FromLast(0) => None,
        SyntacticallyCorrectRange::FromLast(count) => Some(size.saturating_sub(count)..=last),
        SyntacticallyCorrectRange::Indexed(from, to) => (from <= last).then(|| from..=to.min(last)),
    };
    ranges.iter().filter_map(range).collect()
}

fn total(ranges: &[RangeInclusive<u64>]) -> u64 {
    ranges.iter().fold(0, |sum: u64, one| sum.saturating_add(one.end() - one.start() + 1))
}

/// The ranges without repetitions: those that overlap, or between which there are fewer bytes than the header of a part
/// has, become one (RFC 9110 §15.3.7.2). So the answer is hardly longer than the file, whatever is asked for. Each is
/// where the first one of its ranges was.
fn coalesced(ranges: Vec<RangeInclusive<u64>>) -> Vec<RangeInclusive<u64>> {
    let mut sorted: Vec<(usize, RangeInclusive<u64>)> = ranges.into_iter().enumerate().collect();
    sorted.sort_by_key(|(_, range)| *range.start());
    let mut joined: Vec<(usize, RangeInclusive<u64>)> = vec![];
    for (place, range) in sorted {
        match joined.last_mut() {
            Some((first, last)) if *range.start() <= last.end().saturating_add(PART_HEADER) => {
                *first = place.min(*first);
                *last = *last.start()..=*range.end().max(last.end());
            }
            _ => joined.push((place, range)),
        }
    }
    joined.sort_by_key(|(place, _)| *place);
    joined.into_iter().map(|(_, range)| range).collect()
}

fn part(range: &RangeInclusive<u64>) -> Part {
    Part::File { from: *range.start(), size: range.end() - range.start() + 1 }
}

/// The response with the chosen bytes.
fn content(found: &Found, chosen: Chosen) -> Response<Content> {
    let value = |text: &str| HeaderValue::from_str(text).expect("types and numbers are visible characters");
    let set = |answer: &mut Response<Content>, name: HeaderName, text: &str| {
        answer.headers_mut().insert(name, value(text));
    };
    let size = found.size;
    let within = |range: &RangeInclusive<u64>| format!("bytes {}-{}/{size}", range.start(), range.end());
    let body = |parts: Vec<Part>| Response::new(Content::new(Some(found.file.clone()), parts));
    match chosen {
        Chosen::All => {
            let mut answer = body(vec![Part::File { from: 0, size }]);
            set(&mut answer, header::CONTENT_TYPE, &found.kind);
            answer
        }
        Chosen::None => {
            let mut answer = status(StatusCode::RANGE_NOT_SATISFIABLE);
            set(&mut answer, header::CONTENT_RANGE, &format!("bytes */{size}"));
            answer
        }
        Chosen::Ranges(ranges) => {
            let mut answer = if let [one] = &ranges[..] {
                let mut answer = body(vec![part(one)]);
                set(&mut answer, header::CONTENT_TYPE, &found.kind);
                set(&mut answer, header::CONTENT_RANGE, &within(one));
                answer
            } else {
                let boundary = boundary();
                let mut answer = body(multipart(&ranges, &boundary, &found.kind, within));
                let kind = format!("multipart/byteranges; boundary={boundary}");
                set(&mut answer, header::CONTENT_TYPE, &kind);
                answer
            };
            *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
            answer
        }
    }
}

/// The parts of several ranges (RFC 9110 §14.6).
fn multipart(
    ranges: &[RangeInclusive<u64>],
    boundary: &str,
    kind: &str,
    within: impl Fn(&RangeInclusive<u64>) -> String,
) -> Vec<Part> {
    let mut parts = vec![];
    for (number, range) in ranges.iter().enumerate() {
        let before = if number == 0 { "" } else { "\r\n" };
        let range_of = within(range);
        let head =
            format!("{before}--{boundary}\r\nContent-Type: {kind}\r\nContent-Range: {range_of}\r\n\r\n");
        parts.extend([Part::Text(Bytes::from(head)), part(range)]);
    }
    parts.push(Part::Text(Bytes::from(format!("\r\n--{boundary}--\r\n"))));
    parts
}

/// A boundary that no file contains by chance.
fn boundary() -> String {
    let mut random = [0; 16];
    // Without random numbers the boundary is all zeros, which a file may contain.
    let _ = getrandom::fill(&mut random);
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(header: &str, size: u64) -> Vec<RangeInclusive<u64>> {
        let most = NonZeroUsize::new(1000).unwrap();
        coalesced(within(&parse_range_header_with_max_ranges(header, most).unwrap().into_ranges(), size))
    }

    #[test]
    fn ranges_that_overlap_or_nearly_touch_are_one() {
        for (header, expected) in [
            ("bytes=0-1,1-2,2-3", vec![0..=3]),
            ("bytes=0-9,10-19,5-30", vec![0..=30]),
            ("bytes=0-0,0-0,0-0", vec![0..=0]),
            ("bytes=500-599,100-199", vec![500..=599, 100..=199]),
            ("bytes=5000-5099,0-99,4900-5010", vec![4900..=5099, 0..=99]),
            ("bytes=0-99,-100", vec![0..=99, 9900..=9999]),
            ("bytes=0-99,20000-20001", vec![0..=99]),
            ("bytes=9000-,-500", vec![9000..=9999]),
            ("bytes=20000-,-0", vec![]),
            ("bytes=0-18446744073709551615", vec![0..=9999]),
        ] {
            assert_eq!(asked(header, 10_000), expected, "{header}");
        }
        assert_eq!(asked("bytes=0-", 0), vec![]);
    }

    /// The most that ranges can ask for is the file, and less than the gaps between its parts.
    #[test]
    fn an_answer_is_not_longer_than_the_file_by_more_than_a_part() {
        let kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
        let (size, gap) = (1_000_000_u64, PART_HEADER + 2);
        let header = (0..900).map(|n| format!("{}-{}", n * gap, n * gap)).collect::<Vec<_>>().join(",");
        let ranges = asked(&format!("bytes={header}"), size);
        assert_eq!(ranges.len(), 900, "each is a part of its own");
        let content_range =
            |range: &RangeInclusive<u64>| format!("bytes {}-{}/{size}", range.start(), range.end());
        let parts = multipart(&ranges, &boundary(), kind, content_range);
        let sent = Content::new(None, parts).size();
        let covered = ranges.last().unwrap().end() - ranges[0].start() + 1;
        assert!(sent < covered + PART_HEADER, "{sent} of {covered}");
    }
}
