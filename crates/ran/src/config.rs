//! What a radio network is made of. Each value has a name of its own; presets such as `lena`
//! and `typical` are sets of them and live with the scenario format.

use airlane_core::{BitRate, Bytes, CellId, Dbm, Decibel, Duration, Instant, UeId};
use airlane_radio::mobility::Disc;
use airlane_radio::path_loss::{City, Surroundings};
use airlane_radio::{
    AmcRule, Antenna, BurstLaw, CqiToMcs, Mcs, PathLoss, Placement, Position, Profile, TransmissionMode,
};

use crate::bearer::BearerConfig;
use crate::rrc::handover::HandoverConfig;
use crate::rrc::measurement::MeasurementConfig;

pub use crate::mac::throttle::{ThrottleBy, ThrottleConfig};

pub use airlane_radio::mobility::Movement;

/// A radio network: cells, UEs, the channel between them.
#[derive(Clone, Debug)]
pub struct RanConfig {
    /// The cells; their index is the [`CellId`].
    pub cells: Vec<CellConfig>,
    /// The UEs; their index is the [`UeId`].
    pub ues: Vec<UeConfig>,
    /// To which UE each flow belongs; the index is the flow.
    pub flows: Vec<UeId>,
    /// Propagation.
    pub channel: ChannelConfig,
    /// What UEs measure of the cells; nothing, and at no cost, without.
    pub measurements: Option<MeasurementConfig>,
    /// How UEs that measure are handed over; not at all, and at no cost, without.
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
    /// Bursts of interference that UEs hear, each its own, or none.
    pub bursts: Option<BurstLaw>,
    /// The same that eNBs hear.
    pub uplink_bursts: Option<BurstLaw>,
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
        /// How densely it is built up.
        city: City,
    },
    /// The macro cell of TR 25.814 at 2 GHz.
    Macro25814,
    /// A scene of TR 36.814, with and without line of sight.
    Macro36814 {
        /// Which, and what stands there.
        surroundings: Surroundings,
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
        }
    }
}

/// Log-normal shadowing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShadowingConfig {
    /// Standard deviation; `None` for that of the path-loss model, which must have one.
    pub deviation: Option<Decibel>,
    /// Distance in metres at which the correlation has fallen to 1/e; `None` for that of the
    /// path-loss model, which must have one.
    pub correlation_m: Option<f64>,
    /// Correlation between sites, 0 to 1. Cells that stand at one point are one site.
    pub site_correlation: f64,
}

/// Small-scale fading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FadingConfig {
    /// Delay profile.
    pub profile: Profile,
    /// Speed that makes the Doppler spread, in m/s.
    pub speed_mps: f64,
    /// Distance between neighbouring PRBs at which the profile is sampled, in Hz: 180 kHz, or
    /// what somebody else's trace was made with.
    pub prb_spacing_hz: f64,
}

/// One cell.
#[derive(Clone, Debug)]
pub struct CellConfig {
    /// Where its antenna stands.
    pub position: Position,
    /// What its antenna gains in each direction, both ways.
    pub antenna: Antenna,
    /// Downlink (and uplink) bandwidth in physical resource blocks, 6 to 110.
    pub resource_blocks: u16,
    /// Downlink power over the whole bandwidth.
    pub tx_power: Dbm,
    /// Noise figure of its receiver.
    pub noise_figure: Decibel,
    /// Downlink carrier in Hz.
    pub downlink_hz: f64,
    /// Uplink carrier in Hz.
    pub uplink_hz: f64,
    /// Who is served.
    pub scheduler: SchedulerKind,
    /// What happens to those served when many bearers are set up; nothing, and at no cost, without.
    pub early_throttling: Option<ThrottleConfig>,
    /// Downlink transmission mode.
    pub transmission_mode: TransmissionMode,
    /// Timing and rules of the MAC.
    pub mac: MacConfig,
    /// The default radio bearer of UEs that start here.
    pub bearer: BearerConfig,
    /// UEs that may be in it before it refuses those that are handed over; `None` for any number.
    pub max_ues: Option<u32>,
    /// It serves nobody, and sends on all of its bandwidth in each slot: interference from outside.
    pub interferer: bool,
    /// The cells that UEs which it serves report; `None` for all others.
    pub neighbours: Option<Vec<CellId>>,
    /// When its radio is off, and when it hands UEs over to others.
    pub service: Vec<ServiceChange>,
}

/// A time in which a cell does not serve as usual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceChange {
    /// From when on.
    pub at: Instant,
    /// For how long.
    pub duration: Duration,
    /// What happens.
    pub kind: ServiceKind,
}

/// What a cell does in such a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServiceKind {
    /// Its radio neither sends nor receives. The eNB behind it goes on: contexts of UEs, X2 and S1.
    Outage,
    /// At the begin it hands UEs over to their best neighbours; until the end nobody reports it.
    Shed(ShedAmount),
}

/// How many UEs a cell hands over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShedAmount {
    /// So many, or all if it has fewer.
    Number(u32),
    /// This share of those that it serves, 0 to 1, rounded to the nearest number.
    Share(f64),
}

/// A downlink scheduler policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SchedulerKind {
    /// Proportional fair with an averaging window in slots.
    ProportionalFair {
        /// Averaging window in slots (ns-3: 99).
        window: u32,
    },
    /// Round robin: the slot's RBGs are dealt out in turn.
    RoundRobin,
    /// Maximum throughput: whoever has the best channel.
    MaximumThroughput {
        /// RBG by RBG, or all RBGs of a slot to one UE.
        domain: Domain,
    },
    /// Blind equal throughput: whoever has had least.
    BlindEqualThroughput {
        /// RBG by RBG, or all RBGs of a slot to one UE.
        domain: Domain,
        /// Averaging window in slots (ns-3: 99).
        window: u32,
    },
    /// Throughput to average: whose RBG is best against the rest of its band.
    ThroughputToAverage,
    /// Priority set: a target bit rate first, then the channel.
    PrioritySet(PrioritySetConfig),
}

/// In which domain a policy shares a slot out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Each RBG for itself.
    Frequency,
    /// One UE after the other, each as many RBGs as it needs.
    Time,
}

/// Settings of the priority set scheduler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrioritySetConfig {
    /// Averaging window in slots (ns-3: 99).
    pub window: u32,
    /// Rate that each UE is to have, headers below PDCP included.
    pub target: BitRate,
    /// UEs that go on to the frequency domain in a slot; 0 for half of those that want to send.
    pub multiplexed: u16,
    /// How they are ranked there.
    pub metric: FrequencyMetric,
}

/// How the priority set scheduler ranks UEs on an RBG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrequencyMetric {
    /// Proportional fair, by the throughput of the slots in which the UE was a candidate.
    ProportionalFairScheduled,
    /// The RBG's channel over the band's mean.
    CarrierToAverage,
}

/// How the MCS of a transport block follows from the sub-band CQIs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum McsRule {
    /// The worst sub-band of those allocated decides, as in ns-3.
    WorstSubband,
    /// The mean efficiency of those allocated, corrected by an outer loop that steers the error
    /// rate of first transmissions to the target, in either direction.
    Effective {
        /// Target error rate of first transmissions, such as 0.1.
        target_bler: f64,
    },
}

/// Against which interference of other cells a CQI is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CqiReference {
    /// What the other cells sent in their data region in the slot before, PRB by PRB.
    PdschInterference,
    /// That of the control region, where the other cells always send.
    ControlRegion,
}

/// How many layers a UE of transmission mode 3 is sent (TS 36.213 §7.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankRule {
    /// All that the mode has.
    Full,
    /// As many as carry most, by the UE's rank indicator.
    Adaptive,
}

/// What a CQI report tells apart (TS 36.213 §7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CqiReport {
    /// One CQI for each resource block group.
    Subband,
    /// One CQI for the whole band.
    Wideband,
}

/// Timing and rules of the MAC and of link adaptation. Times are in slots of 1 ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MacConfig {
    /// A UE measures and reports sub-band CQI this often.
    pub cqi_period: u32,
    /// From the measurement until the scheduler can use it.
    pub cqi_delay: u32,
    /// What a UE's report tells apart.
    pub cqi_report: CqiReport,
    /// How many layers, where the transmission mode has more than one.
    pub rank: RankRule,
    /// How CQIs follow from SINRs.
    pub amc: AmcRule,
    /// Against which interference a CQI is measured.
    pub cqi_reference: CqiReference,
    /// MCS selection.
    pub mcs_rule: McsRule,
    /// The downlink MCS that a CQI stands for.
    pub cqi_to_mcs: CqiToMcs,
    /// Hybrid ARQ; without it an undecodable block is lost to the MAC.
    pub harq: bool,
    /// HARQ transmissions of a block at most, the first included.
    pub harq_max_transmissions: u8,
    /// From a transmission's scheduling to that of its retransmission.
    pub harq_round_trip: u32,
    /// From a downlink scheduling decision until the block has been received.
    pub downlink_latency: u32,
    /// From an uplink grant's decision until the UE starts to send (TS 36.213 §8.0: 4).
    pub grant_to_pusch: u32,
    /// Subframes of a frame in which no block of the downlink is sent: bit 0 is subframe 0.
    pub blank_subframes: u16,
    /// The last resource block group of the downlink stays idle where it is smaller than the others (TS 36.213
    /// §7.1.6.1), as in ns-3.
    pub idle_partial_rbg: bool,
    /// PCFICH and PDCCH can be missed: an assignment or a grant is then lost.
    pub control_errors: bool,
    /// MAC subheaders (TS 36.321 §6.1.2) take their bytes; ns-3 leaves them out.
    pub subheaders: bool,
    /// Uplink access.
    pub uplink: UplinkConfig,
}

/// The uplink: how a UE gets to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UplinkConfig {
    /// How the eNB learns that a UE has data.
    pub access: UplinkAccess,
    /// Physical resource blocks kept for PUCCH, both edges together.
    pub pucch_resource_blocks: u16,
    /// New grants in a slot at most: PDCCH has room for so many.
    pub grants_per_slot: u16,
    /// How the MCS follows from the sounded SINRs.
    pub amc: AmcRule,
    /// The MCS is chosen anew from a sounding of the uplink this often, in slots.
    pub sounding_period: u32,
    /// Open-loop power control; without it UEs send as if at full power over the whole band.
    pub power_control: Option<PowerControl>,
}

/// Open-loop power control of PUSCH (TS 36.213 §5.1.1.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerControl {
    /// Power of a PRB at no path loss: P0 nominal plus the UE's own.
    pub p0: Dbm,
    /// Share of the path loss that is made up for, 0 to 1.
    pub alpha: f64,
}

/// How the eNB learns that a UE has uplink data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UplinkAccess {
    /// Scheduling requests on PUCCH, then buffer status with each PUSCH (TS 36.321 §5.4.4, §5.4.5).
    SchedulingRequest {
        /// Period of a UE's SR opportunity in slots (TS 36.213 §10.1.5: 5, 10, 20, 40, 80).
        period: u32,
        /// From the request until the grant that answers it is decided.
        processing: u32,
        /// Size of the grant that answers a request.
        initial_grant: Bytes,
    },
    /// No scheduling requests: the eNB grants a block to a UE that has been silent, and serves what buffer status
    /// reports say once it has had several.
    Polled {
        /// From a PUSCH to the one of a grant that nobody asked for, in slots.
        interval: u32,
        /// Size of that grant.
        initial_grant: Bytes,
        /// Such grants in a row that it takes.
        polls: u32,
        /// From the last of them until the grant that answers it is decided, in slots.
        processing: u32,
    },
    /// Buffer status reaches the eNB out of band, without a grant, as in ns-3.
    IdealBufferStatus {
        /// Slots that a report takes.
        delay: u32,
    },
}

/// Where a UE is at the start of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// Here.
    At(Position),
    /// Somewhere in a disc, drawn anew for each seed.
    Within(Placement, Disc),
    /// Somewhere in the hexagons around the sites of the cells, drawn anew for each seed.
    AroundSites {
        /// From one site to the next.
        inter_site_distance_m: f64,
        /// Height of the UE.
        height_m: f64,
    },
}

/// One UE.
#[derive(Clone, Debug)]
pub struct UeConfig {
    /// The cell that serves it from the start; none for the one that it receives best there, fading
    /// aside.
    pub cell: Option<CellId>,
    /// Where it starts.
    pub start: Start,
    /// How it moves.
    pub movement: Movement,
    /// Its transmit power at most.
    pub tx_power: Dbm,
    /// Noise figure of its receiver.
    pub noise_figure: Decibel,
    /// What the walls around it take, both ways.
    pub penetration_loss: Decibel,
    /// When its bearer is set up; with its first packet, if that comes before or nothing is said. Only
    /// [`CellConfig::early_throttling`] asks.
    pub bearer_set_up: Option<Instant>,
    /// MCS of its downlink blocks whatever it reports; `None` for what link adaptation finds.
    pub fixed_mcs: Option<Mcs>,
}

/// The length of a slot: an LTE subframe (TS 36.211 §4).
pub const SLOT: Duration = Duration::from_millis(1);
