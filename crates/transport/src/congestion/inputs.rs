//! The inputs of congestion controllers, supplied by the sender.

use airlane_core::{Bytes, CellUse, Duration, Instant};

use crate::recovery::Phase;

/// An acknowledgment at its arrival, before it is processed.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The time.
    pub now: Instant,
    /// Stream position acknowledged, the same as before for a duplicate.
    pub acked_to: u64,
    /// Round trip of the segment delivered last, if it was sent once.
    pub rtt: Option<Duration>,
}

/// The result of one acknowledgment.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Time of the arrival.
    pub now: Instant,
    /// Segments for which the window may grow. With TCP these are the segments that the acknowledgment newly delivers,
    /// cumulatively or selectively, and at most one with [`WindowGrowth::PerAck`](crate::WindowGrowth::PerAck). With
    /// QUIC they are the newly acknowledged bytes of packets that were sent after the last reduction (RFC 9002 §7.3.2),
    /// in full segments; the remainder counts with the next acknowledgment. HyStart++ passes less of them to the law
    /// (RFC 9406 §4.2).
    pub delivered_segments: u32,
    /// True if the window may grow: in-order data was acknowledged, and no reduction is in progress.
    pub may_grow: bool,
    /// True if the window limited the sender in the last round.
    pub window_limited: bool,
    /// Maximum number of outstanding segments in the last round, for growth in slow start.
    pub max_outstanding_segments: u32,
    /// Segments outstanding now (sent and not cumulatively acknowledged).
    pub outstanding_segments: u32,
    /// Round trip of the segment delivered last, if it was sent once.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Stream position acknowledged.
    pub acked_to: u64,
    /// Stream position sent.
    pub sent_to: u64,
}

/// The congestion marks that an acknowledgment reports, with accurate feedback (RFC 9768, RFC 9000 §13.4).
#[derive(Clone, Copy, Debug)]
pub struct MarkSample {
    /// Time of the arrival.
    pub now: Instant,
    /// Segments newly delivered, cumulatively or selectively; with QUIC, packets newly acknowledged.
    pub delivered_segments: u32,
    /// Packets newly reported as marked. They can be more than the segments: ACKs can be marked too.
    pub marked_segments: u32,
    /// Payload of the delivered segments.
    pub delivered_bytes: Bytes,
    /// Bytes newly reported as marked.
    pub marked_bytes: Bytes,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Stream position acknowledged.
    pub acked_to: u64,
    /// Stream position sent.
    pub sent_to: u64,
    /// True during a reduction after a loss.
    pub recovering: bool,
}

/// A sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02).
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Segments delivered in the interval.
    pub delivered: u64,
    /// The longer of the time in which they were sent and the time in which they were acknowledged.
    pub interval: Duration,
    /// Segments that had been delivered when the newest of them was sent.
    pub prior_delivered: u64,
    /// True if the application, not the path, limited the rate.
    pub app_limited: bool,
    /// Segments declared lost since the newest was sent.
    pub lost: u64,
    /// Segments in flight when the newest was sent, including itself.
    pub in_flight_when_sent: u32,
    /// True if the newest is a retransmission.
    pub retransmission: bool,
}

/// The values of each acknowledgment for a model-based controller.
#[derive(Clone, Copy, Debug)]
pub struct DeliverySample {
    /// Time of the arrival.
    pub now: Instant,
    /// Segments delivered since the start of the connection, including the SYN.
    pub delivered: u64,
    /// Delivery time of the last segment.
    pub delivered_at: Instant,
    /// Segments declared lost since the start of the connection.
    pub lost: u64,
    /// Segments that this acknowledgment delivered.
    pub newly_delivered: u32,
    /// Segments found lost with it.
    pub newly_lost: u32,
    /// Segments in flight now.
    pub in_flight: u32,
    /// Segments in flight before it.
    pub prior_in_flight: u32,
    /// True if the window limited the sender in the last round.
    pub window_limited: bool,
    /// Round trip of the segment delivered last, if it was sent once.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Time from which the next segment may leave.
    pub next_send_at: Instant,
    /// The state of loss recovery.
    pub phase: Phase,
    /// The rate sample, if the acknowledgment gives one.
    pub rate: Option<RateSample>,
}

/// A packet that is sent, for the first time or again.
#[derive(Clone, Copy, Debug)]
pub struct Transmission {
    /// The time.
    pub now: Instant,
    /// Number of packets sent before it on the connection.
    pub number: u64,
    /// Its payload; with QUIC, the size of the datagram.
    pub bytes: Bytes,
}

/// A segment that is declared lost, for a model-based controller.
#[derive(Clone, Copy, Debug)]
pub struct LostSegment {
    /// The time.
    pub now: Instant,
    /// Number of the segment; consecutive segments have consecutive numbers.
    pub number: u64,
    /// Segments in flight when it was sent, including itself.
    pub in_flight_when_sent: u32,
    /// Segments that had been delivered when it was sent.
    pub delivered_when_sent: u64,
    /// Segments declared lost since then, including itself.
    pub lost: u64,
    /// Segments delivered since the connection began.
    pub delivered: u64,
    /// True if the application, not the path, limited the rate when it was sent.
    pub app_limited: bool,
}

/// Loss recovery enters a phase.
#[derive(Clone, Copy, Debug)]
pub struct PhaseChange {
    /// The phase.
    pub phase: Phase,
    /// Stream position sent.
    pub sent_to: u64,
    /// For model-based controllers: the segments delivered and lost so far.
    pub delivery: Option<DeliverySample>,
}

/// A segment is sent while no segment is in flight.
#[derive(Clone, Copy, Debug)]
pub struct Restart {
    /// The time.
    pub now: Instant,
    /// Send time of the segment before.
    pub last_sent_at: Instant,
    /// Stream position sent before it.
    pub sent_to: u64,
    /// True if the application had too little data to send (known only with delivery samples).
    pub app_limited: bool,
    /// Smoothed round-trip time.
    pub srtt: Duration,
}

/// The start of a loss episode.
#[derive(Clone, Copy, Debug)]
pub struct LossEpisode {
    /// Time of the detection.
    pub now: Instant,
    /// Segments in flight.
    pub in_flight_segments: u32,
    /// The window at the loss, in segments.
    pub window_segments: u32,
    /// True if the acknowledgment that shows it also echoes an ECN mark (RFC 3168).
    pub marked: bool,
    /// Segments found lost so far in this episode.
    pub lost_segments: u32,
    /// The number of the newest of them; consecutive segments have consecutive numbers.
    pub newest_lost: u64,
}

/// A base station's measurements of one UE's downlink, received through a radio network information
/// service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioInformation {
    /// The time of the measurement.
    pub measured_at: Instant,
    /// Size of the UE's last transport block.
    pub transport_block: Bytes,
    /// Physical resource blocks of that transport block.
    pub resource_blocks: u16,
    /// The last wideband CQI at the base station; 0 for none.
    pub cqi: u8,
    /// Bytes that wait in the transmit queue of its RLC entity.
    pub queue: Bytes,
    /// The use of the cell, if the base station reports it.
    pub cell_use: Option<CellUse>,
}

/// The retransmission timer expired.
#[derive(Clone, Copy, Debug)]
pub struct TimeoutEpisode {
    /// The time.
    pub now: Instant,
    /// True if the window was not already reduced for these segments in flight.
    pub new_episode: bool,
    /// The window to restart from, in segments (RFC 5681 §3.1: one more than in flight).
    pub restart_segments: u32,
    /// Stream position acknowledged.
    pub acked_to: u64,
    /// Stream position sent.
    pub sent_to: u64,
}

/// The state that an undo restores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Congestion window in segments.
    pub window_segments: u32,
    /// Slow-start threshold in segments.
    pub ssthresh_segments: u32,
}
