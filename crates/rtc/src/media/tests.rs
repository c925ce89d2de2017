//! A sender and a receiver with a path between them: a delay, a rate with a queue, and losses.

use std::collections::BTreeMap;

use airlane_core::{BitRate, Bytes, Duration, Ecn, Instant, MediaStep, Seeds};

use super::*;
use crate::wire::{LOWER_HEADERS, Ssrcs, is_rtcp};
use crate::{
    Bounds, Constant, Feedback, Pace, PacketKind, Probe, ProbeId, RateController, Scream, ScreamSettings,
    SentPacket,
};

/// A path in one direction.
struct Line {
    rate: BitRate,
    delay: Duration,
    free_at: Instant,
    /// By arrival and a count.
    packets: BTreeMap<(Instant, u64), Box<[u8]>>,
    count: u64,
}

impl Line {
    fn new(rate: u64, delay_ms: u64) -> Self {
        let delay = Duration::from_millis(delay_ms);
        Self { rate: BitRate(rate), delay, free_at: Instant::ZERO, packets: BTreeMap::new(), count: 0 }
    }

    fn push(&mut self, now: Instant, bytes: Box<[u8]>) {
        let size = Bytes(bytes.len() as u64 + LOWER_HEADERS);
        self.free_at = self.free_at.max(now) + self.rate.transmission_time(size);
        self.packets.insert((self.free_at + self.delay, self.count), bytes);
        self.count += 1;
    }

    fn next(&self) -> Option<Instant> {
        self.packets.first_key_value().map(|((at, _), _)| *at)
    }
}

/// What happened, with its times.
#[derive(Default)]
struct CallLog {
    steps: Vec<(Instant, MediaStep)>,
    /// Packets of RTP that were sent, and how many of them were lost.
    sent: u64,
    lost: u64,
    rtcp: u64,
}

impl CallLog {
    fn count(&self, of: impl Fn(&MediaStep) -> bool) -> usize {
        self.steps.iter().filter(|(_, step)| of(step)).count()
    }

    /// Captured, shown, late and lost frames; the rest is on its way.
    fn fates(&self) -> [usize; 4] {
        [
            self.count(|step| matches!(step, MediaStep::Captured { .. })),
            self.count(|step| matches!(step, MediaStep::Shown { .. })),
            self.count(|step| matches!(step, MediaStep::Late { .. })),
            self.count(|step| matches!(step, MediaStep::Lost { .. })),
        ]
    }

    /// From capture to display in ms, by frame.
    fn delays(&self) -> Vec<f64> {
        let mut captured = vec![];
        let mut delays = vec![];
        for (at, step) in &self.steps {
            match step {
                MediaStep::Captured { .. } => captured.push(*at),
                MediaStep::Shown { frame, .. } => {
                    delays.push((*at - captured[*frame as usize]).as_millis_f64());
                }
                _ => {}
            }
        }
        delays
    }
}

const SSRCS: Ssrcs = Ssrcs { first: 16 };

/// The packets that a sender adds to its video.
#[derive(Clone, Copy)]
struct Extras {
    audio: bool,
    /// The share of repair packets, in place of retransmissions if there are any.
    repair: f64,
}

fn sender(controller: Box<dyn RateController>, extras: Extras, stop: Instant) -> MediaSender {
    let model = EncoderModel {
        frame_rate: 30.0,
        rates: [BitRate(100_000), BitRate(5_000_000)],
        reaction: Duration::from_millis(200),
        transient_frames: 8,
        transient_size: 3.24,
        transient_change: 0.1,
        interval_scale: 0.15,
        size_scale: 0.15,
    };
    let config = SenderConfig {
        ssrcs: SSRCS,
        video: Video { model, pixels: 640 * 360 },
        audio: extras.audio.then_some(Audio { rate: BitRate(32_000), interval: Duration::from_millis(20) }),
        start: Instant::ZERO,
        stop,
        retransmits: extras.repair == 0.0,
        repair: extras.repair,
        burst: Duration::from_millis(40),
        queue_limit: Duration::from_secs(2),
        skip_after: Duration::from_millis(500),
    };
    MediaSender::new(config, controller, Seeds::new(7).stream("encoder"))
}

/// Runs a call of 20 s over a path of 20 ms each way, with this rate; `loses` says which packets of RTP are lost.
fn call(
    controller: Box<dyn RateController>,
    feedback: FeedbackFormat,
    rate: u64,
    loses: impl FnMut(Instant, u64) -> bool,
) -> CallLog {
    call_with(Extras { audio: true, repair: 0.0 }, controller, feedback, rate, loses)
}

fn call_with(
    extras: Extras,
    controller: Box<dyn RateController>,
    feedback: FeedbackFormat,
    rate: u64,
    mut loses: impl FnMut(Instant, u64) -> bool,
) -> CallLog {
    let (stop, end) = (Instant::from_millis(20_000), Instant::from_millis(24_000));
    let mut sender = sender(controller, extras, stop);
    let mut receiver = MediaReceiver::new(ReceiverConfig {
        ssrc: 1,
        sender: SSRCS,
        feedback,
        nack: extras.repair == 0.0,
        repair: extras.repair > 0.0,
    });
    let (mut there, mut back) = (Line::new(rate, 20), Line::new(10_000_000, 20));
    let (mut happened, mut out) = (CallLog::default(), Output { observed: true, ..Output::default() });
    loop {
        let next = [sender.next_timeout(), receiver.next_timeout(), there.next(), back.next()];
        let Some(now) = next.into_iter().flatten().min().filter(|at| *at < end) else { return happened };
        if there.next() == Some(now) {
            let (_, packet) = there.packets.pop_first().unwrap();
            match is_rtcp(&packet) {
                true => receiver.handle_rtcp(now, &packet),
                false => _ = receiver.handle_rtp(now, Ecn::Capable1, &packet, &mut out),
            }
        } else if receiver.next_timeout() == Some(now) {
            receiver.handle_timeout(now, &mut out);
        }
        for datagram in out.packets.drain(..) {
            happened.rtcp += 1;
            back.push(now, datagram.bytes);
        }
        if back.next() == Some(now) {
            let (_, packet) = back.packets.pop_first().unwrap();
            sender.handle_rtcp(now, &packet, &mut out);
        }
        if sender.next_timeout().is_some_and(|at| at <= now) {
            sender.handle_timeout(now, &mut out);
        }
        for datagram in out.packets.drain(..) {
            let rtp = !is_rtcp(&datagram.bytes);
            happened.sent += u64::from(rtp);
            if rtp && loses(now, happened.sent) {
                happened.lost += 1;
            } else {
                there.push(now, datagram.bytes);
            }
        }
        happened.steps.extend(out.steps.drain(..).map(|step| (now, step)));
    }
}

const BY_STREAM: FeedbackFormat = FeedbackFormat::ByStream(crate::ReportTiming::ScreamDraft);
const TRANSPORT_WIDE: FeedbackFormat = FeedbackFormat::TransportWide(Duration::from_millis(100));

fn constant(rate: u64) -> Box<Constant> {
    Box::new(Constant::new(BitRate(rate)))
}

/// 20 ms of path; a mean frame of 3.9 kB takes 3 ms at 10 Mbit/s, a key frame of 12.7 kB 10 ms; the buffer adds the least: 1 ms
/// of noise, 10 ms of the operating system, 10 ms to render, and what the largest frame takes more than a mean one.
#[test]
fn without_loss_every_frame_is_shown_in_order() {
    let happened = call(constant(1_000_000), TRANSPORT_WIDE, 10_000_000, |_, _| false);
    let [captured, shown, late, lost] = happened.fates();
    assert!((585..615).contains(&captured), "{captured}");
    assert_eq!((shown, late, lost), (captured, 0, 0));
    assert_eq!(happened.count(|step| matches!(step, MediaStep::Shown { freeze: Some(_), .. })), 0);
    let delays = happened.delays();
    let mean = delays[100..].iter().sum::<f64>() / (delays.len() - 100) as f64;
    assert!((44.0..65.0).contains(&mean), "{mean} ms");
    let order = happened.steps.iter().filter_map(|(_, step)| match step {
        MediaStep::Shown { frame, .. } => Some(*frame),
        _ => None,
    });
    assert!(order.eq(0..captured as u64));
    // Feedback each 100 ms, and a report each second.
    assert!((205..235).contains(&happened.rtcp), "{}", happened.rtcp);
}

/// The target counts all headers: audio of 138 B each 20 ms, and frames with 62 B for each of their packets.
#[test]
fn the_target_is_the_rate_on_the_wire() {
    let mut bits = 0.0;
    let happened = call(constant(1_000_000), TRANSPORT_WIDE, 10_000_000, |_, _| false);
    for (_, step) in &happened.steps {
        if let MediaStep::Captured { size, packets, .. } = step {
            bits += 8.0 * (size.get() + 62 * u64::from(*packets)) as f64;
        }
    }
    let rate = bits / 20.0 + 138.0 * 8.0 * 50.0;
    assert!((rate / 1e6 - 1.0).abs() < 0.04, "{rate}"); // 600 frames with a deviation of 21 %: 0.9 %, and key frames
}

#[test]
fn losses_are_repaired_in_a_round_trip() {
    let mut draws = Seeds::new(3).stream("loss");
    let happened = call(constant(1_000_000), TRANSPORT_WIDE, 10_000_000, |_, _| draws.chance(0.03));
    let [captured, shown, late, lost] = happened.fates();
    assert!(happened.lost > 50, "{}", happened.lost);
    assert_eq!((lost, captured), (0, shown + late), "{late} late");
    let mut delays = happened.delays();
    delays.sort_by(f64::total_cmp);
    assert!(delays[delays.len() / 2] < 200.0, "{} ms", delays[delays.len() / 2]);
}

/// With a repair packet for each packet every loss of one of the two is repaired: 0.1 % of the packets are lost with theirs, of
/// about 2000 in all, instead of 3 %.
#[test]
fn repair_packets_replace_what_is_lost() {
    let lost = |repair| {
        let mut draws = Seeds::new(3).stream("loss");
        let extras = Extras { audio: true, repair };
        let happened =
            call_with(extras, constant(1_000_000), TRANSPORT_WIDE, 10_000_000, |_, _| draws.chance(0.03));
        let [captured, shown, late, lost] = happened.fates();
        assert!(captured >= shown + late + lost);
        (captured - shown - late, happened.sent)
    };
    let [(without, sent), (half, more), (whole, most)] = [0.001, 0.5, 1.0].map(lost);
    assert!(without > 100, "{without}: a lost packet costs the frames up to the next key frame");
    assert!(half < without / 2 && whole < without / 4, "{without} {half} {whole}");
    // The rate is the same, and so is about the number of packets.
    assert!(more.abs_diff(sent) < sent / 4 && most.abs_diff(sent) < sent / 4, "{sent} {more} {most}");
}

/// For 2 s everything is lost; what is asked for comes again, or a key frame ends the wait.
#[test]
fn after_an_outage_the_picture_returns() {
    let outage = |now: Instant, _| (5_000..7_000).contains(&(now.as_nanos() / 1_000_000));
    let happened = call(constant(1_000_000), TRANSPORT_WIDE, 10_000_000, outage);
    let [captured, shown, late, lost] = happened.fates();
    assert!(lost > 20 && captured == shown + late + lost, "{captured} {shown} {late} {lost}");
    let freezes: Vec<f64> = happened
        .steps
        .iter()
        .filter_map(|(_, step)| match step {
            MediaStep::Shown { freeze: Some(freeze), .. } => Some(freeze.as_secs_f64()),
            _ => None,
        })
        .collect();
    // After 3 s without a frame a key frame is asked for, which takes a round trip more.
    assert!(freezes.iter().any(|freeze| (2.0..3.4).contains(freeze)), "{freezes:?}");
    assert!(happened.count(|step| matches!(step, MediaStep::Captured { key: true, .. })) >= 2);
}

/// Without audio no packet passes a full window, and without packets no report says that any were lost. The pacer lets one
/// packet through each 500 ms: at most two of the last second of the outage, and one in the first half second behind it. So
/// frames leave when the receiver asks for a key frame, 3 s after the last one, as in [`after_an_outage_the_picture_returns`].
#[test]
fn after_an_outage_a_window_opens_again() {
    let bounds = Bounds { min: BitRate(150_000), start: BitRate(300_000), max: BitRate(1_500_000) };
    for settings in [ScreamSettings::draft(), ScreamSettings::ericsson(), ScreamSettings::libwebrtc()] {
        let outage = |now: Instant, _| (5_000..7_000).contains(&(now.as_nanos() / 1_000_000));
        let extras = Extras { audio: false, repair: 0.0 };
        let controller = Box::new(Scream::new(settings, bounds));
        let happened = call_with(extras, controller, BY_STREAM, 10_000_000, outage);
        let sent = |from_ms: u64, to_ms: u64| {
            let within =
                |at: &Instant| (Instant::from_millis(from_ms)..Instant::from_millis(to_ms)).contains(at);
            let of = |step: &MediaStep| matches!(step, MediaStep::Sent { .. });
            happened.steps.iter().filter(|(at, step)| within(at) && of(step)).count()
        };
        assert!(sent(6_000, 7_000) <= 2, "{settings:?}: the window is full");
        let shown = happened
            .steps
            .iter()
            .filter(|(_, step)| matches!(step, MediaStep::Shown { .. }))
            .find(|(at, _)| *at > Instant::from_millis(7_000));
        let (at, _) = shown.expect("pictures return");
        assert!(*at < Instant::from_millis(8_400), "{settings:?}: {at:?}");
        // 30 frames with a deviation of 21 % in each interval: 1.2 frames.
        assert!(sent(8_500, 9_500) >= 25, "{settings:?}: {}", sent(8_500, 9_500));
    }
}

/// At half of its rate, a path without a bound lets the queue grow by a second each two; nothing is lost.
#[test]
fn a_path_that_is_too_slow_delays_more_and_more() {
    let happened = call(constant(1_000_000), TRANSPORT_WIDE, 500_000, |_, _| false);
    let [captured, shown, late, lost] = happened.fates();
    assert_eq!(lost, 0);
    assert!(shown + late < captured * 3 / 4, "the rest waits: {shown} and {late} of {captured}");
    assert!(happened.delays().last().unwrap() > &5_000.0);
}

/// The reports that a [`Listener`] has received.
#[derive(Default)]
struct ListenerLog {
    sent: Vec<SentPacket>,
    /// Reports about packets that arrived, that were lost, and that arrived as ECT(1).
    arrived: u64,
    lost: u64,
    marked: u64,
    /// The frames that were announced, and their bytes.
    frames: (u64, Bytes),
}

/// Records what it learns, and sends it when the call has ended.
struct Listener {
    probe: Option<Probe>,
    window: Option<Bytes>,
    /// The newest packet that a report has named.
    named: Option<u64>,
    log: ListenerLog,
    report: std::sync::mpsc::Sender<ListenerLog>,
}

/// Runs a call with a listener, and returns what happened and what the listener has learned.
fn listen(
    probe: Option<Probe>,
    window: Option<Bytes>,
    format: FeedbackFormat,
    loses: impl FnMut(Instant, u64) -> bool,
) -> (CallLog, ListenerLog) {
    let (report, log) = std::sync::mpsc::channel();
    let listener = Listener { probe, window, named: None, log: ListenerLog::default(), report };
    (call(Box::new(listener), format, 10_000_000, loses), log.recv().unwrap())
}

impl RateController for Listener {
    fn on_sent(&mut self, packet: &SentPacket) {
        assert_eq!(packet.sequence, self.log.sent.len() as u64);
        self.log.sent.push(*packet);
    }
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        assert!(feedback.packets.windows(2).all(|pair| pair[0].sent.sequence < pair[1].sent.sequence));
        for report in feedback.packets {
            assert_eq!(report.sent, self.log.sent[report.sent.sequence as usize]);
            let Some(arrived) = report.arrived else {
                self.log.lost += 1;
                continue;
            };
            self.log.arrived += 1;
            // 20 ms of path, and clocks of 250 µs or 1/1024 s and 2^-16 s.
            let took = arrived.as_nanos() as i64 - report.sent.at.as_nanos() as i64;
            assert!((18_900_000..60_000_000).contains(&took), "{took} ns at {now:?}");
            self.log.marked += u64::from(report.ecn == Ecn::Capable1);
        }
        // In flight is what was sent behind the newest packet that a report has named.
        let named = feedback.packets.last().map(|report| report.sent.sequence);
        self.named = self.named.max(named);
        let behind = self.named.map_or(0, |newest| newest as usize + 1);
        let sum: u64 = self.log.sent[behind..].iter().map(|packet| packet.size.get()).sum();
        assert_eq!(feedback.in_flight, Bytes(sum), "behind {:?} at {now:?}", self.named);
    }
    fn on_frame(&mut self, _: Instant, wire_size: Bytes) {
        self.log.frames.0 += 1;
        self.log.frames.1 += wire_size;
    }
    fn target(&self) -> BitRate {
        BitRate(500_000)
    }
    fn pace(&self) -> Pace {
        Pace { rate: Some(BitRate(600_000)), window: self.window, padding: BitRate(0) }
    }
    fn take_probe(&mut self, now: Instant) -> Option<Probe> {
        if now < Instant::from_millis(1_000) { None } else { self.probe.take() }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.report.send(core::mem::take(&mut self.log));
    }
}

/// Both formats report each packet, and those that are lost; only RFC 8888 tells the ECN field.
#[test]
fn feedback_reaches_the_controller() {
    for format in [TRANSPORT_WIDE, BY_STREAM] {
        let id = ProbeId(4);
        let probe = Some(Probe { id, rate: BitRate(3_000_000), packets: 5, bytes: Bytes(5_000) });
        let mut draws = Seeds::new(5).stream("loss");
        let (happened, log) = listen(probe, None, format, |_, _| draws.chance(0.01));
        let ListenerLog { sent, arrived, lost, marked, .. } = log;
        assert_eq!(sent.len() as u64, happened.sent);
        // The last packets may be lost, and no packet behind them says so.
        assert!(
            sent.len() as u64 - arrived - lost < 5 && lost.abs_diff(happened.lost) < 5,
            "{format:?} {arrived} {lost}"
        );
        assert_eq!(marked, if format == BY_STREAM { arrived } else { 0 });
        let probes: Vec<_> = sent.iter().filter(|packet| packet.probe == Some(id)).collect();
        let bytes: u64 = probes.iter().map(|packet| packet.size.get()).sum();
        assert!(probes.len() >= 5 && (5_000..7_000).contains(&bytes), "{} of {bytes} B", probes.len());
        assert!(probes.iter().any(|packet| packet.kind == PacketKind::Padding));
        let first = probes[0];
        for (i, packet) in probes.iter().enumerate().skip(1) {
            let before: u64 = probes[..i].iter().map(|packet| packet.size.get()).sum();
            let due = first.at + BitRate(3_000_000).transmission_time(Bytes(before));
            assert!(packet.at.saturating_since(due) < Duration::from_micros(10));
        }
    }
}

/// A window of 3 kB and a round trip of 40 ms give 600 kbit/s at most, and audio is not held back.
#[test]
fn a_window_bounds_the_packets_in_flight() {
    let (happened, ListenerLog { sent, .. }) = listen(None, Some(Bytes(3_000)), BY_STREAM, |_, _| false);
    let audio = sent.iter().filter(|packet| packet.kind == PacketKind::Audio).count();
    assert_eq!(audio, 1_000);
    let video: u64 =
        sent.iter().filter(|packet| packet.kind == PacketKind::Video).map(|packet| packet.size.get()).sum();
    assert!(video * 8 / 20 < 600_000, "{video}");
    assert!(happened.count(|step| matches!(step, MediaStep::Sent { .. })) > 300);
}

/// A controller compares frames with its target, which counts all headers: the sizes that it learns are those of the packets.
#[test]
fn frames_are_announced_with_the_headers_of_their_packets() {
    let (happened, ListenerLog { sent, frames, .. }) = listen(None, None, BY_STREAM, |_, _| false);
    let captured = happened.count(|step| matches!(step, MediaStep::Captured { .. }));
    let video = sent.iter().filter(|packet| packet.kind == PacketKind::Video).map(|packet| packet.size.get());
    assert_eq!(frames, (captured as u64, Bytes(video.sum())));
}
