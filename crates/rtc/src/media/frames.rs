//! Frames of video at the receiver, from their packets until they can be decoded.
//!
//! Each frame needs the one before it, except for key frames.

use std::collections::BTreeMap;

use airlane_core::Instant;

use crate::wire::{RtpHeader, Unwrapper, VideoPayload};

/// The most frames that it holds (libwebrtc, `kMaxFramesBuffered`).
const FRAMES_MAX: usize = 800;

/// A frame of which packets have arrived.
#[derive(Clone, Debug)]
pub(super) struct PartialFrame {
    pub(super) timestamp: u32,
    pub(super) key: bool,
    /// Packets that have arrived, and their bytes.
    pub(super) received: u32,
    pub(super) bytes: u64,
    /// When its first and its latest packet arrived.
    pub(super) first_at: Instant,
    pub(super) last_at: Instant,
    /// Whether any packet had to be sent again.
    pub(super) retransmitted: bool,
    /// The numbers of its first and last packet.
    begin: Option<u64>,
    pub(super) end: Option<u64>,
    /// The numbers that have arrived.
    numbers: Vec<u64>,
}

impl PartialFrame {
    fn is_complete(&self) -> bool {
        let (Some(begin), Some(end)) = (self.begin, self.end) else { return false };
        u64::from(self.received) == end + 1 - begin
    }
}

/// A packet of video.
#[derive(Clone, Copy, Debug)]
pub(super) struct VideoArrival {
    pub(super) number: u64,
    pub(super) header: RtpHeader,
    pub(super) payload: VideoPayload,
    pub(super) retransmitted: bool,
}

/// The frames that have not been decoded.
#[derive(Debug, Default)]
pub(super) struct Frames {
    frames: BTreeMap<u64, PartialFrame>,
    pictures: Unwrapper<15>,
    /// The number behind the newest frame that was decoded; `None` before the first.
    next: Option<u64>,
    /// The frame that is decoded next, if one can be: the one behind the last, or else the first key frame. Only a frame that is
    /// completed and one that is decoded change it.
    decodable: Option<u64>,
}

impl Frames {
    /// A packet arrives. Returns its frame, and whether that is complete with it; `None` of a packet that is not needed.
    pub(super) fn insert(&mut self, now: Instant, packet: &VideoArrival) -> Option<(u64, bool)> {
        let number = self.pictures.extend(u64::from(packet.payload.picture));
        if self.next.is_some_and(|next| number < next) || self.frames.len() >= FRAMES_MAX {
            return None;
        }
        let frame = self.frames.entry(number).or_insert_with(|| PartialFrame {
            timestamp: packet.header.timestamp,
            key: false,
            received: 0,
            bytes: 0,
            first_at: now,
            last_at: now,
            retransmitted: false,
            begin: None,
            end: None,
            numbers: Vec::new(),
        });
        if frame.numbers.contains(&packet.number) {
            return None;
        }
        frame.numbers.push(packet.number);
        frame.received += 1;
        frame.bytes += u64::from(packet.payload.len);
        frame.last_at = now;
        frame.retransmitted |= packet.retransmitted;
        if packet.payload.begins {
            frame.begin = Some(packet.number);
            frame.key = packet.payload.key;
        }
        if packet.header.marker {
            frame.end = Some(packet.number);
        }
        let (complete, key) = (frame.is_complete(), frame.key);
        let is_next = self.next == Some(number);
        let displaces =
            || key && self.decodable.is_none_or(|other| number < other && self.next != Some(other));
        if complete && (is_next || displaces()) {
            self.decodable = Some(number);
        }
        Some((number, complete))
    }

    /// Whether any packet of a frame had to be sent again.
    pub(super) fn was_retransmitted(&self, number: u64) -> bool {
        self.frames.get(&number).is_some_and(|frame| frame.retransmitted)
    }

    /// The frame that is decoded next, if one can be.
    pub(super) fn decodable(&self) -> Option<(u64, &PartialFrame)> {
        let number = self.decodable?;
        self.frames.get(&number).map(|frame| (number, frame))
    }

    fn find_decodable(&self) -> Option<u64> {
        let next = self.next.filter(|next| self.frames.get(next).is_some_and(PartialFrame::is_complete));
        let key = || self.frames.iter().find(|(_, frame)| frame.key && frame.is_complete());
        next.or_else(|| key().map(|(number, _)| *number))
    }

    /// Decodes a frame. Returns it, and those before it that are left out, each with its packets that have arrived.
    pub(super) fn decode(&mut self, number: u64) -> (PartialFrame, Vec<(u64, u32)>) {
        let first = self.next.replace(number + 1).unwrap_or(0);
        let mut received = |number| self.frames.remove(&number).map_or(0, |frame| frame.received);
        let lost = (first..number).map(|number| (number, received(number))).collect();
        let frame = self.frames.remove(&number).expect("it can be decoded");
        self.decodable = self.find_decodable();
        (frame, lost)
    }

    /// Whether all has arrived of what has begun to arrive.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Makes room: nothing can be decoded, and the buffer is full.
    pub(super) fn clear_if_full(&mut self) {
        if self.frames.len() >= FRAMES_MAX {
            self.frames.clear();
            self.decodable = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::MediaStream;

    /// Packet `number`, which is in frame `picture`.
    fn packet(number: u64, picture: u16, flags: &str) -> VideoArrival {
        let header = RtpHeader {
            payload_type: MediaStream::Video.payload_type(),
            marker: flags.contains('e'),
            sequence: number as u16,
            timestamp: 3_000 * u32::from(picture),
            ssrc: 1,
            transport_sequence: 0,
            padding: 0,
            csrc: None,
        };
        let begins = flags.contains('b');
        let payload = VideoPayload { picture, begins, key: flags.contains('k'), len: 100 };
        VideoArrival { number, header, payload, retransmitted: flags.contains('r') }
    }

    #[test]
    fn a_frame_needs_all_packets_and_the_frame_before_it() {
        let (mut frames, now) = (Frames::default(), Instant::ZERO);
        let mut insert = |number, picture, flags| {
            let inserted = frames.insert(now, &packet(number, picture, flags));
            inserted.filter(|(_, complete)| *complete).map(|(frame, _)| frame)
        };
        assert_eq!(
            [insert(0, 0, "bk"), insert(2, 0, "e"), insert(0, 0, "bk"), insert(1, 0, "")],
            [None, None, None, Some(0)]
        );
        assert_eq!([insert(3, 1, "b"), insert(5, 2, "be")], [None, Some(2)]);
        assert_eq!(frames.decodable().map(|(number, frame)| (number, frame.bytes)), Some((0, 300)));
        assert_eq!(frames.decode(0).1, []);
        assert!(frames.decodable().is_none(), "the second frame is not complete");
        assert_eq!(frames.insert(now, &packet(4, 1, "er")), Some((1, true)));
        assert_eq!(frames.insert(now, &packet(4, 1, "er")), None);
        let (frame, lost) = frames.decode(1);
        assert!(frame.retransmitted && lost.is_empty());
        assert_eq!(frames.decodable().map(|(number, _)| number), Some(2));
        frames.decode(2);
        assert!(frames.insert(now, &packet(4, 1, "er")).is_none() && frames.is_empty());
    }

    #[test]
    fn a_key_frame_displaces_what_is_before_it() {
        let (mut frames, now) = (Frames::default(), Instant::ZERO);
        frames.insert(now, &packet(0, 0, "bke"));
        frames.decode(0);
        frames.insert(now, &packet(2, 1, "e"));
        frames.insert(now, &packet(4, 3, "be"));
        frames.insert(now, &packet(5, 4, "bke"));
        assert_eq!(frames.decodable().map(|(number, _)| number), Some(4));
        assert_eq!(frames.decode(4).1, [(1, 1), (2, 0), (3, 1)]);
    }
}
