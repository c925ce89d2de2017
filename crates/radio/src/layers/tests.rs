use super::simulation::{Channels, DRAWS, FITTED};
use super::*;

fn table(tx: u8, rx: u8, correlation: Correlation, precoding: Precoding) -> LayerTable {
    let antennas = Antennas { tx, rx };
    LayerTable::new(antennas, correlation, precoding, LineOfSight::None).expect("antennas of the table")
}

fn linear(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

#[test]
fn entries_are_fitted_again() {
    use {Correlation::*, Precoding::*};
    let kinds = [
        (Antennas { tx: 2, rx: 2 }, Low, LineOfSight::None, Singular),
        (Antennas { tx: 2, rx: 4 }, High, LineOfSight::Tdl, Codebook),
        (Antennas { tx: 4, rx: 4 }, Medium, LineOfSight::None, Singular),
    ];
    for (antennas, correlation, sight, precoding) in kinds {
        let channels = Channels::draw(antennas, correlation, sight, FITTED);
        for rank in 1..=antennas.layers() {
            let place = row_kinds()
                .position(|kind| kind == RowKind { antennas, correlation, precoding, sight, rank })
                .expect("a row of the table");
            for i in [0, 4, 7] {
                let gain = channels.fit(precoding, rank, linear(f64::from(entry_db(i))));
                let fitted = [gain.factor, gain.spread, gain.steady];
                for (entry, fitted) in TABLE[place][i].iter().zip(fitted) {
                    let error = (entry / fitted - 1.0).abs();
                    assert!(error < 6e-4, "{antennas:?} rank {rank} entry {i}: {entry} {fitted}");
                }
            }
        }
    }
}

#[test]
fn one_pair_is_itself() {
    for correlation in Correlation::ALL {
        let table = table(1, 1, correlation, Precoding::Codebook);
        for db in [-20.0, -3.0, 17.0, 60.0] {
            assert_eq!(table.gain(1, linear(db) as f32), LayerGain::ONE);
        }
        assert_eq!(table.rank(1e3, &[0.5], 4), 1);
    }
}

/// Maximum ratio combining of N independent antennas: the gain is the sum of N exponential variables, whose
/// logarithm has the variance ψ'(N). ψ'(1) = π²/6, ψ'(2) = π²/6 − 1, ψ'(4) = π²/6 − 49/36.
#[test]
fn receive_diversity_is_as_the_gamma_distribution_says() {
    let first = core::f64::consts::PI * core::f64::consts::PI / 6.0;
    for (antennas, variance) in [(2_u8, first - 1.0), (4, first - 49.0 / 36.0)] {
        let gain = table(1, antennas, Correlation::Low, Precoding::Singular).gain(1, 0.1);
        let spread = (variance / first).sqrt();
        assert!((f64::from(gain.spread) / spread - 1.0).abs() < 0.03, "{gain:?} {spread}");
        // At low SNR information is proportional to power: factor · E[g^spread] = N, E[g^s] = Γ(1 + s).
        let factor = f64::from(antennas) / libm::tgamma(1.0 + spread);
        assert!((f64::from(gain.factor) / factor - 1.0).abs() < 0.04, "{gain:?} {factor}");
    }
}

/// Full correlation leaves one layer, with the gain of the array; no correlation gives four.
#[test]
fn correlation_decides_the_rank() {
    let rank = |correlation, db| {
        let snr = linear(db) as f32;
        table(4, 4, correlation, Precoding::Singular).rank(snr, &[1.0], 4)
    };
    assert_eq!((rank(Correlation::Low, -10.0), rank(Correlation::High, -10.0)), (1, 1));
    assert_eq!((rank(Correlation::Low, 30.0), rank(Correlation::High, 15.0)), (4, 1));
    for correlation in Correlation::ALL {
        let ranks: Vec<u8> = (-2..=8).map(|i| rank(correlation, 5.0 * f64::from(i))).collect();
        assert!(ranks.is_sorted(), "{correlation:?}: {ranks:?}");
    }
}

/// The singular vectors are the best precoder at any number of layers: a codebook carries less.
#[test]
fn a_codebook_costs_power() {
    for (tx, rx) in [(2, 2), (4, 2), (4, 4)] {
        for correlation in Correlation::ALL {
            let [best, book] = Precoding::ALL.map(|precoding| table(tx, rx, correlation, precoding));
            for rank in 1..tx.min(rx) {
                let [best, book] = [best, book].map(|table| table.gain(rank, 10.0).steady);
                assert!(book < best * 1.001 && book > best * 0.4, "{tx} x {rx} rank {rank}: {book} {best}");
            }
        }
    }
}

#[test]
fn between_entries_the_table_is_interpolated() {
    let channels = Channels::draw(Antennas { tx: 4, rx: 2 }, Correlation::Medium, LineOfSight::None, FITTED);
    let table = table(4, 2, Correlation::Medium, Precoding::Singular);
    for rank in 1..=2 {
        for db in [-7.5, 2.5, 12.5, 22.5] {
            let (fitted, found) =
                (channels.fit(Precoding::Singular, rank, linear(db)), table.gain(rank, linear(db) as f32));
            assert!((found.factor / fitted.factor - 1.0).abs() < 0.03, "{db} dB: {found:?} {fitted:?}");
            assert!((found.spread - fitted.spread).abs() < 0.03, "{db} dB: {found:?} {fitted:?}");
        }
    }
}

#[test]
fn powers_are_accurate() {
    for i in 0..2000_u32 {
        let x = libm::exp2f(i as f32 / 50.0 - 30.0);
        for exponent in [0.05_f32, 0.3, 0.626, 1.0, 1.3] {
            let expected = libm::pow(f64::from(x), f64::from(exponent));
            let found = f64::from(power(x, exponent));
            assert!((found / expected - 1.0).abs() < 3e-5, "{x}^{exponent}: {found} {expected}");
        }
    }
    assert!(power(0.0, 0.5) < 1e-5 && power(0.0, 0.5) > 0.0);
}

#[test]
fn sinr_is_factor_and_spread() {
    let gain = LayerGain { factor: 2.0, spread: 0.5, steady: 3.0 };
    let mut out = [0.0; 3];
    gain.put_sinr(10.0, &[1.0, 4.0, 0.25], &mut out);
    [20.0, 40.0, 10.0].iter().zip(out).for_each(|(a, b)| assert!((b / a - 1.0_f32).abs() < 1e-5, "{b}"));
    LayerGain::ONE.put_sinr(10.0, &[1.0, 4.0, 0.25], &mut out);
    assert_eq!(out, [10.0, 40.0, 2.5]);
}

/// The table against channels that were not used for its fit, from −5 to 30 dB: mean and fifth percentile of the
/// information of the best number of layers.
#[test]
fn the_table_carries_what_channels_do() {
    for (antennas, precoding) in [
        (Antennas { tx: 1, rx: 4 }, Precoding::Singular),
        (Antennas { tx: 2, rx: 2 }, Precoding::Codebook),
        (Antennas { tx: 4, rx: 4 }, Precoding::Singular),
    ] {
        for correlation in [Correlation::Low, Correlation::High] {
            for sight in LineOfSight::ALL {
                let channels = Channels::draw(antennas, correlation, sight, FITTED + 1);
                let table = LayerTable::new(antennas, correlation, precoding, sight).expect("a table");
                for db in [-5.0, 5.0, 10.0, 20.0, 30.0] {
                    let [simulated, modelled] = channels.information(&table, precoding, linear(db));
                    let mean = |values: &[f64]| values.iter().sum::<f64>() / DRAWS as f64;
                    let reference = mean(&simulated);
                    let error = mean(&modelled) / reference - 1.0;
                    // Of the mean: a fifth percentile of a weak channel is near zero.
                    let low = (modelled[DRAWS / 20] - simulated[DRAWS / 20]) / reference;
                    let what = format!("{antennas:?} {precoding:?} {correlation:?} {sight:?} {db} dB");
                    assert!(error.abs() < 0.06 && low.abs() < 0.08, "{what}: {error:+.3} {low:+.3}");
                }
            }
        }
    }
}

/// Vectors of any width compute the same bits as one value at a time.
#[test]
fn powers_of_many_gains_are_those_of_each() {
    let gains: Vec<f32> = (0..275).map(|i| libm::exp2f(i as f32 * 0.1 - 20.0)).collect();
    for count in [1, 7, 8, 31, 275] {
        for spread in [0.1, 0.37, 0.9] {
            let mut out = vec![0.0; count];
            LayerGain { factor: 1.7, spread, steady: 1.0 }.put_sinr(12.0, &gains[..count], &mut out);
            for (sinr, gain) in out.iter().zip(&gains) {
                assert_eq!(*sinr, power(*gain, spread) * (12.0 * 1.7), "{gain}^{spread} of {count}");
            }
        }
    }
}

/// The number of layers is that of the information of each, computed one by one.
#[test]
fn the_rank_is_that_of_the_information_of_each() {
    let gains: Vec<f32> = (0..273).map(|i| libm::exp2f(libm::sinf(i as f32) * 3.0)).collect();
    let (table, mut seen) = (table(4, 4, Correlation::Low, Precoding::Singular), [false; 5]);
    for db in -20..50 {
        let mean = linear(f64::from(db)) as f32;
        for gains in [&gains[..], &gains[..24], &gains[..1], &[]] {
            let carried = |rank: u8| {
                let gain = table.gain(rank, mean);
                let at = |of: &f32| power(*of, gain.spread) * gain.factor * mean;
                let probes: Vec<f32> =
                    gains.iter().step_by(gains.len().div_ceil(16).max(1)).map(at).collect();
                let sinr = if probes.is_empty() { &[gain.steady * mean][..] } else { &probes[..] };
                f32::from(rank) * mutual_information::mean_of(Modulation::Qam256, sinr)
            };
            let ranks = 1..=4_u8;
            let most = ranks.clone().map(carried).fold(0.0, f32::max);
            let first = { ranks }.find(|rank| carried(*rank) == most).expect("one of them");
            assert_eq!(table.rank(mean, gains, 4), first, "{db} dB, {} gains", gains.len());
            seen[usize::from(first)] = true;
        }
    }
    assert_eq!(seen, [false, true, true, true, true]);
}
