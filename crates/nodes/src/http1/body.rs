//! Bodies with bounds: of requests in bytes and time, of responses in the memory of all.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use bytes::{Buf, Bytes};
use http_body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::clients::Client;

/// A response of up to this many bytes costs nothing, and others are given to the connection in such pieces.
pub(super) const PIECE: usize = 16 << 10;
/// The part of all memory that one client can have: one of so many.
const SHARE: u64 = 4;

/// Why the body of a request is not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// The body is longer than this many bytes.
    Long(u64),
    /// The body did not arrive in time.
    Late,
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Long(most) => write!(f, "the body has more than {most} bytes"),
            Self::Late => f.write_str("the body did not arrive in time"),
        }
    }
}

impl Error for BodyError {}

/// The body of a request.
#[derive(Debug)]
pub(super) struct Bounded<B> {
    inner: B,
    most: u64,
    left: u64,
    end: Pin<Box<Sleep>>,
}

impl<B> Bounded<B> {
    pub(super) fn new(inner: B, most: u64, within: Duration) -> Self {
        Self { inner, most, left: most, end: Box::pin(sleep(within)) }
    }
}

impl<B> http_body::Body for Bounded<B>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.end.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(BodyError::Late.into())));
        }
        let Some(frame) = ready!(Pin::new(&mut self.inner).poll_frame(cx)) else { return Poll::Ready(None) };
        let frame = frame.map_err(Into::into)?;
        let read = frame.data_ref().map_or(0, |data| data.len() as u64);
        match self.left.checked_sub(read) {
            Some(left) => self.left = left,
            None => return Poll::Ready(Some(Err(BodyError::Long(self.most).into()))),
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The memory of responses that clients have not read. A client has a part of it at most, and small responses cost
/// nothing, so that slow readers of large responses delay no other client.
#[derive(Debug)]
pub(super) struct Budget {
    most: u64,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    all: u64,
    of: BTreeMap<Client, u64>,
}

/// Bytes of the budget; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Charge {
    budget: Arc<Budget>,
    client: Client,
    bytes: u64,
}

impl Budget {
    pub(super) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self { most, used: Mutex::default() })
    }

    /// Takes the bytes of a response; `None` if there are not as many. Half of the memory is for clients that have no
    /// response waiting.
    pub(super) fn charge(self: &Arc<Self>, client: Client, bytes: u64) -> Option<Charge> {
        let mut used = self.used.lock().expect("no panic while it is locked");
        let own = used.of.get(&client).copied().unwrap_or(0);
        let all = used.all.saturating_add(bytes);
        let fits = match own {
            // However long it is, it is possible alone.
            0 => used.all == 0 || all <= self.most,
            own => all <= self.most / 2 && own.saturating_add(bytes) <= self.most / SHARE,
        };
        if !fits {
            return None;
        }
        used.all = all;
        used.of.insert(client, own + bytes);
        Some(Charge { budget: self.clone(), client, bytes })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let mut used = self.budget.used.lock().expect("no panic while it is locked");
        used.all -= self.bytes;
        if let Some(own) = used.of.get_mut(&self.client) {
            *own -= self.bytes;
            if *own == 0 {
                used.of.remove(&self.client);
            }
        }
    }
}

/// The body of a response, in pieces: the connection takes the next one when its client has read. Each is a copy, so
/// that the last ones do not hold the memory of all.
#[derive(Debug)]
pub(super) struct Charged {
    inner: Body,
    rest: Bytes,
    _charge: Charge,
}

impl Charged {
    pub(super) fn new(inner: Body, charge: Charge) -> Self {
        Self { inner, rest: Bytes::new(), _charge: charge }
    }
}

impl http_body::Body for Charged {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let Some(frame) = ready!(Pin::new(&mut self.inner).poll_frame(cx)) else {
                return Poll::Ready(None);
            };
            match frame?.into_data() {
                Ok(data) => self.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let size = self.rest.len().min(PIECE);
        let piece = Bytes::copy_from_slice(&self.rest[..size]);
        self.rest.advance(size);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let inner = self.inner.size_hint();
        let rest = self.rest.len() as u64;
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::client_of;

    fn client(last: u8) -> Client {
        client_of([10, 0, 0, last].into())
    }

    #[test]
    fn one_client_has_a_part_of_the_memory() {
        let budget = Budget::new(1000);
        let own: Vec<_> = (0..9).filter_map(|_| budget.charge(client(1), 100)).collect();
        assert_eq!(own.len(), 2, "a quarter of 1000");
        let other: Vec<_> = (0..9).filter_map(|_| budget.charge(client(2), 100)).collect();
        assert_eq!(other.len(), 2);
        let third: Vec<_> = (0..9).filter_map(|_| budget.charge(client(3), 100)).collect();
        assert_eq!(third.len(), 1, "half of the memory is for the first response of a client");
        let first: Vec<_> = (4..99).filter_map(|one| budget.charge(client(one), 100)).collect();
        assert_eq!(first.len(), 5, "1000 in all");
        drop((own, other, third, first));
        let used = budget.used.lock().unwrap();
        assert_eq!((used.all, used.of.len()), (0, 0));
    }

    #[test]
    fn a_response_that_is_longer_than_the_memory_is_possible_alone() {
        let budget = Budget::new(1000);
        let alone = budget.charge(client(1), 5000).unwrap();
        assert!(budget.charge(client(2), 1).is_none());
        drop(alone);
        assert!(budget.charge(client(2), 1).is_some());
    }
}
