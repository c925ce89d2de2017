//! The forecasts against those of the authors' receiver, and the sender's account of its queue.

use airlane_core::{Duration, Instant};

use super::*;

/// The quantile of the authors' receiver (`receiver.cc`).
const QUANTILE: f64 = 0.05;

/// The arrivals of a row, as counts and numbers of ticks in sequence: "10 per tick 100 ticks, then 0 for 2".
fn arrivals(text: &str) -> Vec<(usize, usize)> {
    let numbers: Vec<usize> = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .map(|n| n.parse().unwrap())
        .collect();
    numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

#[test]
fn forecasts_are_those_of_the_authors_receiver() {
    let text = include_str!("../../../../python/airlane/data/field/sprout_forecast.csv");
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with('"')).collect();
    assert_eq!(rows.len(), 43);
    for row in rows {
        let (told, counts) = row[1..].split_once("\",").unwrap();
        let wanted: Vec<u16> = counts.split(',').map(|n| n.parse().unwrap()).collect();
        let mut forecaster = Forecaster::new(QUANTILE);
        for (count, ticks) in arrivals(told) {
            for _ in 0..ticks {
                forecaster.advance(Some(count));
            }
        }
        assert_eq!(forecaster.forecast().as_slice(), wanted, "{told}");
    }
}

#[test]
fn silence_is_an_outage_only_if_the_sender_would_have_sent() {
    let told = |time_to_next| {
        let mut receiver = SproutReceiver::new(QUANTILE);
        let mut message =
            Message { sequence: 0, throwaway_window: 0, time_to_next, forecast: None, data: 1398 };
        // Ten packets in each of 50 ticks, then none for 200 ms, and one packet.
        for tick in 0..50 {
            for _ in 0..10 {
                receiver.handle_message(Instant::from_millis(20 * tick + 1), &message);
                message.sequence += 1450;
            }
        }
        receiver.handle_message(Instant::from_millis(1_200), &message);
        receiver.take_forecast().unwrap().counts[7]
    };
    let (busy, idle) = (told(Duration::ZERO), told(Duration::from_secs(1)));
    assert!(busy < 3 && idle > 15, "{busy} and {idle} packets");
}

#[test]
fn nothing_is_new_before_a_tick_has_ended() {
    let mut receiver = SproutReceiver::new(QUANTILE);
    assert_eq!(receiver.take_forecast(), None);
    let message =
        Message { sequence: 0, throwaway_window: 0, time_to_next: FALLBACK, forecast: None, data: 0 };
    receiver.handle_message(Instant::from_millis(3), &message);
    assert_eq!(receiver.take_forecast().map(|one| one.received_or_lost), Some(2));
    receiver.handle_message(Instant::from_millis(23), &message);
    assert_eq!(receiver.take_forecast(), None, "a tick ends after 20 ms, not with them");
    receiver.handle_message(Instant::from_millis(24), &message);
    assert!(receiver.take_forecast().is_some());
}

/// The messages of a flight.
fn flight(sender: &mut SproutSender, at_ms: u64) -> Vec<Message> {
    let mut sent = vec![];
    sender.send_flight(Instant::from_millis(at_ms), || None, |message| sent.push(message));
    sent
}

#[test]
fn a_sender_fills_100_ms_less_its_queue() {
    let mut sender = SproutSender::new(Instant::ZERO, true);
    assert!(flight(&mut sender, 49).is_empty());
    let empty = flight(&mut sender, 50);
    assert_eq!((empty.len(), empty[0].data, empty[0].time_to_next), (1, 0, FALLBACK));
    // The one empty packet is counted with 50 B that its receiver does not count.
    let forecast = Forecast { received_or_lost: 2, counts: [1, 2, 4, 6, 8, 10, 12, 14] };
    sender.handle_forecast(Instant::from_millis(60), forecast);
    let sent = flight(&mut sender, 60);
    let data: usize = sent.iter().map(|one| one.data).sum();
    assert_eq!(data, (10 - 1) * 1440 - 50);
    let next: Vec<_> = sent.iter().map(|one| one.time_to_next.is_zero()).collect();
    assert_eq!(next, [true, true, true, true, true, true, true, true, false]);
    assert!(flight(&mut sender, 60).is_empty(), "the window is full");
    // A tick later a packet has left the queue, and the look-ahead is from the second tick on.
    assert_eq!(sender.next_timeout(), Some(Instant::from_millis(80)));
    let queued = data + 2 * sent.len() + 50;
    assert_eq!(sender.window(Instant::from_millis(80)) as usize, (12 - 2) * 1440 - (queued - 1440));
}

#[test]
fn a_forecast_runs_out_after_its_ticks() {
    let mut sender = SproutSender::new(Instant::ZERO, true);
    let mut counts = [0; TICKS];
    counts.iter_mut().enumerate().for_each(|(tick, count)| *count = 10 * (tick as u16 + 1));
    sender.handle_forecast(Instant::ZERO, Forecast { received_or_lost: 0, counts });
    let windows: Vec<u64> = [0, 40, 60, 100, 140, 5_000]
        .iter()
        .map(|&ms| sender.window(Instant::from_millis(ms)) / 1440)
        .collect();
    assert_eq!(windows, [50, 50, 40, 20, 0, 0]);
    assert_eq!(sender.next_timeout(), Some(Instant::ZERO + FALLBACK));
}

#[test]
fn messages_survive_the_wire_and_others_are_refused() {
    let forecast = Forecast { received_or_lost: 1 << 40, counts: [0, 1, 2, 3, 500, 501, 502, 503] };
    for forecast in [None, Some(forecast)] {
        let message = Message {
            sequence: 77_000_000_000,
            throwaway_window: 65_535,
            time_to_next: FALLBACK,
            forecast,
            data: Message::data_max(forecast.is_some()),
        };
        let bytes = message.encode();
        assert_eq!(bytes.len(), 1_472, "a packet of 1500 B");
        assert_eq!(Message::decode(&bytes), Some(message));
        assert_eq!(Message::decode(&bytes[..33]), None);
    }
    assert_eq!(Message::decode(&[1; 200]), None);
}
