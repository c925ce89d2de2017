//! A direction of a connection: bytes from one socket to the other.
//!
//! # Nothing but the FIN of an end is a FIN
//!
//! A direction closes its receiving end (`shutdown`) only after its sending end has sent a FIN, and after all bytes
//! before it were handed on. All other ends of a connection are a RST to both ends. This holds by four rules:
//!
//! 1. Only `recv` finds the end of the stream. `splice` returns 0 with data behind an urgent mark, and `EAGAIN` with
//!    data waiting behind a mark or without memory for a page (`tcp_read_sock` in net/ipv4/tcp.c of Linux). A splice of
//!    nothing therefore says nothing, and `recv` is asked.
//! 2. `recv` returns 0 if the FIN was received, or if the kernel has ended the connection and its error (`SO_ERROR`) was
//!    reported before (`tcp_recvmsg_locked`; `tcp_reset`, `tcp_write_err`). Each error is reported once, by whichever call
//!    on this socket comes first, `send` and `shutdown` included. The first error of either socket therefore ends the
//!    whole connection, and no call follows it ([`Relay`](super::relay::Relay)).
//! 3. As a check of rule 2, the state of the connection (`TCP_INFO`) must be one that follows a FIN
//!    ([`has_received_fin`]).
//! 4. `shutdown` of a socket that has ended already is an error (`ENOTCONN`), not the end of the direction.

use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use airlane_live::options::{ReceiverInfo, is_at_urgent_mark};
use nix::sys::socket::{MsgFlags, getsockopt, recv, send};
use socket2::SockRef;
use tokio::io::{AsyncWrite, Interest};
use tokio::net::TcpStream;

use super::pipe::{Pipe, Pool};

/// Size of the buffer of a worker for data that is copied.
pub(super) const SCRATCH: usize = 32 * 1024;
/// Data that arrives in smaller pieces than this is copied, which needs fewer system calls.
const SPLICE_MIN: usize = 8 * 1024;
/// Steps after which other connections have their turn.
const STEPS: u32 = 16;

/// Which socket of a direction has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    From,
    To,
}

/// The failure of a direction.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) end: End,
    pub(super) error: io::Error,
}

impl Failure {
    fn from(error: io::Error) -> Self {
        Self { end: End::From, error }
    }

    fn to(error: io::Error) -> Self {
        Self { end: End::To, error }
    }
}

/// Progress of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The sender may send.
    Open,
    /// The sender has closed; what waits is still delivered.
    Ending,
    /// The receiver has got the FIN.
    Ended,
}

/// The sockets of a direction.
#[derive(Debug)]
pub(super) struct Sockets<'a> {
    pub(super) from: &'a mut TcpStream,
    pub(super) to: &'a mut TcpStream,
    /// Whether the proxy has sent a FIN to the end of `from`.
    pub(super) is_from_closed: bool,
}

/// A direction of a connection. Little data is copied, much data is spliced through a pipe. The direction reads only
/// when nothing waits, so the waiting data is bounded by the pipe or by [`SCRATCH`].
#[derive(Debug)]
pub(super) struct Transfer {
    state: State,
    /// Whether the last data filled the buffer.
    much: bool,
    /// Data of `piped` bytes.
    pipe: Option<Pipe>,
    piped: usize,
    /// Data that was copied and that the receiver has not taken.
    rest: Vec<u8>,
    /// An urgent byte that the receiver has not taken. It is the last byte that was read.
    urgent: Option<u8>,
    /// Bytes that were handed to the kernel for the receiver.
    moved: u64,
}

/// Pipes and a buffer, which a worker has once for all its connections.
#[derive(Debug)]
pub(super) struct Tools<'a> {
    pub(super) pool: &'a Pool,
    pub(super) scratch: &'a mut [u8],
}

/// Result of a `recv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Received {
    /// Bytes at the begin of the buffer.
    Data(usize),
    /// The byte at an urgent mark.
    Urgent(u8),
    /// The end of the stream.
    End,
}

impl Transfer {
    pub(super) const fn new() -> Self {
        Self {
            state: State::Open,
            much: false,
            pipe: None,
            piped: 0,
            rest: Vec::new(),
            urgent: None,
            moved: 0,
        }
    }

    /// Whether data waits for the receiver.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting() > 0
    }

    /// The bytes that wait here.
    pub(super) fn waiting(&self) -> usize {
        self.piped + self.rest.len() + usize::from(self.urgent.is_some())
    }

    /// The memory of the bytes that wait here. The pages of a pipe count completely.
    pub(super) fn memory(&self) -> u64 {
        (self.pipe.as_ref().map_or(0, Pipe::capacity) + self.rest.len()) as u64
    }

    /// The bytes that were handed to the kernel for the receiver since the begin.
    pub(super) const fn moved(&self) -> u64 {
        self.moved
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Returns the pipe at the end of the connection.
    pub(super) fn give_back(&mut self, pool: &Pool) {
        if let Some(pipe) = self.pipe.take() {
            if self.piped > 0 { pool.discard(pipe) } else { pool.put(pipe) }
        }
    }

    /// Moves what can be moved. After a failure, neither socket may be used again (rule 2 of this module).
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        mut sockets: Sockets<'_>,
        tools: &mut Tools<'_>,
    ) -> Poll<Result<(), Failure>> {
        for _ in 0..STEPS {
            if self.is_waiting() {
                ready!(self.poll_deliver(cx, sockets.to, tools.pool)).map_err(Failure::to)?;
            }
            match self.state {
                State::Open => ready!(self.poll_take(cx, &mut sockets, tools))?,
                State::Ending => {
                    // Not `poll_shutdown` of tokio, for which a socket that has ended is no error.
                    SockRef::from(&*sockets.to).shutdown(Shutdown::Write).map_err(Failure::to)?;
                    self.state = State::Ended;
                }
                State::Ended => return Poll::Ready(Ok(())),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Writes all that waits.
    fn poll_deliver(
        &mut self,
        cx: &mut Context<'_>,
        to: &mut TcpStream,
        pool: &Pool,
    ) -> Poll<io::Result<()>> {
        while self.piped > 0 {
            ready!(to.poll_write_ready(cx))?;
            let pipe = self.pipe.as_ref().expect("it holds the bytes");
            match to.try_io(Interest::WRITABLE, || pipe.drain(&*to, self.piped)) {
                Ok(n) => {
                    self.piped -= n;
                    self.moved += n as u64;
                }
                Err(e) if is_temporary(&e) => {}
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
        if let Some(pipe) = self.pipe.take() {
            pool.put(pipe);
        }
        while !self.rest.is_empty() {
            let n = ready!(Pin::new(&mut *to).poll_write(cx, &self.rest))?;
            self.rest.drain(..n);
            self.moved += n as u64;
        }
        // A connection that is idle keeps no buffer.
        self.rest = Vec::new();
        while let Some(byte) = self.urgent {
            ready!(to.poll_write_ready(cx))?;
            let flags = MsgFlags::MSG_OOB | MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
            match to.try_io(Interest::WRITABLE, || Ok(send(to.as_raw_fd(), &[byte], flags)?)) {
                Ok(n) => {
                    self.urgent = None;
                    self.moved += n as u64;
                }
                Err(e) if is_temporary(&e) => {}
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Reads once.
    fn poll_take(
        &mut self,
        cx: &mut Context<'_>,
        sockets: &mut Sockets<'_>,
        tools: &mut Tools<'_>,
    ) -> Poll<Result<(), Failure>> {
        let (from, to) = (&*sockets.from, &mut *sockets.to);
        loop {
            ready!(from.poll_read_ready(cx)).map_err(Failure::from)?;
            if self.splice(from, tools.pool).map_err(Failure::from)? {
                return Poll::Ready(Ok(()));
            }
            let n = match receive(from, tools.scratch) {
                Ok(Received::Data(n)) => n,
                Ok(Received::Urgent(byte)) => {
                    self.urgent = Some(byte);
                    return Poll::Ready(Ok(()));
                }
                Ok(Received::End) => {
                    has_received_fin(from, sockets.is_from_closed).map_err(Failure::from)?;
                    self.state = State::Ending;
                    return Poll::Ready(Ok(()));
                }
                Err(e) if is_temporary(&e) => continue,
                Err(e) => return Poll::Ready(Err(Failure::from(e))),
            };
            self.much = n == SCRATCH;
            let data = &tools.scratch[..n];
            let written = match Pin::new(to).poll_write(cx, data) {
                Poll::Ready(Ok(n)) => n,
                Poll::Ready(Err(e)) => return Poll::Ready(Err(Failure::to(e))),
                Poll::Pending => 0,
            };
            self.moved += written as u64;
            if written < n {
                let kept = self.rest.write(&data[written..]).expect("writing to memory");
                debug_assert_eq!(kept, n - written);
            }
            return Poll::Ready(Ok(()));
        }
    }

    /// Fills a pipe if much data is expected. False if nothing was spliced, for whatever reason: `recv` then finds out.
    fn splice(&mut self, from: &TcpStream, pool: &Pool) -> io::Result<bool> {
        if !self.much {
            return Ok(false);
        }
        let Some(pipe) = pool.take() else { return Ok(false) };
        let filled = match pipe.fill(from) {
            Err(e) if is_temporary(&e) => Ok(0),
            other => other,
        };
        let Ok(n @ 1..) = filled else {
            pool.put(pipe);
            return filled.map(|_| false);
        };
        self.pipe = Some(pipe);
        self.piped = n;
        self.much = n >= SPLICE_MIN;
        Ok(true)
    }
}

/// Reads data up to an urgent mark, or the byte at the mark. `WouldBlock` if there is none.
///
/// The sockets have `SO_OOBINLINE`, so that no urgent byte is dropped.
fn receive(from: &TcpStream, buffer: &mut [u8]) -> io::Result<Received> {
    let mut found = None;
    let tried = from.try_io(Interest::READABLE, || {
        let is_at_mark = is_at_urgent_mark(from.as_fd())?;
        let limit = if is_at_mark { 1 } else { buffer.len() };
        let n = recv(from.as_raw_fd(), &mut buffer[..limit], MsgFlags::MSG_DONTWAIT)?;
        found = Some(match n {
            0 => Received::End,
            _ if is_at_mark => Received::Urgent(buffer[0]),
            n => Received::Data(n),
        });
        // Less than the buffer takes is all there is, or all before a mark. In the first case, the next event is
        // waited for without a further call, as tokio does.
        if n > 0 && n < limit && !is_at_urgent_mark(from.as_fd())? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(())
    });
    match (found, tried) {
        (Some(found), _) => Ok(found),
        (None, Err(e)) => Err(e),
        (None, Ok(())) => unreachable!("without an error, something was found"),
    }
}

/// Whether the state of a connection is one that follows a FIN from the other end; if not, the error with which it has
/// ended. `recv` has returned 0.
fn has_received_fin(socket: &TcpStream, is_closed: bool) -> io::Result<()> {
    // Numbers of states in net/tcp_states.h of Linux; `tcpi_state` is the first byte of `struct tcp_info`.
    const TIME_WAIT: u8 = 6;
    const CLOSE: u8 = 7;
    const CLOSE_WAIT: u8 = 8;
    const LAST_ACK: u8 = 9;
    const CLOSING: u8 = 11;
    let state = getsockopt(socket, ReceiverInfo)?[0];
    match state {
        CLOSE_WAIT | LAST_ACK | CLOSING | TIME_WAIT => Ok(()),
        // Both FINs and their acknowledgments have passed, or the connection was aborted.
        CLOSE if is_closed => socket.take_error()?.map_or(Ok(()), Err),
        _ => Err(socket.take_error()?.unwrap_or_else(|| io::ErrorKind::ConnectionReset.into())),
    }
}

/// Whether the call may be repeated: the socket was not ready after all, or a signal came.
fn is_temporary(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
