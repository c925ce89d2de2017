//! The sockets of a guest: streams of messages, some of them with descriptors.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recv, recvmsg, send as send_plain, sendmsg,
};

/// Descriptors of a message, at most.
const DESCRIPTORS_MAX: usize = 4;

/// Why nothing was read.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The other side has closed the stream.
    End,
    /// The other side sent nothing for too long.
    Silent,
    /// Another error.
    Error(io::Error),
}

impl From<Errno> for Broken {
    fn from(error: Errno) -> Self {
        match error {
            Errno::CONNRESET | Errno::PIPE => Self::End,
            error => Self::Error(error.into()),
        }
    }
}

/// Waits until one of these can be read, and returns its index: the first, if there are several.
///
/// # Errors
/// If none can be read within this time.
pub(crate) fn wait(fds: &[BorrowedFd<'_>], patience: Duration) -> Result<usize, Broken> {
    let mut polled: Vec<_> = fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let limit = Timespec::try_from(patience).expect("at most some days");
    loop {
        match poll(&mut polled, Some(&limit)) {
            Ok(0) => return Err(Broken::Silent),
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let ready = polled.iter().position(|one| !one.revents().is_empty());
    Ok(ready.expect("poll(2) has counted one"))
}

/// Sources of messages, each with a number.
#[derive(Debug)]
pub(crate) struct Sources(OwnedFd);

impl Sources {
    /// No sources.
    ///
    /// # Errors
    /// If the system has no more descriptors.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(epoll::create(epoll::CreateFlags::CLOEXEC)?))
    }

    /// Adds a source.
    ///
    /// # Errors
    /// If the system has no memory for it.
    pub(crate) fn add(&self, fd: BorrowedFd<'_>, number: usize) -> io::Result<()> {
        Ok(epoll::add(&self.0, fd, epoll::EventData::new_u64(number as u64), epoll::EventFlags::IN)?)
    }

    /// Removes a source.
    ///
    /// # Errors
    /// If it was not there.
    pub(crate) fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::delete(&self.0, fd)?)
    }

    /// Waits until one of them can be read, and returns its number.
    ///
    /// # Errors
    /// If none can be read within this time.
    pub(crate) fn wait(&self, patience: Duration) -> Result<usize, Broken> {
        let limit = Timespec::try_from(patience).expect("at most some days");
        let mut space = [MaybeUninit::uninit(); 1];
        loop {
            match epoll::wait(&self.0, &mut space, Some(&limit)) {
                Ok((ready, _)) => match ready.first() {
                    Some(event) => return Ok(event.data.u64() as usize),
                    None => return Err(Broken::Silent),
                },
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Reads at least `least` bytes, and returns how many there were. Descriptors that came with them are closed.
///
/// # Errors
/// If the stream ends before.
pub(crate) fn read_some(fd: BorrowedFd<'_>, into: &mut [u8], least: usize) -> Result<usize, Broken> {
    let mut at = 0;
    while at < least {
        match recv(fd, &mut into[at..], RecvFlags::empty()) {
            Ok((0, _)) => return Err(Broken::End),
            Ok((bytes, _)) => at += bytes,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(at)
}

/// Reads exactly this many bytes, which the other side has begun to send.
///
/// # Errors
/// If the stream ends before.
pub(crate) fn read(fd: BorrowedFd<'_>, into: &mut [u8]) -> Result<Vec<OwnedFd>, Broken> {
    let mut descriptors = vec![];
    let mut at = 0;
    while at < into.len() {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut into[at..])];
        let message = match recvmsg(fd, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => continue,
            received => received?,
        };
        for one in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = one {
                descriptors.extend(fds);
            }
        }
        match message.bytes {
            0 => return Err(Broken::End),
            bytes => at += bytes,
        }
    }
    Ok(descriptors)
}

/// Sends all bytes.
///
/// # Errors
/// If the other side has closed the stream.
pub(crate) fn send_bytes(fd: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Broken> {
    while !bytes.is_empty() {
        match send_plain(fd, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Sends all bytes, the first of them with these descriptors.
///
/// # Errors
/// If the other side has closed the stream.
pub(crate) fn send(fd: BorrowedFd<'_>, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<(), Broken> {
    loop {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(Broken::Error(io::ErrorKind::InvalidInput.into()));
        }
        match sendmsg(fd, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL) {
            Ok(sent) => return send_bytes(fd, &bytes[sent..]),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn descriptors_come_with_the_first_byte() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (mut kept, passed) = UnixStream::pair().unwrap();
        send(ours.as_fd(), b"hello", &[passed.as_fd()]).unwrap();
        let mut bytes = [0; 5];
        let mut descriptors = read(theirs.as_fd(), &mut bytes).unwrap();
        assert_eq!((&bytes, descriptors.len()), (b"hello", 1));
        let there = descriptors.pop().unwrap();
        send(there.as_fd(), b"x", &[]).unwrap();
        let mut one = [0];
        kept.read_exact(&mut one).unwrap();
        assert_eq!(&one, b"x");
    }

    #[test]
    fn silence_and_the_end_differ() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let brief = Duration::from_millis(1);
        assert!(matches!(wait(&[ours.as_fd()], brief), Err(Broken::Silent)));
        drop(theirs);
        assert!(matches!(wait(&[ours.as_fd()], brief), Ok(0)));
        assert!(matches!(read(ours.as_fd(), &mut [0; 4]), Err(Broken::End)));
    }
}
