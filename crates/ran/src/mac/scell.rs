//! The state of a secondary cell (SCell) of a UE with carrier aggregation (TS 36.321 §5.13; TS 38.321 v17 §5.9).
//!
//! All SCells carry downlink, and some also uplink. The primary cell (PCell) has PUCCH: scheduling requests, the reports and
//! the HARQ feedback for all of them. A MAC control element in a block of the PCell activates SCells. The
//! sCellDeactivationTimer of an SCell restarts with each assignment and each grant on it, and deactivates it when it expires.
//!
//! A connected UE has its SCells configured, all of them or those with enough RSRP ([`crate::rrc::coverage`]). They are released with the connection, by a handover and by a failure of the
//! radio link. The message that completes the set-up of a connection, its re-establishment or a handover configures those
//! of the PCell at that time, and they are deactivated then, whatever the policy is. (TS 38.331 v18.0.0 §5.3.5.5.2, read in
//! a quotation: an SCell that the message of a handover does not give another state is considered to be deactivated; TS
//! 38.321 v17 §5.9: so is a new one. TS 36.331 §5.3.5.4, §5.3.7.2 and §5.3.12 for LTE; unverified.)
//!
//! Simplifications: the cell knows when the UE deactivates an SCell, also after an assignment that the UE missed. An SCell
//! that is deactivated is left at once; the UE has 8 ms for it in LTE (TS 36.133 §7.7, read in a quotation), and 3 ms after
//! its feedback in NR (TS 38.133 §8.3.3, quoted in its Annex A). The timer of an SCell starts when the SCell is used, and
//! not already while the UE activates it (TS 36.213 §4.3, read in a quotation: 8 subframes after the command; TS 38.213
//! v15.11.0 §4.3: 3 ms after the feedback).

use std::collections::BTreeMap;
use std::sync::Arc;

use airlane_core::{Bytes, CarrierStep, CellId, Cx, Duration, Event, Instant, Topic, UeId};

use crate::cqi::ReportTimes;
use crate::numerology::Numerology;
use crate::rrc::coverage::{CoverageConfig, CoverageEvents};
use crate::slot::Slot;
use crate::ue::Ue;

/// The secondary cells that a UE has with each primary cell, each once. With a primary cell that is not listed, there are
/// none.
pub type SecondaryCells = BTreeMap<CellId, Vec<CellId>>;

/// The secondary cells of a UE.
#[derive(Clone, Debug, PartialEq)]
pub struct CarrierAggregation {
    /// The cells by primary cell. The first primary cell of the UE has some.
    pub secondary: Arc<SecondaryCells>,
    /// Those of them to which the UE also sends; empty for a UE that sends to its primary cell alone.
    pub uplink: Arc<SecondaryCells>,
    /// When they are active.
    pub activation: ActivationPolicy,
    /// When they are added and released by measurements; `None` to have them while the UE is connected.
    pub events: Option<CoverageConfig>,
}

/// When the SCells of a UE are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivationPolicy {
    /// Whether they are active from the start (sCellState, TS 36.331 and TS 38.331 §6.3.2).
    pub starts_active: bool,
    /// The PCell activates the SCells when the downlink queue of the UE has more bytes than this, and those with an uplink
    /// also when the uplink queue has, as far as the cell knows.
    pub threshold: Bytes,
    /// sCellDeactivationTimer; `None` for infinity.
    pub deactivation_timer: Option<Duration>,
    /// The time that an activation takes.
    pub delay: ActivationDelay,
}

/// How long the UE takes to activate an SCell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivationDelay {
    /// LTE: from the beginning of the subframe with the command until a report of the SCell is in use. TS 36.133 §7.7 (read
    /// in a quotation) allows from 8 to 24 subframes, or 34 for an SCell that the UE has not measured before.
    Lte(Duration),
    /// NR: the feedback for the command, 3 ms (TS 38.213 v17 §4.3), the first burst of synchronization signals of the
    /// SCell, which has this period, 5 ms (TS 38.133 §8.3.2 for a known SCell of FR1, as quoted in its Annex A), and the
    /// first report of the SCell.
    Nr {
        /// Period of the bursts.
        ssb_period: Duration,
    },
}

/// Processing of the activation command after its feedback (TS 38.213 v17 §4.3: 3 N slots, N in a subframe).
const COMMAND: Duration = Duration::from_millis(3);
/// A burst of synchronization signals is in half a frame (TS 38.213 v17 §4.1).
const SSB_BURST: Duration = Duration::from_millis(5);
/// From the burst until the UE can report (TS 38.133 §8.3.2, see [`ActivationDelay::Nr`]).
const AFTER_SSB: Duration = Duration::from_millis(5);

impl ActivationDelay {
    /// When the first report of an SCell is in use, if the command was in the block of this slot of the PCell.
    fn end(self, pcell: &Numerology, block: u64, reports: &ReportTimes) -> Instant {
        match self {
            Self::Lte(delay) => pcell.start_of(block) + delay,
            Self::Nr { ssb_period } => {
                let acknowledged = pcell.start_of(pcell.acknowledged_in(block) + 1);
                let period = ssb_period.as_nanos();
                let burst = (acknowledged + COMMAND).as_nanos().div_ceil(period) * period;
                reports.first_in_use(Instant::from_nanos(burst) + SSB_BURST + AFTER_SSB)
            }
        }
    }
}

/// Where an SCell is between its activation and its deactivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScellState {
    /// The UE is not connected, or is between two primary cells; or the primary cell has no such SCell.
    Unconfigured,
    /// It is not used.
    Deactivated,
    /// The command is on the air.
    Commanded,
    /// The UE has received the command.
    Activating {
        /// When the SCell can be used.
        until: Instant,
    },
    /// It can be scheduled.
    Active {
        /// When the sCellDeactivationTimer expires.
        expires: Instant,
    },
}

/// The data that decides whether SCells are activated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    /// Bytes in the downlink queue of the UE.
    pub(crate) downlink: Bytes,
    /// Bytes that wait at the UE, as its cells know from buffer status reports.
    pub(crate) uplink: Bytes,
}

/// An activation command that the next block of a PCell has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActivationCommand {
    /// Its bytes.
    pub(crate) bytes: Bytes,
    /// Whether a block has it that has no data: the uplink needs it.
    pub(crate) is_sent_alone: bool,
    /// The data for which it is sent.
    waiting: Waiting,
}

impl ActivationCommand {
    /// A command for a UE with this many SCells.
    pub(crate) const fn new(scells: usize, waiting: Waiting, is_sent_alone: bool) -> Self {
        Self { bytes: command_bytes(scells), is_sent_alone, waiting }
    }
}

/// An SCell of a UE.
#[derive(Debug)]
pub(crate) struct Scell {
    pub(crate) state: ScellState,
    /// Whether the UE sends to it while it is active.
    pub(crate) has_uplink: bool,
    policy: ActivationPolicy,
    /// `None` if it is configured while the UE is connected.
    events: Option<Box<CoverageEvents>>,
    /// The slots of the PCell, where feedback is sent.
    pub(crate) pcell: Numerology,
    reports: ReportTimes,
}

impl Scell {
    /// An SCell of a UE whose PCell has this numerology, without an uplink. It is not configured.
    pub(crate) fn new(of: &CarrierAggregation, pcell: Numerology, reports: ReportTimes) -> Self {
        let events = of.events.map(|config| Box::new(CoverageEvents::new(config)));
        let state = ScellState::Unconfigured;
        Self { state, has_uplink: false, policy: of.activation, events, pcell, reports }
    }

    /// The UE is connected from the start.
    pub(crate) fn start(&mut self, now: Instant) {
        self.configure(now);
        if self.policy.starts_active && self.events.is_none() {
            self.begin(now);
        }
    }

    /// It is that of another PCell, or is another cell, for which the UE reports at these times.
    pub(crate) fn reassign(&mut self, pcell: Numerology, reports: ReportTimes) {
        (self.pcell, self.reports) = (pcell, reports);
    }

    /// The UE is connected to its PCell: RRC configures the SCell, or the UE begins to measure it.
    pub(crate) fn configure(&mut self, now: Instant) {
        match &mut self.events {
            Some(events) => events.begin(now),
            None if self.state == ScellState::Unconfigured => self.state = ScellState::Deactivated,
            None => {}
        }
    }

    /// The UE leaves the PCell or its connection.
    pub(crate) fn release(&mut self) {
        self.state = ScellState::Unconfigured;
        if let Some(events) = &mut self.events {
            events.end();
        }
    }

    /// The events that add and release it, if the UE measures it now.
    pub(crate) fn measured(&mut self, now: Instant) -> Option<&mut CoverageEvents> {
        self.events.as_deref_mut().filter(|events| events.measures(now))
    }

    /// Whether it is configured.
    pub(crate) fn is_configured(&self) -> bool {
        self.state != ScellState::Unconfigured
    }

    /// Whether RRC adds or releases it now, because of a measurement.
    pub(crate) fn changes(&mut self, now: Instant) -> bool {
        self.events.as_mut().is_some_and(|events| events.changes(now))
    }

    /// It is not used any more.
    pub(crate) fn deactivate(&mut self) {
        if self.state != ScellState::Unconfigured {
            self.state = ScellState::Deactivated;
        }
    }

    /// Whether it can be scheduled.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        matches!(self.state, ScellState::Active { .. })
    }

    /// Whether the next block of the PCell activates it.
    pub(crate) fn is_wanted(&self, waiting: Waiting) -> bool {
        let is_above = |queue: Bytes| queue > self.policy.threshold;
        let is_needed = is_above(waiting.downlink) || (self.has_uplink && is_above(waiting.uplink));
        self.state == ScellState::Deactivated && is_needed
    }

    /// The UE has received the activation command, in the block of this slot of the PCell.
    pub(crate) fn on_command(&mut self, block: u64) {
        if self.state == ScellState::Commanded {
            let until = self.policy.delay.end(&self.pcell, block, &self.reports);
            self.state = ScellState::Activating { until };
        }
    }

    /// The block with the command was given up.
    pub(crate) fn on_lost_command(&mut self) {
        if self.state == ScellState::Commanded {
            self.state = ScellState::Deactivated;
        }
    }

    /// It is active, and its timer starts now: it was activated, or the UE has received an assignment on it.
    pub(crate) fn begin(&mut self, now: Instant) {
        let expires = self.policy.deactivation_timer.map_or(Instant::FAR_FUTURE, |timer| now + timer);
        self.state = ScellState::Active { expires };
    }

    /// When something is due for it: a change of its state, or a measurement; [`Instant::FAR_FUTURE`] if nothing is.
    pub(crate) fn due(&self) -> Instant {
        self.events.as_ref().map_or(Instant::FAR_FUTURE, |events| events.due()).min(self.state_due())
    }

    fn state_due(&self) -> Instant {
        match self.state {
            ScellState::Unconfigured | ScellState::Deactivated | ScellState::Commanded => Instant::FAR_FUTURE,
            ScellState::Activating { until } => until,
            ScellState::Active { expires } => expires,
        }
    }

    /// The change of its state that is due.
    pub(crate) fn due_step(&self, now: Instant) -> Option<CarrierStep> {
        let step = if self.is_active() { CarrierStep::Deactivated } else { CarrierStep::Activated };
        (self.state_due() <= now).then_some(step)
    }
}

/// SCells of which one octet of the control element has the states.
const OCTET: usize = 7;

/// The bytes of the activation command for this many SCells, with its subheader (TS 36.321 §6.1.3.8, TS 38.321 v17
/// §6.1.3.10).
const fn command_bytes(scells: usize) -> Bytes {
    if scells <= OCTET { Bytes(2) } else { Bytes(5) }
}

/// A block has the activation command of a UE.
#[cold]
pub(crate) fn note_command(cx: &mut Cx<'_>, ue: &mut Ue, command: &ActivationCommand) {
    let (id, active) = (ue.id, ue.links.active_carriers());
    for link in ue.links.secondary_mut() {
        if let Some(scell) = link.scell.as_mut().filter(|scell| scell.is_wanted(command.waiting)) {
            scell.state = ScellState::Commanded;
            report(cx, id, link.cell, CarrierStep::Commanded, active);
        }
    }
}

/// Reports a step of an SCell, and the serving cells that can be scheduled from then on.
pub(crate) fn report(cx: &mut Cx<'_>, ue: UeId, cell: CellId, step: CarrierStep, active: u32) {
    if cx.wants(Topic::Carrier) {
        cx.emit(&Event::Carrier { ue, cell, step, active });
    }
}

/// The block with the activation command of a UE, in this slot of the PCell, was decoded, or was given up.
#[cold]
pub(crate) fn end_command(slot: &mut Slot<'_, '_>, ue: u32, block: u64, decoded: bool) {
    slot.touched.push(ue);
    for scell in slot.ues[ue as usize].links.scells_mut() {
        match decoded {
            true => scell.on_command(block),
            false => scell.on_lost_command(),
        }
    }
}
