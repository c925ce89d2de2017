//! SDAP of NR (TS 37.324 v17.0.0): QoS flows on the bearers of a UE, and its headers.
//!
//! A PDU session has one SDAP entity. It maps a QoS flow, which has an identifier (QFI), to a data radio bearer by a
//! stored rule, or to the default bearer (§5.2.1). RRC gives the rules when the UE connects (§5.3.1). They never change
//! in a run, so that reflective mapping (§5.3.2) has no effect and no end marker is sent; neither is included. The core
//! network marks packets with their QFI by packet filters; here a filter is the ECN field.
//!
//! ```
//! use airlane_core::Direction;
//! use airlane_ran::sdap::{Drb, Qfi, Sdap, SdapHeaders};
//!
//! let mut sdap = Sdap::new(Drb(0));
//! sdap.map(Qfi::new(2).expect("six bits"), Drb(1));
//! assert_eq!(sdap.bearer_of(Qfi::new(2).expect("six bits")), Drb(1));
//! assert_eq!(sdap.bearer_of(Qfi::new(1).expect("six bits")), Drb(0));
//! assert_eq!(SdapHeaders::DEFAULT.size(Direction::Uplink), 1);
//! ```

use airlane_core::{Direction, Ecn};

/// QoS flow identifier: six bits (TS 37.324 v17.0.0 §6.3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Qfi(u8);

/// Number of QoS flow identifiers.
const FLOWS: usize = 64;

impl Qfi {
    /// The QoS flow of all packets that no other filter matches: 5QI 9, with a packet delay budget of 300 ms and
    /// priority level 90 (TS 23.501 Table 5.7.4-1).
    pub const DEFAULT: Self = Self(1);
    /// The QoS flow of packets with ECT(1) or CE: 5QI 80, with a packet delay budget of 10 ms and priority level 68
    /// (TS 23.501 Table 5.7.4-1).
    pub const LOW_LATENCY: Self = Self(2);

    /// The identifier with this value; `None` if it has more than six bits.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if (value as usize) < FLOWS { Some(Self(value)) } else { None }
    }

    /// The QoS flow that the packet filters give to a packet with this ECN field.
    #[inline]
    #[must_use]
    pub const fn of(ecn: Ecn) -> Self {
        match ecn {
            Ecn::Capable1 | Ecn::CongestionExperienced => Self::LOW_LATENCY,
            Ecn::NotCapable | Ecn::Capable0 => Self::DEFAULT,
        }
    }
}

/// A data radio bearer of a UE, by its place in the list of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drb(pub u8);

/// The mapping of an SDAP entity.
#[derive(Clone, Debug)]
pub struct Sdap {
    /// The bearer of each QoS flow; the default one without a stored rule.
    rules: [Drb; FLOWS],
}

impl Sdap {
    /// An entity without rules, whose default bearer this is.
    #[must_use]
    pub const fn new(default: Drb) -> Self {
        Self { rules: [default; FLOWS] }
    }

    /// Stores a rule (TS 37.324 v17.0.0 §5.3.1).
    pub const fn map(&mut self, flow: Qfi, bearer: Drb) {
        self.rules[flow.0 as usize] = bearer;
    }

    /// The bearer of a QoS flow (TS 37.324 v17.0.0 §5.2.1).
    #[inline]
    #[must_use]
    pub const fn bearer_of(&self, flow: Qfi) -> Drb {
        self.rules[flow.0 as usize]
    }
}

/// The directions of a bearer that have SDAP headers (TS 38.331 v18.6.0 §6.3.2, SDAP-Config).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SdapHeaders {
    /// sdap-HeaderDL.
    pub downlink: bool,
    /// sdap-HeaderUL.
    pub uplink: bool,
}

impl SdapHeaders {
    /// A default bearer has a header in the uplink (TS 37.324 v17.0.0 §5.2.1, note 2); the downlink needs one for
    /// reflective mapping only.
    pub const DEFAULT: Self = Self { downlink: false, uplink: true };

    /// Bytes of the header of a data PDU: D/C, a reserved bit and QFI in the uplink (TS 37.324 v17.0.0 §6.2.2.3), RDI,
    /// RQI and QFI in the downlink (§6.2.2.2).
    #[must_use]
    pub const fn size(self, direction: Direction) -> u32 {
        match direction {
            Direction::Downlink => self.downlink as u32,
            Direction::Uplink => self.uplink as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_without_a_rule_use_the_default_bearer() {
        let mut sdap = Sdap::new(Drb(0));
        sdap.map(Qfi::LOW_LATENCY, Drb(1));
        let bearers = [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::CongestionExperienced]
            .map(|ecn| sdap.bearer_of(Qfi::of(ecn)).0);
        assert_eq!(bearers, [0, 0, 1, 1]);
        assert_eq!((Qfi::new(63).map(|qfi| sdap.bearer_of(qfi)), Qfi::new(64)), (Some(Drb(0)), None));
        sdap.map(Qfi::LOW_LATENCY, Drb(0));
        assert_eq!(sdap.bearer_of(Qfi::LOW_LATENCY), Drb(0));
    }

    #[test]
    fn a_header_has_one_byte() {
        let both = SdapHeaders { downlink: true, uplink: true };
        let size =
            |headers: SdapHeaders| [Direction::Downlink, Direction::Uplink].map(|way| headers.size(way));
        assert_eq!((size(both), size(SdapHeaders::DEFAULT)), ([1, 1], [0, 1]));
    }
}
