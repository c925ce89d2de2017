//! QUIC streams for h3, with a bound on what is read of each. h3 buffers a frame until it is complete, whatever
//! length the client has announced.

use std::task::{Context, Poll, ready};

use bytes::Buf;
use h3::error::Code;
use h3::quic::{
    BidiStream, Connection, ConnectionErrorIncoming, OpenStreams, RecvStream, SendStream,
    StreamErrorIncoming, StreamId, WriteBuf,
};

/// A connection whose streams are bounded.
pub(super) struct Bounded<C> {
    pub(super) inner: C,
    /// Bytes that are read of a stream at most.
    pub(super) most: u64,
}

/// A stream of a [`Bounded`] connection. Only reading is bounded.
pub(super) struct Stream<S> {
    inner: S,
    left: u64,
}

impl<B: Buf, C: OpenStreams<B>> OpenStreams<B> for Bounded<C> {
    type BidiStream = Stream<C::BidiStream>;
    type SendStream = C::SendStream;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, StreamErrorIncoming>> {
        let inner = ready!(self.inner.poll_open_bidi(cx))?;
        Poll::Ready(Ok(Stream { inner, left: self.most }))
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::SendStream, StreamErrorIncoming>> {
        self.inner.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.inner.close(code, reason);
    }
}

impl<B: Buf, C: Connection<B>> Connection<B> for Bounded<C> {
    type RecvStream = Stream<C::RecvStream>;
    type OpenStreams = Bounded<C::OpenStreams>;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::RecvStream, ConnectionErrorIncoming>> {
        let inner = ready!(self.inner.poll_accept_recv(cx))?;
        Poll::Ready(Ok(Stream { inner, left: self.most }))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, ConnectionErrorIncoming>> {
        let inner = ready!(self.inner.poll_accept_bidi(cx))?;
        Poll::Ready(Ok(Stream { inner, left: self.most }))
    }

    fn opener(&self) -> Self::OpenStreams {
        Bounded { inner: self.inner.opener(), most: self.most }
    }
}

impl<S: RecvStream> RecvStream for Stream<S> {
    type Buf = S::Buf;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<S::Buf>, StreamErrorIncoming>> {
        let data = ready!(self.inner.poll_data(cx))?;
        let read = data.as_ref().map_or(0, Buf::remaining) as u64;
        match self.left.checked_sub(read) {
            Some(left) => self.left = left,
            None => {
                // A client of files sends short requests only.
                let error_code = Code::H3_EXCESSIVE_LOAD.value();
                self.inner.stop_sending(error_code);
                let why = "a stream is longer than a request can be";
                return Poll::Ready(Err(StreamErrorIncoming::ConnectionErrorIncoming {
                    connection_error: ConnectionErrorIncoming::InternalError(why.to_owned()),
                }));
            }
        }
        Poll::Ready(Ok(data))
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.inner.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.inner.recv_id()
    }
}

impl<B: Buf, S: SendStream<B>> SendStream<B> for Stream<S> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.inner.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.inner.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.inner.poll_finish(cx)
    }

    fn reset(&mut self, reset_code: u64) {
        self.inner.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.inner.send_id()
    }
}

impl<B: Buf, S: BidiStream<B>> BidiStream<B> for Stream<S> {
    type SendStream = S::SendStream;
    type RecvStream = Stream<S::RecvStream>;

    fn split(self) -> (Self::SendStream, Self::RecvStream) {
        let (send, recv) = self.inner.split();
        (send, Stream { inner: recv, left: self.left })
    }
}
