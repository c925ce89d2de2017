//! The errors for users of flows over a guest kernel.

use airlane_scenario::Scenario;

use super::errors::{BASE, changed};

/// The base with other settings of a flow over a kernel.
fn kernel(settings: &str) -> String {
    let transport = format!("transport = {{ kind = \"kernel\", {settings} }}");
    changed("transport = { kind = \"tcp\", congestion = \"cubic\" }", &transport)
}

#[test]
fn settings_of_kernels_are_checked() {
    let wrong = [
        ("kernel = \"../6.12\"", "flow.0.transport.kernel", "airlane kernel list"),
        ("congestion = \"a name of 16 ch\"", "flow.0.transport.congestion", "\"bbr\""),
        ("mtu = \"9000 B\"", "flow.0.transport.mtu", "from 128 B to 1500 B"),
        ("write_size = \"1 MiB\"", "flow.0.transport.write_size", "at most 256 KiB"),
        ("sysctl = { \"a b\" = 1 }", "flow.0.transport.sysctl", "sysctl(8)"),
        ("sysctl = { tcp_ecn = 1.5 }", "flow.0.transport.sysctl.tcp_ecn", "a whole number"),
        ("exec = { server = \"a\\nb\", ue = \"c\" }", "flow.0.transport.exec.server", "one line"),
        ("exec = { server = \"iperf3 -s\" }", "flow.0.transport.exec.ue", "add ue"),
        ("congestoin = \"bbr\"", "flow.0.transport.congestoin", "did you mean `congestion`?"),
        (
            "requests = { request = \"9 B\", reply = \"0 B\" }",
            "flow.0.transport.requests.reply",
            "at least 1 B",
        ),
        ("peer = { congestion = \"bbr\" }", "flow.0.transport.peer", "ends = \"server\""),
        ("ends = \"ue\", peer = { congestion = \"mdcc\" }", "flow.0.transport.peer.congestion", "another"),
        ("ends = \"ue\", exec = { server = \"a\", ue = \"b\" }", "flow.0.transport.exec", "leave out `ends`"),
    ];
    for (settings, key, help) in wrong {
        let error = kernel(settings);
        assert!(error.contains(key) && error.contains(help), "{settings}: {error}");
    }
    let app = changed(
        "transport = { kind = \"tcp\", congestion = \"cubic\" }",
        "transport = \"kernel\"\napp = \"web\"",
    );
    assert!(app.contains("flow.0.app") && app.contains("transport.exec"), "{app}");
}

#[test]
fn a_run_without_guests_refuses_a_kernel() {
    let text = BASE.replace("kind = \"tcp\", congestion = \"cubic\"", "kind = \"kernel\"");
    let resolved = Scenario::parse(&text, "x.toml").unwrap().resolve().unwrap();
    assert_eq!(resolved.kernels(), ["6.12"]);
    let error = airlane_assembly::run(&resolved, 1).unwrap_err().to_string();
    assert!(error.contains("flow.0.transport") && error.contains("this program runs no kernels"), "{error}");
}

#[test]
fn the_paths_of_a_kernel_are_checked() {
    let with = |settings: &str, link: &str| {
        let text = format!(
            "network = \"wired\"\n[[link]]\nname = \"wifi\"\n{link}\n[[link]]\nname = \"sat\"\n\
             [[flow]]\ntransport = {{ kind = \"kernel\", {settings} }}\n"
        );
        let resolved = Scenario::parse(&text, "x.toml").and_then(|scenario| scenario.resolve());
        resolved.map_or_else(|error| error.to_string(), |_| String::new())
    };
    let at = "flow.0.transport.mptcp";
    let wrong = [
        ("mptcp = { paths = [\"wifj\"] }", "", "paths", "did you mean `wifi`?"),
        ("mptcp = { paths = [] }", "", "paths", "name each path once"),
        ("mptcp = { backup = [\"internet\"] }", "", "backup", "name another path first in `paths`"),
        (
            "mptcp = { paths = [\"wifi\", \"sat\"], backup = [\"internet\"] }",
            "",
            "backup",
            "none of the connection's `paths`",
        ),
        ("mptcp = { announced = { server = [\"internet\"] } }", "", "announced.server", "behind the first"),
        ("mptcp = { announced = { server = [\"sat\", \"sat\"] } }", "", "announced.server", "once"),
        ("mptcp = { announced = { host = [\"sat\"] } }", "", "announced.host", "let the server announce"),
        ("mptcp = { scheduler = \"blest\" }", "", "scheduler", "unknown key"),
    ];
    for (settings, link, key, help) in wrong {
        let error = with(settings, link);
        assert!(error.contains(&format!("{at}.{key}")) && error.contains(help), "{settings}: {error}");
    }
    let transport = "flow.0.transport";
    let wrong = [
        ("ends = \"ue\", mptcp = {}", "", ".ends", "leave out `ends`, or `mptcp`"),
        ("exec = { server = \"a\", ue = \"b\" }, mptcp = {}", "", ".exec", "leave out `mptcp`"),
        (
            "requests = { request = \"1 B\", reply = \"1 B\" }, mptcp = {}",
            "",
            ".requests",
            "leave out `mptcp`",
        ),
        ("mptcp = {}", "strip = \"all\"", "", "leave out `strip` of the link"),
        ("mptcp = {}", "coverage = [{ from = \"1 s\" }]\nnotice = \"1 s\"", "", "leave out `notice`"),
    ];
    for (settings, link, key, help) in wrong {
        let error = with(settings, link);
        assert!(error.contains(&format!("{transport}{key}")) && error.contains(help), "{settings}: {error}");
    }
    assert_eq!(
        with("mptcp = { paths = [\"internet\", \"sat\"] }", "strip = \"all\""),
        "",
        "the link is not used"
    );
}
