//! The receiver of a call: feedback, requests, frames, the jitter buffer and the display.

use std::collections::VecDeque;

use airlane_core::{Duration, Ecn, Instant, MediaStep};

use super::arrivals::{ArrivalsByStream, TransportWideArrivals};
use super::frames::{Frames, VideoArrival};
use super::freeze::FreezeDetector;
use super::nack::NackRequester;
use super::playout::Playout;
use super::repair::Recovery;
use super::{Datagram, Output, Pause, REPORT_INTERVAL, RTT_DEFAULT};
use crate::ReportTiming;
use crate::wire::{
    MediaStream, Rtcp, RtcpReader, RtcpWriter, RtpHeader, Ssrcs, Unwrapper, VideoPayload, original_sequence,
};

/// How long a receiver waits for a frame until it asks for a key frame, and until it asks again (libwebrtc,
/// `video/video_receive_stream2.cc`, `kMaxWaitForFrame` and `kMaxWaitForKeyFrame`).
const FRAME_WAIT: Duration = Duration::from_secs(3);
const KEY_FRAME_WAIT: Duration = Duration::from_millis(200);
/// Without a packet for this time, a receiver asks for nothing (the same file, `OnDecodableFrameTimeout`), and here reports nothing
/// either.
const INACTIVE: Duration = Duration::from_secs(5);

/// The format of the feedback about arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedbackFormat {
    /// Transport-wide feedback, at this interval, of at most 8 s: a report tells differences of arrivals up to 8191.75 ms
    /// (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1.5).
    TransportWide(Duration),
    /// RFC 8888, at the times of this rule.
    ByStream(ReportTiming),
}

/// Parameters of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Its own source.
    pub ssrc: u32,
    /// The sources of the sender.
    pub sender: Ssrcs,
    /// The feedback.
    pub feedback: FeedbackFormat,
    /// Whether it asks for packets again.
    pub nack: bool,
    /// Whether repair packets protect video.
    pub repair: bool,
}

#[derive(Debug)]
enum Arrivals {
    TransportWide(TransportWideArrivals),
    ByStream(ArrivalsByStream),
}

/// Receives audio and video, and reports to the sender.
#[derive(Debug)]
pub struct MediaReceiver {
    config: ReceiverConfig,
    arrivals: Arrivals,
    nack: Option<NackRequester>,
    recovery: Option<Recovery>,
    frames: Frames,
    playout: Playout,
    freezes: FreezeDetector,
    video: Unwrapper<16>,
    highest: u32,
    /// Frames that were decoded: when they are shown, their numbers, and when their first packets arrived.
    decoded: VecDeque<(Instant, u64, Instant)>,
    rtt: Duration,
    /// The time of the last report of the sender, and when it arrived.
    sender_report: Option<(u32, Instant)>,
    report_at: Option<Instant>,
    /// When the latest packet arrived.
    heard_at: Instant,
    /// Until when a frame can be decoded, or else a key frame is asked for; and whether only that helps.
    wait_until: Option<Instant>,
    key_needed: bool,
    /// When the next frame is due at the decoder, if one can be decoded. A frame that is complete and one that is released change it.
    release_at: Option<Instant>,
    /// The earliest time at which there is something to do.
    next_at: Option<Instant>,
}

impl MediaReceiver {
    /// A receiver that has received nothing.
    #[must_use]
    pub fn new(config: ReceiverConfig) -> Self {
        Self {
            arrivals: match config.feedback {
                FeedbackFormat::TransportWide(interval) => {
                    Arrivals::TransportWide(TransportWideArrivals::new(interval))
                }
                FeedbackFormat::ByStream(timing) => Arrivals::ByStream(ArrivalsByStream::new(timing)),
            },
            recovery: config.repair.then(Recovery::new),
            nack: config.nack.then(|| NackRequester::new(RTT_DEFAULT)),
            config,
            frames: Frames::default(),
            playout: Playout::new(),
            freezes: FreezeDetector::default(),
            video: Unwrapper::default(),
            highest: 0,
            decoded: VecDeque::new(),
            rtt: RTT_DEFAULT,
            sender_report: None,
            report_at: None,
            heard_at: Instant::ZERO,
            wait_until: None,
            key_needed: true,
            release_at: None,
            next_at: None,
        }
    }

    /// The same with the times in which the sender makes no media, which are no freezes.
    #[must_use]
    pub fn with_pauses(mut self, pauses: Vec<Pause>) -> Self {
        self.freezes.set_pauses(pauses);
        self
    }

    /// When to call [`Self::handle_timeout`].
    #[must_use]
    pub const fn next_timeout(&self) -> Option<Instant> {
        self.next_at
    }

    fn find_next(&self) -> Option<Instant> {
        let feedback = match &self.arrivals {
            Arrivals::TransportWide(arrivals) => arrivals.due(),
            Arrivals::ByStream(arrivals) => arrivals.due(),
        };
        let nack = self.nack.as_ref().and_then(NackRequester::due);
        let display = self.decoded.front().map(|(at, ..)| *at);
        [feedback, nack, self.release_at, display, self.report_at, self.wait_until]
            .into_iter()
            .flatten()
            .min()
    }

    /// The time of [`Self::next_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Output) {
        self.release(now, out);
        self.show(now, out);
        self.ask(now, out);
        self.send_feedback(now, out);
        if self.report_at.is_some_and(|at| at <= now) {
            self.report(now, out);
        }
        self.next_at = self.find_next();
    }

    /// An RTP packet arrives. Returns whether it has media that had not arrived before and is not too late.
    pub fn handle_rtp(&mut self, now: Instant, ecn: Ecn, packet: &[u8], out: &mut Output) -> bool {
        let Some((header, payload)) = RtpHeader::parse(packet) else { return false };
        let Some(stream) = self.config.sender.stream(header.ssrc) else { return false };
        match &mut self.arrivals {
            Arrivals::TransportWide(arrivals) => arrivals.on_packet(now, &header),
            Arrivals::ByStream(arrivals) => arrivals.on_packet(now, &header, ecn),
        }
        self.heard_at = now;
        self.report_at.get_or_insert(now + REPORT_INTERVAL);
        let video = match stream {
            MediaStream::Audio => None,
            MediaStream::Repair => {
                if let Some(recovery) = &mut self.recovery {
                    recovery.on_repair(payload);
                }
                None
            }
            MediaStream::Video => {
                let number = self.video.extend(u64::from(header.sequence));
                self.highest = self.highest.max(number as u32);
                VideoPayload::parse(payload).map(|payload| (number, payload))
            }
            MediaStream::Retransmission => original_sequence(payload).and_then(|(number, payload)| {
                Some((self.video.peek(u64::from(number)), VideoPayload::parse(payload)?))
            }),
        };
        let retransmitted = stream == MediaStream::Retransmission;
        let fresh = match video {
            Some((number, payload)) => {
                self.on_video(now, &VideoArrival { number, header, payload, retransmitted }, out)
            }
            None => stream == MediaStream::Audio,
        };
        if let (MediaStream::Video, Some(recovery)) = (stream, &mut self.recovery) {
            recovery.on_packet(header.sequence, packet);
        }
        if matches!(stream, MediaStream::Video | MediaStream::Repair) {
            self.recover(now, out);
        }
        self.handle_timeout(now, out);
        fresh
    }

    /// An RTCP packet arrives.
    pub fn handle_rtcp(&mut self, now: Instant, packet: &[u8]) {
        for part in RtcpReader::new(packet, now).parts() {
            match part {
                Rtcp::SenderReport { ssrc, at } if self.config.sender.stream(ssrc).is_some() => {
                    self.sender_report = Some((at, now));
                }
                Rtcp::RoundTrip { ssrc, rtt } if ssrc == self.config.ssrc => {
                    self.rtt = rtt;
                    if let Some(nack) = &mut self.nack {
                        nack.set_rtt(rtt);
                        self.next_at = self.find_next();
                    }
                }
                _ => {}
            }
        }
    }

    fn on_video(&mut self, now: Instant, packet: &VideoArrival, out: &mut Output) -> bool {
        if self.wait_until.is_none() {
            self.wait_until = Some(now + KEY_FRAME_WAIT);
        }
        if self.nack.as_mut().is_some_and(|nack| !nack.on_packet(packet.number)) {
            self.request_key_frame(now, out);
        }
        let Some((frame, complete)) = self.frames.insert(now, packet) else { return false };
        if complete {
            out.step(|| MediaStep::Completed { frame });
            let retransmitted = self.frames.was_retransmitted(frame);
            self.playout.on_complete(now, packet.header.timestamp, retransmitted);
            self.find_release();
        }
        true
    }

    /// Handles the packets that repair packets give.
    fn recover(&mut self, now: Instant, out: &mut Output) {
        let ssrc = self.config.sender.of(MediaStream::Video);
        while let Some(recovery) = &mut self.recovery
            && let Some((sequence, packet)) = recovery.recover(ssrc)
        {
            recovery.on_packet(sequence, &packet);
            let Some((header, payload)) = RtpHeader::parse(&packet) else { continue };
            let Some(payload) = VideoPayload::parse(payload) else { continue };
            let number = self.video.peek(u64::from(sequence));
            self.on_video(now, &VideoArrival { number, header, payload, retransmitted: false }, out);
        }
    }

    fn find_release(&mut self) {
        let next = self.frames.decodable();
        self.release_at = next.map(|(_, frame)| self.playout.released_at(frame.timestamp));
    }

    /// Decodes the frames that are due.
    fn release(&mut self, now: Instant, out: &mut Output) {
        // A receiver that waits for a key frame does not wait for its time (`ForceKeyFrameReleaseImmediately`).
        while self.release_at.is_some_and(|at| self.key_needed || at <= now)
            && let Some((number, _)) = self.frames.decodable()
        {
            let (frame, lost) = self.frames.decode(number);
            for (frame, received) in lost {
                out.step(|| MediaStep::Lost { frame, received });
            }
            self.playout.on_release(now, &frame, self.rtt);
            let shown_at = self.playout.shown_at(frame.timestamp).max(now);
            // Frames are shown in order.
            let shown_at = self.decoded.back().map_or(shown_at, |(before, ..)| shown_at.max(*before));
            self.decoded.push_back((shown_at, number, frame.first_at));
            if let Some(nack) = &mut self.nack {
                nack.forget_before(frame.end.map_or(0, |end| end + 1));
            }
            self.key_needed = false;
            self.wait_until = Some(now + FRAME_WAIT);
            self.find_release();
        }
    }

    /// Shows the newest of the frames that are due.
    fn show(&mut self, now: Instant, out: &mut Output) {
        while let Some((at, frame, arrived)) = self.decoded.front().copied().filter(|(at, ..)| *at <= now) {
            self.decoded.pop_front();
            if self.decoded.front().is_some_and(|(next, ..)| *next <= at) {
                out.step(|| MediaStep::Late { frame });
                continue;
            }
            let freeze = self.freezes.on_shown(at);
            out.step(|| MediaStep::Shown { frame, buffered: at - arrived, freeze });
        }
    }

    /// Asks for packets and key frames that are missing.
    fn ask(&mut self, now: Instant, out: &mut Output) {
        if let Some(nack) = self.nack.as_mut().filter(|nack| nack.due().is_some_and(|at| at <= now)) {
            let lost = nack.requests(now);
            let mut writer = RtcpWriter::default();
            writer.nack(self.config.ssrc, self.config.sender.of(MediaStream::Video), &lost);
            out.packets.push(Datagram { bytes: writer.finish(), repeats: false });
        }
        if self.wait_until.is_some_and(|at| at <= now) {
            self.key_needed = true;
            self.wait_until = None;
            if now < self.heard_at + INACTIVE {
                self.request_key_frame(now, out);
            }
        }
    }

    fn request_key_frame(&mut self, now: Instant, out: &mut Output) {
        self.frames.clear_if_full();
        self.find_release();
        self.wait_until = Some(now + KEY_FRAME_WAIT);
        let mut writer = RtcpWriter::default();
        writer.picture_loss(self.config.ssrc, self.config.sender.of(MediaStream::Video));
        out.packets.push(Datagram { bytes: writer.finish(), repeats: false });
    }

    fn send_feedback(&mut self, now: Instant, out: &mut Output) {
        let (ssrc, about) = (self.config.ssrc, self.config.sender.of(MediaStream::Video));
        match &mut self.arrivals {
            Arrivals::TransportWide(arrivals) if arrivals.due().is_some_and(|at| at <= now) => {
                let reports = arrivals.report(now, ssrc, about).into_iter();
                out.packets.extend(reports.map(|bytes| Datagram { bytes, repeats: false }));
            }
            Arrivals::ByStream(arrivals) if arrivals.due().is_some_and(|at| at <= now) => {
                out.packets.push(Datagram { bytes: arrivals.report(now, ssrc), repeats: false });
            }
            Arrivals::TransportWide(_) | Arrivals::ByStream(_) => {}
        }
    }

    fn report(&mut self, now: Instant, out: &mut Output) {
        self.report_at = (now < self.heard_at + INACTIVE).then_some(now + REPORT_INTERVAL);
        let last = self.sender_report.map(|(at, came)| (at, now - came));
        let mut writer = RtcpWriter::default();
        writer.receiver_report(
            self.config.ssrc,
            self.config.sender.of(MediaStream::Video),
            self.highest,
            last,
        );
        writer.source_description(self.config.ssrc);
        writer.receiver_time(self.config.ssrc, now);
        out.packets.push(Datagram { bytes: writer.finish(), repeats: false });
    }
}
