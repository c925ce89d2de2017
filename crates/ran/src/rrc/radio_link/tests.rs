use super::*;

/// Linear SINR of this value in dB.
fn sinr(db: f64) -> f32 {
    libm::pow(10.0, db / 10.0) as f32
}

const GOOD: f64 = 10.0;
/// Half of all messages are missed.
const HALF: f64 = -8.07;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Observes a SINR in each radio frame from `from` on, until `until`.
fn watch(link: &mut RadioLink, from: u64, until: u64, db: f64) {
    for at in (from..=until).step_by(10) {
        assert_eq!(link.observe(ms(at), sinr(db)), None, "at {at} ms");
    }
}

/// The first frame after which T310 runs, for a link that was good for 200 ms and then is not.
fn problem_at(config: RadioLinkConfig, db: f64) -> Option<u64> {
    let mut link = RadioLink::new(config);
    watch(&mut link, 10, 200, GOOD);
    (210..=1000).step_by(10).find(|&at| {
        link.observe(ms(at), sinr(db));
        link.has_problems()
    })
}

fn lost(config: RadioLinkConfig) -> RadioLink {
    let mut link = RadioLink::new(config);
    assert_eq!(link.fail(ms(1000), Failure::RlcMaximum), Some(Failure::RlcMaximum));
    link
}

#[test]
fn thresholds_by_hand() {
    // A normal distribution function around −8.07 dB, 2.35 dB wide: 10 % lie 1.2816 widths above
    // its median, 2 % lie 2.0537.
    let at = |db: f64| error_rate(sinr(db));
    assert!((at(-8.07 + 1.2816 * 2.35) - Q_OUT).abs() < 1e-4);
    assert!((at(-8.07 + 2.0537 * 2.35) - Q_IN).abs() < 1e-4);
    assert!(at(-5.06 - 0.01) > Q_OUT && at(-5.06 + 0.01) < Q_OUT);
    assert!(at(-3.24 - 0.01) > Q_IN && at(-3.24 + 0.01) < Q_IN);
}

#[test]
fn a_link_is_bad_once_the_mean_over_200_ms_is() {
    // One message in two of n frames in 20 is n / 40: more than 10 % from the fifth frame on.
    assert_eq!(problem_at(RadioLinkConfig::default(), HALF), Some(250));
    // Every message missed: n / 20 from the third.
    assert_eq!(problem_at(RadioLinkConfig::default(), -30.0), Some(230));
    // A steady −5.07 dB is out of sync, but only when the good frames have left the window, all 20
    // of them.
    assert_eq!(problem_at(RadioLinkConfig::default(), -5.07), Some(400));
    assert_eq!(problem_at(RadioLinkConfig::default(), -5.05), None);
}

#[test]
fn nothing_is_judged_before_200_ms_have_passed() {
    let mut link = RadioLink::new(RadioLinkConfig::default());
    watch(&mut link, 10, 190, -30.0);
    assert!(!link.has_problems());
    watch(&mut link, 200, 200, -30.0);
    assert!(link.has_problems());
    assert_eq!(link.next_timeout(), Some(ms(1200)));
}

#[test]
fn n310_counts_consecutive_indications() {
    let config = RadioLinkConfig { n310: 6, ..RadioLinkConfig::default() };
    // The first at 250 ms, the sixth five frames later.
    assert_eq!(problem_at(config, HALF), Some(300));
    let config = RadioLinkConfig { n310: 20, ..config };
    let mut link = RadioLink::new(config);
    watch(&mut link, 10, 240, -30.0);
    assert_eq!(link.indications, 5, "at 200 ms and each frame since");
    // Of the last 20 frames 11 are still bad at 330 ms; at 340 ms the last ten are good: in sync.
    watch(&mut link, 250, 330, GOOD);
    assert_eq!(link.indications, 14);
    watch(&mut link, 340, 340, GOOD);
    assert_eq!(link.indications, 0);
    // Between the thresholds there is no indication and no interruption.
    let mut link = RadioLink::new(config);
    watch(&mut link, 10, 200, -5.07);
    watch(&mut link, 210, 300, -4.0);
    assert_eq!(link.indications, 1);
}

#[test]
fn n311_in_sync_indications_stop_t310() {
    let config = RadioLinkConfig { n311: 3, ..RadioLinkConfig::default() };
    let mut link = RadioLink::new(config);
    watch(&mut link, 10, 200, -30.0);
    assert!(link.has_problems());
    // In sync when the last ten frames are good: at 300, 310, 320 ms.
    watch(&mut link, 210, 310, GOOD);
    assert!(link.has_problems());
    watch(&mut link, 320, 320, GOOD);
    assert!(!link.has_problems());
    assert_eq!(link.next_timeout(), None);
    // −4 dB is between the thresholds: no recovery, and T310 expires.
    let mut link = RadioLink::new(config);
    watch(&mut link, 10, 200, -30.0);
    watch(&mut link, 210, 1190, -4.0);
    assert_eq!(link.handle_timeout(ms(1199)), None);
    assert_eq!(link.handle_timeout(ms(1200)), Some(Step::Failed(Failure::OutOfSync)));
}

#[test]
fn t310_counts_where_nobody_runs_timers() {
    let mut link = RadioLink::new(RadioLinkConfig::default());
    watch(&mut link, 10, 1190, -30.0);
    assert_eq!(link.observe(ms(1200), sinr(GOOD)), Some(Failure::OutOfSync));
    assert_eq!(link.observe(ms(1210), sinr(-30.0)), None, "there is no link to judge");
    // T310 may be 0 (TS 36.331 §6.3.6): the indication itself is the failure.
    let mut link = RadioLink::new(RadioLinkConfig { t310: Duration::ZERO, ..RadioLinkConfig::default() });
    watch(&mut link, 10, 190, -30.0);
    assert_eq!(link.observe(ms(200), sinr(-30.0)), Some(Failure::OutOfSync));
}

#[test]
fn a_handover_stops_t310_and_has_a_timer_of_its_own() {
    let mut link = RadioLink::new(RadioLinkConfig::default());
    watch(&mut link, 10, 200, -30.0);
    link.handover(ms(500));
    assert_eq!(link.next_timeout(), Some(ms(1500)), "T304 instead of T310");
    watch(&mut link, 510, 540, -30.0); // not evaluated during the handover
    assert_eq!(link.fail(ms(540), Failure::RandomAccess), None, "T304 decides");
    link.connected();
    assert_eq!(link.next_timeout(), None);
    watch(&mut link, 550, 730, -30.0); // the target's own 200 ms
    assert!(!link.has_problems());

    let mut link = RadioLink::new(RadioLinkConfig::default());
    link.handover(ms(500));
    assert_eq!(link.handle_timeout(ms(1500)), Some(Step::Failed(Failure::Handover)));
    assert_eq!(link.next_timeout(), Some(ms(1600)), "the first search");
}

#[test]
fn a_connection_comes_back_from_the_cell_that_is_received_best() {
    let mut link = lost(RadioLinkConfig::default());
    assert!(!link.is_connected());
    assert_eq!(link.fail(ms(1001), Failure::RandomAccess), None, "it has failed already");
    assert_eq!(link.handle_timeout(ms(1099)), None);
    assert_eq!(link.handle_timeout(ms(1100)), Some(Step::Searched));
    let cell = select(&[Dbm(-120.0), Dbm(-95.0), Dbm(-99.0)], Dbm(-110.0));
    assert_eq!(cell, Some(CellId(1)));
    link.choose(ms(1100), CellId(1));
    assert_eq!(link.next_timeout(), Some(ms(1250)), "150 ms of access");
    assert_eq!(link.handle_timeout(ms(1250)), Some(Step::Answered(CellId(1))));
    assert_eq!(link.handle_timeout(ms(1250)), None);
    link.connected();
    assert!(link.is_connected());
    // 250 ms after the failure: T_search and the access.
}

#[test]
fn without_a_suitable_cell_t311_ends_it() {
    assert_eq!(select(&[Dbm(-120.0), Dbm(-110.0)], Dbm(-110.0)), None, "Srxlev has to be above 0");
    let mut link = lost(RadioLinkConfig::default());
    let mut searches = 0;
    loop {
        let at = link.next_timeout().expect("T311 runs");
        match link.handle_timeout(at) {
            Some(Step::Searched) => searches += 1,
            step => {
                assert_eq!((at, step), (ms(2000), Some(Step::Released(Release::NoSuitableCell))));
                break;
            }
        }
    }
    assert_eq!(searches, 10, "every 100 ms, the last together with T311");
    assert_eq!((link.released(), link.next_timeout()), (Some(Release::NoSuitableCell), None));
}

#[test]
fn a_cell_that_does_not_answer_or_does_not_know_the_ue_ends_it_too() {
    let config = RadioLinkConfig { t301: Duration::from_millis(100), ..RadioLinkConfig::default() };
    let mut link = lost(config);
    link.choose(ms(1100), CellId(0));
    assert_eq!(link.handle_timeout(ms(1200)), Some(Step::Released(Release::NoAnswer)));
    let mut link = lost(RadioLinkConfig::default());
    link.choose(ms(1100), CellId(0));
    assert_eq!(link.handle_timeout(ms(1250)), Some(Step::Answered(CellId(0))));
    link.reject();
    assert_eq!(link.released(), Some(Release::Rejected));
    link.connected(); // a new connection
    assert!(link.is_connected());
}
