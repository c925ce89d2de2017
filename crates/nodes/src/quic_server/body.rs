//! The body of a response: parts of a file, and the text between them. It is read while it is sent.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::task::JoinHandle;

/// Bytes that are read at a time.
const CHUNK: u64 = 64 << 10;

/// A part of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(Bytes),
    /// A number of bytes of the file, from this one on.
    File {
        from: u64,
        size: u64,
    },
}

/// A body.
#[derive(Debug, Default)]
pub(super) struct Content {
    file: Option<Arc<File>>,
    parts: VecDeque<Part>,
    remaining: u64,
    reading: Option<JoinHandle<io::Result<Bytes>>>,
}

impl Part {
    fn size(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::File { size, .. } => *size,
        }
    }
}

impl Content {
    /// A body of these parts.
    pub(super) fn new(file: Option<Arc<File>>, parts: impl IntoIterator<Item = Part>) -> Self {
        let parts: VecDeque<Part> = parts.into_iter().filter(|part| part.size() > 0).collect();
        let remaining = parts.iter().map(Part::size).sum();
        Self { file, parts, remaining, reading: None }
    }

    /// A body of a text.
    pub(super) fn text(text: &'static str) -> Self {
        Self::new(None, [Part::Text(Bytes::from_static(text.as_bytes()))])
    }

    /// Bytes that are left.
    pub(super) const fn size(&self) -> u64 {
        self.remaining
    }

    /// Takes the next chunk: a text, or the place of one in the file.
    fn next(&mut self) -> Option<Part> {
        let part = self.parts.front_mut()?;
        if let Part::File { from, size } = part
            && *size > CHUNK
        {
            let chunk = Part::File { from: *from, size: CHUNK };
            *part = Part::File { from: *from + CHUNK, size: *size - CHUNK };
            return Some(chunk);
        }
        self.parts.pop_front()
    }
}

/// Reads a chunk. A file that has become shorter is an error: the length of the response is announced.
fn read(file: &File, from: u64, size: u64) -> io::Result<Bytes> {
    let mut chunk = vec![0; size as usize];
    file.read_exact_at(&mut chunk, from)?;
    Ok(chunk.into())
}

impl http_body::Body for Content {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.reading.is_none() {
            match (self.next(), self.file.clone()) {
                (Some(Part::File { from, size }), Some(file)) => {
                    self.reading = Some(tokio::task::spawn_blocking(move || read(&file, from, size)));
                }
                (Some(Part::Text(text)), _) => {
                    self.remaining -= text.len() as u64;
                    return Poll::Ready(Some(Ok(Frame::data(text))));
                }
                _ => return Poll::Ready(None),
            }
        }
        let Some(reading) = &mut self.reading else { return Poll::Ready(None) };
        let read = ready!(Pin::new(reading).poll(cx)).unwrap_or_else(|e| Err(io::Error::other(e)));
        self.reading = None;
        if let Ok(chunk) = &read {
            self.remaining -= chunk.len() as u64;
        }
        Poll::Ready(Some(read.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.remaining == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining)
    }
}
