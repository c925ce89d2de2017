//! The data of streams in order, also where quinn would give up.
//!
//! quinn closes the connection when more than 1,024 separate spans of a stream wait for the data before them, because a
//! peer could otherwise fill its memory with tiny frames (quinn-proto 0.11.19, `connection/assembler.rs`: `MAX_CHUNKS`).
//! It counts the spans once it holds more than 2,048 chunks (`COMPACT_THRESHOLD`). A window of thousands of packets of
//! which many are lost has as many spans. Before that number, the data are read from quinn out of order, and wait here.
//!
//! Flow control then counts them as read, so that the peer may send as much more. With fewer chunks, nothing differs
//! from reading in order.

use std::collections::BTreeMap;

use bytes::Bytes;
use quinn_proto::{Chunks, Connection, StreamId};

use crate::endpoint::Readable;

/// Chunks that quinn holds at most: 2,048 less those of a datagram, which all arrive before the next read. A datagram of
/// a sender that fills its packets has few frames of a stream: the rest of one lost range, and the begin of the next.
const CHUNKS_MAX: u64 = 2_048 - 64;

/// The streams of a connection that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    streams: BTreeMap<StreamId, Incoming>,
    /// Chunks read from quinn. It holds at most as many as STREAM frames have arrived less these: it discards frames
    /// that repeat data, and merges others.
    read: u64,
}

/// A stream.
#[derive(Debug, Default)]
struct Incoming {
    /// Bytes read in order.
    position: u64,
    /// Data behind a gap by their offsets. quinn passes on each byte once, so they do not overlap.
    early: BTreeMap<u64, Bytes>,
    /// Whether quinn passes the data on out of order, which it then does for the rest of the stream.
    unordered: bool,
    /// Whether quinn has passed on all data.
    complete: bool,
    /// Whether quinn has forgotten the stream, after its end or a reset.
    forgotten: bool,
}

impl Reassembly {
    /// Reads everything of a stream that has arrived in order, in parts.
    pub(crate) fn read(
        &mut self,
        connection: &mut Connection,
        id: StreamId,
        mut take: impl FnMut(&[u8]),
    ) -> Readable {
        let mut readable = Readable::default();
        let incoming = self.streams.entry(id).or_default();
        let mut each = |bytes: &Bytes| {
            readable.bytes += bytes.len() as u64;
            take(bytes);
        };
        if incoming.unordered {
            self.read += incoming.read_unordered(connection, id, &mut each);
        } else {
            self.read += incoming.read_ordered(connection, id, &mut each);
        }
        readable.at_end = incoming.complete && incoming.early.is_empty();
        if readable.at_end || incoming.forgotten && incoming.early.is_empty() {
            self.streams.remove(&id);
        }
        self.relieve(connection);
        readable
    }

    /// Reads everything that quinn holds, if that may be too much for it.
    fn relieve(&mut self, connection: &mut Connection) {
        let arrived = connection.stats().frame_rx.stream;
        if arrived.saturating_sub(self.read) <= CHUNKS_MAX {
            return;
        }
        for (id, incoming) in &mut self.streams {
            incoming.read_early(connection, *id);
        }
        self.read = arrived;
    }
}

impl Incoming {
    /// Reads in order. Returns the number of chunks.
    fn read_ordered(
        &mut self,
        connection: &mut Connection,
        id: StreamId,
        each: &mut impl FnMut(&Bytes),
    ) -> u64 {
        let mut read = 0;
        self.forgotten = !with_chunks(connection, id, true, |chunks| {
            loop {
                match chunks.next(usize::MAX) {
                    Ok(Some(chunk)) => {
                        read += 1;
                        self.position += chunk.bytes.len() as u64;
                        each(&chunk.bytes);
                    }
                    Ok(None) => return self.complete = true,
                    Err(_) => return,
                }
            }
        });
        read
    }

    /// Reads in order what waits here and what quinn passes on in any order. Returns the number of quinn's chunks.
    fn read_unordered(
        &mut self,
        connection: &mut Connection,
        id: StreamId,
        each: &mut impl FnMut(&Bytes),
    ) -> u64 {
        let mut read = 0;
        self.take_early(each);
        self.forgotten = !with_chunks(connection, id, false, |chunks| {
            // A read of no bytes shows the offset of quinn's first chunk and leaves it there.
            while let Ok(first) = chunks.next(0) {
                match first {
                    None => return self.complete = true,
                    Some(first) if first.offset != self.position => return,
                    Some(_) => {}
                }
                let Ok(Some(chunk)) = chunks.next(usize::MAX) else { return };
                read += 1;
                self.position += chunk.bytes.len() as u64;
                each(&chunk.bytes);
                self.take_early(each);
            }
        });
        read
    }

    /// The data that have waited here and are in order now.
    fn take_early(&mut self, each: &mut impl FnMut(&Bytes)) {
        while let Some(bytes) = self.early.remove(&self.position) {
            self.position += bytes.len() as u64;
            each(&bytes);
        }
    }

    /// Reads everything that quinn holds.
    fn read_early(&mut self, connection: &mut Connection, id: StreamId) {
        self.unordered = true;
        self.forgotten = !with_chunks(connection, id, false, |chunks| {
            loop {
                match chunks.next(usize::MAX) {
                    Ok(Some(chunk)) => drop(self.early.insert(chunk.offset, chunk.bytes)),
                    Ok(None) => return self.complete = true,
                    Err(_) => return,
                }
            }
        });
    }
}

/// Reads from quinn. False if it does not know the stream any more.
fn with_chunks(
    connection: &mut Connection,
    id: StreamId,
    ordered: bool,
    read: impl FnOnce(&mut Chunks<'_>),
) -> bool {
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(ordered) else { return false };
    read(&mut chunks);
    // The result says whether flow control has an update for the peer; `flush` polls in any case.
    let _ = chunks.finalize();
    true
}
