//! The updates of proportional integral controllers, once per period: [`pie`](crate::pie) and
//! [`dualpi2`](crate::dualpi2).

use airlane_core::{Duration, Instant};

/// A controller that computes its probability once per period.
pub(crate) trait Periodic {
    /// Ends a period at whose end the queue's delay is `delay`.
    fn end_period(&mut self, delay: Duration);

    /// True if the next update changes nothing as long as the queue is empty.
    fn is_at_rest(&self) -> bool;
}

/// The times of the updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Updates {
    period: Duration,
    next: Instant,
}

impl Updates {
    /// The first update is due after one period.
    pub(crate) fn every(period: Duration) -> Self {
        Self { period, next: Instant::ZERO + period }
    }

    /// Whether an update was due up to now.
    #[inline]
    pub(crate) fn are_due(&self, now: Instant) -> bool {
        self.next <= now
    }

    /// Computes the updates that were due up to now. `oldest` is when the oldest packet entered the queue, which has not
    /// changed since the last call.
    #[inline]
    pub(crate) fn catch_up(&mut self, now: Instant, oldest: Option<Instant>, controller: &mut impl Periodic) {
        while self.next <= now {
            match oldest {
                Some(since) => controller.end_period(self.next - since),
                None if controller.is_at_rest() => {
                    let missed = (now - self.next).as_nanos() / self.period.as_nanos();
                    self.next += self.period * missed;
                }
                None => controller.end_period(Duration::ZERO),
            }
            self.next += self.period;
        }
    }
}
