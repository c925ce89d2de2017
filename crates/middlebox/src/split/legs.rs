//! What a split-connection proxy knows of its connections to one side.

use airlane_core::{Duration, Instant};
use airlane_transport::{ConnectionState, TcpEndpoint, TcpStats};

/// The connections of a proxy to one side: what they have done, and how those under way stand. A connection that has moved
/// counts in whole where it is or has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LegStatistics {
    /// Connections without a complete handshake.
    pub opening: u64,
    /// Those that stand, of which one side may have closed.
    pub established: u64,
    /// Of these, those of which one side has.
    pub half_closed: u64,
    /// Those that have closed, while the other leg has not.
    pub closed: u64,
    /// Bytes in buffers that the peers of these connections have not acknowledged.
    pub waiting: u64,
    /// How often a peer was offered less than a full segment, because the buffer or the memory was full.
    pub windows_closed: u64,
    /// For how long, over all connections; those that are closed.
    pub window_closed: Duration,
    /// See `window_closed`.
    pub windows_closed_now: u64,
    /// Connections that a peer has reset, and connections that the proxy has ended by a RST to the peer.
    pub resets_received: u64,
    /// See `resets_received`.
    pub resets_sent: u64,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Data segments sent again.
    pub retransmissions: u64,
    /// Expired retransmission timers; SYNs and SYN-ACKs sent again; probes of windows that peers had closed.
    pub timeouts: u64,
    /// See `timeouts`.
    pub handshake_retransmissions: u64,
    /// See `timeouts`.
    pub window_probes: u64,
    /// Round trips measured, and their sum.
    pub rtt_samples: u64,
    /// See `rtt_samples`.
    pub rtt_sum: Duration,
    /// The smallest.
    pub rtt_min: Option<Duration>,
    /// Handshakes completed, and how long they took in sum after the first SYN came to the proxy.
    pub handshakes: u64,
    /// See `handshakes`.
    pub handshake_sum: Duration,
}

impl LegStatistics {
    /// Adds what an end has counted since its connection was opened.
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

    /// Adds how an end stands.
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
    /// What the peer is offered now.
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

    /// Adds how it stands.
    pub(super) fn look_at(self, now: Instant, leg: &mut LegStatistics) {
        if let Some(at) = self.closed_at {
            leg.windows_closed_now += 1;
            leg.window_closed += now - at;
        }
    }
}
