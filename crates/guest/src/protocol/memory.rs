//! Memory that a guest shares with us.

use core::fmt;

/// An access outside of the memory that was shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfBounds {
    /// First address of the access.
    pub address: u64,
    /// Length of the access in bytes.
    pub length: usize,
}

impl fmt::Display for OutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the guest named {} bytes at {:#x}, which it has not shared", self.length, self.address)
    }
}

impl core::error::Error for OutOfBounds {}

/// Bytes by address. The other side stands still while they are read or written.
pub trait Memory {
    /// Reads `into.len()` bytes.
    ///
    /// # Errors
    /// If not all of them are shared.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), OutOfBounds>;

    /// Writes all of `from`.
    ///
    /// # Errors
    /// If not all of it is shared.
    fn write(&self, address: u64, from: &[u8]) -> Result<(), OutOfBounds>;

    /// Reads a number of 16 bits, little-endian.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn read_u16(&self, address: u64) -> Result<u16, OutOfBounds> {
        let mut bytes = [0; 2];
        self.read(address, &mut bytes)?;
        Ok(u16::from_le_bytes(bytes))
    }

    /// Writes a number of 16 bits, little-endian.
    ///
    /// # Errors
    /// As [`Self::write`].
    fn write_u16(&self, address: u64, value: u16) -> Result<(), OutOfBounds> {
        self.write(address, &value.to_le_bytes())
    }

    /// Reads a number of 32 bits, little-endian.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn read_u32(&self, address: u64) -> Result<u32, OutOfBounds> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Writes a number of 32 bits, little-endian.
    ///
    /// # Errors
    /// As [`Self::write`].
    fn write_u32(&self, address: u64, value: u32) -> Result<(), OutOfBounds> {
        self.write(address, &value.to_le_bytes())
    }

    /// Reads a number of 64 bits, little-endian.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn read_u64(&self, address: u64) -> Result<u64, OutOfBounds> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Writes a number of 64 bits, little-endian.
    ///
    /// # Errors
    /// As [`Self::write`].
    fn write_u64(&self, address: u64, value: u64) -> Result<(), OutOfBounds> {
        self.write(address, &value.to_le_bytes())
    }
}

/// Memory of a test: bytes from an address on.
#[cfg(test)]
pub(crate) struct Bytes {
    pub(crate) base: u64,
    pub(crate) bytes: core::cell::RefCell<Vec<u8>>,
}

#[cfg(test)]
impl Bytes {
    pub(crate) fn new(base: u64, length: usize) -> Self {
        Self { base, bytes: core::cell::RefCell::new(vec![0; length]) }
    }

    fn range(&self, address: u64, length: usize) -> Result<core::ops::Range<usize>, OutOfBounds> {
        let outside = OutOfBounds { address, length };
        let start = usize::try_from(address.checked_sub(self.base).ok_or(outside)?).map_err(|_| outside)?;
        let end = start.checked_add(length).filter(|&end| end <= self.bytes.borrow().len());
        Ok(start..end.ok_or(outside)?)
    }
}

#[cfg(test)]
impl Memory for Bytes {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), OutOfBounds> {
        let range = self.range(address, into.len())?;
        into.copy_from_slice(&self.bytes.borrow()[range]);
        Ok(())
    }
    fn write(&self, address: u64, from: &[u8]) -> Result<(), OutOfBounds> {
        let range = self.range(address, from.len())?;
        self.bytes.borrow_mut()[range].copy_from_slice(from);
        Ok(())
    }
}
