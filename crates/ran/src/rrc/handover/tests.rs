use super::*;

const CONFIG: HandoverConfig = HandoverConfig {
    mode: HandoverMode::Lossless,
    x2: crate::tests::bearers::X2,
    report: Duration::from_millis(10),
    preparation: Duration::from_millis(5),
    command: Duration::from_millis(15),
    interruption: Duration::from_millis(30),
    occasions: None,
    radio_link: None,
};
const UE: UeId = UeId(0);
const WEST: CellId = CellId(0);
const EAST: CellId = CellId(1);
const EASTWARDS: CellChange = CellChange { source: WEST, target: EAST };
const WESTWARDS: CellChange = CellChange { source: EAST, target: WEST };

fn new(limit: Option<u32>) -> Handovers {
    Handovers::new(CONFIG, [WEST, EAST].into_iter(), [None, limit].into_iter(), Seeds::new(1))
}

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// All actions until then, with their times in milliseconds.
fn run_until(handovers: &mut Handovers, until: u64) -> Vec<(u128, Action)> {
    let mut done = Vec::new();
    while handovers.due() <= ms(until) {
        let (at, mut out) = (handovers.due(), Vec::new());
        assert!(handovers.step(at, &mut out));
        out.retain(|action| {
            let Action::Access(handover) = action else { return true };
            handovers.access(at, *handover, true);
            false
        });
        done.extend(out.into_iter().map(|action| (u128::from(at.as_nanos() / 1_000_000), action)));
    }
    done
}

const fn observe(attempt: u32, step: HandoverStep) -> Action {
    Action::Observe { ue: UE, attempt, step }
}

#[test]
fn each_step_comes_in_its_time() {
    let mut handovers = new(None);
    assert_eq!(handovers.report(ms(100), UE, EASTWARDS), Some(1));
    // Only one at a time.
    assert_eq!(handovers.report(ms(101), UE, EASTWARDS), None);
    let steps = run_until(&mut handovers, 1_000);
    assert_eq!(
        steps,
        [
            (110, observe(1, HandoverStep::Decided)),
            // X2, admission, X2, the command.
            (110 + 6 + 5 + 6 + 15, observe(1, HandoverStep::Started)),
            (142, Action::Leave { ue: UE, attempt: 1 }),
            (172, observe(1, HandoverStep::Arrived)),
            (172, Action::Arrive { ue: UE, target: EAST, first: true }),
        ]
    );
    assert_eq!(handovers.contexts[0].0, 1, "the source keeps the context until it is released");
}

#[test]
fn the_next_one_waits_for_the_path_switch() {
    let mut handovers = new(None);
    assert!(handovers.report(ms(0), UE, EASTWARDS).is_some());
    run_until(&mut handovers, 100);
    assert_eq!(handovers.report(ms(200), UE, WESTWARDS), Some(2));
    assert_eq!(run_until(&mut handovers, 500), []);
    let mut out = Vec::new();
    handovers.path_switched(ms(500), UE, EAST, &mut out);
    assert_eq!(out, [observe(1, HandoverStep::PathSwitched)]);
    let steps = run_until(&mut handovers, 505);
    assert_eq!(steps, [(500, observe(2, HandoverStep::Decided))]);
    run_until(&mut handovers, 506);
    assert_eq!(handovers.contexts[0].0, 0, "UE CONTEXT RELEASE has come");
    // A repeated acknowledgment changes nothing.
    out.clear();
    handovers.path_switched(ms(507), UE, EAST, &mut out);
    assert!(out.is_empty());
}

#[test]
fn a_full_cell_refuses_and_the_ue_may_report_again() {
    let mut handovers = new(Some(1));
    assert_eq!(handovers.report(ms(0), UE, EASTWARDS), Some(1));
    let steps = run_until(&mut handovers, 1_000);
    assert_eq!(
        steps,
        [(10, observe(1, HandoverStep::Decided)), (27, observe(1, HandoverStep::PreparationFailed))]
    );
    assert_eq!(handovers.report(ms(1_000), UE, EASTWARDS), Some(2));
}

#[test]
fn a_request_without_an_answer_is_repeated_and_an_end_marker_not_waited_for_for_ever() {
    let mut handovers = new(None);
    assert!(handovers.report(ms(0), UE, EASTWARDS).is_some());
    run_until(&mut handovers, 100);
    let steps = run_until(&mut handovers, 1_072);
    assert_eq!(steps, [(1_072, Action::Arrive { ue: UE, target: EAST, first: false })]);
    handovers.path_switched(ms(1_080), UE, EAST, &mut Vec::new());
    let steps = run_until(&mut handovers, 9_000);
    assert_eq!(steps, [(2_080, Action::EndPath { ue: UE, cell: WEST })]);
    assert_eq!(handovers.due(), Instant::FAR_FUTURE);
}

/// Up to the first attempt at random access, at 72 ms.
fn until_access(handovers: &mut Handovers) -> Handover {
    assert!(handovers.report(ms(0), UE, EASTWARDS).is_some());
    let mut out = Vec::new();
    while !out.iter().any(|action| matches!(action, Action::Access(_))) {
        let at = handovers.due();
        assert!(handovers.step(at, &mut out));
    }
    let handover = Handover { ue: UE, attempt: 1, source: WEST, target: EAST };
    assert_eq!(out.last(), Some(&Action::Access(handover)));
    handover
}

#[test]
fn random_access_is_tried_until_it_succeeds() {
    let mut handovers = new(None);
    let handover = until_access(&mut handovers);
    handovers.access(ms(72), handover, false);
    assert_eq!(handovers.due(), ms(92));
    let steps = run_until(&mut handovers, 200);
    let arrive = Action::Arrive { ue: UE, target: EAST, first: true };
    assert_eq!(steps, [(92, observe(1, HandoverStep::Arrived)), (92, arrive)]);
}

#[test]
fn with_occasions_random_access_follows_the_interruption() {
    let occasions = Occasions {
        period: Duration::from_millis(10),
        completion: Duration::from_millis(10),
        retry: Duration::from_millis(16),
    };
    let config = HandoverConfig { occasions: Some(occasions), ..CONFIG };
    let mut handovers = Handovers::new(config, [WEST].into_iter(), [None, None].into_iter(), Seeds::new(1));
    let handover = until_access(&mut handovers);
    // The UE leaves after 42 ms and is ready at 72 ms; it then waits for an occasion and for the response.
    let mut again = Seeds::new(1).stream("ue/0/prach");
    let first = ms(72) + occasions.first(&mut again);
    assert!(first >= ms(82) && first < ms(92));
    handovers.access(first, handover, false);
    assert_eq!(handovers.due(), first + Duration::from_millis(20));
}

#[test]
fn a_target_that_is_not_reached_waits_and_is_told_if_another_cell_takes_the_ue_up() {
    for (cell, expected) in [(EAST, TakenUp::ByTarget), (WEST, TakenUp::Cancelled)] {
        let mut handovers = new(None);
        let handover = until_access(&mut handovers);
        handovers.access(ms(72), handover, false);
        assert_eq!(handovers.fail_access(UE), (1, WEST));
        assert_eq!(handovers.due(), Instant::FAR_FUTURE, "nobody tries any more");
        assert_eq!((handovers.contexts[0].0, handovers.contexts[1].0), (1, 2));
        assert_eq!(handovers.take_up_failed(ms(1_200), UE, cell), expected);
        assert_eq!(handovers.take_up_failed(ms(1_200), UE, cell), TakenUp::NotFailed);
        let arrived = run_until(&mut handovers, 1_200).len() == 2;
        assert_eq!((arrived, handovers.contexts[1].0), (cell == EAST, 1 + u32::from(cell == EAST)));
    }
}

/// The radio of the source fails between the target's answer and the command, so that the UE does not receive
/// it. The radio of the target fails before the request, so that it refuses.
#[test]
fn without_a_radio_nobody_is_ordered_away_or_admitted() {
    let mut handovers = new(Some(2));
    handovers.report(ms(100), UE, EASTWARDS);
    assert_eq!(run_until(&mut handovers, 125), [(110, observe(1, HandoverStep::Decided))]);
    let mut out = Vec::new();
    handovers.cut_off(UE, &mut out);
    assert_eq!(out, [observe(1, HandoverStep::PreparationFailed)]);
    assert_eq!(run_until(&mut handovers, 1_000), []);
    handovers.cut_off(UE, &mut out);
    assert_eq!(out.len(), 1, "nothing was being prepared");
    // The place that was reserved in the target is free again; without its radio it admits no UE.
    handovers.switch(EAST, false);
    assert_eq!(handovers.shed(ms(2_000), UE, EASTWARDS), Some(2));
    let refused = [
        (2_000, observe(2, HandoverStep::Decided)),
        (2_000 + 6 + 5 + 6, observe(2, HandoverStep::PreparationFailed)),
    ];
    assert_eq!(run_until(&mut handovers, 3_000), refused);
    handovers.switch(EAST, true);
    assert_eq!(handovers.shed(ms(3_000), UE, EASTWARDS), Some(3));
    assert!(run_until(&mut handovers, 4_000).contains(&(3_032, Action::Leave { ue: UE, attempt: 3 })));
}
