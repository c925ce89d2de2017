//! Options of sockets that nix and socket2 do not have.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::libc;

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
