//! Flows over Multipath TCP.

use std::sync::Arc;

use airlane_transport::mptcp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Tcp;
use crate::extensions::PathSchedulers;

/// Multipath TCP (RFC 8684), with the same settings at both ends. The UE, or the host of a wired network, opens the
/// connection and its subflows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mptcp {
    /// TCP of the subflows. Its keys are those of kind = "tcp"; the receive window is that of the connection.
    pub tcp: Box<Tcp>,
    /// Names of the accesses that the connection uses; the first subflow uses the first of them. By default, these are
    /// all accesses of the UE, or of the host of a wired network: "internet" and all links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// Names of the paths that are backups: a subflow there is used only if no other is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<Vec<String>>,
    /// Paths whose addresses one end announces with ADD_ADDR, and on which the other end then opens the subflow. By default,
    /// the host opens all subflows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub announced: Option<Announced>,
    /// At `stop`, the sender ends the connection with MP_FASTCLOSE instead of completing its transfer. By default, it does
    /// not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abort: Option<bool>,
    /// Number of subflows on each path.
    pub subflows: u32,
    /// Which subflow sends the next segment.
    pub scheduler: MptcpScheduler,
    /// Name of your own scheduler, with scheduler = "own".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Weights of the subflows, with scheduler = "weighted", in the order of the paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<u32>>,
    /// How the congestion windows of the subflows depend on each other.
    pub coupling: MptcpCoupling,
}

/// Paths whose addresses are announced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Announced {
    /// Those on which the server has an address of its own and announces it; the host opens the subflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<Vec<String>>,
    /// Those on which the host announces its address; the server opens the subflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Vec<String>>,
}

/// Which subflow sends the next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MptcpScheduler {
    /// The one with the smallest round-trip time of those whose congestion window is not full.
    MinRtt,
    /// One after the other.
    RoundRobin,
    /// In proportion to `weights`.
    Weighted,
    /// All: each subflow sends all data.
    Redundant,
    /// As min-rtt, but a slower subflow waits if it would take the room of the receive window that a faster one needs.
    Blest,
    /// As min-rtt, but a slower subflow waits if a faster one would complete the data earlier.
    Ecf,
    /// The default of current Linux kernels: the one that is expected to send first what it has, in bursts of 64 KiB.
    Linux,
    /// Your own, in Rust or Python: `policy` is its name.
    Own,
}

/// How the congestion windows of the subflows depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MptcpCoupling {
    /// Not at all: each subflow has the controller of `tcp`.
    None,
    /// The linked increases algorithm (RFC 6356), instead of the controller of `tcp`.
    Lia,
    /// The opportunistic linked increases algorithm (draft-khalili-mptcp-congestion-control-05), instead of it.
    Olia,
    /// The balanced linked adaptation algorithm (draft-walid-mptcp-congestion-control-04), instead of it.
    Balia,
}

impl Mptcp {
    /// The scheduler of its connections.
    pub(crate) fn scheduler_kind(&self, own: &PathSchedulers) -> mptcp::SchedulerKind {
        match self.scheduler {
            MptcpScheduler::MinRtt => mptcp::SchedulerKind::MinRtt,
            MptcpScheduler::RoundRobin => mptcp::SchedulerKind::RoundRobin,
            MptcpScheduler::Weighted => {
                mptcp::SchedulerKind::Weighted(self.weights.clone().unwrap_or_default())
            }
            MptcpScheduler::Redundant => mptcp::SchedulerKind::Redundant,
            MptcpScheduler::Blest => mptcp::SchedulerKind::Blest,
            MptcpScheduler::Ecf => mptcp::SchedulerKind::Ecf,
            MptcpScheduler::Linux => mptcp::SchedulerKind::Linux,
            MptcpScheduler::Own => {
                let maker = self.policy.as_ref().and_then(|name| own.get(name));
                mptcp::SchedulerKind::Own(Arc::clone(maker.expect("checked: the program supplies it")))
            }
        }
    }

    /// The name of its congestion control in results.
    #[must_use]
    pub fn congestion_name(&self) -> &str {
        match self.coupling {
            MptcpCoupling::None => {
                self.tcp.controller.as_deref().unwrap_or_else(|| self.tcp.congestion.kind().name())
            }
            MptcpCoupling::Lia => "lia",
            MptcpCoupling::Olia => "olia",
            MptcpCoupling::Balia => "balia",
        }
    }
}

impl MptcpCoupling {
    pub(crate) const fn law(self) -> Option<mptcp::Coupling> {
        match self {
            Self::None => None,
            Self::Lia => Some(mptcp::Coupling::Lia),
            Self::Olia => Some(mptcp::Coupling::Olia),
            Self::Balia => Some(mptcp::Coupling::Balia),
        }
    }
}
