//! Checks of middleboxes.

use airlane_core::Bytes;

use super::{Checked, Place};
use crate::format::{Congestion, Middlebox, Pep, PepFault, ProxyInitialWindow, Resolved, SplitProxy};
use crate::quantity::Size;

/// Maximum number of flows observed by a PEP: about half a kilobyte each.
const WATCHED_MAX: u32 = 1_000_000;
/// Maximum number of ranges per flow: more than the holes in any window that recovers.
const RANGES_MAX: u32 = 1_000;
/// Maximum number of connections of a split proxy: about twenty kilobytes each, besides its buffers.
const CONNECTIONS_MAX: u32 = 1_000_000;
/// Maximum initial window in segments, as of a flow.
const INITIAL_WINDOW_MAX: u32 = 1_000;
/// Maximum number of segments per message, or above a hole.
const SEGMENTS_MAX: u32 = 255;

pub(super) fn middleboxes(scenario: &Resolved, at: &Place<'_>) -> Checked {
    let at = at.under("middlebox");
    let mut proxies = [false; 2];
    for (i, one) in scenario.middlebox.iter().enumerate() {
        match one {
            Middlebox::Pep(settings) => {
                let help = "a scenario with a PEP can have no second PEP and no split proxy";
                at.require(scenario.middlebox.len() == 1, "1", "it cannot be combined with the PEP", help)?;
                pep(settings, &at.entry(i))?;
            }
            Middlebox::SplitProxy(settings) => {
                let place = &mut proxies[settings.at as usize];
                let help = "use one split proxy in the gateway, one in each eNB, or both";
                at.entry(i).require(!*place, "at", "another split proxy is at this place", help)?;
                *place = true;
                split_proxy(settings, &at.entry(i))?;
            }
        }
    }
    Ok(())
}

fn split_proxy(proxy: &SplitProxy, at: &Place<'_>) -> Checked {
    for (leg, name) in [(&proxy.core, "core"), (&proxy.ran, "ran")] {
        super::flow::tcp(leg, &at.under(name))?;
        let ok = leg.congestion != Congestion::Mdcc;
        let key = format!("{name}.congestion");
        at.require(
            ok,
            &key,
            "MDCC needs a PEP, which cannot be combined with a split proxy",
            "choose another controller",
        )?;
        let ok = leg.congestion != Congestion::Pbe;
        at.require(ok, &key, "no radio information reaches a split proxy", "choose another controller")?;
        let ok = leg.write_size.is_none();
        let key = format!("{name}.write_size");
        at.require(ok, &key, "a split proxy writes what it reads, in any size", "leave it out")?;
    }
    let segments = Size(Bytes(2 * proxy.core.mtu.0.get().max(proxy.ran.mtu.0.get())));
    at.at_least(proxy.buffer, segments, "buffer", "too small for two full segments")?;
    let least = Size(Bytes(2 * segments.0.get()));
    at.at_least(
        proxy.memory,
        least,
        "memory",
        "too small for two full segments in each direction of a connection",
    )?;
    if let ProxyInitialWindow::Shared(shared) = &proxy.initial_window {
        let known = (1..=INITIAL_WINDOW_MAX).contains(&shared.max);
        let help = format!("it must be from 1 to {INITIAL_WINDOW_MAX}");
        at.require(known, "initial_window.max", "out of range", &help)?;
    }
    let within = (1..=CONNECTIONS_MAX).contains(&proxy.connections);
    let help = format!("it must be from 1 to {CONNECTIONS_MAX}");
    at.require(within, "connections", "out of range", &help)?;
    at.positive(proxy.connect_timeout, "connect_timeout")?;
    at.positive(proxy.stall_timeout, "stall_timeout")?;
    at.positive(proxy.idle_timeout, "idle_timeout")
}

fn pep(pep: &Pep, at: &Place<'_>) -> Checked {
    let within = |value: u32, most: u32, key: &str| {
        at.require((1..=most).contains(&value), key, "out of range", &format!("it must be from 1 to {most}"))
    };
    within(pep.ack_every, SEGMENTS_MAX, "ack_every")?;
    within(pep.reordering, SEGMENTS_MAX, "reordering")?;
    within(pep.flows, WATCHED_MAX, "flows")?;
    within(pep.ranges, RANGES_MAX, "ranges")?;
    at.positive(pep.max_delay, "max_delay")?;
    at.positive(pep.idle, "idle")?;
    at.require(!pep.secret.is_empty(), "secret", "the secret is empty", "write one or more characters")?;
    match &pep.fault {
        PepFault::Dies(dies) => {
            let ordered = dies.until.is_none_or(|until| until > dies.at);
            at.require(ordered, "fault.until", "not after `at`", "it must be above `at`")
        }
        PepFault::None
        | PepFault::Lies(_)
        | PepFault::Loses(_)
        | PepFault::Reorders(_)
        | PepFault::Duplicates(_)
        | PepFault::Truncates(_)
        | PepFault::Forges
        | PepFault::Replays => Ok(()),
    }
}
