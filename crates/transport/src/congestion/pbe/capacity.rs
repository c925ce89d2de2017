//! The rates of a UE in its cell, from counts of resource blocks.

use std::collections::VecDeque;

use airlane_core::{CellUse, Duration, Instant};

use super::super::RadioInformation;

/// The share of a block that is no payload of the transport: headers and control (page 456 of the paper, as another project
/// quotes it; unverified).
const OVERHEAD: f64 = 0.068;

/// Bytes per second of payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rates {
    /// The UE's blocks and its part of the idle ones.
    pub(super) available: f64,
    /// Its part of the cell.
    pub(super) fair: f64,
}

/// Counts of the last round trip.
#[derive(Clone, Debug, Default)]
pub(super) struct CellCounts {
    /// Oldest first.
    reports: VecDeque<(Instant, CellUse)>,
    /// Bytes of a resource block, as last seen.
    block: Option<f64>,
    rates: Option<Rates>,
}

impl CellCounts {
    /// A report; the rates are those of this span before it, and at least of the time since the report before.
    pub(super) fn add(&mut self, information: &RadioInformation, span: Duration) {
        let Some(new) = information.cell_use else { return };
        let at = information.measured_at;
        let in_order = self.reports.back().is_none_or(|(last, known)| *last < at && is_before(known, &new));
        if !in_order {
            // Another cell, or a report that was overtaken.
            self.reports.clear();
        }
        self.reports.push_back((at, new));
        while self.reports.get(1).is_some_and(|(second, _)| *second + span <= at) && self.reports.len() > 2 {
            self.reports.pop_front();
        }
        if self.reports.len() > 1 {
            let (from, first) = self.reports[0];
            self.update(&first, &new, (at - from).as_secs_f64());
        }
    }

    fn update(&mut self, first: &CellUse, last: &CellUse, seconds: f64) {
        let since = |count: fn(&CellUse) -> u64| (count(last) - count(first)) as f64;
        let own = since(|counts| counts.ue_prbs);
        let repeated = since(|counts| counts.repeated_prbs);
        let offered = since(|counts| counts.offered_prbs);
        let idle = (offered - since(|counts| counts.used_prbs)).max(0.0);
        if own > repeated {
            self.block = Some(since(|counts| counts.ue_bytes) / (own - repeated));
        }
        let Some(block) = self.block else { return };
        let share_repeated = if own > repeated { repeated / own } else { 0.0 };
        let payload = block * (1.0 - share_repeated) * (1.0 - OVERHEAD) / seconds;
        let ues = f64::from(last.active_ues);
        self.rates = Some(Rates { available: payload * (own + idle / ues), fair: payload * offered / ues });
    }

    /// The rates, if the newest report is not older than this.
    pub(super) fn rates(&self, now: Instant, age_max: Duration) -> Option<Rates> {
        let (newest, _) = self.reports.back()?;
        self.rates.filter(|_| now.saturating_since(*newest) <= age_max)
    }
}

/// Whether the first report may be an earlier one of the same link, whose counts began with zero.
fn is_before(earlier: &CellUse, later: &CellUse) -> bool {
    earlier.offered_prbs <= later.offered_prbs
        && earlier.used_prbs <= later.used_prbs
        && earlier.ue_prbs <= later.ue_prbs
        && earlier.repeated_prbs <= later.repeated_prbs
        && earlier.ue_bytes <= later.ue_bytes
}

#[cfg(test)]
mod tests {
    use airlane_core::Bytes;

    use super::*;

    fn report(ms: u64, counts: CellUse) -> RadioInformation {
        RadioInformation {
            measured_at: Instant::from_millis(ms),
            transport_block: Bytes(2292),
            resource_blocks: 25,
            cqi: 15,
            queue: Bytes::ZERO,
            cell_use: Some(counts),
        }
    }

    fn counts(offered: u64, used: u64, own: u64, repeated: u64, bytes: u64, active: u16) -> CellUse {
        CellUse {
            offered_prbs: offered,
            used_prbs: used,
            ue_prbs: own,
            repeated_prbs: repeated,
            ue_bytes: bytes,
            active_ues: active,
        }
    }

    /// In 10 ms 500 blocks, of which 300 are used and 100 are the UE's, 20 of them for retransmissions; 8000 bytes in the
    /// other 80 are 100 each. With two UEs: 100 x (100 + 200 / 2) x 0.8 x 0.932 / 10 ms = 1.4912 MB/s, and the fair share
    /// 100 x 250 x 0.8 x 0.932 / 10 ms = 1.864 MB/s.
    #[test]
    fn the_rate_is_that_of_own_blocks_and_a_part_of_the_idle_ones() {
        let mut cell = CellCounts::default();
        cell.add(&report(100, counts(5000, 3000, 900, 10, 50_000, 1)), Duration::ZERO);
        let now = Instant::from_millis(110);
        assert_eq!(cell.rates(now, Duration::from_millis(100)), None, "one report");
        cell.add(&report(110, counts(5500, 3300, 1000, 30, 58_000, 2)), Duration::ZERO);
        let rates = cell.rates(now, Duration::from_millis(100)).expect("two reports");
        assert!((rates.available - 1.4912e6).abs() < 1.0 && (rates.fair - 1.864e6).abs() < 1.0, "{rates:?}");
        let later = Instant::from_millis(211);
        assert_eq!(cell.rates(later, Duration::from_millis(100)), None, "too old");
        // Nothing was sent: a block has the bytes that it had, and all blocks are idle.
        cell.add(&report(120, counts(6000, 3300, 1000, 30, 58_000, 1)), Duration::ZERO);
        let rates = cell.rates(later, Duration::from_millis(100)).expect("reports");
        assert!((rates.available - 100.0 * 500.0 * 0.932 / 0.01).abs() < 1.0, "{rates:?}");
    }

    /// A span of 20 ms has the reports of 100 to 120 ms, then those of 110 to 130 ms.
    #[test]
    fn rates_are_means_over_the_span() {
        let mut cell = CellCounts::default();
        for (ms, own) in [(100, 0), (110, 100), (120, 300), (130, 600)] {
            let counts = counts(50 * ms, own, own, 0, 100 * own, 1);
            cell.add(&report(ms, counts), Duration::from_millis(20));
        }
        let from: Vec<u64> = cell.reports.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
        assert_eq!(from, [110, 120, 130]);
    }

    /// The counts of a new link begin again.
    #[test]
    fn a_handover_begins_again() {
        let mut cell = CellCounts::default();
        cell.add(&report(100, counts(5000, 3000, 900, 10, 50_000, 1)), Duration::ZERO);
        cell.add(&report(110, counts(5500, 400, 100, 0, 9_000, 1)), Duration::ZERO);
        assert_eq!(cell.reports.len(), 1);
        assert_eq!(cell.rates(Instant::from_millis(110), Duration::from_millis(100)), None);
    }
}
