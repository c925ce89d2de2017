//! Hosts on both sides of one link, which is exactly the link of the Linux reference measurements:
//! FIFO drop-tail in bytes, random loss of data packets before the buffer (splitmix64), rate step,
//! service hold; a fast lossless return path. Deliberately small and slow: a binary heap, no
//! engine.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use airlane_core::{
    BitRate, Bytes, Cx, Direction, DropCause, Duration, Ecn, Event, FlowId, Header, Instant, Outbox,
    PacketPool, PacketRef, Probe, SackBlock, TcpHeader, Topic, TopicSet,
};
use airlane_transport::{ConnectionState, Path, PepReport, TcpConfig, TcpEndpoint, TcpStats};

/// The link in data direction.
#[derive(Clone, Debug)]
pub(crate) struct LinkConfig {
    pub(crate) rate: BitRate,
    pub(crate) buffer: Bytes,
    pub(crate) delay: Duration,
    pub(crate) loss: f64,
    pub(crate) loss_seed: u64,
    pub(crate) rate_step: Option<(Instant, BitRate)>,
    pub(crate) hold: Option<(Instant, Instant)>,
    /// Marks ECN-capable packets when more than this waits.
    pub(crate) mark_above: Option<Bytes>,
}

impl LinkConfig {
    pub(crate) fn new(megabits: u64, rtt_ms: u64, buffer: u64) -> Self {
        Self {
            rate: BitRate(megabits * 1_000_000),
            buffer: Bytes(buffer),
            delay: Duration::from_millis(rtt_ms / 2),
            loss: 0.0,
            loss_seed: 0,
            rate_step: None,
            hold: None,
            mark_above: None,
        }
    }
}

/// Decides the fate of a packet before the link; `n` is the number of data packets (including
/// retransmissions) that the side sent before it.
pub(crate) type Fate<'a> = Box<dyn FnMut(u64, Instant, &TcpHeader, u32) -> bool + 'a>;

/// A PEP's report to the sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) newest: SackBlock,
    pub(crate) first: u32,
    pub(crate) cumulative: u32,
    pub(crate) ranges: Vec<SackBlock>,
    pub(crate) holes: Vec<SackBlock>,
}

/// Observes each data segment before the link, and whether it was dropped before the PEP; returns
/// its report and the arrival time of the report.
pub(crate) type Pep<'a> = Box<dyn FnMut(Instant, &TcpHeader, u32, bool) -> Option<(Instant, Report)> + 'a>;

struct Link {
    config: LinkConfig,
    free_at: Instant,
    waiting: VecDeque<(Instant, u64)>,
    waiting_bytes: u64,
    loss_state: u64,
    drops: u64,
    random_drops: u64,
    /// True if the last packet should be marked, if possible.
    marks: bool,
}

impl Link {
    fn new(config: LinkConfig) -> Self {
        Self {
            loss_state: config.loss_seed,
            config,
            free_at: Instant::ZERO,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            drops: 0,
            random_drops: 0,
            marks: false,
        }
    }

    fn draw(&mut self) -> f64 {
        self.loss_state = self.loss_state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.loss_state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The delivery time of the packet, or `None` if it is dropped.
    fn offer(&mut self, now: Instant, size: u64, payload: u32) -> Option<Instant> {
        if self.config.loss > 0.0 && payload > 0 && self.draw() < self.config.loss {
            self.random_drops += 1;
            return None;
        }
        while let Some(&(start, bytes)) = self.waiting.front()
            && start <= now
        {
            self.waiting.pop_front();
            self.waiting_bytes -= bytes;
        }
        let busy = self.free_at > now;
        if busy && self.waiting_bytes + size > self.config.buffer.get() {
            self.drops += 1;
            return None;
        }
        self.marks = self.config.mark_above.is_some_and(|above| self.waiting_bytes > above.get());
        let mut start = now.max(self.free_at);
        if let Some((from, until)) = self.config.hold
            && start >= from
            && start < until
        {
            start = until;
        }
        let rate = match self.config.rate_step {
            Some((at, rate)) if start >= at => rate,
            _ => self.config.rate,
        };
        self.free_at = start + rate.transmission_time(Bytes(size));
        if start > now {
            self.waiting.push_back((start, size));
            self.waiting_bytes += size;
        }
        Some(self.free_at + self.config.delay)
    }
}

/// The parameters of a flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowConfig {
    pub(crate) sender: TcpConfig,
    pub(crate) receiver: TcpConfig,
    pub(crate) start: Instant,
    /// Bytes to transfer; `None` for a bulk flow.
    pub(crate) bytes: Option<u64>,
}

/// One row of a series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    pub(crate) stats: TcpStats,
}

#[derive(Default)]
pub(crate) struct FlowResult {
    pub(crate) samples: Vec<Sample>,
    pub(crate) sender: TcpStats,
    pub(crate) receiver: TcpStats,
    pub(crate) last_byte_read: Option<Instant>,
}

pub(crate) struct RunResult {
    pub(crate) flows: Vec<FlowResult>,
    pub(crate) queue_drops: u64,
    pub(crate) random_drops: u64,
    /// Timeouts and losses, one line each.
    pub(crate) events: Vec<String>,
    /// Data segments as they were sent.
    pub(crate) sent: Vec<SentSegment>,
    /// The windows of both domains in bytes, internet first, and the bytes in flight, as they changed.
    pub(crate) domains: Vec<(Instant, [u64; 3])>,
    /// Codes that senders obeyed, with the windows before and after.
    pub(crate) applied: Vec<(u8, [Bytes; 2])>,
    /// The states of both ends of each flow.
    pub(crate) states: Vec<ConnectionState>,
}

/// A data segment that a sender emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentSegment {
    pub(crate) at: Instant,
    /// Bytes of the stream before it.
    pub(crate) offset: u64,
    pub(crate) again: bool,
}

/// Collects the events that the tests need.
#[derive(Default)]
struct Log {
    lines: Vec<String>,
    sent: Vec<SentSegment>,
    domains: Vec<(Instant, [u64; 3])>,
    in_flight: u64,
    applied: Vec<(u8, [Bytes; 2])>,
    topics: TopicSet,
}

impl Probe for Log {
    fn topics(&self) -> TopicSet {
        self.topics
    }
    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        let line = match event {
            Event::Timeout { rto, backoff, congestion_window, .. } => {
                format!(
                    "{:.4} timeout rto {} backoff {backoff} cwnd {}",
                    now.as_secs_f64(),
                    rto.as_millis(),
                    congestion_window.get()
                )
            }
            Event::TimeoutUndone { congestion_window, .. } => {
                format!("{:.4} undone cwnd {}", now.as_secs_f64(), congestion_window.get())
            }
            Event::Sent { packet, retransmission } => {
                if let (Header::Tcp(header), 1..) = (&packet.header, packet.payload.len()) {
                    let offset = u64::from(header.sequence.wrapping_sub(1));
                    self.sent.push(SentSegment { at: now, offset, again: *retransmission });
                }
                return;
            }
            Event::CodeApplied { code, congestion_window, .. } => {
                self.applied.push((*code, *congestion_window));
                return;
            }
            Event::SegmentLost { .. } => format!("{:.4} lost", now.as_secs_f64()),
            Event::FlowState { in_flight, .. } => {
                self.in_flight = in_flight.get();
                return;
            }
            Event::DomainState { internet, ran, .. } => {
                self.domains.push((now, [internet.get(), ran.get(), self.in_flight]));
                return;
            }
            _ => return,
        };
        self.lines.push(line);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Sender,
    Receiver,
}

struct Flow {
    config: FlowConfig,
    sender: TcpEndpoint,
    receiver: TcpEndpoint,
    connected: bool,
    receiver_closed: bool,
    touched: [bool; 2],
    result: FlowResult,
}

impl Flow {
    fn new(index: usize, config: FlowConfig) -> Self {
        let flow = FlowId(index as u32);
        let end = |tcp: &TcpConfig, direction| TcpEndpoint::new(tcp.clone(), Path::new(flow, direction));
        let mut sender = end(&config.sender, Direction::Downlink);
        let receiver = end(&config.receiver, Direction::Uplink);
        match config.bytes {
            None => sender.supply_endless(),
            Some(n) => {
                sender.supply(n);
                sender.close();
            }
        }
        Self {
            config,
            sender,
            receiver,
            connected: false,
            receiver_closed: false,
            touched: [false; 2],
            result: FlowResult::default(),
        }
    }
}

/// The next event on the wire: time, order, flow, side, and the packet's place.
type Queued = Reverse<(Instant, u64, usize, bool, u32)>;

/// Packets under way.
#[derive(Default)]
struct Wire {
    heap: BinaryHeap<Queued>,
    packets: Vec<Option<PacketRef>>,
    free: Vec<u32>,
    serial: u64,
    back_free_at: Instant,
    data_serial: u64,
    back_serial: u64,
}

impl Wire {
    fn next(&self) -> Instant {
        self.heap.peek().map_or(Instant::FAR_FUTURE, |Reverse((at, ..))| *at)
    }
    fn push(&mut self, at: Instant, flow: usize, to_receiver: bool, packet: PacketRef) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.packets.push(None);
            self.packets.len() as u32 - 1
        });
        self.packets[slot as usize] = Some(packet);
        self.serial += 1;
        self.heap.push(Reverse((at, self.serial, flow, to_receiver, slot)));
    }
    fn pop(&mut self) -> (usize, Side, PacketRef) {
        let Reverse((_, _, flow, to_receiver, slot)) = self.heap.pop().expect("something is due");
        let packet = self.packets[slot as usize].take().expect("queued once");
        self.free.push(slot);
        (flow, if to_receiver { Side::Receiver } else { Side::Sender }, packet)
    }
}

/// A run.
pub(crate) struct Harness<'a> {
    link: Link,
    flows: Vec<Flow>,
    wire: Wire,
    pool: PacketPool,
    outbox: Outbox,
    log: Log,
    pub(crate) sample_every: Duration,
    /// Returns true to drop a packet of a sender.
    pub(crate) fate: Option<Fate<'a>>,
    /// Returns true to drop a packet on the return path; counts every packet.
    pub(crate) fate_back: Option<Fate<'a>>,
    /// The receivers read nothing before this time.
    pub(crate) read_from: Instant,
    /// Delay in addition to the link's, drawn for each packet: reordering.
    pub(crate) jitter: Option<Box<dyn FnMut() -> Duration + 'a>>,
    pub(crate) pep: Option<Pep<'a>>,
    /// Reports under way, in the order in which they arrive.
    reports: VecDeque<(Instant, usize, Report)>,
}

impl<'a> Harness<'a> {
    pub(crate) fn new(link: LinkConfig, flows: Vec<FlowConfig>) -> Self {
        let topics = [Topic::Timeout, Topic::SegmentLost, Topic::Sent, Topic::ReceiverCode];
        Self {
            link: Link::new(link),
            flows: flows.into_iter().enumerate().map(|(i, config)| Flow::new(i, config)).collect(),
            wire: Wire::default(),
            pool: PacketPool::with_capacity(4096),
            outbox: Outbox::new(),
            log: Log { topics: topics.into_iter().fold(TopicSet::NONE, TopicSet::with), ..Log::default() },
            sample_every: Duration::from_millis(100),
            fate: None,
            fate_back: None,
            read_from: Instant::ZERO,
            jitter: None,
            pep: None,
            reports: VecDeque::new(),
        }
    }

    pub(crate) fn run(mut self, end: Instant) -> RunResult {
        let mut next_sample = Instant::ZERO + self.sample_every;
        if self.pep.is_some() {
            self.log.topics = self.log.topics.with(Topic::FlowState).with(Topic::Pep);
        }
        loop {
            let now = self.next_event().min(next_sample);
            if now > end || self.is_over() {
                break;
            }
            if self.wire.next() == now {
                let (flow, side, packet) = self.wire.pop();
                self.arrive(now, flow, side, packet);
            } else if self.reports.front().is_some_and(|(at, ..)| *at == now)
                && let Some((_, flow, report)) = self.reports.pop_front()
            {
                self.report(now, flow, &report);
            }
            for flow in 0..self.flows.len() {
                self.act(now, flow, Side::Sender);
                self.act(now, flow, Side::Receiver);
            }
            if now == next_sample {
                for f in self.flows.iter_mut().filter(|f| f.connected) {
                    f.result.samples.push(Sample { at: now, stats: f.sender.stats() });
                }
                next_sample += self.sample_every;
            }
        }
        let finish = |mut f: Flow| {
            f.result.sender = f.sender.stats();
            f.result.receiver = f.receiver.stats();
            f.result
        };
        let states = self.flows.iter().flat_map(|f| [f.sender.state(), f.receiver.state()]).collect();
        RunResult {
            states,
            flows: self.flows.into_iter().map(finish).collect(),
            queue_drops: self.link.drops,
            random_drops: self.link.random_drops,
            events: self.log.lines,
            sent: self.log.sent,
            domains: self.log.domains,
            applied: self.log.applied,
        }
    }

    fn report(&mut self, now: Instant, flow: usize, report: &Report) {
        let Report { newest, first, cumulative, .. } = *report;
        let (ranges, holes) = (&report.ranges[..], &report.holes[..]);
        let report = PepReport { delay: Duration::ZERO, newest, first, cumulative, ranges, holes };
        let (pool, outbox) = (&mut self.pool, &mut self.outbox);
        let mut cx = Cx { now, pool, outbox, topics: self.log.topics, probe: &mut self.log };
        self.flows[flow].sender.handle_pep_report(&mut cx, &report);
        self.route(now, flow, Side::Sender);
    }

    fn next_event(&self) -> Instant {
        let mut now = self.wire.next();
        now = self.reports.front().map_or(now, |(at, ..)| now.min(*at));
        for f in &self.flows {
            if !f.connected {
                now = now.min(f.config.start);
            }
            now = now.min(f.sender.next_timeout()).min(f.receiver.next_timeout());
        }
        if self.read_from > Instant::ZERO { now.min(self.read_from) } else { now }
    }

    fn is_over(&self) -> bool {
        let closed = |e: &TcpEndpoint| e.state() == ConnectionState::Closed;
        self.wire.heap.is_empty() && self.flows.iter().all(|f| closed(&f.sender) && closed(&f.receiver))
    }

    fn arrive(&mut self, now: Instant, flow: usize, side: Side, packet: PacketRef) {
        let mut cx = Cx {
            now,
            pool: &mut self.pool,
            outbox: &mut self.outbox,
            topics: self.log.topics,
            probe: &mut self.log,
        };
        let packet = cx.pool.consume(packet);
        let Header::Tcp(header) = &packet.header else { panic!("only TCP here") };
        let f = &mut self.flows[flow];
        let endpoint = if side == Side::Sender { &mut f.sender } else { &mut f.receiver };
        endpoint.handle_segment(&mut cx, header, packet.ecn, packet.payload.len());
        f.touched[side as usize] = true;
        self.route(now, flow, side);
    }

    /// Runs everything that is due at one end of a flow: connecting, timers, reading, sending.
    fn act(&mut self, now: Instant, flow: usize, side: Side) {
        let reading = now >= self.read_from;
        if reading {
            self.read_from = Instant::ZERO;
        }
        let mut cx = Cx {
            now,
            pool: &mut self.pool,
            outbox: &mut self.outbox,
            topics: self.log.topics,
            probe: &mut self.log,
        };
        let f = &mut self.flows[flow];
        if side == Side::Sender && !f.connected && f.config.start <= now {
            f.connected = true;
            f.sender.connect(&mut cx);
        }
        let endpoint = if side == Side::Sender { &mut f.sender } else { &mut f.receiver };
        let mut touched = core::mem::take(&mut f.touched[side as usize]);
        if endpoint.next_timeout() <= now {
            endpoint.handle_timeout(&mut cx);
            touched = true;
        }
        if reading && side == Side::Receiver && (touched || endpoint.readable() > 0) {
            if endpoint.read(now, u64::MAX) > 0 {
                f.result.last_byte_read = Some(now);
            }
            if endpoint.at_end() && !f.receiver_closed {
                f.receiver_closed = true;
                endpoint.close();
            }
            touched = true;
        }
        if touched {
            endpoint.flush(&mut cx);
        }
        self.route(now, flow, side);
    }

    /// Sends an endpoint's packets into the link, or drops them.
    fn route(&mut self, now: Instant, flow: usize, side: Side) {
        let mut outbox = core::mem::take(&mut self.outbox);
        for (_, packet) in outbox.drain(..) {
            let p = self.pool.get(&packet);
            let Header::Tcp(header) = &p.header else { panic!("only TCP here") };
            let (size, payload) = (p.size.get(), p.payload.len());
            let wire = &mut self.wire;
            let at = if side == Side::Sender {
                let doomed = self.fate.as_mut().is_some_and(|f| f(wire.data_serial, now, header, payload));
                wire.data_serial += u64::from(payload > 0);
                if payload > 0
                    && let Some(pep) = &mut self.pep
                    && let Some((at, report)) = pep(now, header, payload, doomed)
                {
                    let place = self.reports.partition_point(|(other, ..)| *other <= at);
                    self.reports.insert(place, (at, flow, report));
                }
                if doomed { None } else { self.link.offer(now, size, payload) }
            } else {
                wire.back_serial += 1;
                let doomed =
                    self.fate_back.as_mut().is_some_and(|f| f(wire.back_serial - 1, now, header, payload));
                // 1000 Mb/s, no limit.
                wire.back_free_at =
                    now.max(wire.back_free_at) + BitRate(1_000_000_000).transmission_time(Bytes(size));
                (!doomed).then_some(wire.back_free_at + self.link.config.delay)
            };
            match at {
                Some(at) => {
                    if side == Side::Sender && self.link.marks {
                        let p = self.pool.get_mut(&packet);
                        if p.ecn != Ecn::NotCapable {
                            p.ecn = Ecn::CongestionExperienced;
                        }
                    }
                    let extra = self.jitter.as_mut().map_or(Duration::ZERO, |j| j());
                    wire.push(at + extra, flow, side == Side::Sender, packet);
                }
                None => drop(self.pool.discard(packet, DropCause::RandomLoss)),
            }
        }
        self.outbox = outbox;
    }
}
