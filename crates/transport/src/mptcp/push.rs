//! The distribution of data to subflows.

use airlane_core::{Bytes, Cx, SubflowStep};

use super::connection::MptcpConnection;
use super::scheduler::{MinRtt, Scheduler, SchedulerData, SchedulerKind, SchedulerPath};
use crate::TcpEndpoint;

/// Data on a slower subflow is repeated on one whose round-trip time is less than a quarter, or if its window is at most
/// this many segments (`mptcp_rcv_buf_optimization` of `mptcp_sched.c`, commit 0a7e92df of github.com/multipath-tcp/mptcp).
const SLOWER: u64 = 4;
const SMALL_WINDOW: u32 = 4;

impl MptcpConnection {
    /// Gives data to subflows as long as they take it: first what must be sent again, then new data.
    pub(super) fn push(&mut self, cx: &mut Cx<'_>) {
        while self.push_again(cx) {}
        if matches!(self.settings.scheduler, SchedulerKind::Redundant) {
            return self.push_on_all(cx);
        }
        while self.push_new(cx) {}
    }

    /// The state of the subflows.
    fn look(&mut self) {
        self.views.clear();
        for (index, (subflow, path)) in self.subflows.iter().zip(&self.settings.paths).enumerate() {
            let mut view = subflow.as_ref().map(|one| one.view(path.backup)).unwrap_or_default();
            // The initiator may send on the first subflow at once (RFC 8684 §3.1).
            if let Some(subflow) = subflow
                && index == 0
                && (self.initiator && !subflow.joins && !subflow.failed || self.plain)
            {
                view.usable = subflow.is_open();
            }
            self.views.push(view);
        }
    }

    /// Sends the first part of what must be sent again, on another subflow than before. Returns true if it did.
    fn push_again(&mut self, cx: &mut Cx<'_>) -> bool {
        let Some(part) = self.outgoing.reinjection() else { return false };
        self.look();
        // The subflow that carried it is the last choice: it repeats its data itself.
        part.from.into_iter().for_each(|from| self.views[from].usable = false);
        let data = self.data(cx, part.end - part.start);
        let Some(index) = MinRtt.select(&self.views, &data) else { return false };
        let len = (part.end - part.start).min(u64::from(self.views[index].sender.segment));
        self.outgoing.on_reinjected(len);
        self.give(cx, index, (part.start, len), true);
        true
    }

    /// Sends a segment of new data. Returns true if it did.
    fn push_new(&mut self, cx: &mut Cx<'_>) -> bool {
        if self.outgoing.is_blocked() && self.outgoing.next() > self.outgoing.una() {
            self.scheduler.on_blocked();
            return self.push_head(cx);
        }
        if self.outgoing.sendable() == 0 {
            return false;
        }
        self.look();
        let segment = self.views.iter().map(|view| u64::from(view.sender.segment)).max().unwrap_or(0);
        let data = self.data(cx, self.outgoing.sendable().min(segment));
        let chosen = self.scheduler.select(&self.views, &data);
        let is_available = |index: &usize| self.views.get(*index).is_some_and(SchedulerPath::is_available);
        let Some(index) = chosen.filter(is_available) else { return false };
        self.push_next(cx, index)
    }

    /// Sends the next segment of new data on a subflow. A segment that the peer's window cuts off waits while data is
    /// outstanding (RFC 9293 §3.8.6.2.1).
    fn push_next(&mut self, cx: &mut Cx<'_>, index: usize) -> bool {
        let (sendable, unsent) = (self.outgoing.sendable(), self.outgoing.unsent());
        let segment = u64::from(self.views[index].sender.segment);
        let is_cut = sendable < segment && sendable < unsent;
        if sendable == 0 || is_cut && self.outgoing.next() > self.outgoing.una() {
            return false;
        }
        let (start, len) = (self.outgoing.next(), sendable.min(segment));
        self.outgoing.on_sent(len);
        self.give(cx, index, (start, len), false);
        true
    }

    /// The peer's window is full: a fast subflow repeats the first segment that is not acknowledged, if a much slower one
    /// carries it ("opportunistic retransmission": Raiciu et al., "How Hard Can It Be?", NSDI 2012, §4.2).
    fn push_head(&mut self, cx: &mut Cx<'_>) -> bool {
        self.look();
        let data = self.data(cx, 1);
        let Some(index) = MinRtt.select(&self.views, &data) else { return false };
        let head = self.outgoing.una();
        let carries = |index: usize| self.subflows[index].as_ref().is_some_and(|one| one.carries(head));
        let fast = self.views[index].sender;
        if carries(index) {
            return false;
        }
        let is_slow = |other: usize| {
            let slow = self.views[other].sender;
            slow.window <= SMALL_WINDOW || fast.srtt * SLOWER < slow.srtt
        };
        if !(0..self.subflows.len()).any(|other| other != index && carries(other) && is_slow(other)) {
            return false;
        }
        let len = (self.outgoing.next() - head).min(u64::from(fast.segment));
        self.give(cx, index, (head, len), true);
        true
    }

    /// Each subflow sends all data in its order: what others have sent already, then new data.
    fn push_on_all(&mut self, cx: &mut Cx<'_>) {
        for index in 0..self.subflows.len() {
            loop {
                self.look();
                if !self.views[index].is_available() {
                    break;
                }
                let Some(subflow) = &mut self.subflows[index] else { break };
                let start = subflow.repeats_from.max(self.outgoing.una());
                let left = self.outgoing.next().saturating_sub(start);
                if left == 0 {
                    let before = self.outgoing.next();
                    if !self.push_next(cx, index) {
                        break;
                    }
                    let next = self.outgoing.next();
                    if let Some(subflow) = &mut self.subflows[index] {
                        subflow.repeats_from = next;
                    }
                    debug_assert!(next > before, "a segment has bytes");
                    continue;
                }
                let len = left.min(u64::from(self.views[index].sender.segment));
                subflow.repeats_from = start + len;
                self.give(cx, index, (start, len), true);
            }
        }
    }

    fn data(&self, cx: &Cx<'_>, segment: u64) -> SchedulerData {
        SchedulerData {
            now: cx.now,
            segment: Bytes(segment),
            unsent: Bytes(self.outgoing.unsent()),
            window: Bytes(self.outgoing.window()),
        }
    }

    /// A subflow sends a segment of the data.
    fn give(&mut self, cx: &mut Cx<'_>, index: usize, (start, len): (u64, u64), again: bool) {
        let srtt = self.views[index].sender.srtt;
        let push = start + len == self.outgoing.next() && self.outgoing.unsent() == 0;
        if let Some(subflow) = &mut self.subflows[index] {
            subflow.give(start, len, push);
        }
        self.report(cx, index, SubflowStep::Scheduled { bytes: Bytes(len), again, srtt });
        self.on_endpoint(cx, index, TcpEndpoint::flush);
    }
}
