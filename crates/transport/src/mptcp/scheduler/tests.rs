use airlane_core::Duration;

use super::*;

fn path(srtt_ms: u64, window: u32, in_flight: u32) -> SchedulerPath {
    let srtt = Duration::from_millis(srtt_ms);
    let sender = SubflowState {
        window,
        ssthresh: 10,
        in_flight,
        segment: 1_000,
        outstanding: Bytes(u64::from(in_flight) * 1_000),
        srtt,
        deviation: Duration::ZERO,
        has_room: in_flight < window,
        in_loss: false,
    };
    SchedulerPath { sender, usable: true, backup: false }
}

fn data(unsent: u64, window: u64) -> SchedulerData {
    SchedulerData { now: Instant::ZERO, segment: Bytes(1_000), unsent: Bytes(unsent), window: Bytes(window) }
}

#[test]
fn the_fastest_path_with_room_is_chosen_and_a_backup_last() {
    let mut paths = [path(50, 10, 0), path(20, 10, 10), path(5, 10, 0)];
    paths[2].backup = true;
    let data = data(u64::MAX, 1 << 20);
    assert_eq!(MinRtt.select(&paths, &data), Some(0));
    paths[1].sender.has_room = true;
    assert_eq!(MinRtt.select(&paths, &data), Some(1));
    paths[0].usable = false;
    paths[1].usable = false;
    assert_eq!(MinRtt.select(&paths, &data), Some(2));
}

#[test]
fn weights_and_turns() {
    let paths = [path(50, 10, 0), path(20, 10, 0)];
    let data = data(u64::MAX, 1 << 20);
    let choices = |kind: SchedulerKind| {
        let mut scheduler = kind.make();
        (0..8).filter(|_| scheduler.select(&paths, &data) == Some(0)).count()
    };
    assert_eq!(choices(SchedulerKind::RoundRobin), 4);
    assert_eq!(choices(SchedulerKind::Weighted(vec![3, 1])), 6);
    assert_eq!(choices(SchedulerKind::MinRtt), 0);
}

/// After 40 segments, 30 on the first, the second path is lost for 100 segments, and returns to every fourth of the next 40.
#[test]
fn a_path_that_returns_has_its_weight_at_once() {
    let mut paths = [path(50, 10, 0), path(20, 10, 0)];
    let mut scheduler = SchedulerKind::Weighted(vec![3, 1]).make();
    let mut on_the_second = |paths: &[SchedulerPath], segments: usize| {
        let chosen = |_: &usize| scheduler.select(paths, &data(u64::MAX, 1 << 20)) == Some(1);
        (0..segments).filter(chosen).count()
    };
    assert_eq!(on_the_second(&paths, 40), 10);
    paths[1].usable = false;
    assert_eq!(on_the_second(&paths, 100), 0);
    paths[1].usable = true;
    assert_eq!(on_the_second(&paths, 40), 10);
}

/// The fast path has its window of ten segments in flight. In the 100 ms of the slow path it sends
/// 6 rounds (100 / 20 + 1) of 11 + 2 segments (ssthresh + 1, and half of five rounds), times λ: 78 × 1.2 = 93.6 kB. The
/// slow path adds 1 kB, so that a window of 94 kB is too small and one of 95 kB is not.
#[test]
fn blest_leaves_the_window_to_the_fast_path() {
    let paths = [path(20, 10, 10), path(100, 10, 0)];
    let select = |window| Blest::default().select(&paths, &data(u64::MAX, window));
    assert_eq!((select(94_000), select(95_000)), (None, Some(1)));
}

/// Both have ten segments of 1 kB in their windows, and are past slow start: 1.2 × 10 kB in 20 ms is 600 kB/s, and in 100 ms it is
/// 120 kB/s. With 3 kB and 1 kB not acknowledged, the queues last 5.0 and 8.3 ms; with 6 kB and 1 kB, 10.0 and 8.3 ms.
#[test]
fn linux_gives_bursts_to_the_queue_that_ends_first() {
    let select = |fast: u32, slow: u32| {
        SchedulerKind::Linux
            .make()
            .select(&[path(20, 10, fast), path(100, 10, slow)], &data(u64::MAX, 1 << 20))
    };
    assert_eq!((select(3, 1), select(6, 1)), (Some(0), Some(1)));
    // The queue of the slow subflow ends first, but its window has no room: 10 kB last 83.3 ms there, and 51 kB 85 ms.
    let mut fast = path(20, 10, 9);
    fast.sender.outstanding = Bytes(51_000);
    let waits = SchedulerKind::Linux.make().select(&[fast, path(100, 10, 10)], &data(u64::MAX, 1 << 20));
    assert_eq!(waits, None);
    // A burst of 65,428 bytes is 66 segments of 1 kB, and continues when the queue is longer than the other one.
    let mut scheduler = SchedulerKind::Linux.make();
    let roomy = [path(20, 100, 0), path(20, 100, 50)];
    assert_eq!(scheduler.select(&roomy, &data(u64::MAX, 1 << 20)), Some(0));
    let later = [path(20, 100, 99), path(20, 100, 50)];
    let rest = (0..66).filter(|_| scheduler.select(&later, &data(u64::MAX, 1 << 20)) == Some(0)).count();
    assert_eq!(rest, 65);
}

/// Fast: 10 ms, 10 segments. Slow: 100 ms, 10 segments. With 20 kB left the fast path is done after
/// 10 ms × (20 + 10) / 10 = 30 ms, earlier than a segment on the slow one (100 ms), which needs 200 ms for all: wait.
/// With 200 kB it takes 210 ms, more than 100 ms: send on the slow path too.
#[test]
fn ecf_waits_for_the_fast_path_near_the_end() {
    let paths = [path(10, 10, 10), path(100, 10, 0)];
    let select = |unsent| Ecf::default().select(&paths, &data(unsent, 1 << 20));
    assert_eq!((select(20_000), select(200_000)), (None, Some(1)));
}
