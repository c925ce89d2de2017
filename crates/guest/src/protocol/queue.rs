//! The device's side of a split virtqueue (virtio 1.2 §2.7), without indirect descriptors and event indices, which
//! are not offered.
//!
//! The guest stands still during every access, so that no barriers are needed.

use core::fmt;

use crate::protocol::memory::{Memory, OutOfBounds};
use crate::protocol::vhost::Addresses;

/// Flag of a descriptor: another follows.
const NEXT: u16 = 1;
/// Flag of a descriptor: the device writes to it.
const WRITE: u16 = 2;
/// Flag of the available ring: no interrupts.
const NO_INTERRUPT: u16 = 1;
/// Flag of the used ring: no notifications.
const NO_NOTIFY: u16 = 1;
/// Largest size of a queue (virtio 1.2 §2.7).
const SIZE_MAX: u32 = 32_768;

/// A queue that breaks the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueError {
    /// An address outside of the guest's memory.
    Memory(OutOfBounds),
    /// A descriptor beyond the size of the queue.
    Descriptor(u16),
    /// A chain of descriptors that does not end.
    Endless,
    /// A buffer that the device may not write to, or that it may.
    Direction,
    /// A size that no queue has.
    Size(u32),
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(error) => error.fmt(f),
            Self::Descriptor(number) => write!(f, "the queue has no descriptor {number}"),
            Self::Endless => f.write_str("a chain of descriptors does not end"),
            Self::Direction => f.write_str("a buffer has the wrong direction"),
            Self::Size(size) => write!(f, "a queue cannot have {size} descriptors"),
        }
    }
}

impl core::error::Error for QueueError {}

impl From<OutOfBounds> for QueueError {
    fn from(error: OutOfBounds) -> Self {
        Self::Memory(error)
    }
}

/// A queue between a driver and its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    size: u16,
    addresses: Addresses,
    enabled: bool,
    /// Index of the next entry of the available ring.
    next_available: u16,
    /// Index of the next entry of the used ring.
    next_used: u16,
}

/// A buffer of the driver.
#[derive(Clone, Copy, Debug)]
struct Descriptor {
    address: u64,
    length: u32,
    flags: u16,
    next: u16,
}

impl Queue {
    /// Sets the number of descriptors.
    ///
    /// # Errors
    /// If no queue has this size.
    pub fn set_size(&mut self, size: u32) -> Result<(), QueueError> {
        if size == 0 || size > SIZE_MAX || !size.is_power_of_two() {
            return Err(QueueError::Size(size));
        }
        self.size = size as u16;
        Ok(())
    }

    /// Sets the index of the first entry.
    pub const fn set_base(&mut self, base: u32) {
        (self.next_available, self.next_used) = (base as u16, base as u16);
    }

    /// Sets the places of the parts.
    pub const fn set_addresses(&mut self, addresses: Addresses) {
        self.addresses = addresses;
    }

    /// Switches the queue on or off.
    pub const fn enable(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    /// True if it can be used.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.enabled && self.size > 0
    }

    /// Asks the driver for no notifications about this queue.
    ///
    /// # Errors
    /// If the queue is outside of the guest's memory.
    pub fn forbid_notifications(&self, memory: &impl Memory) -> Result<(), QueueError> {
        Ok(memory.write_u16(self.addresses.used, NO_NOTIFY)?)
    }

    /// Whether the driver asks for interrupts.
    ///
    /// # Errors
    /// If the queue is outside of the guest's memory.
    pub fn wants_interrupt(&self, memory: &impl Memory) -> Result<bool, QueueError> {
        Ok(memory.read_u16(self.addresses.available)? & NO_INTERRUPT == 0)
    }

    /// Number of buffer chains that are available.
    ///
    /// # Errors
    /// If the queue is outside of the guest's memory.
    pub fn available(&self, memory: &impl Memory) -> Result<u16, QueueError> {
        let index = memory.read_u16(self.addresses.available + 2)?;
        Ok(index.wrapping_sub(self.next_available))
    }

    /// Reads the next chain of buffers from the driver into `into`, which is cleared, and returns it to the driver.
    /// False if there is none.
    ///
    /// # Errors
    /// If the queue breaks the rules.
    pub fn receive(&mut self, memory: &impl Memory, into: &mut Vec<u8>) -> Result<bool, QueueError> {
        into.clear();
        let Some(head) = self.head(memory)? else { return Ok(false) };
        self.walk(memory, head, |descriptor| {
            if descriptor.flags & WRITE != 0 {
                return Err(QueueError::Direction);
            }
            let from = into.len();
            into.resize(from + descriptor.length as usize, 0);
            memory.read(descriptor.address, &mut into[from..])?;
            Ok(true)
        })?;
        self.give_back(memory, head, 0)?;
        Ok(true)
    }

    /// Writes `bytes` into the next chain of buffers for the driver. False if there is none, or if it is too short, in
    /// which case it is returned empty.
    ///
    /// # Errors
    /// If the queue breaks the rules.
    pub fn send(&mut self, memory: &impl Memory, bytes: &[u8]) -> Result<bool, QueueError> {
        let Some(head) = self.head(memory)? else { return Ok(false) };
        let mut rest = bytes;
        self.walk(memory, head, |descriptor| {
            if descriptor.flags & WRITE == 0 {
                return Err(QueueError::Direction);
            }
            let (now, later) = rest.split_at(rest.len().min(descriptor.length as usize));
            memory.write(descriptor.address, now)?;
            rest = later;
            Ok(!rest.is_empty())
        })?;
        let written = if rest.is_empty() { bytes.len() } else { 0 };
        self.give_back(memory, head, written as u32)?;
        Ok(rest.is_empty())
    }

    /// Takes the first descriptor of the next available chain.
    fn head(&mut self, memory: &impl Memory) -> Result<Option<u16>, QueueError> {
        if !self.is_ready() || self.available(memory)? == 0 {
            return Ok(None);
        }
        let entry = u64::from(self.next_available & (self.size - 1));
        let head = memory.read_u16(self.addresses.available + 4 + 2 * entry)?;
        self.next_available = self.next_available.wrapping_add(1);
        Ok(Some(head))
    }

    /// Calls `visit` with each descriptor of a chain, until it returns false.
    fn walk(
        &self,
        memory: &impl Memory,
        head: u16,
        mut visit: impl FnMut(Descriptor) -> Result<bool, QueueError>,
    ) -> Result<(), QueueError> {
        let mut number = head;
        for _ in 0..self.size {
            if number >= self.size {
                return Err(QueueError::Descriptor(number));
            }
            let at = self.addresses.descriptors + 16 * u64::from(number);
            let descriptor = Descriptor {
                address: memory.read_u64(at)?,
                length: memory.read_u32(at + 8)?,
                flags: memory.read_u16(at + 12)?,
                next: memory.read_u16(at + 14)?,
            };
            if !visit(descriptor)? || descriptor.flags & NEXT == 0 {
                return Ok(());
            }
            number = descriptor.next;
        }
        Err(QueueError::Endless)
    }

    /// Puts a chain into the used ring.
    fn give_back(&mut self, memory: &impl Memory, head: u16, written: u32) -> Result<(), QueueError> {
        let entry = self.addresses.used + 4 + 8 * u64::from(self.next_used & (self.size - 1));
        memory.write_u32(entry, u32::from(head))?;
        memory.write_u32(entry + 4, written)?;
        self.next_used = self.next_used.wrapping_add(1);
        Ok(memory.write_u16(self.addresses.used + 2, self.next_used)?)
    }
}

#[cfg(test)]
mod tests;
