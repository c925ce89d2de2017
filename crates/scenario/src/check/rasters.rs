//! Checks of rasters of losses: which cells may have one, and that UEs start on them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use airlane_radio::mobility::Movements;
use airlane_radio::{LossKind, Position, Raster};

use super::{Checked, Place};
use crate::expand::{self, OneUe};
use crate::files::{Files, path_of};
use crate::format::{Cell, Mobility, Resolved};

/// The limit of the cells of all rasters of a scenario, which are 4 bytes each.
const CELLS_MAX: usize = 50_000_000;

/// Rules for cells with rasters.
pub(super) fn rules(scenario: &Resolved, at: &Place<'_>) -> Checked {
    let wraps = scenario.channel.as_ref().is_some_and(|channel| channel.wrap_around.is_some());
    let mut sites = BTreeMap::new();
    for (i, cell) in scenario.cell.iter().enumerate() {
        let Some(file) = &cell.path_loss_map else { continue };
        let at = at.under("cell").entry(i);
        let help = "leave out one of them: a raster is the path loss of one site, and has no copies";
        at.require(!wraps, "path_loss_map", "it cannot be combined with channel.wrap_around", help)?;
        let first = *sites.entry(file).or_insert(cell);
        let message = format!("{} has this raster, too, at another position", first.name);
        let help = "a raster is the path loss of one site: write one for each, with a [layout] of kind \"map\" in the column \
                    `path_loss_map` of its sites";
        at.require(first.position == cell.position, "path_loss_map", &message, help)?;
    }
    Ok(())
}

/// The rasters of a scenario.
struct Rasters {
    path_loss: BTreeMap<String, Raster>,
    clutter: Option<(String, Raster)>,
}

/// Reads the rasters, whose files have been found, and checks that the known starts of UEs are on them. Starts that are
/// drawn when the network is built are not known.
pub(super) fn check(
    scenario: &Resolved,
    files: &Files,
    movements: &BTreeMap<String, Movements>,
    root: &Place<'_>,
) -> Checked {
    let mut rasters = Rasters { path_loss: BTreeMap::new(), clutter: None };
    let mut cells = 0;
    let mut count = |raster: &Raster, at: &Place<'_>| {
        cells += raster.cells();
        let help =
            format!("the limit is {CELLS_MAX}: cut the areas, or take larger cells (gdalwarp -tr 10 10)");
        at.require_here(cells <= CELLS_MAX, "the rasters of the scenario have too many cells", &help)
    };
    if let Some(file) = scenario.channel.as_ref().and_then(|channel| channel.clutter_loss_map.as_ref()) {
        let raster = files.raster(file, LossKind::Clutter)?;
        count(&raster, &root.under("channel.clutter_loss_map"))?;
        rasters.clutter = Some((file.clone(), raster));
    }
    for (i, cell) in scenario.cell.iter().enumerate() {
        let Some(file) = &cell.path_loss_map else { continue };
        if !rasters.path_loss.contains_key(file) {
            let raster = files.raster(file, LossKind::PathLoss)?;
            count(&raster, &root.under("cell").entry(i).under("path_loss_map"))?;
            rasters.path_loss.insert(file.clone(), raster);
        }
    }
    if rasters.clutter.is_none() && rasters.path_loss.is_empty() {
        return Ok(());
    }
    for one in expand::ues(scenario) {
        let Some((start, key)) = start(&one, scenario, movements)? else { continue };
        let at = root.under("ue").entry(one.section).under(&key);
        rasters.start(&one, start, scenario, &at)?;
    }
    Ok(())
}

/// Where a UE starts, and the key that says so, if it is not drawn.
fn start(
    one: &OneUe,
    scenario: &Resolved,
    movements: &BTreeMap<String, Movements>,
) -> Result<Option<([f64; 2], String)>, crate::ScenarioError> {
    let ue = &scenario.ue[one.section];
    if let Mobility::Trace(trace) = &ue.mobility {
        let start = path_of(&movements[&trace.file], trace, one.member)?.start(0.0);
        return Ok(Some(([start.x, start.y], "mobility.file".to_owned())));
    }
    let point = ue.point(one.member).map(|point| point.position);
    let key =
        if point.is_some() { format!("placement.points.{}", one.member) } else { "position".to_owned() };
    Ok(point.or(ue.position).map(|start| (start.map(|metres| metres.0), key)))
}

impl Rasters {
    /// A UE starts where the raster of additional losses is, and where a cell that may serve it can be received.
    fn start(&self, one: &OneUe, [x, y]: [f64; 2], scenario: &Resolved, at: &Place<'_>) -> Checked {
        let place = Position::on_ground(x, y);
        let who = || format!("{} starts at ({x} m, {y} m), ", one.name);
        if let Some((file, raster)) = &self.clutter
            && !is_within(raster, [x, y])
        {
            return at.wrong(format!("{}outside of {file}", who()), extent(raster));
        }
        let ue = &scenario.ue[one.section];
        let named = one.cell.as_ref().or(ue.first_cell());
        let may_serve = |cell: &&Cell| named.map_or(!cell.interferer, |name| cell.name == *name);
        let serving: Vec<_> = scenario.cell.iter().filter(may_serve).collect();
        let maps: BTreeSet<_> = serving.iter().filter_map(|cell| cell.path_loss_map.as_ref()).collect();
        let has_law = serving.iter().any(|cell| cell.path_loss_map.is_none());
        if has_law || maps.iter().any(|file| self.path_loss[*file].at(&place).is_some()) {
            return Ok(());
        }
        let distance = |cell: &&&Cell| {
            let [x, y] = cell.position.map(|metres| metres.0);
            Position::on_ground(x, y).ground_distance(&place)
        };
        let nearest = serving.iter().min_by(|one, other| distance(one).total_cmp(&distance(other)));
        let Some(file) = nearest.and_then(|cell| cell.path_loss_map.as_ref()) else { return Ok(()) };
        let raster = &self.path_loss[file];
        let others = if maps.len() > 1 { ", and no raster of another cell has a value there" } else { "" };
        let what = if is_within(raster, [x, y]) { "where the cell has no value in" } else { "outside of" };
        at.wrong(format!("{}{what} {file}{others}", who()), extent(raster))
    }
}

fn is_within(raster: &Raster, place: [f64; 2]) -> bool {
    let [near, far] = raster.extent();
    (0..2).all(|axis| (near[axis]..=far[axis]).contains(&place[axis]))
}

fn extent(raster: &Raster) -> String {
    let [[west, south], [east, north]] = raster.extent();
    format!(
        "the raster is from ({west} m, {south} m) to ({east} m, {north} m); positions are metres towards the east and north, \
         of a map with latitudes and longitudes from layout.origin"
    )
}

/// Locates the files of the rasters of a scenario.
pub(super) fn locate(scenario: &mut Resolved, files: &Files, folder: &Path, root: &Place<'_>) -> Checked {
    if let Some(file) = scenario.channel.as_mut().and_then(|channel| channel.clutter_loss_map.as_mut()) {
        super::files::find(file, files, folder, &root.under("channel.clutter_loss_map"))?;
    }
    for (i, cell) in scenario.cell.iter_mut().enumerate() {
        if let Some(file) = &mut cell.path_loss_map {
            super::files::find(file, files, folder, &root.under("cell").entry(i).under("path_loss_map"))?;
        }
    }
    Ok(())
}
