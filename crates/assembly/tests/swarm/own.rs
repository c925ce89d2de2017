//! The test's own controllers and scheduler policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use airlane_scenario::Extensions;
use airlane_scenario::controller::{
    AckSample, CongestionController, MakeController, Needs, OwnController, OwnControllers, SegmentWindow,
};
use airlane_scenario::path_scheduler::{MakeScheduler as MakePaths, Scheduler, SchedulerData, SchedulerPath};
use airlane_scenario::rate_controller::{
    BitRate, CallParameters, Feedback, Instant, MakeRateController, OwnRateControllers, Pace, RateController,
    SentPacket,
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

/// The last subflow for small segments, the first for others, whether they are available or not.
#[derive(Debug)]
struct BySize;

impl Scheduler for BySize {
    fn select(&mut self, paths: &[SchedulerPath], data: &SchedulerData) -> Option<usize> {
        let index = if data.segment.get() < 1000 { paths.len() - 1 } else { 0 };
        Some(if paths[index].usable { index } else { paths.iter().position(|path| path.usable)? })
    }
}

impl MakePaths for Maker {
    fn make(&self) -> Box<dyn Scheduler> {
        Box::new(BySize)
    }
}

/// Takes a tenth off for a report with a packet that was lost, and adds a hundredth for any other.
struct InTenths {
    target: BitRate,
}

impl RateController for InTenths {
    fn on_sent(&mut self, _: &SentPacket) {}

    fn on_feedback(&mut self, _: Instant, feedback: &Feedback<'_>) {
        let lost = feedback.packets.iter().any(|one| one.arrived.is_none());
        let target = BitRate(self.target.0 * if lost { 90 } else { 101 } / 100);
        self.target = target.clamp(BitRate(100_000), BitRate(5_000_000));
    }

    fn target(&self) -> BitRate {
        self.target
    }

    fn pace(&self) -> Pace {
        Pace { rate: Some(self.target), window: None, padding: BitRate(0) }
    }
}

impl MakeRateController for Maker {
    fn make(&self, call: &CallParameters<'_>) -> Box<dyn RateController> {
        Box::new(InTenths { target: call.bounds.start })
    }
}

pub(super) fn own() -> Extensions {
    Extensions {
        controllers: BTreeMap::from([(OWN.to_owned(), OwnControllers(Arc::new(Maker)))]),
        rate_controllers: BTreeMap::from([(OWN.to_owned(), OwnRateControllers(Arc::new(Maker)))]),
        schedulers: BTreeMap::from([(OWN.to_owned(), OwnScheduler(Arc::new(Maker)))]),
        path_schedulers: BTreeMap::from([(OWN.to_owned(), Arc::new(Maker) as Arc<dyn MakePaths>)]),
    }
}
