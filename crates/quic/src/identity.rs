//! Connection ids, drawn from a named stream.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use airlane_core::Stream;
use quinn_proto::{ConnectionId, ConnectionIdGenerator};

/// Length of a connection id in bytes, quinn's default.
pub(crate) const ID_LENGTH: usize = 8;

/// Connection ids from a stream. Its clones share the stream, because quinn copies generators.
#[derive(Clone)]
pub(crate) struct Ids(Arc<Mutex<Stream>>);

impl Ids {
    pub(crate) fn new(stream: Stream) -> Self {
        Self(Arc::new(Mutex::new(stream)))
    }

    pub(crate) fn next(&self) -> ConnectionId {
        ConnectionId::new(&self.draw())
    }

    /// The bytes of the next id.
    pub(crate) fn draw(&self) -> [u8; ID_LENGTH] {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stream.bits().to_be_bytes()
    }
}

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        self.next()
    }
    fn cid_len(&self) -> usize {
        ID_LENGTH
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}
