//! Checks of flows.

use std::collections::BTreeSet;

use airlane_core::{Bytes, Duration};

use super::video::{dash, video};
use super::{Checked, FLOWS_MAX, Place, name, rnis};
use crate::de::nearest_help;
use crate::endpoints;
use crate::expand;
use crate::format::{
    App, ArwaWindow, AutotunedWindow, Congestion, FixedWindow, Flow, FlowDirection, HttpVersion, Mdcc,
    Network, Ppbp, Quic, ReceiveBuffer, ReceiveWindow, Resolved, Tcp, Transport, Web,
};
use crate::pages;
use crate::quantity::{Share, Size};

/// Largest IP packet (RFC 791).
const IP_PACKET_MAX: u64 = 65_535;
/// Packets that a constant rate may make in a run: hours of computing.
const PACKETS_MAX: u128 = 10_000_000_000;
/// Bursts that may be under way at once, in the mean.
const BURSTS_MAX: f64 = 10_000.0;
/// Transfers over one connection.
const OBJECTS_MAX: u32 = 1_000_000;
/// The UDP payload that QUIC requires of a path (RFC 9000 §14), with IPv4 and UDP headers.
const QUIC_MTU_MIN: u64 = 1_228;
/// Smallest MTU: room for all headers and options and some payload.
const MTU_MIN: u64 = 128;

pub(super) fn flows(scenario: &Resolved, at: &Place<'_>) -> Checked {
    at.require(!scenario.flow.is_empty(), "flow", "no flow: nothing would happen", "add [[flow]]")?;
    let at = at.under("flow");
    let mut names = BTreeSet::new();
    let mut total = 0;
    for (i, flow) in scenario.flow.iter().enumerate() {
        let at = at.entry(i);
        if let Some(own) = &flow.name {
            name(own, &mut names, &at)?;
        }
        let turns = flow.repeat.as_ref().map_or(1, |repeat| u64::from(repeat.count));
        let each = expand::reach(flow, scenario).map_or(1, |reach| reach.count());
        total += turns * u64::from(each);
        if total > FLOWS_MAX {
            let many = format!("{total} flows in all");
            if turns > 1 {
                at.fail("repeat.count", many, "at most 10000 in all")?;
            } else {
                at.wrong(many, "at most 10000 in all")?;
            }
        }
        destination(flow, scenario, &at)?;
        let ordered = flow.stop.is_none_or(|stop| stop > flow.start);
        at.require(ordered, "stop", "before it starts", "it must be above `start`")?;
        repeat(flow, &at)?;
        writes(flow, &at)?;
        app(flow, scenario, &at)?;
        match &flow.transport {
            Transport::Tcp(settings) => {
                tcp(settings, &at.under("transport"))?;
                listens(settings.congestion, flow.direction, &at)?;
            }
            Transport::Quic(settings) => {
                quic(settings, &at.under("transport"))?;
                listens(settings.congestion, flow.direction, &at)?;
            }
            Transport::Udp => {}
        }
        rnis::discriminator(flow, scenario, &at)?;
    }
    // A run may be shorter than the scenario was meant to be, but not so short.
    let idle = scenario.flow.iter().all(|flow| flow.start >= scenario.run.duration);
    let help = "it must be below run.duration";
    at.require(!idle, "0.start", "the run is over before any flow starts", help)?;
    let mut seen = BTreeSet::new();
    let all = expand::flows(scenario);
    match all.iter().find(|flow| !seen.insert(flow.name.as_str())) {
        None => Ok(()),
        Some(twice) => {
            let message = format!("two flows would be called {:?}", twice.name);
            at.entry(twice.section).wrong(message, "give them other names")
        }
    }
}

/// A PEP watches what goes to the UE.
fn listens(congestion: Congestion, direction: FlowDirection, at: &Place<'_>) -> Checked {
    let ok = direction == FlowDirection::Downlink || congestion != Congestion::Mdcc;
    let help = "a PEP watches what goes to the UE; choose another controller";
    at.require(ok, "transport.congestion", "of no use on the uplink", help)
}

fn destination(flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
    if scenario.network == Network::Wired {
        let ok = flow.to.as_deref().is_none_or(|to| to == "host");
        return at.require(ok, "to", "a wired network has one host", "leave it out");
    }
    let names: Vec<_> = scenario.ue.iter().map(|u| u.name.as_str()).collect();
    let Some(to) = &flow.to else {
        let help = format!("add to = \"{}\"", names.first().unwrap_or(&"phone"));
        return at.wrong("`to` is missing", help);
    };
    if expand::reach(flow, scenario).is_none() {
        return at.fail("to", "no UE of that name", nearest_help(to, &names));
    }
    Ok(())
}

fn writes(flow: &Flow, at: &Place<'_>) -> Checked {
    let Some(writes) = &flow.writes else { return Ok(()) };
    let bulk =
        flow.app == App::Bulk && matches!(&flow.transport, Transport::Tcp(tcp) if tcp.write_size.is_none());
    let help = "use app = \"bulk\" and transport = \"tcp\", without `write_size`";
    at.require(bulk, "writes", "only a download without end over TCP has it", help)?;
    let sorted = writes.is_sorted_by_key(|write| write.at.0);
    at.require(sorted, "writes", "not in the order of time", "sort them by `at`")?;
    let one = writes.iter().all(|write| !(write.pause && write.rate.is_some()));
    at.require(one, "writes", "a pause has no rate", "leave out one of `pause` and `rate`")
}

fn repeat(flow: &Flow, at: &Place<'_>) -> Checked {
    let Some(repeat) = &flow.repeat else { return Ok(()) };
    at.require(repeat.count > 0, "repeat.count", "no flow", "at least 1")?;
    at.positive(repeat.every, "repeat.every")?;
    let once = flow.stop.is_none();
    at.require(once, "stop", "one end of flows with many starts", "leave it out, or `repeat`")
}

fn app(flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
    match (&flow.app, &flow.transport) {
        (App::Bulk, Transport::Tcp(_) | Transport::Quic(_)) => Ok(()),
        (App::Fixed(fixed), Transport::Tcp(_) | Transport::Quic(_)) => {
            at.require(fixed.size.0.get() > 0, "app.size", "nothing to send", "at least 1 B")?;
            let several = matches!(flow.transport, Transport::Quic(_));
            let known = (1..=OBJECTS_MAX).contains(&fixed.objects);
            at.require(known, "app.objects", "no number of objects", "from 1 to 1000000")?;
            let help = "leave it out, or use transport = \"quic\"";
            at.require(several || fixed.objects == 1, "app.objects", "TCP flows carry one object", help)
        }
        (App::Video(settings), _) => video(settings, flow, at),
        (App::Web(web), Transport::Tcp(_)) => {
            let help = "use transport = \"quic\", or http = \"2\"";
            at.require(web.http != HttpVersion::Three, "app.http", "HTTP/3 is spoken over QUIC", help)?;
            self::web(web, flow, at)
        }
        (App::Web(web), Transport::Quic(_)) => {
            let help = "use http = \"3\", or transport = \"tcp\"";
            at.require(web.http == HttpVersion::Three, "app.http", "over QUIC, HTTP/3 is spoken", help)?;
            at.require(web.tls, "app.tls", "QUIC always shakes hands as TLS does", "leave it out")?;
            self::web(web, flow, at)
        }
        (App::Web(_), Transport::Udp) => {
            let help = "use transport = \"tcp\", or \"quic\" with http = \"3\"";
            at.fail("transport", "a browser speaks HTTP over TCP or QUIC", help)
        }
        (App::Dash(settings), _) => dash(settings, flow, at),
        (App::Cbr(_) | App::Ppbp(_), Transport::Tcp(_) | Transport::Quic(_)) => {
            let name = if matches!(flow.transport, Transport::Tcp(_)) { "TCP" } else { "QUIC" };
            let help = "use transport = \"udp\", or app = \"bulk\"";
            at.fail("app", format!("{name} sends at no rate of the application's"), help)
        }
        (App::Cbr(cbr), Transport::Udp) => {
            payload(cbr.payload, at)?;
            packets(cbr.rate.0.bits_per_second(), cbr.payload, flow, scenario, at)
        }
        (App::Ppbp(bursts), Transport::Udp) => ppbp(bursts, flow, scenario, at),
        (App::Bulk | App::Fixed(_), Transport::Udp) => {
            let help = "use app = { kind = \"cbr\", rate = \"10 Mbit/s\" }";
            at.fail("app", "UDP has no rate of its own", help)
        }
    }
}

fn web(web: &Web, flow: &Flow, at: &Place<'_>) -> Checked {
    let downlink = flow.direction == FlowDirection::Downlink;
    at.require(downlink, "direction", "pages come down", "leave it out")?;
    let at = at.under("app");
    if !pages::is_built_in(&web.pages) && !pages::is_file(&web.pages) {
        let help = "\"2011\", or a file that ends in .csv (a page set) or .har (HTTP Archive 1.2)";
        return at.fail("pages", "no page set", help);
    }
    let count = web.count.is_none_or(|count| (1..=OBJECTS_MAX).contains(&count));
    at.require(count, "count", "no number of pages", "from 1 to 1000000, or leave it out")?;
    let per_server = (1..=64).contains(&web.connections_per_server);
    at.require(per_server, "connections_per_server", "no number of connections", "from 1 to 64")?;
    let connections = (1..=256).contains(&web.connections);
    at.require(connections, "connections", "no number of connections", "from 1 to 256")?;
    let pipelining = (1..=64).contains(&web.pipelining);
    at.require(pipelining, "pipelining", "no number of requests", "from 1, which is no pipelining, to 64")?;
    at.positive(web.keep_alive, "keep_alive")?;
    at.positive(web.dns_ttl, "dns_ttl")
}

fn payload(payload: Size, at: &Place<'_>) -> Checked {
    let fits = (1..=IP_PACKET_MAX - 28).contains(&payload.0.get());
    at.require(fits, "app.payload", "no payload of a packet", "from 1 B to 65507 B")
}

/// So many packets of so many bytes at this rate can be computed.
fn packets(rate: u64, bytes: Size, flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let end = scenario.run.duration.0;
    let lasts = flow.stop.map_or(end, |stop| stop.0.min(end)).saturating_sub(flow.start.0);
    let bits = u128::from(rate) * u128::from(lasts.as_nanos()) / 1_000_000_000;
    let packets = bits / u128::from(8 * bytes.0.get());
    let help = format!("{packets} packets, at most {PACKETS_MAX}; a lower rate or larger payloads");
    at.require(packets <= PACKETS_MAX, "app.rate", "too high for so long a run", &help)
}

fn ppbp(ppbp: &Ppbp, flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
    payload(ppbp.payload, at)?;
    at.at_least(ppbp.spacing, Size(Bytes(1)), "app.spacing", "packets without a distance")?;
    at.require(ppbp.rate.0.bits_per_second() > 0, "app.rate", "a burst sends nothing", "above 0 bit/s")?;
    at.positive(ppbp.length, "app.length")?;
    let long_range = ppbp.hurst > 0.5 && ppbp.hurst < 1.0;
    at.require(long_range, "app.hurst", "no Hurst parameter of a Pareto length", "above 0.5 and below 1")?;
    let some = ppbp.active > 0.0 && ppbp.active <= BURSTS_MAX;
    at.require(some, "app.active", "no number of bursts", "above 0 and at most 10000")?;
    let active = endpoints::burst_parameters(ppbp).mean_active();
    let help = format!("{active:.0} are under way in the mean, at most {BURSTS_MAX}");
    at.require(active <= BURSTS_MAX, "app.length", "too long for so many bursts", &help)?;
    let rate = ppbp.rate.0.bits_per_second().saturating_mul(active.max(1.0) as u64);
    packets(rate, ppbp.spacing, flow, scenario, at)
}

fn quic(quic: &Quic, at: &Place<'_>) -> Checked {
    mdcc(quic.mdcc.as_ref(), quic.congestion, at)?;
    let own = quic.congestion == Congestion::Own;
    let help = "one of cubic, newreno, scalable, vegas, westwood, veno, bbr, bbr3, mdcc";
    at.require(!own, "congestion", "one of your own is for TCP", help)?;
    laws(quic.cubic_beta, quic.slow_start_loss, at)?;
    let threshold = (1..=1_000).contains(&quic.packet_threshold);
    at.require(threshold, "packet_threshold", "no number of packets", "from 1 to 1000")?;
    let time = (1.0..=10.0).contains(&quic.time_threshold);
    at.require(time, "time_threshold", "no number of round trips", "from 1 to 10")?;
    let persistent = quic.persistent_congestion <= 1_000;
    at.require(persistent, "persistent_congestion", "no number of timeouts", "at most 1000, 0 for never")?;
    at.positive(quic.rto_min, "rto_min")?;
    let initial_window = (2..=1_000).contains(&quic.initial_window);
    at.require(initial_window, "initial_window", "no window", "from 2 to 1000 datagrams")?;
    let (least, most) = (QUIC_MTU_MIN, IP_PACKET_MAX - 8); // a UDP payload of at most 65527 bytes, RFC 9000 §18.2
    let mtu = (least..=most).contains(&quic.mtu.0.get());
    at.require(mtu, "mtu", "no MTU of QUIC", "from 1228 B (RFC 9000 section 14) to 65527 B")?;
    let initial = (least..=quic.mtu.0.get()).contains(&quic.initial_mtu.0.get());
    at.require(initial, "initial_mtu", "not between 1228 B and `mtu`", "from 1228 B to `mtu`")?;
    let least = Size(quic.mtu.0);
    at.at_least(quic.stream_window, least, "stream_window", "no full datagram fits")?;
    if let Some(size) = quic.connection_window {
        at.at_least(size, least, "connection_window", "no full datagram fits")?;
    }
    at.at_least(quic.send_window, least, "send_window", "no full datagram fits")?;
    let initial_rtt = (Duration::from_millis(1)..=Duration::from_secs(10)).contains(&quic.initial_rtt.0);
    at.require(initial_rtt, "initial_rtt", "no round trip", "from 1 ms to 10 s")
}

/// What the laws of TCP and QUIC have in common.
fn laws(cubic_beta: f64, slow_start_loss: Share, at: &Place<'_>) -> Checked {
    let beta = (0.1..=0.99).contains(&cubic_beta);
    at.require(beta, "cubic_beta", "no part of a window", "from 0.1 to 0.99")?;
    let less = slow_start_loss.0 < 1.0;
    at.require(less, "slow_start_loss", "nothing would ever end slow start", "below 100 %")
}

pub(super) fn tcp(tcp: &Tcp, at: &Place<'_>) -> Checked {
    laws(tcp.cubic_beta, tcp.slow_start_loss, at)?;
    let mtu = (MTU_MIN..=IP_PACKET_MAX).contains(&tcp.mtu.0.get());
    at.require(mtu, "mtu", "no MTU", "from 128 B to 65535 B")?;
    if let Some(mss) = tcp.mss {
        let headers = 40 + if tcp.timestamps { 12 } else { 0 }; // RFC 9293 §3.1, RFC 7323 appendix A
        let (least, most) = (Size(Bytes(MTU_MIN - headers)), Size(Bytes(tcp.mtu.0.get() - headers)));
        let help = format!("from {least} to {most}, which is the MTU less the headers");
        at.require((least..=most).contains(&mss), "mss", "no full segment for this MTU", &help)?;
    }
    own(tcp, at)?;
    mdcc(tcp.mdcc.as_ref(), tcp.congestion, at)?;
    let window = (1..=1_000).contains(&tcp.initial_window);
    at.require(window, "initial_window", "no window", "from 1 to 1000 segments")?;
    at.positive(tcp.rto_min, "rto_min")?;
    at.positive(tcp.rto_initial, "rto_initial")?;
    let ordered = tcp.rto_max >= tcp.rto_min && tcp.rto_max >= tcp.rto_initial;
    at.require(ordered, "rto_max", "below the floor", "at least rto_min and rto_initial")?;
    limits(tcp, at)?;
    let least = Size(tcp.mtu.0);
    receive_window(tcp, least, at)?;
    let message = "no full segment fits";
    if let Some(size) = tcp.write_size {
        at.at_least(size, Size(Bytes(1)), "write_size", "nothing is written")?;
        let both = tcp.send_buffer.is_some();
        at.require(
            !both,
            "write_size",
            "beside `send_buffer`",
            "one of them: writes go into a queue that is tuned",
        )?;
    }
    tcp.send_buffer.map_or(Ok(()), |buffer| at.at_least(buffer, least, "send_buffer", message))
}

/// The ranges are Linux's (`tcp_syn_retries`, `tcp_syn_linear_timeouts`, `tcp_synack_retries`, `tcp_retries2`), which takes
/// no more than 127 or 255 either.
fn limits(tcp: &Tcp, at: &Place<'_>) -> Checked {
    let message = "no limit that a connection can reach";
    let (syn, linear) = ((1..=127).contains(&tcp.syn_retries), tcp.syn_linear_timeouts <= 127);
    at.require(syn, "syn_retries", message, "from 1 to 127")?;
    at.require(linear, "syn_linear_timeouts", message, "from 0 to 127")?;
    at.require(tcp.synack_retries <= 255, "synack_retries", message, "from 0 to 255")?;
    at.require((1..=255).contains(&tcp.retries), "retries", message, "from 1 to 255")
}

fn own(tcp: &Tcp, at: &Place<'_>) -> Checked {
    let help = "congestion = \"own\" and controller = \"NAME\", both or neither";
    let own = tcp.congestion == Congestion::Own;
    at.require(!own || tcp.controller.is_some(), "congestion", "of which name", help)?;
    at.require(own || tcp.controller.is_none(), "controller", "of no use to another controller", help)
}

fn mdcc(mdcc: Option<&Mdcc>, congestion: Congestion, at: &Place<'_>) -> Checked {
    let Some(mdcc) = mdcc else { return Ok(()) };
    let help = "write congestion = \"mdcc\", or leave it out";
    at.require(congestion == Congestion::Mdcc, "mdcc", "of no use to another controller", help)?;
    let help = "from 0.001 to 1 segments with each acknowledgment";
    let ok = (0.001..=1.0).contains(&mdcc.increase);
    at.require(ok, "mdcc.increase", "no step of a window", help)
}

fn receive_window(tcp: &Tcp, least: Size, at: &Place<'_>) -> Checked {
    let within = at.under("receive_window");
    match &tcp.receive_window {
        ReceiveWindow::Fixed(window) => fixed_buffer(window, least, &within),
        ReceiveWindow::Autotuned(window) => autotuned_buffer(window, least, &within),
        ReceiveWindow::Drwa(window) => {
            buffer(&window.buffer, least, &within)?;
            let floor = window.floor <= 1_000;
            within.require(floor, "floor", "no window", "from 0 to 1000 segments")?;
            let lambda = (0.001..=1_000.0).contains(&window.lambda);
            within.require(lambda, "lambda", "no factor of a window", "from 0.001 to 1000")?;
            let alpha = (0.0..=0.999).contains(&window.alpha);
            within.require(alpha, "alpha", "no weight of an average", "from 0 to 0.999")
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
    at.at_least(window.size, least, "size", "no full segment fits")
}

fn autotuned_buffer(window: &AutotunedWindow, least: Size, at: &Place<'_>) -> Checked {
    // Memory, of which about half is window.
    at.at_least(window.initial, Size(Bytes(2 * least.0.get())), "initial", "no full segment fits")?;
    at.at_least(window.max, window.initial, "max", "below `initial`")
}

fn arwa(window: &ArwaWindow, tcp: &Tcp, at: &Place<'_>) -> Checked {
    if tcp.congestion != Congestion::NewReno {
        let help = "congestion = \"newreno\" beside receive_window = \"arwa\"";
        at.fail("congestion", "codes of an ARWA receiver are obeyed by NewReno alone", help)?;
    }
    at.require(tcp.timestamps, "timestamps", "ARWA measures delays by them", "leave them on")?;
    let at = at.under("receive_window");
    let both = window.clock_ahead.0 > Duration::ZERO && window.clock_behind.0 > Duration::ZERO;
    at.require(!both, "clock_behind", "ahead and behind at once", "one of clock_ahead and clock_behind")
}
