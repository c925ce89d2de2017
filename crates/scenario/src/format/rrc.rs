//! The RRC connection of the UEs of a cell: release, paging, random access, set-up.

use std::sync::Arc;

use airlane_core::{Direction, Duration, RrcState};
use airlane_ran::rrc::connection::{ConnectionConfig, RrcMessage};
use airlane_ran::rrc::contention::{ContentionConfig, Detection, MessageA};
use airlane_settings::{Checked, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tagged;
use crate::check::whole_subframes;
use crate::quantity::Time;

/// When UEs of a cell have an RRC connection (TS 36.331 §5.3, TS 38.331 §5.3).
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Rrc {
    /// Always, from the start of the run on. Resolved scenarios leave it out.
    #[default]
    AlwaysConnected,
    /// While they have data, and for some time afterwards. A run begins without connections.
    OnDemand(RrcOnDemand),
}
tagged!(Rrc by "kind" { "always-connected" => AlwaysConnected, "on-demand" => OnDemand(RrcOnDemand) });

/// Connections on demand. A UE that is not connected listens in its paging occasions. Packets from and for it wait until
/// it has been paged, if they are for it, has obtained access and has exchanged the messages that set up its connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RrcOnDemand {
    /// The network releases a UE after this time without a packet in either direction.
    pub inactivity_timer: Time,
    /// The state of a released UE.
    pub release_to: ReleaseTo,
    /// Paging cycle: a UE has one paging occasion in each.
    pub paging_cycle: Time,
    /// How long a UE listens in a paging occasion, synchronization included.
    pub paging_listen: Time,
    /// From a packet for a released UE until its cell has the paging message: through the core network for an idle UE.
    pub paging_delay: Time,
    /// From a message of RRC that a cell receives to its answer, without the core network.
    pub cell_processing: Time,
    /// The core network's part in setting up the connection of an idle UE: from RRCSetupComplete (in LTE
    /// RRCConnectionSetupComplete) at the cell until it has the context of the UE.
    pub core_delay: Time,
    /// From the setup or resume message at the UE until it is ready to answer (TS 36.331 §11.2, TS 38.331 clause 12).
    pub setup_processing: Time,
    /// From the security command and the reconfiguration, which are sent together to an idle UE, until the UE is ready to
    /// answer.
    pub reconfiguration_processing: Time,
    /// T300, in NR also T319: how long a UE waits for the answer to its request, random access included.
    pub t300: Time,
    /// T3417 (TS 24.301), in 5G T3517 (TS 24.501): how long the procedure may take after the answer.
    pub t3417: Time,
    /// Contention-based random access.
    pub random_access: ContentionAccess,
}

/// The state of a released UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReleaseTo {
    /// `RRC_IDLE`: the core network sets its connection up again.
    Idle,
    /// `RRC_INACTIVE`, NR only: the cell keeps its context and resumes the connection.
    Inactive,
}

/// Contention-based random access in four steps (TS 36.321 §5.1, TS 38.321 §5.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContentionAccess {
    /// Time from a PRACH occasion to the next.
    pub prach_period: Time,
    /// Number of preambles for contention-based access.
    #[schemars(range(min = 1, max = 64))]
    pub preambles: u32,
    /// From the beginning of an occasion to the earliest random access response.
    pub response_delay: Time,
    /// ra-ResponseWindow: how long a UE waits for a response from then on.
    pub response_window: Time,
    /// Number of UEs that a cell answers in a millisecond.
    pub responses: u32,
    /// From a response to the Msg3 that it grants, at least.
    pub msg3_delay: Time,
    /// ra-ContentionResolutionTimer, in LTE mac-ContentionResolutionTimer.
    pub contention_resolution: Time,
    /// Largest back-off before another preamble; each back-off is drawn from 0 to it.
    pub backoff: Time,
    /// preambleTransMax: number of preambles of a UE before it gives up until `t300`.
    #[schemars(range(min = 1, max = 200))]
    pub max_preambles: u32,
    /// How a cell detects a preamble that no other UE sends.
    #[serde(default, skip_serializing_if = "PreambleDetection::is_by_power")]
    pub detection: PreambleDetection,
    /// Two-step random access, in NR, with which a UE begins. By default, random access has four steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub two_step: Option<TwoStepAccess>,
}

/// How a cell detects a preamble that no other UE sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PreambleDetection {
    /// If its power at the cell suffices.
    #[default]
    Power,
    /// Of those, the i-th preamble of a UE with probability 1 - exp(-i), as in the study of random access by 3GPP (TR
    /// 37.868).
    Ramping,
}

impl PreambleDetection {
    const fn is_by_power(&self) -> bool {
        matches!(self, Self::Power)
    }
}

/// Two-step random access (TS 38.321 §5.1.4a): a UE sends MsgA, a preamble and a block with its request, which the cell
/// answers at once. A block that is not decoded is repeated as Msg3.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TwoStepAccess {
    /// Number of preambles for MsgA, in addition to `preambles`. Each has resource blocks of its own after each PRACH occasion.
    #[schemars(range(min = 1, max = 63))]
    pub preambles: u32,
    /// From the beginning of a PRACH occasion to the block, at least.
    pub pusch_delay: Time,
    /// msgB-ResponseWindow: how long a UE waits for MsgB from the block on, at most 40 ms. Above `cell_processing` of `rrc`.
    pub response_window: Time,
    /// msgA-TransMax: number of MsgA of a UE before it continues with four steps. At most `max_preambles` of `random_access`.
    #[schemars(range(min = 1, max = 200))]
    pub max_preambles: u32,
}

/// Preambles of an occasion of the PRACH (TS 36.211 §5.7.2, TS 38.211 §6.3.3.1).
const PREAMBLES: u32 = 64;
/// The maximum of msgB-ResponseWindow (TS 38.331 §6.3.2, unverified; OpenAirInterface and srsRAN check it).
const MSG_B_WINDOW_MAX: Time = Time(Duration::from_millis(40));

/// Bytes of the headers of a message on SRB1 in LTE: PDCP with MAC-I, RLC AM, MAC (TS 36.323 §6.2.2, TS 36.322 §6.2.1.4, TS
/// 36.321 §6.1.2); NR has one more.
const HEADERS: u32 = 9;
/// Bytes of the messages, without headers; those without a source are choices.
mod bytes {
    /// RRCConnectionRequest (6 B), RRCSetupRequest and RRCResumeRequest (48 bits, TS 38.331 §6.2.2), with a MAC subheader.
    pub(super) const REQUEST: u32 = 7;
    /// RRCConnectionSetup, RRCSetup, RRCResume, with the contention resolution identity (TS 36.321 §6.1.3.4).
    pub(super) const SETUP: u32 = 25 + 7;
    /// RRCConnectionSetupComplete with a service request, as srsRAN's logs show it.
    pub(super) const SETUP_COMPLETE: u32 = 24;
    /// SecurityModeCommand (3 B) and RRCConnectionReconfiguration (129 B), as logs of a commercial eNB show them.
    pub(super) const RECONFIGURATION: u32 = 3 + 129;
    /// The answers to both.
    pub(super) const RECONFIGURATION_COMPLETE: u32 = 2 + 2;
    /// RRCResumeComplete.
    pub(super) const RESUME_COMPLETE: u32 = 4;
    /// RRCConnectionRelease, RRCRelease.
    pub(super) const RELEASE: u32 = 3;
}

impl Rrc {
    /// True if UEs are always connected.
    #[must_use]
    pub const fn is_always_connected(&self) -> bool {
        matches!(self, Self::AlwaysConnected)
    }

    /// True if the cell releases UEs to idle.
    #[must_use]
    pub const fn releases_to_idle(&self) -> bool {
        matches!(self, Self::OnDemand(RrcOnDemand { release_to: ReleaseTo::Idle, .. }))
    }

    pub(super) fn config(&self) -> Option<Arc<ConnectionConfig>> {
        match self {
            Self::AlwaysConnected => None,
            Self::OnDemand(on_demand) => Some(Arc::new(on_demand.config())),
        }
    }

    pub(crate) fn check(&self, is_nr: bool, at: &Place<'_>) -> Checked {
        match self {
            Self::AlwaysConnected => Ok(()),
            Self::OnDemand(on_demand) => on_demand.check(is_nr, at),
        }
    }
}

impl RrcOnDemand {
    fn config(&self) -> ConnectionConfig {
        ConnectionConfig {
            inactivity: self.inactivity_timer.0,
            released: match self.release_to {
                ReleaseTo::Idle => RrcState::Idle,
                ReleaseTo::Inactive => RrcState::Inactive,
            },
            paging_cycle: self.paging_cycle.0,
            paging_listen: self.paging_listen.0,
            paging_delay: self.paging_delay.0,
            messages: self.messages(),
            release_bytes: bytes::RELEASE + HEADERS,
            t300: self.t300.0,
            t3417: self.t3417.0,
            access: self.random_access.config(),
        }
    }

    /// The messages that set a connection up.
    fn messages(&self) -> Vec<RrcMessage> {
        let message = |direction, bytes, after| RrcMessage { direction, bytes, after };
        let up = |bytes: u32, after: Time| message(Direction::Uplink, bytes + HEADERS, after.0);
        let down = |bytes: u32, after: Duration| message(Direction::Downlink, bytes + HEADERS, after);
        let mut messages = vec![
            message(Direction::Uplink, bytes::REQUEST, Duration::ZERO),
            message(Direction::Downlink, bytes::SETUP, self.cell_processing.0),
        ];
        match self.release_to {
            ReleaseTo::Inactive => messages.push(up(bytes::RESUME_COMPLETE, self.setup_processing)),
            ReleaseTo::Idle => messages.extend([
                up(bytes::SETUP_COMPLETE, self.setup_processing),
                down(bytes::RECONFIGURATION, self.core_delay.0 + self.cell_processing.0),
                up(bytes::RECONFIGURATION_COMPLETE, self.reconfiguration_processing),
            ]),
        }
        messages
    }

    fn check(&self, is_nr: bool, at: &Place<'_>) -> Checked {
        let known = is_nr || self.release_to == ReleaseTo::Idle;
        at.require(known, "release_to", "LTE has no inactive state", "write \"idle\"")?;
        at.positive(self.inactivity_timer, "inactivity_timer")?;
        let frames = [320, 640, 1280, 2560];
        let known = frames.map(Duration::from_millis).contains(&self.paging_cycle.0);
        let help =
            "it must be 320 ms, 640 ms, 1.28 s or 2.56 s (TS 36.331 section 6.3.2, TS 38.331 section 6.3.2)";
        at.require(known, "paging_cycle", "not a paging cycle", help)?;
        whole_subframes(at, self.paging_listen, "paging_listen", 1)?;
        let sleeps = self.paging_listen < self.paging_cycle;
        at.require(sleeps, "paging_listen", "the UE would never sleep", "it must be below `paging_cycle`")?;
        at.positive(self.t300, "t300")?;
        at.positive(self.t3417, "t3417")?;
        self.random_access.check(is_nr, &at.under("random_access"))?;
        let Some(two_step) = &self.random_access.two_step else { return Ok(()) };
        let help = "it must be above `cell_processing`, after which the cell answers the request in MsgB";
        let in_time = two_step.response_window > self.cell_processing;
        at.under("random_access").under("two_step").require(
            in_time,
            "response_window",
            "over before the answer",
            help,
        )
    }
}

impl ContentionAccess {
    fn config(&self) -> ContentionConfig {
        ContentionConfig {
            period: self.prach_period.0,
            preambles: self.preambles,
            response_after: self.response_delay.0,
            window: self.response_window.0,
            responses: self.responses,
            msg3_after: self.msg3_delay.0,
            resolution: self.contention_resolution.0,
            backoff: self.backoff.0,
            most_preambles: self.max_preambles,
            detection: match self.detection {
                PreambleDetection::Power => Detection::Certain,
                PreambleDetection::Ramping => Detection::Ramping,
            },
            message_a: self.two_step.map(|two_step| MessageA {
                preambles: two_step.preambles,
                pusch_after: two_step.pusch_delay.0,
                window: two_step.response_window.0,
                most: two_step.max_preambles,
            }),
        }
    }

    fn check(&self, is_nr: bool, at: &Place<'_>) -> Checked {
        whole_subframes(at, self.prach_period, "prach_period", 1)?;
        let preambles = (1..=PREAMBLES).contains(&self.preambles);
        at.require(
            preambles,
            "preambles",
            "out of range",
            "it must be from 1 to 64 (TS 36.211 section 5.7.2)",
        )?;
        let most = (1..=200).contains(&self.max_preambles);
        at.require(
            most,
            "max_preambles",
            "out of range",
            "it must be from 1 to 200 (TS 38.331 section 6.3.2)",
        )?;
        at.require(self.responses > 0, "responses", "no UE would be answered", "it must be 1 or more")?;
        at.positive(self.response_delay, "response_delay")?;
        at.positive(self.response_window, "response_window")?;
        at.positive(self.msg3_delay, "msg3_delay")?;
        at.positive(self.contention_resolution, "contention_resolution")?;
        let Some(two_step) = &self.two_step else { return Ok(()) };
        at.require(is_nr, "two_step", "LTE has no two-step random access", "leave it out")?;
        let help = format!("it must be from 1 to {}, or leave out `two_step`", PREAMBLES - 1);
        let are_left = self.preambles < PREAMBLES;
        at.require(are_left, "preambles", "no preamble is left for `two_step`", &help)?;
        two_step.check(self, &at.under("two_step"))
    }
}

impl TwoStepAccess {
    fn check(&self, access: &ContentionAccess, at: &Place<'_>) -> Checked {
        let left = PREAMBLES - access.preambles;
        let known = (1..=left).contains(&self.preambles);
        let help = format!(
            "it must be from 1 to {left}: an occasion has {PREAMBLES} preambles, {} of them for four steps",
            access.preambles
        );
        at.require(known, "preambles", "out of range", &help)?;
        let most = (1..=access.max_preambles).contains(&self.max_preambles);
        let help = format!(
            "it must be from 1 to {}, random_access.max_preambles, which counts MsgA as well (TS 38.321 section 5.1.4a)",
            access.max_preambles
        );
        at.require(most, "max_preambles", "out of range", &help)?;
        whole_subframes(at, self.pusch_delay, "pusch_delay", 1)?;
        at.positive(self.response_window, "response_window")?;
        let help = format!("it must be at most {MSG_B_WINDOW_MAX} (TS 38.331 section 6.3.2)");
        let known = self.response_window <= MSG_B_WINDOW_MAX;
        at.require(known, "response_window", "longer than msgB-ResponseWindow", &help)
    }
}
