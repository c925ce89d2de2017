//! How the eNB learns of the data of a UE without a grant.

use airlane_core::Bytes;

use super::super::requests::RequestLimit;
use crate::config::{CellConfig, UplinkAccess};
use crate::link::UplinkState;

/// A scheduling request or a buffer status that will reach the eNB.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) slot: u64,
    pub(super) ue: u32,
    pub(super) bytes: u64,
}

/// The limit of scheduling requests in a cell, if there is one.
pub(super) const fn limit_of(cell: &CellConfig) -> Option<RequestLimit> {
    match cell.mac.uplink.access {
        UplinkAccess::SchedulingRequest { limit, .. } => limit,
        _ => None,
    }
}

/// Whether UEs ask for grants in PUCCH, and not out of band.
pub(super) const fn needs_pucch(cell: &CellConfig) -> bool {
    matches!(cell.mac.uplink.access, UplinkAccess::SchedulingRequest { .. })
}

/// The request of a UE with this backlog, if it can send one in this slot. `is_sending` if it has blocks on the air or for
/// retransmission, in any cell.
pub(super) fn request_of(
    cell: &CellConfig,
    slot: u64,
    ue: u32,
    uplink: &mut UplinkState,
    is_sending: bool,
    backlog: impl FnOnce() -> Bytes,
) -> Option<Request> {
    let mac = &cell.mac;
    let reaches =
        |after: u32, bytes: Bytes| Request { slot: slot + u64::from(after), ue, bytes: bytes.get() };
    match mac.uplink.access {
        UplinkAccess::SchedulingRequest { period, processing, initial_grant, .. } => {
            // The opportunities of the UEs of a cell differ. A block that is still on the air already carries a buffer
            // status.
            let offset = u64::from(ue % period);
            (!is_sending && cell.numerology.duplex.takes_place(slot, period, offset))
                .then(|| reaches(processing, initial_grant))
        }
        UplinkAccess::Polled { interval, initial_grant, .. } => {
            // A request that is due now is granted in the next slot.
            let pusch = slot + 1 + u64::from(mac.grant_to_pusch);
            (!is_sending && uplink.polls.is_due(pusch, interval)).then(|| reaches(1, initial_grant))
        }
        UplinkAccess::ConfiguredGrant { .. } => None,
        UplinkAccess::IdealBufferStatus { delay } => Some(reaches(delay, backlog())),
    }
}
