//! One link with a sender of video and its receiver, in virtual time and in steps of a millisecond.
//!
//! The sender divides each frame (a thirtieth of the target) into equal packets of up to 1200 B, all sent at once, as in the
//! runs of the crate goog_cc with which the tests compare. Packets of a probe are padding, sent at the probe's rate. The link
//! has a queue with tail drop, in bytes. Feedback has a path of its own without queue or loss.

use std::collections::VecDeque;

use airlane_core::{BitRate, Bytes, Duration, Ecn, Instant};
use airlane_rtc::{Feedback, PacketKind, PacketReport, Probe, RateController, SentPacket};

const STEP: Duration = Duration::from_millis(1);
const PACKET_MAX: u64 = 1200;
const FRAMES_PER_SECOND: u64 = 30;

/// The path and how often it reports.
#[derive(Clone, Debug)]
pub struct Path {
    /// The capacity from each time on, in order.
    pub capacity: Vec<(Instant, BitRate)>,
    /// The delay of each way without queues.
    pub delay: Duration,
    /// The queue, as the time in which the link empties it.
    pub queue: Duration,
    /// The interval of the reports.
    pub report: Duration,
    /// Whether the sender has media, and not only probes.
    pub media: bool,
    /// Whether the sender measures the RTT, once in a second.
    pub measures_rtt: bool,
}

impl Path {
    /// A path of one capacity, with a queue of 300 ms and reports each 100 ms.
    pub fn new(capacity: BitRate, delay: Duration) -> Self {
        Self {
            capacity: vec![(Instant::ZERO, capacity)],
            delay,
            queue: Duration::from_millis(300),
            report: Duration::from_millis(100),
            media: true,
            measures_rtt: false,
        }
    }

    fn capacity_at(&self, now: Instant) -> BitRate {
        self.capacity.iter().rev().find(|(since, _)| *since <= now).map_or(BitRate(0), |(_, rate)| *rate)
    }
}

/// What happened in a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Step {
    /// The target.
    pub target: BitRate,
    /// Bytes of the controller's packets that left the link.
    pub delivered: Bytes,
    /// How long the link needs to empty its queue, before the frame of this step, in ms.
    pub queue_ms: f64,
    /// Packets of the controller that the queue dropped.
    pub dropped: u32,
}

/// Bytes that share the link, other than the sender's.
pub trait CrossTraffic {
    /// A step begins; returns the sizes of packets that enter the link.
    fn step(&mut self, now: Instant) -> u32;
    /// A packet of 1500 B left the link.
    fn delivered(&mut self, now: Instant);
    /// A packet was dropped.
    fn dropped(&mut self, now: Instant);
}

/// No cross traffic.
pub struct NoTraffic;

impl CrossTraffic for NoTraffic {
    fn step(&mut self, _: Instant) -> u32 {
        0
    }
    fn delivered(&mut self, _: Instant) {}
    fn dropped(&mut self, _: Instant) {}
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
            Self::Cross => 1500,
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
pub struct Run<'a, C> {
    path: Path,
    controller: &'a mut C,
    now: Instant,
    sequence: u64,
    next_frame: u64,
    probe: Option<ActiveProbe>,
    queue: VecDeque<Queued>,
    queued_bits: u64,
    credit: u64,
    /// Packets in sequence that no report has told of, with their arrival.
    unreported: VecDeque<(SentPacket, Option<Instant>)>,
    /// Packets on their way from the link to the receiver.
    flying: VecDeque<(SentPacket, Instant)>,
    reports: VecDeque<(Instant, Vec<PacketReport>)>,
    unacknowledged: u64,
}

impl<'a, C: RateController> Run<'a, C> {
    pub fn new(path: Path, controller: &'a mut C) -> Self {
        Self {
            path,
            controller,
            now: Instant::ZERO,
            sequence: 0,
            next_frame: 0,
            probe: None,
            queue: VecDeque::new(),
            queued_bits: 0,
            credit: 0,
            unreported: VecDeque::new(),
            flying: VecDeque::new(),
            reports: VecDeque::new(),
            unacknowledged: 0,
        }
    }

    pub fn controller(&self) -> &C {
        self.controller
    }

    /// Runs for a time; one entry for each millisecond.
    pub fn advance(&mut self, span: Duration, cross: &mut dyn CrossTraffic) -> Vec<Step> {
        (0..span.as_millis()).map(|_| self.step(cross)).collect()
    }

    fn step(&mut self, cross: &mut dyn CrossTraffic) -> Step {
        let mut step = Step { queue_ms: self.queue_ms(), ..Step::default() };
        self.take_reports();
        if self.controller.next_timeout().is_some_and(|at| at <= self.now) {
            self.controller.on_timeout(self.now);
        }
        if self.path.measures_rtt && self.now.as_nanos().is_multiple_of(1_000_000_000) {
            self.controller.on_round_trip(self.now, self.path.delay + self.path.delay);
        }
        for _ in 0..cross.step(self.now) {
            if !self.enqueue(Queued::Cross) {
                cross.dropped(self.now);
            }
        }
        step.dropped += self.send_probe();
        if self.path.media && self.now.as_nanos() >= self.next_frame * 1_000_000_000 / FRAMES_PER_SECOND {
            self.next_frame += 1;
            step.dropped += self.send_frame();
        }
        self.serve(&mut step, cross);
        self.receive();
        step.target = self.controller.target();
        self.now += STEP;
        step
    }

    fn queue_ms(&self) -> f64 {
        self.queued_bits as f64 / self.path.capacity_at(self.now).0 as f64 * 1e3
    }

    fn send_frame(&mut self) -> u32 {
        let bytes = self.controller.target().0 / 8 / FRAMES_PER_SECOND;
        let count = bytes.div_ceil(PACKET_MAX).max(1);
        (0..count).map(|_| self.send(Bytes(bytes / count), PacketKind::Video, None)).sum()
    }

    fn send_probe(&mut self) -> u32 {
        if self.probe.is_none() {
            self.probe = self
                .controller
                .take_probe(self.now)
                .map(|probe| ActiveProbe { probe, next: self.now, packets: 0, bytes: 0 });
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
        self.controller.on_sent(&packet);
        u32::from(!self.enqueue(Queued::Own(packet)))
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

    fn serve(&mut self, step: &mut Step, cross: &mut dyn CrossTraffic) {
        self.credit += self.path.capacity_at(self.now).0 / 1_000;
        while let Some(first) = self.queue.front().copied()
            && first.bits() <= self.credit
        {
            self.queue.pop_front();
            self.credit -= first.bits();
            self.queued_bits -= first.bits();
            match first {
                Queued::Own(packet) => {
                    step.delivered.0 += packet.size.0;
                    self.flying.push_back((packet, self.now + STEP + self.path.delay));
                }
                Queued::Cross => cross.delivered(self.now + STEP),
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
            let feedback = Feedback {
                packets: &packets,
                in_flight: Bytes(self.unacknowledged),
                held: Duration::ZERO,
            };
            self.controller.on_feedback(self.now, &feedback);
        }
    }
}

/// The mean rate of delivery in kbit/s of each second.
pub fn delivered_per_second(steps: &[Step]) -> Vec<f64> {
    steps.chunks(1_000).map(|second| second.iter().map(|step| step.delivered.0).sum::<u64>() as f64 * 8e-3).collect()
}

/// The mean target in kbit/s of each second.
pub fn target_per_second(steps: &[Step]) -> Vec<f64> {
    let mean = |second: &[Step]| second.iter().map(|step| step.target.0).sum::<u64>() as f64 / second.len() as f64;
    steps.chunks(1_000).map(|second| mean(second) / 1e3).collect()
}

/// The middle of the values, or the mean of the two in the middle.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) { f64::midpoint(values[middle - 1], values[middle]) } else { values[middle] }
}
