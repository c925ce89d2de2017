//! Pages over HTTP/1.1, HTTP/2 and HTTP/3, and videos over HTTP/1.1 and HTTP/3, from scenario to table.

use std::path::PathBuf;

use airlane_assembly::{RunOutput, run};
use airlane_record::{Column, Table};
use airlane_scenario::Scenario;

/// A page set in a file that only one test writes.
fn page_set(name: &str, objects: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("http3");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    std::fs::write(&file, format!("page,host,body_bytes,parent,after_bytes,wait_ms\n{objects}")).unwrap();
    file
}

/// A cell with a single UE, 55 ms from server to UE and back including the radio.
fn in_a_cell(pages: &str, http: &str) -> String {
    let transport = if http == "3" { "quic" } else { "tcp" };
    format!(
        "network = \"typical\"\n[run]\nduration = \"60 s\"\n\
         [[cell]]\nname = \"a\"\nposition = [\"0 m\", \"0 m\"]\nresource_blocks = 50\n\
         [channel]\nfading = \"none\"\n[internet]\nrate = \"1 Gbit/s\"\ndelay = \"20 ms\"\n\
         [[ue]]\nname = \"phone\"\nposition = [\"100 m\", \"0 m\"]\n\
         [[flow]]\nto = \"phone\"\nstart = \"1 s\"\ntransport = \"{transport}\"\n\
         app = {{ kind = \"web\", http = \"{http}\", tls = true, pages = {pages:?}, visits = \"in-order\", \
         dns = false, count = 8, think_time = \"2 s\", keep_alive = \"100 ms\" }}\n"
    )
}

fn simulate(text: &str, seed: u64) -> RunOutput {
    let scenario = Scenario::parse(text, "x.toml").and_then(|s| s.resolve()).unwrap();
    let output = run(&scenario, seed).unwrap();
    assert!(output.meta.conserved, "{:?}", output.meta);
    output
}

fn table<'a>(output: &'a RunOutput, name: &str) -> &'a Table {
    &output.tables.iter().find(|(other, _)| *other == name).unwrap().1
}

fn times(output: &RunOutput) -> Vec<f64> {
    column(output, "pages", "onload_s")
}

fn column(output: &RunOutput, of: &str, name: &str) -> Vec<f64> {
    match table(output, of).column(name) {
        Some(Column::F64(values)) => values.clone(),
        other => panic!("{other:?}"),
    }
}

/// One small document on a new connection each time: three round trips over HTTP/2 (TCP, TLS, request), two
/// over HTTP/3. A round trip over the radio varies, because it depends on the phase of the scheduling request
/// period: the means of eight pages are compared, with a tolerance of 15 % of a round trip.
#[test]
fn http_3_saves_a_round_trip() {
    let pages = page_set("document.csv", "one,a.example,500,,,\n");
    let mean = |http: &str| {
        let times = times(&simulate(&in_a_cell(pages.to_str().unwrap(), http), 1));
        assert_eq!(times.len(), 8);
        times.iter().sum::<f64>() / 8.0
    };
    let (one, two, three) = (mean("1.1"), mean("2"), mean("3"));
    let round_trip = three / 2.0;
    println!("a document of 500 bytes: {one:.4} s, {two:.4} s, {three:.4} s");
    assert!((0.045..0.065).contains(&round_trip), "{round_trip} s");
    assert!(((two - three) / round_trip - 1.0).abs() < 0.15, "{two} s over HTTP/2, {three} s over HTTP/3");
    assert!((one - two).abs() < 0.15 * round_trip, "{one} s over HTTP/1.1");
}

/// The twenty pages of 2011, over a link with losses: all of them are loaded with each version, and a seed
/// gives the same tables each time.
#[test]
fn the_pages_of_2011_load_over_every_version() {
    for (http, transport) in [("1.1", "tcp"), ("2", "tcp"), ("3", "quic")] {
        let text = format!(
            "network = \"wired\"\n[run]\nduration = \"150 s\"\n[internet]\nrate = \"20 Mbit/s\"\n\
             delay = \"25 ms\"\nqueue = \"128 KiB\"\nloss = \"0.5 %\"\n[[flow]]\ntransport = \"{transport}\"\n\
             app = {{ kind = \"web\", http = \"{http}\", visits = \"in-order\", count = 20, think_time = \"0 s\" }}\n"
        );
        let output = simulate(&text, 1);
        let times = times(&output);
        assert_eq!((times.len(), times.iter().filter(|time| time.is_nan()).count()), (20, 0), "{http}");
        println!("HTTP/{http}: {:.3} s a page", times.iter().sum::<f64>() / 20.0);
        let told = |output: &RunOutput| format!("{output:?}"); // some numbers are NaN
        assert!(told(&output) == told(&simulate(&text, 1)), "{http}");
        assert!(told(&output) != told(&simulate(&text, 2)), "{http}");
    }
}

/// A wired network with a viewer of segments, over TCP or over QUIC, and further settings of the link.
fn watched(http: &str, bitrates: &str, link: &str) -> String {
    let transport = if http == "3" { "quic" } else { "tcp" };
    format!(
        "network = \"wired\"\n[run]\nduration = \"90 s\"\n[internet]\n{link}\n\
         [[flow]]\ntransport = \"{transport}\"\napp = {{ kind = \"dash\", http = \"{http}\", bitrates = [{bitrates}], \
         length = \"30 s\" }}\n"
    )
}

/// A round trip of 50 ms at a gigabit: one for the handshake (QUIC includes that of TLS), one for the request
/// and the first ten packets, two more for the rest of 75 kB (10, 20 and 40 packets of 1200 bytes or more):
/// four. QUIC paces its window at 1.25 windows per round trip: 39 kB, the rest for the third window of 48 kB,
/// take 0.65 of another round trip.
#[test]
fn a_video_starts_by_round_trips() {
    for (http, expected) in [("1.1", 0.2), ("3", 0.2325)] {
        let link = "rate = \"1 Gbit/s\"\ndelay = \"25 ms\"";
        let output = simulate(&watched(http, "\"200 kbit/s\"", link), 1);
        let startup = column(&output, "views", "startup_s");
        println!("HTTP/{http}: {startup:?} s");
        assert_eq!(startup.len(), 1);
        assert!((startup[0] - expected).abs() < 0.003, "HTTP/{http}: {startup:?}");
    }
}

/// Over a link with losses all segments arrive, the same ones in both cases, and a seed gives the same tables
/// each time. BOLA reaches the highest bitrate on a wide link over both.
#[test]
fn all_segments_come_over_both_versions() {
    for http in ["1.1", "3"] {
        let link = "rate = \"20 Mbit/s\"\ndelay = \"25 ms\"\nqueue = \"128 KiB\"\nloss = \"0.5 %\"";
        let text = watched(http, "\"500 kbit/s\", \"2 Mbit/s\"", link);
        let output = simulate(&text, 1);
        let ended = column(&output, "flows", "fct_s");
        println!("HTTP/{http}: {ended:?} s");
        // Ten segments of 3 s are played, and playback starts when the first has arrived.
        assert!((30.0..31.0).contains(&ended[0]), "HTTP/{http}: {ended:?}");
        assert_eq!(column(&output, "views", "stalled_s"), [0.0], "HTTP/{http}");
        let told = |output: &RunOutput| format!("{output:?}"); // some numbers are NaN
        assert!(told(&output) == told(&simulate(&text, 1)), "{http}");
        assert!(told(&output) != told(&simulate(&text, 2)), "{http}");
    }
}
