//! The report of a PEP in the path about the segments that have passed it.

use airlane_core::{Duration, SackBlock};

/// A report, with sequence numbers as on the wire. The caller has checked that it is authentic and new; the
/// endpoint checks its plausibility.
#[derive(Clone, Copy, Debug)]
pub struct PepReport<'a> {
    /// Time since the newest segment passed.
    pub delay: Duration,
    /// The last segment that passed.
    pub newest: SackBlock,
    /// The start of the PEP's observation.
    pub first: u32,
    /// The position up to which all bytes from `first` on have passed.
    pub cumulative: u32,
    /// The ranges that have passed beyond.
    pub ranges: &'a [SackBlock],
    /// The ranges that have not passed, and will not unless they are sent again.
    pub holes: &'a [SackBlock],
}
