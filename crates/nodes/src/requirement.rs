//! Requirements of a node on its machine.

use std::fs;

use serde::Serialize;

/// A requirement of a node, and whether this machine meets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Requirement {
    /// The right, function, file or address.
    pub name: String,
    /// Why it is missing, with a remedy; `None` if it is there.
    pub missing: Option<String>,
}

impl Requirement {
    /// A requirement that is met.
    pub fn met(name: impl Into<String>) -> Self {
        Self { name: name.into(), missing: None }
    }

    /// A requirement that is not met, with the reason and a remedy.
    pub fn missing(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self { name: name.into(), missing: Some(why.into()) }
    }

    /// A requirement with the result of a trial.
    pub fn tried<E: core::fmt::Display>(name: impl Into<String>, tried: Result<(), E>, help: &str) -> Self {
        match tried {
            Ok(()) => Self::met(name),
            Err(e) => Self::missing(name, format!("{e}; {help}")),
        }
    }

    /// A capability of this process, by its name and its number in `linux/capability.h`.
    pub fn capability(name: &str, number: u32) -> Self {
        let help = format!(
            "start the node as root, or give it the capability: AmbientCapabilities={name} in its systemd unit"
        );
        match effective_capabilities() {
            Some(set) if set >> number & 1 == 1 => Self::met(name),
            Some(_) => Self::missing(name, format!("this process does not have it; {help}")),
            None => Self::missing(name, format!("/proc/self/status does not say; {help}")),
        }
    }
}

/// The effective capabilities of this process, as bits.
fn effective_capabilities() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}
