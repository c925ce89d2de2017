use super::*;

#[test]
fn entries_have_power_one_and_the_correlation_of_the_standard() {
    // TS 38.101-4 Table B.2.3.1.2-3, medium, four antennas at the UE: 0.9882, 0.9541, 0.8999 for 0.9^(1/9),
    // 0.9^(4/9), 0.9.
    let matrix = correlation_matrix(4, 0.9);
    for (apart, expected) in [(0, 1.0), (1, 0.9884), (2, 0.9543), (3, 0.9)] {
        assert!((matrix.0[0][apart].re - expected).abs() < 1e-4, "{apart}");
        assert_eq!(matrix.0[3 - apart][3], matrix.0[0][apart]);
    }
    let channels = Channels::draw(Antennas { tx: 4, rx: 2 }, Correlation::Medium, LineOfSight::None, FITTED);
    let mean = |of: &dyn Fn(&Draw) -> Complex| {
        let sum = channels.draws.iter().fold(Complex::default(), |sum, draw| sum + of(draw));
        sum.scaled(1.0 / DRAWS as f64)
    };
    // Columns of the channel are antennas of the sender: E[Hᴴ H] = 2 R_tx, with 0.3^(1/9), 0.3^(4/9), 0.3.
    for (apart, expected) in [(0, 1.0), (1, 0.8748), (2, 0.5856), (3, 0.3)] {
        let found = mean(&|draw| draw.gram.0[0][apart].scaled(0.5));
        assert!((found.re - expected).abs() < 0.03 && found.im.abs() < 0.03, "{apart}: {found:?}");
    }
}

#[test]
fn a_line_of_sight_makes_one_strong_layer() {
    // With K = 8.13, the first of 4 × 4 has the power 16 K/(K+1) = 14.2 and more; the others share the rest of
    // 16 with it.
    let channels = Channels::draw(Antennas { tx: 4, rx: 4 }, Correlation::Low, LineOfSight::Tdl, FITTED);
    let mean = |i: usize| channels.draws.iter().map(|draw| draw.squares[i]).sum::<f64>() / DRAWS as f64;
    assert!((14.2..15.2).contains(&mean(0)), "{}", mean(0));
    assert!((mean(0) + mean(1) + mean(2) + mean(3) - 16.0).abs() < 0.1);
    let power = channels.pairs().sum::<f64>() / DRAWS as f64;
    assert!((power - 1.0).abs() < 0.03, "{power}");
}

#[test]
fn precoders_have_orthogonal_layers_and_power_one() {
    for (ports, rank, count) in
        [(1, 1, 1), (2, 1, 4), (2, 2, 2), (4, 1, 32), (4, 2, 32), (4, 3, 16), (4, 4, 16)]
    {
        let book = codebook(ports, rank);
        assert_eq!(book.len(), count);
        for precoder in &book {
            let gram = precoder.adjoint().product(precoder);
            for row in 0..MAX {
                for column in 0..MAX {
                    let expected =
                        if row == column && row < usize::from(rank) { 1.0 / f64::from(rank) } else { 0.0 };
                    let entry = gram.0[row][column];
                    assert!((entry.re - expected).abs() < 1e-12 && entry.im.abs() < 1e-12, "{ports} {rank}");
                }
            }
        }
        // No precoder is listed twice.
        for (i, one) in book.iter().enumerate() {
            assert!(book[..i].iter().all(|other| one != other), "{ports} {rank}");
        }
    }
}

/// With equal power and full rank, the layers of the singular vectors carry the capacity of a channel that the
/// sender does not know, log2 det(I + snr/n Hᴴ H). E. Telatar, "Capacity of multi-antenna Gaussian channels",
/// Eur. Trans. Telecommun. 10(6), 1999, Theorem 2.
#[test]
fn the_capacity_of_two_by_two_is_telatars() {
    let channels = Channels::draw(Antennas { tx: 2, rx: 2 }, Correlation::Low, LineOfSight::None, FITTED);
    for (snr, expected) in [(1.0, telatar(1.0)), (10.0, telatar(10.0))] {
        let layers = channels.layers(Precoding::Singular, 2, snr);
        let carried = |sinr: &[f64; MAX]| sinr[..2].iter().map(|x| libm::log2(1.0 + x)).sum::<f64>();
        let found = layers.iter().map(carried).sum::<f64>() / DRAWS as f64;
        assert!((found / expected - 1.0).abs() < 0.015, "{snr}: {found} {expected}");
    }
}

/// Telatar's integral for two antennas on each side: the density of an eigenvalue, times two, is
/// e^−λ (1 + (1 − λ)²).
fn telatar(snr: f64) -> f64 {
    let step = 1e-3;
    let of = |l: f64| libm::log2(1.0 + snr / 2.0 * l) * libm::exp(-l) * (1.0 + (1.0 - l) * (1.0 - l));
    (0..60_000).map(|i| of((f64::from(i) + 0.5) * step) * step).sum()
}
