//! Flow control of the downlink between PDCP and the node of a leg (TS 38.425 v17 §5.4.2).
//!
//! The node reports the data that it has delivered, and its desired buffer size: how many bytes PDCP may send beyond those.
//! The specification leaves to the node how many it desires. Here it desires what it delivers in twice the time that a
//! PDU and the reports about it need, at the rate of the last time in which it had data; and at least [`LEAST`]. A leg that
//! is limited by its desired buffer size alone thus doubles its rate in that time.

use airlane_core::{Duration, Instant};

use super::{CellGroup, DualConnectivityKind};

/// The least desired buffer size, in bytes: choice; 20 full packets, which is TCP's initial window twice.
const LEAST: u64 = 30_000;
/// The time over which a node measures its rate: choice; several slots, and several subframes of LTE.
const WINDOW: Duration = Duration::from_millis(20);
/// From the arrival at a node until delivery with a retransmission, of LTE and of NR: choice; two HARQ round trips of LTE
/// with FDD, and about two of NR with a pattern of 2.5 ms.
const RADIO_LTE: Duration = Duration::from_millis(16);
const RADIO_NR: Duration = Duration::from_millis(8);
/// Weight of the latest window in the mean of rates: choice.
const WEIGHT: f64 = 0.5;

/// Rate and data of a node for one bearer.
#[derive(Debug)]
pub(crate) struct Node {
    /// The time that reports and data take.
    loop_time: Duration,
    /// Bytes that have arrived from PDCP.
    arrived: u64,
    /// Bytes that were delivered.
    delivered: u64,
    /// The beginning of the window, the bytes that were delivered in it, and whether there was more data at its beginning.
    since: Instant,
    in_window: u64,
    was_busy: bool,
    /// Bytes per second.
    rate: f64,
}

/// A report of a node: DL DATA DELIVERY STATUS.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Status {
    /// Bytes that were delivered, in place of the highest delivered sequence number.
    pub(crate) delivered: u64,
    /// The desired buffer size in bytes, beyond those.
    pub(crate) desired: u64,
    /// The rate in bytes per second (desired data rate); 0 if it is not known.
    pub(crate) rate: f64,
}

impl Node {
    /// The node of a cell group. Its data and its reports take `link` besides the radio, and it reports once in `period`.
    pub(crate) fn new(
        link: Duration,
        period: Duration,
        group: CellGroup,
        kind: DualConnectivityKind,
    ) -> Self {
        let radio = match (group, kind) {
            (CellGroup::Master, DualConnectivityKind::EnDc) => RADIO_LTE,
            (CellGroup::Master, DualConnectivityKind::NrDc) | (CellGroup::Secondary, _) => RADIO_NR,
        };
        Self {
            loop_time: link * 2 + period + radio,
            arrived: 0,
            delivered: 0,
            since: Instant::ZERO,
            in_window: 0,
            was_busy: false,
            rate: 0.0,
        }
    }

    /// Data arrive from PDCP.
    pub(crate) fn arrive(&mut self, now: Instant, bytes: u64) {
        self.roll(now);
        self.arrived += bytes;
    }

    /// Data are delivered.
    pub(crate) fn deliver(&mut self, now: Instant, bytes: u64) {
        self.roll(now);
        self.delivered += bytes;
        self.in_window += bytes;
    }

    /// All data were taken away.
    pub(crate) fn clear(&mut self) {
        self.delivered = self.arrived;
        (self.in_window, self.was_busy, self.rate) = (0, false, 0.0);
    }

    /// Ends the windows that are over. In one without data at its beginning or end, the node could have had a higher rate.
    fn roll(&mut self, now: Instant) {
        while self.since + WINDOW <= now {
            let sample = self.in_window as f64 / WINDOW.as_secs_f64();
            let is_busy = self.arrived > self.delivered;
            self.rate = match self.was_busy && is_busy {
                true if self.rate > 0.0 => self.rate + WEIGHT * (sample - self.rate),
                true => sample,
                false => self.rate.max(sample),
            };
            (self.in_window, self.was_busy) = (0, is_busy);
            self.since = if is_busy { self.since + WINDOW } else { now };
        }
    }

    pub(crate) fn status(&mut self, now: Instant) -> Status {
        self.roll(now);
        let desired = (2.0 * self.rate * self.loop_time.as_secs_f64()) as u64;
        Status { delivered: self.delivered, desired: desired.max(LEAST), rate: self.rate }
    }
}

/// What PDCP knows about a leg.
#[derive(Debug)]
pub(crate) struct Leg {
    /// Bytes that PDCP has sent over it.
    sent: u64,
    status: Status,
}

impl Default for Leg {
    fn default() -> Self {
        Self { sent: 0, status: Status { desired: LEAST, ..Status::default() } }
    }
}

impl Leg {
    pub(crate) fn update(&mut self, status: Status) {
        self.status = status;
    }

    pub(crate) fn send(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// All data were taken away.
    pub(crate) fn clear(&mut self) {
        let delivered = self.sent;
        *self = Self { sent: delivered, ..Self::default() };
        self.status.delivered = delivered;
    }

    /// Bytes that are not known to be delivered.
    pub(crate) fn outstanding(&self) -> u64 {
        self.sent.saturating_sub(self.status.delivered)
    }

    /// Whether the node desires more.
    pub(crate) fn has_room(&self) -> bool {
        self.outstanding() < self.status.desired
    }

    /// Seconds until data that are sent now would be delivered, without the radio itself: behind what is outstanding, over a
    /// link with this delay.
    pub(crate) fn wait(&self, link: Duration) -> f64 {
        let queue = if self.status.rate > 0.0 { self.outstanding() as f64 / self.status.rate } else { 0.0 };
        queue.max(link.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Instant = Instant::from_millis;

    /// A node that delivers 1000 bytes in each millisecond, and is never empty.
    fn deliver(node: &mut Node, from: u64, to: u64, bytes: u64) {
        for at in from..to {
            node.arrive(MS(at), bytes);
            node.deliver(MS(at), bytes);
        }
    }

    #[test]
    fn a_node_desires_what_it_delivers_in_two_loop_times() {
        let [link, period] = [10, 4].map(Duration::from_millis);
        let mut node = Node::new(link, period, CellGroup::Master, DualConnectivityKind::EnDc);
        assert_eq!(node.status(MS(0)).desired, LEAST);
        node.arrive(MS(0), 5_000);
        deliver(&mut node, 0, 400, 1_000);
        // 1 MB/s for 2 (10 + 10 + 4 + 16) ms.
        let status = node.status(MS(400));
        println!("{status:?}");
        assert!((79_000..=80_000).contains(&status.desired), "{status:?}");
        assert_eq!(status.delivered, 400_000);
        // A rate that falls to a tenth is followed within a few windows.
        deliver(&mut node, 400, 600, 100);
        assert_eq!(node.status(MS(600)).desired, LEAST);
        assert!((node.status(MS(600)).rate / 1e5 - 1.0).abs() < 0.01, "{:?}", node.status(MS(600)));
    }

    /// At 1 MB/s, 2 (10 + 10 + 4 + 16) ms of LTE and 2 (10 + 10 + 4 + 8) ms of NR.
    #[test]
    fn a_master_node_of_nr_has_the_loop_time_of_nr() {
        let desired = [DualConnectivityKind::EnDc, DualConnectivityKind::NrDc].map(|kind| {
            let [link, period] = [10, 4].map(Duration::from_millis);
            let mut node = Node::new(link, period, CellGroup::Master, kind);
            node.arrive(MS(0), 5_000);
            deliver(&mut node, 0, 400, 1_000);
            node.status(MS(400)).desired
        });
        println!("{desired:?}");
        assert!((79_000..=80_000).contains(&desired[0]) && (63_000..=64_000).contains(&desired[1]));
    }

    #[test]
    fn a_pause_does_not_lower_the_rate() {
        let mut node =
            Node::new(Duration::ZERO, Duration::ZERO, CellGroup::Secondary, DualConnectivityKind::EnDc);
        node.arrive(MS(0), 5_000);
        deliver(&mut node, 0, 200, 1_000);
        node.deliver(MS(200), 5_000);
        let before = node.status(MS(240)).rate;
        assert_eq!(node.status(MS(900)).rate, before);
        assert!(before > 900_000.0);
    }

    #[test]
    fn a_leg_has_room_for_what_its_node_desires_beyond_what_was_delivered() {
        let mut leg = Leg::default();
        leg.send(LEAST);
        assert!(!leg.has_room());
        leg.update(Status { delivered: 10_000, desired: LEAST, rate: 1e6 });
        assert!(leg.has_room() && leg.outstanding() == LEAST - 10_000);
        assert!((leg.wait(Duration::ZERO) - 0.02).abs() < 1e-12);
        leg.clear();
        assert_eq!(leg.outstanding(), 0);
    }
}
