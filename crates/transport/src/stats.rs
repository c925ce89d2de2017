//! Counters of a TCP endpoint.

use airlane_core::{Bytes, Duration, Instant};

use crate::accurate::EcnBytes;

/// Counters of an endpoint so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpStats {
    /// When the connection was established here.
    pub established_at: Option<Instant>,
    /// Payload bytes that the peer acknowledged.
    pub bytes_acked: Bytes,
    /// Payload bytes handed to the application in order.
    pub bytes_delivered: Bytes,
    /// Data segments sent, retransmissions included.
    pub data_segments_sent: u64,
    /// All segments sent.
    pub segments_sent: u64,
    /// Data segments received, duplicates included.
    pub data_segments_received: u64,
    /// Data segments sent again.
    pub retransmissions: u64,
    /// Segments declared lost.
    pub segments_lost: u64,
    /// Retransmission timer expiries that retransmitted.
    pub timeouts: u64,
    /// Timeouts found spurious and undone.
    pub timeouts_undone: u64,
    /// Recovery episodes entered by loss detection.
    pub recoveries: u64,
    /// Recovery episodes found spurious and undone.
    pub recoveries_undone: u64,
    /// Reductions of the window because of congestion marks (ECN).
    pub ecn_reductions: u64,
    /// Packets that arrived with a congestion mark, with accurate ECN.
    pub marks_received: u64,
    /// Payload that arrived, by the ECN field of the packets, with accurate ECN.
    pub ecn_bytes_received: EcnBytes,
    /// Packets that the peer reported as marked, with accurate ECN.
    pub marks_reported: u64,
    /// Bytes that the peer reported as received, by their ECN field, with accurate ECN and its options.
    pub ecn_bytes_reported: EcnBytes,
    /// Tail loss probes sent.
    pub loss_probes: u64,
    /// Window probes sent.
    pub window_probes: u64,
    /// Acknowledgments sent in answer to unacceptable segments without data (RFC 5961).
    pub challenge_acks: u64,
    /// ACKs that showed reordering (Linux tcpi_reord_seen).
    pub reordering_seen: u64,
    /// D-SACK blocks received.
    pub dsack_received: u64,
    /// Reports of a PEP that were processed.
    pub pep_reports: u64,
    /// Reports of a PEP with impossible claims, and all later ones.
    pub pep_reports_refused: u64,
    /// Segments declared lost because a PEP missed them.
    pub pep_losses: u64,
    /// SYNs and SYN-ACKs sent again.
    pub handshake_retransmissions: u64,
    /// Round-trip samples taken.
    pub rtt_samples: u64,
    /// Sum of the round-trip samples.
    pub rtt_sum: Duration,
    /// Smallest round-trip sample.
    pub rtt_min: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Current retransmission timeout, including back-off.
    pub rto: Duration,
    /// Congestion window.
    pub congestion_window: Bytes,
    /// Slow-start threshold; `None` while unset.
    pub ssthresh: Option<Bytes>,
    /// Segments in flight by the sender's estimate.
    pub in_flight: Bytes,
}
