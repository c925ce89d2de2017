//! What a PEP in the path says of the segments that have passed it.

use airlane_core::{Duration, SackBlock};

/// A report, in sequence numbers as on the wire. Whoever gives it to the endpoint has seen to it that it is
/// authentic and new; whether it is true, the endpoint judges.
#[derive(Clone, Copy, Debug)]
pub struct PepReport<'a> {
    /// How long ago the newest segment passed.
    pub delay: Duration,
    /// The segment that passed last.
    pub newest: SackBlock,
    /// Where the PEP began to watch.
    pub first: u32,
    /// Everything from there to here has passed.
    pub cumulative: u32,
    /// What has passed beyond.
    pub ranges: &'a [SackBlock],
    /// What has not passed, and will not unless it is sent again.
    pub holes: &'a [SackBlock],
}
