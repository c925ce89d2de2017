//! Expands a layout: one `[[cell]]` becomes the cells of a grid or of a map, before presets fill in the rest.

use serde::Deserialize;

use airlane_settings::{Table, Tree, Value, read};

use crate::ScenarioError;
use crate::check;
use crate::format::{Hexagonal, Layout, Map, Origin};
use crate::map::{self, Site, Source};
use crate::preset;

/// Default direction of the first of three sectors: between two neighbours, as in 3GPP TR 36.942
/// section 4.4.
const FIRST_SECTOR_DEG: f64 = 30.0;

/// The only section that is read in advance.
#[derive(Deserialize)]
struct Section {
    layout: Layout,
}

/// Replaces the pattern by the cells of the layout, and sets the layout's distance in the UEs that
/// are placed in it. Returns the origin of a map.
///
/// # Errors
/// If the layout, or a scenario with it, is invalid.
pub(crate) fn expand(scenario: &mut Tree, source: Source<'_>) -> Result<Option<Origin>, ScenarioError> {
    let Some(layout) = scenario.get("layout").filter(|layout| !layout.is_empty()).cloned() else {
        return Ok(None);
    };
    let mut section = Tree::unplaced(Value::Table(vec![("layout".to_owned(), layout)]));
    preset::fill_layout(&mut section);
    let grid = match read::<Section>(&section)?.layout {
        Layout::Hexagonal(grid) => grid,
        Layout::Map(map) => return expand_map(&map, scenario, source),
    };
    check::layout(&grid, &section, scenario)?;
    let distance = section.get("layout").and_then(|l| l.get("inter_site_distance")).cloned();
    let Value::Table(top) = &mut scenario.value else { return Ok(None) };
    top.retain(|(key, _)| key != "layout");
    if grid.wrap_around == Some(true) {
        wrap(top, &grid);
    }
    for (key, list) in top {
        let Value::Array(items) = &mut list.value else { continue };
        match (key.as_str(), &distance) {
            ("cell", _) => *items = cells(&items[0], &grid),
            ("ue", Some(distance)) => items.iter_mut().for_each(|ue| place(ue, distance)),
            _ => {}
        }
    }
    Ok(None)
}

/// Replaces the pattern by the cells of a map.
fn expand_map(map: &Map, scenario: &mut Tree, source: Source<'_>) -> Result<Option<Origin>, ScenarioError> {
    let at = check::Place::root(scenario).under("layout");
    let (sites, origin) = map::sites(map, source, &at)?;
    check::map(map, &sites, scenario)?;
    let Value::Table(top) = &mut scenario.value else { return Ok(origin) };
    top.retain(|(key, _)| key != "layout");
    if let Some(Value::Array(items)) =
        top.iter_mut().find(|(key, _)| key == "cell").map(|(_, cell)| &mut cell.value)
    {
        *items = sites.iter().flat_map(|site| site_cells(&items[0], site, map.sectors)).collect();
    }
    Ok(origin)
}

/// The cells of a site of a map.
fn site_cells(pattern: &Tree, site: &Site, sectors: u32) -> Vec<Tree> {
    let line = pattern.line;
    let text = |text: String| Tree { value: Value::Text(text), line };
    let given = site.azimuths.iter().map(|azimuth| Some(*azimuth));
    let count = if site.azimuths.is_empty() { sectors as usize } else { site.azimuths.len() };
    let azimuths = given.chain(core::iter::repeat(None)).take(count);
    let mut cells = Vec::new();
    for (sector, azimuth) in azimuths.enumerate() {
        let mut cell = pattern.clone();
        let Value::Table(table) = &mut cell.value else { return vec![cell] };
        let suffix = if count == 1 { site.id.clone() } else { format!("{}-{}", site.id, sector + 1) };
        rename(table, &suffix);
        let mut set = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                table.retain(|(known, _)| known != key);
                table.push((key.to_owned(), text(value)));
            }
        };
        set("height", site.height.map(|height| height.to_string()));
        set("tx_power", site.tx_power.map(|power| power.to_string()));
        set("frequency", site.frequency.map(|frequency| frequency.to_string()));
        set("uplink_frequency", site.uplink_frequency.map(|frequency| frequency.to_string()));
        set("path_loss_map", site.path_loss_map.clone());
        let position = Value::Array(site.at.map(|x| text(format!("{x} m"))).to_vec());
        table.push(("position".to_owned(), Tree { value: position, line }));
        match azimuth {
            Some(azimuth) => aim(table, line, |_| azimuth),
            None if sectors > 1 => turn(table, line, sector as f64 * 360.0 / f64::from(sectors)),
            None => {}
        }
        cells.push(cell);
    }
    cells
}

/// Appends to the name of a pattern.
fn rename(cell: &mut Table, suffix: &str) {
    let name = cell.iter_mut().find(|(key, _)| key == "name");
    if let Some((_, Tree { value: Value::Text(name), .. })) = name {
        *name = format!("{name}-{suffix}");
    }
}

/// Writes the wrap-around into the channel, for the resolved scenario has no layout.
fn wrap(top: &mut Table, grid: &Hexagonal) {
    let tree = |value: Value| Tree::unplaced(value);
    let metres = |x: f64| tree(Value::Text(format!("{x} m")));
    let rings = grid.rings.or_else(|| grid.sites.and_then(rings_of)).expect("the check asks for whole rings");
    let around = vec![
        ("centre".to_owned(), tree(Value::Array(grid.centre.map(|at| metres(at.0)).to_vec()))),
        ("rings".to_owned(), tree(Value::Integer(rings.into()))),
        ("inter_site_distance".to_owned(), metres(grid.inter_site_distance.0)),
    ];
    let around = ("wrap_around".to_owned(), tree(Value::Table(around)));
    match top.iter_mut().find(|(key, _)| key == "channel").map(|(_, channel)| &mut channel.value) {
        Some(Value::Table(channel)) => {
            channel.retain(|(key, _)| key != "wrap_around");
            channel.push(around);
        }
        Some(_) => {} // a wrong type, reported when the scenario is read
        None => top.push(("channel".to_owned(), tree(Value::Table(vec![around])))),
    }
}

/// The number of rings that this many sites fill.
pub(crate) fn rings_of(sites: u32) -> Option<u32> {
    (0..=18).find(|&rings| sites_within(rings) == sites)
}

/// The cells made from a pattern.
fn cells(pattern: &Tree, grid: &Hexagonal) -> Vec<Tree> {
    let mut cells = Vec::new();
    let serving = grid.serving_rings.map_or(u32::MAX, sites_within);
    for (site, at) in (1..).zip(sites(grid)) {
        for sector in 1..=grid.sectors {
            let mut cell = pattern.clone();
            let line = pattern.line;
            let Value::Table(table) = &mut cell.value else { return vec![cell] };
            match grid.sectors {
                1 => rename(table, &site.to_string()),
                _ => rename(table, &format!("{site}-{sector}")),
            }
            let metres = |x: f64| Tree { value: Value::Text(format!("{x} m")), line };
            let position = Value::Array(at.map(metres).to_vec());
            table.push(("position".to_owned(), Tree { value: position, line }));
            if site > serving {
                table.push(("interferer".to_owned(), Tree { value: Value::Bool(true), line }));
            }
            if grid.sectors > 1 {
                turn(table, line, f64::from(sector - 1) * 360.0 / f64::from(grid.sectors));
            }
            cells.push(cell);
        }
    }
    cells
}

/// The positions of the sites, ring by ring, each counterclockwise from the east.
fn sites(grid: &Hexagonal) -> Vec<[f64; 2]> {
    let count = match (grid.sites, grid.rings) {
        (Some(sites), _) => sites,
        (None, Some(rings)) => sites_within(rings),
        (None, None) => unreachable!("the check asks for one of them"),
    };
    // Steps along two axes of the grid, which are 60 degrees apart.
    const SIDES: [[i32; 2]; 6] = [[-1, 1], [-1, 0], [0, -1], [1, -1], [1, 0], [0, 1]];
    let rings = (1..).flat_map(|ring: i32| {
        let steps = SIDES.iter().flat_map(move |side| (0..ring).map(move |_| *side));
        steps.scan([ring, 0], |at, step| {
            let here = *at;
            *at = [at[0] + step[0], at[1] + step[1]];
            Some(here)
        })
    });
    let metres = |[along, across]: [i32; 2]| {
        let (along, across) = (f64::from(along), f64::from(across));
        let plan = [along + across / 2.0, across * 3.0_f64.sqrt() / 2.0];
        // Rounded to the millimetre, so that positions are readable.
        core::array::from_fn(|axis| {
            let metres = grid.centre[axis].0 + grid.inter_site_distance.0 * plan[axis];
            (metres * 1e3).round() / 1e3 + 0.0 // no negative zero
        })
    };
    core::iter::once([0, 0]).chain(rings).take(count as usize).map(metres).collect()
}

/// Number of sites in this many rings around the centre site, including it.
fn sites_within(rings: u32) -> u32 {
    1 + 3 * rings * (rings + 1)
}

/// Rotates the antenna of a pattern.
fn turn(cell: &mut Table, line: u32, by_deg: f64) {
    aim(cell, line, |first| (first.unwrap_or(FIRST_SECTOR_DEG) + by_deg).rem_euclid(360.0));
}

/// Sets the azimuth of a pattern's antenna, from the one that is written.
fn aim(cell: &mut Table, line: u32, azimuth_deg: impl Fn(Option<f64>) -> f64) {
    let text = |text: String| Tree { value: Value::Text(text), line };
    let index = cell.iter().position(|(key, _)| key == "antenna");
    let mut antenna = index.map(|index| cell.remove(index).1);
    let bare = antenna.as_ref().and_then(|tree| tree.text().map(str::to_owned));
    let written = match antenna.as_mut().map(|tree| &mut tree.value) {
        Some(Value::Table(table)) => core::mem::take(table),
        _ => Table::new(), // a bare name, or nothing
    };
    let kind = bare.or_else(|| {
        let named = written.iter().find(|(key, _)| key == "kind" || key.is_empty());
        named.and_then(|(_, tree)| tree.text().map(str::to_owned))
    });
    let kind = kind.unwrap_or_else(|| "sector".to_owned());
    let first = written.iter().find(|(key, _)| key == "azimuth").and_then(|(_, tree)| check::degrees(tree));
    let azimuth = azimuth_deg(first);
    let mut table: Table =
        written.into_iter().filter(|(key, _)| !["kind", "", "azimuth"].contains(&key.as_str())).collect();
    table.push(("kind".to_owned(), text(kind)));
    table.push(("azimuth".to_owned(), text(format!("{azimuth} deg"))));
    cell.push(("antenna".to_owned(), Tree { value: Value::Table(table), line }));
}

/// Sets the width of the hexagons in a UE that is placed in the layout.
fn place(ue: &mut Tree, distance: &Tree) {
    let Value::Table(ue) = &mut ue.value else { return };
    let Some((_, placement)) = ue.iter_mut().find(|(key, _)| key == "placement") else { return };
    if placement.text() == Some("hexagonal") {
        let kind = core::mem::replace(&mut placement.value, Value::Null);
        let kind = Tree { value: kind, line: placement.line };
        placement.value = Value::Table(vec![("kind".to_owned(), kind)]);
    }
    let key = "inter_site_distance";
    let hexagonal = placement.get("kind").and_then(Tree::text) == Some("hexagonal");
    if let Value::Table(table) = &mut placement.value
        && hexagonal
        && !table.iter().any(|(k, _)| k == key)
    {
        table.push((key.to_owned(), distance.clone()));
    }
}
