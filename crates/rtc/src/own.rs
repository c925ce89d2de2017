//! Users' own rate controllers, from outside this crate.

use core::fmt::Debug;
use std::sync::Arc;

use airlane_core::{Ecn, Instant};

use crate::{Bounds, RateController};

/// The properties of its call that a controller depends on.
#[derive(Clone, Copy, Debug)]
pub struct CallParameters<'a> {
    /// The name of the flow.
    pub flow: &'a str,
    /// The rates of all media between which it chooses.
    pub bounds: Bounds,
    /// Frames of video per second.
    pub frame_rate: f64,
    /// When the call begins.
    pub start: Instant,
    /// The ECN field of its packets.
    pub ecn: Ecn,
}

/// Makes a controller for each sender of a call.
///
/// ```
/// use airlane_rtc::{CallParameters, Constant, MakeRateController, RateController};
///
/// /// Stays at the first rate of the call.
/// #[derive(Debug)]
/// struct Still;
///
/// impl MakeRateController for Still {
///     fn make(&self, call: &CallParameters<'_>) -> Box<dyn RateController> {
///         Box::new(Constant::new(call.bounds.start))
///     }
/// }
/// ```
pub trait MakeRateController: Debug + Send + Sync {
    /// The controller of a sender.
    fn make(&self, call: &CallParameters<'_>) -> Box<dyn RateController>;
}

/// A factory of controllers, shared by all calls that name it.
#[derive(Clone, Debug)]
pub struct OwnRateControllers(pub Arc<dyn MakeRateController>);
