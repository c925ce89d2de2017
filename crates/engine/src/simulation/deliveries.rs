//! The queue of packets that are passed from node to node at one instant.

use airlane_core::PacketRef;

use crate::network::End;

/// A packet on its way to a node.
pub(super) struct Delivery {
    pub(super) to: End,
    pub(super) packet: PacketRef,
}

/// The packets that are transferred at one instant, in the order in which they were sent.
#[derive(Default)]
pub(super) struct Deliveries {
    /// Places before `first` are empty.
    places: Vec<Option<Delivery>>,
    first: usize,
}

impl Deliveries {
    /// Maximum number of empty places in front of the others.
    const GONE_MAX: usize = 4096;

    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { places: Vec::with_capacity(capacity), first: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, delivery: Delivery) {
        self.places.push(Some(delivery));
    }

    /// Queues a delivery behind the others, and takes the first.
    #[inline]
    pub(super) fn exchange(&mut self, delivery: Delivery) -> Option<Delivery> {
        if self.places.is_empty() {
            return Some(delivery);
        }
        self.push(delivery);
        self.pop()
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Delivery> {
        let delivery = self.places.get_mut(self.first)?.take();
        self.first += 1;
        if self.first == self.places.len() {
            self.places.clear();
            self.first = 0;
        } else if self.first > Self::GONE_MAX {
            self.places.drain(..self.first);
            self.first = 0;
        }
        delivery
    }
}
