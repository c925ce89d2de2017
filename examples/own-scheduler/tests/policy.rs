//! The policy in a cell, and the page of the manual that shows it.

const PAGE: &str = include_str!("../../../docs/howto/scheduler.md");

/// With maximum throughput, the near UE takes the whole cell: the far one has the better channel in no slot. With
/// a target of 4 Mbit/s the far UE gets it, headers included, and little more, as the rest goes to the near one.
#[test]
fn each_ue_gets_its_target_and_the_better_channel_the_rest() {
    let [near_mt, far_mt] = own_scheduler::goodputs("\"mt\"").unwrap()[..] else { panic!("two flows") };
    let own = own_scheduler::goodputs("{ kind = \"own\", policy = \"target\" }").unwrap();
    let [near, far] = own[..] else { panic!("two flows") };
    assert!(far_mt < 0.1, "{far_mt}");
    assert!((3.5..4.2).contains(&far), "{far}");
    assert!((8.0..near_mt).contains(&near), "{near} {near_mt}");
}

#[test]
fn a_policy_that_nobody_supplies_is_named() {
    let error = own_scheduler::goodputs("{ kind = \"own\", policy = \"targt\" }").unwrap_err().to_string();
    assert!(
        error.contains("cell.0.scheduler.policy = \"targt\": unknown scheduler policy; known: target"),
        "{error}"
    );
}

#[test]
fn the_manual_shows_this_policy_and_its_output() {
    let code = include_str!("../src/lib.rs");
    let policy =
        &code[code.find("/// The UE with the best channel").unwrap()..code.find("/// Two UEs,").unwrap()];
    assert!(PAGE.contains(policy.trim()), "docs/howto/scheduler.md has another policy than src/lib.rs");
    let table = own_scheduler::comparison().unwrap();
    assert!(PAGE.contains(&table), "docs/howto/scheduler.md has another table than this:\n{table}");
}
