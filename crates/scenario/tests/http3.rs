//! Pages over HTTP/1.1, HTTP/2 and HTTP/3 from scenario to table.

use std::path::PathBuf;

use airlane_record::{Column, Table};
use airlane_scenario::{RunOutput, Scenario, run};

/// A page set in a folder of this process's own.
fn page_set(name: &str, objects: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("airlane-http3-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    std::fs::write(&file, format!("page,host,body_bytes,parent,after_bytes,wait_ms\n{objects}")).unwrap();
    file
}

/// A cell with nobody else in it, 55 ms from server to UE and back with what the radio adds.
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
    match table(output, "pages").column("onload_s") {
        Some(Column::F64(values)) => values.clone(),
        other => panic!("{other:?}"),
    }
}

/// One small document on a new connection each time: three round trips over HTTP/2 (TCP, TLS, request), two over HTTP/3. A
/// round trip over the radio is never the same twice, for it depends on when in its period a scheduling request may go out:
/// the means of eight pages are compared, in a band of 15 % of a round trip.
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

/// The twenty pages of 2011, over a link that loses packets: over each version all of them come, and a seed makes the same
/// tables each time.
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
        let told = |output: &RunOutput| format!("{output:?}"); // some numbers are none
        assert!(told(&output) == told(&simulate(&text, 1)), "{http}");
        assert!(told(&output) != told(&simulate(&text, 2)), "{http}");
    }
}
