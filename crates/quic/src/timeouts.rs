//! The effect of silence: none (RFC 9002 §6.2, with quinn's probe timeouts), or a collapse of the window, as
//! in picoquic of 2020.
//!
//! picoquic's timer (`sender.c`, `picoquic_retransmit_needed_by_packet`; `frames.c`,
//! `picoquic_update_path_rtt`) runs from when the *oldest* packet was sent, not the newest, so that a fast
//! increase of the delay makes it fire while packets are still being delivered. It is SRTT + 4 RTTVAR + the
//! peer's acknowledgment delay, with 4 RTTVAR at least the minimum round trip and the whole at least 50 ms,
//! doubled each time.

use airlane_core::{Duration, Instant};

use crate::flight::{Flight, Flying};

/// The reaction of a sender to silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicTimeouts {
    /// Probe timeouts (RFC 9002 §6.2), which do not reduce the window.
    Probe,
    /// A retransmission timeout of the oldest packet, which reduces the window to two datagrams. quinn's
    /// probes are sent then.
    Collapse {
        /// Minimum of the timeout: `PICOQUIC_MIN_RETRANSMIT_TIMER`.
        floor: Duration,
    },
}

/// `PICOQUIC_ACK_DELAY_MAX`, the acknowledgment delay that picoquic of 2020 announces.
const ACK_DELAY: Duration = Duration::from_millis(10);
/// Maximum number of doublings: `picoquic_retransmit_needed` gives up after this many.
const BACKOFF_MAX: u32 = 7;

/// The timer of a sender that has one.
#[derive(Debug)]
pub(crate) struct Timeouts {
    floor: Duration,
    srtt: Duration,
    rttvar: Duration,
    rtt_min: Duration,
    backoff: u32,
    /// The packet that caused the last timeout, and the time of the timeout.
    fired: Option<Flying>,
    fired_at: Option<Instant>,
}

impl Timeouts {
    pub(crate) const fn new(floor: Duration) -> Self {
        Self {
            floor,
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            rtt_min: Duration::MAX,
            backoff: 0,
            fired: None,
            fired_at: None,
        }
    }

    /// A round trip (RFC 6298 §2, without a bound on the gain).
    pub(crate) fn on_rtt(&mut self, rtt: Duration) {
        self.rtt_min = self.rtt_min.min(rtt);
        if self.srtt.is_zero() {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
        } else {
            let deviation = self.srtt.abs_diff(rtt);
            self.srtt = (self.srtt * 7 + rtt) / 8;
            self.rttvar = ((self.rttvar * 3 + deviation) / 4).max(self.rtt_min / 4);
        }
        self.backoff = 0;
    }

    /// The current timeout.
    pub(crate) fn rto(&self) -> Duration {
        (self.srtt + self.rttvar * 4 + ACK_DELAY).max(self.floor) * (1 << self.backoff.min(BACKOFF_MAX))
    }

    /// The time at which the timeout fires. Packets that were in flight when it last fired do not make it fire again.
    pub(crate) fn deadline(&self, flight: &Flight) -> Option<Instant> {
        if self.srtt.is_zero() {
            return None; // quinn's timer applies during the handshake
        }
        Some(flight.oldest_since(self.fired_at)?.sent_at + self.rto())
    }

    /// Fires the timer. Returns the number of consecutive times.
    pub(crate) fn fire(&mut self, now: Instant, flight: &Flight) -> u32 {
        self.fired = flight.oldest_since(self.fired_at);
        self.fired_at = Some(now);
        self.backoff += 1;
        self.backoff
    }

    /// A packet is acknowledged. Returns whether it is the one that made the timer fire.
    pub(crate) fn proves_spurious(&mut self, packet: Flying) -> bool {
        self.fired.take_if(|fired| fired.serial == packet.serial).is_some()
    }
}
