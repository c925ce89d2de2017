//! The sender of a call: audio and video, packets, pacing, retransmission.

use airlane_core::{BitRate, Bytes, Duration, Instant, MediaStep, Stream};

use super::content::{
    AUDIO_HEADERS, Content, Numbers, PART_MAX, VIDEO_HEADERS, VideoPacket, video_time, without_headers,
};
use super::encoder::{Encoder, EncoderModel, Frame};
use super::history::{Repeatable, SentPackets};
use super::pacer::{Due, Pacer};
use super::quality::vmaf;
use super::repair::RepairMaker;
use super::{Datagram, Output, Pause, REPORT_INTERVAL, RTT_DEFAULT};
use crate::wire::{LOWER_HEADERS, MediaStream, Rtcp, RtcpReader, RtcpWriter, Ssrcs};
use crate::{Feedback, Pace, PacketReport, ProbeId, RateController, SentPacket};

/// The shortest interval of reported rates. A choice: ten rows a second in the results.
const RATE_INTERVAL: Duration = Duration::from_millis(100);

/// Audio: packets of one size at a constant interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audio {
    /// The rate, without headers.
    pub rate: BitRate,
    /// The time from one packet to the next.
    pub interval: Duration,
}

impl Audio {
    fn payload(&self) -> u64 {
        self.rate.bytes_in(self.interval).get()
    }

    /// The rate with all headers.
    #[must_use]
    pub fn wire_rate(&self) -> BitRate {
        let bits = u128::from(8 * (self.payload() + AUDIO_HEADERS)) * 1_000_000_000;
        BitRate((bits / u128::from(self.interval.as_nanos())) as u64)
    }
}

/// Video.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Video {
    /// The encoder.
    pub model: EncoderModel,
    /// Pixels of a frame, from which the quality follows.
    pub pixels: u32,
}

/// Parameters of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderConfig {
    /// The sources.
    pub ssrcs: Ssrcs,
    /// The video.
    pub video: Video,
    /// The audio, if there is any.
    pub audio: Option<Audio>,
    /// When it begins.
    pub start: Instant,
    /// Time from which it sends nothing.
    pub stop: Instant,
    /// Whether it sends packets again.
    pub retransmits: bool,
    /// Repair packets per packet of video.
    pub repair: f64,
    /// The burst interval of the pacer.
    pub burst: Duration,
    /// The longest time in which the pacer sends what waits.
    pub queue_limit: Duration,
    /// Frames are left out while a packet of video has waited longer than this.
    pub skip_after: Duration,
}

/// Sends audio and video at the rate of a controller.
pub struct MediaSender {
    config: SenderConfig,
    /// When it makes no media.
    pauses: Vec<Pause>,
    controller: Box<dyn RateController>,
    encoder: Encoder,
    pacer: Pacer,
    sent: SentPackets,
    repeatable: Repeatable,
    repairs: RepairMaker,
    /// The number of the next packet of each stream.
    next: [u64; MediaStream::ALL.len()],
    audio_at: Instant,
    report_at: Instant,
    /// Packets and bytes of video so far.
    totals: [u32; 2],
    rtt: Duration,
    /// The reference time of the receiver, and when it arrived.
    receiver_time: Option<(u32, u32, Instant)>,
    /// The target and the pace of the controller that encoder and pacer follow.
    followed: Option<(BitRate, Pace)>,
    /// The bytes that `on_queue` has last told the controller.
    waiting: Bytes,
    reported: Option<(Instant, BitRate, BitRate)>,
    reports: Vec<PacketReport>,
    /// When there is something to do next.
    next_at: Option<Instant>,
}

impl MediaSender {
    /// A sender with a controller, whose first target is that of the call.
    #[must_use]
    pub fn new(config: SenderConfig, controller: Box<dyn RateController>, draws: Stream) -> Self {
        let rate = encoder_rate(&config, controller.target());
        let mut sender = Self {
            pauses: vec![],
            encoder: Encoder::new(config.video.model, rate, config.start, draws),
            pacer: Pacer::new(controller.pace(), config.burst, config.queue_limit, config.start),
            sent: SentPackets::default(),
            repeatable: Repeatable::default(),
            repairs: RepairMaker::new(config.repair),
            next: [0; MediaStream::ALL.len()],
            audio_at: if config.audio.is_some() { config.start } else { Instant::FAR_FUTURE },
            report_at: config.start + REPORT_INTERVAL,
            totals: [0; 2],
            rtt: RTT_DEFAULT,
            receiver_time: None,
            followed: None,
            waiting: Bytes::ZERO,
            reported: None,
            reports: Vec::new(),
            next_at: None,
            controller,
            config,
        };
        sender.next_at = sender.find_next();
        sender
    }

    /// The same with times in which it makes no media. Probes and padding pause, too; reports do not.
    #[must_use]
    pub fn with_pauses(mut self, pauses: Vec<Pause>) -> Self {
        self.pauses = pauses;
        self.wait_for_media();
        self.next_at = self.find_next();
        self
    }

    /// Media that would come in a pause comes at its end.
    fn wait_for_media(&mut self) {
        let pause = |at: Instant| self.pauses.iter().find(|pause| pause.contains(at));
        if let Some(pause) = pause(self.audio_at) {
            self.audio_at = pause.until;
        }
        if let Some(pause) = pause(self.encoder.next_at()) {
            self.encoder.wait_until(pause.until);
        }
    }

    /// When to call [`Self::handle_timeout`].
    #[must_use]
    pub const fn next_timeout(&self) -> Option<Instant> {
        self.next_at
    }

    fn find_next(&self) -> Option<Instant> {
        let media = self.audio_at.min(self.encoder.next_at());
        let media = (media < self.config.stop).then_some(media);
        let report = (self.report_at < self.config.stop).then_some(self.report_at);
        let others = [self.pacer.next_at(self.sent.in_flight()), self.controller.next_timeout(), report];
        let next = others.into_iter().flatten().chain(media).min()?;
        // Packets that wait when the media has ended still leave; probes and padding end with it.
        (next < self.config.stop || self.pacer.waiting() > Bytes::ZERO).then_some(next.max(self.config.start))
    }

    /// The time of [`Self::next_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Output) {
        if self.controller.next_timeout().is_some_and(|at| at <= now) {
            self.controller.on_timeout(now);
        }
        self.follow_controller(now);
        while self.audio_at <= now && self.audio_at < self.config.stop {
            self.make_audio();
        }
        while self.encoder.next_at() <= now && self.encoder.next_at() < self.config.stop {
            self.make_frame(now, out);
        }
        if self.report_at <= now && self.report_at < self.config.stop {
            self.report(now, out);
        }
        self.send(now, out);
        self.next_at = self.find_next();
    }

    /// An RTCP packet arrives.
    pub fn handle_rtcp(&mut self, now: Instant, packet: &[u8], out: &mut Output) {
        for part in RtcpReader::new(packet, now).parts() {
            self.handle_part(now, part);
        }
        self.follow_controller(now);
        self.send(now, out);
        self.next_at = self.find_next();
    }

    fn handle_part(&mut self, now: Instant, part: Rtcp) {
        let ours = |ssrc| self.config.ssrcs.stream(ssrc).is_some();
        match part {
            Rtcp::TransportWide { ssrc, arrivals } if ours(ssrc) => {
                let mut reports = core::mem::take(&mut self.reports);
                self.sent.read_transport_wide(&arrivals, &mut reports);
                self.feed(now, reports, Duration::ZERO);
            }
            Rtcp::CongestionFeedback { streams, held } => {
                let mut reports = core::mem::take(&mut self.reports);
                self.sent.read_by_stream(self.config.ssrcs, &streams, &mut reports);
                self.feed(now, reports, held);
            }
            Rtcp::Nack { ssrc, lost } if ssrc == self.config.ssrcs.of(MediaStream::Video) => {
                for number in lost.into_iter().filter(|_| self.config.retransmits) {
                    if let Some(packet) = self.repeatable.repeat(now, number, self.rtt) {
                        self.pacer.push(now, Content::Retransmission(packet));
                    }
                }
            }
            Rtcp::PictureLoss { ssrc } if ssrc == self.config.ssrcs.of(MediaStream::Video) => {
                self.encoder.request_key_frame();
            }
            Rtcp::RoundTrip { ssrc, rtt } if ours(ssrc) => {
                self.rtt = rtt;
                self.controller.on_round_trip(now, rtt);
            }
            Rtcp::ReceiverTime { ssrc, at } => self.receiver_time = Some((ssrc, at, now)),
            _ => {}
        }
    }

    /// Passes reports to the controller, if they say anything new, and takes their memory back.
    fn feed(&mut self, now: Instant, mut reports: Vec<PacketReport>, held: Duration) {
        if !reports.is_empty() {
            let in_flight = self.sent.in_flight();
            self.controller.on_feedback(now, &Feedback { packets: &reports, in_flight, held });
            reports.clear();
        }
        self.reports = reports;
    }

    /// Takes rates and probes of the controller over.
    fn follow_controller(&mut self, now: Instant) {
        let ended = now >= self.config.stop || self.pauses.iter().any(|pause| pause.contains(now));
        let (target, mut pace) = (self.controller.target(), self.controller.pace());
        if ended {
            pace.padding = BitRate(0);
            self.pacer.end_probe();
        }
        let before = self.followed.replace((target, pace));
        if before.is_none_or(|(followed, _)| followed != target) {
            self.encoder.set_rate(encoder_rate(&self.config, target));
        }
        if before.is_none_or(|(_, followed)| followed != pace) {
            self.pacer.set_pace(now, pace);
        }
        if !ended
            && !self.pacer.is_probing()
            && self.repeatable.newest().is_some()
            && let Some(probe) = self.controller.take_probe(now)
        {
            self.pacer.start_probe(now, probe);
        }
    }

    fn make_audio(&mut self) {
        let Some(audio) = self.config.audio else { return };
        let timestamp = (u128::from(self.audio_at.as_nanos()) * 48 / 1_000_000) as u32; // a clock of 48 kHz (RFC 7587)
        let len = u16::try_from(audio.payload()).expect("checked: it fits into a packet");
        self.pacer.push(self.audio_at, Content::Audio { timestamp, len });
        self.audio_at += audio.interval;
        self.wait_for_media();
    }

    fn make_frame(&mut self, now: Instant, out: &mut Output) {
        let skip = self.pacer.oldest_wait(now) > self.config.skip_after;
        let frame = self.encoder.encode(now, skip);
        self.wait_for_media();
        let Some(frame) = frame else { return out.step(|| MediaStep::Skipped) };
        if frame.key {
            self.pacer.flush_video();
        }
        let packets = frame.size.get().div_ceil(PART_MAX as u64);
        out.step(|| {
            let rate = self.encoder.rate();
            let Video { model, pixels } = self.config.video;
            MediaStep::Captured {
                frame: frame.number,
                size: frame.size,
                packets: packets as u32,
                key: frame.key,
                target: self.controller.target(),
                rate,
                quality: vmaf(rate.bits_per_second() as f64 / (f64::from(pixels) * model.frame_rate)) as f32,
            }
        });
        self.controller.on_frame(now, Bytes(frame.size.get() + packets * VIDEO_HEADERS));
        self.packetize(now, frame, packets);
    }

    /// Parts of nearly equal size.
    fn packetize(&mut self, now: Instant, frame: Frame, packets: u64) {
        let timestamp = video_time(now);
        let size = frame.size.get();
        for i in 0..packets {
            let len = size * (i + 1) / packets - size * i / packets;
            self.pacer.push(
                now,
                Content::Video(VideoPacket {
                    sequence: 0, // it gets its number when it leaves, so that what is discarded leaves no gap
                    timestamp,
                    frame: frame.number,
                    begins: i == 0,
                    ends: i + 1 == packets,
                    key: frame.key,
                    len: len as u16,
                }),
            );
        }
    }

    fn take_number(&mut self, stream: MediaStream) -> u64 {
        let next = &mut self.next[stream as usize];
        *next += 1;
        *next - 1
    }

    /// Sends what may leave now.
    fn send(&mut self, now: Instant, out: &mut Output) {
        while let Some(due) = self.pacer.take(now, self.sent.in_flight()) {
            match due {
                Due::Packet(content, probe) => self.transmit(now, content, probe, out),
                Due::Padding(probe) => {
                    self.transmit(now, Content::Padding(self.repeatable.newest()), probe, out);
                }
            }
        }
        if self.waiting != self.pacer.waiting() {
            self.waiting = self.pacer.waiting();
            self.controller.on_queue(now, self.waiting);
        }
        self.report_rates(now, out);
    }

    fn transmit(&mut self, now: Instant, mut content: Content, probe: Option<ProbeId>, out: &mut Output) {
        let (stream, size) = (content.stream(), content.wire_size());
        let number = self.take_number(stream);
        if let Content::Video(packet) = &mut content {
            packet.sequence = number;
        }
        let sequence = self.sent.next();
        let bytes = self.bytes(now, content, number, sequence);
        let made = match &content {
            Content::Video(packet) => self.repairs.on_sent(&bytes, packet.timestamp, packet.ends),
            _ => vec![],
        };
        debug_assert_eq!(bytes.len() as u64 + LOWER_HEADERS, size.get());
        let packet = SentPacket { sequence, at: now, size, kind: content.kind(), probe };
        self.sent.push(stream, packet);
        self.controller.on_sent(&packet);
        self.pacer.on_sent(now, size, stream == MediaStream::Audio, probe);
        out.packets.push(Datagram {
            bytes,
            repeats: matches!(content, Content::Retransmission(_) | Content::Padding(_)),
        });
        if let Content::Video(packet) = content {
            self.totals[0] = self.totals[0].wrapping_add(1);
            self.totals[1] = self.totals[1].wrapping_add(u32::from(packet.len));
            self.repeatable.push(now, packet);
            if packet.ends {
                out.step(|| MediaStep::Sent { frame: packet.frame });
            }
        }
        for (id, len) in made {
            self.pacer.push(now, Content::Repair { id, len });
        }
    }

    /// The packet as bytes.
    fn bytes(&mut self, now: Instant, content: Content, number: u64, sequence: u64) -> Box<[u8]> {
        let repair = match content {
            Content::Repair { id, .. } => {
                Some(self.repairs.take(id).expect("it waits as long as its place in the pacer"))
            }
            _ => None,
        };
        let numbers = Numbers { ssrcs: self.config.ssrcs, own: number, transport: sequence };
        content.emit(now, numbers, repair.as_ref())
    }

    fn report(&mut self, now: Instant, out: &mut Output) {
        self.report_at = now + REPORT_INTERVAL;
        let ssrc = self.config.ssrcs.of(MediaStream::Video);
        let mut writer = RtcpWriter::default();
        writer.sender_report(ssrc, now, self.totals[0], self.totals[1]);
        writer.source_description(ssrc);
        if let Some((receiver, at, came)) = self.receiver_time {
            writer.delay_since_receiver_time(ssrc, receiver, (at, now - came));
        }
        out.packets.push(Datagram { bytes: writer.finish(), repeats: false });
    }

    /// Reports the rates when they have changed, and not more often than its interval.
    fn report_rates(&mut self, now: Instant, out: &mut Output) {
        let (target, encoder) = (self.controller.target(), self.encoder.rate());
        let report = self
            .reported
            .is_none_or(|(at, last, rate)| (last, rate) != (target, encoder) && now >= at + RATE_INTERVAL);
        if report && now >= self.config.start {
            self.reported = Some((now, target, encoder));
            out.step(|| MediaStep::Rate { target, encoder, waiting: self.pacer.waiting() });
        }
    }
}

/// The rate of the encoder, for a target of the whole call.
fn encoder_rate(config: &SenderConfig, target: BitRate) -> BitRate {
    let audio = config.audio.map_or(0, |audio| audio.wire_rate().0);
    let video = target.0.saturating_sub(audio) as f64 / (1.0 + config.repair);
    without_headers(BitRate(video as u64), config.video.model.frame_rate)
}
