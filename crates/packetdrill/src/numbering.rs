//! The numbers of a connection in the script and in the segments.

use std::collections::BTreeMap;

use airlane_core::{
    AccEcnOption, MptcpOption, Mss, SackBlock, TcpFlags, TcpHeader, TcpSynOptions, TcpTimestamps,
};

use crate::multipath::Keys;
use crate::script::{Segment, SegmentOption};

/// The translation between the numbers that a script writes and those in segments. Sequence numbers of scripts are
/// relative to the SYNs, and timestamps of the host are those that the script writes for them.
#[derive(Clone, Debug, Default)]
pub struct Numbering {
    /// Initial sequence numbers: the host's, once it is known, and the peer's once its SYN has arrived.
    local: Option<u32>,
    remote: Option<u32>,
    /// Sequence number of the host's SYN in the script.
    script_local: u32,
    /// Timestamps that were sent, as the script writes them and as they were.
    stamps: BTreeMap<u32, u32>,
    first_stamp: Option<(u32, u32)>,
    /// The keys of Multipath TCP.
    pub(crate) keys: Keys,
}

impl Numbering {
    /// The numbers of a connection that begins. `local` is the host's initial sequence number; if it is not known, it
    /// is taken from the host's first SYN.
    #[must_use]
    pub fn new(local: Option<u32>) -> Self {
        Self { local, ..Self::default() }
    }

    /// The host's initial sequence number.
    const fn local(&self) -> u32 {
        match self.local {
            Some(local) => local,
            None => 0,
        }
    }

    /// Records a segment that the host has sent. The first SYN has the initial sequence number of the host. A SYN-ACK
    /// with another number belongs to a new connection between the same sockets, after a RST in SYN-RECEIVED.
    pub fn on_sent(&mut self, header: &TcpHeader) {
        if !header.flags.has(TcpFlags::SYN) {
            return;
        }
        let local = *self.local.get_or_insert(header.sequence);
        if local != header.sequence && header.flags.has(TcpFlags::ACK) {
            let remote = Some(header.acknowledgment.wrapping_sub(1));
            *self = Self { local: Some(header.sequence), remote, ..Self::default() };
        }
    }

    /// The header of a segment that arrives, with sequence numbers and timestamps as they are.
    ///
    /// # Errors
    /// If it has something that is not modelled, which the error names.
    pub fn header(&mut self, segment: &Segment) -> Result<TcpHeader, String> {
        let flags = flags(segment)?;
        let syn = flags.has(TcpFlags::SYN);
        if syn && self.remote.is_none() {
            self.remote = Some(segment.start);
        }
        // In a SYN, scripts write sequence numbers in full, elsewhere relative to the SYNs.
        let base = if syn { 0 } else { self.remote.unwrap_or(0) };
        let local = if syn { self.local().wrapping_sub(self.script_local) } else { self.local() };
        let mut header = TcpHeader {
            sequence: segment.start.wrapping_add(base),
            acknowledgment: segment.ack.unwrap_or(0).wrapping_add(local),
            window: segment.window.unwrap_or(0),
            flags,
            ..TcpHeader::default()
        };
        for option in segment.options.iter().flatten() {
            match option {
                SegmentOption::Mss(mss) => header.syn.mss = Some(Mss(*mss)),
                SegmentOption::WindowScale(scale) => header.syn.window_scale = Some(*scale),
                SegmentOption::SackPermitted => header.syn.sack_permitted = true,
                SegmentOption::Sack(blocks) => {
                    for (left, right) in blocks {
                        let (left, right) = (left.wrapping_add(local), right.wrapping_add(local));
                        header.sack.push(SackBlock { left, right });
                    }
                }
                SegmentOption::Timestamps(value, echo) => {
                    let echo_reply = self.stamp_of(*echo);
                    header.timestamps = Some(TcpTimestamps { value: *value, echo_reply });
                }
                SegmentOption::Md5 | SegmentOption::Multipath(_) => {}
                SegmentOption::FastOpen(_) => return Err("Fast Open".to_owned()),
                SegmentOption::AccurateEcn(counters) => header.accurate_ecn = Some(accurate_ecn(counters)?),
                SegmentOption::Other(text) => return Err(format!("the option {text:?}")),
            }
        }
        if !syn {
            header.syn = TcpSynOptions::default();
        }
        Ok(header)
    }

    /// The option of Multipath TCP of a segment that arrives.
    ///
    /// # Errors
    /// If it has something that is not modelled, which the error names.
    pub(crate) fn option(&mut self, segment: &Segment) -> Result<Option<MptcpOption>, String> {
        let flags = flags(segment)?;
        let stated = segment.options.iter().flatten().find_map(|option| match option {
            SegmentOption::Multipath(stated) => Some(stated),
            _ => None,
        });
        Ok(stated.map(|stated| self.keys.arriving(stated, flags)).transpose()?.flatten())
    }

    /// Our timestamp that the script writes so.
    fn stamp_of(&self, written: u32) -> u32 {
        match (self.stamps.get(&written), self.first_stamp) {
            (Some(stamp), _) => *stamp,
            (None, Some((first, real))) if written != 0 => real.wrapping_add(written.wrapping_sub(first)),
            _ => written,
        }
    }

    /// The script writes our timestamp so. Returns the timestamp in the script's units.
    pub(crate) fn learn_stamp(&mut self, written: u32, real: u32) -> u32 {
        self.stamps.insert(written, real);
        let (first, base) = *self.first_stamp.get_or_insert((written, real));
        first.wrapping_add(real.wrapping_sub(base))
    }

    /// The script gives our SYN this sequence number.
    pub(crate) fn learn_start(&mut self, written: u32) {
        self.script_local = written;
    }

    /// Our sequence number as the script writes it: relative to our SYN, but in a SYN in full. A RST in answer to
    /// a segment without a connection has the number 0 (RFC 9293 §3.10.7.1).
    pub(crate) fn local_number(&self, number: u32, syn: bool) -> u32 {
        if number == 0 {
            return 0;
        }
        let number = number.wrapping_sub(self.local());
        if syn { number.wrapping_add(self.script_local) } else { number }
    }

    /// The peer's sequence number as the script writes it.
    pub(crate) fn remote_number(&self, number: u32, syn: bool) -> u32 {
        if syn { number } else { number.wrapping_sub(self.remote.unwrap_or(0)) }
    }
}

/// The flags of a segment.
pub(crate) fn flags(segment: &Segment) -> Result<TcpFlags, String> {
    let mut bits = 0;
    for letter in segment.flags.chars() {
        bits |= match letter {
            'S' => TcpFlags::SYN,
            'F' => TcpFlags::FIN,
            'R' => TcpFlags::RST,
            'P' => TcpFlags::PSH,
            '.' => TcpFlags::ACK,
            'E' => TcpFlags::ECE,
            'W' => TcpFlags::CWR,
            'A' => TcpFlags::AE,
            _ => return Err("urgent data".to_owned()),
        };
    }
    if let Some(ace) = segment.ace {
        bits |= TcpFlags::of_ace(u32::from(ace));
    }
    if segment.urgent.is_some() {
        return Err("urgent data".to_owned());
    }
    Ok(TcpFlags(bits))
}

/// An AccECN option: its first counter, `e0b` or `e1b`, determines its order.
fn accurate_ecn(counters: &[(String, u32)]) -> Result<AccEcnOption, String> {
    let names: Vec<&str> = counters.iter().map(|(name, _)| &**name).collect();
    let order = match names.as_slice() {
        [] | ["e0b"] | ["e0b", "ceb"] | ["e0b", "ceb", "e1b"] => 0,
        ["e1b"] | ["e1b", "ceb"] | ["e1b", "ceb", "e0b"] => 1,
        _ => return Err(format!("an AccECN option with the counters {}", names.join(" "))),
    };
    let values: Vec<u32> = counters.iter().map(|(_, value)| *value).collect();
    Ok(AccEcnOption::new(order, &values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_syn_ack_begins_again() {
        let mut numbering = Numbering::new(None);
        let syn = |start| Segment { flags: "S".to_owned(), start, ..Segment::default() };
        let syn_ack = |sequence, acknowledgment| TcpHeader {
            sequence,
            acknowledgment,
            flags: TcpFlags(TcpFlags::SYN | TcpFlags::ACK),
            ..TcpHeader::default()
        };
        numbering.header(&syn(0)).unwrap();
        numbering.on_sent(&syn_ack(1_000, 1));
        numbering.on_sent(&syn_ack(1_000, 1)); // again
        assert_eq!(numbering.local_number(1_001, false), 1);
        numbering.header(&syn(500)).unwrap();
        numbering.on_sent(&syn_ack(9_000, 501));
        assert_eq!((numbering.local_number(9_000, true), numbering.local_number(9_001, false)), (0, 1));
        let data = Segment { flags: ".".to_owned(), start: 1, ack: Some(1), ..Segment::default() };
        let header = numbering.header(&data).unwrap();
        assert_eq!((header.sequence, header.acknowledgment), (501, 9_001));
    }
}
