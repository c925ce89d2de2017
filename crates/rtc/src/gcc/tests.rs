//! The parts of GCC: figures by hand, and the bounds of libwebrtc's own tests of them.

use airlane_core::{BitRate, Bytes, Duration, Ecn, Instant};

use super::aimd::Aimd;
use super::alr::AlrDetector;
use super::delay_based::DelayBased;
use super::inter_arrival::{Arrival, GroupDelta, InterArrival};
use super::loss_based::{LossBased, LossState};
use super::overuse::BandwidthUsage;
use super::probe_result::{ProbePacket, ProbeResults};
use super::probing::{LimitedBy, ProbeController};
use super::settings::{GccSettings, Grouping, ProbingSettings};
use super::throughput::{Acknowledged, Throughput};
use super::window::CongestionWindow;
use crate::{Bounds, Gcc, PacketKind, PacketReport, Probe, ProbeId, RateController, SentPacket};

const MTU: u64 = 1200;

fn ms(at: u64) -> Instant {
    Instant::from_millis(at)
}

fn kbps(rate: u64) -> BitRate {
    BitRate(rate * 1_000)
}

/// The link and the estimator of libwebrtc's `DelayBasedBweTest` (f3ae3eb, `delay_based_bwe_unittest_helper.cc`): frames of 30
/// a second at the rate of the estimator, each reported when its last packet has arrived.
struct Stream {
    delay_based: DelayBased,
    throughput: Throughput,
    now: Instant,
    link_free: Instant,
    capacity: BitRate,
    /// How far the receiver's clock is ahead.
    offset: Duration,
    rate: BitRate,
}

impl Stream {
    fn new() -> Self {
        let settings = GccSettings::default();
        Self {
            delay_based: DelayBased::new(&settings, kbps(900), kbps(5)),
            throughput: Throughput::new(settings.throughput),
            now: ms(100_000),
            link_free: ms(100_000),
            capacity: kbps(1000),
            offset: Duration::ZERO,
            rate: kbps(900),
        }
    }

    /// Sends a frame and learns from its report, which arrives with its last packet.
    fn frame(&mut self) {
        let sent = self.now;
        let bits = (self.rate.0 + 15) / 30;
        let count = ((bits + 4 * MTU) / (8 * MTU)).max(1);
        let size = Bytes((bits + 4 * count) / (8 * count));
        let mut packets = Vec::new();
        for _ in 0..count {
            self.link_free = self.link_free.max(sent) + self.capacity.transmission_time(size);
            packets.push(Acknowledged { sent, arrived: self.link_free + self.offset, size });
        }
        let reported = self.link_free;
        self.throughput.add(packets.iter().copied());
        let arrivals = packets.iter().map(|one| Arrival { sent, arrived: one.arrived, reported });
        let update = self.delay_based.on_report(reported, arrivals, self.throughput.rate(), None);
        self.rate = update.rate.unwrap_or(self.rate);
        self.now = sent + Duration::from_micros(33_333);
    }

    /// Ten seconds on 1 Mbit/s, or until the estimate has fallen once and exceeds that.
    fn settle(&mut self) {
        let mut fell = false;
        for _ in 0..300 {
            let before = self.rate;
            self.frame();
            fell |= self.rate < before;
            if fell && self.rate > kbps(1000) {
                break;
            }
        }
        assert!((820..=1180).contains(&(self.rate.0 / 1_000)), "{:?}", self.rate);
    }

    /// The capacity falls to 500 kbit/s: how long until the estimate is not above that.
    fn time_to_fall(&mut self) -> u64 {
        self.capacity = kbps(500);
        let start = self.now;
        for _ in 0..100 {
            self.frame();
            if self.rate <= kbps(500) {
                return (self.now - start).as_millis();
            }
        }
        panic!("the estimate stays at {:?}", self.rate);
    }
}

/// `DelayBasedBweTest.CapacityDropOneStream`: within 467 to 533 ms.
#[test]
fn falls_with_the_capacity_in_half_a_second() {
    let mut stream = Stream::new();
    stream.settle();
    let time = stream.time_to_fall();
    assert!((467..=533).contains(&time), "{time} ms");
}

/// `DelayBasedBweTest.CapacityDropPosOffsetChange`: a receiver's clock that jumps by 30 s delays it to 834 to 900 ms.
#[test]
fn falls_later_when_the_clock_of_the_receiver_jumps() {
    let mut stream = Stream::new();
    stream.settle();
    stream.offset = Duration::from_secs(30);
    let time = stream.time_to_fall();
    assert!((834..=900).contains(&time), "{time} ms");
}

fn aimd(start: BitRate, rtt: u64) -> Aimd {
    let settings = GccSettings::default();
    let mut aimd = Aimd::new(settings.aimd, settings.link_capacity, start, kbps(5));
    aimd.set_rtt(Duration::from_millis(rtt));
    aimd
}

/// A packet of an average frame in 2 (RTT + 100 ms): at 500 kbit/s a frame is 2083 B in 2 packets, so 1041.5 B · 8 / 0.3 s.
#[test]
fn increases_by_a_packet_near_the_capacity() {
    for (rate, rtt, expected) in [
        (250, 100, 20_833.0),
        (250, 200, 13_889.0),
        (500, 50, 27_778.0),
        (1000, 100, 20_833.0),
        (2000, 50, 31_746.0),
        (4000, 200, 15_873.0),
    ] {
        let increase = aimd(kbps(rate), rtt).additive_per_second().0 as f64;
        assert!((increase / expected - 1.0).abs() < 0.01, "{rate} kbit/s, {rtt} ms: {increase}");
    }
}

/// ln(1 / 0.3) / ln 1.08 = 15.6 s from 0.3 to 1 Mbit/s.
#[test]
fn increases_by_eight_percent_a_second_far_from_it() {
    let mut aimd = aimd(kbps(300), 100);
    let mut now = ms(1_000);
    while aimd.update(now, BandwidthUsage::Normal, Some(kbps(2000))) < kbps(1000) {
        now += Duration::from_millis(100);
    }
    let time = (now - ms(1_000)).as_secs_f64();
    assert!((time / 15.64 - 1.0).abs() < 0.01, "{time} s");
}

#[test]
fn overuse_takes_the_rate_below_what_is_acknowledged() {
    let mut aimd = aimd(kbps(1000), 100);
    // 0.85 · 900 - 5 kbit/s
    assert_eq!(aimd.update(ms(1_000), BandwidthUsage::Overusing, Some(kbps(900))), kbps(760));
    assert!(!aimd.may_decrease(ms(1_099), kbps(900)));
    assert!(aimd.may_decrease(ms(1_100), kbps(900)));
    // Less than half of the estimate: at once.
    assert!(aimd.may_decrease(ms(1_001), kbps(379)));
    // No more than 1.5 times what is acknowledged, plus 10 kbit/s: no increase from 760.
    assert_eq!(aimd.update(ms(1_200), BandwidthUsage::Normal, Some(kbps(400))), kbps(760));
}

fn arrival(sent: u64, arrived: u64) -> Arrival {
    Arrival { sent: ms(sent), arrived: ms(arrived), reported: ms(arrived + 50) }
}

#[test]
fn groups_are_what_is_sent_within_five_ms_or_arrives_in_a_burst() {
    let mut groups = InterArrival::new(Grouping::default());
    assert_eq!(groups.add(arrival(100, 150)), None);
    assert_eq!(groups.add(arrival(105, 154)), None, "5 ms after the first: the same group");
    assert_eq!(groups.add(arrival(133, 190)), None, "a second group, and no third");
    assert_eq!(groups.add(arrival(143, 193)), None, "later sent by 10 ms, later arrived by 3 ms: a burst");
    // The groups end at 105 and 143 ms, and are complete at 154 and 193 ms.
    assert_eq!(groups.add(arrival(166, 230)), Some(GroupDelta { sent: 38.0, arrived: 39.0 }));
    // A packet from before the group is ignored.
    assert_eq!(groups.add(arrival(140, 231)), None);
}

#[test]
fn the_acknowledged_rate_leaves_out_the_longest_gap() {
    let mut throughput = Throughput::new(GccSettings::default().throughput);
    // 1000 B each 10 ms are 800 kbit/s. The path stops for 200 ms after the tenth, and the rest arrives in order.
    let packets = (0..30).map(|i: u64| Acknowledged {
        sent: ms(10 * i),
        arrived: ms(50 + 10 * i + if i < 10 { 0 } else { 200 }),
        size: Bytes(1_000),
    });
    throughput.add(packets.clone().take(9));
    assert_eq!(throughput.rate(), None, "fewer than 10 packets");
    throughput.add(packets.skip(9));
    assert_eq!(throughput.rate(), Some(kbps(800)));
}

fn probe_result(arrived: impl Fn(u64) -> u64) -> Option<BitRate> {
    let mut results = ProbeResults::new(GccSettings::default().probe_result);
    let id = ProbeId(7);
    results.expect(Probe { id, rate: kbps(800), packets: 5, bytes: Bytes(5_000) });
    for i in 0..5 {
        let (sent, arrived) = (ms(10 * i), ms(100 + arrived(i)));
        results.add(ProbePacket { probe: id, sent, arrived, size: Bytes(1_000) });
    }
    results.take()
}

/// `ProbeBitrateEstimatorTest` of libwebrtc f3ae3eb has the same cases: a path that carries the probe, one that is saturated,
/// one on which it arrives much faster than it was sent.
#[test]
fn a_probe_tells_the_rate_of_the_path() {
    assert_eq!(probe_result(|i| 10 * i), Some(kbps(800)));
    // 1000 B in 20 ms are 400 kbit/s, and 95 % of that is left.
    assert_eq!(probe_result(|i| 20 * i), Some(kbps(380)));
    assert_eq!(probe_result(|i| 4 * i), None);
}

#[test]
fn a_limited_application_is_detected_by_its_budget() {
    let mut alr = AlrDetector::new(GccSettings::default().alr);
    alr.set_estimate(kbps(1000));
    // The budget grows by 65 % of the estimate. At 20 % of it, it grows by 45 % of 125 B/ms and exceeds 80 % of 500 ms · 65 %
    // after 0.8 · 500 · 65 / 45 = 578 ms.
    let mut now = 0;
    while alr.started().is_none() {
        now += 20;
        alr.on_sent(ms(now), Bytes(500));
    }
    assert!((560..=620).contains(&now), "{now} ms");
    // At the estimate it shrinks by 35 % from at most 100 % to 50 %.
    let start = now;
    while alr.started().is_some() {
        now += 20;
        alr.on_sent(ms(now), Bytes(2_500));
    }
    assert!((280..=500).contains(&(now - start)), "{} ms", now - start);
}

/// Packets of 1000 B each 10 ms, of which every `nth` is lost.
fn lossy(first: u64, nth: u64) -> Vec<PacketReport> {
    (first..first + 10)
        .map(|sequence| PacketReport {
            sent: SentPacket {
                sequence,
                at: ms(10 * sequence),
                size: Bytes(1_000),
                kind: PacketKind::Video,
                probe: None,
            },
            arrived: (sequence % nth != 0).then(|| ms(10 * sequence + 50)),
            ecn: Ecn::NotCapable,
        })
        .collect()
}

/// 100 kbit/s / (loss - 5 %) is 667 kbit/s at a loss of 1 in 5.
#[test]
fn the_loss_bounds_the_rate() {
    let mut loss_based = LossBased::new(GccSettings::default().loss, kbps(5), kbps(100_000));
    assert_eq!(loss_based.rate(), None);
    for report in 0..100 {
        loss_based.on_report(&lossy(10 * report, 5), kbps(5_000), false);
    }
    // Bytes are whole after they are weighted.
    let bound = loss_based.upper_bound().0 as f64;
    assert!((bound / 666_667.0 - 1.0).abs() < 1e-3, "{bound}");
    assert!(loss_based.rate().expect("enough observations") <= loss_based.upper_bound());
    assert_eq!(loss_based.state(), LossState::Decreasing);
}

/// Without loss the estimate is that by delay.
#[test]
fn no_loss_is_no_bound() {
    let mut loss_based = LossBased::new(GccSettings::default().loss, kbps(5), kbps(100_000));
    for report in 0..20 {
        loss_based.on_report(&lossy(10 * report + 1, u64::MAX), kbps(900), false);
    }
    assert_eq!(loss_based.rate(), Some(kbps(900)));
    assert_eq!(loss_based.state(), LossState::Delay);
}

#[test]
fn a_full_window_lowers_the_rate_of_the_encoder() {
    let mut window = CongestionWindow::new(GccSettings::default().congestion_window);
    assert_eq!(window.media_rate(kbps(1000)), kbps(1000), "no window yet");
    // (150 + 350 ms) · 1 Mbit/s = 62,500 B
    window.add_round_trip(Duration::from_millis(150));
    window.update(kbps(1000));
    window.set_in_flight(Bytes(62_500));
    assert_eq!(window.media_rate(kbps(1000)), kbps(1000));
    window.on_sent(Bytes(1_000));
    assert_eq!(window.media_rate(kbps(1000)), kbps(950));
    // 5 % of the rate: each 20th frame is dropped.
    assert_eq!(window.encoder_rate(kbps(1000), kbps(950)), kbps(950));
    // 40 %: each second, the most that is dropped.
    assert_eq!(window.encoder_rate(kbps(1000), kbps(600)), kbps(500));
    // Below 1 % nothing is.
    assert_eq!(window.encoder_rate(kbps(1000), kbps(995)), kbps(1000));
    window.set_in_flight(Bytes(6_000));
    assert_eq!(window.media_rate(kbps(1000)), kbps(1000));
}

fn new_gcc() -> Gcc {
    let bounds = Bounds { min: kbps(150), start: kbps(300), max: kbps(5_000) };
    Gcc::new(bounds, GccSettings::default(), ms(10))
}

/// 3 and 6 times the first rate, at least 5 packets and 15 ms.
#[test]
fn starts_with_two_probes() {
    let mut gcc = new_gcc();
    let probes: Vec<Probe> = core::iter::from_fn(|| gcc.take_probe(ms(10))).collect();
    let probe =
        |id, rate, bytes| Probe { id: ProbeId(id), rate: kbps(rate), packets: 5, bytes: Bytes(bytes) };
    assert_eq!(probes, [probe(0, 900, 1_688), probe(1, 1_800, 3_375)]);
    assert_eq!(gcc.pace().rate, Some(kbps(750)), "2.5 times the rate before feedback");
}

/// Packets are sent and no report arrives: from 3 s on the rate falls by 20 % each second, down to the minimum.
#[test]
fn late_feedback_lowers_the_rate() {
    let mut gcc = new_gcc();
    for sequence in 0..1_000 {
        let at = ms(10 + 10 * sequence);
        let packet = SentPacket { sequence, at, size: Bytes(400), kind: PacketKind::Video, probe: None };
        while let Some(timeout) = gcc.next_timeout().filter(|timeout| *timeout <= at) {
            gcc.on_timeout(timeout);
        }
        gcc.on_sent(&packet);
        let expected = match (at - ms(10)).as_millis() {
            ..=3_000 => 300_000,
            3_100..=3_900 => 240_000,
            4_100..=4_900 => 192_000,
            5_200.. => 150_000,
            _ => continue,
        };
        let target = gcc.estimate().0;
        assert!(target == expected || expected == 150_000 && target == 153_600, "{target} at {at:?}");
    }
    assert_eq!(gcc.estimate(), kbps(150));
}

/// The rates of the probes that wait, in kbit/s.
fn waiting(probes: &mut ProbeController) -> Vec<u64> {
    core::iter::from_fn(|| probes.take()).map(|probe| probe.rate.0 / 1_000).collect()
}

#[test]
fn a_result_near_the_probe_is_followed_by_twice_the_estimate() {
    let mut probes = ProbeController::new(ProbingSettings::default(), kbps(300), kbps(5_000), ms(0));
    assert_eq!(waiting(&mut probes), [900, 1_800]);
    // 70 % of 1800 kbit/s is not enough.
    probes.set_estimate(ms(100), kbps(1_260), LimitedBy::Delay);
    assert_eq!(waiting(&mut probes), []);
    probes.set_estimate(ms(200), kbps(1_261), LimitedBy::RisingDelay);
    assert_eq!(waiting(&mut probes), [], "no probe while the delay rises");
    probes.set_estimate(ms(300), kbps(1_800), LimitedBy::Delay);
    assert_eq!(waiting(&mut probes), [3_600]);
    // At the maximum, and then no more.
    probes.set_estimate(ms(400), kbps(3_600), LimitedBy::Delay);
    assert_eq!(waiting(&mut probes), [5_000]);
    probes.set_estimate(ms(500), kbps(5_000), LimitedBy::Delay);
    assert_eq!(waiting(&mut probes), []);
}

#[test]
fn a_result_is_waited_for_a_second() {
    let mut probes = ProbeController::new(ProbingSettings::default(), kbps(300), kbps(5_000), ms(0));
    waiting(&mut probes);
    probes.process(ms(1_001));
    probes.set_estimate(ms(1_002), kbps(1_800), LimitedBy::Delay);
    assert_eq!(waiting(&mut probes), []);
}

#[test]
fn a_limited_application_is_probed_each_five_seconds_if_set() {
    for (periodic_in_alr, expected) in [(true, vec![600]), (false, vec![])] {
        let settings = ProbingSettings { periodic_in_alr, ..ProbingSettings::default() };
        let mut probes = ProbeController::new(settings, kbps(300), kbps(5_000), ms(0));
        waiting(&mut probes);
        probes.set_alr_started(Some(ms(2_000)));
        probes.process(ms(6_999));
        assert_eq!(waiting(&mut probes), []);
        probes.process(ms(7_000));
        assert_eq!(waiting(&mut probes), expected);
    }
}

/// 85 % of the estimate before a drop by more than a third, after the overuse, if the application has limited the rate.
#[test]
fn the_rate_before_a_large_drop_is_probed() {
    let dropped = |in_alr, recovered| {
        let mut probes = ProbeController::new(ProbingSettings::default(), kbps(300), kbps(5_000), ms(0));
        waiting(&mut probes);
        probes.process(ms(1_001));
        probes.set_estimate(ms(2_000), kbps(1_000), LimitedBy::Delay);
        probes.set_alr_started(in_alr);
        probes.set_estimate(ms(3_000), kbps(600), LimitedBy::Delay);
        probes.on_recovery(ms(recovered));
        waiting(&mut probes)
    };
    assert_eq!(dropped(Some(ms(2_000)), 7_999), [850]);
    assert_eq!(dropped(Some(ms(2_000)), 8_000), [], "5 s after the drop");
    assert_eq!(dropped(None, 4_000), [], "a rate that the application does not limit");
}
