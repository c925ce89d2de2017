//! One direction of a connection: bytes from one socket to the other.

use std::io::{self, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
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

/// One direction of a connection. Little data is copied, much data is spliced through a pipe. The direction
/// reads only when nothing waits, so what waits is bounded by the pipe or by [`SCRATCH`].
#[derive(Debug)]
pub(super) struct Way {
    state: State,
    /// Whether the last data filled the buffer.
    much: bool,
    /// Data of `piped` bytes.
    pipe: Option<Pipe>,
    piped: usize,
    /// Data that was copied and that the receiver has not taken.
    rest: Vec<u8>,
}

/// Pipes and a buffer, which a worker has once for all its connections.
#[derive(Debug)]
pub(super) struct Tools<'a> {
    pub(super) pool: &'a Pool,
    pub(super) scratch: &'a mut [u8],
}

impl Way {
    pub(super) const fn new() -> Self {
        Self { state: State::Open, much: false, pipe: None, piped: 0, rest: Vec::new() }
    }

    /// Whether data waits for the receiver.
    pub(super) fn is_waiting(&self) -> bool {
        self.piped > 0 || !self.rest.is_empty()
    }

    /// The bytes that wait here.
    pub(super) fn waiting(&self) -> usize {
        self.piped + self.rest.len()
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

    /// Moves what can be moved. Adds the bytes that were delivered to `moved`.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        (from, to): (&mut TcpStream, &mut TcpStream),
        tools: &mut Tools<'_>,
        moved: &mut u64,
    ) -> Poll<Result<(), (End, io::Error)>> {
        for _ in 0..STEPS {
            if self.is_waiting() {
                ready!(self.poll_deliver(cx, to, tools.pool, moved)).map_err(|e| (End::To, e))?;
            }
            match self.state {
                State::Open => {
                    ready!(self.poll_take(cx, from, to, tools, moved))?;
                }
                State::Ending => {
                    ready!(Pin::new(&mut *to).poll_shutdown(cx)).map_err(|e| (End::To, e))?;
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
        moved: &mut u64,
    ) -> Poll<io::Result<()>> {
        while self.piped > 0 {
            ready!(to.poll_write_ready(cx))?;
            let pipe = self.pipe.as_ref().expect("it holds the bytes");
            match to.try_io(Interest::WRITABLE, || pipe.drain(&*to, self.piped)) {
                Ok(n) => {
                    self.piped -= n;
                    *moved += n as u64;
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
            *moved += n as u64;
        }
        // A connection that is idle keeps no buffer.
        self.rest = Vec::new();
        Poll::Ready(Ok(()))
    }

    /// Reads once.
    fn poll_take(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut TcpStream,
        to: &mut TcpStream,
        tools: &mut Tools<'_>,
        moved: &mut u64,
    ) -> Poll<Result<(), (End, io::Error)>> {
        if self.much
            && let Some(pipe) = tools.pool.take()
        {
            let taken = self.poll_splice(cx, from, &pipe);
            match taken {
                Poll::Ready(Ok(n)) if n > 0 => self.pipe = Some(pipe),
                _ => tools.pool.put(pipe),
            }
            return taken.map(|result| result.map(|_| ()).map_err(|e| (End::From, e)));
        }
        let mut buffer = ReadBuf::new(tools.scratch);
        ready!(Pin::new(from).poll_read(cx, &mut buffer)).map_err(|e| (End::From, e))?;
        let data = buffer.filled();
        if data.is_empty() {
            self.state = State::Ending;
            return Poll::Ready(Ok(()));
        }
        self.much = data.len() == SCRATCH;
        let n = match Pin::new(&mut *to).poll_write(cx, data) {
            Poll::Ready(Ok(n)) => n,
            Poll::Ready(Err(e)) => return Poll::Ready(Err((End::To, e))),
            Poll::Pending => 0,
        };
        *moved += n as u64;
        if n < data.len() {
            let kept = self.rest.write(&data[n..]).expect("writing to memory");
            debug_assert_eq!(kept, data.len() - n);
        }
        Poll::Ready(Ok(()))
    }

    /// Fills a pipe. The number of bytes is 0 at the end of the stream.
    fn poll_splice(
        &mut self,
        cx: &mut Context<'_>,
        from: &TcpStream,
        pipe: &Pipe,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(from.poll_read_ready(cx))?;
            match from.try_io(Interest::READABLE, || pipe.fill(from)) {
                Ok(n) => {
                    self.piped = n;
                    self.much = n >= SPLICE_MIN;
                    if n == 0 {
                        self.state = State::Ending;
                    }
                    return Poll::Ready(Ok(n));
                }
                Err(e) if is_temporary(&e) => {}
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
    }
}

/// Whether the call may be repeated: the socket was not ready after all, or a signal came.
fn is_temporary(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
