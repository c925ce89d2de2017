//! The packets that a sender remembers: for feedback about them, and to send video again.

use std::collections::VecDeque;

use airlane_core::{Bytes, Duration, Ecn, Instant};

use super::content::VideoPacket;
use crate::wire::{Arrival, MediaStream, Ssrcs, StreamReport, Unwrapper};
use crate::{PacketReport, SentPacket};

/// How many packets it remembers, and for how long. The number is a choice: at 1200 B each and 100 Mbit/s, those of 1.6 s.
/// libwebrtc's time is 60 s (`kSendTimeHistoryWindow`), which only paths with a longer delay need.
const PACKETS_MAX: usize = 1 << 14;
const MEMORY: Duration = Duration::from_secs(10);
/// How long video can be sent again (libwebrtc, `kNackHistoryMs`), and how many packets.
const REPEATABLE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
struct Entry {
    packet: SentPacket,
    /// Whether a report has said that it arrived, or that it did not.
    arrived: Option<bool>,
}

/// The packets that were sent, by their transport-wide sequence numbers.
#[derive(Debug, Default)]
pub(super) struct SentPackets {
    entries: VecDeque<Entry>,
    /// The number of the first.
    first: u64,
    transport: Unwrapper<16>,
    /// For each stream the transport-wide numbers of its packets, from the given number of its own on.
    streams: [(u64, VecDeque<u64>); MediaStream::ALL.len()],
    numbers: [Unwrapper<16>; MediaStream::ALL.len()],
    /// Bytes behind the newest packet that was reported, and its number.
    in_flight: Bytes,
    reported: Option<u64>,
}

impl SentPackets {
    /// A packet of a stream was sent.
    pub(super) fn push(&mut self, stream: MediaStream, packet: SentPacket) {
        debug_assert_eq!(packet.sequence, self.next(), "packets are counted");
        self.transport.extend(packet.sequence & 0xffff);
        let (first, numbers) = &mut self.streams[stream as usize];
        self.numbers[stream as usize].extend((*first + numbers.len() as u64) & 0xffff);
        numbers.push_back(packet.sequence);
        self.entries.push_back(Entry { packet, arrived: None });
        self.in_flight += packet.size;
        self.forget(packet.at);
    }

    /// Forgets what is too old. A packet that no report has named by now is not in flight any more.
    fn forget(&mut self, now: Instant) {
        let is_old = |entries: &VecDeque<Entry>| {
            entries.len() > PACKETS_MAX || entries.front().is_some_and(|one| now - one.packet.at > MEMORY)
        };
        if !is_old(&self.entries) {
            return;
        }
        while is_old(&self.entries) {
            let Some(Entry { packet, .. }) = self.entries.pop_front() else { break };
            if self.reported.is_none_or(|reported| reported < packet.sequence) {
                self.in_flight = self.in_flight.saturating_sub(packet.size);
            }
            self.first += 1;
        }
        for (first, numbers) in &mut self.streams {
            while numbers.front().is_some_and(|sequence| *sequence < self.first) {
                numbers.pop_front();
                *first += 1;
            }
        }
    }

    /// The number of the next packet.
    pub(super) fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// Bytes that were sent after the newest packet that feedback has named. Those before it are either reported or lost with
    /// its report.
    pub(super) const fn in_flight(&self) -> Bytes {
        self.in_flight
    }

    /// Adds what transport-wide feedback says that was not known.
    pub(super) fn read_transport_wide(&mut self, arrivals: &[Arrival], into: &mut Vec<PacketReport>) {
        for arrival in arrivals {
            let sequence = self.transport.peek(u64::from(arrival.sequence));
            self.report(sequence, arrival.at, Ecn::NotCapable, into);
        }
    }

    /// Adds what feedback by stream says that was not known, in the order of transport-wide numbers.
    pub(super) fn read_by_stream(
        &mut self,
        ssrcs: Ssrcs,
        streams: &[StreamReport],
        into: &mut Vec<PacketReport>,
    ) {
        for report in streams {
            let Some(stream) = ssrcs.stream(report.ssrc) else { continue };
            for (i, metric) in report.packets.iter().enumerate() {
                let own = u64::from(report.begin.wrapping_add(i as u16));
                let own = self.numbers[stream as usize].peek(own);
                let (first, numbers) = &self.streams[stream as usize];
                let index = own.checked_sub(*first).map(|index| index as usize);
                if let Some(sequence) = index.and_then(|index| numbers.get(index)).copied() {
                    self.report(sequence, metric.at, metric.ecn, into);
                }
            }
        }
        into.sort_unstable_by_key(|report| report.sent.sequence);
    }

    fn report(&mut self, sequence: u64, at: Option<Instant>, ecn: Ecn, into: &mut Vec<PacketReport>) {
        let Some(index) = sequence.checked_sub(self.first).map(|index| index as usize) else { return };
        let Some(entry) = self.entries.get_mut(index) else { return };
        if entry.arrived.is_some_and(|arrived| arrived || at.is_none()) {
            return;
        }
        entry.arrived = Some(at.is_some());
        into.push(PacketReport { sent: entry.packet, arrived: at, ecn });
        let from = self.reported.map_or(self.first, |reported| (reported + 1).max(self.first));
        if sequence >= from {
            let sizes =
                self.entries.range((from - self.first) as usize..=index).map(|entry| entry.packet.size);
            self.in_flight = sizes.fold(self.in_flight, Bytes::saturating_sub);
            self.reported = Some(sequence);
        }
    }
}

/// The packets of video that can be sent again.
#[derive(Debug, Default)]
pub(super) struct Repeatable {
    /// When each was sent, and when it was sent again.
    packets: VecDeque<(VideoPacket, Instant, Option<Instant>)>,
}

impl Repeatable {
    /// A packet of video was sent for the first time.
    pub(super) fn push(&mut self, now: Instant, packet: VideoPacket) {
        self.packets.push_back((packet, now, None));
        while self.packets.front().is_some_and(|(_, sent, _)| now - *sent > REPEATABLE)
            || self.packets.len() > PACKETS_MAX
        {
            self.packets.pop_front();
        }
    }

    /// The newest packet.
    pub(super) fn newest(&self) -> Option<VideoPacket> {
        self.packets.back().map(|(packet, ..)| *packet)
    }

    /// The packet with these 16 bits of its number, unless it was sent again less than a round trip ago.
    pub(super) fn repeat(&mut self, now: Instant, number: u16, rtt: Duration) -> Option<VideoPacket> {
        let (first, ..) = self.packets.front()?;
        let ahead = number.wrapping_sub(first.sequence as u16);
        let (packet, _, again) = self.packets.get_mut(usize::from(ahead))?;
        if again.is_some_and(|at| now < at + rtt) {
            return None;
        }
        *again = Some(now);
        Some(*packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PacketKind;

    fn sent(sequence: u64) -> SentPacket {
        let at = Instant::from_millis(sequence);
        SentPacket { sequence, at, size: Bytes(100), kind: PacketKind::Video, probe: None }
    }

    #[test]
    fn each_news_about_a_packet_is_reported_once() {
        let mut packets = SentPackets::default();
        (0..5).for_each(|i| packets.push(MediaStream::Video, sent(i)));
        let at = Some(Instant::from_millis(50));
        let arrival = |sequence, at| Arrival { sequence, at };
        let mut news = |arrivals: &[Arrival]| {
            let mut reports = vec![];
            packets.read_transport_wide(arrivals, &mut reports);
            let reports: Vec<_> =
                reports.iter().map(|one| (one.sent.sequence, one.arrived.is_some())).collect();
            (reports, packets.in_flight().get())
        };
        assert_eq!(
            news(&[arrival(0, at), arrival(1, None), arrival(2, at)]),
            (vec![(0, true), (1, false), (2, true)], 200)
        );
        assert_eq!(news(&[arrival(1, None), arrival(0, None), arrival(9, at)]), (vec![], 200));
        assert_eq!(news(&[arrival(1, at), arrival(4, at)]), (vec![(1, true), (4, true)], 0));
    }

    #[test]
    fn what_is_old_is_forgotten() {
        let mut packets = SentPackets::default();
        let at = |sequence, ms| SentPacket { at: Instant::from_millis(ms), ..sent(sequence) };
        packets.push(MediaStream::Audio, at(0, 0));
        packets.push(MediaStream::Video, at(1, 5_000));
        packets.push(MediaStream::Audio, at(2, 10_001));
        assert_eq!((packets.first, packets.in_flight()), (1, Bytes(200)));
        assert_eq!((packets.streams[0].0, packets.streams[0].1.len()), (1, 1));
        let mut reports = vec![];
        let arrival = |sequence| Arrival { sequence, at: Some(Instant::from_millis(10_100)) };
        packets.read_transport_wide(&[arrival(0), arrival(1)], &mut reports);
        assert_eq!((reports.len(), packets.in_flight()), (1, Bytes(100)));
    }

    #[test]
    fn reports_by_stream_are_joined_in_the_order_of_sending() {
        let (mut packets, ssrcs) = (SentPackets::default(), Ssrcs { first: 4 });
        let streams = [MediaStream::Audio, MediaStream::Video, MediaStream::Video, MediaStream::Audio];
        streams.into_iter().zip(0..).for_each(|(stream, i)| packets.push(stream, sent(i)));
        let metric = |ms| crate::wire::Metric { at: Some(Instant::from_millis(ms)), ecn: Ecn::Capable1 };
        let report = |ssrc, metrics: Vec<_>| StreamReport { ssrc, begin: 0, packets: metrics };
        let both = [
            report(4, vec![metric(10), metric(40)]),
            report(5, vec![metric(20), metric(30)]),
            report(99, vec![]),
        ];
        let mut reports = vec![];
        packets.read_by_stream(ssrcs, &both, &mut reports);
        let times: Vec<_> = reports
            .iter()
            .map(|one| (one.sent.sequence, one.arrived.unwrap().as_nanos() / 1_000_000))
            .collect();
        assert_eq!(times, [(0, 10), (1, 20), (2, 30), (3, 40)]);
    }

    #[test]
    fn a_packet_is_repeated_once_in_a_round_trip_and_within_a_second() {
        let mut repeatable = Repeatable::default();
        let packet = |sequence| {
            let super::super::content::Content::Video(packet) =
                super::super::content::Content::video(sequence, 10)
            else {
                panic!("video")
            };
            packet
        };
        [65_535, 65_536, 65_537]
            .into_iter()
            .for_each(|i| repeatable.push(Instant::from_millis(i - 65_535), packet(i)));
        let (rtt, ms) = (Duration::from_millis(50), Instant::from_millis);
        let mut repeat = |at, number| repeatable.repeat(ms(at), number, rtt).map(|packet| packet.sequence);
        assert_eq!(
            [repeat(10, 65_535), repeat(10, 0), repeat(10, 1), repeat(10, 2)],
            [Some(65_535), Some(65_536), Some(65_537), None]
        );
        assert_eq!([repeat(59, 0), repeat(60, 0)], [None, Some(65_536)]);
        repeatable.push(ms(1_002), packet(65_538));
        assert_eq!(
            (repeatable.repeat(ms(1_002), 65_535, rtt), repeatable.newest().unwrap().sequence),
            (None, 65_538)
        );
    }
}
