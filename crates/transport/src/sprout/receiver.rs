//! The receiver: arrivals by ticks, bytes received or lost, and new forecasts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use airlane_core::Instant;

use super::{Forecast, Forecaster, Message, TICK};

/// Bytes that the receiver counts as one packet of the forecast (`receiver.cc`).
const PACKET: f64 = 1400.0;

/// The receiver of a direction.
#[derive(Clone, Debug)]
pub struct SproutReceiver {
    forecaster: Forecaster,
    /// The beginning of the tick that has not ended; `None` before the first packet.
    tick: Option<Instant>,
    /// A tick without arrivals that begins from then on is an outage of the link; before, the sender may have been idle.
    silent_from: Instant,
    /// Packets of 1400 B that arrived in the tick.
    arrived: f64,
    bytes: ReceivedBytes,
    /// Whether a tick has ended since the last forecast.
    is_new: bool,
}

impl SproutReceiver {
    /// A receiver without packets, whose forecasts are this quantile of the deliveries.
    ///
    /// # Panics
    /// If `quantile` is not above 0 and below 1.
    #[must_use]
    pub fn new(quantile: f64) -> Self {
        Self {
            forecaster: Forecaster::new(quantile),
            tick: None,
            silent_from: Instant::ZERO,
            arrived: 0.0,
            bytes: ReceivedBytes::default(),
            is_new: true,
        }
    }

    /// A packet arrived.
    pub fn handle_message(&mut self, now: Instant, message: &Message) {
        let tick = self.advance_to(now);
        self.arrived += message.counted() as f64 / PACKET;
        self.bytes.receive(message);
        self.silent_from = self.silent_from.max(tick + message.time_to_next);
    }

    /// Ends the ticks before `now`, and returns the beginning of the one that is open.
    fn advance_to(&mut self, now: Instant) -> Instant {
        let mut tick = *self.tick.get_or_insert(now);
        while tick + TICK < now {
            let could_arrive = self.arrived > 0.0 || tick >= self.silent_from;
            self.forecaster.advance(could_arrive.then(|| whole(self.arrived)));
            self.arrived = 0.0;
            tick += TICK;
            self.is_new = true;
        }
        self.tick = Some(tick);
        tick
    }

    /// The forecast, if there is a new one: a packet has arrived, and a tick has ended since the last forecast.
    pub fn take_forecast(&mut self) -> Option<Forecast> {
        if !self.is_new || self.tick.is_none() {
            return None;
        }
        self.is_new = false;
        Some(Forecast { received_or_lost: self.bytes.count(), counts: self.forecaster.forecast() })
    }
}

/// A number of packets as a count: rounded, but 1 if anything arrived.
fn whole(packets: f64) -> usize {
    if packets > 0.0 && packets < 1.0 { 1 } else { libm::floor(packets + 0.5) as usize }
}

/// The bytes of a sequence that have arrived or are lost. As in the authors' code, the bytes after those that are given up
/// count without the overhead of their packets.
#[derive(Clone, Debug, Default)]
struct ReceivedBytes {
    /// Each byte before this has arrived or is lost.
    given_up: u64,
    /// Sequence numbers and lengths of the packets from there on.
    later: BinaryHeap<Reverse<(u64, u64)>>,
    /// The sum of these lengths.
    later_bytes: u64,
}

impl ReceivedBytes {
    fn receive(&mut self, message: &Message) {
        self.later.push(Reverse((message.sequence, message.counted())));
        self.later_bytes += message.counted();
        let given_up = message.sequence.saturating_sub(u64::from(message.throwaway_window));
        self.given_up = self.given_up.max(given_up);
        while let Some(&Reverse((sequence, length))) = self.later.peek() {
            if sequence >= self.given_up {
                break;
            }
            self.later.pop();
            self.later_bytes -= length;
        }
    }

    const fn count(&self) -> u64 {
        self.given_up + self.later_bytes
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::Duration;

    use super::*;

    fn message(sequence: u64, throwaway_window: u16) -> Message {
        let time_to_next = Duration::ZERO;
        Message { sequence, throwaway_window, time_to_next, forecast: None, data: 98 }
    }

    #[test]
    fn a_missing_packet_is_lost_when_a_later_one_gives_it_up() {
        let mut bytes = ReceivedBytes::default();
        bytes.receive(&message(0, 0));
        assert_eq!(bytes.count(), 100);
        // The packet from 150 on is missing, and may still come.
        bytes.receive(&message(300, 300));
        assert_eq!(bytes.count(), 200);
        bytes.receive(&message(450, 150));
        assert_eq!(bytes.count(), 300 + 2 * 100);
        // It comes too late, and counts once.
        bytes.receive(&message(150, 150));
        assert_eq!(bytes.count(), 300 + 2 * 100);
    }

    #[test]
    fn part_of_a_packet_counts_as_one() {
        assert_eq!([0.0, 0.01, 0.9, 1.0, 1.49, 1.5, 7.6].map(whole), [0, 1, 1, 1, 1, 2, 8]);
    }
}
