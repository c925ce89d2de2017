//! The node of the radio network information service.

use airlane_core::{FlowId, Node, NodeId, Port, Seeds};
use airlane_engine::Simulation;
use airlane_middlebox as middlebox;
use airlane_net::{FlowRouter, Link, LinkParameters, RandomLoss};
use airlane_scenario::format::Rnis;
use airlane_traffic::INFORMATION;

/// Connects the service with the eNBs and with the subscribed servers, each by its flow's number.
pub(crate) fn wire(
    network: &mut Simulation,
    rnis: &Rnis,
    enbs: (NodeId, Port),
    listeners: &[(FlowId, NodeId)],
    seeds: Seeds,
) {
    let fault = rnis.fault.config().map(|fault| (fault, seeds.stream("rnis/fault")));
    let service = network.add(Box::new(middlebox::Rnis::new(fault)));
    network.connect(enbs, (service, middlebox::Rnis::RAN));
    network.connect((service, middlebox::Rnis::RAN), enbs);

    // Notifications, each to its server.
    let loss = (rnis.loss.0 > 0.0).then(|| RandomLoss::new(rnis.loss.0, seeds.stream("rnis/loss")));
    let down = network.add(link(rnis, loss));
    let router = network.add(Box::new(FlowRouter));
    network.connect((service, middlebox::Rnis::SERVERS), (down, Link::INPUT));
    network.connect((down, Link::OUTPUT), (router, 0));

    // Requests.
    let up = network.add(link(rnis, None));
    network.connect((up, Link::OUTPUT), (service, middlebox::Rnis::SERVERS));
    for (flow, server) in listeners {
        let port = Port::try_from(flow.0).expect("at most 10,000 flows");
        network.connect((router, port), (*server, INFORMATION));
        network.connect((*server, INFORMATION), (up, Link::INPUT));
    }
}

fn link(rnis: &Rnis, loss: Option<RandomLoss>) -> Box<dyn Node> {
    Box::new(Link::new(LinkParameters { delay: rnis.delay.0, loss, ..LinkParameters::default() }))
}
