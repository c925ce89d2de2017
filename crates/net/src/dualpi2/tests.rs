use airlane_core::{FlowId, Seeds};

use super::*;
use crate::bench_top::{BenchTop, packet};

const MS: u64 = 1_000_000;
/// Bytes of a packet.
const SIZE: u32 = 1_500;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Queues that a test feeds and serves.
struct Rig {
    top: BenchTop,
    queues: DualPi2,
    /// Packets that left, were marked, and arrived: of the L queue, then of the C queue.
    left: [u64; 2],
    marked: [u64; 2],
    arrived: [u64; 2],
    /// The sum and the maximum of the waiting times.
    waited: [Duration; 2],
    longest: [Duration; 2],
}

impl Rig {
    fn new(parameters: Parameters) -> Self {
        Self::limited(parameters, Limit::NONE)
    }

    fn limited(parameters: Parameters, limit: Limit) -> Self {
        let queues = DualPi2::new(limit, parameters, Seeds::new(7).stream("dualpi2"));
        Self {
            top: BenchTop::new(),
            queues,
            left: [0; 2],
            marked: [0; 2],
            arrived: [0; 2],
            waited: [Duration::ZERO; 2],
            longest: [Duration::ZERO; 2],
        }
    }

    /// A packet of flow 0 has ECT(1), of flow 1 nothing, of flow 2 ECT(0).
    fn arrive(&mut self, now_ns: u64, flow: u32) {
        let mut fresh = packet(FlowId(flow), SIZE, Instant::from_nanos(now_ns));
        fresh.ecn = [Ecn::Capable1, Ecn::NotCapable, Ecn::Capable0][flow as usize];
        self.arrived[usize::from(flow > 0)] += 1;
        let fresh = self.top.pool.insert(fresh);
        let queues = &mut self.queues;
        self.top.call(now_ns, |cx| queues.enqueue(cx, fresh, Bytes::ZERO));
    }

    /// The flow of the packet that leaves, and whether it carries CE.
    fn serve(&mut self, now_ns: u64) -> Option<(u32, bool)> {
        let queues = &mut self.queues;
        let head = self.top.call(now_ns, |cx| queues.dequeue(cx))?;
        let packet = self.top.pool.consume(head.packet);
        let (queue, marked) = (usize::from(packet.flow.0 > 0), packet.ecn == Ecn::CongestionExperienced);
        self.left[queue] += 1;
        self.marked[queue] += u64::from(marked);
        let waited = Instant::from_nanos(now_ns) - head.since;
        self.waited[queue] += waited;
        self.longest[queue] = self.longest[queue].max(waited);
        Some((packet.flow.0, marked))
    }

    /// Arrivals at constant rates, in packets per packet time, at a link of this packet time.
    fn load(&mut self, packet_ns: u64, packets: u64, rates: [(u32, f64); 2]) {
        self.load_from(0, packet_ns, packets, rates);
    }

    fn load_from(&mut self, first: u64, packet_ns: u64, packets: u64, rates: [(u32, f64); 2]) {
        let mut due = [0.0; 2];
        for number in first..first + packets {
            for (due, (flow, rate)) in due.iter_mut().zip(rates) {
                *due += rate;
                while *due >= 1.0 {
                    *due -= 1.0;
                    self.arrive(number * packet_ns, flow);
                }
            }
            self.serve(number * packet_ns);
        }
    }

    fn forget(&mut self) {
        (self.left, self.marked, self.arrived) = ([0; 2], [0; 2], [0; 2]);
        (self.waited, self.longest) = ([Duration::ZERO; 2], [Duration::ZERO; 2]);
    }
}

/// Parameters in which only the coupled signals act on the L queue.
fn coupled_only() -> Parameters {
    Parameters { threshold: Duration::from_secs(100), ..Parameters::default() }
}

#[test]
fn the_parameters_are_those_that_linux_derives() {
    let text = include_str!("linux_cases.csv");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    assert_eq!(rows.len(), 10);
    for row in rows {
        let number = |at: usize| row[at].parse::<f64>().expect("a number");
        let round_trip = |at: usize| ms(row[at].parse().expect("whole milliseconds"));
        let typical = (!row[2].is_empty()).then(|| round_trip(2));
        let Gains { target, update, alpha, beta } = Gains::for_round_trips(round_trip(3), typical);
        // The file has six digits.
        let near = |found: f64, at: usize| {
            assert!((found / number(at) - 1.0).abs() < 1e-5, "{}: {found} for {}", row[0], row[at]);
        };
        near(target.as_secs_f64() * 1e3, 4);
        near(update.as_secs_f64() * 1e3, 5);
        near(alpha, 6);
        near(beta, 7);
        for (gain, first) in [(alpha, 8), (beta, 9)] {
            // tc sends whole 1/256 Hz; the kernel keeps a fraction of 2^32 - 1 per 256 ns; tc shows that.
            let netlink = (gain * 256.0).floor();
            let kernel = (netlink * ((u64::from(u32::MAX) / 4) as f64) / 1e9).floor();
            let shown = (kernel * 4e9 / f64::from(u32::MAX)).floor() / 256.0;
            assert_eq!((netlink, kernel), (number(first), number(first + 2)), "{}", row[0]);
            assert!((shown - number(first + 4)).abs() < 1e-6, "{}: {shown}", row[0]);
        }
    }
}

#[test]
fn the_probability_moves_with_the_distance_and_the_trend() {
    let mut controller = Controller::new(Gains::default(), 2.0, Overload::Drop);
    controller.update(ms(65));
    // 0.16 * (0.065 - 0.015) + 3.2 * (0.065 - 0) = 0.216.
    assert!((controller.base() - 0.216).abs() < 1e-12);
    assert!((controller.classic() - 0.046_656).abs() < 1e-12);
    assert!((controller.coupled() - 0.432).abs() < 1e-12);
    controller.update(ms(25));
    // 0.216 + 0.16 * 0.010 - 3.2 * 0.040 = 0.0896.
    assert!((controller.base() - 0.0896).abs() < 1e-12);
    controller.update(Duration::from_secs(4));
    assert!(controller.base() == 1.0 && controller.is_overloaded() && controller.coupled() == 1.0);
    // Without drops, the coupled probability is 1 at most, which is not overload.
    let mut controller = Controller::new(Gains::default(), 2.0, Overload::Overflow);
    controller.update(Duration::from_secs(4));
    assert!(controller.base() == 0.5 && !controller.is_overloaded());
}

/// Over a grid of rates and loads, the C queue is offered more than it can get, so that the controller must
/// drop `1 - 1/load` of it. The mark probability of the L queue then is k times the square root of that.
#[test]
fn the_signals_of_both_queues_are_coupled_by_the_square() {
    for mbps in [4, 12, 40, 120] {
        for load in [1.05, 1.1, 1.2] {
            for coupling in [1.5, 2.0] {
                let packet_ns = 12_000 * 1_000 / mbps;
                let mut rig = Rig::new(Parameters { coupling, ..coupled_only() });
                let rates = [(0, 0.05), (1, (load - 0.05))];
                rig.load(packet_ns, 40_000, rates);
                rig.forget();
                rig.load_from(40_000, packet_ns, 400_000, rates);
                let dropped = 1.0 - rig.left[1] as f64 / rig.arrived[1] as f64;
                let marked = rig.marked[0] as f64 / rig.left[0] as f64;
                let base = marked / coupling;
                let expected = base * base;
                // 20,000 draws of the L queue at about 0.4 to 0.9.
                assert!(
                    (dropped / expected - 1.0).abs() < 0.1,
                    "{mbps} Mbit/s, load {load}, k {coupling}: p_C {dropped:.4}, (p_L/k)^2 {expected:.4}"
                );
                // The C queue is near its target.
                let delay = rig.waited[1].as_secs_f64() * 1e3 / rig.left[1] as f64;
                assert!((10.0..20.0).contains(&delay), "{delay:.1} ms at {mbps} Mbit/s, load {load}");
            }
        }
    }
}

#[test]
fn a_burst_is_marked_where_it_waits_longer_than_the_threshold() {
    // 20 packets at once, one leaves per millisecond: packet n (from 0) waits n milliseconds. Every
    // 100 ms, for 100 bursts. The mean delay is far below the target, so p' stays at 0.
    let bursts = |parameters: Parameters| {
        let mut rig = Rig::new(parameters);
        for burst in 0..100 {
            (0..20).for_each(|_| rig.arrive(burst * 100 * MS, 0));
            for number in 0..100 {
                rig.serve((burst * 100 + number) * MS);
            }
        }
        assert_eq!((rig.left, rig.queues.statistics().managed_drops), ([2_000, 0], 0));
        rig.marked[0]
    };
    let step = Parameters::default();
    let only_step = Parameters { gains: Gains { alpha: 0.0, beta: 0.0, ..Gains::default() }, ..step };
    assert_eq!(bursts(only_step), 100 * 18); // all but the packets that waited 0 and 1 ms
    // The ramp from 4 to 14 ms: a packet that waits 4 + n ms is marked with n / 10, for n of 1 to 9, and
    // 5 packets are always marked: 4.5 + 6 per burst (14 to 19 ms).
    let ramp = Parameters { threshold: ms(4), ramp: ms(10), ..only_step };
    let marks = bursts(ramp);
    assert!((950..1_150).contains(&marks), "{marks}");
    // A single packet in the queue is exempt: the last of a burst.
    assert_eq!(bursts(Parameters { min_packets: 1, ..only_step }), 100 * 17);
    // The controller adds few marks: it sees a queue at some of its updates only.
    assert!(bursts(step) >= 100 * 18);
}

#[test]
fn a_flood_that_does_not_respond_takes_no_more_than_a_single_queue_would_give() {
    // ECT(1) at 150 % of the link, classic packets at 20 %: both queues lose 1 - 1/1.7 = 41 %.
    let mut rig = Rig::new(Parameters::default());
    let rates = [(0, 1.5), (1, 0.2)];
    rig.load(MS, 20_000, rates);
    rig.forget();
    rig.load_from(20_000, MS, 100_000, rates);
    for queue in 0..2 {
        let kept = rig.left[queue] as f64 / rig.arrived[queue] as f64;
        assert!((kept - 1.0 / 1.7).abs() < 0.03, "queue {queue} keeps {kept:.3}");
        let delay = rig.waited[queue].as_secs_f64() * 1e3 / rig.left[queue] as f64;
        assert!(delay < 20.0, "queue {queue} waits {delay:.1} ms");
    }
    // The packets of the L queue that are not dropped are marked while p' is above one half; it is 0.64 on average.
    let marked = rig.marked[0] as f64 / rig.left[0] as f64;
    assert!(marked > 0.9, "{marked:.3}");
}

#[test]
fn without_drops_at_overload_the_scheduler_protects_the_classic_queue() {
    // The queues are full of the flood. Of the classic packets, which arrive at 5 % of the link and just
    // after a packet has left, p_C = (1/k)^2 = 25 % are dropped, and no others.
    let parameters = Parameters { overload: Overload::Overflow, ..Parameters::default() };
    let mut rig = Rig::limited(parameters, Limit::packets(100));
    let rates = [(1, 0.05), (0, 1.5)];
    rig.load(MS, 20_000, rates);
    rig.forget();
    let before = rig.queues.statistics();
    rig.load_from(20_000, MS, 200_000, rates);
    let kept = rig.left[1] as f64 / rig.arrived[1] as f64;
    assert!((kept - 0.75).abs() < 0.02, "{kept:.3}");
    let dropped = rig.queues.statistics().managed_drops - before.managed_drops;
    assert!(dropped.abs_diff(rig.arrived[1] - rig.left[1]) <= 1); // one may have waited before
    // At most ten packets of the L queue leave before each of them.
    let [l, c] = rig.longest;
    assert!(c <= ms(12) && l >= ms(90), "L {l}, C {c}");
    assert_eq!(rig.marked[0], rig.left[0]);
}

#[test]
fn both_queues_get_their_weights_while_both_wait() {
    let parameters = Parameters {
        gains: Gains { alpha: 0.0, beta: 0.0, ..Gains::default() },
        scheduler: Scheduler::WeightedRoundRobin { classic: 0.25 },
        ..coupled_only()
    };
    let mut rig = Rig::new(parameters);
    (0..1_000).for_each(|_| rig.arrive(0, 0));
    (0..1_000).for_each(|_| rig.arrive(0, 1));
    (0..400).for_each(|at| _ = rig.serve(at));
    assert_eq!(rig.left, [300, 100]);
}

#[test]
fn a_time_shifted_fifo_serves_the_older_head() {
    let scheduler = Scheduler::TimeShiftedFifo { shift: ms(10) };
    let mut rig = Rig::new(Parameters { scheduler, ..coupled_only() });
    rig.arrive(0, 1);
    rig.arrive(10 * MS, 0);
    rig.arrive(11 * MS, 1);
    rig.arrive(22 * MS, 0);
    let order: Vec<_> = core::iter::from_fn(|| rig.serve(23 * MS)).map(|(flow, _)| flow).collect();
    assert_eq!(order, [0, 1, 1, 0]); // 10 <= 0 + 10, then 22 > 0 + 10 and 22 > 11 + 10
}

#[test]
fn the_field_chooses_the_queue_and_the_signal() {
    let mut rig = Rig::new(Parameters::default());
    for flow in [1, 2, 0] {
        rig.arrive(0, flow);
    }
    let packets = |rig: &Rig| rig.queues.backlogs().map(|backlog| backlog.packets);
    assert_eq!(packets(&rig), [1, 2]);
    assert_eq!(rig.serve(0), Some((0, false)));
    // Any ECT in the L queue.
    let mut rig = Rig::new(Parameters { any_ect: true, ..Parameters::default() });
    (0..3).for_each(|flow| rig.arrive(0, flow));
    assert_eq!(packets(&rig), [2, 1]);
    // At 1.5 times the link, the C queue with ECT(0) is marked up to overload, and dropped beyond.
    let mut rig = Rig::new(coupled_only());
    rig.load(MS, 50_000, [(2, 1.5), (0, 0.0)]);
    let statistics = rig.queues.statistics();
    assert!(statistics.marks > 10 && statistics.managed_drops > 20_000, "{statistics:?}");
}

#[test]
fn a_prediction_marks_when_a_packet_arrives() {
    // One packet leaves per millisecond, and the window is 80 ms: the rate is known after 20 ms of backlog.
    let delay = Delay::Predicted { window: ms(80) };
    let gains = Gains { alpha: 0.0, beta: 0.0, ..Gains::default() };
    let mut rig = Rig::new(Parameters { delay, gains, threshold: ms(5), ..Parameters::default() });
    (0..4).for_each(|_| rig.arrive(0, 0));
    for at in 0..60 {
        rig.arrive(at * MS + 1, 0);
        rig.serve(at * MS + 2);
    }
    assert_eq!(rig.marked[0], 0); // 4 packets and the own one: 5 ms at most
    rig.arrive(60 * MS, 0); // 5 packets wait
    rig.arrive(60 * MS, 0); // 6 packets
    let marks: Vec<_> = core::iter::from_fn(|| rig.serve(61 * MS)).map(|(_, marked)| marked).collect();
    assert_eq!(marks, [false, false, false, false, false, true]);
}

/// A radio scheduler serves a UE in turns: here every 10 ms, with room for 20 packets. One packet arrives per
/// millisecond, so each turn empties the queue, and there is no congestion. In a turn, packets have waited for
/// 0 to 9 ms.
#[test]
fn marks_of_a_queue_that_is_emptied_in_turns() {
    let marked = |parameters: Parameters, per_ms: u64| {
        let mut rig = Rig::new(parameters);
        for at in 0..100_000 {
            (0..per_ms).for_each(|_| rig.arrive(at * MS, 0));
            if at % 10 == 9 {
                (0..20).for_each(|_| _ = rig.serve(at * MS));
            }
        }
        rig.marked[0] as f64 / rig.left[0] as f64
    };
    // A step of 1 ms sees congestion in 8 of 10 packets.
    assert_eq!(marked(Parameters::default(), 1), 0.8);
    // The ramp from 4 to 14 ms: 1, 2, 3, 4 and 5 tenths of the packets that waited 5 to 9 ms, so 15 %.
    let ramp = Parameters { threshold: ms(4), ramp: ms(10), ..Parameters::default() };
    let gains = Gains { alpha: 0.0, beta: 0.0, ..Gains::default() };
    let alone = marked(Parameters { gains, ..ramp }, 1);
    assert!((alone - 0.15).abs() < 0.005, "{alone}");
    // The controller sees a delay that changes by up to 9 ms between its updates, and p' is not negative: the
    // coupled probability is above zero on average.
    assert!((alone + 0.003..alone + 0.02).contains(&marked(ramp, 1)), "{}", marked(ramp, 1));
    // A prediction has no sample of a rate, because the queue never limits it.
    let delay = Delay::Predicted { window: ms(80) };
    let predicted = Parameters { delay, threshold: ms(10), ..Parameters::default() };
    assert_eq!(marked(Parameters { gains, ..predicted }, 1), 0.0);
    // At three packets per millisecond there is congestion, and all mark.
    for parameters in [Parameters::default(), ramp, predicted] {
        assert!(marked(parameters, 3) > 0.95, "{parameters:?}");
    }
}

#[test]
fn a_limit_holds_for_both_queues_together() {
    let parameters = Parameters { packets: 10, ..Parameters::default() };
    let mut rig = Rig::limited(parameters, Limit::bytes(Bytes(8 * u64::from(SIZE))));
    (0..12).for_each(|number| rig.arrive(0, number % 2));
    assert_eq!(rig.queues.backlog(), Backlog { bytes: Bytes(12_000), packets: 8 });
    assert_eq!(rig.queues.statistics().overflows, 4);
    let mut rig = Rig::new(parameters);
    (0..12).for_each(|number| rig.arrive(0, number % 2));
    assert_eq!((rig.queues.backlog().packets, rig.queues.statistics().overflows), (10, 2));
}

#[test]
fn updates_are_made_up_for_exactly() {
    // One is called each millisecond, the other only when packets arrive or leave.
    let (mut diligent, mut lazy) = (Rig::new(Parameters::default()), Rig::new(Parameters::default()));
    let mut stream = Seeds::new(2).stream("arrivals");
    for at in 0..20_000_u64 {
        let now = at * MS;
        diligent.queues.catch_up(Instant::from_nanos(now));
        let arrives = stream.chance(if (at / 2_000).is_multiple_of(2) { 0.06 } else { 0.001 });
        let flow = u32::from(stream.chance(0.5));
        let leaves = stream.chance(0.03);
        for rig in [&mut diligent, &mut lazy] {
            if arrives {
                rig.arrive(now, flow);
            }
            if leaves {
                rig.serve(now);
            }
        }
        assert_eq!(diligent.queues.backlogs(), lazy.queues.backlogs());
    }
    lazy.queues.catch_up(Instant::from_nanos(20_000 * MS));
    diligent.queues.catch_up(Instant::from_nanos(20_000 * MS));
    assert_eq!(diligent.queues.controller.base().to_bits(), lazy.queues.controller.base().to_bits());
    assert_eq!(diligent.queues.updates, lazy.queues.updates);
    assert_eq!(diligent.queues.statistics(), lazy.queues.statistics());
    assert!(lazy.queues.statistics().managed_drops > 10);
}
