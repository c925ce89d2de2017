//! Checks of a layout, before it is taken apart.

use super::{CELLS_MAX, Checked, Place};
use crate::de::read;
use crate::format::Hexagonal;
use crate::quantity::Angle;
use crate::tree::{Tree, Value};

/// `section` has the layout with its defaults, `scenario` what the user wrote.
pub(crate) fn layout(grid: &Hexagonal, section: &Tree, scenario: &Tree) -> Checked {
    let at = Place { tree: section, key: "layout".to_owned() };
    match (grid.sites, grid.rings) {
        (None, None) => at.wrong("no number of sites", "add rings = 2 for 19 sites, or sites")?,
        (Some(_), Some(_)) => at.fail("rings", "sites are given already", "leave one of them out")?,
        (Some(0), None) => at.fail("sites", "no site", "1 or more")?,
        (Some(_), None) | (None, Some(_)) => {}
    }
    let known = grid.sectors == 1 || grid.sectors == 3;
    at.require(known, "sectors", "no number of sectors", "1, or 3 with sector antennas")?;
    let sites = grid.rings.map_or(u64::from(grid.sites.unwrap_or(0)), |rings| {
        let rings = u64::from(rings);
        rings.saturating_mul(3).saturating_mul(rings + 1).saturating_add(1)
    });
    let key = if grid.rings.is_some() { "rings" } else { "sites" };
    let few = sites.saturating_mul(u64::from(grid.sectors)) <= CELLS_MAX as u64;
    at.require(few, key, "too many cells", "at most 1000")?;
    if let Some(serving) = grid.serving_rings {
        let fewer = u64::from(serving).saturating_mul(3).saturating_mul(u64::from(serving) + 1) < sites - 1;
        at.require(fewer, "serving_rings", "all cells serve", "fewer rings than there are, or leave it out")?;
    }
    let apart = grid.inter_site_distance.0 >= 1.0;
    at.require(apart, "inter_site_distance", "sites on top of each other", "at least 1 m")?;
    pattern(grid, scenario)
}

/// The one cell that the others are made of.
fn pattern(&Hexagonal { sectors, serving_rings, .. }: &Hexagonal, scenario: &Tree) -> Checked {
    let at = Place { tree: scenario, key: "cell".to_owned() };
    let cells = match scenario.get("cell").map(|list| &list.value) {
        Some(Value::Array(cells)) => cells.as_slice(),
        _ => &[],
    };
    let [cell] = cells else {
        let message = format!("{} cells where the layout needs one", cells.len());
        return at.wrong(message, "it is the pattern of all cells; leave one [[cell]]");
    };
    let at = at.entry(0);
    if cell.get("position").is_some() {
        at.fail("position", "the layout says where its cells stand", "leave it out; see layout.centre")?;
    }
    if let Some(rings) = serving_rings
        && cell.get("interferer").is_some()
    {
        let help = format!("leave it out, or layout.serving_rings = {rings}");
        at.fail("interferer", "the layout says which cells interfere", help)?;
    }
    let Some(antenna) = cell.get("antenna").filter(|_| sectors > 1) else { return Ok(()) };
    let kind = antenna.text().or_else(|| antenna.get("kind").or(antenna.get(""))?.text());
    let sector = kind.is_none_or(|kind| kind == "sector");
    at.require(sector, "antenna", "no sector", "\"sector\" for a layout with sectors")?;
    match antenna.get("azimuth") {
        Some(azimuth) if degrees(azimuth).is_none() => {
            at.fail("antenna.azimuth", "no angle", "write it with a unit, such as \"30 deg\"")
        }
        _ => Ok(()),
    }
}

/// An angle as it was written.
pub(crate) fn degrees(tree: &Tree) -> Option<f64> {
    read::<Angle>(tree).ok().map(|angle| angle.0)
}
