//! The description of a run for a recorder, which gives names to its rows.

use airlane_core::{Direction, Duration, FlowId, Instant, UeId};

use crate::{BearerDescription, Satisfaction};

/// A flow, by its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowDescription {
    /// Its name: column `flow`.
    pub name: String,
    /// The destination of its data: column `to`.
    pub to: String,
    /// The UE at one of its ends, if there is one: column `ue` and the radio columns.
    pub ue: Option<(String, UeId)>,
    /// `tcp`, `udp`, `quic`, `kernel`, `mptcp`, `mpquic`, `icmp` or `ip`: column `kind`.
    pub kind: String,
    /// Its congestion controller, or empty: column `congestion`.
    pub congestion: String,
    /// Its application, as scenarios name it; empty if it is outside: column `app`.
    pub app: String,
    /// The direction of its data: column `direction`. Only packets with payload in this direction count.
    pub direction: Direction,
    /// Whether it carries data in the other direction too, which then has rows of its own: those of the flow
    /// `name (uplink)`, or `name (downlink)`.
    pub both_directions: bool,
    /// When it starts.
    pub start: Instant,
    /// When it is stopped, if before the end of the run.
    pub stop: Option<Instant>,
    /// Whether it is a flow of TCP connections, whose bytes have a delay from end to end.
    pub streams: bool,
    /// The split proxies that end its connections; empty without one. They are the column `proxies`, which exists
    /// if any flow has one. No TCP packet of such a flow travels from end to end: its one-way delay is that of its
    /// bytes, or without `streams` that of its other packets.
    pub proxies: String,
}

impl FlowDescription {
    /// Whether its sender reports its rates ([`Event::SenderRates`](airlane_core::Event::SenderRates)).
    #[must_use]
    pub fn reports_rates(&self) -> bool {
        self.kind == "kernel"
    }
}

/// A cell, by its index.
#[derive(Clone, Debug, PartialEq)]
pub struct CellDescription {
    /// Its name: column `cell`.
    pub name: String,
    /// Physical resource blocks per slot, downlink.
    pub downlink_prbs: u16,
    /// Physical resource blocks per slot, uplink.
    pub uplink_prbs: u16,
    /// The length of a slot (a TTI).
    pub slot: Duration,
    /// Of the pattern of its slots: those with a downlink, those with an uplink, and all.
    pub pattern: [u8; 3],
    /// Maximum number of transmissions of a transport block, including the first.
    pub harq_transmissions: u8,
    /// The error rate of first transmissions that its outer loop aims at; `None` without an outer loop.
    pub bler_target: Option<f64>,
}

/// What to record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecorderParameters {
    /// Every flow, by index.
    pub flows: Vec<FlowDescription>,
    /// Every cell, by index.
    pub cells: Vec<CellDescription>,
    /// Number of UEs.
    pub ues: usize,
    /// The name of each UE, by index, or that of the host of a network without UEs.
    pub hosts: Vec<String>,
    /// Start of the measured window (later for a flow that starts later).
    pub warmup: Instant,
    /// The end of the run, and of the measured window.
    pub end: Instant,
    /// The bin of the series; `None` records no series.
    pub bin: Option<Duration>,
    /// Whether the positions of UEs are recorded.
    pub tracked: bool,
    /// Whether UEs may sleep: the states of their connections are recorded with the positions.
    pub sleeps: bool,
    /// Whether UEs may be handed over.
    pub handovers: bool,
    /// Whether UEs may be released.
    pub connections: bool,
    /// The bearers of UEs that have dedicated ones.
    pub bearers: Vec<BearerDescription>,
    /// Whether a UE has several carriers.
    pub carriers: bool,
    /// Whether a UE sends to several cells at once.
    pub uplink_carriers: bool,
    /// Whether a UE has a secondary node.
    pub secondary_nodes: bool,
    /// Whether messages of a PEP are recorded, and the windows of senders that use one.
    pub pep: bool,
    /// Whether any receiver sends codes.
    pub codes: bool,
    /// Names of the pages of each flow's browser, by flow and by page; empty if no flow has a browser.
    pub pages: Vec<Vec<String>>,
    /// Flows with video viewers, and the viewers' criteria of satisfaction.
    pub viewers: Vec<(FlowId, Satisfaction)>,
    /// Whether any flow sends echo messages.
    pub pings: bool,
    /// Whether any flow is a call.
    pub media: bool,
    /// Whether any flow sends frames of XR.
    pub frames: bool,
    /// The loss discriminator of each flow, empty if it cannot have one; an empty list if no flow has one.
    pub discriminators: Vec<String>,
    /// Whether notifications of a radio network information service are recorded.
    pub information: bool,
    /// Whether each transmission of a transport block is recorded.
    pub ran_log: bool,
    /// Whether the bytes that hosts receive are recorded, per millisecond.
    pub deliveries: bool,
    /// Whether losses are recorded with their causes.
    pub losses: bool,
    /// The names of split proxies by their number, if their buffers are recorded.
    pub proxies: Vec<String>,
    /// Whether the path models of senders are recorded.
    pub path_models: bool,
    /// The name of the path of each subflow of flows over Multipath TCP, by flow; empty if there is no such flow.
    pub paths: Vec<Vec<String>>,
}

impl RecorderParameters {
    /// The default bin of the series.
    pub const DEFAULT_BIN: Duration = Duration::from_millis(100);

    /// Those of a run of a cell and no flow. Its tables have the columns of every run, for programs that need them before
    /// a run.
    #[must_use]
    pub fn of_no_flow() -> Self {
        let cell = CellDescription {
            name: String::new(),
            downlink_prbs: 1,
            uplink_prbs: 1,
            slot: Duration::from_millis(1),
            pattern: [1; 3],
            harq_transmissions: 1,
            bler_target: Some(0.0),
        };
        Self { cells: vec![cell], bin: Some(Self::DEFAULT_BIN), ..Self::default() }
    }

    /// The name of each flow, by index.
    pub(crate) fn flow_names(&self) -> Vec<String> {
        self.flows.iter().map(|flow| flow.name.clone()).collect()
    }

    /// The name of each cell, by index.
    pub(crate) fn cell_names(&self) -> Vec<&str> {
        self.cells.iter().map(|cell| cell.name.as_str()).collect()
    }

    /// For each flow the index of the host at its end.
    pub(crate) fn ends(&self) -> Vec<u32> {
        self.flows.iter().map(|flow| flow.ue.as_ref().map_or(0, |(_, ue)| ue.0)).collect()
    }
}
