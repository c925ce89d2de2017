//! Random bearers: QoS classes of flows, limits of UEs, and the scheduler that respects them.

use airlane_core::Stream;
use airlane_scenario::Resolved;
use serde_json::{Value, json};

/// Classes with and without a guaranteed bit rate. With the default bearer these are fewer than eight bearers of a UE.
const GUARANTEED: [u8; 3] = [1, 2, 82];
const OTHERS: [u8; 4] = [5, 7, 9, 80];

fn kbps(s: &mut Stream, least: u64, most: u64) -> String {
    format!("{} kbit/s", least + s.below(most - least))
}

/// The class of a flow.
fn qos(s: &mut Stream) -> Value {
    if s.chance(0.5) {
        return json!({ "qi": OTHERS[s.below(OTHERS.len() as u64) as usize] });
    }
    let mut qos = json!({
        "qi": GUARANTEED[s.below(GUARANTEED.len() as u64) as usize],
        "gbr": kbps(s, 1, 5_000),
    });
    if s.chance(0.3) {
        qos["mbr"] = json!(kbps(s, 5_000, 20_000));
    }
    qos
}

/// Adds settings to those of a scenario; often none.
pub(super) fn draw(s: &mut Stream, base: &Resolved, layout: bool, settings: &mut Vec<(String, Value)>) {
    if base.cell.is_empty() || !s.chance(0.3) {
        return;
    }
    for (flow, written) in base.flow.iter().enumerate() {
        let five_qi = format!("flow.{flow}.five_qi");
        let has_class = written.five_qi.is_some() || settings.iter().any(|(key, _)| *key == five_qi);
        if s.chance(0.6) && !has_class {
            settings.push((format!("flow.{flow}.qos"), qos(s)));
        }
    }
    for ue in 0..base.ue.len() {
        if s.chance(0.2) {
            let keys = if s.chance(0.5) { &["downlink", "uplink"][..] } else { &["downlink"] };
            let rates: Vec<_> =
                keys.iter().map(|key| ((*key).to_owned(), json!(kbps(s, 50, 50_000)))).collect();
            settings.push((format!("ue.{ue}.ambr"), Value::Object(rates.into_iter().collect())));
        }
    }
    let cells = if layout { 1 } else { base.cell.len() };
    for cell in 0..cells {
        if s.chance(0.6) {
            let scheduler = json!({ "kind": "qos", "window": 2 + s.below(1_000) });
            settings.push((format!("cell.{cell}.scheduler"), scheduler));
        }
    }
}
