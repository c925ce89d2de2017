//! The controller over TCP and QUIC, and the page of the manual that shows it.

const PAGE: &str = include_str!("../../../docs/howto/controller.md");

/// Random losses do not matter to it, with either transport, and the queue is a quarter of the 40 ms and below.
#[test]
fn it_fills_a_lossy_link_over_both_transports() {
    for kind in ["tcp", "quic"] {
        let of = |law: &str| own_controller::download(&format!("{{ kind = \"{kind}\", {law} }}")).unwrap();
        let [goodput, rtt] = of("congestion = \"own\", controller = \"steady\"");
        let [cubic, _] = of("congestion = \"cubic\"");
        assert!(goodput > 13.0 && goodput > 1.3 * cubic, "{kind}: {goodput}, CUBIC {cubic}");
        assert!((40.0..60.0).contains(&rtt), "{kind}: {rtt}");
    }
}

#[test]
fn the_manual_shows_its_output() {
    let table = own_controller::comparison().unwrap();
    assert!(PAGE.contains(&table), "docs/howto/controller.md has another table than this:\n{table}");
}
