//! What observers learn of the sender: those of all paths together, and the steps of paths.

use airlane_core::{Bytes, Cx, Duration, Event, SubflowStep, Topic};

use super::endpoint::MultipathEndpoint;
use crate::Role;
use crate::congestion::State;
use crate::time::{QuinnInstant, span_from_quinn};

/// Timer granularity (RFC 9002 §6.1.2).
const GRANULARITY: Duration = Duration::from_millis(1);

/// The last reported state.
#[derive(Debug, Default)]
pub(super) struct Reported {
    state: State,
    rttvar: Duration,
}

impl MultipathEndpoint {
    /// Reports a step of a path at the end of this role.
    pub(super) fn report(&self, cx: &mut Cx<'_>, place: usize, step: SubflowStep, by: Role) {
        if self.role == by && cx.wants(Topic::Subflow) {
            cx.emit(&Event::Subflow { flow: self.flow, subflow: place as u8, step });
        }
    }

    /// Reports a step of a path at the end that sends the data.
    pub(super) fn report_sender(&self, cx: &mut Cx<'_>, place: usize, step: SubflowStep) {
        if self.config.quic.sends_data {
            self.report(cx, place, step, self.role);
        }
    }

    /// The smoothed round-trip time of the path at this place.
    pub(super) fn srtt(&self, place: usize) -> Duration {
        let id = self.live.iter().rev().find(|path| path.place == place).map(|path| path.id);
        let connection = self.connection.as_ref().map(|(_, connection)| connection);
        let rtt = id.zip(connection).and_then(|(id, connection)| connection.rtt(id));
        rtt.map(span_from_quinn).unwrap_or_default()
    }

    /// Before sending: lets the senders decide about data, and reports their changes.
    pub(super) fn settle(&mut self, cx: &mut Cx<'_>, now: QuinnInstant) {
        for index in 0..self.live.len() {
            let mut sender = self.live[index].sender.lock();
            sender.begin(now, cx.now);
            let (events, judged) = (sender.take_events(), sender.take_judged());
            sender.settle(cx.now);
            drop(sender);
            if events.rtt.is_some() && self.live[index].failed && !self.live[index].abandoned {
                self.live[index].failed = false;
                let place = self.live[index].place;
                self.report_sender(cx, place, SubflowStep::Restored);
            }
            if !self.config.quic.sends_data {
                continue;
            }
            for judged in judged {
                let (sent_at, timeout, verdict) = (judged.sent_at, judged.timeout, judged.cause.verdict());
                cx.emit(&Event::LossJudged { flow: self.flow, sent_at, timeout, verdict });
            }
            if events.lost {
                self.report_losses(cx, index);
            }
            if let Some(rtt) = events.rtt {
                self.report_rtt(cx, index, rtt);
            }
        }
        self.report_state(cx);
    }

    fn report_losses(&mut self, cx: &mut Cx<'_>, index: usize) {
        let Some((_, connection)) = &mut self.connection else { return };
        let Some(stats) = connection.path_stats(self.live[index].id) else { return };
        let new =
            stats.lost_packets - core::mem::replace(&mut self.live[index].lost_packets, stats.lost_packets);
        let bytes = Bytes(u64::from(stats.current_mtu));
        (0..new).for_each(|_| cx.emit(&Event::SegmentLost { flow: self.flow, bytes }));
    }

    fn report_rtt(&mut self, cx: &mut Cx<'_>, index: usize, rtt: Duration) {
        let srtt = self.srtt(self.live[index].place);
        // RFC 9002 §5.3 without the correction for delayed acknowledgments, which noq does not expose.
        self.reported.rttvar = (self.reported.rttvar * 3 + srtt.abs_diff(rtt)) / 4;
        let rto = srtt + (self.reported.rttvar * 4).max(GRANULARITY);
        cx.emit(&Event::RttSample { flow: self.flow, rtt, srtt, rto });
    }

    /// Reports the windows of all paths together.
    fn report_state(&mut self, cx: &mut Cx<'_>) {
        if !self.config.quic.sends_data || !cx.wants(Topic::FlowState) {
            return;
        }
        let (mut window, mut in_flight) = (0, 0);
        for path in self.live.iter().filter(|path| !path.abandoned) {
            let (of_path, _, bytes) = path.sender.lock().state();
            window += of_path.get();
            in_flight += bytes.get();
        }
        let state = (Bytes(window), None, Bytes(in_flight));
        if core::mem::replace(&mut self.reported.state, state) != state {
            cx.emit(&Event::FlowState {
                flow: self.flow,
                congestion_window: state.0,
                ssthresh: None,
                in_flight: state.2,
                offered_window: None,
                cubic: None,
            });
        }
    }

    /// A probe of a timeout is sent on the path at this place, the first of at most two.
    pub(super) fn on_probe(&mut self, cx: &mut Cx<'_>, place: usize) {
        let Some(path) = self.live.iter_mut().rev().find(|path| path.place == place) else { return };
        if path.probed_at.replace(cx.now) == Some(cx.now) {
            return;
        }
        let expiry = path.sender.lock().on_probe_timeout(cx.now.saturating_since(path.sent_at));
        let was_failed = core::mem::replace(&mut path.failed, true);
        if !was_failed && path.established && !path.abandoned {
            self.report_sender(cx, place, SubflowStep::Failed);
        }
        if cx.wants(Topic::Timeout) {
            cx.emit(&Event::Timeout {
                flow: self.flow,
                rto: expiry.rto,
                congestion_window: expiry.congestion_window,
                in_flight: expiry.in_flight,
                backoff: expiry.backoff,
                in_recovery: expiry.in_recovery,
            });
        }
    }
}
