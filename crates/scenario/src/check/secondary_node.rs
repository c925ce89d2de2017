//! Checks of UEs with a secondary node.

use airlane_settings::nearest_help;

use super::{Checked, Place};
use crate::format::{Cell, HandoverMode, Resolved, Rlc, Ue};

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
    cells.require_here(!node.cells.is_empty(), "no cell can be the PSCell", "name a cell of NR")?;
    for (i, name) in node.cells.iter().enumerate() {
        pscell(name, scenario, &cells.entry(i))?;
        let is_new = !node.cells[..i].contains(name);
        cells.entry(i).require_here(is_new, "this cell is listed twice", "name each cell once")?;
    }
    let apart = node.release_below.0.0 <= node.add_above.0.0;
    let help = "it must not be above `add_above`";
    at.require(apart, "release_below", "the PSCell would be released as soon as it is added", help)?;
    let help = "it must be at least 0 dB";
    at.require(node.change_offset.0.0 >= 0.0, "change_offset", "it is negative", help)?;
    master(ue, scenario, at)?;
    combinations(ue, scenario, at)?;
    handover(scenario, at)?;
    let can_serve =
        |cell: &&Cell| !cell.interferer && (cell.nr().is_none() || node.cells.contains(&cell.name));
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
fn pscell(name: &String, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let Some(cell) = scenario.cell.iter().find(|cell| cell.name == *name) else {
        let known: Vec<_> = scenario.cell.iter().map(|cell| cell.name.as_str()).collect();
        return at.wrong("no cell has this name", nearest_help(name, &known));
    };
    let is_nr = cell.nr().is_some() && !cell.interferer;
    let help = "name a cell with radio = \"nr\" that serves UEs";
    at.require_here(is_nr, "the secondary node is not a cell of NR that serves UEs", help)
}

/// The master node is a cell of LTE.
fn master(ue: &Ue, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let is_lte = |cell: &Cell| cell.nr().is_none() && !cell.interferer;
    let help = "add a [[cell]] with radio = \"lte\"";
    at.require_here(scenario.cell.iter().any(is_lte), "no cell of LTE can be the master node", help)?;
    let Some(name) = &ue.cell else { return Ok(()) };
    let cell = scenario.cell.iter().find(|cell| cell.name == *name);
    let help = "let `cell` name a cell of LTE, or leave it out";
    at.require_here(cell.is_none_or(is_lte), "`cell`, the master node, is not a cell of LTE", help)
}

/// Handovers are between cells of LTE, and lose nothing: PDCP recovers the data of both cell groups.
fn handover(scenario: &Resolved, at: &Place<'_>) -> Checked {
    let Some(handover) = &scenario.handover else { return Ok(()) };
    let is_lossless = handover.mode == HandoverMode::Lossless;
    let help = "use handover.mode = \"lossless\"";
    at.require_here(is_lossless, "PDCP of dual connectivity sends data of a handover again", help)?;
    for cell in scenario.cell.iter().filter(|cell| cell.nr().is_none()) {
        let names = cell.neighbours.iter().flatten();
        let mut others = names.filter_map(|name| scenario.cell.iter().find(|other| other.name == *name));
        if let Some(other) = others.find(|other| other.nr().is_some()) {
            let message = format!("cell {:?} of LTE has the neighbour {:?} of NR", cell.name, other.name);
            let help = "let `neighbours` name cells of LTE: the secondary node is not a target of handovers";
            return at.require_here(false, &message, help);
        }
    }
    Ok(())
}

/// Settings that a UE with a secondary node cannot have yet.
fn combinations(ue: &Ue, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let cells = || scenario.cell.iter();
    let wrong = [
        (ue.carriers.is_some(), "`carriers`", "use one cell of LTE and one of NR"),
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
