//! The counters of accurate ECN (RFC 9768 §3.2, read as draft-ietf-tcpm-accurate-ecn-34): what the receiver of
//! packets counts and reports, and how their sender reads the reports.
//!
//! The ACE field has the three lowest bits of the number of packets that arrived with a congestion mark. AccECN
//! options have the 24 lowest bits of the payload bytes that arrived with each ECN field.

use airlane_core::{AccEcnOption, Ecn, TcpFlags};

/// Bytes of a full option.
pub(crate) const OPTION_BYTES: u32 = AccEcnOption::padded_len_of(3);
/// Initial value of the packet counter, and of the byte counters of ECT(0) and ECT(1) (§3.2.1); that of CE
/// is 0.
const FIRST_PACKETS: u32 = 5;
const FIRST_BYTES: u32 = 1;
/// The values of the ACE field.
const ACE_VALUES: u32 = 8;
/// The bits of the counters in an option.
const OPTION_MASK: u32 = 0x00ff_ffff;
/// Marked packets after which an ACK is sent: with unacknowledged data, and without (§3.2.2.5.1).
const MARKS_WITH_DATA: u32 = 2;
const MARKS_WITHOUT_DATA: u32 = 3;

/// Bytes by the ECN field of their packets, or counters of such bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnBytes {
    /// ECT(0).
    pub capable0: u32,
    /// CE.
    pub marked: u32,
    /// ECT(1).
    pub capable1: u32,
}

impl EcnBytes {
    const FIRST: Self = Self { capable0: FIRST_BYTES, marked: 0, capable1: FIRST_BYTES };

    /// The bytes of these counters.
    const fn since_first(self) -> Self {
        Self {
            capable0: self.capable0.wrapping_sub(FIRST_BYTES),
            marked: self.marked,
            capable1: self.capable1.wrapping_sub(FIRST_BYTES),
        }
    }

    fn of(&mut self, ecn: Ecn) -> Option<&mut u32> {
        match ecn {
            Ecn::NotCapable => None,
            Ecn::Capable0 => Some(&mut self.capable0),
            Ecn::Capable1 => Some(&mut self.capable1),
            Ecn::CongestionExperienced => Some(&mut self.marked),
        }
    }
}

/// The receiver's half.
#[derive(Clone, Debug)]
pub(crate) struct MarkCounter {
    /// r.cep.
    packets: u32,
    /// r.e0b, r.ceb and r.e1b.
    bytes: EcnBytes,
    /// The number of fields of order 1 that contain all counters which have changed since the last option.
    fields_changed: usize,
    previous: Ecn,
    /// Marked packets since the last ACK.
    unreported: u32,
    /// The ECN field of a SYN-ACK, which the next ACK without data reports (§3.2.2.1).
    of_syn_ack: Option<Ecn>,
    /// Options are sent, because the peer sends them too, as in Linux.
    options: bool,
    /// The last D-SACK block that an option was sent with.
    last_dsack: Option<(u32, u32)>,
}

impl MarkCounter {
    /// The counter of a connection whose SYN or SYN-ACK had this ECN field. A client reports that of the
    /// SYN-ACK, and counts its mark; a mark of the SYN is reported by the SYN-ACK (§3.2.2.2).
    pub(crate) fn new(ecn: Ecn, is_client: bool) -> Self {
        let marked = is_client && ecn == Ecn::CongestionExperienced;
        Self {
            packets: FIRST_PACKETS + u32::from(marked),
            bytes: EcnBytes::FIRST,
            fields_changed: 0,
            previous: ecn,
            unreported: 0,
            of_syn_ack: is_client.then_some(ecn),
            options: false,
            last_dsack: None,
        }
    }

    /// Marked packets and bytes that arrived.
    pub(crate) const fn received(&self) -> (u64, EcnBytes) {
        (self.packets.wrapping_sub(FIRST_PACKETS) as u64, self.bytes.since_first())
    }

    /// True if packets carry the option.
    pub(crate) const fn sends_options(&self) -> bool {
        self.options
    }

    /// The peer sends options.
    pub(crate) const fn send_options(&mut self, allowed: bool) {
        self.options = allowed;
    }

    /// Whether the next ACK is for a SYN-ACK that arrived with this ECN field.
    pub(crate) const fn answers_syn_ack(&mut self, ecn: Option<Ecn>) {
        self.of_syn_ack = ecn;
    }

    /// An acceptable packet arrived. True if an ACK has to be sent at once (§3.2.2.5.1): the ECN field changed,
    /// as in Linux in any direction, or too many marks are not reported.
    pub(crate) fn on_packet(&mut self, ecn: Ecn, payload: u32, unacknowledged: bool) -> bool {
        let marked = u32::from(ecn == Ecn::CongestionExperienced);
        self.packets = self.packets.wrapping_add(marked);
        self.unreported += marked;
        if let Some(counter) = self.bytes.of(ecn).filter(|_| payload > 0) {
            *counter = counter.wrapping_add(payload);
            let fields = match ecn {
                Ecn::NotCapable => 0,
                Ecn::Capable1 => 1,
                Ecn::CongestionExperienced => 2,
                Ecn::Capable0 => 3,
            };
            self.fields_changed = self.fields_changed.max(fields);
        }
        let changed = ecn != core::mem::replace(&mut self.previous, ecn);
        let limit = if unacknowledged || payload > 0 { MARKS_WITH_DATA } else { MARKS_WITHOUT_DATA };
        (changed && payload > 0) || self.unreported >= limit
    }

    /// The flags of a packet; `bare` is true for an ACK without data and SACK blocks.
    pub(crate) const fn ace(&mut self, bare: bool) -> u16 {
        self.unreported = 0;
        if bare && let Some(ecn) = self.of_syn_ack.take() {
            return TcpFlags::of_ace(crate::ecn::handshake_ace(ecn));
        }
        self.of_syn_ack = None;
        TcpFlags::of_ace(self.packets)
    }

    /// The option of a packet with this much room for options and this many SACK blocks, and the number of
    /// these blocks that it has then. An option may displace a third block, but not the second one (§3.2.3.3).
    /// As in Linux, options are no longer sent if the same data arrives again and again: a middlebox seems to
    /// drop the ACKs.
    pub(crate) fn option(
        &mut self,
        room: u32,
        blocks: usize,
        dsack: Option<(u32, u32)>,
    ) -> (Option<AccEcnOption>, usize) {
        if dsack.is_some() && dsack == self.last_dsack {
            self.options = false;
        }
        self.last_dsack = dsack;
        if !self.options {
            return (None, blocks);
        }
        let fits = |fields: &usize, blocks: usize| {
            let sack = if blocks == 0 { 0 } else { 4 + 8 * blocks as u32 };
            AccEcnOption::padded_len_of(*fields) + sack <= room
        };
        let fields = || (self.fields_changed..=3).rev();
        let whole = fields().find(|f| fits(f, blocks)).map(|f| (f, blocks));
        let Some((fields, blocks)) = whole.or_else(|| {
            (2..blocks).rev().find_map(|fewer| fields().find(|f| fits(f, fewer)).map(|f| (f, fewer)))
        }) else {
            return (None, blocks);
        };
        self.fields_changed = 0;
        let counters = [self.bytes.capable1, self.bytes.marked, self.bytes.capable0];
        (Some(AccEcnOption::new(1, &counters[..fields])), blocks)
    }

    /// The option of a SYN-ACK (§3.2.3.2.1).
    pub(crate) fn first_option() -> AccEcnOption {
        AccEcnOption::new(1, &[FIRST_BYTES, 0, FIRST_BYTES])
    }
}

/// The feedback of a packet that is not older than the last one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feedback {
    pub(crate) ace: u8,
    pub(crate) option: Option<AccEcnOption>,
    /// Segments and bytes that it newly acknowledges, cumulatively or selectively.
    pub(crate) delivered: u32,
    pub(crate) delivered_bytes: u32,
    /// Payload of a full segment.
    pub(crate) segment_size: u32,
    /// Packets sent so far that do not deliver a segment, or not for the first time. Their marks count too.
    pub(crate) others: u64,
}

/// Newly reported marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) packets: u32,
    pub(crate) bytes: u32,
}

/// Whether the options of the peer are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Options {
    /// No option was seen yet.
    Unseen,
    Read,
    /// An option was zeroed on the path (§3.2.3.2.4).
    Ignored,
}

/// Segments and bytes delivered, and packets read as marked, since the last option.
#[derive(Clone, Copy, Debug, Default)]
struct SinceOption {
    delivered: u32,
    bytes: u32,
    packets: u32,
    /// Marked bytes that were assumed for these packets.
    assumed: u32,
}

/// The sender's half.
#[derive(Clone, Debug)]
pub(crate) struct MarkReader {
    /// s.cep.
    packets: u32,
    /// s.e0b, s.ceb and s.e1b.
    bytes: EcnBytes,
    options: Options,
    /// True if packets are sent ECN-capable.
    capable: bool,
    /// True if feedback has an effect.
    obeys: bool,
    /// True if an invalid change of the ECN field in the handshake ends the sending of ECN-capable packets.
    fallback: bool,
    /// True until the first counters after the handshake were read.
    first: bool,
    /// Average number of segments per ACK, in 1/64; 0 before the first.
    ack_size_x64: u32,
    /// Segments and bytes delivered by packets whose counters were not read.
    unread: (u32, u32),
    since_option: SinceOption,
}

impl MarkReader {
    pub(crate) const fn new(fallback: bool) -> Self {
        Self {
            packets: FIRST_PACKETS,
            bytes: EcnBytes::FIRST,
            options: Options::Unseen,
            capable: true,
            obeys: true,
            fallback,
            first: true,
            ack_size_x64: 0,
            unread: (0, 0),
            since_option: SinceOption { delivered: 0, bytes: 0, packets: 0, assumed: 0 },
        }
    }

    /// True if packets are sent ECN-capable.
    pub(crate) const fn is_capable(&self) -> bool {
        self.capable
    }

    /// Marked packets that the peer has reported, the SYN-ACK included.
    pub(crate) const fn reported(&self) -> u32 {
        self.packets.wrapping_sub(FIRST_PACKETS)
    }

    /// No packet is ECN-capable any more.
    pub(crate) const fn send_not_capable(&mut self) {
        self.capable = false;
    }

    /// A SYN-ACK reports the ECN field with which our SYN arrived; it was sent without. Any other value was
    /// written on the path (§3.2.2.3); the reserved one says nothing (§3.1.3).
    pub(crate) const fn on_syn_ack(&mut self, ace: u8) {
        if !matches!(ace, 0b010 | 0b101) && self.fallback {
            self.capable = false;
        }
    }

    /// The first ACK without data reports the ECN field with which our SYN-ACK arrived (table 4); returns the value of
    /// the counter.
    pub(crate) const fn on_ack_of_syn_ack(&mut self, ace: u8) -> u32 {
        self.first = false;
        match ace {
            0 => (self.capable, self.obeys) = (false, false),
            0b011 | 0b100 | 0b110 if self.fallback => self.capable = false,
            _ => {}
        }
        if ace == 0b110 {
            self.packets = FIRST_PACKETS + 1; // the peer has counted the mark
        }
        self.packets
    }

    /// An option arrived; returns true for the first. One with a zero at the place of an initial counter was
    /// written over on the path.
    pub(crate) fn sees(&mut self, option: &AccEcnOption) -> bool {
        if self.options != Options::Unseen {
            return false;
        }
        let zeroed = [Ecn::Capable0, Ecn::Capable1].iter().any(|ecn| option.counter(*ecn) == Some(0));
        self.options = if zeroed { Options::Ignored } else { Options::Read };
        !zeroed
    }

    /// Bytes delivered with each ECN field, as far as the options report them.
    pub(crate) const fn delivered_bytes(&self) -> EcnBytes {
        self.bytes.since_first()
    }

    /// A packet whose counters are not read, because they may be old: a duplicate ACK without SACK. The next counters
    /// may contain marks of the segments that it delivers.
    pub(crate) const fn on_unread(&mut self, delivered: u32, bytes: u32) {
        self.unread.0 += delivered;
        self.unread.1 += bytes;
    }

    /// The first feedback after the handshake. The counters begin at 5: a field of zero was zeroed on the path
    /// (§3.2.2.4), unless enough packets were sent that their marks could explain it.
    pub(crate) const fn check_first(&mut self, ace: u8, packets_sent: u64) {
        let first = core::mem::replace(&mut self.first, false);
        if first && ace == 0 && packets_sent < (ACE_VALUES - FIRST_PACKETS) as u64 {
            (self.capable, self.obeys) = (false, false);
        }
    }

    /// Reads the counters of a packet.
    pub(crate) fn on_feedback(&mut self, feedback: &Feedback) -> Marks {
        let average = &mut self.ack_size_x64;
        if feedback.delivered > 0 {
            let new = feedback.delivered.saturating_mul(64);
            // An average with a weight of 1/64, as in Linux.
            *average = if *average == 0 { new } else { *average - *average / 64 + feedback.delivered };
        }
        let (delivered, bytes) = core::mem::take(&mut self.unread);
        let delivered = feedback.delivered + delivered;
        self.since_option.delivered += delivered;
        self.since_option.bytes += feedback.delivered_bytes + bytes;
        let many_per_ack = *average > (ACE_VALUES - 1) * 64;
        let marked_bytes = match (self.options, &feedback.option) {
            (Options::Read, Some(option)) => Some(self.read(option)),
            _ => None,
        };
        let least = u32::from(feedback.ace).wrapping_sub(self.packets) % ACE_VALUES;
        let packets = self.since_option.estimate(delivered, least, marked_bytes, many_per_ack);
        self.packets = self.packets.wrapping_add(packets);
        self.since_option.packets += packets;
        let since = self.since_option;
        if marked_bytes.is_some() {
            self.since_option = SinceOption::default();
            let segments = marked_bytes.unwrap_or(0).div_ceil(feedback.segment_size).max(since.delivered);
            let arrived = u64::from(segments) + feedback.others;
            if marked_bytes != Some(0) && since.packets == 0 && arrived < u64::from(ACE_VALUES) {
                self.capable = false; // only mangling explains it (§3.2.3.2.5)
            }
        }
        if !self.obeys {
            return Marks::default();
        }
        // Without an option, RFC 9768 appendix A.3 in its simplest form. The next option contains the same bytes.
        let assumed = packets * feedback.segment_size;
        let bytes = match marked_bytes {
            Some(bytes) => bytes.saturating_sub(since.assumed),
            None => {
                self.since_option.assumed += assumed;
                assumed
            }
        };
        Marks { packets, bytes }
    }

    /// Updates the byte counters; returns the bytes newly reported as marked.
    fn read(&mut self, option: &AccEcnOption) -> u32 {
        let mut marked = 0;
        for ecn in [Ecn::Capable0, Ecn::CongestionExperienced, Ecn::Capable1] {
            let (Some(counter), Some(own)) = (option.counter(ecn), self.bytes.of(ecn)) else { continue };
            let increment = counter.wrapping_sub(*own) & OPTION_MASK;
            // An option of an older packet would seem to be nearly a full turn ahead.
            if increment > OPTION_MASK / 2 {
                continue;
            }
            *own = own.wrapping_add(increment);
            if ecn == Ecn::CongestionExperienced {
                marked = increment;
            }
        }
        marked
    }
}

impl SinceOption {
    /// The number of marked packets when the ACE field has advanced by `least`, or by that and whole turns
    /// (§3.2.2.5.2, appendix A.2), with an acknowledgment of this many segments: as many as could have been marked,
    /// unless an option rules it out, or the receiver always acknowledges many segments at once, so that the ACK is no
    /// sign of lost ACKs (Linux).
    fn estimate(&self, delivered: u32, least: u32, marked_bytes: Option<u32>, many_per_ack: bool) -> u32 {
        if delivered < ACE_VALUES {
            return least;
        }
        let safe = delivered - (delivered - least) % ACE_VALUES;
        match marked_bytes {
            Some(0) => least,
            Some(bytes) => {
                // The marked part of the bytes equals the marked part of the packets, which is partly known, and which
                // the ACE field completes.
                let all = u64::from(self.bytes).max(1);
                let share = (u64::from(bytes) * u64::from(self.delivered)).div_ceil(all);
                let new = share.saturating_sub(u64::from(self.packets + least));
                let turns = (new + u64::from(ACE_VALUES / 2)) / u64::from(ACE_VALUES);
                safe.min(least + (turns as u32) * ACE_VALUES)
            }
            None if many_per_ack => least,
            None => safe,
        }
    }
}

#[cfg(test)]
mod tests;
