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
                // The standard's 328 bits at I_TBS 6 on one PRB stand out against their
                // neighbours; everything else grows with the PRBs.
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
