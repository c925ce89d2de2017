//! The times and the rates of probes.
//!
//! libwebrtc f3ae3eb, `probe_controller.cc`. Left out: probes after a change of the allocation (the greatest rate is fixed here),
//! repeated first probes (off by default), and those by a network state estimate, which no public code computes.

use std::collections::VecDeque;

use airlane_core::{BitRate, Instant};

use super::rate::{UNLIMITED, during, scaled};
use super::settings::ProbingSettings;
use crate::{Probe, ProbeId};

/// The reason why the estimate is not higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitedBy {
    /// The delay, which does not rise.
    Delay,
    /// A rise of the delay, or the queues that it left.
    RisingDelay,
    /// Loss. An increase with padding, the only one by default, is part of it.
    Loss,
    /// A long RTT.
    Rtt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A result above this rate is followed by a further probe.
    Waiting(BitRate),
    Complete,
}

/// A probe that waits to be sent.
#[derive(Clone, Copy, Debug)]
struct Pending {
    since: Instant,
    probe: Probe,
}

/// Decides on probes.
#[derive(Clone, Debug)]
pub(super) struct ProbeController {
    settings: ProbingSettings,
    state: State,
    max: BitRate,
    estimate: BitRate,
    limited_by: LimitedBy,
    last: Instant,
    alr_started: Option<Instant>,
    alr_ended: Option<Instant>,
    /// The time of the latest large drop, and the estimate before it.
    drop: Option<(Instant, BitRate)>,
    last_drop_probe: Option<Instant>,
    next_id: u32,
    pending: VecDeque<Pending>,
}

impl ProbeController {
    /// A controller, with the first probes.
    pub(super) fn new(settings: ProbingSettings, start: BitRate, max: BitRate, now: Instant) -> Self {
        let mut controller = Self {
            settings,
            state: State::Complete,
            max,
            estimate: start,
            limited_by: LimitedBy::Delay,
            last: now,
            alr_started: None,
            alr_ended: None,
            drop: None,
            last_drop_probe: None,
            next_id: 0,
            pending: VecDeque::new(),
        };
        controller.start(now, &[settings.first, settings.second].map(|factor| scaled(start, factor)), true);
        controller
    }

    /// The next probe to send.
    pub(super) fn take(&mut self) -> Option<Probe> {
        self.pending.pop_front().map(|pending| pending.probe)
    }

    pub(super) const fn set_alr_started(&mut self, started: Option<Instant>) {
        self.alr_started = started;
    }

    pub(super) const fn set_alr_ended(&mut self, now: Instant) {
        self.alr_ended = Some(now);
    }

    /// Takes a new estimate: a result above most of the last probe is followed by a further probe.
    pub(super) fn set_estimate(&mut self, now: Instant, estimate: BitRate, limited_by: LimitedBy) {
        self.limited_by = limited_by;
        if estimate < scaled(self.estimate, self.settings.drop_threshold) {
            self.drop = Some((now, self.estimate));
        }
        self.estimate = estimate;
        if let State::Waiting(least) = self.state
            && estimate > least
        {
            self.start(now, &[scaled(estimate, self.settings.further)], true);
        }
    }

    /// Overuse has ended: probes the rate before a large drop, if the application has limited the rate.
    pub(super) fn on_recovery(&mut self, now: Instant) {
        let recently = |time: Option<Instant>, span| time.is_some_and(|at| now.saturating_since(at) < span);
        let in_alr = self.alr_started.is_some() || recently(self.alr_ended, self.settings.alr_ended_timeout);
        let Some((at, before)) = self.drop else { return };
        if !in_alr || self.state != State::Complete {
            return;
        }
        let rate = scaled(before, self.settings.drop_share);
        let expected = scaled(rate, 1.0 - self.settings.uncertainty);
        let probed = self
            .last_drop_probe
            .is_some_and(|last| now.saturating_since(last) <= self.settings.drop_interval);
        if expected > self.estimate && recently(Some(at), self.settings.drop_timeout) && !probed {
            self.last_drop_probe = Some(now);
            self.start(now, &[rate], false);
        }
    }

    /// Ends the wait for a result, and starts the periodic probes of a limited application.
    pub(super) fn process(&mut self, now: Instant) {
        if now.saturating_since(self.last) > self.settings.result_wait {
            self.state = State::Complete;
        }
        if self.state != State::Complete || !self.settings.periodic_in_alr {
            return;
        }
        if let Some(started) = self.alr_started
            && now >= started.max(self.last) + self.settings.alr_interval
        {
            self.start(now, &[scaled(self.estimate, self.settings.alr)], true);
        }
    }

    fn start(&mut self, now: Instant, rates: &[BitRate], mut further: bool) {
        match self.limited_by {
            LimitedBy::Rtt | LimitedBy::RisingDelay | LimitedBy::Loss => return,
            LimitedBy::Delay => {}
        }
        let mut last = UNLIMITED;
        for rate in rates {
            further &= *rate < self.max;
            last = (*rate).min(self.max);
            self.add(now, last);
        }
        self.last = now;
        self.state = if further {
            State::Waiting(scaled(last, self.settings.further_threshold))
        } else {
            State::Complete
        };
    }

    fn add(&mut self, now: Instant, rate: BitRate) {
        let (time_max, count_max) = (self.settings.pending_max, self.settings.pending_count_max);
        while let Some(first) = self.pending.front()
            && (now.saturating_since(first.since) > time_max || self.pending.len() > count_max)
        {
            self.pending.pop_front();
        }
        let probe = Probe {
            id: ProbeId(self.next_id),
            rate,
            packets: self.settings.packets,
            bytes: during(rate, self.settings.duration),
        };
        self.next_id += 1;
        self.pending.push_back(Pending { since: now, probe });
    }
}
