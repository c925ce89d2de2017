//! The settings of a DRWA agent.

use airlane_core::Duration;
use airlane_settings::Wrong;
use airlane_settings::quantity::Time;
use serde::{Deserialize, Serialize};

use super::rule::Factors;
use super::sockets::Connection;
use crate::common::{self, Common, Network};

/// The longest times between samples and between searches.
const INTERVAL_MAX: Duration = Duration::from_secs(1);
const SEARCH_MAX: Duration = Duration::from_secs(60);

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
    /// The connections that the rule applies to: those that satisfy all conditions.
    pub select: Select,
    /// Factors of the rule.
    pub rule: RuleSettings,
    /// Time between two samples of a connection.
    pub interval: Time,
    /// Time between two searches for new connections.
    pub search: Time,
    /// Maximum number of connections under the rule.
    pub connections: u32,
}

/// Conditions on a connection. An empty list is no condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Select {
    /// Ports of the far end.
    pub remote_ports: Vec<u16>,
    /// Ports of this end.
    pub local_ports: Vec<u16>,
    /// Networks of the far end.
    pub networks: Vec<Network>,
    /// Names of programs, as in `/proc/PID/comm`.
    pub programs: Vec<String>,
}

/// Factors of the rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleSettings {
    /// Factor of the window of a path with empty queues.
    pub lambda: f64,
    /// Weight of the previous estimate.
    pub alpha: f64,
    /// Minimum window in segments.
    pub floor: u32,
}

impl Settings {
    /// The rules that types cannot express.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        let require = |ok: bool, key: &str, help: &str| {
            if ok { Ok(()) } else { Err(Wrong::new(key, "out of range", help)) }
        };
        let rule = &self.rule;
        let within = |time: Time, most: Duration| time.0 >= Duration::from_micros(100) && time.0 <= most;
        require((0.001..=1000.0).contains(&rule.lambda), "rule.lambda", "it must be from 0.001 to 1000")?;
        require((0.0..=0.999).contains(&rule.alpha), "rule.alpha", "it must be from 0 to 0.999")?;
        require((1..=1000).contains(&rule.floor), "rule.floor", "it must be from 1 to 1000 segments")?;
        require(within(self.interval, INTERVAL_MAX), "interval", "it must be from 100 us to 1 s")?;
        require(within(self.search, SEARCH_MAX), "search", "it must be from 100 us to 60 s")
    }

    /// The factors as numbers of the rule.
    pub(super) fn factors(&self) -> Factors {
        let millionths = |factor: f64| (factor * 1e6).round() as u64;
        Factors {
            lambda_millionths: millionths(self.rule.lambda),
            alpha_millionths: millionths(self.rule.alpha) as u32,
            floor_segments: self.rule.floor,
        }
    }
}

impl Select {
    /// Whether a connection satisfies the conditions on its addresses.
    pub(super) fn takes(&self, connection: &Connection) -> bool {
        let one_of = |ports: &[u16], port| ports.is_empty() || ports.contains(&port);
        one_of(&self.remote_ports, connection.remote_port)
            && one_of(&self.local_ports, connection.local_port)
            && (self.networks.is_empty()
                || self.networks.iter().any(|one| one.0.contains(&connection.remote)))
    }
}
