//! SDAP of NR (TS 37.324 v17.0.0): its headers.

use airlane_core::Direction;

/// Which directions of a bearer have SDAP headers (TS 38.331 v18.6.0 §6.3.2, SDAP-Config).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SdapHeaders {
    /// sdap-HeaderDL.
    pub downlink: bool,
    /// sdap-HeaderUL; the default bearer has it.
    pub uplink: bool,
}

impl SdapHeaders {
    /// Bytes of the header of a data PDU (TS 37.324 v17.0.0 §6.2.2): D/C, R and QFI in the uplink, RDI, RQI and QFI in
    /// the downlink.
    #[must_use]
    pub const fn size(self, direction: Direction) -> u32 {
        match direction {
            Direction::Downlink => self.downlink as u32,
            Direction::Uplink => self.uplink as u32,
        }
    }
}
