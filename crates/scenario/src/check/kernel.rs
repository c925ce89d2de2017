//! Checks of flows over a Linux kernel.

use airlane_core::Bytes;

use super::flow::tcp;
use super::{Checked, Place};
use crate::format::{Congestion, Exec, Kernel, KernelEnds, LossDiscriminator, Requests, Tcp};
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
    let both = kernel.ends == KernelEnds::Both;
    at.require(both || kernel.exec.is_none(), "exec", "it needs a kernel at both ends", "leave out `ends`")?;
    at.require(
        !both || kernel.peer.is_none(),
        "peer",
        "both ends are the kernel's",
        "write ends = \"server\" or \"ue\"",
    )?;
    kernel.peer.as_ref().map_or(Ok(()), |tcp| peer(tcp, &at.under("peer")))?;
    let one = kernel.exec.is_none() || kernel.requests.is_none();
    at.require(one, "requests", "the flow has programs", "leave out `exec` or `requests`")?;
    let whole = both || kernel.requests.is_none();
    at.require(whole, "requests", "they need a kernel at both ends", "leave out `ends`")?;
    kernel.requests.as_ref().map_or(Ok(()), |requests| sizes(requests, &at.under("requests")))?;
    kernel.exec.as_ref().map_or(Ok(()), |exec| programs(exec, &at.under("exec")))
}

/// The other end is a plain sender or receiver.
fn peer(settings: &Tcp, at: &Place<'_>) -> Checked {
    tcp(settings, at)?;
    let listens = settings.congestion == Congestion::Mdcc;
    at.require(!listens, "congestion", "the peer of a kernel gets no messages of PEPs", "choose another")?;
    let plain = matches!(settings.loss_discriminator, LossDiscriminator::Legacy);
    let help = "leave it out, or use kind = \"tcp\"";
    at.require(plain, "loss_discriminator", "the peer of a kernel has no loss discriminator", help)
}

fn sizes(requests: &Requests, at: &Place<'_>) -> Checked {
    at.at_least(requests.request, Size(Bytes(1)), "request", "out of range")?;
    at.at_least(requests.reply, Size(Bytes(1)), "reply", "out of range")?;
    at.require(
        requests.count != Some(0),
        "count",
        "out of range",
        "it must be at least 1; leave it out for no limit",
    )
}

fn programs(exec: &Exec, at: &Place<'_>) -> Checked {
    for (key, command) in [("server", &exec.server), ("ue", &exec.ue)] {
        let one_line = (1..TEXT_MAX).contains(&command.len()) && !command.contains(['\n', '\0']);
        at.require(one_line, key, "not a command", "write one line for the shell, such as \"iperf3 -s\"")?;
    }
    Ok(())
}
