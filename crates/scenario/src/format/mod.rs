//! The scenario format as types: the keys of a file, and, with the defaults of the presets, all inputs of a
//! run.
//!
//! No field has a default here. The defaults are the preset files (`presets/*.toml`), so that every
//! value of a run is in a file that users can read. `Option` means that the value may be absent.
//!
//! A file here has all that belongs to a section: the types of its keys, in `config` their conversion to the
//! configuration of the crate that implements them, and in `check` the rules that concern the section alone. What needs
//! more than its section, such as names, files or seeds, is joined with these where the network is built. Rules between sections are in `crate::check`.

mod aqm;
mod bandwidth_parts;
mod cell;
mod channel;
mod drx;
mod ecn;
mod flow;
mod gaps;
mod handover;
mod kernel;
mod layout;
mod link;
mod loss_discriminator;
mod mac;
mod middlebox;
mod mobility;
mod mpquic;
mod mptcp;
mod nr;
mod output;
mod path;
mod path_loss;
mod points;
mod qos;
mod receive_window;
mod rlc;
mod rnis;
mod rrc;
mod scells;
mod scheduler;
mod secondary_node;
mod service;
mod ue;
mod uplink;

pub use crate::applications::*;
pub use aqm::*;
pub use bandwidth_parts::*;
pub use cell::*;
pub use channel::*;
pub use drx::*;
pub use ecn::*;
pub use flow::*;
pub use gaps::*;
pub use handover::*;
pub use kernel::*;
pub use layout::*;
pub use link::*;
pub use loss_discriminator::*;
pub use mac::*;
pub use middlebox::*;
pub use mobility::*;
pub use mpquic::*;
pub use mptcp::*;
pub use nr::*;
pub use output::*;
pub use path::*;
pub use path_loss::*;
pub use points::*;
pub use qos::*;
pub use receive_window::*;
pub use rlc::*;
pub use rnis::*;
pub use rrc::*;
pub use scells::*;
pub use scheduler::*;
pub use secondary_node::*;
pub use service::*;
pub use ue::*;
pub use uplink::*;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use airlane_settings::tagged;

use crate::quantity::Time;

/// A scenario. The preset sets every key that a file leaves out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolved {
    /// The preset, which sets every key that the file leaves out.
    pub network: Network,
    /// Duration and sampling of a run.
    pub run: Run,
    /// Optional outputs of the run.
    pub output: Output,
    /// Layout of many cells with the settings of one `[[cell]]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// Cells; none in a wired network.
    pub cell: Vec<Cell>,
    /// Propagation between cells and UEs; none in a wired network.
    pub channel: Option<Channel>,
    /// The link between the server and the mobile core, or, in a wired network, the host.
    pub internet: Internet,
    /// The path between the mobile core and the cells (S1-U); none in a wired network.
    pub backhaul: Option<Backhaul>,
    /// Functions in the path between the internet and the radio; none in a wired network.
    pub middlebox: Vec<Middlebox>,
    /// Radio network information service for servers. Without this section there is none. A wired network has
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rnis: Option<Rnis>,
    /// Handover of UEs between cells. Without this section, UEs stay in their first cell.
    pub handover: Option<Handover>,
    /// The links between cells (X2); none without handover.
    pub x2: Option<X2>,
    /// Links next to the mobile network, or next to `[internet]` in a wired network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<AccessLink>,
    /// UEs; none in a wired network.
    pub ue: Vec<Ue>,
    /// Transport flows.
    pub flow: Vec<Flow>,
}

/// A preset of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Network {
    /// LTE with the settings of ns-3.37, for comparison with it.
    #[serde(rename = "lena-3.37", alias = "lena")]
    Lena337,
    /// LTE with the settings of ns-3 of about 2014, for comparison with papers of that time.
    #[serde(rename = "lena-2014")]
    Lena2014,
    /// LTE with the settings of the University of Utah's branch of ns-3 (2013 and 2014), whose RLC AM and lossless
    /// handover ns-3 did not have.
    #[serde(rename = "lena-utah")]
    LenaUtah,
    /// LTE with settings of deployed networks.
    #[serde(rename = "typical")]
    Typical,
    /// 5G NR with settings of deployed networks: TDD at 3.5 GHz, 100 MHz.
    #[serde(rename = "nr-typical-fr1")]
    NrTypicalFr1,
    /// 5G NR for coverage: FDD at 700 MHz, 20 MHz.
    #[serde(rename = "nr-fdd-lowband")]
    NrFddLowband,
    /// 5G NR with millimetre waves: TDD at 28 GHz, 400 MHz.
    #[serde(rename = "nr-fr2")]
    NrFr2,
    /// Non-standalone 5G (EN-DC): the cell of `typical` and, as the secondary node of each UE, that of `nr-typical-fr1`.
    #[serde(rename = "nsa-fr1")]
    NsaFr1,
    /// Non-standalone 5G (EN-DC): the cell of `typical` and, as the secondary node of each UE, that of `nr-fr2`.
    #[serde(rename = "nsa-fr2")]
    NsaFr2,
    /// Standalone 5G with dual connectivity (NR-DC): the cell of `nr-typical-fr1` and, as the secondary node of each UE, one of
    /// 100 MHz at 28 GHz.
    #[serde(rename = "nrdc")]
    Nrdc,
    /// `typical`, with UEs that sleep: DRX with a cycle of 320 ms, idle after 10 s.
    #[serde(rename = "typical-sleeping")]
    TypicalSleeping,
    /// `nr-typical-fr1`, with UEs that sleep: DRX with a cycle of 320 ms, inactive after 10 s.
    #[serde(rename = "nr-typical-fr1-sleeping")]
    NrTypicalFr1Sleeping,
    /// `nr-fdd-lowband`, with UEs that sleep: DRX with a cycle of 320 ms, inactive after 10 s.
    #[serde(rename = "nr-fdd-lowband-sleeping")]
    NrFddLowbandSleeping,
    /// `nr-fr2`, with UEs that sleep: DRX with a cycle of 80 ms, inactive after 10 s.
    #[serde(rename = "nr-fr2-sleeping")]
    NrFr2Sleeping,
    /// No radio: server, one link, host.
    #[serde(rename = "wired")]
    Wired,
}

/// Duration and sampling of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Simulated duration of the run.
    pub duration: Time,
    /// Time before which nothing counts in the summaries. Time series include it.
    pub warmup: Time,
    /// Seed of the random numbers of a run. Several runs use this and the following seeds.
    pub seed: u64,
    /// Width of a bin of the time series.
    pub series_bin: Time,
    /// Whether the position of each UE is recorded at the start of each bin.
    pub ue_series: bool,
}
