//! Repair packets: the exclusive or of packets of one stream (RFC 8627 section 4.2.2.1, with a flexible mask of 15 packets). The
//! layout is checked against libwebrtc's `flexfec_header_reader_writer.cc` at f3ae3eb; the text of the RFC is (unverified).

use super::{SRTP_TAG, get16};

/// Bytes of the header of a repair packet.
const REPAIR_HEADER: usize = 12;
/// The most packets behind the first that one repair packet can reach.
pub(crate) const REACH: usize = 15;
/// The fixed header of RTP.
const FIXED: usize = 12;

/// The payload of a packet that protects these, without their authentication tags. They are in order, and within [`REACH`]
/// of the first.
///
/// # Panics
/// Without a packet.
#[must_use]
pub(crate) fn protect<'a>(packets: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<u8> {
    let longest = packets.clone().map(<[u8]>::len).max().expect("some packets are protected");
    let mut out = vec![0; REPAIR_HEADER + longest - FIXED];
    let mut base = None;
    let mut mask = 0u16; // its first bit, k, says that no further part of the mask follows
    for packet in packets {
        let sequence = get16(packet, 2).expect("an RTP packet");
        let base = *base.get_or_insert(sequence);
        mask |= 0x4000 >> sequence.wrapping_sub(base);
        mix(&mut out, packet);
    }
    out[8..10].copy_from_slice(&base.unwrap_or(0).to_be_bytes());
    out[10..12].copy_from_slice(&mask.to_be_bytes());
    out
}

/// Adds the fields that are recovered, and what is behind the fixed header.
fn mix(repair: &mut [u8], packet: &[u8]) {
    let length = ((packet.len() - FIXED) as u16).to_be_bytes();
    let fields = [packet[0] & 0x3f, packet[1], length[0], length[1]];
    let fields = fields.iter().chain(&packet[4..8]);
    repair.iter_mut().zip(fields).for_each(|(sum, byte)| *sum ^= byte);
    repair[REPAIR_HEADER..].iter_mut().zip(&packet[FIXED..]).for_each(|(sum, byte)| *sum ^= byte);
}

/// The sequence numbers that a repair packet protects.
pub(crate) fn protected(repair: &[u8]) -> impl Iterator<Item = u16> + use<> {
    let (base, mask) = (get16(repair, 8).unwrap_or(0), get16(repair, 10).unwrap_or(0));
    (0..REACH as u16).filter(move |i| mask & 0x4000 >> i != 0).map(move |i| base.wrapping_add(i))
}

/// The packet with this sequence number, which a repair packet and all others that it protects give, with an authentication
/// tag.
#[must_use]
pub(crate) fn recover<'a>(
    repair: &[u8],
    sequence: u16,
    ssrc: u32,
    others: impl Iterator<Item = &'a [u8]>,
) -> Option<Vec<u8>> {
    let mut sum = repair.to_vec();
    for packet in others {
        if packet.len() - FIXED > sum.len() - REPAIR_HEADER {
            return None;
        }
        mix(&mut sum, packet);
    }
    let length = usize::from(get16(&sum, 2)?);
    let mut packet = vec![0x80 | sum[0] & 0x3f, sum[1]];
    packet.extend_from_slice(&sequence.to_be_bytes());
    packet.extend_from_slice(&sum[4..8]);
    packet.extend_from_slice(&ssrc.to_be_bytes());
    packet.extend_from_slice(sum.get(REPAIR_HEADER..REPAIR_HEADER + length)?);
    packet.resize(packet.len() + SRTP_TAG, 0);
    Some(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u16, len: usize) -> Vec<u8> {
        let mut packet = vec![0x90, 96, 0, 0, 0, 0, 0, sequence as u8, 0, 0, 0, 9];
        packet[2..4].copy_from_slice(&sequence.to_be_bytes());
        packet.extend((0..len).map(|i| (i * usize::from(sequence)) as u8));
        packet
    }

    #[test]
    fn any_one_packet_is_recovered_from_the_others() {
        let packets = [(65_534, 40), (1, 55), (12, 3)].map(|(sequence, len)| packet(sequence, len));
        let repair = protect(packets.iter().map(Vec::as_slice));
        assert_eq!(repair.len(), REPAIR_HEADER + 55);
        // Numbers 0, 3 and 14 of the mask, behind a bit k that is not set.
        assert_eq!(repair[8..12], [0xff, 0xfe, 0b0100_1000, 0b0000_0001]);
        assert_eq!(protected(&repair).collect::<Vec<_>>(), [65_534, 1, 12]);
        for (i, lost) in packets.iter().enumerate() {
            let others =
                packets.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, packet)| packet.as_slice());
            let sequence = get16(lost, 2).unwrap();
            let recovered = recover(&repair, sequence, 9, others).unwrap();
            assert_eq!(recovered[..recovered.len() - SRTP_TAG], lost[..]);
        }
    }
}
