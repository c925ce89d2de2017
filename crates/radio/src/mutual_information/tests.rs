use super::*;

fn linear(db: f64) -> f32 {
    libm::pow(10.0, db / 10.0) as f32
}

#[test]
fn every_entry_is_its_integral() {
    for (i, (means, variances)) in TABLE.0.iter().zip(&VARIANCE).enumerate() {
        for m in Modulation::ALL {
            let true_value = exact(m, f64::from(entry_sinr(i)));
            let mean = f64::from(means[m.index()]);
            let variance = f64::from(variances[m.index()]);
            assert!((mean - true_value.mean).abs() < 1e-6, "{m:?} entry {i}: {mean} {}", true_value.mean);
            assert!((variance - true_value.variance).abs() < 1e-6, "{m:?} entry {i}");
        }
    }
}

#[test]
fn one_modulation_alone_gets_the_same_sum() {
    // Chunks and what is left over, and SINRs beyond both ends of the table.
    let sinr: Vec<f32> = (0..59).map(|k| linear(f64::from(k) * 1.7 - 50.0)).collect();
    for count in 0..=sinr.len() {
        let all = mean(&sinr[..count]);
        for m in Modulation::ALL {
            assert_eq!(mean_of(m, &sinr[..count]), all[m.index()], "{m:?} of {count}");
        }
    }
}

#[test]
fn scaled_sinrs_get_the_same_means() {
    let sinr: Vec<f32> = (0..59).map(|k| linear(f64::from(k) * 1.7 - 50.0)).collect();
    for count in 0..=sinr.len() {
        let factors = [1.0, 3.7, 512.0];
        let expected =
            factors.map(|factor| mean(&sinr[..count].iter().map(|x| x * factor).collect::<Vec<_>>()));
        assert_eq!(means_scaled(&sinr[..count], factors), expected, "{count}");
        assert_eq!(means_scaled(&sinr[..count], [3.7]), [expected[1]], "{count}");
    }
}

#[test]
fn known_capacities() {
    // Rate-1/2 binary signalling in Gaussian noise needs Eb/N0 = 0.187 dB (textbook value). QPSK
    // then carries one information bit a symbol, so that SNR = Es/N0 = Eb/N0.
    let half = exact(Modulation::Qpsk, libm::pow(10.0, 0.01871));
    assert!((half.mean - 1.0).abs() < 2e-4, "{}", half.mean);
    // Gray-labelled BICM is below capacity at low SNR and saturates at high SNR.
    for m in Modulation::ALL {
        let low = exact(m, 0.01).mean / libm::log2(1.01);
        assert!((0.7..1.0).contains(&low), "{m:?}: {low}");
        let high = exact(m, 4000.0);
        assert!((high.mean - f64::from(m.bits_per_symbol())).abs() < 1e-6);
        assert!(high.variance < 1e-4);
    }
    // Dispersion of BPSK at vanishing SNR: variance of the density is 2 snr / ln²2 for the
    // pair of dimensions (the density is a Gaussian log-likelihood ratio of variance 4 snr).
    let x = exact(Modulation::Qpsk, 1e-4);
    let ln2 = core::f64::consts::LN_2;
    assert!((x.variance / (2.0 * 1e-4 / (ln2 * ln2)) - 1.0).abs() < 0.01, "{}", x.variance);
}

#[test]
fn interpolation_lies_within_a_thousandth_of_a_bit() {
    let mut worst = 0.0_f64;
    for k in 0..=300 {
        let x = linear(-22.0 + 0.19 * f64::from(k));
        for m in Modulation::ALL {
            let error = (at(m, x).mean - exact(m, f64::from(x)).mean).abs();
            worst = worst.max(error);
        }
    }
    assert!(worst < 1e-3, "{worst}");
}

#[test]
fn the_inverse_finds_the_sinr() {
    for (m, top_db) in [(Modulation::Qpsk, 8.0), (Modulation::Qam16, 16.0), (Modulation::Qam64, 24.0)] {
        let mut db = -20.0;
        while db < top_db {
            let x = linear(db);
            let back = sinr_of(m, at(m, x).mean as f32);
            assert!((back / x - 1.0).abs() < 1e-3, "{m:?} at {db} dB: {back} {x}");
            db += 0.37;
        }
    }
}

#[test]
fn the_ends_hold() {
    assert_eq!(sum(&[0.0]), TABLE.0[0]);
    assert_eq!(sum(&[f32::NAN]), TABLE.0[0]);
    assert_eq!(sum(&[-1.0]), TABLE.0[0]);
    let top = sum(&[f32::INFINITY]);
    assert!((top[2] - 6.0).abs() < 1e-6);
    assert_eq!(mean(&[]), [0.0; 4]);
    assert!(sinr_of(Modulation::Qpsk, 2.0) > 10.0);
    assert!(sinr_of(Modulation::Qpsk, 3.0) > 10.0);
    assert_eq!(sinr_of(Modulation::Qpsk, -1.0), LOWEST);
}

#[test]
fn the_mean_weighs_every_prb_alike() {
    let both = mean(&[1.0, 100.0]);
    for m in Modulation::ALL {
        let by_hand = (at(m, 1.0).mean + at(m, 100.0).mean) / 2.0;
        assert!((f64::from(both[m.index()]) - by_hand).abs() < 1e-6);
    }
}

#[test]
fn the_guide_leads_to_where_a_search_would() {
    for modulation in Modulation::ALL {
        let m = modulation.index();
        let check = |information: f32| {
            let step = step_of(information, m);
            let (from, to) = (usize::from(GUIDE[m][step]), usize::from(GUIDE[m][step + 1]));
            let near = from + TABLE.0[from..to].partition_point(|entry| entry[m] < information);
            assert_eq!(near, TABLE.0.partition_point(|entry| entry[m] < information), "{information}");
        };
        for entry in &TABLE.0 {
            [entry[m].next_down(), entry[m], entry[m].next_up()].into_iter().for_each(check);
        }
        (-10..70_000).for_each(|k| check(k as f32 * 1e-4));
    }
}
