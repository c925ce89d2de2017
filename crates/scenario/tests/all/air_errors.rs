//! The errors for mistakes in fading, blockage, interference, loss, the uplink, and radio information.

use airlane_scenario::Scenario;

const BASE: &str = r#"network = "typical"
[rnis]
[channel]
fading = "none"
[[cell]]
name = "a"
[[ue]]
name = "phone"
position = ["100 m", "0 m"]
[[flow]]
to = "phone"
transport = { kind = "quic", loss_discriminator = "meld-me" }
"#;

/// The error for the base with one text replaced.
fn changed(from: &str, to: &str) -> String {
    assert!(BASE.contains(from), "{from}");
    error(&BASE.replacen(from, to, 1))
}

fn extended(more: &str) -> String {
    error(&format!("{BASE}{more}\n"))
}

fn error(text: &str) -> String {
    let outcome = Scenario::parse(text, "x.toml").and_then(|scenario| scenario.resolve());
    outcome.expect_err("the scenario is wrong").to_string()
}

fn mistakes_of_the_service() -> Vec<(&'static str, String)> {
    let rnis = |settings: &str| changed("[rnis]", &format!("[rnis]\n{settings}"));
    vec![
        ("information without a pause", rnis("period = \"0 ms\"")),
        ("a period that is no number of slots", rnis("period = \"1500 us\"")),
        ("more than all of it lost", rnis("loss = \"101 %\"")),
        ("a delay without unit", rnis("delay = 3")),
        ("an unknown fault", rnis("fault = \"tired\"")),
        ("a fault without its share", rnis("fault = \"reorders\"")),
        (
            "heard again before it fell silent",
            rnis("fault = { kind = \"silent\", from = \"3 s\", until = \"2 s\" }"),
        ),
        ("late by nothing", rnis("fault = { kind = \"late\", by = \"0 s\" }")),
        ("misspelt", rnis("perod = \"10 ms\"")),
    ]
}

/// A threshold that needs the table of block sizes, with two cells that have different tables.
fn two_tables() -> String {
    let other = "[[cell]]\nname = \"b\"\nposition = [\"900 m\", \"0 m\"]\nmac = { cqi_to_mcs = \"openairinterface\" }\n";
    BASE.replacen("[[ue]]", &format!("{other}[[ue]]"), 1).replacen(
        "\"meld-me\"",
        "{ kind = \"meld-me\", threshold = \"present\" }",
        1,
    )
}

fn mistakes_of_discriminators() -> Vec<(&'static str, String)> {
    let rule = |rule: &str| changed("\"meld-me\"", rule);
    let tcp = |own: &str| changed("kind = \"quic\", loss_discriminator = \"meld-me\"", own);
    vec![
        ("nobody says anything", changed("[rnis]\n", "")),
        ("an unknown rule", rule("\"meld\"")),
        ("a rule of what goes up", changed("to = \"phone\"", "to = \"phone\"\ndirection = \"uplink\"")),
        (
            "a rule for a browser",
            tcp("kind = \"tcp\", loss_discriminator = \"meld-de\" }\napp = { kind = \"web\""),
        ),
        ("an unknown threshold", rule("{ kind = \"meld-me\", threshold = \"printed\" }")),
        ("a threshold where there is none", rule("{ kind = \"meld-de\", threshold = \"derived\" }")),
        ("a packet of nothing", rule("{ kind = \"meld-de\", pdu = \"0 B\" }")),
        ("a packet that is none", rule("{ kind = \"meld-me\", pdu = \"65536 B\" }")),
        ("no HARQ processes", rule("{ kind = \"meld-de\", harq_processes = 0 }")),
        ("too many HARQ processes", rule("{ kind = \"meld-me\", harq_processes = 33 }")),
        ("a table of each cell", error(&two_tables())),
        ("an age without unit", rule("{ kind = \"meld-de\", stale_after = 0 }")),
        ("timeouts otherwise", rule("{ kind = \"meld-de\", timeouts = \"ignored\" }")),
        ("no part of a queue", rule("{ kind = \"lda-eq\", threshold = \"0 %\" }")),
        ("all of a queue", rule("{ kind = \"lda-eq\", threshold = \"100 %\" }")),
        ("an age for Veno", rule("{ kind = \"veno\", stale_after = \"1 s\" }")),
        ("an unknown pacing", rule("\"legacy\", pacing = \"linux\"")),
    ]
}

fn mistakes_of_interference() -> Vec<(&'static str, String)> {
    let bursts = |settings: &str| {
        changed(
            "fading = \"none\"",
            &format!("fading = \"none\"\nbursts = {{ kind = \"gilbert-elliott\", {settings} }}"),
        )
    };
    let internet = |settings: &str| extended(&format!("[internet]\n{settings}"));
    vec![
        ("bursts of no kind", changed("fading = \"none\"", "fading = \"none\"\nbursts = \"some\"")),
        ("bursts without a length", bursts("good = \"30 ms\", depth = \"20 dB\"")),
        ("no time between bursts", bursts("good = \"0 ms\", bad = \"5 ms\", depth = \"20 dB\"")),
        ("bursts longer than a day", bursts("good = \"30 ms\", bad = \"90000 s\", depth = \"20 dB\"")),
        ("bursts that help", bursts("good = \"30 ms\", bad = \"5 ms\", depth = \"-3 dB\"")),
        (
            "bursts that help in the uplink",
            bursts("good = \"30 ms\", bad = \"5 ms\", depth = \"3 dB\", uplink_depth = \"-3 dB\""),
        ),
        ("a depth without unit", bursts("good = \"30 ms\", bad = \"5 ms\", depth = 20")),
        ("half a packet lost at once", internet("loss = \"1 %\"\nloss_burst = 0.5")),
        ("bursts with nothing between", internet("loss = \"80 %\"\nloss_burst = 2.0")),
        ("bursts of ns-3's draws", internet("loss = \"1 %\"\nloss_burst = 2.0\nloss_seed = 1")),
        (
            "an eleventh subframe",
            changed("name = \"a\"", "name = \"a\"\nmac = { blank_subframes = [0, 10] }"),
        ),
        ("a subframe twice", changed("name = \"a\"", "name = \"a\"\nmac = { blank_subframes = [5, 5] }")),
        (
            "no subframe left",
            changed(
                "name = \"a\"",
                "name = \"a\"\nmac = { blank_subframes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] }",
            ),
        ),
        (
            "a subframe before the first",
            changed("name = \"a\"", "name = \"a\"\nmac = { blank_subframes = [-1] }"),
        ),
    ]
}

fn mistakes_of_the_uplink() -> Vec<(&'static str, String)> {
    let uplink =
        |settings: &str| changed("name = \"a\"", &format!("name = \"a\"\nuplink = {{ {settings} }}"));
    vec![
        ("an unknown way in", uplink("kind = \"random\"")),
        ("polled without a pause", uplink("kind = \"polled\", interval = \"0 ms\"")),
        ("polled between slots", uplink("kind = \"polled\", interval = \"1.5 ms\"")),
        ("polled never", uplink("kind = \"polled\", polls = 0")),
        ("a grant for nothing", uplink("kind = \"polled\", initial_grant = \"0 B\"")),
        (
            "short numbers where they are confirmed",
            changed("name = \"a\"", "name = \"a\"\nrlc.mode = \"am\"\npdcp.sn_bits = 7"),
        ),
        (
            "numbers of LTE in RLC of NR",
            changed("name = \"a\"", "name = \"a\"\nrlc = { mode = \"nr-am\", sn_bits = 10 }"),
        ),
        (
            "numbers of LTE in PDCP of NR",
            changed("name = \"a\"", "name = \"a\"\nrlc.mode = \"nr-um\"\npdcp.sn_bits = 15"),
        ),
        (
            "a timer of LTE in RLC of NR",
            changed("name = \"a\"", "name = \"a\"\nrlc = { mode = \"am\", reassembly = \"20 ms\" }"),
        ),
        (
            "sent again before its grant",
            changed("name = \"a\"", "name = \"a\"\nmac = { harq_round_trip = \"4 ms\" }"),
        ),
        ("a request where nobody asks", uplink("kind = \"polled\", scheduling_request_period = \"10 ms\"")),
    ]
}

fn mistakes_of_fading_and_blockage() -> Vec<(&'static str, String)> {
    let fading = |model: &str| changed("fading = \"none\"", &format!("fading = {{ {model} }}"));
    let blockage = |keys: &str| {
        changed(
            "fading = \"none\"",
            &format!("fading = \"none\"\nblockage = {{ kind = \"screens\", {keys} }}"),
        )
    };
    let fast = BASE.replacen("fading = \"none\"", "fading = { model = \"eva\", speed = \"2000 km/h\" }", 1);
    vec![
        ("delays without spread", fading("model = \"tdl-c\", delay_spread = \"0 ns\"")),
        (
            "a delay spread of a profile that has its own",
            fading("model = \"eva\", delay_spread = \"100 ns\""),
        ),
        (
            "fading faster than its clock",
            error(&fast.replacen("name = \"a\"", "name = \"a\"\nfrequency = \"60 GHz\"", 1)),
        ),
        ("blockers in the wrong order", blockage("people_distance = [\"3 m\", \"1 m\"]")),
        ("a crowd of blockers", blockage("people_interval = \"1 ms\"")),
    ]
}

#[test]
fn every_mistake_is_explained() {
    let cases = [
        mistakes_of_the_service(),
        mistakes_of_discriminators(),
        mistakes_of_interference(),
        mistakes_of_the_uplink(),
        mistakes_of_fading_and_blockage(),
    ];
    let cases = cases.into_iter().flatten();
    let printed: String = cases.map(|(what, text)| format!("{what}\n    {text}\n")).collect();
    crate::snapshots::compare(&printed, "air-errors.txt");
}
