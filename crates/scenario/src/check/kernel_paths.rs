//! Checks of flows over the Multipath TCP of a Linux kernel.

use airlane_settings::nearest_help;

use super::{Checked, Place};
use crate::format::{Flow, Kernel, KernelEnds, KernelMptcp, Middlebox, Resolved};
use crate::transports::SUBFLOWS_MAX;

/// A connection over these accesses of the UE, or of the host.
pub(super) fn kernel_paths(
    kernel: &Kernel,
    one: &Flow,
    (accesses, scenario): (&Vec<String>, &Resolved),
    at: &Place<'_>,
) -> Checked {
    let Some(mptcp) = &kernel.mptcp else { return Ok(()) };
    let transport = at.under("transport");
    let within = transport.under("mptcp");
    let paths = mptcp.paths.as_ref().unwrap_or(accesses);
    let fits = paths.len() <= SUBFLOWS_MAX;
    let help = format!("name at most {SUBFLOWS_MAX} paths, which are as many as Linux has endpoints");
    within.require(fits, "paths", "too many paths", &help)?;
    managers(mptcp, paths, &within)?;
    let help = "leave out `ends`, or `mptcp`";
    let what = "Multipath TCP needs a kernel at both ends";
    transport.require(kernel.ends == KernelEnds::Both, "ends", what, help)?;
    let help = "use app = \"bulk\" or app = \"fixed\", or leave out `mptcp`";
    for (key, is_there) in [("exec", kernel.exec.is_some()), ("requests", kernel.requests.is_some())] {
        transport.require(!is_there, key, "not supported over Multipath TCP", help)?;
    }
    links(paths, scenario, at)?;
    unsupported(one, scenario, at)
}

/// The settings of the path managers.
fn managers(mptcp: &KernelMptcp, paths: &[String], at: &Place<'_>) -> Checked {
    let first = paths.first();
    let begins = mptcp.backup.as_ref().is_some_and(|names| names.iter().any(|name| Some(name) == first));
    let help = "name another path first in `paths`, or leave this one out";
    at.require(!begins, "backup", "the connection begins on this path, before it has an endpoint", help)?;
    let Some(announced) = &mptcp.announced else { return Ok(()) };
    let at = at.under("announced");
    let help = "let the server announce its address, or leave it out: the host then opens the subflow";
    let listens = announced.host.is_none();
    at.require(listens, "host", "no socket of the kernel listens at the end that has connected", help)?;
    let known: Vec<&str> = paths.iter().skip(1).map(String::as_str).collect();
    let names = announced.server.iter().flatten();
    for (index, name) in names.clone().enumerate() {
        if !known.contains(&name.as_str()) {
            let message = format!("{name:?} is no path of the connection behind the first");
            at.fail("server", message, nearest_help(name, &known))?;
        }
        let is_twice = names.clone().skip(index + 1).any(|other| other == name);
        at.require(!is_twice, "server", "a path occurs twice", "name each path once")?;
    }
    Ok(())
}

/// The links of its paths.
fn links(paths: &[String], scenario: &Resolved, at: &Place<'_>) -> Checked {
    for link in scenario.link.iter().filter(|link| paths.contains(&link.name)) {
        let what = format!("the link {:?} has `notice`, and nothing tells the kernel of it", link.name);
        let help = "leave out `notice` and `warning` of the link, or use kind = \"mptcp\"";
        at.require(link.notice.is_none(), "transport", &what, help)?;
        let what = format!(
            "the link {:?} has `strip`, which leaves the segments of a kernel as they are",
            link.name
        );
        let help = "leave out `strip` of the link, or use kind = \"mptcp\"";
        at.require(link.strip.is_none(), "transport", &what, help)?;
    }
    Ok(())
}

/// Keys and middleboxes that it is not combined with.
fn unsupported(one: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let boxes =
        scenario.middlebox.iter().any(|one| matches!(one, Middlebox::SplitProxy(_) | Middlebox::Pep(_)));
    let help = "leave out the middlebox, or `mptcp`";
    at.require(!boxes, "transport", "Multipath TCP does not pass middleboxes", help)?;
    let keys = [
        ("five_qi", one.five_qi.is_some()),
        ("qos", one.qos.is_some()),
        ("server_delay", one.server_delay.is_some()),
    ];
    keys.into_iter().try_for_each(|(key, is_there)| {
        at.require(!is_there, key, "not supported over Multipath TCP", "leave it out")
    })
}
