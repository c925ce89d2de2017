//! A network interface of a guest: the backend of a virtio network device over vhost-user.

use core::fmt;

use crate::protocol::frame::{self, Mac};
use crate::protocol::memory::Memory;
use crate::protocol::queue::{Queue, QueueError};
use crate::protocol::vhost::{self, Header, Region, Request};

/// The queue of packets to the guest (virtio 1.2 §5.1.2).
const TO_GUEST: usize = 0;
/// The queue of packets from the guest.
const FROM_GUEST: usize = 1;

/// The action that a request needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this answer, if it is not empty.
    Reply(Vec<u8>),
    /// Map this memory from the descriptor of the request, then send the answer.
    Map(Region, Vec<u8>),
    /// Keep the descriptor of the request for our own requests, then send the answer.
    KeepSocket(Vec<u8>),
    /// Take what the guest has sent ([`Nic::take`]), then send [`vhost::acknowledgment`] of the request.
    Sent,
}

/// A request that the device does not understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Number of the request.
    pub request: u32,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a network interface got the vhost-user request {}, which it does not understand",
            self.request
        )
    }
}

/// The state of an interface.
#[derive(Clone, Debug)]
pub struct Nic {
    mac: Mac,
    /// Whether the driver takes frames in several buffers, and without checksums.
    scattered: bool,
    queues: [Queue; 2],
}

impl Nic {
    /// An interface that the guest has not found yet.
    #[must_use]
    pub fn new(number: u16) -> Self {
        Self { mac: frame::mac(number), scattered: false, queues: [Queue::default(); 2] }
    }

    /// An interface that takes frames in several buffers, and without checksums: data is not copied on its way out.
    #[must_use]
    pub fn with_scattered_frames(self) -> Self {
        Self { scattered: true, ..self }
    }

    /// The MAC address of the interface.
    #[must_use]
    pub const fn mac(&self) -> Mac {
        self.mac
    }

    /// Handles a request of the driver.
    ///
    /// # Errors
    /// If it is unknown.
    pub fn handle(&mut self, header: Header, payload: &[u8]) -> Result<Action, Unknown> {
        let unknown = Unknown { request: header.request };
        let request = Request::decode(header, payload).ok_or(unknown)?;
        let confirmed = match header.needs_reply() {
            true => vhost::acknowledgment(header.request).to_vec(),
            false => vec![],
        };
        let number = |value: u64| Action::Reply(vhost::reply(header.request, &value.to_ne_bytes()));
        Ok(match request {
            Request::GetFeatures => {
                number(vhost::FEATURES | if self.scattered { vhost::WITHOUT_CHECKSUM } else { 0 })
            }
            Request::GetProtocolFeatures => number(vhost::PROTOCOL_FEATURES),
            Request::SetFeatures(_) | Request::SetProtocolFeatures(_) | Request::SetOwner => {
                Action::Reply(confirmed)
            }
            Request::GetConfig { offset, size, flags } => {
                Action::Reply(vhost::reply(header.request, &self.configuration(offset, size, flags)))
            }
            Request::SetMemory(region) => Action::Map(region, confirmed),
            Request::SetBackendSocket => Action::KeepSocket(confirmed),
            Request::SetQueueSize(queue, size) => {
                self.queue(queue).and_then(|queue| queue.set_size(size).ok()).ok_or(unknown)?;
                Action::Reply(confirmed)
            }
            Request::SetQueueBase(queue, base) => {
                self.queue(queue).ok_or(unknown)?.set_base(base);
                Action::Reply(confirmed)
            }
            Request::SetQueueAddresses(queue, addresses) => {
                self.queue(queue).ok_or(unknown)?.set_addresses(addresses);
                Action::Reply(confirmed)
            }
            Request::EnableQueue(queue, enabled) => {
                self.queue(queue).ok_or(unknown)?.enable(enabled);
                Action::Reply(confirmed)
            }
            Request::Kick(queue) if queue as usize == FROM_GUEST => Action::Sent,
            Request::Kick(_) => Action::Reply(confirmed),
        })
    }

    fn queue(&mut self, number: u32) -> Option<&mut Queue> {
        self.queues.get_mut(number as usize)
    }

    /// A part of the configuration space, behind its own header.
    fn configuration(&self, offset: u32, size: u32, flags: u32) -> Vec<u8> {
        let space = frame::configuration(self.mac);
        let mut bytes: Vec<u8> = [offset, size, flags].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let wanted = (offset..offset.saturating_add(size.min(256)))
            .map(|at| space.get(at as usize).copied().unwrap_or(0));
        bytes.extend(wanted);
        bytes
    }

    /// Whether the guest has set it up. From then on it sends one request at a time.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        self.queues[FROM_GUEST].is_ready()
    }

    /// Takes the oldest frame that the guest has sent. False if there is none.
    ///
    /// # Errors
    /// If the queue breaks the rules.
    pub fn take(&mut self, memory: &impl Memory, into: &mut Vec<u8>) -> Result<bool, QueueError> {
        self.queues[FROM_GUEST].receive(memory, into)
    }

    /// Whether the guest asks for an interrupt when frames have left.
    ///
    /// # Errors
    /// If the queue breaks the rules.
    pub fn wants_completion(&self, memory: &impl Memory) -> Result<bool, QueueError> {
        self.queues[FROM_GUEST].wants_interrupt(memory)
    }

    /// Passes a frame to the guest. False if the guest has no buffer for it.
    ///
    /// # Errors
    /// If the queue breaks the rules.
    pub fn put(&mut self, memory: &impl Memory, frame: &[u8]) -> Result<bool, QueueError> {
        let queue = &mut self.queues[TO_GUEST];
        if !queue.is_ready() {
            return Ok(false);
        }
        // New buffers need no notification: they are found with the next frame.
        queue.forbid_notifications(memory)?;
        queue.send(memory, frame)
    }

    /// Whether the guest asks for an interrupt when frames arrive.
    ///
    /// # Errors
    /// If the queue breaks the rules.
    pub fn wants_interrupt(&self, memory: &impl Memory) -> Result<bool, QueueError> {
        self.queues[TO_GUEST].wants_interrupt(memory)
    }

    /// The message that interrupts the guest about frames to it. If `confirmed`, it answers.
    #[must_use]
    pub fn interrupt(confirmed: bool) -> [u8; vhost::NOTIFICATION] {
        vhost::call(TO_GUEST as u32, confirmed)
    }

    /// The message that interrupts the guest about frames that have left.
    #[must_use]
    pub fn completion() -> [u8; vhost::NOTIFICATION] {
        vhost::call(FROM_GUEST as u32, true)
    }
}

#[cfg(test)]
mod tests;
