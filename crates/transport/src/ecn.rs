//! ECN in the handshake: the feedback that the two ends agree on (RFC 3168 §6.1.1; RFC 9768 §3.1, read as
//! draft-ietf-tcpm-accurate-ecn-34, of which the RFC is the publication).
//!
//! The client requests a kind of feedback with three flags of its SYN, and the server agrees with three flags
//! of its SYN-ACK. A server that does not know accurate ECN reads a request for it as one for classic ECN, and
//! one without ECN answers with no flag.

use airlane_core::{Ecn, TcpFlags};

/// How congestion marks are reported to the sender of the marked packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EcnFeedback {
    /// No ECN: packets are not ECN-capable.
    #[default]
    None,
    /// By a flag until the sender confirms it: at most once per round trip (RFC 3168).
    Classic,
    /// By counters of packets and bytes (RFC 9768).
    Accurate,
}

/// The ECN of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnConfig {
    /// The feedback that it requests when it opens a connection.
    pub requests: EcnFeedback,
    /// The best feedback to which it agrees when it is asked.
    pub accepts: EcnFeedback,
    /// With accurate feedback: whether this end sends AccECN options besides the ACE field.
    pub options: bool,
    /// With accurate feedback: whether an invalid change of the ECN field in the handshake ends the sending of
    /// ECN-capable packets (§3.2.2.3; Linux `tcp_ecn_fallback`).
    pub fallback: bool,
}

impl EcnConfig {
    /// This end requests no ECN and agrees to classic ECN, as Linux by default (tcp_ecn 2).
    pub const PASSIVE: Self =
        Self { requests: EcnFeedback::None, accepts: EcnFeedback::Classic, options: true, fallback: true };
    /// Classic ECN (tcp_ecn 1).
    pub const CLASSIC: Self = Self { requests: EcnFeedback::Classic, ..Self::PASSIVE };
    /// Accurate ECN (tcp_ecn 3).
    pub const ACCURATE: Self =
        Self { requests: EcnFeedback::Accurate, accepts: EcnFeedback::Accurate, ..Self::PASSIVE };
    /// No ECN (tcp_ecn 0).
    pub const OFF: Self = Self { accepts: EcnFeedback::None, ..Self::PASSIVE };

    /// The meaning of a value of Linux's `net.ipv4.tcp_ecn`.
    #[must_use]
    pub const fn from_sysctl(value: u32) -> Option<Self> {
        Some(match value {
            0 => Self::OFF,
            1 => Self::CLASSIC,
            2 => Self::PASSIVE,
            3 => Self::ACCURATE,
            4 => Self { requests: EcnFeedback::Classic, ..Self::ACCURATE },
            5 => Self { requests: EcnFeedback::None, ..Self::ACCURATE },
            _ => return None,
        })
    }

    /// The flags of a SYN. After the first retransmission, a request for accurate ECN is withdrawn: a middlebox
    /// may drop it (§3.1.4.1).
    pub(crate) const fn syn_flags(self, retransmissions: u32) -> u16 {
        match self.requests {
            EcnFeedback::None => 0,
            EcnFeedback::Classic => TcpFlags::ECE | TcpFlags::CWR,
            EcnFeedback::Accurate if retransmissions > 1 => 0,
            EcnFeedback::Accurate => TcpFlags::ACE,
        }
    }

    /// The feedback of a connection for which a SYN with these flags asks.
    pub(crate) fn answers(self, flags: TcpFlags) -> EcnFeedback {
        let asked = match flags.ace() {
            0 => EcnFeedback::None,
            0b011 => EcnFeedback::Classic,
            // §3.1.3: each other combination asks for accurate ECN. Classic ECN needs both of its flags.
            0b111 => EcnFeedback::Accurate,
            _ if self.accepts == EcnFeedback::Accurate => EcnFeedback::Accurate,
            _ => EcnFeedback::None,
        };
        asked.min(self.accepts)
    }

    /// The feedback to which a SYN-ACK with these flags agrees (table 2), after a request of ours.
    pub(crate) const fn agreed(self, flags: TcpFlags) -> EcnFeedback {
        match (self.requests, flags.ace()) {
            (EcnFeedback::Accurate, 0 | 0b111) | (EcnFeedback::None, _) => EcnFeedback::None,
            (EcnFeedback::Accurate, 0b001) => EcnFeedback::Classic,
            (EcnFeedback::Accurate, _) => EcnFeedback::Accurate,
            (EcnFeedback::Classic, _) => {
                let agrees = flags.has(TcpFlags::ECE) && !flags.has(TcpFlags::CWR);
                if agrees { EcnFeedback::Classic } else { EcnFeedback::None }
            }
        }
    }
}

/// The handshake encoding of an ECN field (tables 2 and 3).
pub(crate) const fn handshake_ace(ecn: Ecn) -> u32 {
    match ecn {
        Ecn::NotCapable => 0b010,
        Ecn::Capable1 => 0b011,
        Ecn::Capable0 => 0b100,
        Ecn::CongestionExperienced => 0b110,
    }
}

#[cfg(test)]
mod tests {
    use super::EcnFeedback::{Accurate, Classic, None};
    use super::*;

    /// Table 2 of RFC 9768, for each server and each client.
    #[test]
    fn the_two_ends_agree_on_what_both_know() {
        let kinds = [EcnConfig::OFF, EcnConfig::PASSIVE, EcnConfig::CLASSIC, EcnConfig::ACCURATE];
        for client in kinds {
            for server in kinds {
                let mode = server.answers(TcpFlags(client.syn_flags(0)));
                assert_eq!(mode, client.requests.min(server.accepts), "{client:?} {server:?}");
                let answer = match mode {
                    None => 0,
                    Classic => TcpFlags::ECE,
                    Accurate => TcpFlags::of_ace(handshake_ace(Ecn::NotCapable)),
                };
                assert_eq!(client.agreed(TcpFlags(answer)), mode, "{client:?} {server:?}");
            }
        }
    }

    /// §3.1.2, §3.1.3: a broken server reflects the flags of the SYN; unused values mean accurate ECN.
    #[test]
    fn other_values_of_the_flags_have_a_meaning() {
        let answers = [0, 1, 2, 3, 4, 5, 6, 7].map(|ace| TcpFlags(TcpFlags::of_ace(ace)));
        let agreed = [None, Classic, Accurate, Accurate, Accurate, Accurate, Accurate, None];
        assert_eq!(answers.map(|flags| EcnConfig::ACCURATE.agreed(flags)), agreed);
        let asked = [None, Accurate, Accurate, Classic, Accurate, Accurate, Accurate, Accurate];
        assert_eq!(answers.map(|flags| EcnConfig::ACCURATE.answers(flags)), asked);
        // Only both flags ask an end that knows classic ECN (RFC 3168 §6.1.1).
        let asked = [None, None, None, Classic, None, None, None, Classic];
        assert_eq!(answers.map(|flags| EcnConfig::PASSIVE.answers(flags)), asked);
    }

    #[test]
    fn a_request_is_withdrawn_after_two_syns() {
        let flags = [0, 1, 2, 3].map(|again| EcnConfig::ACCURATE.syn_flags(again));
        assert_eq!(flags, [TcpFlags::ACE, TcpFlags::ACE, 0, 0]);
    }
}
