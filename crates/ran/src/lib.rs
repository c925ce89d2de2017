//! The radio access network of LTE: PDCP, RLC, MAC and HARQ of every cell and every UE, as one
//! [`RadioNetwork`] node that is stepped in slots of 1 ms.
//!
//! The path of a downlink packet, top to bottom: [`RadioNetwork`] takes it from the S1-U port
//! and gives it to its UE's [`bearer`] (PDCP, then the RLC queue); `mac::scheduler` shares the
//! slot's resource blocks out; `mac::downlink` builds transport blocks and three slots later
//! decodes them through the `channel`; the bearer's other end reorders and hands the packet to
//! the UE's port. An uplink packet waits in its bearer until `mac::uplink` has granted it room.
//!
//! Left out so far: semi-persistent scheduling, more than one
//! bearer per UE.

pub mod bearer;
mod build;
mod channel;
pub mod config;
mod cqi;
mod interference;
mod mac;
mod network;
pub mod pdcp;
pub mod rlc;
pub mod rrc;
mod slot;
#[cfg(test)]
mod tests;
mod ue;
pub mod x2;

pub use network::RadioNetwork;
