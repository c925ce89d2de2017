//! The state of a connection for observers, and the socket options that change it while it is open.

use airlane_core::Instant;

use super::{ConnectionState, TcpEndpoint};
use crate::ecn::EcnFeedback;
use crate::info::{TcpInfo, ms_since, state};

impl TcpEndpoint {
    /// The state of the connection, as Linux reports it.
    #[must_use]
    pub fn info(&self, now: Instant) -> TcpInfo {
        let stats = self.stats();
        let mut info = TcpInfo {
            state: self.state_number(),
            snd_ssthresh: 0x7fff_ffff,
            snd_cwnd: self.config.initial_window_segments,
            reordering: 3,
            advmss: u32::from(self.config.mss()),
            snd_mss: u32::from(self.config.mss()),
            rto_us: self.handshake.rto.as_nanos() / 1_000,
            total_retrans: stats.retransmissions + stats.handshake_retransmissions,
            total_rto: stats.timeouts,
            reord_seen: stats.reordering_seen,
            dsack_dups: stats.dsack_received,
            segs_out: stats.segments_sent,
            data_segs_out: stats.data_segments_sent,
            data_segs_in: stats.data_segments_received,
            bytes_acked: stats.bytes_acked.get(),
            delivered_ce: stats.marks_reported,
            delivered_e0_bytes: u64::from(stats.ecn_bytes_reported.capable0),
            delivered_ce_bytes: u64::from(stats.ecn_bytes_reported.marked),
            delivered_e1_bytes: u64::from(stats.ecn_bytes_reported.capable1),
            min_rtt_us: u64::from(u32::MAX),
            ..TcpInfo::default()
        };
        if let Some(h) = &self.halves {
            h.sender.fill_info(&mut info, now);
            if let Some(at) = stats.established_at {
                info.last_data_recv_ms = ms_since(now, at);
            }
            h.receiver.fill_info(&mut info, now);
            let n = &h.negotiated;
            let scaled = n.local_scale > 0 || n.remote_scale > 0;
            info.options = u8::from(n.timestamps)
                | u8::from(n.sack) << 1
                | u8::from(scaled) << 2
                | u8::from(n.ecn != EcnFeedback::None) << 3
                | u8::from(n.ecn != EcnFeedback::None && h.receiver.has_seen_capable()) << 4;
            (info.snd_wscale, info.rcv_wscale) = (n.remote_scale, n.local_scale);
            info.bytes_acked += 1; // as in Linux, with the SYN
        }
        info
    }

    /// The state of RFC 9293 §3.3.2, numbered as in Linux.
    fn state_number(&self) -> u8 {
        match self.state {
            ConnectionState::Listen => return state::LISTEN,
            ConnectionState::SynSent => return state::SYN_SENT,
            ConnectionState::SynReceived => return state::SYN_RECV,
            ConnectionState::Reset | ConnectionState::TimedOut => return state::CLOSE,
            ConnectionState::Established | ConnectionState::Closed => {}
        }
        let Some(h) = &self.halves else { return state::CLOSE };
        let (first, ended) = (self.requests.closed_first, h.receiver.has_fin());
        match (self.requests.close, ended, h.sender.finished()) {
            (false, false, _) => state::ESTABLISHED,
            (false, true, _) => state::CLOSE_WAIT,
            (true, false, false) => state::FIN_WAIT1,
            (true, false, true) => state::FIN_WAIT2,
            (true, true, false) if first => state::CLOSING,
            (true, true, false) => state::LAST_ACK,
            (true, true, true) if first => state::TIME_WAIT,
            (true, true, true) => state::CLOSE,
        }
    }

    /// Whether AccECN options are sent from now on, if accurate ECN was negotiated (`tcp_ecn_option`).
    pub fn send_ecn_options(&mut self, allowed: bool) {
        self.config.ecn.options = allowed;
        if let Some(counter) = self.halves.as_mut().and_then(|h| h.receiver.marks()).filter(|_| !allowed) {
            counter.send_options(false);
        }
    }

    /// Segments that arrive were joined from segments of at most this size: the size for delayed
    /// acknowledgments. To be called before the connection is established.
    pub const fn joins_segments_of(&mut self, size: u32) {
        self.joined_from = Some(size);
    }

    /// Bytes that were written, or a FIN, and are not acknowledged.
    #[must_use]
    pub fn unacknowledged(&self) -> u64 {
        self.halves.as_ref().map_or(self.requests.bytes, |h| h.sender.unacknowledged())
    }

    /// The application writes `bytes` and announces that more follows at once (MSG_MORE): segments that are
    /// not full wait, until the next acknowledgment or write.
    pub fn supply_more(&mut self, bytes: u64) {
        match &mut self.halves {
            Some(h) => h.sender.supply_more(bytes),
            None => self.requests.bytes += bytes,
        }
    }

    /// Whether a segment that is not full waits for the acknowledgment of another one (Nagle's algorithm,
    /// without TCP_NODELAY), and whether it waits in any case (TCP_CORK). [`Self::flush`] sends what waits
    /// no longer.
    pub fn set_waiting(&mut self, nagle: bool, corked: bool) {
        self.config.nagle = nagle;
        if let Some(h) = &mut self.halves {
            h.sender.set_waiting(nagle, corked);
        }
    }
}
