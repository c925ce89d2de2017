//! TUN devices with virtio headers, so that the kernel hands over bursts before segmentation.
//!
//! Source: Linux, Documentation/networking/tuntap.rst and include/uapi/linux/{if_tun,virtio_net}.h.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;

use crate::LiveError;
use crate::linux::host::ETHERNET;

/// The length of `struct virtio_net_hdr`.
const HEADER: usize = 10;
/// Longest IP packet, or burst.
const PACKET_MAX: usize = 65535;

const IFF_TUN: i16 = 0x0001;
const IFF_NO_PI: i16 = 0x1000;
const IFF_VNET_HDR: i16 = 0x4000;
/// Checksums, TSO for IPv4 and IPv6, and TSO with ECN.
const OFFLOADS: libc::c_ulong = 0x01 | 0x02 | 0x04 | 0x08;
/// Segmentation of UDP, since Linux 6.2.
const OFFLOADS_UDP: libc::c_ulong = 0x20 | 0x40;

nix::ioctl_write_ptr_bad!(
    tun_set_iff,
    nix::request_code_write!(b'T', 202, size_of::<libc::c_int>()),
    libc::ifreq
);
nix::ioctl_write_int_bad!(tun_set_offload, nix::request_code_write!(b'T', 208, size_of::<libc::c_uint>()));

/// Name of a device in its namespace: `air0` is that of the first access.
pub(crate) fn name(number: usize) -> String {
    format!("air{number}")
}

/// A TUN device, seen from the side that is not the kernel's network stack.
#[derive(Debug)]
pub(crate) struct Tun {
    file: File,
}

/// An IP packet from the kernel, or a burst that must still be segmented.
#[derive(Debug)]
pub(crate) struct FromKernel<'a> {
    /// The IP packet.
    pub(crate) bytes: &'a mut [u8],
    /// Payload bytes of a segment, of a burst.
    pub(crate) segment_size: Option<u16>,
}

/// The buffer of one read.
#[derive(Debug)]
pub(crate) struct Buffer(Box<[u8]>);

impl Default for Buffer {
    fn default() -> Self {
        Self(vec![0; HEADER + ETHERNET + PACKET_MAX].into())
    }
}

impl Buffer {
    /// Memory for one read.
    pub(crate) fn whole(&mut self) -> &mut [u8] {
        &mut self.0
    }

    /// The bytes of a packet after a read of this length, behind a header of the link.
    pub(crate) fn packet(&self, link: usize, read: usize) -> &[u8] {
        &self.0[(HEADER + link).min(read)..read]
    }

    /// The packet after a read of this length, behind a header of the link. Its checksums are complete, unless it is a
    /// burst.
    pub(crate) fn taken(&mut self, link: usize, read: usize) -> FromKernel<'_> {
        const NEEDS_CHECKSUM: u8 = 1;
        let (header, rest) = self.0.split_at_mut(HEADER);
        let bytes = &mut rest[link..read.saturating_sub(HEADER).max(link)];
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let burst = header[1] != 0;
        if !burst && header[0] & NEEDS_CHECKSUM != 0 {
            // A field outside of the packet leaves the checksum as it is: the receiver will drop the packet.
            if let Some(start) = usize::from(word(6)).checked_sub(link) {
                let _ = airlane_wire::checksum::complete(bytes, start, word(8).into());
            }
        }
        FromKernel { bytes, segment_size: burst.then(|| word(4)) }
    }
}

impl Tun {
    /// Creates the device of this name in the network namespace of this thread.
    ///
    /// # Errors
    /// If the system has no TUN devices, or forbids this one.
    pub(crate) fn create(name: &str) -> Result<Self, LiveError> {
        const DEVICE: &str = "/dev/net/tun";
        let open = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE);
        let file = open.map_err(|e| {
            let help = match e.kind() {
                io::ErrorKind::NotFound => "load the kernel's module: modprobe tun",
                io::ErrorKind::PermissionDenied => "this user may not open it: chmod 666 /dev/net/tun",
                _ => "",
            };
            LiveError::new(format!("cannot open {DEVICE}: {e}"), help)
        })?;
        // SAFETY: all-zero bytes are a valid `ifreq`.
        let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
        let fd = file.as_raw_fd();
        let failed = |e: nix::Error| LiveError::new(format!("cannot create a TUN device: {e}"), "");
        // SAFETY: `fd` is open, and the kernel reads the `ifreq` that the pointer names during the call only.
        unsafe { tun_set_iff(fd, &raw const request) }.map_err(failed)?;
        let offer = |offloads: libc::c_ulong| {
            // SAFETY: `fd` is a TUN device, and the argument is a number.
            unsafe { tun_set_offload(fd, offloads as libc::c_int) }
        };
        offer(OFFLOADS | OFFLOADS_UDP).or_else(|_| offer(OFFLOADS)).map_err(failed)?;
        Ok(Self { file })
    }

    /// The next packet from the kernel; `None` if there is none now.
    ///
    /// # Errors
    /// If the device was lost.
    pub(crate) fn read<'a>(&self, buffer: &'a mut Buffer) -> io::Result<Option<FromKernel<'a>>> {
        loop {
            let read = match (&self.file).read(&mut buffer.0) {
                Ok(read) => read,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            return Ok(Some(buffer.taken(0, read)));
        }
    }

    /// Passes an IP packet to the kernel.
    ///
    /// # Errors
    /// If the kernel refuses it, or the device was lost.
    pub(crate) fn write(&self, packet: &[u8]) -> io::Result<()> {
        let parts = [io::IoSlice::new(&[0; HEADER]), io::IoSlice::new(packet)];
        (&self.file).write_vectored(&parts).map(drop)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
