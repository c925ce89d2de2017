//! The radio access network of LTE and NR: PDCP, RLC, MAC and HARQ of all cells and UEs, as one
//! [`RadioNetwork`] node that runs in the slots of its cells: 1 ms in LTE, 1 ms / 2^µ in NR.
//!
//! The path of a downlink packet: [`RadioNetwork`] takes it from the S1-U port and gives it to its
//! UE's [`bearer`] (PDCP, then the RLC queue). `mac::scheduler` assigns the slot's resource blocks.
//! `mac::downlink` builds transport blocks and decodes them through the `channel` when their feedback
//! is due. The bearer's other end reorders and passes the packet to the UE's port. An uplink
//! packet waits in its bearer until `mac::uplink` has granted resources.
//!
//! A bearer may have layer 2 of NR ([`rlc::nr`], [`pdcp::nr`], [`sdap`]) instead of LTE's.
//!
//! Not included: semi-persistent scheduling.

pub mod bearer;
pub mod bearers;
mod build;
mod buildings;
mod channel;
pub mod config;
mod cqi;
pub mod dual;
pub mod energy;
mod interference;
pub mod layers;
mod link;
mod mac;
mod network;
pub mod numerology;
mod parallel;
pub mod pdcp;
pub mod qos;
mod reach;
pub mod rlc;
pub mod rrc;
pub mod sdap;
mod slot;
#[cfg(test)]
mod tests;
mod ue;
pub mod x2;

/// Scheduler policies of a user.
pub mod scheduler {
    pub use crate::mac::scheduler::{
        Candidates, MakeScheduler, OwnScheduler, SchedulerCell, SchedulerPolicy,
    };
}

pub use network::{BearerRequest, CellQuality, RadioNetwork, ReportEvent, UeLook};
