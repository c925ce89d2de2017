//! Medium access control (TS 36.321): scheduling, HARQ, grants.

pub(crate) mod bwp;
mod changes;
pub(crate) mod configured;
pub(crate) mod control;
pub(crate) mod downlink;
pub(crate) mod drx;
pub(crate) mod gaps;
pub(crate) mod grid;
pub(crate) mod harq;
pub(crate) mod headroom;
pub(crate) mod phy;
pub(crate) mod polls;
pub(crate) mod power;
pub(crate) mod pusch;
mod reports;
pub(crate) mod requests;
pub(crate) mod restrictions;
pub(crate) mod scell;
pub(crate) mod scheduler;
pub(crate) mod shared_power;
pub(crate) mod sleep;
pub(crate) mod throttle;
pub(crate) mod uplink;
