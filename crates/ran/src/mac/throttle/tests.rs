use super::*;

const LIMIT: Bytes = Bytes(1000);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Three bearers within 100 ms; decrease over 200 ms, held for 300 ms.
fn config(by: ThrottleBy) -> ThrottleConfig {
    let [within, ramp, hold] = [100, 200, 300].map(Duration::from_millis);
    ThrottleConfig { bearers: 3, within, ramp, hold, by }
}

/// One bearer set up at time 0, and three more 1 ms apart from 1000 ms on: a share of 1/4.
fn crowd(by: ThrottleBy) -> Throttle {
    let mut throttle = Throttle::new(config(by), 8);
    throttle.packet(ms(0), 0);
    for ue in 1..=3 {
        throttle.packet(ms(999 + u64::from(ue)), ue);
    }
    throttle
}

/// Slots in `from..until` (ms) in which a UE takes part.
fn slots(throttle: &mut Throttle, ue: u32, from: u64, until: u64) -> usize {
    let take_part = |&at: &u64| {
        throttle.begin_slot(ms(at));
        throttle.is_open() || !throttle.is_restricted(ue)
    };
    (from..until).filter(take_part).count()
}

#[test]
fn old_bearers_are_left_with_what_would_be_theirs() {
    let throttle = crowd(ThrottleBy::Share);
    // From 1002 ms, when the third was set up: all, 5/8 half-way, 1/4 after 200 ms, all after 500 ms.
    for (at, eighths) in [(1002, 8), (1102, 5), (1202, 2), (1501, 2)] {
        assert_eq!(throttle.left(ms(at)), WHOLE / 8 * eighths, "{at}");
    }
    assert!(throttle.is_old(0) && !throttle.is_old(1) && !throttle.is_old(3) && !throttle.is_old(7));
}

#[test]
fn old_ues_take_part_in_their_share_of_the_slots() {
    let mut throttle = crowd(ThrottleBy::Share);
    // The mean of the ramp is 5/8: 125 of 200 slots. Then 1/4.
    let ramp = slots(&mut throttle, 0, 1002, 1202);
    assert!((124..=126).contains(&ramp), "{ramp}");
    assert_eq!(slots(&mut throttle, 0, 1202, 1402), 50);
    assert_eq!(slots(&mut throttle, 1, 1402, 1502), 100, "a new one is never held back");
    assert_eq!(slots(&mut throttle, 0, 1502, 1602), 100, "it is over");
    assert!(throttle.admits(ms(1202), 0, Bytes(1000), LIMIT), "queues are left alone");
}

#[test]
fn queues_of_old_bearers_are_left_with_their_share() {
    let mut throttle = crowd(ThrottleBy::Queue);
    for (at, room) in [(1002, 1000), (1102, 625), (1202, 250), (1501, 250)] {
        assert!(throttle.admits(ms(at), 0, Bytes(room), LIMIT), "{at}");
        assert!(!throttle.admits(ms(at), 0, Bytes(room + 1), LIMIT), "{at}");
    }
    assert!(throttle.admits(ms(1202), 1, LIMIT, LIMIT));
    assert_eq!(slots(&mut throttle, 0, 1202, 1302), 100, "the slots are left alone");
    throttle.begin_slot(ms(1502));
    assert!(throttle.admits(ms(1502), 0, LIMIT, LIMIT), "it is over");
}

#[test]
fn those_that_follow_lower_the_share() {
    let mut throttle = crowd(ThrottleBy::Share);
    for ue in 4..8 {
        throttle.packet(ms(1100), ue);
    }
    throttle.packet(ms(1101), 7); // not its first packet
    assert_eq!(throttle.left(ms(1202)), WHOLE / 8);
    // Two leave: 1 of 6. The old one leaves: no old bearer is left.
    throttle.forget(1);
    throttle.forget(7);
    assert_eq!(throttle.left(ms(1202)), WHOLE - (WHOLE - WHOLE / 6));
    throttle.forget(0);
    assert!(!throttle.is_old(0));
}

#[test]
fn too_few_too_slow_or_with_nobody_there_is_no_crowd() {
    let mut throttle = Throttle::new(config(ThrottleBy::Share), 8);
    for ue in 0..3 {
        throttle.packet(ms(5), ue); // all are new
    }
    assert!(throttle.episode.is_none());
    for (ue, at) in [(3, 1000), (4, 1050), (5, 1101)] {
        throttle.packet(ms(at), ue); // not within 100 ms
    }
    assert!(throttle.episode.is_none());
    throttle.packet(ms(1150), 6); // 1050, 1101, 1150
    assert!(throttle.episode.is_some_and(|e| (e.old, e.new, e.first_new) == (4, 3, ms(1050))));
}

#[test]
fn bearers_can_be_set_up_before_they_have_packets() {
    let mut throttle = Throttle::new(config(ThrottleBy::Share), 8);
    for (at, ue) in [(1020, 3), (1000, 1), (1010, 2)] {
        throttle.announce(ms(at), ue);
    }
    throttle.packet(ms(0), 0);
    throttle.begin_slot(ms(1019));
    assert!(throttle.episode.is_none());
    throttle.begin_slot(ms(1025));
    assert!(throttle.episode.is_some_and(|e| (e.old, e.new, e.since) == (1, 3, ms(1020))));
    throttle.packet(ms(1030), 1); // already counted
    assert_eq!(throttle.left(ms(1220)), WHOLE / 4);
}
