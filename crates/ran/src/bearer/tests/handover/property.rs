//! Random traffic, losses, reordering on the air and handovers.

use super::*;

/// The state of a run.
pub(in super::super) struct Play {
    pub(in super::super) network: Network,
    draws: Stream,
    /// Blocks on the air: direction, and the time when they are decoded.
    air: VecDeque<(Instant, Direction, Vec<Pdu>)>,
    /// Probability that a block is lost.
    loss: f64,
    /// S1 paths that wait for their end marker, and the times when the gateway switches.
    switches: VecDeque<(Instant, CellId)>,
    /// The cell to which the gateway sends now.
    path: CellId,
    arrives_at: Option<Instant>,
}

impl Play {
    pub(in super::super) fn new(config: &BearerConfig, mode: HandoverMode, seed: u64) -> Self {
        let mut draws = Seeds::new(seed).stream("play");
        Self {
            network: Network::new(config, mode, X2Config { fresh: Bytes(1 << 30), ..X2 }),
            loss: [0.0, 0.1, 0.4][draws.below(3) as usize],
            draws,
            air: VecDeque::new(),
            switches: VecDeque::new(),
            path: CellId(0),
            arrives_at: None,
        }
    }

    /// One millisecond.
    pub(in super::super) fn step(&mut self, traffic: bool) {
        let now = self.network.rig.now + Duration::from_millis(1);
        self.network.advance(now);
        while let Some((_, old)) = self.switches.pop_front_if_due(now) {
            self.network.end_marker(old);
        }
        if self.arrives_at.is_some_and(|at| at <= now) {
            self.arrives_at = None;
            self.network.arrive();
        }
        let due = self.air.iter().take_while(|(at, ..)| *at <= now).count();
        for (_, direction, block) in self.air.drain(..due).collect::<Vec<_>>() {
            if !self.draws.chance(self.loss) {
                self.network.rig.receive_in(direction, &block);
            }
        }
        if traffic {
            for _ in 0..self.draws.below(4) {
                let size = 30 + self.draws.below(1400) as u32;
                self.network.by_gateway(self.path, size);
            }
            for _ in 0..self.draws.below(3) {
                let size = 30 + self.draws.below(1400) as u32;
                self.network.rig.submit_in(UP, size);
            }
        }
        for direction in [DOWN, UP] {
            let grant = 20 + self.draws.below(4000);
            let block = self.network.rig.transmit_in(direction, grant);
            if !block.is_empty() {
                // HARQ: some blocks take 8 ms more.
                let at = now + Duration::from_millis(4 + 8 * self.draws.below(3));
                let index = self.air.partition_point(|(other, ..)| *other <= at);
                self.air.insert(index, (at, direction, block));
            }
        }
    }

    /// The UE moves to another cell, and the path follows some time after its arrival.
    pub(in super::super) fn hand_over(&mut self) {
        let target = CellId((self.network.cell.0 + 1 + self.draws.below(2) as u32) % 3);
        self.air.clear(); // the MAC is reset
        // On the path to one eNB, data of a later path do not overtake an end marker.
        while self.switches.iter().any(|(_, old)| *old == target) {
            let (_, old) = self.switches.pop_front().expect("there is one");
            self.network.end_marker(old);
        }
        self.network.leave(target);
        let now = self.network.rig.now;
        let arrives_at = now + Duration::from_millis(self.draws.below(40));
        self.arrives_at = Some(arrives_at);
        // The gateway switches now, and the old path drains until the end marker.
        let old = core::mem::replace(&mut self.path, target);
        let after_last = self.switches.back().map_or(now, |(at, _)| *at);
        let at = (now + Duration::from_millis(self.draws.below(60))).max(after_last);
        self.switches.push_back((at, old));
    }

    /// Runs until nothing is under way, and a last packet in each direction has ended the sorting.
    pub(in super::super) fn settle(&mut self) {
        self.loss = 0.0;
        for round in 0..2 {
            for _ in 0..20_000 {
                self.step(false);
                let rig = &self.network.rig;
                let quiet = self.air.is_empty() && self.switches.is_empty() && self.arrives_at.is_none();
                if quiet && rig.bearer.packets_held() == 0 && self.network.forwarding.is_idle() {
                    let unconfirmed = [DOWN, UP].map(|d| rig.bearer.unconfirmed(d).count());
                    if unconfirmed == [0, 0] {
                        break;
                    }
                }
            }
            if round == 0 {
                self.network.by_gateway(self.path, 100);
                self.network.rig.submit_in(UP, 100);
            }
        }
        assert!(self.network.rig.bearer.is_settled());
        assert!(self.network.forwarding.is_idle());
        assert_eq!(self.network.rig.bearer.packets_held(), 0);
        self.network.check();
    }
}

trait PopDue {
    fn pop_front_if_due(&mut self, now: Instant) -> Option<(Instant, CellId)>;
}

impl PopDue for VecDeque<(Instant, CellId)> {
    fn pop_front_if_due(&mut self, now: Instant) -> Option<(Instant, CellId)> {
        if self.front()?.0 <= now { self.pop_front() } else { None }
    }
}

/// A run with handovers at intervals between long and none.
pub(in super::super) fn play(config: &BearerConfig, mode: HandoverMode, seed: u64, handovers: u32) -> Rig {
    let mut play = Play::new(config, mode, seed);
    for _ in 0..handovers {
        let pause = match play.draws.below(3) {
            0 => 1 + play.draws.below(5),
            _ => 30 + play.draws.below(150),
        };
        (0..pause).for_each(|_| play.step(true));
        play.hand_over();
    }
    (0..50).for_each(|_| play.step(true));
    play.settle();
    play.network.rig
}

pub(in super::super) fn is_ascending(serials: &[u64]) -> bool {
    serials.is_sorted_by(|a, b| a < b)
}

/// Configurations of a run: quiet and eager polling, with and without a bound, and reports.
fn configuration(mode: HandoverMode, seed: u64) -> BearerConfig {
    let base = BearerConfig { pdcp: NO_DISCARD, ..eager() };
    let queue = RetransmissionQueue { limit: Bytes(20_000), shares_buffer: false, holds_waiting: false };
    let pdcp = PdcpConfig {
        retransmission_queue: (seed % 3 == 1).then_some(queue),
        status_report: seed.is_multiple_of(2),
        ..base.pdcp
    };
    let am = if seed % 5 < 2 { TYPICAL_AM } else { am_of(&base) };
    let rlc = match mode.rlc() {
        RlcMode::Am => RlcConfig::Am(am),
        other => lena(other).rlc,
    };
    BearerConfig { rlc, pdcp, ..base }
}

#[test]
fn lossless_delivers_each_sdu_once_and_in_order() {
    for seed in 0..120 {
        let mode = HandoverMode::Lossless;
        let rig = play(&configuration(mode, seed), mode, seed, 8);
        assert!(rig.delivered.iter().copied().eq(0..rig.submitted), "downlink, seed {seed}");
        assert!(rig.delivered_uplink.iter().copied().eq(0..rig.submitted_uplink), "uplink, seed {seed}");
    }
}

#[test]
fn seamless_delivers_a_part_in_order_and_names_the_rest() {
    for (mode, seeds) in [(HandoverMode::Seamless, 0..120), (HandoverMode::SeamlessUm, 0..120)] {
        let mut dropped = 0;
        for seed in seeds {
            let rig = play(&configuration(mode, seed), mode, seed, 8);
            assert!(is_ascending(&rig.delivered), "downlink, {mode:?}, seed {seed}");
            assert!(is_ascending(&rig.delivered_uplink), "uplink, {mode:?}, seed {seed}");
            let lost = rig.submitted + rig.submitted_uplink
                - (rig.delivered.len() + rig.delivered_uplink.len()) as u64;
            let causes = rig.discarded(DropCause::Handover) + rig.discarded(DropCause::Radio);
            assert_eq!(lost, causes, "{mode:?}, seed {seed}");
            assert_eq!(rig.discarded(DropCause::Handover), rig.bearer.handover_statistics().dropped);
            dropped += causes;
            if mode == HandoverMode::Seamless {
                assert_eq!(rig.discarded(DropCause::Radio), 0);
            }
        }
        assert!(dropped > 1000, "the test drops hardly anything: {dropped}");
    }
}

#[test]
fn ten_thousand_handovers_leave_nothing_behind() {
    for mode in [HandoverMode::Lossless, HandoverMode::Seamless, HandoverMode::SeamlessUm] {
        let mut play = Play::new(&configuration(mode, 4), mode, 4);
        let mut most_held = 0;
        for _ in 0..10_000 {
            (0..1 + play.draws.below(60)).for_each(|_| play.step(false));
            for _ in 0..3 {
                play.network.by_gateway(play.path, 500);
                play.network.rig.submit_in(UP, 500);
            }
            play.step(false);
            play.hand_over();
            most_held = most_held.max(play.network.rig.pool.live());
        }
        play.settle();
        // Each handover has six packets; the packets under way belong to a few handovers.
        assert!(most_held < 1000, "{mode:?}: {most_held} packets at once");
    }
}

#[test]
fn an_x2_that_loses_and_reorders_costs_what_it_loses_and_what_comes_late() {
    let (mut lost, mut late) = (0, 0);
    for seed in 0..60 {
        let mode = HandoverMode::Lossless;
        let mut play = Play::new(&configuration(mode, seed), mode, seed);
        let x2 = X2Config { jitter: Duration::from_millis(20), loss: 0.1, ..X2 };
        play.network.forwarding = Forwarding::new(x2, Seeds::new(seed).stream("x2"));
        (0..200).for_each(|_| play.step(true));
        play.hand_over();
        (0..200).for_each(|_| play.step(true));
        play.settle();
        let rig = &play.network.rig;
        let mut once = rig.delivered.clone();
        once.sort_unstable();
        assert!(is_ascending(&once), "a duplicate, seed {seed}");
        assert!(rig.delivered_uplink.iter().copied().eq(0..rig.submitted_uplink), "seed {seed}");
        let missing = rig.submitted - rig.delivered.len() as u64;
        let causes = [DropCause::RandomLoss, DropCause::Handover].map(|cause| rig.discarded(cause));
        assert_eq!(missing, causes[0] + causes[1], "seed {seed}");
        lost += causes[0];
        late += causes[1];
    }
    assert!(lost > 0 && late > 0, "{lost} lost, {late} late");
}
