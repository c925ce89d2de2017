//! The SCG of one UE, driven by hand.

use super::*;

const MS: fn(u64) -> Instant = Instant::from_millis;

fn config() -> ScgConfig {
    ScgConfig {
        add_above: Dbm(-110.0),
        release_below: Dbm(-116.0),
        change_offset: Decibel(3.0),
        time_to_trigger: Duration::from_millis(80),
        preparation: Duration::from_millis(41),
        execution: Duration::from_millis(34),
        retry_after: Duration::from_millis(500),
        radio_link: RadioLinkConfig::default(),
    }
}

/// Drives an SCG until a time with the RSRP of its candidates and the SINR of the PSCell; the actions and their times.
fn drive(scg: &mut Scg, from: u64, to: u64, of: impl Fn(u64) -> (Vec<f64>, f32)) -> Vec<(u64, Action)> {
    let mut seen = Vec::new();
    for ms in from..to {
        let (rsrp, sinr) = of(ms);
        let now = MS(ms);
        let mut note = |action: Option<Action>| {
            seen.extend(action.map(|action| (ms, action)));
            action.is_some()
        };
        if scg.measures(now) {
            let rsrp: Vec<_> = rsrp.iter().map(|dbm| Dbm(*dbm)).collect();
            note(scg.measure(now, &rsrp));
        }
        if scg.evaluates(now) {
            note(scg.evaluate(now, sinr, 0));
        }
        while note(scg.step(now, |_| true)) {}
        assert!(scg.due() > now, "due at {:?}", scg.due());
    }
    seen
}

const NR: CellId = CellId(1);
const OTHER: CellId = CellId(2);

#[test]
fn a_cell_is_added_after_the_time_to_trigger_the_preparation_and_the_random_access() {
    let mut scg = Scg::new(&config(), vec![NR]);
    assert_eq!(scg.start(&[Dbm(-112.0)]), None);
    let seen = drive(&mut scg, 0, 1_000, |ms| (vec![if ms < 400 { -130.0 } else { -90.0 }], 10.0));
    // fc4 halves the distance with each sample: -110 dBm is passed by the second one after 400 ms.
    assert_eq!(seen, [(520, Action::Report(NR)), (595, Action::Add(NR))]);
    assert_eq!(scg.active(), Some(NR));
}

#[test]
fn a_weak_pscell_is_left_and_a_better_one_is_changed_to() {
    let mut scg = Scg::new(&config(), vec![NR, OTHER]);
    assert_eq!(scg.start(&[Dbm(-90.0), Dbm(-100.0)]), Some(NR));
    let seen = drive(&mut scg, 0, 400, |_| (vec![-100.0, -90.0], 10.0));
    assert_eq!(seen, [(80, Action::Report(OTHER)), (121, Action::Leave(NR)), (155, Action::Add(OTHER))]);
    let seen = drive(&mut scg, 400, 1_000, |_| (vec![-130.0, -120.0], 10.0));
    let expected = [Action::Report(OTHER), Action::Leave(OTHER)];
    assert_eq!(seen.iter().map(|(_, action)| *action).collect::<Vec<_>>(), expected);
    assert_eq!(scg.active(), None);
}

/// 200 ms out of sync, T310 of 1 s, then 500 ms without an SCG, the time to trigger, preparation and random access.
#[test]
fn an_scg_fails_when_t310_expires_and_is_added_again() {
    let mut scg = Scg::new(&config(), vec![NR]);
    scg.start(&[Dbm(-90.0)]);
    let seen = drive(&mut scg, 0, 3_000, |_| (vec![-90.0], 0.0));
    println!("{seen:?}");
    let [(failed, Action::Fail(NR)), (reported, Action::Report(NR)), (added, Action::Add(NR)), ..] = seen[..]
    else {
        panic!("{seen:?}")
    };
    assert!((1_190..1_215).contains(&failed), "{failed}");
    assert!((failed + 580..failed + 660).contains(&reported), "{reported}");
    assert_eq!(added, reported + 75);
}
