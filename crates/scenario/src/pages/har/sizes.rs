//! The bytes of an entry on the wire.
//!
//! `content.size` of HAR 1.2 is the size after decompression, and `bodySize` is -1 where a browser does not know
//! it, as Chrome does with HTTP/2 and HTTP/3. In this order, the size of a response is
//!
//! 1. what arrived with all headers: `_transferSize` (Chrome, Safari, Playwright) or `_bytesIn` (WebPageTest);
//! 2. `headersSize` and `bodySize`;
//! 3. `content.size` less `content.compression`;
//! 4. the field `Content-Length`;
//! 5. `content.size`, which is too large if the field `Content-Encoding` says so.

use super::at::{At, Read};
use crate::pages::{BYTES_MAX, HEAD_BYTES, REQUEST_BYTES};

/// The basis of the size of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// On the wire.
    Wire,
    /// After decompression, which is more than on the wire.
    Decompressed,
    /// No size is recorded; the body is empty.
    Nothing,
}

/// The bytes of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) request: u64,
    pub(super) head: u64,
    pub(super) body: u64,
    pub(super) basis: Basis,
}

/// All bytes of the response on the wire, where the recorder counts them.
pub(super) fn arrived(entry: &At<'_>) -> Read<Option<u64>> {
    match entry.under("response").under("_transferSize").bytes()? {
        Some(bytes) => Ok(Some(bytes)),
        None => entry.under("_bytesIn").bytes(),
    }
}

/// The value of a field in the header of the response.
pub(super) fn field<'a>(response: &At<'a>, name: &str) -> Option<&'a str> {
    let named = |at: &At<'a>| at.under("name").words().is_some_and(|own| own.eq_ignore_ascii_case(name));
    response.under("headers").items().iter().find(|at| named(at))?.under("value").words()
}

/// Sizes of an entry. Firefox adds the header to `bodySize`: then `body_has_head` is true.
pub(super) fn sizes(entry: &At<'_>, body_has_head: bool) -> Read<Sizes> {
    let (request, response) = (entry.under("request"), entry.under("response"));
    let fields = request.under("headersSize").bytes()?.filter(|bytes| *bytes > 0).unwrap_or(REQUEST_BYTES);
    let sent = match request.under("bodySize").bytes()? {
        Some(bytes) => bytes,
        None => request.under("postData").under("text").words().map_or(0, |text| text.len() as u64),
    };
    let head = response.under("headersSize").bytes()?.filter(|bytes| *bytes > 0);
    let request = fields + sent;
    if let Some(bytes) = arrived(entry)?.filter(|bytes| *bytes > 0) {
        let head = head.unwrap_or(HEAD_BYTES).min(bytes);
        return Ok(Sizes { request, head, body: bytes - head, basis: Basis::Wire });
    }
    let (body, basis) = body(entry, if body_has_head { head.unwrap_or(0) } else { 0 })?;
    Ok(Sizes { request, head: head.unwrap_or(HEAD_BYTES), body, basis })
}

/// Size of the body, if the recorder does not count what arrived; `bodySize` has `extra` bytes of the header.
fn body(entry: &At<'_>, extra: u64) -> Read<(u64, Basis)> {
    let response = entry.under("response");
    let status = response.under("status").number().unwrap_or(0.0);
    let is_head = entry.under("request").under("method").words() == Some("HEAD");
    // These have no content (RFC 9110 sections 6.4.1, 9.3.2 and 15.4.5). Firefox gives a 304 the size of what
    // it has in its cache.
    if is_head || status == 204.0 || status == 304.0 {
        return Ok((0, Basis::Wire));
    }
    if let Some(bytes) = response.under("bodySize").bytes()? {
        return Ok((bytes.saturating_sub(extra), Basis::Wire));
    }
    let content = response.under("content");
    let size = content.under("size").bytes()?;
    if let (Some(size @ 1..), Some(saved)) = (size, content.under("compression").number())
        && saved <= size as f64
        && saved >= size as f64 - BYTES_MAX as f64
    {
        return Ok(((size as f64 - saved) as u64, Basis::Wire));
    }
    let length = field(&response, "content-length").and_then(|text| text.trim().parse().ok());
    if let Some(length) = length.filter(|length| *length <= BYTES_MAX) {
        return Ok((length, Basis::Wire));
    }
    let encoded = field(&response, "content-encoding").is_some_and(|how| how != "identity");
    let basis = if encoded { Basis::Decompressed } else { Basis::Wire };
    match (size, content.under("text").words()) {
        (Some(size), _) => Ok((size, basis)),
        (None, Some(text)) if content.under("encoding").words() == Some("base64") => {
            Ok((text.len() as u64 / 4 * 3, basis)) // RFC 4648 section 4
        }
        (None, Some(text)) => Ok((text.len() as u64, basis)),
        (None, None) => Ok((0, Basis::Nothing)),
    }
}
