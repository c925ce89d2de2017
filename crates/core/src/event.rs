//! What can be observed: typed events, asked for by topic before they are built.

use crate::{BitRate, Bytes, CellId, Direction, DropCause, FlowId, Instant, UeId};
use crate::{Duration, Packet};

/// What CUBIC's window follows (RFC 9438 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubicCurve {
    /// `W_max`: the window before the last loss, less where that one came early (section 4.7).
    pub w_max: Bytes,
    /// K: how long after its beginning the epoch reaches `W_max`; `None` from a loss until the next epoch begins.
    pub k: Option<Duration>,
}

/// A kind of event. A sink names those that it wants; the rest cost one bit test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Topic {
    /// [`Event::Delivered`].
    Delivered,
    /// [`Event::Sent`].
    Sent,
    /// [`Event::Dropped`].
    Dropped,
    /// [`Event::RttSample`].
    RttSample,
    /// [`Event::Timeout`] and [`Event::TimeoutUndone`].
    Timeout,
    /// [`Event::SegmentLost`].
    SegmentLost,
    /// [`Event::TransportBlock`] and [`Event::Unsent`].
    TransportBlock,
    /// [`Event::FlowState`].
    FlowState,
    /// [`Event::FlowSent`], [`Event::FlowAcknowledged`], [`Event::FlowCompleted`] and [`Event::FlowGaveUp`].
    FlowCompleted,
    /// [`Event::QueueDepth`].
    QueueDepth,
    /// [`Event::Marked`].
    Marked,
    /// [`Event::Received`].
    Received,
    /// [`Event::Tunnelled`].
    Tunnelled,
    /// [`Event::Assigned`].
    Assigned,
    /// [`Event::UePosition`].
    UePosition,
    /// [`Event::Handover`].
    Handover,
    /// [`Event::PepMessage`] and [`Event::DomainState`].
    Pep,
    /// [`Event::CodeSent`] and [`Event::CodeApplied`].
    ReceiverCode,
    /// [`Event::PageBegan`] and [`Event::PageLoaded`].
    Page,
    /// [`Event::Playback`].
    Playback,
    /// [`Event::ProxyBuffer`].
    Proxy,
    /// [`Event::LossJudged`].
    LossJudged,
    /// [`Event::RadioInformation`].
    RadioInformation,
    /// [`Event::Secrets`].
    Secrets,
    /// [`Event::PathModel`].
    PathModel,
}

/// What a controller that models the path (BBR) thinks of it. Volumes are in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathModel {
    /// Its state, in the words of its specification.
    pub state: &'static str,
    /// Pacing gain and window gain of the state.
    pub gains: [f64; 2],
    /// Round trips so far.
    pub round: u64,
    /// The rate at which it sends.
    pub pacing_rate: BitRate,
    /// Congestion window.
    pub congestion_window: u32,
    /// Segments in flight.
    pub in_flight: u32,
    /// The newest sample of the delivery rate, and whether the application limited it.
    pub delivery_rate: BitRate,
    /// See `delivery_rate`.
    pub app_limited: bool,
    /// The largest rate of the last cycles.
    pub max_bandwidth: BitRate,
    /// The least round trip.
    pub min_rtt: Option<Duration>,
    /// What is to be in flight at a gain of one: `Inflight(1.0)`.
    pub target: u32,
    /// Aggregation that the window allows for.
    pub extra_acked: u32,
    /// Bounds from loss of the moment, of the rate and of the flight, and of the flight in the long run.
    pub bandwidth_short: Option<BitRate>,
    /// See `bandwidth_short`.
    pub inflight_short: Option<u32>,
    /// See `bandwidth_short`.
    pub inflight_long: Option<u32>,
    /// Rounds without growth, of the three that make a full pipe.
    pub full_rounds: u32,
    /// Whether the pipe has ever been full.
    pub full_reached: bool,
}

/// A set of topics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicSet(u32);

impl TopicSet {
    /// Nothing is listened to.
    pub const NONE: Self = Self(0);
    /// This set and one topic more.
    #[must_use]
    pub const fn with(self, topic: Topic) -> Self {
        Self(self.0 | 1 << topic as u8)
    }
    /// The topics of this set and of another.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// The topics of this set that are not in another.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// True if somebody listens.
    #[must_use]
    pub const fn wants(self, topic: Topic) -> bool {
        self.0 & (1 << topic as u8) != 0
    }
}

/// What became of a PEP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PepFate {
    /// The PEP sent it.
    Sent,
    /// The sender of the flow believed it.
    Accepted,
    /// It came to the sender of the flow, who did not believe it.
    Rejected,
}

/// What a sender took a loss for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossVerdict {
    /// A queue had no room: the window was reduced.
    Congestion,
    /// The path loses by itself: it was not, and slow start was over.
    Random,
    /// It was not, and the controller heard nothing of it.
    Unreported,
}

/// What became of a notification of a radio network information service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InformationFate {
    /// The service sent it.
    Sent,
    /// The server of the flow believed it.
    Accepted {
        /// How old what it says was then.
        age: Duration,
    },
    /// It came to the server of the flow, and its bytes said nothing.
    Rejected,
    /// It was about another UE, or from the future.
    Misdirected,
}

/// How far a handover has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HandoverStep {
    /// The UE sent the measurement report that it begins with.
    Reported {
        /// The cell that serves the UE.
        from: CellId,
        /// The cell that it reports.
        to: CellId,
        /// Where the UE is: east and north, in metres.
        position_m: [f64; 2],
    },
    /// The source asked the target to prepare (HANDOVER REQUEST).
    Decided,
    /// The target refused: the UE stays where it is.
    PreparationFailed,
    /// The UE has got its order (`RRCConnectionReconfiguration`) and leaves the source.
    Started,
    /// Random access is done, the target serves the UE.
    Arrived,
    /// The target has learnt that the gateway has switched the downlink path.
    PathSwitched,
    /// The UE has lost its radio link: what was being prepared is cancelled.
    LinkFailed {
        /// The cell that served it.
        from: CellId,
        /// Where the UE is: east and north, in metres.
        position_m: [f64; 2],
    },
    /// T304 has expired: the UE has not reached the target and looks for a cell.
    AccessFailed,
    /// A cell re-establishes the connection of a UE that has lost its radio link.
    Reestablished {
        /// Which.
        to: CellId,
    },
    /// No cell has re-established it in time: the UE was released and sets up a new connection.
    Released,
    /// What the source has forwarded so far.
    Forwarded {
        /// SDUs, once for each X2 link that they entered.
        packets: u64,
        /// Their bytes with PDCP headers.
        bytes: Bytes,
        /// Packets that the handover cost: dropped by a re-establishment, lost or refused on X2.
        dropped: u64,
    },
}

/// How far a view of a video has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaybackStep {
    /// The viewer asked for the video.
    Requested,
    /// Media arrived, next in order: bytes of a progressive download, or a whole segment.
    Fetched {
        /// Its bytes.
        bytes: Bytes,
        /// How long it plays.
        media: Duration,
        /// The bitrate that it is encoded with.
        bitrate: BitRate,
    },
    /// The first frame is shown.
    Started,
    /// The buffer has run dry: the picture stands still.
    Stalled,
    /// It moves again.
    Resumed,
    /// All was played.
    Ended,
}

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// An endpoint emitted a packet.
    Sent {
        /// The packet.
        packet: &'a Packet,
        /// True if its payload had been sent before.
        retransmission: bool,
    },
    /// A packet arrived at the endpoint it was meant for.
    Delivered {
        /// The packet; its one-way delay is `now - packet.sent_at`.
        packet: &'a Packet,
        /// Payload bytes that became readable in order through it.
        in_order: Bytes,
        /// Those of its payload bytes that had not come before; `None` if the transport does not tell.
        fresh: Option<Bytes>,
    },
    /// A packet came to the host it was sent to, whose transport has not seen it yet. Every packet
    /// does, without payload too.
    Received {
        /// The packet.
        packet: &'a Packet,
    },
    /// A packet passed the eNB's end of the tunnel on S1-U: came in (downlink) or went out (uplink).
    Tunnelled {
        /// The eNB's cell.
        cell: CellId,
        /// The packet; its size counts the headers of the tunnel.
        packet: &'a Packet,
    },
    /// A packet was dropped.
    Dropped {
        /// The packet.
        packet: &'a Packet,
        /// Why.
        cause: DropCause,
    },
    /// A queue set CE on a packet that did not carry it yet (RFC 3168 §5).
    Marked {
        /// The packet.
        packet: &'a Packet,
    },
    /// A sender took a round-trip sample.
    RttSample {
        /// The flow.
        flow: FlowId,
        /// The sample.
        rtt: Duration,
        /// Smoothed round-trip time after it.
        srtt: Duration,
        /// Retransmission timeout after it.
        rto: Duration,
    },
    /// A retransmission timer expired and retransmitted.
    Timeout {
        /// The flow.
        flow: FlowId,
        /// The value that had been armed.
        rto: Duration,
        /// Congestion window before the timeout.
        congestion_window: Bytes,
        /// Bytes in flight before the timeout.
        in_flight: Bytes,
        /// How many times in a row, 1 for the first.
        backoff: u32,
        /// True if the sender was in loss recovery when it fired.
        in_recovery: bool,
    },
    /// A timeout turned out spurious and was undone (F-RTO, Eifel).
    TimeoutUndone {
        /// The flow.
        flow: FlowId,
        /// Congestion window that was restored.
        congestion_window: Bytes,
    },
    /// A sender declared a segment lost.
    SegmentLost {
        /// The flow.
        flow: FlowId,
        /// Its bytes.
        bytes: Bytes,
    },
    /// A sender's state, emitted on change.
    FlowState {
        /// The flow.
        flow: FlowId,
        /// Congestion window.
        congestion_window: Bytes,
        /// Slow-start threshold; `None` while unset.
        ssthresh: Option<Bytes>,
        /// Bytes in flight.
        in_flight: Bytes,
        /// The window that the peer offers, where there is one for the whole connection.
        offered_window: Option<Bytes>,
        /// The curve that the window follows, where it is CUBIC's and a loss has set it up.
        cubic: Option<CubicCurve>,
    },
    /// An ARWA receiver says with an acknowledgment what it finds of the path.
    CodeSent {
        /// The flow.
        flow: FlowId,
        /// Which case of its rule, 1 to 3.
        case: u8,
        /// The code.
        code: u8,
    },
    /// A sender changed its window for a receiver's code.
    CodeApplied {
        /// The flow.
        flow: FlowId,
        /// The code.
        code: u8,
        /// Congestion window before and after.
        congestion_window: [Bytes; 2],
    },
    /// A view of a video has come a step further.
    Playback {
        /// The flow that it is fetched by.
        flow: FlowId,
        /// Counts the views of the flow, from 1.
        view: u32,
        /// Which step.
        step: PlaybackStep,
    },
    /// A connection of a flow was given up because the peer did not answer.
    FlowGaveUp {
        /// The flow.
        flow: FlowId,
    },
    /// The sender of a finite transfer has sent its last byte for the first time.
    FlowSent {
        /// The flow.
        flow: FlowId,
        /// When its application asked to connect.
        started_at: Instant,
    },
    /// The sender of a finite transfer has got an acknowledgment of all its bytes.
    FlowAcknowledged {
        /// The flow.
        flow: FlowId,
        /// When its application asked to connect.
        started_at: Instant,
    },
    /// A PEP sent a message about a flow, or one arrived at the flow's sender.
    PepMessage {
        /// The flow.
        flow: FlowId,
        /// What became of it.
        fate: PepFate,
    },
    /// A sender decided what an episode of loss was, or a retransmission timeout.
    LossJudged {
        /// The flow.
        flow: FlowId,
        /// When the newest of its segments was sent that had been found lost.
        sent_at: Instant,
        /// True for a retransmission timeout.
        timeout: bool,
        /// What it took it for.
        verdict: LossVerdict,
    },
    /// A radio network information service sent a notification to a flow's server, or one arrived there.
    RadioInformation {
        /// The flow.
        flow: FlowId,
        /// What became of it.
        fate: InformationFate,
    },
    /// The ends of a connection have agreed on secrets; none of the packets that they protect was sent before.
    Secrets {
        /// The flow.
        flow: FlowId,
        /// Lines of a key log in NSS's format (draft-ietf-tls-keylogfile).
        lines: &'a str,
    },
    /// What a sender that models its path thinks of it, after each acknowledgment and timeout.
    PathModel {
        /// The flow.
        flow: FlowId,
        /// What it thinks.
        model: PathModel,
    },
    /// The windows of a sender that has one for each domain, emitted with [`Event::FlowState`].
    DomainState {
        /// The flow.
        flow: FlowId,
        /// Congestion window of the internet domain.
        internet: Bytes,
        /// Congestion window of the radio domain.
        ran: Bytes,
        /// Smoothed round trip to the PEP; zero before the first.
        pep_srtt: Duration,
    },
    /// What a split-connection proxy keeps of one connection and direction has changed.
    ProxyBuffer {
        /// The proxy's number.
        proxy: u32,
        /// The flow of the connection.
        flow: FlowId,
        /// Where the bytes go.
        direction: Direction,
        /// Bytes before and now: those that came and that the far peer has not acknowledged.
        before: Bytes,
        /// See `before`.
        now: Bytes,
    },
    /// A finite transfer ended: its receiver has read all of it.
    FlowCompleted {
        /// The flow.
        flow: FlowId,
        /// When its application asked to connect.
        started_at: Instant,
    },
    /// A browser began to load a page.
    PageBegan {
        /// The flow.
        flow: FlowId,
        /// Which of its pages.
        page: u32,
    },
    /// A browser has loaded all of the page that it began last.
    PageLoaded {
        /// The flow.
        flow: FlowId,
        /// From its beginning to the first byte of the document's response.
        first_byte: Duration,
        /// From its beginning to the last byte of its last object.
        time: Duration,
        /// Its objects.
        objects: u32,
        /// Their bytes, heads of responses included.
        bytes: Bytes,
        /// Connections opened for it.
        connections: u32,
        /// Names looked up for it, again where there was no answer.
        queries: u32,
    },
    /// The MAC sent a transport block.
    TransportBlock {
        /// The cell.
        cell: CellId,
        /// The UE it is for, or from.
        ue: UeId,
        /// Downlink or uplink.
        direction: Direction,
        /// Its HARQ process.
        process: u8,
        /// Modulation and coding scheme.
        mcs: u8,
        /// Physical resource blocks it took.
        prbs: u16,
        /// Its size.
        bytes: Bytes,
        /// 0 for a new block, 1 for the first HARQ retransmission, and so on.
        attempt: u8,
        /// False if it could not be decoded.
        decoded: bool,
    },
    /// The MAC sent nothing of a UE that had something to send: no MCS would get through to it (CQI 0), or it
    /// missed the grant.
    Unsent {
        /// The UE.
        ue: UeId,
        /// Downlink or uplink.
        direction: Direction,
    },
    /// The MAC chose what a transport block is sent with, once for each time it is sent.
    /// [`Event::TransportBlock`] of the same UE, direction and process tells how that went.
    Assigned {
        /// The UE it is for, or from.
        ue: UeId,
        /// Downlink or uplink.
        direction: Direction,
        /// Its HARQ process.
        process: u8,
        /// Downlink: the lowest CQI in force among the resource block groups it takes. The uplink is
        /// sounded and has none.
        cqi: Option<u8>,
        /// Bytes that wait in the UE's queue for their first transmission, this block taken off.
        queue: Bytes,
    },
    /// Where a UE is; reported at regular times if somebody asked for that.
    UePosition {
        /// The UE.
        ue: UeId,
        /// East and north, in metres.
        position_m: [f64; 2],
        /// The cell that serves it.
        cell: CellId,
    },
    /// A handover has come a step further.
    Handover {
        /// The UE.
        ue: UeId,
        /// Counts the handovers of the UE, attempts included.
        attempt: u32,
        /// Which step.
        step: HandoverStep,
    },
    /// The transmit queue of a UE's bearer has another length than when last reported.
    QueueDepth {
        /// The UE.
        ue: UeId,
        /// Downlink: the queue at the eNB. Uplink: the one at the UE.
        direction: Direction,
        /// Bytes that wait for their first transmission.
        bytes: Bytes,
    },
}

impl Event<'_> {
    /// The topic under which the event is asked for.
    #[must_use]
    pub const fn topic(&self) -> Topic {
        match self {
            Self::Sent { .. } => Topic::Sent,
            Self::Delivered { .. } => Topic::Delivered,
            Self::Dropped { .. } => Topic::Dropped,
            Self::RttSample { .. } => Topic::RttSample,
            Self::Timeout { .. } | Self::TimeoutUndone { .. } => Topic::Timeout,
            Self::SegmentLost { .. } => Topic::SegmentLost,
            Self::TransportBlock { .. } | Self::Unsent { .. } => Topic::TransportBlock,
            Self::FlowState { .. } => Topic::FlowState,
            Self::FlowSent { .. }
            | Self::FlowAcknowledged { .. }
            | Self::FlowCompleted { .. }
            | Self::FlowGaveUp { .. } => Topic::FlowCompleted,
            Self::QueueDepth { .. } => Topic::QueueDepth,
            Self::Marked { .. } => Topic::Marked,
            Self::Received { .. } => Topic::Received,
            Self::Tunnelled { .. } => Topic::Tunnelled,
            Self::Assigned { .. } => Topic::Assigned,
            Self::UePosition { .. } => Topic::UePosition,
            Self::Handover { .. } => Topic::Handover,
            Self::PepMessage { .. } | Self::DomainState { .. } => Topic::Pep,
            Self::PageBegan { .. } | Self::PageLoaded { .. } => Topic::Page,
            Self::LossJudged { .. } => Topic::LossJudged,
            Self::RadioInformation { .. } => Topic::RadioInformation,
            Self::Secrets { .. } => Topic::Secrets,
            Self::CodeSent { .. } | Self::CodeApplied { .. } => Topic::ReceiverCode,
            Self::Playback { .. } => Topic::Playback,
            Self::ProxyBuffer { .. } => Topic::Proxy,
            Self::PathModel { .. } => Topic::PathModel,
        }
    }
}
