//! The states of C4, and the growth of the rate that decides between them.

use super::signals::scaled;
use super::{C4, CRUISE, INITIAL, LEVEL_DEFAULT, MAX_RTT_MIN_US, PROBE, PROBE_MARKED, PUSH, RECOVER, State};

/// Addition to cruising where the round trip is below C4_MAX_RTT_MIN (`c4_enter_cruise`).
const CRUISE_SHORT: u64 = 48;
/// C4_NB_CRUISE_BEFORE_PUSH.
const CRUISE_ERAS: u32 = 2;
/// Eras without growth that end Initial (`c4_initial_handle_ack`).
const FLAT_ERAS: u32 = 3;
/// C4_PROBE_LEVEL_MAX: above it, Initial begins again.
const LEVEL_MAX: u32 = 3;
/// The maximum round trip in microseconds above which, and the rate in bytes per second below which, Initial begins
/// again, once (`c4_handle_ack`).
const STEP_RTT_US: u64 = 50_000;
const STEP_RATE: u64 = 1_000_000;

/// How much the rate has grown with the factor that was tried (`c4_growth_evaluate`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RateGrowth {
    None,
    Slow,
    Fast,
}

impl C4 {
    /// Whether the rate has grown as it should after the factor that was tried (`c4_growth_evaluate`).
    fn growth(&self) -> RateGrowth {
        let (before, tried) = (self.rate_before, scaled(self.push_alpha, self.rate_before));
        if self.push_alpha <= PROBE {
            return if self.rate > before && !self.notified { RateGrowth::Fast } else { RateGrowth::None };
        }
        if self.rate < (3 * before + tried) / 4 {
            RateGrowth::None
        } else if self.rate > (before + 3 * tried) / 4 {
            RateGrowth::Fast
        } else {
            RateGrowth::Slow
        }
    }

    const fn reset_growth(&mut self) {
        self.notified = false;
        self.was_not_limited = false;
        self.rate_before = self.rate;
        self.push_alpha = self.alpha;
    }

    fn begin_era(&mut self) {
        self.era_delivered = self.delivered;
        self.era_max_rtt = 0;
        self.era_min_rtt = None;
        self.alpha_before = self.alpha;
        self.marks.update();
        self.eras += 1;
    }

    fn enter_initial(&mut self, window: u64) {
        self.state = State::Initial;
        self.initial_window = window;
        self.level = LEVEL_DEFAULT;
        self.alpha = INITIAL;
        self.startup_packets = 0;
        self.begin_era();
        self.flat_eras = 0;
        self.marks.clear();
        self.reset_growth();
    }

    pub(super) fn exit_initial(&mut self) {
        if self.rate == 0 {
            return;
        }
        let half = u128::from(self.initial_window / 2);
        self.set_max_rtt((half * 1_000_000 / u128::from(self.rate)) as u64);
        self.flat_eras = 0;
        self.level = LEVEL_DEFAULT;
        self.enter_recovery(false);
    }

    pub(super) fn enter_recovery(&mut self, marked: bool) {
        if self.state == State::Initial {
            self.reset_growth();
        }
        if self.state != State::Recovery {
            self.marked_after_push = marked;
            self.state = State::Recovery;
            self.begin_era();
            self.alpha = RECOVER;
        }
    }

    /// The end of recovery judges the push or probe before it (`c4_exit_recovery`).
    fn exit_recovery(&mut self, window: u64) {
        if self.growth() != RateGrowth::None {
            self.level += u32::from(!self.marked_after_push);
            self.recent_congestions = 0;
        } else {
            if self.was_not_limited {
                self.level = u32::from(!self.marked_after_push);
            }
            self.recent_congestions = if self.notified { self.recent_congestions + 1 } else { 0 };
            if self.recent_congestions >= 2 && self.recent_rate > 0 {
                self.rate = self.rate.min(self.recent_rate);
            }
        }
        self.recent_rate = 0;
        self.reset_growth();
        self.delay_excess = 0;
        self.losses.clear();
        self.marks.clear();
        if self.level > LEVEL_MAX {
            self.enter_initial(window);
        } else if self.level > LEVEL_DEFAULT {
            self.enter_pushing();
        } else {
            self.enter_cruising();
        }
    }

    fn enter_cruising(&mut self) {
        self.begin_era();
        if self.cruise_left == 0 {
            self.cruise_left = if self.level == 0 { 1 } else { CRUISE_ERAS };
        }
        self.alpha = CRUISE + if self.srtt < MAX_RTT_MIN_US { CRUISE_SHORT } else { 0 };
        self.state = State::Cruising;
    }

    fn enter_probing(&mut self) {
        self.alpha = if self.level == 0 { PROBE_MARKED } else { PROBE };
        self.push_alpha = self.alpha;
        self.begin_era();
        self.state = State::Probing;
    }

    fn enter_pushing(&mut self) {
        self.alpha = PUSH;
        self.state = State::Pushing;
        self.flat_eras = 0;
        self.reset_growth();
        self.begin_era();
    }

    /// An acknowledgment in Initial (`c4_initial_handle_ack`).
    pub(super) fn drive_initial(&mut self, acked: u64, era_over: bool) {
        self.startup_packets += 1;
        self.initial_window += acked >> (3 * self.flat_eras);
        if !era_over {
            return;
        }
        if self.growth() != RateGrowth::None {
            self.flat_eras = 0;
        } else if self.was_not_limited && self.rate > 0 {
            self.flat_eras += 1;
        }
        self.begin_era();
        if self.flat_eras >= FLAT_ERAS {
            self.exit_initial();
        } else {
            self.reset_growth();
        }
    }

    /// An acknowledgment after Initial.
    pub(super) fn drive(&mut self, window: u64, era_over: bool, app_limited: bool) {
        if !era_over {
            if self.state == State::Pushing && self.growth() == RateGrowth::Fast {
                self.reset_growth();
                self.begin_era();
                self.flat_eras = 0;
            }
            return;
        }
        self.end_era_rtt();
        let min_rtt = self.min_rtt.unwrap_or(0);
        let step = self.max_rtt > STEP_RTT_US && self.rate < STEP_RATE && 5 * min_rtt < 2 * self.max_rtt;
        if step && !self.initial_again {
            self.initial_again = true;
            self.enter_initial(window);
            return;
        }
        match self.state {
            State::Initial => {}
            State::Recovery => self.exit_recovery(window),
            State::Cruising => {
                self.cruise_left = self.cruise_left.saturating_sub(1);
                self.begin_era();
                if self.cruise_left == 0 && !app_limited {
                    self.enter_probing();
                }
            }
            State::Probing => self.enter_recovery(false),
            State::Pushing => {
                if self.growth() == RateGrowth::Fast {
                    self.reset_growth();
                    self.begin_era();
                } else {
                    self.enter_recovery(false);
                }
            }
        }
    }
}
