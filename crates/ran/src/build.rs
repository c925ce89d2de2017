//! From a configuration to cells and UEs. Each random thing draws from a stream of its own name.

use std::sync::Arc;

use airlane_core::{Bytes, Decibel, Direction, Seeds, UeId};
use airlane_radio::{Fading, FrequencyGrid, LevyWalk, Mobility, PathLoss};

use crate::bearer::RadioBearer;
use crate::channel::{Channel, LinkBudget};
use crate::config::{CellConfig, ChannelConfig, Movement, PathLossModel, RanConfig, Start, UeConfig};
use crate::mac::downlink::DownlinkMac;
use crate::mac::grid::rbg_size;
use crate::mac::harq::HarqEntity;
use crate::mac::phy::Phy;
use crate::mac::power::PuschPower;
use crate::mac::uplink::UplinkMac;
use crate::network::Cell;
use crate::ue::{CqiReports, DownlinkState, Sounding, Ue, UplinkState};

/// A MAC subheader with a 15-bit length field (TS 36.321 v17.0 §6.2.1). The last of a PDU has
/// none; the two bytes it saves are left unused.
const SUBHEADER: Bytes = Bytes(3);

pub(crate) fn cells(config: &RanConfig) -> Vec<Cell> {
    let ues = config.ues.len();
    let cell = |cell: &CellConfig| Cell {
        phy: Phy::new(cell.resource_blocks, rbg_size(cell.resource_blocks)),
        downlink: DownlinkMac::new(cell, ues),
        uplink: UplinkMac::new(cell, ues),
        config: cell.clone(),
    };
    config.cells.iter().map(cell).collect()
}

/// What surrounds a UE.
struct Scene<'a> {
    cell: &'a CellConfig,
    channel: &'a ChannelConfig,
    grid: Option<&'a Arc<FrequencyGrid>>,
    seeds: Seeds,
}

pub(crate) fn ues(config: &RanConfig, seeds: Seeds) -> Vec<Ue> {
    let grids: Vec<_> = config.cells.iter().map(|cell| frequency_grid(&config.channel, cell)).collect();
    let ue = |(index, ue): (usize, &UeConfig)| {
        let cell = config.cells.get(ue.cell.index()).expect("a UE names a cell that is not there");
        let grid = grids[ue.cell.index()].as_ref();
        build_ue(index, ue, &Scene { cell, channel: &config.channel, grid, seeds })
    };
    config.ues.iter().enumerate().map(ue).collect()
}

fn frequency_grid(channel: &ChannelConfig, cell: &CellConfig) -> Option<Arc<FrequencyGrid>> {
    let prbs = cell.resource_blocks;
    let make = |f: &crate::config::FadingConfig| {
        let (n_prb, size) = (usize::from(prbs), usize::from(rbg_size(prbs)));
        Arc::new(FrequencyGrid::with_spacing(f.profile, n_prb, size, f.prb_spacing_hz))
    };
    channel.fading.as_ref().map(make)
}

fn build_ue(index: usize, ue: &UeConfig, scene: &Scene<'_>) -> Ue {
    let Scene { cell, seeds, .. } = *scene;
    let mut bearer = ue.bearer.clone();
    if cell.mac.subheaders {
        bearer.pdu_overhead = SUBHEADER;
    }
    let layout = DownlinkMac::new(cell, 0);
    let layout = layout.grid();
    let draws = |what: &str| seeds.stream(&format!("ue/{index}/decoding/{what}"));
    let link = |direction| build_channel(index, direction, ue, scene);
    Ue {
        id: UeId(index as u32),
        cell: ue.cell,
        bearer: RadioBearer::new(&bearer, |direction| {
            let name = match direction {
                Direction::Downlink => "downlink",
                Direction::Uplink => "uplink",
            };
            seeds.stream(&format!("ue/{index}/queue/{name}"))
        }),
        mobility: build_mobility(index, ue, seeds),
        downlink: DownlinkState {
            channel: link(Direction::Downlink),
            cqi: CqiReports::new(
                usize::from(layout.rbgs()),
                usize::from(layout.rbg_size()),
                index as u64 % u64::from(cell.mac.cqi_period.max(1)),
            ),
            harq: HarqEntity::default(),
            draws: draws("downlink"),
            control_draws: draws("control"),
            outer_loop: 0.0,
            active: false,
        },
        uplink: UplinkState {
            channel: link(Direction::Uplink),
            harq: HarqEntity::default(),
            draws: draws("uplink"),
            sounding: Sounding::default(),
            outer_loop: 0.0,
            power: pusch_power(ue, cell),
            known_backlog: 0,
            outstanding: 0,
            request_pending: false,
            active: false,
        },
    }
}

fn pusch_power(ue: &UeConfig, cell: &CellConfig) -> PuschPower {
    let noise = airlane_radio::noise::prb_noise(cell.noise_figure);
    PuschPower::new(cell.mac.uplink.power_control, noise, ue.tx_power, cell.resource_blocks)
}

fn build_mobility(index: usize, ue: &UeConfig, seeds: Seeds) -> Mobility {
    let start = match ue.start {
        Start::At(position) => position,
        Start::Within(placement, disc) => {
            placement.draw(&disc, &mut seeds.stream(&format!("ue/{index}/placement")))
        }
    };
    match ue.movement {
        Movement::Static => Mobility::Static(start),
        Movement::LevyWalk(law, disc) => {
            let stream = seeds.stream(&format!("ue/{index}/mobility"));
            Mobility::LevyWalk(LevyWalk::new(law, disc, start, stream))
        }
    }
}

fn build_channel(index: usize, direction: Direction, ue: &UeConfig, scene: &Scene<'_>) -> Channel {
    let Scene { cell, channel, grid, seeds } = *scene;
    let (name, carrier_hz, tx_power, noise_figure, gain) = match direction {
        Direction::Downlink => {
            ("downlink", cell.downlink_hz, cell.tx_power, ue.noise_figure, cell.transmission_mode.gain())
        }
        Direction::Uplink => ("uplink", cell.uplink_hz, ue.tx_power, cell.noise_figure, Decibel(0.0)),
    };
    let fading = channel.fading.zip(grid).map(|(fading, grid)| {
        let mut stream = seeds.stream(&format!("ue/{index}/fading/{name}"));
        Fading::new(grid, fading.speed_mps, carrier_hz, &mut stream)
    });
    let path_loss = match channel.path_loss {
        PathLossModel::Friis => PathLoss::Friis { frequency_hz: carrier_hz },
        PathLossModel::LogDistance { exponent, reference_m, reference_loss } => {
            PathLoss::LogDistance { exponent, reference_m, reference_loss }
        }
    };
    let prbs = cell.resource_blocks;
    Channel::new(LinkBudget { path_loss, tx_power, noise_figure, gain, prbs }, cell.position, fading)
}
