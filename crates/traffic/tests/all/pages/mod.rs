//! Pages of objects, for the tests of browsers.

use airlane_core::{Bytes, Duration};
use airlane_traffic::{Page, PageObject};

/// An object of `body` bytes on a server, named at this byte of the parent object.
pub(crate) fn object(server: u16, body: u64, (parent, after): (u32, u64)) -> PageObject {
    PageObject {
        server,
        request: Bytes(400),
        head: Bytes(300),
        body: Bytes(body),
        wait: Duration::ZERO,
        urgency: 3,
        parent,
        after: Bytes(after),
    }
}

pub(crate) fn page(objects: Vec<PageObject>) -> Page {
    Page::new("page".to_owned(), objects)
}
