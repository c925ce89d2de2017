//! The window with which each packet was sent.

use std::collections::VecDeque;

/// Changes of the window that are remembered at most (choice: far more than a round trip has).
const CHANGES_MAX: usize = 8192;

/// The changes of the window: the number of the first packet with each, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct SentWindows {
    changes: VecDeque<(u64, u32)>,
}

impl SentWindows {
    /// A packet is sent with this window.
    pub(super) fn on_sent(&mut self, number: u64, window: u32) {
        if self.changes.back().is_none_or(|(_, last)| *last != window) {
            if self.changes.len() == CHANGES_MAX {
                self.changes.pop_front();
            }
            self.changes.push_back((number, window));
        }
    }

    /// The window of a packet; `None` if it is not remembered.
    pub(super) fn window(&self, number: u64) -> Option<u32> {
        let after = self.changes.partition_point(|(first, _)| *first <= number);
        Some(self.changes.get(after.checked_sub(1)?)?.1)
    }

    /// Forgets the changes that no packet from this one on was sent with.
    pub(super) fn forget_before(&mut self, number: u64) {
        while self.changes.get(1).is_some_and(|(first, _)| *first <= number) {
            self.changes.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_has_the_window_of_the_last_change_before_it() {
        let mut sent = SentWindows::default();
        for (number, window) in [(3, 10), (4, 10), (5, 12), (9, 11)] {
            sent.on_sent(number, window);
        }
        let windows = |sent: &SentWindows| [2, 3, 4, 5, 8, 9, 20].map(|number| sent.window(number));
        assert_eq!(windows(&sent), [None, Some(10), Some(10), Some(12), Some(12), Some(11), Some(11)]);
        sent.forget_before(8);
        assert_eq!(windows(&sent), [None, None, None, Some(12), Some(12), Some(11), Some(11)]);
    }
}
