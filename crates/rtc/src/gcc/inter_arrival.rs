//! Groups of packets that were sent together, and the differences between them.
//!
//! libwebrtc f3ae3eb, `inter_arrival_delta.cc`.

use airlane_core::Instant;

use super::rate::signed_nanos;
use super::settings::Grouping;

/// How far a group is from the group before, in ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GroupDelta {
    /// In the time of sending.
    pub(super) sent: f64,
    /// In the time of arrival.
    pub(super) arrived: f64,
}

/// A packet as feedback reports it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// When it was sent.
    pub(super) sent: Instant,
    /// When it arrived, by the receiver's clock.
    pub(super) arrived: Instant,
    /// When the feedback arrived.
    pub(super) reported: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Instant,
    last_sent: Instant,
    first_arrived: Instant,
    complete: Instant,
    reported: Instant,
}

/// Collects packets into groups.
#[derive(Clone, Debug)]
pub(super) struct InterArrival {
    settings: Grouping,
    current: Option<Group>,
    previous: Option<Group>,
    reordered: u32,
}

impl InterArrival {
    pub(super) const fn new(settings: Grouping) -> Self {
        Self { settings, current: None, previous: None, reordered: 0 }
    }

    /// Adds a packet; returns the distance of the last two complete groups if it starts a new group.
    pub(super) fn add(&mut self, packet: Arrival) -> Option<GroupDelta> {
        let start = Group {
            first_sent: packet.sent,
            last_sent: packet.sent,
            first_arrived: packet.arrived,
            complete: packet.arrived,
            reported: packet.reported,
        };
        let Some(mut group) = self.current else {
            self.current = Some(start);
            return None;
        };
        if packet.sent < group.first_sent {
            return None;
        }
        if !self.starts_group(&group, packet) {
            group.last_sent = group.last_sent.max(packet.sent);
            group.complete = packet.arrived;
            group.reported = packet.reported;
            self.current = Some(group);
            return None;
        }
        let delta = match self.previous {
            Some(previous) => Some(self.delta(&previous, &group)?),
            None => None,
        };
        self.previous = Some(group);
        self.current = Some(start);
        delta
    }

    /// The distance of two groups; `None` if their order or the receiver's clock makes no sense.
    fn delta(&mut self, previous: &Group, group: &Group) -> Option<GroupDelta> {
        let arrived = signed_nanos(group.complete, previous.complete);
        let reported = signed_nanos(group.reported, previous.reported);
        if arrived - reported >= self.settings.clock_offset.as_nanos() as i64 {
            self.reset();
            return None;
        }
        if arrived < 0 {
            self.reordered += 1;
            if self.reordered >= self.settings.reordered_max {
                self.reset();
            }
            return None;
        }
        self.reordered = 0;
        let sent = signed_nanos(group.last_sent, previous.last_sent);
        Some(GroupDelta { sent: sent as f64 / 1e6, arrived: arrived as f64 / 1e6 })
    }

    fn starts_group(&self, group: &Group, packet: Arrival) -> bool {
        let since_first = packet.sent.saturating_since(group.first_sent);
        !self.in_burst(group, packet) && since_first > self.settings.send_time
    }

    /// Whether the packet arrived with the group although it was sent later: a queue in the path let both go.
    fn in_burst(&self, group: &Group, packet: Arrival) -> bool {
        let sent = signed_nanos(packet.sent, group.last_sent);
        if sent == 0 {
            return true;
        }
        let arrived = signed_nanos(packet.arrived, group.complete);
        arrived < sent
            && arrived <= self.settings.burst_gap.as_nanos() as i64
            && signed_nanos(packet.arrived, group.first_arrived) < self.settings.burst_max.as_nanos() as i64
    }

    const fn reset(&mut self) {
        self.current = None;
        self.previous = None;
        self.reordered = 0;
    }
}
