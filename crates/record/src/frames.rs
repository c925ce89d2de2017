//! Frames of XR: a row for each frame, with its outcome.

use airlane_core::{
    Duration, Event, FlowId, FrameStream, Header, Instant, Packet, SentFrame, Topic, TopicSet,
};

use crate::RecorderParameters;
use crate::flow::duration_ms;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::{Column, Table};

/// The outcome of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// All its packets have arrived within its budget.
    InTime,
    /// All its packets have arrived, the last one after its budget.
    Late,
    /// One of its packets was dropped.
    Lost,
    /// It was on its way at the end of the run.
    Open,
}

impl Fate {
    const NAMES: [&str; 4] = ["in-time", "late", "lost", "open"];
}

/// One frame.
#[derive(Clone, Copy, Debug)]
struct Frame {
    flow: FlowId,
    /// Its number in the stream.
    number: u64,
    sent: SentFrame,
    received: u32,
    dropped: u32,
    /// The delay of the packet that arrived last.
    delay: Duration,
}

impl Frame {
    fn fate(&self) -> Fate {
        match self.complete() {
            Some(delay) if delay <= self.sent.budget => Fate::InTime,
            Some(_) => Fate::Late,
            None if self.dropped > 0 => Fate::Lost,
            None => Fate::Open,
        }
    }

    /// The delay of the frame, if all of it has arrived.
    fn complete(&self) -> Option<Duration> {
        (self.received == self.sent.packets).then_some(self.delay)
    }
}

/// The frames of a flow.
#[derive(Clone, Debug, Default)]
struct Sent {
    /// By direction, the serial of the first packet of each frame, and the row of the frame.
    firsts: [Vec<(u64, usize)>; 2],
    /// By stream, the number of frames.
    frames: [u64; FrameStream::COUNT],
}

/// Every frame, in the order in which they were sent.
#[derive(Debug, Default)]
pub(crate) struct FrameLog {
    frames: Vec<Frame>,
    sent: Vec<Sent>,
}

impl FrameLog {
    fn new(flows: usize) -> Self {
        Self { frames: Vec::new(), sent: vec![Sent::default(); flows] }
    }

    /// The frame of a packet, if the packet is one of a frame.
    fn of(&mut self, packet: &Packet) -> Option<&mut Frame> {
        let Header::Udp(header) = packet.header else { return None };
        let firsts = &self.sent.get(packet.flow.index())?.firsts[packet.direction as usize];
        let behind = firsts.partition_point(|(first, _)| *first <= header.serial);
        let (_, row) = firsts.get(behind.checked_sub(1)?)?;
        self.frames.get_mut(*row)
    }

    fn on_sent(&mut self, flow: FlowId, frame: SentFrame) {
        let Some(sent) = self.sent.get_mut(flow.index()) else { return };
        let number = sent.frames[frame.stream as usize];
        sent.frames[frame.stream as usize] += 1;
        sent.firsts[frame.stream.direction() as usize].push((frame.first, self.frames.len()));
        let delay = Duration::ZERO;
        self.frames.push(Frame { flow, number, sent: frame, received: 0, dropped: 0, delay });
    }

    fn on_received(&mut self, now: Instant, packet: &Packet) {
        if let Some(frame) = self.of(packet) {
            assert!(frame.received < frame.sent.packets, "each packet of a frame arrives once");
            frame.received += 1;
            frame.delay = now - frame.sent.sent_at;
        }
    }

    /// The table `xr_frames`. `measured` returns whether the summary of a flow includes an instant.
    fn table(&self, flow_names: &[&str], measured: impl Fn(FlowId, Instant) -> bool) -> Table {
        let mut table = Table::default();
        let all = || self.frames.iter();
        table
            .push("flow", Column::labels(flow_names, all().map(|frame| frame.flow.index() as u32)))
            .means("flow");
        table
            .push("stream", Column::labels(&FrameStream::NAMES, all().map(|frame| frame.sent.stream as u32)))
            .means("video to the UE, pose or video from the UE");
        table.push_count("frame", all().map(|frame| frame.number)).means("number of the frame, from 0");
        table
            .push_f64("t_s", all().map(|frame| frame.sent.sent_at.as_secs_f64()))
            .means("sending of the frame");
        table
            .push_count("size_bytes", all().map(|frame| frame.sent.size.get()))
            .means("size without headers");
        table.push_count("packets", all().map(|frame| u64::from(frame.sent.packets))).means("packets");
        table
            .push_count("received", all().map(|frame| u64::from(frame.received)))
            .means("packets that arrived");
        table
            .push_count("dropped", all().map(|frame| u64::from(frame.dropped)))
            .means("packets that were dropped");
        table
            .push_f64("delay_ms", all().map(|frame| duration_ms(frame.complete())))
            .means("time until all its packets had arrived");
        table
            .push_f64("budget_ms", all().map(|frame| frame.sent.budget.as_millis_f64()))
            .means("its delay budget");
        table
            .push("fate", Column::labels(&Fate::NAMES, all().map(|frame| frame.fate() as u32)))
            .means("in time, late, lost or open");
        let counts = |frame: &Frame| {
            measured(frame.flow, frame.sent.sent_at)
                && measured(frame.flow, frame.sent.sent_at + frame.sent.budget)
        };
        table
            .push("measured", Column::Bool(all().map(counts).collect()))
            .means("whether the summary counts it: its budget is within the measured window");
        table
    }
}

impl Log for FrameLog {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        parameters.frames.then(|| Self::new(parameters.flows.len()))
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Frame).with(Topic::Delivered).with(Topic::Dropped)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        match *event {
            Event::FrameSent { flow, frame } => self.on_sent(flow, frame),
            Event::Delivered { packet, .. } => self.on_received(now, packet),
            Event::Dropped { packet, .. } => {
                if let Some(frame) = self.of(packet) {
                    frame.dropped += 1;
                }
            }
            _ => {}
        }
    }

    fn extend(&mut self, parameters: &RecorderParameters) {
        self.sent.resize(parameters.flows.len(), Sent::default());
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        let measured = |flow, at| run.flows.measures(flow, at);
        vec![("xr_frames", self.table(&run.flow_names(), measured))]
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::{Bytes, Direction, Payload, UdpHeader};

    use super::*;

    fn packet(direction: Direction, serial: u64) -> Packet {
        let header = Header::Udp(UdpHeader { serial });
        Packet::new(FlowId(1), direction, header, Payload::Length(1400), Instant::ZERO)
    }

    fn sent(log: &mut FrameLog, stream: FrameStream, at: u64, first: u64, packets: u32) {
        let (sent_at, size) = (Instant::from_millis(at), Bytes(1400 * u64::from(packets)));
        let budget = Duration::from_millis(10);
        log.on_sent(FlowId(1), SentFrame { stream, sent_at, first, packets, size, budget });
    }

    #[test]
    fn a_frame_is_in_time_late_lost_or_open() {
        let (ms, mut log) = (Instant::from_millis, FrameLog::new(2));
        let (down, up) = (Direction::Downlink, Direction::Uplink);
        sent(&mut log, FrameStream::Video, 0, 0, 2);
        sent(&mut log, FrameStream::Pose, 0, 0, 1);
        sent(&mut log, FrameStream::Video, 16, 2, 3);
        sent(&mut log, FrameStream::Video, 33, 5, 2);
        sent(&mut log, FrameStream::Video, 50, 7, 1);
        log.on_received(ms(9), &packet(down, 0));
        log.on_received(ms(10), &packet(down, 1)); // exactly the budget
        log.on_received(ms(11), &packet(up, 0));
        log.on_received(ms(20), &packet(down, 2));
        log.of(&packet(down, 3)).unwrap().dropped += 1;
        log.on_received(ms(21), &packet(down, 4));
        log.on_received(ms(43), &packet(down, 6));
        log.on_received(ms(44), &packet(down, 5));
        let table = log.table(&["a", "b"], |_, at| (ms(10)..=ms(55)).contains(&at));
        let names = |column| table.column(column).unwrap().names().unwrap();
        assert_eq!(names("flow"), ["b"; 5]);
        assert_eq!(names("stream"), ["video", "pose", "video", "video", "video"]);
        assert_eq!(names("fate"), ["in-time", "late", "lost", "late", "open"]);
        assert_eq!(table.column("frame"), Some(&Column::I64(vec![0, 0, 1, 2, 3])));
        assert_eq!(table.column("received"), Some(&Column::I64(vec![2, 1, 2, 2, 0])));
        assert_eq!(table.column("dropped"), Some(&Column::I64(vec![0, 0, 1, 0, 0])));
        let Some(Column::F64(delays)) = table.column("delay_ms") else { panic!("numbers") };
        assert_eq!((delays[0], delays[3], delays[2].is_nan()), (10.0, 11.0, true));
        // Of the first two the beginning, of the last one the budget is not within the window.
        assert_eq!(table.column("measured"), Some(&Column::Bool(vec![false, false, true, true, false])));
    }
}
