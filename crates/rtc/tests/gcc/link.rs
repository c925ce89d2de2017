//! One link with a sender of video and its receiver, in virtual time and in steps of a millisecond.
//!
//! The sender divides each frame (a thirtieth of the target) into equal packets of up to 1200 B, which a pacer may
//! spread. Packets of a probe are padding, sent at the probe's rate. The link
//! has a queue with tail drop, in bytes. Feedback has a path of its own without queue or loss.

use std::collections::VecDeque;

use airlane_core::{BitRate, Bytes, Duration, Ecn, Instant};
use airlane_rtc::{Feedback, PacketKind, PacketReport, Probe, RateController, SentPacket};

const STEP: Duration = Duration::from_millis(1);
const PACKET_MAX: u64 = 1200;
const FRAMES_PER_SECOND: u64 = 30;

/// The path and how often it reports.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// The capacity from each time on, in order.
    pub(crate) capacity: Vec<(Instant, BitRate)>,
    /// The delay of each way without queues.
    pub(crate) delay: Duration,
    /// The queue, as the time in which the link empties it.
    pub(crate) queue: Duration,
    /// The interval of the reports.
    pub(crate) report: Duration,
    /// Whether the sender has media, and not only probes.
    pub(crate) media: bool,
    /// Whether the sender measures the RTT, once in a second.
    pub(crate) measures_rtt: bool,
    /// The rate of the sender's pacer as a multiple of the target; `None` sends each frame at once.
    pub(crate) pacing: Option<f64>,
    /// The share of packets that are lost before the link, in thousandths.
    pub(crate) loss: u64,
    /// When the encoder sends at most as much, if it does.
    pub(crate) media_limit: Option<MediaLimit>,
}

impl Path {
    /// A path of one capacity, with a queue of 300 ms and reports each 100 ms.
    pub(crate) fn new(capacity: BitRate, delay: Duration) -> Self {
        Self {
            capacity: vec![(Instant::ZERO, capacity)],
            delay,
            queue: Duration::from_millis(300),
            report: Duration::from_millis(100),
            media: true,
            measures_rtt: false,
            pacing: None,
            loss: 0,
            media_limit: None,
        }
    }

    fn capacity_at(&self, now: Instant) -> BitRate {
        self.capacity.iter().rev().find(|(since, _)| *since <= now).map_or(BitRate(0), |(_, rate)| *rate)
    }
}

/// A time in which the encoder sends at most a rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MediaLimit {
    pub(crate) from: Instant,
    pub(crate) until: Instant,
    pub(crate) rate: BitRate,
}

/// Observations of a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    /// The target.
    pub(crate) target: BitRate,
    /// Bytes that the sender sent.
    pub(crate) sent: Bytes,
    /// How long the link needs to empty its queue, at the start of a frame, in ms; 0 in other steps.
    pub(crate) queue_ms: f64,
    /// Packets of the controller that the queue dropped.
    pub(crate) dropped: u32,
}

/// Packets of 1200 B that share the link with the sender.
pub(crate) trait CrossTraffic {
    /// A step begins; returns the number of packets that are sent.
    fn step(&mut self, now: Instant) -> u32;
    /// The next of them is in the queue, or was dropped.
    fn entered(&mut self, fits: bool);
    /// The first of those in the queue leaves the link.
    fn left(&mut self, now: Instant);
}

/// No cross traffic.
pub(crate) struct NoTraffic;

impl CrossTraffic for NoTraffic {
    fn step(&mut self, _: Instant) -> u32 {
        0
    }
    fn entered(&mut self, _: bool) {}
    fn left(&mut self, _: Instant) {}
}

#[derive(Clone, Copy)]
enum Queued {
    Own(SentPacket),
    Cross,
}

impl Queued {
    fn bits(self) -> u64 {
        8 * match self {
            Self::Own(packet) => packet.size.0,
            Self::Cross => PACKET_MAX,
        }
    }
}

struct ActiveProbe {
    probe: Probe,
    next: Instant,
    packets: u32,
    bytes: u64,
}

/// A run.
pub(crate) struct Run<'a, C> {
    path: Path,
    controller: &'a mut C,
    now: Instant,
    sequence: u64,
    next_frame: u64,
    /// Packets of media that wait in the pacer, and when it sends the next.
    waiting: VecDeque<Bytes>,
    next_paced: Instant,
    probe: Option<ActiveProbe>,
    queue: VecDeque<Queued>,
    queued_bits: u64,
    credit: u64,
    /// Packets in sequence that are in no report so far, with their arrival.
    unreported: VecDeque<(SentPacket, Option<Instant>)>,
    /// Packets on their way from the link to the receiver.
    flying: VecDeque<(SentPacket, Instant)>,
    reports: VecDeque<(Instant, Vec<PacketReport>)>,
    unacknowledged: u64,
    sent: u64,
}

impl<'a, C: RateController> Run<'a, C> {
    pub(crate) fn new(path: Path, controller: &'a mut C) -> Self {
        Self {
            path,
            controller,
            now: Instant::ZERO,
            sequence: 0,
            next_frame: 0,
            waiting: VecDeque::new(),
            next_paced: Instant::ZERO,
            probe: None,
            queue: VecDeque::new(),
            queued_bits: 0,
            credit: 0,
            unreported: VecDeque::new(),
            flying: VecDeque::new(),
            reports: VecDeque::new(),
            unacknowledged: 0,
            sent: 0,
        }
    }

    pub(crate) fn controller(&self) -> &C {
        self.controller
    }

    /// Runs for a time; one entry for each millisecond.
    pub(crate) fn advance(&mut self, span: Duration, cross: &mut dyn CrossTraffic) -> Vec<Step> {
        (0..span.as_millis()).map(|_| self.step(cross)).collect()
    }

    fn step(&mut self, cross: &mut dyn CrossTraffic) -> Step {
        let mut step = Step::default();
        self.take_reports();
        if self.controller.next_timeout().is_some_and(|at| at <= self.now) {
            self.controller.on_timeout(self.now);
        }
        if self.path.measures_rtt && self.now.as_nanos().is_multiple_of(1_000_000_000) {
            self.controller.on_round_trip(self.now, self.path.delay + self.path.delay);
        }
        for _ in 0..cross.step(self.now) {
            let fits = self.enqueue(Queued::Cross);
            cross.entered(fits);
        }
        let before = self.sent;
        step.dropped += self.send_probe();
        if self.path.media && self.now.as_nanos() >= self.next_frame * 1_000_000_000 / FRAMES_PER_SECOND {
            self.next_frame += 1;
            step.queue_ms = self.queue_ms();
            self.encode_frame();
        }
        step.dropped += self.send_media();
        step.sent = Bytes(self.sent - before);
        self.serve(cross);
        self.receive();
        step.target = self.controller.target();
        self.now += STEP;
        step
    }

    fn queue_ms(&self) -> f64 {
        self.queued_bits as f64 / self.path.capacity_at(self.now).0 as f64 * 1e3
    }

    fn encode_frame(&mut self) {
        let limit = self.path.media_limit.filter(|limit| (limit.from..limit.until).contains(&self.now));
        let rate = self.controller.target().min(limit.map_or(BitRate(u64::MAX), |limit| limit.rate));
        let bytes = rate.0 / 8 / FRAMES_PER_SECOND;
        let count = bytes.div_ceil(PACKET_MAX).max(1);
        self.waiting.extend((0..count).map(|_| Bytes(bytes / count)));
    }

    /// Sends the packets that the pacer allows.
    fn send_media(&mut self) -> u32 {
        let mut dropped = 0;
        while let Some(size) = self.waiting.front().copied()
            && self.next_paced <= self.now
        {
            if let Some(factor) = self.path.pacing {
                let rate = BitRate((self.controller.target().0 as f64 * factor) as u64);
                self.next_paced = self.next_paced.max(self.now) + rate.transmission_time(size);
            }
            self.waiting.pop_front();
            dropped += self.send(size, PacketKind::Video, None);
        }
        dropped
    }

    fn send_probe(&mut self) -> u32 {
        if self.probe.is_none() {
            self.probe = self.controller.take_probe(self.now).map(|probe| ActiveProbe {
                probe,
                next: self.now,
                packets: 0,
                bytes: 0,
            });
        }
        let mut dropped = 0;
        while let Some(active) = &mut self.probe
            && active.next <= self.now
        {
            let probe = active.probe;
            let size = probe.bytes.0.div_ceil(u64::from(probe.packets)).min(PACKET_MAX);
            active.packets += 1;
            active.bytes += size;
            active.next += probe.rate.transmission_time(Bytes(size));
            if active.packets >= probe.packets && active.bytes >= probe.bytes.0 {
                self.probe = None;
            }
            dropped += self.send(Bytes(size), PacketKind::Padding, Some(probe));
        }
        dropped
    }

    /// Returns 1 if the queue drops the packet.
    fn send(&mut self, size: Bytes, kind: PacketKind, probe: Option<Probe>) -> u32 {
        let packet = SentPacket {
            sequence: self.sequence,
            at: self.now,
            size,
            kind,
            probe: probe.map(|probe| probe.id),
        };
        self.sequence += 1;
        self.unreported.push_back((packet, None));
        self.unacknowledged += size.0;
        self.sent += size.0;
        self.controller.on_sent(&packet);
        if self.is_lost(packet.sequence) {
            return 0;
        }
        u32::from(!self.enqueue(Queued::Own(packet)))
    }

    /// Losses look random and are the same in each run: the number of the packet is multiplied by the golden ratio and folded.
    fn is_lost(&self, sequence: u64) -> bool {
        let mixed = (sequence + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 32)) % 1_000 < self.path.loss
    }

    fn enqueue(&mut self, packet: Queued) -> bool {
        let max = self.path.capacity_at(self.now).bytes_in(self.path.queue).0 * 8;
        let fits = self.queued_bits + packet.bits() <= max;
        if fits {
            self.queued_bits += packet.bits();
            self.queue.push_back(packet);
        }
        fits
    }

    fn serve(&mut self, cross: &mut dyn CrossTraffic) {
        self.credit += self.path.capacity_at(self.now).0 / 1_000;
        while let Some(first) = self.queue.front().copied()
            && first.bits() <= self.credit
        {
            self.queue.pop_front();
            self.credit -= first.bits();
            self.queued_bits -= first.bits();
            match first {
                Queued::Own(packet) => {
                    self.flying.push_back((packet, self.now + STEP + self.path.delay));
                }
                Queued::Cross => cross.left(self.now + STEP),
            }
        }
        if self.queue.is_empty() {
            self.credit = 0;
        }
    }

    fn receive(&mut self) {
        while let Some((packet, at)) = self.flying.front().copied()
            && at <= self.now
        {
            self.flying.pop_front();
            let first = self.unreported.front().map_or(0, |(packet, _)| packet.sequence);
            self.unreported[(packet.sequence - first) as usize].1 = Some(at);
        }
        if !self.now.as_nanos().is_multiple_of(self.path.report.as_nanos()) {
            return;
        }
        let Some(last) = self.unreported.iter().rposition(|(_, arrived)| arrived.is_some()) else { return };
        let packets = self.unreported.drain(..=last).map(|(sent, arrived)| PacketReport {
            sent,
            arrived,
            ecn: Ecn::NotCapable,
        });
        self.reports.push_back((self.now + self.path.delay, packets.collect()));
    }

    fn take_reports(&mut self) {
        while let Some((at, _)) = self.reports.front()
            && *at <= self.now
            && let Some((_, packets)) = self.reports.pop_front()
        {
            self.unacknowledged -= packets.iter().map(|packet| packet.sent.size.0).sum::<u64>();
            let feedback =
                Feedback { packets: &packets, in_flight: Bytes(self.unacknowledged), held: Duration::ZERO };
            self.controller.on_feedback(self.now, &feedback);
        }
    }
}

/// The rate of sending in kbit/s in each second.
pub(crate) fn sent_per_second(steps: &[Step]) -> Vec<f64> {
    steps
        .chunks(1_000)
        .map(|second| second.iter().map(|step| step.sent.0).sum::<u64>() as f64 * 8e-3)
        .collect()
}
