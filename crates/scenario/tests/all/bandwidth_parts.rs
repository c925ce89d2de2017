//! Bandwidth parts: defaults, and mistakes with their errors.

use airlane_core::{Bytes, Duration};
use airlane_ran::config::{AnswerTimes, SwitchingDelay};
use airlane_ran::numerology::{Duplex, TddPattern};
use airlane_scenario::{Resolved, Scenario, ScenarioError};

fn resolve(network: &str, cell: &str) -> Result<Resolved, ScenarioError> {
    let text = format!(
        "network = {network:?}\n[[cell]]\nname = \"a\"\n{cell}\n[[ue]]\nname = \"phone\"\n\
         position = [\"50 m\", \"0 m\"]\n[[flow]]\nto = \"phone\"\n"
    );
    Scenario::parse(&text, "x.toml")?.resolve()
}

#[test]
fn parts_are_there_if_they_are_written() {
    let none = resolve("nr-typical-fr1", "").unwrap();
    assert!(none.cell[0].bandwidth_parts.is_none() && !none.to_json().contains("bandwidth_parts"));
    let resolved = resolve("nr-typical-fr1", "bandwidth_parts = { default = 24 }").unwrap();
    let parts = resolved.cell[0].bandwidth_parts.as_ref().unwrap();
    assert_eq!((parts.default, parts.activate_above.0), (24, Bytes(9_000)));
    assert_eq!(parts.inactivity_timer.0, Duration::from_millis(40));
    assert_eq!(Resolved::from_json(&resolved.to_json()).unwrap(), resolved);
}

/// TS 38.133 table 8.6.2-1.
#[test]
fn a_switch_takes_slots() {
    let of = |delay: SwitchingDelay| [15_000, 30_000, 60_000, 120_000].map(|hz| delay.slots(hz));
    assert_eq!(of(SwitchingDelay::Type1), [1, 2, 3, 6]);
    assert_eq!(of(SwitchingDelay::Type2), [3, 5, 9, 18]);
}

/// FDD with k1 = 4 and 3 slots for the gNB: a DCI in slot 0 assigns slot 2, whose feedback is in slot 6 and read when slot 9
/// is over. With DDDSU, k1 = 2, 2 slots for the gNB and a switch of 5 slots: a DCI in slot 3 assigns slot 8, whose feedback
/// is in slot 14, and read when slot 16 is over, 14 slots after slot 3 began.
#[test]
fn answers_by_hand() {
    let fdd = AnswerTimes { k0: 0, k1: 4, k2: 4, processing: 3, delay: 2 };
    assert_eq!(fdd.longest(Duplex::Fdd), 10);
    let tdd = AnswerTimes { k0: 0, k1: 2, k2: 1, processing: 2, delay: 5 };
    assert_eq!(tdd.longest(Duplex::Tdd(TddPattern::new("DDDSU", 10, 2))), 14);
}

#[test]
fn mistakes_say_what_is_right() {
    let nr = "nr-typical-fr1";
    let of = |parts: &str| format!("bandwidth_parts = {{ default = 24{parts} }}");
    for (network, cell, key, texts) in [
        (
            "typical",
            of(""),
            "bandwidth_parts",
            &["a cell of LTE has no bandwidth parts", "radio = \"nr\""][..],
        ),
        (nr, "bandwidth_parts = { inactivity_timer = \"40 ms\" }".to_owned(), "bandwidth_parts.default", &[]),
        (
            nr,
            "bandwidth_parts = { default = 10 }".to_owned(),
            "bandwidth_parts.default",
            &["no part", "it must be from 1"],
        ),
        (
            nr,
            "bandwidth_parts = { default = 273 }".to_owned(),
            "bandwidth_parts.default",
            &["to 272", "resource_blocks = 273"],
        ),
        (nr, of(", inactivity_timer = \"45 ms\""), "bandwidth_parts.inactivity_timer", &["40, 50, 60"]),
        (
            nr,
            of(", inactivity_timer = \"0.5 ms\""),
            "bandwidth_parts.inactivity_timer",
            &["it must be one of 2, 3"],
        ),
        (
            nr,
            of(", inactivity_timer = \"2 ms\""),
            "bandwidth_parts.inactivity_timer",
            &["it would expire before the UE has answered a PDCCH", "use at least"],
        ),
        (nr, of(", switching_delay = \"type-3\""), "bandwidth_parts.switching_delay", &["type-1", "type-2"]),
        (nr, of(", timer = \"40 ms\""), "bandwidth_parts.timer", &[]),
        (
            nr,
            format!("{}\nuplink = \"configured-grant\"", of("")),
            "bandwidth_parts",
            &["configured grants are not modelled", "scheduling-request"],
        ),
        (
            nr,
            format!(
                "{}\nrrc = \"on-demand\"\nuplink = {{ kind = \"scheduling-request\", max_requests = 8 }}",
                of("")
            ),
            "bandwidth_parts",
            &["random access of connected UEs", "max_requests"],
        ),
        (
            nr,
            format!(
                "{}\ndrx = {{ kind = \"cycles\", inactivity = \"1 ms\" }}",
                of(", switching_delay = \"type-2\"")
            ),
            "bandwidth_parts.switching_delay",
            &["a UE would fall asleep while it switches", "at least 2500 us"],
        ),
    ] {
        let error = resolve(network, &cell).expect_err(&cell);
        assert_eq!(&*error.key, format!("cell.0.{key}"), "{error}");
        assert!(texts.iter().all(|text| error.to_string().contains(text)), "{error}");
        println!("{error}");
    }
}
