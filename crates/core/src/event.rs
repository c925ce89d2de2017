//! Observable events, typed. An event is built only if its topic has an observer.

use crate::{BitRate, Bytes, CellId, Decibel, Direction, DropCause, FlowId, Instant, UeId};
use crate::{Duration, MediaStep, Packet, SentFrame};

/// The parameters of CUBIC's window curve (RFC 9438 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubicCurve {
    /// `W_max`: the window before the last loss, reduced if the previous loss was at a larger
    /// window (fast convergence, section 4.7).
    pub w_max: Bytes,
    /// K: the time from the start of the epoch until the window reaches `W_max`; `None` from a loss until the
    /// next epoch begins.
    pub k: Option<Duration>,
}

/// The path model of a model-based controller (BBR). Volumes are in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathModel {
    /// State of the controller, with the name in its specification.
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
    /// The newest sample of the delivery rate.
    pub delivery_rate: BitRate,
    /// Whether the application limited this sample.
    pub app_limited: bool,
    /// The highest delivery rate of the last cycles (BBR's `max_bw`).
    pub max_bandwidth: BitRate,
    /// The minimum round-trip time.
    pub min_rtt: Option<Duration>,
    /// The target for the data in flight at a gain of one: `Inflight(1.0)`.
    pub target: u32,
    /// The allowance of the window for ACK aggregation.
    pub extra_acked: u32,
    /// Short-term bound on the bandwidth, set by loss (`bw_shortterm`).
    pub bandwidth_short: Option<BitRate>,
    /// Short-term bound on the data in flight, set by loss (`inflight_shortterm`).
    pub inflight_short: Option<u32>,
    /// Long-term bound on the data in flight, set by loss (`inflight_longterm`).
    pub inflight_long: Option<u32>,
    /// Consecutive rounds without growth; three of them mean that the pipe is full.
    pub full_rounds: u32,
    /// Whether the pipe has ever been full.
    pub full_reached: bool,
}

/// The stage of a PEP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PepFate {
    /// The PEP sent it.
    Sent,
    /// The sender of the flow accepted it.
    Accepted,
    /// The sender of the flow rejected the message.
    Rejected,
}

/// How a sender classified a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossVerdict {
    /// Congestion: the window was reduced.
    Congestion,
    /// Random loss on the path: the window was not reduced, and slow start was over.
    Random,
    /// The window was not reduced, and the loss was not reported to the controller.
    Unreported,
}

/// The stage of a notification of a radio network information service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InformationFate {
    /// The service sent it.
    Sent,
    /// The server of the flow accepted it.
    Accepted {
        /// The age of its measurement at that time.
        age: Duration,
    },
    /// The server of the flow could not decode the notification.
    Rejected,
    /// The notification was about another UE, or its measurement time was in the future.
    Misdirected,
}

/// The state of RRC of a UE (TS 36.331 §4.2.1, TS 38.331 §4.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RrcState {
    /// `RRC_IDLE`.
    Idle,
    /// `RRC_INACTIVE`, in NR only.
    Inactive,
    /// One of these two, while the UE sets its connection up or resumes it.
    Connecting,
    /// `RRC_CONNECTED`.
    Connected,
}

impl RrcState {
    /// All states, in the order of their discriminants.
    pub const ALL: [Self; 4] = [Self::Idle, Self::Inactive, Self::Connecting, Self::Connected];

    /// The name of the state in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Inactive => "inactive",
            Self::Connecting => "connecting",
            Self::Connected => "connected",
        }
    }
}

/// Why a UE sets its connection up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionCause {
    /// It has data to send.
    Data,
    /// It was paged.
    Paging,
}

/// A step of the RRC connection of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionStep {
    /// The UE begins to set the connection up, or to resume it.
    Began {
        /// Why.
        cause: ConnectionCause,
    },
    /// It sends a preamble.
    Preamble {
        /// Counts the preambles of this random access, from 1.
        number: u32,
        /// Another UE sends the same one.
        collides: bool,
    },
    /// The cell has received the request of the UE, which ends its random access.
    Requested,
    /// The UE is connected.
    Connected {
        /// From the data that waits to the beginning of the random access.
        waited: Duration,
        /// From there on.
        took: Duration,
    },
    /// A connected UE begins random access, because its scheduling requests were not answered.
    RequestsUnanswered,
    /// The procedure has failed.
    Failed,
    /// The UE has left the connection.
    Released,
}

/// A change of a secondary cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarrierStep {
    /// Measurements have made it a secondary cell. Without a configuration of measurements this is not reported.
    Configured,
    /// The primary cell schedules the block with the activation command.
    Commanded,
    /// It can be scheduled.
    Activated,
    /// It is deactivated: its timer has expired, the radio of the primary cell was switched off, or the UE has left the
    /// primary cell or its connection.
    Deactivated,
    /// Measurements have ended it as a secondary cell.
    Released,
}

/// A step of the secondary cell group of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScgStep {
    /// The UE has reported an event that changes its secondary cell group.
    Reported,
    /// Its PSCell can be used.
    Added,
    /// The UE has left its PSCell by a command.
    Released,
    /// SCG failure: the UE has left its PSCell by itself, or has not reached it.
    Failed,
}

/// A step of a handover.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HandoverStep {
    /// The UE sent the measurement report that starts the handover.
    Reported {
        /// The cell that serves the UE.
        from: CellId,
        /// The cell in the report.
        to: CellId,
        /// Position of the UE: east and north, in metres.
        position_m: [f64; 2],
    },
    /// The source asked the target to prepare the handover (HANDOVER REQUEST).
    Decided,
    /// The target refused: the UE stays where it is.
    PreparationFailed,
    /// The UE has received the handover command (`RRCConnectionReconfiguration`) and leaves the source.
    Started,
    /// Random access is complete; the target serves the UE.
    Arrived,
    /// The target has been informed that the gateway has switched the downlink path.
    PathSwitched,
    /// Radio link failure of the UE: the handover in preparation is cancelled.
    LinkFailed {
        /// The cell that served the UE.
        from: CellId,
        /// Position of the UE: east and north, in metres.
        position_m: [f64; 2],
    },
    /// T304 has expired: the UE has not reached the target and selects a cell.
    AccessFailed,
    /// A cell re-establishes the connection of a UE after a radio link failure.
    Reestablished {
        /// The cell.
        to: CellId,
    },
    /// No cell has re-established the connection in time: the UE was released and sets up a new
    /// connection.
    Released,
    /// Counts of the source's forwarding so far.
    Forwarded {
        /// SDUs, counted once for each X2 link that they entered.
        packets: u64,
        /// Bytes of the forwarded SDUs with PDCP headers.
        bytes: Bytes,
        /// Packets lost by the handover: dropped by a re-establishment, or lost or refused on X2.
        dropped: u64,
    },
}

/// A step of a video view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaybackStep {
    /// The viewer requested the video.
    Requested,
    /// Media arrived, next in order: bytes of a progressive download, or a whole segment.
    Fetched {
        /// Bytes that arrived.
        bytes: Bytes,
        /// Playing time of these bytes.
        media: Duration,
        /// Encoding bitrate of the media.
        bitrate: BitRate,
    },
    /// The first frame is shown.
    Started,
    /// The buffer is empty: playback stalls.
    Stalled,
    /// Playback continues.
    Resumed,
    /// All media was played.
    Ended,
}

/// A step of a subflow of Multipath TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubflowStep {
    /// Its initiator has received the end of the handshake.
    Established,
    /// The sender's scheduler gave it data.
    Scheduled {
        /// The bytes.
        bytes: Bytes,
        /// Another subflow has carried them before.
        again: bool,
        /// Smoothed round-trip time of the subflow.
        srtt: Duration,
    },
    /// Data arrived in the order of the subflow.
    Arrived {
        /// Bytes that no subflow had delivered before.
        fresh: Bytes,
        /// Bytes that another subflow had delivered before.
        again: Bytes,
        /// Distance of the first fresh byte from the byte that is expected next in the order of the data.
        ahead: Bytes,
    },
    /// Data that had arrived before data in front of it can be read.
    Released {
        /// The bytes.
        bytes: Bytes,
        /// How long they have waited.
        waited: Duration,
    },
    /// It is out of use: its retransmission timer has expired, or it has ended.
    Failed,
    /// The peer has acknowledged data of it again.
    Restored,
    /// The connection continues as TCP without options, on this subflow alone.
    FellBack,
}

/// An observable event.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A step of a subflow of a flow over Multipath TCP.
    Subflow {
        /// The flow.
        flow: FlowId,
        /// The number of the subflow, from 0.
        subflow: u8,
        /// The step.
        step: SubflowStep,
    },
    /// An endpoint emitted a packet.
    Sent {
        /// The packet.
        packet: &'a Packet,
        /// True if its payload had been sent before.
        retransmission: bool,
    },
    /// A packet arrived at its destination endpoint.
    Delivered {
        /// The packet; its one-way delay is `now - packet.sent_at`.
        packet: &'a Packet,
        /// Payload bytes that became readable in order through it.
        in_order: Bytes,
        /// Payload bytes that had not arrived before; `None` if the transport does not report them.
        fresh: Option<Bytes>,
    },
    /// A packet arrived at its destination host, before the host's transport processes it. Emitted
    /// for every packet, also for those without payload.
    Received {
        /// The packet.
        packet: &'a Packet,
    },
    /// A packet passed the eNB's end of the tunnel on S1-U: it entered the eNB (downlink) or left it
    /// (uplink).
    Tunnelled {
        /// The eNB's cell.
        cell: CellId,
        /// The packet; its size includes the headers of the tunnel.
        packet: &'a Packet,
    },
    /// A packet was dropped.
    Dropped {
        /// The packet.
        packet: &'a Packet,
        /// The cause.
        cause: DropCause,
    },
    /// A queue set CE on a packet that was not marked before (RFC 3168 §5).
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
        /// How many timeouts in a row; 1 for the first.
        backoff: u32,
        /// True if the sender was in loss recovery when it fired.
        in_recovery: bool,
    },
    /// A timeout was found to be spurious and was undone (F-RTO, Eifel).
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
        /// Payload of the segment.
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
        /// The window that the peer advertises, if there is one for the whole connection.
        offered_window: Option<Bytes>,
        /// The curve that the window follows, if the controller is CUBIC and has had a loss.
        cubic: Option<CubicCurve>,
    },
    /// The rates of a sender outside, which reports them from time to time.
    SenderRates {
        /// The flow.
        flow: FlowId,
        /// The rate at which it paces its packets; `None` if it does not pace.
        pacing: Option<BitRate>,
        /// The newest sample of the delivery rate.
        delivery: BitRate,
    },
    /// An ARWA receiver reports the state of the path with an acknowledgment.
    CodeSent {
        /// The flow.
        flow: FlowId,
        /// The case of its rule, 1 to 3.
        case: u8,
        /// The code.
        code: u8,
    },
    /// A sender changed its window because of a receiver's code.
    CodeApplied {
        /// The flow.
        flow: FlowId,
        /// The code.
        code: u8,
        /// Congestion window before and after.
        congestion_window: [Bytes; 2],
    },
    /// A video view reached its next step.
    Playback {
        /// The flow that fetches it.
        flow: FlowId,
        /// Counts the views of the flow, from 1.
        view: u32,
        /// The step.
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
        /// Time at which the application asked to connect.
        started_at: Instant,
    },
    /// The sender of a finite transfer received the acknowledgment of its last byte.
    FlowAcknowledged {
        /// The flow.
        flow: FlowId,
        /// Time at which the application asked to connect.
        started_at: Instant,
    },
    /// A PEP sent a message about a flow, or one arrived at the flow's sender.
    PepMessage {
        /// The flow.
        flow: FlowId,
        /// Stage of the message.
        fate: PepFate,
    },
    /// A sender classified a loss episode or a retransmission timeout.
    LossJudged {
        /// The flow.
        flow: FlowId,
        /// Send time of the newest of the lost segments.
        sent_at: Instant,
        /// True for a retransmission timeout.
        timeout: bool,
        /// The classification.
        verdict: LossVerdict,
    },
    /// A radio network information service sent a notification to a flow's server, or one arrived there.
    RadioInformation {
        /// The flow.
        flow: FlowId,
        /// Stage of the notification.
        fate: InformationFate,
    },
    /// The ends of a connection have agreed on secrets. Emitted before the first packet that they protect is
    /// sent.
    Secrets {
        /// The flow.
        flow: FlowId,
        /// Lines of a key log in NSS's format (draft-ietf-tls-keylogfile).
        lines: &'a str,
    },
    /// The path model of a model-based sender, after each acknowledgment and timeout.
    PathModel {
        /// The flow.
        flow: FlowId,
        /// The model.
        model: PathModel,
    },
    /// The windows of a sender that has one window per domain, emitted with [`Event::FlowState`].
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
    /// The buffer of a split-connection proxy for one connection and direction has changed.
    ProxyBuffer {
        /// The proxy's number.
        proxy: u32,
        /// The flow of the connection.
        flow: FlowId,
        /// The direction of the bytes.
        direction: Direction,
        /// Bytes before and now: received, but not yet acknowledged by the far peer.
        before: Bytes,
        /// See `before`.
        now: Bytes,
    },
    /// A finite transfer ended: its receiver has read all of it.
    FlowCompleted {
        /// The flow.
        flow: FlowId,
        /// Time at which the application asked to connect.
        started_at: Instant,
    },
    /// A browser began to load a page.
    PageBegan {
        /// The flow.
        flow: FlowId,
        /// The number of the page.
        page: u32,
    },
    /// A browser has loaded the whole page whose load began last.
    PageLoaded {
        /// The flow.
        flow: FlowId,
        /// From the start of the load to the first byte of the document's response.
        first_byte: Duration,
        /// From the start of the load to the last byte of its last object.
        time: Duration,
        /// Number of objects of the page.
        objects: u32,
        /// Bytes of the objects, including the headers of the responses.
        bytes: Bytes,
        /// Connections opened for it.
        connections: u32,
        /// DNS queries for it, including repetitions.
        queries: u32,
    },
    /// An echo message was sent.
    EchoSent {
        /// The flow.
        flow: FlowId,
        /// Counts the echo messages of the flow, from 0.
        serial: u64,
        /// Send time of the echo message.
        sent_at: Instant,
    },
    /// The reply to an echo message arrived.
    EchoAnswered {
        /// The flow.
        flow: FlowId,
        /// Serial of the echo message.
        serial: u64,
        /// Send time of the echo message.
        sent_at: Instant,
    },
    /// Real-time media reached its next step.
    Media {
        /// The flow.
        flow: FlowId,
        /// The direction of the media.
        direction: Direction,
        /// The step.
        step: MediaStep,
    },
    /// An application of XR sent a frame, whose packets follow.
    FrameSent {
        /// The flow.
        flow: FlowId,
        /// The frame.
        frame: SentFrame,
    },
    /// The MAC sent a transport block.
    TransportBlock {
        /// The cell.
        cell: CellId,
        /// The UE it is for, or from.
        ue: UeId,
        /// Downlink or uplink.
        direction: Direction,
        /// HARQ process of the block.
        process: u8,
        /// Modulation and coding scheme.
        mcs: u8,
        /// Physical resource blocks it took.
        prbs: u16,
        /// Size of the block.
        bytes: Bytes,
        /// 0 for a new block, 1 for the first HARQ retransmission, and so on.
        attempt: u8,
        /// False if it could not be decoded.
        decoded: bool,
        /// Uplink: the UE sent it with its maximum power, which is less than power control asked for.
        power_limited: bool,
    },
    /// A cell received a power headroom report.
    PowerHeadroom {
        /// The cell.
        cell: CellId,
        /// The UE that sent it.
        ue: UeId,
        /// The reported headroom: the middle of its level.
        headroom: Decibel,
    },
    /// The MAC sent nothing for a UE that had data: no MCS can be decoded (CQI 0), or the UE missed the
    /// grant.
    Unsent {
        /// The UE.
        ue: UeId,
        /// Downlink or uplink.
        direction: Direction,
    },
    /// The MAC chose the parameters of a transport block, once per transmission.
    /// [`Event::TransportBlock`] of the same cell, UE, direction and process reports the result.
    Assigned {
        /// The cell.
        cell: CellId,
        /// The UE it is for, or from.
        ue: UeId,
        /// Downlink or uplink.
        direction: Direction,
        /// HARQ process of the block.
        process: u8,
        /// Downlink: the lowest valid CQI among its resource block groups. The uplink is measured by
        /// sounding and has no CQI.
        cqi: Option<u8>,
        /// Bytes in the UE's queue that wait for their first transmission, without this block.
        queue: Bytes,
        /// Uplink with power control: the UE's power headroom on these resource blocks.
        headroom: Option<Decibel>,
        /// Uplink, first transmission: the error rate that the cell expected when it granted the block.
        expected_bler: Option<f32>,
        /// Uplink, first transmission: the power headroom on these resource blocks by the latest report that the cell
        /// had when it granted the block.
        reported_headroom: Option<Decibel>,
    },
    /// The position of a UE; reported periodically if requested.
    UePosition {
        /// The UE.
        ue: UeId,
        /// East and north, in metres.
        position_m: [f64; 2],
        /// The cell that serves it.
        cell: CellId,
        /// The state of its connection.
        rrc: RrcState,
        /// For how long it has listened to PDCCH so far; `None` for a UE that always does.
        listened: Option<Duration>,
    },
    /// A handover reached its next step.
    Handover {
        /// The UE.
        ue: UeId,
        /// Counts the handovers of the UE, attempts included.
        attempt: u32,
        /// The step.
        step: HandoverStep,
    },
    /// The RRC connection of a UE reached its next step.
    Connection {
        /// The UE.
        ue: UeId,
        /// Its cell.
        cell: CellId,
        /// The step.
        step: ConnectionStep,
    },
    /// The state of a secondary cell of a UE has changed.
    Carrier {
        /// The UE.
        ue: UeId,
        /// The secondary cell.
        cell: CellId,
        /// The change.
        step: CarrierStep,
        /// The serving cells of the UE that can be scheduled from now on, the primary one included.
        active: u32,
    },
    /// The secondary cell group of a UE has changed, or will.
    Scg {
        /// The UE.
        ue: UeId,
        /// The PSCell, or the cell that was reported.
        cell: CellId,
        /// The step.
        step: ScgStep,
        /// Whether the UE has a secondary cell group from now on.
        has_scg: bool,
    },
    /// A bearer has delivered an IP packet: PDCP at the UE (downlink) or at the eNB (uplink).
    SduDelivered {
        /// The UE.
        ue: UeId,
        /// Downlink or uplink.
        direction: Direction,
        /// The packet, without the headers of the tunnel.
        packet: &'a Packet,
        /// Time at which the packet entered the transmit queue of the bearer, at the eNB that sent it.
        queued_at: Instant,
    },
    /// The length of the transmit queue of a UE's bearer has changed since the last report.
    QueueDepth {
        /// The UE.
        ue: UeId,
        /// Downlink: the queue at the eNB. Uplink: the one at the UE.
        direction: Direction,
        /// Bytes that wait for their first transmission.
        bytes: Bytes,
    },
}
