//! Mistakes in links, accesses, and flows over several paths.

use super::{changed_all, error, extended};

const LINK: &str = "[[link]]\nname = \"wifi\"\n";

/// Each mistake with its error.
pub(super) fn mistakes() -> Vec<(&'static str, String)> {
    let wired = |link: &str, transport: &str| {
        error(&format!(
            "network = \"wired\"\n{LINK}{link}\n[[flow]]\ntransport = {{ kind = \"mptcp\", {transport} }}\n"
        ))
        .to_string()
    };
    let access = |names: &str, more: &str| {
        let ue = format!("position = [\"100 m\", \"0 m\"]\naccess = {names}\n{more}");
        changed_all(&[("position = [\"100 m\", \"0 m\"]", &ue), ("[[ue]]", &format!("{LINK}[[ue]]"))])
    };
    let over = |what: &str| changed_all(&[("{ kind = \"tcp\", congestion = \"cubic\" }", what)]);
    let all = vec![
        ("a link without a name", extended("[[link]]\nrate = \"1 Mbit/s\"")),
        ("a link with the name of a cell", extended("[[link]]\nname = \"a\"")),
        ("a queue of a link", wired("queue = \"100 B\"", "subflows = 1")),
        (
            "intervals out of order",
            wired("coverage = [{ from = \"1 s\" }, { from = \"2 s\" }]", "subflows = 1"),
        ),
        ("a notice without coverage", wired("notice = \"1 s\"", "subflows = 1")),
        (
            "a warning without a notice",
            wired("coverage = [{ from = \"0 s\", until = \"1 s\" }]\nwarning = \"1 s\"", "subflows = 1"),
        ),
        (
            "too many intervals with notices",
            wired(
                &format!(
                    "coverage = [{}]\nnotice = \"0 s\"",
                    (0..9)
                        .map(|i| format!("{{ from = \"{i} s\", until = \"{i}.5 s\" }}"))
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
                "subflows = 1",
            ),
        ),
        ("a filter", wired("strip = \"ack\"", "subflows = 1")),
        ("an announced path", wired("", "announced = { server = [\"internet\"] }")),
        ("a path announced twice", wired("", "announced = { server = [\"wifi\"], host = [\"wifi\"] }")),
        (
            "an announced access that comes and goes",
            wired(
                "coverage = [{ from = \"0 s\", until = \"1 s\" }]\nnotice = \"0 s\"",
                "announced = { host = [\"wifi\"] }",
            ),
        ),
        ("an abort without a stop", wired("", "abort = true")),
        ("an access that does not exist", access("[\"a\", \"wlan\"]", "")),
        ("accesses without a cell", access("[\"wifi\"]", "")),
        ("an access twice", access("[\"a\", \"a\"]", "")),
        ("accesses and a cell", access("[\"a\", \"wifi\"]", "cell = \"a\"")),
        ("an access of a flow", extended("[[flow]]\nto = \"phone\"\naccess = \"wifi\"")),
        ("a path that does not exist", wired("", "paths = [\"internet\", \"wlan\"]")),
        ("no path", wired("", "paths = []")),
        ("too many subflows", wired("", "subflows = 5")),
        ("no subflow", wired("", "subflows = 0")),
        ("a weight too few", wired("", "scheduler = \"weighted\", weights = [1]")),
        ("weights of another scheduler", wired("", "weights = [1, 2]")),
        ("a policy of another scheduler", wired("", "policy = \"mine\"")),
        ("a scheduler", wired("", "scheduler = \"fastest\"")),
        ("accurate ECN over several paths", wired("", "tcp = { ecn = \"accurate\" }")),
        ("offload over several paths", wired("", "tcp = { gso = true }")),
        ("a PEP's controller over several paths", wired("", "tcp = { congestion = \"mdcc\" }")),
        ("a browser over several paths", over("\"mptcp\"\napp = \"web\"")),
        ("several paths of a UE with one", extended("[[flow]]\nto = \"phone\"\ntransport = \"mptcp\"")),
    ];
    all.into_iter().chain(of_quic()).collect()
}

fn of_quic() -> Vec<(&'static str, String)> {
    let quic = |keys: &str| {
        let transport = format!("transport = {{ kind = \"mpquic\", {keys} }}\n");
        error(&format!("network = \"wired\"\n{LINK}[[flow]]\n{transport}")).to_string()
    };
    vec![
        ("QUIC over a path that does not exist", quic("paths = [\"internet\", \"wlan\"]")),
        ("QUIC with a weight too few", quic("scheduler = \"weighted\", weights = [1]")),
        ("QUIC with weights of another scheduler", quic("weights = [1, 2]")),
        ("QUIC with a scheduler of TCP", quic("scheduler = \"blest\"")),
        ("TLS over several paths", quic("quic = { crypto = \"tls\" }")),
        ("the timeouts of picoquic over several paths", quic("quic = { preset = \"picoquic-2020\" }")),
        ("a controller with marks over several paths", quic("quic = { congestion = \"prague\" }")),
        ("a PEP's controller with QUIC over several paths", quic("quic = { congestion = \"mdcc\" }")),
        (
            "pages over several paths of QUIC",
            changed_all(&[("{ kind = \"tcp\", congestion = \"cubic\" }", "\"mpquic\"\napp = \"web\"")]),
        ),
        (
            "QUIC over several paths of a UE with one",
            extended("[[flow]]\nto = \"phone\"\ntransport = \"mpquic\""),
        ),
    ]
}
