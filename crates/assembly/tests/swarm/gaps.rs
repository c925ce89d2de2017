//! UEs with measurement gaps, in some of all scenarios with cells.

use airlane_core::Stream;
use airlane_record::{Column, Table};
use airlane_scenario::{Resolved, format};
use serde_json::{Value, json};

use super::Drawn;
use super::radio_settings::is_nr;
use super::settings::number;

/// Some UEs get gaps, unless an occasion of a cell could always be in them.
pub(super) fn draw(s: &mut Stream, drawn: &mut Drawn) {
    if !s.chance(0.3) {
        return;
    }
    let Ok(base) = drawn.resolve() else { return };
    let is_lte = base.cell.iter().any(|cell| !is_nr(cell));
    for ue in 0..base.ue.len() {
        if !s.chance(0.7) {
            continue;
        }
        drawn.settings.push((format!("ue.{ue}.measurement_gaps"), pattern(s, is_lte)));
        if drawn.resolve().is_err() {
            drawn.settings.pop();
        }
    }
}

fn pattern(s: &mut Stream, is_lte: bool) -> Value {
    let repetition = if is_lte { [40, 80][s.below(2) as usize] } else { 20 << s.below(4) };
    let length =
        if is_lte { "6 ms" } else { super::one_of(s, &["1.5 ms", "3 ms", "3.5 ms", "4 ms", "5.5 ms"]) };
    let mut gaps = json!({ "repetition": format!("{repetition} ms"), "length": length });
    if s.chance(0.5) {
        gaps["offset"] = json!(format!("{} ms", s.below(repetition)));
    }
    if s.chance(0.4) {
        gaps["only_below"] = json!(format!("-{} dBm", number(s, 60, 120)));
        gaps["hysteresis"] = json!(format!("{} dB", s.below(6)));
        gaps["time_to_trigger"] = json!(format!("{} ms", 40 * s.below(10)));
        gaps["preparation"] = json!(format!("{} ms", s.below(80)));
    }
    gaps
}

/// Whether a scenario has UEs with gaps.
fn are_in(scenario: &Resolved) -> bool {
    scenario.ue.iter().any(|ue| ue.measurement_gaps.is_some())
}

fn ues(scenario: &Resolved) -> u64 {
    scenario.ue.iter().map(|ue| u64::from(ue.count)).sum()
}

/// What gaps add to the longest wait of a block for its next transmission in the downlink of a cell of LTE, in subframes.
/// `blocks` of each UE may wait at once, each of those that have waited longer needs one subframe of the cell, and those in
/// gaps need none. Of 40 subframes, a gap takes 10 in a row, which are as many of each frame as are `usable` in one.
pub(super) fn in_downlink(scenario: &Resolved, blocks: u64, usable: u64) -> u64 {
    if !are_in(scenario) {
        return 0;
    }
    40 * (1 + (blocks * ues(scenario)).div_ceil(3 * usable.max(1)))
}

/// Round trips of a synchronous retransmission beyond the first, at most. A gap takes two in a row of the five of a process in
/// 40 ms. Then one block of each other UE may have waited longer, and blocks that are repeated all the time may have the
/// resource blocks that each of them needs.
pub(super) fn round_trips(scenario: &Resolved, cell: &format::Cell) -> u64 {
    let transmissions = u64::from(cell.mac.harq_transmissions);
    if are_in(scenario) { 2 + 2 * transmissions * (1 + ues(scenario)) } else { 0 }
}

/// Checks that no block of the RAN log is in a gap of its UE, where the scenario says when gaps are.
///
/// # Panics
/// If one is.
pub(super) fn check(scenario: &Resolved, log: &Table) {
    let Some(Column::I64(slot)) = log.column("slot") else { panic!("no column slot") };
    let [cell, ue] = ["cell", "ue"].map(|name| log.column(name).and_then(Column::names).expect("names"));
    let cell_of = |name: &str| scenario.cell.iter().find(|cell| cell.name == name).expect("it is there");
    for group in scenario.ue.iter().filter(|group| group.count == 1) {
        let gaps = group.measurement_gaps.as_ref().filter(|gaps| gaps.only_below.is_none());
        let Some((gaps, offset)) = gaps.and_then(|gaps| Some((gaps, gaps.offset?))) else { continue };
        for row in (0..slot.len()).filter(|&row| ue[row] == group.name) {
            let cell = cell_of(cell[row]);
            if !cell.rrc.is_always_connected() {
                continue; // a UE without a connection has no gaps
            }
            let length = cell.slot().as_nanos();
            let [period, lasts, offset] =
                [gaps.repetition, gaps.length, offset].map(|time| time.0.as_nanos());
            let since = (slot[row] as u64 * length + period - offset) % period;
            assert!(since >= lasts && since + length <= period, "UE {} in slot {}", group.name, slot[row]);
        }
    }
}
