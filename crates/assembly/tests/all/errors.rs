//! The errors for users: each mistake with the complete text of its error.

use airlane_assembly::run;
use airlane_scenario::{Scenario, ScenarioError};

mod paths;
mod sleep;

/// A valid scenario; each case changes one thing.
pub(crate) const BASE: &str = r#"network = "lena"
[run]
duration = "30s"
[[cell]]
name = "a"
rlc = { mode = "am", buffer = "512 KiB" }
[channel]
fading = { model = "eva", speed = "60 km/h" }
[[ue]]
name = "phone"
position = ["100 m", "0 m"]
[[flow]]
to = "phone"
transport = { kind = "tcp", congestion = "cubic" }
"#;
const WIRED: &str = "network = \"wired\"\n[[flow]]\n";

fn error(text: &str) -> ScenarioError {
    let parsed = Scenario::parse(text, "x.toml").and_then(|s| s.resolve());
    parsed.expect_err("the scenario is wrong")
}

/// The base with one text replaced.
pub(crate) fn changed(from: &str, to: &str) -> String {
    assert!(BASE.contains(from), "{from}");
    error(&BASE.replacen(from, to, 1)).to_string()
}

/// The base with several texts replaced.
fn changed_all(pairs: &[(&str, &str)]) -> String {
    error(&pairs.iter().fold(BASE.to_owned(), |text, (from, to)| text.replacen(from, to, 1))).to_string()
}

/// The base with text appended.
fn extended(more: &str) -> String {
    error(&format!("{BASE}{more}\n")).to_string()
}

#[test]
fn a_name_in_other_letters_is_recognised() {
    for (written, meant) in [("BBR3", "bbr3"), ("BBRv3", "bbr3"), ("CUBIC", "cubic"), ("NewReno", "newreno")]
    {
        let error = changed("\"cubic\"", &format!("{written:?}"));
        assert!(error.contains(&format!("did you mean `{meant}`?")), "{error}");
    }
}

/// A network for real applications needs no flow, a simulation does.
fn without_flows() -> ScenarioError {
    let text = BASE.split("[[flow]]").next().unwrap();
    run(&Scenario::parse(text, "x.toml").unwrap().resolve().unwrap(), 1).unwrap_err()
}

#[test]
fn the_base_is_sane() {
    Scenario::parse(BASE, "x.toml").unwrap().resolve().unwrap();
    Scenario::parse(WIRED, "x.toml").unwrap().resolve().unwrap();
}

/// The base with a cell that has early throttling.
fn throttled(bearers: u32) -> String {
    let times = "within = \"100 ms\", ramp = \"1 s\", hold = \"1 s\"";
    changed(
        "rlc = {",
        &format!("early_throttling = {{ bearers = {bearers}, {times}, by = \"queue\" }}\nrlc = {{"),
    )
}

/// Mistakes that are visible without the rest of the file.
fn mistakes_of_form() -> Vec<(&'static str, String)> {
    vec![
        // Syntax.
        ("not TOML", error("a = = 1").to_string()),
        ("a key twice", extended("[run]\nseed = 1")),
        ("a date", changed("\"30s\"", "1979-05-27")),
        // Keys.
        ("unknown section", extended("[chanel]\n")),
        ("misspelt key", changed("duration", "durration")),
        ("key of another kind", changed("congestion", "payload")),
        ("key of another mode", changed("mode = \"am\"", "mode = \"um\", poll_pdu = 4")),
        ("not a section", changed("[run]", "run = 3\n[runs]")),
        ("a table for a list", changed("[[ue]]", "[ue]")),
        // Quantities.
        ("no unit", changed("\"30s\"", "30")),
        ("no unit in a text", changed("\"512 KiB\"", "\"512\"")),
        ("wrong unit", changed("\"512 KiB\"", "\"512 Kb\"")),
        ("unit of another quantity", changed("\"60 km/h\"", "\"60 s\"")),
        ("negative", changed("\"30s\"", "\"-30s\"")),
        ("NaN", changed("\"30s\"", "nan")),
        ("NaN in a text", changed("\"60 km/h\"", "\"nan km/h\"")),
        ("too long", changed("\"30s\"", "\"1e9 s\"")),
        ("no time", changed("\"30s\"", "\"0 s\"")),
        ("one coordinate", changed("[\"100 m\", \"0 m\"]", "[\"100 m\"]")),
        ("bare coordinate", changed("[\"100 m\", \"0 m\"]", "[\"100 m\", 0]")),
        ("nothing of a packet", extended("[output]\nsnaplen = \"0 B\"")),
        ("more than its key can hold", extended("[handover]\nmode = \"lossless\"\nl3_filter = 256")),
        ("measured all the time", {
            let second = "[[cell]]\nname = \"second\"\nposition = [\"500 m\", \"0 m\"]\nrlc = \"am\"";
            let handover = "[handover]\nmode = \"lossless\"\nmeasurement_period = \"1 ns\"";
            extended(&format!("{second}\n{handover}"))
        }),
        (
            "too many again",
            changed("[[flow]]", "[[flow]]\nrepeat = { count = 4_000_000_000, every = \"1 s\" }"),
        ),
        ("small buffer", changed("512 KiB", "1 KiB")),
        // Choices.
        ("unknown network", changed("lena", "lenna")),
        ("unknown choice", changed("\"cubic\"", "\"qubic\"")),
        ("unknown kind", changed("\"tcp\"", "\"sctp\"")),
        ("unknown capture point", extended("[output]\npcap = [\"enb\"]")),
        ("number for a choice", changed("\"cubic\"", "3")),
        ("unknown bare name", changed("fading = {", "path_loss = \"fris\"\nfading = {")),
        ("bare bandwidth", changed("name = \"a\"", "name = \"a\"\nresource_blocks = 20")),
        ("another kind of ECN", changed("congestion = \"cubic\"", "ecn = \"on\"")),
        ("a number for ECN", changed("congestion = \"cubic\"", "ecn = 1")),
        ("Prague without ECN", changed("congestion = \"cubic\"", "congestion = \"prague\", ecn = false")),
        ("ABC without the number of marks", changed("\"cubic\"", "\"abc\", ecn = true")),
        ("a response to marks of CUBIC", changed("\"cubic\"", "\"cubic\", ecn_max_rtt = \"5 ms\"")),
        (
            "a response to marks without their number",
            changed("\"cubic\"", "\"bbr3\", ecn_max_rtt = \"5 ms\""),
        ),
        ("a fall-back of CUBIC", changed("\"cubic\"", "\"cubic\", classic_fallback = true")),
        (
            "a fall-back without the number of marks",
            changed("\"cubic\"", "\"prague\", ecn = true, classic_fallback = true"),
        ),
        ("text for a truth value", changed("name = \"a\"", "name = \"a\"\nharq = \"yes\"")),
        ("fraction of a count", changed("name = \"phone\"", "name = \"phone\"\ncount = 2.5")),
        (
            "missing setting",
            changed(
                "kind = \"tcp\", congestion = \"cubic\"",
                "kind = \"tcp\", rtt_sampling = \"frozen_after\"",
            ),
        ),
    ]
}

/// Numbers and sizes that no run could have. They are rejected before any memory is allocated.
fn absurd_numbers() -> Vec<(&'static str, String)> {
    let udp = |rate: &str| {
        let app = format!("kind = \"udp\" }}\napp = {{ kind = \"cbr\", rate = \"{rate}\", payload = \"1 B\"");
        changed("kind = \"tcp\", congestion = \"cubic\"", &app)
    };
    let count = |count: &str| format!("name = \"phone\"\ncount = {count}");
    vec![
        ("no UE of a group", changed("name = \"phone\"", &count("0"))),
        ("UEs below none", changed("name = \"phone\"", &count("-1"))),
        ("billions of UEs", changed("name = \"phone\"", &count("4294967295"))),
        ("more UEs than any number", changed("name = \"phone\"", &count("99999999999999999999"))),
        ("many groups of UEs", {
            let groups: String = (0..5)
                .map(|i| format!("[[ue]]\nname = \"g{i}\"\ncount = 2500\nposition = [\"1 m\", \"0 m\"]\n"))
                .collect();
            extended(&groups)
        }),
        ("infinite duration", changed("\"30s\"", "inf")),
        ("infinite speed", changed("\"60 km/h\"", "\"inf km/h\"")),
        ("endless duration", changed("\"30s\"", "\"1e400 s\"")),
        ("fraction of a nanosecond", changed("\"30s\"", "\"0.1 ns\"")),
        ("endless buffer", changed("512 KiB", "1e30 GiB")),
        ("negative buffer", changed("512 KiB", "-1 B")),
        ("fraction of a byte", changed("512 KiB", "2000.5 B")),
        ("endless rate", extended("[internet]\nrate = \"1e30 Gbit/s\"")),
        ("negative rate", extended("[internet]\nrate = \"-1 Mbit/s\"")),
        ("share above all", extended("[internet]\nloss = \"101 %\"")),
        ("far away", changed("100 m", "1e300 km")),
        ("NaN of a length", changed("100 m", "nan m")),
        ("too many flows", {
            let flows = "[[flow]]\nto = \"phone\"\n".repeat(9);
            changed("[[flow]]\n", &format!("count = 1001\n{flows}[[flow]]\n"))
        }),
        ("more packets than a run can make", udp("10 Gbit/s")),
        (
            "too many queues of one UE",
            extended("[internet]\naqm = { kind = \"fq-codel\", queues = 4000000000 }"),
        ),
        ("too many queues of all UEs", {
            let fq = "buffer = \"512 KiB\", aqm = { kind = \"fq-codel\", queues = 65536 }";
            changed_all(&[("buffer = \"512 KiB\"", fq), ("name = \"phone\"", &count("10000"))])
        }),
        ("seed above all", changed("duration = \"30s\"", "duration = \"30s\"\nseed = 9223372036854775808")),
        ("negative seed", changed("duration = \"30s\"", "duration = \"30s\"\nseed = -1")),
        ("an epoch of a window", changed("congestion = \"cubic\"", "initial_window = 4000000000")),
    ]
}

/// Values of a wrong type, at any depth.
fn mistakes_of_kind() -> Vec<(&'static str, String)> {
    vec![
        ("an empty file", error("").to_string()),
        ("only a comment", error("# to be written\n").to_string()),
        ("zeros", error("\0\0\0\0").to_string()),
        ("a list for a table", changed("rlc = { mode = \"am\", buffer = \"512 KiB\" }", "rlc = [1, 2]")),
        ("a table for a text", changed("\"512 KiB\"", "{ size = \"512 KiB\" }")),
        ("a truth value for a size", changed("\"512 KiB\"", "true")),
        ("a list for a text", changed("name = \"phone\"", "name = [\"phone\"]")),
        ("a number for a table", changed("congestion = \"cubic\"", "receive_window = { kind = 3 }")),
        ("a text for a list", changed("[\"100 m\", \"0 m\"]", "\"100 m\"")),
        ("three coordinates", changed("[\"100 m\", \"0 m\"]", "[\"1 m\", \"2 m\", \"3 m\"]")),
        ("a table in a list", changed("[\"100 m\", \"0 m\"]", "[{ x = \"1 m\" }, \"0 m\"]")),
        ("misspelt deep in a table", extended("[internet]\naqm = { kind = \"codel\", targt = \"5 ms\" }")),
        ("flows of one name", extended("name = \"f\"\n[[flow]]\nname = \"f\"\nto = \"phone\"")),
        ("cells of one name", extended("[[cell]]\nname = \"a\"")),
    ]
}

/// The base with a flow of bursts.
fn bursts(setting: &str) -> String {
    extended(&format!(
        "[[flow]]\nto = \"phone\"\ntransport = \"udp\"\napp = {{ kind = \"ppbp\", rate = \"15 Mbit/s\", {setting} }}"
    ))
}

/// Mistakes of flows over QUIC.
fn mistakes_of_quic() -> Vec<(&'static str, String)> {
    vec![
        (
            "a constant rate over QUIC",
            changed(
                "kind = \"tcp\", congestion = \"cubic\" }",
                "kind = \"quic\" }\napp = { kind = \"cbr\", rate = \"1 Mbit/s\" }",
            ),
        ),
        (
            "a CUBIC that grows at a loss",
            changed("kind = \"tcp\", congestion = \"cubic\"", "kind = \"quic\", cubic_beta = 1.5"),
        ),
        (
            "an MTU below QUIC's",
            changed("kind = \"tcp\", congestion = \"cubic\"", "kind = \"quic\", mtu = \"1200 B\""),
        ),
        (
            "QUIC beginning above its MTU",
            changed("kind = \"tcp\", congestion = \"cubic\"", "kind = \"quic\", initial_mtu = \"1500 B\""),
        ),
        (
            "a stream window for no datagram",
            changed("kind = \"tcp\", congestion = \"cubic\"", "kind = \"quic\", stream_window = \"1 kB\""),
        ),
        (
            "an initial round trip of nothing",
            changed("kind = \"tcp\", congestion = \"cubic\"", "kind = \"quic\", initial_rtt = \"0 s\""),
        ),
        (
            "many objects over TCP",
            changed(
                "congestion = \"cubic\" }",
                "congestion = \"cubic\" }\napp = { kind = \"fixed\", size = \"1 MB\", objects = 2 }",
            ),
        ),
        (
            "no protection that is known",
            changed("kind = \"tcp\", congestion = \"cubic\"", "kind = \"quic\", crypto = \"quic\""),
        ),
        (
            "protection of TCP",
            changed("congestion = \"cubic\" }", "congestion = \"cubic\", crypto = \"tls\" }"),
        ),
        ("qlog without QUIC", extended("[output]\nqlog = true")),
    ]
}

/// The base with a flow of this application.
fn watching(app: &str) -> String {
    let line = "congestion = \"cubic\" }";
    changed(line, &format!("{line}\napp = {{ {app} }}"))
}

/// The base with a flow of this application over QUIC, with more settings of it.
fn over_quic(more: &str, app: &str) -> String {
    let transport = "kind = \"tcp\", congestion = \"cubic\" }";
    changed(transport, &format!("kind = \"quic\"{more} }}\napp = {{ {app} }}"))
}

/// Mistakes in browsers.
fn mistakes_of_browsers() -> Vec<(&'static str, String)> {
    let web = |settings: &str| watching(&format!("kind = \"web\", {settings}"));
    vec![
        ("no page set", web("pages = \"2012\"")),
        ("a page set that is not there", web("pages = \"mine.har\"")),
        ("a folder of pages", web("pages = \"../x.csv/..\"")),
        ("no page", web("count = 0")),
        ("no connection", web("connections_per_server = 0")),
        ("connections without end", web("connections = 100000")),
        ("less than one request", web("pipelining = 0")),
        ("a version of HTTP", web("http = \"4\"")),
        ("HTTP/3 over TCP", web("http = \"3\"")),
        ("HTTP/1.1 over QUIC", over_quic("", "kind = \"web\"")),
        ("HTTP/3 without a handshake", over_quic("", "kind = \"web\", http = \"3\", tls = false")),
        ("connections that close at once", web("keep_alive = \"0 s\"")),
        ("names known for no time", web("dns_ttl = \"0 s\"")),
        ("a key of HTTP", web("pipeline = 3")),
        ("pages in no order", web("visits = \"sorted\"")),
        (
            "a browser over UDP",
            changed_all(&[(
                "transport = { kind = \"tcp\", congestion = \"cubic\" }",
                "transport = \"udp\"\napp = \"web\"",
            )]),
        ),
        (
            "pages upwards",
            changed_all(&[(
                "congestion = \"cubic\" }",
                "congestion = \"cubic\" }\ndirection = \"uplink\"\napp = \"web\"",
            )]),
        ),
    ]
}

/// Mistakes in videos.
fn mistakes_of_videos() -> Vec<(&'static str, String)> {
    let video = |settings: &str| watching(&format!("kind = \"video\", {settings}"));
    vec![
        ("a video of nothing", video("length = \"0 s\"")),
        ("a video without end", video("length = \"90000 s\"")),
        ("a video without bits", video("bitrate = \"100 bit/s\"")),
        ("no block", video("read_block = \"0 B\"")),
        ("a buffer below a block", video("buffer = \"6 s\"")),
        ("nobody so impatient", video("satisfied.startup = \"0 s\"")),
        ("no view", video("watching.views = 0")),
        ("no request", video("watching.request = \"0 B\"")),
        ("no head", video("watching.response_head = \"0 B\"")),
        ("no connection kept", video("watching.keep_alive = \"0 s\"")),
        ("no bitrates", watching("kind = \"dash\", bitrates = []")),
        ("bitrates that fall", watching("kind = \"dash\", bitrates = [\"2 Mbit/s\", \"1 Mbit/s\"]")),
        ("a bitrate of nothing", watching("kind = \"dash\", bitrates = [\"0 bit/s\"]")),
        ("one bitrate that is no list", watching("kind = \"dash\", bitrates = \"1 Mbit/s\"")),
        ("a short segment", watching("kind = \"dash\", segment = \"1 ms\"")),
        ("a buffer for nothing", watching("kind = \"dash\", buffer = \"5 s\"")),
        (
            "BOLA without a choice",
            watching("kind = \"dash\", start_buffer = \"0 s\", resume_buffer = \"0 s\", buffer = \"3 s\""),
        ),
        ("BOLA without fear", watching("kind = \"dash\", rule = { kind = \"bola\", gamma_p = 0 }")),
        (
            "BOLA with a high low",
            watching("kind = \"dash\", rule = { kind = \"bola\", buffer_low = \"22 s\" }"),
        ),
        ("no share", watching("kind = \"dash\", rule = { kind = \"rate\", safety = 0 }")),
        ("no samples", watching("kind = \"dash\", rule = { kind = \"rate\", samples = 33 }")),
        ("a key of the other rule", watching("kind = \"dash\", rule = { kind = \"rate\", gamma_p = 5 }")),
        ("an unknown rule", watching("kind = \"dash\", rule = \"bba\"")),
        ("segments over HTTP/3 and TCP", watching("kind = \"dash\", http = \"3\"")),
        ("segments over HTTP/2", watching("kind = \"dash\", http = \"2\"")),
        ("segments over HTTP/1.1 and QUIC", over_quic("", "kind = \"dash\"")),
        ("a file over QUIC", over_quic("", "kind = \"video\"")),
        (
            "segments over UDP",
            changed(
                "transport = { kind = \"tcp\", congestion = \"cubic\" }",
                "transport = \"udp\"\napp = \"dash\"",
            ),
        ),
        ("a key of a viewer", video("satisfied = { stall = 3 }")),
        (
            "a video over UDP",
            changed_all(&[(
                "transport = { kind = \"tcp\", congestion = \"cubic\" }",
                "transport = \"udp\"\napp = \"video\"",
            )]),
        ),
        (
            "a video upwards",
            changed(
                "congestion = \"cubic\" }",
                "congestion = \"cubic\" }\napp = \"video\"\ndirection = \"uplink\"",
            ),
        ),
        (
            "a video stopped",
            changed("congestion = \"cubic\" }", "congestion = \"cubic\" }\napp = \"video\"\nstop = \"9 s\""),
        ),
    ]
}

/// Mistakes in queues and in outputs.
fn mistakes_of_queues_and_output() -> Vec<(&'static str, String)> {
    vec![
        // Queues.
        ("unknown rule", changed("buffer = \"512 KiB\"", "buffer = \"512 KiB\", aqm = \"fqcodel\"")),
        (
            "setting of another rule",
            changed(
                "buffer = \"512 KiB\"",
                "buffer = \"512 KiB\", aqm = { kind = \"pie\", interval = \"1 s\" }",
            ),
        ),
        ("thresholds out of order", extended("[internet]\naqm = { kind = \"red\", max_packets = 5 }")),
        ("no weight", extended("[internet]\naqm = { kind = \"red\", weight = 0 }")),
        ("probability without unit", extended("[internet]\naqm = { kind = \"red\", max_probability = 0.1 }")),
        ("target above interval", extended("[backhaul]\naqm = { kind = \"codel\", target = \"100 ms\" }")),
        ("small quantum", extended("[backhaul]\naqm = { kind = \"fq-codel\", quantum = \"1 B\" }")),
        ("no link to the cells", extended("[backhaul]\nhop = []")),
        ("links without end", extended(&format!("[backhaul]\nhop = [{}]", ["{}"; 17].join(", ")))),
        (
            "links that join again",
            extended("[backhaul]\nhop = [{ shared = true }, { shared = false }, { shared = true }]"),
        ),
        ("a key of no link", extended("[[backhaul.hop]]\nloss = \"1 %\"")),
        ("one link that is no list", extended("[backhaul]\nhop = { delay = \"1 ms\" }")),
        (
            "thresholds of one link out of order",
            extended("[[backhaul.hop]]\naqm = { kind = \"red\", min_packets = 20 }"),
        ),
        ("no queue", extended("[internet]\naqm = { kind = \"fq-codel\", queues = 0 }")),
        ("short period", extended("[internet]\naqm = { kind = \"pie\", update = \"1 us\" }")),
        ("typical alone", extended("[internet]\naqm = { kind = \"dualpi2\", typical_rtt = \"20 ms\" }")),
        (
            "typical above maximum",
            extended(
                "[internet]\naqm = { kind = \"dualpi2\", typical_rtt = \"20 ms\", max_rtt = \"10 ms\" }",
            ),
        ),
        (
            "short window",
            extended("[backhaul]\naqm = { kind = \"dualpi2\", delay = \"predicted\", window = \"1 ms\" }"),
        ),
        ("no coupling", extended("[backhaul]\naqm = { kind = \"dualpi2\", coupling = 0 }")),
        ("text for ECN", extended("[internet]\naqm = { kind = \"codel\", ecn = \"on\" }")),
        ("no bearer throttles", throttled(0)),
        // Outputs.
        ("a capture point twice", extended("[output]\npcap = [\"ue\", \"server\", \"ue\"]")),
        ("S1-U on a wire", error(&format!("{WIRED}[output]\npcap = [\"s1-u\"]\n")).to_string()),
        ("a RAN log on a wire", error(&format!("{WIRED}[output]\nran_log = true\n")).to_string()),
        (
            "a RAN log too long",
            changed("\"30s\"", "\"100000 s\"\nseries_bin = \"10 s\"\n[output]\nran_log = true"),
        ),
    ]
}

/// Inconsistent settings.
fn mistakes_of_sense() -> Vec<(&'static str, String)> {
    vec![
        ("flow to nobody", changed("to = \"phone\"", "to = \"fone\"")),
        ("flow to no one named", changed("to = \"phone\"\n", "")),
        ("no name", changed("name = \"phone\"\n", "")),
        ("a number for a name", changed("name = \"phone\"", "name = \"7\"")),
        ("nowhere", changed("position = [\"100 m\", \"0 m\"]\n", "")),
        ("two bandwidths", extended("[[cell]]\nname = \"b\"\nresource_blocks = 50")),
        ("same name", extended("[[ue]]\nname = \"phone\"\nposition = [\"1 m\", \"0 m\"]")),
        (
            "name of a group's member",
            extended(
                "[[ue]]\nname = \"g\"\ncount = 3\nposition = [\"1 m\", \"0 m\"]\n[[ue]]\nname = \"g-2\"\nposition = [\"1 m\", \"0 m\"]",
            ),
        ),
        ("absurd count", changed("name = \"phone\"", "name = \"phone\"\ncount = 4000000000")),
        ("no UE", changed("[[ue]]\nname = \"phone\"\nposition = [\"100 m\", \"0 m\"]\n", "")),
        ("no cell", changed("[[cell]]\nname = \"a\"\nrlc = { mode = \"am\", buffer = \"512 KiB\" }\n", "")),
        ("ARWA beside CUBIC", changed("congestion = \"cubic\"", "receive_window = \"arwa\"")),
        (
            "ARWA without timestamps",
            changed(
                "congestion = \"cubic\"",
                "congestion = \"newreno\", timestamps = false, receive_window = \"arwa\"",
            ),
        ),
        (
            "a clock ahead and behind",
            changed(
                "congestion = \"cubic\"",
                "congestion = \"newreno\", receive_window = { kind = \"arwa\", clock_ahead = \"1 s\", clock_behind = \"1 s\" }",
            ),
        ),
        (
            "unknown step of a code",
            changed("congestion = \"cubic\"", "receive_window = { kind = \"arwa\", cut = \"percents\" }"),
        ),
        (
            "key of another window",
            changed("congestion = \"cubic\"", "receive_window = { kind = \"drwa\", flor = 2 }"),
        ),
        ("no floor", changed("congestion = \"cubic\"", "receive_window = { kind = \"drwa\", floor = 1001 }")),
        ("no factor", changed("congestion = \"cubic\"", "receive_window = { kind = \"drwa\", lambda = 0 }")),
        ("no weight", changed("congestion = \"cubic\"", "receive_window = { kind = \"drwa\", alpha = 1.0 }")),
        (
            "small buffer of a window",
            changed(
                "congestion = \"cubic\"",
                "receive_window = { kind = \"drwa\", buffer = { kind = \"fixed\", size = \"1 kB\" } }",
            ),
        ),
        ("no such MCS", changed("name = \"phone\"", "name = \"phone\"\nfixed_mcs = 29")),
        ("unknown cell", changed("name = \"phone\"", "name = \"phone\"\ncell = \"b\"")),
        ("nothing to do", without_flows().to_string()),
    ]
}

/// Impossible flows.
fn mistakes_of_flows() -> Vec<(&'static str, String)> {
    vec![
        ("repeated and stopped", extended("stop = \"9 s\"\nrepeat = { count = 3, every = \"1 s\" }")),
        ("repeated at once", extended("repeat = { count = 3, every = \"0 s\" }")),
        ("repeated how often", extended("repeat = { every = \"1 s\" }")),
        ("bursts over TCP", extended("app = { kind = \"ppbp\", rate = \"15 Mbit/s\" }")),
        ("bursts without memory", bursts("hurst = 0.5")),
        ("no bursts", bursts("active = 0")),
        ("bursts that never end", bursts("length = \"1000 s\", active = 1000.0")),
        ("bursts read otherwise", bursts("reading = \"literally\"")),
        ("bulk over UDP", changed("kind = \"tcp\", congestion = \"cubic\"", "kind = \"udp\"")),
    ]
}

/// Path loss of the newer reports outside its range.
fn mistakes_of_the_path_loss() -> Vec<(&'static str, String)> {
    vec![
        (
            "an urban cell at another height",
            changed_all(&[
                ("fading = {", "path_loss = \"tr38.901\"\nfading = {"),
                ("name = \"a\"", "name = \"a\"\nheight = \"30 m\""),
            ]),
        ),
        (
            "an optional formula that there is not",
            changed(
                "fading = {",
                "path_loss = { kind = \"tr38.901\", scene = \"rma\", optional_nlos = true }\nfading = {",
            ),
        ),
        (
            "a scene of the newer report",
            changed("fading = {", "path_loss = { kind = \"tr36.873\", scene = \"rma\" }\nfading = {"),
        ),
    ]
}

/// Settings of the channel outside their range, and inconsistent times.
fn mistakes_of_the_channel_and_times() -> Vec<(&'static str, String)> {
    vec![
        (
            "a cell lower than the path loss knows",
            changed("fading = {", "path_loss = \"cost231-hata\"\nfading = {"),
        ),
        (
            "a UE lower than the path loss knows",
            changed_all(&[
                ("fading = {", "path_loss = \"tr36.814\"\nfading = {"),
                ("name = \"a\"", "name = \"a\"\nheight = \"25 m\""),
            ]),
        ),
        (
            "a street too wide",
            changed("fading = {", "path_loss = { kind = \"tr36.814\", street_width = \"60 m\" }\nfading = {"),
        ),
        ("shadowing of no width", changed("fading = {", "shadowing = \"log-normal\"\nfading = {")),
        (
            "shadowing at no distance",
            changed("fading = {", "shadowing = { kind = \"log-normal\", deviation = \"8 dB\" }\nfading = {"),
        ),
        (
            "a beam of no width",
            changed("name = \"a\"", "name = \"a\"\nantenna = { kind = \"sector\", beamwidth = \"0 deg\" }"),
        ),
        (
            "an angle without unit",
            changed("name = \"a\"", "name = \"a\"\nantenna = { kind = \"sector\", azimuth = 90 }"),
        ),
        ("unknown rule", changed("name = \"a\"", "name = \"a\"\nmac = { amc = \"miesm\" }")),
        ("starts too late", extended("start = \"40 s\"")),
        ("stops too early", extended("start = \"4 s\"\nstop = \"3 s\"")),
        ("warm-up too long", changed("duration = \"30s\"", "duration = \"30s\"\nwarmup = \"31 s\"")),
        ("fine bins", changed("duration = \"30s\"", "duration = \"30s\"\nseries_bin = \"10 ns\"")),
        ("cell in a wired network", error(&format!("{WIRED}[[cell]]\nname = \"a\"")).to_string()),
        (
            "writes of an application that ends",
            error(&format!("{WIRED}app = {{ kind = \"fixed\", size = \"1 MB\" }}\nwrites = [{{ at = \"1 s\", pause = true }}]"))
                .to_string(),
        ),
        (
            "a pause with a rate",
            error(&format!("{WIRED}writes = [{{ at = \"1 s\", pause = true, rate = \"1 Mbit/s\" }}]")).to_string(),
        ),
        (
            "a policer too small for a packet",
            error(&format!("{WIRED}[internet]\npolicer = {{ rate = \"1 Mbit/s\", burst = \"1 kB\" }}")).to_string(),
        ),
        (
            "a detour behind an AQM",
            error(&format!(
                "{WIRED}[internet]\naqm = \"codel\"\ndetours = [{{ at = \"1 s\", duration = \"5 ms\", extra = \"9 ms\" }}]"
            ))
            .to_string(),
        ),
        (
            "steps of loss out of order",
            error(&format!(
                "{WIRED}[internet]\nloss_steps = [{{ at = \"2 s\", loss = \"1 %\" }}, {{ at = \"1 s\", loss = \"0 %\" }}]"
            ))
            .to_string(),
        ),
        ("no such trace", error(&format!("{WIRED}[internet]\ntrace = \"no.down\"")).to_string()),
        ("no such uplink trace", error(&format!("{WIRED}[internet]\nuplink_trace = \"no.up\"")).to_string()),
        ("zero rate", error(&format!("{WIRED}[internet]\nrate = \"0 bit/s\"")).to_string()),
        ("share without unit", error(&format!("{WIRED}[internet]\nloss = 0.01")).to_string()),
    ]
}

/// Mistakes in a PEP, and in the flows that use it.
fn mistakes_of_middleboxes() -> Vec<(&'static str, String)> {
    let pep = |settings: &str| extended(&format!("[[middlebox]]\n{settings}"));
    let proxy = |settings: &str| extended(&format!("[[middlebox]]\nkind = \"split-proxy\"\n{settings}"));
    let mdcc =
        |settings: &str| changed("congestion = \"cubic\"", &format!("congestion = \"mdcc\", {settings}"));
    vec![
        ("unknown middlebox", pep("kind = \"proxy\"")),
        ("a middlebox nowhere", pep("at = \"ue\"")),
        ("two PEPs", pep("[[middlebox]]")),
        ("a PEP beside a split proxy", pep("[[middlebox]]\nkind = \"split-proxy\"")),
        ("two split proxies in one place", proxy("[[middlebox]]\nkind = \"split-proxy\"")),
        ("a split proxy that lets nobody in", proxy("connections = 0")),
        ("a split proxy without room for a segment", proxy("buffer = \"2 kB\"")),
        ("a split proxy without room for a connection", proxy("memory = \"5 kB\"")),
        ("a split proxy that gives up at once", proxy("stall_timeout = \"0 s\"")),
        ("an unknown order of SYNs", proxy("connect = \"later\"")),
        ("a split proxy without window on one side", proxy("ran = { initial_window = 0 }")),
        ("a split proxy that listens to a PEP", proxy("core = { congestion = \"mdcc\" }")),
        ("a split proxy with writes of its own", proxy("core = { write_size = \"64 KiB\" }")),
        ("a PEP without a wire to the radio", error(&format!("{WIRED}[[middlebox]]")).to_string()),
        ("a message of no segments", pep("ack_every = 0")),
        ("a hole that is never certain", pep("reordering = 1000")),
        ("a table for nobody", pep("flows = 0")),
        ("ranges without end", pep("ranges = 100000")),
        ("no waiting at all", pep("max_delay = \"0 ms\"")),
        ("an empty secret", pep("secret = \"\"")),
        ("unknown fault", pep("fault = \"sleeps\"")),
        ("a fault without its share", pep("fault = \"loses\"")),
        ("back before it died", pep("fault = { kind = \"dies\", at = \"3 s\", until = \"2 s\" }")),
        ("an unknown lie", pep("fault = { kind = \"lies\", from = \"3 s\", claim = \"nothing\" }")),
        ("no step of a window", mdcc("mdcc = { increase = 0 }")),
        ("unknown scope", mdcc("mdcc = { inflight_scope = \"ran\" }")),
        (
            "settings of another controller",
            changed(
                "\"cubic\"",
                "\"cubic\", mdcc = { increase = 0.1, inflight_scope = \"e2e\", slow_start = \"client\" }",
            ),
        ),
        (
            "a PEP that sees nothing of it",
            changed_all(&[("to = ", "direction = \"uplink\"\nto = "), ("cubic", "mdcc")]),
        ),
        (
            "a slow start that no loss ends",
            changed("\"tcp\", congestion = \"cubic\"", "\"quic\", slow_start_loss = \"100 %\""),
        ),
        (
            "an algorithm for the start of a law's own",
            changed("\"cubic\"", "\"copa\", slow_start = \"hystart++\""),
        ),
    ]
}

#[test]
fn every_mistake_is_explained() {
    let cases = [
        mistakes_of_form(),
        mistakes_of_queues_and_output(),
        mistakes_of_sense(),
        mistakes_of_flows(),
        mistakes_of_the_path_loss(),
        mistakes_of_the_channel_and_times(),
        mistakes_of_quic(),
        mistakes_of_videos(),
        mistakes_of_browsers(),
        sleep::mistakes(),
        paths::mistakes(),
        absurd_numbers(),
        mistakes_of_kind(),
        mistakes_of_middleboxes(),
    ];
    let cases = cases.into_iter().flatten();
    let printed: String = cases.map(|(what, text)| format!("{what}\n    {text}\n")).collect();
    crate::snapshots::compare(&printed, "errors.txt");
}

#[test]
fn an_error_can_be_taken_apart() {
    let e = error(&BASE.replace("512 KiB", "512 Kb"));
    assert_eq!(&*e.file, "x.toml");
    assert_eq!(e.line, Some(6));
    assert_eq!(&*e.key, "cell.0.rlc.buffer");
    assert_eq!(&*e.value, "\"512 Kb\"");
    assert!(e.help.contains("KiB"), "{}", e.help);
}

#[test]
fn overrides_are_checked_like_the_file() {
    let mut scenario = Scenario::parse(BASE, "x.toml").unwrap();
    scenario.set("cell.0.scheduler.window", &50.into()).unwrap();
    scenario.set("ue[name=phone].count", &3.into()).unwrap();
    scenario.set("flow.0.transport.rtt_sampling", &serde_json::json!({ "frozen_after": "25s" })).unwrap();
    let resolved = scenario.resolve().unwrap();
    assert!(resolved.to_json().contains("\"window\": 50"));
    assert_eq!(resolved.ue[0].count, 3);
    assert!(resolved.to_json().contains("\"frozen_after\": \"25 s\""));

    let set = |path: &str, value: serde_json::Value| {
        let mut scenario = Scenario::parse(BASE, "x.toml").unwrap();
        let outcome = scenario.set(path, &value).and_then(|()| scenario.resolve());
        outcome.expect_err("the override is wrong").to_string()
    };
    assert_eq!(
        set("ue.fone.count", 3.into()),
        "x.toml: ue.fone.count: ue has no entry \"fone\"; did you mean `phone`? Known: phone"
    );
    assert_eq!(
        set("ue.5.count", 3.into()),
        "x.toml: ue.5.count: ue has 1 entries; the index of a new entry is ue.1"
    );
    assert_eq!(
        set("run..x", 3.into()),
        "x.toml: run..x: not a valid path; write keys separated by dots, such as ue.0.count"
    );
    assert_eq!(
        set("run.durration", "3 s".into()),
        "x.toml: run.durration = \"3 s\": unknown key `durration`; did you mean `duration`? Known: duration, warmup, seed, series_bin, ue_series"
    );
    assert_eq!(
        set("run.duration", 3.into()),
        "x.toml: run.duration = 3: a time needs a unit; write \"3 s\"; units: ns, us, ms, s"
    );
}

#[test]
fn what_a_link_cannot_have() {
    let with = |from: &str, to: &str| changed(from, &format!("{from}\n{to}"));
    let cases = [
        ("name = \"a\"", "antenna = { kind = \"panel\", rows = 0 }", "cell[1].antenna.rows"),
        ("name = \"a\"", "antenna = { kind = \"panel\", row_spacing = 0.0 }", "cell[1].antenna.row_spacing"),
        (
            "name = \"a\"",
            "antenna = { kind = \"panel\", downtilt = \"100 deg\" }",
            "cell[1].antenna.downtilt",
        ),
        ("[channel]", "minimum_coupling_loss = \"-1 dB\"", "channel.minimum_coupling_loss"),
        ("[channel]", "strongest_cells = 0", "channel.strongest_cells"),
        ("name = \"phone\"", "building = { storeys = [4, 3] }", "ue[1].building.storeys"),
        ("name = \"phone\"", "building = { indoor = \"101 %\" }", "ue[1].building.indoor"),
        ("name = \"phone\"", "building = { depth = \"-1 m\" }", "ue[1].building.depth"),
    ];
    for (from, to, key) in cases {
        let error = with(from, to);
        println!("{error}");
        let last = key.rsplit('.').next().unwrap();
        assert!(error.contains(last), "{key}: {error}");
    }
    let moving = with(
        "name = \"phone\"",
        "building = {}\nmobility = { kind = \"line\", heading = \"0 deg\", speed = \"3 km/h\" }",
    );
    assert!(moving.contains("UEs in buildings do not move"), "{moving}");
}
