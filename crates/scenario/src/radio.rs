//! The radio part of a scenario: from the format to `airlane_ran`.

pub(crate) mod nr;

use std::collections::BTreeMap;

use airlane_core::{BitRate, Bytes, CellId, Decibel, Direction, Duration, Instant};
use airlane_radio::blockage::{BlockageLaw, Crossings, Screen};
use airlane_radio::fading::DelayLine;
use airlane_radio::large_scale::{ChannelReport, ChannelScenario};
use airlane_radio::layers::LineOfSight;
use airlane_radio::mobility::{
    Area, Course, Disc, LevyLaw, MovementPath, PowerLaw, Setdest, SpeedLaw, Step, WalkLaw, WaypointLaw,
};
use airlane_radio::panel::Panel;
use airlane_radio::path_loss::{City, Scene, Surroundings};
use airlane_radio::{
    AmcRule, Antenna, BurstLaw, CqiToMcs, Mcs, Placement, Position, Profile, Sector, TransmissionMode,
    WrapAround,
};
use airlane_ran::bearer::{BearerConfig, HandoverMode, RlcConfig};
use airlane_ran::bearers::L4sBearerConfig;
use airlane_ran::config::{
    BuildingLaw, CellConfig, ChannelConfig, CqiReference, CqiReport, FadingConfig, HeadroomLayout,
    HeadroomReports, LinkRules, MacConfig, McsRule, Movement, OutOfRange, PathLossModel, PowerControl,
    RanConfig, RankRule, ServiceChange, ServiceKind, ShadowingConfig, ShedAmount, Start, ThrottleBy,
    ThrottleConfig, UeConfig, UplinkAccess, UplinkConfig,
};
use airlane_ran::pdcp::nr::ReorderingConfig;
use airlane_ran::pdcp::{PdcpConfig, RetransmissionQueue};
use airlane_ran::rlc;
use airlane_ran::rlc::nr::{NrConfig, NrRlc};
use airlane_ran::rrc::handover::HandoverConfig;
use airlane_ran::rrc::measurement::{EventA3, MeasurementConfig};
use airlane_ran::rrc::quality::{QualityRule, Reported, Rssi};
use airlane_ran::rrc::radio_link::RadioLinkConfig;
use airlane_ran::rrc::random_access::Occasions;
use airlane_ran::sdap::{Qfi, SdapHeaders};
use airlane_ran::x2::{self, X2Config};

use crate::ScenarioError;
use crate::endpoints::Setup;
use crate::expand::OneUe;
use crate::files::{self, Files};
use crate::format::{self, Cell, Channel, Resolved, Rlc, Ue};
use crate::quantity::{Metres, Speed, Time};
use crate::run::Own;

/// The QoS classes of the two bearers (TS 23.501 table 5.7.4-1): low-latency eMBB applications, and the rest.
pub(crate) const LOW_LATENCY_5QI: u8 = 80;
pub(crate) const DEFAULT_5QI: u8 = 9;

/// The radio access network of a cellular scenario.
pub(crate) fn configuration(
    setup: Setup<'_>,
    channel: &Channel,
    ues: &[OneUe],
) -> Result<RanConfig, ScenarioError> {
    let Setup { scenario, files, .. } = setup;
    let movements = movements(scenario, files)?;
    let ue = |one: &OneUe| {
        let section = &scenario.ue[one.section];
        let path = match &section.mobility {
            format::Mobility::Trace(trace) => {
                Some(files::path_of(&movements[trace.file.as_str()], trace, one.member)?)
            }
            _ => None,
        };
        Ok(ue(section, path, scenario))
    };
    Ok(RanConfig {
        cells: scenario
            .cell
            .iter()
            .map(|one| cell(one, &scenario.cell, (&channel.fading, setup.own)))
            .collect(),
        ues: ues.iter().map(ue).collect::<Result<_, _>>()?,
        flows: vec![], // added with their nodes
        channel: ChannelConfig {
            path_loss: path_loss(&channel.path_loss),
            shadowing: shadowing(&channel.shadowing),
            fading: fading(&channel.fading),
            bursts: bursts(&channel.bursts, Direction::Downlink),
            uplink_bursts: bursts(&channel.bursts, Direction::Uplink),
            blockage: blockage(&channel.blockage),
            links: link_rules(channel),
        },
        measurements: scenario.handover.as_ref().map(measurements),
        handover: handover(scenario),
    })
}

/// The QoS flow of a flow, if it names a class.
pub(crate) fn qos_flow(flow: &format::Flow) -> Option<Qfi> {
    flow.five_qi.map(|class| if class == LOW_LATENCY_5QI { Qfi::LOW_LATENCY } else { Qfi::DEFAULT })
}

/// The movement traces of a scenario; each file is parsed once.
fn movements<'a>(scenario: &'a Resolved, files: &Files) -> Result<BTreeMap<&'a str, Setdest>, ScenarioError> {
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

/// The cell around which a UE is placed and moves by default: its serving cell if that is given,
/// otherwise the cell nearest to its position (or to the centre of its placement).
pub(crate) fn home_cell(ue: &Ue, scenario: &Resolved) -> usize {
    if let Some(name) = &ue.cell {
        let index = scenario.cell.iter().position(|cell| cell.name == *name);
        return index.expect("checked when the scenario was resolved");
    }
    let centre = match &ue.placement {
        Some(format::Placement::Disc(disc)) => disc.centre,
        Some(format::Placement::Hexagonal(_)) | None => None,
    };
    let Some([x, y]) = ue.position.or(centre) else { return 0 };
    let squared = |cell: &Cell| {
        let (dx, dy) = (cell.position[0].0 - x.0, cell.position[1].0 - y.0);
        dx * dx + dy * dy
    };
    let nearest = (0..scenario.cell.len())
        .min_by(|a, b| squared(&scenario.cell[*a]).total_cmp(&squared(&scenario.cell[*b])));
    nearest.expect("a cellular scenario has a cell")
}

fn position([x, y]: [Metres; 2], height: Metres) -> Position {
    Position { x: x.0, y: y.0, z: height.0 }
}

/// A time in slots of the cell; the check ensures that it is an integer in range.
fn slots(cell: &Cell, time: Time) -> u32 {
    let slots = time.0.as_nanos() / nr::slot(cell).as_nanos();
    u32::try_from(slots).expect("checked when the scenario was resolved")
}

fn cell(cell: &Cell, all: &[Cell], (fading, own): (&format::Fading, &Own)) -> CellConfig {
    let (numerology, tables) = nr::numerology(cell);
    let [layers, uplink_layers] = nr::layers(cell, sight(fading));
    CellConfig {
        numerology,
        tables,
        processing: nr::processing(cell),
        position: position(cell.position, cell.height),
        antenna: antenna(&cell.antenna),
        resource_blocks: cell.resource_blocks,
        tx_power: cell.tx_power.0,
        noise_figure: cell.noise_figure.0,
        downlink_hz: cell.frequency.0,
        uplink_hz: cell.uplink_frequency.0,
        scheduler: cell.scheduler.kind(|name| own.schedulers[name].clone()),
        early_throttling: cell.early_throttling.as_ref().map(early_throttling),
        transmission_mode: match cell.transmission_mode {
            format::TransmissionMode::Siso => TransmissionMode::SingleAntenna,
            format::TransmissionMode::Tm2 => TransmissionMode::TransmitDiversity,
            format::TransmissionMode::Tm3 => TransmissionMode::SpatialMultiplexing,
        },
        layers,
        uplink_layers,
        mac: mac(cell),
        bearer: bearer(cell),
        l4s_bearer: cell.l4s_bearer.as_ref().map(|l4s| L4sBearerConfig {
            bearer: BearerConfig { buffer: l4s.buffer.0, aqm: l4s.aqm.discipline(), ..bearer(cell) },
            rate: l4s.rate.map_or(BitRate(0), |rate| rate.0),
            default_rate: l4s.default_rate.0,
            bucket: l4s.bucket.0,
        }),
        max_ues: cell.max_ues,
        interferer: cell.interferer,
        neighbours: cell
            .neighbours
            .as_ref()
            .map(|names| names.iter().map(|name| cell_id(name, all)).collect()),
        service: service(cell),
    }
}

/// The periods in which a cell does not serve as usual.
fn service(cell: &Cell) -> Vec<ServiceChange> {
    let outages = cell.outages.iter().flatten().map(|one| (one.at, one.duration, ServiceKind::Outage));
    let shedding = cell.shedding.iter().flatten().map(|one| {
        let amount = match (one.ues, one.share) {
            (Some(ues), _) => ShedAmount::Number(ues),
            (None, share) => ShedAmount::Share(share.expect("checked when the scenario was resolved").0),
        };
        (one.at, one.duration, ServiceKind::Shed(amount))
    });
    let change = |(at, duration, kind): (Time, Time, _)| ServiceChange {
        at: Instant::ZERO + at.0,
        duration: duration.0,
        kind,
    };
    outages.chain(shedding).map(change).collect()
}

/// A cell by its name, which has been checked.
fn cell_id(name: &str, all: &[Cell]) -> CellId {
    let index = all.iter().position(|cell| cell.name == *name);
    CellId(index.expect("checked when the scenario was resolved") as u32)
}

/// The measurement configuration for handovers.
fn measurements(handover: &format::Handover) -> MeasurementConfig {
    MeasurementConfig {
        period: handover.measurement_period.0,
        filter_coefficient: handover.l3_filter,
        event: EventA3 {
            offset: handover.a3_offset.0,
            hysteresis: handover.hysteresis.0,
            time_to_trigger: handover.time_to_trigger.0,
        },
        report_interval: handover.report_interval.0,
        quality: match &handover.algorithm {
            format::HandoverAlgorithm::A3Rsrp => None,
            format::HandoverAlgorithm::A2A4Rsrq(rule) => Some(QualityRule {
                serving_threshold: Reported(rule.serving_threshold),
                neighbour_offset: rule.neighbour_offset,
                rssi: match rule.rssi {
                    format::Rssi::All => Rssi::AllElements,
                    format::Rssi::ReferenceSignals => Rssi::ReferenceSignals,
                },
            }),
        },
    }
}

/// The handover configuration, if there is one.
fn handover(scenario: &Resolved) -> Option<HandoverConfig> {
    let (handover, x2) = (scenario.handover.as_ref()?, scenario.x2.as_ref()?);
    Some(HandoverConfig {
        mode: handover_mode(handover.mode),
        x2: X2Config { delay: x2.delay.0, jitter: x2.jitter.0, loss: x2.loss.0, fresh: x2::FRESH_LIMIT },
        report: handover.report_delay.0,
        preparation: handover.preparation.0,
        command: handover.command_delay.0,
        interruption: handover.interruption.0,
        occasions: match &handover.random_access {
            format::RandomAccess::Included => None,
            format::RandomAccess::Occasions(one) => {
                Some(Occasions { period: one.period.0, completion: one.completion.0, retry: one.retry.0 })
            }
        },
        radio_link: handover.radio_link_failure.then(|| RadioLinkConfig {
            n310: handover.n310,
            n311: handover.n311,
            t310: handover.t310.0,
            t304: handover.t304.0,
            t311: handover.t311.0,
            t301: handover.t301.0,
            search: handover.cell_search.0,
            ..RadioLinkConfig::default()
        }),
    })
}

/// The handover mode: from the format to `airlane_ran`.
pub(crate) const fn handover_mode(mode: format::HandoverMode) -> HandoverMode {
    match mode {
        format::HandoverMode::Lossless => HandoverMode::Lossless,
        format::HandoverMode::Seamless => HandoverMode::Seamless,
        format::HandoverMode::SeamlessUm => HandoverMode::SeamlessUm,
    }
}

fn early_throttling(throttling: &format::EarlyThrottling) -> ThrottleConfig {
    ThrottleConfig {
        bearers: throttling.bearers,
        within: throttling.within.0,
        ramp: throttling.ramp.0,
        hold: throttling.hold.0,
        by: match throttling.by {
            format::ThrottleBy::Share => ThrottleBy::Share,
            format::ThrottleBy::Queue => ThrottleBy::Queue,
        },
    }
}

fn antenna(antenna: &format::Antenna) -> Antenna {
    match antenna {
        format::Antenna::Omni(omni) => Antenna::Omni { gain: omni.gain.0 },
        format::Antenna::Sector(sector) => Antenna::Sector(Sector {
            gain: sector.gain.0,
            azimuth_deg: sector.azimuth.0,
            beamwidth_deg: sector.beamwidth.0,
            front_to_back: sector.front_to_back.0,
        }),
        format::Antenna::Panel(panel) => Antenna::Panel {
            panel: Panel {
                rows: panel.rows,
                columns: panel.columns,
                row_spacing: panel.row_spacing,
                column_spacing: panel.column_spacing,
                tilt_deg: 90.0 + panel.downtilt.0,
            },
            azimuth_deg: panel.azimuth.0,
        },
    }
}

fn amc(rule: format::Amc) -> AmcRule {
    match rule {
        format::Amc::MutualInformation => AmcRule::MUTUAL_INFORMATION,
        format::Amc::Piro => AmcRule::PIRO,
    }
}

pub(crate) fn cqi_to_mcs(table: format::CqiToMcs) -> CqiToMcs {
    match table {
        format::CqiToMcs::Efficiency => CqiToMcs::Efficiency,
        format::CqiToMcs::OpenAirInterface => CqiToMcs::OpenAirInterface,
    }
}

/// The timing of the MAC of a cell.
fn timing(cell: &Cell) -> nr::Timing {
    if let Some(nr) = nr::nr(cell) {
        return nr::Timing::of_nr(nr);
    }
    let of_lte = |time: Option<Time>| slots(cell, time.expect("checked when the scenario was resolved"));
    let [round_trip, downlink_latency, grant_to_pusch] =
        [cell.mac.harq_round_trip, cell.mac.downlink_latency, cell.mac.grant_to_pusch].map(of_lte);
    nr::Timing {
        downlink_latency,
        assigned_ahead: false,
        grant_to_pusch,
        harq_round_trip: round_trip,
        uplink_round_trip: round_trip,
    }
}

/// The uplink access of a cell.
fn access(cell: &Cell) -> UplinkAccess {
    let slots = |time| slots(cell, time);
    match &cell.uplink {
        format::Uplink::SchedulingRequest(u) => UplinkAccess::SchedulingRequest {
            period: slots(u.scheduling_request_period),
            processing: slots(u.processing),
            initial_grant: u.initial_grant.0,
        },
        format::Uplink::Polled(u) => UplinkAccess::Polled {
            interval: slots(u.interval),
            initial_grant: u.initial_grant.0,
            polls: u.polls,
            processing: slots(u.processing),
        },
        format::Uplink::ConfiguredGrant(u) => UplinkAccess::ConfiguredGrant {
            period: slots(u.period),
            offset: slots(u.offset),
            size: u.size.0,
            mcs: Mcs::new(u.mcs),
        },
        format::Uplink::IdealBufferStatus(u) => {
            UplinkAccess::IdealBufferStatus { delay: slots(u.report_delay) }
        }
    }
}

/// Power headroom reports: from the format to `airlane_ran`.
fn headroom(cell: &Cell) -> Option<HeadroomReports> {
    let format::PowerHeadroom::Report(report) = &cell.mac.power_headroom else { return None };
    let layout = match cell.radio {
        Some(format::Radio::Nr(_)) => HeadroomLayout::Nr,
        Some(format::Radio::Lte) | None => HeadroomLayout::Lte,
    };
    Some(HeadroomReports {
        layout,
        periodic: report.phr_periodic_timer.milliseconds().map(Duration::from_millis),
        prohibit: Duration::from_millis(report.phr_prohibit_timer.milliseconds()),
        path_loss_change: report.dl_pathloss_change.decibels().map(Decibel),
    })
}

fn mac(cell: &Cell) -> MacConfig {
    let mac = &cell.mac;
    let timing = timing(cell);
    let slots = |time| slots(cell, time);
    MacConfig {
        cqi_period: slots(mac.cqi_period),
        cqi_delay: slots(mac.cqi_delay),
        cqi_report: match mac.cqi_report {
            format::CqiReport::Subband => CqiReport::Subband,
            format::CqiReport::Wideband => CqiReport::Wideband,
        },
        rank: match mac.rank {
            format::Rank::Full => RankRule::Full,
            format::Rank::Adaptive => RankRule::Adaptive,
        },
        amc: amc(mac.amc),
        cqi_reference: match mac.cqi_reference {
            format::CqiReference::PdschInterference => CqiReference::PdschInterference,
            format::CqiReference::ControlRegion => CqiReference::ControlRegion,
        },
        mcs_rule: match &mac.mcs_rule {
            format::McsRule::WorstSubband => McsRule::WorstSubband,
            format::McsRule::Effective(rule) => McsRule::Effective { target_bler: rule.target_bler.0 },
        },
        cqi_to_mcs: cqi_to_mcs(mac.cqi_to_mcs),
        out_of_range: match mac.out_of_range {
            format::OutOfRange::Unscheduled => OutOfRange::Unscheduled,
            format::OutOfRange::LowestMcs => OutOfRange::LowestMcs,
        },
        harq: cell.harq,
        harq_max_transmissions: mac.harq_transmissions,
        harq_round_trip: timing.harq_round_trip,
        uplink_round_trip: timing.uplink_round_trip,
        downlink_latency: timing.downlink_latency,
        assigned_ahead: timing.assigned_ahead,
        grant_to_pusch: timing.grant_to_pusch,
        control_errors: cell.control_errors,
        subheaders: mac.subheaders,
        blank_subframes: mac.blank_subframes.iter().fold(0, |set, subframe| set | 1 << subframe),
        idle_partial_rbg: mac.idle_partial_rbg,
        uplink: UplinkConfig {
            access: access(cell),
            pucch_resource_blocks: mac.pucch_resource_blocks,
            grants_per_slot: mac.grants_per_slot,
            amc: amc(mac.uplink_amc),
            sounding_period: slots(mac.sounding_period),
            power_control: match &mac.power_control {
                format::PowerControl::None => None,
                format::PowerControl::OpenLoop(loop_) => {
                    Some(PowerControl { p0: loop_.p0.0 + nr::power_of_prb(cell), alpha: loop_.alpha.0 })
                }
            },
            headroom: headroom(cell),
        },
    }
}

/// The path-loss model: from the format to `airlane_ran`.
pub(crate) fn path_loss(path_loss: &format::PathLoss) -> PathLossModel {
    match path_loss {
        format::PathLoss::Friis => PathLossModel::Friis,
        format::PathLoss::LogDistance(law) => PathLossModel::LogDistance {
            exponent: law.exponent,
            reference_m: law.reference_distance.0,
            reference_loss: Decibel(law.reference_loss.0.0),
        },
        format::PathLoss::Cost231Hata(law) => PathLossModel::Cost231Hata {
            city: match law.city {
                format::City::Suburban => City::Suburban,
                format::City::Metropolitan => City::Metropolitan,
            },
        },
        format::PathLoss::Tr25814 => PathLossModel::Macro25814,
        format::PathLoss::Tr36814(law) => PathLossModel::Macro36814 {
            surroundings: Surroundings {
                scene: match law.scene {
                    format::Scene::Uma => Scene::UrbanMacro,
                    format::Scene::Umi => Scene::UrbanMicro,
                    format::Scene::Rma => Scene::RuralMacro,
                },
                street_width_m: law.street_width.0,
                building_height_m: law.building_height.0,
            },
        },
        format::PathLoss::Tr36873(law) => PathLossModel::LargeScale {
            report: ChannelReport::Tr36873,
            scenario: match law.scene {
                format::UrbanScene::Uma => ChannelScenario::UrbanMacro,
                format::UrbanScene::Umi => ChannelScenario::UrbanMicro,
            },
            optional_nlos: false,
        },
        format::PathLoss::Tr38901(law) => PathLossModel::LargeScale {
            report: ChannelReport::Tr38901,
            scenario: match law.scene {
                format::ChannelScene::Uma => ChannelScenario::UrbanMacro,
                format::ChannelScene::Umi => ChannelScenario::UrbanMicro,
                format::ChannelScene::Rma => ChannelScenario::RuralMacro,
                format::ChannelScene::InhMixed => ChannelScenario::MixedOffice,
                format::ChannelScene::InhOpen => ChannelScenario::OpenOffice,
            },
            optional_nlos: law.optional_nlos,
        },
    }
}

fn link_rules(channel: &Channel) -> LinkRules {
    let random = match &channel.path_loss {
        format::PathLoss::Tr36873(law) => law.random_environment_height,
        format::PathLoss::Tr38901(law) => law.random_environment_height,
        format::PathLoss::Friis
        | format::PathLoss::LogDistance(_)
        | format::PathLoss::Cost231Hata(_)
        | format::PathLoss::Tr25814
        | format::PathLoss::Tr36814(_) => None,
    };
    let wrap_around = channel.wrap_around.as_ref().map(|wrap| {
        // As the sites of a layout: the first neighbour is in the direction of the first coordinate.
        let apart_m = wrap.inter_site_distance.0;
        let axes = [[apart_m, 0.0], [apart_m / 2.0, apart_m * 3.0_f64.sqrt() / 2.0]];
        WrapAround::hexagonal(wrap.centre.map(|at| at.0), axes, wrap.rings)
    });
    LinkRules {
        wrap_around,
        minimum_coupling_loss: channel.minimum_coupling_loss.map(|loss| loss.0),
        spatial_consistency: channel.spatial_consistency.unwrap_or(false),
        random_environment_height: random.unwrap_or(false),
    }
}

fn building(building: &format::Building) -> BuildingLaw {
    BuildingLaw {
        indoor: building.indoor.0,
        low_loss: match building.walls {
            format::Walls::Tr38901 => Some(building.low_loss.0),
            format::Walls::Tr36873 => None,
        },
        depth_m: building.depth.0,
        storeys: building.storeys,
        storey_m: building.storey_height.0,
    }
}

fn shadowing(shadowing: &format::Shadowing) -> Option<ShadowingConfig> {
    match shadowing {
        format::Shadowing::None => None,
        format::Shadowing::LogNormal(law) => Some(ShadowingConfig {
            deviation: law.deviation.map(|gain| gain.0),
            correlation_m: law.correlation_distance.map(|length| length.0),
            site_correlation: law.site_correlation.0,
        }),
    }
}

/// Whether the paths of a fading model include a line of sight.
const fn sight(fading: &format::Fading) -> LineOfSight {
    match fading {
        format::Fading::TdlD(_) | format::Fading::TdlE(_) => LineOfSight::Tdl,
        format::Fading::None
        | format::Fading::Flat(_)
        | format::Fading::Epa(_)
        | format::Fading::Eva(_)
        | format::Fading::Etu(_)
        | format::Fading::TdlA(_)
        | format::Fading::TdlB(_)
        | format::Fading::TdlC(_) => LineOfSight::None,
    }
}

fn fading(fading: &format::Fading) -> Option<FadingConfig> {
    let older = |profile, multipath: &format::Multipath| (profile, multipath.prb_spacing);
    let newer = |line, set: &format::TappedDelayLine| (Profile::Tdl(line, set.delay_spread.0), None);
    let (profile, prb_spacing) = match fading {
        format::Fading::None => return None,
        format::Fading::Flat(set) => older(Profile::Flat, set),
        format::Fading::Epa(set) => older(Profile::Epa, set),
        format::Fading::Eva(set) => older(Profile::Eva, set),
        format::Fading::Etu(set) => older(Profile::Etu, set),
        format::Fading::TdlA(set) => newer(DelayLine::A, set),
        format::Fading::TdlB(set) => newer(DelayLine::B, set),
        format::Fading::TdlC(set) => newer(DelayLine::C, set),
        format::Fading::TdlD(set) => newer(DelayLine::D, set),
        format::Fading::TdlE(set) => newer(DelayLine::E, set),
    };
    Some(FadingConfig {
        profile,
        speed_mps: fading.speed()?.metres_per_second(),
        prb_spacing_hz: prb_spacing.map(|spacing| spacing.0),
    })
}

/// Blockage; `None` if no blocker crosses.
fn blockage(blockage: &format::Blockage) -> Option<BlockageLaw> {
    let format::Blockage::Screens(set) = blockage else { return None };
    let kind = |screen, interval: Time, speed: Speed, [near, far]: [Metres; 2]| {
        (interval.0 > Duration::ZERO).then(|| Crossings {
            screen,
            interval: interval.0,
            speed_m_s: speed.metres_per_second(),
            distance_m: (near.0, far.0),
        })
    };
    let people = kind(Screen::HUMAN, set.people_interval, set.people_speed, set.people_distance);
    let vehicles = kind(Screen::VEHICLE, set.vehicle_interval, set.vehicle_speed, set.vehicle_distance);
    let crossings: Vec<_> = people.into_iter().chain(vehicles).collect();
    (!crossings.is_empty()).then(|| BlockageLaw { crossings, direct: set.direct_power.0.linear() })
}

/// Bursts; `None` if their depth is zero.
fn bursts(bursts: &format::Bursts, direction: Direction) -> Option<BurstLaw> {
    match bursts {
        format::Bursts::None => None,
        format::Bursts::GilbertElliott(law) => {
            let depth = match direction {
                Direction::Downlink => law.depth.0,
                Direction::Uplink => law.uplink_depth.0,
            };
            (depth.0 > 0.0).then_some(BurstLaw { good: law.good.0, bad: law.bad.0, depth })
        }
    }
}

/// A UE, with its path if a file describes its movement.
fn ue(ue: &Ue, path: Option<&MovementPath>, scenario: &Resolved) -> UeConfig {
    let home = &scenario.cell[home_cell(ue, scenario)];
    let disc = |centre: Option<[Metres; 2]>, radius: Metres| Disc {
        centre: position(centre.unwrap_or(home.position), ue.height),
        radius_m: radius.0,
    };
    UeConfig {
        cell: ue.cell.as_ref().map(|_| CellId(home_cell(ue, scenario) as u32)),
        start: match (path, &ue.position, &ue.placement) {
            (Some(path), ..) => Start::At(path.start(ue.height.0)),
            (None, Some(point), _) => Start::At(position(*point, ue.height)),
            (None, None, Some(format::Placement::Disc(d))) => {
                let placement = match d.uniform {
                    format::Uniform::Area => Placement::UniformInArea,
                    format::Uniform::Distance => Placement::UniformInDistance,
                };
                Start::Within(placement, disc(d.centre, d.radius))
            }
            (None, None, Some(format::Placement::Hexagonal(hexagons))) => Start::AroundSites {
                inter_site_distance_m: hexagons.inter_site_distance.0,
                height_m: ue.height.0,
                least_m: hexagons.minimum_distance.map_or(0.0, |least| least.0),
            },
            (None, None, None) => unreachable!("checked when the scenario was resolved"),
        },
        movement: match &ue.mobility {
            format::Mobility::Static => Movement::Static,
            format::Mobility::Line(line) => Movement::Line(course(line, ue.height), speed_law(line)),
            format::Mobility::RandomWaypoint(walk) => Movement::RandomWaypoint(WaypointLaw {
                area: match &walk.area {
                    format::Area::Disc(area) => Area::Disc(disc(area.centre, area.radius)),
                    format::Area::Rectangle(area) => {
                        Area::Rectangle(area.from.map(|m| m.0), area.to.map(|m| m.0))
                    }
                },
                speed_mps: [walk.speed.min, walk.speed.max].map(Speed::metres_per_second),
                pause: [walk.pause.min.0, walk.pause.max.0],
            }),
            format::Mobility::RandomWalk(walk) => Movement::RandomWalk(WalkLaw {
                corners_m: [walk.area.from, walk.area.to].map(|corner| corner.map(|m| m.0)),
                speed_mps: [walk.speed.min, walk.speed.max].map(Speed::metres_per_second),
                step: match &walk.step {
                    format::Step::Distance(step) => Step::Distance(step.length.0),
                    format::Step::Time(step) => Step::Time(step.duration.0),
                },
            }),
            format::Mobility::Trace(_) => {
                Movement::Path(path.expect("read for every UE that needs one").clone())
            }
            format::Mobility::LevyWalk(walk) => {
                Movement::LevyWalk(levy_law(walk), disc(walk.centre, walk.radius))
            }
        },
        tx_power: ue.tx_power.0,
        noise_figure: ue.noise_figure.0,
        penetration_loss: ue.penetration_loss.0,
        building: ue.building.as_ref().map(building),
        bearer_set_up: ue.bearer_setup.map(|at| Instant::ZERO + at.0),
        fixed_mcs: ue.fixed_mcs.map(Mcs::new),
    }
}

fn course(line: &format::Line, height: Metres) -> Course {
    match (line.heading, line.towards) {
        (Some(heading), _) => Course::Heading(heading.0),
        (None, Some(point)) => Course::Through(position(point, height)),
        (None, None) => unreachable!("checked when the scenario was resolved"),
    }
}

fn speed_law(line: &format::Line) -> SpeedLaw {
    let mean_mps = line.speed.metres_per_second();
    let deviation = line.speed_deviation.or(line.speed_variance.map(|v| Speed(v.0.sqrt())));
    match deviation.map(Speed::metres_per_second) {
        None | Some(0.0) => SpeedLaw::Constant(mean_mps),
        Some(deviation_mps) => SpeedLaw::Normal { mean_mps, deviation_mps },
    }
}

fn levy_law(walk: &format::LevyWalk) -> LevyLaw {
    let (flight, pause) = (&walk.flight, &walk.pause);
    let [scale, min, max] = [pause.scale, pause.min, pause.max].map(|time| time.0.as_secs_f64());
    LevyLaw {
        flight_m: PowerLaw {
            exponent: flight.exponent,
            scale: flight.scale.0,
            min: flight.min.0,
            max: flight.max.0,
        },
        pause_s: PowerLaw { exponent: pause.exponent, scale, min, max },
    }
}

/// RLC and PDCP of NR, with the headers of SDAP that a default bearer has.
fn layer_2(rlc: NrRlc, (reordering, out_of_order): (Time, bool)) -> RlcConfig {
    let reordering = ReorderingConfig { t_reordering: Some(reordering.0), out_of_order };
    RlcConfig::Nr(NrConfig { rlc, reordering, sdap: SdapHeaders::DEFAULT })
}

fn bearer(cell: &Cell) -> BearerConfig {
    let pdcp = PdcpConfig {
        sn_bits: cell.pdcp.sn_bits,
        discard: cell.pdcp.discard_timer.map(|t| t.0),
        retransmission_queue: cell.pdcp.retransmission_queue.map(|limit| RetransmissionQueue {
            limit: limit.0,
            shares_buffer: cell.pdcp.shares_buffer,
            holds_waiting: cell.pdcp.holds_waiting,
        }),
        status_report: true,
    };
    let (buffer, aqm) = cell.rlc.queue();
    let (buffer, aqm) = (buffer.0, aqm.discipline());
    let rlc = match &cell.rlc {
        Rlc::Tm(_) => RlcConfig::Tm,
        Rlc::Um(um) => RlcConfig::Um(rlc::UmConfig { sn_bits: um.sn_bits, t_reordering: um.reordering.0 }),
        Rlc::Am(am) => RlcConfig::Am(rlc::AmConfig {
            sn_bits: am.sn_bits,
            t_poll_retransmit: am.poll_retransmit.0,
            t_reordering: am.reordering.0,
            t_status_prohibit: am.status_prohibit.0,
            poll_pdu: am.poll_pdu,
            poll_byte: am.poll_byte.map(|size| size.0),
            max_retx: am.max_retransmissions,
            status_alone: am.status_alone,
        }),
        Rlc::NrAm(am) => layer_2(
            NrRlc::Am(rlc::nr::AmConfig {
                sn_bits: am.sn_bits,
                t_poll_retransmit: am.poll_retransmit.0,
                t_reassembly: am.reassembly.0,
                t_status_prohibit: am.status_prohibit.0,
                poll_pdu: am.poll_pdu,
                poll_byte: am.poll_byte.map(|size| size.0),
                max_retx: am.max_retransmissions,
            }),
            (am.reordering, am.out_of_order),
        ),
        Rlc::NrUm(um) => layer_2(
            NrRlc::Um(rlc::nr::UmConfig { sn_bits: um.sn_bits, t_reassembly: um.reassembly.0 }),
            (um.reordering, um.out_of_order),
        ),
    };
    BearerConfig { rlc, buffer, aqm, pdcp, pdu_overhead: Bytes::ZERO }
}

#[cfg(test)]
mod tests;
