//! All retransmission timeouts, with the losses in the second before each.

use airlane_core::ring::Ring;
use airlane_core::{Bytes, Duration, Event, FlowId, Instant};

use crate::table::{Column, Table};

/// How far back losses are counted.
const LOOK_BACK: Duration = Duration::from_secs(1);

/// One timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeout {
    pub(crate) at: Instant,
    pub(crate) flow: FlowId,
    pub(crate) rto: Duration,
    pub(crate) congestion_window: Bytes,
    pub(crate) in_flight: Bytes,
    pub(crate) backoff: u32,
    pub(crate) in_recovery: bool,
    pub(crate) lost_last_second: u64,
    pub(crate) drops_last_second: u64,
    pub(crate) undone: bool,
    /// Congestion window after the timeout; `None` if the flow's state is not recorded.
    pub(crate) congestion_window_after: Option<Bytes>,
}

/// The times of the events of the last second.
#[derive(Debug)]
struct LastSecond(Ring<Instant>);

impl Default for LastSecond {
    fn default() -> Self {
        Self(Ring::new(1024)) // a seventh of the full packets at 75 Mbit/s
    }
}

impl LastSecond {
    fn add(&mut self, now: Instant) {
        self.forget(now);
        self.0.push_back(now);
    }

    fn forget(&mut self, now: Instant) {
        while self.0.front().is_some_and(|&at| now - at > LOOK_BACK) {
            self.0.pop_front();
        }
    }

    /// Number of events in the second before `now`. Events at this instant do not count: segments
    /// that the timeout itself declares lost are not its cause.
    fn before(&mut self, now: Instant) -> u64 {
        self.forget(now);
        self.0.partition_point(|&at| at < now) as u64
    }
}

/// Segments of a flow that were declared lost, and its packets that were dropped.
#[derive(Debug, Default)]
struct Recent {
    lost: LastSecond,
    dropped: LastSecond,
}

/// All timeouts of a run.
#[derive(Debug)]
pub(crate) struct Timeouts {
    all: Vec<Timeout>,
    /// By flow.
    recent: Vec<Recent>,
}

impl Timeouts {
    pub(crate) fn new(flows: usize) -> Self {
        let mut timeouts = Self { all: Vec::with_capacity(64), recent: Vec::new() };
        timeouts.resize(flows);
        timeouts
    }

    /// Makes room for this many flows.
    pub(crate) fn resize(&mut self, flows: usize) {
        self.recent.resize_with(flows, Recent::default);
    }

    /// In the order of time.
    pub(crate) fn all(&self) -> &[Timeout] {
        &self.all
    }

    /// The network dropped a packet of the flow.
    pub(crate) fn on_dropped(&mut self, now: Instant, flow: FlowId) {
        if let Some(recent) = self.recent.get_mut(flow.index()) {
            recent.dropped.add(now); // acknowledgments too: their loss can cause a timeout
        }
    }

    pub(crate) fn on_segment_lost(&mut self, now: Instant, flow: FlowId) {
        if let Some(recent) = self.recent.get_mut(flow.index()) {
            recent.lost.add(now);
        }
    }

    pub(crate) fn on_timeout(&mut self, now: Instant, event: &Event<'_>) {
        let Event::Timeout { flow, rto, congestion_window, in_flight, backoff, in_recovery } = *event else {
            return;
        };
        let Some(recent) = self.recent.get_mut(flow.index()) else { return };
        self.all.push(Timeout {
            at: now,
            flow,
            rto,
            congestion_window,
            in_flight,
            backoff,
            in_recovery,
            lost_last_second: recent.lost.before(now),
            drops_last_second: recent.dropped.before(now),
            undone: false,
            congestion_window_after: None,
        });
    }

    /// The flow reports its window: the first one after a timeout at this instant is that after the timeout.
    #[inline]
    pub(crate) fn on_window(&mut self, now: Instant, flow: FlowId, congestion_window: Bytes) {
        if let Some(last) = self.all.last_mut()
            && last.at == now
            && last.flow == flow
        {
            last.congestion_window_after.get_or_insert(congestion_window);
        }
    }

    /// Marks the last timeout of the flow as undone, and the previous ones in the same backoff.
    pub(crate) fn undo(&mut self, flow: FlowId) {
        for timeout in self.all.iter_mut().rev().filter(|timeout| timeout.flow == flow) {
            timeout.undone = true;
            if timeout.backoff <= 1 {
                break;
            }
        }
    }

    /// The table `timeouts`: one row per timeout, in the order of time.
    pub(crate) fn table(&self, flow_names: &[&str]) -> Table {
        let all = || self.all.iter();
        let mut table = Table::default();
        table.push_f64("t_s", all().map(|t| t.at.as_secs_f64())).means("time");
        table.push_text("flow", all().map(|t| flow_names[t.flow.index()])).means("flow");
        table.push_f64("rto_ms", all().map(|t| t.rto.as_millis_f64())).means("timer");
        table
            .push_count("cwnd_bytes", all().map(|t| t.congestion_window.get()))
            .means("congestion window before");
        table.push_count("in_flight_bytes", all().map(|t| t.in_flight.get())).means("bytes in flight before");
        table.push_count("backoff", all().map(|t| u64::from(t.backoff))).means("doublings of the timer");
        table
            .push("in_recovery", Column::Bool(all().map(|t| t.in_recovery).collect()))
            .means("whether the sender was in loss recovery");
        table
            .push_count("lost_last_second", all().map(|t| t.lost_last_second))
            .means("segments declared lost in the second before");
        table
            .push_count("drops_last_second", all().map(|t| t.drops_last_second))
            .means("packets dropped in the second before");
        let after = |t: &Timeout| t.congestion_window_after.map_or(f64::NAN, |bytes| bytes.get() as f64);
        table.push_f64("cwnd_after_bytes", all().map(after)).means("congestion window after");
        table
            .push("undone", Column::Bool(all().map(|t| t.undone).collect()))
            .means("whether it was found to be spurious");
        table
    }
}
