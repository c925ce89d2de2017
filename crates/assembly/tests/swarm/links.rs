//! Values for keys of the links between sites and UEs: panels, buildings, wrap-around, minimum coupling loss, reach.

use airlane_core::Stream;
use airlane_scenario::{Resolved, format};
use serde_json::{Value, json};

use super::settings::{number, one_of};

/// Settings in addition to `others`, for a scenario that resolves to `base`.
pub(super) fn draw(
    s: &mut Stream,
    base: &Resolved,
    layout: bool,
    others: &[(String, Value)],
) -> Vec<(String, Value)> {
    let Some(channel) = base.channel.as_ref().filter(|_| s.chance(0.25)) else { return Vec::new() };
    let mut list = vec![
        ("channel.minimum_coupling_loss".to_owned(), json!(format!("{} dB", number(s, 0, 90)))),
        ("channel.spatial_consistency".to_owned(), json!(s.chance(0.5))),
    ];
    if matches!(channel.path_loss, format::PathLoss::Tr36873(_) | format::PathLoss::Tr38901(_)) {
        list.push(("channel.path_loss.random_environment_height".to_owned(), json!(s.chance(0.5))));
    }
    list.push(wrap_around(s, base, layout));
    let moves = |(index, ue): (usize, &format::Ue)| {
        let moved = others.iter().any(|(path, _)| path.starts_with(&format!("ue.{index}.mobility")));
        moved || !matches!(ue.mobility, format::Mobility::Static)
    };
    if s.chance(0.5) {
        list.push(("channel.strongest_cells".to_owned(), json!(1 + s.below(5))));
    }
    if s.chance(0.2) {
        list.push(("channel.clutter_loss_map".to_owned(), json!("woods.asc"))); // 15 dB at (0, 0)
    }
    for index in 0..if layout { 1 } else { base.cell.len() } {
        let at = format!("cell.{index}.antenna");
        if !others.iter().any(|(path, _)| path.starts_with(&at)) && s.chance(0.5) {
            list.push((at, panel(s, layout)));
        }
    }
    for (index, ue) in base.ue.iter().enumerate() {
        if !moves((index, ue)) && s.chance(0.5) {
            let mut building = building(s);
            // UMi of TR 36.814 ends at 2.5 m.
            if matches!(channel.path_loss, format::PathLoss::Tr36814(_)) {
                building["storeys"] = json!([1, 1]);
            }
            list.push((format!("ue.{index}.building"), building));
        }
    }
    list
}

/// The first cell has its path loss from a raster, 119 dB at (0, 0); there are then no copies of the area.
pub(super) fn path_loss_map(
    s: &mut Stream,
    base: &Resolved,
    layout: bool,
    settings: &mut Vec<(String, Value)>,
) {
    if !layout && base.channel.is_some() && s.chance(0.05) {
        settings.retain(|(path, _)| path != "channel.wrap_around");
        settings.push(("cell.0.path_loss_map".to_owned(), json!("hills.asc")));
    }
}

fn wrap_around(s: &mut Stream, base: &Resolved, layout: bool) -> (String, Value) {
    if layout {
        // Only whole rings repeat themselves: one ring of sites with one or three sectors.
        let whole = [7, 21].contains(&base.cell.len()) && s.chance(0.7);
        return ("layout.wrap_around".to_owned(), json!(whole));
    }
    let around = json!({
        "centre": [format!("{} m", number(s, 0, 300)), "0 m"],
        "rings": number(s, 0, 2),
        "inter_site_distance": format!("{} m", number(s, 300, 1500)),
    });
    ("channel.wrap_around".to_owned(), around)
}

fn panel(s: &mut Stream, layout: bool) -> Value {
    let row_spacing = [0.5, 0.8][s.below(2) as usize];
    let mut panel = json!({
        "kind": "panel",
        "rows": number(s, 1, 12),
        "columns": number(s, 1, 8),
        "row_spacing": row_spacing,
        "column_spacing": 0.5,
        "downtilt": format!("{} deg", number(s, 0, 20)),
    });
    if !layout {
        panel["azimuth"] = json!(format!("{} deg", s.below(360)));
    }
    panel
}

fn building(s: &mut Stream) -> Value {
    json!({
        "indoor": format!("{} %", number(s, 0, 100)),
        "walls": one_of(&["tr38.901", "tr36.873"])(s),
        "low_loss": format!("{} %", number(s, 0, 100)),
        "depth": format!("{} m", number(s, 0, 25)),
        // The other path-loss models include 7.5 m.
        "storeys": [1, number(s, 1, 3)],
        "storey_height": "3 m",
    })
}
