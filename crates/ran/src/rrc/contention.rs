//! Contention-based random access of the UEs of a cell (TS 36.321 v17.0 §5.1, TS 38.321 v18.5.0 §5.1).
//!
//! UEs send one of the preambles in an occasion of the PRACH. A preamble that two UEs send is lost for both (TR 37.868
//! §6.2, without capture). For each preamble that the cell detects it sends a random access response, as many in a slot as
//! the response has room for; those that find no room in the window are lost. The response grants Msg3, which carries the
//! UE's request and is a block like others.

use airlane_core::{Duration, Instant, Stream};

use super::connection::next_in_cycle;
use crate::numerology::{Duplex, Numerology};

/// Random access in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentionConfig {
    /// Time from an occasion of the PRACH to the next.
    pub period: Duration,
    /// Preambles for contention-based access (54 of 64 in TR 37.868).
    pub preambles: u32,
    /// From the beginning of an occasion to the earliest random access response.
    pub response_after: Duration,
    /// ra-ResponseWindow: how long the UE listens for it.
    pub window: Duration,
    /// Responses in a slot of one millisecond.
    pub responses: u32,
    /// From a response to the Msg3 that it grants, at least.
    pub msg3_after: Duration,
    /// ra-ContentionResolutionTimer, from Msg3 on.
    pub resolution: Duration,
    /// The largest back-off before another preamble.
    pub backoff: Duration,
    /// preambleTransMax.
    pub most_preambles: u32,
    /// How the cell detects preambles.
    pub detection: Detection,
    /// Two-step random access, if UEs begin with it.
    pub message_a: Option<MessageA>,
}

/// How a cell detects a preamble that one UE sends, if its power suffices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// Always.
    Certain,
    /// The i-th preamble of a UE with probability 1 - exp(-i) (TR 37.868 §6.2, unverified; as in the simulators that
    /// follow it).
    Ramping,
}

impl Detection {
    /// Whether the `number`th preamble of a UE is detected.
    pub(crate) fn detects(self, number: u32, draws: &mut Stream) -> bool {
        match self {
            Self::Certain => true,
            Self::Ramping => draws.chance(1.0 - libm::exp(-f64::from(number))),
        }
    }
}

/// Two-step random access (TS 38.321 v18.5.0 §5.1.2a, §5.1.3a, §5.1.4a): a UE sends MsgA, a preamble and a PUSCH with its
/// request, which belongs to the preamble. Each preamble has resource blocks of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageA {
    /// Preambles for it. Those of four steps are others.
    pub preambles: u32,
    /// From the beginning of an occasion of the PRACH to the PUSCH, at least.
    pub pusch_after: Duration,
    /// msgB-ResponseWindow: how long a UE waits for MsgB, from the PUSCH on.
    pub window: Duration,
    /// msgA-TransMax: after this many MsgA, a UE continues with four steps.
    pub most: u32,
}

/// Bandwidth of the PRACH in Hz, and the time of a preamble of format 0.
const PRACH_HZ: f64 = 1.08e6;
const PREAMBLE: Duration = Duration::from_millis(1);
/// PRBs of a preamble of 139 subcarriers whose spacing is that of the cell, such as one of format B4 with 12 symbols (TS
/// 38.211 table 6.3.3.2-1).
const SHORT_PREAMBLE_PRBS: u16 = 12;
/// Where in the period an occasion is: subframe 1 (prach-ConfigurationIndex 3 and 6, TS 36.211 table 5.7.1-2).
const OCCASION: Duration = Duration::from_millis(1);

impl ContentionConfig {
    /// The first occasion from a time on. With TDD, an occasion is in uplink symbols only (TS 38.213 §8.1): one that is due
    /// elsewhere is in the next slot with an uplink.
    pub(crate) fn next_occasion(&self, from: Instant, numerology: &Numerology) -> Instant {
        let next = |from| next_in_cycle(self.period, OCCASION, from);
        let Duplex::Tdd(pattern) = numerology.duplex else { return next(from) };
        // One that was due up to a pattern ago may be now.
        let pattern = numerology.slot * pattern.slots();
        let mut due = next(Instant::ZERO + from.saturating_since(Instant::ZERO + pattern));
        loop {
            let slot = numerology.duplex.next_uplink(numerology.slot_from(due));
            let occasion = numerology.start_of(slot);
            if occasion >= from {
                return occasion;
            }
            due += self.period;
        }
    }

    /// PRBs of the PRACH in a slot that begins at this time. With FDD, 1.08 MHz (TS 36.211 §5.7.3, TS 38.211 §6.3.3.2) for
    /// the millisecond of an occasion. With TDD, a short preamble for its slot.
    pub(crate) fn prach_prbs(&self, begins: Instant, numerology: &Numerology) -> u16 {
        if numerology.duplex != Duplex::Fdd {
            let is_occasion = self.next_occasion(begins, numerology) == begins;
            return if is_occasion { SHORT_PREAMBLE_PRBS } else { 0 };
        }
        let latest = self.next_occasion(begins + Duration::from_nanos(1), numerology);
        let is_before = begins + self.period >= latest + PREAMBLE;
        if is_before { 0 } else { libm::ceil(PRACH_HZ / numerology.prb_bandwidth_hz()) as u16 }
    }

    /// The first occasion after a back-off that begins at a time.
    pub(crate) fn after_backoff(
        &self,
        from: Instant,
        numerology: &Numerology,
        draws: &mut Stream,
    ) -> Instant {
        let backoff = Duration::from_nanos(draws.below(self.backoff.as_nanos() + 1));
        self.next_occasion(from + backoff, numerology)
    }

    /// When the response to a preamble of an occasion is sent: to the `index`th that was detected there. `None` if the
    /// window is over by then.
    pub(crate) fn response(&self, occasion: Instant, index: usize) -> Option<Instant> {
        let slot = Duration::from_millis(1) * (index as u64 / u64::from(self.responses.max(1)));
        (slot < self.window).then(|| occasion + self.response_after + slot)
    }

    /// How a UE begins two-step random access after this many preambles; `None` for four steps.
    pub(crate) fn message_a(&self, preambles: u32) -> Option<MessageA> {
        self.message_a.filter(|message_a| preambles < message_a.most)
    }

    /// Whether the PUSCH of MsgA may be in a slot with an uplink.
    pub(crate) fn has_message_a(&self, slot: u64, numerology: &Numerology) -> bool {
        let Some(message_a) = self.message_a else { return false };
        // Occasions whose PUSCH may be sent after the previous slot with an uplink, and not after this one.
        let before = numerology.duplex.previous_uplink(slot);
        let first = before.map_or(Instant::ZERO, |slot| numerology.start_of(slot) + Duration::from_nanos(1));
        let after = message_a.pusch_after;
        let first = Instant::ZERO + first.saturating_since(Instant::ZERO + after);
        self.next_occasion(first, numerology) + after <= numerology.start_of(slot)
    }

    /// The end of the window for responses to preambles of an occasion.
    pub(crate) fn window_end(&self, occasion: Instant) -> Instant {
        occasion + self.response_after + self.window
    }
}

/// Preambles of one kind in an occasion of the PRACH, and the number of UEs that have sent each.
#[derive(Debug, Default)]
pub(crate) struct SentPreambles {
    senders: Vec<u32>,
}

impl SentPreambles {
    /// An occasion begins, with this many preambles.
    pub(crate) fn begin(&mut self, preambles: u32) {
        self.senders.clear();
        self.senders.resize(preambles as usize, 0);
    }

    /// A UE sends a preamble, which is drawn; returns it.
    pub(crate) fn send(&mut self, draws: &mut Stream) -> usize {
        let preamble = draws.below(self.senders.len() as u64) as usize;
        self.senders[preamble] += 1;
        preamble
    }

    /// Whether exactly one UE has sent a preamble.
    pub(crate) fn is_alone(&self, preamble: usize) -> bool {
        self.senders[preamble] == 1
    }
}

/// An occasion of the PRACH: preambles for four steps and for two.
#[derive(Debug, Default)]
pub(crate) struct PrachOccasion {
    four_steps: SentPreambles,
    two_steps: SentPreambles,
}

impl PrachOccasion {
    /// An occasion begins.
    pub(crate) fn begin(&mut self, access: &ContentionConfig) {
        self.four_steps.begin(access.preambles);
        self.two_steps.begin(access.message_a.map_or(0, |message_a| message_a.preambles));
    }

    /// The preambles for MsgA, or those for four steps.
    pub(crate) fn of(&mut self, message_a: Option<MessageA>) -> &mut SentPreambles {
        if message_a.is_some() { &mut self.two_steps } else { &mut self.four_steps }
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::Seeds;

    use super::*;
    use crate::numerology::TddPattern;

    /// Of n UEs, one has a preamble of its own with probability (1 - 1/54)^(n - 1).
    #[test]
    fn collisions_are_as_frequent_as_the_closed_form_says() {
        let mut draws = Seeds::new(1).stream("preambles");
        for ues in [1, 2, 10, 50, 200] {
            let (mut alone, rounds) = (0, 40_000 / ues + 200);
            for _ in 0..rounds {
                let mut preambles = SentPreambles::default();
                preambles.begin(54);
                let sent: Vec<_> = (0..ues).map(|_| preambles.send(&mut draws)).collect();
                alone += sent.iter().filter(|preamble| preambles.is_alone(**preamble)).count();
            }
            let share = alone as f64 / (rounds * ues) as f64;
            let expected = libm::pow(1.0 - 1.0 / 54.0, ues as f64 - 1.0);
            let error = libm::sqrt(expected * (1.0 - expected) / (rounds * ues) as f64);
            assert!((share - expected).abs() <= 6.0 * error, "{ues} UEs: {share} for {expected}");
        }
    }

    fn config() -> ContentionConfig {
        let ms = Duration::from_millis;
        ContentionConfig {
            period: ms(5),
            preambles: 54,
            response_after: ms(4),
            window: ms(5),
            responses: 3,
            msg3_after: ms(6),
            resolution: ms(48),
            backoff: ms(20),
            most_preambles: 10,
            detection: Detection::Certain,
            message_a: None,
        }
    }

    #[test]
    fn responses_share_the_slots_of_the_window() {
        let config = config();
        let at = Instant::from_millis;
        assert_eq!(config.next_occasion(at(2), &Numerology::LTE), at(6));
        let response = |index| config.response(at(6), index);
        assert_eq!([response(0), response(2), response(3)], [Some(at(10)), Some(at(10)), Some(at(11))]);
        assert_eq!([response(14), response(15)], [Some(at(14)), None]);
        assert_eq!(config.window_end(at(6)), at(15));
    }

    /// Slots of 0.5 ms with an uplink in each fifth: occasions are due at 1, 6, 11 ms, in slots 2, 12, 22, and are in slots
    /// 4, 14, 24.
    #[test]
    fn with_tdd_occasions_are_in_slots_with_an_uplink() {
        let duplex = Duplex::Tdd(TddPattern::new("DDDSU", 10, 2));
        let numerology = Numerology { slot: Duration::from_micros(500), duplex, ..Numerology::LTE };
        let config = ContentionConfig { period: Duration::from_millis(5), ..config() };
        let at = |slot| numerology.start_of(slot);
        let next = |slot| config.next_occasion(at(slot), &numerology);
        assert_eq!([0, 2, 3, 4, 5, 14, 15].map(next), [4, 4, 4, 4, 14, 14, 24].map(at));
        let slots: Vec<u64> = (0..30).filter(|slot| config.prach_prbs(at(*slot), &numerology) > 0).collect();
        assert_eq!(slots, [4, 14, 24]);
        assert_eq!(config.prach_prbs(at(4), &numerology), 12);
        // An occasion in each millisecond: each slot with an uplink has one.
        let often = ContentionConfig { period: Duration::from_millis(1), ..config };
        assert_eq!([0, 5, 10].map(|slot| often.next_occasion(at(slot), &numerology)), [4, 9, 14].map(at));
    }

    /// The first preamble is detected with probability 1 - 1/e = 0.632, the third with 0.950.
    #[test]
    fn with_ramping_later_preambles_are_detected_more_often() {
        let mut draws = Seeds::new(1).stream("detection");
        let mut share = |number| {
            let hits = (0..20_000).filter(|_| Detection::Ramping.detects(number, &mut draws)).count();
            hits as f64 / 20_000.0
        };
        assert!((share(1) - 0.632).abs() < 0.015);
        assert!((share(3) - 0.950).abs() < 0.007);
        assert!((0..100).all(|_| Detection::Certain.detects(1, &mut draws)));
    }

    /// Occasions at 6, 11, 16 ms. With FDD, the PUSCH of MsgA is 2 ms later. With TDD, occasions are in slots 4, 14 and 24
    /// of 0.5 ms, and 2 ms later, in slots 8, 18 and 28, there is no uplink: the PUSCH is in slots 9, 19 and 29.
    #[test]
    fn the_pusch_of_message_a_follows_the_occasion() {
        let ms = Duration::from_millis;
        let message_a = MessageA { preambles: 8, pusch_after: ms(2), window: ms(10), most: 4 };
        let config = ContentionConfig { message_a: Some(message_a), ..config() };
        let slots = |numerology: &Numerology| -> Vec<u64> {
            let has_uplink = |slot: &u64| numerology.duplex.has_uplink(*slot);
            (0..30).filter(has_uplink).filter(|slot| config.has_message_a(*slot, numerology)).collect()
        };
        assert_eq!(slots(&Numerology::LTE), [3, 8, 13, 18, 23, 28]);
        let duplex = Duplex::Tdd(TddPattern::new("DDDSU", 10, 2));
        assert_eq!(
            slots(&Numerology { slot: Duration::from_micros(500), duplex, ..Numerology::LTE }),
            [9, 19, 29]
        );
        assert_eq!([0, 3, 4].map(|sent| config.message_a(sent).is_some()), [true, true, false]);
    }
}
