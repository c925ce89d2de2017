//! Random scenarios from a seed, with everything in the format, and the properties of each.

use core::fmt;

use airlane_core::{Seeds, Stream};
use airlane_scenario::{Resolved, Scenario, ScenarioError};
use serde_json::Value;

mod aggregation;
mod applications;
mod bandwidth_parts;
mod bearers;
mod carriers;
mod cells;
mod dual;
mod gaps;
mod headroom;
mod host_settings;
mod links;
mod marking;
mod nr;
mod outer_loop;
mod own;
mod pages;
mod parts;
mod paths;
mod proxies;
mod radio_settings;
mod reach;
mod retransmissions;
mod settings;
mod sleep;
mod ue_settings;
mod viewers;
mod xr;

use cells::Cells;

/// The pretended place of the scenarios, so that they find their files.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/swarm/swarm.toml");

/// A drawn scenario: a text, and values of keys that override it.
pub(crate) struct Drawn {
    pub(crate) text: String,
    pub(crate) settings: Vec<(String, Value)>,
}

impl Drawn {
    /// The resolved scenario.
    ///
    /// # Errors
    /// If the format does not allow it, which is an error of the generator.
    pub(crate) fn resolve(&self) -> Result<Resolved, ScenarioError> {
        let mut scenario = Scenario::parse(&self.text, FILE)?;
        for (path, value) in &self.settings {
            scenario.set(path, value)?;
        }
        scenario.resolve()
    }
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.settings.iter().try_for_each(|(path, value)| write!(f, "\n# set {path} = {value}"))
    }
}

/// The result of a scenario.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// True if a flow leads to a UE within reach, or needs none.
    pub(crate) within_reach: bool,
    /// True if it delivered a substantial amount, or its UEs may sleep for much of it.
    pub(crate) alive: bool,
    /// Number of flows without an excuse; each received something.
    pub(crate) without_excuse: usize,
    /// Handovers that were completed.
    pub(crate) handovers: u64,
    /// Bytes in files of captures and logs, the same in both runs.
    pub(crate) written: u64,
    /// The longest time from one transmission of a block to the next, and the part of such a time
    /// beyond the HARQ round trip at most, in slots.
    pub(crate) longest_wait: (u64, u64),
    /// Blocks of the uplink at the lowest MCS whose number of resource blocks was checked.
    pub(crate) granted: u64,
}

/// Runs the scenario of a seed twice, the second time with a log of the blocks, for half of the seeds on two threads, and
/// for a fifth in parts.
/// It must run, account for every packet, repeat, give each flow without an excuse ([`reach::without_excuse`]) something,
/// let no block wait for its next transmission longer than allowed ([`retransmissions::longest_wait`]), and no UE have more
/// errors than its outer loop allows ([`outer_loop::check`]).
///
/// # Errors
/// The scenario, if it fails; a panic has then been reported already.
pub(crate) fn attempt(seed: u64) -> Result<Outcome, String> {
    let drawn = drawn(seed);
    let outcome = std::panic::catch_unwind(|| {
        let resolved = drawn.resolve().unwrap_or_else(|e| panic!("{e}"));
        let mut logged = resolved.clone();
        logged.output.ran_log = !resolved.cell.is_empty();
        let threads = if Seeds::new(seed).stream("swarm/threads").chance(0.5) { 2 } else { 1 };
        let stops = parts::stops(&resolved, seed);
        let (once, mut again) =
            (parts::run(&resolved, seed, 1, &[]), parts::run(&logged, seed, threads, &stops));
        assert!(once.meta.conserved);
        match stops[..] {
            [] => assert_eq!(once.meta, again.meta),
            _ => assert_eq!(parts::without_counters(&once.meta), parts::without_counters(&again.meta)),
        }
        let log = again.tables.iter().position(|(name, _)| *name == "ran_log");
        if let Some(log) = log {
            outer_loop::check(&resolved, &again.tables[log].1);
            gaps::check(&resolved, &again.tables[log].1);
        }
        let longest_wait = log.map_or((0, 0), |log| {
            retransmissions::longest_wait(&resolved, &again.tables[log].1, &once.tables)
        });
        let granted = log.map_or(0, |log| headroom::check_grants(&again.tables[log].1));
        if !resolved.output.ran_log {
            log.map(|log| again.tables.remove(log));
        }
        assert_eq!(format!("{:?}", once.tables), format!("{:?}", again.tables));
        assert!(once.files == again.files, "captures or logs that do not repeat");
        let within_reach = resolved.ue.iter().any(|ue| reach::within_reach(&resolved, ue))
            || resolved.ue.is_empty()
            || aggregation::is_one(&resolved)
            || dual::is_one(&resolved);
        sleep::check(&resolved, &once.tables);
        aggregation::check(&resolved, &once.meta, &once.tables);
        dual::check(&resolved, &once.meta, &once.tables);
        xr::check(&resolved, &once.tables);
        paths::check(&resolved, &once.tables);
        // Links next to the network have coverage of their own.
        let must = if resolved.link.is_empty() { reach::without_excuse(&resolved) } else { vec![] };
        let (_, flows) = once.tables.iter().find(|(name, _)| *name == "flows").expect("every run has it");
        let nothing = reach::received_nothing(&resolved, &must, flows);
        assert!(nothing.is_empty(), "received nothing without an excuse: {nothing:?}");
        Outcome {
            within_reach,
            alive: once.meta.delivered > 100 || sleep::may_wait_long(&resolved),
            without_excuse: must.len(),
            handovers: once.meta.handovers.map_or(0, |counts| counts.successful),
            written: once.files.iter().map(|(_, bytes)| bytes.len() as u64).sum(),
            longest_wait,
            granted,
        }
    });
    outcome.map_err(|_| drawn.to_string())
}

/// The longer waits of two [`Outcome::longest_wait`].
pub(crate) fn longer(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0.max(other.0), one.1.max(other.1))
}

/// The scenario of a seed.
pub(crate) fn drawn(seed: u64) -> Drawn {
    let s = &mut Seeds::new(seed).stream("swarm/several-paths");
    if s.chance(0.04) {
        return paths::draw(s);
    }
    let s = &mut Seeds::new(seed).stream("swarm/aggregation");
    if s.chance(0.05) {
        let other = &mut Seeds::new(seed).stream("swarm/dual");
        let is_dual = other.chance(0.4);
        let of_nr = &mut Seeds::new(seed).stream("swarm/nr-dc");
        let variant = if of_nr.chance(0.4) { dual::Variant::nr_dc(of_nr) } else { dual::Variant::en_dc() };
        let mut drawn = if is_dual { dual::draw(other, &variant) } else { aggregation::draw(s) };
        if is_dual {
            dual::sleep(&mut Seeds::new(seed).stream("swarm/dual-sleep"), &mut drawn);
        }
        let s = &mut Seeds::new(seed).stream("swarm/scell-events");
        carriers::scell_events(s, &mut drawn.settings);
        gaps::draw(&mut Seeds::new(seed).stream("swarm/gaps"), &mut drawn);
        bandwidth_parts::draw(&mut Seeds::new(seed).stream("swarm/bandwidth-parts"), &mut drawn);
        return drawn;
    }
    let s = &mut Seeds::new(seed).stream("swarm/nr");
    let later = &mut Seeds::new(seed).stream("swarm/processing");
    let mut drawn = Drawn { text: nr::cells(text(seed), s, later), settings: Vec::new() };
    if let Ok(base) = drawn.resolve() {
        let s = &mut Seeds::new(seed).stream("swarm/settings");
        let layout = drawn.text.contains("[layout]");
        drawn.settings = settings::draw(s, &base, layout);
        let s = &mut Seeds::new(seed).stream("swarm/marking");
        let together = marking::draw(s, &base, layout, &drawn.settings);
        drawn.settings.extend(together);
        let stream = |name: &str| Seeds::new(seed).stream(name);
        let out_of_range = radio_settings::out_of_range(&mut stream("swarm/out-of-range"), &base, layout);
        drawn.settings.extend(out_of_range);
        let links = links::draw(&mut stream("swarm/links"), &base, layout, &drawn.settings);
        drawn.settings.extend(links);
        links::path_loss_map(&mut stream("swarm/path-loss-map"), &base, layout, &mut drawn.settings);
        drawn.settings.extend(headroom::draw(&mut stream("swarm/headroom"), &base, layout));
        bearers::draw(&mut stream("swarm/bearers"), &base, layout, &mut drawn.settings);
        let s = &mut Seeds::new(seed).stream("swarm/sleep");
        let sleep = sleep::draw(s, &base, layout, &drawn.settings);
        drawn.settings.extend(sleep);
        let s = &mut Seeds::new(seed).stream("swarm/carriers");
        if let Ok(settled) = drawn.resolve() {
            let carriers = carriers::draw(s, &settled, layout, &drawn.settings);
            drawn.settings.extend(carriers);
            carriers::scell_events(&mut stream("swarm/scell-events"), &mut drawn.settings);
        }
        gaps::draw(&mut stream("swarm/gaps"), &mut drawn);
    }
    bandwidth_parts::draw(&mut Seeds::new(seed).stream("swarm/bandwidth-parts"), &mut drawn);
    drawn
}

fn one_of<'a>(s: &mut Stream, choices: &[&'a str]) -> &'a str {
    choices[s.below(choices.len() as u64) as usize]
}

fn internet(s: &mut Stream, latest: &mut Stream) -> String {
    let mut text = format!(
        "[internet]\nrate = \"{} kbit/s\"\ndelay = \"{} us\"\nqueue = \"{} B\"\naqm = {}\n",
        100 + s.below(100_000),
        s.below(60_000),
        s.below(600_000),
        queue_rule(s, latest),
    );
    if s.chance(0.3) {
        text += &format!("loss = \"{} %\"\n", s.below(10));
    }
    if s.chance(0.2) {
        let (at, lasts) = (s.below(700), s.below(400));
        text += &format!("hold = [{{ at = \"{at} ms\", duration = \"{lasts} ms\" }}]\n");
    }
    if s.chance(0.2) {
        text += &format!(
            "rate_steps = [{{ at = \"{} ms\", rate = \"{} kbit/s\" }}]\n",
            s.below(900),
            50 + s.below(50_000)
        );
    }
    text
}

fn flow(s: &mut Stream, to: Option<&str>) -> String {
    let mut text = "[[flow]]\n".to_owned();
    if let Some(to) = to {
        text += &format!("to = \"{to}\"\n");
    }
    text += &format!("direction = \"{}\"\n", one_of(s, &["downlink", "downlink", "uplink"]));
    text += &format!("start = \"{} ms\"\n", s.below(300));
    if s.chance(0.2) {
        text += &format!("stop = \"{} ms\"\n", 301 + s.below(600));
    }
    if s.chance(0.25) {
        let (rate, payload) = (10 + s.below(40_000), 1 + s.below(1_472));
        return text
            + &format!(
                "transport = \"udp\"\napp = {{ kind = \"cbr\", rate = \"{rate} kbit/s\", payload = \"{payload} B\" }}\n"
            );
    }
    if s.chance(0.4) {
        text += &format!("app = {{ kind = \"fixed\", size = \"{} B\" }}\n", 1 + s.below(500_000));
    }
    text += "[flow.transport]\nkind = \"tcp\"\n";
    text += &format!("preset = \"{}\"\n", one_of(s, &["linux", "rfc", "ns3.26"]));
    let controllers = [
        "cubic", "newreno", "scalable", "vegas", "westwood", "veno", "bbr", "bbr3", "copa", "c2tcp", "c4",
        "vivace", "verus", "ledbat++",
    ];
    text += &format!("congestion = \"{}\"\n", one_of(s, &controllers));
    let options = ["timestamps", "sack", "window_scaling", "delayed_ack", "frto", "hystart"];
    for option in options.into_iter().chain(["compressed_sack", "ecn", "pacing"]) {
        if s.chance(0.3) {
            text += &format!("{option} = {}\n", s.chance(0.5));
        }
    }
    let sampling = one_of(s, &["\"each-ack\"", "\"once-per-window\"", "{ frozen_after = \"400 ms\" }"]);
    text += &format!("rtt_sampling = {sampling}\n");
    text += &format!("loss_detection = \"{}\"\n", one_of(s, &["rack-tlp", "rfc6675"]));
    if s.chance(0.3) {
        text +=
            &format!("receive_window = {{ kind = \"fixed\", size = \"{} B\" }}\n", 1500 + s.below(300_000));
    }
    text
}

/// Downlink flows sometimes use a PEP.
fn listening(s: &mut Stream, text: &str) -> String {
    let mut flows = text.split("[[flow]]");
    let mut text = flows.next().unwrap_or_default().to_owned();
    for flow in flows {
        let listens = flow.contains("\"downlink\"") && flow.contains("congestion = ") && s.chance(0.6);
        let scope = one_of(s, &["e2e", "per-domain", "ran-only"]);
        let clock = one_of(s, &["client", "pep", "sent"]);
        let line = |line: &str| {
            if line.starts_with("congestion = ") && listens {
                format!(
                    "congestion = \"mdcc\"\nmdcc = {{ inflight_scope = \"{scope}\", slow_start = \"{clock}\" }}\n"
                )
            } else {
                format!("{line}\n")
            }
        };
        text += &format!("[[flow]]{}", flow.lines().map(line).collect::<String>());
    }
    text
}

/// Links of the backhaul in series, or a single one without a list; shared ones first.
fn hops(s: &mut Stream) -> String {
    if !s.chance(0.3) {
        return String::new();
    }
    let (links, mut shared) = (1 + s.below(4), true);
    let hop = |_| {
        let mut text = "[[backhaul.hop]]\n".to_owned();
        shared = shared && s.chance(0.5);
        text += &format!("shared = {shared}\n");
        if s.chance(0.5) {
            text += &format!("rate = \"{} Mbit/s\"\n", 1 + s.below(1_000));
        }
        text += &format!("delay = \"{} us\"\n", s.below(5_000));
        if s.chance(0.3) {
            text += &format!("queue = \"{} B\"\n", 1_500 + s.below(1_000_000));
        }
        if s.chance(0.3) {
            let rule = one_of(s, &["drop-tail", "red", "codel", "fq-codel", "pie", "dualpi2", "abc"]);
            text += &format!("aqm = \"{rule}\"\n");
        }
        text
    };
    (0..links).map(hop).collect()
}

/// A PEP, with or without a fault.
fn middlebox(s: &mut Stream) -> String {
    let share = 1 + s.below(99);
    let (from, claim) = (s.below(900), one_of(s, &["everything", "unsent", "holes"]));
    let kind = one_of(s, &["loses", "reorders", "duplicates", "truncates"]);
    let faults = [
        "\"none\"".to_owned(),
        format!("{{ kind = \"{kind}\", share = \"{share} %\" }}"),
        format!("{{ kind = \"dies\", at = \"{from} ms\", until = \"{} ms\" }}", from + 1 + s.below(500)),
        format!("{{ kind = \"lies\", from = \"{from} ms\", claim = \"{claim}\" }}"),
        format!("\"{}\"", one_of(s, &["forges", "replays"])),
    ];
    let fault = &faults[s.below(faults.len() as u64) as usize];
    format!(
        "[[middlebox]]\nat = \"{}\"\nack_every = {}\nmin_interval = \"{} us\"\nmax_delay = \"{} ms\"\n\
         reordering = {}\nflows = {}\nranges = {}\nidle = \"{} ms\"\nfault = {fault}\n",
        one_of(s, &["gateway", "enb"]),
        1 + s.below(4),
        s.below(3_000),
        1 + s.below(20),
        1 + s.below(5),
        1 + s.below(20),
        1 + s.below(16),
        1 + s.below(500),
    )
}

/// Bursts of datagrams, or short flows one after the other; often neither.
fn background(s: &mut Stream, to: Option<&str>) -> String {
    if !s.chance(0.3) {
        return String::new();
    }
    let mut text = to.map_or("[[flow]]\n".to_owned(), |to| format!("[[flow]]\nto = \"{to}\"\n"));
    text += &format!("name = \"background\"\nstart = \"{} ms\"\n", s.below(300));
    if s.chance(0.5) {
        let (size, count, every) = (1 + s.below(200_000), 1 + s.below(4), 1 + s.below(300));
        text += &format!("app = {{ kind = \"fixed\", size = \"{size} B\" }}\n");
        return text + &format!("repeat = {{ count = {count}, every = \"{every} ms\" }}\n");
    }
    let reading = one_of(s, &["module", "literal"]);
    let (rate, length, active) = (10 + s.below(20_000), 1 + s.below(200), 1 + s.below(80));
    let hurst = 51 + s.below(49);
    text + &format!(
        "transport = \"udp\"\napp = {{ kind = \"ppbp\", reading = \"{reading}\", rate = \"{rate} kbit/s\", length = \"{length} ms\", active = {}, hurst = 0.{hurst} }}\n",
        active as f64 / 10.0
    )
}

/// Settings that QUIC got later: model-based controllers, controllers that use a PEP, and encryption. Lines
/// of a transport; a line with a controller replaces `congestion`.
pub(crate) fn of_quic(s: &mut Stream, congestion: &str, downlink: bool) -> String {
    let later = ["bbr", "bbr3", "mdcc"];
    let congestion = if s.chance(0.5) { one_of(s, &later[..2 + usize::from(downlink)]) } else { congestion };
    let crypto = if s.chance(0.3) { "tls" } else { "null" };
    format!("congestion = \"{congestion}\"\ncrypto = \"{crypto}\"\n")
}

/// A flow over QUIC with random settings; often none.
fn over_quic(s: &mut Stream, later: &mut Stream, to: Option<&str>) -> String {
    if !s.chance(0.3) {
        return String::new();
    }
    let mut text = to.map_or("[[flow]]\n".to_owned(), |to| format!("[[flow]]\nto = \"{to}\"\n"));
    text += &format!("name = \"quic\"\nstart = \"{} ms\"\n", s.below(300));
    let direction = one_of(s, &["downlink", "uplink"]);
    text += &format!("direction = \"{direction}\"\n");
    if s.chance(0.5) {
        let (size, objects) = (1 + s.below(200_000), 1 + s.below(5));
        text += &format!("app = {{ kind = \"fixed\", size = \"{size} B\", objects = {objects} }}\n");
    } else if s.chance(0.3) {
        text += &format!("stop = \"{} ms\"\n", 301 + s.below(600));
    }
    let controllers = ["cubic", "newreno", "scalable", "vegas", "westwood", "veno"];
    let congestion = one_of(s, &controllers);
    text += &format!(
        "[flow.transport]\nkind = \"quic\"\n{}",
        of_quic(later, congestion, direction == "downlink")
    );
    let initial_mtu = 1_228 + s.below(300);
    text += &format!("initial_mtu = \"{initial_mtu} B\"\nmtu = \"{} B\"\n", initial_mtu + s.below(600));
    for option in ["hystart", "mtu_discovery", "ecn"] {
        if s.chance(0.3) {
            text += &format!("{option} = {}\n", s.chance(0.5));
        }
    }
    for window in ["stream_window", "connection_window", "send_window"] {
        if s.chance(0.2) {
            text += &format!("{window} = \"{} B\"\n", 2_128 + s.below(300_000));
        }
    }
    text += &format!("initial_rtt = \"{} ms\"\n", 1 + s.below(500));
    text += &format!("idle_timeout = \"{} ms\"\n", one_of(s, &["0", "200", "30000"]));
    text += &format!("loss_discriminator = \"{}\"\n", one_of(s, &["legacy", "veno"]));
    text + &format!("initial_window = {}\n", 2 + s.below(40))
}

/// A path-loss model, and a valid height of cells for it.
fn path_loss(s: &mut Stream, latest: &mut Stream) -> (String, Option<u64>) {
    let plain = one_of(s, &["friis", "friis", "log-distance", "tr25.814"]);
    if !latest.chance(0.3) {
        return (format!("\"{plain}\""), None);
    }
    if latest.chance(0.4) {
        let city = one_of(latest, &["suburban", "metropolitan"]);
        let law = format!("{{ kind = \"cost231-hata\", city = \"{city}\" }}");
        return (law, Some(30 + latest.below(50)));
    }
    if latest.chance(0.5) {
        let scenes = [("uma", 25), ("umi", 10), ("rma", 35), ("inh-mixed", 3), ("inh-open", 3)];
        let (scene, site) = scenes[latest.below(5) as usize];
        let report =
            if latest.chance(0.3) && ["uma", "umi"].contains(&scene) { "tr36.873" } else { "tr38.901" };
        return (format!("{{ kind = \"{report}\", scene = \"{scene}\" }}"), Some(site));
    }
    let (scene, site) = [("uma", 25), ("umi", 10), ("rma", 35)][latest.below(3) as usize];
    (format!("{{ kind = \"tr36.814\", scene = \"{scene}\" }}"), Some(site))
}

fn radio(s: &mut Stream, later: &mut Stream, latest: &mut Stream, cells: &Cells) -> String {
    let mut text = format!("network = \"{}\"\n", one_of(s, &["lena", "typical"]));
    text += "[channel]\n";
    let (law, height) = path_loss(s, latest);
    text += &format!("path_loss = {law}\n");
    if s.chance(0.3) {
        text +=
            "shadowing = { kind = \"log-normal\", deviation = \"4 dB\", correlation_distance = \"50 m\" }\n";
    }
    let speed = s.below(130);
    let older = one_of(s, &["none", "flat", "epa", "eva", "etu"]);
    let newer = latest.chance(0.3).then(|| one_of(latest, &["tdl-a", "tdl-b", "tdl-c", "tdl-d", "tdl-e"]));
    match newer.unwrap_or(older) {
        "none" => text += "fading = \"none\"\n",
        model => text += &format!("fading = {{ model = \"{model}\", speed = \"{speed} km/h\" }}\n"),
    }
    if latest.chance(0.1) {
        let (people, vehicles) = (100 + latest.below(9000), 100 + latest.below(9000));
        text += &format!(
            "blockage = {{ kind = \"screens\", people_interval = \"{people} ms\", vehicle_interval = \"{vehicles} ms\" }}\n"
        );
    }
    if latest.chance(0.15) {
        let (good, bad, depth) = (1 + latest.below(500), 1 + latest.below(60), latest.below(60));
        text += &format!(
            "bursts = {{ kind = \"gilbert-elliott\", good = \"{good} ms\", bad = \"{bad} ms\", depth = \"{depth} dB\" }}\n"
        );
    }
    let mut shared = None;
    for cell in 0..cells.count(s.below(2) + 1) {
        text += &format!("[[cell]]\nname = \"cell-{cell}\"\n");
        if !cells.is_layout() {
            text += &format!("position = [\"{} m\", \"0 m\"]\n", 600 * cell);
        }
        // Cells on one carrier have the same bandwidth; a second cell may have its own carrier.
        let drawn = one_of(s, &["6", "15", "25", "50", "75", "100"]);
        let apart = cell > 0 && later.chance(0.3);
        let blocks = if apart { drawn } else { *shared.get_or_insert(drawn) };
        text += &match (later.chance(0.2), blocks) {
            (true, "6") => "bandwidth = \"1.4 MHz\"\n".to_owned(),
            (true, _) => format!("bandwidth = \"{} MHz\"\n", blocks.parse::<u16>().expect("a number") / 5),
            (false, _) => format!("resource_blocks = {blocks}\n"),
        };
        if let Some(site) = height {
            text += &format!("height = \"{site} m\"\n");
        }
        if apart {
            let (down, up) = (1760 + 40 * cell, 1660 + 40 * cell);
            text += &format!("frequency = \"{down} MHz\"\nuplink_frequency = \"{up} MHz\"\n");
        }
        text += &layers(s, later, latest, cells);
    }
    text + cells.sections()
}

/// The settings of a cell's MAC and above.
fn layers(s: &mut Stream, later: &mut Stream, latest: &mut Stream, cells: &Cells) -> String {
    let mut text = String::new();
    let scheduler = one_of(s, &["pf", "rr", "mt", "bet", "tta", "pss"]);
    text += &match scheduler {
        "mt" | "bet" if later.chance(0.5) => {
            format!("scheduler = {{ kind = \"{scheduler}\", domain = \"time\" }}\n")
        }
        _ => format!("scheduler = \"{scheduler}\"\n"),
    };
    text += &format!("transmission_mode = \"{}\"\n", one_of(s, &["siso", "tm2", "tm3"]));
    text += cells.throttling();
    text += &format!("harq = {}\n", s.chance(0.8));
    text += &format!("control_errors = {}\n", later.chance(0.3));
    text += &format!("uplink = \"{}\"\n", one_of(s, &["scheduling-request", "ideal-buffer-status"]));
    text += &format!(
        "mac = {{ mcs_rule = \"{}\", amc = \"{}\", power_control = \"{}\", \
         cqi_reference = \"{}\", uplink_amc = \"{}\", cqi_report = \"{}\", rank = \"{}\" }}\n",
        one_of(s, &["worst-subband", "effective"]),
        one_of(s, &["mutual-information", "piro"]),
        one_of(later, &["none", "open-loop"]),
        one_of(later, &["pdsch-interference", "control-region"]),
        one_of(later, &["mutual-information", "piro"]),
        one_of(later, &["subband", "wideband"]),
        cells.rank(),
    );
    if s.chance(0.15) && !cells.is_layout() {
        text += &format!("antenna = {{ kind = \"sector\", azimuth = \"{} deg\" }}\n", s.below(360));
    }
    let mode = match cells.rlc(one_of(s, &["am", "um"])) {
        "am" if latest.chance(0.3) => "nr-am",
        "um" if latest.chance(0.3) => "nr-um",
        other => other,
    };
    text += &format!(
        "rlc = {{ mode = \"{mode}\", buffer = \"{} B\", aqm = {} }}\n",
        1_500 + s.below(600_000),
        queue_rule(s, latest)
    );
    if s.chance(0.3) {
        text += &format!("pdcp = {{ discard_timer = \"{} ms\" }}\n", 50 + s.below(300));
    }
    text
}

/// Sometimes loss discriminators of senders, and, in a cell, the base station's information for some
/// of them.
fn discerning(s: &mut Stream, text: &str, wired: bool) -> String {
    let discriminator = |s: &mut Stream, downlink: bool| {
        let meld = [
            format!("{{ kind = \"meld-de\", timeouts = \"{}\" }}", one_of(s, &["judged", "congestion"])),
            format!(
                "{{ kind = \"meld-me\", threshold = \"{}\", stale_after = \"{} ms\" }}",
                one_of(s, &["as-run", "derived", "present"]),
                s.below(200)
            ),
        ];
        let peers = [
            "\"legacy\"",
            "\"ignore\"",
            "\"veno\"",
            "\"ncpld\"",
            "{ kind = \"lda-eq\", threshold = \"30 %\" }",
        ];
        let (of_meld, of_peers) = (s.below(2) as usize, one_of(s, &peers).to_owned());
        if downlink && !wired && s.chance(0.6) { meld[of_meld].clone() } else { of_peers }
    };
    let mut flows = text.split("[[flow]]");
    let mut out = flows.next().unwrap_or_default().to_owned();
    for flow in flows {
        let own = discriminator(s, flow.contains("\"downlink\""));
        let line = |line: &str| {
            if line.starts_with("loss_discriminator") {
                String::new()
            } else if line.starts_with("congestion = ") {
                format!("{line}\nloss_discriminator = {own}\n")
            } else {
                format!("{line}\n")
            }
        };
        out += &format!("[[flow]]{}", flow.lines().map(line).collect::<String>());
    }
    if wired {
        return out;
    }
    let (from, share) = (s.below(900), 1 + s.below(99));
    let faults = [
        "\"none\"".to_owned(),
        format!("{{ kind = \"silent\", from = \"{from} ms\", until = \"{} ms\" }}", from + 1 + s.below(500)),
        format!("{{ kind = \"late\", from = \"{from} ms\", by = \"{} ms\" }}", 1 + s.below(400)),
        format!("{{ kind = \"{}\", share = \"{share} %\" }}", one_of(s, &["reorders", "nonsense"])),
        "\"wrong-ue\"".to_owned(),
    ];
    out += &format!(
        "[rnis]\nperiod = \"{} ms\"\ndelay = \"{} us\"\nloss = \"{} %\"\nfault = {}\n",
        1 + s.below(100),
        s.below(20_000),
        s.below(50),
        faults[s.below(faults.len() as u64) as usize],
    );
    out
}

/// The movement of a UE that is placed within 200 m of the first cell, or by a file.
fn movement(s: &mut Stream) -> String {
    let range = |s: &mut Stream, unit: &str, least: u64| {
        let low = least + s.below(5);
        format!("{{ min = \"{low} {unit}\", max = \"{} {unit}\" }}", low + s.below(60))
    };
    match s.below(5) {
        0 => format!(
            "mobility = {{ kind = \"line\", heading = \"{} deg\", speed = \"{} km/h\", speed_variance = \"{} (km/h)^2\" }}\n",
            s.below(360),
            1 + s.below(50),
            s.below(10)
        ),
        1 => format!(
            "mobility = {{ kind = \"line\", towards = [\"{} m\", \"7 m\"], speed = \"{} m/s\" }}\n",
            s.below(600),
            1 + s.below(14)
        ),
        2 => format!(
            "mobility = {{ kind = \"random-waypoint\", speed = {}, pause = {} }}\n",
            range(s, "km/h", 1),
            range(s, "ms", 0)
        ),
        3 => format!(
            "mobility = {{ kind = \"random-waypoint\", area = {{ kind = \"rectangle\", from = [\"-220 m\", \"-210 m\"], to = [\"200 m\", \"230 m\"] }}, speed = {} }}\n",
            range(s, "km/h", 1)
        ),
        _ => "mobility = \"levy-walk\"\n".to_owned(),
    }
}

/// Some of those that go from point to point go in random directions instead.
fn walking(s: &mut Stream, ues: &str) -> String {
    let line = |line: &str| {
        if !line.starts_with("mobility = { kind = \"random-waypoint\"") || s.chance(0.5) {
            return format!("{line}\n");
        }
        let step = match s.below(3) {
            0 => String::new(),
            1 => format!(", step = {{ kind = \"time\", duration = \"{} ms\" }}", 1 + s.below(900)),
            _ => format!(", step = {{ kind = \"distance\", length = \"{} m\" }}", 1 + s.below(90)),
        };
        let (min, more) = (1 + s.below(20), s.below(20));
        format!(
            "mobility = {{ kind = \"random-walk\", area = {{ from = [\"-220 m\", \"-210 m\"], to = [\"200 m\", \"230 m\"] }}, \
             speed = {{ min = \"{min} m/s\", max = \"{} m/s\" }}{step} }}\n",
            min + more
        )
    };
    ues.lines().map(line).collect()
}

fn ues(s: &mut Stream, later: &mut Stream) -> String {
    let mut text = String::new();
    for group in 0..=s.below(3) {
        text += &format!(
            "[[ue]]\nname = \"ue-{}\"\ncount = {}\n",
            ["x", "y", "z"][group as usize],
            1 + s.below(5)
        );
        if later.chance(0.15) {
            // The file has four nodes.
            text = text.rsplit_once("count").expect("just written").0.to_owned();
            let count = 1 + later.below(4);
            let node = later.below(5 - count);
            text += &format!(
                "count = {count}\nmobility = {{ kind = \"trace\", file = \"walk.tcl\", node = {node} }}\n"
            );
        } else if s.chance(0.5) {
            text += &format!("position = [\"{} m\", \"{} m\"]\n", s.below(4_000), s.below(500));
        } else {
            text += "placement = { kind = \"disc\", radius = \"200 m\" }\n";
            if s.chance(0.5) {
                text += &movement(later);
            }
        }
    }
    text
}

/// A queue discipline, sometimes with marks instead of drops.
fn queue_rule(s: &mut Stream, latest: &mut Stream) -> String {
    let rule = one_of(s, &["drop-tail", "red", "codel", "fq-codel", "pie", "dualpi2", "abc"]);
    if !["drop-tail", "dualpi2", "abc"].contains(&rule) && latest.chance(0.3) {
        return format!("{{ kind = \"{rule}\", ecn = true }}");
    }
    format!("\"{rule}\"")
}

/// Sometimes delivery traces in place of constant rates.
fn traced(seed: u64, later: &mut Stream, mut text: String) -> String {
    if !text.contains("rate_steps") && !text.contains("hold") && later.chance(0.15) {
        text += "trace = \"../../../../scenarios/traces/sawtooth.down\"\n";
    }
    if Seeds::new(seed).stream("swarm/uplink-trace").chance(0.1) {
        text += "uplink_trace = \"../../../../scenarios/traces/sawtooth.down\"\n";
    }
    text
}

/// Sometimes a PEP, or split proxies.
fn with_middlebox(seed: u64, mut text: String) -> String {
    let middle = &mut Seeds::new(seed).stream("swarm/middlebox");
    let splitting = &mut Seeds::new(seed).stream("swarm/proxies");
    if middle.chance(0.4) {
        text = listening(middle, &text) + &middlebox(middle);
    } else if splitting.chance(0.5) {
        text += &proxies::proxies(splitting);
    }
    text
}

fn text(seed: u64) -> String {
    let newest = &mut Seeds::new(seed).stream("swarm/newest");
    if newest.chance(0.1) {
        return cells::open(newest);
    }
    let s = &mut Seeds::new(seed).stream("swarm");
    // Draws settings that the format did not have when the swarm was written.
    let later = &mut Seeds::new(seed).stream("swarm/later");
    let latest = &mut Seeds::new(seed).stream("swarm/latest");
    let bursts = &mut Seeds::new(seed).stream("swarm/bursts");
    let datagrams = &mut Seeds::new(seed).stream("swarm/quic");
    let watchers = &mut Seeds::new(seed).stream("swarm/viewers");
    let readers = &mut Seeds::new(seed).stream("swarm/web");
    let versions = &mut Seeds::new(seed).stream("swarm/versions");
    let judges = &mut Seeds::new(seed).stream("swarm/losses");
    let wired = s.chance(0.3);
    let cells = Cells::draw(newest);
    let mut text = if wired { "network = \"wired\"\n".to_owned() } else { radio(s, later, latest, &cells) };
    text += &cells::output(newest, wired);
    text += "[run]\nduration = \"1 s\"\n";
    if latest.chance(0.2) {
        text += "ue_series = true\n";
    }
    text += &internet(s, latest);
    text = traced(seed, later, text);
    if wired {
        for _ in 0..=s.below(3) {
            text += &flow(s, None);
        }
        text += &(background(bursts, None) + &over_quic(datagrams, versions, None));
        if judges.chance(0.4) {
            text = discerning(judges, &text, true);
        }
        text += &(viewers::viewer(watchers, versions, None) + &pages::browser(readers, versions, None));
        return text + &applications::applications(seed, None, "");
    }
    text += &format!(
        "[backhaul]\nrate = \"{} Mbit/s\"\ndelay = \"{} us\"\naqm = {}\nshared = {}\n",
        1 + later.below(1_000),
        later.below(20_000),
        queue_rule(later, latest),
        newest.chance(0.3),
    );
    text += &hops(&mut Seeds::new(seed).stream("swarm/hops"));
    let mut ues = ues(s, later);
    ues = walking(&mut Seeds::new(seed).stream("swarm/walk"), &cells.moved(ues, newest));
    if ["cost231-hata", "tr36.814", "tr36.873", "tr38.901"].iter().any(|law| text.contains(law)) {
        ues = ues.replace("count = ", "height = \"1.5 m\"\ncount = "); // the range of these models
    }
    text += &ues;
    for name in ["ue-x", "ue-y", "ue-z"] {
        if ues.contains(name) {
            text += &flow(s, Some(name));
            if newest.chance(0.3) {
                text += &flow(newest, Some(name)); // sometimes one in the other direction
            }
        }
    }
    text = with_middlebox(seed, text);
    let first = ["ue-x", "ue-y", "ue-z"].into_iter().find(|name| ues.contains(name));
    text += &(background(bursts, first) + &over_quic(datagrams, versions, first));
    if judges.chance(0.4) {
        text = discerning(judges, &text, false);
    }
    text += &(viewers::viewer(watchers, versions, first) + &pages::browser(readers, versions, first));
    text + &applications::applications(seed, first, &ues)
}
