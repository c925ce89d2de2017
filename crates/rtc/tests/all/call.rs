//! A call: a source of frames, a pacer, a rate controller, one link, and a receiver that reports.

use std::collections::{BTreeMap, VecDeque};

use airlane_core::{BitRate, Bytes, Duration, Ecn, Instant};
use airlane_core::{Seeds, Stream};
use airlane_rtc::{
    Feedback, PacketKind, PacketReport, PendingReport, RateController, ReportHistory, ReportTiming,
    SentPacket,
};

use crate::link::{Link, Marker, Queued};
use crate::trace::{Delivered, Trace};

/// The media that the sender has to send.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// Frames of the target.
    Frames { per_second: u64, sizes: Sizes },
    /// A packet whenever the target allows one, without a pacer: libwebrtc's `CcFeedbackGenerator`.
    Smooth,
}

/// How the sizes of frames vary.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sizes {
    /// Not at all.
    Constant,
    /// Uniformly, by this part of the target up and down.
    Uniform(f64),
    /// Normally, with this standard deviation as a part of the target.
    Normal(f64),
}

impl Sizes {
    fn factor(self, random: &mut Stream) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Uniform(part) => random.uniform_in(1.0 - part, 1.0 + part),
            Self::Normal(deviation) => (1.0 + deviation * random.normal()).clamp(0.05, 1.95),
        }
    }
}

/// A call and its path.
pub(crate) struct Call {
    pub(crate) source: Source,
    /// The largest packet, with all headers.
    pub(crate) packet: Bytes,
    pub(crate) ecn: Ecn,
    pub(crate) link: Link,
    /// The propagation in each direction.
    pub(crate) forward: Duration,
    pub(crate) backward: Duration,
    /// The standard deviation of the forward propagation; packets may overtake.
    pub(crate) jitter: Duration,
    pub(crate) reports: ReportTiming,
    /// How much the clock of the receiver is ahead.
    pub(crate) clock_ahead: Duration,
    /// How much faster it is, in parts per million.
    pub(crate) clock_ppm: i64,
}

impl Call {
    /// A call with frames over a link without losses.
    pub(crate) fn new(schedule: &[(u64, u64)], marker: Marker, forward_ms: u64, backward_ms: u64) -> Self {
        let schedule = schedule
            .iter()
            .map(|&(s, kbps)| (Instant::from_millis(1000 * s), BitRate(1000 * kbps)))
            .collect();
        Self {
            source: Source::Frames { per_second: 30, sizes: Sizes::Constant },
            packet: Bytes(1000),
            ecn: Ecn::NotCapable,
            link: Link::new(schedule, marker, Seeds::new(1).stream("link")),
            forward: Duration::from_millis(forward_ms),
            backward: Duration::from_millis(backward_ms),
            jitter: Duration::ZERO,
            reports: ReportTiming::ScreamDraft,
            clock_ahead: Duration::from_secs(7),
            clock_ppm: 0,
        }
    }

    /// Runs the call and returns what happened.
    pub(crate) fn run(self, controller: Box<dyn RateController>, seconds: u64) -> Trace {
        let mut running = Running::new(self, controller);
        running.run(Instant::from_millis(1000 * seconds));
        running.trace
    }
}

enum Event {
    Source,
    Pacer,
    /// The packet on the link has left it.
    Left,
    Arrival(Queued, bool),
    Report,
    Feedback(Vec<(u64, Instant, Ecn)>, Duration),
    Timeout,
}

struct Waiting {
    size: Bytes,
    frame_end: bool,
}

struct Sent {
    packet: SentPacket,
    frame_end: bool,
}

struct Running {
    call: Call,
    controller: Box<dyn RateController>,
    trace: Trace,
    events: BTreeMap<(Instant, u64), Event>,
    serial: u64,
    random: Stream,
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
    next_send: Instant,
    /// Times for which the pacer, a report and a timeout are already scheduled.
    pacer_at: Option<Instant>,
    report_at: Option<Instant>,
    timeout_at: Option<Instant>,
    budget: f64,
    sent: BTreeMap<u64, Sent>,
    next_sequence: u64,
    /// The first sequence number that no report covers.
    unreported: u64,
    in_flight: u64,
    on_link: Option<(Queued, Instant)>,
    pending: PendingReport,
    arrived: Vec<(u64, Instant, Ecn)>,
    history: ReportHistory,
}

/// The step of [`Source::Smooth`], as in libwebrtc's `CcFeedbackGenerator`.
const STEP: Duration = Duration::from_millis(1);

impl Running {
    fn new(call: Call, controller: Box<dyn RateController>) -> Self {
        let budget = call.packet.get() as f64;
        Self {
            call,
            controller,
            trace: Trace::default(),
            events: BTreeMap::new(),
            serial: 0,
            random: Seeds::new(1).stream("call"),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            next_send: Instant::ZERO,
            pacer_at: None,
            report_at: None,
            timeout_at: None,
            budget,
            sent: BTreeMap::new(),
            next_sequence: 0,
            unreported: 0,
            in_flight: 0,
            on_link: None,
            pending: PendingReport::default(),
            arrived: Vec::new(),
            history: ReportHistory::default(),
        }
    }

    fn run(&mut self, end: Instant) {
        self.schedule(Instant::ZERO, Event::Source);
        while let Some(((now, _), event)) = self.events.pop_first() {
            if now >= end {
                return;
            }
            self.handle(now, event);
            self.schedule_timeout();
        }
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.serial += 1;
        self.events.insert((at, self.serial), event);
    }

    fn schedule_timeout(&mut self) {
        if let Some(at) = self.controller.next_timeout()
            && self.timeout_at != Some(at)
        {
            self.timeout_at = Some(at);
            self.schedule(at, Event::Timeout);
        }
    }

    fn handle(&mut self, now: Instant, event: Event) {
        match event {
            Event::Source => self.produce(now),
            Event::Pacer => {
                self.pacer_at = None;
                self.send_waiting(now);
            }
            Event::Left => self.left(now),
            Event::Arrival(packet, frame_end) => {
                let drift = now.as_nanos() as i64 / 1_000_000 * self.call.clock_ppm;
                let by_receiver = (now + self.call.clock_ahead).as_nanos() as i64 + drift;
                let by_receiver = Instant::from_nanos(by_receiver as u64);
                self.arrived.push((packet.sequence, by_receiver, packet.ecn));
                self.pending.add(now, frame_end);
                self.schedule_report();
            }
            Event::Report => self.report(now),
            Event::Feedback(arrived, held) => {
                self.feedback(now, &arrived, held);
                self.send_waiting(now);
            }
            Event::Timeout => {
                self.controller.on_timeout(now);
                self.send_waiting(now);
            }
        }
    }

    /// The source has something to send.
    fn produce(&mut self, now: Instant) {
        let target = self.controller.target();
        match self.call.source {
            Source::Smooth => {
                let size = self.call.packet;
                while self.budget >= size.get() as f64 {
                    self.budget -= size.get() as f64;
                    self.send(now, &Waiting { size, frame_end: false });
                }
                self.budget += target.bits_per_second() as f64 / 8.0 * STEP.as_secs_f64();
                self.schedule(now + STEP, Event::Source);
            }
            Source::Frames { per_second, sizes } => {
                let period = Duration::from_nanos(1_000_000_000 / per_second);
                let factor = sizes.factor(&mut self.random);
                let frame = (target.bits_per_second() as f64 / 8.0 / per_second as f64 * factor) as u64;
                self.controller.on_frame(now, Bytes(frame));
                let packets = frame.div_ceil(self.call.packet.get()).max(1);
                for packet in 0..packets {
                    let size = frame / packets + u64::from(packet < frame % packets);
                    let frame_end = packet + 1 == packets;
                    self.waiting.push_back(Waiting { size: Bytes(size.max(1)), frame_end });
                    self.waiting_bytes += size.max(1);
                }
                self.controller.on_queue(now, Bytes(self.waiting_bytes));
                self.send_waiting(now);
                self.schedule(now + period, Event::Source);
            }
        }
    }

    /// Sends what pacer and window allow.
    fn send_waiting(&mut self, now: Instant) {
        loop {
            let Some(first) = self.waiting.front() else { return };
            let pace = self.controller.pace();
            let full = pace.window.is_some_and(|window| self.in_flight + first.size.get() > window.get());
            if full && self.in_flight > 0 {
                return;
            }
            if self.next_send > now {
                if self.pacer_at.is_none_or(|at| at > self.next_send || at < now) {
                    self.pacer_at = Some(self.next_send);
                    self.schedule(self.next_send, Event::Pacer);
                }
                return;
            }
            let packet = self.waiting.pop_front().expect("the first was seen");
            self.waiting_bytes -= packet.size.get();
            self.controller.on_queue(now, Bytes(self.waiting_bytes));
            if let Some(rate) = pace.rate {
                self.next_send = self.next_send.max(now) + rate.transmission_time(packet.size);
            }
            self.send(now, &packet);
        }
    }

    fn send(&mut self, now: Instant, packet: &Waiting) {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let size = packet.size;
        let sent = SentPacket { sequence, at: now, size, kind: PacketKind::Video, probe: None };
        self.in_flight += size.get();
        self.controller.on_sent(&sent);
        let frame_end = packet.frame_end;
        self.sent.insert(sequence, Sent { packet: sent, frame_end });
        let queued = Queued { sequence, size, ecn: self.call.ecn, since: now };
        if !self.call.link.enter(now, queued, self.on_link.is_some()) {
            self.trace.dropped += 1;
        }
        if self.on_link.is_none() {
            self.transmit(now);
        }
    }

    fn transmit(&mut self, now: Instant) {
        self.on_link = None;
        if let Some((packet, transmission)) = self.call.link.leave(now) {
            self.on_link = Some((packet, now));
            self.schedule(now + transmission, Event::Left);
        }
    }

    fn left(&mut self, now: Instant) {
        let (packet, started) = self.on_link.take().expect("a packet is on the link");
        let frame_end = self.sent[&packet.sequence].frame_end;
        let marked = packet.ecn == Ecn::CongestionExperienced;
        let queued = started.saturating_since(packet.since);
        self.trace.delivered.push(Delivered { at: now, size: packet.size, queued, marked });
        let variation = self.call.jitter.as_nanos() as f64 * self.random.normal();
        let propagation = (self.call.forward.as_nanos() as f64 + variation).max(0.0) as u64;
        self.schedule(now + Duration::from_nanos(propagation), Event::Arrival(packet, frame_end));
        self.transmit(now);
    }

    fn schedule_report(&mut self) {
        if let Some(at) = self.call.reports.next(&self.pending, &self.history)
            && self.report_at.is_none_or(|scheduled| at < scheduled)
        {
            self.report_at = Some(at);
            self.schedule(at, Event::Report);
        }
    }

    fn report(&mut self, now: Instant) {
        if self.report_at == Some(now) {
            self.report_at = None;
        }
        match self.call.reports.next(&self.pending, &self.history) {
            None => return,
            Some(at) if at > now => return self.schedule_report(),
            Some(_) => {}
        }
        // RFC 8888 section 3.1: 8 bytes of RTCP, 8 of an SSRC, 2 for each packet and 4 of the timestamp; and IP and UDP.
        let size = Bytes(48 + 2 * u64::from(self.pending.packets));
        self.history = self.history.with(now, size);
        let held = now.saturating_since(self.pending.last);
        self.pending = PendingReport::default();
        let arrived = std::mem::take(&mut self.arrived);
        self.schedule(now + self.call.backward, Event::Feedback(arrived, held));
    }

    fn feedback(&mut self, now: Instant, arrived: &[(u64, Instant, Ecn)], held: Duration) {
        let newest = arrived.iter().map(|(sequence, ..)| *sequence).max().expect("a report has packets");
        let arrivals: BTreeMap<u64, (Instant, Ecn)> =
            arrived.iter().map(|&(sequence, at, ecn)| (sequence, (at, ecn))).collect();
        let mut packets = Vec::new();
        let oldest = *arrivals.keys().next().expect("a report has packets");
        for (sequence, sent) in self.sent.range_mut(self.unreported.min(oldest)..=newest) {
            let arrival = arrivals.get(sequence);
            if *sequence < self.unreported && arrival.is_none() {
                continue;
            }
            if *sequence >= self.unreported {
                self.in_flight -= sent.packet.size.get();
            }
            packets.push(PacketReport {
                sent: sent.packet,
                arrived: arrival.map(|(at, _)| *at),
                ecn: arrival.map_or(Ecn::NotCapable, |(_, ecn)| *ecn),
            });
        }
        self.unreported = self.unreported.max(newest + 1);
        while let Some(first) = self.sent.first_entry()
            && *first.key() < self.unreported
            && now.saturating_since(first.get().packet.at) > KEPT
        {
            first.remove();
        }
        let rtt = packets
            .iter()
            .rev()
            .find(|packet| packet.sent.sequence == newest)
            .map(|packet| now.saturating_since(packet.sent.at).saturating_sub(held))
            .expect("the newest packet is in the report");
        let feedback = Feedback { packets: &packets, in_flight: Bytes(self.in_flight), held };
        self.controller.on_feedback(now, &feedback);
        self.trace.targets.push((now, self.controller.target(), rtt));
    }
}

/// How long the sender remembers its packets.
const KEPT: Duration = Duration::from_secs(3);
