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

/// Memory of the buffers of a socket in bytes (`SO_MEMINFO`): received data, and data to send.
///
/// # Errors
/// If the kernel does not know the option. It is there since Linux 4.12.
pub fn buffer_memory(socket: BorrowedFd<'_>) -> io::Result<u64> {
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
    Ok(of(libc::SK_MEMINFO_RMEM_ALLOC) + of(libc::SK_MEMINFO_WMEM_QUEUED))
}
