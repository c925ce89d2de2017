//! A cell's bandwidth in MHz is converted to its resource blocks.

use airlane_scenario::{Resolved, Scenario, ScenarioError};

fn resolve(cell: &str) -> Result<Resolved, ScenarioError> {
    let text = format!(
        "[[cell]]\nname = \"a\"\n{cell}\n[[ue]]\nname = \"phone\"\nposition = [\"50 m\", \"0 m\"]\n[[flow]]\nto = \"phone\"\n"
    );
    Scenario::parse(&text, "x.toml")?.resolve()
}

/// TS 36.104 table 5.6-1.
#[test]
fn each_channel_bandwidth_has_its_resource_blocks() {
    for (bandwidth, blocks) in
        [("1.4 MHz", 6), ("3 MHz", 15), ("5 MHz", 25), ("10 MHz", 50), ("15 MHz", 75), ("20 MHz", 100)]
    {
        let resolved = resolve(&format!("bandwidth = \"{bandwidth}\"")).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(resolved.cell[0].resource_blocks, blocks, "{bandwidth}");
        let same = resolve(&format!("resource_blocks = {blocks}")).unwrap();
        assert_eq!(resolved.to_json(), same.to_json());
        assert_eq!(Resolved::from_json(&resolved.to_json()).unwrap(), resolved);
    }
    assert_eq!(resolve("bandwidth = \"1400 kHz\"").unwrap().cell[0].resource_blocks, 6);
}

#[test]
fn what_is_none_is_refused() {
    for bandwidth in ["7 MHz", "1.5 MHz", "100 MHz"] {
        let error = resolve(&format!("bandwidth = \"{bandwidth}\"")).expect_err(bandwidth);
        assert_eq!((&*error.key, error.line), ("cell.0.bandwidth", Some(3)), "{error}");
        assert!(error.to_string().contains("\"1.4 MHz\", \"3 MHz\", \"5 MHz\""), "{error}");
    }
    for unit in ["bandwidth = \"20\"", "bandwidth = 20", "bandwidth = \"20 Mbit/s\""] {
        let error = resolve(unit).expect_err(unit);
        assert_eq!(&*error.key, "cell.0.bandwidth", "{error}");
    }
    let error = resolve("bandwidth = \"5 MHz\"\nresource_blocks = 25").expect_err("both");
    assert_eq!((&*error.key, &*error.value), ("cell.0.bandwidth", "\"5 MHz\""), "{error}");
}

/// An override of the file's settings, as with `--set`.
#[test]
fn an_override_of_one_replaces_the_other() {
    let text = "[[cell]]\nname = \"a\"\nresource_blocks = 50\n[[ue]]\nname = \"phone\"\nposition = [\"50 m\", \"0 m\"]\n[[flow]]\nto = \"phone\"\n";
    let overridden = |text: &str, key: &str, value: serde_json::Value| {
        let mut scenario = Scenario::parse(text, "x.toml").unwrap();
        scenario.set(key, &value).unwrap();
        scenario.resolve().unwrap().cell[0].resource_blocks
    };
    assert_eq!(overridden(text, "cell.0.bandwidth", "3 MHz".into()), 15);
    let text = text.replace("resource_blocks = 50", "bandwidth = \"10 MHz\"");
    assert_eq!(overridden(&text, "cell.0.resource_blocks", 75.into()), 75);
}
