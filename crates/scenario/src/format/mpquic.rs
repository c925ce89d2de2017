//! Flows over QUIC with several paths.

use airlane_quic::MultipathScheduler;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Quic;
use crate::quantity::Time;

/// QUIC over several paths (draft-ietf-quic-multipath-21), implemented by noq, with the same settings at both ends. The UE, or
/// the host of a wired network, opens the connection and its paths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mpquic {
    /// QUIC of the connection. Its keys are those of kind = "quic"; each path has a congestion controller of its own.
    pub quic: Box<Quic>,
    /// Names of the accesses that the connection uses; it begins on the first of them. By default, these are all accesses of
    /// the UE, or of the host of a wired network: "internet" and all links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// Names of the paths that are backups: they send data only if no other path can (PATH_STATUS_BACKUP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<Vec<String>>,
    /// Which path sends the next datagram.
    pub scheduler: MpquicScheduler,
    /// Weights of the paths, with scheduler = "weighted", in the order of the paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<u32>>,
    /// Time without a packet of the peer after which a path is given up, at least three probe timeouts. Data that it has not
    /// delivered is sent on other paths then. An end that has sent nothing on a path for a third of this time sends a
    /// keep-alive. 0 s means never.
    pub path_idle_timeout: Time,
}

/// Which path sends the next datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MpquicScheduler {
    /// noq's: the first of the paths, in the order in which they were opened, whose congestion window is not full.
    Noq,
    /// The one with the smallest round-trip time of those whose congestion window is not full.
    MinRtt,
    /// One after the other.
    RoundRobin,
    /// In proportion to `weights`.
    Weighted,
}

impl Mpquic {
    /// The scheduler of its connections.
    pub(crate) fn scheduler(&self) -> MultipathScheduler {
        match self.scheduler {
            MpquicScheduler::Noq => MultipathScheduler::Noq,
            MpquicScheduler::MinRtt => MultipathScheduler::MinRtt,
            MpquicScheduler::RoundRobin => MultipathScheduler::RoundRobin,
            MpquicScheduler::Weighted => {
                MultipathScheduler::Weighted(self.weights.clone().unwrap_or_default())
            }
        }
    }
}
