//! Congestion controllers: the limit of the data in flight.
//!
//! A controller is independent of the transport, which must supply an [`AckSample`]. Recovery
//! (proportional rate reduction, the choice of retransmissions, the detection of spurious losses)
//! belongs to the transport. The transport informs the controller when a loss episode begins, ends,
//! or is found to be spurious. Windows are counted in whole segments, as in Linux, and reported in
//! bytes.
//!
//! A [law](CongestionController) says how the window changes, and which inputs it [needs](Needs) for that.
//! [`Controller`] is a window with its law; the laws of this crate are dispatched by `match` in the hot loop.
//! The functions that only one law has are extension traits of it: [`MultiDomain`], [`ObeysCodes`] and
//! [`CubicWindow`].

mod abc;
mod arwa;
mod bbr;
mod bbr3;
mod c2tcp;
mod c4;
mod controller;
mod copa;
mod cubic;
mod dctcp;
mod discriminator;
mod fractional_window;
mod inputs;
mod kind;
mod law;
mod ledbat;
mod loss_rate;
mod marks;
mod max_filter;
mod mdcc;
mod meld;
mod newreno;
mod own;
mod pbe;
mod peers;
mod prague;
mod scalable;
mod script;
mod slow_start;
#[cfg(test)]
mod tests;
mod vegas;
mod veno;
mod verus;
mod vivace;
mod westwood;
mod window;

pub use abc::{Abc, AbcConfig};
pub use arwa::{Arwa, ArwaSender, CodeStep, ObeysCodes, SlowStartAfterReduction};
pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use c2tcp::{C2tcp, C2tcpConfig};
pub use c4::C4;
pub use controller::{Controller, ControllerSetup, LawParameters};
pub use copa::{Copa, CopaConfig};
pub use cubic::{Cubic, CubicConfig, CubicEpoch, CubicVariant, CubicWindow};
pub use dctcp::Dctcp;
pub use discriminator::{AlwaysCongestion, LossCause, LossDiscrimination, LossDiscriminator, QueueTest};
pub use inputs::{
    AckSample, Arrival, DeliverySample, LossEpisode, LostSegment, MarkSample, PhaseChange, RadioInformation,
    RateSample, Restart, Snapshot, TimeoutEpisode, Transmission,
};
pub use kind::CongestionKind;
pub use law::{CongestionController, Needs};
pub use ledbat::LedbatPlusPlus;
#[cfg(feature = "journal")]
pub use mdcc::journal;
pub use mdcc::{Domain, InflightScope, Mdcc, MdccConfig, MultiDomain, SlowStartClock};
pub use meld::{BlockSizes, Meld, MeldConfig, MeldVariant, QueueThreshold};
pub use newreno::NewReno;
pub use own::{MakeController, OwnController, OwnControllers};
pub use pbe::Pbe;
pub use peers::{KneeTest, UsageTest};
pub use prague::{Prague, PragueConfig};
pub use scalable::Scalable;
pub use script::{Script, ScriptAck, ScriptEvent, ScriptRequest, ScriptedController};
pub use slow_start::{SlowStartAlgorithm, SlowStartRules};
pub use vegas::Vegas;
pub use veno::Veno;
pub use verus::Verus;
pub use vivace::Vivace;
pub use westwood::Westwood;
pub use window::SegmentWindow;

pub use crate::recovery::Phase;
