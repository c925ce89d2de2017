//! The packets that a sender makes, and their sizes.

use airlane_core::{BitRate, Bytes, Instant};

use super::repair::RepairPacket;
use crate::PacketKind;
use crate::wire::{LOWER_HEADERS, MediaStream, RtpHeader, SRTP_TAG, Ssrcs, VP8_DESCRIPTOR, VideoPayload};

/// The largest RTP packet (libwebrtc, `kVideoMtu`), with the authentication tag.
const PACKET_MAX: usize = 1_200;
/// Bytes of a frame in its largest packet. A retransmission is two bytes longer (RFC 4588 section 4).
pub(super) const PART_MAX: usize = PACKET_MAX - RtpHeader::LEN - VP8_DESCRIPTOR - SRTP_TAG - 2;
/// Bytes that a repair packet adds to its payload: the headers, with the source that it protects.
const REPAIR_HEADERS: u64 = AUDIO_HEADERS + 4;
/// Bytes that a packet of video adds to those of the frame.
pub(super) const VIDEO_HEADERS: u64 = LOWER_HEADERS + (RtpHeader::LEN + VP8_DESCRIPTOR + SRTP_TAG) as u64;
/// Bytes that a packet of audio adds to its own.
pub(super) const AUDIO_HEADERS: u64 = LOWER_HEADERS + (RtpHeader::LEN + SRTP_TAG) as u64;
/// The padding of a packet without media (libwebrtc, `kMaxPaddingLength`).
const PADDING: u8 = 224;

/// The time of the clock of video, of 90 kHz (RFC 7741 section 4.1).
pub(super) fn video_time(at: Instant) -> u32 {
    (u128::from(at.as_nanos()) * 9 / 100_000) as u32
}

/// The rate of video without headers, from that with all headers and the frame rate: of frames whose packets fit into their share
/// of the rate. It does not fall when the rate rises: what is left behind the last full packet counts as far as it exceeds the
/// headers of one more.
#[must_use]
pub fn without_headers(wire: BitRate, frame_rate: f64) -> BitRate {
    let frame_bytes = wire.0 as f64 / 8.0 / frame_rate;
    let packet_bytes = (PART_MAX as u64 + VIDEO_HEADERS) as f64;
    let full_packets = libm::floor(frame_bytes / packet_bytes);
    let last_bytes = (frame_bytes - full_packets * packet_bytes - VIDEO_HEADERS as f64).max(0.0);
    BitRate(((full_packets * PART_MAX as f64 + last_bytes) * 8.0 * frame_rate) as u64)
}

/// A packet with a part of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VideoPacket {
    pub(super) sequence: u64,
    pub(super) timestamp: u32,
    pub(super) frame: u64,
    pub(super) begins: bool,
    pub(super) ends: bool,
    pub(super) key: bool,
    pub(super) len: u16,
}

impl VideoPacket {
    const fn payload(&self) -> VideoPayload {
        VideoPayload {
            picture: (self.frame & 0x7fff) as u16,
            begins: self.begins,
            key: self.key,
            len: self.len,
        }
    }
}

/// The sources of a sender, and the numbers of a packet: in its stream, and among all packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    pub(super) ssrcs: Ssrcs,
    pub(super) own: u64,
    pub(super) transport: u64,
}

/// The content of a packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Audio {
        timestamp: u32,
        len: u16,
    },
    Video(VideoPacket),
    Retransmission(VideoPacket),
    /// A repair packet, with the length of its payload.
    Repair {
        id: u32,
        len: u16,
    },
    /// A packet that was sent before, or padding alone.
    Padding(Option<VideoPacket>),
}

impl Content {
    /// Bytes on the wire, with all headers.
    pub(super) fn wire_size(&self) -> Bytes {
        Bytes(match self {
            Self::Audio { len, .. } => AUDIO_HEADERS + u64::from(*len),
            Self::Video(packet) => VIDEO_HEADERS + u64::from(packet.len),
            Self::Retransmission(packet) | Self::Padding(Some(packet)) => {
                VIDEO_HEADERS + 2 + u64::from(packet.len)
            }
            Self::Repair { len, .. } => REPAIR_HEADERS + u64::from(*len),
            Self::Padding(None) => AUDIO_HEADERS + u64::from(PADDING),
        })
    }

    pub(super) const fn stream(&self) -> MediaStream {
        match self {
            Self::Audio { .. } => MediaStream::Audio,
            Self::Video(_) => MediaStream::Video,
            Self::Retransmission(_) | Self::Padding(_) => MediaStream::Retransmission,
            Self::Repair { .. } => MediaStream::Repair,
        }
    }

    pub(super) const fn kind(&self) -> PacketKind {
        match self {
            Self::Audio { .. } => PacketKind::Audio,
            Self::Video(_) => PacketKind::Video,
            Self::Retransmission(_) => PacketKind::Retransmission,
            Self::Repair { .. } => PacketKind::Repair,
            Self::Padding(_) => PacketKind::Padding,
        }
    }

    /// The packet as bytes.
    pub(super) fn emit(&self, now: Instant, numbers: Numbers, repair: Option<&RepairPacket>) -> Box<[u8]> {
        let (timestamp, marker) = match self {
            Self::Audio { timestamp, .. } => (*timestamp, false),
            Self::Video(packet) | Self::Retransmission(packet) | Self::Padding(Some(packet)) => {
                (packet.timestamp, packet.ends)
            }
            Self::Repair { .. } => (repair.map_or(0, |repair| repair.timestamp), false),
            Self::Padding(None) => (video_time(now), false),
        };
        let stream = self.stream();
        let header = RtpHeader {
            payload_type: stream.payload_type(),
            marker,
            sequence: numbers.own as u16,
            timestamp,
            ssrc: numbers.ssrcs.of(stream),
            transport_sequence: numbers.transport as u16,
            padding: if matches!(self, Self::Padding(None)) { PADDING } else { 0 },
            csrc: repair.map(|_| numbers.ssrcs.of(MediaStream::Video)),
        };
        let mut bytes = Vec::with_capacity((self.wire_size().get() - LOWER_HEADERS) as usize);
        header.emit(&mut bytes);
        match self {
            Self::Audio { len, .. } => bytes.resize(bytes.len() + usize::from(*len), 0),
            Self::Video(packet) => packet.payload().emit(&mut bytes),
            Self::Retransmission(packet) | Self::Padding(Some(packet)) => {
                bytes.extend_from_slice(&(packet.sequence as u16).to_be_bytes());
                packet.payload().emit(&mut bytes);
            }
            Self::Repair { .. } => bytes.extend_from_slice(repair.map_or(&[], |repair| &repair.payload)),
            Self::Padding(None) => {}
        }
        header.finish(&mut bytes);
        bytes.into_boxed_slice()
    }

    #[cfg(test)]
    pub(super) fn video(sequence: u64, len: u16) -> Self {
        Self::Video(VideoPacket {
            sequence,
            timestamp: 0,
            frame: sequence,
            begins: true,
            ends: true,
            key: false,
            len,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes on the wire of a frame of this size.
    fn on_the_wire(frame_bytes: f64) -> f64 {
        frame_bytes + VIDEO_HEADERS as f64 * libm::ceil(frame_bytes / PART_MAX as f64)
    }

    /// From 10 kbit/s on, the lowest rate of a scenario. A frame of the result fits into its share of the rate, and a frame of
    /// one byte more than the rounding takes does not.
    #[test]
    fn the_rate_without_headers_rises_with_the_rate_on_the_wire() {
        for frame_rate in [1.0, 7.5, 15.0, 24.0, 25.0, 29.97, 30.0, 60.0, 90.0, 240.0] {
            let mut before = BitRate(0);
            for wire in (10..=3_000).map(|hundreds| BitRate(1_000 * hundreds)) {
                let video = without_headers(wire, frame_rate);
                assert!(
                    video >= before,
                    "{wire:?} at {frame_rate} frames per second: {video:?} < {before:?}"
                );
                before = video;
                let [frame, share] = [video, wire].map(|rate| rate.0 as f64 / 8.0 / frame_rate);
                assert!(on_the_wire(frame - 0.01) <= share.max(0.0), "{wire:?} at {frame_rate}: {video:?}");
                assert!(on_the_wire(frame + 1.0) > share, "{wire:?} at {frame_rate}: {video:?}");
            }
        }
    }

    /// At 30 frames per second 294 kbit/s are 1225 B, one packet with 1163 B of the frame; 295 kbit/s are 1229 B, which is a full
    /// packet of 1226 B, with 1164 B of the frame, and too little for the headers of a second.
    #[test]
    fn headers_of_one_more_packet_take_nothing_from_the_full_ones() {
        let frame_bytes = |kbps: u64| without_headers(BitRate(1_000 * kbps), 30.0).0 as f64 / 240.0;
        assert_eq!([294, 295, 309].map(frame_bytes), [1_163.0, 1_164.0, 1_164.0]);
    }
}
