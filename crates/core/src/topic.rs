//! Kinds of events, which an observer names.

use crate::Event;

/// A kind of event. A sink names the topics it needs; an event of any other topic costs one bit test.
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
    /// [`Event::FlowState`] and [`Event::SenderRates`].
    FlowState,
    /// [`Event::FlowSent`], [`Event::FlowAcknowledged`], [`Event::FlowCompleted`] and [`Event::FlowGaveUp`].
    FlowCompleted,
    /// [`Event::PowerHeadroom`].
    PowerHeadroom,
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
    /// [`Event::EchoSent`] and [`Event::EchoAnswered`].
    Echo,
    /// [`Event::SduDelivered`].
    SduDelivered,
    /// [`Event::Connection`].
    Connection,
    /// [`Event::Media`].
    Media,
    /// [`Event::FrameSent`].
    Frame,
    /// [`Event::Carrier`].
    Carrier,
    /// [`Event::Subflow`].
    Subflow,
    /// [`Event::Scg`].
    Scg,
}

/// A set of topics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicSet(u64);

impl TopicSet {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// The set with one more topic.
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
    /// True if the topic is in the set.
    #[must_use]
    pub const fn wants(self, topic: Topic) -> bool {
        self.0 & (1 << topic as u8) != 0
    }
}

impl Event<'_> {
    /// The topic of the event.
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
            Self::FlowState { .. } | Self::SenderRates { .. } => Topic::FlowState,
            Self::FlowSent { .. }
            | Self::FlowAcknowledged { .. }
            | Self::FlowCompleted { .. }
            | Self::FlowGaveUp { .. } => Topic::FlowCompleted,
            Self::PowerHeadroom { .. } => Topic::PowerHeadroom,
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
            Self::EchoSent { .. } | Self::EchoAnswered { .. } => Topic::Echo,
            Self::SduDelivered { .. } => Topic::SduDelivered,
            Self::Connection { .. } => Topic::Connection,
            Self::Media { .. } => Topic::Media,
            Self::FrameSent { .. } => Topic::Frame,
            Self::Carrier { .. } => Topic::Carrier,
            Self::Subflow { .. } => Topic::Subflow,
            Self::Scg { .. } => Topic::Scg,
        }
    }
}
