//! The choice of an algorithm that ends slow start, and its state next to a law.

use airlane_core::{Duration, Instant};

use super::super::{AckSample, SegmentWindow};
use super::{HyStart, HyStartPlusPlus, Search};

/// How a law leaves slow start before a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartAlgorithm {
    /// Not at all (RFC 5681).
    Standard,
    /// HyStart as in Linux.
    HyStart,
    /// HyStart++ (RFC 9406).
    HyStartPlusPlus,
    /// SEARCH (draft-chung-ccwg-search).
    Search,
}

/// The state of an algorithm next to a law. HyStart of CUBIC is part of that law, with which it shares the minimum delay.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "the controller boxes the whole")]
pub(in super::super) enum SlowStartWatch {
    HyStart { state: HyStart, delay_min: Option<Duration> },
    HyStartPlusPlus(HyStartPlusPlus),
    Search(Search),
}

impl SlowStartWatch {
    /// The state at the start of a connection; `None` for the standard slow start, which only a loss ends.
    pub(in super::super) fn new(algorithm: SlowStartAlgorithm, paced: bool) -> Option<Self> {
        match algorithm {
            SlowStartAlgorithm::Standard => None,
            SlowStartAlgorithm::HyStart => {
                Some(Self::HyStart { state: HyStart::new(paced), delay_min: None })
            }
            SlowStartAlgorithm::HyStartPlusPlus => Some(Self::HyStartPlusPlus(HyStartPlusPlus::new(paced))),
            SlowStartAlgorithm::Search => Some(Self::Search(Search::new())),
        }
    }

    /// True in a slow start that the algorithm may end: with HyStart++ and SEARCH only the first (RFC 9406 §4.3).
    pub(in super::super) const fn watches(&self, window: &SegmentWindow) -> bool {
        match self {
            Self::HyStart { .. } => window.in_slow_start(),
            Self::HyStartPlusPlus(_) | Self::Search(_) => window.ssthresh == u32::MAX,
        }
    }

    /// The number of segments by which an acknowledgment of these grows the window.
    pub(in super::super) fn growth(&mut self, delivered: u32) -> u32 {
        match self {
            Self::HyStart { .. } | Self::Search(_) => delivered,
            Self::HyStartPlusPlus(state) => state.growth(delivered),
        }
    }

    /// An acknowledgment that has grown the window. True if slow start ends here.
    pub(in super::super) fn ends(&mut self, window: &SegmentWindow, ack: &AckSample) -> bool {
        match self {
            Self::HyStart { state, delay_min } => {
                let Some(rtt) = ack.rtt else { return false };
                let least = delay_min.map_or(rtt, |min| min.min(rtt));
                *delay_min = Some(least);
                state.ends(window, rtt, least, ack)
            }
            Self::HyStartPlusPlus(state) => state.ends(ack),
            Self::Search(state) => state.ends(ack),
        }
    }

    /// A timeout begins slow start again.
    pub(in super::super) fn on_timeout(&mut self, now: Instant, sent_to: u64) {
        if let Self::HyStart { state, delay_min } = self {
            *delay_min = None;
            state.restart(now, sent_to);
        }
    }
}
