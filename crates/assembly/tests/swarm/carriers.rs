//! UEs with several carriers, in some of the scenarios with several cells.

use std::collections::BTreeMap;

use airlane_core::Stream;
use airlane_record::{Column, Table};
use airlane_scenario::{Resolved, format};
use serde_json::{Value, json};

use super::radio_settings::is_nr;
use super::settings::number;

/// Frequencies of two carriers of a UE that had the same one are this far apart.
const APART_MHZ: f64 = 113.7;

/// Whether a UE has several carriers.
pub(super) fn are_in(scenario: &Resolved) -> bool {
    scenario.ue.iter().any(|ue| ue.carriers.is_some())
}

/// The milliseconds in which secondary cells of a UE were deactivated, by the names of UE and cell.
pub(super) fn deactivations(tables: &[(&str, Table)]) -> BTreeMap<(String, String), Vec<u64>> {
    let mut found: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    let Some((_, table)) = tables.iter().find(|(name, _)| *name == "carriers") else { return found };
    let Some(Column::F64(times)) = table.column("t_s") else { panic!("no column t_s") };
    let [ue, cell, step] = ["ue", "cell", "step"]
        .map(|name| table.column(name).and_then(Column::names).expect("a column of names"));
    for row in (0..times.len()).filter(|&row| step[row] == "deactivated") {
        let key = (ue[row].to_owned(), cell[row].to_owned());
        found.entry(key).or_default().push((1e3 * times[row]) as u64);
    }
    found
}

/// Keys and values for a scenario that resolves to `base`, with those that are written already: the cells of the technology
/// of the first move to its site, each to a carrier of its own near the one it had, and some UEs use several of them. With
/// handovers, there are two cells at each site, on the same two carriers if their bands are equal.
pub(super) fn draw(
    s: &mut Stream,
    base: &Resolved,
    layout: bool,
    written: &[(String, Value)],
) -> Vec<(String, Value)> {
    let is_written = |what: &str| {
        written.iter().any(|(path, value)| path.contains(what) || value.to_string().contains(what))
    };
    let fits = !["output.energy", "interferer"].iter().any(|what| is_written(what));
    if layout || base.cell.len() < 2 || !fits || !s.chance(0.5) {
        return vec![];
    }
    let first = &base.cell[0];
    let alike = |cell: &format::Cell| is_nr(cell) == is_nr(first) && !cell.interferer;
    let cells: Vec<usize> = (0..base.cell.len()).filter(|at| alike(&base.cell[*at])).collect();
    if cells.len() < 2 || cells[0] != 0 {
        return vec![];
    }
    let moves = base.handover.is_some();
    let mut list = vec![];
    let mut bands: Vec<&format::Cell> = vec![];
    for (place, &at) in cells.iter().enumerate() {
        let cell = &base.cell[at];
        // The cells of one site come one after the other.
        let (site, carrier) =
            if moves { (&base.cell[cells[place / 2 * 2]], place % 2) } else { (first, place) };
        let is_known = moves && bands.get(carrier).is_some_and(|band| have_same_band(band, cell));
        if place == bands.len() {
            bands.push(cell);
        }
        let (of, apart) = if is_known { (bands[carrier], carrier) } else { (cell, place) };
        let apart = 1e6 * APART_MHZ * apart as f64;
        let [hz, uplink_hz] = [of.frequency, of.uplink_frequency].map(|of| of.0 + apart);
        list.push((format!("cell.{at}.position"), json!(site.position)));
        list.push((format!("cell.{at}.frequency"), json!(format!("{} MHz", hz / 1e6))));
        list.push((format!("cell.{at}.uplink_frequency"), json!(format!("{} MHz", uplink_hz / 1e6))));
        if moves {
            list.push((format!("cell.{at}.antenna"), json!(site.antenna)));
        }
    }
    let names: Vec<_> = cells.iter().map(|at| base.cell[*at].name.as_str()).collect();
    for ue in 0..base.ue.len() {
        if written.iter().any(|(path, _)| *path == format!("ue.{ue}.cell")) || !s.chance(0.7) {
            continue;
        }
        let most = if moves { 2 } else { names.len() };
        let count = 2 + s.below(most as u64 - 1) as usize;
        list.push((format!("ue.{ue}.carriers"), json!(names[..count])));
        list.push((format!("ue.{ue}.scells"), scells(s)));
        if base.cell.iter().filter(|cell| !cell.interferer).all(knows_power) {
            list.extend(
                uplink(s, &names[..count]).map(|uplink| (format!("ue.{ue}.uplink_carriers"), uplink)),
            );
        }
    }
    list
}

/// Whether the cell knows the power of its UEs.
fn knows_power(cell: &format::Cell) -> bool {
    matches!(cell.mac.power_control, format::PowerControl::OpenLoop(_))
        && matches!(cell.mac.power_headroom, format::PowerHeadroom::Report(_))
}

/// Some of the carriers of a UE, to which it sends.
pub(super) fn uplink(s: &mut Stream, carriers: &[&str]) -> Option<Value> {
    let chosen = carriers.iter().enumerate().filter(|(place, _)| *place == 0 || s.chance(0.7));
    let chosen: Vec<_> = chosen.map(|(_, name)| *name).collect();
    s.chance(0.6).then(|| json!(chosen))
}

/// Whether cells of these bands may have one carrier.
fn have_same_band(one: &format::Cell, other: &format::Cell) -> bool {
    let radio = |cell: &format::Cell| match &cell.radio {
        Some(format::Radio::Nr(nr)) => Some((nr.subcarrier_spacing, nr.duplex.clone())),
        _ => None,
    };
    one.resource_blocks == other.resource_blocks && radio(one) == radio(other)
}

/// Measurements that add and release SCells, for some UEs that have several carriers.
pub(super) fn scell_events(s: &mut Stream, settings: &mut Vec<(String, Value)>) {
    let of_ue = |path: &str| path.strip_suffix(".scells").map(|ue| format!("{ue}.scell_events"));
    let ues: Vec<_> = settings.iter().filter_map(|(path, _)| of_ue(path)).collect();
    for path in ues {
        if s.chance(0.3) {
            let add_above = number(s, 60, 120);
            let events = json!({
                "add_above": format!("-{add_above} dBm"),
                "release_below": format!("-{} dBm", add_above + number(s, 1, 10)),
                "time_to_trigger": format!("{} ms", 40 * s.below(10)),
                "preparation": format!("{} ms", s.below(80)),
            });
            settings.push((path, events));
        }
    }
}

pub(super) fn scells(s: &mut Stream) -> Value {
    let ms = |ms: u64| format!("{ms} ms");
    let (delay, period) = (ms(number(s, 8, 34)), ms([5, 20, 80][s.below(3) as usize]));
    if s.chance(0.3) {
        return json!({ "kind": "always-active", "activation_delay": delay, "ssb_period": period });
    }
    json!({
        "kind": "on-demand", "activate_above": format!("{} B", s.below(20_000)),
        "deactivation_timer": ms([40, 80, 160, 320][s.below(4) as usize]),
        "activation_delay": delay, "ssb_period": period,
    })
}
