//! Controllers from outside of this crate: a user's own.

use core::fmt::Debug;
use std::sync::Arc;

use super::{CongestionController, SegmentWindow};

/// A controller of a user's own. It costs a call through a table where ours are branched to.
///
/// ```
/// use airlane_transport::congestion::{AckSample, CongestionController, OwnController, SegmentWindow};
///
/// /// Grows by one segment a round trip and gives a quarter at a loss.
/// #[derive(Clone, Debug)]
/// struct Gentle;
///
/// impl CongestionController for Gentle {
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

    /// True if it models the path: it then hears [`CongestionController::on_delivery`] in place of
    /// [`CongestionController::on_ack`], its window is in force in recovery too, and it paces.
    fn models_path(&self) -> bool {
        false
    }
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

/// What makes the controllers of a sender, shared by all its connections.
#[derive(Clone, Debug)]
pub struct OwnControllers(pub Arc<dyn MakeController>);

impl PartialEq for OwnControllers {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OwnControllers {}
