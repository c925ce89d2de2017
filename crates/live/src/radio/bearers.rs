//! Measurements of layer 2 of each UE (TS 36.314 §4.1.4, §4.1.6 and §4.1.8; unverified).

use std::collections::BTreeMap;

use airlane_core::{Bytes, Instant, Packet};
use serde::{Deserialize, Serialize};

/// The measurements of a UE in a period, downlink and uplink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UeUse {
    /// The UE's IPv4 address.
    pub ue: [u8; 4],
    /// The cell that serves it at the end of the period.
    pub cell: u32,
    /// The reported value of its timing advance then.
    pub timing_advance: u16,
    /// IP packets that the bearers delivered, in kbit.
    pub volume: [i64; 2],
    /// Mean delay of the packets in the bearers, in ms; none without a packet.
    pub delay: [Option<i64>; 2],
    /// Bits over the time in which the UE had data, in kbit/s; none without a burst of two blocks or more.
    pub throughput: [Option<i64>; 2],
}

/// Maximum number of bursts under way; the blocks of older bursts were lost.
const BURSTS_MAX: usize = 64;

/// The sums of one direction in a period.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    bytes: u64,
    packets: u64,
    delay_ns: u128,
    burst_bytes: u64,
    burst_ns: u64,
    /// The bursts under way, by number.
    bursts: BTreeMap<u64, Burst>,
    /// The number of the next burst.
    next: u64,
    /// Whether the buffer is not empty: the latest burst continues.
    continues: bool,
    /// For each HARQ process with a block under way the number of its burst, and whether it is the last of it.
    blocks: BTreeMap<u8, (u64, bool)>,
}

/// A burst: the blocks from the first one until the buffer is empty. The last one does not count, because it is filled
/// up.
#[derive(Clone, Copy, Debug)]
struct Burst {
    /// Time of the first block, or the end of the latest period.
    begin: Instant,
    /// The decoded blocks since: their bytes, and the time of the latest one.
    bytes: u64,
    until: Instant,
}

impl Sums {
    /// A bearer has delivered a packet.
    pub(super) fn deliver(&mut self, now: Instant, packet: &Packet, queued_at: Instant) {
        self.bytes += packet.size.get();
        self.packets += 1;
        self.delay_ns += u128::from(now.saturating_since(queued_at).as_nanos());
    }

    /// A block is sent, perhaps again; `queue` waits behind it.
    pub(super) fn send(&mut self, now: Instant, process: u8, queue: Bytes) {
        if self.blocks.contains_key(&process) {
            return;
        }
        if !self.continues {
            self.bursts.insert(self.next, Burst { begin: now, bytes: 0, until: now });
            self.next += 1;
            if self.bursts.len() > BURSTS_MAX {
                self.bursts.pop_first();
            }
        }
        let is_last = queue.get() == 0;
        self.continues = !is_last;
        self.blocks.insert(process, (self.next - 1, is_last));
    }

    /// A block was decoded.
    pub(super) fn receive(&mut self, now: Instant, process: u8, bytes: Bytes) {
        let Some((number, is_last)) = self.blocks.remove(&process) else { return };
        if is_last {
            self.count(number);
            self.bursts.remove(&number);
        } else if let Some(burst) = self.bursts.get_mut(&number) {
            burst.bytes += bytes.get();
            burst.until = now;
        }
    }

    /// The HARQ processes begin again: blocks under way are lost.
    pub(super) fn reset(&mut self) {
        let under_way: Vec<u64> = self.bursts.keys().copied().collect();
        under_way.into_iter().for_each(|number| self.count(number));
        self.bursts.clear();
        self.blocks.clear();
        self.continues = false;
    }

    fn count(&mut self, number: u64) {
        let Some(burst) = self.bursts.get_mut(&number) else { return };
        self.burst_bytes += burst.bytes;
        self.burst_ns += burst.until.saturating_since(burst.begin).as_nanos();
        (burst.begin, burst.bytes) = (burst.until, 0);
    }

    /// Volume, delay and throughput of the period that ends now.
    pub(super) fn take(&mut self) -> (i64, Option<i64>, Option<i64>) {
        let under_way: Vec<u64> = self.bursts.keys().copied().collect();
        under_way.into_iter().for_each(|number| self.count(number));
        let Self { bytes, packets, delay_ns, burst_bytes, burst_ns, .. } = *self;
        (self.bytes, self.packets, self.delay_ns) = (0, 0, 0);
        (self.burst_bytes, self.burst_ns) = (0, 0);
        // The three values are rounded to integers.
        let volume = (bytes * 8 + 500) / 1_000;
        let delay = (packets > 0).then(|| {
            let of_all = u128::from(packets) * 1_000_000;
            (delay_ns + of_all / 2) / of_all
        });
        let rate = (burst_ns > 0).then(|| {
            let (bits, ns) = (u128::from(burst_bytes) * 8, u128::from(burst_ns));
            (bits * 1_000_000 + ns / 2) / ns // bits per ms are kbit/s
        });
        (volume as i64, delay.map(|value| value as i64), rate.map(|value| value as i64))
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::{Direction, FlowId, Header, Payload};

    use super::*;

    /// 1028 and 528 bytes with the IP header that wait for 10 ms and 21 ms: 12.448 kbit, 15.5 ms.
    #[test]
    fn volume_and_delay_by_hand() {
        let mut sums = Sums::default();
        let header = || Header::Other { protocol: 50 };
        for (payload, queued_ms) in [(1_008, 90), (508, 79)] {
            let at = Instant::from_millis(queued_ms);
            let payload = Payload::Length(payload);
            let packet = Packet::new(FlowId(0), Direction::Downlink, header(), payload, at);
            sums.deliver(Instant::from_millis(100), &packet, at);
        }
        assert_eq!(sums.take(), (12, Some(16), None));
        assert_eq!(sums.take(), (0, None, None));
    }

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Blocks that are sent at 10, 11, 12 and 14 ms and decoded 4 ms later, but the second one 8 ms later than that. The
    /// last one has 300 bytes and does not count: 3000 bytes from 10 ms to 23 ms are 1846.2 kbit/s.
    #[test]
    fn throughput_by_hand() {
        let mut sums = Sums::default();
        for (process, (sent, queue)) in [(10, 2_300), (11, 1_300), (12, 300)].into_iter().enumerate() {
            sums.send(ms(sent), process as u8, Bytes(queue));
        }
        sums.receive(ms(14), 0, Bytes(1_000));
        sums.send(ms(14), 3, Bytes(0));
        sums.receive(ms(16), 2, Bytes(1_000));
        sums.send(ms(19), 1, Bytes(0)); // again: it stays a block of the middle
        sums.receive(ms(23), 1, Bytes(1_000));
        sums.receive(ms(24), 3, Bytes(300));
        // A single block is no burst, and a second one that is sent before it was decoded is another burst.
        sums.send(ms(90), 0, Bytes(0));
        sums.send(ms(91), 1, Bytes(0));
        sums.receive(ms(94), 0, Bytes(700));
        sums.receive(ms(95), 1, Bytes(700));
        assert_eq!(sums.take().2, Some(1_846));
        assert_eq!(sums.take().2, None);
        assert!(sums.bursts.is_empty() && sums.blocks.is_empty());
    }

    /// A block of 1000 bytes per ms, decoded 4 ms later: in the first period 6 of them from 0 to 9 ms, in the second
    /// 5 of them in 5 ms.
    #[test]
    fn a_burst_over_two_periods() {
        let mut sums = Sums::default();
        let step = |sums: &mut Sums, at: u64| {
            if at >= 4 {
                sums.receive(ms(at), ((at - 4) % 8) as u8, Bytes(1_000));
            }
            sums.send(ms(at), (at % 8) as u8, Bytes(5_000));
        };
        (0..10).for_each(|at| step(&mut sums, at));
        assert_eq!(sums.take().2, Some(5_333));
        (10..15).for_each(|at| step(&mut sums, at));
        assert_eq!(sums.take().2, Some(8_000));
    }
}
