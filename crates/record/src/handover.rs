//! Handovers, one row each, from the measurement report or the radio link failure at their start.

use std::collections::BTreeMap;

use airlane_core::{CellId, Event, HandoverStep, Instant, Topic, TopicSet, UeId};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::{Column, Table};

/// A UE that returns to its previous cell within this time is a ping-pong: the minimum time of stay
/// of TR 36.839 v11.1 §5.4.2.1.
const PING_PONG_S: f64 = 1.0;

/// The data about a handover.
#[derive(Clone, Copy, Debug)]
struct Handover {
    ue: UeId,
    attempt: u32,
    from: CellId,
    to: CellId,
    position_m: [f64; 2],
    reported_at: Option<Instant>,
    decided_at: Option<Instant>,
    refused_at: Option<Instant>,
    started_at: Option<Instant>,
    arrived_at: Option<Instant>,
    path_switched_at: Option<Instant>,
    failed_at: Option<Instant>,
    access_failed: bool,
    /// The cell that accepted the UE after it did not reach its target.
    taken_up_by: Option<CellId>,
    releases: u64,
    forwarded: u64,
    forwarded_bytes: u64,
    dropped: u64,
}

impl Handover {
    const fn new(
        (ue, attempt): (UeId, u32),
        (from, to): (CellId, CellId),
        position_m: [f64; 2],
        reported_at: Option<Instant>,
    ) -> Self {
        Self {
            ue,
            attempt,
            from,
            to,
            position_m,
            reported_at,
            decided_at: None,
            refused_at: None,
            started_at: None,
            arrived_at: None,
            path_switched_at: None,
            failed_at: None,
            access_failed: false,
            taken_up_by: None,
            releases: 0,
            forwarded: 0,
            forwarded_bytes: 0,
            dropped: 0,
        }
    }

    const fn outcome(&self) -> &'static str {
        if self.access_failed {
            return match (self.arrived_at, self.taken_up_by) {
                // TS 36.300 v17.0 §22.4.2.2: back in the source, or in a third cell.
                (Some(_), Some(cell)) if cell.0 == self.from.0 => "too-early",
                (Some(_), Some(cell)) if cell.0 != self.to.0 => "wrong-cell",
                _ => "access-failed",
            };
        }
        match (self.failed_at, self.refused_at, self.arrived_at) {
            // TS 36.300 v17.0 §22.4.2.2: the UE was in the cell for too long, and another cell accepts
            // it.
            (Some(_), _, Some(_)) if self.from.0 != self.to.0 => "too-late",
            (Some(_), _, _) => "radio-link-failure",
            (None, Some(_), _) => "preparation-failed",
            (None, None, Some(_)) => "success",
            // The run ended before the handover did.
            (None, None, None) => "unfinished",
        }
    }

    /// True if it returns the UE to the source of `before`, shortly after.
    fn undoes(&self, before: &Self) -> bool {
        let (Some(arrived), Some(again)) = (before.arrived_at, self.arrived_at) else { return false };
        let reached = !before.access_failed && !self.access_failed;
        reached
            && (before.from, before.to) == (self.to, self.from)
            && again.saturating_since(arrived).as_secs_f64() < PING_PONG_S
    }
}

/// All handovers of a run, in the order of their first step.
#[derive(Debug, Default)]
pub(crate) struct HandoverLog(Vec<Handover>);

impl HandoverLog {
    #[cold]
    pub(crate) fn add(&mut self, now: Instant, ue: UeId, attempt: u32, step: HandoverStep) {
        let own = self.0.iter_mut().rev().find(|one| one.ue == ue && one.attempt == attempt);
        let own = match (step, own) {
            (HandoverStep::Reported { from, to, position_m }, _) => {
                return self.0.push(Handover::new((ue, attempt), (from, to), position_m, Some(now)));
            }
            (HandoverStep::LinkFailed { from, position_m }, None) => {
                // The destination of the UE is known once a cell accepts it.
                let one = Handover::new((ue, attempt), (from, from), position_m, None);
                return self.0.push(Handover { failed_at: Some(now), ..one });
            }
            (_, Some(own)) => own,
            (_, None) => return,
        };
        match step {
            HandoverStep::Reported { .. } => unreachable!("dealt with above"),
            HandoverStep::Decided => own.decided_at = Some(now),
            HandoverStep::PreparationFailed => own.refused_at = Some(now),
            HandoverStep::Started => own.started_at = Some(now),
            HandoverStep::Arrived => own.arrived_at = Some(now),
            HandoverStep::PathSwitched => own.path_switched_at = Some(now),
            HandoverStep::LinkFailed { .. } => (own.failed_at, own.to) = (Some(now), own.from),
            HandoverStep::AccessFailed => (own.failed_at, own.access_failed) = (Some(now), true),
            HandoverStep::Reestablished { to } if own.access_failed => own.taken_up_by = Some(to),
            HandoverStep::Reestablished { to } => own.to = to,
            HandoverStep::Released => own.releases += 1,
            HandoverStep::Forwarded { packets, bytes, dropped } => {
                (own.forwarded, own.forwarded_bytes, own.dropped) = (packets, bytes.get(), dropped);
            }
        }
    }

    /// For each handover, whether it undoes the previous one of the same UE.
    fn ping_pong(&self) -> Vec<bool> {
        let mut latest = BTreeMap::<UeId, &Handover>::new();
        let mut undoes = Vec::with_capacity(self.0.len());
        for one in &self.0 {
            undoes.push(latest.get(&one.ue).is_some_and(|before| one.undoes(before)));
            if one.arrived_at.is_some() {
                latest.insert(one.ue, one);
            }
        }
        undoes
    }

    pub(crate) fn into_table(self, ue_names: &[String], cell_names: &[&str]) -> Table {
        let mut table = Table::default();
        let rows = || self.0.iter();
        let at = |at: Option<Instant>| at.map_or(f64::NAN, |at| at.as_secs_f64());
        table.push_text("ue", rows().map(|one| ue_names[one.ue.index()].as_str())).means("UE");
        table.push_text("from", rows().map(|one| cell_names[one.from.index()])).means("serving cell");
        table
            .push_text("to", rows().map(|one| cell_names[one.to.index()]))
            .means("cell that it was sent to, or that re-established it");
        table
            .push_f64("report_s", rows().map(|one| at(one.reported_at)))
            .means("arrival of the measurement report");
        table
            .push_f64("decision_s", rows().map(|one| at(one.decided_at)))
            .means("request of the source to the target");
        table
            .push_f64("start_s", rows().map(|one| at(one.started_at)))
            .means("command received: the UE leaves");
        table.push_f64("end_s", rows().map(|one| at(one.arrived_at))).means("arrival in its cell");
        table
            .push_f64("path_switch_s", rows().map(|one| at(one.path_switched_at)))
            .means("switch of the path by the gateway");
        table
            .push_f64("failure_s", rows().map(|one| at(one.failed_at)))
            .means("failure of the radio link, or of the access");
        table
            .push_count("releases", rows().map(|one| one.releases))
            .means("times that no cell re-established it in time");
        table
            .push_f64("x_m", rows().map(|one| one.position_m[0]))
            .means("position to the east at the first step");
        table
            .push_f64("y_m", rows().map(|one| one.position_m[1]))
            .means("position to the north at the first step");
        table
            .push_count("forwarded_packets", rows().map(|one| one.forwarded))
            .means("packets forwarded over X2");
        table
            .push_count("forwarded_bytes", rows().map(|one| one.forwarded_bytes))
            .means("bytes forwarded over X2");
        table
            .push_count("discarded_sdus", rows().map(|one| one.dropped))
            .means("SDUs discarded by the source");
        table.push_text("outcome", rows().map(Handover::outcome)).means("outcome");
        table
            .push("ping_pong", Column::Bool(self.ping_pong()))
            .means("whether it reversed the previous one within a second");
        table
    }
}

impl Log for HandoverLog {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        parameters.handovers.then(Self::default)
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Handover)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        if let Event::Handover { ue, attempt, step } = *event {
            self.add(now, ue, attempt, step);
        }
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        vec![("handovers", self.into_table(&run.parameters.hosts, &run.cell_names()))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_core::Bytes;

    #[test]
    fn a_handover_back_within_a_second_is_a_ping_pong() {
        let mut log = HandoverLog::default();
        let (ue, cell, ms) = (UeId(1), CellId, Instant::from_millis);
        let mut hand_over = |attempt, at: u64, from, to| {
            let position_m = [at as f64, 0.0];
            log.add(
                ms(at),
                ue,
                attempt,
                HandoverStep::Reported { from: cell(from), to: cell(to), position_m },
            );
            log.add(ms(at + 10), ue, attempt, HandoverStep::Decided);
            log.add(ms(at + 30), ue, attempt, HandoverStep::Started);
            log.add(ms(at + 60), ue, attempt, HandoverStep::Arrived);
            log.add(ms(at + 70), ue, attempt, HandoverStep::PathSwitched);
        };
        hand_over(1, 1_000, 0, 1);
        hand_over(2, 1_900, 1, 0); // back after 0.9 s
        hand_over(4, 9_000, 0, 1);
        hand_over(5, 9_500, 1, 2); // a further one, not back
        hand_over(6, 10_800, 2, 1); // back, but later
        log.add(
            ms(20_000),
            UeId(0),
            1,
            HandoverStep::Reported { from: cell(0), to: cell(1), position_m: [0.0; 2] },
        );
        log.add(ms(20_000), UeId(0), 1, HandoverStep::PreparationFailed);
        let forwarded = HandoverStep::Forwarded { packets: 3, bytes: Bytes(4500), dropped: 1 };
        log.add(ms(20_001), ue, 6, forwarded);
        assert_eq!(log.ping_pong(), [false, true, false, false, false, false]);
        let names = ["a".to_owned(), "b".to_owned()];
        let table = log.into_table(&names, &["x", "y", "z"]);
        let text = |name: &str| match table.column(name) {
            Some(Column::Text(values)) => values.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(text("outcome")[4..], ["success", "preparation-failed"]);
        assert_eq!(text("ue")[4..], ["b", "a"]);
        assert_eq!(text("to"), ["y", "x", "y", "z", "y", "y"]);
        assert_eq!(table.column("forwarded_bytes"), Some(&Column::I64(vec![0, 0, 0, 0, 4500, 0])));
    }
}
