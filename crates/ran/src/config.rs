//! The configuration of a radio network. Each value has its own name; presets such as `lena` and
//! `typical` are sets of them and belong to the scenario format.

use std::sync::Arc;

use airlane_core::{BitRate, Bytes, CellId, Dbm, Decibel, Duration, Instant, UeId};
use airlane_radio::blockage::BlockageLaw;
use airlane_radio::large_scale::{ChannelReport, ChannelScenario, LargeScale};
use airlane_radio::mobility::Disc;
use airlane_radio::path_loss::{City, Surroundings};
use airlane_radio::{
    AmcRule, Antenna, BurstLaw, CqiToMcs, LinkTables, Mcs, PathLoss, Placement, Position, Profile, Raster,
    TransmissionMode, WrapAround, noise,
};

use crate::bearer::BearerConfig;
use crate::bearers::L4sBearerConfig;
use crate::dual::SecondaryNodeConfig;
use crate::layers::Layers;
use crate::mac::scheduler::OwnScheduler;
use crate::numerology::{Numerology, SYMBOLS};
use crate::rrc::connection::ConnectionConfig;
use crate::rrc::handover::HandoverConfig;
use crate::rrc::measurement::MeasurementConfig;

/// Subframes of a frame, and their length (TS 36.211 §4.1, TS 38.211 §4.3.1).
const SUBFRAMES: u64 = 10;
const SUBFRAME: Duration = Duration::from_millis(1);

pub use crate::mac::bwp::{AnswerTimes, BandwidthParts, SwitchingDelay, timer_unit};
pub use crate::mac::drx::{DrxConfig, ShortCycle};
pub use crate::mac::gaps::GapConfig;
pub use crate::mac::requests::RequestLimit;
pub use crate::mac::scell::{ActivationDelay, ActivationPolicy, CarrierAggregation, SecondaryCells};
pub use crate::mac::throttle::{ThrottleBy, ThrottleConfig};

pub use airlane_radio::mobility::Movement;

/// A radio network: cells, UEs, the channel between them.
#[derive(Clone, Debug)]
pub struct RanConfig {
    /// The cells; their index is the [`CellId`].
    pub cells: Vec<CellConfig>,
    /// The UEs; their index is the [`UeId`].
    pub ues: Vec<UeConfig>,
    /// The UE of each flow; the index is the flow.
    pub flows: Vec<UeId>,
    /// Propagation.
    pub channel: ChannelConfig,
    /// Measurements of cells by UEs; `None` disables them at no cost.
    pub measurements: Option<MeasurementConfig>,
    /// Handover of UEs that measure; `None` disables it at no cost.
    pub handover: Option<HandoverConfig>,
}

/// Propagation between every cell and every UE.
#[derive(Clone, Debug)]
pub struct ChannelConfig {
    /// Path loss over distance.
    pub path_loss: PathLossModel,
    /// Log-normal shadowing, or none.
    pub shadowing: Option<ShadowingConfig>,
    /// Small-scale fading, or none.
    pub fading: Option<FadingConfig>,
    /// Bursts of interference at UEs, independent for each UE, or none.
    pub bursts: Option<BurstLaw>,
    /// Bursts of interference at eNBs, or none.
    pub uplink_bursts: Option<BurstLaw>,
    /// Blockage of the direct paths between UEs and sites, or none.
    pub blockage: Option<BlockageLaw>,
    /// Additional loss at the place of a UE, towards all cells, or none.
    pub clutter_loss_map: Option<Arc<Raster>>,
    /// Geometry and consistency of the links.
    pub links: LinkRules,
}

/// Rules of the links between sites and UEs that the path loss leaves open; by default, none applies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkRules {
    /// Geographical wrap-around: each UE sees the nearest copy of each site.
    pub wrap_around: Option<WrapAround>,
    /// The smallest loss between the antennas' connectors, antenna gains included, or none.
    pub minimum_coupling_loss: Option<Decibel>,
    /// Line of sight and shadowing are fields over the plane that all UEs share (TR 38.901 clause 7.6.3).
    pub spatial_consistency: bool,
    /// UMa of TR 38.901 and TR 36.873: the environment height is drawn for each link (Table 7.4.1-1, note 1).
    pub random_environment_height: bool,
    /// A UE has channels with so many cells of each carrier, those that it receives strongest where it starts; `None`
    /// for all. Other cells interfere with their mean power.
    pub strongest_cells: Option<usize>,
}

/// Buildings with UEs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BuildingLaw {
    /// Share of the UEs that are indoors.
    pub indoor: f64,
    /// Share of the buildings with low-loss walls, the others having high-loss ones (TR 38.901 clause 7.4.3.1);
    /// `None` for walls of 20 dB (TR 36.873 clause 7.2.3).
    pub low_loss: Option<f64>,
    /// Greatest distance from the wall to a UE in metres.
    pub depth_m: f64,
    /// Fewest and most storeys of a building; a UE is on any with the same probability.
    pub storeys: [u32; 2],
    /// Height of a storey in metres.
    pub storey_m: f64,
}

/// A path-loss model; the carrier comes from the cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathLossModel {
    /// Free space (Friis).
    Friis,
    /// `reference_loss + 10 * exponent * log10(d / reference_m)`.
    LogDistance {
        /// Path-loss exponent.
        exponent: f64,
        /// Reference distance in metres.
        reference_m: f64,
        /// Loss at the reference distance.
        reference_loss: Decibel,
    },
    /// COST-231 Hata.
    Cost231Hata {
        /// The density of buildings.
        city: City,
    },
    /// The macro cell of TR 25.814 at 2 GHz.
    Macro25814,
    /// A scene of TR 36.814, with and without line of sight.
    Macro36814 {
        /// The scene, and its buildings and streets.
        surroundings: Surroundings,
    },
    /// A scenario of TR 38.901 or TR 36.873, with and without line of sight.
    LargeScale {
        /// The report whose parameters apply.
        report: ChannelReport,
        /// The scenario.
        scenario: ChannelScenario,
        /// Without line of sight, the optional formula.
        optional_nlos: bool,
    },
}

impl PathLossModel {
    /// The law at this carrier.
    #[must_use]
    pub const fn at(self, carrier_hz: f64) -> PathLoss {
        match self {
            Self::Friis => PathLoss::Friis { frequency_hz: carrier_hz },
            Self::LogDistance { exponent, reference_m, reference_loss } => {
                PathLoss::LogDistance { exponent, reference_m, reference_loss }
            }
            Self::Cost231Hata { city } => PathLoss::Cost231Hata { frequency_hz: carrier_hz, city },
            Self::Macro25814 => PathLoss::Macro25814,
            Self::Macro36814 { surroundings } => {
                PathLoss::Macro36814 { frequency_hz: carrier_hz, surroundings }
            }
            Self::LargeScale { report, scenario, optional_nlos } => PathLoss::LargeScale(LargeScale {
                report,
                scenario,
                carrier_ghz: carrier_hz / 1e9,
                optional_nlos,
            }),
        }
    }
}

/// Log-normal shadowing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShadowingConfig {
    /// Standard deviation; `None` for that of the path-loss model, which must have one.
    pub deviation: Option<Decibel>,
    /// Distance in metres at which the correlation is 1/e; `None` for that of the path-loss model,
    /// which must have one.
    pub correlation_m: Option<f64>,
    /// Correlation between sites, 0 to 1. Cells at the same point are one site.
    pub site_correlation: f64,
}

/// Small-scale fading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FadingConfig {
    /// Delay profile.
    pub profile: Profile,
    /// Speed that determines the Doppler spread, in m/s.
    pub speed_mps: f64,
    /// Spacing of PRBs at which the profile is sampled, in Hz, for comparison with an external trace; `None` for
    /// the bandwidth of a PRB of the cell.
    pub prb_spacing_hz: Option<f64>,
}

/// One cell.
#[derive(Clone, Debug)]
pub struct CellConfig {
    /// Its slots, resource blocks and directions.
    pub numerology: Numerology,
    /// Its tables of link adaptation, and its channel code.
    pub tables: Arc<dyn LinkTables>,
    /// The position of its antenna.
    pub position: Position,
    /// The gain of its antenna in each direction, for transmission and reception.
    pub antenna: Antenna,
    /// Path loss to each place, in the place of that of the channel and of its shadowing; `None` for these.
    pub path_loss_map: Option<Arc<Raster>>,
    /// Downlink (and uplink) bandwidth in physical resource blocks: 6 to 110 in LTE, up to 275 in NR.
    pub resource_blocks: u16,
    /// Downlink power over the whole bandwidth.
    pub tx_power: Dbm,
    /// Noise figure of its receiver.
    pub noise_figure: Decibel,
    /// Downlink carrier in Hz.
    pub downlink_hz: f64,
    /// Uplink carrier in Hz.
    pub uplink_hz: f64,
    /// The scheduler policy.
    pub scheduler: SchedulerKind,
    /// Early throttling of served UEs when many bearers are set up; `None` disables it at no cost.
    pub early_throttling: Option<ThrottleConfig>,
    /// Discontinuous reception of its UEs; `None` if they listen all the time.
    pub drx: Option<DrxConfig>,
    /// Bandwidth parts of its UEs; `None` if all use the whole carrier. NR only, without configured grants.
    pub bandwidth_parts: Option<BandwidthParts>,
    /// How its UEs are released and connected again; `None` if they are always connected.
    pub connection: Option<Arc<ConnectionConfig>>,
    /// Whether the energy of its UEs is counted even if they do not sleep.
    pub meters_energy: bool,
    /// Downlink transmission mode.
    pub transmission_mode: TransmissionMode,
    /// The layers of a block of the downlink, with transmission mode 1; `None` for one antenna on each side.
    pub layers: Option<Layers>,
    /// The layers of a block of the uplink.
    pub uplink_layers: Option<Layers>,
    /// Timing and rules of the MAC.
    pub mac: MacConfig,
    /// The time that packets take before and after the air interface.
    pub processing: ProcessingTimes,
    /// The default radio bearer of UEs that start here.
    pub bearer: BearerConfig,
    /// A bearer of the same UEs for packets with ECT(1) or CE; without it, these use the default bearer.
    pub l4s_bearer: Option<L4sBearerConfig>,
    /// Maximum number of UEs, above which it refuses handovers; `None` for no limit.
    pub max_ues: Option<u32>,
    /// The cell serves no UE, and transmits on its whole bandwidth in each slot: interference from
    /// outside.
    pub interferer: bool,
    /// The neighbours that its UEs report; `None` for all other cells.
    pub neighbours: Option<Vec<CellId>>,
    /// Times when its radio is off, or when it hands UEs over to neighbours.
    pub service: Vec<ServiceChange>,
}

impl CellConfig {
    /// The byte limits of a UE's transmit queues in one direction together.
    #[must_use]
    pub fn buffers(&self) -> Bytes {
        self.bearer.buffer + self.l4s_bearer.as_ref().map_or(Bytes::ZERO, |l4s| l4s.bearer.buffer)
    }

    /// Whether a slot is in a subframe without downlink blocks ([`MacConfig::blank_subframes`]).
    #[must_use]
    pub fn is_blank(&self, slot: u64) -> bool {
        if self.mac.blank_subframes == 0 {
            return false;
        }
        let begins = self.numerology.start_of(slot);
        let subframe = begins.as_nanos() / SUBFRAME.as_nanos() % SUBFRAMES;
        self.mac.blank_subframes >> subframe & 1 == 1
    }

    /// The last slot before this one in which the cell can send PDSCH: the slot whose interference a report includes. A
    /// slot of the uplink is no reference resource (TS 38.214 §5.2.2.5), and UEs are configured not to measure in blank
    /// subframes (TS 36.331 §6.3.2, `csi-MeasSubframeSet`). Special slots count if they have data.
    #[must_use]
    pub(crate) fn data_slot_before(&self, slot: u64, special_slots: bool) -> u64 {
        let least = if special_slots { 1 } else { SYMBOLS };
        let first = slot.saturating_sub(self.slot_period());
        let carries =
            |slot: &u64| self.numerology.duplex.downlink_symbols(*slot) >= least && !self.is_blank(*slot);
        (first..slot).rev().find(carries).unwrap_or(slot.saturating_sub(1))
    }

    /// The number of slots after which directions and blank subframes repeat: each combination of subframe and direction
    /// occurs in as many frames as a pattern has slots.
    pub(crate) fn slot_period(&self) -> u64 {
        let period = self.numerology.duplex.period();
        match self.mac.blank_subframes {
            0 => period,
            _ => (SUBFRAME * SUBFRAMES).as_nanos() / self.numerology.slot.as_nanos() * period,
        }
    }

    /// Noise of a PRB at its receiver.
    #[must_use]
    pub fn prb_noise(&self) -> Dbm {
        noise::prb_noise(self.numerology.prb_bandwidth_hz(), self.noise_figure)
    }
}

/// The processing of packets by an eNB and by the UEs that it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessingTimes {
    /// From the arrival of a packet at the eNB until it can be in a block.
    pub enb_transmit: Duration,
    /// From the end of a block until the UE passes its packets on.
    pub ue_receive: Duration,
    /// From the arrival of a packet at the UE until it can be in a block.
    pub ue_transmit: Duration,
    /// From the end of a block until the eNB passes its packets on.
    pub enb_receive: Duration,
}

impl ProcessingTimes {
    /// Packets are processed in no time.
    pub const NONE: Self = Self {
        enb_transmit: Duration::ZERO,
        ue_receive: Duration::ZERO,
        ue_transmit: Duration::ZERO,
        enb_receive: Duration::ZERO,
    };
}

/// A period in which a cell does not serve as usual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceChange {
    /// Its start.
    pub at: Instant,
    /// Its duration.
    pub duration: Duration,
    /// Its kind.
    pub kind: ServiceKind,
}

/// The kind of such a period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServiceKind {
    /// Its radio neither sends nor receives. The eNB keeps running: contexts of UEs, X2 and S1.
    Outage,
    /// At the start it hands UEs over to their best neighbours; until the end no UE reports it.
    Shed(ShedAmount),
}

/// The number of UEs that a cell hands over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShedAmount {
    /// This many, or all if it has fewer.
    Number(u32),
    /// This share of its served UEs, 0 to 1, rounded to the nearest number.
    Share(f64),
}

/// A downlink scheduler policy.
#[derive(Clone, Debug, PartialEq)]
pub enum SchedulerKind {
    /// Proportional fair with an averaging window in slots.
    ProportionalFair {
        /// Averaging window in slots (ns-3: 99).
        window: u32,
    },
    /// Round robin: the slot's RBGs are assigned in turn.
    RoundRobin,
    /// Maximum throughput: the UE with the best channel.
    MaximumThroughput {
        /// By RBG, or all RBGs of a slot to one UE.
        domain: SchedulerDomain,
    },
    /// Blind equal throughput: the UE with the lowest past throughput.
    BlindEqualThroughput {
        /// By RBG, or all RBGs of a slot to one UE.
        domain: SchedulerDomain,
        /// Averaging window in slots (ns-3: 99).
        window: u32,
    },
    /// Throughput to average: the UE whose RBG is best relative to the rest of its band.
    ThroughputToAverage,
    /// Priority set: a target bit rate first, then the channel.
    PrioritySet(PrioritySetConfig),
    /// QoS: guaranteed bit rates first, then weighted delays.
    Qos {
        /// Averaging window in slots.
        window: u32,
    },
    /// A policy from outside this crate.
    Own(OwnScheduler),
}

/// The domain in which a policy divides a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerDomain {
    /// Each RBG separately.
    Frequency,
    /// One UE after the other, each as many RBGs as it needs.
    Time,
}

/// Settings of the priority set scheduler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrioritySetConfig {
    /// Averaging window in slots (ns-3: 99).
    pub window: u32,
    /// Target rate of each UE, including headers below PDCP.
    pub target: BitRate,
    /// Number of UEs that enter the frequency domain in a slot; 0 for half of those with data.
    pub multiplexed: u16,
    /// The metric in the frequency domain.
    pub metric: FrequencyMetric,
}

/// How the priority set scheduler ranks UEs on an RBG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrequencyMetric {
    /// Proportional fair, by the throughput of the slots in which the UE was a candidate.
    ProportionalFairScheduled,
    /// The RBG's channel relative to the mean of the band.
    CarrierToAverage,
}

/// How the MCS of a transport block is derived from the sub-band CQIs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum McsRule {
    /// From the worst sub-band of the allocation, as in ns-3.
    WorstSubband,
    /// From the mean efficiency of the allocated sub-bands, corrected by an outer loop that
    /// controls the error rate of first transmissions to the target, in both directions.
    Effective {
        /// Target error rate of first transmissions, such as 0.1.
        target_bler: f64,
    },
}

/// The interference of other cells that a CQI includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CqiReference {
    /// That of the other cells' data region in the slot before, per PRB.
    PdschInterference,
    /// That of the control region, in which the other cells always transmit.
    ControlRegion,
}

/// The number of layers for a UE of transmission mode 3 (TS 36.213 §7.1.3), or of a cell with several antennas
/// (TS 38.214 §5.2.1.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankRule {
    /// All layers.
    Full,
    /// The number that carries most, from the UE's rank indicator.
    Adaptive,
}

/// The treatment of a UE whose reports are 0, "out of range": CQI 1 would have too many errors (TS 36.213
/// §7.2.3, TS 38.214 §5.2.2.1). The standards leave that to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfRange {
    /// No assignment.
    Unscheduled,
    /// The lowest MCS, as long as the transmissions of HARQ together are enough for it more often than not.
    LowestMcs,
}

/// The resolution of a CQI report (TS 36.213 §7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CqiReport {
    /// One CQI for each resource block group.
    Subband,
    /// One CQI for the whole band.
    Wideband,
}

/// Timing and rules of the MAC and of link adaptation. Times are in slots of the cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MacConfig {
    /// Period of a UE's measurements and reports of sub-band CQI.
    pub cqi_period: u32,
    /// Time from the measurement until the scheduler can use it.
    pub cqi_delay: u32,
    /// The resolution of a UE's report.
    pub cqi_report: CqiReport,
    /// The number of layers, if there may be more than one.
    pub rank: RankRule,
    /// How CQIs are derived from SINRs.
    pub amc: AmcRule,
    /// The interference that a CQI includes.
    pub cqi_reference: CqiReference,
    /// MCS selection.
    pub mcs_rule: McsRule,
    /// The mapping from CQI to downlink MCS.
    pub cqi_to_mcs: CqiToMcs,
    /// The downlink of UEs that are out of range.
    pub out_of_range: OutOfRange,
    /// Hybrid ARQ; without it, the MAC loses an undecodable block.
    pub harq: bool,
    /// Maximum number of HARQ transmissions of a block, including the first.
    pub harq_max_transmissions: u8,
    /// Time from the scheduling of a downlink transmission to that of its retransmission.
    pub harq_round_trip: u32,
    /// Time from an uplink transmission to its retransmission.
    pub uplink_round_trip: u32,
    /// Time from a downlink scheduling decision until the block has been received.
    pub downlink_latency: u32,
    /// The assignment of a downlink block is sent in the slot of the decision (k0 of TS 38.214 §5.1.2.1), so that this
    /// is a slot with a downlink. Otherwise it is sent with the block.
    pub assigned_ahead: bool,
    /// Time from an uplink grant's decision until the UE starts to send (TS 36.213 §8.0: 4).
    pub grant_to_pusch: u32,
    /// Subframes of a frame without downlink blocks: bit 0 is subframe 0.
    pub blank_subframes: u16,
    /// The last resource block group of the downlink stays idle if it is smaller than the others (TS 36.213
    /// §7.1.6.1), as in ns-3.
    pub idle_partial_rbg: bool,
    /// PCFICH and PDCCH can be missed: an assignment or a grant is then lost.
    pub control_errors: bool,
    /// MAC subheaders (TS 36.321 §6.1.2) take bytes of the block; ns-3 omits them.
    pub subheaders: bool,
    /// Uplink access.
    pub uplink: UplinkConfig,
}

/// The uplink: how a UE gets access.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UplinkConfig {
    /// How the eNB learns that a UE has data.
    pub access: UplinkAccess,
    /// Physical resource blocks reserved for PUCCH, both edges together.
    pub pucch_resource_blocks: u16,
    /// Maximum number of new grants in a slot: the capacity of PDCCH.
    pub grants_per_slot: u16,
    /// How the MCS is derived from the sounded SINRs.
    pub amc: AmcRule,
    /// Period in slots at which the MCS is chosen from a new sounding of the uplink.
    pub sounding_period: u32,
    /// Open-loop power control; without it, the PRBs of a UE have the power that full power over
    /// the whole band would give them.
    pub power_control: Option<PowerControl>,
    /// Power headroom reports; with them, grants follow the power of each UE. Without them, the cell knows of no limit
    /// of a UE's power, as in ns-3.
    pub headroom: Option<HeadroomReports>,
}

/// Power headroom reports (TS 36.321 §5.4.6, TS 38.321 §5.4.6). UEs without power control have no headroom and send none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadroomReports {
    /// Their size and their levels.
    pub layout: HeadroomLayout,
    /// Time from a report until the next one is due; `None` for infinity.
    pub periodic: Option<Duration>,
    /// Time from a report during which a change of the path loss triggers none.
    pub prohibit: Duration,
    /// The change of the path loss since the last report above which the next one is due; `None` for infinity.
    pub path_loss_change: Option<Decibel>,
}

/// The layout of a power headroom report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadroomLayout {
    /// One octet (TS 36.321 §6.1.3.6), levels of TS 36.133 §9.1.8.4.
    Lte,
    /// Single entry: two octets (TS 38.321 §6.1.3.8), levels of TS 38.133 table 10.1.17.1-1.
    Nr,
}

/// Open-loop power control of PUSCH (TS 36.213 §5.1.1.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerControl {
    /// Power of a PRB without path loss: nominal P0 plus the UE's own.
    pub p0: Dbm,
    /// Share of the path loss that is compensated, 0 to 1.
    pub alpha: f64,
}

/// How the eNB learns that a UE has uplink data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UplinkAccess {
    /// Scheduling requests on PUCCH, then buffer status with each PUSCH (TS 36.321 §5.4.4, §5.4.5).
    SchedulingRequest {
        /// Period of a UE's SR opportunity in slots (TS 36.213 §10.1.5: 5, 10, 20, 40, 80).
        period: u32,
        /// Time from the request until the grant that answers it is decided.
        processing: u32,
        /// Size of the grant that answers a request.
        initial_grant: Bytes,
        /// When a UE gives up and begins random access; `None` for never. Only with
        /// [connections](CellConfig::connection), which have the settings of random access.
        limit: Option<RequestLimit>,
    },
    /// No scheduling requests: the eNB grants a block to a UE that has been silent, and acts on buffer status
    /// reports after it has received several.
    Polled {
        /// Time from a PUSCH to that of an unrequested grant, in slots.
        interval: u32,
        /// Size of that grant.
        initial_grant: Bytes,
        /// Number of such grants in a row that it takes until reports are used.
        polls: u32,
        /// Time from the last of them until the grant that answers it is decided, in slots.
        processing: u32,
    },
    /// Configured grants of type 1: each UE may send a block at regular times (TS 38.321 §5.8.2). Asynchronous HARQ
    /// only.
    ConfiguredGrant {
        /// Time between the occasions of a UE, in slots.
        period: u32,
        /// Time of the first occasion of UE 0, in slots.
        offset: u32,
        /// Least size of a block.
        size: Bytes,
        /// Its modulation and coding scheme.
        mcs: Mcs,
    },
    /// Buffer status reaches the eNB out of band, without a grant, as in ns-3.
    IdealBufferStatus {
        /// Delay of a report in slots.
        delay: u32,
    },
}

/// The position of a UE at the start of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// At this point.
    At(Position),
    /// In a disc, drawn for each seed.
    Within(Placement, Disc),
    /// In the hexagons around the sites of the cells, drawn for each seed.
    AroundSites {
        /// Distance between sites.
        inter_site_distance_m: f64,
        /// Height of the UE.
        height_m: f64,
        /// Smallest distance from the site along the ground, without the part in a building.
        least_m: f64,
    },
}

/// One UE.
#[derive(Clone, Debug)]
pub struct UeConfig {
    /// The cell that serves it at the start; `None` for the one with the best reception there,
    /// without fading.
    pub cell: Option<CellId>,
    /// Its start position.
    pub start: Start,
    /// Its movement.
    pub movement: Movement,
    /// Its maximum transmit power.
    pub tx_power: Dbm,
    /// Noise figure of its receiver.
    pub noise_figure: Decibel,
    /// Penetration loss of the walls around it, in both directions.
    pub penetration_loss: Decibel,
    /// The buildings it may be in; `None` for a UE that is outdoors but for its penetration loss.
    pub building: Option<BuildingLaw>,
    /// When its bearer is set up: with its first packet, if that is earlier or this is `None`. Used
    /// only by [`CellConfig::early_throttling`].
    pub bearer_set_up: Option<Instant>,
    /// MCS of its downlink blocks, independent of its reports; `None` for link adaptation.
    pub fixed_mcs: Option<Mcs>,
    /// Aggregate maximum bit rate of its bearers without guaranteed bit rate, downlink and uplink; `None` for no limit.
    pub aggregate_rates: [Option<BitRate>; 2],
    /// The carriers besides that of `cell`, which is then the primary cell; `None` for a UE with one carrier.
    pub aggregation: Option<CarrierAggregation>,
    /// Its secondary node; `None` for a UE with one node. The cell that serves it at the start is then one of its masters.
    pub secondary_node: Option<SecondaryNodeConfig>,
    /// Its measurement gaps while it is connected; `None` for a UE that measures without gaps.
    pub measurement_gaps: Option<GapConfig>,
}
