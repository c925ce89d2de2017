//! Quality and reported values by hand, and the reports of a UE in their order.

use super::*;

const RULE: QualityRule =
    QualityRule { serving_threshold: Reported(30), neighbour_offset: 1, rssi: Rssi::AllElements };

const fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

#[test]
fn reported_values_are_half_decibels() {
    for (rsrq, value) in [(-30.0, 0), (-19.6, 0), (-19.5, 1), (-19.0, 2), (-5.0, 30), (-4.6, 30), (-4.5, 31)]
    {
        assert_eq!(Reported::of(Decibel(rsrq)), Reported(value), "{rsrq} dB");
    }
    assert_eq!([-3.1, -3.0, 2.0].map(|rsrq| Reported::of(Decibel(rsrq)).0), [33, 34, 34]);
    assert_eq!((Reported(30).threshold(), Reported(0).threshold()), (Decibel(-5.0), Decibel(-20.0)));
}

/// RSRQ of each cell at a UE that receives them with these powers; noise of a PRB in dBm.
fn quality(rssi: Rssi, cells: &[(f64, Emission)], noise: f64) -> Vec<f64> {
    let rsrp: Vec<Dbm> = cells.iter().map(|(power, _)| Dbm(*power)).collect();
    let emissions: Vec<Emission> = cells.iter().map(|(_, emission)| *emission).collect();
    let mut out = vec![Decibel(0.0); cells.len()];
    rssi.quality(&rsrp, &emissions, Dbm(noise), &mut out);
    out.into_iter().map(|rsrq| rsrq.0).collect()
}

const fn cell(ports: u8, load: f64) -> Emission {
    Emission { carrier: 0, ports, load }
}

#[track_caller]
fn assert_close(ours: &[f64], expected: &[f64]) {
    assert!(
        ours.len() == expected.len() && ours.iter().zip(expected).all(|(a, b)| (a - b).abs() < 5e-4),
        "{ours:?}"
    );
}

/// Of the twelve elements of a PRB, one port has reference signals on two. So an idle cell alone has 10 log10(1/2),
/// a loaded one 10 log10(1/12).
#[test]
fn quality_depends_on_load_and_other_cells() {
    let (silence, all) = (-300.0, Rssi::AllElements);
    assert_close(&quality(all, &[(-90.0, cell(1, 0.0))], silence), &[-3.0103]);
    assert_close(&quality(all, &[(-90.0, cell(1, 1.0))], silence), &[-10.7918]);
    assert_close(&quality(all, &[(-90.0, cell(2, 0.0))], silence), &[-6.0206]);
    assert_close(&quality(all, &[(-90.0, cell(2, 1.0))], silence), &[-10.7918]);
    // Half of it: 2 + 10/2 elements.
    assert_close(&quality(all, &[(-90.0, cell(1, 0.5))], silence), &[-8.4510]);
    // A second cell that is 3.0103 dB weaker and idle: 2 + 1 elements; loaded, 2 + 6.
    let (strong, weak) = ((-90.0, cell(1, 0.0)), -93.0103);
    assert_close(&quality(all, &[strong, (weak, cell(1, 0.0))], silence), &[-4.7712, -7.7815]);
    assert_close(&quality(all, &[strong, (weak, cell(1, 1.0))], silence), &[-9.0309, -12.0412]);
    // On another carrier it is not heard.
    let apart = Emission { carrier: 1, ..cell(1, 1.0) };
    assert_close(&quality(all, &[strong, (weak, apart)], silence), &[-3.0103, -10.7918]);
    // Noise as strong as a reference signal: on twelve elements, 2 + 12.
    let noise = -90.0 + 10.7918;
    assert_close(&quality(all, &[strong], noise), &[-11.4613]);
}

/// As ns-3: two elements of each cell, whatever its load and ports, and of the noise.
#[test]
fn reference_signals_alone_do_not_depend_on_load() {
    let alone = Rssi::ReferenceSignals;
    for (load, ports) in [(0.0, 1), (1.0, 1), (0.5, 2)] {
        let cells = [(-90.0, cell(ports, load)), (-93.0103, cell(ports, load))];
        assert_close(&quality(alone, &cells, -300.0), &[-4.7712, -7.7815]);
    }
    assert_close(&quality(alone, &[(-90.0, cell(1, 1.0))], -90.0 + 10.7918), &[-6.0206]);
}

#[test]
fn a_cell_that_is_off_has_no_quality() {
    let out = quality(Rssi::AllElements, &[(-90.0, cell(1, 0.0)), (f64::NEG_INFINITY, cell(1, 1.0))], -300.0);
    assert_close(&out[..1], &[-3.0103]);
    assert_eq!(out[1], f64::NEG_INFINITY);
}

/// Samples and timeouts of a UE with two neighbours up to a time, in ms; the targets with their times.
fn run(rule: QualityRule, samples: &[[f64; 3]], until_ms: u64) -> Vec<(u64, u32)> {
    let mut ue = QualityEvents::new(rule, 0, 3);
    let (mut decisions, mut next) = (Vec::new(), 0);
    for ms in 1..=until_ms {
        if ms % 200 == 0 {
            let rsrq = samples[next.min(samples.len() - 1)].map(Decibel);
            next += 1;
            let decided = ue.sample(at(ms), CellId(0), &rsrq, |_| true);
            decisions.extend(decided.map(|cell| (ms, cell.0)));
        }
        if ue.next_timeout() == Some(at(ms)) {
            let decided = ue.handle_timeout(at(ms), CellId(0));
            decisions.extend(decided.map(|cell| (ms, cell.0)));
        }
        assert!(ue.next_timeout().is_none_or(|due| due > at(ms)));
    }
    decisions
}

/// At the first sample, the UE reports its serving cell before its neighbours: the eNB knows none yet. The
/// report is repeated after 240 ms.
#[test]
fn the_first_report_finds_no_neighbour() {
    assert_eq!(run(RULE, &[[-8.0, -7.0, -6.0]], 450), [(440, 2)]);
    // The reports continue until the UE leaves, and are also sent at samples: 680 ms, 920 ms.
    assert_eq!(run(RULE, &[[-8.0, -7.0, -6.0]], 1_000), [(440, 2), (680, 2), (920, 2)]);
}

#[test]
fn a_good_cell_or_no_better_neighbour_keeps_the_ue() {
    // -5 dB is not below the threshold 30.
    assert_eq!(run(RULE, &[[-5.0, -3.0, -3.0]], 2_000), []);
    assert_eq!(run(RULE, &[[-5.01, -3.0, -3.0]], 500), [(440, 1)]);
    // Values 23 and 23 (-8.4 dB and -8.1 dB), then 23 and 24 (-8.0 dB).
    assert_eq!(run(RULE, &[[-8.4, -8.1, -12.0]], 2_000), []);
    assert_eq!(run(RULE, &[[-8.4, -8.0, -12.0]], 500), [(440, 1)]);
    let more = QualityRule { neighbour_offset: 3, ..RULE };
    assert_eq!(run(more, &[[-8.4, -7.1, -12.0]], 2_000), []);
    assert_eq!(run(more, &[[-8.4, -7.0, -12.0]], 500), [(440, 1)]);
    let any = QualityRule { neighbour_offset: 0, ..RULE };
    assert_eq!(run(any, &[[-8.4, -8.1, -12.0]], 500), [(440, 1)]);
    // Below -20 dB a neighbour is not reported.
    assert_eq!(run(RULE, &[[-25.0, -20.5, -20.5]], 2_000), []);
}

/// The neighbour becomes better at the sample at 400 ms. Its next report is that at 680 ms: until then the eNB has
/// its value of 200 ms. At 680 ms both reports are due, first that of the neighbour.
#[test]
fn the_enb_knows_what_was_reported() {
    let samples = [[-8.0, -12.0, -12.0], [-8.0, -6.0, -12.0]];
    assert_eq!(run(RULE, &samples, 700), [(680, 1)]);
    // A neighbour that is received from 400 ms on is reported then.
    let samples = [[-8.0, -12.0, -30.0], [-8.0, -12.0, -6.0]];
    assert_eq!(run(RULE, &samples, 700), [(440, 2), (680, 2)]);
}

/// The serving cell is good again at 400 ms: the report at 440 ms is not sent.
#[test]
fn the_event_ends_with_its_condition() {
    let samples = [[-8.0, -6.0, -12.0], [-4.0, -6.0, -12.0], [-8.0, -6.0, -12.0]];
    // At 600 ms it begins again, and the eNB knows the neighbour.
    assert_eq!(run(RULE, &samples, 700), [(600, 1)]);
}

#[test]
fn a_new_cell_knows_nothing_of_the_ue() {
    let mut ue = QualityEvents::new(RULE, 0, 2);
    let rsrq = [Decibel(-8.0), Decibel(-6.0)];
    assert_eq!(ue.sample(at(200), CellId(0), &rsrq, |_| true), None);
    assert_eq!(ue.next_timeout(), Some(at(440)));
    ue.change_cell();
    assert_eq!(ue.next_timeout(), None);
    // Now the other cell serves it, which is the better one, but poor too.
    assert_eq!(ue.sample(at(400), CellId(1), &rsrq, |_| true), None);
    assert_eq!(ue.handle_timeout(at(640), CellId(1)), None);
    assert_eq!(ue.sample(at(800), CellId(1), &[Decibel(-6.0), Decibel(-8.0)], |_| true), None);
    assert_eq!(ue.next_timeout(), Some(at(880)));
    assert_eq!(ue.handle_timeout(at(880), CellId(1)), Some(CellId(0)));
}

#[test]
fn a_cell_that_is_off_or_excluded_is_no_target() {
    let mut ue = QualityEvents::new(RULE, 0, 2);
    let (own, theirs) = (Decibel(-8.0), Decibel(-6.0));
    ue.sample(at(200), CellId(0), &[own, theirs], |_| true);
    ue.forget(CellId(1));
    assert_eq!(ue.handle_timeout(at(440), CellId(0)), None);
    ue.sample(at(600), CellId(0), &[own, theirs], |_| false);
    assert_eq!(ue.handle_timeout(at(680), CellId(0)), None);
    ue.sample(at(800), CellId(0), &[own, Decibel(f64::NEG_INFINITY)], |_| true);
    assert_eq!(ue.handle_timeout(at(920), CellId(0)), None);
    // It is back, and reported at once; the serving cell is reported at 1160 ms.
    ue.sample(at(1_000), CellId(0), &[own, theirs], |_| true);
    assert_eq!(ue.handle_timeout(at(1_160), CellId(0)), Some(CellId(1)));
    // Without its own cell the UE reports nothing.
    assert_eq!(ue.sample(at(1_200), CellId(0), &[Decibel(f64::NEG_INFINITY), theirs], |_| true), None);
    assert_eq!(ue.next_timeout(), None);
}
