//! The number of handovers of a run, by result.

use airlane_record::{Column, Table};
use serde::Serialize;

/// The number of handovers of a run, by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HandoverCounts {
    /// The UE arrived at the prepared target.
    pub successful: u64,
    /// Of these, returns to the source of the previous handover within a second.
    pub ping_pongs: u64,
    /// The target had no room.
    pub preparations_failed: u64,
    /// Radio link failures.
    pub radio_link_failures: u64,
    /// Of these, UEs that another cell accepted (TS 36.300 v17.0 §22.4.2.2).
    pub too_late: u64,
    /// Targets that UEs did not reach before T304 expired.
    pub accesses_failed: u64,
    /// Of these, UEs that returned to the source (TS 36.300 v17.0 §22.4.2.2).
    pub too_early: u64,
    /// Of these, UEs that a third cell accepted (the same).
    pub wrong_cell: u64,
    /// UEs that were released, because no cell re-established their connection in time.
    pub releases: u64,
}

impl HandoverCounts {
    /// From the table `handovers`, if it exists.
    #[must_use]
    pub fn of(tables: &[(&str, Table)]) -> Option<Self> {
        let (_, table) = tables.iter().find(|(name, _)| *name == "handovers")?;
        let mut counts = Self::default();
        if let Some(Column::Text(outcomes)) = table.column("outcome") {
            let of = |name: &str| outcomes.iter().filter(|outcome| *outcome == name).count() as u64;
            counts.successful = of("success");
            counts.preparations_failed = of("preparation-failed");
            counts.too_late = of("too-late");
            (counts.too_early, counts.wrong_cell) = (of("too-early"), of("wrong-cell"));
            counts.accesses_failed = of("access-failed") + counts.too_early + counts.wrong_cell;
            counts.radio_link_failures = of("radio-link-failure") + counts.too_late;
        }
        if let Some(Column::Bool(back)) = table.column("ping_pong") {
            counts.ping_pongs = back.iter().filter(|back| **back).count() as u64;
        }
        if let Some(Column::I64(releases)) = table.column("releases") {
            counts.releases = releases.iter().sum::<i64>() as u64;
        }
        Some(counts)
    }
}
