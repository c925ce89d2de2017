use super::*;

const CONFIG: ArwaReceiver = ArwaReceiver {
    buffer: ReceiveBuffer::Fixed(Bytes(65_536)),
    delay: DelayMeasure::OneWay,
    clock_offset_ns: 0,
    short_segments: false,
    case_two: CaseTwo::Scaled,
    old_code: OldCode::Lessened,
    forget_after: None,
};

fn window(config: ArwaReceiver) -> ArwaWindow {
    let mut w = ArwaWindow::new(config, Bytes(1000));
    w.on_established(Instant::from_millis(1000));
    w
}

/// A segment of `bytes` arrives at `at_ms` after `delay_ms`; it answers a segment that we sent `rtt_ms` ago.
/// Returns the case and the code of the next acknowledgment.
fn take(w: &mut ArwaWindow, at_ms: u64, bytes: u64, delay_ms: u64, rtt_ms: u64) -> Option<(u8, u8)> {
    let arrival = Arrival {
        now: Instant::from_millis(at_ms),
        bytes: Bytes(bytes),
        segments: 1,
        segment_size: Bytes(1000),
        timestamp: Some((at_ms - delay_ms) as u32),
        echo: Some((at_ms - rtt_ms) as u32),
    };
    w.on_data(&arrival, Bytes::ZERO);
    w.take_code().map(|code| (code.case, code.value))
}

/// Full segments of these delays, one every 30 ms after one of 10 ms.
fn codes(config: ArwaReceiver, delays_ms: &[u64]) -> Vec<Option<(u8, u8)>> {
    let mut w = window(config);
    assert_eq!(take(&mut w, 1010, 1000, 10, 20), None, "10 ms are no period");
    let each = |(i, &delay): (usize, &u64)| take(&mut w, 1040 + 30 * i as u64, 1000, delay, delay + 10);
    delays_ms.iter().enumerate().map(each).collect()
}

#[test]
fn the_cases_are_those_of_the_text() {
    // The first period also contains the segment of 10 ms. Then P_d = 100 - 100 * 10 / delay.
    let delays = [10, 100, 1000, 99, 20, 15, 14, 13, 12, 10];
    let expected = [
        Some((3, 120)), // 0
        Some((1, 60)),  // 90: the upper threshold itself
        Some((1, 69)),  // 99
        Some((2, 29)),  // 89.9: half of 59.9
        Some((2, 10)),  // 50: half of 20
        Some((2, 1)),   // 33.3: half of 3.3
        None,           // 28.6
        None,           // 23.1
        Some((3, 103)), // 16.7: 120 - 16.7
        Some((3, 120)),
    ];
    assert_eq!(codes(CONFIG, &delays), expected);
    let difference = ArwaReceiver { case_two: CaseTwo::Difference, ..CONFIG };
    assert_eq!(codes(difference, &delays[..5])[3..], [Some((2, 59)), Some((2, 20))]);
}

#[test]
fn a_mean_over_ten_times_the_least_delay_is_case_one_and_below_a_quarter_more_case_three() {
    // Two segments in a period: the mean of 10 and 190 ms is 100 ms, of 10 and 18.56 ms 14.28 ms.
    let mut w = window(CONFIG);
    take(&mut w, 1010, 1000, 10, 20);
    assert_eq!(take(&mut w, 1040, 1000, 190, 20), Some((1, 60)));
    assert_eq!(take(&mut w, 1050, 1000, 10, 20), None);
    assert_eq!(take(&mut w, 1070, 1000, 14, 20), Some((3, 103))); // mean 12: 16.7
    assert_eq!(take(&mut w, 1080, 1000, 10, 20), None);
    assert_eq!(take(&mut w, 1100, 1000, 15, 20), None); // mean 12.5: 20, the lowest value itself
    assert_eq!(take(&mut w, 1110, 1000, 10, 20), None);
    assert_eq!(take(&mut w, 1130, 1000, 19, 20), Some((2, 1))); // mean 14.5: 31
}

#[test]
fn more_than_fifteen_segments_are_enough_and_later_codes_of_a_period_are_lessened() {
    let run = |old_code| {
        let mut w = window(ArwaReceiver { old_code, ..CONFIG });
        take(&mut w, 1000, 1000, 10, 20);
        take(&mut w, 1030, 1000, 10, 20);
        let mut batch = |at_ms, delay| {
            let codes: Vec<_> = (0..16).map(|_| take(&mut w, at_ms, 1000, delay, 20)).collect();
            assert!(codes[..15].iter().all(Option::is_none));
            codes[15].map(|(_, code)| code)
        };
        // P_d is 50, with code 10, and 75, with code 22.
        let in_a_period = [batch(1035, 20), batch(1040, 40), batch(1045, 40), batch(1050, 20)];
        // A period later one segment is enough, and no code is stored after it.
        let later = take(&mut w, 1085, 1000, 40, 20).map(|(_, code)| code);
        (in_a_period.map(Option::unwrap), later)
    };
    assert_eq!(run(OldCode::Lessened), ([10, 22 - 10, 22 - 12, 10], Some(22)));
    assert_eq!(run(OldCode::Estimated), ([10, 22 - 10, 22, 10], Some(22)));
}

#[test]
fn short_segments_count_only_where_that_is_asked_for() {
    // At the same delay a tenth of the bytes is a tenth of the rate.
    let run = |short_segments| {
        let mut w = window(ArwaReceiver { short_segments, ..CONFIG });
        take(&mut w, 1010, 1000, 10, 20);
        take(&mut w, 1040, 1000, 10, 20);
        take(&mut w, 1070, 100, 10, 20)
    };
    assert_eq!(run(false), None);
    assert_eq!(run(true), Some((1, 60))); // P_d = 90

    // If short segments count, a short one at the start permanently sets a rate without congestion that
    // is too low.
    let run = |short_segments| {
        let mut w = window(ArwaReceiver { short_segments, ..CONFIG });
        take(&mut w, 1010, 100, 10, 20);
        take(&mut w, 1040, 1000, 10, 20);
        take(&mut w, 1070, 1000, 20, 20)
    };
    assert_eq!(run(true), Some((3, 120))); // P_d = 100 - 100 * 50 / 10
    assert_eq!(run(false), Some((2, 10)));
}

#[test]
fn a_clock_that_is_off_spoils_one_way_delays_but_not_relative_ones() {
    let offset = |delay, ms: i64| ArwaReceiver { delay, clock_offset_ns: ms * 1_000_000, ..CONFIG };
    let delays = [10, 100, 20];
    let in_step = codes(CONFIG, &delays);
    // Ahead by 100 ms: 110, 200, 120 ms; P_d = 45 and 8.3.
    let ahead = codes(offset(DelayMeasure::OneWay, 100), &delays);
    assert_eq!(ahead, [Some((3, 120)), Some((2, 7)), Some((3, 111))]);
    // Behind by 200 ms: all delays are at the minimum, and the sender always receives code 120.
    assert_eq!(codes(offset(DelayMeasure::OneWay, -200), &delays), [Some((3, 120)); 3]);
    // Half of the minimum round trip of 20 ms replaces the delay of the empty path, which is 10 ms.
    for ms in [0, 100, -200, 3_600_000] {
        assert_eq!(codes(offset(DelayMeasure::Relative, ms), &delays), in_step, "{ms} ms");
        let round_trip = codes(offset(DelayMeasure::RoundTrip, ms), &delays);
        // 20, 110 and 30 ms: P_d = 81.8 and 33.3.
        assert_eq!(round_trip, [Some((3, 120)), Some((2, 25)), Some((2, 1))], "{ms} ms");
    }
}

#[test]
fn without_timestamps_nothing_is_measured_and_nothing_said() {
    let mut w = window(CONFIG);
    for i in 0..100 {
        let now = Instant::from_millis(1000 + 10 * i);
        let arrival = Arrival {
            now,
            bytes: Bytes(1000),
            segments: 1,
            segment_size: Bytes(1000),
            timestamp: None,
            echo: None,
        };
        w.on_data(&arrival, Bytes::ZERO);
        assert_eq!(w.take_code(), None);
    }
    assert_eq!(w.advertise(Bytes::ZERO), Bytes(65_536));
}

/// The path of a device that moves away: 10 ms, then 100 ms. With a minimum of the session each segment of 100 ms has
/// P_d = 90, so code 60. After 110 ms, at 1130 ms, the minimum is forgotten, and segments are compared with one of
/// 100 ms: P_d = 0, so code 120.
#[test]
fn a_forgotten_minimum_is_sought_again() {
    let delays = [10, 100, 100, 100, 100];
    let kept = [Some((3, 120)), Some((1, 60)), Some((1, 60)), Some((1, 60)), Some((1, 60))];
    assert_eq!(codes(CONFIG, &delays), kept);
    let forgets = ArwaReceiver { forget_after: Some(Duration::from_millis(110)), ..CONFIG };
    let forgotten = [Some((3, 120)), Some((1, 60)), Some((1, 60)), Some((3, 120)), Some((3, 120))];
    assert_eq!(codes(forgets, &delays), forgotten);
}
