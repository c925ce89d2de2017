//! The middleboxes of a scenario.

use airlane_core::{CellId, FlowId, Instant, Node, Seeds};
use airlane_middlebox::{self as middlebox, Fault, Middlebox, Pep, PepConfig};
use airlane_net::pep;

use crate::format::{self, Claim, MiddleboxPlace, PepFault, Resolved};

/// The PEP of a scenario, if it has one.
fn settings(scenario: &Resolved) -> Option<&format::Pep> {
    scenario.middlebox.first().map(|format::Middlebox::Pep(pep)| pep)
}

/// The middlebox before the gateway, if there is one.
pub(crate) fn at_gateway(scenario: &Resolved, seeds: Seeds) -> Option<Box<dyn Node>> {
    let pep = settings(scenario).filter(|pep| pep.at == MiddleboxPlace::Gateway)?;
    Some(Box::new(Middlebox::new(Pep::new(config(pep, None, seeds)))))
}

/// The middlebox in the eNB of a cell, if there is one.
pub(crate) fn at_enb(scenario: &Resolved, cell: usize, seeds: Seeds) -> Option<Box<dyn Node>> {
    let pep = settings(scenario).filter(|pep| pep.at == MiddleboxPlace::Enb)?;
    Some(Box::new(Middlebox::new(Pep::new(config(pep, Some(CellId(cell as u32)), seeds)))))
}

/// What tells the server of a flow which messages to believe.
pub(crate) fn receiver(scenario: &Resolved, flow: FlowId) -> Option<pep::Receiver> {
    let flow = u64::from(flow.0);
    Some(pep::Receiver::new(pep::Key::derive(settings(scenario)?.secret.as_bytes(), flow), flow))
}

fn config(pep: &format::Pep, cell: Option<CellId>, seeds: Seeds) -> PepConfig {
    let id = cell.map_or(0, |cell| cell.0);
    let chance = seeds.stream(&format!("middlebox/{id}/fault"));
    PepConfig {
        id,
        secret: pep.secret.clone().into_bytes(),
        flows: pep.flows as usize,
        ranges: pep.ranges as usize,
        ack_every: pep.ack_every,
        max_delay: pep.max_delay.0,
        min_interval: pep.min_interval.0,
        reordering: u8::try_from(pep.reordering).expect("checked when the scenario was resolved"),
        idle: pep.idle.0,
        cell,
        fault: fault(&pep.fault).map(|fault| (fault, chance)),
    }
}

fn fault(fault: &PepFault) -> Option<Fault> {
    let at = |time: crate::quantity::Time| Instant::ZERO + time.0;
    Some(match fault {
        PepFault::None => return None,
        PepFault::Dies(dies) => {
            Fault::Dies { at: at(dies.at), until: dies.until.map_or(Instant::FAR_FUTURE, at) }
        }
        PepFault::Lies(lies) => {
            let claim = match lies.claim {
                Claim::Everything => middlebox::Claim::Everything,
                Claim::Unsent => middlebox::Claim::Unsent,
                Claim::Holes => middlebox::Claim::Holes,
            };
            Fault::Lies { from: at(lies.from), claim }
        }
        PepFault::Loses(share) => Fault::Loses(share.share.0),
        PepFault::Reorders(share) => Fault::Reorders(share.share.0),
        PepFault::Duplicates(share) => Fault::Duplicates(share.share.0),
        PepFault::Truncates(share) => Fault::Truncates(share.share.0),
        PepFault::Forges => Fault::Forges,
        PepFault::Replays => Fault::Replays,
    })
}
