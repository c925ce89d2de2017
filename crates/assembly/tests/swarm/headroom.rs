//! Power headroom reports, and grants that follow the power of a UE.

use airlane_core::Stream;
use airlane_record::{Column, Table};
use airlane_scenario::Resolved;
use serde_json::{Value, json};

use super::one_of;

/// Values of the timers: `PHR-Config` of TS 36.331 and TS 38.331.
const PERIODIC: [&str; 8] = ["10 ms", "20 ms", "50 ms", "100 ms", "200 ms", "500 ms", "1000 ms", "infinity"];
const PROHIBIT: [&str; 8] = ["0 ms", "10 ms", "20 ms", "50 ms", "100 ms", "200 ms", "500 ms", "1000 ms"];
const CHANGE: [&str; 4] = ["1 dB", "3 dB", "6 dB", "infinity"];

/// A block of this size carries data with every header and control element, which needs 12 bytes. The next smaller one
/// may be too small: sizes of MCS 0 are at most this much apart.
const LEAST_BYTES: i64 = 32;

/// For the rounding of a headroom that is exactly 0.
const ROUNDING_DB: f64 = 1e-4;

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

/// Checks that no block of the lowest MCS with an expected error rate above one half has more resource blocks than the
/// UE has full power for, by the latest report that the cell had, unless a smaller block could carry no data. Returns the
/// number of such blocks. A higher MCS may be expected to fail: the outer loop then has had many blocks decoded.
///
/// # Panics
/// If there was such a grant.
pub(super) fn check_grants(log: &Table) -> u64 {
    let whole = |name: &str| match log.column(name) {
        Some(Column::I64(values)) => values,
        other => panic!("{name}: {other:?}"),
    };
    let real = |name: &str| match log.column(name) {
        Some(Column::F64(values)) => values,
        other => panic!("{name}: {other:?}"),
    };
    let (bytes, mcs) = (whole("tb_bytes"), whole("mcs"));
    let (expected, headroom) = (real("expected_bler"), real("reported_headroom_db"));
    let mut checked = 0;
    for row in 0..bytes.len() {
        // Empty for the downlink, for retransmissions, and before the first report.
        let is_empty = expected[row].is_nan() || headroom[row].is_nan();
        if is_empty || mcs[row] > 0 || expected[row] <= 0.5 {
            continue;
        }
        checked += 1;
        assert!(
            headroom[row] >= -ROUNDING_DB || bytes[row] <= LEAST_BYTES,
            "row {row}: {} bytes with an expected error rate of {} and a reported headroom of {} dB",
            bytes[row],
            expected[row],
            headroom[row]
        );
    }
    checked
}
