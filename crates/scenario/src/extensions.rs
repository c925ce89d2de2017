//! The parts of a run that a user supplies.

use std::collections::BTreeMap;
use std::sync::Arc;

use airlane_ran::scheduler::OwnScheduler;
use airlane_rtc::OwnRateControllers;
use airlane_transport::congestion::OwnControllers;
use airlane_transport::mptcp::MakeScheduler;

/// Users' own controllers, by their names in `transport.controller`.
pub type Controllers = BTreeMap<String, OwnControllers>;
/// Users' own rate controllers of calls, by their names in `app.controller.name`.
pub type RateControllers = BTreeMap<String, OwnRateControllers>;
/// Users' own scheduler policies, by their names in `cell.scheduler.policy`.
pub type Schedulers = BTreeMap<String, OwnScheduler>;
/// Users' own schedulers of Multipath TCP, by their names in `transport.policy`.
pub type PathSchedulers = BTreeMap<String, Arc<dyn MakeScheduler>>;

/// The parts of a run that a user supplies, which a scenario only names.
#[derive(Clone, Debug, Default)]
pub struct Extensions {
    /// Congestion controllers.
    pub controllers: Controllers,
    /// Rate controllers of calls.
    pub rate_controllers: RateControllers,
    /// Scheduler policies of cells.
    pub schedulers: Schedulers,
    /// Schedulers of Multipath TCP.
    pub path_schedulers: PathSchedulers,
}

impl Extensions {
    /// Whether the user supplies nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { controllers, rate_controllers, schedulers, path_schedulers } = self;
        controllers.is_empty()
            && rate_controllers.is_empty()
            && schedulers.is_empty()
            && path_schedulers.is_empty()
    }
}
