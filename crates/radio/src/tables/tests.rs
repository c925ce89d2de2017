use airlane_core::Direction::{Downlink, Uplink};

use super::*;
use crate::reference;

#[test]
fn every_block_size_agrees_with_the_peer_but_one() {
    let rows = reference::rows(include_str!("../../data/tbs_downlink_ns3.csv"));
    assert_eq!(rows.len(), 29);
    let mut deviations = Vec::new();
    for row in &rows {
        assert_eq!(row.len(), 1 + MAX_PRB);
        let mcs = Mcs::new(row[0] as u8);
        for (n_prb, &peer) in row.iter().enumerate().skip(1) {
            let bits = mcs.transport_block_bits(n_prb, Downlink);
            if f64::from(bits) != peer {
                deviations.push((mcs.index(), n_prb, bits, peer as u32));
            }
        }
    }
    assert_eq!(deviations, [(6, 1, 328, 88)]);
}

#[test]
fn block_sizes_are_whole_bytes_and_grow() {
    for mcs in Mcs::all() {
        for n_prb in 1..=MAX_PRB {
            for direction in [Downlink, Uplink] {
                let bits = mcs.transport_block_bits(n_prb, direction);
                assert_eq!(bits % 8, 0);
                // The standard's 328 bits at I_TBS 6 on one PRB are an exception; everywhere else
                // sizes increase with the PRBs.
                let odd = mcs.i_tbs(direction) == 6 && n_prb == 2;
                assert!(odd || bits >= mcs.transport_block_bits(n_prb - 1, direction), "{mcs:?} {n_prb}");
            }
        }
    }
    assert_eq!(Mcs::MIN.transport_block(0, Downlink), Bytes::ZERO);
}

#[test]
fn modulation_changes_where_the_tables_say() {
    // Table 7.1.7.1-1: I_TBS 9 and 15 occur twice, at the change of modulation.
    let at = |i| (Mcs::new(i).modulation(Downlink), Mcs::new(i).i_tbs(Downlink));
    assert_eq!(at(9), (Modulation::Qpsk, 9));
    assert_eq!(at(10), (Modulation::Qam16, 9));
    assert_eq!(at(16), (Modulation::Qam16, 15));
    assert_eq!(at(17), (Modulation::Qam64, 15));
    assert_eq!(at(28), (Modulation::Qam64, 26));
    // Table 8.6.1-1: I_TBS 10 and 19 occur twice.
    let at = |i| (Mcs::new(i).modulation(Uplink), Mcs::new(i).i_tbs(Uplink));
    assert_eq!(at(10), (Modulation::Qpsk, 10));
    assert_eq!(at(11), (Modulation::Qam16, 10));
    assert_eq!(at(20), (Modulation::Qam16, 19));
    assert_eq!(at(21), (Modulation::Qam64, 19));
    assert_eq!(at(28), (Modulation::Qam64, 26));
}

#[test]
fn a_cqi_maps_to_the_peers_mcs() {
    let rows = reference::rows(include_str!("../../data/cqi_to_mcs_ns3.csv"));
    assert_eq!(rows.len(), 16);
    for row in rows {
        let cqi = Cqi::new(row[0] as u8);
        assert_eq!(f64::from(cqi.mcs().index()), row[1]);
        // R1-081483 rounds Table 7.2.3-1 to two digits.
        assert!((cqi.spectral_efficiency() - row[2]).abs() < 0.0065, "{cqi:?}");
    }
}

#[test]
fn an_efficiency_gives_the_highest_mcs_that_needs_no_more() {
    for k in 0..6000 {
        let wanted = f64::from(k) / 1000.0;
        let one_by_one = Mcs::all().take_while(|mcs| mcs.spectral_efficiency() <= wanted).last();
        assert_eq!(Mcs::of_efficiency(wanted), one_by_one.unwrap_or(Mcs::MIN), "{wanted}");
    }
    assert!(Mcs::all().all(|mcs| Mcs::of_efficiency(mcs.spectral_efficiency()) == mcs));
}

/// Table 2 of Diarra et al., HPSR 2021: the transport blocks on 25 PRBs that their OpenAirInterface eNB sent.
/// They are those of MCS 28, 27, 25, 23 and 20; ns-3's table has other MCS at CQI 12 to 14.
#[test]
fn openairinterface_sends_the_measured_blocks() {
    let table = CqiToMcs::OpenAirInterface;
    let measured = [(15, 28, 2292), (14, 27, 1980), (13, 25, 1764), (12, 23, 1572), (11, 20, 1239)];
    for (cqi, mcs, bytes) in measured {
        assert_eq!(table.mcs(Cqi::new(cqi)), Mcs::new(mcs));
        assert_eq!(table.blocks()[usize::from(cqi)][25], bytes, "CQI {cqi}");
        let efficiency = CqiToMcs::Efficiency.blocks()[usize::from(cqi)][25];
        assert_eq!(efficiency == bytes, matches!(cqi, 11 | 15), "CQI {cqi}: {efficiency}");
    }
}

#[test]
fn blocks_by_cqi_are_those_of_the_tables() {
    for table in [CqiToMcs::Efficiency, CqiToMcs::OpenAirInterface] {
        let blocks = table.blocks();
        assert_eq!(blocks[0], [0; MAX_PRB + 1]);
        for cqi in 1..=15 {
            for (prbs, bytes) in blocks[usize::from(cqi)].iter().enumerate() {
                let block = table.mcs(Cqi::new(cqi)).transport_block(prbs, Downlink);
                assert_eq!(u64::from(*bytes), block.get(), "{table:?} {cqi} {prbs}");
            }
        }
    }
}
