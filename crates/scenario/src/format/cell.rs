//! Cells: radio, scheduler, MAC, RLC, PDCP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Aqm, CellOutage, Shedding, tagged};
use crate::quantity::{Angle, Frequency, Gain, Metres, Power, Rate, Share, Size, Time};

/// One cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Its name in the results.
    pub name: String,
    /// Where its antenna stands.
    pub position: [Metres; 2],
    /// Height of its antenna.
    pub height: Metres,
    /// What its antenna gains in each direction.
    pub antenna: Antenna,
    /// Channel bandwidth of either direction, in the place of `resource_blocks`: 1.4, 3, 5, 10, 15 or 20 MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["1.4 MHz", "3 MHz", "5 MHz", "10 MHz", "15 MHz", "20 MHz"]))]
    pub bandwidth: Option<Frequency>,
    /// Bandwidth of either direction in physical resource blocks: 6, 15, 25, 50, 75 or 100.
    #[schemars(extend("enum" = [6, 15, 25, 50, 75, 100]))]
    pub resource_blocks: u16,
    /// Downlink power over the whole bandwidth.
    pub tx_power: Power,
    /// Noise figure of its receiver.
    pub noise_figure: Gain,
    /// Downlink carrier.
    pub frequency: Frequency,
    /// Uplink carrier.
    pub uplink_frequency: Frequency,
    /// Who is served.
    pub scheduler: Scheduler,
    /// What happens to UEs that are being served when many bearers are set up at once; none for nothing.
    pub early_throttling: Option<EarlyThrottling>,
    /// Antennas of the downlink.
    pub transmission_mode: TransmissionMode,
    /// Hybrid ARQ.
    pub harq: bool,
    /// Whether UEs can miss assignments and grants.
    pub control_errors: bool,
    /// Timing and rules of the MAC and of link adaptation.
    pub mac: Mac,
    /// How UEs get to send.
    pub uplink: Uplink,
    /// Radio link control of the UEs' bearers.
    pub rlc: Rlc,
    /// Packet data convergence of the UEs' bearers.
    pub pdcp: Pdcp,
    /// Whether it serves nobody and sends on all of its resource blocks in each slot: interference from
    /// outside of what is looked at.
    pub interferer: bool,
    /// UEs that it may have; it refuses to take over more. None for any number.
    pub max_ues: Option<u32>,
    /// Names of the cells that its UEs report; none for all others.
    pub neighbours: Option<Vec<String>>,
    /// Times in which its radio is off: it neither sends nor receives, and its UEs lose it. The eNB behind it keeps their
    /// contexts and packets. Without `[handover]` the UEs wait until the radio is on again. None for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outages: Option<Vec<CellOutage>>,
    /// Times in which it hands UEs over to their best neighbours, whatever they report; none for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shedding: Option<Vec<Shedding>>,
}

/// An antenna.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Antenna {
    /// The same in each direction.
    Omni(Omni),
    /// One sector, as in 3GPP TR 25.814.
    Sector(Sector),
}
tagged!(Antenna by "kind" { "omni" => Omni(Omni), "sector" => Sector(Sector) });

/// Settings of an antenna without direction.
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
    /// Gain over an isotropic antenna, in the middle of the beam.
    pub gain: Gain,
    /// Where it points: 0 deg along the first coordinate, 90 deg along the second.
    pub azimuth: Angle,
    /// Width of the beam between the directions that are 3 dB down.
    pub beamwidth: Angle,
    /// How far down its back is.
    pub front_to_back: Gain,
}

/// Who is served.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum Scheduler {
    /// Proportional fair.
    #[serde(rename = "pf")]
    ProportionalFair(ProportionalFair),
    /// Round robin.
    #[serde(rename = "rr")]
    RoundRobin,
    /// Maximum throughput.
    #[serde(rename = "mt")]
    MaximumThroughput(MaximumThroughput),
    /// Blind equal throughput.
    #[serde(rename = "bet")]
    BlindEqualThroughput(BlindEqualThroughput),
    /// Throughput to average.
    #[serde(rename = "tta")]
    ThroughputToAverage,
    /// Priority set.
    #[serde(rename = "pss")]
    PrioritySet(PrioritySet),
}
tagged!(Scheduler by "kind" {
    "pf" => ProportionalFair(ProportionalFair),
    "rr" => RoundRobin,
    "mt" => MaximumThroughput(MaximumThroughput),
    "bet" => BlindEqualThroughput(BlindEqualThroughput),
    "tta" => ThroughputToAverage,
    "pss" => PrioritySet(PrioritySet),
});

/// Holding UEs back that are being served, before those that have come have data.
///
/// An option of the simulator after an idea in section 3.1 of Nguyen et al., AllThingsCellular 2014.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EarlyThrottling {
    /// New bearers that begin it; a bearer is set up with its UE's first packet.
    pub bearers: u32,
    /// Within which time they have to be set up.
    pub within: Time,
    /// How long it takes to bring old UEs down to the share that will be theirs.
    pub ramp: Time,
    /// How long they stay there.
    pub hold: Time,
    /// What is taken from them.
    pub by: ThrottleBy,
}

/// What early throttling takes from UEs that are being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ThrottleBy {
    /// Slots in which they take part.
    Share,
    /// Room in their queues.
    Queue,
}

/// Settings of the proportional-fair scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProportionalFair {
    /// Over how many slots of 1 ms the past throughput is averaged.
    pub window: u32,
}

/// Settings of the maximum-throughput scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaximumThroughput {
    /// How a slot is shared out.
    pub domain: SchedulerDomain,
}

/// Settings of the scheduler of blind equal throughput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlindEqualThroughput {
    /// How a slot is shared out.
    pub domain: SchedulerDomain,
    /// Over how many slots of 1 ms the past throughput is averaged.
    pub window: u32,
}

/// How a scheduler shares a slot out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SchedulerDomain {
    /// Each group of resource blocks for itself.
    Frequency,
    /// One UE after the other, each as much as it needs.
    Time,
}

/// Settings of the priority-set scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrioritySet {
    /// Over how many slots of 1 ms the past throughput is averaged.
    pub window: u32,
    /// Rate that each UE is to have, headers included.
    pub target: Rate,
    /// How many UEs share a slot at most; none for half of those that have something to send.
    pub multiplexed: Option<u16>,
    /// How they share it.
    pub metric: FrequencyMetric,
}

/// How the priority-set scheduler ranks UEs on a group of resource blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FrequencyMetric {
    /// By proportional fairness over the slots in which the UE was a candidate.
    PfSch,
    /// By the channel there over the band's mean.
    CoIta,
}

/// Antennas of the downlink (TS 36.213 §7.1).
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
    /// A UE measures and reports its channel this often.
    pub cqi_period: Time,
    /// From the measurement until the scheduler can use it.
    pub cqi_delay: Time,
    /// What a report tells apart.
    pub cqi_report: CqiReport,
    /// How many layers a UE is sent in `tm3`.
    pub rank: Rank,
    /// How reports follow from the channel.
    pub amc: Amc,
    /// Against which interference a UE measures its channel.
    pub cqi_reference: CqiReference,
    /// How the MCS of the uplink follows from its sounding.
    pub uplink_amc: Amc,
    /// How a transport block's MCS follows from the reports.
    pub mcs_rule: McsRule,
    /// Which MCS of the downlink a CQI stands for.
    pub cqi_to_mcs: CqiToMcs,
    /// Transmissions of a block at most, the first included.
    pub harq_transmissions: u8,
    /// From a transmission's scheduling to that of its retransmission.
    pub harq_round_trip: Time,
    /// From a downlink scheduling decision until the block has been received.
    pub downlink_latency: Time,
    /// From the decision of an uplink grant until the UE sends.
    pub grant_to_pusch: Time,
    /// Subframes of a frame, 0 to 9, in which the cell sends no data: they are almost blank, or carry what
    /// is not modelled.
    #[schemars(inner(range(max = 9)))]
    pub blank_subframes: Vec<u8>,
    /// Whether the last resource block group of the downlink stays idle where it is smaller than the others, which it is
    /// with 15, 25, 50 and 75 resource blocks (TS 36.213 §7.1.6.1).
    pub idle_partial_rbg: bool,
    /// Whether MAC subheaders take their bytes.
    pub subheaders: bool,
    /// Resource blocks kept for PUCCH, both edges of the band together.
    pub pucch_resource_blocks: u16,
    /// New uplink grants in a slot at most.
    pub grants_per_slot: u16,
    /// How often the uplink is sounded.
    pub sounding_period: Time,
    /// With which power UEs send.
    pub power_control: PowerControl,
}

/// With which power UEs send (TS 36.213 §5.1.1).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PowerControl {
    /// At the most they have, spread over the whole band.
    None,
    /// As much as makes up for a share of the path loss.
    OpenLoop(OpenLoop),
}
tagged!(PowerControl by "kind" { "none" => None, "open-loop" => OpenLoop(OpenLoop) });

/// Settings of open-loop power control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenLoop {
    /// Power of a resource block where there is no path loss.
    pub p0: Power,
    /// Share of the path loss that is made up for.
    pub alpha: Share,
}

/// How many layers a UE is sent in `tm3` (TS 36.213 §7.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rank {
    /// Always two, as in ns-3.
    Full,
    /// One, by transmit diversity, where that promises more.
    Adaptive,
}

/// What a channel report tells apart (TS 36.213 §7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CqiReport {
    /// One CQI for each group of resource blocks.
    Subband,
    /// One CQI for the whole band.
    Wideband,
}

/// How MCSs follow from the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Amc {
    /// The highest rate that fails at most one block in ten, by mutual information.
    MutualInformation,
    /// The Shannon bound less the gap of a bit error rate of 5e-5: ns-3's `PiroEW2010`.
    Piro,
}

/// Against which interference of other cells a UE measures its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CqiReference {
    /// What the other cells sent in their data region in the slot before.
    PdschInterference,
    /// That of the control region, where the other cells always send.
    ControlRegion,
}

/// How a transport block's MCS follows from the reports.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum McsRule {
    /// The worst sub-band of those allocated decides.
    WorstSubband,
    /// The mean efficiency of those allocated, corrected by an outer loop.
    Effective(EffectiveMcs),
}
tagged!(McsRule by "kind" { "worst-subband" => WorstSubband, "effective" => Effective(EffectiveMcs) });

/// Which MCS of the downlink a CQI stands for. The standard leaves it to the vendor of the eNB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CqiToMcs {
    /// The one with its spectral efficiency, as in ns-3: 0, 2, 4 and so on up to 28 for CQI 1 to 15.
    Efficiency,
    /// OpenAirInterface's table: 0, 1, 2, 4, 6, 8, 11, 13, 16, 18, 20, 23, 25, 27, 28.
    #[serde(rename = "openairinterface")]
    OpenAirInterface,
}

/// Settings of the outer loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectiveMcs {
    /// Error rate of first transmissions that it steers to.
    pub target_bler: Share,
}

/// How UEs get to send.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Uplink {
    /// Scheduling requests on PUCCH, then buffer status with each transmission.
    SchedulingRequest(SchedulingRequest),
    /// No scheduling requests: the eNB grants a block to each UE that has been silent, as OpenAirInterface's does.
    Polled(Polled),
    /// The eNB hears of queued data out of band, without a grant, as in ns-3.
    IdealBufferStatus(IdealBufferStatus),
}
tagged!(Uplink by "kind" {
    "scheduling-request" => SchedulingRequest(SchedulingRequest),
    "polled" => Polled(Polled),
    "ideal-buffer-status" => IdealBufferStatus(IdealBufferStatus),
});

/// Settings of uplink access by scheduling request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulingRequest {
    /// How often a UE may send a scheduling request (TS 36.213 §10.1.5).
    pub scheduling_request_period: Time,
    /// From a request until the grant that answers it is decided.
    pub processing: Time,
    /// Size of that grant.
    pub initial_grant: Size,
}

/// Settings of uplink access by polling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Polled {
    /// From a UE's last transmission to the one of a grant that it did not ask for.
    pub interval: Time,
    /// Size of that grant.
    pub initial_grant: Size,
    /// Such grants in a row that it takes until the eNB serves what the UE reports to have.
    pub polls: u32,
    /// From the last of these reports until the grant that answers it is decided.
    pub processing: Time,
}

/// Settings of out-of-band buffer status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdealBufferStatus {
    /// How long a report takes.
    pub report_delay: Time,
}

/// Radio link control (TS 36.322).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub enum Rlc {
    /// Acknowledged mode.
    Am(RlcAm),
    /// Unacknowledged mode.
    Um(RlcUm),
    /// Transparent mode.
    Tm(RlcTm),
}
tagged!(Rlc by "mode" { "am" => Am(RlcAm), "um" => Um(RlcUm), "tm" => Tm(RlcTm) });

/// Acknowledged mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RlcAm {
    /// Bits of the sequence number: 10 or 16.
    pub sn_bits: u8,
    /// Bytes that may wait for transmission.
    pub buffer: Size,
    /// What is dropped, and when.
    pub aqm: Aqm,
    /// t-PollRetransmit.
    pub poll_retransmit: Time,
    /// t-Reordering.
    pub reordering: Time,
    /// t-StatusProhibit.
    pub status_prohibit: Time,
    /// pollPDU: a poll after this many PDUs; none for infinity.
    pub poll_pdu: Option<u32>,
    /// pollByte: a poll after this many bytes; none for infinity.
    pub poll_byte: Option<Size>,
    /// maxRetxThreshold.
    pub max_retransmissions: u8,
    /// Whether a STATUS PDU takes a whole transmission opportunity, as in ns-3.
    pub status_alone: bool,
}

/// Unacknowledged mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RlcUm {
    /// Bits of the sequence number: 5 or 10.
    pub sn_bits: u8,
    /// Bytes that may wait for transmission.
    pub buffer: Size,
    /// What is dropped, and when.
    pub aqm: Aqm,
    /// t-Reordering.
    pub reordering: Time,
}

/// Transparent mode: no header, no segments, nothing put in order. LTE has it for control channels
/// only; on a bearer it shows what the other two are for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RlcTm {
    /// Bytes that may wait for transmission.
    pub buffer: Size,
    /// What is dropped, and when.
    pub aqm: Aqm,
}

/// Packet data convergence (TS 36.323).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pdcp {
    /// Bits of the sequence number: 7, 12, 15 or 18.
    pub sn_bits: u8,
    /// discardTimer; none for infinity.
    pub discard_timer: Option<Time>,
    /// Bytes of SDUs that may be under way without RLC AM having confirmed them; where one does not
    /// fit, it waits in the RLC buffer. None for no bound.
    pub retransmission_queue: Option<Size>,
    /// With a bound of the retransmission queue, the RLC buffer's limit holds for the sum of both;
    /// else for what waits in the buffer alone.
    pub shares_buffer: bool,
    /// With that bound, SDUs are numbered when they come, as far as it goes, and not only with their
    /// first byte: a seamless handover then drops them too.
    pub holds_waiting: bool,
}
