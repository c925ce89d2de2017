use airlane_core::Decibel;
use airlane_core::Direction::{Downlink, Uplink};

use super::gap::COEFFICIENTS;
use super::*;
use crate::reference;

fn db(linear: f32) -> f64 {
    Decibel::from_linear(f64::from(linear)).0
}

fn linear(db: f64) -> f32 {
    Decibel(db).linear() as f32
}

/// Blocks of the reference: (block, SNR at error rate 0.1, at 0.01).
fn reference_blocks() -> Vec<(CodeScheme, CodedBlock, f64, f64)> {
    let rows = reference::rows(include_str!("../../data/bler_thresholds_ns3.csv"));
    assert_eq!(rows.len(), 58);
    rows.iter()
        .map(|row| {
            let scheme = CodeScheme::new(Mcs::new(row[1] as u8), Downlink);
            assert!((scheme.code_rate - row[3]).abs() < 1e-9);
            let bytes = Bytes((row[2] as u64 - u64::from(CRC_BITS)) / 8);
            (scheme, CodedBlock::with_scheme(scheme, bytes), row[4], row[5])
        })
        .collect()
}

#[test]
fn thresholds_agree_with_the_peers_curves() {
    for (target, column, rms_max, worst_max) in [(0.1, 0, 0.125, 0.29), (0.01, 1, 0.17, 0.42)] {
        let (mut square, mut worst) = (0.0, 0.0_f64);
        for (_, block, at_10, at_1) in reference_blocks() {
            let error = db(block.sinr_for(target)) - [at_10, at_1][column];
            square += error * error;
            worst = worst.max(error.abs());
        }
        let rms = (square / 58.0_f64).sqrt();
        println!("error rate {target}: rms {rms:.3} dB, worst {worst:.3} dB over 58 blocks");
        assert!(rms < rms_max && worst < worst_max, "at {target}: rms {rms:.3} dB, worst {worst:.3} dB");
    }
}

/// A reference block's regressors, and the gap in dB for which its error rate is 0.1 at the SNR of
/// the reference.
fn needed_gaps() -> Vec<([f64; 6], f64)> {
    let needed = |(scheme, block, at_10, _): (CodeScheme, CodedBlock, f64, f64)| {
        (gap_regressors(scheme, block.code_block_bits()), at_10 - db(block.without_gap().sinr_for(0.1)))
    };
    reference_blocks().into_iter().map(needed).collect()
}

/// Least squares: the normal equations, solved by elimination.
fn fit<'a>(points: impl Iterator<Item = &'a ([f64; 6], f64)>) -> [f64; 6] {
    let mut a = [[0.0_f64; 7]; 6];
    for (x, needed) in points {
        for i in 0..6 {
            for j in 0..6 {
                a[i][j] += x[i] * x[j];
            }
            a[i][6] += x[i] * needed;
        }
    }
    for p in 0..6 {
        let pivot = a[p];
        for (i, row) in a.iter_mut().enumerate() {
            if i != p {
                let f = row[p] / pivot[p];
                row.iter_mut().zip(pivot).for_each(|(r, v)| *r -= f * v);
            }
        }
    }
    core::array::from_fn(|i| a[i][6] / a[i][i])
}

#[test]
fn the_coefficients_are_the_least_squares_fit() {
    let fit = fit(needed_gaps().iter());
    println!("fit {fit:.4?}");
    for (f, c) in fit.iter().zip(COEFFICIENTS) {
        assert!((f - c).abs() < 0.01 * c.abs().max(0.1), "{fit:?} against {COEFFICIENTS:?}");
    }
}

#[test]
fn a_block_left_out_of_the_fit_is_foretold() {
    // The residuals of a fit underestimate its error. Here each block is predicted by a fit to the
    // other 57.
    let points = needed_gaps();
    let (mut square, mut worst) = (0.0, 0.0_f64);
    for (left_out, (x, needed)) in points.iter().enumerate() {
        let others = points.iter().enumerate().filter(|(i, _)| *i != left_out).map(|(_, p)| p);
        let foretold: f64 = fit(others).iter().zip(x).map(|(c, x)| c * x).sum();
        square += (foretold - needed) * (foretold - needed);
        worst = worst.max((foretold - needed).abs());
    }
    let rms = (square / points.len() as f64).sqrt();
    println!("left out: rms {rms:.3} dB, worst {worst:.3} dB");
    assert!(rms < 0.2 && worst < 0.5, "rms {rms:.3} dB, worst {worst:.3} dB");
}

#[test]
fn the_curves_fall_as_steeply_as_the_peers() {
    // Whole curves, without any shift: the error rate differs by no more than a shift of 0.4 dB
    // would change it.
    let rows = reference::rows(include_str!("../../data/bler_vs_snr_ns3.csv"));
    assert!(rows.len() > 500);
    for row in rows {
        let block = CodedBlock::new(Mcs::new(row[1] as u8), Downlink, Bytes(row[2] as u64));
        let (better, worse) =
            (block.error_rate_at(linear(row[3] + 0.4)), block.error_rate_at(linear(row[3] - 0.4)));
        assert!(better <= row[4] + 0.03 && row[4] - 0.03 <= worse, "{row:?}: {better} to {worse}");
    }
}

#[test]
fn long_blocks_are_cut() {
    // TS 36.212 §5.1.2: B = 75376 + 24 = 75400, C = ceil(75400 / 6120) = 13,
    // K = (75400 + 13 * 24) / 13 = 5824.
    assert_eq!(segment(Bytes(75_376 / 8)), (13, 5824.0));
    assert_eq!(segment(Bytes(765)), (1, 6144.0));
    assert_eq!(segment(Bytes(766)), (2, (6152.0 + 48.0) / 2.0));
    assert_eq!(segment(Bytes(0)), (1, 24.0));
}

#[test]
fn a_failing_block_fails_by_any_of_its_parts() {
    // The same code block, alone and thirteen times: 1 - (1 - p)^13.
    let many = CodedBlock::new(Mcs::MAX, Downlink, Bytes(75_376 / 8));
    let one = CodedBlock { count: 1, ..many };
    let sinr = one.sinr_for(0.02);
    let p = one.error_rate_at(sinr);
    let mut survive = 1.0;
    (0..13).for_each(|_| survive *= 1.0 - p);
    assert!((many.error_rate_at(sinr) - (1.0 - survive)).abs() < 1e-9);
}

#[test]
fn error_rates_are_probabilities_and_fall() {
    for mcs in Mcs::all() {
        for (direction, n_prb) in [(Downlink, 1), (Downlink, 4), (Downlink, 100), (Uplink, 2), (Uplink, 96)] {
            let block = CodedBlock::new(mcs, direction, mcs.transport_block(n_prb, direction));
            let mut last = 1.0;
            for k in -100..=160 {
                let p = block.error_rate_at(linear(f64::from(k) / 4.0));
                assert!((0.0..=1.0).contains(&p));
                assert!(p <= last + 1e-9, "{mcs:?} {n_prb} PRB at {k}: {last} then {p}");
                last = p;
            }
            assert!(last < 1e-6, "{mcs:?} {direction:?} on {n_prb} PRB never decodes: {last}");
        }
    }
    let nothing = HarqSoftState::default();
    assert_eq!(CodedBlock::new(Mcs::MIN, Downlink, Bytes(11)).error_rate(&nothing), 1.0);
}

#[test]
fn a_retransmission_is_worth_at_least_combining() {
    // Two receptions at SNR s carry at least the information of one at 2 s for an unlimited
    // modulation: the threshold decreases by 3 dB at low rate and by more at high rate.
    for (mcs, low, high) in [(0, 2.2, 3.8), (9, 2.5, 5.0), (20, 4.0, 8.0), (28, 6.0, 12.0)] {
        let mcs = Mcs::new(mcs);
        let block = CodedBlock::new(mcs, Downlink, mcs.transport_block(50, Downlink));
        let once = db(block.sinr_for(0.1));
        let mut twice = once;
        let rate = |at: f64| {
            let mut state = HarqSoftState::default();
            state.receive(&block, &[linear(at); 50]);
            state.receive(&block, &[linear(at); 50]);
            block.error_rate(&state)
        };
        while rate(twice) < 0.1 {
            twice -= 0.01;
        }
        assert!((low..high).contains(&(once - twice)), "{mcs:?}: gains {:.2} dB", once - twice);
    }
    let block = CodedBlock::new(Mcs::new(9), Downlink, Bytes(1000));
    let mut state = HarqSoftState::default();
    state.receive(&block, &[10.0, 0.1]);
    assert!(state != HarqSoftState::default());
    state.clear();
    assert_eq!(block.error_rate(&state), 1.0);
}

#[test]
fn uplink_rates_share_their_block_size() {
    // I_TBS 10 is downlink MCS 11 (1.33 bit a symbol): 1.33 / 2 in uplink MCS 10 (QPSK),
    // 1.33 / 4 in uplink MCS 11 (16QAM).
    assert!((CodeScheme::new(Mcs::new(10), Uplink).code_rate - 0.665).abs() < 1e-12);
    assert!((CodeScheme::new(Mcs::new(11), Uplink).code_rate - 0.3325).abs() < 1e-12);
    // I_TBS 9 is downlink MCS 9 and 10: the denser, 1.18 / 2.
    assert!((CodeScheme::new(Mcs::new(9), Uplink).code_rate - 0.59).abs() < 1e-12);
    for mcs in Mcs::all() {
        assert!(CodeScheme::new(mcs, Uplink).code_rate < 0.93);
    }
}

#[test]
fn what_is_certain_never_fails() {
    for direction in [Downlink, Uplink] {
        for (mcs, prbs) in Mcs::all().flat_map(|mcs| [1, 2, 3, 7, 25, 50, 100].map(|prbs| (mcs, prbs))) {
            let block = CodedBlock::new(mcs, direction, mcs.transport_block(prbs, direction));
            let from = block.certain_from();
            assert!(from < linear(45.0), "{mcs:?} on {prbs} PRBs");
            // It is not far above the lowest possible value.
            assert!(block.error_rate_at(from * linear(-1.2)) > 0.0, "{mcs:?} on {prbs} PRBs");
            for k in 0..400 {
                let mut state = HarqSoftState::default();
                let (worst, others) = (from * linear(0.01 * f64::from(k % 20)), linear(0.1 * f64::from(k)));
                let sinr: Vec<_> =
                    (0..prbs).map(|p| if p % 3 == 0 { worst } else { worst * others }).collect();
                state.receive(&block, &sinr);
                assert!(
                    block.error_rate(&state) == 0.0,
                    "{mcs:?} on {prbs} PRBs: {worst} and {others} times that"
                );
            }
        }
    }
}
