//! A TCP sender with enough to send: slow start, congestion avoidance, and half the packets in flight after a loss.
//!
//! The behaviour of the cross traffic of libwebrtc's scenarios (f3ae3eb, `test/network/cross_traffic.cc`), one ACK for each
//! packet.

use std::collections::{BTreeMap, VecDeque};

use airlane_core::{Duration, Instant};

use crate::link::CrossTraffic;

const TIMEOUT: Duration = Duration::from_secs(1);
const INITIAL_WINDOW: f64 = 10.0;

pub(crate) struct Tcp {
    round_trip: Duration,
    window: f64,
    threshold: f64,
    next: u64,
    /// The packets in flight, with the time of sending.
    in_flight: BTreeMap<u64, Instant>,
    entering: VecDeque<u64>,
    queued: VecDeque<u64>,
    acks: VecDeque<(Instant, u64)>,
    last_acked: Option<u64>,
    last_rtt: Duration,
    last_reduction: Option<Instant>,
}

impl Tcp {
    /// A sender whose ACKs arrive this time after packets left the link.
    pub(crate) fn new(round_trip: Duration) -> Self {
        Self {
            round_trip,
            window: INITIAL_WINDOW,
            threshold: f64::INFINITY,
            next: 0,
            in_flight: BTreeMap::new(),
            entering: VecDeque::new(),
            queued: VecDeque::new(),
            acks: VecDeque::new(),
            last_acked: None,
            last_rtt: Duration::ZERO,
            last_reduction: None,
        }
    }

    fn on_ack(&mut self, now: Instant, number: u64) {
        if let Some(sent) = self.in_flight.remove(&number) {
            self.last_rtt = now - sent;
        }
        if number > self.last_acked.map_or(0, |last| last + 1) {
            self.on_loss(now);
        } else if self.window <= self.threshold {
            self.window += 1.0;
        } else {
            self.window += 1.0 / self.window;
        }
        self.last_acked = self.last_acked.max(Some(number));
    }

    fn on_loss(&mut self, now: Instant) {
        if self.last_reduction.is_some_and(|last| now - last < self.last_rtt) {
            return;
        }
        self.last_reduction = Some(now);
        self.threshold = (self.in_flight.len() / 2).max(2) as f64;
        self.window = self.threshold;
    }
}

impl CrossTraffic for Tcp {
    fn step(&mut self, now: Instant) -> u32 {
        while let Some((at, number)) = self.acks.front().copied()
            && at <= now
        {
            self.acks.pop_front();
            self.on_ack(now, number);
        }
        let before = self.in_flight.len();
        self.in_flight.retain(|_, sent| now.saturating_since(*sent) <= TIMEOUT);
        if self.in_flight.len() < before {
            self.on_loss(now);
        }
        let count = (self.window.ceil() as usize).saturating_sub(self.in_flight.len());
        for _ in 0..count {
            self.in_flight.insert(self.next, now);
            self.entering.push_back(self.next);
            self.next += 1;
        }
        count as u32
    }

    fn entered(&mut self, fits: bool) {
        let number = self.entering.pop_front().expect("a packet that was sent");
        if fits {
            self.queued.push_back(number);
        }
    }

    fn left(&mut self, now: Instant) {
        let number = self.queued.pop_front().expect("a packet in the queue");
        self.acks.push_back((now + self.round_trip, number));
    }
}
