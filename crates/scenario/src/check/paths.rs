//! Checks of links next to the network, the accesses of UEs, and flows over several paths.

use std::collections::BTreeSet;

use airlane_settings::nearest_help;

use super::{Checked, PACKET, Place, flow, kernel_paths, mpquic, name};
use crate::expand::{self, INTERNET};
use crate::format::{
    AccessLink, App, Congestion, Ecn, Flow, Middlebox, Mobility, Mptcp, MptcpScheduler, Network,
    ReceiveWindow, Resolved, Transport, Ue,
};
use crate::transports::{NOTICED_INTERVALS_MAX, PathKeys, SUBFLOWS_MAX};

/// Links next to the network.
pub(super) fn links(scenario: &Resolved, at: &Place<'_>) -> Checked {
    let at = at.under("link");
    let mut names: BTreeSet<String> = scenario.cell.iter().map(|cell| cell.name.clone()).collect();
    names.insert(INTERNET.to_owned());
    for (i, link) in scenario.link.iter().enumerate() {
        let at = at.entry(i);
        let help = "leave out internet.shared = false, or the link";
        at.require_here(scenario.internet.shared, "it needs an internet link that all servers share", help)?;
        name(&link.name, &mut names, &at)?;
        one_link(link, &at)?;
    }
    Ok(())
}

fn one_link(link: &AccessLink, at: &Place<'_>) -> Checked {
    for (queue, key) in [(link.queue, "queue"), (link.uplink_queue, "uplink_queue")] {
        at.at_least(queue, PACKET, key, "too small for a full packet")?;
    }
    let has_intervals = link.notice.is_none() || link.coverage.is_some();
    at.require(
        has_intervals,
        "notice",
        "there is no coverage that ends",
        "add coverage, or leave out notice",
    )?;
    let notifies = link.warning.is_none() || link.notice.is_some();
    at.require(notifies, "warning", "hosts are not notified of the end that follows", "add notice")?;
    let Some(coverage) = &link.coverage else { return Ok(()) };
    let few = link.notice.is_none() || coverage.len() <= NOTICED_INTERVALS_MAX;
    let help = format!("write up to {NOTICED_INTERVALS_MAX} intervals, or leave out notice");
    at.require(few, "coverage", "too many intervals of which hosts are notified", &help)?;
    let mut open = None;
    for interval in coverage {
        let follows = open.is_none_or(|end: Option<_>| end.is_some_and(|end| end <= interval.from));
        let lasts = interval.until.is_none_or(|until| until > interval.from);
        let help = "sort the intervals by `from`; each begins after the end of the one before, and `until` is above `from`";
        at.require(follows && lasts, "coverage", "not a sequence of intervals", help)?;
        open = Some(interval.until);
    }
    Ok(())
}

/// The accesses of a UE.
pub(super) fn accesses(ue: &Ue, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let Some(names) = &ue.access else { return Ok(()) };
    let cells: Vec<_> = scenario.cell.iter().filter(|cell| !cell.interferer).map(|cell| &cell.name).collect();
    let known: Vec<&str> = cells
        .iter()
        .copied()
        .chain(scenario.link.iter().map(|link| &link.name))
        .map(String::as_str)
        .collect();
    for access in names {
        if !known.contains(&access.as_str()) {
            let message = format!("no cell or link has the name {access:?}");
            at.fail("access", message, nearest_help(access, &known))?;
        }
    }
    let distinct: BTreeSet<_> = names.iter().collect();
    at.require(distinct.len() == names.len(), "access", "a name occurs twice", "leave out one of them")?;
    let radios = names.iter().filter(|access| cells.contains(access)).count();
    at.require(radios > 0, "access", "no cell is among the accesses", "add the name of a cell")?;
    let help = "leave it out: `access` names the cells";
    at.require(ue.cell.is_none(), "cell", "it cannot be combined with `access`", help)?;
    at.require(ue.carriers.is_none(), "carriers", "it cannot be combined with `access`", help)?;
    if radios < 2 {
        return Ok(());
    }
    let fixed = scenario.handover.is_none();
    let help = "leave out [handover], or name one cell in `access`";
    at.require(fixed, "access", "a UE with radios in several cells is not handed over", help)?;
    // Each radio draws its own positions.
    let steady = match &ue.mobility {
        Mobility::Static => ue.position.is_some(),
        Mobility::Line(line) => {
            ue.position.is_some() && line.speed_deviation.is_none() && line.speed_variance.is_none()
        }
        Mobility::Trace(_) => true,
        Mobility::RandomWaypoint(_) | Mobility::RandomWalk(_) | Mobility::LevyWalk(_) => false,
    };
    let help = "use `position` and mobility = \"static\", a line with a constant speed, or a movement trace";
    at.require(
        steady && ue.building.is_none(),
        "access",
        "radios in several cells need a position without random draws",
        help,
    )
}

/// The access of a flow, and flows over several paths.
pub(super) fn flow_paths(one: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
    if one.access.is_none() && !one.transport.is_multipath() {
        return Ok(());
    }
    let names = expand::access_names(scenario, one);
    let known: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    let is_known = |access: &String| known.contains(&access.as_str());
    if let Some(access) = &one.access {
        let help = "use transport.paths with several paths";
        at.require(!one.transport.is_multipath(), "access", "it is for flows with one path", help)?;
        let help =
            if known.is_empty() { "add `access` to the UE".to_owned() } else { nearest_help(access, &known) };
        at.require(is_known(access), "access", "the UE has no access with this name", &help)?;
    }
    let Some(PathKeys { what, paths, backup, .. }) = one.transport.path_keys() else { return Ok(()) };
    let several = scenario.network == Network::Wired || !known.is_empty();
    let help = "add `access` to the UE, and name the UE, not one of its radios, in `to`";
    at.require(several, "to", &format!("{what} needs the accesses of a UE"), help)?;
    let within = at.under("transport");
    let keys = if matches!(one.transport, Transport::Kernel(_)) {
        within.under("mptcp")
    } else {
        at.under("transport")
    };
    for (key, list) in [("paths", paths), ("backup", backup)] {
        let Some(list) = list else { continue };
        if let Some(other) = list.iter().find(|path| !is_known(path)) {
            let message = format!("the UE has no access with the name {other:?}");
            let help = if known.is_empty() {
                "add `access` to the UE".to_owned()
            } else {
                nearest_help(other, &known)
            };
            keys.fail(key, message, help)?;
        }
        if let Some(other) = list.iter().find(|path| paths.is_some_and(|paths| !paths.contains(path))) {
            let help = format!("add it to `paths`, or leave it out of `{key}`");
            keys.fail(key, format!("{other:?} is none of the connection's `paths`"), help)?;
        }
        let distinct: BTreeSet<_> = list.iter().collect();
        let good = distinct.len() == list.len() && !list.is_empty();
        keys.require(good, key, "the list is empty, or has a name twice", "name each path once")?;
    }
    match &one.transport {
        Transport::Mptcp(mptcp) => self::mptcp(mptcp, one, (&names, scenario), at),
        Transport::Mpquic(settings) => {
            mpquic::mpquic(settings, names.len(), &within)?;
            mpquic::unsupported(one, scenario, at)?;
            flow::quic(&settings.quic, &within.under("quic"))
        }
        Transport::Kernel(settings) => kernel_paths::kernel_paths(settings, one, (&names, scenario), at),
        _ => Ok(()),
    }
}

fn mptcp(mptcp: &Mptcp, one: &Flow, (names, scenario): (&Vec<String>, &Resolved), at: &Place<'_>) -> Checked {
    let within = at.under("transport");
    announced(mptcp, (names, scenario), &within)?;
    let help = "add stop to the flow, which must have an endless transfer, or leave out abort";
    let stops = one.stop.is_some() && matches!(one.app, App::Bulk(_));
    within.require(mptcp.abort != Some(true) || stops, "abort", "the flow has no `stop`", help)?;
    let paths = mptcp.paths.as_ref().map_or(names.len(), Vec::len);
    subflows(mptcp, paths, &within)?;
    unsupported(one, mptcp, scenario, at)?;
    flow::tcp(&mptcp.tcp, &within.under("tcp"))
}

/// The addresses that ends announce.
fn announced(mptcp: &Mptcp, (all, scenario): (&Vec<String>, &Resolved), at: &Place<'_>) -> Checked {
    let Some(announced) = &mptcp.announced else { return Ok(()) };
    let at = at.under("announced");
    let paths = mptcp.paths.as_ref().unwrap_or(all);
    let known: Vec<&str> = paths.iter().skip(1).map(String::as_str).collect();
    let mut seen = BTreeSet::new();
    for (key, list) in [("server", &announced.server), ("host", &announced.host)] {
        for name in list.iter().flatten() {
            if !known.contains(&name.as_str()) {
                let message = format!("{name:?} is no path of the connection behind the first");
                at.fail(key, message, nearest_help(name, &known))?;
            }
            at.require(seen.insert(name), key, "a path occurs twice", "name each path once")?;
            let link = scenario.link.iter().find(|link| link.name == *name);
            let steady = key == "server" || link.is_none_or(|link| link.notice.is_none());
            let help = "leave out `notice` of the link, or let the server announce its address";
            at.require(steady, key, "an access that comes and goes is not announced by its host", help)?;
        }
    }
    Ok(())
}

fn subflows(mptcp: &Mptcp, paths: usize, at: &Place<'_>) -> Checked {
    let subflows = paths.saturating_mul(mptcp.subflows as usize);
    let help = format!("paths times subflows must be from 1 to {SUBFLOWS_MAX}");
    at.require((1..=SUBFLOWS_MAX).contains(&subflows), "subflows", "out of range", &help)?;
    let own = mptcp.scheduler == MptcpScheduler::Own;
    let help = "write both scheduler = \"own\" and policy, the name of your scheduler, or neither";
    at.require(own == mptcp.policy.is_some(), "policy", "it belongs to a scheduler of your own", help)?;
    let weighted = mptcp.scheduler == MptcpScheduler::Weighted;
    let (help, fault) = (mpquic::WEIGHTS_HELP, mpquic::unlike(weighted));
    at.require(weighted == mptcp.weights.is_some(), "weights", fault, help)?;
    let Some(weights) = &mptcp.weights else { return Ok(()) };
    let fits = weights.len() == subflows && weights.iter().all(|weight| (1..=1_000).contains(weight));
    let help = format!("write a number from 1 to 1000 for each of the {subflows} subflows");
    at.require(fits, "weights", "out of range", &help)
}

/// What Multipath TCP is not combined with.
fn unsupported(one: &Flow, mptcp: &Mptcp, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let tcp = &mptcp.tcp;
    let boxes =
        scenario.middlebox.iter().position(|one| matches!(one, Middlebox::SplitProxy(_) | Middlebox::Pep(_)));
    let help = "leave out the middlebox, or use transport = \"tcp\"";
    at.require(boxes.is_none(), "transport", "Multipath TCP does not pass middleboxes", help)?;

    let help = "leave it out";
    at.require(one.writes.is_none(), "writes", "not supported over Multipath TCP", help)?;
    at.require(one.five_qi.is_none(), "five_qi", "not supported over Multipath TCP", help)?;
    at.require(one.qos.is_none(), "qos", "not supported over Multipath TCP", help)?;
    at.require(one.server_delay.is_none(), "server_delay", "not supported over Multipath TCP", help)?;
    let at = at.under("transport.tcp");
    let law = !matches!(tcp.congestion, Congestion::Mdcc);
    at.require(law, "congestion", "MDCC needs a PEP", "choose another controller")?;
    let room = tcp.ecn != Ecn::Accurate;
    at.require(room, "ecn", "a header has no room for the options of both", "use ecn = false or true")?;
    let plain = matches!(tcp.receive_window, ReceiveWindow::Fixed(_) | ReceiveWindow::Autotuned(_));
    at.require(
        plain,
        "receive_window",
        "not supported over Multipath TCP",
        "use \"fixed\" or \"autotuned\"",
    )?;
    for (set, key) in [
        (tcp.gro == Some(true), "gro"),
        (tcp.gso == Some(true), "gso"),
        (tcp.batched_reads == Some(true), "batched_reads"),
        (tcp.write_size.is_some(), "write_size"),
        (tcp.send_buffer.is_some(), "send_buffer"),
        (tcp.nagle, "nagle"),
    ] {
        at.require(!set, key, "not supported over Multipath TCP", help)?;
    }
    Ok(())
}
