//! CQIs that have schemes of their own: NR.

use super::*;
use crate::nr::{CqiTable, Ldpc, LinkSettings, McsTable, NrTables};

fn tables(cqi_table: CqiTable, ldpc: Ldpc) -> NrTables {
    NrTables::new(LinkSettings { cqi_table, ldpc, ..LinkSettings::FR1 })
}

const TABLES: [CqiTable; 3] = [CqiTable::Qam64, CqiTable::Qam256, CqiTable::Qam64LowSe];

/// At the first SNR of a CQI its own block meets the target, and 0.02 dB below it does not.
#[test]
fn a_cqi_begins_where_its_scheme_meets_the_target() {
    for table in TABLES {
        for ldpc in Ldpc::ALL {
            let tables = tables(table, ldpc);
            let amc = Amc::new(&tables, AmcRule::MUTUAL_INFORMATION, Downlink, 273, 16);
            let found = begins(|db| amc.wideband_cqi(&[linear(db); 273]));
            assert!(found.windows(2).all(|two| two[0] < two[1]), "{table:?} {ldpc:?} {found:.2?}");
            for (begin, cqi) in found.iter().zip(1..) {
                let whole = Allocation { prbs: 273, symbols: 14, layers: 1 };
                let reference = tables.reference(Cqi::new(cqi), whole, Downlink).unwrap();
                let rate = |db| reference.block.error_rate_at(linear(db));
                assert!(rate(begin + 0.001) <= reference.error_rate * 1.01, "{table:?} {ldpc:?} {cqi}");
                assert!(rate(begin - 0.02) > reference.error_rate, "{table:?} {ldpc:?} {cqi}");
            }
        }
    }
}

/// By hand: the Shannon bound of CQI 15 of table 2 (256QAM, 948/1024, 7.41 bit) is 22.3 dB. Gray-mapped 256QAM needs
/// more, since its points are uniform: 1.53 dB at most for an unlimited constellation (π e / 6), and more near its 8
/// bit. LDPC codes of thousands of bits cost 0.3 to 2 dB.
#[test]
fn the_highest_cqi_of_256qam_begins_where_the_bound_allows() {
    let tables = tables(CqiTable::Qam256, Ldpc::Sionna);
    let amc = Amc::new(&tables, AmcRule::MUTUAL_INFORMATION, Downlink, 273, 16);
    let found = begins(|db| amc.wideband_cqi(&[linear(db); 273]));
    let bound = 10.0 * libm::log10(libm::exp2(8.0 * 948.0 / 1024.0) - 1.0);
    println!("CQI 15 begins at {:.2} dB, {:.2} dB above the bound", found[14], found[14] - bound);
    assert!((1.5..4.0).contains(&(found[14] - bound)), "{:.2} and {bound:.2} dB", found[14]);
}

/// Table 3 is for one error in 100,000 blocks: its QPSK at 602/1024, CQI 8, begins later than CQI 6 of table 1, which
/// is the same scheme for one in ten.
#[test]
fn a_lower_error_target_needs_more() {
    let begin = |table, cqi: usize| {
        let tables = tables(table, Ldpc::FiveGLena);
        let amc = Amc::new(&tables, AmcRule::MUTUAL_INFORMATION, Downlink, 51, 4);
        begins(|db| amc.wideband_cqi(&[linear(db); 51]))[cqi - 1]
    };
    let apart = begin(CqiTable::Qam64LowSe, 8) - begin(CqiTable::Qam64, 6);
    assert!((0.1..1.5).contains(&apart), "{apart:.2} dB");
}

#[test]
fn sub_bands_and_reports_count_the_same() {
    let tables = tables(CqiTable::Qam256, Ldpc::Sionna);
    for (n_prb, size) in [(11, 2), (51, 4), (106, 8), (273, 16)] {
        let amc = Amc::new(&tables, AmcRule::MUTUAL_INFORMATION, Downlink, n_prb, size);
        let sinr: Vec<f32> = (0..n_prb).map(|k| linear(-10.0 + 42.0 * k as f64 / n_prb as f64)).collect();
        let places = n_prb.div_ceil(size);
        let (mut one, mut other) = (vec![Cqi::OUT_OF_RANGE; places], vec![Cqi::OUT_OF_RANGE; places]);
        let wideband = amc.report(&sinr, size, &mut one);
        amc.subband_cqi(&sinr, size, &mut other);
        assert_eq!(one, other);
        assert_eq!(wideband, amc.wideband_cqi(&sinr));
        assert!(one.is_sorted() && one[0] == Cqi::OUT_OF_RANGE && one[places - 1] == Cqi::MAX, "{one:?}");
    }
}

/// By hand: CQI 15 of both 64QAM tables is MCS 28 of table 1 (948) and of table 3 (772). CQI 1 of table 2 has 78/1024 in
/// QPSK, less than MCS 0 of table 2 (120). CQI 4 of table 2 is 16QAM 378: MCS 5.
#[test]
fn the_mcs_of_a_cqi_is_the_highest_one_that_is_not_above_it() {
    let of = |mcs_table, cqi_table, cqi| {
        let tables = NrTables::new(LinkSettings { mcs_table, cqi_table, ..LinkSettings::FR1 });
        tables.mcs_of(Cqi::new(cqi)).index()
    };
    assert_eq!(of(McsTable::Qam64, CqiTable::Qam64, 15), 28);
    assert_eq!(of(McsTable::Qam64LowSe, CqiTable::Qam64LowSe, 15), 28);
    assert_eq!(of(McsTable::Qam256, CqiTable::Qam256, 15), 27);
    assert_eq!(of(McsTable::Qam256, CqiTable::Qam256, 1), 0);
    assert_eq!(of(McsTable::Qam256, CqiTable::Qam256, 4), 5);
    // A table of CQIs up to 256QAM with schemes up to 64QAM.
    assert_eq!(of(McsTable::Qam64, CqiTable::Qam256, 15), 28);
}

#[test]
fn bounds_decide_most_and_all_as_the_information_does() {
    let mut stream = airlane_core::Seeds::new(1).stream("sinr");
    for table in TABLES {
        for (n_prb, size) in [(11, 2), (24, 2), (51, 4), (106, 8), (273, 16), (275, 16)] {
            let amc =
                Amc::new(&tables(table, Ldpc::Sionna), AmcRule::MUTUAL_INFORMATION, Downlink, n_prb, size);
            let Rule::OwnSchemes { wideband, subband } = &amc.rule else { panic!("it is that rule") };
            let (mut looked, mut near) = (0, 0);
            for _ in 0..1000 {
                let sinr = drawn(&mut stream, n_prb);
                let mut out = vec![Cqi::OUT_OF_RANGE; n_prb.div_ceil(size)];
                amc.subband_cqi(&sinr, size, &mut out);
                for (group, cqi) in sinr.chunks(size).zip(&out) {
                    assert_eq!(*cqi, subband.steps.cqi(mutual_information::mean(group)), "{group:?}");
                }
                assert_eq!(amc.wideband_cqi(&sinr), wideband.steps.cqi(mutual_information::mean(&sinr)));
                assert!(subband.fit(&sinr, size));
                looked += out.len();
                near += subband.undecided(&sinr);
            }
            assert!(near * 8 < looked, "{n_prb} PRBs: {near} of {looked} sub-bands undecided");
        }
    }
    let amc =
        Amc::new(&tables(CqiTable::Qam256, Ldpc::Sionna), AmcRule::MUTUAL_INFORMATION, Downlink, 273, 16);
    for odd in [f32::NAN, f32::INFINITY, -1.0, 0.0, f32::MIN_POSITIVE, 4096.0, f32::MAX] {
        let (mut many, mut one) = ([Cqi::OUT_OF_RANGE; 18], [Cqi::OUT_OF_RANGE]);
        amc.subband_cqi(&[odd; 273], 16, &mut many);
        amc.subband_cqi(&[odd; 1], 16, &mut one);
        assert_eq!(many, [one[0]; 18], "{odd}");
    }
}
