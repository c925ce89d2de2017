//! Calls: a row for each frame of video, and the rates of the senders.

use airlane_core::{BitRate, Bytes, Direction, Duration, Event, FlowId, Instant, MediaStep, Topic, TopicSet};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::{Column, Table, direction_name};

/// The outcome of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is on its way.
    Open,
    Shown,
    /// It was decoded, and a newer frame was shown in its place.
    Late,
    /// It was not decoded, and a newer frame was.
    Lost,
}

impl Fate {
    const NAMES: [&str; 4] = ["open", "shown", "late", "lost"];
}

/// One frame.
#[derive(Clone, Copy, Debug)]
struct FrameRow {
    medium: u32,
    frame: u64,
    captured_at: Instant,
    size: Bytes,
    packets: u32,
    key: bool,
    target: BitRate,
    rate: BitRate,
    quality: f32,
    /// Frames that the encoder left out before it.
    skipped: u32,
    sent_at: Option<Instant>,
    completed_at: Option<Instant>,
    shown_at: Option<Instant>,
    buffered: Option<Duration>,
    freeze: Option<Duration>,
    /// Packets of it that have arrived.
    received: u32,
    fate: Fate,
}

/// The rates of a sender at a time.
#[derive(Clone, Copy, Debug)]
struct RateRow {
    at: Instant,
    medium: u32,
    target: BitRate,
    encoder: BitRate,
    waiting: Bytes,
}

/// The media of a flow in one direction.
#[derive(Debug)]
struct Medium {
    flow: FlowId,
    name: String,
    /// The rows of its frames, by their numbers.
    rows: Vec<u32>,
    /// Frames left out since the latest one.
    skipped: u32,
}

/// All frames in the order in which they were captured, and all rates.
#[derive(Debug, Default)]
pub(crate) struct MediaLog {
    media: Vec<Medium>,
    /// For each flow and direction the place in `media`.
    places: Vec<[Option<u32>; 2]>,
    frames: Vec<FrameRow>,
    rates: Vec<RateRow>,
    /// The names of flows, and the directions of their data.
    flows: Vec<(String, Direction)>,
}

impl MediaLog {
    fn new(parameters: &RecorderParameters) -> Self {
        let mut log = Self::default();
        log.resize(parameters);
        log
    }

    fn resize(&mut self, parameters: &RecorderParameters) {
        let added = &parameters.flows[self.flows.len()..];
        self.flows.extend(added.iter().map(|flow| (flow.name.clone(), flow.direction)));
        self.places.resize(self.flows.len(), [None; 2]);
    }

    fn medium(&mut self, flow: FlowId, direction: Direction) -> Option<u32> {
        let place = self.places.get_mut(flow.index())?.get_mut(direction as usize)?;
        if place.is_none() {
            let (name, own) = &self.flows[flow.index()];
            let name = match *own == direction {
                true => name.clone(),
                false => format!("{name} ({})", direction_name(direction)), // as in `flows`
            };
            *place = Some(self.media.len() as u32);
            self.media.push(Medium { flow, name, rows: Vec::new(), skipped: 0 });
        }
        *place
    }

    fn add(&mut self, now: Instant, flow: FlowId, direction: Direction, step: MediaStep) {
        let Some(medium) = self.medium(flow, direction) else { return };
        match step {
            MediaStep::Captured { frame, size, packets, key, target, rate, quality } => {
                let one = &mut self.media[medium as usize];
                assert_eq!(one.rows.len() as u64, frame, "frames are counted from 0");
                one.rows.push(self.frames.len() as u32);
                self.frames.push(FrameRow {
                    medium,
                    frame,
                    captured_at: now,
                    size,
                    packets,
                    key,
                    target,
                    rate,
                    quality,
                    skipped: core::mem::take(&mut one.skipped),
                    sent_at: None,
                    completed_at: None,
                    shown_at: None,
                    buffered: None,
                    freeze: None,
                    received: 0,
                    fate: Fate::Open,
                });
            }
            MediaStep::Skipped => self.media[medium as usize].skipped += 1,
            MediaStep::Rate { target, encoder, waiting } => {
                self.rates.push(RateRow { at: now, medium, target, encoder, waiting });
            }
            MediaStep::Sent { frame } => self.with(medium, frame, |row| row.sent_at = Some(now)),
            MediaStep::Completed { frame } => self.with(medium, frame, |row| {
                row.completed_at = Some(now);
                row.received = row.packets;
            }),
            MediaStep::Shown { frame, buffered, freeze } => self.with(medium, frame, |row| {
                (row.shown_at, row.buffered, row.freeze) = (Some(now), Some(buffered), freeze);
                row.end(Fate::Shown);
            }),
            MediaStep::Late { frame } => self.with(medium, frame, |row| row.end(Fate::Late)),
            MediaStep::Lost { frame, received } => self.with(medium, frame, |row| {
                row.received = received;
                row.end(Fate::Lost);
            }),
        }
    }

    fn with(&mut self, medium: u32, frame: u64, act: impl FnOnce(&mut FrameRow)) {
        let rows = &self.media[medium as usize].rows;
        let row = usize::try_from(frame).ok().and_then(|frame| rows.get(frame));
        act(&mut self.frames[*row.expect("a receiver knows only frames that were captured") as usize]);
    }

    /// The table `frames`. `measured` returns whether the summary of a flow includes an instant.
    fn frames_table(&self, measured: impl Fn(FlowId, Instant) -> bool) -> Table {
        let mut table = Table::default();
        let all = || self.frames.iter();
        let since = |at: fn(&FrameRow) -> Option<Instant>| {
            all().map(move |row| at(row).map_or(f64::NAN, |at| (at - row.captured_at).as_millis_f64()))
        };
        let span = |of: fn(&FrameRow) -> Option<Duration>| {
            all().map(move |row| of(row).map_or(f64::NAN, |span| span.as_millis_f64()))
        };
        let flag = |of: &dyn Fn(&FrameRow) -> bool| Column::Bool(all().map(of).collect());
        table.push("flow", self.names(all().map(|row| row.medium))).means("flow");
        table.push_count("frame", all().map(|row| row.frame)).means("number of the frame, from 0");
        table
            .push_f64("t_s", all().map(|row| row.captured_at.as_secs_f64()))
            .means("the encoder made the frame");
        table.push_count("size_bytes", all().map(|row| row.size.get())).means("size without headers");
        table.push_count("packets", all().map(|row| u64::from(row.packets))).means("packets");
        table.push("key", flag(&|row| row.key)).means("whether it is a key frame");
        table
            .push_count("skipped", all().map(|row| u64::from(row.skipped)))
            .means("frames that the encoder left out before it");
        table.push_f64("sent_ms", since(|row| row.sent_at)).means("time until its last packet was sent");
        table
            .push_f64("complete_ms", since(|row| row.completed_at))
            .means("time until all its packets had arrived");
        table.push_f64("delay_ms", since(|row| row.shown_at)).means("time until it was shown");
        table
            .push_f64("buffer_ms", span(|row| row.buffered))
            .means("of this in the jitter buffer, from its first packet");
        table
            .push_f64("freeze_ms", span(|row| row.freeze))
            .means("time since the frame shown before it, if this was a freeze");
        table
            .push_count("received", all().map(|row| u64::from(row.received)))
            .means("packets that have arrived, of a frame that is complete or lost");
        table
            .push_f64("target_kbps", all().map(|row| kbps(row.target)))
            .means("target of the rate controller, with headers");
        table
            .push_f64("encoder_kbps", all().map(|row| kbps(row.rate)))
            .means("rate of the encoder, without headers");
        table
            .push_f64("vmaf", all().map(|row| f64::from(row.quality)))
            .means("quality at the rate of the encoder (VMAF)");
        table
            .push("fate", Column::labels(&Fate::NAMES, all().map(|row| row.fate as u32)))
            .means("shown, late, lost or open");
        let is_measured = |row: &FrameRow| measured(self.media[row.medium as usize].flow, row.captured_at);
        table.push("measured", flag(&is_measured)).means("whether the summary counts it");
        table
    }

    /// The table `media_rate`.
    fn rates_table(&self) -> Table {
        let mut table = Table::default();
        let all = || self.rates.iter();
        table.push_f64("t_s", all().map(|row| row.at.as_secs_f64())).means("time");
        table.push("flow", self.names(all().map(|row| row.medium))).means("flow");
        table
            .push_f64("target_kbps", all().map(|row| kbps(row.target)))
            .means("target of the rate controller, with headers");
        table
            .push_f64("encoder_kbps", all().map(|row| kbps(row.encoder)))
            .means("rate of the video encoder, without headers");
        table
            .push_count("pacer_bytes", all().map(|row| row.waiting.get()))
            .means("bytes that wait in the pacer");
        table
    }

    fn names(&self, of: impl Iterator<Item = u32>) -> Column {
        let names: Vec<&str> = self.media.iter().map(|medium| medium.name.as_str()).collect();
        Column::labels(&names, of)
    }
}

fn kbps(rate: BitRate) -> f64 {
    rate.0 as f64 / 1e3
}

impl FrameRow {
    fn end(&mut self, fate: Fate) {
        assert_eq!(self.fate, Fate::Open, "a frame ends once");
        self.fate = fate;
    }
}

impl Log for MediaLog {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        parameters.media.then(|| Self::new(parameters))
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Media)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        if let Event::Media { flow, direction, step } = *event {
            self.add(now, flow, direction, step);
        }
    }

    fn extend(&mut self, parameters: &RecorderParameters) {
        self.resize(parameters);
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        let frames = self.frames_table(|flow, at| run.flows.measures(flow, at));
        vec![("frames", frames), ("media_rate", self.rates_table())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_one_fate() {
        let (ms, flow, down) = (Instant::from_millis, FlowId(0), Direction::Downlink);
        let mut log = MediaLog {
            places: vec![[None; 2]],
            flows: vec![("call".to_owned(), down)],
            ..MediaLog::default()
        };
        let captured = |frame| MediaStep::Captured {
            frame,
            size: Bytes(2_000),
            packets: 2,
            key: frame == 0,
            target: BitRate(1_000_000),
            rate: BitRate(900_000),
            quality: 80.0,
        };
        for frame in 0..4 {
            log.add(ms(33 * frame), flow, down, captured(frame));
            log.add(ms(33 * frame + 5), flow, down, MediaStep::Sent { frame });
        }
        log.add(ms(40), flow, down, MediaStep::Completed { frame: 0 });
        let freeze = Some(Duration::from_millis(200));
        let buffered = Duration::from_millis(20);
        log.add(ms(50), flow, down, MediaStep::Late { frame: 0 });
        log.add(ms(90), flow, down, MediaStep::Lost { frame: 1, received: 1 });
        log.add(ms(100), flow, down, MediaStep::Shown { frame: 2, buffered, freeze });
        log.add(ms(100), flow, Direction::Uplink, MediaStep::Skipped);
        log.add(ms(110), flow, Direction::Uplink, captured(0));
        let table = log.frames_table(|_, at| at >= ms(33));
        let names = |column| table.column(column).unwrap().names().unwrap();
        assert_eq!(names("flow"), ["call", "call", "call", "call", "call (uplink)"]);
        assert_eq!(names("fate"), ["late", "lost", "shown", "open", "open"]);
        let Some(Column::F64(delays)) = table.column("delay_ms") else { panic!("numbers") };
        assert_eq!((delays[2], delays[0].is_nan()), (34.0, true));
        assert_eq!(table.column("received"), Some(&Column::I64(vec![2, 1, 0, 0, 0])));
        assert_eq!(table.column("skipped"), Some(&Column::I64(vec![0, 0, 0, 0, 1])));
        assert_eq!(table.column("measured"), Some(&Column::Bool(vec![false, true, true, true, true])));
    }
}
