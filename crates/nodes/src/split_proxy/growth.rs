//! The rule by which a direction gets larger buffers.

use std::time::{Duration, Instant};

use airlane_live::options::ReceiverInfo;
use nix::sys::socket::getsockopt;
use tokio::net::TcpStream;

use super::memory::FIRST;
use super::transfer::Transfer;

/// Shortest time between two measurements.
const SPAN_MIN: Duration = Duration::from_millis(1);
/// Bytes of a buffer for each byte of a round trip: half of it is the overhead of the kernel, and what arrives in a round
/// trip may double in the next one (slow start, RFC 5681 section 3.1). So Linux sizes its buffers
/// (`tcp_rcv_space_adjust` and `tcp_sndbuf_expand` in net/ipv4/tcp_input.c).
const FACTOR: f64 = 4.0;

/// Measures how much a direction moves in a round trip.
#[derive(Debug)]
pub(super) struct BufferGrowth {
    since: Instant,
    /// Bytes that had been moved then.
    moved: u64,
    /// The round-trip time of the socket of the sender.
    round_trip: Duration,
    /// Bytes that had been moved at the last look of the sweep.
    at_look: u64,
}

/// Sizes of buffers that a direction needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BufferSizes {
    /// Size of the receive buffer of the sender's socket.
    pub(super) receive: u64,
    /// Size of the send buffer of the receiver's socket.
    pub(super) send: u64,
}

impl BufferGrowth {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, moved: 0, round_trip: SPAN_MIN, at_look: 0 }
    }

    /// The sizes that are needed, after a round trip or more with enough data. `moved` is the number of bytes since the
    /// begin.
    pub(super) fn sizes(
        &mut self,
        now: Instant,
        moved: u64,
        from: &TcpStream,
        to: &TcpStream,
    ) -> Option<BufferSizes> {
        let (span, bytes) = (now.saturating_duration_since(self.since), moved - self.moved);
        if bytes < FIRST / 2 || span < self.round_trip {
            return None;
        }
        let (from, to) = (getsockopt(from, ReceiverInfo).ok()?, getsockopt(to, ReceiverInfo).ok()?);
        let round_trip = Duration::from_micros(number(&from, RTT).into());
        let per_round_trip = bytes as f64 * round_trip.as_secs_f64() / span.max(round_trip).as_secs_f64();
        (self.since, self.moved, self.round_trip) = (now, moved, round_trip.max(SPAN_MIN));
        let window = f64::from(number(&to, SND_CWND)) * f64::from(number(&to, SND_MSS));
        Some(BufferSizes { receive: (FACTOR * per_round_trip) as u64, send: (FACTOR * window) as u64 })
    }

    /// The bytes that were moved since the last look. Begins a measurement, so that a pause does not count.
    pub(super) fn since_look(&mut self, transfer: &Transfer) -> u64 {
        let since = transfer.moved() - self.at_look;
        self.at_look = transfer.moved();
        (self.since, self.moved) = (Instant::now(), transfer.moved());
        since
    }
}

/// Offsets in `struct tcp_info` (linux/tcp.h): `tcpi_snd_mss`, `tcpi_rtt` in microseconds, `tcpi_snd_cwnd` in segments.
const SND_MSS: usize = 16;
const RTT: usize = 68;
const SND_CWND: usize = 80;

fn number(info: &[u8; 136], offset: usize) -> u32 {
    let bytes = info[offset..offset + 4].try_into().expect("four bytes");
    u32::from_ne_bytes(bytes)
}
