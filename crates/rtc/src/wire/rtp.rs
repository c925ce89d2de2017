//! RTP: the fixed header with the extension for transport-wide sequence numbers, and the payloads of video.

use super::{SRTP_TAG, get16, get32, put16, put32};

/// The streams of a sender, each with an SSRC of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaStream {
    /// Audio.
    Audio,
    /// Video.
    Video,
    /// Video that is sent again (RFC 4588).
    Retransmission,
    /// Redundancy for video.
    Repair,
}

impl MediaStream {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Audio, Self::Video, Self::Retransmission, Self::Repair];

    /// The payload type: dynamic ones (RFC 3551 section 6), as libwebrtc offers them for Opus, VP8, its retransmission and
    /// its repair.
    #[must_use]
    pub const fn payload_type(self) -> u8 {
        match self {
            Self::Audio => 111,
            Self::Video => 96,
            Self::Retransmission => 97,
            Self::Repair => 127,
        }
    }
}

/// The SSRCs of a sender, which both ends know: four in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ssrcs {
    /// That of audio.
    pub first: u32,
}

impl Ssrcs {
    /// That of a stream.
    #[must_use]
    pub const fn of(self, stream: MediaStream) -> u32 {
        self.first + stream as u32
    }

    /// The stream of an SSRC.
    #[must_use]
    pub fn stream(self, ssrc: u32) -> Option<MediaStream> {
        MediaStream::ALL.get(ssrc.checked_sub(self.first)? as usize).copied()
    }
}

/// An RTP header (RFC 3550 section 5.1) with one extension: the transport-wide sequence number
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 2) in the one-byte form (RFC 8285 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RtpHeader {
    /// Payload type.
    pub(crate) payload_type: u8,
    /// The marker bit: the last packet of a frame of video.
    pub(crate) marker: bool,
    /// Sequence number of the stream.
    pub(crate) sequence: u16,
    /// Media time.
    pub(crate) timestamp: u32,
    /// Source.
    pub(crate) ssrc: u32,
    /// Sequence number of all packets of the sender.
    pub(crate) transport_sequence: u16,
    /// Bytes of padding at the end.
    pub(crate) padding: u8,
    /// The stream that it protects, of a repair packet (RFC 8627 section 4.2.1).
    pub(crate) csrc: Option<u32>,
}

impl RtpHeader {
    /// Bytes on the wire without `csrc`: the fixed header, the head of the extensions, and one extension with its padding.
    pub(crate) const LEN: usize = 12 + 4 + 4;
    /// The local identifier of the extension, which signalling assigns.
    const EXTENSION_ID: u8 = 3;

    /// Appends the header. [`Self::finish`] follows behind the payload.
    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        let padded = if self.padding > 0 { 0x20 } else { 0 };
        out.push(0x90 | padded | u8::from(self.csrc.is_some())); // version 2, with an extension
        out.push(u8::from(self.marker) << 7 | self.payload_type);
        put16(out, self.sequence);
        put32(out, self.timestamp);
        put32(out, self.ssrc);
        self.csrc.iter().for_each(|csrc| put32(out, *csrc));
        put16(out, 0xbede);
        put16(out, 1);
        out.push(Self::EXTENSION_ID << 4 | 1); // its length less one
        put16(out, self.transport_sequence);
        out.push(0);
    }

    /// Appends padding and the authentication tag.
    pub(crate) fn finish(&self, out: &mut Vec<u8>) {
        if self.padding > 0 {
            out.resize(out.len() + usize::from(self.padding) - 1, 0);
            out.push(self.padding);
        }
        out.resize(out.len() + SRTP_TAG, 0);
    }

    /// The header and the payload of a packet; `None` of what is not such a packet.
    #[must_use]
    pub(crate) fn parse(packet: &[u8]) -> Option<(Self, &[u8])> {
        let [flags, kind, ..] = *packet else { return None };
        let (protects, behind) = (flags & 1 == 1, if flags & 1 == 1 { 16 } else { 12 });
        if flags & 0xde != 0x90 || get16(packet, behind)? != 0xbede || get16(packet, behind + 2)? != 1 {
            return None;
        }
        if *packet.get(behind + 4)? != Self::EXTENSION_ID << 4 | 1 {
            return None;
        }
        let end = packet.len().checked_sub(SRTP_TAG)?;
        let padding = if flags & 0x20 != 0 { *packet.get(end.checked_sub(1)?)? } else { 0 };
        let header = Self {
            payload_type: kind & 0x7f,
            marker: kind & 0x80 != 0,
            sequence: get16(packet, 2)?,
            timestamp: get32(packet, 4)?,
            ssrc: get32(packet, 8)?,
            transport_sequence: get16(packet, behind + 5)?,
            padding,
            csrc: if protects { Some(get32(packet, 12)?) } else { None },
        };
        Some((header, packet.get(behind + 8..end.checked_sub(usize::from(padding))?)?))
    }
}

/// Bytes of the payload descriptor of VP8 with a picture identifier of 15 bits (RFC 7741 section 4.2).
pub(crate) const VP8_DESCRIPTOR: usize = 4;

/// A part of a frame of video, as VP8 (RFC 7741).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VideoPayload {
    /// The lowest 15 bits of the number of the frame.
    pub(crate) picture: u16,
    /// Whether it is the first part.
    pub(crate) begins: bool,
    /// Whether it is a key frame; known of the first part alone.
    pub(crate) key: bool,
    /// Bytes of the frame in this part.
    pub(crate) len: u16,
}

impl VideoPayload {
    /// Appends the descriptor and the bytes of the frame, of which the first tells key frames (section 4.3).
    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        out.push(0x80 | u8::from(self.begins) << 4);
        out.push(0x80);
        put16(out, 0x8000 | self.picture & 0x7fff);
        let begin = out.len();
        out.resize(begin + usize::from(self.len), 0);
        if self.begins && self.len > 0 {
            out[begin] = u8::from(!self.key);
        }
    }

    /// Reads what [`Self::emit`] writes.
    #[must_use]
    pub(crate) fn parse(payload: &[u8]) -> Option<Self> {
        let [flags, 0x80, ..] = *payload else { return None };
        let begins = flags & 0x10 != 0;
        Some(Self {
            picture: get16(payload, 2)? & 0x7fff,
            begins,
            key: begins && payload.get(VP8_DESCRIPTOR)? & 1 == 0,
            len: u16::try_from(payload.len() - VP8_DESCRIPTOR).ok()?,
        })
    }
}

/// The sequence number of the packet that a retransmission repeats, and its payload (RFC 4588 section 4).
#[must_use]
pub(crate) fn original_sequence(payload: &[u8]) -> Option<(u16, &[u8])> {
    Some((get16(payload, 0)?, &payload[2..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_read_as_it_was_written() {
        let ssrcs = Ssrcs { first: 0x40 };
        let header = RtpHeader {
            payload_type: MediaStream::Video.payload_type(),
            marker: true,
            sequence: 65_535,
            timestamp: 90_000,
            ssrc: ssrcs.of(MediaStream::Video),
            transport_sequence: 513,
            padding: 0,
            csrc: None,
        };
        let video = VideoPayload { picture: 32_767, begins: true, key: true, len: 100 };
        let mut packet = vec![];
        header.emit(&mut packet);
        video.emit(&mut packet);
        header.finish(&mut packet);
        assert_eq!(packet.len(), 20 + 4 + 100 + 10);
        assert_eq!(&packet[..12], [0x90, 0xe0, 0xff, 0xff, 0, 1, 0x5f, 0x90, 0, 0, 0, 0x41]);
        assert_eq!(&packet[12..20], [0xbe, 0xde, 0, 1, 0x31, 2, 1, 0]);
        let (read, payload) = RtpHeader::parse(&packet).unwrap();
        assert_eq!((read, VideoPayload::parse(payload)), (header, Some(video)));
        assert_eq!(ssrcs.stream(read.ssrc), Some(MediaStream::Video));
        assert_eq!((ssrcs.stream(0x3f), ssrcs.stream(0x44)), (None, None));

        let padded = RtpHeader { padding: 224, marker: false, ..header };
        packet.clear();
        padded.emit(&mut packet);
        padded.finish(&mut packet);
        assert_eq!((packet.len(), RtpHeader::parse(&packet)), (254, Some((padded, &[][..]))));

        let protects = RtpHeader { csrc: Some(77), ..header };
        packet.clear();
        protects.emit(&mut packet);
        protects.finish(&mut packet);
        assert_eq!((packet.len(), RtpHeader::parse(&packet)), (34, Some((protects, &[][..]))));
        assert!(
            (0..30).all(|len| RtpHeader::parse(&packet[..len]).is_none_or(|(_, payload)| payload.is_empty()))
        );
    }
}
