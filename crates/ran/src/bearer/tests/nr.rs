//! Bearers of NR.

use airlane_core::Seeds;

use super::*;
use crate::pdcp::nr::ReorderingConfig;
use crate::rlc::nr::{self as rlc, NrConfig, NrRlc};
use crate::sdap::SdapHeaders;

mod am;
mod handover;
mod um;

const DOWN: Direction = Direction::Downlink;
const UP: Direction = Direction::Uplink;

/// What layer 2 of this bearer is.
fn of_nr(config: &BearerConfig) -> NrConfig {
    let RlcConfig::Nr(nr) = config.rlc else { panic!("{:?}", config.rlc) };
    nr
}

/// The bearer with another reordering of PDCP.
fn reordering(config: &BearerConfig, reordering: ReorderingConfig) -> BearerConfig {
    BearerConfig { rlc: RlcConfig::Nr(NrConfig { reordering, ..of_nr(config) }), ..config.clone() }
}

/// What data PDUs carry: offset, length, size, and whether they are segments and the last one.
fn parts(pdus: &[Pdu]) -> Vec<(u32, u32, u32, bool, bool)> {
    data(pdus).iter().map(|p| (p.offset, p.len, p.size, p.segment, p.last)).collect()
}

#[test]
fn sdap_headers_count_in_their_direction() {
    let config = nr(NrRlc::Um(NR_UM));
    let sdap = SdapHeaders { downlink: false, uplink: true };
    let rlc = RlcConfig::Nr(NrConfig { sdap, ..of_nr(&config) });
    let mut rig = Rig::new(&BearerConfig { rlc, ..config });
    rig.submit(98);
    rig.submit_in(UP, 98);
    // PDCP 2, RLC 1, and SDAP 1.
    assert_eq!(sizes(&rig.transmit(1000)), [101]);
    assert_eq!(sizes(&rig.transmit_in(UP, 1000)), [102]);
}

#[test]
fn a_grant_of_the_buffer_status_empties_the_buffer() {
    super::am::empties_the_buffer(&nr(NrRlc::Am(NR_AM)));
    // Also with a subheader for each PDU.
    for rlc in [NrRlc::Am(NR_AM), NrRlc::Um(NR_UM)] {
        let mut random = Seeds::new(1).stream("sizes");
        let mut rig = Rig::new(&BearerConfig { pdu_overhead: Bytes(3), ..nr(rlc) });
        for _ in 0..50 {
            (0..20).for_each(|_| rig.submit(40 + random.below(1400) as u32));
            for grant in [random.below(9_000), u64::MAX] {
                let grant = Bytes(grant.min(rig.status().total().get()));
                let mut out = Vec::new();
                let used = rig.call(|bearer, cx| bearer.transmit(cx, DOWN, grant, &mut out));
                let subheader = |pdu: &Pdu| Bytes(if pdu.size() < Bytes(256) { 2 } else { 3 });
                assert_eq!(used, out.iter().map(|pdu| pdu.size() + subheader(pdu)).sum());
            }
            assert_eq!(rig.status().total(), Bytes::ZERO);
        }
    }
}

#[test]
fn one_block_carries_less_than_with_concatenation() {
    // SDUs of 1428 bytes with 2 bytes of PDCP, a block of 9422 bytes and a subheader of 3 bytes for each PDU.
    // LTE: one PDU, whose header has six length indicators with its seven elements: 2 + 9. 9422 - 3 - 11 = 9408.
    // NR: six PDUs of 3 + 2 + 1430 = 1435 bytes and a segment of 812 - 3 - 2 = 807: 6 x 1430 + 807 = 9387.
    let payload = |config: BearerConfig| {
        let mut rig = Rig::new(&BearerConfig { pdu_overhead: Bytes(3), ..config });
        (0..10).for_each(|_| rig.submit(1428));
        let mut out = Vec::new();
        let used = rig.call(|bearer, cx| bearer.transmit(cx, DOWN, Bytes(9422), &mut out));
        assert_eq!(used, Bytes(9422));
        (out.len(), data(&out).iter().map(|pdu| pdu.len).sum::<u32>())
    };
    assert_eq!(payload(BearerConfig { buffer: Bytes(1 << 30), ..lena(RlcMode::Am) }), (1, 9408));
    assert_eq!(payload(nr(NrRlc::Am(NR_AM))), (7, 9387));
    // UM of NR has no sequence number with a complete SDU: 6 x 1434, and 818 - 3 - 2 = 813.
    assert_eq!(payload(nr(NrRlc::Um(NR_UM))), (7, 6 * 1430 + 813));
}

#[test]
fn both_directions_carry_data_and_settle() {
    let mut random = Seeds::new(3).stream("load");
    let mut rig = Rig::new(&nr(NrRlc::Am(rlc::AmConfig { sn_bits: 18, ..NR_AM })));
    for slot in 0..400 {
        rig.advance(ms(slot));
        for direction in [DOWN, UP] {
            if slot < 200 {
                rig.submit_in(direction, 28 + random.below(1_473) as u32);
            }
            let pdus = rig.transmit_in(direction, 2_000);
            rig.receive_in(direction, &pdus);
        }
    }
    assert_eq!((rig.delivered.len(), rig.delivered_uplink.len()), (200, 200));
    assert_eq!(rig.bearer.unconfirmed(DOWN).count() + rig.bearer.unconfirmed(UP).count(), 0);
    assert_eq!(rig.bearer.next_timeout(), None);
    assert!(rig.bearer.is_settled());
    rig.check_conservation();
}

#[test]
fn a_released_bearer_holds_nothing() {
    for rlc in [NrRlc::Am(NR_AM), NrRlc::Um(NR_UM)] {
        let mut rig = Rig::new(&nr(rlc));
        (0..6).for_each(|_| rig.submit(98));
        let pdus: Vec<Vec<Pdu>> = (0..4).map(|_| rig.transmit(102)).collect();
        rig.receive(&pdus[0]);
        rig.receive(&pdus[2]); // PDCP holds it
        assert_eq!((rig.delivered.len(), rig.bearer.packets_held()), (1, 5));
        rig.call(|bearer, cx| bearer.discard(cx, DropCause::NoRoute));
        rig.check_conservation();
        assert_eq!((rig.pool.live(), rig.bearer.next_timeout()), (0, None));
        rig.submit(98);
        let pdus = rig.transmit(102);
        rig.receive(&pdus);
        assert_eq!(rig.delivered, [0, 6]);
    }
}
