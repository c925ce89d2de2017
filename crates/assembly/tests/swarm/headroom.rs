//! Power headroom reports, and grants that follow the power of a UE.

use std::collections::BTreeMap;

use airlane_core::{Decibel, Stream};
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

/// Within this time, a report is due and grants follow it.
const SOON_S: f64 = 0.1;

/// How far the path loss of a UE may be from that of its latest report, in dB; `None` if it may be anything, because
/// reports are rare or are made on configuration only. Within [`SOON_S`] it changes by less than the width of a level.
fn staleness(reports: &format::PowerHeadroom) -> Option<f64> {
    let is_soon = |ms: u64| ms as f64 <= 1000.0 * SOON_S;
    let format::PowerHeadroom::Report(report) = reports else { return None };
    if report.phr_periodic_timer.milliseconds().is_some_and(is_soon) {
        return Some(0.0);
    }
    let prohibit = report.phr_prohibit_timer.milliseconds();
    report.dl_pathloss_change.decibels().filter(|_| is_soon(prohibit))
}

/// Power headrooms on one resource block that a cell may know of a UE: a report reaches it in a block that is decoded.
#[derive(Clone, Debug, Default)]
struct Known {
    /// By HARQ process: that of the block in it.
    sent: BTreeMap<i64, f64>,
    /// Those of decoded blocks, with their times in s: the last one, and all within [`SOON_S`] before it.
    decoded: Vec<(f64, f64)>,
}

impl Known {
    /// The largest that the cell may still expect at this time.
    fn largest(&self, now: f64) -> Option<f64> {
        let last = self.decoded.last()?;
        let soon = self.decoded.iter().filter(|(at, _)| *at > now - SOON_S);
        Some(soon.map(|(_, headroom)| *headroom).fold(last.1, f64::max))
    }

    fn on_decoded(&mut self, now: f64, process: i64) {
        let Some(&headroom) = self.sent.get(&process) else { return };
        self.decoded.retain(|(at, _)| *at > now - SOON_S);
        self.decoded.push((now, headroom));
    }
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
    let flag = |name: &str| match log.column(name) {
        Some(Column::Bool(values)) => values,
        other => panic!("{name}: {other:?}"),
    };
    let stale: Vec<Option<f64>> =
        scenario.cell.iter().map(|cell| staleness(&cell.mac.power_headroom)).collect();
    let (cell, ue, bytes, mcs) = (label("cell"), label("ue"), whole("tb_bytes"), whole("mcs"));
    let (time, prbs, process) = (real("t_s"), whole("prbs"), whole("harq_process"));
    let (expected, headroom, decoded) = (real("expected_bler"), real("headroom_db"), flag("decoded"));
    let mut known: BTreeMap<(u32, u32), Known> = BTreeMap::new();
    let mut checked = 0;
    for row in 0..cell.len() {
        // Empty for the downlink, and without power control.
        if headroom[row].is_nan() {
            continue;
        }
        let known = known.entry((ue[row], cell[row])).or_default();
        let on_one = headroom[row] + Decibel::from_linear(prbs[row] as f64).0;
        // Empty for retransmissions.
        if !expected[row].is_nan() {
            let largest = known.largest(time[row]);
            known.sent.insert(process[row], on_one);
            if let (0, Some(stale), Some(largest)) = (mcs[row], stale[cell[row] as usize], largest) {
                checked += 1;
                let expected_headroom = headroom[row] + stale + (largest - on_one).max(0.0);
                let could_be_fewer = bytes[row] > LEAST_BYTES && expected_headroom < FULL_POWER_DB;
                assert!(
                    expected[row] <= 0.5 || !could_be_fewer,
                    "row {row}: {} bytes with an expected error rate of {} and a headroom of {} dB",
                    bytes[row],
                    expected[row],
                    headroom[row]
                );
            }
        }
        if decoded[row] {
            known.on_decoded(time[row], process[row]);
        }
    }
    checked
}
