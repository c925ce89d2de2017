//! The parts of a run that a user supplies.

use std::collections::BTreeMap;

use airlane_ran::scheduler::OwnScheduler;
use airlane_rtc::OwnRateControllers;
use airlane_transport::congestion::OwnControllers;

/// Users' own controllers, by their names in `transport.controller`.
pub type Controllers = BTreeMap<String, OwnControllers>;
/// Users' own rate controllers of calls, by their names in `app.controller.name`.
pub type RateControllers = BTreeMap<String, OwnRateControllers>;
/// Users' own scheduler policies, by their names in `cell.scheduler.policy`.
pub type Schedulers = BTreeMap<String, OwnScheduler>;

/// The parts of a run that a user supplies, which a scenario only names.
#[derive(Clone, Debug, Default)]
pub struct Extensions {
    /// Congestion controllers.
    pub controllers: Controllers,
    /// Rate controllers of calls.
    pub rate_controllers: RateControllers,
    /// Scheduler policies.
    pub schedulers: Schedulers,
}

impl Extensions {
    /// Whether the user supplies nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { controllers, rate_controllers, schedulers } = self;
        controllers.is_empty() && rate_controllers.is_empty() && schedulers.is_empty()
    }
}
