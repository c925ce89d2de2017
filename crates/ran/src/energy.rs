//! The energy of a UE's modem, from the times in which it listened, slept and sent.
//!
//! *Relative power* is that of TR 38.840 v16.0.0 §8.1 (its tables as 5G-LENA's contribution on the energy of UEs has them),
//! where deep sleep has power 1. Reception is scaled with the bandwidth of the UE's part of the carrier in FR1; while a UE
//! switches its part, and until its timer expires, with that of the carrier. A slot with a block from the UE counts with
//! the power of transmission in place of that of PDCCH.
//!
//! Both are those of one carrier: a UE with several carriers has its times, and neither energy; so has a UE with a secondary
//! node, whose times are those of its master cell group.
//!
//! *Joules* are those of the phone of Huang et al., MobiSys 2012, with the values of AT&T's Application Resource Optimizer
//! (`ProfileLTE.java`), for LTE only: a phone of 2011, whose modem hardly saved power between on-durations.

use airlane_core::{Duration, Instant, UeId};

use crate::config::CellConfig;
pub use crate::mac::sleep::{Depth, Phase, RadioUse, SleepTally, Sleeps};
use crate::network::RadioNetwork;
use crate::numerology::Numerology;
use crate::ue::Membership;

/// Relative power in FR1 and FR2.
struct RelativePower {
    pdcch: f64,
    pdsch: f64,
    /// At 0 and at 23 dBm.
    sending: [f64; 2],
}

const FR1: RelativePower = RelativePower { pdcch: 100.0, pdsch: 300.0, sending: [250.0, 700.0] };
const FR2: RelativePower = RelativePower { pdcch: 175.0, pdsch: 350.0, sending: [350.0, 350.0] };
/// Relative power of micro, light and deep sleep, and the energy of the transitions of each, in its unit times seconds.
const SLEEPING: [f64; 3] = [45.0, 20.0, 1.0];
const TRANSITIONS: [f64; 3] = [0.0, 0.1, 0.45];
/// From this carrier on: FR2 (TS 38.101-1 table 5.1-1).
const FR2_HZ: f64 = 24.25e9;
/// The bandwidth for which the relative powers of FR1 are, and the least that reception is scaled to.
const REFERENCE_HZ: f64 = 100e6;
const LEAST_SCALED: f64 = 50.0;

/// The phone: watts while its connection is set up, while it listens in a connection, and while it sleeps there.
const CONNECTING_W: f64 = 1.21;
const LISTENING_W: f64 = 1.2;
const SLEEPING_W: f64 = 1.06;
/// A paging occasion: 43 ms at 0.594 W.
const PAGING_J: f64 = 0.043 * 0.594;
/// Joules for a bit in the downlink and in the uplink: 51.97 and 438.39 mW for 1 Mbit/s.
const RECEIVED_J: f64 = 51.97e-9;
const SENT_J: f64 = 438.39e-9;

/// The energy of a UE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UeEnergy {
    /// Listening and sleep by [`Phase`].
    pub phases: [SleepTally; Phase::COUNT],
    /// Its blocks in both directions, of all its cells.
    pub radio_use: RadioUse,
    /// Energy in relative power times seconds; `None` with several carriers or a secondary node.
    pub relative: Option<f64>,
    /// Energy in joules; `None` in NR, with several carriers, and with a secondary node.
    pub joules: Option<f64>,
}

impl UeEnergy {
    /// `is_single` is false for a UE with several carriers or a secondary node.
    fn of(
        phases: [SleepTally; Phase::COUNT],
        radio_use: RadioUse,
        cell: &CellConfig,
        is_single: bool,
    ) -> Self {
        let relative = is_single.then(|| relative(&phases, &radio_use, cell));
        let is_lte = cell.numerology == Numerology::LTE;
        let joules = (is_single && is_lte).then(|| joules(&phases, &radio_use));
        Self { phases, radio_use, relative, joules }
    }

    /// Time of sleep of a depth.
    #[must_use]
    pub fn slept(&self, depth: Depth) -> Duration {
        self.phases.iter().fold(Duration::ZERO, |sum, tally| sum + tally.sleeps[depth as usize].time)
    }

    /// Time in which the UE listened to PDCCH.
    #[must_use]
    pub fn listened(&self) -> Duration {
        self.phases.iter().fold(Duration::ZERO, |sum, tally| sum + tally.active)
    }

    /// Time in a phase.
    #[must_use]
    pub fn spent(&self, phase: Phase) -> Duration {
        self.phases[phase as usize].total()
    }

    /// All time.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.phases.iter().fold(Duration::ZERO, |sum, tally| sum + tally.total())
    }
}

fn relative(phases: &[SleepTally], used: &RadioUse, cell: &CellConfig) -> f64 {
    let is_fr2 = cell.downlink_hz >= FR2_HZ;
    let power = if is_fr2 { FR2 } else { FR1 };
    let of_prbs = |prbs: u16| {
        let bandwidth = f64::from(prbs) * cell.numerology.prb_bandwidth_hz();
        // 100 MHz at 1, 20 MHz at 0.4.
        let scale =
            if is_fr2 { 1.0 } else { (0.4 + 0.6 * (bandwidth - 20e6) / (REFERENCE_HZ - 20e6)).min(1.0) };
        [power.pdcch, power.pdsch].map(|power| (power * scale).max(LEAST_SCALED))
    };
    let [pdcch, pdsch] = of_prbs(cell.resource_blocks);
    // Power that the default part saves.
    let default = cell.bandwidth_parts.map_or([pdcch, pdsch], |parts| of_prbs(parts.resource_blocks));
    let saved = [pdcch - default[0], pdsch - default[1]];
    let mut energy = 0.0;
    for tally in phases {
        energy += pdcch * tally.active.as_secs_f64() - saved[0] * tally.on_default.as_secs_f64();
        for ((sleeps, power), transition) in tally.sleeps.iter().zip(SLEEPING).zip(TRANSITIONS) {
            energy += power * sleeps.time.as_secs_f64() + transition * sleeps.count as f64;
        }
    }
    let [least, most] = power.sending;
    let sending_s = used.sending.as_secs_f64();
    let dbm_s = used.sending_mdbm as f64 / 1e12;
    let above = (dbm_s - RadioUse::LEAST_DBM * sending_s) / (RadioUse::MOST_DBM - RadioUse::LEAST_DBM);
    let [receiving, sending] = used.on_default.map(|time| time.as_secs_f64());
    energy += (pdsch - pdcch) * used.receiving.as_secs_f64() - (saved[1] - saved[0]) * receiving;
    energy += saved[0] * sending;
    energy + (least - pdcch) * sending_s + (most - least) * above
}

fn joules(phases: &[SleepTally; Phase::COUNT], used: &RadioUse) -> f64 {
    let [connected, connecting, released] = phases;
    let slept: f64 = connected.sleeps.iter().map(|sleeps| sleeps.time.as_secs_f64()).sum();
    let occasions: u64 = released.sleeps.iter().map(|sleeps| sleeps.count).sum();
    LISTENING_W * connected.active.as_secs_f64()
        + SLEEPING_W * slept
        + CONNECTING_W * connecting.total().as_secs_f64()
        + PAGING_J * occasions as f64
        + 8.0 * (RECEIVED_J * used.received.get() as f64 + SENT_J * used.sent.get() as f64)
}

impl RadioNetwork {
    /// The energy of a UE until now, by the radio of its present cell; `None` if it is not counted.
    #[must_use]
    pub fn energy(&self, ue: UeId, now: Instant) -> Option<UeEnergy> {
        let (ue, cell) = self.ue_with_cell(ue)?;
        let drx = ue.drx.as_ref()?;
        let is_single = ue.links.is_single() && ue.membership == Membership::Alone;
        Some(UeEnergy::of(drx.tallies(now), drx.radio_use, cell, is_single))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::UplinkAccess;

    fn tally(active_ms: u64, gaps: &[(u64, u64)]) -> SleepTally {
        let mut tally = SleepTally { active: Duration::from_millis(active_ms), ..SleepTally::default() };
        gaps.iter().for_each(|(length, count)| tally.sleep(Duration::from_millis(*length), *count));
        tally
    }

    /// A second of DRX: three cycles of 10 ms and 310 ms, and 40 ms. On a carrier of 100 PRBs of LTE, 18 MHz, reception
    /// scales with 0.385, so that listening has the power 50 and a block 115.5.
    #[test]
    fn energy_by_hand() {
        let cell = crate::tests::cell(UplinkAccess::IdealBufferStatus { delay: 1 });
        let phases = [tally(70, &[(310, 3)]), SleepTally::default(), SleepTally::default()];
        let mut used = RadioUse::default();
        used.receive(Duration::from_millis(2), airlane_core::Bytes(1_000));
        used.send(Duration::from_millis(1), airlane_core::Bytes(100), airlane_core::Dbm(23.0));
        let energy = UeEnergy::of(phases, used, &cell, true);
        let expected = 50.0 * 0.07 + 0.93 + 3.0 * 0.45 + 2e-3 * (115.5 - 50.0) + 1e-3 * (700.0 - 50.0);
        let relative = energy.relative.unwrap();
        assert!((relative - expected).abs() < 1e-9, "{relative} for {expected}");
        let joules = 1.2 * 0.07 + 1.06 * 0.93 + 8e3 * 51.97e-9 + 800.0 * 438.39e-9;
        assert!((energy.joules.unwrap() - joules).abs() < 1e-9);
        assert_eq!(
            (energy.slept(Depth::Deep), energy.total()),
            (Duration::from_millis(930), Duration::from_secs(1))
        );
    }

    /// 273 blocks of 360 kHz are 98.28 MHz and scale with 0.9871; 51 are 18.36 MHz and scale with 0.3877, so that listening
    /// has the power 50 and a block 116.31. Of a second of listening, 0.9 s are on the default part, with 20 of 30 ms of
    /// blocks and 2 of 5 ms of its own at 23 dBm.
    #[test]
    fn the_default_part_saves_energy_by_hand() {
        let mut cell = crate::tests::cell(UplinkAccess::IdealBufferStatus { delay: 1 });
        (cell.numerology, cell.resource_blocks) = (Numerology::nr(1, 2, crate::numerology::Duplex::Fdd), 273);
        let energy = |cell: &CellConfig| {
            let tally = SleepTally { on_default: Duration::from_millis(900), ..tally(1_000, &[]) };
            let mut used = RadioUse::default();
            used.receive(Duration::from_millis(30), airlane_core::Bytes(1_000));
            used.send(Duration::from_millis(5), airlane_core::Bytes(100), airlane_core::Dbm(23.0));
            used.on_default = [20, 2].map(Duration::from_millis);
            UeEnergy::of([tally, SleepTally::default(), SleepTally::default()], used, cell, true)
                .relative
                .unwrap()
        };
        let whole = 98.71 + 0.03 * 2.0 * 98.71 + 0.005 * (700.0 - 98.71);
        assert!((energy(&cell) - whole).abs() < 1e-2, "{} for {whole}", energy(&cell));
        cell.bandwidth_parts = Some(crate::config::BandwidthParts {
            resource_blocks: 51,
            activate_above: airlane_core::Bytes(0),
            inactivity_timer: Duration::from_millis(10),
            switching_delay: crate::config::SwitchingDelay::Type1,
        });
        let default = 50.0 * 0.9 + 0.02 * (116.31 - 50.0) + 0.002 * (700.0 - 50.0);
        let carrier = 98.71 * 0.1 + 0.01 * 2.0 * 98.71 + 0.003 * (700.0 - 98.71);
        let expected = default + carrier;
        assert!((energy(&cell) - expected).abs() < 1e-2, "{} for {expected}", energy(&cell));
    }
}
