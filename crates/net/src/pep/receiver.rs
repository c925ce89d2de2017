//! The server's side: which messages about a flow are accepted.

use airlane_core::{FlowId, SocketPair};

use super::{Key, Message, Rejected, flow_identifier};

/// §6: maximum number of PEPs that are distinguished per flow; a UE that moves passes several.
const PEPS_MAX: usize = 8;
/// §6: maximum lateness, in messages (as the window of RFC 4303 §3.4.3).
const WINDOW: u32 = 64;

/// The state for one PEP.
#[derive(Clone, Copy, Debug)]
struct Source {
    pep: u32,
    instance: u32,
    /// The highest serial, and which of the 64 serials up to it were received: bit 0 is the highest
    /// itself.
    highest: u32,
    there: u64,
}

impl Source {
    /// Records a message; false if it was received before or is too old to decide.
    fn is_new(&mut self, instance: u32, serial: u32) -> bool {
        if instance > self.instance {
            *self = Self { instance, highest: serial, there: 1, ..*self };
            return true;
        }
        if instance < self.instance {
            return false;
        }
        if serial > self.highest {
            let ahead = serial - self.highest;
            self.there = if ahead < WINDOW { self.there << ahead | 1 } else { 1 };
            self.highest = serial;
            return true;
        }
        let behind = self.highest - serial;
        let new = behind < WINDOW && self.there & (1 << behind) == 0;
        if new {
            self.there |= 1 << behind;
        }
        new
    }
}

/// The secret that a PEP and the server of a flow share.
#[derive(Clone)]
pub struct Keys {
    secret: Vec<u8>,
    flow: FlowId,
}

impl core::fmt::Debug for Keys {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Keys({:?}, ..)", self.flow)
    }
}

impl Keys {
    /// The keys of a flow whose PEP has this secret.
    #[must_use]
    pub fn new(secret: &[u8], flow: FlowId) -> Self {
        Self { secret: secret.to_vec(), flow }
    }

    /// §5: the receiver of a connection, in its initial state.
    #[must_use]
    pub fn receiver(&self, sockets: SocketPair) -> Receiver {
        let flow = flow_identifier(self.flow, sockets);
        Receiver::new(Key::derive(&self.secret, flow), flow)
    }
}

/// Accepts each message that was made with the key of the flow, once.
#[derive(Clone, Debug)]
pub struct Receiver {
    key: Key,
    flow: u64,
    /// The most recently heard PEP is first.
    sources: Vec<Source>,
}

impl Receiver {
    /// A receiver in its initial state.
    #[must_use]
    pub fn new(key: Key, flow: u64) -> Self {
        Self { key, flow, sources: Vec::with_capacity(PEPS_MAX) }
    }

    /// The key of the flow.
    #[must_use]
    pub const fn key(&self) -> &Key {
        &self.key
    }

    /// Decodes the payload of a datagram.
    ///
    /// # Errors
    /// If the message is rejected.
    pub fn accept(&mut self, bytes: &[u8]) -> Result<Message, Rejected> {
        let message = Message::decode(bytes, &self.key)?;
        if message.flow != self.flow {
            return Err(Rejected::Forged);
        }
        if self.is_new(&message) { Ok(message) } else { Err(Rejected::Replayed) }
    }

    fn is_new(&mut self, message: &Message) -> bool {
        let (instance, serial) = (message.instance, message.serial);
        if let Some(at) = self.sources.iter().position(|s| s.pep == message.pep) {
            let new = self.sources[at].is_new(instance, serial);
            if new && at > 0 {
                self.sources[..=at].rotate_right(1);
            }
            return new;
        }
        self.sources.truncate(PEPS_MAX - 1);
        self.sources.insert(0, Source { pep: message.pep, instance, highest: serial, there: 1 });
        true
    }
}
