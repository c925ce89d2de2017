//! Checks of UEs with a secondary node.

use airlane_ran::dual::DualConnectivityKind;
use airlane_ran::numerology::nr::FrequencyRange;
use airlane_settings::nearest_help;

use super::{Checked, Place};
use crate::format::{Cell, HandoverMode, Resolved, Rlc, SecondaryNode, Ue};

/// t-Reordering in ms (TS 38.331 §6.3.2, PDCP-Config).
const T_REORDERING_MS: [u64; 36] = [
    0, 1, 2, 4, 5, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100, 120, 140, 160, 180, 200, 220, 240, 260, 280, 300,
    500, 750, 1000, 1250, 1500, 1750, 2000, 2250, 2500, 2750, 3000,
];

/// The secondary node of a UE.
pub(super) fn secondary_node(ue: &Ue, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let Some(node) = &ue.secondary_node else { return Ok(()) };
    let at = &at.under("secondary_node");
    let cells = at.under("cells");
    cells.require_here(
        !node.cells.is_empty(),
        "no cell can be the PSCell",
        "name a cell of NR, in NR-DC one in FR2",
    )?;
    for (i, name) in node.cells.iter().enumerate() {
        pscell(name, node.kind(&scenario.cell), scenario, &cells.entry(i))?;
        let is_new = !node.cells[..i].contains(name);
        cells.entry(i).require_here(is_new, "this cell is listed twice", "name each cell once")?;
    }
    let apart = node.release_below.0.0 <= node.add_above.0.0;
    let help = "it must not be above `add_above`";
    at.require(apart, "release_below", "the PSCell would be released as soon as it is added", help)?;
    let help = "it must be at least 0 dB";
    at.require(node.change_offset.0.0 >= 0.0, "change_offset", "it is negative", help)?;
    master(ue, node, scenario, at)?;
    combinations(ue, scenario, at)?;
    let kind = node.kind(&scenario.cell);
    handover(kind, scenario, at)?;
    let can_serve = |cell: &&Cell| cell.can_be_master(kind) || node.cells.contains(&cell.name);
    for cell in scenario.cell.iter().filter(can_serve) {
        bearer(cell, at)?;
    }
    let help = format!("it must be one of {} ms", T_REORDERING_MS.map(|ms| ms.to_string()).join(", "));
    let t_reordering = node.t_reordering.0;
    let known =
        T_REORDERING_MS.contains(&t_reordering.as_millis()) && t_reordering.as_nanos() % 1_000_000 == 0;
    at.require(known, "t_reordering", "not a value of t-Reordering", &help)
}

/// A cell that can be the PSCell.
fn pscell(name: &String, kind: DualConnectivityKind, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let Some(cell) = scenario.cell.iter().find(|cell| cell.name == *name) else {
        let known: Vec<_> = scenario.cell.iter().map(|cell| cell.name.as_str()).collect();
        return at.wrong("no cell has this name", nearest_help(name, &known));
    };
    let is_nr = cell.nr().is_some() && !cell.interferer;
    let help = "name a cell with radio = \"nr\" that serves UEs";
    at.require_here(is_nr, "the secondary node is not a cell of NR that serves UEs", help)?;
    let is_apart = kind == DualConnectivityKind::EnDc || cell.is_in(FrequencyRange::Two);
    let message =
        format!("beside a master node of NR, a cell at {} cannot be the secondary node", cell.frequency);
    let help =
        "name a cell in FR2, from 24.25 GHz to 52.6 GHz, or let the master node be one of LTE (`master`)";
    at.require_here(is_apart, &message, help)
}

/// The radio of the cells of a master node, in messages.
const fn masters(kind: DualConnectivityKind) -> &'static str {
    match kind {
        DualConnectivityKind::EnDc => "LTE",
        DualConnectivityKind::NrDc => "NR in FR1",
    }
}

/// A cell can be the master node, and so can that which the UE names.
fn master(ue: &Ue, node: &SecondaryNode, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let kind = node.kind(&scenario.cell);
    let is_there = scenario.cell.iter().any(|cell| cell.can_be_master(kind));
    let help = match (kind, node.master) {
        (DualConnectivityKind::EnDc, _) => "add a [[cell]] with radio = \"lte\"",
        (DualConnectivityKind::NrDc, Some(_)) => {
            "add a [[cell]] with radio = \"nr\" and a frequency up to 7.125 GHz"
        }
        (DualConnectivityKind::NrDc, None) => {
            "add a [[cell]] with radio = \"lte\", or one of NR with a frequency up to 7.125 GHz"
        }
    };
    at.require_here(is_there, &format!("no cell of {} can be the master node", masters(kind)), help)?;
    let Some(name) = &ue.cell else { return Ok(()) };
    let cell = scenario.cell.iter().find(|cell| cell.name == *name);
    let message = format!("`cell`, the master node, is not a cell of {}", masters(kind));
    let help = format!("let `cell` name a cell of {}, or leave it out", masters(kind));
    at.require_here(cell.is_none_or(|cell| cell.can_be_master(kind)), &message, &help)
}

/// Handovers are between master nodes, and lose nothing: PDCP recovers the data of both cell groups.
fn handover(kind: DualConnectivityKind, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let Some(handover) = &scenario.handover else { return Ok(()) };
    let is_lossless = handover.mode == HandoverMode::Lossless;
    let help = "use handover.mode = \"lossless\"";
    at.require_here(is_lossless, "PDCP of dual connectivity sends data of a handover again", help)?;
    for cell in scenario.cell.iter().filter(|cell| cell.can_be_master(kind)) {
        let names = cell.neighbours.iter().flatten();
        let mut others = names.filter_map(|name| scenario.cell.iter().find(|other| other.name == *name));
        if let Some(other) = others.find(|other| !other.interferer && !other.can_be_master(kind)) {
            let of = masters(kind);
            let message = format!(
                "cell {:?} of {of} has the neighbour {:?}, which cannot be the master node",
                cell.name, other.name
            );
            let help = format!(
                "let `neighbours` name cells of {of}: the secondary node is not a target of handovers"
            );
            return at.require_here(false, &message, &help);
        }
    }
    Ok(())
}

/// Settings that a UE with a secondary node cannot have yet.
fn combinations(ue: &Ue, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let cells = || scenario.cell.iter();
    let wrong = [
        (ue.carriers.is_some(), "`carriers`", "use one cell of each node"),
        (ue.fixed_mcs.is_some(), "`fixed_mcs`", "leave out `fixed_mcs`"),
        (ue.access.is_some(), "`access`", "leave out `access`"),
        (ue.ambr.is_some(), "`ambr`", "leave out `ambr`"),
        (scenario.flow.iter().any(|flow| flow.qos.is_some()), "`qos` of flows", "leave out `qos`"),
        (scenario.rnis.is_some(), "[rnis]", "leave out [rnis]"),
        (scenario.output.energy, "`output.energy`", "leave out `output.energy`"),
        (
            cells().any(|cell| !cell.rrc.is_always_connected()),
            "connections that are released (`rrc`)",
            "use a preset without `-sleeping`, and `drx` alone",
        ),
        (cells().any(|cell| cell.l4s_bearer.is_some()), "`l4s_bearer`", "leave out `l4s_bearer`"),
        (
            cells().any(|cell| cell.early_throttling.is_some()),
            "`early_throttling`",
            "leave out `early_throttling`",
        ),
    ];
    for (is_there, what, help) in wrong {
        at.require_here(!is_there, &format!("dual connectivity cannot be combined with {what} yet"), help)?;
    }
    Ok(())
}

/// A leg of a split bearer needs acknowledged mode (TS 37.340 §4.2.2: data recovery is for AM).
fn bearer(cell: &Cell, at: &Place<'_>) -> Checked {
    let is_am = matches!(cell.rlc, Rlc::Am(_) | Rlc::NrAm(_));
    let message = format!("RLC of cell {:?} is not in acknowledged mode", cell.name);
    at.require_here(is_am, &message, "use rlc = \"am\" in this cell")
}
