//! Random browsers.

use airlane_core::Stream;

use super::{of_quic, one_of};

/// A browser with random settings; often none.
pub(super) fn browser(s: &mut Stream, later: &mut Stream, to: Option<&str>) -> String {
    if !s.chance(0.25) {
        return String::new();
    }
    let mut text = to.map_or("[[flow]]\n".to_owned(), |to| format!("[[flow]]\nto = \"{to}\"\n"));
    text += &format!("name = \"web\"\nstart = \"{} ms\"\n", s.below(300));
    if s.chance(0.3) {
        text += &format!("stop = \"{} ms\"\n", 301 + s.below(600));
    }
    let transport = [
        "\"tcp\"",
        "{ kind = \"tcp\", preset = \"ns3.26\" }",
        "{ kind = \"tcp\", congestion = \"bbr\" }",
        "{ kind = \"tcp\", congestion = \"mdcc\" }",
    ];
    let transport = one_of(s, &transport);
    let (visits, http) = (one_of(s, &["random", "in-order"]), one_of(s, &["1.1", "2"]));
    let over_quic = later.chance(0.4);
    if over_quic {
        text += "[flow.transport]\nkind = \"quic\"\n";
        text += &of_quic(later, "cubic", true);
        text += &format!("idle_timeout = \"{} ms\"\n", one_of(later, &["100", "400", "30000"]));
        text += &format!("send_window = \"{} B\"\n", 2_000 + later.below(300_000));
    } else {
        text += &format!("transport = {transport}\n");
    }
    let http = if over_quic { "3" } else { http };
    text += &format!("[flow.app]\nkind = \"web\"\nvisits = \"{visits}\"\nhttp = \"{http}\"\n");
    if s.chance(0.3) {
        let tls = s.chance(0.5);
        text += &format!("tls = {}\n", tls || over_quic);
    }
    if s.chance(0.3) {
        text += &format!("count = {}\n", 1 + s.below(3));
    }
    text += &format!(
        "think_time = \"{} ms\"\nconnections_per_server = {}\nconnections = {}\npipelining = {}\nkeep_alive = \"{} ms\"\n",
        s.below(200),
        1 + s.below(8),
        1 + s.below(40),
        1 + s.below(6),
        1 + s.below(500),
    );
    text + &format!(
        "dns = {}\ndns_lookup = \"{} ms\"\ndns_ttl = \"{} ms\"\n",
        s.chance(0.7),
        s.below(50),
        1 + s.below(500)
    )
}
