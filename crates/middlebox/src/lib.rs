//! Network functions in the path between the internet and the radio, which process the passing packets.
//!
//! A [`NetworkFunction`] is the algorithm; [`Middlebox`] is the node that puts one in the path. There are
//! two: the lightweight PEP ([`Pep`]), which reports to servers the packets that have passed, and the
//! split-connection proxy ([`SplitProxy`]), which is the far end of a TCP connection for each side. The radio
//! network information service ([`Rnis`]) is outside the path and informs servers about the radio channel of
//! a UE.

mod node;
mod pep;
mod rnis;
mod split;

pub use node::{Middlebox, NetworkFunction, Side};
pub use pep::{Claim, Connection, Fault, Observer, Outlet, Pep, PepConfig, PepStatistics, Segment};
pub use rnis::{Rnis, RnisFault};
pub use split::{
    ConnectOrder, EnbProxies, Ending, LegStatistics, SplitConfig, SplitProxy, SplitStatistics, WhenFull,
};
