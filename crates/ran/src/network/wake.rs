//! When the network looks at UEs that sleep.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use airlane_core::{Cx, Instant, UeId};

use super::RadioNetwork;

/// When UEs that sleep will listen, or do something else at a known time. The alarm of a UE is the latest that was set.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    queue: BinaryHeap<Reverse<(Instant, UeId)>>,
}

impl Alarms {
    /// The time of the first alarm. It may have been replaced by another one.
    #[inline]
    pub(super) fn due(&self) -> Instant {
        self.queue.peek().map_or(Instant::FAR_FUTURE, |Reverse((at, _))| *at)
    }

    /// Removes an alarm of this time.
    pub(super) fn pop(&mut self, now: Instant) -> Option<UeId> {
        if self.due() > now {
            return None;
        }
        self.queue.pop().map(|Reverse((_, ue))| ue)
    }

    /// Sets the alarm of a UE, unless an earlier one is set.
    pub(super) fn set(&mut self, at: Instant, ue: UeId, alarm: &mut Instant) {
        if at < *alarm {
            *alarm = at;
            self.queue.push(Reverse((at, ue)));
        }
    }
}

impl RadioNetwork {
    /// The alarms of this time ring.
    pub(super) fn ring(&mut self, cx: &mut Cx<'_>) {
        while let Some(ue) = self.alarms.pop(cx.now) {
            let alarm = &mut self.ues[ue.index()].alarm;
            if *alarm == cx.now {
                *alarm = Instant::FAR_FUTURE;
                self.touched.push(ue.0);
            }
        }
        self.skip_idle_slots(cx.now);
        self.wake_touched(cx);
    }
}
