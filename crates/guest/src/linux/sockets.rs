//! The sockets of a guest: streams of messages, some of them with descriptors.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recv, recvmsg, send as send_plain, sendmsg, sockopt,
};
use rustix::process::Pid;

use crate::linux::spawn;

/// Descriptors of a message, at most.
const DESCRIPTORS_MAX: usize = 4;
/// How often a wait looks whether the run was cancelled.
const LOOK_PERIOD: Duration = Duration::from_millis(100);

/// Why nothing was read.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The other side has closed the stream.
    End,
    /// The other side sent nothing for too long.
    Silent,
    /// The run was cancelled meanwhile.
    Cancelled,
    /// Another error.
    Error(io::Error),
}

impl From<Errno> for Broken {
    fn from(error: Errno) -> Self {
        match error {
            Errno::CONNRESET | Errno::PIPE => Self::End,
            Errno::AGAIN => Self::Silent, // after the time of `limit`
            error => Self::Error(error.into()),
        }
    }
}

/// How long to wait for the other side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience<'a> {
    pub(crate) limit: Duration,
    /// Ends the wait when it becomes true.
    pub(crate) cancel: Option<&'a AtomicBool>,
    /// The process of the other side, a child of this one. The connection counts as ended when this process ends,
    /// although another process of the guest may have the descriptor, too.
    pub(crate) process: Option<Pid>,
    /// Whether that process has connected. If a signal then asks it to end, that is the end of the connection, too: a
    /// kernel that it reaches in the middle of a message may wait without end.
    pub(crate) connected: bool,
}

impl Patience<'_> {
    /// Whether the run was cancelled.
    pub(crate) fn is_over(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }

    /// Waits by repeated calls of `wait`, which returns `None` if nothing came within its time, or at a signal.
    fn wait<T>(&self, mut wait: impl FnMut(&Timespec) -> Result<Option<T>, Broken>) -> Result<T, Broken> {
        let period = self.limit.min(LOOK_PERIOD);
        let limit = Timespec::try_from(period).expect("at most some days");
        #[expect(clippy::disallowed_types, reason = "a watchdog of wall time, on which no result depends")]
        let mut begun: Option<std::time::Instant> = None;
        loop {
            if let Some(found) = wait(&limit)? {
                return Ok(found);
            }
            if self.is_over() {
                return Err(Broken::Cancelled);
            }
            if self.process.is_some_and(|process| spawn::end(process).is_some()) {
                return Err(Broken::End);
            }
            if self.connected && self.process.is_some_and(spawn::was_asked_to_end) {
                return Err(Broken::End);
            }
            // From the end of the first call, so that a wait that is short reads no clock.
            #[expect(clippy::disallowed_types, reason = "as above")]
            let begun = *begun.get_or_insert_with(std::time::Instant::now);
            if begun.elapsed() + period >= self.limit {
                return Err(Broken::Silent);
            }
        }
    }
}

/// Waits until one of these can be read, and returns its index: the first, if there are several.
///
/// # Errors
/// If none can be read within this time.
pub(crate) fn wait(fds: &[BorrowedFd<'_>], patience: Patience<'_>) -> Result<usize, Broken> {
    let mut polled: Vec<_> = fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    patience.wait(|limit| match poll(&mut polled, Some(limit)) {
        Ok(0) | Err(Errno::INTR) => Ok(None),
        Ok(_) => {
            Ok(Some(polled.iter().position(|one| !one.revents().is_empty()).expect("it has counted one")))
        }
        Err(error) => Err(error.into()),
    })
}

/// Limits the time for which a call waits that reads from this socket or writes to it: for a message of which the other
/// side has sent a part, or for space if it reads nothing.
///
/// # Errors
/// If it is no socket.
pub(crate) fn limit(fd: BorrowedFd<'_>, patience: Patience<'_>) -> io::Result<()> {
    for way in [sockopt::Timeout::Recv, sockopt::Timeout::Send] {
        sockopt::set_socket_timeout(fd, way, Some(patience.limit))?;
    }
    Ok(())
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

    /// Waits until a source can be read, and returns its number.
    ///
    /// # Errors
    /// If none can be read within this time.
    pub(crate) fn wait(&self, patience: Patience<'_>) -> Result<usize, Broken> {
        let mut space = [MaybeUninit::uninit(); 1];
        patience.wait(|limit| match epoll::wait(&self.0, &mut space, Some(limit)) {
            Ok((ready, _)) => Ok(ready.first().map(|event| event.data.u64() as usize)),
            Err(Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        })
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

/// Sends all bytes, and these descriptors with the first of the bytes.
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
        let brief =
            Patience { limit: Duration::from_millis(1), cancel: None, process: None, connected: false };
        assert!(matches!(wait(&[ours.as_fd()], brief), Err(Broken::Silent)));
        drop(theirs);
        assert!(matches!(wait(&[ours.as_fd()], brief), Ok(0)));
        assert!(matches!(read(ours.as_fd(), &mut [0; 4]), Err(Broken::End)));
    }
    #[test]
    fn a_part_of_a_message_and_a_side_that_reads_nothing_are_silence() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let brief =
            Patience { limit: Duration::from_millis(1), cancel: None, process: None, connected: false };
        limit(ours.as_fd(), brief).unwrap();
        send_bytes(theirs.as_fd(), b"abc").unwrap();
        assert!(matches!(read(ours.as_fd(), &mut [0; 4]), Err(Broken::Silent)));
        send_bytes(theirs.as_fd(), b"abc").unwrap();
        assert!(matches!(read_some(ours.as_fd(), &mut [0; 4], 4), Err(Broken::Silent)));
        assert!(matches!(send_bytes(ours.as_fd(), &vec![0; 1 << 22]), Err(Broken::Silent)));
    }

    #[test]
    fn a_cancelled_run_waits_no_longer() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let cancel = AtomicBool::new(true);
        let patience = Patience {
            limit: Duration::from_secs(3600),
            cancel: Some(&cancel),
            process: None,
            connected: false,
        };
        assert!(matches!(wait(&[ours.as_fd()], patience), Err(Broken::Cancelled)));
        let sources = Sources::new().unwrap();
        sources.add(ours.as_fd(), 0).unwrap();
        assert!(matches!(sources.wait(patience), Err(Broken::Cancelled)));
    }

    #[test]
    fn a_process_that_has_ended_sends_nothing_more() {
        let (ours, _of_another_process) = UnixStream::pair().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let patience = Patience {
            limit: Duration::from_secs(3600),
            cancel: None,
            process: Some(Pid::from_child(&child)),
            connected: false,
        };
        assert!(matches!(wait(&[ours.as_fd()], patience), Err(Broken::End)));
        child.wait().unwrap();
    }
}
