//! Builds cells and UEs from a configuration. Each random process has its own named stream.

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use airlane_core::{Bytes, CellId, Decibel, Direction, Duration, Instant, Seeds, Stream, UeId};
use airlane_radio::blockage::Blockage;
use airlane_radio::mobility::Hexagon;
use airlane_radio::shadowing::Field;
use airlane_radio::{Bursts, Fading, FrequencyGrid, Mobility, PathLoss, Position, Shadowing, noise};

use crate::bearers::Bearers;
use crate::buildings::Indoors;
use crate::channel::{Channel, LinkBudget, Scenery, Sight};
use crate::config::{CarrierAggregation, CellConfig, ChannelConfig, RanConfig, Start, UeConfig};
use crate::cqi::{CqiReports, ReportTimes};
use crate::dual::{self, SecondaryNodeConfig};
use crate::interference::{CellChannels, Neighbours};
use crate::link::{BlockCounts, DownlinkState, Links, ServingLink, UplinkState};
use crate::mac::bwp::Bwp;
use crate::mac::downlink::DownlinkMac;
use crate::mac::drx::Drx;
use crate::mac::gaps::Gaps;
use crate::mac::harq::HarqEntity;
use crate::mac::headroom::{HeadroomReporting, KnownPower};
use crate::mac::phy::{BlockTables, Phy};
use crate::mac::polls::Polls;
use crate::mac::power::PuschPower;
use crate::mac::pusch::Sounding;
use crate::mac::requests::SentRequests;
use crate::mac::restrictions::Restrictions;
use crate::mac::scell::Scell;
use crate::mac::sleep::Phase;
use crate::mac::uplink::UplinkMac;
use crate::network::{Cell, SlotClock};
use crate::reach;
use crate::ue::{Membership, Ue};
pub(crate) use source::ChannelSource;

/// A MAC subheader with a 15-bit length field (TS 36.321 v17.0 §6.2.1). The last subheader of a PDU
/// has no length field; the two bytes saved are left unused.
pub(crate) const SUBHEADER: Bytes = Bytes(3);

pub(crate) fn cells(config: &RanConfig) -> Vec<Cell> {
    let ues = config.ues.len();
    let mut tables: Vec<Arc<BlockTables>> = Vec::new();
    for cell in &config.cells {
        if tables.iter().all(|tables| !tables.are_of(cell)) {
            tables.push(Arc::new(BlockTables::new(cell, &config.cells)));
        }
    }
    let of =
        |cell: &CellConfig| tables.iter().find(|tables| tables.are_of(cell)).expect("each cell has some");
    let cell = |cell: &CellConfig| Cell {
        clock: SlotClock::default(),
        phy: Phy::new(cell, Arc::clone(of(cell))),
        downlink: DownlinkMac::new(cell, ues),
        uplink: UplinkMac::new(cell, of(cell), ues),
        restrictions: Restrictions::new(cell, ues),
        notes: Default::default(),
        config: cell.clone(),
    };
    config.cells.iter().map(cell).collect()
}

/// The slot lengths of the cells, each once.
pub(crate) fn slot_lengths(config: &RanConfig) -> Vec<Duration> {
    let mut lengths: Vec<_> = config.cells.iter().map(|cell| cell.numerology.slot).collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

/// For each cell, the cells that its UEs report: only cells that serve UEs.
pub(crate) fn neighbours(config: &RanConfig) -> Vec<Vec<CellId>> {
    let all = (0..config.cells.len() as u32).map(CellId);
    let serves = |cell: &CellId| !config.cells[cell.index()].interferer;
    // With secondary nodes, their cells are measured for these: the target of a handover can be a PCell if its source can.
    let masters: BTreeSet<CellId> = {
        let nodes = config.ues.iter().filter_map(|ue| ue.secondary_node.as_ref());
        nodes.flat_map(|node| node.masters.iter().copied()).collect()
    };
    let class = |id: CellId| (config.cells[id.index()].bearer.is_of_nr(), masters.contains(&id));
    let alike = |cell: CellId, other: CellId| masters.is_empty() || class(cell) == class(other);
    let of = |(id, cell): (CellId, &CellConfig)| match &cell.neighbours {
        Some(named) => named.iter().copied().filter(serves).collect(),
        None => all.clone().filter(|other| *other != id && alike(id, *other)).filter(serves).collect(),
    };
    all.clone().zip(&config.cells).map(of).collect()
}

/// A cell and its environment.
pub(crate) struct Scene<'a> {
    id: CellId,
    cell: &'a CellConfig,
    /// The first cell at its point: sectors of one site share line of sight and shadowing.
    site: usize,
    /// The place of its downlink carrier ([`reach::carriers`]).
    carrier: usize,
    channel: &'a ChannelConfig,
    grid: Option<&'a Arc<FrequencyGrid>>,
    /// There is no other cell.
    alone: bool,
    environment: &'a Arc<Environment>,
    seeds: Seeds,
}

/// The surroundings of UEs that are built with a network or added to it.
#[derive(Debug)]
pub(crate) struct Environment {
    channel: ChannelConfig,
    cells: Vec<CellConfig>,
    /// By cell.
    grids: Vec<Option<Arc<FrequencyGrid>>>,
    sites: Vec<usize>,
    carriers: Vec<usize>,
}

impl Environment {
    pub(crate) fn new(config: &RanConfig) -> Arc<Self> {
        let cells = || (0..).map(CellId).zip(&config.cells);
        Arc::new(Self {
            channel: config.channel.clone(),
            cells: config.cells.clone(),
            grids: frequency_grids(config),
            sites: cells().map(|(id, _)| site_of(&config.cells, id)).collect(),
            carriers: reach::carriers(config.cells.iter()),
        })
    }

    /// The cells that a UE meets.
    pub(crate) fn scenes(self: &Arc<Self>, seeds: Seeds) -> Vec<Scene<'_>> {
        (0..self.cells.len() as u32).map(|cell| self.scene(CellId(cell), seeds)).collect()
    }

    fn scene(self: &Arc<Self>, id: CellId, seeds: Seeds) -> Scene<'_> {
        Scene {
            id,
            cell: &self.cells[id.index()],
            site: self.sites[id.index()],
            carrier: self.carriers[id.index()],
            channel: &self.channel,
            grid: self.grids[id.index()].as_ref(),
            alone: self.sites.len() == 1,
            environment: self,
            seeds,
        }
    }

    /// The UEs of a configuration.
    pub(crate) fn ues(self: &Arc<Self>, config: &RanConfig, seeds: Seeds) -> Vec<Ue> {
        let scenes = self.scenes(seeds);
        let ue = |(index, ue)| build_ue(index, ue, &scenes, Instant::ZERO);
        config.ues.iter().enumerate().map(ue).collect()
    }
}

/// The first cell at the position of this one.
fn site_of(cells: &[CellConfig], cell: CellId) -> usize {
    let plan = |position: &Position| (position.x, position.y);
    let here = plan(&cells[cell.index()].position);
    cells.iter().position(|other| plan(&other.position) == here).unwrap_or(cell.index())
}

/// The frequency grid of each cell, if there is fading. Cells of equal bands share one: it stays in the cache, several
/// would not.
fn frequency_grids(config: &RanConfig) -> Vec<Option<Arc<FrequencyGrid>>> {
    let Some(fading) = &config.channel.fading else { return vec![None; config.cells.len()] };
    let mut known: Vec<((usize, usize, f64), Arc<FrequencyGrid>)> = Vec::new();
    let grid = |cell: &CellConfig| {
        let prbs = cell.resource_blocks;
        let spacing_hz = fading.prb_spacing_hz.unwrap_or_else(|| cell.numerology.prb_bandwidth_hz());
        let band = (usize::from(prbs), usize::from(cell.numerology.rbg_size(prbs)), spacing_hz);
        let same = known.iter().find(|(of, _)| *of == band).map(|(_, grid)| Arc::clone(grid));
        Some(same.unwrap_or_else(|| {
            let grid = Arc::new(FrequencyGrid::with_spacing(fading.profile, band.0, band.1, band.2));
            known.push((band, Arc::clone(&grid)));
            grid
        }))
    };
    config.cells.iter().map(grid).collect()
}

/// A UE that is being built.
#[derive(Clone, Copy)]
struct NewUe<'a> {
    index: usize,
    config: &'a UeConfig,
    /// Its place in a building, if it is in one.
    indoors: Option<&'a Indoors>,
}

/// The channels between a UE and each cell in reach; the serving cell is separate.
fn build_channels(
    ue: NewUe<'_>,
    mobility: &mut Mobility,
    scenes: &[Scene<'_>],
    now: Instant,
) -> (CellChannels, Neighbours) {
    let mut fields = ShadowFields::default();
    let reach = source::build_reach(ue, mobility, scenes, now, &mut fields);
    let mut link = |scene: &Scene<'_>| build_link_channels(ue, scene, &mut fields);
    let mut links: Vec<_> = match &reach {
        None => scenes.iter().map(link).collect(),
        Some(reach) => reach.cells.iter().map(|cell| link(&scenes[cell.index()])).collect(),
    };
    let serves = |cell: CellId| may_serve(ue.config, &scenes[cell.index()]);
    let serving = strongest(&mut links, serves, mobility, now);
    let serving = links.remove(serving);
    (serving, Neighbours::new(links, reach))
}

/// The channels between a UE and a cell in both directions.
fn build_link_channels(ue: NewUe<'_>, scene: &Scene<'_>, fields: &mut ShadowFields) -> CellChannels {
    let scenery = build_scenery(ue, scene, fields);
    let channel = |direction| build_channel(ue, direction, scene, &scenery);
    let (downlink, uplink) = (channel(Direction::Downlink), channel(Direction::Uplink));
    CellChannels { cell: scene.id, downlink, uplink }
}

/// Whether a cell may serve a UE from its start: the one that it names, or any that serves UEs, of the master node if it
/// has a secondary node.
fn may_serve(ue: &UeConfig, scene: &Scene<'_>) -> bool {
    let can_be_master = |node: &SecondaryNodeConfig| node.masters.contains(&scene.id);
    let serves = !scene.cell.interferer && ue.secondary_node.as_ref().is_none_or(can_be_master);
    assert!(ue.cell != Some(scene.id) || serves, "a UE in a cell that serves no UE");
    serves && ue.cell.is_none_or(|cell| cell == scene.id)
}

/// The place of the serving candidate with the strongest reference signals now; the first of equal ones.
fn strongest(
    links: &mut [CellChannels],
    serves: impl Fn(CellId) -> bool,
    mobility: &mut Mobility,
    now: Instant,
) -> usize {
    let places: Vec<_> = (0..links.len()).filter(|place| serves(links[*place].cell)).collect();
    let mut best = *places.first().expect("a UE names a cell that is not there, or no cell serves");
    for index in places.into_iter().skip(1) {
        let [this, other] = [index, best].map(|i| links[i].downlink.rsrp(now, mobility, &mut None));
        if this > other {
            best = index;
        }
    }
    best
}

/// A UE that begins at `now`. If it has a secondary node, this is its master cell group.
pub(crate) fn build_ue(index: usize, ue: &UeConfig, scenes: &[Scene<'_>], now: Instant) -> Ue {
    let membership =
        ue.secondary_node.as_ref().map_or(Membership::Alone, |node| Membership::Master(node.kind));
    build_cell_group(index, ue, membership, scenes, now)
}

/// The secondary cell group of a UE: a UE with the number `id` that is where the UE with the number `index` is.
pub(crate) fn build_secondary_group(
    id: UeId,
    index: usize,
    ue: &UeConfig,
    scenes: &[Scene<'_>],
    now: Instant,
) -> Ue {
    let node = ue.secondary_node.as_ref().expect("a UE with a secondary node");
    let config =
        UeConfig { cell: node.cells.first().copied(), aggregation: None, secondary_node: None, ..ue.clone() };
    let mut group = build_cell_group(index, &config, Membership::Secondary(node.kind), scenes, now);
    group.id = id;
    let stream = |what: &str| scenes[0].seeds.stream(&format!("ue/{index}/secondary/decoding/{what}"));
    let link = group.links.primary_mut();
    link.downlink.draws = stream("downlink");
    link.downlink.control_draws = stream("control");
    link.uplink.draws = stream("uplink");
    group
}

/// The only cell group of a UE, or one of two, with the streams of this UE.
fn build_cell_group(
    index: usize,
    ue: &UeConfig,
    membership: Membership,
    scenes: &[Scene<'_>],
    now: Instant,
) -> Ue {
    let seeds = scenes[0].seeds;
    let indoors =
        ue.building.and_then(|law| Indoors::draw(&law, &mut seeds.stream(&format!("ue/{index}/building"))));
    let new = NewUe { index, config: ue, indoors: indoors.as_ref() };
    let mut mobility = build_mobility(new, scenes, now);
    let (serving, neighbours) = build_channels(new, &mut mobility, scenes, now);
    let cell = scenes[serving.cell.index()].cell;
    let (mut bearer, mut l4s) = (cell.bearer.clone(), cell.l4s_bearer.clone());
    if cell.mac.subheaders {
        bearer.pdu_overhead = SUBHEADER;
        if let Some(l4s) = &mut l4s {
            l4s.bearer.pdu_overhead = SUBHEADER;
        }
    }
    match membership {
        Membership::Alone => {}
        Membership::Master(kind) | Membership::Secondary(kind) => bearer = dual::leg(&bearer, kind),
    }
    let draws = |what: &str| seeds.stream(&format!("ue/{index}/decoding/{what}"));
    let link = build_link(new, serving, neighbours, cell, draws);
    let secondary = ue.aggregation.iter().flat_map(|of| build_secondary(new, of, &mut mobility, scenes, now));
    let secondary = secondary.collect();
    let phase = if cell.connection.is_some() { Phase::Released } else { Phase::Connected };
    let identity = seeds.stream(&format!("ue/{index}/identity")).below(u64::MAX);
    let secondary_cells = ue.aggregation.as_ref().map(|of| Arc::clone(&of.secondary)).unwrap_or_default();
    let uplink_cells = ue.aggregation.as_ref().map(|of| Arc::clone(&of.uplink)).unwrap_or_default();
    let mut links = Links::new(link, secondary, secondary_cells, uplink_cells);
    if phase == Phase::Connected {
        let scells = links.with_secondary_cells().filter_map(|(link, _)| link.scell.as_mut());
        scells.for_each(|scell| scell.start(now));
    }
    let queue = |name: &str| seeds.stream(&format!("ue/{index}/queue/{name}"));
    let mut bearers = Bearers::new(&bearer, l4s.as_ref(), cell.connection.is_some(), now, queue);
    if ue.aggregate_rates != [None; 2] {
        bearers.limit_aggregate(ue.aggregate_rates, now);
    }
    let gaps = ue.measurement_gaps.as_ref().map(|config| {
        let draw = |below| seeds.stream(&format!("ue/{index}/gaps")).below(below);
        let mut gaps = Box::new(Gaps::new(config, draw));
        gaps.set_connected(now, phase == Phase::Connected);
        gaps
    });
    let mut new = Ue {
        id: UeId(index as u32),
        membership,
        is_present: true,
        bearers,
        mobility,
        links,
        drx: { phase.drx(cell, identity, gaps.as_deref()) }
            .map(|(config, offset)| Box::new(Drx::new(config, offset, phase, now))),
        gaps,
        phase,
        identity,
        alarm: Instant::FAR_FUTURE,
    };
    new.set_parts();
    new
}

/// The link with the cell that `serving` belongs to.
fn build_link(
    NewUe { index, config: ue, .. }: NewUe<'_>,
    serving: CellChannels,
    neighbours: Neighbours,
    cell: &CellConfig,
    draws: impl Fn(&str) -> Stream,
) -> ServingLink {
    ServingLink {
        cell: serving.cell,
        neighbours,
        downlink: DownlinkState {
            channel: serving.downlink,
            cqi: CqiReports::of(cell, index),
            harq: HarqEntity::new(cell.numerology.harq.processes),
            latest: None,
            draws: draws("downlink"),
            control_draws: draws("control"),
            outer_loop: 0.0,
            fixed_mcs: ue.fixed_mcs,
            active: false,
            sent: BlockCounts::default(),
        },
        uplink: UplinkState {
            channel: serving.uplink,
            harq: HarqEntity::new(cell.numerology.harq.processes),
            draws: draws("uplink"),
            sounding: Sounding::default(),
            outer_loop: 0.0,
            power: PuschPower::new(cell, ue.tx_power),
            headroom: HeadroomReporting::default(),
            known_power: KnownPower::default(),
            known_backlog: 0,
            outstanding: 0,
            request_pending: false,
            requests: SentRequests::default(),
            polls: Polls::default(),
            active: false,
        },
        scell: None,
        bwp: Bwp::of(cell).filter(|_| ue.aggregation.is_none()),
        uses_parts: ue.aggregation.is_none(),
        control: (Instant::FAR_FUTURE, 0.0),
    }
}

/// The links with the secondary cells of a UE, as many as it has with any primary cell. Each has channels with all cells, as
/// the primary link has: the streams of a channel are named by UE and cell, so that two links of a UE have equal channels
/// with a cell. A link that is not used by the first primary cell begins with the first secondary cell.
fn build_secondary(
    new: NewUe<'_>,
    aggregation: &CarrierAggregation,
    mobility: &mut Mobility,
    scenes: &[Scene<'_>],
    now: Instant,
) -> Vec<ServingLink> {
    let (seeds, index) = (scenes[0].seeds, new.index);
    let primary = new.config.cell.expect("carrier aggregation names the primary cell");
    let first = aggregation.secondary.get(&primary).filter(|cells| !cells.is_empty());
    let first = first.expect("the first primary cell has secondary ones");
    assert!(
        aggregation.secondary.iter().all(|(primary, cells)| !cells.contains(primary)),
        "the primary cell is not a secondary one"
    );
    let most = aggregation.secondary.values().map(Vec::len).max().unwrap_or_default();
    let link = |place: usize| {
        let id = first.get(place).unwrap_or(&first[0]);
        let config = UeConfig { cell: Some(*id), ..new.config.clone() };
        let (serving, neighbours) = build_channels(NewUe { config: &config, ..new }, mobility, scenes, now);
        let cell = scenes[id.index()].cell;
        let draws = |what: &str| {
            let of = format!("ue/{index}/cell/{}/decoding/{what}", id.index());
            seeds.stream(&if place < first.len() { of } else { format!("{of}/{place}") })
        };
        let pcell = scenes[primary.index()].cell.numerology;
        let scell = Scell::new(aggregation, pcell, ReportTimes::of(cell, index));
        ServingLink {
            scell: Some(Box::new(scell)),
            bwp: Bwp::of(cell),
            uses_parts: true,
            ..build_link(new, serving, neighbours, cell, draws)
        }
    };
    (0..most).map(link).collect()
}

fn build_mobility(ue: NewUe<'_>, scenes: &[Scene<'_>], now: Instant) -> Mobility {
    let NewUe { index, config: ue, indoors } = ue;
    let seeds = scenes[0].seeds;
    let mut stream = seeds.stream(&format!("ue/{index}/placement"));
    let start = match ue.start {
        Start::At(position) => position,
        Start::Within(placement, disc) => placement.draw(&disc, &mut stream),
        Start::AroundSites { inter_site_distance_m, height_m, least_m } => {
            let serves = |scene: &&Scene<'_>| scene.site == scene.id.index() && !scene.cell.interferer;
            let sites: Vec<_> = scenes.iter().filter(serves).collect();
            let site = sites[stream.below(sites.len() as u64) as usize].cell.position;
            let hexagon =
                Hexagon { centre: Position { z: height_m, ..site }, width_m: inter_site_distance_m };
            let least_m = least_m + indoors.map_or(0.0, |indoors| indoors.entry.inside_m);
            loop {
                let place = hexagon.draw(&mut stream);
                if place.ground_distance(&site) >= least_m {
                    break place;
                }
            }
        }
    };
    let start = Position { z: start.z + indoors.map_or(0.0, |indoors| indoors.above_m), ..start };
    ue.movement.begin_at(now, start, || seeds.stream(&format!("ue/{index}/mobility")))
}

/// The fields of a UE's shadowing, each of which is stored once: a part is the same towards all sites, and all of it
/// towards the cells of one site.
#[derive(Default)]
struct ShadowFields {
    own: Option<Arc<Field>>,
    by_site: BTreeMap<usize, Arc<Shadowing>>,
}

impl ShadowFields {
    fn towards(&mut self, site: usize, correlation: f64, stream: impl Fn(&str) -> Stream) -> Arc<Shadowing> {
        let own = self.own.get_or_insert_with(|| Arc::new(Field::new(&mut stream("shadowing"))));
        let of_site = || {
            let field = Field::new(&mut stream(&format!("site/{site}/shadowing")));
            Arc::new(Shadowing::new(Arc::clone(own), field, correlation))
        };
        Arc::clone(self.by_site.entry(site).or_insert_with(of_site))
    }
}

/// The line of sight and shadowing between a UE and its cell. Each quantity has its own stream.
fn build_scenery(ue: NewUe<'_>, scene: &Scene<'_>, fields: &mut ShadowFields) -> Scenery {
    let NewUe { index, indoors, .. } = ue;
    let Scene { cell, site, channel, seeds, .. } = *scene;
    let stream = |what: &str| seeds.stream(&format!("ue/{index}/{what}"));
    let law = channel.path_loss.at(cell.downlink_hz);
    let rules = channel.links;
    let sight = match law {
        PathLoss::LargeScale(model) if rules.spatial_consistency => {
            let field = || Field::new(&mut seeds.stream(&format!("site/{site}/line-of-sight")));
            Sight::Field(Arc::new(Shadowing::new(field(), field(), 0.0)), model.sight_correlation_m())
        }
        PathLoss::Macro36814 { .. } | PathLoss::LargeScale(_) => {
            Sight::Draw(stream(&format!("site/{site}/line-of-sight")).uniform())
        }
        PathLoss::Friis { .. }
        | PathLoss::LogDistance { .. }
        | PathLoss::Cost231Hata { .. }
        | PathLoss::Macro25814 => Sight::Draw(0.0),
    };
    let shadowing = channel.shadowing.filter(|_| cell.path_loss_map.is_none()).map(|config| {
        // Fields that all UEs share, or fields of this one.
        let of_fields = |what: &str| match rules.spatial_consistency {
            true => seeds.stream(what),
            false => stream(what),
        };
        (config, fields.towards(site, config.site_correlation, of_fields))
    });
    let environment = rules.random_environment_height.then(|| {
        let mut stream = stream(&format!("site/{site}/environment-height"));
        [stream.uniform(), stream.uniform()]
    });
    Scenery {
        site: cell.position,
        antenna: cell.antenna,
        wrap_around: rules.wrap_around,
        sight,
        environment,
        inside_m: indoors.map(|indoors| indoors.entry.inside_m),
        shadowing,
        path_loss_map: cell.path_loss_map.clone(),
        clutter_loss_map: channel.clutter_loss_map.clone(),
    }
}

fn build_channel(ue: NewUe<'_>, direction: Direction, scene: &Scene<'_>, scenery: &Scenery) -> Channel {
    let NewUe { index, config: ue, indoors } = ue;
    let Scene { id, cell, channel, grid, seeds, .. } = *scene;
    let bandwidth_hz = cell.numerology.prb_bandwidth_hz();
    let (name, carrier_hz, tx_power, noise, gain) = match direction {
        Direction::Downlink => {
            let noise = noise::prb_noise(bandwidth_hz, ue.noise_figure);
            ("downlink", cell.downlink_hz, cell.tx_power, noise, cell.transmission_mode.gain())
        }
        Direction::Uplink => ("uplink", cell.uplink_hz, ue.tx_power, cell.prb_noise(), Decibel(0.0)),
    };
    let fading = channel.fading.zip(grid).map(|(fading, grid)| {
        // Each pair of UE and cell has its own stream, independent of the serving cell.
        let stream = match id.index() {
            0 => seeds.stream(&format!("ue/{index}/fading/{name}")),
            cell => seeds.stream(&format!("ue/{index}/cell/{cell}/fading/{name}")),
        };
        Fading::on_demand(grid, fading.speed_mps, carrier_hz, stream)
    });
    let budget = LinkBudget {
        path_loss: channel.path_loss.at(carrier_hz),
        tx_power,
        noise,
        gain,
        penetration_loss: indoors.map_or(ue.penetration_loss, |indoors| {
            ue.penetration_loss + indoors.entry.loss(carrier_hz / 1e9)
        }),
        minimum_coupling_loss: channel.links.minimum_coupling_loss,
        prbs: cell.resource_blocks,
        rbgs: cell.resource_blocks.div_ceil(cell.numerology.rbg_size(cell.resource_blocks)),
        subcarriers: cell.numerology.subcarriers_per_prb,
    };
    // Sectors of one site have the same path to a UE.
    let blockage = channel.blockage.clone().map(|law| {
        let name = format!("ue/{index}/site/{}/blockage", scene.site);
        Blockage::new(law, carrier_hz, seeds, name)
    });
    Channel::new(budget, scenery.clone(), fading, scene.alone)
        .disturbed_by(bursts(index, direction, scene), blockage)
}

/// A UE's bursts are the same for every cell, and an eNB's bursts are the same for every UE.
fn bursts(index: usize, direction: Direction, scene: &Scene<'_>) -> Option<Bursts> {
    let mac = &scene.cell.mac;
    let (law, name, reach) = match direction {
        // A CQI report may be computed as late as the next one comes into force; a block is decoded one slot
        // after its transmission.
        Direction::Downlink => {
            (scene.channel.bursts?, format!("ue/{index}/bursts"), mac.cqi_period + mac.cqi_delay + 2)
        }
        // Sounding is evaluated immediately.
        Direction::Uplink => (scene.channel.uplink_bursts?, format!("cell/{}/bursts", scene.id.index()), 2),
    };
    Some(Bursts::new(law, scene.cell.numerology.slot * u64::from(reach), scene.seeds.stream(&name)))
}
