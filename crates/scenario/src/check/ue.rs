//! Checks of UEs.

use std::collections::BTreeSet;

use airlane_core::Duration;
use airlane_settings::nearest_help;

use super::{Checked, Place, UES_MAX, name};
use crate::expand;
use crate::format::{
    Area, Building, Cell, LevyWalk, Line, Mobility, Placement, Points, RandomWalk, RandomWaypoint, Rectangle,
    Resolved, Step, Ue, nearest,
};
use crate::quantity::Metres;

/// The minimum size of an area: a walk turns at each crossing, and all turns are computed.
const ROOM_MIN_M: f64 = 1.0;
/// The minimum length of a step of a random walk: all steps are computed.
const STEP_MIN_M: f64 = 0.01;
const STEP_MIN: Duration = Duration::from_millis(1);
/// The minimum speed: 20000 km at this speed are within the range of the clock.
const SPEED_MIN_KMH: f64 = 0.1;

/// The highest MCS of LTE (TS 36.213 §7.1.7).
const LTE_HIGHEST_MCS: u8 = 28;

/// The highest MCS of a cell.
fn highest_mcs(cell: &Cell) -> u8 {
    cell.nr().map_or(LTE_HIGHEST_MCS, |nr| nr.tables().mcs_table.highest())
}

pub(super) fn ues(scenario: &Resolved, at: &Place<'_>) -> Checked {
    at.require(
        !scenario.ue.is_empty(),
        "ue",
        "the scenario has no UE",
        "add [[ue]] with a name and a position",
    )?;
    let at = at.under("ue");
    let mut names = BTreeSet::new();
    let mut total = 0;
    for (i, one) in scenario.ue.iter().enumerate() {
        let at = at.entry(i);
        name(&one.name, &mut names, &at)?;
        total += u64::from(one.count);
        let within = one.count >= 1 && total <= UES_MAX;
        at.require(
            within,
            "count",
            &format!("the scenario has {total} UEs"),
            "the number of UEs must be from 1 to 10000",
        )?;
        ue(one, scenario, &at)?;
    }
    if scenario.ue.iter().any(|ue| ue.access.is_some()) {
        let mut seen = BTreeSet::new();
        let radios = expand::ues(scenario);
        if let Some(twice) = radios.iter().find(|radio| !seen.insert(radio.name.as_str())) {
            let message = format!("two radios would have the name {:?}", twice.name);
            at.entry(twice.section).fail("name", message, "choose another name")?;
        }
    }
    for group in scenario.ue.iter().filter(|ue| ue.count > 1) {
        let taken = (0..group.count)
            .map(|k| format!("{}-{}", group.name, group.suffix(k)))
            .find(|n| names.contains(n));
        if let Some(taken) = taken {
            let index = scenario.ue.iter().position(|ue| ue.name == taken).expect("it is among the names");
            let message = format!("a UE of the group {:?} has the same name", group.name);
            at.entry(index).fail("name", message, "choose another name")?;
        }
    }
    Ok(())
}

fn ue(ue: &Ue, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let from_file = matches!(ue.mobility, Mobility::Trace(_));
    match (&ue.position, &ue.placement) {
        (None, None) if from_file => {}
        (Some(_), _) | (_, Some(_)) if from_file => {
            let key = if ue.position.is_some() { "position" } else { "placement" };
            at.fail(
                key,
                "it cannot be combined with a movement trace",
                "leave it out: the trace sets the start",
            )?;
        }
        (None, None) => {
            let help =
                "add position = [\"100 m\", \"0 m\"] or placement = { kind = \"disc\", radius = \"250 m\" }";
            at.wrong("nowhere", help)?;
        }
        (Some(_), Some(_)) => {
            at.fail("placement", "it cannot be combined with `position`", "leave out one of them")?
        }
        (None, Some(Placement::Disc(disc))) => at.distance(disc.radius, "placement.radius")?,
        (None, Some(Placement::Hexagonal(hexagons))) => {
            let wide = hexagons.inter_site_distance.0 >= 1.0;
            at.require(wide, "placement.inter_site_distance", "out of range", "it must be at least 1 m")?;
        }
        (None, Some(Placement::Points(list))) => points(list, ue, &at.under("placement"))?,
        (Some(_), None) => {}
    }
    if let Some(cell) = &ue.cell
        && !scenario.cell.iter().any(|c| c.name == *cell)
    {
        let names: Vec<_> = scenario.cell.iter().map(|c| c.name.as_str()).collect();
        at.fail("cell", "no cell has this name", nearest_help(cell, &names))?;
    }
    let interferer = |c: &&Cell| c.interferer && Some(&c.name) == ue.cell.as_ref();
    if scenario.cell.iter().any(|c| interferer(&c)) {
        at.fail("cell", "this cell is an interferer and serves no UE", "choose a cell without `interferer`")?;
    }
    super::carriers::carriers(ue, scenario, at)?;
    super::paths::accesses(ue, scenario, at)?;
    super::secondary_node::secondary_node(ue, scenario, at)?;
    if let Some(gaps) = &ue.measurement_gaps {
        let at = at.under("measurement_gaps");
        gaps.check(&Vec::from_iter(may_serve(ue, scenario)), &at)?;
        let is_alone = gaps.only_below.is_none() || ue.secondary_node.is_none();
        let help = "leave it out: gaps all the time stop both cell groups";
        at.require(is_alone, "only_below", "gaps of a UE with a secondary node have no events", help)?;
    }
    indoors(ue, at)?;
    ue.ambr.as_ref().map_or(Ok(()), |ambr| ambr.check(&at.under("ambr")))?;
    // Any cell may serve it.
    let highest = scenario.cell.iter().map(highest_mcs).min().unwrap_or(LTE_HIGHEST_MCS);
    let mcs = ue.fixed_mcs.is_none_or(|mcs| mcs <= highest);
    at.require(mcs, "fixed_mcs", "out of range", &format!("it must be an MCS from 0 to {highest}"))?;
    let at = at.under("mobility");
    match &ue.mobility {
        Mobility::Static | Mobility::Trace(_) => Ok(()),
        Mobility::Line(way) => line(way, ue, &at),
        Mobility::RandomWaypoint(walk) => random_waypoint(walk, ue, scenario, &at),
        Mobility::RandomWalk(walk) => random_walk(walk, ue, scenario, &at),
        Mobility::LevyWalk(walk) => {
            levy_walk(walk, &at)?;
            let reach = from_centre(walk.centre, ue, scenario);
            contains_start(reach, walk.radius, "radius", &at)
        }
    }
}

/// The cells that may serve a UE.
fn may_serve<'s>(ue: &'s Ue, scenario: &'s Resolved) -> impl Iterator<Item = &'s Cell> {
    let named = || ue.first_cell().into_iter().chain(ue.access.iter().flatten());
    let stays = scenario.handover.is_none() && named().count() > 0;
    let may = move |cell: &&Cell| !cell.interferer && (!stays || named().any(|name| *name == cell.name));
    scenario.cell.iter().filter(may)
}

/// Positions one by one.
fn points(list: &Points, ue: &Ue, at: &Place<'_>) -> Checked {
    let points = list.points.as_deref().unwrap_or_default();
    let few = points.len() == ue.count as usize;
    let help = format!("write a position for each of the {} UEs", ue.count);
    at.require(few, "points", "not as many positions as UEs", &help)?;
    let at = at.under("points");
    let mut ids = BTreeSet::new();
    for (i, point) in points.iter().enumerate() {
        let at = at.entry(i);
        let both = point.heading.is_some() == point.speed.is_some();
        at.require(both, "speed", "`heading` and `speed` belong together", "write both or neither")?;
        let Some(id) = &point.id else { continue };
        let known = |c: char| c.is_alphanumeric() || "-_ ".contains(c);
        let fits = (1..=40).contains(&id.len()) && id.chars().all(known);
        at.require(fits, "id", "not a valid id", "use 1 to 40 characters: letters, digits, space, - and _")?;
        at.require(ids.insert(id), "id", "the id is used twice", "give each UE its own id")?;
    }
    let all = ids.is_empty() || ids.len() == points.len();
    at.require_here(all, "some positions have an id and others have none", "give each an id, or none")
}

/// Distances from sites, and buildings.
fn indoors(ue: &Ue, at: &Place<'_>) -> Checked {
    if let Some(Placement::Hexagonal(hexagons)) = &ue.placement
        && let Some(least) = hexagons.minimum_distance
    {
        // A UE 25 m behind a wall is farther away still; half of the area remains.
        let depth_m = ue.building.as_ref().map_or(0.0, |building| building.depth.0);
        let room = least.0 >= 0.0 && least.0 + depth_m <= 0.5 * hexagons.inter_site_distance.0;
        let help = "together with building.depth, it must be at most half of inter_site_distance";
        at.require(room, "placement.minimum_distance", "out of range", help)?;
    }
    match &ue.building {
        Some(inside) => building(inside, ue, &at.under("building")),
        None => Ok(()),
    }
}

fn building(building: &Building, ue: &Ue, at: &Place<'_>) -> Checked {
    for (share, key) in [(building.indoor, "indoor"), (building.low_loss, "low_loss")] {
        at.require((0.0..=1.0).contains(&share.0), key, "out of range", "it must be from 0 % to 100 %")?;
    }
    let depth = (0.0..=1000.0).contains(&building.depth.0);
    at.require(depth, "depth", "out of range", "it must be from 0 m to 1000 m")?;
    let [fewest, most] = building.storeys;
    let storeys = fewest >= 1 && fewest <= most && most <= 200;
    at.require(storeys, "storeys", "out of range", "write the fewest and the most storeys, such as [4, 8]")?;
    let high = (1.0..=10.0).contains(&building.storey_height.0);
    at.require(high, "storey_height", "out of range", "it must be from 1 m to 10 m")?;
    let rests = matches!(ue.mobility, Mobility::Static);
    at.require(
        rests,
        "indoor",
        "UEs in buildings do not move",
        "leave out `building`, or use mobility = \"static\"",
    )
}

fn line(line: &Line, ue: &Ue, at: &Place<'_>) -> Checked {
    match (&line.heading, &line.towards) {
        (None, None) => at.wrong(
            "`heading` or `towards` is missing",
            "add heading = \"90 deg\" or towards = [\"100 m\", \"0 m\"]",
        )?,
        (Some(_), Some(_)) => {
            at.fail("towards", "it cannot be combined with `heading`", "leave out one of them")?
        }
        (None, Some(_)) => {
            let here = ue.position.is_some() && ue.position == line.towards;
            at.require(
                !here,
                "towards",
                "the UE starts at this point",
                "choose another point, or use `heading`",
            )?;
        }
        (Some(_), None) => {}
    }
    at.require(
        line.speed.0 > 0.0,
        "speed",
        "the speed is zero",
        "it must be above 0 km/h; for a UE at rest, use mobility = \"static\"",
    )?;
    let both = line.speed_deviation.is_some() && line.speed_variance.is_some();
    let help = "leave out one of them: the variance is the square of the deviation";
    at.require(!both, "speed_variance", "it cannot be combined with speed_deviation", help)
}

fn random_waypoint(walk: &RandomWaypoint, ue: &Ue, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let (speed, pause) = (&walk.speed, &walk.pause);
    let help =
        format!("it must be at least {SPEED_MIN_KMH} km/h: with 0, the mean speed decreases without end");
    at.require(speed.min.0 >= SPEED_MIN_KMH, "speed.min", "the minimum speed is too low", &help)?;
    at.require(speed.max >= speed.min, "speed.max", "below `min`", "it must not be below `min`")?;
    at.require(pause.max >= pause.min, "pause.max", "below `min`", "it must not be below `min`")?;
    let at = at.under("area");
    match &walk.area {
        Area::Disc(disc) => {
            room(disc.radius, "radius", &at)?;
            contains_start(from_centre(disc.centre, ue, scenario), disc.radius, "radius", &at)
        }
        Area::Rectangle(area) => rectangle(area, ue, scenario, &at),
    }
}

fn random_walk(walk: &RandomWalk, ue: &Ue, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let speed = &walk.speed;
    let help = format!("it must be at least {SPEED_MIN_KMH} km/h");
    at.require(speed.min.0 >= SPEED_MIN_KMH, "speed.min", "the minimum speed is too low", &help)?;
    at.require(speed.max >= speed.min, "speed.max", "below `min`", "it must not be below `min`")?;
    match &walk.step {
        Step::Distance(step) => {
            let long = step.length.0 >= STEP_MIN_M;
            at.require(long, "step.length", "too short", "it must be at least 0.01 m")?;
        }
        Step::Time(step) => {
            let long = step.duration.0 >= STEP_MIN;
            at.require(long, "step.duration", "too short", "it must be at least 1 ms")?;
        }
    }
    rectangle(&walk.area, ue, scenario, &at.under("area"))
}

/// A rectangle with an area that contains every possible start of a UE.
fn rectangle(Rectangle { from, to }: &Rectangle, ue: &Ue, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let sides: [f64; 2] = core::array::from_fn(|axis| to[axis].0 - from[axis].0);
    let wide = sides.iter().all(|side| *side >= ROOM_MIN_M);
    at.require(
        wide,
        "to",
        "the area is too small",
        "both coordinates must be at least 1 m above those of `from`",
    )?;
    let contains = |(start, reach): &([Metres; 2], f64)| {
        (0..2).all(|axis| (from[axis].0 + reach..=to[axis].0 - reach).contains(&start[axis].0))
    };
    let inside = starts(ue, scenario).iter().all(contains);
    let help = "every possible start of the UE must be inside";
    if inside { Ok(()) } else { at.wrong("the area does not contain the start of the UE", help) }
}

fn room(radius: Metres, key: &str, at: &Place<'_>) -> Checked {
    at.require(radius.0 >= ROOM_MIN_M, key, "the area is too small", "it must be at least 1 m")
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
        at.require(
            stable,
            "exponent",
            "out of range for a stable distribution",
            "it must be above 0 and at most 2",
        )?;
        at.require(scale > 0.0, "scale", "out of range", "it must be above zero")?;
        at.require(min > 0.0, "min", "out of range", "it must be above zero")?;
        at.require(max > min, "max", "not above `min`", "it must be above `min`")?;
        // The distribution is redrawn until a value is between its limits.
        let likely = max >= scale / 100.0 && min <= scale * 100.0 && max >= 1.01 * min;
        if !likely {
            let help = "widen the interval, or move it nearer to `scale`";
            at.wrong("almost none of the distribution is between `min` and `max`", help)?;
        }
    }
    room(walk.radius, "radius", at)
}

/// The starts of the UEs of a group: points, and the maximum distance from each in metres.
fn starts(ue: &Ue, scenario: &Resolved) -> Vec<([Metres; 2], f64)> {
    let home = scenario.cell[ue.home_cell(&scenario.cell)].position;
    let start = match (&ue.position, &ue.placement) {
        (Some(position), _) => (*position, 0.0),
        (None, Some(Placement::Disc(disc))) => (disc.centre.unwrap_or(home), disc.radius.0),
        (None, Some(Placement::Hexagonal(hexagons))) => {
            let serving = scenario.cell.iter().filter(|cell| !cell.interferer);
            let farthest = serving.map(|cell| distance(cell.position, home)).fold(0.0, f64::max);
            (home, farthest + hexagons.inter_site_distance.0 / 3.0_f64.sqrt())
        }
        (None, Some(Placement::Points(_))) => {
            return (0..ue.count).filter_map(|k| Some((ue.point(k)?.position, 0.0))).collect();
        }
        (None, None) => (home, 0.0),
    };
    vec![start]
}

fn distance(from: [Metres; 2], to: [Metres; 2]) -> f64 {
    let [x, y] = core::array::from_fn(|axis| from[axis].0 - to[axis].0);
    (x * x + y * y).sqrt()
}

/// The maximum distance of a UE's start from the centre of its disc, by default the cell that is its home.
fn from_centre(centre: Option<[Metres; 2]>, ue: &Ue, scenario: &Resolved) -> f64 {
    let cells = &scenario.cell;
    let far = |(start, reach): ([Metres; 2], f64)| {
        let is_point = ue.point(0).is_some() && ue.first_cell().is_none();
        let home = if is_point { nearest(start, cells) } else { ue.home_cell(cells) };
        distance(start, centre.unwrap_or(cells[home].position)) + reach
    };
    starts(ue, scenario).into_iter().map(far).fold(0.0, f64::max)
}

/// A walk must begin inside its disc, for any position of the placement.
fn contains_start(far: f64, radius: Metres, key: &str, at: &Place<'_>) -> Checked {
    let help = format!("the UE may start {far} m from the centre");
    at.require(far <= radius.0, key, "the area does not contain the start of the UE", &help)
}
