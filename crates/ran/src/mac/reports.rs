//! Events about blocks and queues.

use airlane_core::{CellId, Cx, Direction, Event, Topic, TopicSet, UeId};

use super::harq::HarqProcess;
use crate::ue::{Membership, Ue};

/// Notes that the slot has no assignment for a UE that has downlink data, to be reported: see [`report_unsent`].
#[cold]
pub(super) fn note_unsent(topics: TopicSet, events: &mut Vec<Event<'static>>, ue: &Ue) {
    let direction = Direction::Downlink;
    if topics.wants(Topic::TransportBlock) {
        events.push(Event::Unsent { ue: ue.id, direction });
    }
    events.extend(topics.wants(Topic::QueueDepth).then(|| queue_of(ue, direction)).flatten());
}

/// Reports that the slot has no assignment for a UE that has data: its CQI is 0, "out of range" (TS 36.213
/// table 7.2.3-1), on the whole band, or the radio of its cell is off.
#[cold]
pub(crate) fn report_unsent(cx: &mut Cx<'_>, ue: &Ue, direction: Direction) {
    if cx.wants(Topic::TransportBlock) {
        cx.emit(&Event::Unsent { ue: ue.id, direction });
    }
    report_queue(cx, ue, direction);
}

/// Reports the length of the queue.
#[inline]
pub(crate) fn report_queue(cx: &mut Cx<'_>, ue: &Ue, direction: Direction) {
    if cx.wants(Topic::QueueDepth)
        && let Some(event) = queue_of(ue, direction)
    {
        cx.emit(&event);
    }
}

/// The event with the length of the queue. Below a split bearer, the queue is that of PDCP too.
fn queue_of(ue: &Ue, direction: Direction) -> Option<Event<'static>> {
    let event = || Event::QueueDepth { ue: ue.id, direction, bytes: ue.bearers.queue(direction) };
    (ue.membership == Membership::Alone).then(event)
}

/// The event of a sent block.
pub(crate) fn block_event(
    cell: CellId,
    ue: UeId,
    direction: Direction,
    id: u8,
    process: &HarqProcess,
    decoded: bool,
) -> Event<'static> {
    Event::TransportBlock {
        cell,
        ue,
        direction,
        process: id,
        mcs: process.mcs.index(),
        // Counted once, with the first layer's block.
        prbs: if process.shares_prbs { 0 } else { process.prbs },
        bytes: process.size,
        attempt: process.transmissions - 1,
        decoded,
        power_limited: false,
    }
}
