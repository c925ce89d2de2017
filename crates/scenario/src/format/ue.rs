//! UEs: position and radio. Their movement is in `mobility`.

use airlane_core::{CellId, Instant};
use airlane_radio::mobility::{self, MovementPath, WalkLaw, WaypointLaw};
use airlane_radio::{Mcs, Position};
use airlane_ran::config::{BuildingLaw, Movement, Start, UeConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mobility::{course, levy_law, speed_law};
use super::{
    Ambr, Area, Cell, MeasurementGaps, Mobility, Point, Points, ScellEvents, Scells, SecondaryNode, Step,
    tagged,
};
use crate::quantity::{Gain, Metres, Power, Share, Speed, Time};

/// A UE, or a group of UEs with the same settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ue {
    /// Name of the UE. UEs of a group are named `name-1`, `name-2`, ...
    pub name: String,
    /// Number of UEs in the group.
    pub count: u32,
    /// Position at the start. Write either this or `placement`; with a movement trace, write neither.
    pub position: Option<[Metres; 2]>,
    /// Distribution of the position at the start. It is drawn for each UE of a group and each seed.
    pub placement: Option<Placement>,
    /// Movement of the UE.
    pub mobility: Mobility,
    /// Height of the antenna.
    pub height: Metres,
    /// Name of the first serving cell. By default, this is the cell with the highest received power at the
    /// start.
    pub cell: Option<String>,
    /// Names of the cells that serve the UE together (carrier aggregation), in the place of `cell`: the primary cell, then
    /// the secondary cells. They are of one site and of one technology. After a handover, the UE has the
    /// cells with the frequencies of these cells that have the site and the direction of its new primary cell. By default,
    /// the UE has one carrier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carriers: Option<Vec<String>>,
    /// Names of those cells of `carriers` to which the UE sends: the primary cell, then secondary cells. They share the power
    /// of the UE. After a handover, the UE sends to its new primary cell, and to secondary cells with the frequencies of
    /// these cells, to as many in all as there are here. By default, the UE sends to the primary cell alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_carriers: Option<Vec<String>>,
    /// Secondary cells of `carriers`: when they are active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scells: Option<Scells>,
    /// Measurements that make cells of `carriers` secondary cells, and that end them as such. By default, all of them are
    /// secondary cells as long as the UE is connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scell_events: Option<ScellEvents>,
    /// Names of cells and links through which the UE reaches the internet, in the place of `cell`. The first is the default
    /// of its flows. The UE has an address, and a radio of its own, in each of these cells, and stays in it. By default, it
    /// has one radio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Vec<String>>,
    /// Secondary node of the UE: a cell of NR that serves it together with a cell of LTE (EN-DC) or another of NR (NR-DC). By
    /// default, there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secondary_node: Option<SecondaryNode>,
    /// Measurement gaps of the UE while it is connected. By default, it measures without gaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measurement_gaps: Option<MeasurementGaps>,
    /// Maximum transmit power.
    pub tx_power: Power,
    /// Noise figure of the receiver.
    pub noise_figure: Gain,
    /// Building penetration loss.
    pub penetration_loss: Gain,
    /// Buildings that contain a share of the UEs, drawn for each UE of a group and each seed. By default, there are
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub building: Option<Building>,
    /// Limits of the rates of the UE, of all its bearers without guaranteed bit rate. By default, there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ambr: Option<Ambr>,
    /// Time of the bearer setup, for `early_throttling`. By default, this is the first packet of the UE.
    pub bearer_setup: Option<Time>,
    /// Fixed MCS of the downlink, 0 to 28 (TS 36.213 §7.1.7.1). The channel then decides only whether blocks
    /// are decoded. By default, link adaptation selects the MCS.
    #[schemars(range(max = 28))]
    pub fixed_mcs: Option<u8>,
}

/// Buildings (TR 36.873 Table 6-1, TR 38.901 clause 7.4.3.1). A UE inside has the loss of its wall, 0.5 dB per metre
/// behind it, and the height of its floor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Building {
    /// Share of the UEs that are indoors.
    pub indoor: Share,
    /// Model of the walls.
    pub walls: Walls,
    /// With the walls of TR 38.901, share of the buildings with low-loss walls. The others have high-loss walls.
    pub low_loss: Share,
    /// Maximum distance between the wall and the UE.
    pub depth: Metres,
    /// Fewest and most storeys of a building. A UE is on each of them with the same probability.
    pub storeys: [u32; 2],
    /// Height of a storey. `height` is that above the floor.
    pub storey_height: Metres,
}

/// Model of the walls of buildings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Walls {
    /// Low-loss and high-loss walls, which depend on the carrier; the depth is the smaller of two uniform draws.
    #[serde(rename = "tr38.901")]
    Tr38901,
    /// 20 dB; the depth is uniform.
    #[serde(rename = "tr36.873")]
    Tr36873,
}

/// Distribution of the position at the start.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Placement {
    /// In a disc.
    Disc(Disc),
    /// Uniform over the hexagons around the sites of all serving cells.
    Hexagonal(Hexagons),
    /// At positions of a list or a file.
    Points(Points),
}
tagged!(Placement by "kind" {
    "disc" => Disc(Disc),
    "hexagonal" => Hexagonal(Hexagons),
    "points" => Points(Points),
});

/// Adjacent hexagons around the sites of all cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hexagons {
    /// Distance between neighbouring sites. By default, this is the distance of `[layout]`.
    pub inter_site_distance: Metres,
    /// Minimum distance from the site along the ground, without the part in a building. By default, there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_distance: Option<Metres>,
}

/// A disc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disc {
    /// Centre. By default, this is the cell of the key `cell`, or else the first cell.
    pub centre: Option<[Metres; 2]>,
    /// Radius.
    pub radius: Metres,
    /// Uniform quantity of the distribution.
    pub uniform: Uniform,
}

/// Uniform quantity of a distribution in a disc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Uniform {
    /// Uniform over the area.
    Area,
    /// Uniform over the distance from the centre, so that the density is higher near the centre.
    Distance,
}

impl Ue {
    /// The cell around which a UE is placed and moves by default: its serving cell if that is given,
    /// otherwise the cell nearest to its position (or to the centre of its placement).
    pub fn home_cell(&self, cells: &[Cell]) -> usize {
        if let Some(name) = self.first_cell() {
            let index = cells.iter().position(|cell| cell.name == *name);
            return index.expect("checked when the scenario was resolved");
        }
        let centre = match &self.placement {
            Some(Placement::Disc(disc)) => disc.centre,
            Some(Placement::Points(_)) => self.point(0).map(|point| point.position),
            Some(Placement::Hexagonal(_)) | None => None,
        };
        self.position.or(centre).map_or(0, |place| nearest(place, cells))
    }

    /// The position of a member of the group, from 0, where positions are given one by one.
    #[must_use]
    pub fn point(&self, member: u32) -> Option<&Point> {
        match &self.placement {
            Some(Placement::Points(points)) => points.points.as_ref()?.get(member as usize),
            Some(Placement::Disc(_) | Placement::Hexagonal(_)) | None => None,
        }
    }

    /// The end of the name of a member of the group, from 0: its id, or its number from 1.
    #[must_use]
    pub fn suffix(&self, member: u32) -> String {
        let id = self.point(member).and_then(|point| point.id.clone());
        id.unwrap_or_else(|| (member + 1).to_string())
    }

    /// The configuration of a member of the group, from 0, with its path if a file describes its movement.
    /// `is_handed_over` is true in a scenario with handovers.
    pub fn config(
        &self,
        member: u32,
        path: Option<&MovementPath>,
        cells: &[Cell],
        is_handed_over: bool,
    ) -> UeConfig {
        let point = self.point(member);
        let height = point.and_then(|point| point.height).unwrap_or(self.height);
        let home = match point {
            Some(point) if self.first_cell().is_none() => nearest(point.position, cells),
            _ => self.home_cell(cells),
        };
        let home = &cells[home];
        let own_mobility = point.and_then(Point::mobility);
        let disc = |centre: Option<[Metres; 2]>, radius: Metres| mobility::Disc {
            centre: position(centre.unwrap_or(home.position), height),
            radius_m: radius.0,
        };
        UeConfig {
            cell: self.first_cell().map(|_| CellId(self.home_cell(cells) as u32)),
            start: self.start(path, point, height, disc),
            movement: match own_mobility.as_ref().unwrap_or(&self.mobility) {
                Mobility::Static => Movement::Static,
                Mobility::Line(line) => Movement::Line(course(line, height), speed_law(line)),
                Mobility::RandomWaypoint(walk) => Movement::RandomWaypoint(WaypointLaw {
                    area: match &walk.area {
                        Area::Disc(area) => mobility::Area::Disc(disc(area.centre, area.radius)),
                        Area::Rectangle(area) => {
                            mobility::Area::Rectangle(area.from.map(|m| m.0), area.to.map(|m| m.0))
                        }
                    },
                    speed_mps: [walk.speed.min, walk.speed.max].map(Speed::metres_per_second),
                    pause: [walk.pause.min.0, walk.pause.max.0],
                }),
                Mobility::RandomWalk(walk) => Movement::RandomWalk(WalkLaw {
                    corners_m: [walk.area.from, walk.area.to].map(|corner| corner.map(|m| m.0)),
                    speed_mps: [walk.speed.min, walk.speed.max].map(Speed::metres_per_second),
                    step: match &walk.step {
                        Step::Distance(step) => mobility::Step::Distance(step.length.0),
                        Step::Time(step) => mobility::Step::Time(step.duration.0),
                    },
                }),
                Mobility::Trace(_) => Movement::Path(path.expect("read for every UE that needs one").clone()),
                Mobility::LevyWalk(walk) => {
                    Movement::LevyWalk(levy_law(walk), disc(walk.centre, walk.radius))
                }
            },
            tx_power: self.tx_power.0,
            noise_figure: self.noise_figure.0,
            penetration_loss: self.penetration_loss.0,
            building: self.building.as_ref().map(Building::config),
            bearer_set_up: self.bearer_setup.map(|at| Instant::ZERO + at.0),
            fixed_mcs: self.fixed_mcs.map(Mcs::new),
            aggregate_rates: self.ambr.as_ref().map_or([None; 2], Ambr::rates),
            aggregation: self.aggregation(cells, is_handed_over),
            secondary_node: self.secondary_node.as_ref().map(|node| node.config(cells)),
            measurement_gaps: self.measurement_gaps.as_ref().map(MeasurementGaps::config),
        }
    }

    /// Where a UE of the group starts; `disc` is an area around its home by default.
    fn start(
        &self,
        path: Option<&MovementPath>,
        point: Option<&Point>,
        height: Metres,
        disc: impl Fn(Option<[Metres; 2]>, Metres) -> mobility::Disc,
    ) -> Start {
        match (path, &self.position, &self.placement) {
            (Some(path), ..) => Start::At(path.start(height.0)),
            (None, Some(point), _) => Start::At(position(*point, height)),
            (None, None, Some(Placement::Disc(d))) => {
                let placement = match d.uniform {
                    Uniform::Area => airlane_radio::Placement::UniformInArea,
                    Uniform::Distance => airlane_radio::Placement::UniformInDistance,
                };
                Start::Within(placement, disc(d.centre, d.radius))
            }
            (None, None, Some(Placement::Hexagonal(hexagons))) => Start::AroundSites {
                inter_site_distance_m: hexagons.inter_site_distance.0,
                height_m: self.height.0,
                least_m: hexagons.minimum_distance.map_or(0.0, |least| least.0),
            },
            (None, None, Some(Placement::Points(_))) => {
                let point = point.expect("there is one for each UE, checked when the scenario was resolved");
                Start::At(position(point.position, height))
            }
            (None, None, None) => unreachable!("checked when the scenario was resolved"),
        }
    }
}

impl Building {
    fn config(&self) -> BuildingLaw {
        BuildingLaw {
            indoor: self.indoor.0,
            low_loss: match self.walls {
                Walls::Tr38901 => Some(self.low_loss.0),
                Walls::Tr36873 => None,
            },
            depth_m: self.depth.0,
            storeys: self.storeys,
            storey_m: self.storey_height.0,
        }
    }
}

/// The cell that is nearest to a place.
pub(crate) fn nearest([x, y]: [Metres; 2], cells: &[Cell]) -> usize {
    let squared = |cell: &Cell| {
        let (dx, dy) = (cell.position[0].0 - x.0, cell.position[1].0 - y.0);
        dx * dx + dy * dy
    };
    let nearest = (0..cells.len()).min_by(|a, b| squared(&cells[*a]).total_cmp(&squared(&cells[*b])));
    nearest.expect("a cellular scenario has a cell")
}

/// A point at a height.
pub(super) fn position([x, y]: [Metres; 2], height: Metres) -> Position {
    Position { x: x.0, y: y.0, z: height.0 }
}
