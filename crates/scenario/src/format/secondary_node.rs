//! EN-DC: the secondary node of a UE.

use airlane_core::CellId;
use airlane_ran::dual::{BearerType, CellGroup, InterNodeLink, SecondaryNodeConfig};
use airlane_ran::dual::{ScgAtHandover, ScgConfig};
use airlane_ran::rrc::radio_link::RadioLinkConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Cell;
use crate::quantity::{Gain, Power, Rate, Size, Time};

/// The secondary node of a UE whose master node is a cell of LTE (EN-DC, TS 37.340).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecondaryNode {
    /// Names of the cells of NR that can be the PSCell. The UE has the best of them, if any is good enough.
    pub cells: Vec<String>,
    /// RSRP above which a cell becomes the PSCell of a UE without a secondary cell group (event B1).
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
    /// The effect of a handover between cells of LTE on the secondary cell group.
    pub at_handover: AtHandover,
    /// Type of the bearer while the UE has a secondary cell group.
    pub bearer: DualBearer,
    /// One-way delay of X2 between the nodes.
    pub x2_delay: Time,
    /// Rate of X2 for this UE, in each direction. By default, it is not limited.
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

/// Type of a bearer with PDCP of NR (TS 37.340 §4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DualBearer {
    /// MCG bearer: the cell of LTE alone.
    Mcg,
    /// SCG bearer: the cell of NR alone, or that of LTE while there is no secondary cell group.
    Scg,
    /// Split bearer: both.
    Split,
}

/// The secondary cell group in a handover between cells of LTE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AtHandover {
    /// It is released, and a cell is added again by event B1 (TS 37.340 §10.8).
    Release,
    /// It is interrupted: after the handover, the UE has the random access to the same PSCell (TS 37.340 §10.7).
    Keep,
}

/// A path of the uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UplinkPath {
    /// The master cell group.
    Lte,
    /// The secondary cell group.
    Nr,
}

impl SecondaryNode {
    /// The configuration; its cells are among these.
    pub(super) fn config(&self, cells: &[Cell]) -> SecondaryNodeConfig {
        let place = |name: &String| {
            let place = cells.iter().position(|cell| cell.name == *name);
            CellId(place.expect("checked when the scenario was resolved") as u32)
        };
        SecondaryNodeConfig {
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
                UplinkPath::Lte => CellGroup::Master,
                UplinkPath::Nr => CellGroup::Secondary,
            },
            uplink_split_threshold: self.uplink_split_threshold.map(|size| size.0),
        }
    }
}
