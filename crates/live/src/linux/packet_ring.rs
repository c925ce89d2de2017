//! A ring of the beginnings of packets that an interface receives and sends, filled by the kernel (`PACKET_RX_RING`,
//! TPACKET_V3).
//!
//! Source: Linux, Documentation/networking/packet_mmap.rst and include/uapi/linux/if_packet.h. There are crates for
//! this: `af_packet` is without maintenance and under the GPL, and `netring` opens sockets with link layers only and
//! cannot follow an interface that was replaced. Not included: sending, and several threads (`PACKET_FANOUT`).

use std::ffi::CString;
use std::io;
use std::mem::offset_of;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::socket::{getsockopt, sockopt};

/// Bytes of a frame, of which only their sum over all blocks matters in version 3.
const FRAME: u32 = 2048;
/// The place of the header of the link layer: `struct sockaddr_ll` behind the header of a packet.
const ADDRESS: usize = align(size_of::<libc::tpacket3_hdr>());

const fn align(length: usize) -> usize {
    length.next_multiple_of(libc::TPACKET_ALIGNMENT)
}

/// An instruction of a classic BPF program: code, jumps if true and if false, value (`struct sock_filter`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction(pub u16, pub u8, pub u8, pub u32);

/// The size of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSize {
    /// Bytes of a block: a multiple of the size of a page.
    pub block: u32,
    /// Number of blocks.
    pub blocks: u32,
    /// Time after which a block that is not full is handed over.
    pub retire: Duration,
}

/// The beginning of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// Bytes from the header of the network layer on.
    pub bytes: &'a [u8],
    /// Time of the kernel's clock `CLOCK_REALTIME`, in nanoseconds.
    pub realtime_ns: u64,
    /// Type of the network layer, as in Ethernet.
    pub ether_type: u16,
}

/// Packets since the last question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingCounts {
    /// Packets that the filter accepted, including dropped ones.
    pub packets: u32,
    /// Packets for which there was no space.
    pub drops: u32,
}

/// A socket of packets with its ring.
#[derive(Debug)]
pub struct PacketRing {
    socket: OwnedFd,
    memory: NonNull<u8>,
    size: RingSize,
    next: u32,
}

// SAFETY: the memory belongs to the value, and only `read`, which needs it exclusively, looks into it.
unsafe impl Send for PacketRing {}

impl PacketRing {
    /// Opens a ring that receives nothing yet. The filter returns how many bytes of a packet are wanted.
    ///
    /// # Errors
    /// Without CAP_NET_RAW, or if the kernel does not accept the filter or the size.
    pub fn open(filter: &[Instruction], size: RingSize) -> io::Result<Self> {
        // Protocol 0: nothing is received before `bind`.
        // SAFETY: a system call with numbers.
        let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        Errno::result(socket)?;
        // SAFETY: the kernel has just opened this descriptor for this process, which has no other owner of it.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let mut program: Vec<libc::sock_filter> = filter
            .iter()
            .map(|&Instruction(code, jt, jf, k)| libc::sock_filter { code, jt, jf, k })
            .collect();
        let len = u16::try_from(program.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let program = libc::sock_fprog { len, filter: program.as_mut_ptr() };
        set(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V3 as i32))?;
        let request = libc::tpacket_req3 {
            tp_block_size: size.block,
            tp_block_nr: size.blocks,
            tp_frame_size: FRAME,
            tp_frame_nr: size.block / FRAME * size.blocks,
            tp_retire_blk_tov: u32::try_from(size.retire.as_millis()).unwrap_or(u32::MAX),
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let memory = {
            let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
            let length = length(size).ok_or(io::ErrorKind::InvalidInput)?;
            // SAFETY: a new mapping, of the length that was requested above.
            unsafe { mmap(None, length, access, MapFlags::MAP_SHARED, &socket, 0) }?
        };
        Ok(Self { socket, memory: memory.cast(), size, next: 0 })
    }

    /// Receives the packets of this interface from now on; it needs no rights. A ring can be bound again.
    ///
    /// # Errors
    /// If there is no such interface, or it is down.
    pub fn bind(&self, interface: &str) -> io::Result<()> {
        let index = if_nametoindex(CString::new(interface)?.as_c_str())?;
        // SAFETY: a structure of numbers, for which zeros are valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = i32::try_from(index).map_err(io::Error::other)?;
        // SAFETY: the kernel reads an address of the stated length, which is alive.
        let result = unsafe {
            libc::bind(
                self.socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of_val(&address) as libc::socklen_t,
            )
        };
        Errno::result(result)?;
        Ok(())
    }

    /// Whether the ring still belongs to the interface of this name: it was neither removed nor replaced.
    #[must_use]
    pub fn is_bound(&self, interface: &str) -> bool {
        // SAFETY: a structure of numbers, for which zeros are valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        let mut length = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes at the address, which has as many.
        let result =
            unsafe { libc::getsockname(self.socket.as_raw_fd(), (&raw mut address).cast(), &raw mut length) };
        let index = CString::new(interface).ok().and_then(|name| if_nametoindex(name.as_c_str()).ok());
        result == 0 && index.is_some() && index == u32::try_from(address.sll_ifindex).ok()
    }

    /// Takes the error that the kernel reports, such as ENETDOWN if the interface is down or gone.
    ///
    /// # Errors
    /// The error.
    pub fn error(&self) -> io::Result<()> {
        match getsockopt(&self.socket, sockopt::SocketError)? {
            0 => Ok(()),
            number => Err(io::Error::from_raw_os_error(number)),
        }
    }

    /// Passes the packets of one block on, in their order. Returns false if no block is complete.
    pub fn read(&mut self, mut each: impl FnMut(Captured<'_>)) -> bool {
        let block = self.size.block as usize;
        // SAFETY: `next` is below the number of blocks, so the block is within the mapping.
        let start = unsafe { self.memory.add(self.next as usize * block) };
        let status_at = offset_of!(libc::tpacket_block_desc, hdr);
        // SAFETY: the status is the first field of the header, aligned as a page is, and alive with the mapping. The
        // kernel writes it too, which an atomic allows.
        let status = unsafe { start.add(status_at).cast::<AtomicU32>().as_ref() };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        // SAFETY: the block belongs to this process until its status is set below; the kernel does not write to it.
        let bytes = unsafe { std::slice::from_raw_parts(start.as_ptr(), block) };
        packets(bytes, &mut each);
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.size.blocks;
        true
    }

    /// Counts since the last call.
    ///
    /// # Errors
    /// None are known.
    pub fn counts(&self) -> io::Result<RingCounts> {
        // tp_packets, tp_drops, tp_freeze_q_cnt (`struct tpacket_stats_v3`).
        let mut found = [0_u32; 3];
        let mut length = size_of_val(&found) as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes at the address of `found`, which has as many.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                found.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        Errno::result(result)?;
        Ok(RingCounts { packets: found[0], drops: found[1] })
    }
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for PacketRing {
    fn drop(&mut self) {
        let Some(length) = length(self.size) else { return };
        // SAFETY: the mapping was made with this length, and nothing borrows from it.
        let _ = unsafe { munmap(self.memory.cast(), length.get()) };
    }
}

fn length(size: RingSize) -> Option<NonZeroUsize> {
    NonZeroUsize::new(size.block as usize * size.blocks as usize)
}

/// The packets of a block. The kernel states offsets and lengths; each is checked all the same.
fn packets(block: &[u8], each: &mut impl FnMut(Captured<'_>)) {
    let header = offset_of!(libc::tpacket_block_desc, hdr);
    let of_block = |at| word(block, header + at);
    let count = of_block(offset_of!(libc::tpacket_hdr_v1, num_pkts)).unwrap_or(0);
    let mut at = of_block(offset_of!(libc::tpacket_hdr_v1, offset_to_first_pkt)).unwrap_or(0) as usize;
    for _ in 0..count {
        let Some(packet) = block.get(at..) else { return };
        if let Some(captured) = captured(packet) {
            each(captured);
        }
        match word(packet, offset_of!(libc::tpacket3_hdr, tp_next_offset)) {
            Some(next) if next > 0 => at += next as usize,
            _ => return,
        }
    }
}

fn captured(packet: &[u8]) -> Option<Captured<'_>> {
    let of = |at| word(packet, at).map(u64::from);
    let seconds = of(offset_of!(libc::tpacket3_hdr, tp_sec))?;
    let nanoseconds = of(offset_of!(libc::tpacket3_hdr, tp_nsec))?;
    let length = word(packet, offset_of!(libc::tpacket3_hdr, tp_snaplen))? as usize;
    let from = usize::from(half(packet, offset_of!(libc::tpacket3_hdr, tp_net))?);
    let ether_type = half(packet, ADDRESS + offset_of!(libc::sockaddr_ll, sll_protocol))?;
    Some(Captured {
        bytes: packet.get(from..from + length)?,
        realtime_ns: seconds * 1_000_000_000 + nanoseconds,
        ether_type: u16::from_be(ether_type),
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn set<T>(socket: &OwnedFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes at the address of `value`, which is alive.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const *value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    Errno::result(result)?;
    Ok(())
}
