use super::*;

const A3: EventA3 =
    EventA3 { offset: Decibel(2.0), hysteresis: Decibel(1.0), time_to_trigger: Duration::from_millis(256) };

/// Without filtering, every 200 ms.
fn unfiltered(cells: usize) -> Measurements {
    let period = Duration::from_millis(200);
    Measurements::new(
        MeasurementConfig {
            period,
            filter_coefficient: 0,
            event: A3,
            report_interval: Duration::MAX,
            quality: None,
        },
        cells,
    )
}

/// The ticks at which reports are made, given these samples of serving cell and neighbour.
fn reports(samples: &[(f64, f64)]) -> Vec<usize> {
    let mut ue = unfiltered(2);
    let mut made = Vec::new();
    for (tick, (own, theirs)) in samples.iter().enumerate() {
        let now = Instant::from_millis(200 * (tick as u64 + 1));
        if ue.sample(now, CellId(0), &[Dbm(*own), Dbm(*theirs)]).is_some() {
            made.push(tick);
        }
    }
    made
}

#[test]
fn the_filter_by_hand() {
    // k = 4 is a = 1/2: -100, (-100 - 90) / 2, (-95 - 90) / 2.
    let mut filter = Filter::default();
    let values = [-100.0, -90.0, -90.0].map(|m| filter.sample(m, 4));
    assert_eq!(values, [-100.0, -95.0, -92.5]);
    // k = 8 is a = 1/4, k = 0 is a = 1.
    let mut filter = Filter::default();
    assert_eq!([-100.0, -90.0].map(|m| filter.sample(m, 8)), [-100.0, -97.5]);
    assert_eq!(filter.sample(-80.0, 0), -80.0);
    // k = 1: a = 2^(-1/4) = 0.840896.
    let mut filter = Filter::default();
    filter.sample(0.0, 1);
    assert!((filter.sample(1.0, 1) - 0.840_896).abs() < 1e-6);
}

#[test]
fn a3_enters_and_leaves_by_its_inequalities() {
    // Enters above Mp + 2 + 1, leaves below Mp + 2 - 1.
    let serving = Dbm(-90.0);
    assert!(!A3.entered(Dbm(-87.0), serving) && A3.entered(Dbm(-86.9), serving));
    assert!(!A3.left(Dbm(-89.0), serving) && A3.left(Dbm(-89.1), serving));
}

#[test]
fn a_report_waits_for_the_time_to_trigger() {
    // 4 dB better from 200 ms on: at 400 ms the time to trigger is not over, at 600 ms it is.
    assert_eq!(reports(&[(-90.0, -86.0), (-90.0, -86.0), (-90.0, -86.0)]), [2]);
    // An interruption restarts the time; a sample within the hysteresis is an interruption.
    let (better, within) = ((-90.0, -86.0), (-90.0, -88.0));
    assert_eq!(reports(&[better, better, within, better, better, better]), [5]);
}

#[test]
fn the_time_to_trigger_may_end_between_samples() {
    let mut ue = unfiltered(3);
    let at = |ms| Instant::from_millis(ms);
    let [worse, better] = [[-90.0, -92.0, -92.0], [-90.0, -86.0, -85.0]].map(|rsrp| rsrp.map(Dbm));
    assert_eq!(ue.sample(at(200), CellId(0), &worse), None);
    assert_eq!(ue.next_timeout(), None);
    assert_eq!(ue.sample(at(400), CellId(0), &better), None);
    assert_eq!(ue.next_timeout(), Some(at(656)));
    assert_eq!(ue.sample(at(600), CellId(0), &better), None);
    assert_eq!(ue.handle_timeout(at(655)), None);
    // The better of the two, and no further report of either.
    assert_eq!(ue.handle_timeout(at(656)), Some(CellId(2)));
    assert_eq!(ue.next_timeout(), None);
    assert_eq!(ue.sample(at(800), CellId(0), &better), None);
    // A sample that does not fulfil the condition stops the timer.
    let mut ue = unfiltered(3);
    assert_eq!(ue.sample(at(200), CellId(0), &better), None);
    assert_eq!(ue.sample(at(400), CellId(0), &worse), None);
    assert_eq!((ue.next_timeout(), ue.handle_timeout(at(456))), (None, None));
}

#[test]
fn a_report_is_made_once_until_the_condition_was_left() {
    let (better, within, worse) = ((-90.0, -86.0), (-90.0, -88.0), (-90.0, -92.0));
    let mut samples = vec![better; 6];
    assert_eq!(reports(&samples), [2]);
    // Within the hysteresis the event is not left: no second report.
    samples.extend([within, better, better, better, better]);
    assert_eq!(reports(&samples), [2]);
    // Left, and entered again.
    samples.extend([worse, better, better, better]);
    assert_eq!(reports(&samples), [2, 14]);
}

#[test]
fn the_best_of_several_is_reported() {
    let mut ue = unfiltered(4);
    let rsrp = [-90.0, -85.0, -100.0, -84.0].map(Dbm);
    let at = |ms| Instant::from_millis(ms);
    assert_eq!(ue.sample(at(200), CellId(0), &rsrp), None);
    assert_eq!(ue.sample(at(400), CellId(0), &rsrp), None);
    assert_eq!(ue.sample(at(600), CellId(0), &rsrp), Some(CellId(3)));
    assert_eq!(ue.rsrp(CellId(2)), Some(Dbm(-100.0)));
    // In the new cell the events of the old one are reset, and no neighbour is better.
    ue.change_cell();
    for ms in [800, 1000, 1200, 1400] {
        assert_eq!(ue.sample(at(ms), CellId(3), &rsrp), None);
    }
}

/// A cell that is not received is reset; the first sample afterwards is used unfiltered. Without its own cell
/// a UE cannot report.
#[test]
fn a_cell_that_is_not_received_is_forgotten() {
    let config = MeasurementConfig {
        filter_coefficient: 4,
        event: EventA3 { time_to_trigger: Duration::ZERO, ..A3 },
        period: Duration::from_millis(200),
        report_interval: Duration::MAX,
        quality: None,
    };
    let mut ue = Measurements::new(config, 2);
    let mut sample = |tick: u64, own: f64, theirs: f64| {
        let report = ue.sample(Instant::from_millis(200 * tick), CellId(0), &[Dbm(own), Dbm(theirs)]);
        (report, ue.rsrp(CellId(0)), ue.rsrp(CellId(1)))
    };
    const GONE: f64 = f64::NEG_INFINITY;
    assert_eq!(sample(1, -90.0, -95.0), (None, Some(Dbm(-90.0)), Some(Dbm(-95.0))));
    assert_eq!(sample(2, -90.0, GONE), (None, Some(Dbm(-90.0)), None));
    assert_eq!(sample(3, -90.0, -80.0), (Some(CellId(1)), Some(Dbm(-90.0)), Some(Dbm(-80.0))));
    assert_eq!(sample(4, GONE, -80.0), (None, None, Some(Dbm(-80.0))));
    assert_eq!(sample(5, -90.0, -80.0), (Some(CellId(1)), Some(Dbm(-90.0)), Some(Dbm(-80.0))));
}
