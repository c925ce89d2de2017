//! RTCP packets: reports (RFC 3550, RFC 3611), and feedback (RFC 4585, RFC 8888, transport-wide).

use airlane_core::{Duration, Instant};

use super::congestion_feedback::{self, StreamReport};
use super::transport_wide::{self, Arrival};
use super::{compact_ntp, from_compact_ntp, get16, get32, put16, put32};

const SENDER_REPORT: u8 = 200;
const RECEIVER_REPORT: u8 = 201;
const SOURCE_DESCRIPTION: u8 = 202;
const TRANSPORT_FEEDBACK: u8 = 205;
const PAYLOAD_FEEDBACK: u8 = 206;
const EXTENDED_REPORT: u8 = 207;

/// The formats of transport layer feedback: NACK (RFC 4585 section 6.2), RFC 8888, and transport-wide.
const NACK: u8 = 1;
const CONGESTION_FEEDBACK: u8 = 11;
const TRANSPORT_WIDE: u8 = 15;
/// The format of a picture loss indication (RFC 4585 section 6.3.1).
const PICTURE_LOSS: u8 = 1;

/// The index of SRTCP and its authentication tag (RFC 3711 section 3.4).
const SRTCP: usize = 4 + 10;
/// The length of a canonical name: that of libwebrtc, 16 characters.
const CNAME: usize = 16;

/// Whether a packet is RTCP, where both share a port (RFC 5761 section 4).
#[must_use]
pub fn is_rtcp(packet: &[u8]) -> bool {
    packet.get(1).is_some_and(|kind| (192..=223).contains(kind))
}

/// A part of an RTCP packet, as far as a call needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rtcp {
    /// A sender report: its source and the middle bits of its NTP time.
    SenderReport {
        /// The source.
        ssrc: u32,
        /// The middle 32 bits of the time at which it was sent.
        at: u32,
    },
    /// The reception report block about a source, or the time of a receiver that comes back to it (RFC 3611 section 4.5).
    RoundTrip {
        /// The source that measures with it.
        ssrc: u32,
        /// The round-trip time.
        rtt: Duration,
    },
    /// The reference time of a receiver (RFC 3611 section 4.4).
    ReceiverTime {
        /// The receiver.
        ssrc: u32,
        /// The middle 32 bits of the time at which it was sent.
        at: u32,
    },
    /// Sequence numbers of a stream that are asked for again.
    Nack {
        /// The stream.
        ssrc: u32,
        /// The sequence numbers.
        lost: Vec<u16>,
    },
    /// A key frame is asked for.
    PictureLoss {
        /// The stream.
        ssrc: u32,
    },
    /// The arrivals of packets of all streams.
    TransportWide {
        /// A stream of the sender.
        ssrc: u32,
        /// Its packets.
        arrivals: Vec<Arrival>,
    },
    /// The arrivals of packets by stream.
    CongestionFeedback {
        /// The streams.
        streams: Vec<StreamReport>,
        /// The time from the latest arrival until the report was sent.
        held: Duration,
    },
}

/// Reads the parts of a packet one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RtcpReader<'a> {
    rest: &'a [u8],
    now: Instant,
}

impl<'a> RtcpReader<'a> {
    /// Of a packet that arrives at `now`, from which round-trip times follow.
    #[must_use]
    pub(crate) fn new(packet: &'a [u8], now: Instant) -> Self {
        Self { rest: &packet[..packet.len().saturating_sub(SRTCP)], now }
    }

    fn part(&self, kind: u8, format: u8, body: &[u8], into: &mut Vec<Rtcp>) -> Option<()> {
        match (kind, format) {
            (SENDER_REPORT, _) => {
                let at = u32::from(get16(body, 6)?) << 16 | u32::from(get16(body, 8)?);
                into.push(Rtcp::SenderReport { ssrc: get32(body, 0)?, at });
            }
            (RECEIVER_REPORT, blocks) => {
                for i in 0..usize::from(blocks) {
                    let block = body.get(4 + 24 * i..4 + 24 * (i + 1))?;
                    let (last, since) = (get32(block, 16)?, get32(block, 20)?);
                    into.extend(self.round_trip(get32(block, 0)?, last, since));
                }
            }
            (EXTENDED_REPORT, _) => match *body.get(4)? {
                4 => {
                    let at = u32::from(get16(body, 10)?) << 16 | u32::from(get16(body, 12)?);
                    into.push(Rtcp::ReceiverTime { ssrc: get32(body, 0)?, at });
                }
                5 => into.extend(self.round_trip(get32(body, 8)?, get32(body, 12)?, get32(body, 16)?)),
                _ => {}
            },
            (TRANSPORT_FEEDBACK, NACK) => {
                let mut lost = vec![];
                for entry in body.get(8..)?.chunks_exact(4) {
                    let (first, mask) = (get16(entry, 0)?, get16(entry, 2)?);
                    lost.push(first);
                    let behind = (0..16).filter(|bit| mask >> bit & 1 == 1);
                    lost.extend(behind.map(|bit| first.wrapping_add(bit + 1)));
                }
                into.push(Rtcp::Nack { ssrc: get32(body, 4)?, lost });
            }
            (TRANSPORT_FEEDBACK, CONGESTION_FEEDBACK) => {
                let (streams, held) = congestion_feedback::parse(self.now, body.get(4..)?)?;
                into.push(Rtcp::CongestionFeedback { streams, held });
            }
            (TRANSPORT_FEEDBACK, TRANSPORT_WIDE) => {
                let mut arrivals = vec![];
                transport_wide::parse(body.get(8..)?, &mut arrivals)?;
                into.push(Rtcp::TransportWide { ssrc: get32(body, 4)?, arrivals });
            }
            (PAYLOAD_FEEDBACK, PICTURE_LOSS) => into.push(Rtcp::PictureLoss { ssrc: get32(body, 4)? }),
            _ => {}
        }
        Some(())
    }

    /// RFC 3550 section 6.4.1. A source that was not heard yet has zeros.
    fn round_trip(&self, ssrc: u32, last: u32, since: u32) -> Option<Rtcp> {
        let passed = compact_ntp(self.now).wrapping_sub(last).checked_sub(since)?;
        (last != 0).then(|| Rtcp::RoundTrip { ssrc, rtt: from_compact_ntp(passed) })
    }

    /// All parts. One that is cut off or unknown is left out.
    #[must_use]
    pub(crate) fn parts(mut self) -> Vec<Rtcp> {
        let mut parts = vec![];
        while let [flags, kind, high, low, ..] = *self.rest {
            let end = 4 * (1 + usize::from(u16::from_be_bytes([high, low])));
            let Some(body) = self.rest.get(4..end) else { break };
            let _ = self.part(kind, flags & 0x1f, body, &mut parts);
            self.rest = &self.rest[end..];
        }
        parts
    }
}

/// Writes a packet of one or more parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct RtcpWriter {
    out: Vec<u8>,
}

impl RtcpWriter {
    fn part(&mut self, kind: u8, format: u8, ssrc: u32, body: impl FnOnce(&mut Vec<u8>)) {
        let begin = self.out.len();
        self.out.extend_from_slice(&[0x80 | format, kind, 0, 0]);
        put32(&mut self.out, ssrc);
        body(&mut self.out);
        let words = (self.out.len() - begin) / 4 - 1;
        self.out[begin + 2..begin + 4].copy_from_slice(&(words as u16).to_be_bytes());
    }

    /// A sender report (RFC 3550 section 6.4.1): packets and bytes sent so far. The media time of the report is that of the
    /// clock of video.
    pub(crate) fn sender_report(&mut self, ssrc: u32, now: Instant, packets: u32, bytes: u32) {
        self.part(SENDER_REPORT, 0, ssrc, |out| {
            put_ntp(out, now);
            put32(out, (u128::from(now.as_nanos()) * 9 / 100_000) as u32);
            put32(out, packets);
            put32(out, bytes);
        });
    }

    /// A receiver report with a block about a source: its last report, and the time since that one arrived.
    pub(crate) fn receiver_report(
        &mut self,
        ssrc: u32,
        about: u32,
        highest: u32,
        last: Option<(u32, Duration)>,
    ) {
        self.part(RECEIVER_REPORT, 1, ssrc, |out| {
            put32(out, about);
            put32(out, 0); // fraction and number of lost packets, which the feedback tells: no sender reads them here
            put32(out, highest);
            put32(out, 0);
            put_last(out, last);
        });
    }

    /// The name of a source (RFC 3550 section 6.5), which each packet of reports has.
    pub(crate) fn source_description(&mut self, ssrc: u32) {
        self.part(SOURCE_DESCRIPTION, 1, ssrc, |out| {
            out.extend_from_slice(&[1, CNAME as u8]);
            out.extend_from_slice(&[b'a'; CNAME]);
            out.extend_from_slice(&[0; 2]);
        });
    }

    /// The reference time of a receiver (RFC 3611 section 4.4).
    pub(crate) fn receiver_time(&mut self, ssrc: u32, now: Instant) {
        self.part(EXTENDED_REPORT, 0, ssrc, |out| {
            out.extend_from_slice(&[4, 0, 0, 2]);
            put_ntp(out, now);
        });
    }

    /// The answer to the reference time of a receiver (RFC 3611 section 4.5).
    pub(crate) fn delay_since_receiver_time(&mut self, ssrc: u32, receiver: u32, last: (u32, Duration)) {
        self.part(EXTENDED_REPORT, 0, ssrc, |out| {
            out.extend_from_slice(&[5, 0, 0, 3]);
            put32(out, receiver);
            put_last(out, Some(last));
        });
    }

    /// Asks for packets of a stream again (RFC 4585 section 6.2.1); the numbers are in order.
    pub(crate) fn nack(&mut self, ssrc: u32, about: u32, lost: &[u64]) {
        self.part(TRANSPORT_FEEDBACK, NACK, ssrc, |out| {
            put32(out, about);
            let mut rest = lost;
            while let [first, behind @ ..] = rest {
                let near = behind.iter().take_while(|number| **number <= first + 16);
                let mask = near.clone().fold(0, |mask, number| mask | 1u16 << (number - first - 1));
                put16(out, *first as u16);
                put16(out, mask);
                rest = &behind[near.count()..];
            }
        });
    }

    /// Asks for a key frame.
    pub(crate) fn picture_loss(&mut self, ssrc: u32, about: u32) {
        self.part(PAYLOAD_FEEDBACK, PICTURE_LOSS, ssrc, |out| put32(out, about));
    }

    /// The arrivals of the packets from `base` on. `count` counts these reports.
    pub(crate) fn transport_wide(
        &mut self,
        ssrc: u32,
        about: u32,
        base: u16,
        count: u8,
        arrivals: &[Option<Instant>],
    ) {
        self.part(TRANSPORT_FEEDBACK, TRANSPORT_WIDE, ssrc, |out| {
            put32(out, about);
            transport_wide::emit(base, count, arrivals, out);
        });
    }

    /// The arrivals of packets by stream.
    pub(crate) fn congestion_feedback(&mut self, ssrc: u32, now: Instant, streams: &[StreamReport]) {
        self.part(TRANSPORT_FEEDBACK, CONGESTION_FEEDBACK, ssrc, |out| {
            congestion_feedback::emit(now, streams, out);
        });
    }

    /// The packet with what SRTCP adds.
    #[must_use]
    pub(crate) fn finish(mut self) -> Box<[u8]> {
        self.out.resize(self.out.len() + SRTCP, 0);
        self.out.into_boxed_slice()
    }
}

/// An NTP timestamp, of 64 bits.
fn put_ntp(out: &mut Vec<u8>, now: Instant) {
    let units = (u128::from(now.as_nanos()) << 32) / 1_000_000_000;
    out.extend_from_slice(&(units as u64).to_be_bytes());
}

fn put_last(out: &mut Vec<u8>, last: Option<(u32, Duration)>) {
    let (at, since) = last.map_or((0, 0), |(at, since)| (at, compact_ntp(Instant::ZERO + since)));
    put32(out, at);
    put32(out, since);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_comes_back_from_both_reports() {
        let (ms, sent) = (Instant::from_millis, Instant::from_millis(10_000));
        let mut writer = RtcpWriter::default();
        writer.sender_report(1, sent, 5, 600);
        writer.source_description(1);
        let report = writer.finish();
        assert_eq!(report.len(), 28 + 28 + SRTCP);
        assert!(is_rtcp(&report));
        let [Rtcp::SenderReport { ssrc: 1, at }] = RtcpReader::new(&report, ms(10_050)).parts()[..] else {
            panic!("a report")
        };
        let held = Duration::from_millis(250);
        let mut writer = RtcpWriter::default();
        writer.receiver_report(9, 1, 77, Some((at, held)));
        writer.source_description(9);
        writer.receiver_time(9, ms(10_300));
        let back = writer.finish();
        assert_eq!(back.len(), 32 + 28 + 20 + SRTCP);
        let parts = RtcpReader::new(&back, ms(10_350)).parts();
        let [Rtcp::RoundTrip { ssrc: 1, rtt }, Rtcp::ReceiverTime { ssrc: 9, at }] = parts[..] else {
            panic!("{parts:?}")
        };
        assert!(rtt.abs_diff(Duration::from_millis(100)) < Duration::from_micros(31), "{rtt:?}"); // 2 units
        let mut writer = RtcpWriter::default();
        writer.delay_since_receiver_time(1, 9, (at, Duration::from_millis(650)));
        let answer = writer.finish();
        let parts = RtcpReader::new(&answer, ms(11_050)).parts();
        let [Rtcp::RoundTrip { ssrc: 9, rtt }] = parts[..] else { panic!("{parts:?}") };
        assert!(rtt.abs_diff(Duration::from_millis(100)) < Duration::from_micros(31), "{rtt:?}");
    }

    #[test]
    fn requests_name_what_is_lost() {
        let mut writer = RtcpWriter::default();
        writer.nack(9, 2, &[65_530, 65_531, 65_546, 65_547, 65_600]);
        writer.picture_loss(9, 2);
        let packet = writer.finish();
        // Three entries: 65530 with two behind it, 65547, 65600.
        assert_eq!(packet.len(), 12 + 3 * 4 + 12 + SRTCP);
        let lost = vec![65_530, 65_531, 10, 11, 64];
        let parts = RtcpReader::new(&packet, Instant::ZERO).parts();
        assert_eq!(parts, [Rtcp::Nack { ssrc: 2, lost }, Rtcp::PictureLoss { ssrc: 2 }]);
        assert!(
            (0..packet.len()).all(|len| RtcpReader::new(&packet[..len], Instant::ZERO).parts().len() < 2)
        );
    }

    #[test]
    fn feedback_is_a_part_of_its_own() {
        let at = Some(Instant::from_millis(64));
        let mut writer = RtcpWriter::default();
        writer.transport_wide(9, 2, 5, 0, &[at, None, at]);
        let packet = writer.finish();
        let arrival = |sequence, at| Arrival { sequence, at };
        let arrivals = vec![arrival(5, at), arrival(6, None), arrival(7, at)];
        let parts = RtcpReader::new(&packet, Instant::ZERO).parts();
        assert_eq!(parts, [Rtcp::TransportWide { ssrc: 2, arrivals }]);
        assert_eq!(packet.len(), 12 + 8 + 2 + 2 + SRTCP);
    }
}
