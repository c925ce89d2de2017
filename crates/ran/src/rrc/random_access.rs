//! Random access to a target (TS 36.321 v17.0 §5.1): the result of one attempt.
//!
//! The target has assigned a dedicated preamble to the UE, so there is no contention. An attempt
//! succeeds if the eNB detects the preamble and the UE decodes the PDCCH of the response. A failed
//! attempt is repeated with higher power until T304 expires: during a handover RRC ignores that
//! preambleTransMax was reached (TS 36.331 v17.0 §5.3.11.3), and MAC continues (TS 36.321 §5.1.4).
//!
//! The duration of random access is either a part of the handover's interruption, or follows from the
//! [`Occasions`] of the PRACH.
//!
//! Not included: interference between preambles and from PUSCH, fading of the preamble, and errors of the
//! response other than those of its PDCCH.

use airlane_core::{Dbm, Decibel, Duration, Instant, Stream};
use airlane_radio::Mobility;

use crate::config::CellConfig;
use crate::link::ServingLink;
use crate::mac::control;

/// Time from a preamble to the next: one occasion in each radio frame (prach-ConfigurationIndex 3, TS
/// 36.211 §5.7.1), and the UE waits for the response until 3 + 10 subframes after the preamble (TS
/// 36.321 §5.1.4, ra-ResponseWindowSize sf10), so that the occasion 10 ms later is too early. Both
/// values are srsRAN's (`srsenb/sib.conf.example`).
pub(crate) const PERIOD: Duration = Duration::from_millis(20);
/// The occasions of the PRACH at a target, and what follows an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occasions {
    /// Time from an occasion to the next.
    pub period: Duration,
    /// Time from the beginning of a preamble that is answered to the end of the UE's message that completes
    /// the handover.
    pub completion: Duration,
    /// Time from the beginning of a preamble without a response until the UE may send the next, in the first
    /// occasion from then on.
    pub retry: Duration,
}

impl Occasions {
    /// Time from the moment in which the UE is ready to the end of a successful first attempt. The UE may be
    /// ready at any time of a period, since the frames of two cells are not synchronized.
    pub(crate) fn first(&self, draws: &mut Stream) -> Duration {
        Duration::from_nanos(draws.below(self.period.as_nanos())) + self.completion
    }

    /// Time from the end of an attempt, as if it had succeeded, to the same of the next one.
    pub(crate) fn next(&self) -> Duration {
        self.period * self.retry.as_nanos().div_ceil(self.period.as_nanos())
    }
}

/// preambleInitialReceivedTargetPower, srsRAN's.
const TARGET: Dbm = Dbm(-104.0);
/// powerRampingStep, srsRAN's.
const STEP: Decibel = Decibel(6.0);
/// Number of PRBs of PRACH (TS 36.211 v17.0 §5.7.3).
const PRBS: f64 = 6.0;
/// Minimum SNR for the detection of a preamble of format 0 with two antennas, in a fading channel (ETU,
/// 70 Hz) and in noise alone (TS 36.104 v17.0 table 8.4.2.1-1).
const DETECTED: (Decibel, Decibel) = (Decibel(-8.0), Decibel(-14.2));

/// The conditions of an attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// Attempts before this one.
    pub(crate) before: u32,
    /// Linear SNR of the uplink at the UE's full power over the band, before fading, and that band in PRBs.
    pub(crate) full_power: (f32, u16),
    /// Noise of a PRB at the eNB.
    pub(crate) noise: Dbm,
    /// True if the channel fades.
    pub(crate) fades: bool,
}

impl Attempt {
    /// An attempt at a cell, after this many before it.
    pub(crate) fn at(
        cell: &CellConfig,
        link: &mut ServingLink,
        mobility: &mut Mobility,
        now: Instant,
        before: u32,
    ) -> Self {
        let channel = &mut link.uplink.channel;
        Self {
            before,
            full_power: (channel.mean_sinr(now, mobility), cell.resource_blocks),
            noise: cell.prb_noise(),
            fades: !channel.is_flat(),
        }
    }

    /// True if the eNB detects the preamble.
    pub(crate) fn is_detected(&self) -> bool {
        let (snr, prbs) = self.full_power;
        let noise = self.noise + Decibel::from_linear(PRBS);
        // TS 36.321 §5.1.3, within the UE's power (TS 36.213 §6.1).
        let asked = TARGET + Decibel(STEP.0 * f64::from(self.before)) - noise;
        let most = Decibel::from_linear(f64::from(snr).max(1e-12) * f64::from(prbs) / PRBS);
        let needed = if self.fades { DETECTED.0 } else { DETECTED.1 };
        asked.0.min(most.0) >= needed.0
    }

    /// True if the UE receives the response, at this linear SINR of the target's control region.
    pub(crate) fn succeeds(&self, control_sinr: f32, draws: &mut Stream) -> bool {
        self.is_detected() && !control::is_missed(control_sinr, draws)
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::Seeds;

    use super::*;

    #[test]
    fn the_wait_for_an_occasion_is_uniform_and_a_retry_waits_for_one() {
        let ms = Duration::from_millis;
        let occasions = Occasions { period: ms(10), completion: ms(10), retry: ms(16) };
        let mut draws = Seeds::new(1).stream("occasions");
        let mut waits: Vec<f64> =
            (0..4000).map(|_| occasions.first(&mut draws).as_nanos() as f64 / 1e6).collect();
        waits.sort_by(f64::total_cmp);
        // Quantiles of a uniform distribution from 10 to 20 ms; 0.3 ms are four standard errors of the median.
        for share in [0.05, 0.5, 0.95] {
            let quantile = waits[(share * 4000.0) as usize];
            assert!((quantile - (10.0 + 10.0 * share)).abs() < 0.3, "{share}: {quantile}");
        }
        // Ready after 16 ms: the second occasion after the failed one.
        assert_eq!(occasions.next(), ms(20));
        assert_eq!(Occasions { period: ms(16), ..occasions }.next(), ms(16));
    }

    /// 50 PRBs, noise of −116.4 dBm a PRB: a preamble of the first power has an SNR of 4.6 dB.
    fn attempt(full_power_db: f64) -> Attempt {
        let snr = Decibel(full_power_db).linear() as f32;
        Attempt { before: 0, full_power: (snr, 50), noise: Dbm(-116.4), fades: true }
    }

    #[test]
    fn a_preamble_is_heard_where_the_power_of_the_ue_suffices() {
        // On six PRBs the SNR is 9.2 dB higher than on the band; −8 dB is needed, in noise alone
        // −14.2 dB.
        assert!(attempt(-17.1).is_detected());
        assert!(!attempt(-17.3).is_detected());
        let alone = |db| Attempt { fades: false, ..attempt(db) };
        assert!(alone(-23.3).is_detected());
        assert!(!alone(-23.5).is_detected());
        // The required power is sufficient at once, so another step changes nothing.
        assert!(!Attempt { before: 9, ..attempt(-17.3) }.is_detected());
        let loud = Attempt { noise: Dbm(-100.0), ..attempt(30.0) };
        assert!(!loud.is_detected(), "-104 dBm over -92.2 dBm of noise");
        assert!(Attempt { before: 1, ..loud }.is_detected(), "6 dB more");
    }

    #[test]
    fn the_answer_is_missed_as_often_as_pdcch() {
        let mut draws = Seeds::new(1).stream("random-access");
        let mut share = |sinr| {
            let hits = (0..4000).filter(|_| attempt(0.0).succeeds(sinr, &mut draws)).count();
            hits as f64 / 4000.0
        };
        let median = Decibel(-8.07).linear() as f32; // of `mac::control`
        assert!((share(median) - 0.5).abs() < 0.03);
        assert_eq!(share(10.0), 1.0);
        assert!(share(0.01) < 0.001, "the target is not audible");
    }
}
