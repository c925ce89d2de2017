//! The links of a scenario.

use std::sync::Arc;

use airlane_core::{Bytes, Duration, Instant, Node, Seeds};
use airlane_net::queue::{CoDel, DropTail, Limit};
use airlane_net::{
    DeliveryTrace, Discipline, Hold, Link, LinkParameters, ManagedLink, RandomLoss, RateStep, TraceLink,
    codel,
};

use crate::error::ScenarioError;
use crate::format::{Aqm, Backhaul, Codel, Internet};
use crate::quantity::{Rate, Size};

/// A full packet: a queue of no more than that is no standing queue (RFC 8289 §4.2).
const MAX_PACKET: Bytes = Bytes(1500);

/// From the server towards host or core.
pub(crate) fn internet_downlink(internet: &Internet, seeds: Seeds) -> Result<Box<dyn Node>, ScenarioError> {
    let loss = (internet.loss.0 > 0.0).then(|| match internet.loss_seed {
        Some(seed) => RandomLoss::with_splitmix64(internet.loss.0, seed),
        None => RandomLoss::new(internet.loss.0, seeds.stream("internet/downlink/loss")),
    });
    if let Some(file) = &internet.trace {
        let queue = discipline(&internet.aqm, internet.queue);
        return Ok(Box::new(TraceLink::new(Arc::new(trace(file)?), internet.delay.0, queue, loss)));
    }
    let from = |time: Duration| Instant::ZERO + time;
    let steps = internet.rate_steps.iter().map(|step| RateStep { at: from(step.at.0), rate: step.rate.0 });
    let holds = internet
        .hold
        .iter()
        .map(|hold| Hold { from: from(hold.at.0), until: from(hold.at.0 + hold.duration.0) });
    let parameters = LinkParameters {
        rate: Some(internet.rate.0),
        delay: internet.delay.0,
        queue: None,
        rate_steps: steps.collect(),
        holds: holds.collect(),
        loss,
    };
    Ok(match &internet.aqm {
        Aqm::DropTail => Box::new(Link::new(LinkParameters { queue: Some(internet.queue.0), ..parameters })),
        Aqm::Codel(_) => Box::new(ManagedLink::new(parameters, discipline(&internet.aqm, internet.queue))),
    })
}

/// From host or core towards the server.
pub(crate) fn internet_uplink(internet: &Internet) -> Link {
    plain(internet.uplink_rate, internet.delay.0, internet.uplink_queue)
}

/// Either direction between core and cell.
pub(crate) fn backhaul(backhaul: &Backhaul) -> Link {
    plain(backhaul.rate, backhaul.delay.0, backhaul.queue)
}

fn plain(rate: Rate, delay: Duration, queue: Size) -> Link {
    Link::new(LinkParameters { rate: Some(rate.0), delay, queue: Some(queue.0), ..LinkParameters::default() })
}

fn discipline(aqm: &Aqm, queue: Size) -> Discipline {
    let limit = Limit::bytes(queue.0);
    match aqm {
        Aqm::DropTail => Discipline::DropTail(DropTail::new(limit)),
        Aqm::Codel(parameters) => Discipline::CoDel(CoDel::new(limit, codel_parameters(parameters))),
    }
}

/// CoDel's settings in the words of its implementation.
pub(crate) fn codel_parameters(codel: &Codel) -> codel::Parameters {
    codel::Parameters { target: codel.target.0, interval: codel.interval.0, max_packet: MAX_PACKET, ecn: false }
}

/// Reads a delivery trace.
pub(crate) fn trace(file: &str) -> Result<DeliveryTrace, ScenarioError> {
    let fail = |line: Option<usize>, message: String, help: String| {
        let mut error = ScenarioError::new("", message, help).in_file(file);
        error.line = line.and_then(|line| u32::try_from(line).ok());
        error
    };
    let text = std::fs::read_to_string(file)
        .map_err(|e| fail(None, format!("cannot be read: {e}"), "name a delivery trace".to_owned()))?;
    DeliveryTrace::parse(&text, file).map_err(|e| fail(Some(e.line), format!("found `{}`", e.found), e.help))
}
