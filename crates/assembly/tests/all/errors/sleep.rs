//! Mistakes in the settings of UEs that sleep.

use super::{changed_all, extended};

/// Settings of two-step random access without a mistake.
const TWO_STEP: &str =
    "preambles = 8, pusch_delay = \"2 ms\", response_window = \"20 ms\", max_preambles = 4";

/// Each mistake with its error.
pub(super) fn mistakes() -> Vec<(&'static str, String)> {
    let cell = |key: &str, settings: &str| {
        let written = format!("rlc = {{ mode = \"am\", buffer = \"512 KiB\" }}\n{key} = {{ {settings} }}");
        changed_all(&[("rlc = { mode = \"am\", buffer = \"512 KiB\" }", &written)])
    };
    let drx = |settings: &str| cell("drx", &format!("kind = \"cycles\", {settings}"));
    let rrc = |settings: &str| cell("rrc", &format!("kind = \"on-demand\", {settings}"));
    let two_step = |access: &str, own: &str| {
        let (key, _) = own.split_once(" = ").unwrap_or((own, ""));
        let others = TWO_STEP.split(", ").filter(|one| !one.starts_with(&format!("{key} ")));
        let own = others.chain([own]).collect::<Vec<_>>().join(", ");
        let nr = "network = \"nr-fdd-lowband-sleeping\"";
        let rrc = format!("kind = \"on-demand\", random_access = {{ {access}two_step = {{ {own} }} }}");
        changed_all(&[
            ("network = \"lena\"", nr),
            ("rlc = { mode = \"am\", buffer = \"512 KiB\" }", &format!("rrc = {{ {rrc} }}")),
        ])
    };
    vec![
        ("a UE that never sleeps", drx("on_duration = \"320 ms\"")),
        ("a part of a subframe", drx("cycle = \"319.5 ms\"")),
        ("a short cycle that does not divide", drx("short_cycle = \"30 ms\"")),
        ("no short cycles", drx("short_cycle = \"40 ms\", short_cycles = 0")),
        ("a key of DRX", drx("long_cycle = \"320 ms\"")),
        ("a kind of DRX", cell("drx", "kind = \"on\"")),
        ("LTE that is inactive", rrc("release_to = \"inactive\"")),
        ("a paging cycle", rrc("paging_cycle = \"1 s\"")),
        ("no preamble", rrc("random_access = { preambles = 0 }")),
        ("preambles without end", rrc("random_access = { max_preambles = 500 }")),
        ("no answer", rrc("random_access = { responses = 0 }")),
        ("two steps in LTE", rrc(&format!("random_access = {{ two_step = {{ {TWO_STEP} }} }}"))),
        ("no preamble left for two steps", two_step("preambles = 64, ", "preambles = 8")),
        ("too many preambles for two steps", two_step("preambles = 60, ", "preambles = 8")),
        ("more MsgA than preambles", two_step("max_preambles = 3, ", "max_preambles = 4")),
        ("a window for MsgB that is too long", two_step("", "response_window = \"41 ms\"")),
        ("a window for MsgB that is too short", two_step("", "response_window = \"1 ms\"")),
        ("a kind of RRC", cell("rrc", "kind = \"idle\"")),
        (
            "connections in one of two cells",
            extended(
                "[[cell]]\nname = \"second\"\nposition = [\"500 m\", \"0 m\"]\nrlc = \"am\"\nrrc = \"on-demand\"",
            ),
        ),
    ]
}
