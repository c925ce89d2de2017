//! A TCP connection of a listener with its place, whose client has to read in time.
//!
//! The place belongs to the socket, so that it is held as long as the socket exists: also after an
//! upgrade to a WebSocket, and until the client has received the end of the last response.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use airlane_live::options::{NotSentLowat, ReceiverInfo};
use airlane_live::tcp_info::TcpInfo;
use nix::sys::socket::{getsockopt, setsockopt};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use crate::places::Place;

/// Bytes that the kernel holds for a client and has not sent.
const NOT_SENT: u32 = 64 << 10;
/// Bytes that a client must at least acknowledge in the `stall` of its bounds, if as many wait for it.
const PROGRESS: u64 = 16 << 10;
/// How often the end of a connection is looked for, once its server has closed it.
const LOOK: Duration = Duration::from_millis(100);
/// Blocks that are read and discarded at each look.
const DISCARDED: u32 = 16;

/// The connection.
#[derive(Debug)]
pub(crate) struct Guarded {
    stream: Option<TcpStream>,
    place: Option<Place>,
    reading: Reading,
}

/// The reading of a client: bytes that were written, and bytes that it has acknowledged. The bytes in the buffer of the
/// kernel are no measure: the kernel may take all bytes, or none for a long time.
#[derive(Debug)]
struct Reading {
    stall: Duration,
    written: u64,
    /// The bytes that the client has to acknowledge until the end of the present span.
    due: Option<u64>,
    span: Pin<Box<Sleep>>,
}

impl Reading {
    fn new(stall: Duration) -> Self {
        Self { stall, written: 0, due: None, span: Box::pin(sleep(stall)) }
    }

    /// Begins a span, if there are bytes that the client has not acknowledged.
    fn begin(&mut self, acknowledged: u64) {
        self.due = None;
        if acknowledged < self.written {
            self.due = Some(self.written.min(acknowledged + PROGRESS));
            self.span.as_mut().reset(Instant::now() + self.stall);
        }
    }

    /// Ready when the client has not acknowledged enough in a span.
    fn poll_stalled(&mut self, stream: &TcpStream, cx: &mut Context<'_>) -> Poll<()> {
        if self.due.is_none() {
            self.begin(acknowledged(stream));
        }
        while let Some(due) = self.due {
            if self.span.as_mut().poll(cx).is_pending() {
                break;
            }
            let acknowledged = acknowledged(stream);
            if acknowledged < due {
                return Poll::Ready(());
            }
            self.begin(acknowledged);
        }
        Poll::Pending
    }
}

/// The bytes that the peer has acknowledged; all bytes after an error, which the next operation reports.
fn acknowledged(stream: &TcpStream) -> u64 {
    let info = getsockopt(stream, ReceiverInfo).ok();
    info.and_then(|bytes| TcpInfo::new(&bytes).bytes_acknowledged()).unwrap_or(u64::MAX)
}

impl Guarded {
    /// A connection that has been accepted. Its client reads something within `stall`, or it ends.
    pub(crate) fn new(stream: TcpStream, place: Place, stall: Duration) -> Self {
        // An option that the kernel refuses bounds nothing; the rules of this type hold without them.
        let _ = stream.set_nodelay(true);
        let _ = setsockopt(&stream, NotSentLowat, &NOT_SENT);
        // The timeout also ends connections that this process has closed.
        let _ = socket2::SockRef::from(&stream).set_tcp_user_timeout(Some(stall));
        Self { stream: Some(stream), place: Some(place), reading: Reading::new(stall) }
    }

    /// The stream, unless the connection has to end.
    fn checked(&mut self, cx: &mut Context<'_>) -> io::Result<Pin<&mut TcpStream>> {
        let gone = || io::Error::from(io::ErrorKind::NotConnected);
        let (stream, place) = self.stream.as_mut().zip(self.place.as_ref()).ok_or_else(gone)?;
        if place.poll_displaced(cx).is_ready() {
            let why = "another client needs the place of this connection";
            return Err(self.abort(io::Error::new(io::ErrorKind::ConnectionAborted, why)));
        }
        if self.reading.poll_stalled(stream, cx).is_ready() {
            return Err(self.abort(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")));
        }
        Ok(Pin::new(self.stream.as_mut().ok_or_else(gone)?))
    }

    /// Ends the connection with a RST, so that the kernel holds nothing more for it.
    fn abort(&mut self, why: io::Error) -> io::Error {
        if let Some(stream) = self.stream.take() {
            let _ = stream.set_zero_linger();
        }
        self.place = None;
        tracing::debug!(%why, "connection cut off");
        why
    }

    fn wrote(&mut self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = &result {
            self.reading.written += *count as u64;
            self.progress();
        }
        result
    }

    fn progress(&self) {
        if let Some(place) = &self.place {
            place.progress();
        }
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = self.checked(cx)?.poll_read(cx, buf);
        if buf.filled().len() > before {
            self.progress();
        }
        read
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let result = self.checked(cx)?.poll_write(cx, buf);
        self.wrote(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = self.checked(cx)?.poll_write_vectored(cx, bufs);
        self.wrote(result)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.checked(cx)?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.checked(cx)?.poll_shutdown(cx)
    }
}

impl Drop for Guarded {
    /// Bytes that the client has not received yet are still sent, and the connection keeps its place until then.
    fn drop(&mut self) {
        let (Some(stream), Some(place)) = (self.stream.take(), self.place.take()) else { return };
        if acknowledged(&stream) >= self.reading.written {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let stall = self.reading.stall;
        let reading = std::mem::replace(&mut self.reading, Reading::new(stall));
        runtime.spawn(end(stream, place, reading));
    }
}

/// Waits until the client has received everything, or does not read, or has to make room.
async fn end(mut stream: TcpStream, place: Place, mut reading: Reading) {
    let _ = stream.shutdown().await;
    while acknowledged(&stream) < reading.written {
        let stalled = std::future::poll_fn(|cx| reading.poll_stalled(&stream, cx));
        let is_cut = tokio::select! {
            () = place.displaced() => true,
            () = stalled => true,
            () = sleep(LOOK) => false,
        };
        if is_cut {
            let _ = stream.set_zero_linger();
            return;
        }
        if !discard(&stream) {
            return;
        }
    }
}

/// Discards what the client still sends: unread bytes would make the kernel send a RST in the place of what is left.
/// False if the connection has failed.
fn discard(stream: &TcpStream) -> bool {
    let mut scratch = [0; 4096];
    for _ in 0..DISCARDED {
        match stream.try_read(&mut scratch) {
            Ok(0) => break,
            Ok(_) => {}
            Err(e) => return e.kind() == io::ErrorKind::WouldBlock,
        }
    }
    true
}
