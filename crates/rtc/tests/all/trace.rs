//! The figures of a call.

use airlane_core::{BitRate, Bytes, Duration, Instant};

/// A packet that left the link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    pub(crate) at: Instant,
    pub(crate) size: Bytes,
    /// The time in the queue, without the transmission of the packet.
    pub(crate) queued: Duration,
    pub(crate) marked: bool,
}

/// What happened in a call.
#[derive(Default)]
pub(crate) struct Trace {
    pub(crate) delivered: Vec<Delivered>,
    pub(crate) dropped: u64,
    /// After each report: the time, the target, the round-trip time of the newest packet without the time for which the
    /// report was held.
    pub(crate) targets: Vec<(Instant, BitRate, Duration)>,
}

impl Trace {
    fn within(&self, from_s: f64, to_s: f64) -> impl Iterator<Item = &Delivered> {
        self.delivered.iter().filter(move |packet| {
            let at = packet.at.as_secs_f64();
            from_s <= at && at < to_s
        })
    }

    /// The rate out of the link, in Mbit/s.
    pub(crate) fn rate(&self, from_s: f64, to_s: f64) -> f64 {
        let bytes: u64 = self.within(from_s, to_s).map(|packet| packet.size.get()).sum();
        bytes as f64 * 8e-6 / (to_s - from_s)
    }

    /// A percentile of the time in the queue, in ms.
    pub(crate) fn queue_ms(&self, from_s: f64, to_s: f64, percent: usize) -> f64 {
        percentile(self.within(from_s, to_s).map(|packet| packet.queued).collect(), percent)
    }

    /// The part of the bytes with a CE mark, in percent.
    pub(crate) fn marked(&self, from_s: f64, to_s: f64) -> f64 {
        let bytes = |marked: bool| -> u64 {
            self.within(from_s, to_s)
                .filter(|packet| packet.marked || !marked)
                .map(|packet| packet.size.get())
                .sum()
        };
        100.0 * bytes(true) as f64 / bytes(false) as f64
    }

    /// Seconds from `from_s` until the rate over 1 s before has reached `rate` Mbit/s, in steps of 0.1 s.
    pub(crate) fn reaches(&self, from_s: f64, rate: f64) -> f64 {
        let steps = 1..1000;
        let after = |step: i32| f64::from(step) / 10.0;
        steps
            .map(after)
            .find(|after| self.rate(from_s + after - 1.0, from_s + after) >= rate)
            .unwrap_or(f64::INFINITY)
    }

    /// The targets in kbit/s after each report of this time: the smallest and the largest.
    pub(crate) fn target_kbps(&self, from_s: f64, to_s: f64) -> (f64, f64) {
        let within = |at: Instant| from_s <= at.as_secs_f64() && at.as_secs_f64() < to_s;
        let targets = self.targets.iter().filter(|(at, ..)| within(*at));
        targets.fold((f64::INFINITY, 0.0), |(least, most), (_, target, _)| {
            (f64::min(least, kbps(*target)), f64::max(most, kbps(*target)))
        })
    }

    /// The target in kbit/s at each whole second of this time.
    pub(crate) fn each_second_kbps(&self, from_s: u64, to_s: u64) -> Vec<f64> {
        let before = |second: u64| {
            let at = Instant::from_millis(1000 * second);
            let index = self.targets.partition_point(|(reported, ..)| *reported <= at);
            kbps(self.targets[index - 1].1)
        };
        (from_s..=to_s).map(before).collect()
    }

    /// The largest smoothed round-trip time, in ms, with the gain 1/8 on each report.
    pub(crate) fn smoothed_rtt_ms(&self, from_s: f64) -> f64 {
        let (mut smoothed, mut most) = (None, 0.0);
        for (at, _, rtt) in &self.targets {
            let ms = rtt.as_millis_f64();
            let value = smoothed.map_or(ms, |smoothed: f64| smoothed + (ms - smoothed) / 8.0);
            smoothed = Some(value);
            if at.as_secs_f64() >= from_s {
                most = f64::max(most, value);
            }
        }
        most
    }
}

fn kbps(rate: BitRate) -> f64 {
    rate.bits_per_second() as f64 / 1e3
}

fn percentile(mut spans: Vec<Duration>, percent: usize) -> f64 {
    spans.sort_unstable();
    let index = (spans.len() * percent / 100).min(spans.len() - 1);
    spans[index].as_millis_f64()
}
