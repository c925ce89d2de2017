//! The program in the kernel: loading, and the maps.

use std::io;
use std::path::Path;

#[cfg(feature = "bpf")]
pub(super) use loaded::Loaded;

use crate::requirement::Requirement;

/// The compiled program. `make bpf` makes it from `bpf/`.
#[cfg(feature = "bpf")]
pub(super) const OBJECT: &[u8] = include_bytes!("../../bpf/mdcc.bpf.o");

/// `linux/capability.h`.
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// Rights and functions of the kernel that the program needs.
pub(super) fn requirements() -> Vec<Requirement> {
    vec![
        built(),
        byte_order(),
        Requirement::tried(
            "types of the kernel (BTF)",
            readable("/sys/kernel/btf/vmlinux"),
            "the kernel needs CONFIG_DEBUG_INFO_BTF",
        ),
        release((6, 4)),
        jit(),
        Requirement::capability("CAP_BPF", CAP_BPF),
        // A program of this type has access to sockets (`is_perfmon_prog_type` in kernel/bpf/syscall.c).
        Requirement::capability("CAP_PERFMON", CAP_PERFMON),
    ]
}

fn built() -> Requirement {
    let name = "airlane built with BPF (feature bpf)";
    if cfg!(feature = "bpf") {
        return Requirement::met(name);
    }
    let help = "install libelf-dev and zlib1g-dev, and build airlane again: make build";
    Requirement::missing(name, format!("this build cannot load programs into the kernel; {help}"))
}

fn byte_order() -> Requirement {
    let name = "little-endian machine";
    if cfg!(target_endian = "little") {
        return Requirement::met(name);
    }
    Requirement::missing(name, "the compiled program is for little-endian machines")
}

fn readable(path: &str) -> io::Result<()> {
    Path::new(path).metadata().map(drop)
}

/// The first version of the kernel with links for `struct_ops` (`BPF_F_LINK`).
fn release(least: (u32, u32)) -> Requirement {
    let name = format!("Linux {}.{} or later (struct_ops with links)", least.0, least.1);
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.trim().split(['.', '-']).map_while(|word| word.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) if (major, minor) >= least => Requirement::met(name),
        _ => Requirement::missing(name, format!("this kernel is {}", release.trim())),
    }
}

/// `struct_ops` needs the compiler: an interpreter does not run them (`bpf_struct_ops_map_update_elem`).
fn jit() -> Requirement {
    let name = "compiler of BPF (net.core.bpf_jit_enable)";
    match std::fs::read_to_string("/proc/sys/net/core/bpf_jit_enable").as_deref().map(str::trim) {
        Ok("0") => Requirement::missing(name, "it is 0; sysctl -w net.core.bpf_jit_enable=1"),
        Ok(_) => Requirement::met(name),
        Err(e) => Requirement::missing(name, format!("{e}; the kernel needs CONFIG_BPF_JIT")),
    }
}

#[cfg(feature = "bpf")]
mod loaded {
    use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, PrintLevel, set_print};

    use super::OBJECT;
    use crate::error::NodeError;
    use crate::mdcc::shared::{KEY, Windows};

    /// Connections that one system call reads.
    const BATCH: u32 = 1024;

    /// The congestion control in the kernel. It is removed when this value is dropped or the process ends: new
    /// connections then use another congestion control, and existing ones keep it until they close.
    pub(crate) struct Loaded {
        reports: MapHandle,
        windows: MapHandle,
        _link: Link,
        _object: Object,
    }

    impl Loaded {
        /// Loads the program and registers the congestion control with these settings.
        pub(crate) fn load(settings: &[u8]) -> Result<Self, NodeError> {
            const HELP: &str = "airlane node mdcc CONFIG.toml --check names what is missing";
            let failed = |e: libbpf_rs::Error| {
                NodeError::new(format!("the kernel does not take the congestion control: {e:#}"), HELP)
            };
            set_print(Some((PrintLevel::Warn, |_, text| tracing::warn!("{}", text.trim_end()))));
            let mut object =
                ObjectBuilder::default().open_memory(OBJECT).and_then(|open| open.load()).map_err(failed)?;
            let (mut reports, mut windows, mut link) = (None, None, None);
            for map in object.maps() {
                match map.name().to_str() {
                    Some("reports") => reports = Some(MapHandle::try_from(&map).map_err(failed)?),
                    Some("windows") => windows = Some(MapHandle::try_from(&map).map_err(failed)?),
                    Some("settings") => {
                        map.update(&0_u32.to_ne_bytes(), settings, MapFlags::ANY).map_err(failed)?;
                    }
                    _ => {}
                }
            }
            for mut map in object.maps_mut() {
                if map.name() == "mdcc" {
                    link = Some(map.attach_struct_ops().map_err(failed)?);
                }
            }
            let missing = || NodeError::new("the program lacks a map", "this is a bug; please report it");
            Ok(Self {
                reports: reports.ok_or_else(missing)?,
                windows: windows.ok_or_else(missing)?,
                _link: link.ok_or_else(missing)?,
                _object: object,
            })
        }

        /// Hands a report to the connection. False if it has ended.
        pub(crate) fn report(&self, key: &[u8; KEY], value: &[u8]) -> bool {
            self.reports.update(key, value, MapFlags::EXIST | MapFlags::LOCK).is_ok()
        }

        /// All connections with their state.
        pub(crate) fn connections(&self) -> Vec<([u8; KEY], Windows)> {
            let pairs = self.windows.lookup_batch(BATCH, MapFlags::ANY, MapFlags::ANY);
            let read =
                |(key, value): (Vec<u8>, Vec<u8>)| Some((key.try_into().ok()?, Windows::read(&value)?));
            pairs.into_iter().flatten().filter_map(read).collect()
        }
    }
}
