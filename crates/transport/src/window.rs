//! Receive windows: how many bytes beyond the next expected one a receiver offers.
//!
//! The advertised right edge never moves left (RFC 9293 §3.8.6.2.2): that rule is the
//! receiver's, which widens whatever a policy says here.
//!
//! A policy is a buffer ([`buffer`]), of one size or tuned, and perhaps a rule on top of it: [`drwa`] offers
//! less than the buffer has, [`arwa`] says beside it what it finds of the path.

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
    /// When.
    pub now: Instant,
    /// Its payload.
    pub bytes: Bytes,
    /// Largest segment seen.
    pub segment_size: Bytes,
    /// When the peer sent it by its own clock, in milliseconds (TSval of RFC 7323).
    pub timestamp: Option<u32>,
    /// When we sent what it answers by our clock, in milliseconds (TSecr).
    pub echo: Option<u32>,
}

/// The application read.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// When.
    pub now: Instant,
    /// Bytes read since the connection began.
    pub total: u64,
    /// Round-trip time as the receiver knows it; zero before it does.
    pub rtt: Duration,
    /// Largest segment the receiver offered to take.
    pub segment_size: Bytes,
}

/// A policy.
pub trait ReceiveWindow {
    /// The connection stands.
    fn on_established(&mut self, now: Instant);
    /// A data segment arrived; true if the window grew and the sender should hear of it soon.
    fn on_data(&mut self, arrival: &Arrival, held: Bytes) -> bool;
    /// The application read.
    fn on_read(&mut self, read: &Read);
    /// Bytes to offer while `held` bytes wait in the buffer.
    fn advertise(&self, held: Bytes) -> Bytes;
    /// The most it will ever offer, for the choice of the window scale.
    fn ceiling(&self) -> Bytes;
    /// What the next acknowledgment without data tells the sender of the path; told once.
    fn take_code(&mut self) -> Option<Code> {
        None
    }
}

/// The policies we ship.
#[derive(Clone, Copy, Debug)]
pub enum Window {
    /// What the buffer has.
    Plain(Buffer),
    /// Less, by the round trips that the receiver measures.
    Drwa(DrwaWindow),
    /// What the buffer has, and codes beside it.
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
