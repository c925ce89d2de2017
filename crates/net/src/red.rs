//! RED: random early detection (S. Floyd and V. Jacobson, "Random Early Detection Gateways for
//! Congestion Avoidance", IEEE/ACM Transactions on Networking 1(4), 1993), with the gentle slope
//! above the upper threshold (S. Floyd, "Recommendation on using the gentle_ variant of RED",
//! 2000).
//!
//! Each arrival updates an average of the queue's length. Between two thresholds the average
//! determines the probability with which the packet is dropped or marked. The number of packets
//! between two drops is then uniform, not geometric (§VII of the paper, method 2).
//!
//! Not included: the queue in bytes and probabilities in proportion to the packet's size (§V), and
//! Adaptive RED.

use airlane_core::{Bytes, Cx, DropCause, Duration, Instant, PacketRef, Stream};

use crate::queue::{Backlog, DropTail, Limit, QueueDiscipline, QueueStatistics, Waiting};

/// Parameters of RED.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Below this average nothing is dropped; packets.
    pub min_threshold: f64,
    /// At this average the probability reaches `max_probability`; packets.
    pub max_threshold: f64,
    /// The weight of a new length in the average; above 0, at most 1.
    pub weight: f64,
    /// Drop probability at the upper threshold, before it is spread evenly.
    pub max_probability: f64,
    /// Above the upper threshold: true to let the probability grow to 1 at twice the threshold,
    /// false to drop everything.
    pub gentle: bool,
    /// The transmission time of a typical packet. An idle time counts as if this many packets had
    /// arrived at an empty queue.
    pub packet_time: Duration,
    /// Marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            min_threshold: 5.0,                    // the paper's simulations, §IX
            max_threshold: 15.0,                   // the same
            weight: 0.002,                         // the same
            max_probability: 0.02,                 // the same, 1/50
            gentle: true,                          // Floyd 2000
            packet_time: Duration::from_millis(1), // a slot of LTE
            ecn: false,
        }
    }
}

/// The decision about a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Accept,
    /// Drop it or mark it.
    Signal,
    /// Drop it: the average is above the range that marks can control.
    Drop,
}

/// The average and the count of the paper's figure 2.
#[derive(Clone, Debug)]
struct Detector {
    parameters: Parameters,
    average: f64,
    /// Logarithm of the factor by which the average decays per idle packet time.
    decay: f64,
    /// Since when the queue has been empty.
    idle_since: Option<Instant>,
    /// Packets since the last signal; none while the average is below the lower threshold.
    count: Option<u32>,
}

impl Detector {
    /// # Panics
    /// If the thresholds are not in order or a share is not in its range.
    fn new(parameters: Parameters) -> Self {
        let Parameters { min_threshold, max_threshold, weight, max_probability, packet_time, .. } =
            parameters;
        assert!(0.0 <= min_threshold && min_threshold < max_threshold, "thresholds out of order");
        assert!(0.0 < weight && weight <= 1.0, "a weight above 0, at most 1");
        assert!(0.0 < max_probability && max_probability <= 1.0, "a probability above 0, at most 1");
        assert!(!packet_time.is_zero(), "a packet takes time");
        let decay = libm::log1p(-weight);
        Self { parameters, average: 0.0, decay, idle_since: Some(Instant::ZERO), count: None }
    }

    /// Updates the average with the length at an arrival.
    fn observe(&mut self, now: Instant, queued: usize) {
        let weight = self.parameters.weight;
        match self.idle_since.replace(now) {
            Some(since) => {
                let missed = (now - since).as_nanos() as f64 / self.parameters.packet_time.as_nanos() as f64;
                if missed > 0.0 {
                    self.average *= libm::exp(self.decay * missed); // (1 - weight)^missed
                }
            }
            None => {
                self.idle_since = None;
                self.average += weight * (queued as f64 - self.average);
            }
        }
    }

    /// The probability before it is spread (the paper's p_b).
    fn base_probability(&self) -> f64 {
        let Parameters { min_threshold, max_threshold, max_probability, .. } = self.parameters;
        if self.average < max_threshold {
            max_probability * (self.average - min_threshold) / (max_threshold - min_threshold)
        } else {
            // Gentle: from max_p at the upper threshold to 1 at twice the threshold.
            max_probability + (1.0 - max_probability) * (self.average - max_threshold) / max_threshold
        }
    }

    /// Judges an arrival; `draw` is called only when the result depends on it.
    fn judge(&mut self, draw: impl FnOnce() -> f64) -> Verdict {
        let Parameters { min_threshold, max_threshold, gentle, .. } = self.parameters;
        if self.average < min_threshold {
            self.count = None;
            return Verdict::Accept;
        }
        if self.average >= if gentle { 2.0 * max_threshold } else { max_threshold } {
            self.count = Some(0);
            return Verdict::Drop;
        }
        let count = self.count.map_or(0, |count| count.saturating_add(1));
        let base = self.base_probability();
        let rest = 1.0 - f64::from(count) * base;
        let signal = rest <= 0.0 || draw() < base / rest; // p_a = p_b / (1 - count p_b)
        self.count = Some(if signal { 0 } else { count });
        if signal { Verdict::Signal } else { Verdict::Accept }
    }
}

/// RED over a drop-tail queue.
#[derive(Debug)]
pub struct Red {
    queue: DropTail,
    detector: Detector,
    stream: Stream,
    dropped: u64,
    marked: u64,
}

impl Red {
    /// An empty queue that draws from `stream`.
    ///
    /// # Panics
    /// If the thresholds are not in order, or weight or probability are not above 0 and at most 1.
    #[must_use]
    pub fn new(limit: Limit, parameters: Parameters, stream: Stream) -> Self {
        let detector = Detector::new(parameters);
        Self { queue: DropTail::new(limit), detector, stream, dropped: 0, marked: 0 }
    }

    /// The average length in packets.
    #[must_use]
    pub fn average(&self) -> f64 {
        self.detector.average
    }

    fn note_idle(&mut self, now: Instant) {
        if self.queue.len() == 0 && self.detector.idle_since.is_none() {
            self.detector.idle_since = Some(now);
        }
    }
}

impl QueueDiscipline for Red {
    fn enqueue(&mut self, cx: &mut Cx<'_>, packet: PacketRef, ahead: Bytes) {
        self.detector.observe(cx.now, self.queue.len());
        let verdict = self.detector.judge(|| self.stream.uniform());
        let taken = match verdict {
            Verdict::Accept => true,
            // A packet that does not fit is dropped: no mark.
            Verdict::Signal if !self.queue.has_room(cx, &packet, ahead) => true,
            Verdict::Signal => {
                let marked = self.detector.parameters.ecn && cx.mark(&packet);
                self.marked += u64::from(marked);
                marked
            }
            Verdict::Drop => false, // RFC 3168 §7: beyond the upper threshold, drop also those
        };
        if !taken {
            self.dropped += 1;
            cx.discard(packet, DropCause::QueueManagement);
            return;
        }
        self.queue.enqueue(cx, packet, ahead);
        if self.queue.len() > 0 {
            self.detector.idle_since = None;
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        let head = self.queue.pop();
        self.note_idle(cx.now);
        head
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn oldest(&self) -> Option<Instant> {
        self.queue.oldest()
    }

    fn expire(&mut self, cx: &mut Cx<'_>, until: Instant) {
        self.queue.expire(cx, until);
        self.note_idle(cx.now);
    }

    fn statistics(&self) -> QueueStatistics {
        self.queue.statistics_with(self.dropped, self.marked)
    }
}

#[cfg(test)]
mod tests;
