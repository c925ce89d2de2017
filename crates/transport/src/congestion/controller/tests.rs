use airlane_core::{CellUse, Seeds};

use super::*;
use crate::congestion::{CodeStep, RateSample, SlowStartAfterReduction};
use crate::recovery::Phase;

/// Each law after its handshake.
fn all() -> Vec<Controller> {
    let codes = ArwaSender {
        cut: CodeStep::Percent,
        gain: CodeStep::Percent,
        window_min: Bytes(3000),
        upper_target: Bytes(10_000),
        only_changes: false,
        slow_start: SlowStartAfterReduction::GoesOn,
    };
    let arwa = ControllerSetup { codes: Some(codes), ..ControllerSetup::new(CongestionKind::NewReno) };
    let setups = CongestionKind::ALL.into_iter().map(ControllerSetup::new).chain([arwa]);
    let make = |setup| {
        let mut c = Controller::new(&setup, SegmentWindow::new(1448, 10), Seeds::new(1).stream("test"));
        c.on_established(Instant::from_millis(50), Some(Duration::from_millis(50)));
        c
    };
    setups.map(make).collect()
}

fn delivery() -> DeliverySample {
    DeliverySample {
        now: Instant::from_millis(100),
        delivered: 11,
        delivered_at: Instant::from_millis(100),
        lost: 0,
        newly_delivered: 10,
        newly_lost: 0,
        in_flight: 10,
        prior_in_flight: 20,
        window_limited: true,
        rtt: Some(Duration::from_millis(40)),
        srtt: Duration::from_millis(45),
        next_send_at: Instant::from_millis(100),
        phase: Phase::Open,
        rate: Some(RateSample {
            delivered: 10,
            interval: Duration::from_millis(50),
            prior_delivered: 1,
            app_limited: false,
            lost: 0,
            in_flight_when_sent: 10,
            retransmission: false,
        }),
    }
}

/// Calls each law directly, also with inputs that it did not ask for. An input that changes its state, although
/// the sender would not pass it on, means that [`CongestionController::needs`] forgets it.
#[test]
fn a_law_asks_for_each_input_that_it_uses() {
    let arrival =
        Arrival { now: Instant::from_millis(100), acked_to: 14_480, rtt: Some(Duration::from_millis(40)) };
    let lost = LostSegment {
        now: Instant::from_millis(100),
        number: 3,
        in_flight_when_sent: 10,
        delivered_when_sent: 0,
        lost: 9,
        delivered: 2,
        app_limited: false,
    };
    let radio = RadioInformation {
        measured_at: Instant::from_millis(90),
        transport_block: Bytes(2292),
        resource_blocks: 50,
        cqi: 9,
        queue: Bytes(100_000),
        cell_use: Some(CellUse { offered_prbs: 4500, active_ues: 1, ..CellUse::default() }),
    };
    let marks = MarkSample {
        now: Instant::from_millis(100),
        delivered_segments: 2,
        marked_segments: 1,
        delivered_bytes: Bytes(2896),
        marked_bytes: Bytes(1448),
        srtt: Duration::from_millis(45),
        acked_to: 14_480,
        sent_to: 28_960,
        recovering: false,
    };
    let state = |c: &Controller| format!("{:?} {:?}", c.window, c.law);
    for c in all() {
        let uses = |input: &dyn Fn(&mut Controller)| {
            let mut called = c.clone();
            input(&mut called);
            state(&called) != state(&c)
        };
        let uses_arrivals = uses(&|c| each!(&mut c.law, law => law.on_arrival(1448, &arrival)));
        let uses_deliveries = uses(&|c| {
            each!(&mut c.law, law => law.on_delivery(&mut c.window, &delivery()));
            each!(&mut c.law, law => law.on_segment_lost(&mut c.window, &lost));
        });
        let sent = Transmission { now: Instant::from_millis(100), number: 7, bytes: Bytes(1448) };
        let uses_transmissions = uses(&|c| {
            each!(&mut c.law, law => law.on_sent(&mut c.window, &sent));
            each!(&mut c.law, law => law.on_transmission_delivered(7));
            each!(&mut c.law, law => law.on_transmission_lost(8));
        });
        let uses_radio = uses(&|c| each!(&mut c.law, law => law.on_radio_information(&mut c.window, &radio)));
        let uses_marks = uses(&|c| each!(&mut c.law, law => law.on_marks(&mut c.window, &marks)));
        let used = Needs {
            arrivals: uses_arrivals,
            path_model: uses_deliveries,
            transmissions: uses_transmissions,
            radio_information: uses_radio,
            marks: uses_marks,
            ..c.needs()
        };
        assert_eq!(used, c.needs(), "{:?}", c.law);
    }
}

/// An input that was not asked for does not reach the law, even if the sender passes it on.
#[test]
fn inputs_that_a_law_does_not_need_do_not_reach_it() {
    #[derive(Clone, Debug)]
    struct Strict;
    impl CongestionController for Strict {
        fn needs(&self) -> Needs {
            Needs::NOTHING
        }
        fn on_ack(&mut self, _: &mut SegmentWindow, _: &AckSample) {}
        fn threshold(&mut self, window: &SegmentWindow) -> u32 {
            window.segments
        }
        fn on_arrival(&mut self, _: u32, _: &Arrival) {
            panic!("was not asked for")
        }
    }
    impl OwnController for Strict {
        fn clone_box(&self) -> Box<dyn OwnController> {
            Box::new(self.clone())
        }
    }
    #[derive(Debug)]
    struct Make;
    impl crate::congestion::MakeController for Make {
        fn make(&self, _: &SegmentWindow) -> Box<dyn OwnController> {
            Box::new(Strict)
        }
    }
    let own = OwnControllers(std::sync::Arc::new(Make));
    let discriminator = LossDiscrimination::Veno; // which needs arrivals
    let setup =
        ControllerSetup { own: Some(&own), discriminator, ..ControllerSetup::new(CongestionKind::Own) };
    let mut c = Controller::new(&setup, SegmentWindow::new(1448, 10), Seeds::new(1).stream("test"));
    assert_eq!(c.needs(), Needs::ARRIVALS);
    c.on_arrival(&Arrival { now: Instant::ZERO, acked_to: 0, rtt: None });
}

/// A law with a model of the path has no slow start of RFC 5681. Such a controller ignores an algorithm for it, as
/// LEDBAT++ and MD-CC do, whose slow start is their own.
#[test]
fn an_algorithm_is_for_laws_without_a_start_of_their_own() {
    let algorithm = Some(SlowStartAlgorithm::HyStartPlusPlus);
    for kind in CongestionKind::ALL {
        let slow_start = SlowStartRules { algorithm, ..SlowStartRules::LAW };
        let setup = ControllerSetup { slow_start, ..ControllerSetup::new(kind) };
        let c = Controller::new(&setup, SegmentWindow::new(1448, 10), Seeds::new(1).stream("test"));
        assert!(kind.has_own_start() || !c.needs().path_model, "{kind:?}");
        assert_eq!(c.watch.is_some(), !kind.has_own_start(), "{kind:?}");
    }
}
