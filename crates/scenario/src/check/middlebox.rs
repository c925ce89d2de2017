//! Checks of middleboxes.

use super::{Checked, Place};
use crate::format::{Middlebox, Pep, PepFault, Resolved};

/// Flows that a PEP may watch: about half a kilobyte each.
const WATCHED_MAX: u32 = 1_000_000;
/// Ranges that it may remember for each: more than holes in any window that recovers.
const RANGES_MAX: u32 = 1_000;
/// Segments to one message, or above a hole.
const SEGMENTS_MAX: u32 = 255;

pub(super) fn middleboxes(scenario: &Resolved, at: &Place<'_>) -> Checked {
    let at = at.under("middlebox");
    let help = "one PEP, in the gateway or in each eNB";
    at.require(scenario.middlebox.len() <= 1, "1", "a second PEP", help)?;
    scenario.middlebox.iter().enumerate().try_for_each(|(i, one)| match one {
        Middlebox::Pep(settings) => pep(settings, &at.entry(i)),
    })
}

fn pep(pep: &Pep, at: &Place<'_>) -> Checked {
    let within = |value: u32, most: u32, key: &str, message: &str| {
        at.require((1..=most).contains(&value), key, message, &format!("from 1 to {most}"))
    };
    within(pep.ack_every, SEGMENTS_MAX, "ack_every", "no number of segments")?;
    within(pep.reordering, SEGMENTS_MAX, "reordering", "no number of segments")?;
    within(pep.flows, WATCHED_MAX, "flows", "no size of a table")?;
    within(pep.ranges, RANGES_MAX, "ranges", "no number of ranges")?;
    at.positive(pep.max_delay, "max_delay")?;
    at.positive(pep.idle, "idle")?;
    at.require(!pep.secret.is_empty(), "secret", "no secret", "any text")?;
    match &pep.fault {
        PepFault::Dies(dies) => {
            let ordered = dies.until.is_none_or(|until| until > dies.at);
            at.require(ordered, "fault.until", "before it dies", "it must be above `at`")
        }
        PepFault::None
        | PepFault::Lies(_)
        | PepFault::Loses(_)
        | PepFault::Reorders(_)
        | PepFault::Duplicates(_)
        | PepFault::Truncates(_)
        | PepFault::Forges
        | PepFault::Replays => Ok(()),
    }
}
