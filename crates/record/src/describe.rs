//! What a recorder is told before a run, so that its rows bear names.

use airlane_core::{Direction, Duration, FlowId, Instant, UeId};

use crate::Satisfaction;

/// A flow, by its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowDescription {
    /// Its name: column `flow`.
    pub name: String,
    /// Where its data goes: column `to`.
    pub to: String,
    /// The UE at one of its ends, if any: column `ue` and the radio columns.
    pub ue: Option<(String, UeId)>,
    /// `tcp` or `udp`: column `kind`.
    pub kind: String,
    /// Its congestion controller, or nothing: column `congestion`.
    pub congestion: String,
    /// Which way its data goes. Only packets with payload that go this way count.
    pub direction: Direction,
    /// When it starts.
    pub start: Instant,
    /// When it is stopped, if before the end of the run.
    pub stop: Option<Instant>,
}

/// A cell, by its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellDescription {
    /// Its name: column `cell`.
    pub name: String,
    /// Physical resource blocks per slot, downlink.
    pub downlink_prbs: u16,
    /// Physical resource blocks per slot, uplink.
    pub uplink_prbs: u16,
    /// The length of a slot (a TTI).
    pub slot: Duration,
    /// How often a transport block is sent at most, the first time included.
    pub harq_transmissions: u8,
}

/// What to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecorderParameters {
    /// Every flow, by index.
    pub flows: Vec<FlowDescription>,
    /// Every cell, by index.
    pub cells: Vec<CellDescription>,
    /// How many UEs there are.
    pub ues: usize,
    /// Where the measured window begins (later for a flow that starts later).
    pub warmup: Instant,
    /// The end of the run, and of the measured window.
    pub end: Instant,
    /// The bin of the series; `None` records no series.
    pub bin: Option<Duration>,
    /// Names of the UEs whose positions are recorded: all of them, or none.
    pub tracked: Vec<String>,
    /// Names of the UEs that may be handed over: all of them, or none.
    pub handovers: Vec<String>,
    /// The name of each UE, by index, if it is to be recorded when they had no usable link.
    pub coverage: Vec<String>,
    /// Whether messages of a PEP are recorded, and the windows of senders that listen to one.
    pub pep: bool,
    /// Whether any receiver sends codes.
    pub codes: bool,
    /// Names of the pages of each flow's browser, by flow and by page; empty if no flow has a browser.
    pub pages: Vec<Vec<String>>,
    /// Flows by which videos are watched, and what their viewers put up with.
    pub viewers: Vec<(FlowId, Satisfaction)>,
    /// How each flow tells the causes of loss apart, empty where it has no way to; no names at all if nobody does.
    pub discriminators: Vec<String>,
    /// Whether notifications of a radio network information service are recorded.
    pub information: bool,
}

impl RecorderParameters {
    /// The default bin of the series.
    pub const DEFAULT_BIN: Duration = Duration::from_millis(100);
}
