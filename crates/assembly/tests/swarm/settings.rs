//! Values of keys that a random scenario leaves to the presets: each is sometimes written, in wider ranges
//! than usual.
//!
//! A scenario is first drawn as a text. The resolved scenario shows which keys exist, and these are set
//! one by one, as with `airlane run --set`.

use airlane_core::Stream;
use airlane_scenario::{Resolved, format};
use serde_json::{Value, json};

/// Share of scenarios with any such values.
const SCENARIOS: f64 = 0.6;
/// Share of groups of keys from which some are written.
const GROUPS: f64 = 0.4;
/// Share of the keys of such a group that are written.
const KEYS: f64 = 0.3;
/// Share of scenarios in which most groups have most of their keys written.
const DENSE: f64 = 0.1;

/// Draws a value for a key.
pub(super) type Draw = Box<dyn Fn(&mut Stream) -> Value>;

/// The keys and values for a scenario, in this order.
pub(super) struct Settings<'a> {
    pub(super) s: &'a mut Stream,
    /// Shares of groups, and of keys in each.
    shares: [f64; 2],
    pub(super) list: Vec<(String, Value)>,
}

/// Values for keys of a scenario that resolves to `base`. With a layout, `base` has many cells and the text
/// has one.
pub(super) fn draw(s: &mut Stream, base: &Resolved, layout: bool) -> Vec<(String, Value)> {
    if !s.chance(SCENARIOS) {
        return Vec::new();
    }
    let shares = if s.chance(DENSE) { [0.8, 0.7] } else { [GROUPS, KEYS] };
    let mut settings = Settings { s, shares, list: Vec::new() };
    run(&mut settings, base);
    internet(&mut settings, &base.internet);
    if let Some(backhaul) = &base.backhaul {
        settings.some("backhaul", vec![("queue", bytes(1_500, 1_000_000))]);
        aqm(&mut settings, "backhaul.aqm", &backhaul.aqm);
    }
    if let Some(channel) = &base.channel {
        super::radio_settings::channel(&mut settings, channel);
        super::radio_settings::cells(&mut settings, base, layout);
        super::ue_settings::ues(&mut settings, base, layout);
    }
    super::host_settings::flows(&mut settings, base);
    super::host_settings::middleboxes(&mut settings, base);
    if let Some(rnis) = &base.rnis {
        super::host_settings::information(&mut settings, rnis);
    }
    if base.handover.is_some() {
        super::radio_settings::algorithm(&mut settings);
    }
    settings.list
}

impl Settings<'_> {
    pub(super) fn set(&mut self, at: &str, key: &str, value: Value) {
        let path = if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
        self.list.push((path, value));
    }

    pub(super) fn has(&self, at: &str, key: &str) -> bool {
        self.list.iter().any(|(path, _)| *path == format!("{at}.{key}"))
    }

    /// Sometimes some keys of a table.
    pub(super) fn some(&mut self, at: &str, keys: Vec<(&str, Draw)>) {
        if self.s.chance(self.shares[0]) {
            self.each(at, keys);
        }
    }

    /// Each key with its probability.
    pub(super) fn each(&mut self, at: &str, keys: Vec<(&str, Draw)>) {
        for (key, draw) in keys {
            if self.s.chance(self.shares[1]) {
                let value = draw(self.s);
                self.set(at, key, value);
            }
        }
    }

    /// One key with this probability.
    pub(super) fn maybe(&mut self, chance: f64, at: &str, key: &str, draw: Draw) {
        if self.s.chance(chance) {
            let value = draw(self.s);
            self.set(at, key, value);
        }
    }
}

/// An integer from `low` to `high`.
pub(super) fn number(s: &mut Stream, low: u64, high: u64) -> u64 {
    low + s.below(high - low + 1)
}

pub(super) fn quantity(low: u64, high: u64, unit: &'static str) -> Draw {
    Box::new(move |s| json!(format!("{} {unit}", number(s, low, high))))
}

pub(super) fn ms(low: u64, high: u64) -> Draw {
    quantity(low, high, "ms")
}

pub(super) fn nanos(low: u64, high: u64) -> Draw {
    quantity(low, high, "ns")
}

pub(super) fn us(low: u64, high: u64) -> Draw {
    quantity(low, high, "us")
}

pub(super) fn bytes(low: u64, high: u64) -> Draw {
    quantity(low, high, "B")
}

pub(super) fn kbps(low: u64, high: u64) -> Draw {
    quantity(low, high, "kbit/s")
}

pub(super) fn percent(low: u64, high: u64) -> Draw {
    quantity(low, high, "%")
}

pub(super) fn metres(low: u64, high: u64) -> Draw {
    quantity(low, high, "m")
}

pub(super) fn degrees(low: u64, high: u64) -> Draw {
    quantity(low, high, "deg")
}

pub(super) fn khz(low: u64, high: u64) -> Draw {
    quantity(low, high, "kHz")
}

/// From `low` to `high` in integer steps, for values that may be negative.
pub(super) fn decibels(low: i64, high: i64, unit: &'static str) -> Draw {
    Box::new(move |s| json!(format!("{} {unit}", low + s.below((high - low + 1) as u64) as i64)))
}

pub(super) fn whole(low: u64, high: u64) -> Draw {
    Box::new(move |s| json!(number(s, low, high)))
}

/// From `low` to `high` in thousandths.
pub(super) fn real(low: f64, high: f64) -> Draw {
    Box::new(move |s| json!((s.uniform_in(low, high) * 1000.0).round() / 1000.0))
}

pub(super) fn flag() -> Draw {
    Box::new(|s| json!(s.chance(0.5)))
}

pub(super) fn one_of(choices: &'static [&'static str]) -> Draw {
    Box::new(move |s| json!(super::one_of(s, choices)))
}

fn run(settings: &mut Settings<'_>, base: &Resolved) {
    if base.network == format::Network::Lena337 {
        settings.maybe(0.5, "", "network", one_of(&["lena-2014", "lena-3.37", "lena-utah"]));
    }
    // Each flow has begun by then and has an end after it.
    settings.maybe(0.2, "run", "duration", ms(500, 5_000));
    let keys = vec![
        ("warmup", ms(0, 400)),
        ("seed", whole(0, 1_000_000)),
        ("series_bin", ms(1, 300)),
        ("ue_series", flag()),
    ];
    settings.some("run", keys);
    let over_quic = |flow: &format::Flow| matches!(flow.transport, format::Transport::Quic(_));
    let mut keys = vec![("proxy_series", flag()), ("path_model", flag())];
    if base.flow.iter().any(over_quic) {
        keys.push(("qlog", flag()));
    }
    settings.some("output", keys);
}

fn internet(settings: &mut Settings<'_>, base: &format::Internet) {
    let keys = vec![
        ("shared", flag()),
        ("uplink_rate", kbps(200, 1_000_000)),
        ("uplink_queue", bytes(1_500, 1_000_000)),
    ];
    settings.some("internet", keys);
    losses(settings, base);
    // Detours and policers are for links without a rule or a trace.
    let (detours, policer) = (settings.s.chance(0.15), settings.s.chance(0.15));
    if base.trace.is_some() || !(detours || policer) {
        return aqm(settings, "internet.aqm", &base.aqm);
    }
    settings.set("internet", "aqm", json!("drop-tail"));
    if detours {
        let mut ways = Vec::new();
        for _ in 0..=settings.s.below(3) {
            let s = &mut *settings.s;
            ways.push(json!({ "at": ms(0, 900)(s), "duration": ms(1, 400)(s), "extra": ms(1, 150)(s) }));
        }
        settings.set("internet", "detours", json!(ways));
    }
    if policer {
        let s = &mut *settings.s;
        let bucket = json!({ "rate": kbps(100, 50_000)(s), "burst": bytes(1_500, 200_000)(s) });
        settings.set("internet", "policer", bucket);
    }
}

fn losses(settings: &mut Settings<'_>, base: &format::Internet) {
    if settings.s.chance(0.15) {
        let some = settings.s.chance(0.5) && base.loss.0 == 0.0;
        if some {
            let share = percent(1, 5)(settings.s);
            settings.set("internet", "loss", share);
        }
        // One model or the other.
        let (key, draw) = if settings.s.chance(0.5) {
            ("loss_burst", real(1.0, 20.0))
        } else {
            ("loss_seed", whole(0, 1 << 40))
        };
        settings.maybe(1.0, "internet", key, draw);
    }
    if settings.s.chance(0.12) {
        let mut at = 0;
        let mut steps = Vec::new();
        for _ in 0..=settings.s.below(3) {
            at += settings.s.below(500);
            steps.push(json!({ "at": format!("{at} ms"), "loss": percent(0, 12)(settings.s) }));
        }
        settings.set("internet", "loss_steps", json!(steps));
    }
    // Not narrower than `reach` counts on.
    if base.uplink_trace.is_none() && settings.s.chance(0.1) {
        let step = json!({ "at": format!("{} ms", settings.s.below(800)), "rate": "1 Gbit/s" });
        settings.set("internet", "uplink_rate_steps", json!([step]));
    }
}

/// Parameters of a queue discipline.
pub(super) fn aqm(settings: &mut Settings<'_>, at: &str, rule: &format::Aqm) {
    // Keys that must be in order are set together, or not at all.
    let keys = match rule {
        format::Aqm::Abc(_) => {
            vec![("target", ms(1, 100)), ("delta", ms(20, 500)), ("utilisation", percent(50, 100))]
        }
        format::Aqm::DropTail => return,
        format::Aqm::Red(red) => vec![
            ("min_packets", whole(0, u64::from(red.max_packets) - 1)),
            ("weight", real(0.001, 1.0)),
            ("max_probability", percent(1, 100)),
            ("gentle", flag()),
            ("packet_time", us(10, 5_000)),
        ],
        format::Aqm::Codel(_) => vec![("target", us(100, 60_000)), ("interval", ms(61, 300))],
        format::Aqm::FqCodel(_) => vec![
            ("target", us(100, 60_000)),
            ("interval", ms(61, 300)),
            ("quantum", bytes(64, 4_000)),
            ("packets", whole(1, 2_000)),
            ("queues", whole(1, 3_000)),
        ],
        format::Aqm::Pie(_) => vec![
            ("target", ms(1, 100)),
            ("update", ms(1, 60)),
            ("max_burst", ms(0, 300)),
            ("alpha", real(0.0, 10.0)),
            ("beta", real(0.0, 20.0)),
            ("ecn_threshold", percent(0, 100)),
        ],
        format::Aqm::Dualpi2(_) => vec![
            ("target", ms(1, 100)),
            ("update", ms(1, 60)),
            ("alpha", real(0.0, 10.0)),
            ("beta", real(0.0, 20.0)),
            ("coupling", real(0.1, 4.0)),
            ("classifier", one_of(&["ect1", "any-ect"])),
            ("threshold", us(1, 20_000)),
            ("ramp", us(0, 20_000)),
            ("min_packets", whole(0, 3)),
            ("delay", one_of(&["sojourn", "predicted"])),
            ("window", ms(8, 300)),
            ("scheduler", one_of(&["weighted-round-robin", "time-shifted-fifo"])),
            ("classic_share", percent(0, 100)),
            ("shift", ms(0, 200)),
            ("overload", one_of(&["drop", "overflow"])),
            ("packets", whole(1, 2_000)),
        ],
    };
    settings.some(at, keys);
    if matches!(rule, format::Aqm::Dualpi2(_)) {
        settings.maybe(0.3, at, "max_rtt", ms(60, 300));
        if settings.has(at, "max_rtt") {
            settings.maybe(0.5, at, "typical_rtt", ms(1, 60));
        }
    }
    if let format::Aqm::Red(red) = rule {
        let least = u64::from(red.min_packets).max(u64::from(red.max_packets) - 1) + 1;
        settings.maybe(0.1, at, "max_packets", whole(least, least + 200));
    }
}
