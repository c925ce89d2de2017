//! Users' own controllers, from outside this crate.

use core::fmt::Debug;
use std::sync::Arc;

use super::{CongestionController, SegmentWindow};

/// A user's own controller. A call is dispatched dynamically; our controllers are dispatched by a
/// branch.
///
/// ```
/// use airlane_transport::congestion::{AckSample, CongestionController, Needs, OwnController, SegmentWindow};
///
/// /// Grows by one segment per round trip and loses a quarter at a loss.
/// #[derive(Clone, Debug)]
/// struct Gentle;
///
/// impl CongestionController for Gentle {
///     fn needs(&self) -> Needs {
///         Needs::NOTHING // besides acknowledgments and losses
///     }
///     fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
///         window.grow_as_reno(ack);
///     }
///     fn threshold(&mut self, window: &SegmentWindow) -> u32 {
///         window.segments * 3 / 4
///     }
/// }
///
/// impl OwnController for Gentle {
///     fn clone_box(&self) -> Box<dyn OwnController> {
///         Box::new(self.clone())
///     }
/// }
/// ```
pub trait OwnController: CongestionController + Debug + Send + Sync {
    /// A copy of itself.
    fn clone_box(&self) -> Box<dyn OwnController>;
}

impl Clone for Box<dyn OwnController> {
    fn clone(&self) -> Self {
        self.clone_box()
    }
}

/// Makes a controller for each connection.
pub trait MakeController: Debug + Send + Sync {
    /// A controller for a connection that begins with this window.
    fn make(&self, window: &SegmentWindow) -> Box<dyn OwnController>;
}

/// The factory of a sender's controllers, shared by all its connections.
#[derive(Clone, Debug)]
pub struct OwnControllers(pub Arc<dyn MakeController>);

impl PartialEq for OwnControllers {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OwnControllers {}
