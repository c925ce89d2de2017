//! The MAC of a cell: timing, CQI, choice of the MCS, HARQ.

use airlane_core::Duration;
use airlane_radio::AmcRule;
use airlane_ran::config::{self, MacConfig, RankRule};
use airlane_settings::{Checked, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nr::Timing;
use super::{Cell, PowerControl, PowerHeadroom, tagged, uplink};
use crate::check::whole_slots;
use crate::quantity::{Share, Time};

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

impl Mac {
    /// The rules of the keys of the MAC. Those of one radio access technology only are in `check`.
    pub(crate) fn check(&self, resource_blocks: u16, slot: Duration, at: &Place<'_>) -> Checked {
        whole_slots(at, slot, self.cqi_period, "cqi_period", 1)?;
        whole_slots(at, slot, self.cqi_delay, "cqi_delay", 0)?;
        whole_slots(at, slot, self.sounding_period, "sounding_period", 1)?;
        let attempts = (1..=28).contains(&self.harq_transmissions); // maxHARQ-Tx, TS 36.331 §6.3.2
        at.require(attempts, "harq_transmissions", "out of range", "it must be from 1 to 28")?;
        let grants = (1..=110).contains(&self.grants_per_slot);
        at.require(grants, "grants_per_slot", "out of range", "it must be from 1 to 110")?;
        let blank = &self.blank_subframes;
        let known =
            blank.iter().all(|subframe| *subframe < 10) && blank.windows(2).all(|two| two[0] < two[1]);
        let help = "write subframe numbers from 0 to 9 (TS 36.211 section 4.1) in ascending order, each once";
        at.require(known, "blank_subframes", "not a list of subframes", help)?;
        at.require(
            blank.len() < 10,
            "blank_subframes",
            "no subframe is left for data",
            "at most nine subframes can be blank",
        )?;
        let room = self.pucch_resource_blocks < resource_blocks;
        at.require(
            room,
            "pucch_resource_blocks",
            "no resource block is left for data",
            "it must be below resource_blocks",
        )
    }
}

/// The configuration of the MAC of a cell.
pub(super) fn config(cell: &Cell) -> MacConfig {
    let mac = &cell.mac;
    let timing = timing(cell);
    let slots = |time| cell.slots(time);
    MacConfig {
        cqi_period: slots(mac.cqi_period),
        cqi_delay: slots(mac.cqi_delay),
        cqi_report: mac.cqi_report.config(),
        rank: mac.rank.config(),
        amc: mac.amc.config(),
        cqi_reference: mac.cqi_reference.config(),
        mcs_rule: mac.mcs_rule.config(),
        cqi_to_mcs: mac.cqi_to_mcs.config(),
        out_of_range: mac.out_of_range.config(),
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
        uplink: uplink::config(cell),
    }
}

/// The timing of the MAC of a cell.
fn timing(cell: &Cell) -> Timing {
    if let Some(nr) = cell.nr() {
        return nr.timing();
    }
    let of_lte = |time: Option<Time>| cell.slots(time.expect("checked when the scenario was resolved"));
    let [round_trip, downlink_latency, grant_to_pusch] =
        [cell.mac.harq_round_trip, cell.mac.downlink_latency, cell.mac.grant_to_pusch].map(of_lte);
    Timing {
        downlink_latency,
        assigned_ahead: false,
        grant_to_pusch,
        harq_round_trip: round_trip,
        uplink_round_trip: round_trip,
    }
}

impl Rank {
    const fn config(self) -> RankRule {
        match self {
            Self::Full => RankRule::Full,
            Self::Adaptive => RankRule::Adaptive,
        }
    }
}

impl CqiReport {
    const fn config(self) -> config::CqiReport {
        match self {
            Self::Subband => config::CqiReport::Subband,
            Self::Wideband => config::CqiReport::Wideband,
        }
    }
}

impl Amc {
    /// The rule of `airlane_radio`.
    pub(super) const fn config(self) -> AmcRule {
        match self {
            Self::MutualInformation => AmcRule::MUTUAL_INFORMATION,
            Self::Piro => AmcRule::PIRO,
        }
    }
}

impl CqiReference {
    const fn config(self) -> config::CqiReference {
        match self {
            Self::PdschInterference => config::CqiReference::PdschInterference,
            Self::ControlRegion => config::CqiReference::ControlRegion,
        }
    }
}

impl McsRule {
    const fn config(&self) -> config::McsRule {
        match self {
            Self::WorstSubband => config::McsRule::WorstSubband,
            Self::Effective(rule) => config::McsRule::Effective { target_bler: rule.target_bler.0 },
        }
    }
}

impl CqiToMcs {
    /// The table of `airlane_radio`.
    pub const fn config(self) -> airlane_radio::CqiToMcs {
        match self {
            Self::Efficiency => airlane_radio::CqiToMcs::Efficiency,
            Self::OpenAirInterface => airlane_radio::CqiToMcs::OpenAirInterface,
        }
    }
}

impl OutOfRange {
    const fn config(self) -> config::OutOfRange {
        match self {
            Self::Unscheduled => config::OutOfRange::Unscheduled,
            Self::LowestMcs => config::OutOfRange::LowestMcs,
        }
    }
}
