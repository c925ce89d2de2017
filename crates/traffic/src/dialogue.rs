//! The content of the bytes on an application's connections.
//!
//! Payloads are lengths, so a request cannot be read from them. The two ends of an application share a
//! [`Dialogue`] instead: the writer stores the stream position at which a message ends, and the reader gets
//! the message once the stream has delivered its last byte. A message is therefore never known before its
//! bytes have arrived, for any path: a proxy that splits the connection carries the same stream.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use airlane_core::{Direction, SocketPair};

/// Messages per connection before memory has to grow.
const RESERVED: usize = 16;

/// Messages of one direction of a connection, each with the position after its last byte.
type Stream<M> = VecDeque<(u64, M)>;

#[derive(Debug)]
struct Talk<M> {
    sockets: SocketPair,
    /// Downlink, and uplink.
    streams: [Stream<M>; 2],
    /// The ends that take part: an end that has written or read a message, until it leaves. By the direction
    /// in which it sends.
    present: [bool; 2],
}

/// The messages on all connections of an application, whose two ends share them.
#[derive(Debug)]
pub struct Dialogue<M>(Arc<Mutex<Vec<Talk<M>>>>);

impl<M> Clone for Dialogue<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M> Default for Dialogue<M> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

const fn index(direction: Direction) -> usize {
    match direction {
        Direction::Downlink => 0,
        Direction::Uplink => 1,
    }
}

impl<M: Copy> Dialogue<M> {
    fn talks(&self) -> MutexGuard<'_, Vec<Talk<M>>> {
        // Both ends of a run are called by the same thread, so a poisoned lock is impossible.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message that ends at position `end` in this direction.
    pub fn say(&self, sockets: SocketPair, direction: Direction, end: u64, message: M) {
        let mut talks = self.talks();
        let place = talks.iter().position(|talk| talk.sockets == sockets).unwrap_or_else(|| {
            let stream = || VecDeque::with_capacity(RESERVED);
            talks.push(Talk { sockets, streams: [stream(), stream()], present: [false; 2] });
            talks.len() - 1
        });
        talks[place].present[index(direction)] = true;
        let stream = &mut talks[place].streams[index(direction)];
        assert!(stream.back().is_none_or(|(before, _)| *before <= end), "messages follow one another");
        stream.push_back((end, message));
    }

    /// The next message in this direction, and its end.
    #[must_use]
    pub fn next(&self, sockets: SocketPair, direction: Direction) -> Option<(u64, M)> {
        let talks = self.talks();
        let talk = talks.iter().find(|talk| talk.sockets == sockets)?;
        talk.streams[index(direction)].front().copied()
    }

    /// Removes the next message in this direction, if all of it has arrived.
    pub fn hear(&self, sockets: SocketPair, direction: Direction, read_to: u64) -> Option<M> {
        let mut talks = self.talks();
        let talk = talks.iter_mut().find(|talk| talk.sockets == sockets)?;
        let stream = &mut talk.streams[index(direction)];
        let (end, message) = *stream.front()?;
        if end > read_to {
            return None;
        }
        stream.pop_front();
        talk.present[index(direction.reversed())] = true;
        Some(message)
    }

    /// The end that sends in this direction has finished with a connection; the second such call removes
    /// its record.
    pub fn leave(&self, sockets: SocketPair, direction: Direction) {
        let mut talks = self.talks();
        if let Some(place) = talks.iter().position(|talk| talk.sockets == sockets) {
            talks[place].present[index(direction)] = false;
            if talks[place].present == [false; 2] {
                talks.swap_remove(place);
            }
        }
    }

    /// Number of connections with a record.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.talks().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: SocketPair = SocketPair { server: 0, server_port: 80, ue_port: 49_152 };
    const B: SocketPair = SocketPair { server: 1, ..A };

    #[test]
    fn a_message_is_heard_with_its_last_byte() {
        let here: Dialogue<char> = Dialogue::default();
        let there = here.clone();
        here.say(A, Direction::Uplink, 300, 'x');
        here.say(A, Direction::Uplink, 600, 'y');
        here.say(B, Direction::Uplink, 10, 'z');
        assert_eq!(there.hear(A, Direction::Uplink, 299), None);
        assert_eq!(there.hear(A, Direction::Downlink, 999), None);
        assert_eq!(there.hear(A, Direction::Uplink, 300), Some('x'));
        assert_eq!(there.next(A, Direction::Uplink), Some((600, 'y')));
        assert_eq!(there.hear(A, Direction::Uplink, 599), None);
        assert_eq!(there.hear(B, Direction::Uplink, 10), Some('z'));
        here.leave(A, Direction::Uplink);
        assert_eq!(there.connections(), 2);
        there.leave(A, Direction::Downlink);
        assert_eq!(there.connections(), 1);
        // This message was not read: its writer removes it when it leaves.
        let c = SocketPair { server: 2, ..A };
        here.say(c, Direction::Uplink, 10, 'w');
        here.leave(c, Direction::Uplink);
        assert_eq!(there.connections(), 1);
    }
}
