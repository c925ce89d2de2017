//! The interface between a sender of real-time media and its rate controller.

use airlane_core::{BitRate, Bytes, Duration, Ecn, Instant};

/// The content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// Audio.
    Audio,
    /// Video, sent for the first time.
    Video,
    /// Video that is sent again, as the receiver asked for (RFC 4588).
    Retransmission,
    /// Redundancy for other packets (RFC 5109, RFC 8627).
    Repair,
    /// Padding, of a probe for example.
    Padding,
}

/// The number of a probe: a cluster of packets at a given rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProbeId(pub u32);

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentPacket {
    /// Counts the packets of a sender, of all its media.
    pub sequence: u64,
    /// The time at which it left the sender.
    pub at: Instant,
    /// Its size with RTP and the headers below it.
    pub size: Bytes,
    /// Its content.
    pub kind: PacketKind,
    /// The probe that it is part of.
    pub probe: Option<ProbeId>,
}

/// The report of a receiver about a packet, with the data that the sender has kept about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketReport {
    /// The packet.
    pub sent: SentPacket,
    /// Its arrival by the clock of the receiver, which may differ from the sender's; `None` if it has not arrived.
    pub arrived: Option<Instant>,
    /// Its ECN field as it arrived, if feedback tells it (RFC 8888).
    pub ecn: Ecn,
}

/// A report of a receiver, in the order of the packets' sequence numbers.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// The packets that it is about. A packet that was reported as lost may arrive later, and is then reported again.
    pub packets: &'a [PacketReport],
    /// Bytes that were sent and that no feedback has reported so far.
    pub in_flight: Bytes,
    /// The time from the latest packet that arrived until the report was sent, if the format tells it.
    pub held: Duration,
}

/// The media rates between which a controller chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The lowest.
    pub min: BitRate,
    /// The first.
    pub start: BitRate,
    /// The highest.
    pub max: BitRate,
}

impl Bounds {
    /// The lowest, the first and the highest rate in Mbit/s.
    #[must_use]
    pub fn in_mbps(self) -> [f64; 3] {
        [self.min, self.start, self.max].map(|rate| rate.bits_per_second() as f64 / 1e6)
    }
}

/// How fast packets leave the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The rate of the pacer; `None` sends each frame at once.
    pub rate: Option<BitRate>,
    /// Bytes that may be in flight; `None` without such a bound.
    pub window: Option<Bytes>,
    /// The rate up to which the sender fills its media up with padding.
    pub padding: BitRate,
}

/// A cluster of packets to send at a rate, to learn whether the path carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Its number.
    pub id: ProbeId,
    /// The rate.
    pub rate: BitRate,
    /// The least number of packets.
    pub packets: u32,
    /// The least number of bytes.
    pub bytes: Bytes,
}

/// Decides how much a sender of real-time media sends.
pub trait RateController: Send {
    /// A packet has left the sender.
    fn on_sent(&mut self, packet: &SentPacket);

    /// A report of the receiver has arrived.
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>);

    /// A round-trip time was measured, by RTCP's reports (RFC 3550 section 6.4.1) or their like.
    fn on_round_trip(&mut self, _now: Instant, _rtt: Duration) {}

    /// The time of [`Self::next_timeout`] has come; called earlier, it does nothing.
    fn on_timeout(&mut self, _now: Instant) {}

    /// When to call [`Self::on_timeout`].
    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    /// The bytes that wait in the sender's pacer have changed.
    fn on_queue(&mut self, _now: Instant, _waiting: Bytes) {}

    /// A frame of video comes to the sender's pacer. Its packets have this size in all, with RTP's headers and those below, as the
    /// target counts them.
    fn on_frame(&mut self, _now: Instant, _wire_size: Bytes) {}

    /// The rate for the media, with RTP's headers and those below.
    fn target(&self) -> BitRate;

    /// How fast packets leave.
    fn pace(&self) -> Pace;

    /// The next cluster of a probe to send now; each is returned once.
    fn take_probe(&mut self, _now: Instant) -> Option<Probe> {
        None
    }
}
