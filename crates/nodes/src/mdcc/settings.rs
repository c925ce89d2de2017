//! The settings of MD-CC in the kernel.

use std::path::PathBuf;

use airlane_core::Duration;
use airlane_scenario::quantity::Time;
use airlane_scenario::settings_file::Wrong;
use serde::{Deserialize, Serialize};

use crate::common::{self, Address, Common, Network};

/// Longest delay before a PEP that is no queue.
const WIRED_QUEUE_MAX: Duration = Duration::from_secs(10);

/// The defaults of a file.
pub(super) fn defaults() -> String {
    format!("{}{}", include_str!("defaults.toml"), common::DEFAULTS)
}

/// A file of settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// Settings of all kinds.
    pub node: Common,
    /// Where messages of PEPs arrive.
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
        let require = |ok: bool, key: &str, help: &str| {
            if ok { Ok(()) } else { Err(Wrong::new(key, "out of range", help)) }
        };
        let increase = (0.001..=1.0).contains(&self.law.increase);
        require(increase, "law.increase", "it must be from 0.001 to 1")?;
        let queue = self.law.wired_queue.is_none_or(|time| time.0 <= WIRED_QUEUE_MAX);
        require(queue, "law.wired_queue", "it must be at most 10 s")?;
        require(self.listen.0.port() != 0, "listen", "name the port to which the PEPs send")?;
        require(self.rate > 0, "rate", "it must be at least one message a second")
    }

    /// Acknowledgments per segment of growth.
    #[cfg_attr(not(feature = "bpf"), expect(dead_code, reason = "for the program"))]
    pub(super) fn acks_per_increase(&self) -> u32 {
        (1.0 / self.law.increase).round() as u32
    }
}
