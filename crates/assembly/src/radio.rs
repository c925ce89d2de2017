//! The configuration of the radio network, from those of its sections in [`airlane_scenario::format`] and from files.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use airlane_radio::mobility::Movements;
use airlane_radio::{LossKind, Raster};
use airlane_ran::config::{CellConfig, ChannelConfig, RanConfig};
use airlane_scenario::ScenarioError;
use airlane_scenario::endpoints::Setup;
use airlane_scenario::expand::OneUe;
use airlane_scenario::files::{self, Files};
use airlane_scenario::format::{self, Channel, Handover, Resolved};

/// The radio access network of a cellular scenario.
pub(crate) fn configuration(
    setup: Setup<'_>,
    channel: &Channel,
    ues: &[OneUe],
) -> Result<RanConfig, ScenarioError> {
    let Setup { scenario, files, .. } = setup;
    let movements = movements(scenario, files)?;
    let rasters = path_loss_maps(scenario, files)?;
    let ue = |one: &OneUe| {
        let mut section = Cow::Borrowed(&scenario.ue[one.section]);
        if let Some(cell) = &one.cell {
            section.to_mut().cell = Some(cell.clone());
        }
        let path = match &section.mobility {
            format::Mobility::Trace(trace) => {
                Some(files::path_of(&movements[trace.file.as_str()], trace, one.member)?)
            }
            _ => None,
        };
        Ok(section.config(one.member, path.as_ref(), &scenario.cell, scenario.handover.is_some()))
    };
    let own = |name: &str| setup.extensions.schedulers[name].clone();
    // Where one cell lets UEs sleep, their energy is counted in all.
    let meters_energy = scenario.output.energy || scenario.cell.iter().any(format::Cell::sleeps);
    let cells = scenario.cell.iter().map(|cell| CellConfig {
        meters_energy,
        path_loss_map: cell.path_loss_map.as_ref().map(|file| Arc::clone(&rasters[file.as_str()])),
        ..cell.config(&scenario.cell, channel.fading.sight(), own)
    });
    let clutter_loss_map =
        channel.clutter_loss_map.as_ref().map(|file| files.raster(file, LossKind::Clutter));
    Ok(RanConfig {
        cells: cells.collect(),
        ues: ues.iter().map(ue).collect::<Result<_, _>>()?,
        flows: vec![], // added with their nodes
        channel: ChannelConfig {
            clutter_loss_map: clutter_loss_map.transpose()?.map(Arc::new),
            ..channel.config()
        },
        measurements: scenario.handover.as_ref().map(Handover::measurements),
        handover: scenario
            .handover
            .as_ref()
            .zip(scenario.x2.as_ref())
            .map(|(handover, x2)| handover.config(x2)),
    })
}

/// The movement traces of a scenario; each file is parsed once.
fn movements<'a>(
    scenario: &'a Resolved,
    files: &Files,
) -> Result<BTreeMap<&'a str, Movements>, ScenarioError> {
    let mut read = BTreeMap::new();
    for ue in &scenario.ue {
        if let format::Mobility::Trace(trace) = &ue.mobility
            && !read.contains_key(trace.file.as_str())
        {
            read.insert(trace.file.as_str(), files.movements(&trace.file)?);
        }
    }
    Ok(read)
}

/// The rasters of path loss of a scenario; each file is parsed once.
fn path_loss_maps<'a>(
    scenario: &'a Resolved,
    files: &Files,
) -> Result<BTreeMap<&'a str, Arc<Raster>>, ScenarioError> {
    let mut read = BTreeMap::new();
    for file in scenario.cell.iter().filter_map(|cell| cell.path_loss_map.as_deref()) {
        if !read.contains_key(file) {
            read.insert(file, Arc::new(files.raster(file, LossKind::PathLoss)?));
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests;
