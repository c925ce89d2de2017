//! Hosts on both sides of one link, exactly the link on which the Linux reference was measured:
//! FIFO drop-tail in bytes, random loss of data packets before the buffer (splitmix64), rate
//! step, service hold; a fast lossless way back. Small and slow on purpose: a binary heap, no
//! engine.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use airlane_core::{
    BitRate, Bytes, Cx, Direction, Duration, Event, FlowId, Header, Instant, PacketPool, PacketRef, Probe,
    TcpHeader, Topic, TopicSet,
};
use airlane_transport::{ConnectionState, Path, TcpConfig, TcpEndpoint, TcpStats};

/// The link in data direction.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    pub rate: BitRate,
    pub buffer: Bytes,
    pub delay: Duration,
    pub loss: f64,
    pub loss_seed: u64,
    pub rate_step: Option<(Instant, BitRate)>,
    pub hold: Option<(Instant, Instant)>,
}

impl LinkConfig {
    pub fn new(megabits: u64, rtt_ms: u64, buffer: u64) -> Self {
        Self {
            rate: BitRate(megabits * 1_000_000),
            buffer: Bytes(buffer),
            delay: Duration::from_millis(rtt_ms / 2),
            loss: 0.0,
            loss_seed: 0,
            rate_step: None,
            hold: None,
        }
    }
}

/// Decides the fate of data packet number `n` (from 0, retransmissions counted) of the run
/// before the link sees it.
pub type Fate<'a> = Box<dyn FnMut(u64, Instant, &TcpHeader, u32) -> bool + 'a>;

struct Link {
    config: LinkConfig,
    free_at: Instant,
    waiting: VecDeque<(Instant, u64)>,
    waiting_bytes: u64,
    loss_state: u64,
    pub drops: u64,
    pub random_drops: u64,
    pub max_waiting: u64,
}

impl Link {
    fn draw(&mut self) -> f64 {
        self.loss_state = self.loss_state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.loss_state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// When the packet is delivered, or `None` if it is dropped.
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
            self.max_waiting = self.max_waiting.max(self.waiting_bytes);
        }
        Some(self.free_at + self.config.delay)
    }
}

/// What a flow does.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    pub sender: TcpConfig,
    pub receiver: TcpConfig,
    pub start: Instant,
    /// Bytes to transfer; `None` for a bulk flow.
    pub bytes: Option<u64>,
}

/// One row of a series.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub at: Instant,
    pub stats: TcpStats,
}

#[derive(Default)]
pub struct FlowResult {
    pub samples: Vec<Sample>,
    pub sender: TcpStats,
    pub receiver: TcpStats,
    pub last_byte_read: Option<Instant>,
    pub sender_saw_fin: Option<Instant>,
}

pub struct RunResult {
    pub flows: Vec<FlowResult>,
    pub queue_drops: u64,
    pub random_drops: u64,
    pub max_queue_bytes: u64,
    pub events: Vec<String>,
}

/// Collects what the tests of events ask for.
#[derive(Default)]
struct Log {
    lines: Vec<String>,
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
            Event::SegmentLost { .. } => format!("{:.4} lost", now.as_secs_f64()),
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
    result: FlowResult,
}

/// A run.
pub struct Harness<'a> {
    link: Link,
    flows: Vec<Flow>,
    pub sample_every: Duration,
    /// True drops the data packet.
    pub fate: Option<Fate<'a>>,
    /// True drops the packet on the way back.
    pub fate_back: Option<Fate<'a>>,
    pub read_from: Instant,
}

type Queued = Reverse<(Instant, u64, usize, bool, u32)>;

impl<'a> Harness<'a> {
    pub fn new(link: LinkConfig, flows: Vec<FlowConfig>) -> Self {
        let loss_state = link.loss_seed;
        let flows = flows
            .into_iter()
            .enumerate()
            .map(|(i, config)| {
                let flow = FlowId(i as u32);
                let mut sender =
                    TcpEndpoint::new(config.sender.clone(), Path { flow, direction: Direction::Downlink });
                let receiver =
                    TcpEndpoint::new(config.receiver.clone(), Path { flow, direction: Direction::Uplink });
                match config.bytes {
                    None => sender.supply_endless(),
                    Some(n) => {
                        sender.supply(n);
                        sender.close();
                    }
                }
                let result = FlowResult::default();
                Flow { config, sender, receiver, connected: false, receiver_closed: false, result }
            })
            .collect();
        Self {
            link: Link {
                config: link,
                free_at: Instant::ZERO,
                waiting: VecDeque::new(),
                waiting_bytes: 0,
                loss_state,
                drops: 0,
                random_drops: 0,
                max_waiting: 0,
            },
            flows,
            sample_every: Duration::from_millis(100),
            fate: None,
            fate_back: None,
            read_from: Instant::ZERO,
        }
    }

    pub fn run(mut self, end: Instant) -> RunResult {
        let mut pool = PacketPool::with_capacity(4096);
        let mut packets: Vec<Option<PacketRef>> = Vec::new();
        let mut free: Vec<u32> = Vec::new();
        let mut heap: BinaryHeap<Queued> = BinaryHeap::new();
        let mut outbox = Vec::new();
        let mut log =
            Log { topics: TopicSet::NONE.with(Topic::Timeout).with(Topic::SegmentLost), ..Log::default() };
        let mut serial = 0_u64;
        let mut data_serial = 0_u64;
        let mut back_serial = 0_u64;
        let mut back_free = Instant::ZERO;
        let mut next_sample = Instant::ZERO + self.sample_every;
        loop {
            // The next thing to happen: a packet, a timer, a start, a sample.
            let mut now = next_sample;
            for f in &self.flows {
                if !f.connected {
                    now = now.min(f.config.start);
                }
                now = now.min(f.sender.next_timeout()).min(f.receiver.next_timeout());
            }
            if self.read_from > Instant::ZERO {
                now = now.min(self.read_from);
            }
            if let Some(Reverse((at, ..))) = heap.peek() {
                now = now.min(*at);
            }
            if now > end {
                break;
            }
            let reading = now >= self.read_from;
            if reading {
                self.read_from = Instant::ZERO;
            }
            let arrival = match heap.peek() {
                Some(Reverse((at, ..))) if *at == now => heap.pop().map(|Reverse(q)| q),
                _ => None,
            };
            for index in 0..self.flows.len() {
                for side in [Side::Sender, Side::Receiver] {
                    let f = &mut self.flows[index];
                    let mut cx =
                        Cx { now, pool: &mut pool, outbox: &mut outbox, topics: log.topics, probe: &mut log };
                    if side == Side::Sender && !f.connected && f.config.start <= now {
                        f.connected = true;
                        f.sender.connect(&mut cx);
                    }
                    let endpoint = if side == Side::Sender { &mut f.sender } else { &mut f.receiver };
                    let mut touched = false;
                    if let Some((_, _, flow, to_receiver, slot)) = arrival
                        && flow == index
                        && to_receiver == (side == Side::Receiver)
                    {
                        let packet = packets[slot as usize].take().expect("queued once");
                        free.push(slot);
                        let packet = cx.pool.consume(packet);
                        let Header::Tcp(header) = &packet.header else { panic!("only TCP here") };
                        endpoint.handle_segment(&mut cx, header, packet.payload.len());
                        touched = true;
                    }
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
                    if side == Side::Sender && endpoint.at_end() && f.result.sender_saw_fin.is_none() {
                        f.result.sender_saw_fin = Some(now);
                    }
                    for (_, packet) in outbox.drain(..) {
                        let p = pool.get(&packet);
                        let Header::Tcp(header) = &p.header else { panic!("only TCP here") };
                        let (size, payload) = (p.size.get(), p.payload.len());
                        let at = if side == Side::Sender {
                            let doomed = payload > 0 && {
                                data_serial += 1;
                                self.fate
                                    .as_mut()
                                    .is_some_and(|fate| fate(data_serial - 1, now, header, payload))
                            };
                            if doomed { None } else { self.link.offer(now, size, payload) }
                        } else {
                            back_serial += 1;
                            if self
                                .fate_back
                                .as_mut()
                                .is_some_and(|f| f(back_serial - 1, now, header, payload))
                            {
                                None
                            } else {
                                // 1000 Mb/s, no limit.
                                back_free = now.max(back_free)
                                    + BitRate(1_000_000_000).transmission_time(Bytes(size));
                                Some(back_free + self.link.config.delay)
                            }
                        };
                        let Some(at) = at else {
                            let _ = pool.discard(packet, airlane_core::DropCause::RandomLoss);
                            continue;
                        };
                        let slot = free.pop().unwrap_or_else(|| {
                            packets.push(None);
                            packets.len() as u32 - 1
                        });
                        packets[slot as usize] = Some(packet);
                        serial += 1;
                        heap.push(Reverse((at, serial, index, side == Side::Sender, slot)));
                    }
                }
            }
            if now == next_sample {
                for f in &mut self.flows {
                    if f.connected {
                        f.result.samples.push(Sample { at: now, stats: f.sender.stats() });
                    }
                }
                next_sample += self.sample_every;
            }
            let all_closed = self.flows.iter().all(|f| {
                f.sender.state() == ConnectionState::Closed && f.receiver.state() == ConnectionState::Closed
            });
            if all_closed && heap.is_empty() {
                break;
            }
        }
        let flows = self
            .flows
            .into_iter()
            .map(|mut f| {
                f.result.sender = f.sender.stats();
                f.result.receiver = f.receiver.stats();
                f.result
            })
            .collect();
        RunResult {
            flows,
            queue_drops: self.link.drops,
            random_drops: self.link.random_drops,
            max_queue_bytes: self.link.max_waiting,
            events: log.lines,
        }
    }
}
