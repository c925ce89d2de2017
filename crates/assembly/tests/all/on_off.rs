//! On/off applications: packets that are counted by hand, and the mean rate of random periods.

use crate::tables::{reals, table, texts};
use airlane_assembly::{RunOutput, run};
use airlane_scenario::{Scenario, ScenarioError};

/// A server and a host, 20 ms apart.
const WIRED: &str = r#"network = "wired"
[run]
duration = "9.5 s"
[internet]
rate = "100 Mbit/s"
delay = "20 ms"
"#;

fn of(text: &str) -> RunOutput {
    let scenario = Scenario::parse(text, "on-off.toml").and_then(|scenario| scenario.resolve());
    let output = run(&scenario.unwrap_or_else(|e| panic!("{e}")), 1).unwrap();
    assert!(output.meta.conserved);
    output
}

fn flow(output: &RunOutput, column: &str) -> f64 {
    reals(table(output, "flows"), column)[0]
}

/// 1000 bytes at 800 kbit/s take 10 ms. The defaults are 1 s off and 1 s on: on from 1 s, 3 s, 5 s and 7 s send 100
/// packets each, and from 9 s to 9.5 s another 49, for the one at 9.5 s is that of the end.
#[test]
fn constant_periods_send_what_fits_into_them() {
    let app = "app = { kind = \"on-off\", rate = \"800 kbit/s\", payload = \"1000 B\" }";
    let sent = |keys: &str| {
        flow(&of(&format!("{WIRED}[[flow]]\ntransport = \"udp\"\n{keys}\n{app}\n")), "packets_sent")
    };
    assert_eq!(sent(""), 449.0);
    // On from 1.5 s, 3.5 s, 5.5 s and 7.5 s; off when the run ends.
    assert_eq!(sent("start = \"500 ms\""), 400.0);
    assert_eq!(sent("stop = \"3255 ms\""), 125.0);
    let always = app.replace("payload", "off = { kind = \"constant\", length = \"0 s\" }, payload");
    assert_eq!(
        flow(&of(&format!("{WIRED}[[flow]]\ntransport = \"udp\"\n{always}\n")), "packets_sent"),
        949.0
    );
    let limited = app.replace("payload", "size = \"10500 B\", payload");
    assert_eq!(
        flow(&of(&format!("{WIRED}[[flow]]\ntransport = \"udp\"\n{limited}\n")), "packets_sent"),
        11.0
    );
}

/// Over TCP, what is written is the same. The path is wide, so that nothing waits: all of the four periods is there
/// in the pause at 8.5 s. With a limit, the connection ends: eleven writes up to 1.11 s and 20 ms on the way.
#[test]
fn over_tcp_the_same_is_written() {
    let app = "app = { kind = \"on-off\", rate = \"800 kbit/s\", payload = \"1000 B\" }";
    let short = WIRED.replace("9.5 s", "8.5 s");
    let output = of(&format!("{short}[[flow]]\n{app}\n"));
    assert_eq!((flow(&output, "bytes_delivered"), flow(&output, "packets_lost")), (400_000.0, 0.0));
    assert!(flow(&output, "fct_s").is_nan(), "it goes on");
    let limited = app.replace("payload", "size = \"10500 B\", payload");
    let output = of(&format!("{short}[[flow]]\ndirection = \"uplink\"\n{limited}\n"));
    assert_eq!(flow(&output, "bytes_delivered"), 11_000.0);
    assert!((1.130..1.131).contains(&flow(&output, "fct_s")), "{} s", flow(&output, "fct_s"));
}

/// Exponential periods with means of 100 ms and pauses with means of 300 ms: a Markov chain with the rates b = 10/s
/// and a = 10/3 per s. It is on for a/(a+b) = 1/4 of the time; that it begins off takes 1/((a+b) 100 s) of it. The
/// variance of the share of T seconds is 2 p (1 - p) / ((a+b) T) for long T: 2.8e-4 at 100 s. Over 40 flows that is a
/// standard error of 0.0027, of which five are the tolerance.
#[test]
fn forty_flows_have_the_mean_rate_of_the_chain() {
    let text = WIRED.replace("9.5 s", "100 s")
        + "[[flow]]\ntransport = \"udp\"\nrepeat = { count = 40, every = \"1 ns\" }\n\
           [flow.app]\nkind = \"on-off\"\nrate = \"400 kbit/s\"\npayload = \"1000 B\"\n\
           on = { kind = \"exponential\", mean = \"100 ms\" }\noff = { kind = \"exponential\", mean = \"300 ms\" }\n";
    let output = of(&text);
    let sent = reals(table(&output, "flows"), "packets_sent");
    let shares: Vec<f64> = sent.iter().map(|packets| packets * 0.02 / 100.0).collect();
    let mean = shares.iter().sum::<f64>() / 40.0;
    let expected = 0.25 * (1.0 - 1.0 / (13.333 * 100.0));
    assert!((mean - expected).abs() < 0.0135, "{mean} against {expected}");
    assert!(shares.iter().any(|share| (share - mean).abs() > 0.005), "each flow has draws of its own");
    assert_eq!(texts(table(&output, "flows"), "kind"), vec!["udp"; 40]);
}

fn mistakes() -> Vec<(&'static str, String)> {
    let error = |keys: &str| -> ScenarioError {
        let scenario = Scenario::parse(&format!("{WIRED}[[flow]]\n{keys}\n"), "on-off.toml").unwrap();
        scenario.resolve().expect_err(keys)
    };
    let app = |keys: &str| {
        error(&format!("transport = \"udp\"\napp = {{ kind = \"on-off\", {keys} }}")).to_string()
    };
    vec![
        ("over QUIC", error("app = \"on-off\"\ntransport = \"quic\"").to_string()),
        ("over ICMP", error("app = \"on-off\"\ntransport = \"icmp\"").to_string()),
        ("no rate", app("rate = \"0 bit/s\"")),
        ("no data", app("payload = \"0 B\"")),
        ("no bytes", app("size = \"0 B\"")),
        ("a time for a distribution", app("on = \"1 s\"")),
        ("an unknown distribution", app("on = { kind = \"normal\", mean = \"1 s\" }")),
        ("a key of another distribution", app("on = { kind = \"constant\", mean = \"1 s\" }")),
        ("never on", app("on = { kind = \"constant\", length = \"0 s\" }")),
        (
            "too often",
            app(
                "on = { kind = \"constant\", length = \"1 ns\" }, off = { kind = \"constant\", length = \"0 s\" }",
            ),
        ),
        ("bounds out of order", app("off = { kind = \"uniform\", min = \"2 s\" }")),
        ("no mean", app("off = { kind = \"exponential\", mean = \"0 s\" }")),
        ("an infinite mean", app("on = { kind = \"pareto\", mean = \"1 s\", shape = 1.0 }")),
        ("too many packets", app("rate = \"100 Gbit/s\", payload = \"1 B\"")),
    ]
}

#[test]
fn mistakes_are_explained() {
    let printed: String =
        mistakes().into_iter().map(|(name, message)| format!("--- {name}\n{message}\n")).collect();
    crate::snapshots::compare(&printed, "on-off-errors.txt");
}
