//! Dual connectivity: the secondary node of a UE whose master node is of LTE (EN-DC) or of NR (NR-DC).

use airlane_core::CellId;
use airlane_ran::dual::{BearerType, CellGroup, DualConnectivityKind, InterNodeLink, SecondaryNodeConfig};
use airlane_ran::dual::{ScgAtHandover, ScgConfig};
use airlane_ran::numerology::nr::FrequencyRange;
use airlane_ran::rrc::radio_link::RadioLinkConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Cell;
use crate::quantity::{Gain, Power, Rate, Size, Time};

/// The secondary node of a UE, whose master node is of LTE (EN-DC) or of NR (NR-DC, TS 37.340).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecondaryNode {
    /// Names of the cells of NR that can be the PSCell; in NR-DC, they are in FR2. The UE has the best of them, if any is
    /// good enough.
    pub cells: Vec<String>,
    /// The radio of the master node. By default, LTE if a cell of LTE serves UEs, and otherwise NR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master: Option<MasterRadio>,
    /// RSRP above which a cell becomes the PSCell of a UE without a secondary cell group (event B1; in NR-DC, A4).
    pub add_above: Power,
    /// RSRP of the PSCell below which the secondary cell group is released (event A2).
    pub release_below: Power,
    /// Another cell whose RSRP is higher by more than this becomes the PSCell (event A3).
    pub change_offset: Gain,
    /// Time to trigger of these events.
    pub time_to_trigger: Time,
    /// Time from a measurement report until the UE has the command of the network.
    pub preparation: Time,
    /// Time from the command that names a PSCell until the random access to it has succeeded.
    pub execution: Time,
    /// T310 of the PSCell: how long its link may have problems before it fails.
    pub t310: Time,
    /// Time from a failure of the secondary cell group until a cell may be added again.
    pub retry_after: Time,
    /// The effect of a handover between master nodes on the secondary cell group.
    pub at_handover: AtHandover,
    /// Type of the bearer while the UE has a secondary cell group.
    pub bearer: DualBearer,
    /// One-way delay of X2 between the nodes; in NR-DC, of Xn.
    pub x2_delay: Time,
    /// Rate of X2 or Xn for this UE, in each direction. By default, it is not limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x2_rate: Option<Rate>,
    /// t-Reordering of PDCP (TS 38.323 §5.2.2): how long a missing packet holds back those behind it.
    pub t_reordering: Time,
    /// Primary path of the uplink of a split bearer.
    pub uplink: UplinkPath,
    /// ul-DataSplitThreshold: the uplink of a split bearer uses both paths while at least this much data wait. By default, it
    /// is infinite: one path has all of the uplink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_split_threshold: Option<Size>,
}

/// The radio of the master node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MasterRadio {
    /// LTE: EN-DC, with the EPC as the core network.
    Lte,
    /// NR in FR1: NR-DC, with the 5GC as the core network.
    Nr,
}

/// Type of a bearer with PDCP of NR (TS 37.340 §4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DualBearer {
    /// MCG bearer: the cell of the master node alone.
    Mcg,
    /// SCG bearer: the cell of the secondary node alone, or that of the master node while there is no secondary cell group.
    Scg,
    /// Split bearer: both.
    Split,
}

/// The secondary cell group in a handover between master nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AtHandover {
    /// It is released, and a cell is added again by event B1 or A4 (TS 37.340 §10.8).
    Release,
    /// It is interrupted: after the handover, the UE has the random access to the same PSCell (TS 37.340 §10.7).
    Keep,
}

/// A path of the uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UplinkPath {
    /// The master cell group. In EN-DC, `lte` is another name.
    #[serde(rename = "mcg", alias = "lte")]
    Mcg,
    /// The secondary cell group. In EN-DC, `nr` is another name.
    #[serde(rename = "scg", alias = "nr")]
    Scg,
}

impl SecondaryNode {
    /// The variant of dual connectivity in a network of these cells.
    pub(crate) fn kind(&self, cells: &[Cell]) -> DualConnectivityKind {
        let has_lte = || cells.iter().any(|cell| cell.nr().is_none() && !cell.interferer);
        match self.master {
            Some(MasterRadio::Lte) => DualConnectivityKind::EnDc,
            Some(MasterRadio::Nr) => DualConnectivityKind::NrDc,
            None if has_lte() => DualConnectivityKind::EnDc,
            None => DualConnectivityKind::NrDc,
        }
    }

    /// The configuration; its cells are among these.
    pub(super) fn config(&self, cells: &[Cell]) -> SecondaryNodeConfig {
        let kind = self.kind(cells);
        let place = |name: &String| {
            let place = cells.iter().position(|cell| cell.name == *name);
            CellId(place.expect("checked when the scenario was resolved") as u32)
        };
        let numbered = (0..).map(CellId).zip(cells);
        SecondaryNodeConfig {
            kind,
            masters: numbered.filter(|(_, cell)| cell.can_be_master(kind)).map(|(id, _)| id).collect(),
            cells: self.cells.iter().map(place).collect(),
            scg: ScgConfig {
                add_above: self.add_above.0,
                release_below: self.release_below.0,
                change_offset: self.change_offset.0,
                time_to_trigger: self.time_to_trigger.0,
                preparation: self.preparation.0,
                execution: self.execution.0,
                retry_after: self.retry_after.0,
                radio_link: RadioLinkConfig { t310: self.t310.0, ..RadioLinkConfig::default() },
            },
            at_handover: match self.at_handover {
                AtHandover::Release => ScgAtHandover::Release,
                AtHandover::Keep => ScgAtHandover::Keep,
            },
            bearer: match self.bearer {
                DualBearer::Mcg => BearerType::Mcg,
                DualBearer::Scg => BearerType::Scg,
                DualBearer::Split => BearerType::Split,
            },
            x2: InterNodeLink { delay: self.x2_delay.0, rate: self.x2_rate.map(|rate| rate.0) },
            t_reordering: Some(self.t_reordering.0),
            uplink: match self.uplink {
                UplinkPath::Mcg => CellGroup::Master,
                UplinkPath::Scg => CellGroup::Secondary,
            },
            uplink_split_threshold: self.uplink_split_threshold.map(|size| size.0),
        }
    }
}

impl Cell {
    /// Whether it can be the PCell of a UE with a secondary node: of LTE in EN-DC, and of NR in FR1 in NR-DC.
    pub(crate) fn can_be_master(&self, kind: DualConnectivityKind) -> bool {
        let is_of_kind = match kind {
            DualConnectivityKind::EnDc => self.nr().is_none(),
            DualConnectivityKind::NrDc => self.nr().is_some() && self.is_in(FrequencyRange::One),
        };
        is_of_kind && !self.interferer
    }

    /// Whether its carrier is in a frequency range of NR.
    pub(crate) fn is_in(&self, range: FrequencyRange) -> bool {
        FrequencyRange::of(self.frequency.0) == Some(range)
    }
}
