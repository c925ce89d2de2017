//! Coupled congestion control: the increase of a subflow's window depends on the windows of all subflows.
//!
//! Windows are in segments, and all subflows have the same segment size. Slow start is that of each subflow alone (RFC
//! 6356 §3), and so is the decrease, except with BALIA.

use std::sync::{Arc, Mutex, PoisonError};

use airlane_core::Duration;

use crate::congestion::{
    AckSample, CongestionController, LossCause, LossEpisode, MakeController, Needs, OwnController,
    OwnControllers, SegmentWindow, TimeoutEpisode,
};

/// A law that couples the windows of subflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coupling {
    /// The linked increases algorithm (RFC 6356).
    Lia,
    /// Opportunistic linked increases (draft-khalili-mptcp-congestion-control-05), with the sets of `mptcp_olia.c` at
    /// commit 34ebf9ff of github.com/multipath-tcp/mptcp.
    Olia,
    /// Balanced linked adaptation (draft-walid-mptcp-congestion-control-04), with the formulas of `mptcp_balia.c` at commit
    /// 0075cb4d of the same repository.
    Balia,
}

/// The state of a subflow that the laws of the others use.
#[derive(Clone, Copy, Debug)]
struct Member {
    window: f64,
    /// Smoothed round-trip time in seconds.
    rtt: f64,
    /// Bytes acknowledged between the last two losses or since the last one, whichever is more.
    between_losses: f64,
}

impl Member {
    fn rate(&self) -> f64 {
        self.window / self.rtt
    }
}

/// The subflows of a connection; `None` before the first sample of a round-trip time, and after the end of a subflow.
#[derive(Debug)]
pub(super) struct Group(Mutex<Vec<Option<Member>>>);

impl Group {
    pub(super) fn new(subflows: usize) -> Self {
        Self(Mutex::new(vec![None; subflows]))
    }

    /// A subflow has ended.
    pub(super) fn remove(&self, subflow: usize) {
        self.with(|members| members[subflow] = None);
    }

    fn with<R>(&self, act: impl FnOnce(&mut Vec<Option<Member>>) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The controllers of one subflow.
#[derive(Debug)]
struct Maker {
    law: Coupling,
    subflow: usize,
    group: Arc<Group>,
}

impl MakeController for Maker {
    fn make(&self, _: &SegmentWindow) -> Box<dyn OwnController> {
        Box::new(Coupled {
            law: self.law,
            subflow: self.subflow,
            group: Arc::clone(&self.group),
            credit: 0.0,
            losses: [0; 2],
            acked_to: 0,
        })
    }
}

impl Coupling {
    /// Makes the controllers of a subflow.
    pub(super) fn controllers(self, subflow: usize, group: &Arc<Group>) -> OwnControllers {
        OwnControllers(Arc::new(Maker { law: self, subflow, group: Arc::clone(group) }))
    }
}

/// The window of one subflow.
#[derive(Clone, Debug)]
struct Coupled {
    law: Coupling,
    subflow: usize,
    group: Arc<Group>,
    /// The part of a segment by which the window has grown.
    credit: f64,
    /// Stream positions of the last two losses, and the position acknowledged.
    losses: [u64; 2],
    acked_to: u64,
}

impl Coupled {
    fn publish(&self, window: u32, srtt: Duration) {
        let [before, last] = self.losses;
        let between_losses = (last - before).max(self.acked_to.saturating_sub(last));
        let member = Member {
            window: f64::from(window),
            rtt: srtt.as_secs_f64(),
            between_losses: between_losses as f64,
        };
        self.group.with(|members| members[self.subflow] = (member.rtt > 0.0).then_some(member));
    }

    /// The new window, without a new round-trip time.
    fn publish_window(&self, window: u32) {
        self.group.with(|members| {
            if let Some(member) = &mut members[self.subflow] {
                member.window = f64::from(window);
            }
        });
    }

    /// The growth of the window for each segment that is acknowledged.
    fn increase(&self) -> f64 {
        self.group.with(|members| {
            let Some(own) = members[self.subflow] else { return 0.0 };
            let all = || members.iter().flatten();
            match self.law {
                Coupling::Lia => lia(&own, all()),
                Coupling::Olia => olia(&own, all()),
                Coupling::Balia => balia(&own, all()),
            }
        })
    }

    fn on_any_loss(&mut self) {
        if self.acked_to > self.losses[1] {
            self.losses = [self.losses[1], self.acked_to];
        }
    }
}

/// RFC 6356 §3: the smaller of `alpha / cwnd_total` and `1 / cwnd_i`.
fn lia<'a>(own: &Member, all: impl Iterator<Item = &'a Member> + Clone) -> f64 {
    let total: f64 = all.clone().map(|one| one.window).sum();
    let best = all.clone().map(|one| one.rate() / one.rtt).fold(0.0, f64::max);
    let sum: f64 = all.map(Member::rate).sum();
    let alpha = total * best / (sum * sum);
    (alpha / total).min(1.0 / own.window)
}

/// The draft's equation, section 3: `(w_r / rtt_r^2) / (sum w_p / rtt_p)^2 + alpha_r / w_r`.
fn olia<'a>(own: &Member, all: impl Iterator<Item = &'a Member> + Clone) -> f64 {
    let quality = |one: &Member| one.between_losses / (one.rtt * one.rtt);
    let best = all.clone().map(quality).fold(0.0, f64::max);
    let largest = all.clone().map(|one| one.window).fold(0.0, f64::max);
    let has_largest = |one: &Member| one.window >= largest;
    let is_best = |one: &Member| quality(one) >= best && !has_largest(one);
    let paths = all.clone().count() as f64;
    let count = |of: &dyn Fn(&Member) -> bool| all.clone().filter(|one| of(one)).count() as f64;
    let [largest, others] = [count(&has_largest), count(&is_best)];
    let alpha = match (others > 0.0, has_largest(own), is_best(own)) {
        (true, true, _) => -1.0 / (paths * largest),
        (true, false, true) => 1.0 / (paths * others),
        (true, false, false) | (false, ..) => 0.0,
    };
    let sum: f64 = all.map(Member::rate).sum();
    own.rate() / own.rtt / (sum * sum) + alpha / own.window
}

/// The draft's equation, section 3.1: `x_r / rtt_r / (sum x_k)^2 × (1 + alpha) / 2 × (4 + alpha) / 5`.
fn balia<'a>(own: &Member, all: impl Iterator<Item = &'a Member> + Clone) -> f64 {
    let alpha = balia_alpha(own, all.clone());
    let sum: f64 = all.map(Member::rate).sum();
    own.rate() / own.rtt / (sum * sum) * ((1.0 + alpha) / 2.0) * ((4.0 + alpha) / 5.0)
}

/// The rate of the fastest subflow, relative to its own.
fn balia_alpha<'a>(own: &Member, all: impl Iterator<Item = &'a Member>) -> f64 {
    all.map(Member::rate).fold(0.0, f64::max) / own.rate()
}

impl CongestionController for Coupled {
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        self.acked_to = ack.acked_to;
        if ack.may_grow && window.used_by(ack) {
            let mut delivered = ack.delivered_segments;
            if window.in_slow_start() {
                delivered = window.slow_start(delivered);
            }
            self.publish(window.segments, ack.srtt);
            self.credit += f64::from(delivered) * self.increase();
            let whole = self.credit.trunc();
            self.credit -= whole;
            window.segments = window.segments.saturating_add_signed(whole as i32).max(1);
        }
        let current = if ack.may_grow { window.segments } else { window.segments.min(window.ssthresh) };
        self.publish(current, ack.srtt);
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        if self.law != Coupling::Balia {
            return window.segments / 2;
        }
        // The draft's section 3.2: the decrease is half of the window, times the smaller of alpha and 1.5.
        let alpha = self.group.with(|members| {
            members[self.subflow].map_or(1.0, |own| balia_alpha(&own, members.iter().flatten()))
        });
        let decrease = f64::from(window.segments) / 2.0 * alpha.min(1.5);
        (f64::from(window.segments) - decrease) as u32
    }

    fn on_loss(&mut self, window: &mut SegmentWindow, _: &LossEpisode, cause: LossCause) {
        self.on_any_loss();
        match cause {
            LossCause::Congestion => window.reduce_to(self.threshold(window)),
            LossCause::Random => window.keep(),
            LossCause::Unreported => return,
        }
        self.publish_window(window.ssthresh.min(window.segments));
    }

    fn on_timeout(&mut self, window: &mut SegmentWindow, timeout: &TimeoutEpisode) {
        self.on_any_loss();
        if timeout.new_episode {
            window.reduce_to(self.threshold(window));
        }
        window.restart_from(timeout.restart_segments);
        self.publish_window(window.segments);
    }
}

impl OwnController for Coupled {
    fn clone_box(&self) -> Box<dyn OwnController> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(window: f64, rtt: f64, between_losses: f64) -> Member {
        Member { window, rtt, between_losses }
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    }

    /// RFC 6356 §3. One subflow: alpha is 1, so it is Reno. Two equal ones with w = 10: alpha = 20 (10 / rtt²) / (20 / rtt)²
    /// = 1/2, and 0.5 / 20 = 1/40 for each, a quarter of Reno's.
    #[test]
    fn the_increases_are_those_of_the_specifications() {
        let one = [member(10.0, 0.1, 0.0)];
        close(lia(&one[0], one.iter()), 0.1);
        close(olia(&one[0], one.iter()), 0.1);
        close(balia(&one[0], one.iter()), 0.1);
        let two = [member(10.0, 0.1, 500.0); 2];
        close(lia(&two[0], two.iter()), 1.0 / 40.0);
        // OLIA: 10/0.01 / 200² = 1/40. BALIA: the same times 1 × 1.
        close(olia(&two[0], two.iter()), 1.0 / 40.0);
        close(balia(&two[0], two.iter()), 1.0 / 40.0);
    }

    /// w = 20 at 0.2 s and w = 10 at 0.1 s, the second is the best one.
    #[test]
    fn unequal_paths() {
        let two = [member(20.0, 0.2, 100.0), member(10.0, 0.1, 100.0)];
        // LIA: best = max(500, 1000), sum = 200: alpha / total = 1000 / 40000 = 1/40 on both: less than 1/20 and 1/10.
        close(lia(&two[0], two.iter()), 1.0 / 40.0);
        close(lia(&two[1], two.iter()), 1.0 / 40.0);
        // OLIA: 500 / 40000 - 1 / (2 × 20), and 1000 / 40000 + 1 / (2 × 10).
        close(olia(&two[0], two.iter()), 0.0125 - 0.025);
        close(olia(&two[1], two.iter()), 0.025 + 0.05);
        // BALIA: both have 100 segments a second, so that alpha is 1.
        close(balia(&two[0], two.iter()), 0.0125);
        close(balia(&two[1], two.iter()), 0.025);
    }
}
