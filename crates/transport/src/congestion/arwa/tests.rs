use airlane_core::{Duration, Instant};

use super::*;
use crate::congestion::{CongestionKind, Controller, ControllerSetup, LossEpisode, SegmentWindow};

/// The values of the paper, and the defaults where it leaves a choice.
const CONFIG: ArwaSender = ArwaSender {
    cut: CodeStep::Percent,
    gain: CodeStep::Percent,
    window_min: Bytes(3000),
    upper_target: Bytes(10_000),
    only_changes: false,
    slow_start: SlowStartAfterReduction::GoesOn,
};

fn setup(kind: CongestionKind, codes: ArwaSender) -> ControllerSetup<'static> {
    ControllerSetup { codes: Some(codes), ..ControllerSetup::new(kind) }
}

/// A sender with segments of 500 bytes, in congestion avoidance.
fn sender(config: ArwaSender, segments: u32) -> Controller {
    let stream = airlane_core::Seeds::new(1).stream("congestion");
    let window = SegmentWindow::new(500, segments);
    let mut c = Controller::new(&setup(CongestionKind::NewReno, config), window, stream);
    c.on_window_validation(segments, 2);
    c
}

fn after(config: ArwaSender, segments: u32, codes: &[u8]) -> Vec<u64> {
    let mut c = sender(config, segments);
    let each = |&code: &u8| {
        c.on_code(code);
        c.congestion_window().get()
    };
    codes.iter().map(each).collect()
}

fn ack(delivered_segments: u32) -> AckSample {
    AckSample {
        now: Instant::ZERO,
        delivered_segments,
        may_grow: true,
        window_limited: true,
        max_outstanding_segments: 100,
        outstanding_segments: 100,
        rtt: None,
        srtt: Duration::from_millis(50),
        acked_to: 1,
        sent_to: 2,
    }
}

#[test]
fn codes_below_a_hundred_cut_by_percent_or_bytes() {
    assert_eq!(after(CONFIG, 40, &[60, 25, 1]), [8_000, 6_000, 5_940]);
    let bytes = ArwaSender { cut: CodeStep::Bytes, ..CONFIG };
    assert_eq!(after(bytes, 40, &[60, 25, 1]), [19_940, 19_915, 19_914]);
}

#[test]
fn no_code_cuts_below_the_smallest_window_and_a_smaller_one_is_raised_to_it() {
    for cut in [CodeStep::Percent, CodeStep::Bytes] {
        let config = ArwaSender { cut, ..CONFIG };
        for code in 1..=100 {
            assert_eq!(after(config, 6, &[code]), [3_000]);
            assert_eq!(after(config, 1, &[code]), [3_000]);
            assert!(after(config, 40, &[code; 50]).iter().all(|&window| window >= 3_000));
        }
    }
}

#[test]
fn codes_above_a_hundred_add_and_half_as_much_above_the_upper_target() {
    // 20 % of 10000; the window is then above 10000: 10 % of 12000.
    assert_eq!(after(CONFIG, 20, &[120, 120]), [12_000, 13_200]);
    assert_eq!(after(CONFIG, 20, &[101]), [10_100]);
    let bytes = ArwaSender { gain: CodeStep::Bytes, ..CONFIG };
    assert_eq!(after(bytes, 20, &[120, 120]), [10_120, 10_180]);
    // Codes that do not exist, and one that is not below the window.
    assert_eq!(after(CONFIG, 20, &[0, 121, 255]), [10_000; 3]);
}

#[test]
fn a_repeated_code_can_be_one_too_many() {
    let config = ArwaSender { only_changes: true, ..CONFIG };
    assert_eq!(after(config, 40, &[20, 20, 25, 20]), [16_000, 16_000, 12_000, 9_600]);
}

#[test]
fn slow_start_ends_with_a_cut_if_the_set_up_says_so() {
    for (slow_start, grown) in
        [(SlowStartAfterReduction::GoesOn, 8_500), (SlowStartAfterReduction::Ends, 8_031)]
    {
        let mut c = sender(ArwaSender { slow_start, ..CONFIG }, 40);
        c.on_window_validation(40, u32::MAX);
        c.on_code(60);
        c.on_ack(&ack(1));
        assert_eq!(c.congestion_window(), Bytes(grown)); // one segment, or 500² / 8000 = 31.25
    }
}

#[test]
fn between_codes_it_is_newreno_to_the_byte() {
    let mut c = sender(CONFIG, 20);
    c.on_code(35);
    assert_eq!((c.congestion_window(), c.window_segments()), (Bytes(6_500), 13));
    // 500² / 6500 = 38 bytes at first, 36 at last.
    for _ in 0..13 {
        c.on_ack(&ack(1));
    }
    assert_eq!((c.congestion_window(), c.window_segments()), (Bytes(6_978), 13));
    c.on_ack(&ack(1));
    assert_eq!(c.window_segments(), 14);
    // A loss halves the whole segments; the remainder is lost.
    c.on_loss(&LossEpisode {
        now: Instant::ZERO,
        in_flight_segments: 14,
        window_segments: 14,
        marked: false,
        lost_segments: 1,
        newest_lost: 0,
    });
    c.on_recovery_exit();
    assert_eq!((c.congestion_window(), c.window_segments()), (Bytes(3_500), 7));
}

#[test]
#[should_panic(expected = "codes are obeyed by NewReno")]
fn another_controller_obeys_no_codes() {
    let stream = airlane_core::Seeds::new(1).stream("congestion");
    let window = SegmentWindow::new(500, 10);
    let _ = Controller::new(&setup(CongestionKind::Cubic, CONFIG), window, stream);
}
