//! Checks of UEs.

use std::collections::BTreeSet;

use super::{Checked, Place, UES_MAX, name};
use crate::de::nearest_help;
use crate::format::{LevyWalk, Mobility, Placement, Resolved, Ue};
use crate::radio::home_cell;

pub(super) fn ues(scenario: &Resolved, at: &Place<'_>) -> Checked {
    at.require(!scenario.ue.is_empty(), "ue", "no UE", "add [[ue]] with a name and a position")?;
    let at = at.under("ue");
    let mut names = BTreeSet::new();
    let mut total = 0;
    for (i, one) in scenario.ue.iter().enumerate() {
        let at = at.entry(i);
        name(&one.name, &mut names, &at)?;
        total += u64::from(one.count);
        let within = one.count >= 1 && total <= UES_MAX;
        at.require(within, "count", &format!("{total} UEs in all"), "from 1 to 10000 in all")?;
        ue(one, scenario, &at)?;
    }
    for group in scenario.ue.iter().filter(|ue| ue.count > 1) {
        let taken = (1..=group.count).map(|k| format!("{}-{k}", group.name)).find(|n| names.contains(n));
        if let Some(taken) = taken {
            let index = scenario.ue.iter().position(|ue| ue.name == taken).expect("it is among the names");
            let message = format!("also the name of a UE of the group {:?}", group.name);
            at.entry(index).fail("name", message, "choose another name")?;
        }
    }
    Ok(())
}

fn ue(ue: &Ue, scenario: &Resolved, at: &Place<'_>) -> Checked {
    match (&ue.position, &ue.placement) {
        (None, None) => {
            let help =
                "add position = [\"100 m\", \"0 m\"] or placement = { kind = \"disc\", radius = \"250 m\" }";
            at.wrong("nowhere", help)?;
        }
        (Some(_), Some(_)) => at.fail("placement", "position is given already", "leave one of them out")?,
        (None, Some(Placement::Disc(disc))) => at.distance(disc.radius, "placement.radius")?,
        (Some(_), None) => {}
    }
    if let Some(cell) = &ue.cell
        && !scenario.cell.iter().any(|c| c.name == *cell)
    {
        let names: Vec<_> = scenario.cell.iter().map(|c| c.name.as_str()).collect();
        at.fail("cell", "no cell of that name", nearest_help(cell, &names))?;
    }
    match &ue.mobility {
        Mobility::Static => Ok(()),
        Mobility::LevyWalk(walk) => {
            let at = at.under("mobility");
            levy_walk(walk, &at)?;
            contains_start(ue, walk, scenario, &at)
        }
    }
}

fn levy_walk(walk: &LevyWalk, at: &Place<'_>) -> Checked {
    let (flight, pause) = (&walk.flight, &walk.pause);
    let laws = [
        ("flight", flight.exponent, [flight.scale.0, flight.min.0, flight.max.0]),
        ("pause", pause.exponent, [pause.scale, pause.min, pause.max].map(|t| t.0.as_secs_f64())),
    ];
    for (law, exponent, [scale, min, max]) in laws {
        let at = at.under(law);
        let stable = exponent > 0.0 && exponent <= 2.0;
        at.require(stable, "exponent", "no exponent of a stable law", "above 0, at most 2")?;
        at.require(scale > 0.0, "scale", "nothing", "it must be above zero")?;
        at.require(min > 0.0, "min", "nothing", "it must be above zero")?;
        at.require(max > min, "max", "not above `min`", "it must be above `min`")?;
        // The law draws until a value lies between its cuts.
        let likely = max >= scale / 100.0 && min <= scale * 100.0 && max >= 1.01 * min;
        if !likely {
            let help = "widen them, or bring them nearer to the scale";
            at.wrong("hardly any of the law lies between min and max", help)?;
        }
    }
    at.require(walk.radius.0 > 0.0, "radius", "no room to walk", "above 0 m")
}

/// A walk begins inside its disc, wherever in its placement the UE is put.
fn contains_start(ue: &Ue, walk: &LevyWalk, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let home = scenario.cell[home_cell(ue, scenario)].position;
    let (start, reach) = match (&ue.position, &ue.placement) {
        (Some(position), _) => (*position, 0.0),
        (None, Some(Placement::Disc(disc))) => (disc.centre.unwrap_or(home), disc.radius.0),
        (None, None) => return Ok(()),
    };
    let centre = walk.centre.unwrap_or(home);
    let (dx, dy) = (start[0].0 - centre[0].0, start[1].0 - centre[1].0);
    let far = (dx * dx + dy * dy).sqrt() + reach;
    let help = format!("the UE may start {far} m from its centre");
    at.require(far <= walk.radius.0, "radius", "the walk does not contain its start", &help)
}
