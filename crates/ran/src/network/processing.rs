//! The time that eNBs and UEs take to process packets before and after the air interface.
//!
//! A packet that arrives at an eNB or a UE enters the queue of its bearer after the processing time of the sender, and a
//! packet that was received leaves after that of the receiver. Both are those of the cell that serves the UE. Packets of
//! one port never overtake each other, also if the UE is handed over to a cell that is faster.

use std::collections::VecDeque;

use airlane_core::{Cx, Direction, Duration, Instant, PacketRef, Port};

use super::RadioNetwork;
use crate::config::{ProcessingTimes, RanConfig};

/// A packet that is being processed.
#[derive(Debug)]
struct Processed {
    until: Instant,
    port: Port,
    packet: PacketRef,
}

/// Packets that are being processed, in the order of their times.
#[derive(Debug)]
struct Line {
    packets: VecDeque<Processed>,
    /// The latest time of a packet, by port.
    latest: Vec<Instant>,
}

impl Line {
    fn new(ports: usize) -> Self {
        Self { packets: VecDeque::with_capacity(64), latest: vec![Instant::ZERO; ports] }
    }

    fn push(&mut self, until: Instant, port: Port, packet: PacketRef) {
        let place = usize::from(port);
        if place >= self.latest.len() {
            self.latest.resize(place + 1, Instant::ZERO);
        }
        let until = until.max(self.latest[place]);
        self.latest[place] = until;
        let processed = Processed { until, port, packet };
        // Usually the last one: the times of a network differ little.
        match self.packets.iter().rev().take_while(|other| other.until > until).count() {
            0 => self.packets.push_back(processed),
            later => self.packets.insert(self.packets.len() - later, processed),
        }
    }

    fn due(&self) -> Instant {
        self.packets.front().map_or(Instant::FAR_FUTURE, |first| first.until)
    }

    fn pop(&mut self, until: Instant) -> Option<Processed> {
        if self.due() > until {
            return None;
        }
        self.packets.pop_front()
    }
}

/// The packets that eNBs and UEs are processing.
#[derive(Debug)]
pub(super) struct Processing {
    /// Those that will enter the queues of bearers.
    entering: Line,
    /// Those that were received.
    leaving: Line,
}

impl Processing {
    /// `None` if no cell of the network takes any time.
    pub(super) fn of(config: &RanConfig) -> Option<Box<Self>> {
        let ports = config.cells.len() + 1 + config.ues.len();
        let is_timed = config.cells.iter().any(|cell| cell.processing != ProcessingTimes::NONE);
        is_timed.then(|| Box::new(Self { entering: Line::new(ports), leaving: Line::new(ports) }))
    }

    /// When the first packet enters a queue or leaves.
    pub(super) fn due(&self) -> Instant {
        self.entering.due().min(self.leaving.due())
    }

    pub(super) fn packets_held(&self) -> usize {
        self.entering.packets.len() + self.leaving.packets.len()
    }
}

impl RadioNetwork {
    /// The processing times at a port: those of its cell, or of the cell that serves its UE. `None` at the port of the
    /// information service.
    fn processing_at(&self, port: Port) -> Option<(Direction, ProcessingTimes)> {
        let cells = self.cells.len();
        let of = |cell: usize| self.cells[cell].config.processing;
        let place = usize::from(port);
        if place < cells {
            return Some((Direction::Downlink, of(place)));
        }
        let ue = self.ues.get(place.checked_sub(cells + 1)?)?;
        Some((Direction::Uplink, of(ue.cell().index())))
    }

    /// How long the eNB of the only cell processes a packet from the core.
    pub(super) fn first_processing(&self) -> Duration {
        match &self.processing {
            Some(_) => self.cells[0].config.processing.enb_transmit,
            None => Duration::ZERO,
        }
    }

    /// A packet arrives at an eNB or a UE, which begins to process it. Returns the packet if that takes no time.
    pub(super) fn begin_processing(
        &mut self,
        now: Instant,
        port: Port,
        packet: PacketRef,
    ) -> Option<PacketRef> {
        if self.processing.is_none() {
            return Some(packet);
        }
        let takes = match self.processing_at(port) {
            Some((Direction::Downlink, times)) => times.enb_transmit,
            Some((Direction::Uplink, times)) => times.ue_transmit,
            None => return Some(packet),
        };
        let processing = self.processing.as_mut()?;
        processing.entering.push(now + takes, port, packet);
        None
    }

    /// Packets that were received from `first` of the outbox on are processed before they leave.
    #[inline]
    pub(super) fn process_received(&mut self, cx: &mut Cx<'_>, first: usize) {
        if self.processing.is_some() && cx.outbox.len() > first {
            self.begin_processing_received(cx, first);
        }
    }

    #[inline(never)]
    fn begin_processing_received(&mut self, cx: &mut Cx<'_>, first: usize) {
        let Some(mut processing) = self.processing.take() else { return };
        let (mut kept, at_once) = (first, self.information_port());
        for place in first..cx.outbox.len() {
            if cx.outbox[place].0 == at_once {
                cx.outbox.swap(kept, place);
                kept += 1;
            }
        }
        // Packets of one block have one port.
        let mut latest = (at_once, Duration::ZERO);
        for (port, packet) in cx.outbox.drain(kept..) {
            if port != latest.0 {
                let takes = match self.processing_at(port) {
                    Some((Direction::Downlink, times)) => times.enb_receive,
                    Some((Direction::Uplink, times)) => times.ue_receive,
                    None => Duration::ZERO,
                };
                latest = (port, takes);
            }
            processing.leaving.push(cx.now + latest.1, port, packet);
        }
        self.processing = Some(processing);
    }

    /// When the first packet has been processed.
    #[inline]
    pub(super) fn next_processed(&self) -> Instant {
        self.processing.as_ref().map_or(Instant::FAR_FUTURE, |processing| processing.due())
    }

    /// Packets that have been processed by `until` enter the queues of their bearers, or leave: up to one that makes an
    /// idle network busy. Returns true if there was any.
    #[inline]
    pub(super) fn take_processed(&mut self, cx: &mut Cx<'_>, until: Instant) -> bool {
        let is_due = self.next_processed() <= until;
        if is_due {
            self.take_due(cx, until);
        }
        is_due
    }

    #[inline(never)]
    fn take_due(&mut self, cx: &mut Cx<'_>, until: Instant) {
        let was_busy = self.busy;
        while self.busy == was_busy
            && let Some(processing) = &mut self.processing
            && processing.due() <= until
        {
            if let Some(Processed { port, packet, .. }) = processing.leaving.pop(processing.due()) {
                cx.send(port, packet);
            } else if let Some(Processed { until, port, packet }) = processing.entering.pop(until) {
                let called = core::mem::replace(&mut cx.now, until);
                self.receive(cx, port, packet);
                cx.now = called;
            }
        }
    }
}
