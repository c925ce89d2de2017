//! Cells: radio, scheduler, MAC, RLC, PDCP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Aqm, CellOutage, Radio, Scheduler, Shedding, tagged};
use crate::quantity::{Angle, Frequency, Gain, Metres, Power, Rate, Share, Size, Time};

/// One cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Name of the cell in the results.
    pub name: String,
    /// Position of the antenna.
    pub position: [Metres; 2],
    /// Height of the antenna.
    pub height: Metres,
    /// Antenna pattern.
    pub antenna: Antenna,
    /// Radio access technology. By default, it is that of the network's preset. In a network of the other one, the
    /// defaults of the cell are those of `typical` or of `nr-typical-fr1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radio: Option<Radio>,
    /// Channel bandwidth of either direction, in the place of `resource_blocks`: 1.4, 3, 5, 10, 15 or 20 MHz in LTE;
    /// in NR 5 to 50 MHz at 15 kHz, 5 to 100 MHz at 30 kHz, 10 to 200 MHz at 60 kHz, 50 to 400 MHz at 120 kHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["1.4 MHz", "3 MHz", "5 MHz", "10 MHz", "15 MHz", "20 MHz", "100 MHz"]))]
    pub bandwidth: Option<Frequency>,
    /// Bandwidth of either direction in physical resource blocks: 6, 15, 25, 50, 75 or 100 in LTE, 11 to 275 in NR.
    #[schemars(range(min = 6, max = 275))]
    pub resource_blocks: u16,
    /// Downlink transmit power over the whole bandwidth.
    pub tx_power: Power,
    /// Noise figure of the receiver.
    pub noise_figure: Gain,
    /// Downlink carrier frequency.
    pub frequency: Frequency,
    /// Uplink carrier frequency.
    pub uplink_frequency: Frequency,
    /// The scheduler of the MAC.
    pub scheduler: Scheduler,
    /// Throttling of active UEs while many bearers are set up. By default, there is none.
    pub early_throttling: Option<EarlyThrottling>,
    /// Transmission mode of the downlink; `siso` in NR.
    pub transmission_mode: TransmissionMode,
    /// Hybrid ARQ.
    pub harq: bool,
    /// Whether UEs can fail to decode downlink assignments and uplink grants.
    pub control_errors: bool,
    /// Timing and rules of the MAC and of link adaptation.
    pub mac: Mac,
    /// Uplink access: how a UE obtains grants.
    pub uplink: Uplink,
    /// Radio link control (RLC) of the UEs' bearers.
    pub rlc: Rlc,
    /// Packet data convergence protocol (PDCP) of the UEs' bearers.
    pub pdcp: Pdcp,
    /// A second bearer of each UE, for packets with ECT(1) or CE, with the other settings of `rlc` and `pdcp`. The
    /// bearers of a UE are those of the cell where it starts. By default, all packets use one bearer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l4s_bearer: Option<L4sBearer>,
    /// Whether the cell serves no UE and transmits on all resource blocks in each slot. It represents
    /// interference from outside the simulated area.
    pub interferer: bool,
    /// Maximum number of UEs. The cell rejects handovers of more UEs. By default, there is no limit.
    pub max_ues: Option<u32>,
    /// Names of the neighbour cells that the UEs of this cell report. By default, these are all other cells.
    pub neighbours: Option<Vec<String>>,
    /// Intervals in which the radio is off: the cell neither sends nor receives, and its UEs lose it. The eNB
    /// behind it keeps their contexts and packets. Without `[handover]` the UEs wait until the radio is on
    /// again. By default, there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outages: Option<Vec<CellOutage>>,
    /// Intervals in which the cell hands UEs over to their best neighbours, whatever they report. By
    /// default, there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shedding: Option<Vec<Shedding>>,
}

/// An antenna.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Antenna {
    /// Omnidirectional antenna.
    Omni(Omni),
    /// Sector antenna of 3GPP TR 25.814.
    Sector(Sector),
    /// Panel of elements with horizontal and vertical pattern of 3GPP TR 38.901 and TR 36.873.
    Panel(Panel),
}
tagged!(Antenna by "kind" { "omni" => Omni(Omni), "sector" => Sector(Sector), "panel" => Panel(Panel) });

/// Settings of an omnidirectional antenna.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Omni {
    /// Gain over an isotropic antenna.
    pub gain: Gain,
}

/// Settings of a sector antenna.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sector {
    /// Maximum gain over an isotropic antenna, in the direction of `azimuth`.
    pub gain: Gain,
    /// Direction of the main lobe: 0 deg is the positive first coordinate, 90 deg the positive second.
    pub azimuth: Angle,
    /// 3 dB beamwidth.
    pub beamwidth: Angle,
    /// Front-to-back ratio.
    pub front_to_back: Gain,
}

/// Settings of a panel: elements of 8 dBi and 65 deg beamwidth in rows and columns, which transmit together (TR 38.901
/// Table 7.3-1, TR 36.873 clause 7.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// Number of elements above each other.
    #[schemars(range(min = 1, max = 256))]
    pub rows: u32,
    /// Number of elements next to each other.
    #[schemars(range(min = 1, max = 256))]
    pub columns: u32,
    /// Distance of the rows in wavelengths.
    pub row_spacing: f64,
    /// Distance of the columns in wavelengths.
    pub column_spacing: f64,
    /// Direction of the main lobe: 0 deg is the positive first coordinate, 90 deg the positive second.
    pub azimuth: Angle,
    /// Electrical downtilt of the rows: the angle of the main lobe below the horizon.
    pub downtilt: Angle,
}

/// A second bearer of each UE, for packets with ECT(1) or CE.
///
/// Blocks take data by logical channel prioritization (TS 36.321 section 5.4.3.1), in both directions. The L4S bearer
/// has the higher priority: first each bearer gets its prioritised bit rate, then the L4S bearer gets the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct L4sBearer {
    /// Size of the transmission buffer.
    pub buffer: Size,
    /// Queue discipline of the transmission buffer. It is not coupled to that of the other bearer.
    pub aqm: Aqm,
    /// Prioritised bit rate of this bearer, for one UE and one direction. By default, there is none: its priority is
    /// higher anyway.
    pub rate: Option<Rate>,
    /// Prioritised bit rate of the other bearer, for one UE and one direction. The other bearer gets it even if this
    /// one could use all blocks.
    pub default_rate: Rate,
    /// Bucket size duration: time over which a bearer may make up for a prioritised bit rate that it has not used.
    pub bucket: Time,
}

/// Throttling of active UEs before newly arrived UEs have data.
///
/// An option of the simulator after an idea in section 3.1 of Nguyen et al., AllThingsCellular 2014.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EarlyThrottling {
    /// Number of new bearers that starts the throttling. A bearer is set up with the first packet of its UE.
    pub bearers: u32,
    /// Window of time in which these bearers are set up.
    pub within: Time,
    /// Time over which the share of the active UEs is reduced to the share they will have with the new UEs.
    pub ramp: Time,
    /// How long the active UEs keep the reduced share.
    pub hold: Time,
    /// The quantity that is reduced for the active UEs.
    pub by: ThrottleBy,
}

/// What early throttling reduces for active UEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ThrottleBy {
    /// The share of slots in which they are scheduled.
    Share,
    /// The size of their queues.
    Queue,
}

/// Transmission mode of the downlink (TS 36.213 §7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TransmissionMode {
    /// One antenna.
    Siso,
    /// Transmit diversity from two antennas.
    Tm2,
    /// Open-loop spatial multiplexing: two layers.
    Tm3,
}

/// Timing and rules of the MAC and of link adaptation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mac {
    /// Interval between CQI reports of a UE.
    pub cqi_period: Time,
    /// Delay from the measurement until the scheduler can use it.
    pub cqi_delay: Time,
    /// Resolution of a CQI report in frequency.
    pub cqi_report: CqiReport,
    /// Number of layers in `tm3`, and in NR.
    pub rank: Rank,
    /// How the CQI follows from the SINR.
    pub amc: Amc,
    /// The interference that a UE measures for its CQI.
    pub cqi_reference: CqiReference,
    /// How the uplink MCS follows from the sounding reference signal.
    pub uplink_amc: Amc,
    /// How the MCS of a transport block follows from the CQI reports.
    pub mcs_rule: McsRule,
    /// Mapping of CQI to downlink MCS.
    pub cqi_to_mcs: CqiToMcs,
    /// The downlink of a UE that reports CQI 0, "out of range".
    pub out_of_range: OutOfRange,
    /// Maximum number of transmissions of a transport block, including the first.
    pub harq_transmissions: u8,
    /// Delay from the scheduling of a transmission to the scheduling of its retransmission. LTE only: NR has `k0`,
    /// `k1`, `k2` and `gnb_processing` of `radio`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Time")]
    pub harq_round_trip: Option<Time>,
    /// Delay from a downlink scheduling decision to the reception of the block. LTE only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Time")]
    pub downlink_latency: Option<Time>,
    /// Delay from the scheduling of an uplink grant to the transmission on PUSCH. LTE only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Time")]
    pub grant_to_pusch: Option<Time>,
    /// Subframes of a frame, 0 to 9, in which the cell sends no data: almost blank subframes, or subframes
    /// for traffic that is not modelled.
    #[schemars(inner(range(max = 9)))]
    pub blank_subframes: Vec<u8>,
    /// Whether the last resource block group of the downlink stays idle if it is smaller than the others. It
    /// is smaller with 15, 25, 50 and 75 resource blocks (TS 36.213 §7.1.6.1).
    pub idle_partial_rbg: bool,
    /// Whether MAC subheaders use bytes of the transport block.
    pub subheaders: bool,
    /// Number of resource blocks reserved for PUCCH, at both edges of the band together.
    pub pucch_resource_blocks: u16,
    /// Maximum number of new uplink grants in a slot.
    pub grants_per_slot: u16,
    /// Interval between sounding reference signals.
    pub sounding_period: Time,
    /// Uplink power control.
    pub power_control: PowerControl,
    /// Power headroom reports of UEs with power control, and whether uplink grants follow the power of a UE.
    pub power_headroom: PowerHeadroom,
}

/// Uplink power control (TS 36.213 §5.1.1).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PowerControl {
    /// Maximum transmit power, spread over the whole band.
    None,
    /// Open loop: the power compensates for a fraction of the path loss.
    OpenLoop(OpenLoop),
}
tagged!(PowerControl by "kind" { "none" => None, "open-loop" => OpenLoop(OpenLoop) });

/// Settings of open-loop power control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenLoop {
    /// Power per resource block without path loss.
    pub p0: Power,
    /// Fraction of the path loss that is compensated.
    pub alpha: Share,
}

/// Power headroom reports (TS 36.321 §5.4.6, TS 38.321 §5.4.6).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PowerHeadroom {
    /// No reports: the cell knows of no limit, and grants each UE its share of the band, as in ns-3.
    None,
    /// Reports: the cell grants no more resource blocks than the lowest MCS can be decoded on.
    Report(PowerHeadroomReport),
}
tagged!(PowerHeadroom by "kind" { "none" => None, "report" => Report(PowerHeadroomReport) });

/// Triggers of power headroom reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerHeadroomReport {
    /// phr-PeriodicTimer, in LTE periodicPHR-Timer: time from a report until the next one is due.
    pub phr_periodic_timer: PhrPeriodicTimer,
    /// phr-ProhibitTimer, in LTE prohibitPHR-Timer: time from a report during which a change of the path loss triggers
    /// none.
    pub phr_prohibit_timer: PhrProhibitTimer,
    /// dl-PathlossChange, in NR phr-Tx-PowerFactorChange: a report is due if the path loss has changed by more since the
    /// last one.
    pub dl_pathloss_change: PathlossChange,
}

/// Values of phr-PeriodicTimer (TS 36.331 and TS 38.331, `PHR-Config`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PhrPeriodicTimer {
    /// 10 ms.
    #[serde(rename = "10 ms")]
    Sf10,
    /// 20 ms.
    #[serde(rename = "20 ms")]
    Sf20,
    /// 50 ms.
    #[serde(rename = "50 ms")]
    Sf50,
    /// 100 ms.
    #[serde(rename = "100 ms")]
    Sf100,
    /// 200 ms.
    #[serde(rename = "200 ms")]
    Sf200,
    /// 500 ms.
    #[serde(rename = "500 ms")]
    Sf500,
    /// 1000 ms.
    #[serde(rename = "1000 ms")]
    Sf1000,
    /// Infinity.
    #[serde(rename = "infinity")]
    Infinity,
}

/// Values of phr-ProhibitTimer (TS 36.331 and TS 38.331, `PHR-Config`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PhrProhibitTimer {
    /// 0 ms.
    #[serde(rename = "0 ms")]
    Sf0,
    /// 10 ms.
    #[serde(rename = "10 ms")]
    Sf10,
    /// 20 ms.
    #[serde(rename = "20 ms")]
    Sf20,
    /// 50 ms.
    #[serde(rename = "50 ms")]
    Sf50,
    /// 100 ms.
    #[serde(rename = "100 ms")]
    Sf100,
    /// 200 ms.
    #[serde(rename = "200 ms")]
    Sf200,
    /// 500 ms.
    #[serde(rename = "500 ms")]
    Sf500,
    /// 1000 ms.
    #[serde(rename = "1000 ms")]
    Sf1000,
}

/// Values of dl-PathlossChange and phr-Tx-PowerFactorChange (TS 36.331 and TS 38.331, `PHR-Config`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PathlossChange {
    /// 1 dB.
    #[serde(rename = "1 dB")]
    Db1,
    /// 3 dB.
    #[serde(rename = "3 dB")]
    Db3,
    /// 6 dB.
    #[serde(rename = "6 dB")]
    Db6,
    /// Infinity.
    #[serde(rename = "infinity")]
    Infinity,
}

impl PhrPeriodicTimer {
    /// Its value.
    #[must_use]
    pub const fn milliseconds(self) -> Option<u64> {
        match self {
            Self::Sf10 => Some(10),
            Self::Sf20 => Some(20),
            Self::Sf50 => Some(50),
            Self::Sf100 => Some(100),
            Self::Sf200 => Some(200),
            Self::Sf500 => Some(500),
            Self::Sf1000 => Some(1000),
            Self::Infinity => None,
        }
    }
}

impl PhrProhibitTimer {
    /// Its value.
    #[must_use]
    pub const fn milliseconds(self) -> u64 {
        match self {
            Self::Sf0 => 0,
            Self::Sf10 => 10,
            Self::Sf20 => 20,
            Self::Sf50 => 50,
            Self::Sf100 => 100,
            Self::Sf200 => 200,
            Self::Sf500 => 500,
            Self::Sf1000 => 1000,
        }
    }
}

impl PathlossChange {
    /// Its value.
    #[must_use]
    pub const fn decibels(self) -> Option<f64> {
        match self {
            Self::Db1 => Some(1.0),
            Self::Db3 => Some(3.0),
            Self::Db6 => Some(6.0),
            Self::Infinity => None,
        }
    }
}

/// Number of layers in `tm3` (TS 36.213 §7.1.3), and in NR (TS 38.214 §5.2.1.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rank {
    /// Always the maximum number: in `tm3` two, as in ns-3.
    Full,
    /// The number with the highest expected rate; one layer of `tm3` has transmit diversity.
    Adaptive,
}

/// Resolution of a CQI report in frequency (TS 36.213 §7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CqiReport {
    /// One CQI for each group of resource blocks.
    Subband,
    /// One CQI for the whole band.
    Wideband,
}

/// How the MCS or CQI follows from the SINR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Amc {
    /// The highest rate with a block error rate of at most 10 %, computed from mutual information.
    MutualInformation,
    /// The Shannon bound with the gap for a bit error rate of 5e-5, as in `PiroEW2010` of ns-3.
    Piro,
}

/// The interference of other cells that a UE measures for its CQI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CqiReference {
    /// Interference of the other cells' data region in the previous slot.
    PdschInterference,
    /// Interference of the control region, in which the other cells always transmit.
    ControlRegion,
}

/// How the MCS of a transport block follows from the CQI reports.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum McsRule {
    /// The MCS of the worst allocated sub-band.
    WorstSubband,
    /// The mean spectral efficiency of the allocated sub-bands, corrected by outer-loop link adaptation.
    Effective(EffectiveMcs),
}
tagged!(McsRule by "kind" { "worst-subband" => WorstSubband, "effective" => Effective(EffectiveMcs) });

/// Mapping of CQI to downlink MCS. The standard leaves it to the vendor of the eNB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CqiToMcs {
    /// The MCS with the spectral efficiency of the CQI, as in ns-3: 0, 2, 4 and so on up to 28 for CQI 1 to
    /// 15.
    Efficiency,
    /// OpenAirInterface's table: 0, 1, 2, 4, 6, 8, 11, 13, 16, 18, 20, 23, 25, 27, 28.
    #[serde(rename = "openairinterface")]
    OpenAirInterface,
}

/// The downlink of a UE whose CQI is 0 on most of the band: blocks with the scheme of CQI 1 would have too many errors
/// (TS 36.213 §7.2.3, TS 38.214 §5.2.2.1). Whether it is scheduled is up to the vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutOfRange {
    /// It has no assignment, as in ns-3 and srsRAN Project.
    Unscheduled,
    /// It has the lowest MCS, as in OpenAirInterface, where the transmissions of HARQ together are enough for that.
    LowestMcs,
}

/// Settings of outer-loop link adaptation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectiveMcs {
    /// Target block error rate of first transmissions.
    pub target_bler: Share,
}

/// Uplink access: how a UE obtains grants.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Uplink {
    /// Scheduling requests on PUCCH, then a buffer status report with each transmission.
    SchedulingRequest(SchedulingRequest),
    /// No scheduling requests: the eNB sends a grant to each UE that has been inactive, as in
    /// OpenAirInterface.
    Polled(Polled),
    /// Configured grants of type 1: resource blocks at regular times for each UE, without scheduling request and grant.
    /// NR only.
    ConfiguredGrant(ConfiguredGrant),
    /// Buffer status reports reach the eNB out of band, without a grant, as in ns-3.
    IdealBufferStatus(IdealBufferStatus),
}
tagged!(Uplink by "kind" {
    "scheduling-request" => SchedulingRequest(SchedulingRequest),
    "polled" => Polled(Polled),
    "configured-grant" => ConfiguredGrant(ConfiguredGrant),
    "ideal-buffer-status" => IdealBufferStatus(IdealBufferStatus),
});

/// Settings of uplink access by scheduling request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulingRequest {
    /// Period of scheduling request opportunities of a UE (TS 36.213 §10.1.5).
    pub scheduling_request_period: Time,
    /// Delay from a scheduling request to the scheduling of the grant that answers it.
    pub processing: Time,
    /// Size of the first grant.
    pub initial_grant: Size,
}

/// Settings of uplink access by polling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Polled {
    /// Time from the last transmission of a UE to an unsolicited grant.
    pub interval: Time,
    /// Size of the first grant.
    pub initial_grant: Size,
    /// Number of consecutive unsolicited grants after which the eNB serves the reported buffer status.
    pub polls: u32,
    /// Delay from the last of these reports to the scheduling of the grant that answers it.
    pub processing: Time,
}

/// Settings of uplink access by configured grants (TS 38.321 section 5.8.2). The block of an occasion has a buffer status
/// report; dynamic grants follow for the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfiguredGrant {
    /// Time between the occasions of a UE. An occasion in a slot without an uplink is in the next one that has.
    pub period: Time,
    /// Time of the first occasion of the first UE. The second UE has it one slot later, and so on.
    pub offset: Time,
    /// Least size of the transport block. The occasion has as many resource blocks as that needs.
    pub size: Size,
    /// Modulation and coding scheme of the transport block.
    pub mcs: u8,
}

/// Settings of out-of-band buffer status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdealBufferStatus {
    /// Delay of a buffer status report.
    pub report_delay: Time,
}

/// Radio link control: of LTE (TS 36.322), or that of NR (TS 38.322) together with the reordering of its PDCP
/// (TS 38.323), in a cell of either.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub enum Rlc {
    /// Acknowledged mode.
    Am(RlcAm),
    /// Unacknowledged mode.
    Um(RlcUm),
    /// Transparent mode.
    Tm(RlcTm),
    /// Acknowledged mode of NR.
    #[serde(rename = "nr-am")]
    NrAm(RlcNrAm),
    /// Unacknowledged mode of NR.
    #[serde(rename = "nr-um")]
    NrUm(RlcNrUm),
}
tagged!(Rlc by "mode" {
    "am" => Am(RlcAm),
    "um" => Um(RlcUm),
    "tm" => Tm(RlcTm),
    "nr-am" => NrAm(RlcNrAm),
    "nr-um" => NrUm(RlcNrUm),
});

impl Rlc {
    /// Size and queue discipline of the transmission buffer.
    pub(crate) fn queue(&self) -> (Size, &Aqm) {
        match self {
            Self::Am(RlcAm { buffer, aqm, .. })
            | Self::Um(RlcUm { buffer, aqm, .. })
            | Self::Tm(RlcTm { buffer, aqm })
            | Self::NrAm(RlcNrAm { buffer, aqm, .. })
            | Self::NrUm(RlcNrUm { buffer, aqm, .. }) => (*buffer, aqm),
        }
    }

    /// Whether it confirms delivery.
    pub(crate) const fn is_acknowledged(&self) -> bool {
        matches!(self, Self::Am(_) | Self::NrAm(_))
    }
}

/// Acknowledged mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RlcAm {
    /// Bits of the sequence number: 10 or 16.
    pub sn_bits: u8,
    /// Size of the transmission buffer.
    pub buffer: Size,
    /// Queue discipline of the transmission buffer.
    pub aqm: Aqm,
    /// t-PollRetransmit.
    pub poll_retransmit: Time,
    /// t-Reordering.
    pub reordering: Time,
    /// t-StatusProhibit.
    pub status_prohibit: Time,
    /// pollPDU: number of PDUs after which a poll is sent; none for infinity.
    pub poll_pdu: Option<u32>,
    /// pollByte: number of bytes after which a poll is sent; none for infinity.
    pub poll_byte: Option<Size>,
    /// maxRetxThreshold.
    pub max_retransmissions: u8,
    /// Whether a STATUS PDU uses a whole transmission opportunity, as in ns-3.
    pub status_alone: bool,
}

/// Unacknowledged mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RlcUm {
    /// Bits of the sequence number: 5 or 10.
    pub sn_bits: u8,
    /// Size of the transmission buffer.
    pub buffer: Size,
    /// Queue discipline of the transmission buffer.
    pub aqm: Aqm,
    /// t-Reordering.
    pub reordering: Time,
}

/// Transparent mode: no header, no segmentation, no reordering. LTE uses it for control channels only. On a
/// data bearer it serves as a baseline for the other modes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RlcTm {
    /// Size of the transmission buffer.
    pub buffer: Size,
    /// Queue discipline of the transmission buffer.
    pub aqm: Aqm,
}

/// Acknowledged mode of NR.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RlcNrAm {
    /// Bits of the sequence number: 12 or 18.
    pub sn_bits: u8,
    /// Size of the transmission buffer.
    pub buffer: Size,
    /// Queue discipline of the transmission buffer.
    pub aqm: Aqm,
    /// t-PollRetransmit.
    pub poll_retransmit: Time,
    /// t-Reassembly.
    pub reassembly: Time,
    /// t-StatusProhibit.
    pub status_prohibit: Time,
    /// pollPDU: number of PDUs after which a poll is sent; none for infinity.
    pub poll_pdu: Option<u32>,
    /// pollByte: number of bytes after which a poll is sent; none for infinity.
    pub poll_byte: Option<Size>,
    /// maxRetxThreshold.
    pub max_retransmissions: u8,
    /// t-Reordering of PDCP.
    pub reordering: Time,
    /// outOfOrderDelivery of PDCP: packets are delivered in the order of their arrival.
    pub out_of_order: bool,
}

/// Unacknowledged mode of NR.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RlcNrUm {
    /// Bits of the sequence number: 6 or 12.
    pub sn_bits: u8,
    /// Size of the transmission buffer.
    pub buffer: Size,
    /// Queue discipline of the transmission buffer.
    pub aqm: Aqm,
    /// t-Reassembly.
    pub reassembly: Time,
    /// t-Reordering of PDCP.
    pub reordering: Time,
    /// outOfOrderDelivery of PDCP: packets are delivered in the order of their arrival.
    pub out_of_order: bool,
}

/// Packet data convergence protocol (TS 36.323).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pdcp {
    /// Bits of the sequence number: 7, 12, 15 or 18; with RLC of NR, 12 or 18.
    pub sn_bits: u8,
    /// discardTimer; none for infinity.
    pub discard_timer: Option<Time>,
    /// Maximum number of bytes of SDUs that RLC AM has sent and not confirmed. An SDU that does not fit waits
    /// in the RLC buffer. By default, there is no limit.
    pub retransmission_queue: Option<Size>,
    /// With `retransmission_queue`: whether the limit of the RLC buffer applies to the sum of both queues. If
    /// false, it applies to the RLC buffer only.
    pub shares_buffer: bool,
    /// With `retransmission_queue`: whether SDUs get their sequence number on arrival, up to the limit, and
    /// not with the transmission of their first byte. A seamless handover then also drops them.
    pub holds_waiting: bool,
}
