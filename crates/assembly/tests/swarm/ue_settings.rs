//! Values for keys of UEs.

use airlane_scenario::{Resolved, format};
use serde_json::json;

use super::radio_settings::{is_nr, near_the_middle};
use super::settings::{Settings, decibels, metres, ms, one_of, real, whole};

pub(super) fn ues(settings: &mut Settings<'_>, base: &Resolved, layout: bool) {
    if layout && settings.s.chance(0.3) {
        let centre = near_the_middle(settings.s);
        settings.set("layout", "centre", centre);
    }
    // A UE placed near the first cell can be served only by this cell at the start: it moves in
    // areas around its cell.
    let first = base.cell[0].name.clone();
    let lawless = matches!(
        base.channel.as_ref().map(|channel| &channel.path_loss),
        Some(format::PathLoss::Friis | format::PathLoss::LogDistance(_))
    );
    for (i, ue) in base.ue.iter().enumerate() {
        let at = &format!("ue.{i}");
        let cell = first.clone();
        let mut keys = vec![
            ("tx_power", decibels(10, 26, "dBm")),
            ("noise_figure", decibels(0, 12, "dB")),
            ("penetration_loss", decibels(0, 15, "dB")),
            ("bearer_setup", ms(0, 900)),
            ("cell", Box::new(move |_: &mut _| json!(cell)) as _),
        ];
        if lawless {
            keys.push(("height", metres(0, 30)));
        }
        settings.some(at, keys);
        // Table 2 of NR has one MCS less.
        let highest = if base.cell.iter().any(is_nr) { 27 } else { 28 };
        settings.maybe(0.08, at, "fixed_mcs", whole(0, highest));
        placement(settings, at, ue, layout);
        movement(settings, &format!("{at}.mobility"), &ue.mobility);
    }
}

fn placement(settings: &mut Settings<'_>, at: &str, ue: &format::Ue, layout: bool) {
    let Some(format::Placement::Disc(_)) = &ue.placement else { return };
    let walks = !matches!(ue.mobility, format::Mobility::Static | format::Mobility::Line(_));
    if !walks && settings.s.chance(0.15) {
        if settings.s.chance(0.3) {
            let point = |k: u32, s: &mut _| json!({ "id": format!("p{k}"), "position": near_the_middle(s), "height": "1.5 m" });
            let points: Vec<_> = (0..ue.count).map(|k| point(k, settings.s)).collect();
            return settings.set(at, "placement", json!({ "kind": "points", "points": points }));
        }
        let apart = metres(100, 400)(settings.s);
        let own = !layout || settings.s.chance(0.5);
        let hexagons = if own {
            json!({ "kind": "hexagonal", "inter_site_distance": apart, "minimum_distance": "10 m" })
        } else {
            json!("hexagonal")
        };
        return settings.set(at, "placement", hexagons);
    }
    let keys = vec![("centre", Box::new(near_the_middle) as _), ("uniform", one_of(&["area", "distance"]))];
    settings.some(&format!("{at}.placement"), keys);
}

fn movement(settings: &mut Settings<'_>, at: &str, mobility: &format::Mobility) {
    let around = || vec![("centre", Box::new(near_the_middle) as _), ("radius", metres(300, 500))];
    match mobility {
        format::Mobility::Static => settings.maybe(0.1, at, "kind", one_of(&["static"])),
        format::Mobility::Trace(_) | format::Mobility::RandomWalk(_) => {}
        format::Mobility::Line(line) => {
            if line.speed_variance.is_none() {
                settings.maybe(
                    0.3,
                    at,
                    "speed_deviation",
                    Box::new(|s| json!(format!("{} km/h", s.below(20)))),
                );
            }
        }
        format::Mobility::RandomWaypoint(walk) => {
            if let format::Area::Disc(_) = walk.area {
                settings.some(&format!("{at}.area"), around());
            }
        }
        format::Mobility::LevyWalk(_) => {
            settings.some(at, around());
            let keys = vec![
                ("exponent", real(0.3, 2.0)),
                ("scale", metres(5, 20)),
                ("min", metres(1, 5)),
                ("max", metres(20, 1_000)),
            ];
            settings.some(&format!("{at}.flight"), keys);
            // Limits of pauses depend on their scale: set together or not at all.
            let s = &mut *settings.s;
            let pause = json!({
                "exponent": real(0.3, 2.0)(s), "scale": ms(10, 1_000)(s), "min": ms(1, 200)(s), "max": ms(300, 30_000)(s),
            });
            settings.maybe(0.3, at, "pause", Box::new(move |_| pause.clone()));
        }
    }
}
