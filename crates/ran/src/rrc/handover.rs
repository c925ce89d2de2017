//! The handover of a UE over X2, from its measurement report to the release of its old context
//! (TS 36.300 v17.0 §10.1.2.1, TS 36.331 v17.0 §5.3.5.4, TS 36.423 v17.0 §8.2).
//!
//! This is pure logic: the caller supplies time and reports, and executes each `Action`.
//!
//! ```text
//! UE                  source               target               gateway
//!  | MeasurementReport  |                    |                    |
//!  |------------------->| HANDOVER REQUEST   |                    |
//!  |                    |------------------->| admission          |
//!  | RRCConnection-     |<-------------------| ... ACKNOWLEDGE    |
//!  |   Reconfiguration  |                    |                    |
//!  |<-------------------| SN STATUS TRANSFER |                    |
//!  | leaves             |------------------->|                    |
//!  | random access      |== forwarded SDUs =>|                    |
//!  |---------------------------------------->| PATH SWITCH REQUEST|
//!  |                    |                    |------------------->|
//!  |                    |<========== end marker ==================|
//!  |                    |== end marker =====>|<-------------------|
//!  |                    | UE CONTEXT RELEASE | ... ACKNOWLEDGE    |
//!  |                    |<-------------------|                    |
//! ```
//!
//! RRC messages take constant times and are never lost; the wait for an occasion of the PRACH is drawn
//! ([`Occasions`]) or a part of a constant; X2AP messages have the delay of X2. A
//! target does not start another handover of a UE before the path switch of its arrival has been
//! acknowledged: reports wait until then. A report that arrives while another one is being handled
//! is dropped.
//!
//! If the radio link of a UE fails before the UE has received its command, the procedure ends
//! (`Handovers::lose`). A cell that re-establishes the connection fetches the UE's context over X2. A UE
//! that does not reach its target in time returns to the source (`Handovers::fail_access`): the source
//! keeps the forwarded data until UE CONTEXT RELEASE. Only the target, which still waits for the UE, can
//! accept it without fetching a context.
//!
//! Not included: handover through the MME (S1), and contention in random access (the target assigns a
//! dedicated preamble).

use std::collections::BTreeMap;

use airlane_core::{CellId, Duration, HandoverStep, Instant, Seeds, Stream, UeId};

use super::radio_link::RadioLinkConfig;
use super::random_access::{self, Occasions};
use super::x2ap::{Message, MessageKind};
use crate::bearer::HandoverMode;
use crate::x2::X2Config;

/// The configuration of handovers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandoverConfig {
    /// The treatment of the bearer.
    pub mode: HandoverMode,
    /// The link between any two eNBs.
    pub x2: X2Config,
    /// Time from a measurement report until the source has it.
    pub report: Duration,
    /// Time from the arrival of a HANDOVER REQUEST until the target answers it.
    pub preparation: Duration,
    /// Time from the target's acknowledgment until the UE has the command.
    pub command: Duration,
    /// Time from the command until random access to the target is complete, if the first attempt
    /// succeeds; with occasions of the PRACH, until the UE is ready for it.
    pub interruption: Duration,
    /// Occasions of the PRACH; `None` if random access is a part of the interruption.
    pub occasions: Option<Occasions>,
    /// Radio link monitoring; `None` if links never fail.
    pub radio_link: Option<RadioLinkConfig>,
}

/// How long an eNB waits for a message or an end marker that S1's queue may have dropped. A real eNB
/// uses SCTP and receives several end markers (TS 29.281 v17.4 §7.3.2).
const S1_PATIENCE: Duration = Duration::from_secs(1);

/// The state of a UE's handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No handover.
    Connected,
    /// A report is under way or being handled.
    Preparing,
    /// The UE is between two cells, or has lost its radio link.
    Away,
}

#[derive(Clone, Debug)]
struct UeState {
    phase: Phase,
    /// The number of the handover in `phase`.
    attempt: u32,
    /// The target that has admitted the UE, while `phase` is [`Phase::Preparing`].
    prepared: Option<CellId>,
    /// The handover whose path switch is not acknowledged, and its source.
    switching: Option<(u32, CellId)>,
    /// A report that waits for the path switch.
    waiting: Option<Task>,
    /// A handover whose target the UE has not reached, but which still waits for the UE.
    failed: Option<Handover>,
    /// The cells with a context of it.
    contexts: Vec<CellId>,
}

impl UeState {
    /// Without a handover, and without a context.
    const fn new() -> Self {
        Self {
            phase: Phase::Connected,
            attempt: 0,
            prepared: None,
            switching: None,
            waiting: None,
            failed: None,
            contexts: Vec::new(),
        }
    }
}

/// A scheduled action.
#[derive(Clone, Copy, Debug)]
enum Task {
    /// A measurement report has reached the source.
    Report(Handover),
    /// The target has handled a HANDOVER REQUEST.
    Admit(Handover),
    /// The UE has received its command.
    Leave(Handover),
    /// The UE attempts random access.
    Access(Handover),
    /// Random access is complete.
    Arrive(Handover),
    /// The source receives the request for the context of a UE that has lost its radio link.
    Fetch(Handover),
    /// The waiting time for the acknowledgment of a path switch is over.
    Repeat(Handover),
    /// The waiting time for the end marker of the source's path is over.
    EndPath(Handover),
}

/// The cell that a UE leaves, and the one that it enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellChange {
    pub(crate) source: CellId,
    pub(crate) target: CellId,
}

/// A handover of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handover {
    pub(crate) ue: UeId,
    pub(crate) attempt: u32,
    pub(crate) source: CellId,
    pub(crate) target: CellId,
}

/// An entry of the agenda.
#[derive(Clone, Debug)]
enum Item {
    Task(Task),
    /// A message of X2AP arrives.
    X2(Vec<u8>),
}

impl Item {
    /// The handover that it concerns.
    fn handover(&self) -> Handover {
        match self {
            Self::Task(
                Task::Report(of)
                | Task::Admit(of)
                | Task::Leave(of)
                | Task::Access(of)
                | Task::Arrive(of)
                | Task::Fetch(of)
                | Task::Repeat(of)
                | Task::EndPath(of),
            ) => *of,
            Self::X2(message) => {
                let Message { ue, attempt, source, target, .. } =
                    Message::decode(message).expect("as it was encoded");
                Handover { ue, attempt, source, target }
            }
        }
    }
}

/// An action for the caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
    /// An event for observers.
    Observe { ue: UeId, attempt: u32, step: HandoverStep },
    /// The UE leaves its cell.
    Leave { ue: UeId, attempt: u32 },
    /// The UE attempts random access to its target: the caller reports the result to
    /// [`Handovers::access`].
    Access(Handover),
    /// The UE has arrived at this cell, which requests the path from the gateway.
    Arrive {
        ue: UeId,
        target: CellId,
        /// False if the request is repeated.
        first: bool,
    },
    /// No more packets arrive over this cell's path, whether or not its end marker has arrived.
    EndPath { ue: UeId, cell: CellId },
}

/// The result of a request to accept a UE whose handover has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TakenUp {
    /// There was no failed handover.
    NotFailed,
    /// The UE has arrived at the target after all.
    ByTarget,
    /// The handover is over: the UE belongs to the source.
    Cancelled,
}

/// The handovers of all UEs.
#[derive(Debug)]
pub(crate) struct Handovers {
    config: HandoverConfig,
    /// By time, then in the order of insertion.
    agenda: BTreeMap<(Instant, u64), Item>,
    entries: u64,
    ues: Vec<UeState>,
    /// Number of UE contexts of each cell, and their maximum.
    contexts: Vec<(u32, u32)>,
    /// Cells whose radio is off.
    silent: Vec<bool>,
    /// Draws of the wait for an occasion of the PRACH, by UE.
    waits: Vec<Stream>,
    seeds: Seeds,
}

impl Handovers {
    /// For UEs in these cells, each with its maximum number of UEs.
    pub(crate) fn new(
        config: HandoverConfig,
        serving: impl Iterator<Item = CellId>,
        limits: impl Iterator<Item = Option<u32>>,
        seeds: Seeds,
    ) -> Self {
        let contexts: Vec<_> = limits.map(|limit| (0, limit.unwrap_or(u32::MAX))).collect();
        let silent = vec![false; contexts.len()];
        let (agenda, ues, waits) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut handovers = Self { config, agenda, entries: 0, ues, contexts, silent, waits, seeds };
        serving.for_each(|cell| handovers.add_ue(cell));
        handovers
    }

    /// Adds a UE that this cell serves.
    pub(crate) fn add_ue(&mut self, cell: CellId) {
        let ue = UeId(self.ues.len() as u32);
        self.ues.push(UeState::new());
        self.waits.push(self.seeds.stream(&format!("ue/{}/prach", ue.0)));
        self.create_context(ue, cell);
    }

    /// A UE was removed: all cells delete its context, and nothing that concerned it is left to do.
    pub(crate) fn remove_ue(&mut self, ue: UeId) {
        for cell in core::mem::replace(&mut self.ues[ue.index()], UeState::new()).contexts {
            self.contexts[cell.index()].0 -= 1;
        }
        self.agenda.retain(|_, item| item.handover().ue != ue);
    }

    fn create_context(&mut self, ue: UeId, cell: CellId) {
        self.contexts[cell.index()].0 += 1;
        self.ues[ue.index()].contexts.push(cell);
    }

    fn delete_context(&mut self, ue: UeId, cell: CellId) {
        self.contexts[cell.index()].0 -= 1;
        let contexts = &mut self.ues[ue.index()].contexts;
        let place = contexts.iter().position(|other| *other == cell);
        contexts.swap_remove(place.expect("the cell has a context of the UE"));
    }

    /// When the next entry is due.
    pub(crate) fn due(&self) -> Instant {
        self.agenda.first_key_value().map_or(Instant::FAR_FUTURE, |((at, _), _)| *at)
    }

    fn at(&mut self, at: Instant, item: Item) {
        self.agenda.insert((at, self.entries), item);
        self.entries += 1;
    }

    fn send(&mut self, now: Instant, kind: MessageKind, handover: Handover) {
        let Handover { ue, attempt, source, target } = handover;
        let message = Message { kind, ue, attempt, source, target }.encode();
        self.at(now + self.config.x2.delay, Item::X2(message));
    }

    /// A UE reports a cell. Returns the number of the handover that this may start, if no other one
    /// is in progress.
    pub(crate) fn report(&mut self, now: Instant, ue: UeId, cells: CellChange) -> Option<u32> {
        self.begin(now + self.config.report, ue, cells)
    }

    /// The source starts a handover without a report, as for load balancing. Returns the number of the
    /// handover, if no other one is in progress.
    pub(crate) fn shed(&mut self, now: Instant, ue: UeId, cells: CellChange) -> Option<u32> {
        self.begin(now, ue, cells)
    }

    /// Starts a handover at this time.
    fn begin(&mut self, at: Instant, ue: UeId, CellChange { source, target }: CellChange) -> Option<u32> {
        if !self.is_free(ue) {
            return None;
        }
        let state = &mut self.ues[ue.index()];
        state.attempt += 1;
        state.phase = Phase::Preparing;
        let attempt = state.attempt;
        self.at(at, Item::Task(Task::Report(Handover { ue, attempt, source, target })));
        Some(attempt)
    }

    /// True if a UE is in its cell without a handover in progress.
    pub(crate) fn is_free(&self, ue: UeId) -> bool {
        let state = &self.ues[ue.index()];
        state.phase == Phase::Connected && state.waiting.is_none()
    }

    /// Switches the radio of a cell off or on: without it the cell admits no UE.
    pub(crate) fn switch(&mut self, cell: CellId, on: bool) {
        self.silent[cell.index()] = !on;
    }

    /// The radio of a UE's cell is off, so that no command reaches the UE: the handover in preparation is
    /// cancelled (TS 36.423 v17.0 §8.2.3).
    pub(crate) fn cut_off(&mut self, ue: UeId, out: &mut Vec<Action>) {
        let UeState { phase, attempt, .. } = self.ues[ue.index()];
        if phase == Phase::Preparing {
            self.cancel(ue);
            self.ues[ue.index()].phase = Phase::Connected;
            out.push(Action::Observe { ue, attempt, step: HandoverStep::PreparationFailed });
        }
    }

    /// A UE has lost its radio link: the handover in preparation is cancelled (HANDOVER CANCEL, TS
    /// 36.423 v17.0 §8.2.3), of which the target is informed at once. Returns the number of that
    /// handover, or a new number.
    pub(crate) fn lose(&mut self, ue: UeId) -> u32 {
        let state = &mut self.ues[ue.index()];
        debug_assert!(state.phase != Phase::Away, "a UE without a cell has no radio link");
        if state.phase == Phase::Connected {
            state.attempt += 1;
        }
        state.phase = Phase::Away;
        self.cancel(ue);
        self.ues[ue.index()].attempt
    }

    /// Ends the handover in preparation.
    fn cancel(&mut self, ue: UeId) {
        let state = &mut self.ues[ue.index()];
        let attempt = state.attempt;
        state.waiting = None;
        if let Some(target) = state.prepared.take() {
            self.delete_context(ue, target);
        }
        self.agenda.retain(|_, item| {
            let of = item.handover();
            let prepares = match item {
                Item::Task(task) => matches!(task, Task::Report(_) | Task::Admit(_) | Task::Leave(_)),
                Item::X2(_) => true,
            };
            !prepares || (of.ue, of.attempt) != (ue, attempt)
        });
    }

    /// The number of a UE's latest handover, or of its latest radio link failure.
    pub(crate) fn attempt(&self, ue: UeId) -> u32 {
        self.ues[ue.index()].attempt
    }

    /// False until the path of a UE's latest arrival has been switched.
    pub(crate) fn is_settled(&self, ue: UeId) -> bool {
        self.ues[ue.index()].switching.is_none()
    }

    /// An attempt at random access has succeeded, or the next one follows.
    pub(crate) fn access(&mut self, now: Instant, handover: Handover, succeeds: bool) {
        match succeeds {
            true => self.at(now, Item::Task(Task::Arrive(handover))),
            false => {
                let wait = self.config.occasions.map_or(random_access::PERIOD, |one| one.next());
                self.at(now + wait, Item::Task(Task::Access(handover)));
            }
        }
    }

    /// T304 has expired: there is no further attempt at random access. Returns the number of the
    /// handover, and its source.
    pub(crate) fn fail_access(&mut self, ue: UeId) -> (u32, CellId) {
        let of = |item: &Item| match item {
            Item::Task(Task::Access(handover)) if handover.ue == ue => Some(*handover),
            Item::Task(_) | Item::X2(_) => None,
        };
        let (&at, item) = self.agenda.iter().find(|(_, item)| of(item).is_some()).expect("it was trying");
        let handover = of(item).expect("just found");
        self.agenda.remove(&at);
        self.ues[ue.index()].failed = Some(handover);
        (handover.attempt, handover.source)
    }

    /// The cell requests a UE that has not reached its target. If the cell is the target, the UE arrives
    /// there. If not, the handover is cancelled (TS 36.423 v17.0 §8.2.3), of which the target is informed
    /// at once.
    pub(crate) fn take_up_failed(&mut self, now: Instant, ue: UeId, cell: CellId) -> TakenUp {
        match self.ues[ue.index()].failed.take() {
            None => TakenUp::NotFailed,
            Some(handover) if handover.target == cell => {
                self.at(now, Item::Task(Task::Arrive(handover)));
                TakenUp::ByTarget
            }
            Some(handover) => {
                self.delete_context(ue, handover.target);
                TakenUp::Cancelled
            }
        }
    }

    /// A UE that has lost its radio link continues in the cell that served it.
    pub(crate) fn resume(&mut self, ue: UeId) {
        self.ues[ue.index()].phase = Phase::Connected;
    }

    /// A UE that has lost its radio link requests re-establishment in another cell. Returns true if
    /// the cell has room for it and fetches its context (TS 36.423 v17.0 §8.3.13).
    pub(crate) fn fetch(
        &mut self,
        now: Instant,
        ue: UeId,
        CellChange { source, target }: CellChange,
    ) -> bool {
        let (present, most) = self.contexts[target.index()];
        let admitted = present < most;
        if admitted {
            self.create_context(ue, target);
            let attempt = self.ues[ue.index()].attempt;
            let handover = Handover { ue, attempt, source, target };
            self.at(now + self.config.x2.delay, Item::Task(Task::Fetch(handover)));
        }
        admitted
    }

    /// The gateway has switched a UE's path.
    pub(crate) fn path_switched(&mut self, now: Instant, ue: UeId, cell: CellId, out: &mut Vec<Action>) {
        let state = &mut self.ues[ue.index()];
        let Some((attempt, source)) = state.switching.take() else { return };
        let waiting = state.waiting.take();
        out.push(Action::Observe { ue, attempt, step: HandoverStep::PathSwitched });
        let handover = Handover { ue, attempt, source, target: cell };
        self.send(now, MessageKind::UeContextRelease, handover);
        self.at(now + S1_PATIENCE, Item::Task(Task::EndPath(handover)));
        if let Some(task) = waiting {
            self.at(now, Item::Task(task));
        }
    }

    /// Executes one entry that is due at `now` or before, if there is any.
    pub(crate) fn step(&mut self, now: Instant, out: &mut Vec<Action>) -> bool {
        if self.due() > now {
            return false;
        }
        let (_, item) = self.agenda.pop_first().expect("just seen");
        match item {
            Item::Task(Task::Report(handover)) => self.decide(now, handover, out),
            Item::Task(Task::Admit(handover)) => self.admit(now, handover),
            Item::Task(Task::Leave(handover)) => self.leave(now, handover, out),
            Item::Task(Task::Access(handover)) => out.push(Action::Access(handover)),
            Item::Task(Task::Arrive(handover)) => self.arrive(now, handover, out),
            Item::Task(Task::Fetch(handover)) => {
                out.push(Action::Leave { ue: handover.ue, attempt: handover.attempt });
                self.at(now + self.config.x2.delay, Item::Task(Task::Arrive(handover)));
            }
            Item::Task(Task::Repeat(handover)) => self.request_path(now, handover, false, out),
            Item::Task(Task::EndPath(Handover { ue, source, .. })) => {
                out.push(Action::EndPath { ue, cell: source });
            }
            Item::X2(message) => {
                let message = Message::decode(&message).expect("as it was encoded");
                self.receive(now, message, out);
            }
        }
        true
    }

    /// The source has a report and sends a request to the target.
    fn decide(&mut self, now: Instant, handover: Handover, out: &mut Vec<Action>) {
        let state = &mut self.ues[handover.ue.index()];
        if state.switching.is_some() {
            state.waiting = Some(Task::Report(handover));
            return;
        }
        out.push(handover.observed(HandoverStep::Decided));
        self.send(now, MessageKind::HandoverRequest, handover);
    }

    /// A message of X2AP arrives at its receiver.
    fn receive(&mut self, now: Instant, message: Message, out: &mut Vec<Action>) {
        let Message { kind, ue, attempt, source, target } = message;
        let handover = Handover { ue, attempt, source, target };
        match kind {
            MessageKind::HandoverRequest => {
                self.at(now + self.config.preparation, Item::Task(Task::Admit(handover)));
            }
            MessageKind::HandoverRequestAcknowledge => {
                self.at(now + self.config.command, Item::Task(Task::Leave(handover)));
            }
            MessageKind::HandoverPreparationFailure => {
                self.ues[ue.index()].phase = Phase::Connected;
                out.push(handover.observed(HandoverStep::PreparationFailed));
            }
            MessageKind::UeContextRelease => self.delete_context(ue, source),
        }
    }

    /// Admission control at the target (TS 36.300 v17.0 §16.1.2).
    fn admit(&mut self, now: Instant, handover: Handover) {
        let (present, most) = self.contexts[handover.target.index()];
        if present >= most || self.silent[handover.target.index()] {
            return self.send(now, MessageKind::HandoverPreparationFailure, handover);
        }
        self.create_context(handover.ue, handover.target);
        self.ues[handover.ue.index()].prepared = Some(handover.target);
        self.send(now, MessageKind::HandoverRequestAcknowledge, handover);
    }

    fn leave(&mut self, now: Instant, handover: Handover, out: &mut Vec<Action>) {
        let Handover { ue, attempt, .. } = handover;
        let state = &mut self.ues[ue.index()];
        (state.phase, state.prepared) = (Phase::Away, None);
        out.push(handover.observed(HandoverStep::Started));
        out.push(Action::Leave { ue, attempt });
        let wait = match &self.config.occasions {
            Some(occasions) => occasions.first(&mut self.waits[ue.index()]),
            None => Duration::ZERO,
        };
        self.at(now + self.config.interruption + wait, Item::Task(Task::Access(handover)));
    }

    fn arrive(&mut self, now: Instant, handover: Handover, out: &mut Vec<Action>) {
        let Handover { ue, attempt, source, .. } = handover;
        let state = &mut self.ues[ue.index()];
        state.phase = Phase::Connected;
        state.switching = Some((attempt, source));
        out.push(handover.observed(HandoverStep::Arrived));
        self.request_path(now, handover, true, out);
    }

    /// The target requests the path from the gateway, if it has no answer yet.
    fn request_path(&mut self, now: Instant, handover: Handover, first: bool, out: &mut Vec<Action>) {
        let Handover { ue, attempt, target, .. } = handover;
        if self.ues[ue.index()].switching.is_some_and(|(switching, _)| switching == attempt) {
            out.push(Action::Arrive { ue, target, first });
            self.at(now + S1_PATIENCE, Item::Task(Task::Repeat(handover)));
        }
    }
}

impl Handover {
    fn observed(self, step: HandoverStep) -> Action {
        Action::Observe { ue: self.ue, attempt: self.attempt, step }
    }
}

#[cfg(test)]
mod tests;
