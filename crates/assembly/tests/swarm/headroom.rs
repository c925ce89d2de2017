//! Power headroom reports, and grants that follow the power of a UE.

use airlane_core::Stream;
use airlane_record::{Column, Table};
use airlane_scenario::{Resolved, format};
use serde_json::{Value, json};

use super::one_of;

/// Values of the timers: `PHR-Config` of TS 36.331 and TS 38.331.
const PERIODIC: [&str; 8] = ["10 ms", "20 ms", "50 ms", "100 ms", "200 ms", "500 ms", "1000 ms", "infinity"];
const PROHIBIT: [&str; 8] = ["0 ms", "10 ms", "20 ms", "50 ms", "100 ms", "200 ms", "500 ms", "1000 ms"];
const CHANGE: [&str; 4] = ["1 dB", "3 dB", "6 dB", "infinity"];

/// A block of this size carries data with every header and control element, which needs 12 bytes. The next smaller one
/// may be too small: sizes of MCS 0 are at most this much apart.
const LEAST_BYTES: i64 = 32;

/// A UE with this power headroom has full power on each resource block. Levels of reports are 1 dB wide, and at 22 dB
/// and more 2 dB.
const FULL_POWER_DB: f64 = -2.0;

/// Settings for a scenario that resolves to `base`.
pub(super) fn draw(s: &mut Stream, base: &Resolved, layout: bool) -> Vec<(String, Value)> {
    let cells = if layout { 1 } else { base.cell.len() };
    let settings = (0..cells).map(|cell| {
        let value = if s.chance(0.2) {
            json!("none")
        } else {
            json!({
                "kind": "report",
                "phr_periodic_timer": one_of(s, &PERIODIC),
                "phr_prohibit_timer": one_of(s, &PROHIBIT),
                "dl_pathloss_change": one_of(s, &CHANGE),
            })
        };
        (format!("cell.{cell}.mac.power_headroom"), value)
    });
    settings.collect()
}

/// How far the path loss of a UE may be from that of its latest report, in dB; `None` if it may be anything, because
/// reports are rare or are made on configuration only. Within 100 ms it changes by less than the width of a level.
fn staleness(reports: &format::PowerHeadroom) -> Option<f64> {
    const SOON_MS: u64 = 100;
    let format::PowerHeadroom::Report(report) = reports else { return None };
    let periodic = report.phr_periodic_timer.milliseconds().filter(|&ms| ms <= SOON_MS);
    let change = report.dl_pathloss_change.decibels();
    let change = change.filter(|_| report.phr_prohibit_timer.milliseconds() <= SOON_MS);
    if periodic.is_some() { Some(0.0) } else { change }
}

/// Checks that no UE with fewer possible resource blocks was granted a block of the lowest MCS with an expected error
/// rate above one half, and returns the number of blocks that were checked. A higher MCS may be expected to fail: the
/// outer loop then has had many blocks decoded.
///
/// # Panics
/// If there was such a grant.
pub(super) fn check_grants(scenario: &Resolved, log: &Table) -> u64 {
    let whole = |name: &str| match log.column(name) {
        Some(Column::I64(values)) => values,
        other => panic!("{name}: {other:?}"),
    };
    let real = |name: &str| match log.column(name) {
        Some(Column::F64(values)) => values,
        other => panic!("{name}: {other:?}"),
    };
    let label = |name: &str| match log.column(name) {
        Some(Column::Labels { of, .. }) => of,
        other => panic!("{name}: {other:?}"),
    };
    let stale: Vec<Option<f64>> =
        scenario.cell.iter().map(|cell| staleness(&cell.mac.power_headroom)).collect();
    let (cell, bytes, mcs) = (label("cell"), whole("tb_bytes"), whole("mcs"));
    let (expected, headroom) = (real("expected_bler"), real("headroom_db"));
    let mut checked = 0;
    for row in 0..cell.len() {
        // Empty for the downlink, for retransmissions, and without power control.
        let Some(stale) = stale[cell[row] as usize] else { continue };
        if expected[row].is_nan() || headroom[row].is_nan() || mcs[row] > 0 {
            continue;
        }
        checked += 1;
        let could_be_fewer = bytes[row] > LEAST_BYTES && headroom[row] < FULL_POWER_DB - stale;
        assert!(
            expected[row] <= 0.5 || !could_be_fewer,
            "row {row}: {} bytes with an expected error rate of {} and a headroom of {} dB",
            bytes[row],
            expected[row],
            headroom[row]
        );
    }
    checked
}
