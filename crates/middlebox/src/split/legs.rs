//! The statistics of a split-connection proxy about its connections to one side.

use airlane_core::{Duration, Instant};
use airlane_transport::{ConnectionState, TcpEndpoint, TcpStats};

/// The connections of a proxy to one side: their counters, and the state of current ones. A connection that
/// has moved counts completely in its present place or where it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LegStatistics {
    /// Connections without a complete handshake.
    pub opening: u64,
    /// Established connections, of which one side may have closed.
    pub established: u64,
    /// Connections with one side closed.
    pub half_closed: u64,
    /// Connections that have closed while the other leg has not.
    pub closed: u64,
    /// Bytes in buffers that the peers of these connections have not acknowledged.
    pub waiting: u64,
    /// How often a peer was offered less than a full segment, because the buffer or the memory was full.
    pub windows_closed: u64,
    /// The total duration of that, and the number of connections in this state.
    pub window_closed: Duration,
    /// See `window_closed`.
    pub windows_closed_now: u64,
    /// Connections reset by a peer, and connections that the proxy ended with a RST to the peer.
    pub resets_received: u64,
    /// See `resets_received`.
    pub resets_sent: u64,
    /// Data segments sent, including retransmissions.
    pub segments_sent: u64,
    /// Data segments sent again.
    pub retransmissions: u64,
    /// Expired retransmission timers; repeated SYNs and SYN-ACKs; window probes.
    pub timeouts: u64,
    /// See `timeouts`.
    pub handshake_retransmissions: u64,
    /// See `timeouts`.
    pub window_probes: u64,
    /// Round-trip samples: their number and sum.
    pub rtt_samples: u64,
    /// See `rtt_samples`.
    pub rtt_sum: Duration,
    /// Minimum of the round-trip times.
    pub rtt_min: Option<Duration>,
    /// Completed handshakes, and the sum of their durations since the first SYN at the proxy.
    pub handshakes: u64,
    /// See `handshakes`.
    pub handshake_sum: Duration,
}

impl LegStatistics {
    /// Adds the counters of an end since its connection was opened.
    pub(super) fn count(&mut self, stats: &TcpStats, opened_at: Instant) {
        self.segments_sent += stats.data_segments_sent;
        self.retransmissions += stats.retransmissions;
        self.timeouts += stats.timeouts;
        self.handshake_retransmissions += stats.handshake_retransmissions;
        self.window_probes += stats.window_probes;
        self.rtt_samples += stats.rtt_samples;
        self.rtt_sum += stats.rtt_sum;
        self.rtt_min = self.rtt_min.into_iter().chain(stats.rtt_min).min();
        if let Some(at) = stats.established_at {
            self.handshakes += 1;
            self.handshake_sum += at - opened_at;
        }
    }

    /// Adds the state of an end.
    pub(super) fn look_at(&mut self, end: &TcpEndpoint) {
        match end.state() {
            ConnectionState::Listen | ConnectionState::SynSent | ConnectionState::SynReceived => {
                self.opening += 1;
            }
            ConnectionState::Established => {
                self.established += 1;
                self.half_closed += u64::from(end.at_end() || end.is_closing());
            }
            ConnectionState::Closed | ConnectionState::Reset | ConnectionState::TimedOut => self.closed += 1,
        }
    }
}

/// Whether a peer may send a full segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gate {
    closed_at: Option<Instant>,
}

impl Gate {
    /// Sets whether the peer's offered window is closed.
    #[inline]
    pub(super) fn set(&mut self, now: Instant, is_closed: bool, leg: &mut LegStatistics) {
        if is_closed == self.closed_at.is_some() {
            return;
        }
        match self.closed_at.take() {
            Some(at) => leg.window_closed += now - at,
            None => {
                leg.windows_closed += 1;
                self.closed_at = Some(now);
            }
        }
    }

    /// Adds its state.
    pub(super) fn look_at(self, now: Instant, leg: &mut LegStatistics) {
        if let Some(at) = self.closed_at {
            leg.windows_closed_now += 1;
            leg.window_closed += now - at;
        }
    }
}
