//! The kernels that `airlane kernel build` has built.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::GuestError;

/// The version of the interface between a kernel with its agent and this program. A kernel of another version is built
/// again.
pub const INTERFACE: u32 = 1;
/// The name of the kernel, in its folder.
pub const PROGRAM: &str = "linux";
/// The name of its first program.
pub const AGENT: &str = "agent";
/// The name of its configuration.
pub const CONFIG: &str = "config";
/// The name of its description.
pub const DESCRIPTION: &str = "kernel.json";

/// A kernel in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFiles {
    /// The kernel.
    pub program: PathBuf,
    /// Path of the first program.
    pub agent: PathBuf,
    /// Its configuration.
    pub config: PathBuf,
    /// Release of the kernel, as uname(1) shows it.
    pub release: String,
}

impl KernelFiles {
    /// Checks that it was built with Multipath TCP, and with routes by the source of packets; `name` is that of the kernel.
    ///
    /// # Errors
    /// If it was not, as by an older version of airlane.
    pub fn require_multipath(&self, name: &str) -> Result<(), GuestError> {
        let config = fs::read_to_string(&self.config).unwrap_or_default();
        let has = |option: &str| config.lines().any(|line| line == option);
        if ["CONFIG_MPTCP=y", "CONFIG_IP_MULTIPLE_TABLES=y"].into_iter().all(has) {
            return Ok(());
        }
        let what = format!("the kernel {name:?} was built without Multipath TCP");
        let help = format!("airlane kernel build {name} --force builds one with it, in some minutes");
        Err(GuestError::missing(what, help))
    }

    /// Whether the kernel exchanges its clock in a shared memory: since Linux 6.10. An older one would not read it.
    /// `AIRLANE_KERNEL_MESSAGES` makes each kernel exchange messages.
    #[must_use]
    pub fn shares_clock(&self) -> bool {
        let mut parts =
            self.release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
        let version: (u32, u32) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        version >= (6, 10) && env::var_os("AIRLANE_KERNEL_MESSAGES").is_none()
    }
}

/// The parts of a description that a run needs.
#[derive(Debug, Deserialize)]
struct Description {
    release: String,
    interface: u32,
}

/// The folder of all kernels: `AIRLANE_KERNELS`, or a folder in the user's cache.
#[must_use]
pub fn folder() -> PathBuf {
    let given = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || {
        let home = given("HOME").unwrap_or_else(|| PathBuf::from("."));
        given("XDG_CACHE_HOME").unwrap_or_else(|| home.join(".cache"))
    };
    given("AIRLANE_KERNELS").unwrap_or_else(|| cache().join("airlane").join("kernels"))
}

/// Finds the kernel of this name.
///
/// # Errors
/// If there is none, or if it was built for another version of this program.
pub fn find(name: &str) -> Result<KernelFiles, GuestError> {
    find_in(&folder(), name)
}

fn find_in(folder: &Path, name: &str) -> Result<KernelFiles, GuestError> {
    let own = folder.join(name);
    let Ok(text) = fs::read_to_string(own.join(DESCRIPTION)) else {
        let known = names(folder);
        let there = match known.as_slice() {
            [] => "there is none yet".to_owned(),
            known => format!("there are: {}", known.join(", ")),
        };
        let help = format!("airlane kernel build {name} builds it, in some minutes; {there}");
        return Err(GuestError::missing(format!("no kernel {name:?} in {}", folder.display()), help));
    };
    let again = format!("airlane kernel build {name} --force builds it again");
    let description: Description = serde_json::from_str(&text).map_err(|error| {
        GuestError::missing(format!("{}: {error}", own.join(DESCRIPTION).display()), again.clone())
    })?;
    if description.interface != INTERFACE {
        let what = format!(
            "the kernel {name:?} was built for version {} of the interface to guests, and this is version {INTERFACE}",
            description.interface
        );
        return Err(GuestError::missing(what, again));
    }
    let [program, agent, config] = [PROGRAM, AGENT, CONFIG].map(|file| own.join(file));
    Ok(KernelFiles { program, agent, config, release: description.release })
}

/// The names of all kernels, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter(|entry| entry.path().join(DESCRIPTION).is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_shared_since_6_10() {
        let shares = |release: &str| {
            let release = release.to_owned();
            let [program, agent, config] = [(); 3].map(|()| PathBuf::new());
            KernelFiles { program, agent, config, release }.shares_clock()
        };
        assert_eq!(
            ["6.1.192", "6.9.0", "6.10.0-rc1", "6.12.117", "7.0"].map(shares),
            [false, false, true, true, true]
        );
    }

    #[test]
    fn a_missing_kernel_is_named_with_those_that_exist() {
        let folder = env::temp_dir().join(format!("airlane-kernels-{}", std::process::id()));
        let own = folder.join("6.1");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join(DESCRIPTION), r#"{"release": "6.1.9", "interface": 1, "other": 2}"#).unwrap();
        assert_eq!(find_in(&folder, "6.1").unwrap().release, "6.1.9");
        let files = find_in(&folder, "6.1").unwrap();
        let error = files.require_multipath("6.1").unwrap_err();
        assert!(error.to_string().contains("airlane kernel build 6.1 --force"), "{error}");
        fs::write(own.join(CONFIG), "CONFIG_MPTCP=y\nCONFIG_IP_MULTIPLE_TABLES=y\n").unwrap();
        files.require_multipath("6.1").unwrap();
        let error = find_in(&folder, "6.12").unwrap_err();
        assert!(error.to_string().contains("airlane kernel build 6.12"), "{error}");
        assert!(error.to_string().contains("there are: 6.1"), "{error}");
        fs::write(own.join(DESCRIPTION), r#"{"release": "6.1.9", "interface": 0}"#).unwrap();
        assert!(find_in(&folder, "6.1").unwrap_err().to_string().contains("version 0"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
