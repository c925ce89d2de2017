//! Checks of a layout, before it is expanded.

use airlane_settings::{Tree, Value, read};

use super::{CELLS_MAX, Checked, Place};
use crate::ScenarioError;
use crate::format::{Hexagonal, Map, Origin};
use crate::layout::rings_of;
use crate::map::Site;
use crate::quantity::Angle;

/// `section` is the layout with its defaults, `scenario` the user's text.
pub(crate) fn layout(grid: &Hexagonal, section: &Tree, scenario: &Tree) -> Checked {
    let at = Place::root(section).under("layout");
    match (grid.sites, grid.rings) {
        (None, None) => {
            at.wrong("`rings` or `sites` is missing", "add rings = 2 for 19 sites, or sites = 19")?
        }
        (Some(_), Some(_)) => {
            at.fail("rings", "it cannot be combined with `sites`", "leave out one of them")?
        }
        (Some(0), None) => at.fail("sites", "out of range", "it must be 1 or more")?,
        (Some(_), None) | (None, Some(_)) => {}
    }
    let known = grid.sectors == 1 || grid.sectors == 3;
    at.require(known, "sectors", "out of range", "it must be 1, or 3 with sector antennas")?;
    let sites = grid.rings.map_or(u64::from(grid.sites.unwrap_or(0)), |rings| {
        let rings = u64::from(rings);
        rings.saturating_mul(3).saturating_mul(rings + 1).saturating_add(1)
    });
    let key = if grid.rings.is_some() { "rings" } else { "sites" };
    let few = sites.saturating_mul(u64::from(grid.sectors)) <= CELLS_MAX as u64;
    at.require(few, key, "the layout has too many cells", "the limit is 1000")?;
    if let Some(serving) = grid.serving_rings {
        let fewer = u64::from(serving).saturating_mul(3).saturating_mul(u64::from(serving) + 1) < sites - 1;
        at.require(
            fewer,
            "serving_rings",
            "not below `rings`",
            "it must be below `rings`; leave it out if all cells serve UEs",
        )?;
    }
    if grid.wrap_around == Some(true) {
        let whole = grid.rings.is_some() || grid.sites.is_some_and(|sites| rings_of(sites).is_some());
        let help = "a grid that repeats itself has 1, 7, 19, 37, ... sites: write rings instead of sites";
        at.require(whole, "wrap_around", "the outermost ring is not complete", help)?;
    }
    let apart = grid.inter_site_distance.0 >= 1.0;
    at.require(
        apart,
        "inter_site_distance",
        "the sites are too close to each other",
        "it must be at least 1 m",
    )?;
    pattern(grid, scenario)
}

/// A map with its sites.
pub(crate) fn map(map: &Map, sites: &[Site], scenario: &Tree) -> Checked {
    let at = Place::root(scenario).under("layout");
    let known = map.sectors == 1 || map.sectors == 3;
    at.require(known, "sectors", "out of range", "it must be 1, or 3 with sector antennas")?;
    let cells = |site: &Site| {
        site.azimuths.len().max(if site.azimuths.is_empty() { map.sectors as usize } else { 1 })
    };
    let count: usize = sites.iter().map(cells).sum();
    let what = format!("the {} sites have {count} cells", sites.len());
    at.require(count <= CELLS_MAX, "sites", &what, "the limit is 1000")?;
    origin(map.origin.as_ref(), &at)?;
    let turned = map.sectors > 1 || sites.iter().any(|site| !site.azimuths.is_empty());
    let cell = the_cell(scenario)?;
    let at = Place::root(scenario).under("cell").entry(0);
    if cell.get("position").is_some() {
        at.fail("position", "layout.sites sets the positions of the cells", "leave it out")?;
    }
    antenna(cell, turned, &at)
}

/// The point of a map that is (0, 0), under the key `origin` of this place.
pub(crate) fn origin(origin: Option<&Origin>, at: &Place<'_>) -> Checked {
    let help = "the latitude must be from -90 to 90, the longitude from -180 to 180";
    at.require(origin.is_none_or(Origin::exists), "origin", "out of range", help)
}

/// The only cell section, which is the pattern of the others.
fn the_cell(scenario: &Tree) -> Result<&Tree, ScenarioError> {
    let cells = match scenario.get("cell").map(|list| &list.value) {
        Some(Value::Array(cells)) => cells.as_slice(),
        _ => &[],
    };
    if let [cell] = cells {
        return Ok(cell);
    }
    let message = format!("expected one [[cell]], found {}", cells.len());
    let at = Place::root(scenario).under("cell");
    at.wrong(message, "with [layout], one [[cell]] describes all cells")?;
    unreachable!("the line before fails always")
}

/// The pattern of a hexagonal grid.
fn pattern(&Hexagonal { sectors, serving_rings, .. }: &Hexagonal, scenario: &Tree) -> Checked {
    let cell = the_cell(scenario)?;
    let at = Place::root(scenario).under("cell").entry(0);
    if cell.get("position").is_some() {
        at.fail(
            "position",
            "[layout] sets the positions of the cells",
            "leave it out; layout.centre moves the layout",
        )?;
    }
    if let Some(rings) = serving_rings
        && cell.get("interferer").is_some()
    {
        let help = format!("leave it out, or leave out layout.serving_rings = {rings}");
        at.fail("interferer", "layout.serving_rings sets which cells interfere", help)?;
    }
    antenna(cell, sectors > 1, &at)
}

/// The antenna of a pattern, which is turned for each sector.
fn antenna(cell: &Tree, is_turned: bool, at: &Place<'_>) -> Checked {
    let Some(antenna) = cell.get("antenna").filter(|_| is_turned) else { return Ok(()) };
    let kind = antenna.text().or_else(|| antenna.get("kind").or(antenna.get(""))?.text());
    let sector = kind.is_none_or(|kind| kind == "sector" || kind == "panel");
    let help = "a layout with sectors needs \"sector\" or \"panel\"";
    at.require(sector, "antenna", "not a sector antenna", help)?;
    match antenna.get("azimuth") {
        Some(azimuth) if degrees(azimuth).is_none() => {
            at.fail("antenna.azimuth", "not an angle", "write a number and a unit, such as \"30 deg\"")
        }
        _ => Ok(()),
    }
}

/// An angle as written in the file.
pub(crate) fn degrees(tree: &Tree) -> Option<f64> {
    read::<Angle>(tree).ok().map(|angle| angle.0)
}
