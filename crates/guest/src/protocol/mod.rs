//! The protocols between a User Mode Linux and the outside, as bytes and states: no socket, no process.

pub mod calendar;
pub mod call;
pub mod flood;
pub mod frame;
pub mod initrd;
pub mod memory;
pub mod nic;
pub mod queue;
pub mod report;
pub mod vhost;
