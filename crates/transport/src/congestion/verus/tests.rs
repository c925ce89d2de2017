//! Expected values by hand from the code that the module names.

use super::*;
use crate::recovery::Phase;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A sender whose delay is 20 ms and half a millisecond for each packet of the window, with a mean of 40 ms: eight epochs.
fn steady(window: f64, in_flight: u32) -> Verus {
    let mut verus = Verus::new(&SegmentWindow::new(1000, 10));
    (2..100).for_each(|window| verus.measured.add(window, 20.0 + 0.5 * f64::from(window)));
    verus.delays = Delays { maximum: Some(40.0), mean: 40.0, minimum: 20.0, ..Delays::NONE };
    verus.window = window;
    verus.end_slow_start(at(0));
    verus.in_flight = in_flight;
    verus
}

fn assert_near(ours: f64, expected: f64) {
    assert!((ours - expected).abs() < 1e-6, "{ours} and not {expected}");
}

/// 20 + 18 x (2 − 4) / 3 = 8 packets for four epochs, and 20 − 18 = 2 for one. With four epochs there is one left at 28,
/// 20 − 28 x 2/3 = 1.33, and none at 29. With two, the number in flight has no part in it.
#[test]
fn the_packets_of_an_epoch() {
    let mut verus = steady(20.0, 18);
    for (mean, packets, most) in [(20.0, 8.0, 29.0), (5.0, 2.0, 20.0), (10.0, 20.0, 38.0)] {
        verus.delays.mean = mean;
        verus.budget = verus.packets();
        assert_near(verus.budget, packets);
        assert_near(verus.in_flight_max(), most);
    }
    verus.delays.mean = 20.0;
    for (in_flight, packets) in [(28, 1.0), (29, 0.0)] {
        verus.in_flight = in_flight;
        assert_near(verus.packets(), packets);
    }
}

/// From a set point of 40 ms, which is first exceeded by 41 packets: steps of 2 ms up are four packets more, a rise of the
/// delay is 1 ms and two packets less. The mean of the maxima was 40 ms and becomes 0.2 x 40 + 0.8 x 50 = 48 ms.
#[test]
fn the_set_point_moves_by_the_trend_of_the_delay() {
    for (newest, set_point, window, maximum) in [(40.0, 42.0, 44.0, 40.0), (50.0, 39.0, 38.0, 48.0)] {
        let mut verus = steady(40.0, 40);
        assert_near(verus.set_point, 40.0);
        verus.set_point = 40.1; // not on a point of the curve
        verus.delays.epoch_max = Some(newest);
        verus.end_epoch(at(5));
        assert_near(verus.set_point, set_point + 0.1);
        assert_near(verus.window, window);
        assert_near(verus.delays.maximum.expect("an epoch"), maximum);
    }
    // The window is not in use.
    let mut verus = steady(40.0, 19);
    verus.delays.epoch_max = Some(40.0);
    verus.end_epoch(at(5));
    assert_near(verus.set_point, 40.0);
}

/// Above six times the minimum of 20 ms: 2 ms less, whatever the trend. At the minimum nothing is sent, or if fewer than two
/// packets are in flight, the minimum grows by 10 ms.
#[test]
fn a_delay_above_the_ratio_lowers_the_set_point_to_the_minimum() {
    let mut verus = steady(40.0, 40);
    verus.delays.maximum = Some(121.0);
    verus.end_epoch(at(5));
    assert_near(verus.set_point, 38.0);
    verus.delays.maximum = Some(121.0);
    verus.set_point = 21.0;
    verus.end_epoch(at(10));
    assert!(verus.holds);
    let mut window = SegmentWindow::new(1000, 10);
    verus.apply(&mut window);
    assert_eq!(window.segments, 40, "what is in flight");
    verus.delays.maximum = Some(121.0);
    verus.in_flight = 1;
    verus.end_epoch(at(15));
    assert!(!verus.holds);
    assert_near(verus.delays.minimum, 30.0);
}

/// Without acknowledgments, the maximum of an epoch is the time since the last one, if that is more: 0.2 x 40 + 0.8 x 100.
#[test]
fn silence_is_a_delay() {
    let mut verus = steady(40.0, 40);
    verus.delays.latest_at = at(0);
    verus.end_epoch(at(30));
    assert_near(verus.delays.maximum.expect("an epoch"), 40.0);
    verus.end_epoch(at(100));
    assert_near(verus.delays.maximum.expect("an epoch"), 88.0);
}

/// Sent with 50 and lost at 40: 0.7 x 50 = 35 packets, which have a delay of 37.5 ms. Further losses do not count, ACKs
/// grow the window by one in a round trip and do not change the curve, and a packet sent with 35 ends it.
#[test]
fn a_loss_reduces_the_window_of_the_lost_packet_once() {
    let mut verus = steady(40.0, 40);
    verus.on_lost(at(10), 50);
    assert_near(verus.window, 35.0);
    assert_near(verus.set_point, 37.5);
    verus.on_lost(at(11), 40);
    assert_near(verus.window, 35.0);
    verus.on_delay(at(12), 90.0, 60, 7);
    assert_near(verus.window, 35.2);
    assert!(verus.after_loss && verus.measured.curve().expect("points").delay(60.0) < 51.0);
    verus.on_delay(at(13), 37.0, 35, 1);
    assert!(!verus.after_loss);
}

/// Slow start ends with a delay above 500 ms at 0.7 x 60 = 42 packets, or with a loss that leaves more than 20.
#[test]
fn slow_start_ends_with_a_long_delay_or_a_loss() {
    let slow = |window: f64| Verus { mode: Mode::SlowStart, ..steady(window, 10) };
    let mut verus = slow(80.0);
    verus.on_delay(at(10), 500.0, 60, 1);
    assert!(verus.in_slow_start());
    verus.on_delay(at(11), 501.0, 60, 1);
    assert!(!verus.in_slow_start() && verus.after_loss && verus.after_delay);
    assert!((42.0..42.1).contains(&verus.window), "{}", verus.window);
    let mut few = slow(28.0);
    few.on_lost(at(10), 28);
    assert!(few.in_slow_start());
    assert_near(few.window, 19.6);
    let mut more = slow(32.0);
    more.on_lost(at(10), 32);
    assert!(!more.in_slow_start());
    assert_near(more.set_point, 31.2);
}

/// A connection whose first packets are acknowledged after 40 ms doubles its window, and has no pacing rate. Then 5 ms have
/// the packets of an epoch.
#[test]
fn acknowledgments_drive_slow_start_and_epochs_pace() {
    let mut window = SegmentWindow::new(1000, 10);
    let mut verus = Verus::new(&window);
    let sample = |now: u64, in_flight: u32| DeliverySample {
        now: at(now),
        delivered: 1,
        delivered_at: at(now),
        lost: 0,
        newly_delivered: 2,
        newly_lost: 0,
        in_flight,
        prior_in_flight: in_flight + 2,
        window_limited: true,
        rtt: Some(Duration::from_millis(40)),
        srtt: Duration::from_millis(40),
        next_send_at: at(now),
        phase: Phase::Open,
        rate: None,
    };
    for number in 0..10 {
        verus.on_sent(&mut window, &Transmission { now: at(0), number, bytes: airlane_core::Bytes(1000) });
    }
    for pair in 0..5 {
        verus.on_transmission_delivered(2 * pair + 1);
        verus.on_delivery(&mut window, &sample(40, 8 - 2 * pair as u32));
    }
    assert_eq!((window.segments, verus.pacing_rate()), (20, None));
    let mut verus = steady(40.0, 40);
    verus.apply(&mut window);
    // 40 + 40 x (2 − 8) / 7 = 5.7: 5 packets of 1000 bytes in 5 ms are 8 Mbit/s.
    verus.budget = verus.packets();
    verus.apply(&mut window);
    assert_eq!(verus.pacing_rate(), Some(BitRate(8_000_000)));
}
