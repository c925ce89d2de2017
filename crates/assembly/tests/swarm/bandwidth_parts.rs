//! Bandwidth parts, in some of the scenarios with cells of NR.

use airlane_core::Stream;
use airlane_scenario::format;
use serde_json::json;

use super::Drawn;
use super::radio_settings::is_nr;
use super::settings::number;

/// Adds the parts of some cells of NR to a scenario, if they fit its other settings.
pub(super) fn draw(s: &mut Stream, drawn: &mut Drawn) {
    let Ok(base) = drawn.resolve() else { return };
    if drawn.text.contains("[layout]") || !s.chance(0.5) {
        return;
    }
    let fits = |cell: &format::Cell| is_nr(cell) && !cell.interferer;
    for (at, cell) in base.cell.iter().enumerate().filter(|(_, cell)| fits(cell)) {
        let least = u64::from(cell.mac.pucch_resource_blocks) + 11;
        let most = u64::from(cell.resource_blocks) - 1;
        let timer = [2, 5, 10, 20, 40, 80, 200, 2_560][s.below(8) as usize];
        let parts = json!({
            "default": number(s, least.min(most), most),
            "activate_above": format!("{} B", [0, s.below(3_000), s.below(60_000)][s.below(3) as usize]),
            "inactivity_timer": format!("{timer} ms"),
            "switching_delay": format!("type-{}", 1 + s.below(2)),
        });
        if !s.chance(0.8) {
            continue;
        }
        drawn.settings.push((format!("cell.{at}.bandwidth_parts"), parts));
        // A timer or a delay may not fit, nor configured grants.
        if drawn.resolve().is_err() {
            drawn.settings.pop();
        }
    }
}
