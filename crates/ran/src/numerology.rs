//! The numerology of a cell: the length of its slots, the division of its carrier, the number of its HARQ
//! processes, and the directions of its slots.
//!
//! Each cell counts its own slots, from time zero. The cells of a network may have different slot lengths: the
//! clock of the network is time, and at each instant all cells whose slot begins there are processed together, in
//! the order of their numbers. Times that a configuration gives in slots are in slots of the cell.
//!
//! [`Numerology::LTE`] is frame structure type 1 of TS 36.211 (FDD). [`Numerology::nr`] makes those of NR ([`nr`]).
//!
//! ```
//! use airlane_ran::numerology::{Duplex, SlotKind, TddPattern};
//!
//! let duplex = Duplex::Tdd(TddPattern::new("DDDSU", 10, 2));
//! assert_eq!(duplex.kind(3), SlotKind::Special { downlink_symbols: 10, uplink_symbols: 2 });
//! assert_eq!(duplex.next_uplink(5), 9);
//! assert_eq!(Duplex::Fdd.next_uplink(5), 5);
//! ```

pub mod nr;

use std::collections::BTreeMap;

use airlane_core::{Duration, Instant};

/// OFDM symbols of a slot with a normal cyclic prefix (TS 36.211 §6.2.3; TS 38.211 §4.3.2).
pub const SYMBOLS: u8 = 14;

/// The structure of a cell's carrier in time and frequency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numerology {
    /// Length of a slot.
    pub slot: Duration,
    /// Distance of subcarriers in Hz.
    pub subcarrier_spacing_hz: u32,
    /// Subcarriers of a physical resource block.
    pub subcarriers_per_prb: u16,
    /// The size of resource block groups.
    pub rbg: RbgLayout,
    /// Numbers of PRBs that an uplink block may have.
    pub pusch_sizes: PuschSizes,
    /// HARQ.
    pub harq: HarqTiming,
    /// The directions of slots.
    pub duplex: Duplex,
}

/// The processes of HARQ, and when its feedback is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HarqTiming {
    /// Processes of a UE in each direction, 1 to 32.
    pub processes: u8,
    /// Slots from a downlink block to its acknowledgment (NR: K1), or to the next slot that has an uplink.
    pub feedback: u32,
    /// Retransmissions in the uplink.
    pub uplink: UplinkHarq,
}

/// When a block of the uplink is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UplinkHarq {
    /// After a fixed time, on as many PRBs, in the process of its slot (TS 36.321 §5.4.2). For FDD only.
    Synchronous,
    /// When the eNB grants it, in any free process (TS 38.321 §5.4.2).
    Asynchronous,
}

/// The size of a resource block group by bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RbgLayout {
    /// The widest carrier in PRBs with groups of a size, and that size; ascending. The last one is the widest
    /// carrier of all.
    pub sizes: &'static [(u16, u16)],
}

impl RbgLayout {
    /// Resource allocation type 0 (TS 36.213 table 7.1.6.1-1).
    pub const LTE: Self = Self { sizes: &[(10, 1), (26, 2), (63, 3), (110, 4)] };

    /// PRBs of a group on a carrier of this many PRBs.
    ///
    /// # Panics
    /// If there is no such carrier.
    #[must_use]
    pub fn size(self, prbs: u16) -> u16 {
        let fits = self.sizes.iter().find(|(widest, _)| prbs <= *widest);
        fits.unwrap_or_else(|| panic!("a bandwidth of {prbs} PRBs has no RBG layout")).1
    }
}

/// Numbers of PRBs that an uplink block may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PuschSizes {
    /// Products of 2, 3 and 5, because of the transform precoding (TS 36.211 §5.3.3).
    TransformPrecoded,
    /// Any.
    Any,
}

/// The directions of a cell's slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplex {
    /// Both directions in each slot, on two carriers.
    Fdd,
    /// One direction in each slot, on one carrier.
    Tdd(TddPattern),
}

/// The directions of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotKind {
    /// Both directions.
    Both,
    /// Downlink.
    Downlink,
    /// Uplink.
    Uplink,
    /// Downlink symbols, then a guard period, then uplink symbols.
    Special {
        /// Symbols for the downlink, with its control region.
        downlink_symbols: u8,
        /// Symbols for the uplink. They carry reference signals and no blocks.
        uplink_symbols: u8,
    },
}

/// A pattern of slots that repeats from time zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TddPattern {
    slots: u8,
    /// Bit `k` for slot `k` of the pattern.
    downlink: u64,
    uplink: u64,
    special_symbols: (u8, u8),
}

impl TddPattern {
    /// A pattern of `D` (downlink), `U` (uplink) and `S` (special) slots, with the symbols of a special slot for
    /// downlink and uplink.
    ///
    /// # Panics
    /// If the pattern has another letter, no slot of one direction, or more than 64 slots, or if the symbols of a
    /// special slot leave no guard period.
    #[must_use]
    pub fn new(pattern: &str, downlink_symbols: u8, uplink_symbols: u8) -> Self {
        assert!(pattern.len() <= 64, "a pattern has at most 64 slots");
        assert!(downlink_symbols + uplink_symbols < SYMBOLS, "a special slot has a guard period");
        let (mut downlink, mut uplink) = (0, 0);
        for (place, letter) in pattern.bytes().enumerate() {
            match letter {
                b'D' => downlink |= 1 << place,
                b'U' => uplink |= 1 << place,
                b'S' => {}
                other => panic!("a slot is D, U or S, not {:?}", char::from(other)),
            }
        }
        assert!(downlink != 0 && uplink != 0, "a pattern has slots of both directions");
        let special_symbols = (downlink_symbols, uplink_symbols);
        Self { slots: pattern.len() as u8, downlink, uplink, special_symbols }
    }

    /// Number of slots.
    #[must_use]
    pub fn slots(self) -> u64 {
        self.slots.into()
    }

    fn place(self, slot: u64) -> u32 {
        (slot % u64::from(self.slots)) as u32
    }

    const fn kind_at(self, place: u32) -> SlotKind {
        if self.downlink >> place & 1 == 1 {
            return SlotKind::Downlink;
        }
        if self.uplink >> place & 1 == 1 {
            return SlotKind::Uplink;
        }
        let (downlink_symbols, uplink_symbols) = self.special_symbols;
        SlotKind::Special { downlink_symbols, uplink_symbols }
    }
}

/// UplinkOccasions of the UEs of a cell: each has one in `period` slots, the first UE from slot `offset` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UplinkOccasions {
    /// In slots.
    pub period: u32,
    /// In slots.
    pub offset: u32,
}

impl Duplex {
    /// The directions of a slot.
    #[inline]
    #[must_use]
    pub fn kind(self, slot: u64) -> SlotKind {
        match self {
            Self::Fdd => SlotKind::Both,
            Self::Tdd(pattern) => pattern.kind_at(pattern.place(slot)),
        }
    }

    /// The symbols of a slot for the downlink, 0 to [`SYMBOLS`].
    #[inline]
    #[must_use]
    pub fn downlink_symbols(self, slot: u64) -> u8 {
        match self.kind(slot) {
            SlotKind::Both | SlotKind::Downlink => SYMBOLS,
            SlotKind::Special { downlink_symbols, .. } => downlink_symbols,
            SlotKind::Uplink => 0,
        }
    }

    /// True if a slot can carry blocks and acknowledgments of the uplink.
    #[inline]
    #[must_use]
    pub fn has_uplink(self, slot: u64) -> bool {
        matches!(self.kind(slot), SlotKind::Both | SlotKind::Uplink)
    }

    /// The first slot with an uplink, this one or a later one.
    #[inline]
    #[must_use]
    pub fn next_uplink(self, slot: u64) -> u64 {
        match self {
            Self::Fdd => slot,
            Self::Tdd(_) => {
                (slot..).find(|slot| self.has_uplink(*slot)).expect("each period of a pattern has one")
            }
        }
    }

    /// The last slot with an uplink before this one; `None` if there is none since time zero.
    #[must_use]
    pub fn previous_uplink(self, slot: u64) -> Option<u64> {
        match self {
            Self::Fdd => slot.checked_sub(1),
            Self::Tdd(pattern) => {
                let first = slot.saturating_sub(pattern.slots.into());
                (first..slot).rev().find(|slot| self.has_uplink(*slot))
            }
        }
    }

    /// Slots with an uplink before this one, since time zero.
    #[inline]
    #[must_use]
    pub fn uplinks_before(self, slot: u64) -> u64 {
        match self {
            Self::Fdd => slot,
            Self::Tdd(pattern) => {
                let (periods, place) = (slot / u64::from(pattern.slots), pattern.place(slot));
                let here = pattern.uplink & ((1 << place) - 1);
                periods * u64::from(pattern.uplink.count_ones()) + u64::from(here.count_ones())
            }
        }
    }

    /// The uplink slot before which there are `count` others since time zero: the inverse of
    /// [`Duplex::uplinks_before`].
    #[must_use]
    pub fn uplink_slot(self, count: u64) -> u64 {
        match self {
            Self::Fdd => count,
            Self::Tdd(pattern) => {
                let each = u64::from(pattern.uplink.count_ones());
                let mut left = pattern.uplink;
                for _ in 0..count % each {
                    left &= left - 1; // without its lowest slot
                }
                count / each * u64::from(pattern.slots) + u64::from(left.trailing_zeros())
            }
        }
    }

    /// The slot of a period in which a UE has its occasion: UE `k` has the `k`-th uplink slot from the offset on. UEs share
    /// a slot only if a period has fewer uplink slots than there are UEs.
    #[inline]
    #[must_use]
    pub fn phase_of(self, occasions: UplinkOccasions, ue: u32) -> u64 {
        let first = self.uplinks_before(occasions.offset.into());
        self.uplink_slot(first + u64::from(ue)) % u64::from(occasions.period)
    }

    /// The most of `ues` UEs whose occasions ([`Duplex::phase_of`]) are in one slot.
    #[must_use]
    pub fn occasions_at_once(self, occasions: UplinkOccasions, ues: u32) -> u64 {
        let period = occasions.period;
        let pattern = self.period();
        // After as many periods, pattern and occasions repeat together; one more for what is moved into the next.
        let turns = (1..=pattern).find(|turns| turns * u64::from(period) % pattern == 0).unwrap_or(pattern);
        let mut slots = BTreeMap::<u64, u64>::new();
        for ue in 0..ues {
            let phase = self.phase_of(occasions, ue);
            for turn in 0..=turns {
                *slots.entry(self.next_uplink(turn * u64::from(period) + phase)).or_default() += 1;
            }
        }
        slots.into_values().max().unwrap_or(0)
    }

    /// Whether what is due in slot `phase` of each `period` slots takes place in this slot. If such a slot has no
    /// uplink, the next one that has takes its place.
    #[must_use]
    pub fn takes_place(self, slot: u64, period: u32, phase: u64) -> bool {
        match self {
            Self::Fdd => slot % u64::from(period) == phase,
            Self::Tdd(_) => {
                self.has_uplink(slot) && {
                    let first = self.previous_uplink(slot).map_or(0, |before| before + 1);
                    (first..=slot).any(|slot| slot % u64::from(period) == phase)
                }
            }
        }
    }

    /// The number of slots after which the directions repeat.
    #[must_use]
    pub fn period(self) -> u64 {
        match self {
            Self::Fdd => 1,
            Self::Tdd(pattern) => pattern.slots.into(),
        }
    }

    /// The slot in whose control region the grant or the assignment for a slot is sent: the last one with a downlink
    /// that is at least `ahead` slots earlier. `None` before time zero.
    #[must_use]
    pub fn control_slot(self, data: u64, ahead: u32) -> Option<u64> {
        let latest = data.checked_sub(ahead.into())?;
        match self {
            Self::Fdd => Some(latest),
            Self::Tdd(pattern) => {
                let first = latest.saturating_sub(pattern.slots.into());
                (first..=latest).rev().find(|slot| self.downlink_symbols(*slot) > 0)
            }
        }
    }

    /// The downlink symbols of special slots, if there are any.
    #[must_use]
    pub fn special_symbols(self) -> Option<u8> {
        match self {
            Self::Fdd => None,
            Self::Tdd(pattern) => {
                (0..u32::from(pattern.slots)).find_map(|place| match pattern.kind_at(place) {
                    SlotKind::Special { downlink_symbols, .. } => Some(downlink_symbols),
                    SlotKind::Both | SlotKind::Downlink | SlotKind::Uplink => None,
                })
            }
        }
    }

    /// The share of symbols for the downlink.
    #[must_use]
    pub fn downlink_share(self) -> f64 {
        match self {
            Self::Fdd => 1.0,
            Self::Tdd(pattern) => {
                let symbols = (0..pattern.slots.into()).map(|slot| u32::from(self.downlink_symbols(slot)));
                f64::from(symbols.sum::<u32>()) / f64::from(u32::from(pattern.slots) * u32::from(SYMBOLS))
            }
        }
    }
}

impl Numerology {
    /// LTE with FDD: subframes of 1 ms (TS 36.211 §4.1), subcarriers of 15 kHz, resource blocks of 12 (§6.2.3), 8
    /// HARQ processes and acknowledgments after four subframes (TS 36.213 §7, §10.1).
    pub const LTE: Self = Self {
        slot: Duration::from_millis(1),
        subcarrier_spacing_hz: 15_000,
        subcarriers_per_prb: 12,
        rbg: RbgLayout::LTE,
        pusch_sizes: PuschSizes::TransformPrecoded,
        harq: HarqTiming { processes: 8, feedback: 4, uplink: UplinkHarq::Synchronous },
        duplex: Duplex::Fdd,
    };

    /// Bandwidth of a physical resource block in Hz.
    #[must_use]
    pub fn prb_bandwidth_hz(&self) -> f64 {
        f64::from(self.subcarrier_spacing_hz) * f64::from(self.subcarriers_per_prb)
    }

    /// PRBs of a resource block group on a carrier of this many PRBs.
    #[must_use]
    pub fn rbg_size(&self, prbs: u16) -> u16 {
        self.rbg.size(prbs)
    }

    /// When a slot begins.
    #[inline]
    #[must_use]
    pub fn start_of(&self, slot: u64) -> Instant {
        Instant::ZERO + self.slot * slot
    }

    /// The first slot that begins at this time or later.
    #[inline]
    #[must_use]
    pub fn slot_from(&self, at: Instant) -> u64 {
        at.as_nanos().div_ceil(self.slot.as_nanos())
    }

    /// The slot in which the acknowledgment of a downlink block is sent.
    #[inline]
    #[must_use]
    pub fn acknowledged_in(&self, block: u64) -> u64 {
        self.duplex.next_uplink(block + u64::from(self.harq.feedback))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_repeats() {
        let duplex = Duplex::Tdd(TddPattern::new("DDDSU", 10, 2));
        let symbols: Vec<_> = (0..10).map(|slot| duplex.downlink_symbols(slot)).collect();
        assert_eq!(symbols, [14, 14, 14, 10, 0, 14, 14, 14, 10, 0]);
        assert_eq!((0..10).filter(|slot| duplex.has_uplink(*slot)).collect::<Vec<_>>(), [4, 9]);
        // 52 of 70 symbols.
        assert!((duplex.downlink_share() - 52.0 / 70.0).abs() < 1e-12);
    }

    #[test]
    fn acknowledgments_wait_for_an_uplink() {
        let duplex = Duplex::Tdd(TddPattern::new("DDDSU", 10, 2));
        let harq = HarqTiming { processes: 16, feedback: 2, uplink: UplinkHarq::Asynchronous };
        let cell = Numerology { harq, duplex, ..Numerology::LTE };
        // Blocks of slots 0 to 2 are acknowledged in slot 4; that of slot 3 comes one slot too late for it.
        assert_eq!([0, 1, 2, 3, 5].map(|slot| cell.acknowledged_in(slot)), [4, 4, 4, 9, 9]);
        assert_eq!([0, 7].map(|slot| Numerology::LTE.acknowledged_in(slot)), [4, 11]);
    }

    #[test]
    fn grants_are_sent_in_slots_with_a_downlink() {
        let duplex = Duplex::Tdd(TddPattern::new("DDDSU", 10, 2));
        assert_eq!(duplex.control_slot(9, 1), Some(8));
        assert_eq!(duplex.control_slot(9, 5), Some(3), "slot 4 is an uplink slot");
        assert_eq!(duplex.control_slot(4, 5), None);
        assert_eq!(Duplex::Fdd.control_slot(9, 4), Some(5));
        assert_eq!([4, 9, 11].map(|slot| duplex.previous_uplink(slot)), [None, Some(4), Some(9)]);
        assert_eq!([4, 5, 9, 10].map(|slot| duplex.uplinks_before(slot)), [0, 1, 1, 2]);
    }

    #[test]
    fn occasions_take_turns_in_slots_with_an_uplink() {
        let duplex = Duplex::Tdd(TddPattern::new("DDSUU", 10, 2));
        assert_eq!([0, 1, 2, 3].map(|count| duplex.uplink_slot(count)), [3, 4, 8, 9]);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|ue| duplex.phase_of(UplinkOccasions { period: 10, offset: 4 }, ue)),
            [4, 8, 9, 3, 4]
        );
        assert_eq!(
            [1, 4, 5, 8, 9]
                .map(|ues| duplex.occasions_at_once(UplinkOccasions { period: 10, offset: 4 }, ues)),
            [1, 1, 2, 2, 3]
        );
        assert_eq!(
            [5, 8, 9].map(|ues| Duplex::Fdd.occasions_at_once(UplinkOccasions { period: 4, offset: 1 }, ues)),
            [2, 2, 3]
        );
        // Of the slots 4, 11, 18 of UE 0 and 2, 9, 16 of UE 1, the first and the last ones move to slots 4 and 19.
        let duplex = Duplex::Tdd(TddPattern::new("DDDSU", 10, 2));
        assert_eq!([0, 1].map(|ue| duplex.phase_of(UplinkOccasions { period: 7, offset: 4 }, ue)), [4, 2]);
        assert_eq!(duplex.occasions_at_once(UplinkOccasions { period: 7, offset: 4 }, 2), 2);
    }

    #[test]
    #[should_panic(expected = "guard period")]
    fn a_special_slot_has_a_guard_period() {
        let _ = TddPattern::new("DSU", 12, 2);
    }
}
