//! Messages between the processes of a live run: JSON over Unix sockets that keep message boundaries
//! (`SOCK_SEQPACKET`).

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest message.
const MESSAGE_MAX: usize = 1 << 20;
/// File descriptors of a message: input, output and errors of an application.
const DESCRIPTORS_MAX: usize = 3;

/// One end of a connection between two processes.
#[derive(Debug)]
pub(crate) struct Messages {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

/// The outcome of a read.
#[derive(Debug)]
pub(crate) enum Received<T> {
    /// A message, and file descriptors with it.
    Message(T, Vec<OwnedFd>),
    /// No message now.
    Nothing,
    /// The other process has ended.
    End,
}

impl Messages {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, buffer: vec![0; MESSAGE_MAX] }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.socket)
    }

    /// Sends a message. Returns false, without an error, if the other side does not read: it must not stop us.
    ///
    /// # Errors
    /// If the other process has ended.
    pub(crate) fn send(&self, message: &impl Serialize) -> io::Result<bool> {
        let text = serde_json::to_vec(message)?;
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        loop {
            return match sendmsg::<()>(self.socket.as_raw_fd(), &[IoSlice::new(&text)], &[], flags, None) {
                Ok(_) => Ok(true),
                Err(Errno::EINTR) => continue,
                Err(Errno::EAGAIN) => Ok(false),
                Err(e) => Err(e.into()),
            };
        }
    }

    /// The next message, without waiting.
    ///
    /// # Errors
    /// If it is none that this version knows.
    pub(crate) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Received<T>> {
        let mut space = nix::cmsg_space!([i32; DESCRIPTORS_MAX]);
        let mut descriptors = vec![];
        let length = {
            let mut parts = [IoSliceMut::new(&mut self.buffer)];
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_CMSG_CLOEXEC;
            let message = match recvmsg::<()>(self.socket.as_raw_fd(), &mut parts, Some(&mut space), flags) {
                Err(Errno::EAGAIN | Errno::EINTR) => return Ok(Received::Nothing),
                received => received?,
            };
            for control in message.cmsgs()? {
                if let ControlMessageOwned::ScmRights(fds) = control {
                    // SAFETY: the kernel has just opened these descriptors for this process, which has no other
                    // owner of them.
                    descriptors.extend(fds.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
                }
            }
            message.bytes
        };
        if length == 0 {
            return Ok(Received::End);
        }
        Ok(Received::Message(serde_json::from_slice(&self.buffer[..length])?, descriptors))
    }
}
