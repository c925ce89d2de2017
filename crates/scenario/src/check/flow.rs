//! Checks of flows.

use std::collections::BTreeSet;

use airlane_core::{Bytes, Duration};
use airlane_settings::nearest_help;

use super::{Checked, FLOWS_MAX, Place, kernel, name, paths, qos, rnis};
use crate::applications;
use crate::expand::{self, Reach, UeNames};
use crate::format::{
    App, ArwaWindow, AutotunedWindow, Congestion, FixedWindow, Flow, FlowDirection, Network, Quic,
    ReceiveBuffer, ReceiveWindow, Resolved, Tcp, Transport,
};
use crate::quantity::Size;
use crate::transports::IP_PACKET_MAX;

/// The UDP payload that QUIC requires of a path (RFC 9000 §14), with IPv4 and UDP headers.
const QUIC_MTU_MIN: u64 = 1_228;
/// Smallest MTU: room for all headers and options and some payload.
const MTU_MIN: u64 = 128;

pub(super) fn flows(scenario: &Resolved, at: &Place<'_>) -> Checked {
    let at = at.under("flow");
    let (mut names, ues) = (BTreeSet::new(), UeNames::of(scenario));
    let mut total = 0;
    for (i, flow) in scenario.flow.iter().enumerate() {
        let at = at.entry(i);
        if let Some(own) = &flow.name {
            name(own, &mut names, &at)?;
        }
        let turns = flow.repeat.as_ref().map_or(1, |repeat| u64::from(repeat.count));
        let each = ues.reach(flow).map_or(1, |reach| reach.count());
        total += turns * u64::from(each) * if flow.from.is_some() { 2 } else { 1 };
        if total > FLOWS_MAX {
            let many = format!("the scenario has {total} flows");
            if turns > 1 {
                at.fail("repeat.count", many, "the limit is 10000")?;
            } else {
                at.wrong(many, "the limit is 10000")?;
            }
        }
        destination(flow, scenario, &ues, &at)?;
        source(flow, scenario, &ues, &at)?;
        let ordered = flow.stop.is_none_or(|stop| stop > flow.start);
        at.require(ordered, "stop", "not after `start`", "it must be above `start`")?;
        qos::flow(flow, scenario, &at)?;
        repeat(flow, &at)?;
        writes(flow, &at)?;
        applications::check(flow, scenario, &at)?;
        paths::flow_paths(flow, scenario, &at)?;
        match &flow.transport {
            Transport::Tcp(settings) => {
                tcp(settings, &at.under("transport"))?;
                listens(settings.congestion, flow.direction, &at)?;
            }
            Transport::Quic(settings) => {
                quic(settings, &at.under("transport"))?;
                listens(settings.congestion, flow.direction, &at)?;
            }
            Transport::Kernel(settings) => kernel::kernel(settings, &at.under("transport"))?,
            Transport::Mptcp(_)
            | Transport::Mpquic(_)
            | Transport::Udp(_)
            | Transport::Icmp
            | Transport::External => {}
        }
        rnis::discriminator(flow, scenario, &at)?;
        rnis::law(flow, scenario, &at)?;
    }
    qos::bearers(scenario, &ues, &at)?;
    // An override may make a run shorter than intended, but not this short.
    let idle =
        !scenario.flow.is_empty() && scenario.flow.iter().all(|flow| flow.start >= scenario.run.duration);
    let help = "it must be below run.duration";
    at.require(!idle, "0.start", "every flow starts after the end of the run", help)?;
    let mut seen = BTreeSet::new();
    let all = expand::flows(scenario);
    match all.iter().find(|flow| !seen.insert(flow.name.as_str())) {
        None => Ok(()),
        Some(twice) => {
            let message = format!("two flows would have the name {:?}", twice.name);
            at.entry(twice.section).wrong(message, "give each flow its own name")
        }
    }
}

/// The applications whose packets are limited by the duration of the run.
pub(super) fn packets_of_all(scenario: &Resolved, at: &Place<'_>) -> Checked {
    let mut flows = scenario.flow.iter().enumerate();
    flows.try_for_each(|(i, flow)| applications::check(flow, scenario, &at.entry(i)))
}

/// A PEP observes data to the UE.
fn listens(congestion: Congestion, direction: FlowDirection, at: &Place<'_>) -> Checked {
    let ok = direction == FlowDirection::Downlink || congestion != Congestion::Mdcc;
    let help = "MDCC needs a PEP, which observes the downlink only; choose another controller";
    at.require(ok, "transport.congestion", "it does not work on the uplink", help)
}

fn destination(flow: &Flow, scenario: &Resolved, ues: &UeNames<'_>, at: &Place<'_>) -> Checked {
    if scenario.network == Network::Wired {
        let ok = flow.to.as_deref().is_none_or(|to| to == "host");
        return at.require(ok, "to", "a wired network has one host, named \"host\"", "leave it out");
    }
    let mut names = scenario.ue.iter().map(|u| u.name.as_str());
    let Some(to) = &flow.to else {
        let help = format!("add to = \"{}\"", names.next().unwrap_or("phone"));
        return at.wrong("`to` is missing", help);
    };
    if ues.reach(flow).is_none() {
        let names: Vec<_> = names.collect();
        return at.fail("to", "no UE has this name", nearest_help(to, &names));
    }
    Ok(())
}

/// The UE at the other end of a flow, if that is not the server.
fn source(flow: &Flow, scenario: &Resolved, ues: &UeNames<'_>, at: &Place<'_>) -> Checked {
    let Some(from) = &flow.from else { return Ok(()) };
    let wired = scenario.network == Network::Wired;
    at.require(!wired, "from", "a wired network has no UE", "leave it out: the server is the other end")?;
    let help = "leave it out, or use app = \"rtc\"";
    at.require(flow.app.application().goes_between_ues(), "from", "only calls go from UE to UE", help)?;
    let downlink = flow.direction == FlowDirection::Downlink;
    at.require(downlink, "direction", "`from` and `to` say it", "leave it out, or exchange `from` and `to`")?;
    let Some(senders) = ues.named(from) else {
        let names: Vec<_> = scenario.ue.iter().map(|ue| ue.name.as_str()).collect();
        return at.fail("from", "no UE has this name", nearest_help(from, &names));
    };
    let receivers = ues.reach(flow).expect("checked before");
    let [sending, receiving] = [&senders, &receivers].map(Reach::count);
    let message = format!("{sending} UEs would send to {receiving}");
    at.require(sending == receiving, "from", &message, "name two UEs, or two groups of the same size")?;
    at.require(
        !senders.overlaps(&receivers),
        "from",
        "a UE would call itself",
        "name another UE than in `to`",
    )
}

fn writes(flow: &Flow, at: &Place<'_>) -> Checked {
    let Some(writes) = &flow.writes else { return Ok(()) };
    let bulk = matches!(flow.app, App::Bulk(_))
        && matches!(&flow.transport, Transport::Tcp(tcp) if tcp.write_size.is_none());
    let help = "use app = \"bulk\" and transport = \"tcp\", without `write_size`";
    at.require(bulk, "writes", "it needs an unlimited download over TCP", help)?;
    let sorted = writes.is_sorted_by_key(|write| write.at.0);
    at.require(sorted, "writes", "the entries are not in order of time", "sort them by `at`")?;
    let one = writes.iter().all(|write| !(write.pause && write.rate.is_some()));
    at.require(one, "writes", "an entry cannot have both `pause` and `rate`", "leave out one of them")
}

fn repeat(flow: &Flow, at: &Place<'_>) -> Checked {
    let Some(repeat) = &flow.repeat else { return Ok(()) };
    at.require(repeat.count > 0, "repeat.count", "out of range", "it must be at least 1")?;
    at.positive(repeat.every, "repeat.every")?;
    let once = flow.stop.is_none();
    at.require(once, "stop", "it cannot be combined with `repeat`", "leave out `stop` or `repeat`")
}

pub(super) fn quic(quic: &Quic, at: &Place<'_>) -> Checked {
    quic.controller_keys().check(at)?;
    let threshold = (1..=1_000).contains(&quic.packet_threshold);
    at.require(threshold, "packet_threshold", "out of range", "it must be from 1 to 1000")?;
    let time = (1.0..=10.0).contains(&quic.time_threshold);
    at.require(time, "time_threshold", "out of range", "it must be from 1 to 10 round-trip times")?;
    let persistent = quic.persistent_congestion <= 1_000;
    at.require(
        persistent,
        "persistent_congestion",
        "out of range",
        "it must be at most 1000 timeouts; 0 means never",
    )?;
    at.positive(quic.rto_min, "rto_min")?;
    let initial_window = (2..=1_000).contains(&quic.initial_window);
    at.require(initial_window, "initial_window", "out of range", "it must be from 2 to 1000 datagrams")?;
    let (least, most) = (QUIC_MTU_MIN, IP_PACKET_MAX - 8); // a UDP payload of at most 65527 bytes, RFC 9000 §18.2
    let mtu = (least..=most).contains(&quic.mtu.0.get());
    at.require(
        mtu,
        "mtu",
        "out of range for QUIC",
        "it must be from 1228 B (RFC 9000 section 14) to 65527 B",
    )?;
    let initial = (least..=quic.mtu.0.get()).contains(&quic.initial_mtu.0.get());
    at.require(initial, "initial_mtu", "out of range", "it must be from 1228 B to `mtu`")?;
    let least = Size(quic.mtu.0);
    at.at_least(quic.stream_window, least, "stream_window", "too small for a full datagram")?;
    if let Some(size) = quic.connection_window {
        at.at_least(size, least, "connection_window", "too small for a full datagram")?;
    }
    at.at_least(quic.send_window, least, "send_window", "too small for a full datagram")?;
    let initial_rtt = (Duration::from_millis(1)..=Duration::from_secs(10)).contains(&quic.initial_rtt.0);
    at.require(initial_rtt, "initial_rtt", "out of range", "it must be from 1 ms to 10 s")
}

pub(super) fn tcp(tcp: &Tcp, at: &Place<'_>) -> Checked {
    tcp.controller_keys().check(at)?;
    let mtu = (MTU_MIN..=IP_PACKET_MAX).contains(&tcp.mtu.0.get());
    at.require(mtu, "mtu", "out of range", "it must be from 128 B to 65535 B")?;
    if let Some(mss) = tcp.mss {
        let headers = 40 + if tcp.timestamps { 12 } else { 0 }; // RFC 9293 §3.1, RFC 7323 appendix A
        let (least, most) = (Size(Bytes(MTU_MIN - headers)), Size(Bytes(tcp.mtu.0.get() - headers)));
        let help = format!("it must be from {least} to {most}, the MTU minus the headers");
        at.require((least..=most).contains(&mss), "mss", "out of range for this MTU", &help)?;
    }
    let window = (1..=1_000).contains(&tcp.initial_window);
    at.require(window, "initial_window", "out of range", "it must be from 1 to 1000 segments")?;
    at.positive(tcp.rto_min, "rto_min")?;
    at.positive(tcp.rto_initial, "rto_initial")?;
    let ordered = tcp.rto_max >= tcp.rto_min && tcp.rto_max >= tcp.rto_initial;
    at.require(
        ordered,
        "rto_max",
        "below rto_min or rto_initial",
        "it must be at least rto_min and at least rto_initial",
    )?;
    limits(tcp, at)?;
    let least = Size(tcp.mtu.0);
    receive_window(tcp, least, at)?;
    let message = "too small for a full segment";
    if let Some(size) = tcp.write_size {
        at.at_least(size, Size(Bytes(1)), "write_size", "out of range")?;
        let both = tcp.send_buffer.is_some();
        at.require(
            !both,
            "write_size",
            "it cannot be combined with `send_buffer`",
            "leave out one of them: with `write_size`, the send queue is tuned",
        )?;
    }
    tcp.send_buffer.map_or(Ok(()), |buffer| at.at_least(buffer, least, "send_buffer", message))
}

/// The ranges are those of Linux (`tcp_syn_retries`, `tcp_syn_linear_timeouts`, `tcp_synack_retries`,
/// `tcp_retries2`), which has the same maxima of 127 and 255.
fn limits(tcp: &Tcp, at: &Place<'_>) -> Checked {
    let message = "out of range";
    let (syn, linear) = ((1..=127).contains(&tcp.syn_retries), tcp.syn_linear_timeouts <= 127);
    at.require(syn, "syn_retries", message, "it must be from 1 to 127")?;
    at.require(linear, "syn_linear_timeouts", message, "it must be from 0 to 127")?;
    at.require(tcp.synack_retries <= 255, "synack_retries", message, "it must be from 0 to 255")?;
    at.require((1..=255).contains(&tcp.retries), "retries", message, "it must be from 1 to 255")
}

fn receive_window(tcp: &Tcp, least: Size, at: &Place<'_>) -> Checked {
    let within = at.under("receive_window");
    match &tcp.receive_window {
        ReceiveWindow::Fixed(window) => fixed_buffer(window, least, &within),
        ReceiveWindow::Autotuned(window) => autotuned_buffer(window, least, &within),
        ReceiveWindow::Drwa(window) => {
            buffer(&window.buffer, least, &within)?;
            let floor = window.floor <= 1_000;
            within.require(floor, "floor", "out of range", "it must be from 0 to 1000 segments")?;
            let lambda = (0.001..=1_000.0).contains(&window.lambda);
            within.require(lambda, "lambda", "out of range", "it must be from 0.001 to 1000")?;
            let alpha = (0.0..=0.999).contains(&window.alpha);
            within.require(alpha, "alpha", "out of range", "it must be from 0 to 0.999")
        }
        ReceiveWindow::Arwa(window) => {
            buffer(&window.buffer, least, &within)?;
            arwa(window, tcp, at)
        }
    }
}

fn buffer(buffer: &ReceiveBuffer, least: Size, at: &Place<'_>) -> Checked {
    match buffer {
        ReceiveBuffer::Fixed(window) => fixed_buffer(window, least, &at.under("buffer")),
        ReceiveBuffer::Autotuned(window) => autotuned_buffer(window, least, &at.under("buffer")),
    }
}

fn fixed_buffer(window: &FixedWindow, least: Size, at: &Place<'_>) -> Checked {
    at.at_least(window.size, least, "size", "too small for a full segment")
}

fn autotuned_buffer(window: &AutotunedWindow, least: Size, at: &Place<'_>) -> Checked {
    // Memory, of which about half is window.
    at.at_least(window.initial, Size(Bytes(2 * least.0.get())), "initial", "too small for a full segment")?;
    at.at_least(window.max, window.initial, "max", "below `initial`")
}

fn arwa(window: &ArwaWindow, tcp: &Tcp, at: &Place<'_>) -> Checked {
    if tcp.congestion != Congestion::NewReno {
        let help = "use congestion = \"newreno\" with receive_window = \"arwa\"";
        at.fail("congestion", "only NewReno understands the codes of an ARWA receiver", help)?;
    }
    at.require(tcp.timestamps, "timestamps", "ARWA needs TCP timestamps", "leave it out, or write true")?;
    let at = at.under("receive_window");
    let both = window.clock_ahead.0 > Duration::ZERO && window.clock_behind.0 > Duration::ZERO;
    at.require(!both, "clock_behind", "it cannot be combined with clock_ahead", "leave out one of them")
}
