//! Options of sockets that nix and socket2 do not have.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::{getsockopt_impl, libc, setsockopt_impl, sockopt_impl};

/// Bounds the receive window of a TCP socket (`TCP_WINDOW_CLAMP`, tcp(7)).
///
/// # Errors
/// If it is not a TCP socket.
pub fn set_window_clamp(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    let value = i32::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the kernel reads `size_of::<i32>()` bytes at the address of `value`, which is alive.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_WINDOW_CLAMP,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    Errno::result(result)?;
    Ok(())
}

/// Number of bytes of `struct tcp_info` up to `tcpi_bytes_received`, which Linux has since 4.1.
const RECEIVER_INFO: usize = 136;

sockopt_impl!(
    /// The state of a TCP socket (`TCP_INFO` in tcp(7)) up to `tcpi_bytes_received`: the bytes of a
    /// `struct tcp_info`.
    ReceiverInfo,
    GetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    [u8; RECEIVER_INFO]
);

sockopt_impl!(
    /// The bytes of a TCP socket that are not sent yet, above which it is not writable (`TCP_NOTSENT_LOWAT` in tcp(7)).
    /// It bounds the memory of the kernel for a peer that does not read, except for the bytes in flight.
    NotSentLowat,
    Both,
    libc::IPPROTO_TCP,
    libc::TCP_NOTSENT_LOWAT,
    u32
);

/// Memory of the buffers of a socket in bytes, with the overhead of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferMemory {
    /// Received data that was not read, in order or not.
    pub received: u64,
    /// Data that was not sent, or not acknowledged.
    pub to_send: u64,
}

/// Memory of the buffers of a socket (`SO_MEMINFO`).
///
/// # Errors
/// If the kernel does not know the option. It is there since Linux 4.12.
pub fn buffer_memory(socket: BorrowedFd<'_>) -> io::Result<BufferMemory> {
    // SK_MEMINFO_VARS (linux/sock_diag.h).
    let mut found = [0_u32; 9];
    let mut length = size_of_val(&found) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes at the address of `found`, which has as many.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            (&raw mut found).cast(),
            &raw mut length,
        )
    };
    Errno::result(result)?;
    let of = |index: i32| u64::from(found[index as usize]);
    Ok(BufferMemory { received: of(libc::SK_MEMINFO_RMEM_ALLOC), to_send: of(libc::SK_MEMINFO_WMEM_QUEUED) })
}

/// Requests of `ioctl` for sockets (asm-generic/sockios.h, linux/sockios.h).
const SIOCATMARK: libc::Ioctl = 0x8905;
const SIOCOUTQ: libc::Ioctl = 0x5411;

/// Asks for a number by `ioctl`.
fn number(socket: BorrowedFd<'_>, request: libc::Ioctl) -> io::Result<i32> {
    let mut found: libc::c_int = 0;
    // SAFETY: the kernel writes one `c_int` at the address of `found`, which is alive.
    Errno::result(unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut found) })?;
    Ok(found)
}

/// Whether the next byte to be read is the urgent one (`SIOCATMARK`, tcp(7)).
///
/// # Errors
/// If it is not a TCP socket.
pub fn is_at_urgent_mark(socket: BorrowedFd<'_>) -> io::Result<bool> {
    Ok(number(socket, SIOCATMARK)? != 0)
}

/// Bytes that the other end has not acknowledged (`SIOCOUTQ`, tcp(7)). A FIN counts as one byte.
///
/// # Errors
/// If it is not a TCP socket, or one that listens.
pub fn unacknowledged(socket: BorrowedFd<'_>) -> io::Result<u64> {
    Ok(number(socket, SIOCOUTQ)?.try_into().unwrap_or(0))
}

/// `SO_BUF_LOCK`, which Linux has since 5.14, and its bits (asm-generic/socket.h, linux/socket.h).
const SO_BUF_LOCK: libc::c_int = 72;
const SOCK_SNDBUF_LOCK: libc::c_int = 1;
const SOCK_RCVBUF_LOCK: libc::c_int = 2;

/// Which buffers of a socket keep the size that was set. The kernel adapts the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedBuffers {
    /// The receive buffer.
    pub receive: bool,
    /// The send buffer.
    pub send: bool,
}

/// Lets the kernel adapt buffers again after their size was set (`SO_BUF_LOCK`).
///
/// # Errors
/// If the kernel does not know the option. It is there since Linux 5.14.
pub fn set_fixed_buffers(socket: BorrowedFd<'_>, fixed: FixedBuffers) -> io::Result<()> {
    let value =
        if fixed.receive { SOCK_RCVBUF_LOCK } else { 0 } | if fixed.send { SOCK_SNDBUF_LOCK } else { 0 };
    // SAFETY: the kernel reads `size_of::<c_int>()` bytes at the address of `value`, which is alive.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_BUF_LOCK,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    Errno::result(result)?;
    Ok(())
}
