//! The feedback of a receiver about the arrivals of packets.

use std::collections::BTreeMap;

use airlane_core::{Bytes, Duration, Ecn, Instant};

use crate::wire::{LOWER_HEADERS, Metric, RtcpWriter, RtpHeader, StreamReport, Unwrapper};
use crate::{PendingReport, ReportHistory, ReportTiming};

/// The most packets that a report tells from the first that arrived on, and the most that were lost before that one. A choice, so
/// that a report fits into a packet: with two bytes each, 400 packets of either format take 800 B, and 400 lost ones before them
/// one chunk of two bytes.
const PACKETS_MAX: u64 = 400;

/// Arrivals for transport-wide feedback, sent at a constant interval.
#[derive(Debug)]
pub(super) struct TransportWideArrivals {
    interval: Duration,
    numbers: Unwrapper<16>,
    pending: BTreeMap<u64, Instant>,
    /// The number behind all that were reported.
    next: u64,
    count: u8,
    due: Option<Instant>,
    reported_at: Option<Instant>,
}

impl TransportWideArrivals {
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            numbers: Unwrapper::default(),
            pending: BTreeMap::new(),
            next: 0,
            count: 0,
            due: None,
            reported_at: None,
        }
    }

    pub(super) fn on_packet(&mut self, now: Instant, header: &RtpHeader) {
        let number = self.numbers.extend(u64::from(header.transport_sequence));
        self.pending.insert(number, now);
        let earliest = self.reported_at.map_or(now, |at| now.max(at + self.interval));
        self.due.get_or_insert(earliest);
    }

    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The reports that are due, each as a packet.
    pub(super) fn report(&mut self, now: Instant, ssrc: u32, about: u32) -> Vec<Box<[u8]>> {
        self.due = None;
        self.reported_at = Some(now);
        let mut packets = vec![];
        while let Some((first, _)) = self.pending.first_key_value() {
            // A packet counts as lost if one with a higher number has arrived, and is reported again if it comes late.
            let base = *first;
            let last = *self.pending.range(..base + PACKETS_MAX).next_back().expect("at least the first").0;
            let arrivals: Vec<_> = (base..=last).map(|number| self.pending.remove(&number)).collect();
            let mut writer = RtcpWriter::default();
            let (base, arrivals) = self.with_gap(base, arrivals);
            writer.transport_wide(ssrc, about, base as u16, self.count, &arrivals);
            self.count = self.count.wrapping_add(1);
            self.next = self.next.max(last + 1);
            packets.push(writer.finish());
        }
        packets
    }

    /// The arrivals with the packets before them that no report has named.
    fn with_gap(&self, base: u64, arrivals: Vec<Option<Instant>>) -> (u64, Vec<Option<Instant>>) {
        let gap = base.saturating_sub(self.next).min(PACKETS_MAX);
        let lost = core::iter::repeat_n(None, gap as usize);
        (base - gap, lost.chain(arrivals).collect())
    }
}

/// The packets of one stream that were not reported yet.
#[derive(Debug, Default)]
struct StreamArrivals {
    ssrc: u32,
    numbers: Unwrapper<16>,
    pending: BTreeMap<u64, (Instant, Ecn)>,
    next: u64,
}

/// Arrivals for feedback by stream (RFC 8888).
#[derive(Debug)]
pub(super) struct ArrivalsByStream {
    streams: Vec<StreamArrivals>,
    timing: ReportTiming,
    pending: PendingReport,
    history: ReportHistory,
}

impl ArrivalsByStream {
    pub(super) fn new(timing: ReportTiming) -> Self {
        Self {
            streams: Vec::new(),
            timing,
            pending: PendingReport::default(),
            history: ReportHistory::default(),
        }
    }

    pub(super) fn on_packet(&mut self, now: Instant, header: &RtpHeader, ecn: Ecn) {
        let place = self.streams.iter().position(|stream| stream.ssrc == header.ssrc);
        let place = place.unwrap_or_else(|| {
            self.streams.push(StreamArrivals { ssrc: header.ssrc, ..StreamArrivals::default() });
            self.streams.len() - 1
        });
        let stream = &mut self.streams[place];
        let number = stream.numbers.extend(u64::from(header.sequence));
        stream.pending.insert(number, (now, ecn));
        self.pending.add(now, header.marker);
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.timing.next(&self.pending, &self.history)
    }

    /// The report that is due.
    pub(super) fn report(&mut self, now: Instant, ssrc: u32) -> Box<[u8]> {
        self.pending = PendingReport::default();
        let mut reports = vec![];
        for stream in &mut self.streams {
            let (Some((first, _)), Some((last, _))) =
                (stream.pending.first_key_value(), stream.pending.last_key_value())
            else {
                continue;
            };
            let (last, begin) = (*last, (*first).min(stream.next));
            let begin = begin.max((last + 1).saturating_sub(PACKETS_MAX));
            let metric = |(at, ecn)| Metric { at: Some(at), ecn };
            let lost = Metric { at: None, ecn: Ecn::NotCapable };
            let packets =
                (begin..=last).map(|number| stream.pending.remove(&number).map_or(lost, metric)).collect();
            stream.pending.clear();
            stream.next = last + 1;
            reports.push(StreamReport { ssrc: stream.ssrc, begin: begin as u16, packets });
        }
        let mut writer = RtcpWriter::default();
        writer.congestion_feedback(ssrc, now, &reports);
        let packet = writer.finish();
        self.history = self.history.with(now, Bytes(packet.len() as u64 + LOWER_HEADERS));
        packet
    }
}
