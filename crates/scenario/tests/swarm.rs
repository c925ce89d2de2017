//! Random scenarios from a seed: whatever the format allows must run, lose nothing unaccounted
//! and repeat. A failure prints the scenario and the seed; `AIRLANE_SWARM=seed` runs that one.

use airlane_core::{Seeds, Stream};
use airlane_scenario::{Scenario, run};

/// Scenarios per test run.
const SCENARIOS: u64 = 200;

fn one_of<'a>(s: &mut Stream, choices: &[&'a str]) -> &'a str {
    choices[s.below(choices.len() as u64) as usize]
}

fn internet(s: &mut Stream) -> String {
    let mut text = format!(
        "[internet]\nrate = \"{} kbit/s\"\ndelay = \"{} us\"\nqueue = \"{} B\"\naqm = \"{}\"\n",
        100 + s.below(100_000),
        s.below(60_000),
        s.below(600_000),
        one_of(s, &["drop-tail", "red", "codel", "fq-codel", "pie"]),
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
    let controllers = ["cubic", "newreno", "scalable", "vegas", "westwood", "veno", "bbr", "bbr3"];
    text += &format!("congestion = \"{}\"\n", one_of(s, &controllers));
    for option in [
        "timestamps",
        "sack",
        "window_scaling",
        "delayed_ack",
        "frto",
        "hystart",
        "compressed_sack",
        "ecn",
        "pacing",
    ] {
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

/// `later` draws what the format had not when the swarm was written: the rest stays as it was.
fn radio(s: &mut Stream, later: &mut Stream) -> String {
    let mut text = format!("network = \"{}\"\n", one_of(s, &["lena", "typical"]));
    text += "[channel]\n";
    text += &format!("path_loss = \"{}\"\n", one_of(s, &["friis", "friis", "log-distance", "tr25.814"]));
    if s.chance(0.3) {
        text +=
            "shadowing = { kind = \"log-normal\", deviation = \"4 dB\", correlation_distance = \"50 m\" }\n";
    }
    let speed = s.below(130);
    match one_of(s, &["none", "flat", "epa", "eva", "etu"]) {
        "none" => text += "fading = \"none\"\n",
        model => text += &format!("fading = {{ model = \"{model}\", speed = \"{speed} km/h\" }}\n"),
    }
    let mut shared = None;
    for cell in 0..=s.below(2) {
        text += &format!("[[cell]]\nname = \"cell-{cell}\"\nposition = [\"{} m\", \"0 m\"]\n", 600 * cell);
        // Cells on one carrier have one bandwidth; a second cell may have a carrier of its own.
        let drawn = one_of(s, &["6", "15", "25", "50", "75", "100"]);
        let apart = cell > 0 && later.chance(0.3);
        let blocks = if apart { drawn } else { *shared.get_or_insert(drawn) };
        text += &format!("resource_blocks = {blocks}\n");
        if apart {
            text += "frequency = \"1.8 GHz\"\nuplink_frequency = \"1.7 GHz\"\n";
        }
        text += &format!("scheduler = \"{}\"\n", one_of(s, &["pf", "rr", "mt", "bet", "tta", "pss"]));
        text += &format!("transmission_mode = \"{}\"\n", one_of(s, &["siso", "tm2"]));
        text += &format!("harq = {}\n", s.chance(0.8));
        text += &format!("control_errors = {}\n", later.chance(0.3));
        text += &format!("uplink = \"{}\"\n", one_of(s, &["scheduling-request", "ideal-buffer-status"]));
        text += &format!(
            "mac = {{ mcs_rule = \"{}\", amc = \"{}\", power_control = \"{}\", \
             cqi_reference = \"{}\", uplink_amc = \"{}\", cqi_report = \"{}\" }}\n",
            one_of(s, &["worst-subband", "effective"]),
            one_of(s, &["mutual-information", "piro"]),
            one_of(later, &["none", "open-loop"]),
            one_of(later, &["pdsch-interference", "control-region"]),
            one_of(later, &["mutual-information", "piro"]),
            one_of(later, &["subband", "wideband"])
        );
        if s.chance(0.15) {
            text += &format!("antenna = {{ kind = \"sector\", azimuth = \"{} deg\" }}\n", s.below(360));
        }
        text += &format!(
            "rlc = {{ mode = \"{}\", buffer = \"{} B\", aqm = \"{}\" }}\n",
            one_of(s, &["am", "um"]),
            1_500 + s.below(600_000),
            one_of(s, &["drop-tail", "red", "codel", "fq-codel", "pie"])
        );
        if s.chance(0.3) {
            text += &format!("pdcp = {{ discard_timer = \"{} ms\" }}\n", 50 + s.below(300));
        }
    }
    text
}

fn ues(s: &mut Stream) -> String {
    let mut text = String::new();
    for group in 0..=s.below(3) {
        text += &format!(
            "[[ue]]\nname = \"ue-{}\"\ncount = {}\n",
            ["x", "y", "z"][group as usize],
            1 + s.below(5)
        );
        if s.chance(0.5) {
            text += &format!("position = [\"{} m\", \"{} m\"]\n", s.below(4_000), s.below(500));
        } else {
            text += "placement = { kind = \"disc\", radius = \"200 m\" }\n";
            if s.chance(0.5) {
                text += "mobility = \"levy-walk\"\n";
            }
        }
    }
    text
}

fn scenario(seed: u64) -> String {
    let s = &mut Seeds::new(seed).stream("swarm");
    let wired = s.chance(0.3);
    let mut text = if wired {
        "network = \"wired\"\n".to_owned()
    } else {
        radio(s, &mut Seeds::new(seed).stream("swarm/later"))
    };
    text += "[run]\nduration = \"1 s\"\n";
    text += &internet(s);
    if wired {
        for _ in 0..=s.below(3) {
            text += &flow(s, None);
        }
        return text;
    }
    let ues = ues(s);
    text += &ues;
    for name in ["ue-x", "ue-y", "ue-z"] {
        if ues.contains(name) {
            text += &flow(s, Some(name));
        }
    }
    text
}

#[test]
fn whatever_the_format_allows_runs() {
    let chosen = std::env::var("AIRLANE_SWARM").ok().map(|seed| seed.parse::<u64>().expect("a number"));
    let seeds = chosen.map_or(0..SCENARIOS, |seed| seed..seed + 1);
    let (mut runs, mut alive) = (0, 0);
    for seed in seeds {
        let text = scenario(seed);
        let attempt = std::panic::catch_unwind(|| {
            let resolved = Scenario::parse(&text, "swarm.toml").and_then(|s| s.resolve());
            let resolved = resolved.unwrap_or_else(|e| panic!("{e}"));
            let (once, again) = (run(&resolved, seed).unwrap(), run(&resolved, seed).unwrap());
            assert!(once.meta.conserved);
            assert_eq!(once.meta, again.meta);
            assert_eq!(format!("{:?}", once.tables), format!("{:?}", again.tables));
            once.meta.delivered
        });
        runs += 1;
        alive += u32::from(attempt.as_ref().is_ok_and(|delivered| *delivered > 100));
        assert!(
            attempt.is_ok(),
            "repeat with AIRLANE_SWARM={seed} cargo test -p airlane-scenario --test swarm\n{text}"
        );
    }
    // A cell of 6 resource blocks with a buffer of one packet may carry little, but most carry a lot.
    assert!(
        chosen.is_some() || 5 * alive > 4 * runs,
        "{alive} of {runs} runs delivered anything to speak of"
    );
}
