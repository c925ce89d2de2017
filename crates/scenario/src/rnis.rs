//! The radio network information service of a scenario, and its subscribers.

use airlane_core::{Bytes, Duration, FlowId, Instant, Node, NodeId, Port, Seeds};
use airlane_engine::Simulation;
use airlane_middlebox as middlebox;
use airlane_net::rni::{Consumer, ue_address};
use airlane_net::{FlowRouter, Link, LinkParameters, RandomLoss};
use airlane_radio::CqiToMcs;
use airlane_traffic::INFORMATION;
use airlane_transport::congestion::{
    BlockSizes, LossDiscrimination, MeldConfig, MeldVariant, QueueThreshold,
};

use crate::expand::OneFlow;
use crate::format::{Cell, LossDiscriminator, MeldMe, MeldThreshold, MeldTimeouts, Resolved, Rnis};
use crate::quantity::Time;

/// A discriminator: from the format to `airlane_transport`.
pub(crate) fn loss_discrimination(
    discriminator: &LossDiscriminator,
    scenario: &Resolved,
) -> LossDiscrimination {
    match discriminator {
        LossDiscriminator::Legacy => LossDiscrimination::None,
        LossDiscriminator::Veno => LossDiscrimination::Veno,
        LossDiscriminator::Ncpld => LossDiscrimination::Ncpld,
        LossDiscriminator::LdaEq(usage) => {
            LossDiscrimination::LdaEq((usage.threshold.0 * 1000.0).round() as u32)
        }
        LossDiscriminator::MeldDe(meld) => LossDiscrimination::Meld(MeldConfig {
            pdu: meld.pdu.0,
            harq_processes: meld.harq_processes,
            age_max: age_max(meld.stale_after),
            judges_timeouts: meld.timeouts == MeldTimeouts::Judged,
            ..MeldConfig::as_run(MeldVariant::De, largest_block(scenario))
        }),
        LossDiscriminator::MeldMe(meld) => LossDiscrimination::Meld(MeldConfig {
            pdu: meld.pdu.0,
            harq_processes: meld.harq_processes,
            queue_threshold: queue_threshold(meld, scenario),
            age_max: age_max(meld.stale_after),
            judges_timeouts: meld.timeouts == MeldTimeouts::Judged,
            ..MeldConfig::as_run(MeldVariant::Me, largest_block(scenario))
        }),
    }
}

fn queue_threshold(meld: &MeldMe, scenario: &Resolved) -> QueueThreshold {
    match meld.threshold {
        MeldThreshold::AsRun => QueueThreshold::as_run(meld.harq_processes, largest_block(scenario)),
        MeldThreshold::Derived => QueueThreshold::derived(meld.harq_processes, largest_block(scenario)),
        MeldThreshold::Present => {
            // All cells have the same table, which check::rnis ensures.
            let table =
                scenario.cell.first().map_or(CqiToMcs::default(), |cell| cell.mac.cqi_to_mcs.config());
            QueueThreshold::Present(BlockSizes::new(table.blocks()))
        }
    }
}

fn age_max(stale_after: Time) -> Option<Duration> {
    Some(stale_after.0).filter(|age| *age > Duration::ZERO)
}

/// The largest transport block in any cell: in LTE of one layer.
fn largest_block(scenario: &Resolved) -> Bytes {
    scenario.cell.iter().map(Cell::largest_block).max().unwrap_or_default()
}

/// The loss discriminator of a flow, if its transport has one.
pub(crate) fn discriminator_of<'a>(scenario: &'a Resolved, one: &OneFlow) -> Option<&'a LossDiscriminator> {
    scenario.flow[one.section].transport.loss_discriminator()
}

/// The subscription of a flow's server, if it uses the service.
pub(crate) fn consumer(scenario: &Resolved, flow: FlowId, one: &OneFlow) -> Option<Consumer> {
    scenario.rnis.as_ref()?;
    let discriminator = loss_discrimination(discriminator_of(scenario, one)?, scenario);
    let ue = u32::try_from(one.ue?).expect("at most 10,000 UEs");
    discriminator.needs().radio_information.then(|| Consumer::new(flow, ue_address(ue)))
}

/// Whether the server of this flow needs notifications.
pub(crate) fn subscribes(scenario: &Resolved, one: &OneFlow) -> bool {
    consumer(scenario, FlowId(0), one).is_some()
}

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
