//! The sender: its estimate of what is in the queue, and how much the forecast allows it to send.

use std::collections::VecDeque;

use airlane_core::{Duration, Instant};

use super::message::OVERHEAD;
use super::{FALLBACK, Forecast, Message, TICK, TICKS};

/// Bytes that the sender counts as one packet of the forecast (`sproutconn.cc`).
const PACKET: u64 = 1440;
/// Ticks that it looks ahead: 100 ms (`sproutconn.h`, `TARGET_DELAY_TICKS`).
const AHEAD: usize = 5;
/// A packet is lost if one that was sent more than this time later has arrived before it (`network.h`, `REORDER_LIMIT`).
const REORDER_LIMIT: Duration = Duration::from_millis(10);

/// The sender of a direction.
#[derive(Clone, Debug)]
pub struct SproutSender {
    /// Whether the application always has data; else packets carry forecasts only.
    has_data: bool,
    /// Bytes sent, as sequence numbers count them.
    sequence: u64,
    /// Sequence numbers and times of the packets of the last 10 ms.
    recent: VecDeque<(u64, Instant)>,
    /// Bytes in the queue, as it estimates them.
    queued: u64,
    /// The newest forecast, and when it arrived.
    forecast: Option<(Forecast, Instant)>,
    /// Ticks of the forecast that have passed.
    passed: usize,
    /// When it sends an empty packet, if it may not send data before.
    fallback: Instant,
    /// Whether the last packet was the last of its flight. The next one may then carry a forecast.
    ended_flight: bool,
}

impl SproutSender {
    /// A sender that begins at `start`.
    #[must_use]
    pub fn new(start: Instant, has_data: bool) -> Self {
        Self {
            has_data,
            sequence: 0,
            recent: VecDeque::new(),
            queued: 0,
            forecast: None,
            passed: 0,
            fallback: start + FALLBACK,
            ended_flight: true,
        }
    }

    /// A forecast arrived.
    pub fn handle_forecast(&mut self, now: Instant, forecast: Forecast) {
        self.queued = self.sequence.saturating_sub(forecast.received_or_lost);
        self.forecast = Some((forecast, now));
        self.passed = 0;
    }

    /// Takes from the queue what the link has delivered in the ticks that have passed, by the forecast. As in the authors'
    /// code, each tick takes the packets from the beginning of the forecast to the end of the tick, not those of the tick.
    fn pass(&mut self, now: Instant) {
        let Some((forecast, at)) = &self.forecast else { return };
        let ticks = (now.saturating_since(*at).as_nanos() / TICK.as_nanos()) as usize;
        while self.passed < ticks.min(TICKS - 1) {
            self.queued = self.queued.saturating_sub(PACKET * u64::from(forecast.counts[self.passed]));
            self.passed += 1;
        }
    }

    /// The bytes that it may send: what the forecast has for the next 100 ms, less those in the queue.
    pub fn window(&mut self, now: Instant) -> u64 {
        self.pass(now);
        let Some((forecast, _)) = &self.forecast else { return 0 };
        let ahead = (self.passed + AHEAD).min(TICKS - 1);
        let packets = forecast.counts[ahead].saturating_sub(forecast.counts[self.passed]);
        (PACKET * u64::from(packets)).saturating_sub(self.queued)
    }

    /// Passes the packets of a flight to `send`, if it may send data or has sent nothing for 50 ms. `forecast` returns the
    /// forecast for the other direction, if there is a new one.
    pub fn send_flight(
        &mut self,
        now: Instant,
        mut forecast: impl FnMut() -> Option<Forecast>,
        mut send: impl FnMut(Message),
    ) {
        if !self.has_data {
            if let Some(forecast) = forecast() {
                send(self.message(now, 0, Some(forecast), FALLBACK));
            }
            return;
        }
        let mut window = self.window(now);
        if window == 0 && now < self.fallback {
            return;
        }
        loop {
            let forecast = if self.ended_flight { forecast() } else { None };
            let data = window.min(Message::data_max(forecast.is_some()) as u64);
            window -= data;
            self.ended_flight = window == 0;
            let time_to_next = if self.ended_flight { FALLBACK } else { Duration::ZERO };
            send(self.message(now, data, forecast, time_to_next));
            if self.ended_flight {
                break;
            }
        }
        self.fallback = self.fallback.max(now + FALLBACK);
    }

    fn message(
        &mut self,
        now: Instant,
        data: u64,
        forecast: Option<Forecast>,
        time_to_next: Duration,
    ) -> Message {
        while self.recent.front().is_some_and(|&(_, at)| at + REORDER_LIMIT < now) {
            self.recent.pop_front();
        }
        let first = self.recent.front().map_or(self.sequence, |&(sequence, _)| sequence);
        self.recent.push_back((self.sequence, now));
        let throwaway_window = u16::try_from(self.sequence - first).unwrap_or(u16::MAX);
        let message = Message {
            sequence: self.sequence,
            throwaway_window,
            time_to_next,
            forecast,
            data: data as usize,
        };
        self.sequence += message.counted() + OVERHEAD;
        self.queued += message.counted();
        message
    }

    /// When [`Self::send_flight`] may send next: at the next tick of the forecast, or when an empty packet is due.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        if !self.has_data {
            return None;
        }
        let tick = self.forecast.filter(|_| self.passed < TICKS - 1);
        let passes = tick.map(|(_, at)| at + TICK * (self.passed as u64 + 1));
        Some(passes.map_or(self.fallback, |at| at.min(self.fallback)))
    }
}
