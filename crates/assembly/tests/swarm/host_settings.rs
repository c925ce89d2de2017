//! Values for keys of flows, of their transports, and of functions in the path.

use airlane_core::Stream;
use airlane_scenario::{Resolved, format};
use serde_json::{Value, json};

use super::settings::{Draw, Settings, bytes, flag, kbps, ms, number, one_of, percent, real, whole};

/// The controllers that need marks.
const SCALABLE: &[&str] = &["dctcp", "prague"];
/// For controllers with a slow start of RFC 5681.
const SLOW_STARTS: &[&str] = &["standard", "hystart", "hystart++", "search"];

/// None, classic or accurate.
fn ecn() -> Draw {
    Box::new(|s| [json!(false), json!(true), json!("accurate")][s.below(3) as usize].clone())
}

/// The name of the test's own controller.
pub(super) const OWN: &str = "gentle";

/// Controllers of TCP without further requirements.
const CONTROLLERS: &[&str] = &[
    "cubic", "newreno", "scalable", "vegas", "westwood", "veno", "bbr", "bbr3", "copa", "c2tcp", "c4",
    "vivace", "verus", "ledbat++",
];

pub(super) fn flows(settings: &mut Settings<'_>, base: &Resolved) {
    for (i, flow) in base.flow.iter().enumerate() {
        let at = &format!("flow.{i}");
        settings.maybe(0.1, at, "server_delay", ms(0, 20));
        application(settings, &format!("{at}.app"), &flow.app);
        match &flow.transport {
            format::Transport::Udp(_) => {
                let at = &format!("{at}.transport");
                settings.maybe(0.3, at, "ecn", one_of(&["not-ect", "ect0", "ect1"]));
            }
            // It needs a kernel.
            format::Transport::Kernel(_) | format::Transport::Icmp | format::Transport::External => {}
            // They have scenarios of their own.
            format::Transport::Mptcp(_) | format::Transport::Mpquic(_) => {}
            format::Transport::Quic(quic) => {
                let at = &format!("{at}.transport");
                self::quic(settings, at, quic);
                discriminator(settings, at, &quic.loss_discriminator);
                informed(settings, at, &quic.loss_discriminator, quic.mdcc.is_some());
                windows_of_pep(settings, at, quic.mdcc.as_ref());
            }
            format::Transport::Tcp(tcp) => {
                let bulk = matches!(flow.app, format::App::Bulk(_)) && tcp.write_size.is_none();
                let pauses = bulk && settings.s.chance(0.1);
                if pauses {
                    let writes = writes(settings.s);
                    settings.set(at, "writes", writes);
                }
                let at = &format!("{at}.transport");
                self::tcp(settings, at, tcp, false);
                if !pauses && tcp.send_buffer.is_none() && !settings.has(at, "send_buffer") {
                    settings.maybe(0.05, at, "write_size", bytes(1, 100_000));
                }
                discriminator(settings, at, &tcp.loss_discriminator);
                informed(settings, at, &tcp.loss_discriminator, tcp.mdcc.is_some());
                windows_of_pep(settings, at, tcp.mdcc.as_ref());
            }
        }
    }
}

fn application(settings: &mut Settings<'_>, at: &str, app: &format::App) {
    let (at, keys) = match app {
        format::App::Ppbp(_) => {
            (at.to_owned(), vec![("payload", bytes(1, 1_472)), ("spacing", bytes(300, 3_000))])
        }
        format::App::Video(_) | format::App::Dash(_) => (
            format!("{at}.satisfied"),
            vec![("startup", ms(1, 900)), ("stalls", whole(0, 5)), ("stalled", ms(0, 900))],
        ),
        format::App::Web(_) => (at.to_owned(), vec![("pages", one_of(&["../one-server.csv", "page.har"]))]),
        format::App::Bulk(_) => return settings.maybe(0.1, at, "kind", one_of(&["bulk"])),
        format::App::Fixed(_)
        | format::App::Cbr(_)
        | format::App::Ping(_)
        | format::App::OnOff(_)
        | format::App::Rtc(_)
        | format::App::Sprout(_)
        | format::App::Xr(_) => return,
    };
    settings.some(&at, keys);
}

/// The times when a download has less data.
fn writes(s: &mut Stream) -> Value {
    let mut at = 0;
    let mut writes = Vec::new();
    for _ in 0..=s.below(4) {
        at += s.below(300);
        let from = format!("{at} ms");
        writes.push(match s.below(3) {
            0 => json!({ "at": from, "pause": true }),
            1 => json!({ "at": from }),
            _ => json!({ "at": from, "rate": kbps(10, 20_000)(s) }),
        });
    }
    json!(writes)
}

fn discriminator(settings: &mut Settings<'_>, at: &str, rule: &format::LossDiscriminator) {
    let timeouts = || ("timeouts", one_of(&["judged", "congestion"]));
    let pdu = || ("pdu", bytes(1, 65_535));
    let harq_processes = || ("harq_processes", whole(1, 32));
    let keys = match rule {
        format::LossDiscriminator::MeldDe(_) => {
            vec![("stale_after", ms(0, 200)), pdu(), harq_processes()]
        }
        format::LossDiscriminator::MeldMe(_) => vec![timeouts(), pdu(), harq_processes()],
        format::LossDiscriminator::LdaEq(_) => vec![("threshold", percent(1, 99))],
        format::LossDiscriminator::Legacy
        | format::LossDiscriminator::Ignore
        | format::LossDiscriminator::Veno
        | format::LossDiscriminator::Ncpld => return,
    };
    settings.each(&format!("{at}.loss_discriminator"), keys);
}

/// PBE-CC at a sender that has radio information, as MELD has, and no key of another controller.
fn informed(settings: &mut Settings<'_>, at: &str, rule: &format::LossDiscriminator, listens: bool) {
    let meld = matches!(rule, format::LossDiscriminator::MeldDe(_) | format::LossDiscriminator::MeldMe(_));
    let others = ["congestion", "receive_window", "slow_start"];
    if meld && !listens && !others.iter().any(|key| settings.has(at, key)) {
        settings.maybe(0.5, at, "congestion", one_of(&["pbe"]));
    }
}

fn windows_of_pep(settings: &mut Settings<'_>, at: &str, mdcc: Option<&format::Mdcc>) {
    if mdcc.is_some() {
        settings.maybe(0.3, &format!("{at}.mdcc"), "increase", real(0.001, 1.0));
        settings.maybe(0.3, &format!("{at}.mdcc"), "wired_queue", ms(0, 20));
    }
}

/// Keys that TCP and QUIC share.
fn laws() -> Vec<(&'static str, Draw)> {
    vec![
        ("cubic", one_of(&["rfc9438", "picoquic-2020"])),
        ("cubic_beta", real(0.1, 0.99)),
        ("cubic_epoch", one_of(&["linux", "rfc9438"])),
        ("abe", flag()),
        ("slow_start_rtt_exit", flag()),
        ("slow_start_loss", percent(0, 50)),
        ("hystart", flag()),
        ("initial_window", whole(2, 60)),
    ]
}

fn quic(settings: &mut Settings<'_>, at: &str, base: &format::Quic) {
    settings.maybe(0.2, at, "preset", one_of(&["picoquic-2020", "quinn"]));
    settings.some(at, laws());
    let keys = vec![
        ("timeouts", one_of(&["probe", "collapse"])),
        ("pacing", one_of(&["quinn", "picoquic-2020"])),
        ("rto_min", ms(1, 500)),
        ("packet_threshold", whole(1, 20)),
        ("time_threshold", real(1.0, 3.0)),
        ("persistent_congestion", whole(0, 5)),
        ("connection_window", bytes(base.mtu.0.get().max(1_500), 400_000)),
    ];
    settings.some(at, keys);
    if base.mdcc.is_none() && settings.s.chance(0.1) {
        settings.set(at, "congestion", json!("own"));
        settings.set(at, "controller", json!(OWN));
        settings.maybe(0.5, at, "slow_start", one_of(SLOW_STARTS));
    } else if base.mdcc.is_none() && settings.s.chance(0.2) {
        settings.maybe(1.0, at, "congestion", one_of(SCALABLE));
        settings.set(at, "ecn", json!(true));
    } else if base.mdcc.is_none() && settings.s.chance(0.1) {
        copa(settings, at);
    } else if base.mdcc.is_none() && settings.s.chance(0.15) {
        abc(settings, at, json!(true));
    } else if base.mdcc.is_none() && settings.s.chance(0.15) {
        c2tcp(settings, at);
    }
}

/// Copa and its own keys.
fn copa(settings: &mut Settings<'_>, at: &str) {
    settings.set(at, "congestion", json!("copa"));
    settings.maybe(0.7, at, "copa_delta", real(0.001, 1.0));
    settings.maybe(0.7, at, "copa_mode_switching", flag());
}

/// C2TCP and its own key.
fn c2tcp(settings: &mut Settings<'_>, at: &str) {
    settings.set(at, "congestion", json!("c2tcp"));
    settings.maybe(0.7, at, "c2tcp_target", ms(1, 500));
}

/// ABC and its own key; it needs the number of marks.
fn abc(settings: &mut Settings<'_>, at: &str, ecn: Value) {
    settings.set(at, "congestion", json!("abc"));
    settings.set(at, "ecn", ecn);
    settings.maybe(0.7, at, "abc_fallback", flag());
}

/// TCP of a flow, or of a connection of a split-connection proxy.
fn tcp(settings: &mut Settings<'_>, at: &str, base: &format::Tcp, leg: bool) {
    let listens = base.mdcc.is_some();
    settings.some(at, laws());
    let keys = vec![
        ("growth", one_of(&["per-segment", "per-ack"])),
        ("timestamps", flag()),
        ("sack", flag()),
        ("window_scaling", flag()),
        ("delayed_ack", flag()),
        ("compressed_sack", flag()),
        ("gro", flag()),
        ("batched_reads", flag()),
        ("gso", flag()),
        ("frto", flag()),
        ("ecn", ecn()),
        ("pacing", flag()),
        ("nagle", flag()),
    ];
    settings.some(at, keys);
    let keys = vec![
        ("rto_min", ms(1, 1_000)),
        ("rto_initial", ms(100, 3_000)),
        ("syn_retries", whole(4, 10)),
        ("syn_linear_timeouts", whole(0, 4)),
        ("synack_retries", whole(4, 10)),
        ("retries", whole(8, 15)),
        ("rto_max", ms(3_000, 120_000)),
        ("loss_detection", one_of(&["rack-tlp", "rfc6675"])),
        ("careful_fast_retransmit", flag()),
        ("rate_reduction", one_of(&["proportional", "halving"])),
        ("slow_start_after_idle", flag()),
        ("rtt_sampling", rtt_sampling()),
        ("rtt_from_sack", flag()),
    ];
    settings.some(at, keys);
    // Keys that must be consistent are drawn together.
    match settings.s.below(12) {
        0 => settings.set(at, "preset", json!("picoquic-2020")),
        1 => segments(settings, at),
        2 if !leg => jumbo(settings, at),
        3 => settings.maybe(1.0, at, "send_buffer", bytes(1_500, 1_000_000)),
        4 | 5 => receive_window(settings, at, listens),
        6 if !listens => {
            settings.set(at, "congestion", json!("own"));
            settings.set(at, "controller", json!(OWN));
            settings.maybe(0.5, at, "slow_start", one_of(SLOW_STARTS));
        }
        7 if !listens => settings.maybe(1.0, at, "congestion", one_of(CONTROLLERS)),
        8 if !listens => {
            settings.maybe(1.0, at, "congestion", one_of(SCALABLE));
            settings.maybe(0.5, at, "slow_start", one_of(SLOW_STARTS));
            let accurate = settings.s.chance(0.8);
            settings.set(at, "ecn", if accurate { json!("accurate") } else { json!(true) });
        }
        9 if !listens => copa(settings, at),
        10 if !listens => abc(settings, at, json!("accurate")),
        11 if !listens => c2tcp(settings, at),
        _ => {}
    }
}

fn rtt_sampling() -> Draw {
    Box::new(|s| match s.below(3) {
        0 => json!("each-ack"),
        1 => json!("once-per-window"),
        _ => json!({ "frozen_after": ms(0, 600)(s) }),
    })
}

/// Segments of one size, and a full one of another, including headers with timestamps and without.
fn segments(settings: &mut Settings<'_>, at: &str) {
    let mtu = number(settings.s, 140, 1_500);
    settings.set(at, "mtu", json!(format!("{mtu} B")));
    settings.maybe(1.0, at, "mss", bytes(88, mtu - 52));
}

fn jumbo(settings: &mut Settings<'_>, at: &str) {
    settings.maybe(1.0, at, "mtu", bytes(1_501, 9_000));
    settings.maybe(1.0, at, "receive_window", Box::new(|s| fixed(s, 9_000)));
}

fn fixed(s: &mut Stream, least: u64) -> Value {
    json!({ "kind": "fixed", "size": bytes(least, 300_000)(s) })
}

fn receive_buffer(s: &mut Stream) -> Value {
    if s.chance(0.5) {
        return fixed(s, 1_500);
    }
    json!({ "kind": "autotuned", "initial": bytes(3_000, 200_000)(s), "max": bytes(200_000, 6_000_000)(s) })
}

fn receive_window(settings: &mut Settings<'_>, at: &str, listens: bool) {
    let s = &mut *settings.s;
    let window = match s.below(4) {
        0 => receive_buffer(s),
        1 => {
            json!({ "kind": "drwa", "buffer": receive_buffer(s), "floor": whole(0, 40)(s), "lambda": real(0.1, 9.0)(s), "alpha": real(0.0, 0.999)(s) })
        }
        2 => json!("drwa"),
        _ if listens => receive_buffer(s),
        _ => {
            let window = arwa(s);
            // The sender that obeys its codes, and the options it needs for measuring.
            settings.set(at, "congestion", json!("newreno"));
            settings.set(at, "timestamps", json!(true));
            window
        }
    };
    settings.set(at, "receive_window", window);
}

fn arwa(s: &mut Stream) -> Value {
    let mut window = json!({ "kind": "arwa", "buffer": receive_buffer(s) });
    let clock = ["clock_ahead", "clock_behind"][s.below(2) as usize];
    let keys: Vec<(&str, Draw)> = vec![
        ("delay", one_of(&["one-way", "relative", "round-trip"])),
        (clock, ms(0, 100)),
        ("short_segments", flag()),
        ("case_two", one_of(&["scaled", "difference"])),
        ("old_code", one_of(&["lessened", "estimated"])),
        ("forget_after", ms(1, 5_000)),
        ("cut", one_of(&["percent", "bytes"])),
        ("gain", one_of(&["percent", "bytes"])),
        ("window_min", bytes(1, 20_000)),
        ("upper_target", bytes(1, 100_000)),
        ("obeys", one_of(&["each", "changes"])),
        ("slow_start", one_of(&["goes-on", "ends"])),
    ];
    for (key, draw) in keys {
        if s.chance(0.5) {
            window[key] = draw(s);
        }
    }
    window
}

/// The initial window of a split proxy's connections.
fn initial_window() -> Draw {
    Box::new(|s| match s.chance(0.5) {
        true => json!({ "kind": "fixed" }),
        false => json!({ "kind": "shared", "max": 1 + s.below(100) }),
    })
}

/// A service with notifications about another UE has this fault from the start by default.
pub(super) fn information(settings: &mut Settings<'_>, base: &format::Rnis) {
    if let format::RnisFault::WrongUe(_) = &base.fault {
        settings.maybe(0.5, "rnis.fault", "from", ms(0, 900));
    }
}

pub(super) fn middleboxes(settings: &mut Settings<'_>, base: &Resolved) {
    for (i, one) in base.middlebox.iter().enumerate() {
        let at = &format!("middlebox.{i}");
        match one {
            format::Middlebox::Pep(_) => settings.maybe(0.3, at, "secret", one_of(&["x", "another secret"])),
            format::Middlebox::SplitProxy(proxy) => {
                let keys = vec![
                    ("interface_rate", kbps(1_000, 1_000_000)),
                    ("when_full", one_of(&["refuse"])),
                    ("connect_timeout", ms(1, 2_000)),
                    ("stall_timeout", ms(1, 2_000)),
                    ("idle_timeout", ms(1, 2_000)),
                ];
                settings.some(at, keys);
                settings.maybe(0.5, at, "initial_window", initial_window());
                for (leg, name) in [(&proxy.core, "core"), (&proxy.ran, "ran")] {
                    let at = &format!("{at}.{name}");
                    tcp(settings, at, leg, true);
                    let rules = one_of(&["legacy", "veno", "ncpld", "lda-eq"]);
                    settings.maybe(0.15, at, "loss_discriminator", rules);
                }
            }
        }
    }
}
