//! The clock of a guest: the external mode of User Mode Linux's time travel.
//!
//! The guest connects to us, the *calendar*. It runs only when it was allowed to, from one time up to another, which
//! it does not reach; then it waits, with a request for the time of its next event. Messages have 16 bytes. Since
//! version 2 of the protocol (Linux 6.10), times are exchanged in a memory that both sides share, and only the changes
//! of turn are messages. Older guests send every time as a message, and each is acknowledged.
//!
//! Source: `include/uapi/linux/um_timetravel.h` of Linux 6.12 (BSD-3-Clause), and the behaviour of guests of 6.1 and
//! 6.12. The message BROADCAST is acknowledged and has no effect: there is one guest per calendar.

use crate::protocol::memory::{Memory, OutOfBounds};

/// Size of a message.
pub const MESSAGE: usize = 16;
/// The number of our slot in the shared memory.
const CALENDAR: u16 = 0;
/// The number of the guest's slot.
const GUEST: u16 = 1;
/// Size of the head of the shared memory.
const HEAD: u64 = 4096;
/// Size of each slot behind it.
const SLOT: u64 = 128;
/// Size of the shared memory.
pub const SHARED: usize = (HEAD + 2 * SLOT) as usize;
/// Version of the layout of the shared memory.
const VERSION: u32 = 2;
/// The time in the message of a guest that waits because it is idle, with the change of `airlane kernel build`.
const IDLE: u64 = u64::MAX - 1;
/// A request for no time at all.
const NEVER: u64 = i64::MAX as u64;

/// Offsets within the head of the shared memory.
mod head {
    pub(super) const VERSION: u64 = 0;
    pub(super) const LENGTH: u64 = 4;
    pub(super) const FREE_UNTIL: u64 = 8;
    pub(super) const CURRENT_TIME: u64 = 16;
    pub(super) const RUNNING: u64 = 24;
    pub(super) const SLOTS: u64 = 26;
}

/// Offsets within a slot of the shared memory, and its flags.
mod slot {
    pub(super) const CAPABILITIES: u64 = 0;
    pub(super) const FLAGS: u64 = 4;
    pub(super) const REQUEST: u64 = 8;
    pub(super) const TIME_SHARE: u32 = 1;
    pub(super) const WANTS_TO_RUN: u32 = 1;
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The answer to any other message.
    Acknowledge,
    /// The first message of a guest.
    Start,
    /// The guest asks to run at a time.
    Request,
    /// The guest waits for its turn.
    Wait,
    /// The guest asks for the time.
    Get,
    /// The guest states its time.
    Update,
    /// The guest may run.
    Run,
    /// The time up to which the guest may run without asking.
    FreeUntil,
    /// The guest asks for the time of day.
    TimeOfDay,
    /// A message for all guests.
    Broadcast,
}

impl Operation {
    const ALL: [Self; 10] = [
        Self::Acknowledge,
        Self::Start,
        Self::Request,
        Self::Wait,
        Self::Get,
        Self::Update,
        Self::Run,
        Self::FreeUntil,
        Self::TimeOfDay,
        Self::Broadcast,
    ];
}

/// A message, in either direction. Numbers are in the byte order of the machine, which is also that of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Kind of the message.
    pub operation: Operation,
    /// Number of the message, which the acknowledgment repeats.
    pub sequence: u32,
    /// A time in nanoseconds.
    pub time: u64,
}

impl Message {
    /// Reads a message; `None` if its kind is unknown.
    #[must_use]
    pub fn decode(bytes: &[u8; MESSAGE]) -> Option<Self> {
        let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        let operation = u32::from_ne_bytes(word(0)) as usize;
        let (low, high) = (word(8), word(12));
        let time = [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]];
        Some(Self {
            operation: *Operation::ALL.get(operation)?,
            sequence: u32::from_ne_bytes(word(4)),
            time: u64::from_ne_bytes(time),
        })
    }

    /// The message as bytes.
    #[must_use]
    pub fn encode(self) -> [u8; MESSAGE] {
        let mut bytes = [0; MESSAGE];
        bytes[..4].copy_from_slice(&(self.operation as u32).to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.time.to_ne_bytes());
        bytes
    }
}

/// The activity of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// The guest has not connected.
    Absent,
    /// The guest runs.
    Running,
    /// The guest waits for its turn.
    Waiting,
}

/// The action that a message needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Send this.
    Send(Message),
    /// Send this with the descriptors of the shared memory and of a log.
    SendShared(Message),
    /// Send nothing: the guest waits for its turn.
    Waits,
    /// Send this message: the guest waits for its turn.
    SendWaits(Message),
    /// Send nothing.
    Nothing,
}

/// A message that a guest may not send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unexpected(pub Message);

/// The clock of one guest. It is asked about the guest only between the guest's steps: while it waits, or while it is
/// blocked in a message to a device.
#[derive(Debug)]
pub struct Calendar<M> {
    shared: Option<M>,
    turn: Turn,
    /// Whether the guest is idle, and does not wait within a step of its clock.
    idle: bool,
    /// The time of day at the time zero of the guest, in nanoseconds since 1970.
    epoch: u64,
    /// Without a shared memory: the latest known time of the guest.
    now: u64,
    /// Without a shared memory: the time that the guest asked for.
    request: Option<u64>,
    /// Without a shared memory: the limit of the turn that the guest knows.
    told: Option<u64>,
    sequence: u32,
    /// Acknowledgments that are still to come for our own messages.
    unacknowledged: u32,
}

impl<M: Memory> Calendar<M> {
    /// A calendar. A guest of version 2 uses the shared memory; `shared` has [`SHARED`] bytes from address 0, all
    /// zero.
    ///
    /// # Errors
    /// If the shared memory is too small.
    pub fn new(shared: Option<M>, epoch: u64) -> Result<Self, OutOfBounds> {
        if let Some(shared) = &shared {
            shared.write_u32(head::VERSION, VERSION)?;
            shared.write_u32(head::LENGTH, SHARED as u32)?;
            shared.write_u16(head::SLOTS, 2)?;
            shared.write_u16(head::RUNNING, GUEST)?;
            // With TIME_SHARE, the guest's requests during our turn are not messages either.
            shared.write_u32(HEAD + slot::CAPABILITIES, slot::TIME_SHARE)?;
        }
        Ok(Self {
            shared,
            turn: Turn::Absent,
            idle: false,
            epoch,
            now: 0,
            request: None,
            told: None,
            sequence: 0,
            unacknowledged: 0,
        })
    }

    /// Handles a message of the guest.
    ///
    /// # Errors
    /// If the guest may not send it now.
    pub fn receive(&mut self, message: Message) -> Result<Answer, Unexpected> {
        let acknowledge =
            |time| Message { operation: Operation::Acknowledge, sequence: message.sequence, time };
        match (message.operation, self.turn) {
            (Operation::Start, Turn::Absent) => {
                self.turn = Turn::Running;
                Ok(match self.shared {
                    Some(_) => Answer::SendShared(acknowledge(u64::from(GUEST))),
                    None => Answer::Send(acknowledge(0)),
                })
            }
            (Operation::TimeOfDay, Turn::Running) => Ok(Answer::Send(acknowledge(self.epoch + self.time()))),
            (Operation::Get, Turn::Running | Turn::Waiting) => Ok(Answer::Send(acknowledge(self.time()))),
            (Operation::Update, Turn::Running) if message.time >= self.now => {
                self.now = message.time;
                Ok(Answer::Send(acknowledge(0)))
            }
            (Operation::Request, Turn::Running | Turn::Waiting) => {
                self.request = Some(message.time);
                Ok(Answer::Send(acknowledge(0)))
            }
            (Operation::Wait, Turn::Running) => {
                self.turn = Turn::Waiting;
                self.idle = message.time == IDLE;
                self.told = None; // the guest forgets it
                Ok(match self.shared {
                    Some(_) => Answer::Waits,
                    None => Answer::SendWaits(acknowledge(0)),
                })
            }
            (Operation::Acknowledge, _) if self.unacknowledged > 0 => {
                self.unacknowledged -= 1;
                Ok(Answer::Nothing)
            }
            (Operation::Broadcast, Turn::Running) => Ok(Answer::Send(acknowledge(0))),
            _ => Err(Unexpected(message)),
        }
    }

    /// Whether the guest has acknowledged all our messages.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        self.unacknowledged == 0
    }

    /// Whether the guest can get interrupts with its turn: it is idle, so that it would ask to run at the time of the
    /// interrupt, and sends no messages about times. Within a step of its clock, it may have an interrupt that it has not
    /// handled, and would not ask.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.idle && self.shared.is_some()
    }

    /// Whether the guest waits for its turn.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.turn == Turn::Waiting
    }

    /// Takes the turn from a guest that waits.
    ///
    /// # Errors
    /// If the shared memory is too small.
    pub fn take_turn(&mut self) -> Result<(), OutOfBounds> {
        self.shared.as_ref().map_or(Ok(()), |shared| shared.write_u16(head::RUNNING, CALENDAR))
    }

    /// The time at which the guest asks to run; `None` for no request.
    #[must_use]
    pub fn request(&self) -> Option<u64> {
        let request = match &self.shared {
            None => self.request,
            Some(shared) => {
                let at = HEAD + SLOT;
                let wants = shared.read_u32(at + slot::FLAGS).unwrap_or(0) & slot::WANTS_TO_RUN != 0;
                wants.then(|| shared.read_u64(at + slot::REQUEST).unwrap_or(NEVER))
            }
        };
        request.filter(|&time| time < NEVER)
    }

    /// The guest's time: the time of its last output while it runs, that of [`Self::set_time`] while it waits.
    #[must_use]
    pub fn time(&self) -> u64 {
        match &self.shared {
            Some(shared) => shared.read_u64(head::CURRENT_TIME).unwrap_or(self.now),
            None => self.now,
        }
    }

    /// While the guest waits: the time of an input that it will get.
    ///
    /// # Errors
    /// If the shared memory is too small.
    pub fn set_time(&mut self, time: u64) -> Result<(), OutOfBounds> {
        self.now = time;
        self.shared.as_ref().map_or(Ok(()), |shared| shared.write_u64(head::CURRENT_TIME, time))
    }

    /// Gives the turn to the guest at `time`, and up to `limit`, which it does not reach. The messages must be sent in
    /// their order.
    ///
    /// # Errors
    /// If the shared memory is too small.
    pub fn run(&mut self, time: u64, limit: u64) -> Result<Vec<Message>, OutOfBounds> {
        self.set_time(time)?;
        let mut messages: Vec<_> = self.limit(limit)?.into_iter().collect();
        if let Some(shared) = &self.shared {
            shared.write_u16(head::RUNNING, GUEST)?;
        }
        self.request = None;
        messages.push(self.message(Operation::Run, time));
        self.turn = Turn::Running;
        if self.shared.is_none() {
            self.unacknowledged += 1;
        }
        Ok(messages)
    }

    /// Changes the limit of a guest that runs. A message must be sent before the guest continues.
    ///
    /// # Errors
    /// If the shared memory is too small.
    pub fn limit(&mut self, limit: u64) -> Result<Option<Message>, OutOfBounds> {
        if let Some(shared) = &self.shared {
            shared.write_u64(head::FREE_UNTIL, limit)?;
            return Ok(None);
        }
        // A guest that has not started forgets the limit, and a guest that knows it needs no message.
        if self.turn == Turn::Absent || self.told == Some(limit) {
            return Ok(None);
        }
        self.told = Some(limit);
        self.unacknowledged += 1;
        Ok(Some(self.message(Operation::FreeUntil, limit)))
    }

    fn message(&mut self, operation: Operation, time: u64) -> Message {
        self.sequence += 1;
        Message { operation, sequence: self.sequence, time }
    }
}

#[cfg(test)]
mod tests;
