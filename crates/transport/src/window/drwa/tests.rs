use super::*;

fn window(floor_segments: u32) -> DrwaWindow {
    let (lambda_millionths, alpha_millionths) = DrwaReceiver::PAPER;
    of(floor_segments, lambda_millionths, alpha_millionths)
}

fn of(floor_segments: u32, lambda_millionths: u64, alpha_millionths: u32) -> DrwaWindow {
    let buffer = ReceiveBuffer::Fixed(Bytes(100_000));
    let receiver = DrwaReceiver { buffer, floor_segments, lambda_millionths, alpha_millionths };
    let mut w = DrwaWindow::new(receiver, Bytes(1000));
    w.on_established(Instant::from_millis(1000));
    w
}

/// A segment that answers a segment that we sent `rtt_ms` ago.
fn arrive(w: &mut DrwaWindow, at_ms: u64, rtt_ms: u64) {
    w.on_data(
        &Arrival {
            now: Instant::from_millis(at_ms),
            bytes: Bytes(1000),
            segments: 1,
            segment_size: Bytes(1000),
            timestamp: None,
            echo: Some((at_ms - rtt_ms) as u32),
        },
        Bytes::ZERO,
    );
}

/// The application has read this amount since the start.
fn read(w: &mut DrwaWindow, at_ms: u64, total: u64) -> u64 {
    let now = Instant::from_millis(at_ms);
    w.on_read(&Read { now, total, queued: 0, rtt: Duration::ZERO, segment_size: Bytes(1000) });
    w.advertise(Bytes::ZERO).get()
}

#[test]
fn what_comes_in_a_round_trip_is_offered_three_times_less_what_queues() {
    let mut w = window(1);
    assert_eq!(w.advertise(Bytes::ZERO), Bytes(100_000), "before the first round trip the buffer");
    arrive(&mut w, 1020, 40);
    assert_eq!(read(&mut w, 1039, 3_000), 100_000);
    assert_eq!(read(&mut w, 1040, 4_000), 12_000); // 3 * 4000
    arrive(&mut w, 1062, 80);
    arrive(&mut w, 1063, 120);
    assert_eq!(read(&mut w, 1070, 9_000), 12_000, "one update per round trip");
    // The mean round trip is 100 ms: (7 * 4000 + 8000) / 8 = 4500, times 3 * 40 / 100.
    assert_eq!(read(&mut w, 1080, 12_000), 5_400);
    // The next one after 100 ms. A shorter round trip is the new minimum: (7 * 4500 + 0) / 8 = 3937.
    arrive(&mut w, 1100, 20);
    assert_eq!(read(&mut w, 1179, 12_000), 5_400);
    assert_eq!(read(&mut w, 1180, 12_000), 11_811);
}

#[test]
fn both_factors_and_the_floor_are_the_set_ups() {
    // λ = 2, α = 1/2: 4000, then (4000 + 8000) / 2 = 6000; minimum round trip 40 ms, mean 100 ms.
    let mut w = of(0, 2_000_000, 500_000);
    arrive(&mut w, 1020, 40);
    assert_eq!(read(&mut w, 1040, 4_000), 8_000); // 2 * 4000
    arrive(&mut w, 1062, 80);
    arrive(&mut w, 1063, 120);
    assert_eq!(read(&mut w, 1080, 12_000), 4_800); // 2 * 6000 * 40 / 100
    // With α = 0 only the last round trip counts: 100 bytes in 500 ms. Without a floor the window is
    // smaller than a segment.
    let mut w = of(0, 3_000_000, 0);
    arrive(&mut w, 1010, 10);
    read(&mut w, 1010, 1_000);
    arrive(&mut w, 1100, 500);
    assert_eq!(read(&mut w, 1600, 1_100), 6); // 3 * 100 * 10 / 500
}

#[test]
fn the_same_answer_gives_one_sample() {
    let mut w = window(1);
    arrive(&mut w, 1020, 20);
    arrive(&mut w, 1120, 120); // the second segment on an ACK of 1000 ms
    assert_eq!((w.rtt_samples, w.rtt_sum), (1, Duration::from_millis(20)));
}

#[test]
fn the_floor_holds_and_the_buffer_bounds() {
    for (floor, smallest) in [(1, 1_000), (2, 2_000)] {
        let mut w = window(floor);
        arrive(&mut w, 1010, 10);
        read(&mut w, 1010, 1_000);
        arrive(&mut w, 1100, 500);
        assert_eq!(read(&mut w, 1600, 1_000), smallest); // 3 * 875 * 10 / 500 = 52
        assert_eq!(w.advertise(Bytes(99_500)), Bytes(500), "no more than there is room for");
    }
}

#[test]
fn without_timestamps_the_time_of_a_window_of_data_counts() {
    let mut w = window(1);
    let read = |w: &mut DrwaWindow, at_ms, total, rtt_ms| {
        let (now, rtt) = (Instant::from_millis(at_ms), Duration::from_millis(rtt_ms));
        w.on_read(&Read { now, total, queued: 0, rtt, segment_size: Bytes(1000) });
        w.advertise(Bytes::ZERO).get()
    };
    assert_eq!(read(&mut w, 1040, 4_000, 0), 100_000, "it is not known yet");
    assert_eq!(read(&mut w, 1050, 5_000, 50), 15_000);
    assert_eq!(read(&mut w, 1150, 10_000, 100), 7_500); // 3 * 5000 * 50 / 100
}
