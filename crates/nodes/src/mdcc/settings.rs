//! The settings of MD-CC in the kernel.

use std::path::PathBuf;

use airlane_scenario::format::{InflightScope, Mdcc, SlowStartClock};
use airlane_settings::Wrong;
use airlane_settings::quantity::Time;
use serde::{Deserialize, Serialize};

use crate::common::{self, Address, Common, Network};
use crate::reports::{self, Reception};

/// The defaults of a file.
pub(super) fn defaults() -> String {
    format!("rate = {}\n{}{}", reports::RATE, include_str!("defaults.toml"), common::DEFAULTS)
}

/// A file of settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// Settings of all kinds.
    pub node: Common,
    /// Address at which messages of PEPs arrive.
    pub listen: Address,
    /// File of the secret that the PEPs also have.
    pub secret: PathBuf,
    /// Networks of the PEPs; empty for any.
    pub peps: Vec<Network>,
    /// Networks of the clients whose connections the PEPs report; empty for any. The routes to them have the
    /// congestion control.
    pub clients: Vec<Network>,
    /// The user that the node becomes after it has loaded the program.
    pub user: Option<String>,
    /// Maximum number of messages a second from one address.
    pub rate: u32,
    /// The law.
    pub law: Law,
}

/// Settings of the law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Law {
    /// Growth of the radio window with each acknowledgment, in segments.
    pub increase: f64,
    /// Whether HyStart ends slow start.
    pub hystart: bool,
    /// A loss behind the PEP needs evidence: a queue behind the PEP, and none before it, by delays of more than this.
    /// Without the key, each report is believed.
    pub wired_queue: Option<Time>,
}

impl Settings {
    /// The rules that types cannot express.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        let Law { increase, wired_queue, .. } = self.law;
        let (inflight_scope, slow_start) = (InflightScope::EndToEnd, SlowStartClock::Client);
        let law = Mdcc { increase, inflight_scope, slow_start, wired_queue };
        if let Some((key, help)) = law.out_of_range() {
            return Err(Wrong::new(format!("law.{key}"), "out of range", help));
        }
        self.reception().check("")
    }

    /// The address at which messages arrive, and the PEPs whose messages count.
    pub(super) fn reception(&self) -> Reception {
        let Self { listen, secret, peps, clients, rate, .. } = self.clone();
        Reception { listen: listen.0, secret, peps, clients, rate }
    }

    /// Acknowledgments per segment of growth.
    #[cfg_attr(not(feature = "bpf"), expect(dead_code, reason = "for the program"))]
    pub(super) fn acks_per_increase(&self) -> u32 {
        (1.0 / self.law.increase).round() as u32
    }
}
