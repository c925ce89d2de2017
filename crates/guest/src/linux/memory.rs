//! Memory that is shared with a guest.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{MemfdFlags, memfd_create};
use vm_memory::{Bytes, FileOffset, MmapRegion, VolatileMemory};

use crate::protocol::memory::{Memory, OutOfBounds};
use crate::protocol::vhost::Region;

/// A mapping of a file, whose first byte has an address in the guest.
#[derive(Debug)]
pub(crate) struct Mapped {
    region: MmapRegion,
    file: Arc<File>,
    base: u64,
}

impl Mapped {
    /// Memory of our own, of `size` zero bytes from address 0.
    pub(crate) fn create(name: &str, size: usize) -> io::Result<Self> {
        let file = File::from(memfd_create(name, MemfdFlags::CLOEXEC)?);
        file.set_len(size as u64)?;
        Self::map(file, 0, size, 0)
    }

    /// The memory of a guest, whose file it has sent.
    pub(crate) fn of_guest(file: OwnedFd, region: Region) -> io::Result<Self> {
        let size = usize::try_from(region.size).map_err(io::Error::other)?;
        Self::map(File::from(file), region.offset, size, region.address)
    }

    fn map(file: File, offset: u64, size: usize, base: u64) -> io::Result<Self> {
        let file = Arc::new(file);
        let region = MmapRegion::from_file(FileOffset::from_arc(Arc::clone(&file), offset), size);
        Ok(Self { region: region.map_err(io::Error::other)?, file, base })
    }

    /// The descriptor of its file.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn offset(&self, address: u64, length: usize) -> Result<usize, OutOfBounds> {
        let outside = OutOfBounds { address, length };
        usize::try_from(address.checked_sub(self.base).ok_or(outside)?).map_err(|_| outside)
    }
}

impl Memory for Mapped {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), OutOfBounds> {
        let at = self.offset(address, into.len())?;
        let outside = OutOfBounds { address, length: into.len() };
        self.region.as_volatile_slice().read_slice(into, at).map_err(|_| outside)
    }

    fn write(&self, address: u64, from: &[u8]) -> Result<(), OutOfBounds> {
        let at = self.offset(address, from.len())?;
        let outside = OutOfBounds { address, length: from.len() };
        self.region.as_volatile_slice().write_slice(from, at).map_err(|_| outside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_mapping_writes_another_reads() {
        let own = Mapped::create("test", 8192).unwrap();
        let region = Region { address: 1 << 20, size: 4096, offset: 4096 };
        let other = Mapped::of_guest(own.fd().try_clone_to_owned().unwrap(), region).unwrap();
        other.write_u64((1 << 20) + 8, 0x0102_0304_0506_0708).unwrap();
        assert_eq!(own.read_u64(4096 + 8), Ok(0x0102_0304_0506_0708));
        let beyond = (1 << 20) + 4095;
        assert_eq!(other.read_u16(beyond), Err(OutOfBounds { address: beyond, length: 2 }));
        assert!(other.read_u16((1 << 20) - 2).is_err());
    }
}
