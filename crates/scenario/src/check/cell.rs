//! Checks of cells.

use super::{Checked, PACKET, Place, whole_subframes};
use crate::format::{Aqm, Cell, L4sBearer, RATE_MAX, Rlc, Uplink};

/// Bandwidths of LTE in resource blocks (TS 36.104 table 5.6-1).
const RESOURCE_BLOCKS: [u16; 6] = [6, 15, 25, 50, 75, 100];
/// Maximum number of FQ-CoDel queues in a cell: 4 B each.
const QUEUES_MAX: u64 = 50_000_000;

pub(super) fn cell(cell: &Cell, at: &Place<'_>) -> Checked {
    let replaced = cell.bandwidth.is_none();
    at.require(replaced, "bandwidth", "resolved cells have resource blocks", "give what `parse` returned")?;
    match cell.nr() {
        Some(of_nr) => super::nr::cell(cell, of_nr, at)?,
        None => lte(cell, at)?,
    }
    cell.scheduler.check(&at.under("scheduler"))?;
    if let Some(throttling) = &cell.early_throttling {
        let at = at.under("early_throttling");
        at.require(
            throttling.bearers > 0,
            "bearers",
            "early throttling would never start",
            "it must be 1 or more",
        )?;
        at.positive(throttling.within, "within")?;
    }
    for (carrier, key) in [(cell.frequency, "frequency"), (cell.uplink_frequency, "uplink_frequency")] {
        at.require(carrier.0 >= 1e8, key, "the carrier frequency is too low", "it must be at least 100 MHz")?;
    }
    super::channel::antenna(&cell.antenna, &at.under("antenna"))?;
    cell.mac.check(cell.resource_blocks, cell.slot(), &at.under("mac"))?;
    cell.uplink.check(cell.slot(), &at.under("uplink"))?;
    cell.drx.check(cell.slot(), &at.under("drx"))?;
    if let Some(parts) = &cell.bandwidth_parts {
        parts.check(cell, cell.nr(), &at.under("bandwidth_parts"))?;
    }
    cell.rrc.check(cell.nr().is_some(), &at.under("rrc"))?;
    let polled = matches!(cell.uplink, Uplink::Polled(_)) && cell.sleeps();
    let help = "use kind = \"scheduling-request\", or leave out drx and rrc";
    at.require(!polled, "uplink", "an eNB cannot poll UEs that sleep", help)?;
    let accesses = !cell.uplink.limits_requests() || !cell.rrc.is_always_connected();
    let help = "write rrc = \"on-demand\", which has its settings, or leave it out";
    at.under("uplink").require(accesses, "max_requests", "the cell has no random access", help)?;
    let throttles = cell.early_throttling.is_some() && !cell.rrc.is_always_connected();
    let help = "leave out early_throttling or rrc";
    at.require(!throttles, "early_throttling", "it cannot be combined with rrc", help)?;
    let pdcp = [7, 12, 15, 18].contains(&cell.pdcp.sn_bits); // TS 36.323 §6.3.2
    at.require(pdcp, "pdcp.sn_bits", "not a PDCP sequence number length", "it must be 7, 12, 15 or 18")?;
    // TS 36.331 §6.3.2 (PDCP-Config). A status report could not distinguish 128 SDUs from earlier ones.
    let known = cell.pdcp.sn_bits > 7 || !matches!(cell.rlc, Rlc::Am(_));
    at.require(known, "pdcp.sn_bits", "too short for RLC AM", "use 12, 15 or 18, or rlc.mode = \"um\"")?;
    let of_nr = matches!(cell.rlc, Rlc::NrAm(_) | Rlc::NrUm(_)); // TS 38.323 §6.3.2
    let known = !of_nr || [12, 18].contains(&cell.pdcp.sn_bits);
    at.require(known, "pdcp.sn_bits", "not a PDCP sequence number length of NR", "it must be 12 or 18")?;
    let confirmed = cell.pdcp.retransmission_queue.is_none() || cell.rlc.is_acknowledged();
    at.require(
        confirmed,
        "pdcp.retransmission_queue",
        "it needs RLC AM, which confirms delivery",
        "leave it out, or use rlc.mode = \"am\" or \"nr-am\"",
    )?;
    cell.rlc.check(&at.under("rlc"))?;
    cell.l4s_bearer.as_ref().map_or(Ok(()), |bearer| l4s_bearer(bearer, &at.under("l4s_bearer")))
}

/// UEs move between cells with their connections: these are on demand in all cells that serve UEs, or in none.
pub(super) fn connections(cells: &[Cell], at: &Place<'_>) -> Checked {
    let serving = || cells.iter().enumerate().filter(|(_, cell)| !cell.interferer);
    let is_first = serving().next().map(|(_, cell)| cell.rrc.is_always_connected());
    for (i, cell) in serving() {
        let alike = Some(cell.rrc.is_always_connected()) == is_first;
        let help = "write the same kind in all cells that serve UEs";
        at.entry(i).require(alike, "rrc", "cells differ in when their UEs are connected", help)?;
    }
    Ok(())
}

/// What only a cell of LTE has.
fn lte(cell: &Cell, at: &Place<'_>) -> Checked {
    let configured = matches!(cell.uplink, Uplink::ConfiguredGrant(_));
    let help = "use another kind, or radio = \"nr\"";
    at.require(!configured, "uplink", "LTE has no configured grants", help)?;
    let known = RESOURCE_BLOCKS.contains(&cell.resource_blocks);
    let help = "it must be 6, 15, 25, 50, 75 or 100 (1.4, 3, 5, 10, 15 or 20 MHz)";
    at.require(known, "resource_blocks", "not an LTE bandwidth", help)?;
    let (at, mac) = (at.under("mac"), &cell.mac);
    let mut slots = [0; 3];
    let times = [
        (mac.harq_round_trip, "harq_round_trip"),
        (mac.downlink_latency, "downlink_latency"),
        (mac.grant_to_pusch, "grant_to_pusch"),
    ];
    for (place, (time, key)) in slots.iter_mut().zip(times) {
        let Some(time) = time else { return at.fail(key, format!("`{key}` is missing"), "add it") };
        whole_subframes(&at, time, key, 1)?;
        *place = time.0.as_millis();
    }
    let [round_trip, latency, grant] = slots;
    at.require(
        round_trip >= latency,
        "harq_round_trip",
        "the retransmission would precede the reception of the block",
        "it must be at least mac.downlink_latency",
    )?;
    at.require(
        round_trip > grant, // a PUSCH takes a slot
        "harq_round_trip",
        "the retransmission would precede the reception of the uplink block",
        "it must be above mac.grant_to_pusch",
    )
}

fn l4s_bearer(bearer: &L4sBearer, at: &Place<'_>) -> Checked {
    at.at_least(bearer.buffer, PACKET, "buffer", "too small for a full packet")?;
    bearer.aqm.check(&at.under("aqm"))?;
    for (rate, key) in [(bearer.rate, "rate"), (Some(bearer.default_rate), "default_rate")] {
        let help = format!("it must be at most {RATE_MAX}");
        at.require(rate <= Some(RATE_MAX), key, "more than a cell carries", &help)?;
    }
    whole_subframes(at, bearer.bucket, "bucket", 1)
}

/// Cells of one carrier have the same bandwidth: interference is computed per resource block.
pub(super) fn carrier(cell: &Cell, before: &[Cell], at: &Place<'_>) -> Checked {
    let shared =
        |other: &&Cell| other.frequency == cell.frequency || other.uplink_frequency == cell.uplink_frequency;
    let Some(other) = before.iter().find(shared) else { return Ok(()) };
    super::nr::same_slots(cell, other, at)?;
    let same = other.resource_blocks == cell.resource_blocks;
    let help = format!("use {}, as cell {:?} does", other.resource_blocks, other.name);
    at.require(same, "resource_blocks", "cells on one carrier need one bandwidth", &help)
}

/// Each UE has its own queues at its cell, which may be any cell.
pub(super) fn queues(cell: &Cell, ues: u64, at: &Place<'_>) -> Checked {
    let (_, aqm) = cell.rlc.queue();
    let of_l4s = cell.l4s_bearer.iter().map(|bearer| (&bearer.aqm, "l4s_bearer.aqm.queues"));
    for (aqm, key) in core::iter::once((aqm, "rlc.aqm.queues")).chain(of_l4s) {
        let Aqm::FqCodel(fq) = aqm else { continue };
        let all = u64::from(fq.queues) * ues;
        let help = format!("all UEs together would have {all} queues; the limit is {QUEUES_MAX}");
        at.require(all <= QUEUES_MAX, key, "too many queues for this number of UEs", &help)?;
    }
    Ok(())
}
