//! The reference rate and the rates around the rate-shaping buffer. RFC 8698 sections 4.3 and 5.2.

use airlane_core::{BitRate, Bytes, Duration};

use super::NadaSettings;
use crate::Bounds;
use crate::smooth::ratio;

/// `KAPPA`. RFC 8698 section 4.1.
const KAPPA: f64 = 0.5;
/// `ETA`. Section 4.1.
const ETA: f64 = 2.0;
/// `TAU`. Section 4.1.
const TAU: Duration = Duration::from_millis(500);
/// `DELTA`, the target of the interval of reports. Section 4.1.
pub(super) const DELTA: Duration = Duration::from_millis(100);
/// `DFILT`. Section 4.1.
const DFILT: Duration = Duration::from_millis(120);
/// `GAMMA_MAX`. Section 4.1.
const GAMMA_MAX: f64 = 0.5;
/// `QBOUND`. Section 4.1.
const QBOUND: Duration = Duration::from_millis(50);
/// `BETA_S` and `BETA_V`, which are equal. Section 4.1.
const BETA: f64 = 0.1;
/// The largest change of the rates by the buffer. Section 5.2.2.
const SHAPING_MOST: f64 = 0.05;

/// `gamma` (equation 3): how much faster than it was received a rate may become at once.
pub(super) fn ramp_up_gain(round_trip: Duration) -> f64 {
    ratio(QBOUND, round_trip + DELTA + DFILT).min(GAMMA_MAX)
}

/// The accelerated ramp-up (equation 4), in bits per second.
pub(super) fn ramped_up(reference: f64, received: f64, round_trip: Duration) -> f64 {
    reference.max((1.0 + ramp_up_gain(round_trip)) * received)
}

/// The congestion signal of this update and of the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signals {
    pub(super) current: Duration,
    pub(super) previous: Duration,
}

/// The gradual update (equations 5 to 7), in bits per second. `since` is the time since the last update.
pub(super) fn updated_gradually(
    reference: f64,
    signals: Signals,
    since: Duration,
    settings: &NadaSettings,
    most: BitRate,
) -> f64 {
    let (current, previous) = (signals.current.as_secs_f64(), signals.previous.as_secs_f64());
    let tau = TAU.as_secs_f64();
    let equilibrium =
        settings.priority * settings.reference_delay.as_secs_f64() * most.bits_per_second() as f64
            / reference;
    let offset = current - equilibrium;
    let difference = current - previous;
    let change = since.as_secs_f64() / tau * offset / tau + ETA * difference / tau;
    reference - KAPPA * change * reference
}

/// The rates of the encoder and of the pacer. Section 5.2.2: a full buffer lowers the one and raises the other.
pub(super) fn shaped(reference: f64, buffer: Bytes, fps: f64, bounds: &Bounds) -> (BitRate, BitRate) {
    let difference = (BETA * 8.0 * buffer.get() as f64 * fps).min(SHAPING_MOST * reference);
    let video = BitRate((reference - difference) as u64).max(bounds.min);
    let sending = BitRate((reference + difference) as u64).min(bounds.max);
    (video, sending)
}

#[cfg(test)]
mod tests {
    use super::super::tests::figure;
    use super::*;

    const BOUNDS: Bounds = Bounds { min: BitRate(150_000), start: BitRate(150_000), max: BitRate(1_500_000) };

    #[test]
    fn the_gain_of_the_ramp_up_falls_with_the_round_trip() {
        for ms in [20, 40, 60, 300] {
            let gain = ramp_up_gain(Duration::from_millis(ms));
            assert!((gain - figure(&format!("gamma {ms}"))).abs() < 1e-5, "{ms} ms: {gain}");
        }
    }

    #[test]
    fn the_ramp_up_never_lowers_the_rate() {
        let round_trip = Duration::from_millis(60);
        assert!((ramped_up(500_000.0, 300_000.0, round_trip) - 500_000.0).abs() < 1e-6);
        let gain = figure("gamma 60");
        assert!((ramped_up(500_000.0, 500_000.0, round_trip) - 500_000.0 * (1.0 + gain)).abs() < 10.0);
    }

    #[test]
    fn the_gradual_update_follows_the_equations() {
        for (mbps, current, previous) in [("1.0", 15, 15), ("1.0", 25, 15), ("0.5", 10, 12), ("0.8", 5, 9)] {
            let key = format!("gradual {mbps} {current} {previous}");
            let signals = Signals {
                current: Duration::from_millis(current),
                previous: Duration::from_millis(previous),
            };
            let reference = mbps.parse::<f64>().expect("a number") * 1e6;
            let settings = NadaSettings::default();
            let rate = updated_gradually(reference, signals, DELTA, &settings, BOUNDS.max);
            assert!((rate / 1e6 - figure(&key)).abs() < 5e-5, "{key}: {rate}");
        }
    }

    #[test]
    fn the_rate_is_steady_at_the_delay_of_the_equilibrium() {
        for mbps in [0.3, 0.5, 0.6, 1.0, 1.25, 1.5] {
            let rate_text = if mbps == 1.0 { "1.0".to_owned() } else { mbps.to_string() };
            let delay = Duration::from_secs_f64(figure(&format!("equilibrium {rate_text}")) / 1e3);
            let signals = Signals { current: delay, previous: delay };
            let rate = updated_gradually(mbps * 1e6, signals, DELTA, &NadaSettings::default(), BOUNDS.max);
            assert!((rate / 1e6 - mbps).abs() < 1e-6, "{mbps}: {rate}");
        }
    }

    #[test]
    fn a_buffer_moves_the_rates_apart() {
        let difference = figure("buffer 2000") * 1e3;
        let (video, sending) = shaped(1_000_000.0, Bytes(2000), 30.0, &BOUNDS);
        assert_eq!((video.0, sending.0), (1_000_000 - difference as u64, 1_000_000 + difference as u64));
        let (video, sending) = shaped(1_000_000.0, Bytes(9000), 30.0, &BOUNDS);
        assert_eq!((video.0, sending.0), (950_000, 1_050_000), "5 % at most");
        let (video, sending) = shaped(150_000.0, Bytes(9000), 30.0, &BOUNDS);
        assert_eq!((video.0, sending.0), (150_000, 157_500), "the encoder has a minimum");
    }
}
