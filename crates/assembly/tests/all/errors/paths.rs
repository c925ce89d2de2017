//! Mistakes in links, accesses, and flows over Multipath TCP.

use super::{changed_all, error, extended};

/// Each mistake with its error.
pub(super) fn mistakes() -> Vec<(&'static str, String)> {
    const LINK: &str = "[[link]]\nname = \"wifi\"\n";
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
    vec![
        ("a link without a name", extended("[[link]]\nrate = \"1 Mbit/s\"")),
        ("a link with the name of a cell", extended("[[link]]\nname = \"a\"")),
        ("a queue of a link", wired("queue = \"100 B\"", "subflows = 1")),
        (
            "intervals out of order",
            wired("coverage = [{ from = \"1 s\" }, { from = \"2 s\" }]", "subflows = 1"),
        ),
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
        ("a scheduler", wired("", "scheduler = \"fastest\"")),
        ("accurate ECN over several paths", wired("", "tcp = { ecn = \"accurate\" }")),
        ("offload over several paths", wired("", "tcp = { gso = true }")),
        ("a PEP's controller over several paths", wired("", "tcp = { congestion = \"mdcc\" }")),
        ("a browser over several paths", over("\"mptcp\"\napp = \"web\"")),
        ("several paths of a UE with one", extended("[[flow]]\nto = \"phone\"\ntransport = \"mptcp\"")),
    ]
}
