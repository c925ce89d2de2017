//! UEs that sleep: DRX and connections on demand, in some of the scenarios where they may.

use std::collections::BTreeMap;

use airlane_core::Stream;
use airlane_record::{Column, Table};
use airlane_scenario::{Resolved, format};
use serde_json::{Value, json};

use super::settings::number;

/// Keys and values for the cells of a scenario that resolves to `base`, of which some are written already.
pub(super) fn draw(
    s: &mut Stream,
    base: &Resolved,
    layout: bool,
    written: &[(String, Value)],
) -> Vec<(String, Value)> {
    let polls = |cell: &format::Cell| matches!(cell.uplink, format::Uplink::Polled(_));
    let has = |what: &str| {
        written.iter().any(|(path, value)| path.contains(what) || value.to_string().contains(what))
    };
    let mut list = idle_times(s, base);
    if base.cell.is_empty() || base.cell.iter().any(polls) || has("polled") || !s.chance(0.35) {
        return list;
    }
    let throttles = base.cell.iter().any(|cell| cell.early_throttling.is_some()) || has("early_throttling");
    let (drx, rrc) = (s.chance(0.8), !throttles && s.chance(0.6));
    let cells = if layout { 1 } else { base.cell.len() };
    if let (Some(network), true) = (sleeping(base.network), s.chance(0.3)) {
        list.push(("network".to_owned(), json!(network)));
        if throttles {
            list.extend((0..cells).map(|cell| (format!("cell.{cell}.rrc"), json!("always-connected"))));
        }
    }
    for cell in 0..cells {
        let is_nr = base.cell[cell].radio.as_ref().is_some_and(|radio| matches!(radio, format::Radio::Nr(_)));
        if drx {
            list.push((format!("cell.{cell}.drx"), if s.chance(0.05) { json!("none") } else { cycles(s) }));
        }
        if rrc {
            list.push((format!("cell.{cell}.rrc"), on_demand(s, is_nr)));
            list.extend(request_limit(s, &base.cell[cell], cell));
        }
    }
    if s.chance(0.3) {
        list.push(("output.energy".to_owned(), json!(true)));
    }
    list
}

/// Sometimes, a limit of scheduling requests, after which random access follows.
fn request_limit(s: &mut Stream, cell: &format::Cell, number_of: usize) -> Vec<(String, Value)> {
    if !matches!(cell.uplink, format::Uplink::SchedulingRequest(_)) || !s.chance(0.3) {
        return vec![];
    }
    let at = format!("cell.{number_of}.uplink");
    let most = (format!("{at}.max_requests"), json!(number(s, 1, 16)));
    let timer = format!("{} ms", number(s, 0, 30));
    if s.chance(0.5) { vec![most, (format!("{at}.prohibit_timer"), json!(timer))] } else { vec![most] }
}

/// The preset with the settings of another one whose UEs sleep.
fn sleeping(network: format::Network) -> Option<&'static str> {
    match network {
        format::Network::Typical => Some("typical-sleeping"),
        format::Network::NrTypicalFr1 => Some("nr-typical-fr1-sleeping"),
        format::Network::NrFddLowband => Some("nr-fdd-lowband-sleeping"),
        format::Network::NrFr2 => Some("nr-fr2-sleeping"),
        _ => None,
    }
}

/// Pings that follow the answer to the last one.
fn idle_times(s: &mut Stream, base: &Resolved) -> Vec<(String, Value)> {
    let pings = base.flow.iter().enumerate().filter(|(_, flow)| matches!(flow.app, format::App::Ping(_)));
    let mut list = Vec::new();
    for (flow, _) in pings {
        if s.chance(0.3) {
            let mut ms = |low, high| format!("{} ms", number(s, low, high));
            let idle = json!({ "first": ms(1, 50), "last": ms(50, 400), "step": ms(1, 100) });
            list.push((format!("flow.{flow}.app.idle"), idle));
        }
    }
    list
}

pub(super) fn cycles(s: &mut Stream) -> Value {
    let short = [10, 20, 40][s.below(3) as usize];
    let cycle = short * number(s, 2, 8);
    let mut drx = json!({ "kind": "cycles", "cycle": format!("{cycle} ms") });
    let mut set = |s: &mut Stream, key: &str, low, high| {
        if s.chance(0.7) {
            drx[key] = json!(format!("{} ms", number(s, low, high)));
        }
    };
    set(s, "inactivity", 0, 200);
    set(s, "retransmission", 0, 16);
    set(s, "uplink_retransmission", 0, 16);
    drx["on_duration"] = json!(format!("{} ms", number(s, 1, short - 1)));
    if s.chance(0.5) {
        drx["short_cycle"] = json!(format!("{short} ms"));
        drx["short_cycles"] = json!(number(s, 1, 16));
    }
    drx["command"] = json!(s.chance(0.3));
    drx
}

fn on_demand(s: &mut Stream, is_nr: bool) -> Value {
    let mut rrc = json!({ "kind": "on-demand" });
    let mut set = |s: &mut Stream, key: &str, low, high| {
        if s.chance(0.7) {
            rrc[key] = json!(format!("{} ms", number(s, low, high)));
        }
    };
    for (key, low, high) in [
        ("inactivity_timer", 20, 2_000),
        ("paging_listen", 1, 5),
        ("paging_delay", 0, 40),
        ("cell_processing", 0, 8),
        ("core_delay", 0, 100),
        ("setup_processing", 1, 20),
        ("reconfiguration_processing", 1, 20),
        ("t300", 100, 2_000),
        ("t3417", 200, 5_000),
    ] {
        set(s, key, low, high);
    }
    rrc["paging_cycle"] = json!(["320 ms", "640 ms"][s.below(2) as usize]);
    rrc["release_to"] = json!(if is_nr && s.chance(0.5) { "inactive" } else { "idle" });
    let mut access = json!({});
    let mut set = |s: &mut Stream, key: &str, low, high| {
        if s.chance(0.5) {
            access[key] = json!(format!("{} ms", number(s, low, high)));
        }
    };
    for (key, low, high) in [
        ("prach_period", 1, 20),
        ("response_delay", 1, 6),
        ("response_window", 2, 10),
        ("msg3_delay", 1, 8),
        ("contention_resolution", 24, 64),
        ("backoff", 0, 40),
    ] {
        set(s, key, low, high);
    }
    access["preambles"] = json!(number(s, 1, 64));
    access["responses"] = json!(number(s, 1, 4));
    let most = number(s, 1, 20);
    access["max_preambles"] = json!(most);
    if s.chance(0.2) {
        access["detection"] = json!(super::one_of(s, &["ramping", "power"]));
    }
    if is_nr && s.chance(0.3) {
        access["preambles"] = json!(number(s, 1, 48));
        access["two_step"] = json!({
            "preambles": number(s, 1, 16),
            "pusch_delay": format!("{} ms", number(s, 1, 6)),
            "response_window": format!("{} ms", number(s, 9, 20)), // above `cell_processing`
            "max_preambles": number(s, 1, 6).min(most),
        });
    }
    rrc["random_access"] = access;
    rrc
}

/// The longest sleep of a connected UE in subframes.
pub(super) fn longest(cell: &format::Cell) -> u64 {
    match &cell.drx {
        format::Drx::None => 0,
        format::Drx::Cycles(drx) => drx.cycle.0.as_millis() + drx.on_duration.0.as_millis(),
    }
}

/// Whether the first packet may wait for much of a run.
pub(super) fn may_wait_long(scenario: &Resolved) -> bool {
    scenario.cell.iter().any(|cell| !cell.rrc.is_always_connected() || longest(cell) > 100)
}

/// Times in s are sums of doubles.
const ROUNDING: f64 = 1e-9;

/// Checks the connections of a run in one cell: no data for a UE waits longer than for its next paging occasion, and as many
/// later ones as UEs may miss in a row ([`super::reach::most_misses`]).
///
/// # Panics
/// If any does.
pub(super) fn check(scenario: &Resolved, tables: &[(&str, Table)]) {
    let [cell] = &scenario.cell[..] else { return };
    let format::Rrc::OnDemand(rrc) = &cell.rrc else { return };
    let Some((_, table)) = tables.iter().find(|(name, _)| *name == "rrc_connections") else { return };
    if cell.outages.is_some() {
        return;
    }
    let missed = if cell.control_errors { super::reach::most_misses(scenario) } else { Some(0) };
    let Some(missed) = missed else { return };
    let names = |name: &str| table.column(name).and_then(Column::names).expect("a column of names");
    let times = |name: &str| match table.column(name) {
        Some(Column::F64(values)) => values,
        other => panic!("{name}: {other:?}"),
    };
    let (ues, causes, outcomes) = (names("ue"), names("cause"), names("outcome"));
    let (waits, begins, releases) = (times("waiting_s"), times("begin_s"), times("release_s"));
    let cycles = f64::from(1 + missed) * rrc.paging_cycle.0.as_secs_f64();
    let most = rrc.paging_delay.0.as_secs_f64() + cycles + ROUNDING;
    let mut before: BTreeMap<&str, usize> = BTreeMap::new();
    for row in 0..ues.len() {
        let before = before.insert(ues[row], row);
        let failed = before.is_some_and(|before| outcomes[before] == "failed");
        if failed || outcomes[row] != "connected" || causes[row] != "paging" {
            continue;
        }
        // A packet that comes while the UE is released waits for that first.
        let released = before.map_or(f64::INFINITY, |before| begins[row] - releases[before]);
        let wait = waits[row].min(released);
        assert!(wait <= most, "data for {} waited {wait} s, {most} s at most", ues[row]);
    }
}
