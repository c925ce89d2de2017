//! The calls of the law with their results, recorded in this thread, so that another implementation of the
//! law can be called with the same inputs.

use std::cell::{Cell, RefCell};

use super::Domain;
use crate::congestion::{AckSample, Restart, SegmentWindow, TimeoutEpisode};

/// A call of the law.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    /// A connection begins, with HyStart or without.
    Begin {
        /// Whether HyStart ends slow start.
        hystart: bool,
        /// Acknowledgments per segment of growth of the radio window.
        acks_per_increase: u32,
    },
    /// Data was acknowledged in a domain.
    Ack(Domain, AckSample),
    /// A loss episode begins.
    Episode,
    /// A domain has lost a segment.
    Loss(Domain),
    /// A retransmission timeout.
    Timeout(TimeoutEpisode),
    /// The reduction was spurious.
    Undo,
    /// The sender's window shrank to this by validation.
    Validation(u32),
    /// Data is sent after idle time.
    Restart(Restart),
    /// The delays of the internet are measured differently from now on.
    ClockChange,
}

/// A call with the windows after it.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The connection, in the order of their beginnings.
    pub connection: u32,
    /// The call.
    pub call: Call,
    /// The sender's window.
    pub window: SegmentWindow,
    /// The window of the internet domain.
    pub internet: SegmentWindow,
    /// The window of the radio domain.
    pub ran: SegmentWindow,
}

thread_local! {
    static STEPS: RefCell<Option<Vec<Step>>> = const { RefCell::new(None) };
    static CONNECTIONS: Cell<u32> = const { Cell::new(0) };
}

/// Calls `run` in this thread and returns the calls of all laws within it.
pub fn record<T>(run: impl FnOnce() -> T) -> (T, Vec<Step>) {
    STEPS.set(Some(vec![]));
    CONNECTIONS.set(0);
    let result = run();
    (result, STEPS.take().unwrap_or_default())
}

/// The number of the next connection.
pub(super) fn next_connection() -> u32 {
    CONNECTIONS.replace(CONNECTIONS.get() + 1)
}

pub(super) fn note(step: Step) {
    STEPS.with_borrow_mut(|steps| {
        if let Some(steps) = steps {
            steps.push(step);
        }
    });
}
