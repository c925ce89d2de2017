//! The classification of losses by senders, compared with the actual causes: a confusion matrix for each
//! flow.
//!
//! An episode is represented by the newest of its lost packets, a retransmission timeout by the oldest
//! outstanding packet. The actual cause follows from the drop of that packet: a queue, or a timer that
//! expired in it (congestion); any other cause (random); or no drop (spurious). None of this reaches the
//! sender.

use std::collections::VecDeque;

use airlane_core::{
    DropCause, Duration, Event, FlowId, Header, Instant, LossVerdict, Packet, Topic, TopicSet,
};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::{Column, Table};

/// How long a drop is stored: longer than a sender needs to detect it, which is at most a retransmission
/// timeout of 120 s, and seconds while packets still arrive.
const MEMORY: Duration = Duration::from_secs(120);
/// Maximum number of stored drops per flow.
const DROPS_MAX: usize = 1 << 16;

/// The actual cause of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Truth {
    Congestion,
    Random,
    Spurious,
}

impl Truth {
    const NAMES: [&'static str; 3] = ["congestion", "random", "spurious"];

    const fn of(cause: DropCause) -> Self {
        match cause {
            DropCause::QueueFull | DropCause::QueueManagement | DropCause::Discarded => Self::Congestion,
            DropCause::RandomLoss
            | DropCause::Radio
            | DropCause::Handover
            | DropCause::NoRoute
            | DropCause::Endpoint => Self::Random,
        }
    }
}

const VERDICTS: [&str; 3] = ["congestion", "random", "unreported"];

const fn index_of(verdict: LossVerdict) -> usize {
    match verdict {
        LossVerdict::Congestion => 0,
        LossVerdict::Random => 1,
        LossVerdict::Unreported => 2,
    }
}

/// One flow.
#[derive(Debug, Default)]
struct FlowLosses {
    drops: VecDeque<Dropped>,
    /// Numbers of losses, and of timeouts, by actual cause and by verdict.
    losses: [[u64; VERDICTS.len()]; Truth::NAMES.len()],
    timeouts: [[u64; VERDICTS.len()]; Truth::NAMES.len()],
}

#[derive(Clone, Copy, Debug)]
struct Dropped {
    at: Instant,
    sent_at: Instant,
    truth: Truth,
}

/// The log of all flows; empty if it is disabled.
#[derive(Debug, Default)]
pub(crate) struct VerdictLog(Vec<FlowLosses>);

impl VerdictLog {
    /// Makes room for this many flows.
    pub(crate) fn resize(&mut self, flows: usize) {
        self.0.resize_with(flows, FlowLosses::default);
    }

    pub(crate) fn new(flows: usize) -> Self {
        Self((0..flows).map(|_| FlowLosses::default()).collect())
    }

    /// A packet with data of its flow was dropped.
    pub(crate) fn on_dropped(&mut self, now: Instant, packet: &Packet, cause: DropCause) {
        let Some(FlowLosses { drops, .. }) = self.0.get_mut(packet.flow.index()) else { return };
        let old = |drop: &Dropped| now.saturating_since(drop.at) > MEMORY;
        while drops.front().is_some_and(old) || drops.len() == DROPS_MAX {
            drops.pop_front();
        }
        drops.push_back(Dropped { at: now, sent_at: packet.sent_at, truth: Truth::of(cause) });
    }

    /// A sender classified an episode, or a timeout, whose packet was sent at this time; it counts if this
    /// was in the measured window.
    pub(crate) fn on_judged(
        &mut self,
        flow: FlowId,
        sent_at: Instant,
        (timeout, measured): (bool, bool),
        verdict: LossVerdict,
    ) {
        let Some(flow) = self.0.get_mut(flow.index()).filter(|_| measured) else { return };
        let of_it = flow.drops.iter().filter(|drop| drop.sent_at == sent_at).map(|drop| drop.truth);
        // Packets sent at the same instant cannot be distinguished: a queue that dropped any of them
        // was full.
        let truth = of_it.min_by_key(|truth| *truth as usize).unwrap_or(Truth::Spurious);
        let counts = if timeout { &mut flow.timeouts } else { &mut flow.losses };
        counts[truth as usize][index_of(verdict)] += 1;
    }

    /// The table `verdicts`: a row for each flow, actual cause and verdict. `discriminators` are those of the
    /// flows, empty for flows that cannot have one.
    pub(crate) fn table(&self, flow_names: &[&str], discriminators: &[String]) -> Table {
        let rows = || {
            let flows = (0..self.0.len()).filter(|flow| !discriminators[*flow].is_empty());
            let of_truth = |flow| (0..Truth::NAMES.len()).map(move |truth| (flow, truth));
            let of_verdict = |(flow, truth)| (0..VERDICTS.len()).map(move |verdict| (flow, truth, verdict));
            flows.flat_map(of_truth).flat_map(of_verdict)
        };
        let mut table = Table::default();
        table.push_text("flow", rows().map(|(flow, ..)| flow_names[flow])).means("flow");
        table
            .push(
                "discriminator",
                Column::Text(rows().map(|(flow, ..)| discriminators[flow].clone()).collect()),
            )
            .means("rule of the sender");
        table.push_text("truth", rows().map(|(_, truth, _)| Truth::NAMES[truth])).means("cause of the loss");
        table
            .push_text("verdict", rows().map(|(.., verdict)| VERDICTS[verdict]))
            .means("classification by the sender");
        table
            .push_count("losses", rows().map(|(flow, truth, verdict)| self.0[flow].losses[truth][verdict]))
            .means("episodes of loss");
        table
            .push_count(
                "timeouts",
                rows().map(|(flow, truth, verdict)| self.0[flow].timeouts[truth][verdict]),
            )
            .means("retransmission timeouts");
        table
    }
}

impl Log for VerdictLog {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        let flows = parameters.discriminators.len();
        (flows > 0).then(|| Self::new(flows))
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::LossJudged).with(Topic::Dropped)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, flows: &Flows) {
        match *event {
            Event::LossJudged { flow, sent_at, timeout, verdict } => {
                self.on_judged(flow, sent_at, (timeout, flows.measures(flow, now)), verdict);
            }
            Event::Dropped { packet, cause } => {
                let is_loss = cause != DropCause::Endpoint && !matches!(packet.header, Header::Signalling);
                if is_loss && flows.is_data(packet) {
                    self.on_dropped(now, packet, cause);
                }
            }
            _ => {}
        }
    }

    fn extend(&mut self, parameters: &RecorderParameters) {
        self.resize(parameters.discriminators.len());
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        vec![("verdicts", self.table(&run.flow_names(), &run.parameters.discriminators))]
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::{Direction, Header, Payload, UdpHeader};

    use super::*;

    fn packet(sent_ms: u64) -> Packet {
        let header = Header::Udp(UdpHeader::default());
        Packet::new(
            FlowId(0),
            Direction::Downlink,
            header,
            Payload::Length(1000),
            Instant::from_millis(sent_ms),
        )
    }

    #[test]
    fn an_episode_is_what_dropped_its_packet() {
        let mut log = VerdictLog::new(1);
        let at = Instant::from_millis;
        log.on_dropped(at(15), &packet(10), DropCause::RandomLoss);
        log.on_dropped(at(16), &packet(11), DropCause::QueueFull);
        log.on_dropped(at(16), &packet(12), DropCause::Radio);
        log.on_dropped(at(16), &packet(12), DropCause::Discarded);
        log.on_judged(FlowId(0), at(10), (false, true), LossVerdict::Unreported);
        log.on_judged(FlowId(0), at(11), (false, true), LossVerdict::Random);
        log.on_judged(FlowId(0), at(12), (true, true), LossVerdict::Congestion);
        log.on_judged(FlowId(0), at(13), (false, true), LossVerdict::Congestion);
        log.on_judged(FlowId(1), at(10), (false, true), LossVerdict::Congestion); // no such flow
        assert_eq!(log.0[0].losses, [[0, 1, 0], [0, 0, 1], [1, 0, 0]]);
        assert_eq!(log.0[0].timeouts, [[1, 0, 0], [0, 0, 0], [0, 0, 0]]);
        log.on_dropped(at(200_000), &packet(199_990), DropCause::Radio);
        assert_eq!(log.0[0].drops.len(), 1, "what is long ago is forgotten");
    }
}
