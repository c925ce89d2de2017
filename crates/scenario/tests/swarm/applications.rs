//! Random applications that came after the others: pings.

use airlane_core::{Seeds, Stream};

/// Applications to a UE, or to the host; often none.
pub(super) fn applications(seed: u64, to: Option<&str>) -> String {
    ping(&mut Seeds::new(seed).stream("swarm/ping"), to)
}

fn flow(s: &mut Stream, name: &str, to: Option<&str>) -> String {
    let mut text = to.map_or("[[flow]]\n".to_owned(), |to| format!("[[flow]]\nto = \"{to}\"\n"));
    let direction = super::one_of(s, &["downlink", "uplink"]);
    text += &format!("name = \"{name}\"\ndirection = \"{direction}\"\nstart = \"{} ms\"\n", s.below(300));
    if s.chance(0.3) {
        text += &format!("stop = \"{} ms\"\n", 301 + s.below(600));
    }
    text
}

fn ping(s: &mut Stream, to: Option<&str>) -> String {
    if !s.chance(0.25) {
        return String::new();
    }
    let mut text = flow(s, "ping", to) + "transport = \"icmp\"\n[flow.app]\nkind = \"ping\"\n";
    text += &format!("interval = \"{} ms\"\npayload = \"{} B\"\n", 1 + s.below(300), 1 + s.below(1_472));
    if s.chance(0.3) {
        text += &format!("count = {}\n", 1 + s.below(20));
    }
    text
}
