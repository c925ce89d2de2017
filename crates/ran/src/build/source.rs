//! The channels of a UE in a large network: with the cells in reach, and with those that come into reach when it moves.
//!
//! A channel is a function of time, place, and random streams that are named by UE and cell. One that is built again
//! continues as if it had never been left out.

use std::sync::Arc;

use airlane_core::{CellId, Direction, Instant, Seeds};
use airlane_radio::{Mobility, Position};

use super::{
    Environment, NewUe, Scene, ShadowFields, build_channel, build_link_channels, build_scenery, may_serve,
};
use crate::buildings::Indoors;
use crate::channel::CommonShadow;
use crate::config::UeConfig;
use crate::interference::CellChannels;
use crate::reach::{NEARNESS, Reach, Received};

/// The cells that a UE has channels with, if they are not all of a network.
pub(super) fn build_reach(
    ue: NewUe<'_>,
    mobility: &mut Mobility,
    scenes: &[Scene<'_>],
    now: Instant,
    fields: &mut ShadowFields,
) -> Option<Reach> {
    let most = scenes[0].channel.links.strongest_cells?;
    let here = mobility.position_at(now);
    let mut common = None;
    let receive = |scene: &Scene<'_>| receive(ue, scene, &here, fields, &mut common);
    let received = scenes.iter().map(receive).collect();
    // The SCells of a UE change with its PCell, whether or not they are in reach then.
    if mobility.is_static() && ue.config.aggregation.is_none() {
        return Some(Reach::of(received, most));
    }
    let source = ChannelSource {
        environment: Arc::clone(scenes[0].environment),
        seeds: scenes[0].seeds,
        index: ue.index,
        config: ue.config.clone(),
        indoors: ue.indoors.copied(),
    };
    Some(Reach::moving(received, most, here, source))
}

/// A cell as a UE at this position receives it. `common` is shared by all cells.
fn receive(
    ue: NewUe<'_>,
    scene: &Scene<'_>,
    at: &Position,
    fields: &mut ShadowFields,
    common: &mut CommonShadow,
) -> Received {
    let scenery = build_scenery(ue, scene, fields);
    let mut channel = build_channel(ue, Direction::Downlink, &Scene { grid: None, ..*scene }, &scenery);
    let level = channel.interference_at(at, common);
    let change = channel.change_at(at, NEARNESS);
    let greatest = if change.comes_into_sight { channel.interference_in_sight(at, common) } else { level };
    let serves = may_serve(ue.config, scene);
    Received { cell: scene.id, carrier: scene.carrier, level, greatest, change, serves }
}

/// Builds the channels of a UE that moves with the cells that come into its reach.
#[derive(Debug)]
pub(crate) struct ChannelSource {
    environment: Arc<Environment>,
    seeds: Seeds,
    index: usize,
    config: UeConfig,
    indoors: Option<Indoors>,
}

impl ChannelSource {
    fn ue(&self) -> NewUe<'_> {
        NewUe { index: self.index, config: &self.config, indoors: self.indoors.as_ref() }
    }

    /// These cells, or all, as the UE receives them at this position.
    pub(crate) fn receive(&self, cells: Option<&[CellId]>, at: &Position) -> Vec<Received> {
        let (mut fields, mut common) = (ShadowFields::default(), None);
        let mut receive = |cell: CellId| {
            receive(self.ue(), &self.environment.scene(cell, self.seeds), at, &mut fields, &mut common)
        };
        match cells {
            Some(cells) => cells.iter().map(|cell| receive(*cell)).collect(),
            None => (0..self.environment.cells.len() as u32).map(|cell| receive(CellId(cell))).collect(),
        }
    }

    /// Its channels with these cells.
    pub(crate) fn channels(&self, cells: &[CellId]) -> Vec<CellChannels> {
        let mut fields = ShadowFields::default();
        let link = |cell: &CellId| {
            build_link_channels(self.ue(), &self.environment.scene(*cell, self.seeds), &mut fields)
        };
        cells.iter().map(link).collect()
    }
}
