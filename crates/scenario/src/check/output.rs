//! Checks of the outputs of a run.

use super::{Checked, Place};
use crate::expand;
use crate::format::{CapturePoint, Network, Output, Resolved, Transport};

/// Maximum number of transport blocks in a RAN log: about four gigabytes in memory.
const BLOCKS_MAX: u64 = 100_000_000;
/// Maximum number of UEs that a slot can serve in one direction (TS 36.213 §7.1.6: 25 resource
/// block groups).
const SERVED_MAX: u64 = 25;

pub(super) fn output(scenario: &Resolved, at: &Place<'_>) -> Checked {
    let Output { pcap, snaplen, .. } = &scenario.output;
    for (i, point) in pcap.iter().enumerate() {
        let at = at.under("pcap");
        let twice = pcap[..i].contains(point);
        at.entry(i).require_here(!twice, "listed twice", "list each capture point once")?;
        let there = *point != CapturePoint::S1u || scenario.network != Network::Wired;
        let help = "use \"server\" or \"ue\"";
        at.entry(i).require_here(there, "a wired network has no S1-U", help)?;
    }
    let fits = (1..=65_535).contains(&snaplen.0.get());
    at.require(fits, "snaplen", "out of range", "it must be from 1 B to 65535 B; 128 B hold all headers")?;
    let quic = scenario.flow.iter().any(|flow| matches!(flow.transport, Transport::Quic(_)));
    at.require(quic || !scenario.output.qlog, "qlog", "no flow uses QUIC", "leave it out")?;
    ran_log(scenario, at)
}

/// The log of transport blocks must fit into memory.
pub(super) fn ran_log(scenario: &Resolved, at: &Place<'_>) -> Checked {
    if !scenario.output.ran_log {
        return Ok(());
    }
    let cellular = scenario.network != Network::Wired;
    at.require(cellular, "ran_log", "a wired network has no RAN", "leave it out")?;
    let slots = scenario.run.duration.0.as_nanos() / 1_000_000;
    let served = (expand::ues(scenario).len() as u64).min(SERVED_MAX * scenario.cell.len() as u64);
    let blocks = slots.saturating_mul(2 * served);
    let help = format!(
        "the log could have {blocks} transport blocks, and the limit is {BLOCKS_MAX}; shorten run.duration"
    );
    at.require(blocks <= BLOCKS_MAX, "ran_log", "the run is too long for this log", &help)
}
