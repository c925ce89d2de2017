use super::*;

/// The bitrates of the paper's example (§IV-A), in bit/s.
const LADDER: [u64; 5] = [331_000, 688_000, 1_427_000, 2_962_000, 6_000_000];

fn ladder() -> Arc<[BitRate]> {
    LADDER.map(BitRate).into()
}

fn bola(parameters: BolaParameters) -> Adaptation {
    Adaptation::new(Rule::Bola(parameters), ladder(), Duration::from_secs(3))
}

/// The index chosen at this level of the buffer.
fn chosen(adaptation: &Adaptation, level_ms: u64) -> usize {
    let bitrate = adaptation.choose(Duration::from_millis(level_ms));
    LADDER.iter().position(|rate| *rate == bitrate.0).expect("one of the ladder")
}

#[test]
fn utilities_are_those_of_the_papers_table() {
    let ours: Vec<f64> = (0..5).map(|index| utility(&ladder(), index)).collect();
    for (ours, paper) in ours.iter().zip([0.000, 0.732, 1.461, 2.192, 2.897]) {
        assert!((ours - paper).abs() < 0.0005, "{ours} {paper}");
    }
}

/// The example of §IV-A: γp = 5, V = 0.93. The lines of m and m + 1 cross where Q = V (γp + (S_{m+1} υ_m -
/// S_m υ_{m+1}) / (S_{m+1} - S_m)): with the table's numbers at 0.93 (5 - 0.331 · 0.732 / 0.357) = 4.019
/// segments or 12.06 s; 0.93 (5 + (1.427 · 0.732 - 0.688 · 1.461) / 0.739) = 4.700 or 14.10 s; 0.93 (5 +
/// (2.962 · 1.461 - 1.427 · 2.192) / 1.535) = 5.376 or 16.13 s; and 0.93 (5 + (6.000 · 2.192 - 2.962 · 2.897)
/// / 3.038) = 6.049 or 18.15 s. It requests segments until Q = 0.93 (2.897 + 5) = 7.344, which is 22.03 s.
#[test]
fn the_bitrate_follows_the_buffer_as_in_the_papers_example() {
    let adaptation = bola(BolaParameters { v: 0.93, gamma_p: 5.0 });
    let thresholds = [12_060, 14_100, 16_130, 18_150];
    for (index, ms) in thresholds.into_iter().enumerate() {
        assert_eq!(chosen(&adaptation, ms - 40), index, "below {ms} ms");
        assert_eq!(chosen(&adaptation, ms + 40), index + 1, "above {ms} ms");
    }
    assert_eq!((chosen(&adaptation, 0), chosen(&adaptation, 22_000)), (0, 4));
}

/// §IV-B: with a buffer of 25 s, V = (25 / 3 - 1) / (2.897 + 5) = 0.9286, the example's.
#[test]
fn v_comes_from_the_buffer() {
    let parameters = BolaParameters::from_gamma(&ladder(), 5.0, 25.0 / 3.0);
    assert!((parameters.v - 0.9286).abs() < 0.0002, "{parameters:?}");
}

/// §VI-B: the lowest bitrate is left at Q_low, and nothing is requested above Q_max, for any values.
#[test]
fn parameters_from_levels_do_as_they_are_told() {
    for (low, buffer) in [(10.0 / 3.0, 11.0), (2.0, 5.0), (1.0, 21.0)] {
        let parameters = BolaParameters::from_levels(&ladder(), low, buffer);
        let stops = parameters.v * (utility(&ladder(), 4) + parameters.gamma_p);
        assert!((stops - (buffer - 1.0)).abs() < 1e-9, "{stops}");
        let (adaptation, low_ms) = (bola(parameters), (low * 3_000.0) as u64);
        assert_eq!(chosen(&adaptation, low_ms - 2), 0);
        assert_eq!(chosen(&adaptation, low_ms + 2), 1);
    }
    let lone = BolaParameters::from_levels(&ladder()[..1], 1.0, 8.0);
    assert!((lone.v - 1.4).abs() < 1e-12 && lone.gamma_p > 4.999, "{lone:?}");
}

/// A higher level of the buffer never leads to a lower bitrate.
#[test]
fn bola_is_monotonous() {
    let adaptation = bola(BolaParameters::from_gamma(&ladder(), 5.0, 10.0));
    let choices: Vec<usize> = (0..2_700).map(|step| chosen(&adaptation, step * 10)).collect();
    assert!(choices.is_sorted());
    assert_eq!((choices[0], choices[2_699]), (0, 4));
}

/// Segments of 750 kB in 1 s and in 3 s: 6 and 2 Mbit/s. Their harmonic mean is 2 / (1/6 + 1/2) = 3 Mbit/s,
/// nine tenths of which are 2.7: the third bitrate. After three more in 1 s it is 5 / (4/6 + 1/2) = 4.286,
/// 3.857: the fourth. The oldest is removed when there are six.
#[test]
fn the_rate_rule_takes_what_the_harmonic_mean_allows() {
    let rule = Rule::Rate { safety: 0.9, samples: 5 };
    let mut adaptation = Adaptation::new(rule, ladder(), Duration::from_secs(3));
    assert_eq!(chosen(&adaptation, 0), 0);
    let mut segment = |seconds| {
        adaptation.measure(Bytes(750_000), Duration::from_secs(seconds));
        chosen(&adaptation, 0)
    };
    assert_eq!(segment(1), 3); // 5.4
    assert_eq!(segment(3), 2);
    assert_eq!([segment(1), segment(1), segment(1)], [3, 3, 3]);
    assert_eq!(segment(9), 2); // 5 / (3/6 + 1/2 + 9/6) = 2, 1.8
}
