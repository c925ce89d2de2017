//! Receive windows: the number of bytes that a receiver offers beyond the next expected one.
//!
//! The advertised right edge never moves left (RFC 9293 §3.8.6.2.2). The receiver applies this
//! rule: it increases the value of a policy if necessary.
//!
//! A policy is a buffer ([`buffer`]), of fixed or tuned size, with an optional rule: [`drwa`] offers less
//! than the buffer, [`arwa`] sends codes about the path in addition.

pub mod arwa;
pub mod buffer;
pub mod drwa;

use airlane_core::{Bytes, Duration, Instant};

pub use arwa::{ArwaReceiver, CaseTwo, Code, DelayMeasure, OldCode};
pub use buffer::{AutotunedWindow, Buffer, FixedWindow};
pub use drwa::DrwaReceiver;

use arwa::ArwaWindow;
use drwa::DrwaWindow;

use crate::config::{ReceiveBuffer, ReceiveWindowKind};

/// A data segment arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The time.
    pub now: Instant,
    /// Payload of the segment.
    pub bytes: Bytes,
    /// Number of segments that arrived as one.
    pub segments: u64,
    /// Largest segment seen.
    pub segment_size: Bytes,
    /// Send time by the peer's clock in milliseconds (TSval of RFC 7323).
    pub timestamp: Option<u32>,
    /// Our send time of the segment that it answers, by our clock, in milliseconds (TSecr).
    pub echo: Option<u32>,
}

/// The application has read data.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// The time.
    pub now: Instant,
    /// Bytes read since the start of the connection.
    pub total: u64,
    /// Bytes that it can read in addition.
    pub queued: u64,
    /// Round-trip time at the receiver; zero before the first sample.
    pub rtt: Duration,
    /// Largest segment the receiver offered to take.
    pub segment_size: Bytes,
}

/// A policy.
pub trait ReceiveWindow {
    /// The connection is established.
    fn on_established(&mut self, now: Instant);
    /// A data segment arrived; returns true if the window grew and the sender should be informed soon.
    fn on_data(&mut self, arrival: &Arrival, held: Bytes) -> bool;
    /// The application has read data.
    fn on_read(&mut self, read: &Read);
    /// Bytes to offer in a SYN or SYN-ACK, for a sender whose full segments have `segment` bytes.
    fn first_offer(&self, _segment: Bytes) -> Bytes {
        self.advertise(Bytes::ZERO)
    }
    /// Bytes to offer while the buffer holds `held` bytes.
    fn advertise(&self, held: Bytes) -> Bytes;
    /// The largest possible offer, for the choice of the window scale.
    fn ceiling(&self) -> Bytes;
    /// The code for the next acknowledgment without data; returned once.
    fn take_code(&mut self) -> Option<Code> {
        None
    }
}

/// The policies of this crate.
#[derive(Clone, Copy, Debug)]
pub enum Window {
    /// The free space of the buffer.
    Plain(Buffer),
    /// Less than that, determined by the receiver's round trips.
    Drwa(DrwaWindow),
    /// The free space of the buffer, with codes in addition.
    Arwa(ArwaWindow),
}

macro_rules! each {
    ($self:expr, $window:ident => $call:expr) => {
        match $self {
            Window::Plain($window) => $call,
            Window::Drwa($window) => $call,
            Window::Arwa($window) => $call,
        }
    };
}

impl Window {
    /// The policy of this kind, for segments of `segment_size`.
    #[must_use]
    pub fn new(kind: ReceiveWindowKind, segment_size: Bytes) -> Self {
        match kind {
            ReceiveWindowKind::Fixed(size) => {
                Self::Plain(Buffer::new(ReceiveBuffer::Fixed(size), segment_size))
            }
            ReceiveWindowKind::Autotuned { initial, max } => {
                Self::Plain(Buffer::new(ReceiveBuffer::Autotuned { initial, max }, segment_size))
            }
            ReceiveWindowKind::Drwa(drwa) => Self::Drwa(DrwaWindow::new(drwa, segment_size)),
            ReceiveWindowKind::Arwa(arwa) => Self::Arwa(ArwaWindow::new(arwa, segment_size)),
        }
    }
}

impl Window {
    /// True if segments that arrive as one are one arrival. A policy that measures the path takes each alone.
    pub(crate) const fn takes_joined(&self) -> bool {
        matches!(self, Self::Plain(_))
    }
}

impl ReceiveWindow for Window {
    fn on_established(&mut self, now: Instant) {
        each!(self, w => w.on_established(now));
    }
    #[inline]
    fn on_data(&mut self, arrival: &Arrival, held: Bytes) -> bool {
        each!(self, w => w.on_data(arrival, held))
    }
    #[inline]
    fn on_read(&mut self, read: &Read) {
        each!(self, w => w.on_read(read));
    }
    fn first_offer(&self, segment: Bytes) -> Bytes {
        each!(self, w => w.first_offer(segment))
    }
    #[inline]
    fn advertise(&self, held: Bytes) -> Bytes {
        each!(self, w => w.advertise(held))
    }
    fn ceiling(&self) -> Bytes {
        each!(self, w => w.ceiling())
    }
    #[inline]
    fn take_code(&mut self) -> Option<Code> {
        each!(self, w => w.take_code())
    }
}
