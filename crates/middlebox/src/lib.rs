//! Functions that stand in the path between the internet and the radio, and look at what passes.
//!
//! A [`NetworkFunction`] is the algorithm; [`Middlebox`] is the node that puts one in the path. There are the
//! lightweight PEP ([`Pep`]), which tells servers what has passed, and the split-connection proxy
//! ([`SplitProxy`]), which is the far end of a TCP connection to each side. Beside the path stands the radio network
//! information service ([`Rnis`]), which tells servers how the radio of a UE is.

mod node;
mod pep;
mod rnis;
mod split;

pub use node::{Middlebox, NetworkFunction, Side};
pub use pep::{Claim, Fault, Pep, PepConfig, PepStatistics};
pub use rnis::{Rnis, RnisFault};
pub use split::{
    ConnectOrder, EnbProxies, Ending, LegStatistics, SplitConfig, SplitProxy, SplitStatistics, WhenFull,
};
