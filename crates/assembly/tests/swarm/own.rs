//! The test's own congestion controller and scheduler policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use airlane_scenario::Extensions;
use airlane_scenario::controller::{
    AckSample, CongestionController, MakeController, Needs, OwnController, OwnControllers, SegmentWindow,
};
use airlane_scenario::scheduler::{Candidates, MakeScheduler, OwnScheduler, SchedulerCell, SchedulerPolicy};

use super::host_settings::OWN;

/// Grows as Reno does, and loses a quarter at a loss.
#[derive(Clone, Debug)]
struct Gentle;

impl CongestionController for Gentle {
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        window.grow_as_reno(ack);
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        (window.segments * 3 / 4).max(2)
    }
}

impl OwnController for Gentle {
    fn clone_box(&self) -> Box<dyn OwnController> {
        Box::new(self.clone())
    }
}

#[derive(Debug)]
struct Maker;

impl MakeController for Maker {
    fn make(&self, _: &SegmentWindow) -> Box<dyn OwnController> {
        Box::new(Gentle)
    }
}

/// Gives all RBGs to one UE after the other.
#[derive(Debug)]
struct InOrder;

impl SchedulerPolicy for InOrder {
    fn schedule(&mut self, candidates: &mut Candidates<'_>) {
        (0..candidates.len()).for_each(|i| candidates.give_all(i));
    }
}

impl MakeScheduler for Maker {
    fn make(&self, _: &SchedulerCell) -> Box<dyn SchedulerPolicy> {
        Box::new(InOrder)
    }
}

pub(super) fn own() -> Extensions {
    Extensions {
        controllers: BTreeMap::from([(OWN.to_owned(), OwnControllers(Arc::new(Maker)))]),
        schedulers: BTreeMap::from([(OWN.to_owned(), OwnScheduler(Arc::new(Maker)))]),
    }
}
