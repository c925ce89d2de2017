//! Multipath TCP over cells and links, in whole runs.

use airlane_assembly::{RunOutput, build};
use airlane_scenario::Scenario;

use crate::several_paths::{counts, run_text};
use crate::tables::{reals, table, texts};

/// A host with two accesses, of 20 and 30 Mbit/s.
const WIRED: &str = r#"network = "wired"
[run]
duration = "20 s"
[internet]
rate = "20 Mbit/s"
delay = "20 ms"
[[link]]
name = "wifi"
rate = "30 Mbit/s"
[[flow]]
transport = "mptcp"
"#;

/// A phone with LTE and Wi-Fi.
const PHONE: &str = r#"[run]
duration = "12 s"
[[cell]]
name = "lte"
[[link]]
name = "wifi"
rate = "30 Mbit/s"
[[ue]]
name = "phone"
position = ["150 m", "0 m"]
access = ["wifi", "lte"]
[[flow]]
to = "phone"
transport = "mptcp"
"#;

fn goodput(output: &RunOutput) -> f64 {
    reals(table(output, "flows"), "goodput_mbps")[0]
}

/// A packet of 1500 bytes carries 1420: IP and TCP take 40, timestamps 12, a mapping 28. Both links together carry
/// 50 × 1420 / 1500 = 47.3 Mbit/s.
#[test]
fn two_links_carry_the_sum_of_their_rates() {
    let output = run_text(WIRED);
    let sum = 50.0 * 1420.0 / 1500.0;
    assert!((0.95 * sum..=sum).contains(&goodput(&output)), "{}", goodput(&output));
    let paths = table(&output, "paths");
    assert_eq!(texts(paths, "path"), ["internet", "wifi"]);
    let shares = reals(paths, "share_percent");
    assert!((shares[0] - 40.0).abs() < 2.0 && (shares[0] + shares[1] - 100.0).abs() < 1e-6, "{shares:?}");
}

/// Losses on both paths, and a queue that reorders between them: all bytes arrive once, and the end of the data in both
/// directions.
#[test]
fn a_transfer_completes_over_paths_with_loss() {
    for scheduler in ["min-rtt", "round-robin", "redundant", "blest", "ecf", "linux"] {
        for direction in ["downlink", "uplink"] {
            let flow = format!(
                "[[flow]]\ndirection = \"{direction}\"\napp = {{ kind = \"fixed\", size = \"3 MB\" }}\n\
                 transport = {{ kind = \"mptcp\", scheduler = \"{scheduler}\", coupling = \"lia\" }}\n"
            );
            let text = WIRED.replace("[[flow]]\ntransport = \"mptcp\"\n", &flow);
            let text = text.replace("delay = \"20 ms\"", "delay = \"20 ms\"\nloss = \"1 %\"");
            let output =
                run_text(&text.replace("rate = \"30 Mbit/s\"", "rate = \"30 Mbit/s\"\nloss = \"2 %\""));
            let flows = table(&output, "flows");
            assert_eq!(counts(flows, "bytes_delivered"), [3_000_000], "{scheduler} {direction}");
            assert!(reals(flows, "fct_acked_s")[0].is_finite(), "{scheduler} {direction}");
            let paths = table(&output, "paths");
            let [again, twice] =
                ["reinjected_bytes", "duplicate_bytes"].map(|name| counts(paths, name).iter().sum::<u64>());
            assert!(twice <= again, "{scheduler}: {twice} bytes arrived twice of {again} sent twice");
            if scheduler == "redundant" {
                // The slower path has a third or more of the rate, and carries little but copies.
                assert!(again > 500_000, "{again} bytes were sent on both paths");
            }
        }
    }
}

/// The phone is outside of Wi-Fi from 4 s to 8 s. The data under way there is sent over LTE, and Wi-Fi is used again.
#[test]
fn a_path_that_disappears_costs_no_data() {
    let coverage =
        "rate = \"30 Mbit/s\"\ncoverage = [{ from = \"0 s\", until = \"4 s\" }, { from = \"8 s\" }]";
    let output = run_text(&PHONE.replace("rate = \"30 Mbit/s\"", coverage));
    let paths = table(&output, "paths");
    assert_eq!(texts(paths, "path"), ["wifi", "lte"]);
    assert!(counts(paths, "failures")[0] > 0 && counts(paths, "reinjected_bytes")[1] > 10_000);
    let series = table(&output, "flow_series");
    let (times, rates) = (reals(series, "t_s"), reals(series, "goodput_mbps"));
    let mean = |from: f64, until: f64| {
        let within = times.iter().zip(&rates).filter(|(at, _)| (from..until).contains(*at));
        let rates: Vec<f64> = within.map(|(_, rate)| *rate).collect();
        rates.iter().sum::<f64>() / rates.len() as f64
    };
    let (with, without, again) = (mean(1.0, 4.0), mean(5.0, 8.0), mean(10.0, 12.0));
    println!("{with} Mbit/s with Wi-Fi, {without} without, {again} with it again");
    assert!(without > 10.0 && with > without + 20.0 && again > without + 20.0);
}

/// LTE and NR with a core and an address each: the connection has what both carry.
#[test]
fn cells_of_two_generations_carry_one_connection() {
    let text = PHONE.replace(
        "[[link]]\nname = \"wifi\"\nrate = \"30 Mbit/s\"\n",
        "[[cell]]\nname = \"nr\"\nradio = \"nr\"\nbandwidth = \"20 MHz\"\n",
    );
    let text = text.replace("[\"wifi\", \"lte\"]", "[\"nr\", \"lte\"]").replace("12 s", "6 s");
    let output = run_text(&text);
    let shares = reals(table(&output, "paths"), "share_percent");
    assert!(shares.iter().all(|share| *share > 2.0), "{shares:?}");
    let one = |name: &str| {
        goodput(&run_text(&text.replace("transport = \"mptcp\"", &format!("access = \"{name}\""))))
    };
    let (lte, nr) = (one("lte"), one("nr"));
    println!("{} Mbit/s over both, {lte} over LTE, {nr} over NR", goodput(&output));
    assert!(goodput(&output) > nr.max(lte));
}

/// Coupled subflows grow more slowly than uncoupled ones, and a backup carries nothing while the other path is there.
#[test]
fn a_backup_is_not_used() {
    let output = run_text(&WIRED.replace("\"mptcp\"", "{ kind = \"mptcp\", backup = [\"wifi\"] }"));
    let shares = reals(table(&output, "paths"), "share_percent");
    assert_eq!(shares, [100.0, 0.0]);
}

/// Captures of both ends have the same options, and tshark (where it is installed) finds no error in them.
#[test]
fn captures_have_the_options() {
    let text = PHONE
        .replace("[[cell]]", "[output]\npcap = [\"ue\", \"server\", \"s1-u\"]\n[[cell]]")
        .replace("12 s", "1 s");
    let scenario = Scenario::parse(&text, "x.toml").unwrap().resolve().unwrap();
    let mut built = build(&scenario, 1).unwrap();
    built.capture_to_memory();
    assert!(built.run(&std::sync::atomic::AtomicBool::new(false)));
    let captures = built.take_captures();
    let folder = std::env::temp_dir().join(format!("airlane-paths-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, bytes) in &captures {
        let file = folder.join(name);
        std::fs::write(&file, bytes).unwrap();
        let Ok(read) = std::process::Command::new("tshark")
            .args([
                "-r",
                file.to_str().unwrap(),
                "-T",
                "fields",
                "-e",
                "tcp.options.mptcp.subtype",
                "-e",
                "_ws.expert.message",
            ])
            .output()
        else {
            continue; // it is not installed
        };
        let text = String::from_utf8_lossy(&read.stdout);
        let of = |subtype: &str| text.lines().filter(|line| line.split('\t').next() == Some(subtype)).count();
        println!("{name}: {} MP_CAPABLE, {} MP_JOIN, {} DSS", of("0"), of("1"), of("2"));
        assert!(!text.contains("Malformed"), "{name}");
        if name != "s1-u.pcapng" {
            assert!(of("0") >= 3 && of("1") >= 3 && of("2") > 100, "{name}: {} lines", text.lines().count());
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
