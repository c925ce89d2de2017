//! The RRC connection of a UE: how it is set up or resumed, and released (TS 36.331 v17.0 §5.3, TS 38.331 v18.6.0 §5.3).
//!
//! The network releases a UE after a time of inactivity. The UE then sleeps between its paging occasions. Data in either
//! direction begins the set-up of a connection: random access, then messages of RRC in transport blocks.

use airlane_core::{Direction, Duration, Instant, RrcState};

use super::contention::ContentionConfig;
use crate::mac::drx::DrxConfig;

/// How UEs of a cell are connected and released.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionConfig {
    /// The network releases a UE after this time without data in either direction.
    pub inactivity: Duration,
    /// The state of a released UE: [`RrcState::Idle`] or [`RrcState::Inactive`].
    pub released: RrcState,
    /// The cycle T of paging occasions: that of idle UEs, or of the RAN for inactive ones. A whole number of frames.
    pub paging_cycle: Duration,
    /// How long a UE listens in each of its paging occasions.
    pub paging_listen: Duration,
    /// From data for a released UE until its cell has the paging message.
    pub paging_delay: Duration,
    /// The messages that set a connection up, beginning with the request in Msg3.
    pub messages: Vec<RrcMessage>,
    /// Size of the message that releases a UE.
    pub release_bytes: u32,
    /// T300, in NR T300 or T319: how long a UE waits for the answer to its request, random access included.
    pub t300: Duration,
    /// How long a procedure may take from the answer on (T3417 of TS 24.301 and T3517 of TS 24.501).
    pub t3417: Duration,
    /// Random access.
    pub access: ContentionConfig,
}

/// A message of RRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RrcMessage {
    /// From the network or from the UE.
    pub direction: Direction,
    /// Its bytes in a transport block, with all headers.
    pub bytes: u32,
    /// The time that its sender takes for it from the message before on. That of the core network is included.
    pub after: Duration,
}

/// Length of a frame.
const FRAME: Duration = Duration::from_millis(10);
/// Number of UE_IDs: IMSI or 5G-S-TMSI modulo 1024 (TS 38.304 §7.1; TS 36.304 §7.1, unverified).
const UE_IDS: u64 = 1024;
/// The subframe of the paging occasion with one occasion in a paging frame, FDD (TS 36.304 §7.2, unverified).
const PAGING_SUBFRAME: Duration = Duration::from_millis(9);

impl ConnectionConfig {
    /// The first paging occasion of a UE in each cycle, with one paging frame in each frame (nB = T): SFN mod T = UE_ID
    /// mod T (TS 36.304 §7.1, unverified; TS 38.304 v18 §7.1).
    pub(crate) fn paging_offset(&self, identity: u64) -> Duration {
        let frames = (self.paging_cycle.as_nanos() / FRAME.as_nanos()).max(1);
        FRAME * (identity % UE_IDS % frames) + PAGING_SUBFRAME
    }

    /// A released UE listens as one with DRX does whose cycle is that of paging.
    pub(crate) fn paging_drx(&self) -> DrxConfig {
        DrxConfig {
            on_duration: self.paging_listen,
            inactivity: Duration::ZERO,
            long_cycle: self.paging_cycle,
            short: None,
            retransmission: [Duration::ZERO; 2],
            command: false,
        }
    }

    /// The first paging occasion of a UE from a time on.
    pub(crate) fn next_paging(&self, identity: u64, from: Instant) -> Instant {
        next_in_cycle(self.paging_cycle, self.paging_offset(identity), from)
    }
}

/// The first time from one on that is this much after the beginning of a cycle.
pub(crate) fn next_in_cycle(cycle: Duration, offset: Duration, from: Instant) -> Instant {
    let first = Instant::ZERO + Duration::from_nanos(offset.as_nanos() % cycle.as_nanos());
    let waits = from.saturating_since(first).as_nanos().div_ceil(cycle.as_nanos());
    first + cycle * waits
}

/// The state of a UE's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionState {
    /// Idle or inactive.
    Released {
        /// When it is paged, or tries to set up the connection again; [`Instant::FAR_FUTURE`] if nothing waits for it.
        next_at: Instant,
    },
    /// It sends a preamble in an occasion.
    Preamble {
        /// The occasion.
        at: Instant,
    },
    /// The random access response for it is sent at a time.
    Response {
        /// The time.
        at: Instant,
        /// The end of the window for it.
        until: Instant,
    },
    /// Its Msg3 is granted or on the air, or the cell is about to answer.
    Requesting {
        /// When contention resolution fails.
        until: Instant,
        /// When the cell sends its answer; [`Instant::FAR_FUTURE`] before it has the request.
        answer_at: Instant,
    },
    /// The cell has answered.
    Establishing {
        /// The number of the message that is sent next, or on its way.
        message: usize,
        /// When it is sent; [`Instant::FAR_FUTURE`] when it has been.
        at: Instant,
        /// When the procedure fails.
        until: Instant,
    },
    /// Connected.
    Connected,
    /// The cell has released it.
    Releasing {
        /// When the UE leaves the connection; [`Instant::FAR_FUTURE`] before it has the message.
        at: Instant,
    },
}

impl ConnectionState {
    /// The time of the next step; [`Instant::FAR_FUTURE`] if the next step follows from a message or a packet.
    pub(crate) fn due(self) -> Instant {
        match self {
            Self::Released { next_at: at } | Self::Preamble { at } | Self::Response { at, .. } => at,
            Self::Requesting { until, answer_at } => until.min(answer_at),
            Self::Establishing { at, until, .. } => at.min(until),
            Self::Connected => Instant::FAR_FUTURE,
            Self::Releasing { at } => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_a_cycle_is_the_first_that_is_not_before() {
        let (ms, cycle) = (Instant::from_millis, Duration::from_millis(1280));
        let next = |from| next_in_cycle(cycle, Duration::from_millis(39), ms(from));
        assert_eq!([next(0), next(39), next(40), next(1319)], [ms(39), ms(39), ms(1319), ms(1319)]);
    }
}
