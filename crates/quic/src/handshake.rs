//! A handshake without cryptography: it exchanges transport parameters in the order of TLS 1.3 over QUIC
//! (RFC 9001 §4), one message for each of its flights, and protects nothing. The libraries call it through their own
//! interfaces (`crypto.rs`, `multipath/crypto.rs`).
//!
//! Packets have the same length as with AES-GCM (RFC 9001 §5.3): a tag of 16 bytes, and room for a
//! header protection sample. The tag contains the generation of the key, so that a packet with an old
//! key cannot be opened, as key updates require.

/// The tag of AES-GCM (RFC 9001 §5.3), and the sample of header protection (§5.4.2).
pub(crate) const TAG: usize = 16;
pub(crate) const SAMPLE: usize = 16;
/// Messages by their TLS 1.3 types (RFC 8446 §4); each has a length of three bytes.
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const ENCRYPTED_EXTENSIONS: u8 = 8;
const FINISHED: u8 = 20;
const MESSAGE_HEADER: usize = 4;

/// Generations of keys: Initial, Handshake, and the first of 1-RTT.
pub(crate) const INITIAL: u64 = 0;
const HANDSHAKE: u64 = 1;
const FIRST_DATA: u64 = 2;

/// Limits of AES-GCM (RFC 9001 §6.6): packets that one key protects, and packets that may fail to open.
pub(crate) const CONFIDENTIALITY_LIMIT: u64 = 1 << 23;
pub(crate) const INTEGRITY_LIMIT: u64 = 1 << 52;

/// Writes the tag of a packet, whose last bytes are its place.
pub(crate) fn seal(generation: u64, packet: &mut [u8]) {
    let tag = packet.len() - TAG;
    packet[tag..].fill(0);
    packet[tag..tag + 8].copy_from_slice(&generation.to_be_bytes());
}

/// The length of the text of a payload with a tag of this generation.
pub(crate) fn open(generation: u64, payload: &[u8]) -> Option<usize> {
    let text = payload.len().checked_sub(TAG)?;
    (payload[text..text + 8] == generation.to_be_bytes()).then_some(text)
}

/// A message that is out of place.
#[derive(Debug)]
pub(crate) struct OutOfPlace;

/// The part of one end in the handshake.
pub(crate) struct Handshake {
    is_client: bool,
    own_parameters: Vec<u8>,
    /// Handshake bytes of an incomplete message.
    received: Vec<u8>,
    /// The next message.
    next: Step,
    finished: bool,
    /// The generation of the next 1-RTT keys.
    generation: u64,
}

/// The next message of an end. It is sent when requested, except for [`Step::Listen`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    ClientHello,
    /// The keys of the handshake, for which the client sends no message.
    ClientHandshakeKeys,
    ClientFinished,
    ServerHello,
    ServerParameters,
    Listen,
}

impl Handshake {
    pub(crate) const fn new(is_client: bool, own_parameters: Vec<u8>) -> Self {
        let next = if is_client { Step::ClientHello } else { Step::Listen };
        Self {
            is_client,
            own_parameters,
            received: vec![],
            next,
            finished: false,
            generation: FIRST_DATA + 1,
        }
    }

    pub(crate) const fn is_finished(&self) -> bool {
        self.finished
    }

    fn say(&self, to: &mut Vec<u8>, kind: u8, body: &[u8]) {
        let length = u32::try_from(body.len()).expect("a handshake message is short").to_be_bytes();
        to.push(kind);
        to.extend_from_slice(&length[1..]);
        to.extend_from_slice(body);
    }

    /// Handles a message. Returns whether it has the peer's transport parameters.
    fn on_message(&mut self, kind: u8) -> Result<bool, OutOfPlace> {
        match (self.is_client, kind) {
            (false, CLIENT_HELLO) => {
                self.next = Step::ServerHello;
                return Ok(true);
            }
            (false, FINISHED) => self.finished = true,
            (true, SERVER_HELLO) => self.next = Step::ClientHandshakeKeys,
            (true, ENCRYPTED_EXTENSIONS) => return Ok(true),
            (true, FINISHED) => {
                self.finished = true;
                self.next = Step::ClientFinished;
            }
            _ => return Err(OutOfPlace),
        }
        Ok(false)
    }

    /// Reads handshake bytes. Returns the peer's transport parameters if they are among them.
    ///
    /// # Errors
    /// If a message is out of place.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, OutOfPlace> {
        let mut parameters = None;
        self.received.extend_from_slice(bytes);
        while let [kind, a, b, c, ..] = *self.received.as_slice() {
            let whole = MESSAGE_HEADER + u32::from_be_bytes([0, a, b, c]) as usize;
            if self.received.len() < whole {
                break;
            }
            if self.on_message(kind)? {
                parameters = Some(self.received[MESSAGE_HEADER..whole].to_vec());
            }
            self.received.drain(..whole);
        }
        Ok(parameters)
    }

    /// Writes the next message, and returns the generation of the keys that follow, if any do.
    pub(crate) fn write(&mut self, to: &mut Vec<u8>) -> Option<u64> {
        let (next, generation) = match self.next {
            Step::ClientHello => {
                self.say(to, CLIENT_HELLO, &self.own_parameters);
                (Step::Listen, None)
            }
            Step::ServerHello => {
                self.say(to, SERVER_HELLO, &[]);
                (Step::ServerParameters, Some(HANDSHAKE))
            }
            Step::ServerParameters => {
                self.say(to, ENCRYPTED_EXTENSIONS, &self.own_parameters);
                self.say(to, FINISHED, &[]);
                (Step::Listen, Some(FIRST_DATA))
            }
            Step::ClientHandshakeKeys => (Step::Listen, Some(HANDSHAKE)),
            Step::ClientFinished => {
                self.say(to, FINISHED, &[]);
                (Step::Listen, Some(FIRST_DATA))
            }
            Step::Listen => (Step::Listen, None),
        };
        self.next = next;
        generation
    }

    /// The generation of the keys after an update.
    pub(crate) const fn next_generation(&mut self) -> u64 {
        self.generation += 1;
        self.generation - 1
    }
}

/// A signature that is a function of its input and a seed: FNV-1a, 64 bits.
pub(crate) fn sign(seed: u64, data: &[u8], signature: &mut [u8]) {
    let mut hash = seed ^ 0xcbf2_9ce4_8422_2325;
    for out in signature {
        for byte in data {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        *out = (hash >> 32) as u8;
    }
}

/// Length of a signature: HMAC-SHA256, the default of both libraries.
pub(crate) const SIGNATURE: usize = 32;
