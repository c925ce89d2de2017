//! How often a UE repeats a scheduling request until it gives up (TS 36.321 v17.0 §5.4.4, TS 38.321 v18.5.0 §5.4.4).
//!
//! Requests reach the eNB, but a cell with many UEs may not have a grant for each in time, and a UE may miss it. Random
//! access follows the last request that may be sent.

/// Limits of scheduling requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimit {
    /// sr-ProhibitTimer: slots from a request until the UE may send the next.
    pub prohibit: u32,
    /// dsr-TransMax, in NR sr-TransMax: the number of requests for one grant.
    pub most: u32,
}

/// The requests that a UE has sent since its latest grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SentRequests {
    /// SR_COUNTER.
    count: u32,
    /// The slot from which on it may send another one.
    next: u64,
    /// It has given up, and waits for random access.
    gave_up: bool,
}

/// The use of an opportunity for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opportunity {
    /// It sends one.
    Sends,
    /// It sends none: the prohibit timer runs, or random access is under way.
    Waits,
    /// It has sent all that it may, and begins random access.
    GivesUp,
}

impl SentRequests {
    /// An opportunity of a UE that waits for a grant.
    pub(crate) fn on_opportunity(&mut self, slot: u64, limit: RequestLimit) -> Opportunity {
        if self.gave_up || slot < self.next {
            return Opportunity::Waits;
        }
        if self.count >= limit.most {
            self.gave_up = true;
            return Opportunity::GivesUp;
        }
        self.count += 1;
        self.next = slot + u64::from(limit.prohibit);
        Opportunity::Sends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opportunities in each tenth slot, and a timer of 15 slots: every second one is used, three times.
    #[test]
    fn a_ue_gives_up_after_its_last_request() {
        let limit = RequestLimit { prohibit: 15, most: 3 };
        let mut requests = SentRequests::default();
        let steps: Vec<_> = (0..9).map(|k| requests.on_opportunity(10 * k, limit)).collect();
        let (sends, waits) = (Opportunity::Sends, Opportunity::Waits);
        let expected = [sends, waits, sends, waits, sends, waits, Opportunity::GivesUp, waits, waits];
        assert_eq!(steps, expected);
    }
}
