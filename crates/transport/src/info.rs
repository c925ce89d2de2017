//! The state of a connection as Linux reports it: `struct tcp_info` of `linux/tcp.h`.

use airlane_core::{Duration, Instant};

/// The state of a connection for observers, with the names, units and encodings of `linux/tcp.h`. Fields
/// that this crate does not measure are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// `TCP_ESTABLISHED` and so on, 1 to 11.
    pub state: u8,
    /// `TCP_CA_Open` 0, `Disorder` 1, `CWR` 2, `Recovery` 3, `Loss` 4.
    pub ca_state: u8,
    /// Timeouts in a row without progress.
    pub retransmits: u32,
    /// Window probes in a row without an answer.
    pub probes: u32,
    /// Doublings of the timeout.
    pub backoff: u32,
    /// `TCPI_OPT_TIMESTAMPS` 1, `SACK` 2, `WSCALE` 4, `ECN` 8, `ECN_SEEN` 16.
    pub options: u8,
    /// The peer's window scale, and ours.
    pub snd_wscale: u8,
    /// Our window scale.
    pub rcv_wscale: u8,
    /// Retransmission timeout in µs.
    pub rto_us: u64,
    /// Delay of an acknowledgment in µs.
    pub ato_us: u64,
    /// Payload of a full segment that is sent.
    pub snd_mss: u32,
    /// The largest payload received.
    pub rcv_mss: u32,
    /// The segment size that was announced.
    pub advmss: u32,
    /// Segments sent and not cumulatively acknowledged.
    pub unacked: u32,
    /// Outstanding segments that were selectively acknowledged.
    pub sacked: u32,
    /// Segments declared lost.
    pub lost: u32,
    /// Retransmissions in flight.
    pub retrans: u32,
    /// Milliseconds since data was sent, and since data was received.
    pub last_data_sent_ms: u64,
    /// Milliseconds since data was received.
    pub last_data_recv_ms: u64,
    /// Smoothed round-trip time in µs.
    pub rtt_us: u64,
    /// Mean deviation in µs.
    pub rttvar_us: u64,
    /// Minimum round-trip time in µs; `u32::MAX` without a sample.
    pub min_rtt_us: u64,
    /// Round-trip time at the receiver in µs.
    pub rcv_rtt_us: u64,
    /// Slow-start threshold in segments; `0x7fff_ffff` while unset.
    pub snd_ssthresh: u32,
    /// Congestion window in segments.
    pub snd_cwnd: u32,
    /// Degree of reordering in segments.
    pub reordering: u32,
    /// ACKs that showed reordering.
    pub reord_seen: u64,
    /// Segments sent again, of the handshake too.
    pub total_retrans: u64,
    /// Retransmission timeouts.
    pub total_rto: u64,
    /// Bytes acknowledged, with the SYN and FIN as Linux counts them.
    pub bytes_acked: u64,
    /// Bytes received in order.
    pub bytes_received: u64,
    /// All segments sent.
    pub segs_out: u64,
    /// Segments with data sent.
    pub data_segs_out: u64,
    /// Segments with data received.
    pub data_segs_in: u64,
    /// Bytes written and not sent.
    pub notsent_bytes: u64,
    /// Segments delivered, with the SYN.
    pub delivered: u64,
    /// Segments that the peer reported as marked.
    pub delivered_ce: u64,
    /// Bytes that it reported as received with ECT(0), CE and ECT(1), with accurate ECN.
    pub delivered_e0_bytes: u64,
    /// Bytes reported with CE.
    pub delivered_ce_bytes: u64,
    /// Bytes reported with ECT(1).
    pub delivered_e1_bytes: u64,
    /// D-SACK blocks received.
    pub dsack_dups: u64,
    /// The peer's window in bytes.
    pub snd_wnd: u64,
    /// Our window in bytes.
    pub rcv_wnd: u64,
}

impl TcpInfo {
    /// The fields by their names in `linux/tcp.h`.
    #[must_use]
    pub const fn fields(&self) -> [(&'static str, u64); 44] {
        [
            ("tcpi_state", self.state as u64),
            ("tcpi_ca_state", self.ca_state as u64),
            ("tcpi_retransmits", self.retransmits as u64),
            ("tcpi_probes", self.probes as u64),
            ("tcpi_backoff", self.backoff as u64),
            ("tcpi_options", self.options as u64),
            ("tcpi_snd_wscale", self.snd_wscale as u64),
            ("tcpi_rcv_wscale", self.rcv_wscale as u64),
            ("tcpi_rto", self.rto_us),
            ("tcpi_ato", self.ato_us),
            ("tcpi_snd_mss", self.snd_mss as u64),
            ("tcpi_rcv_mss", self.rcv_mss as u64),
            ("tcpi_advmss", self.advmss as u64),
            ("tcpi_unacked", self.unacked as u64),
            ("tcpi_sacked", self.sacked as u64),
            ("tcpi_lost", self.lost as u64),
            ("tcpi_retrans", self.retrans as u64),
            ("tcpi_fackets", 0), // without use since Linux 4.15
            ("tcpi_last_data_sent", self.last_data_sent_ms),
            ("tcpi_last_data_recv", self.last_data_recv_ms),
            ("tcpi_rtt", self.rtt_us),
            ("tcpi_rttvar", self.rttvar_us),
            ("tcpi_min_rtt", self.min_rtt_us),
            ("tcpi_rcv_rtt", self.rcv_rtt_us),
            ("tcpi_snd_ssthresh", self.snd_ssthresh as u64),
            ("tcpi_snd_cwnd", self.snd_cwnd as u64),
            ("tcpi_reordering", self.reordering as u64),
            ("tcpi_reord_seen", self.reord_seen),
            ("tcpi_total_retrans", self.total_retrans),
            ("tcpi_total_rto", self.total_rto),
            ("tcpi_bytes_acked", self.bytes_acked),
            ("tcpi_bytes_received", self.bytes_received),
            ("tcpi_segs_out", self.segs_out),
            ("tcpi_data_segs_out", self.data_segs_out),
            ("tcpi_data_segs_in", self.data_segs_in),
            ("tcpi_notsent_bytes", self.notsent_bytes),
            ("tcpi_delivered", self.delivered),
            ("tcpi_delivered_ce", self.delivered_ce),
            ("tcpi_delivered_e0_bytes", self.delivered_e0_bytes),
            ("tcpi_delivered_ce_bytes", self.delivered_ce_bytes),
            ("tcpi_delivered_e1_bytes", self.delivered_e1_bytes),
            ("tcpi_dsack_dups", self.dsack_dups),
            ("tcpi_snd_wnd", self.snd_wnd),
            ("tcpi_rcv_wnd", self.rcv_wnd),
        ]
    }
}

/// States of a connection (`TCP_ESTABLISHED` and so on in `linux/tcp_states.h`).
pub mod state {
    /// Open.
    pub const ESTABLISHED: u8 = 1;
    /// A SYN was sent.
    pub const SYN_SENT: u8 = 2;
    /// A SYN was received.
    pub const SYN_RECV: u8 = 3;
    /// This end has closed, and its FIN is not acknowledged.
    pub const FIN_WAIT1: u8 = 4;
    /// This end has closed, and its FIN is acknowledged.
    pub const FIN_WAIT2: u8 = 5;
    /// Both have closed, this end first, and all is acknowledged.
    pub const TIME_WAIT: u8 = 6;
    /// No connection.
    pub const CLOSE: u8 = 7;
    /// The peer has closed.
    pub const CLOSE_WAIT: u8 = 8;
    /// The peer has closed, then this end, whose FIN is not acknowledged.
    pub const LAST_ACK: u8 = 9;
    /// Waits for a SYN.
    pub const LISTEN: u8 = 10;
    /// Both have closed at once.
    pub const CLOSING: u8 = 11;
}

/// Whole milliseconds since a time.
pub(crate) const fn ms_since(now: Instant, then: Instant) -> u64 {
    now.saturating_since(then).as_nanos() / 1_000_000
}

/// Whole microseconds.
pub(crate) const fn micros(span: Duration) -> u64 {
    span.as_nanos() / 1_000
}
