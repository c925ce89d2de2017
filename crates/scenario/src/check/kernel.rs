//! Checks of flows over a Linux kernel.

use airlane_core::Bytes;

use super::{Checked, Place};
use crate::format::{Exec, Kernel};
use crate::quantity::Size;

/// Longest name of a congestion control, with its terminating zero (`TCP_CA_NAME_MAX` of Linux).
const CONGESTION_MAX: usize = 16;
/// Longest name of a kernel, which is the name of a folder.
const NAME_MAX: usize = 64;
/// Largest IP packet of the guest's interfaces: those of virtio without the offload of large packets.
const MTU_MAX: u64 = 1_500;
/// Smallest MTU: every host must take a packet of 68 bytes (RFC 791 §3.2), and IPv4 of Linux asks for no more.
const MTU_MIN: u64 = 128;
/// Largest write of the agent.
const WRITE_MAX: u64 = 1 << 18;
/// Longest command, and longest value of a parameter.
const TEXT_MAX: usize = 2_000;

pub(super) fn kernel(kernel: &Kernel, at: &Place<'_>) -> Checked {
    let known = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    let named = |name: &str, max: usize| {
        (1..max).contains(&name.len()) && name.chars().all(known) && !name.starts_with('.')
    };
    let help = "use a name that `airlane kernel list` shows, such as \"6.12\"";
    at.require(named(&kernel.kernel, NAME_MAX), "kernel", "not a name of a kernel", help)?;
    let help = "use the name that the kernel has for it, such as \"reno\", \"cubic\" or \"bbr\"";
    let what = "not a name of a congestion control";
    at.require(named(&kernel.congestion, CONGESTION_MAX), "congestion", what, help)?;
    let fits = (MTU_MIN..=MTU_MAX).contains(&kernel.mtu.0.get());
    at.require(fits, "mtu", "out of range", "it must be from 128 B to 1500 B")?;
    at.at_least(kernel.write_size, Size(Bytes(1)), "write_size", "out of range")?;
    let fits = kernel.write_size.0.get() <= WRITE_MAX;
    at.require(fits, "write_size", "out of range", "it must be at most 256 KiB")?;
    for (name, value) in &kernel.sysctl {
        let key = format!("sysctl.{name}");
        let letters = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        let valid = (1..128).contains(&name.len()) && name.chars().all(letters) && !name.contains("..");
        let help =
            "write its name as sysctl(8) does, in quotes if it has dots, such as \"net.core.rmem_max\"";
        at.require(valid, "sysctl", "not a name of a parameter", help)?;
        let printable = value.0.len() < 256 && value.0.chars().all(|c| c.is_ascii_graphic() || c == ' ');
        at.require(printable, &key, "not a value of a parameter", "use letters, digits and spaces")?;
    }
    kernel.exec.as_ref().map_or(Ok(()), |exec| programs(exec, &at.under("exec")))
}

fn programs(exec: &Exec, at: &Place<'_>) -> Checked {
    for (key, command) in [("server", &exec.server), ("ue", &exec.ue)] {
        let one_line = (1..TEXT_MAX).contains(&command.len()) && !command.contains(['\n', '\0']);
        at.require(one_line, key, "not a command", "write one line for the shell, such as \"iperf3 -s\"")?;
    }
    Ok(())
}
