//! Split-connection proxies of a random scenario.

use airlane_core::Stream;

use super::one_of;

/// The sections of one in the gateway, of those in the eNBs, or both.
pub(super) fn proxies(s: &mut Stream) -> String {
    let places: &[&str] = match s.below(3) {
        0 => &["gateway"],
        1 => &["enb"],
        _ => &["enb", "gateway"],
    };
    places.iter().map(|at| proxy(s, at)).collect()
}

fn proxy(s: &mut Stream, at: &str) -> String {
    let leg = |s: &mut Stream| {
        let congestion = one_of(s, &["newreno", "cubic", "bbr", "vegas"]);
        let size = 3_000 + s.below(200_000);
        let window = if s.chance(0.5) {
            format!(", receive_window = {{ kind = \"fixed\", size = \"{size} B\" }}")
        } else {
            String::new()
        };
        let (window_scaling, initial_window, nagle) = (s.chance(0.5), 1 + s.below(20), s.chance(0.7));
        format!(
            "{{ congestion = \"{congestion}\", window_scaling = {window_scaling}, initial_window = {initial_window}, \
             nagle = {nagle}{window} }}"
        )
    };
    let (core, ran) = (leg(s), leg(s));
    format!(
        "[[middlebox]]\nkind = \"split-proxy\"\nat = \"{at}\"\nconnect = \"{}\"\nbuffer = \"{} B\"\nmemory = \"{} B\"\n\
         connections = {}\nwhen_full = \"{}\"\nconnect_timeout = \"{} ms\"\nstall_timeout = \"{} ms\"\n\
         idle_timeout = \"{} ms\"\ntime_wait = \"{} ms\"\ncore = {core}\nran = {ran}\n",
        one_of(s, &["at-once", "after-handshake", "far-end-first"]),
        3_000 + s.below(4_000_000),
        6_000 + s.below(100_000_000),
        1 + s.below(50),
        "pass-through", // a flow that is refused or given up would have an unknown excuse
        60_000 + s.below(2_000),
        60_000 + s.below(2_000),
        60_000 + s.below(2_000),
        s.below(1_000),
    )
}
