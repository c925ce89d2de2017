//! Packets on bad links.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use airlane_core::{DropCause, Duration, Instant, PacketPool, PacketRef, Stream};

/// A link, both ways.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channel {
    pub(crate) delay_us: u64,
    /// Maximum additional delay, uniformly distributed: packets overtake each other.
    pub(crate) jitter_us: u64,
    pub(crate) loss: f64,
    pub(crate) duplication: f64,
}

impl Channel {
    pub(crate) const GOOD: Self = Self { delay_us: 10_000, jitter_us: 0, loss: 0.0, duplication: 0.0 };

    /// A link with only a delay.
    pub(crate) const fn of_delay(delay_us: u64) -> Self {
        Self { delay_us, ..Self::GOOD }
    }
}

/// All packets under way, each to a place.
pub(crate) struct Flights<T> {
    /// Arrival time, number of packets sent before, and storage place.
    order: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    parcels: Vec<Option<(T, PacketRef)>>,
    draw: Stream,
    sent: u64,
}

impl<T: Copy> Flights<T> {
    pub(crate) const fn new(draw: Stream) -> Self {
        Self { order: BinaryHeap::new(), parcels: vec![], draw, sent: 0 }
    }

    /// The next arrival time.
    pub(crate) fn next(&self) -> Instant {
        self.order.peek().map_or(Instant::FAR_FUTURE, |Reverse((at, ..))| *at)
    }

    /// Removes that packet.
    pub(crate) fn pop(&mut self) -> Option<(T, PacketRef)> {
        let Reverse((_, _, parcel)) = self.order.pop()?;
        self.parcels[parcel as usize].take()
    }

    /// Sends a packet into a link, to a place.
    pub(crate) fn send(
        &mut self,
        (now, pool): (Instant, &mut PacketPool),
        channel: Channel,
        to: T,
        packet: PacketRef,
    ) {
        let Channel { delay_us, jitter_us, loss, duplication } = channel;
        if duplication > 0.0 && self.draw.chance(duplication) {
            let twin = pool.get(&packet).clone();
            let twin = pool.insert(twin);
            let delay_us = delay_us + self.draw_jitter(jitter_us);
            self.fly(now + Duration::from_micros(delay_us), to, twin);
        }
        if loss > 0.0 && self.draw.chance(loss) {
            let lost = pool.discard(packet, DropCause::RandomLoss);
            return pool.recycle(lost);
        }
        let delay_us = delay_us + self.draw_jitter(jitter_us);
        self.fly(now + Duration::from_micros(delay_us), to, packet);
    }

    fn draw_jitter(&mut self, most: u64) -> u64 {
        if most == 0 { 0 } else { self.draw.below(most) }
    }

    fn fly(&mut self, at: Instant, to: T, packet: PacketRef) {
        let parcel = self.parcels.iter().position(Option::is_none).unwrap_or_else(|| {
            self.parcels.push(None);
            self.parcels.len() - 1
        });
        self.parcels[parcel] = Some((to, packet));
        self.sent += 1;
        self.order.push(Reverse((at, self.sent, parcel as u32)));
    }
}
