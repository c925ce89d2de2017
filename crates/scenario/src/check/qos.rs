//! Checks of QoS: the bearers of flows and UEs.

use std::collections::{BTreeMap, BTreeSet};

use super::{Checked, Place};
use crate::expand::UeNames;
use crate::format::{DEFAULT_5QI, Flow, LOW_LATENCY_5QI, Network, Resolved};

/// Maximum number of data radio bearers of a UE of LTE before release 15 (TS 36.306 §4.2A, eight; unverified), and of NR
/// (TS 38.331 §6.4, maxDRB).
const LTE_BEARERS_MAX: usize = 8;
const NR_BEARERS_MAX: usize = 29;

/// The QoS class of a flow.
pub(super) fn flow(flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
    if let Some(qos) = &flow.qos {
        let mobile = scenario.network != Network::Wired;
        at.require(mobile, "qos", "a wired network has no bearers", "leave it out")?;
        let one = flow.five_qi.is_none();
        at.require(one, "five_qi", "it cannot be combined with `qos`", "leave out one of them")?;
        qos.check(&at.under("qos"))?;
    }
    let Some(class) = flow.five_qi else { return Ok(()) };
    let known = [DEFAULT_5QI, LOW_LATENCY_5QI].contains(&class);
    let help = format!("it must be 9 or 80; for a bearer of its own, write qos = {{ qi = {class} }}");
    at.require(known, "five_qi", "not a QoS class of the two bearers", &help)?;
    let has_two = scenario.cell.iter().any(|cell| cell.l4s_bearer.is_some());
    let help = "add l4s_bearer = {} to the cell, or leave five_qi out";
    at.require(has_two, "five_qi", "no cell has a low-latency bearer", help)
}

/// The numbers of bearers of UEs.
pub(super) fn bearers(scenario: &Resolved, ues: &UeNames<'_>, at: &Place<'_>) -> Checked {
    let of_nr = scenario.cell.iter().all(|cell| cell.nr().is_some());
    let most = if of_nr { NR_BEARERS_MAX } else { LTE_BEARERS_MAX };
    let of_l4s = scenario.cell.iter().any(|cell| cell.l4s_bearer.is_some());
    let first: BTreeSet<u8> =
        [Some(DEFAULT_5QI), of_l4s.then_some(LOW_LATENCY_5QI)].into_iter().flatten().collect();
    let mut classes: BTreeMap<usize, BTreeSet<u8>> = BTreeMap::new();
    for (i, flow) in scenario.flow.iter().enumerate() {
        let Some(qos) = &flow.qos else { continue };
        let ends = [flow.from.as_deref(), flow.to.as_deref()].into_iter().flatten();
        for ue in ends.filter_map(|name| ues.named(name)).flat_map(|reach| reach.ues()) {
            let of_ue = classes.entry(ue).or_insert_with(|| first.clone());
            of_ue.insert(qos.qi);
            let help = format!("a UE has at most {most} data radio bearers; give flows the same class");
            let within = of_ue.len() <= most;
            at.entry(i).require(within, "qos", "too many bearers of its UE", &help)?;
        }
    }
    Ok(())
}
