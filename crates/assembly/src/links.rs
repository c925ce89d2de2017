//! The links of a scenario.

use std::sync::Arc;

use airlane_core::{BitRate, Direction, Duration, Instant, Node, Seeds};
use airlane_net::queue::Limit;
use airlane_net::{
    Detour, Discipline, Hold, Link, LinkParameters, LossStep, ManagedLink, Policer, RandomLoss, RateStep,
    TraceLink,
};
use airlane_scenario::ScenarioError;
use airlane_scenario::endpoints::Setup;
use airlane_scenario::format::{self, Aqm, Hop, Resolved};
use airlane_scenario::quantity::Size;

/// From the server towards host or core; `name` is the prefix of its random streams.
pub(crate) fn internet_downlink(setup: Setup<'_>, name: &str) -> Result<Box<dyn Node>, ScenarioError> {
    let Setup { scenario: Resolved { internet, .. }, seeds, files, .. } = setup;
    let name = format!("{name}/downlink");
    let stream = || seeds.stream(&format!("{name}/loss"));
    let from = |time: Duration| Instant::ZERO + time;
    let loss = (internet.loss.0 > 0.0 || internet.loss_steps.is_some()).then(|| {
        match (internet.loss_seed, internet.loss_burst) {
            (Some(seed), _) => RandomLoss::with_splitmix64(internet.loss.0, seed),
            (None, Some(burst)) => RandomLoss::in_bursts(internet.loss.0, burst, stream()),
            (None, None) => RandomLoss::new(internet.loss.0, stream()),
        }
    });
    let changes = internet.loss_steps.iter().flatten();
    let changes = changes.map(|step| LossStep { at: from(step.at.0), probability: step.loss.0 }).collect();
    let loss = loss.map(|loss| loss.with_steps(changes));
    if let Some(file) = &internet.trace {
        let queue = discipline(&internet.aqm, internet.queue, seeds, &name);
        return Ok(Box::new(TraceLink::new(
            Arc::new(files.delivery_trace(file)?),
            internet.delay.0,
            queue,
            loss,
        )));
    }
    let holds = internet
        .hold
        .iter()
        .map(|hold| Hold { from: from(hold.at.0), until: from(hold.at.0 + hold.duration.0) });
    let parameters = LinkParameters {
        rate: Some(internet.rate.0),
        delay: internet.delay.0,
        queue: None,
        rate_steps: internet.rate_steps.iter().map(rate_step).collect(),
        holds: holds.collect(),
        loss,
        policer: internet.policer.as_ref().map(|one| Policer { rate: one.rate.0, burst: one.burst.0 }),
        detours: internet.detours.iter().flatten().map(detour).collect(),
    };
    Ok(link(parameters, &internet.aqm, internet.queue, seeds, &name))
}

/// A direction of a link next to the network.
pub(crate) fn side_link(
    setup: Setup<'_>,
    side: &format::AccessLink,
    direction: Direction,
) -> Result<Box<dyn Node>, ScenarioError> {
    let Setup { seeds, files, .. } = setup;
    let (name, rate, queue, trace) = match direction {
        Direction::Downlink => ("downlink", side.rate, side.queue, &side.trace),
        Direction::Uplink => ("uplink", side.uplink_rate, side.uplink_queue, &side.uplink_trace),
    };
    let name = format!("link/{}/{name}", side.name);
    let loses = direction == Direction::Downlink && side.loss.0 > 0.0;
    let loss = loses.then(|| RandomLoss::new(side.loss.0, seeds.stream(&format!("{name}/loss"))));
    if let Some(file) = trace {
        let queue = discipline(&Aqm::DropTail, queue, seeds, &name);
        return Ok(Box::new(TraceLink::new(
            Arc::new(files.delivery_trace(file)?),
            side.delay.0,
            queue,
            loss,
        )));
    }
    let parameters =
        LinkParameters { rate: Some(rate.0), delay: side.delay.0, loss, ..LinkParameters::default() };
    Ok(link(parameters, &Aqm::DropTail, queue, seeds, &name))
}

fn rate_step(told: &format::RateStep) -> RateStep {
    RateStep { at: Instant::ZERO + told.at.0, rate: told.rate.0 }
}

fn detour(told: &format::Detour) -> Detour {
    let from = Instant::ZERO + told.at.0;
    Detour { from, until: from + told.duration.0, extra: told.extra.0 }
}

/// From host or core towards the server; `name` is the prefix of its random streams.
pub(crate) fn internet_uplink(setup: Setup<'_>, name: &str) -> Result<Box<dyn Node>, ScenarioError> {
    let Setup { scenario: Resolved { internet, .. }, seeds, files, .. } = setup;
    let name = format!("{name}/uplink");
    if let Some(file) = &internet.uplink_trace {
        let queue = discipline(&internet.aqm, internet.uplink_queue, seeds, &name);
        return Ok(Box::new(TraceLink::new(
            Arc::new(files.delivery_trace(file)?),
            internet.delay.0,
            queue,
            None,
        )));
    }
    let parameters = LinkParameters {
        rate: Some(internet.uplink_rate.0),
        delay: internet.delay.0,
        rate_steps: internet.uplink_rate_steps.iter().flatten().map(rate_step).collect(),
        ..LinkParameters::default()
    };
    Ok(link(parameters, &internet.aqm, internet.uplink_queue, seeds, &name))
}

/// Either direction of a link between core and cell; `name` is the prefix of its random streams.
pub(crate) fn hop(hop: &Hop, seeds: Seeds, name: &str) -> Box<dyn Node> {
    let parameters =
        LinkParameters { rate: Some(hop.rate.0), delay: hop.delay.0, ..LinkParameters::default() };
    link(parameters, &hop.aqm, hop.queue, seeds, name)
}

/// The way between the server of a flow and the internet link, down and up, if it takes time.
pub(crate) fn to_server(flow: &format::Flow) -> Option<[Box<dyn Node>; 2]> {
    let delay = flow.server_delay.filter(|delay| !delay.0.is_zero())?.0;
    let link =
        || -> Box<dyn Node> { Box::new(Link::new(LinkParameters { delay, ..LinkParameters::default() })) };
    Some([link(), link()])
}

/// The interface of a middlebox: its rate, with an unlimited queue.
pub(crate) fn interface(rate: BitRate) -> Box<dyn Node> {
    Box::new(Link::new(LinkParameters { rate: Some(rate), ..LinkParameters::default() }))
}

/// A link with its queue; with drop-tail the kind that needs a single timer per packet.
fn link(parameters: LinkParameters, rule: &Aqm, queue: Size, seeds: Seeds, name: &str) -> Box<dyn Node> {
    match rule {
        Aqm::DropTail => Box::new(Link::new(LinkParameters { queue: Some(queue.0), ..parameters })),
        managed => Box::new(ManagedLink::new(parameters, discipline(managed, queue, seeds, name))),
    }
}

fn discipline(rule: &Aqm, queue: Size, seeds: Seeds, name: &str) -> Discipline {
    Discipline::new(&rule.discipline(), Limit::bytes(queue.0), || seeds.stream(&format!("{name}/queue")))
}
