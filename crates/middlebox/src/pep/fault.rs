//! Faults of a PEP, for experiments and tests.

use airlane_core::{Instant, SackBlock, Stream};
use airlane_net::pep::{Body, List, Message, TcpReport};

/// A fault of the PEP, or of the path from it to the server.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The PEP stops observing, and restarts later without state.
    Dies {
        /// The time.
        at: Instant,
        /// The time of the restart; [`Instant::FAR_FUTURE`] for never.
        until: Instant,
    },
    /// The PEP sends false reports.
    Lies {
        /// The start.
        from: Instant,
        /// The false claim.
        claim: Claim,
    },
    /// A share of its messages is lost.
    Loses(f64),
    /// A share of its messages leaves after the next one.
    Reorders(f64),
    /// A share of its messages leaves twice.
    Duplicates(f64),
    /// An attacker sends the same number of messages, without the key.
    Forges,
    /// An attacker sends an old message again with each new one.
    Replays,
    /// A share of its messages is truncated.
    Truncates(f64),
}

/// The claim of a faulty PEP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The PEP has seen everything up to the highest byte that it has seen.
    Everything,
    /// The PEP has seen a megabyte more than it has.
    Unsent,
    /// The last segment that the PEP saw is missing.
    Holes,
}

impl Claim {
    /// The report with the false claim.
    fn falsify(self, report: &TcpReport) -> TcpReport {
        let newest = report.newest.right;
        let mut lie = TcpReport { newest: report.newest, first: report.first, ..TcpReport::default() };
        match self {
            Self::Everything => lie.cumulative = newest,
            Self::Unsent => lie.cumulative = newest.wrapping_add(1 << 20),
            Self::Holes => {
                lie.cumulative = report.newest.left;
                let fits = lie.holes.push(SackBlock { left: report.newest.left, right: newest });
                assert!(fits, "an empty list has room");
            }
        }
        lie
    }
}

impl Claim {
    /// A PEP does not know the identifiers of packets it has not seen: it can invent some, or omit some.
    fn falsify_identifiers(self, identifiers: &mut List<u64>) {
        let mut lie = List::default();
        match self {
            Self::Everything => return,
            Self::Unsent => {
                identifiers.as_slice().iter().for_each(|id| assert!(lie.push(!id), "as many as before"))
            }
            Self::Holes => {}
        }
        *identifiers = lie;
    }
}

/// The state of a fault.
#[derive(Debug)]
pub(crate) struct Faulty {
    fault: Fault,
    chance: Stream,
    /// The message that waits for the next one, or the old one to be repeated.
    kept: Vec<u8>,
}

impl Faulty {
    pub(crate) const fn new(fault: Fault, chance: Stream) -> Self {
        Self { fault, chance, kept: Vec::new() }
    }

    /// True while the PEP is down.
    pub(crate) fn is_dead(&self, now: Instant) -> bool {
        matches!(self.fault, Fault::Dies { at, until } if at <= now && now < until)
    }

    /// How often it has lost its state.
    pub(crate) fn restarts(&self, now: Instant) -> u32 {
        u32::from(matches!(self.fault, Fault::Dies { until, .. } if until <= now))
    }

    /// Puts the false claim into a message, if the fault is of this kind.
    pub(crate) fn falsify(&self, now: Instant, message: &mut Message) {
        if let Fault::Lies { from, claim } = self.fault
            && from <= now
        {
            match &mut message.body {
                Body::Tcp(report) => *report = claim.falsify(report),
                Body::Opaque(identifiers) => claim.falsify_identifiers(identifiers),
            }
        }
    }

    /// The messages that leave instead of this message, in order.
    pub(crate) fn leave(&mut self, message: Vec<u8>) -> [Option<Vec<u8>>; 2] {
        match &self.fault {
            Fault::Dies { .. } | Fault::Lies { .. } => [Some(message), None],
            Fault::Loses(share) => [(!self.chance.chance(*share)).then_some(message), None],
            Fault::Reorders(share) => {
                if !self.kept.is_empty() {
                    return [Some(message), Some(core::mem::take(&mut self.kept))];
                }
                if self.chance.chance(*share) {
                    self.kept = message;
                    return [None, None];
                }
                [Some(message), None]
            }
            Fault::Duplicates(share) => {
                let again = self.chance.chance(*share).then(|| message.clone());
                [Some(message), again]
            }
            Fault::Forges => {
                let mut forged = message.clone();
                *forged.last_mut().expect("a message has a tag") ^= 1;
                [Some(forged), Some(message)]
            }
            Fault::Replays => {
                if self.kept.is_empty() {
                    self.kept.clone_from(&message);
                }
                [Some(message), Some(self.kept.clone())]
            }
            Fault::Truncates(share) => {
                let mut short = message;
                if self.chance.chance(*share) {
                    short.truncate(short.len() / 2);
                }
                [Some(short), None]
            }
        }
    }
}
