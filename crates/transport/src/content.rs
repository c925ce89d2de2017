//! The buffered bytes of one direction of a connection, by their offset in the stream.
//!
//! A simulated payload is only a length and needs no storage. Real bytes are stored in pages from a common
//! pool: by a sender until they are acknowledged, by a receiver from their arrival, in order or not, until they are
//! read, and by a relay from the one to the other.

use std::collections::VecDeque;

/// Bytes of a page.
const PAGE: usize = 4096;

type Page = Box<[u8; PAGE]>;

/// Unused pages, for all connections of a host.
#[derive(Debug, Default)]
pub struct PagePool {
    pages: Vec<Page>,
}

impl PagePool {
    /// Maximum number of unused pages.
    const MOST: usize = 4096;

    fn take(&mut self) -> Page {
        self.pages.pop().unwrap_or_else(|| Box::new([0; PAGE]))
    }

    fn give(&mut self, page: Page) {
        if self.pages.len() < Self::MOST {
            self.pages.push(page);
        }
    }
}

/// The bytes of one direction.
#[derive(Debug, Default)]
pub struct Content {
    /// True once real bytes have arrived; before, there are only lengths.
    real: bool,
    /// Offset of the first byte of the first page, and the pages, `None` where nothing has arrived yet.
    first: u64,
    pages: VecDeque<Option<Page>>,
}

impl Content {
    /// True if there are bytes behind the lengths.
    #[must_use]
    pub const fn is_real(&self) -> bool {
        self.real
    }

    /// Bytes of memory in pages.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.pages.iter().flatten().count() * PAGE
    }

    /// Stores bytes that begin at this offset.
    pub fn write(&mut self, pool: &mut PagePool, mut offset: u64, mut bytes: &[u8]) {
        self.real = true;
        if self.pages.is_empty() {
            self.first = self.first.max(offset - offset % PAGE as u64);
        }
        while offset < self.first {
            self.pages.push_front(None); // it arrived before the data in front of it
            self.first -= PAGE as u64;
        }
        while !bytes.is_empty() {
            let at = (offset - self.first) as usize;
            let (page, within) = (at / PAGE, at % PAGE);
            if self.pages.len() <= page {
                self.pages.resize_with(page + 1, || None);
            }
            let page = self.pages[page].get_or_insert_with(|| pool.take());
            let fits = bytes.len().min(PAGE - within);
            page[within..within + fits].copy_from_slice(&bytes[..fits]);
            bytes = &bytes[fits..];
            offset += fits as u64;
        }
    }

    /// Appends this many bytes from this offset on; zeros for simulated payloads.
    pub fn read(&self, mut offset: u64, mut len: usize, to: &mut Vec<u8>) {
        while len > 0 {
            let within = (offset % PAGE as u64) as usize;
            let fits = len.min(PAGE - within);
            let page = offset.checked_sub(self.first).map(|at| at as usize / PAGE);
            match page.and_then(|page| self.pages.get(page)?.as_ref()) {
                Some(page) => to.extend_from_slice(&page[within..within + fits]),
                None => to.resize(to.len() + fits, 0),
            }
            len -= fits;
            offset += fits as u64;
        }
    }

    /// Releases the data before this offset.
    pub fn release(&mut self, pool: &mut PagePool, before: u64) {
        while self.first + PAGE as u64 <= before
            && let Some(page) = self.pages.pop_front()
        {
            self.first += PAGE as u64;
            if let Some(page) = page {
                pool.give(page);
            }
        }
    }

    /// Returns all pages.
    pub fn clear(&mut self, pool: &mut PagePool) {
        self.pages.drain(..).flatten().for_each(|page| pool.give(page));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_by_their_offset_whatever_order_they_came_in() {
        let all: Vec<u8> = (0..30_000_u32).map(|i| (i * 7 + i / 251) as u8).collect();
        let (mut content, mut pool) = (Content::default(), PagePool::default());
        let starts: Vec<usize> = (0..all.len()).step_by(1448).collect();
        for &start in starts.iter().skip(1).step_by(2).chain(starts.iter().step_by(2)) {
            let end = all.len().min(start + 1448);
            content.write(&mut pool, start as u64, &all[start..end]);
        }
        let mut back = Vec::new();
        content.read(777, 20_000, &mut back);
        assert_eq!(back, all[777..20_777]);
        content.release(&mut pool, 20_777);
        assert_eq!(content.memory(), 3 * PAGE, "pages 5 to 7");
        back.clear();
        content.read(20_777, all.len() - 20_777, &mut back);
        assert_eq!(back, all[20_777..]);
        content.clear(&mut pool);
        assert_eq!((content.memory(), pool.pages.len()), (0, 8));
    }
}
