//! Checks of UEs with several carriers.

use std::collections::BTreeSet;

use airlane_settings::nearest_help;

use super::{Checked, Place, whole_subframes};
use crate::format::{Cell, PowerControl, PowerHeadroom, Resolved, ScellEvents, Scells, Ue, scells_of};

/// Serving cells of a UE in LTE: the primary one, and maxSCell-r10, 4 (TS 36.331 §6.4; later releases have more).
const MAX_SERVING_CELLS_LTE: usize = 5;
/// Serving cells of a UE in NR, on one carrier each: maxNrofAggregatedCellsPerCellGroup (TS 38.331 v18 §6.4, read in a
/// transcription).
const MAX_SERVING_CELLS_NR: usize = 16;

/// sCellDeactivationTimer in ms (TS 36.331 §6.3.2, MAC-MainConfig; TS 38.331 §6.3.2, ServingCellConfig).
const TIMERS_LTE_MS: [u64; 7] = [20, 40, 80, 160, 320, 640, 1280];
const TIMERS_NR_MS: [u64; 14] = [20, 40, 80, 160, 200, 240, 320, 400, 480, 520, 640, 720, 840, 1280];
/// Periods of synchronization signals in ms (TS 38.331 §6.3.2, ssb-periodicityServingCell).
const SSB_PERIODS_MS: [u64; 6] = [5, 10, 20, 40, 80, 160];

/// The carriers of a UE.
pub(super) fn carriers(ue: &Ue, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let Some(names) = &ue.carriers else {
        let help = "add carriers = [\"PRIMARY\", \"SECONDARY\"], or leave this out";
        at.require(ue.uplink_carriers.is_none(), "uplink_carriers", "the UE has one carrier", help)?;
        let help = "add carriers = [\"PRIMARY\", \"SECONDARY\"], or leave this out";
        at.require(ue.scells.is_none(), "scells", "the UE has one carrier", help)?;
        let help = "add carriers = [\"PRIMARY\", \"SECONDARY\"], or leave this out";
        return at.require(ue.scell_events.is_none(), "scell_events", "the UE has one carrier", help);
    };
    let alone = ue.cell.is_none();
    at.require(alone, "cell", "`carriers` names the primary cell", "leave out `cell`")?;
    let several = names.len() > 1;
    at.require(
        several,
        "carriers",
        "a UE with one carrier has no SCells",
        "use `cell`, or add a second cell",
    )?;
    let mut cells: Vec<&Cell> = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let at = at.under("carriers").entry(i);
        let Some(cell) = scenario.cell.iter().find(|cell| cell.name == *name) else {
            let known: Vec<_> = scenario.cell.iter().map(|cell| cell.name.as_str()).collect();
            return at.wrong("no cell has this name", nearest_help(name, &known));
        };
        cells.push(cell);
    }
    serving_cells(&cells, at)?;
    if let Some(uplink) = &ue.uplink_carriers {
        uplink_carriers(uplink, names, scenario, at)?;
    }
    let help = "leave out output.energy, or `carriers`";
    at.require(
        !scenario.output.energy,
        "carriers",
        "the energy of several carriers is not modelled yet",
        help,
    )?;
    if scenario.handover.is_some() {
        cells_after_handover(&cells, scenario, at)?;
    }
    if let Some(events) = &ue.scell_events {
        scell_events(events, &at.under("scell_events"))?;
    }
    match &ue.scells {
        Some(scells) => times(scells, cells[0], &at.under("scells")),
        None => at.fail("scells", "it is missing", "pass the scenario that `parse` returned"),
    }
}

/// Whether these cells can serve a UE at once.
fn serving_cells(cells: &[&Cell], at: &Place<'_>) -> Checked {
    let first = cells[0];
    let (most, of) = match first.nr() {
        Some(_) => (MAX_SERVING_CELLS_NR, "NR"),
        None => (MAX_SERVING_CELLS_LTE, "LTE"),
    };
    let help = format!("a UE of {of} has up to {most}");
    at.require(cells.len() <= most, "carriers", "too many carriers", &help)?;
    let (mut names, mut frequencies) = (BTreeSet::new(), Vec::new());
    for (i, cell) in cells.iter().enumerate() {
        let at = at.under("carriers").entry(i);
        at.require_here(names.insert(&cell.name), "this cell is listed twice", "name each cell once")?;
        let help = "choose a cell without `interferer`";
        at.require_here(!cell.interferer, "this cell is an interferer and serves no UE", help)?;
        let alike = cell.nr().is_some() == first.nr().is_some();
        let help = "use cells of LTE alone, or of NR alone";
        at.require_here(alike, "a cell of LTE and one of NR cannot be aggregated", help)?;
        let help = format!("use the position of cell {:?}: one base station has the queue", first.name);
        at.require_here(cell.position == first.position, "the cell is at another site", &help)?;
        let is_new = !frequencies.contains(&cell.frequency.0);
        frequencies.push(cell.frequency.0);
        let help = "give each [[cell]] a `frequency` of its own";
        at.require_here(is_new, "another carrier of the UE has the same frequency", help)?;
    }
    Ok(())
}

/// The carriers of a UE to which it sends.
fn uplink_carriers(uplink: &[String], carriers: &[String], scenario: &Resolved, at: &Place<'_>) -> Checked {
    let help = format!("name the primary cell first: {:?}", carriers[0]);
    let begins = uplink.first() == carriers.first();
    at.require(begins, "uplink_carriers", "the uplink of the primary cell is not the first", &help)?;
    let known: Vec<_> = carriers.iter().map(String::as_str).collect();
    let mut names = BTreeSet::new();
    for (i, name) in uplink.iter().enumerate() {
        let at = at.under("uplink_carriers").entry(i);
        if !known.contains(&name.as_str()) {
            return at.wrong("`carriers` has no cell of this name", nearest_help(name, &known));
        }
        at.require_here(names.insert(name), "this cell is listed twice", "name each cell once")?;
    }
    if uplink.len() == 1 {
        return Ok(());
    }
    // With handovers, each cell may serve the UE.
    let serves =
        |cell: &&Cell| !cell.interferer && (scenario.handover.is_some() || uplink.contains(&cell.name));
    for cell in scenario.cell.iter().filter(serves) {
        let is_known = matches!(cell.mac.power_control, PowerControl::OpenLoop(_))
            && matches!(cell.mac.power_headroom, PowerHeadroom::Report(_));
        let help = "set mac.power_control = \"open-loop\" and mac.power_headroom = \"report\" there";
        let message =
            format!("cell {:?} does not know the power of the UE, which its carriers share", cell.name);
        at.require(is_known, "uplink_carriers", &message, help)?;
    }
    Ok(())
}

/// With handovers, the secondary cells follow from the primary one: those of its site with the frequencies of the UE.
fn cells_after_handover(carriers: &[&Cell], scenario: &Resolved, at: &Place<'_>) -> Checked {
    for (i, cell) in carriers.iter().enumerate() {
        let help = "with [handover], name cells whose antennas have the same azimuth";
        let same = cell.is_beside(carriers[0]);
        let at = at.under("carriers").entry(i);
        at.require_here(same, "the cell has another direction than the primary cell", help)?;
    }
    for primary in &scenario.cell {
        for place in scells_of(primary, carriers, &scenario.cell) {
            let cell = &scenario.cell[place];
            let is_same = |other: &&Cell| other.frequency == cell.frequency && other.is_beside(primary);
            let Some(other) = scenario.cell[place + 1..].iter().find(is_same) else { continue };
            let (one, two) = (&cell.name, &other.name);
            let message =
                format!("cells {one:?} and {two:?} could both be an SCell with cell {:?}", primary.name);
            let help = "give the cells of a site that have one direction a `frequency` each";
            return at.fail("carriers", message, help);
        }
    }
    Ok(())
}

/// The thresholds are apart, or an SCell between them would be added and released in turn.
fn scell_events(events: &ScellEvents, at: &Place<'_>) -> Checked {
    let ScellEvents { add_above, release_below, .. } = events;
    let are_apart = release_below.0.0 < add_above.0.0;
    let help = format!("it must be below `add_above`, {} dBm", add_above.0.0);
    at.require(are_apart, "release_below", "an SCell would be released as soon as it is added", &help)
}

fn times(scells: &Scells, primary: &Cell, at: &Place<'_>) -> Checked {
    let is_nr = primary.nr().is_some();
    let one_of = |values: &[u64]| {
        let values: Vec<_> = values.iter().map(u64::to_string).collect();
        format!("it must be one of {} ms", values.join(", "))
    };
    let [delay, ssb_period] = scells.activation();
    if is_nr {
        whole_subframes(at, ssb_period, "ssb_period", 5)?;
        let known = SSB_PERIODS_MS.contains(&ssb_period.0.as_millis());
        at.require(known, "ssb_period", "not a period of NR", &one_of(&SSB_PERIODS_MS))?;
    } else {
        whole_subframes(at, delay, "activation_delay", 8)?;
        let known = delay.0.as_millis() <= 34;
        at.require(
            known,
            "activation_delay",
            "longer than TS 36.133 allows",
            "it must be from 8 ms to 34 ms",
        )?;
    }
    if let Scells::OnDemand(scells) = scells {
        let values: &[u64] = if is_nr { &TIMERS_NR_MS } else { &TIMERS_LTE_MS };
        let timer = scells.deactivation_timer;
        whole_subframes(at, timer, "deactivation_timer", 20)?;
        let known = values.contains(&timer.0.as_millis());
        at.require(known, "deactivation_timer", "not a value of sCellDeactivationTimer", &one_of(values))?;
    }
    Ok(())
}
