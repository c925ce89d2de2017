use airlane_core::Decibel;
use airlane_core::Direction::{Downlink, Uplink};
use airlane_core::Stream;

use super::*;
use crate::CodedBlock;
use crate::link_tables::LTE;
use crate::reference;

fn linear(db: f64) -> f32 {
    Decibel(db).linear() as f32
}

fn subband(amc: &Amc, db: f64) -> Cqi {
    let mut out = [Cqi::OUT_OF_RANGE];
    amc.subband_cqi(&[linear(db); 4], 4, &mut out);
    out[0]
}

/// The SNRs in dB at which CQI 1 to 15 begin, found on a grid of 0.01 dB.
fn begins(cqi_at: impl Fn(f64) -> Cqi) -> [f64; 15] {
    let mut found = [f64::NAN; 15];
    for k in -2000..=3200 {
        let db = f64::from(k) / 100.0;
        for c in 1..=cqi_at(db).index() {
            let place = &mut found[usize::from(c) - 1];
            if place.is_nan() {
                *place = db;
            }
        }
    }
    found
}

/// As [`begins`], from a column of the ns-3 table: the middle of the 0.25 dB in which the CQI first
/// appears.
fn peer_begins(column: usize) -> [f64; 15] {
    let rows = reference::rows(include_str!("../../data/cqi_vs_snr_ns3.csv"));
    core::array::from_fn(|i| {
        rows.iter().find(|row| row[column] > i as f64).expect("the table reaches CQI 15")[0] - 0.125
    })
}

#[test]
fn flat_thresholds_lie_within_half_a_decibel_of_the_peers() {
    let amc = Amc::new(&LTE, AmcRule::MUTUAL_INFORMATION, Downlink, 100, 4);
    let ours = begins(|db| subband(&amc, db));
    let wide = begins(|db| amc.wideband_cqi(&[linear(db); 100]));
    for (name, ours, column) in [("rbg4", ours, 3), ("wideband", wide, 1)] {
        let worst = ours.iter().zip(peer_begins(column)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("{name}: worst CQI threshold error {worst:.2} dB");
        assert!(worst < 0.5, "{name}: {ours:.2?} against {:.2?}", peer_begins(column));
    }
}

#[test]
fn never_more_than_one_step_from_the_peer() {
    let amc = Amc::new(&LTE, AmcRule::MUTUAL_INFORMATION, Downlink, 100, 4);
    let rows = reference::rows(include_str!("../../data/cqi_vs_snr_ns3.csv"));
    assert_eq!(rows.len(), 169);
    for row in rows {
        let sub = f64::from(subband(&amc, row[0]).index());
        let wide = f64::from(amc.wideband_cqi(&[linear(row[0]); 100]).index());
        assert!((sub - row[3]).abs() <= 1.0, "{row:?}: {sub}");
        assert!((wide - row[1]).abs() <= 1.0, "{row:?}: {wide}");
    }
}

#[test]
fn the_mcs_at_each_reference_distance_is_the_peers() {
    let amc = Amc::new(&LTE, AmcRule::MUTUAL_INFORMATION, Downlink, 100, 4);
    let rows = reference::rows(include_str!("../../data/mcs_vs_distance_ns3.csv"));
    assert_eq!(rows.len(), 14);
    for row in rows {
        assert_eq!(f64::from(subband(&amc, row[1]).mcs().index()), row[2], "{} m, {} dB", row[0], row[1]);
    }
}

#[test]
fn the_shannon_gap_gives_the_peers_mcs() {
    let amc = Amc::new(&LTE, AmcRule::PIRO, Downlink, 25, 2);
    let rows = reference::rows(include_str!("../../data/snr_to_mcs_ns3.csv"));
    assert_eq!(rows.len(), 36);
    for row in rows {
        let cqi = amc.wideband_cqi(&[linear(row[0]); 25]);
        let mcs = if cqi == Cqi::OUT_OF_RANGE { -1.0 } else { f64::from(cqi.mcs().index()) };
        assert_eq!(mcs, row[2], "{row:?}");
    }
    for row in reference::rows(include_str!("../../data/cqi_vs_snr_ns3.csv")) {
        assert_eq!(f64::from(amc.wideband_cqi(&[linear(row[0]); 25]).index()), row[4], "{row:?}");
    }
    for row in reference::rows(include_str!("../../data/interference_ns3.csv")) {
        assert_eq!(f64::from(amc.wideband_cqi(&[row[2] as f32; 25]).mcs().index()), row[6], "{row:?}");
        assert_eq!(f64::from(amc.wideband_cqi(&[row[3] as f32; 25]).mcs().index()), row[7], "{row:?}");
    }
}

#[test]
fn the_reported_mcs_meets_the_target() {
    for direction in [Downlink, Uplink] {
        for size in [1, 2, 3, 4, 25, 100] {
            let amc = Amc::new(&LTE, AmcRule::MUTUAL_INFORMATION, direction, size, size);
            for k in -80..=320 {
                let sinr = linear(f64::from(k) / 10.0);
                let cqi = amc.wideband_cqi(&vec![sinr; size]);
                if cqi == Cqi::OUT_OF_RANGE {
                    continue;
                }
                let block = CodedBlock::new(cqi.mcs(), direction, cqi.mcs().transport_block(size, direction));
                let rate = block.error_rate_at(sinr);
                assert!(rate <= 0.1001, "{direction:?} {size} PRB at {k}: {cqi:?} fails {rate}");
            }
        }
    }
}

#[test]
fn every_cqi_can_be_reached_and_in_order() {
    for direction in [Downlink, Uplink] {
        let amc = Amc::new(&LTE, AmcRule::MUTUAL_INFORMATION, direction, 50, 3);
        let begins = begins(|db| amc.wideband_cqi(&[linear(db); 50]));
        assert!(begins.windows(2).all(|w| w[0] < w[1]), "{direction:?} {begins:?}");
    }
}

#[test]
fn a_report_is_both_kinds_at_once() {
    let sinr: Vec<f32> = (0..50).map(|k| linear(-8.0 + 0.7 * f64::from(k))).collect();
    for rule in [AmcRule::MUTUAL_INFORMATION, AmcRule::PIRO] {
        let amc = Amc::new(&LTE, rule, Downlink, 50, 3);
        let (mut one, mut other) = ([Cqi::OUT_OF_RANGE; 17], [Cqi::OUT_OF_RANGE; 17]);
        let wideband = amc.report(&sinr, 3, &mut one);
        amc.subband_cqi(&sinr, 3, &mut other);
        assert_eq!(one, other);
        assert_eq!(wideband, amc.wideband_cqi(&sinr));
        assert_eq!(one[0], Cqi::OUT_OF_RANGE);
        // The last sub-band has two points, 25.6 and 26.3 dB.
        assert_eq!(one[16], Cqi::MAX);
    }
}

#[test]
fn a_group_is_as_good_as_its_mean_information() {
    let amc = Amc::new(&LTE, AmcRule::MUTUAL_INFORMATION, Downlink, 100, 4);
    let uneven = [linear(25.0), linear(25.0), linear(5.0), linear(5.0)];
    let mean = mutual_information::mean(&uneven);
    let cqi = {
        let mut out = [Cqi::OUT_OF_RANGE];
        amc.subband_cqi(&uneven, 4, &mut out);
        out[0]
    };
    // By hand: the flat SINR of the same 64QAM information gives the same CQI, and it lies
    // between the two.
    let flat = mutual_information::sinr_of(Modulation::Qam64, mean[Modulation::Qam64.index()]);
    let flat_db = Decibel::from_linear(f64::from(flat)).0;
    assert!((5.0..25.0).contains(&flat_db));
    assert_eq!(cqi, subband(&amc, flat_db));
}

/// The linear SINRs of a band: up to 12 dB around a middle between -12 and 32 dB.
fn drawn(stream: &mut Stream, n_prb: usize) -> Vec<f32> {
    let middle = -12.0 + 44.0 * stream.uniform();
    let spread = 12.0 * stream.uniform();
    (0..n_prb).map(|_| linear(middle + spread * (stream.uniform() - 0.5))).collect()
}

#[test]
fn bounds_decide_most_sub_bands_and_all_as_the_ladder_does() {
    let mut stream = airlane_core::Seeds::new(1).stream("sinr");
    for direction in [Downlink, Uplink] {
        for (n_prb, size) in [(6, 1), (15, 2), (25, 2), (50, 3), (75, 4), (100, 4), (110, 4)] {
            let amc = Amc::new(&LTE, AmcRule::MUTUAL_INFORMATION, direction, n_prb, size);
            let Rule::MutualInformation { subband, bounds, .. } = &amc.rule else {
                panic!("it is that rule")
            };
            let (mut looked, mut near) = (0, 0);
            for _ in 0..2000 {
                let sinr = drawn(&mut stream, n_prb);
                let mut out = vec![Cqi::OUT_OF_RANGE; n_prb.div_ceil(size)];
                amc.subband_cqi(&sinr, size, &mut out);
                for (group, cqi) in sinr.chunks(size).zip(&out) {
                    assert_eq!(*cqi, subband.cqi(mutual_information::mean(group)), "{group:?}");
                }
                assert!(bounds.fit(&sinr, size));
                looked += out.len();
                near += bounds.undecided(&sinr, size);
            }
            assert!(near * 10 < looked, "{n_prb} PRBs: {near} of {looked} sub-bands undecided");
        }
    }
    let amc = Amc::new(&LTE, AmcRule::MUTUAL_INFORMATION, Downlink, 100, 4);
    for odd in [f32::NAN, f32::INFINITY, -1.0, 0.0, f32::MIN_POSITIVE, 4096.0, f32::MAX] {
        let (mut many, mut one) = ([Cqi::OUT_OF_RANGE; 25], [Cqi::OUT_OF_RANGE]);
        amc.subband_cqi(&[odd; 100], 4, &mut many);
        amc.subband_cqi(&[odd; 4], 4, &mut one);
        assert_eq!(many, [one[0]; 25], "{odd}");
    }
}

mod own_schemes;
