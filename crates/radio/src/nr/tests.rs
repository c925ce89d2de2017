use airlane_core::Bytes;
use airlane_core::Direction::{Downlink, Uplink};

use super::*;
use crate::link_tables::{Allocation, LinkTables};
use crate::reference;
use crate::tables::Mcs;

/// The rows of `tbs.csv`: symbols, DM-RS, overhead, modulation order, code rate, layers, scaling, PRBs, bits.
fn bits_of(row: &[f64]) -> (u32, u32) {
    let [symbols, dmrs, overhead, order, rate, layers, scaling, prbs, bits] = row else {
        panic!("nine columns, not {}", row.len())
    };
    let resources = Resources {
        symbols: *symbols as u8,
        dmrs_per_prb: *dmrs as u16,
        overhead_per_prb: *overhead as u16,
        prbs: *prbs as u16,
    };
    let scheme = Scheme { modulation_order: *order as u8, rate_x1024: *rate };
    let scaling = [1.0, 0.5, 0.25][*scaling as usize];
    (resources.transport_block_bits(scheme, *layers as u8, scaling), *bits as u32)
}

#[test]
fn transport_blocks_have_the_sizes_of_a_third_party() {
    let rows = reference::rows(include_str!("../../../../python/airlane/data/nr/tbs.csv"));
    assert_eq!(rows.len(), 170);
    for row in rows {
        let (ours, theirs) = bits_of(&row[1..]);
        assert_eq!(ours, theirs, "{row:?}");
    }
}

#[test]
fn transport_blocks_have_the_sizes_of_an_independent_computation() {
    let rows = reference::rows(include_str!("../../../../python/airlane/data/nr/tbs_computed.csv"));
    assert_eq!(rows.len(), 400);
    let tables = [McsTable::Qam64, McsTable::Qam256, McsTable::Qam64LowSe];
    for row in rows {
        let (table, mcs) = (tables[row[4] as usize - 1], row[5] as u8);
        assert_eq!(
            table.scheme(mcs),
            Some(Scheme { modulation_order: row[6] as u8, rate_x1024: row[7] }),
            "{row:?}"
        );
        let arguments = [&row[1..4], &row[6..]].concat();
        let (ours, theirs) = bits_of(&arguments);
        assert_eq!(ours, theirs, "{row:?}");
    }
}

/// By hand: 1 PRB of 2 symbols at QPSK 30/1024 carries 24 × 2 × 30 / 1024 = 1.4 bits, and the smallest block has 24.
/// 156 of the 168 elements of a PRB count. Without an element there is no block.
#[test]
fn the_ends_of_the_range_of_sizes() {
    let slot = |symbols, dmrs_per_prb, prbs| Resources { symbols, dmrs_per_prb, overhead_per_prb: 0, prbs };
    let lowest = McsTable::Qam64LowSe.scheme(0).unwrap();
    assert_eq!(slot(2, 0, 1).transport_block_bits(lowest, 1, 1.0), 24);
    assert_eq!((slot(14, 0, 1).elements(), slot(14, 24, 2).elements()), (156, 288));
    assert_eq!(slot(2, 24, 275).transport_block_bits(lowest, 1, 1.0), 0);
    assert_eq!(slot(1, 36, 1).elements(), 0);
}

/// Up to 3824 bits a size is from the table, and above it each code block has a whole number of bytes with its CRC.
#[test]
fn code_blocks_have_whole_bytes_and_the_size_of_their_graph() {
    for table in [McsTable::Qam64, McsTable::Qam256, McsTable::Qam64LowSe] {
        for (mcs, prbs, layers) in
            (0..=table.highest()).flat_map(|mcs| (1..=275).step_by(7).map(move |n| (mcs, n, 1 + mcs % 4)))
        {
            let scheme = table.scheme(mcs).unwrap();
            let slot = Resources { symbols: 13, dmrs_per_prb: 12, overhead_per_prb: 6, prbs };
            let bits = slot.transport_block_bits(scheme, layers, 1.0);
            let blocks = CodeBlocks::new(bits, scheme.rate());
            let crc = if blocks.count > 1 {
                24 * (blocks.count + 1)
            } else if bits > 3824 {
                24
            } else {
                16
            };
            assert_eq!(blocks.count * blocks.bits, bits + crc, "{table:?} {mcs} {prbs}");
            assert!(bits.is_multiple_of(8) && blocks.bits <= blocks.graph.code_block_max());
            assert!((blocks.bits..blocks.bits + 22 * 32).contains(&blocks.filled_bits()), "{blocks:?}");
        }
    }
}

/// By hand from TS 38.212 §5.2.2 and table 5.3.2-1.
#[test]
fn code_blocks_by_hand() {
    // 8424 bits: 8448 with CRC fill base graph 1 (22 × 384); one byte more needs two blocks of (8432 + 24 + 48) / 2.
    let blocks = CodeBlocks::new(8424, 0.9);
    let one = CodeBlocks { graph: BaseGraph::One, count: 1, bits: 8448, lifting: 384 };
    assert_eq!((blocks, blocks.filled_bits()), (one, 8448));
    assert_eq!(
        CodeBlocks::new(8432, 0.9),
        CodeBlocks { graph: BaseGraph::One, count: 2, bits: 4252, lifting: 208 } // 22 × 192 = 4224 are too few
    );
    // 24 bits: 40 with CRC on six columns of base graph 2, lifting size 7.
    assert_eq!(
        CodeBlocks::new(24, 0.5),
        CodeBlocks { graph: BaseGraph::Two, count: 1, bits: 40, lifting: 7 }
    );
    // 640 and 648 bits with CRC: nine and ten columns.
    assert_eq!((CodeBlocks::new(624, 0.5).lifting, CodeBlocks::new(632, 0.5).lifting), (72, 72));
    // The three conditions of base graph 2, and their ends.
    let graphs =
        [(292, 0.9), (293, 0.9), (3824, 0.67), (3824, 0.68), (3832, 0.67), (9000, 0.25), (9000, 0.26)];
    use BaseGraph::{One, Two};
    assert_eq!(graphs.map(|(bits, rate)| BaseGraph::of(bits, rate)), [Two, One, Two, One, One, Two, One]);
}

/// Efficiencies of the tables that the clauses print, to four digits; both kinds of tables ascend in efficiency.
#[test]
fn tables_ascend_in_efficiency() {
    for (table, first, last) in [
        (McsTable::Qam64, 0.2344, 5.5547),
        (McsTable::Qam256, 0.2344, 7.4063),
        (McsTable::Qam64LowSe, 0.0586, 4.5234),
    ] {
        let of = |mcs| table.scheme(mcs).unwrap().efficiency();
        assert!((of(0) - first).abs() < 5e-5 && (of(table.highest()) - last).abs() < 5e-5, "{table:?}");
        // Table 1 repeats an efficiency where the modulation changes, a little lower.
        assert!((1..=table.highest()).all(|mcs| of(mcs) > of(mcs - 1) - 0.005), "{table:?}");
        assert_eq!(table.scheme(table.highest() + 1), None);
    }
    for (table, first, last) in [
        (CqiTable::Qam64, 0.1523, 5.5547),
        (CqiTable::Qam256, 0.1523, 7.4063),
        (CqiTable::Qam64LowSe, 0.0586, 4.5234),
    ] {
        let of = |cqi| table.scheme(cqi).unwrap().efficiency();
        assert!((of(1) - first).abs() < 5e-5 && (of(15) - last).abs() < 5e-5, "{table:?}");
        assert!((2..=15).all(|cqi| of(cqi) > of(cqi - 1)), "{table:?}");
        assert_eq!((table.scheme(0), table.scheme(16)), (None, None));
    }
}

/// A scheduler lowers the MCS until the effective code rate, with CRC, is at most 0.95 (TS 38.214 §5.1.3). In the row
/// that differs, HARQ-ACK bits take a part of the PRB, and the MCS is 27.
#[test]
fn sizes_and_mcs_of_a_scheduler() {
    let text = include_str!("../../../../python/airlane/data/nr/mcs_bytes.csv");
    let rows = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let mut differ = Vec::new();
    for line in rows {
        let fields: Vec<&str> = line.split(',').collect();
        let downlink = fields[1].starts_with("dl");
        let slot = Resources {
            symbols: if downlink { 12 } else { 14 },
            dmrs_per_prb: 36,
            overhead_per_prb: 0,
            prbs: fields[3].parse().unwrap(),
        };
        let fits = |mcs: &u8| {
            let scheme = McsTable::Qam64.scheme(*mcs).unwrap();
            let bits = slot.transport_block_bits(scheme, 1, 1.0);
            let blocks = CodeBlocks::new(bits, scheme.rate());
            let channel_bits = slot.elements() * u32::from(scheme.modulation_order);
            f64::from(blocks.count * blocks.bits) / f64::from(channel_bits) <= 0.95
        };
        let mcs = (0..=fields[2].parse().unwrap()).rev().find(fits);
        let ours = mcs.map(|mcs| {
            let bits = slot.transport_block_bits(McsTable::Qam64.scheme(mcs).unwrap(), 1, 1.0);
            (mcs.to_string(), (bits / 8).to_string())
        });
        let theirs = (fields[4] != "none").then(|| (fields[4].to_owned(), fields[5].to_owned()));
        if ours != theirs {
            differ.push((fields[0], ours));
        }
    }
    assert_eq!(differ, [("38", Some(("28".to_owned(), "92".to_owned())))]);
}

/// By hand: a slot of 14 symbols with PDCCH on two and DM-RS on two has 10 × 12 elements for data in each PRB. 273 PRBs
/// with 256QAM at 948/1024 carry 32,760 × 8 × 0.92578 = 242,628.75 bits, rounded to a multiple of 4096 and to whole
/// bytes in each of 29 code blocks: 241,664 + 24 bits in 29 blocks are 8,335 bits at least, 8,336 in whole bytes; 29 ×
/// 8,336 − 24 = 241,720. In the uplink one symbol is for control: 132 elements. In a special slot with 6 symbols of the
/// downlink, two are left.
#[test]
fn the_tables_of_a_cell_count_its_symbols() {
    let tables = NrTables::new(LinkSettings::FR1);
    let elements = |symbols, direction| {
        tables.resources(Allocation { prbs: 1, symbols, layers: 1 }, direction).elements()
    };
    assert_eq!([14, 10, 6, 4, 2].map(|symbols| elements(symbols, Downlink)), [120, 72, 24, 0, 0]);
    assert_eq!(elements(14, Uplink), 132);
    let whole = Allocation { prbs: 273, symbols: 14, layers: 1 };
    assert_eq!(tables.transport_block(Mcs::new(27), whole, Downlink), Bytes(241_720 / 8));
    let nothing = Allocation { prbs: 273, symbols: 4, layers: 1 };
    assert_eq!(tables.transport_block(Mcs::new(27), nothing, Downlink), Bytes::ZERO);
    assert_eq!((tables.highest_mcs(), tables.widest()), (Mcs::new(27), 275));
}

#[test]
fn efficiencies_never_fall_and_blocks_decode_where_their_scheme_does() {
    for mcs_table in [McsTable::Qam64, McsTable::Qam256, McsTable::Qam64LowSe] {
        for ldpc in Ldpc::ALL {
            let tables = NrTables::new(LinkSettings { mcs_table, ldpc, ..LinkSettings::FR1 });
            let mut last = 0.0;
            for mcs in (0..=tables.highest_mcs().index()).map(Mcs::new) {
                let scheme = mcs_table.scheme(mcs.index()).unwrap();
                assert!(tables.efficiency(mcs) >= last, "{mcs_table:?} {mcs:?}");
                assert!((tables.efficiency(mcs) - scheme.efficiency()).abs() < 0.005);
                last = tables.efficiency(mcs);
                let size =
                    tables.transport_block(mcs, Allocation { prbs: 51, symbols: 14, layers: 1 }, Downlink);
                let block = tables.coded_block(mcs, size, Downlink);
                assert_eq!(Some(block.modulation()), scheme.modulation());
                // Capacity of the scheme's efficiency, and at most 7 dB above it.
                let bound = libm::exp2(scheme.efficiency()) - 1.0;
                let above = 10.0 * libm::log10(f64::from(block.sinr_for(0.1)) / bound);
                assert!((0.0..7.5).contains(&above), "{ldpc:?} {mcs_table:?} {mcs:?}: {above:.2} dB");
            }
        }
    }
}
