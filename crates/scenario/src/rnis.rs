//! The radio network information service of a scenario, and its subscribers.

use airlane_core::{Bytes, Duration, FlowId};
use airlane_net::rni::{Consumer, ue_address};
use airlane_radio::CqiToMcs;
use airlane_transport::congestion::{
    BlockSizes, LossDiscrimination, MeldConfig, MeldVariant, QueueThreshold,
};

use crate::expand::OneFlow;
use crate::format::{Cell, LossDiscriminator, MeldMe, MeldThreshold, MeldTimeouts, Resolved};
use crate::quantity::Time;

/// A discriminator: from the format to `airlane_transport`.
pub fn loss_discrimination(discriminator: &LossDiscriminator, scenario: &Resolved) -> LossDiscrimination {
    match discriminator {
        LossDiscriminator::Legacy => LossDiscrimination::None,
        LossDiscriminator::Ignore => LossDiscrimination::Ignore,
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
            // All cells have the same sizes, which check::rnis ensures.
            let sizes = scenario.cell.first().map(Cell::block_sizes);
            QueueThreshold::Present(sizes.unwrap_or_else(|| BlockSizes::Table(CqiToMcs::default().blocks())))
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
pub fn discriminator_of<'a>(scenario: &'a Resolved, one: &OneFlow) -> Option<&'a LossDiscriminator> {
    scenario.flow[one.section].transport.loss_discriminator()
}

/// The subscription of a flow's server, if it uses the service.
pub fn consumer(scenario: &Resolved, flow: FlowId, one: &OneFlow) -> Option<Consumer> {
    scenario.rnis.as_ref()?;
    let discriminator = loss_discrimination(discriminator_of(scenario, one)?, scenario);
    let ue = u32::try_from(one.ue?).expect("at most 10,000 UEs");
    let law = scenario.flow[one.section].transport.needs_cell_use();
    (law || discriminator.needs().radio_information).then(|| Consumer::new(flow, ue_address(ue)))
}

/// Whether the server of this flow needs notifications.
pub fn subscribes(scenario: &Resolved, one: &OneFlow) -> bool {
    consumer(scenario, FlowId(0), one).is_some()
}
