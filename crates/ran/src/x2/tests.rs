use super::*;

#[test]
fn sn_status_transfer_is_eleven_octets_and_a_bitmap() {
    let status = SnStatusTransfer {
        e_rab: 5,
        uplink_count: 0x0001_0203,
        downlink_count: 0xA0B0_C0D0,
        uplink_received: vec![0x0001_0205, 0x0001_020C],
    };
    let bytes = status.encode();
    // Bits 1 and 8 (from 0) are UL COUNT + 2 and + 9.
    assert_eq!(bytes, [5, 0x00, 0x01, 0x02, 0x03, 0xA0, 0xB0, 0xC0, 0xD0, 0, 2, 0b0100_0000, 0b1000_0000]);
    assert_eq!(SnStatusTransfer::decode(&bytes), Some(status));
    for cut in 0..bytes.len() {
        assert_eq!(SnStatusTransfer::decode(&bytes[..cut]), None);
    }
    assert_eq!(SnStatusTransfer::decode(&[&bytes[..], &[0]].concat()), None);
}
