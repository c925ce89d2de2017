//! Senders that need marks together with queues that give them, which would rarely meet by chance.

use airlane_core::Stream;
use airlane_scenario::{Resolved, format};
use serde_json::{Value, json};

use super::settings::{Draw, number};

/// Share of scenarios with such queues.
const SCENARIOS: f64 = 0.15;
/// Share of the other flows' transports that use the marks.
const SENDERS: f64 = 0.7;

/// Keys of a transport that need its controller: an own one, one that the receive window or the slow start needs, or one
/// with keys of its own.
const OF_ONE_CONTROLLER: [&str; 7] = [
    "controller",
    "receive_window",
    "slow_start",
    "copa_delta",
    "copa_mode_switching",
    "abc_fallback",
    "c2tcp_target",
];

/// Values for keys of a scenario that resolves to `base`, to be set after the `others`.
/// With a layout, `base` has many cells and the text has one.
pub(super) fn draw(
    s: &mut Stream,
    base: &Resolved,
    layout: bool,
    others: &[(String, Value)],
) -> Vec<(String, Value)> {
    if !s.chance(SCENARIOS) {
        return Vec::new();
    }
    let has = |key: String| others.iter().any(|(path, _)| *path == key);
    let link_admits = !["detours", "policer"].iter().any(|key| has(format!("internet.{key}")));
    let cells = if layout { 1 } else { base.cell.len() };
    let mut list = queues(s, cells, link_admits);
    for (i, flow) in base.flow.iter().enumerate() {
        let at = format!("flow.{i}.transport");
        if OF_ONE_CONTROLLER.iter().any(|key| has(format!("{at}.{key}"))) {
            continue;
        }
        match &flow.transport {
            format::Transport::Tcp(tcp) if tcp.mdcc.is_none() && s.chance(SENDERS) => {
                sender(s, &at, true, &mut list)
            }
            format::Transport::Quic(quic) if quic.mdcc.is_none() && s.chance(SENDERS) => {
                sender(s, &at, false, &mut list);
            }
            _ => {}
        }
    }
    list
}

/// DualPI2 at RLC, on the link, or at both, and sometimes a second bearer.
fn queues(s: &mut Stream, cells: usize, link_admits: bool) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    if link_admits {
        places.push("internet.aqm".to_owned());
    }
    places.extend((0..cells).map(|cell| format!("cell.{cell}.rlc.aqm")));
    let kept: Vec<_> = places.into_iter().filter(|_| s.chance(0.7)).collect();
    let mut list: Vec<_> = kept.into_iter().map(|at| (at, queue(s))).collect();
    if s.chance(0.3) {
        let bearers = (0..cells).map(|cell| (format!("cell.{cell}.l4s_bearer"), json!({ "aqm": queue(s) })));
        list.extend(bearers);
    }
    list
}

fn queue(s: &mut Stream) -> Value {
    if s.chance(0.2) {
        return json!({ "kind": "abc" });
    }
    let mut rule = json!({ "kind": "dualpi2" });
    let keys: Vec<(&str, Draw)> = vec![
        ("delay", super::settings::one_of(&["sojourn", "predicted"])),
        ("scheduler", super::settings::one_of(&["weighted-round-robin", "time-shifted-fifo"])),
        ("overload", super::settings::one_of(&["drop", "overflow"])),
        ("threshold", super::settings::us(100, 20_000)),
        ("ramp", super::settings::us(0, 20_000)),
        ("min_packets", super::settings::whole(0, 2)),
    ];
    for (key, draw) in keys {
        if s.chance(0.5) {
            rule[key] = draw(s);
        }
    }
    rule
}

/// A controller that responds to marks, and the ECN it needs.
fn sender(s: &mut Stream, at: &str, tcp: bool, list: &mut Vec<(String, Value)>) {
    let law = ["prague", "dctcp", "cubic", "newreno", "bbr3", "abc"][number(s, 0, 5) as usize];
    let ecn = if tcp { json!("accurate") } else { json!(true) };
    list.extend([(format!("{at}.congestion"), json!(law)), (format!("{at}.ecn"), ecn)]);
    if law == "bbr3" {
        let most = if s.chance(0.3) { "5 ms" } else { "1 s" };
        list.push((format!("{at}.ecn_max_rtt"), json!(most)));
    }
    if law == "prague" {
        list.push((format!("{at}.classic_fallback"), json!(s.chance(0.5))));
    }
    if ["cubic", "newreno"].contains(&law) {
        list.push((format!("{at}.abe"), json!(s.chance(0.7))));
    }
}
