//! Functions that stand in the path between the internet and the radio, and look at what passes.
//!
//! A [`NetworkFunction`] is the algorithm; [`Middlebox`] is the node that puts one in the path. So far
//! there is the lightweight PEP ([`Pep`]), which tells servers what has passed.
//!
//! Left out: functions that change, keep or answer packets. The contract has room for them: what a
//! function does not give back it owns.

mod node;
mod pep;

pub use node::{Middlebox, NetworkFunction, Side};
pub use pep::{Claim, Fault, Pep, PepConfig, PepStatistics};
