//! Forward error correction: repair packets for the packets of each frame (RFC 8627).
//!
//! The packets of a frame, in blocks of 15, are protected by a share of repair packets, each for every m-th packet of m repair
//! packets. A fraction of a repair packet is added to the share of the next frame.

use std::collections::VecDeque;

use crate::wire::{REACH, SRTP_TAG, protect, protected, recover};

/// Packets and repair packets that a receiver keeps: a choice, some frames. A power of two, so that the places of packets in a ring
/// follow each other where sequence numbers wrap around.
const PACKETS_MAX: usize = 256;
const REPAIRS_MAX: usize = 64;

/// A repair packet that waits to be sent.
#[derive(Debug)]
pub(super) struct RepairPacket {
    pub(super) id: u32,
    pub(super) timestamp: u32,
    pub(super) payload: Vec<u8>,
}

/// Makes the repair packets of a sender.
#[derive(Debug)]
pub(super) struct RepairMaker {
    share: f64,
    /// The fraction of a repair packet that is left.
    credit: f64,
    /// The packets of the current frame so far, without their authentication tags.
    frame: Vec<Vec<u8>>,
    waiting: VecDeque<RepairPacket>,
    next: u32,
}

impl RepairMaker {
    pub(super) const fn new(share: f64) -> Self {
        Self { share, credit: 0.0, frame: Vec::new(), waiting: VecDeque::new(), next: 0 }
    }

    /// A packet of video was sent. Returns identifiers and payload lengths of the repair packets that follow its frame.
    pub(super) fn on_sent(&mut self, packet: &[u8], timestamp: u32, ends: bool) -> Vec<(u32, u16)> {
        if self.share <= 0.0 {
            return vec![];
        }
        self.frame.push(packet[..packet.len() - SRTP_TAG].to_vec());
        if !ends {
            return vec![];
        }
        let frame = core::mem::take(&mut self.frame);
        let mut made = vec![];
        for block in frame.chunks(REACH) {
            self.credit += self.share * block.len() as f64;
            let repairs = (libm::floor(self.credit) as usize).min(block.len());
            self.credit -= repairs as f64;
            for first in 0..repairs {
                let payload = protect(block.iter().skip(first).step_by(repairs).map(Vec::as_slice));
                made.push((self.next, payload.len() as u16));
                self.waiting.push_back(RepairPacket { id: self.next, timestamp, payload });
                self.next = self.next.wrapping_add(1);
            }
        }
        made
    }

    /// The repair packet that leaves. Those before it were discarded.
    pub(super) fn take(&mut self, id: u32) -> Option<RepairPacket> {
        while let Some(packet) = self.waiting.pop_front() {
            if packet.id == id {
                return Some(packet);
            }
        }
        None
    }
}

/// A packet that a receiver keeps, without its authentication tag.
#[derive(Clone, Debug, Default)]
struct KeptPacket {
    sequence: u16,
    /// Empty before the first packet of this place.
    bytes: Vec<u8>,
}

/// Recovers packets at a receiver.
#[derive(Debug)]
pub(super) struct Recovery {
    /// The newest packets, each at the place of its sequence number.
    packets: Vec<KeptPacket>,
    repairs: VecDeque<Vec<u8>>,
}

impl Recovery {
    pub(super) fn new() -> Self {
        Self { packets: vec![KeptPacket::default(); PACKETS_MAX], repairs: VecDeque::new() }
    }

    /// A packet of video arrived, or was recovered.
    pub(super) fn on_packet(&mut self, sequence: u16, packet: &[u8]) {
        let kept = &mut self.packets[usize::from(sequence) % PACKETS_MAX];
        let is_newer = sequence.wrapping_sub(kept.sequence) < 1 << 15;
        if is_newer || kept.bytes.is_empty() {
            kept.sequence = sequence;
            kept.bytes.clear();
            kept.bytes.extend_from_slice(&packet[..packet.len() - SRTP_TAG]);
        }
    }

    /// A repair packet arrived.
    pub(super) fn on_repair(&mut self, payload: &[u8]) {
        if self.repairs.len() == REPAIRS_MAX {
            self.repairs.pop_front();
        }
        self.repairs.push_back(payload.to_vec());
    }

    /// A packet that is missing and can be recovered.
    pub(super) fn recover(&mut self, ssrc: u32) -> Option<(u16, Vec<u8>)> {
        let packets = &self.packets;
        let of = |sequence: u16| {
            let kept = &packets[usize::from(sequence) % PACKETS_MAX];
            (kept.sequence == sequence && !kept.bytes.is_empty()).then_some(&kept.bytes)
        };
        let mut found = None;
        self.repairs.retain(|repair| {
            if found.is_some() {
                return true;
            }
            let mut missing = protected(repair).filter(|sequence| of(*sequence).is_none());
            match (missing.next(), missing.next()) {
                (None, _) => false, // all have arrived
                (Some(lost), None) => {
                    let others = protected(repair).filter_map(of).map(Vec::as_slice);
                    found = recover(repair, lost, ssrc, others).map(|packet| (lost, packet));
                    false
                }
                (Some(_), Some(_)) => true,
            }
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::RtpHeader;

    const SSRC: u32 = 9;

    fn packet(sequence: u16) -> Vec<u8> {
        let header = RtpHeader {
            payload_type: 96,
            marker: false,
            sequence,
            timestamp: u32::from(sequence),
            ssrc: SSRC,
            transport_sequence: 0,
            padding: 0,
            csrc: None,
        };
        let mut packet = vec![];
        header.emit(&mut packet);
        packet.extend(sequence.to_be_bytes());
        header.finish(&mut packet);
        packet
    }

    /// The repair packet for these.
    fn repair(sequences: &[u16]) -> Vec<u8> {
        let packets: Vec<Vec<u8>> = sequences.iter().map(|sequence| packet(*sequence)).collect();
        protect(packets.iter().map(|packet| &packet[..packet.len() - SRTP_TAG]))
    }

    #[test]
    fn packets_are_kept_where_sequence_numbers_wrap_around() {
        let mut recovery = Recovery::new();
        for sequence in [65_534, 65_535, 1] {
            recovery.on_packet(sequence, &packet(sequence));
        }
        recovery.on_repair(&repair(&[65_534, 65_535, 0, 1]));
        assert_eq!(recovery.recover(SSRC), Some((0, packet(0))));
        assert_eq!(recovery.recover(SSRC), None);
    }

    /// A packet that comes 256 packets late does not displace the newer one in its place, and is not kept.
    #[test]
    fn the_newest_packets_are_kept() {
        let mut recovery = Recovery::new();
        for sequence in [300, 44, 301] {
            recovery.on_packet(sequence, &packet(sequence));
        }
        recovery.on_repair(&repair(&[44, 45]));
        recovery.on_repair(&repair(&[300, 301, 302]));
        assert_eq!(recovery.recover(SSRC), Some((302, packet(302))));
        assert_eq!(recovery.recover(SSRC), None, "44 and 45 are both missing");
    }
}
