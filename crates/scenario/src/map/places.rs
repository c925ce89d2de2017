//! UEs at positions of a list or a file.

use std::collections::BTreeSet;

use airlane_settings::{Place as Key, Table, Tree, Value, read};
use serde::Deserialize;

use super::Source;
use super::column::{Column, Place};
use super::projection::{FARTHEST_M, Projection, from_zero};
use super::table::PlaceTable;
use crate::ScenarioError;
use crate::check::{self, UES_MAX};
use crate::format::{Origin, Point, Points};
use crate::quantity::{Angle, Metres};

/// Reads the positions of UEs into the scenario, and sets the number of UEs of their groups and the origin of their movement
/// traces. `origin` is that of the layout.
///
/// # Errors
/// If a file cannot be read or is invalid.
pub(crate) fn place(
    scenario: &mut Tree,
    origin: Option<Origin>,
    source: Source<'_>,
) -> Result<(), ScenarioError> {
    let Some(Value::Array(ues)) = scenario.get_mut("ue").map(|ues| &mut ues.value) else { return Ok(()) };
    for ue in ues.iter_mut() {
        if let (Some(origin), Some(mobility)) = (origin, ue.get_mut("mobility")) {
            set_origin(mobility, origin);
        }
    }
    let has_points =
        |ue: &Tree| ue.get("placement").is_some_and(|placement| kind(placement) == Some("points"));
    if !ues.iter().any(has_points) {
        return Ok(());
    }
    let written = scenario.clone();
    let root = Key::root(&written).under("ue");
    let Some(Value::Array(ues)) = scenario.get_mut("ue").map(|ues| &mut ues.value) else { return Ok(()) };
    for (i, ue) in ues.iter_mut().enumerate() {
        let placement = ue.get("placement").filter(|placement| kind(placement) == Some("points"));
        let Some(placement) = placement.cloned() else { continue };
        let at = root.entry(i);
        let points = points(&placement, origin, source, &at.under("placement"))?;
        let line = placement.line;
        let Value::Table(keys) = &mut ue.value else { continue };
        let wanted = keys.iter().find(|(key, _)| key == "count").map(|(_, count)| &count.value);
        let Some(count) = count(wanted, points.len(), &at)? else { continue };
        keys.retain(|(key, _)| key != "count" && key != "placement");
        keys.push(("count".to_owned(), Tree { value: Value::Integer(count as i64), line }));
        let points =
            Points { file: None, origin: None, points: Some(points.into_iter().take(count).collect()) };
        let json = serde_json::to_value(&points).expect("the format has texts as keys only");
        let mut tree = Tree::from_json(&json);
        if let Value::Table(keys) = &mut tree.value {
            keys.insert(0, ("kind".to_owned(), Tree { value: Value::Text("points".to_owned()), line }));
        }
        keys.push(("placement".to_owned(), Tree { line, ..tree }));
    }
    Ok(())
}

/// The number of UEs: that of the positions, or the one that the file has, if it is a number.
fn count(wanted: Option<&Value>, points: usize, at: &Key<'_>) -> Result<Option<usize>, ScenarioError> {
    let Some(wanted) = wanted else { return Ok(Some(points)) };
    // A wrong type is reported when the scenario is read.
    let Value::Integer(wanted) = wanted else { return Ok(None) };
    let count = usize::try_from(*wanted).unwrap_or(0);
    let help =
        format!("it must be from 1 to {points}, the number of positions; leave it out for all of them");
    at.require((1..=points).contains(&count), "count", "not as many positions", &help)?;
    Ok(Some(count))
}

/// The tag of a placement, which may be its bare name.
fn kind(placement: &Tree) -> Option<&str> {
    placement.text().or_else(|| placement.get("kind").or(placement.get(""))?.text())
}

/// Sets the origin of a movement trace that has none.
fn set_origin(mobility: &mut Tree, origin: Origin) {
    let is_trace = kind(mobility) == Some("trace");
    if let Value::Table(keys) = &mut mobility.value
        && is_trace
        && !keys.iter().any(|(key, _)| key == "origin")
    {
        let json = serde_json::to_value(origin).expect("two numbers");
        keys.push(("origin".to_owned(), Tree::from_json(&json)));
    }
}

/// The positions of a placement.
fn points(
    placement: &Tree,
    origin: Option<Origin>,
    source: Source<'_>,
    at: &Key<'_>,
) -> Result<Vec<Point>, ScenarioError> {
    /// The only section that is read in advance.
    #[derive(Deserialize)]
    struct Section {
        placement: Points,
    }
    let mut own = placement.clone();
    match &mut own.value {
        Value::Table(keys) => keys.retain(|(key, _)| key != "kind" && !key.is_empty()),
        _ => own.value = Value::Table(Table::new()), // a bare name
    }
    let section = Tree::unplaced(Value::Table(vec![("placement".to_owned(), own)]));
    let Points { file, origin: own_origin, points } = read::<Section>(&section)
        .map_err(|mut e| {
            e.key = e.key.replacen("placement", at.key(), 1).into();
            e
        })?
        .placement;
    let points = match (file, points) {
        (Some(_), Some(_)) => {
            let help = "leave out one of them";
            return Err(failed(at.fail("points", "it cannot be combined with `file`", help)));
        }
        (None, None) => {
            let help = "add file = \"users.csv\", or points = [{ position = [\"10 m\", \"20 m\"] }]";
            return Err(failed(at.wrong("no positions", help)));
        }
        (None, Some(points)) => points,
        (Some(file), None) => read_file(&file, own_origin.or(origin), source, at)?,
    };
    if points.is_empty() {
        return Err(failed(at.fail("points", "the list of positions is empty", "add a position")));
    }
    Ok(points)
}

/// The error of a check that fails.
fn failed(checked: Result<(), ScenarioError>) -> ScenarioError {
    checked.expect_err("the check fails always")
}

fn read_file(
    file: &str,
    origin: Option<Origin>,
    source: Source<'_>,
    at: &Key<'_>,
) -> Result<Vec<Point>, ScenarioError> {
    check::origin(origin.as_ref(), at)?;
    let (file, text) = source.text(file, &at.under("file"))?;
    let table = PlaceTable::read(&text, &file, UES_MAX as usize)?;
    let projection = origin.map(Projection::about);
    let mut ids = BTreeSet::new();
    let mut points = Vec::new();
    for row in &table.rows {
        let place = table.place(row)?;
        if projection.is_none() && matches!(place, Place::Degrees(_)) {
            let help = "add origin = { latitude = 48.1, longitude = 11.5 } beside `file`, or a [layout] of kind \
                        \"map\" whose sites have latitudes and longitudes";
            return Err(failed(at.fail("file", "its degrees need an origin, which is (0, 0)", help)));
        }
        let metres = place.metres(projection.as_ref());
        if from_zero(metres) > FARTHEST_M && matches!(place, Place::Degrees(_)) {
            let message = format!("the UE is {:.0} km from the origin", from_zero(metres) / 1e3);
            let help = format!(
                "the limit is {} km; is the longitude in the column of the latitude?",
                FARTHEST_M / 1e3
            );
            return Err(table.wrong_cell(row, Column::Latitude, message, help));
        }
        let id = table.id(row)?;
        if let Some(id) = &id
            && !ids.insert(id.clone())
        {
            return Err(table.wrong_cell(row, Column::Id, "the id is used twice", "give each UE its own id"));
        }
        let (heading, speed) = (table.heading(row)?, table.speed(row)?);
        // A speed of 0 is that of a UE that stands still.
        let speed = speed.filter(|speed| speed.0 > 0.0);
        if speed.is_some() && heading.is_none() {
            let help = "add a column `heading` in degrees clockwise from north, or leave out the speed";
            return Err(table.wrong_cell(row, Column::Speed, "a speed without a heading", help));
        }
        points.push(Point {
            id,
            position: metres.map(Metres),
            height: table.height(row)?,
            heading: heading.filter(|_| speed.is_some()).map(Angle),
            speed,
        });
    }
    // Ids are all or none, so that they cannot be mistaken for numbers.
    if points.iter().any(|point| point.id.is_none()) {
        points.iter_mut().for_each(|point| point.id = None);
    }
    Ok(points)
}
