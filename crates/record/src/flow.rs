//! The sums for one flow.

use airlane_core::{BitRate, Bytes, CubicCurve, Direction, Duration, Header, Instant, Packet};

use crate::histogram::Histogram;
use crate::meaning::{Better, Figure, OverFlows, Scale, View};
use crate::streams::Streams;
use crate::table::{Table, mbps, ratio};
use crate::{FlowDescription, RecorderParameters};

/// The longest one-way delay for which memory is reserved.
const EXPECTED_DELAY_MAX: Duration = Duration::from_secs(10);

/// The sums of one flow.
#[derive(Debug)]
pub(crate) struct FlowRecord {
    /// The measured window.
    from: Instant,
    until: Instant,
    pub(crate) direction: Direction,
    pub(crate) bin: FlowBin,
    /// `None` until the sender has reported something.
    pub(crate) state: Option<FlowState>,
    in_order: u64,
    delivered: u64,
    /// Of packets from end to end, except those in `StreamRecord::packets`.
    delays: Delays,
    /// The bytes of its TCP connections, if it has any.
    streams: Option<Box<StreamRecord>>,
    /// Split proxies end its TCP connections.
    split: bool,
    sent: u64,
    retransmissions: u64,
    lost: u64,
    marked: u64,
    rtt_ns_sum: u64,
    rtt_samples: u64,
    rtt_min: Option<Duration>,
    completion_time: Option<Duration>,
    /// The same at the sender: last byte sent, all bytes acknowledged.
    sent_time: Option<Duration>,
    acknowledged_time: Option<Duration>,
    gave_up_at: Option<Instant>,
    pub(crate) completed_at: Option<Instant>,
}

/// The sums in the current bin of the series.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowBin {
    pub(crate) in_order: u64,
    /// Payload bytes received for the first time, and those received before.
    pub(crate) received: u64,
    pub(crate) again: u64,
    /// The transport has not distinguished the two.
    pub(crate) untold: bool,
    /// Packets, or segments of streams, with a delay.
    pub(crate) delayed: u64,
    pub(crate) delay_ns_sum: u64,
    pub(crate) delay_ns_max: u64,
    pub(crate) retransmissions: u64,
    pub(crate) lost_segments: u64,
}

/// The bytes of a flow of TCP connections. Most packets have the delay of their bytes, which is counted once, in
/// `FlowRecord::delays`; here are the others.
#[derive(Debug)]
struct StreamRecord {
    streams: Streams,
    packets: Delays,
    bytes: Delays,
}

/// Delays in the measured window.
#[derive(Clone, Debug)]
struct Delays {
    sum_ns: u64,
    histogram: Histogram,
}

impl Delays {
    fn new() -> Self {
        let histogram = Histogram::with_expected_max(EXPECTED_DELAY_MAX.as_nanos());
        Self { sum_ns: 0, histogram }
    }

    #[inline]
    fn add(&mut self, delay_ns: u64) {
        self.sum_ns += delay_ns;
        self.histogram.record(delay_ns);
    }

    /// These and others.
    fn with(&self, others: &Self) -> Self {
        let mut all = self.clone();
        all.sum_ns += others.sum_ns;
        all.histogram.add(&others.histogram);
        all
    }

    fn mean_ms(&self) -> f64 {
        ratio(milliseconds(self.sum_ns), self.histogram.count())
    }

    fn percentile_ms(&self, percent: u32) -> f64 {
        self.histogram.percentile(percent).map_or(f64::NAN, milliseconds)
    }

    fn max_ms(&self) -> f64 {
        self.histogram.max().map_or(f64::NAN, milliseconds)
    }
}

impl Default for StreamRecord {
    fn default() -> Self {
        Self { streams: Streams::default(), packets: Delays::new(), bytes: Delays::new() }
    }
}

impl FlowBin {
    #[inline]
    fn add_delay(&mut self, delay_ns: u64) {
        self.delayed += 1;
        self.delay_ns_sum += delay_ns;
        self.delay_ns_max = self.delay_ns_max.max(delay_ns);
    }

    /// A packet arrived with this payload, of which `fresh` had not been received before.
    #[inline]
    pub(crate) fn add_fresh(&mut self, payload: Bytes, fresh: Option<Bytes>) {
        match fresh {
            Some(fresh) => {
                self.received += fresh.get();
                self.again += (payload - fresh).get();
            }
            None => self.untold = true,
        }
    }
}

/// The last reported state of the sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowState {
    pub(crate) congestion_window: Option<Bytes>,
    pub(crate) ssthresh: Option<Bytes>,
    pub(crate) in_flight: Option<Bytes>,
    pub(crate) offered_window: Option<Bytes>,
    pub(crate) cubic: Option<CubicCurve>,
    pub(crate) srtt: Option<Duration>,
    pub(crate) rto: Option<Duration>,
    /// Pacing rate and delivery rate, of a sender outside that reports them.
    pub(crate) rates: [Option<BitRate>; 2],
}

impl FlowRecord {
    pub(crate) fn new(flow: &FlowDescription, parameters: &RecorderParameters) -> Self {
        Self::in_direction(flow.direction, flow, parameters)
    }

    /// The sums for the data that a flow carries in this direction.
    pub(crate) fn in_direction(
        direction: Direction,
        flow: &FlowDescription,
        parameters: &RecorderParameters,
    ) -> Self {
        Self {
            from: flow.start.max(parameters.warmup),
            until: flow.stop.map_or(parameters.end, |stop| stop.min(parameters.end)),
            direction,
            bin: FlowBin::default(),
            state: None,
            in_order: 0,
            delivered: 0,
            delays: Delays::new(),
            streams: flow.streams.then(|| Box::new(StreamRecord::default())),
            split: !flow.proxies.is_empty(),
            sent: 0,
            retransmissions: 0,
            lost: 0,
            marked: 0,
            rtt_ns_sum: 0,
            rtt_samples: 0,
            rtt_min: None,
            completion_time: None,
            sent_time: None,
            acknowledged_time: None,
            gave_up_at: None,
            completed_at: None,
        }
    }

    /// The state of the sender, which has reported something.
    #[inline]
    pub(crate) fn state_mut(&mut self) -> &mut FlowState {
        self.state.get_or_insert_default()
    }

    #[inline]
    pub(crate) fn measures(&self, now: Instant) -> bool {
        self.from <= now && now <= self.until
    }

    #[inline]
    pub(crate) fn on_delivered(&mut self, now: Instant, packet: &Packet, in_order: Bytes) {
        let measures = self.measures(now);
        self.bin.in_order += in_order.get();
        if measures {
            self.in_order += in_order.get();
            self.delivered += 1;
        }
        let delay_ns = (now - packet.sent_at).as_nanos();
        if let Some(record) = &mut self.streams
            && (self.split || !record.streams.on_next_readable(packet, in_order))
        {
            return self.on_bytes_delivered(now, packet, in_order);
        }
        self.bin.add_delay(delay_ns);
        if measures {
            self.delays.add(delay_ns);
        }
    }

    /// A packet of a TCP connection whose bytes may have other delays was delivered. A packet from a proxy has no
    /// delay from end to end.
    #[inline(never)]
    fn on_bytes_delivered(&mut self, now: Instant, packet: &Packet, in_order: Bytes) {
        let measures = self.measures(now);
        let split = self.split && matches!(packet.header, Header::Tcp(_));
        let Some(record) = &mut self.streams else { return };
        let StreamRecord { streams, packets, bytes } = &mut **record;
        streams.on_readable(now, packet, in_order, |delay| {
            let delay_ns = delay.as_nanos();
            if split {
                self.bin.add_delay(delay_ns);
            }
            if measures {
                bytes.add(delay_ns);
            }
        });
        if !split {
            let delay_ns = (now - packet.sent_at).as_nanos();
            self.bin.add_delay(delay_ns);
            if measures {
                packets.add(delay_ns);
            }
        }
    }

    #[inline]
    pub(crate) fn on_sent(&mut self, now: Instant, packet: &Packet, retransmission: bool) {
        self.bin.retransmissions += u64::from(retransmission);
        if self.measures(now) {
            self.sent += 1;
            self.retransmissions += u64::from(retransmission);
        }
        if let Some(record) = &mut self.streams {
            record.streams.on_sent(now, packet, retransmission);
        }
    }

    pub(crate) fn on_dropped(&mut self, now: Instant) {
        self.lost += u64::from(self.measures(now));
    }

    pub(crate) fn on_marked(&mut self, now: Instant) {
        self.marked += u64::from(self.measures(now));
    }

    #[inline]
    pub(crate) fn on_rtt(&mut self, now: Instant, rtt: Duration) {
        if self.measures(now) {
            self.rtt_ns_sum += rtt.as_nanos();
            self.rtt_samples += 1;
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |min| min.min(rtt)));
        }
    }

    pub(crate) fn on_completed(&mut self, now: Instant, started_at: Instant) {
        if self.completed_at.is_none() {
            self.completed_at = Some(now);
            self.completion_time = Some(now - started_at);
            self.until = self.until.min(now);
        }
    }

    /// The run ends at `end`, if that is before the planned end.
    pub(crate) fn end_at(&mut self, end: Instant) {
        self.until = self.until.min(end);
    }

    pub(crate) fn on_last_byte_sent(&mut self, now: Instant, started_at: Instant) {
        self.sent_time.get_or_insert(now - started_at);
    }

    pub(crate) fn on_acknowledged(&mut self, now: Instant, started_at: Instant) {
        self.acknowledged_time.get_or_insert(now - started_at);
    }

    /// The first of its connections that was given up counts.
    pub(crate) fn on_given_up(&mut self, now: Instant) {
        self.gave_up_at.get_or_insert(now);
    }

    /// The length of the measured window.
    pub(crate) fn window(&self) -> Duration {
        self.until.saturating_since(self.from)
    }

    fn goodput_mbps(&self) -> f64 {
        mbps(self.in_order, self.until.saturating_since(self.from))
    }

    /// The measures of packets, or of bytes where no packet travels from end to end.
    fn one_way(&self) -> [f64; 5] {
        match &self.streams {
            Some(_) if self.split => self.of_bytes(),
            Some(record) => measures(&self.delays.with(&record.packets)),
            None => measures(&self.delays),
        }
    }

    /// The measures of the bytes of TCP connections, `NaN` without any.
    fn of_bytes(&self) -> [f64; 5] {
        self.streams.as_ref().map_or([f64::NAN; 5], |record| measures(&self.delays.with(&record.bytes)))
    }
}

/// The measures of delays in `flows`: the end of the column's name, and words before those for the delay.
const MEASURES: [(&str, &str); 5] = [
    ("_ms", ""),
    ("_p50_ms", "median of "),
    ("_p95_ms", "95th percentile of "),
    ("_p99_ms", "99th percentile of "),
    ("_max_ms", "maximum of "),
];

fn measures(delays: &Delays) -> [f64; 5] {
    let [p50, p95, p99] = [50, 95, 99].map(|percent| delays.percentile_ms(percent));
    [delays.mean_ms(), p50, p95, p99, delays.max_ms()]
}

/// A delay as a figure, by the measure.
const fn delay(measure: usize) -> Figure {
    let scale = if measure == 0 { Scale::Plain } else { Scale::Quantile };
    Figure { over_flows: Some(OverFlows::Mean), better: Better::Less, scale, ..Figure::NEUTRAL }
}

/// Something to be avoided, which is counted.
pub(crate) const COUNT: Figure =
    Figure { over_flows: Some(OverFlows::Sum), better: Better::Less, ..Figure::NEUTRAL };

/// The columns of `flows` that come from the packets of a flow.
pub(crate) fn push_columns(table: &mut Table, flows: &[&FlowRecord]) {
    let all = || flows.iter().copied();
    let figure = Figure {
        over_flows: Some(OverFlows::Sum),
        better: Better::More,
        least: Some(0.02),
        ..Figure::NEUTRAL
    };
    let goodput = table.push_f64("goodput_mbps", all().map(FlowRecord::goodput_mbps));
    goodput.means("goodput").headed("goodput\nMbit/s", ".2f").figure(figure).shown(10, &View::ALL);
    push_one_way(table, flows);
    let rtt = table.push_f64("rtt_ms", all().map(|f| ratio(milliseconds(f.rtt_ns_sum), f.rtt_samples)));
    rtt.means("round-trip time").headed("RTT\nms", ".1f").figure(delay(0));
    rtt.shown(80, &[View::Terminal, View::Summary, View::Compare]).omitted(7);
    table.push_f64("rtt_min_ms", all().map(|f| duration_ms(f.rtt_min))).means("minimum of round-trip time");
    let again = table.push_count("retransmissions", all().map(|f| f.retransmissions));
    again.means("retransmissions").headed("retrans-\nmitted", ".0f").figure(COUNT);
    again.shown(90, &View::ALL).omitted(8);
    table.push_count("packets_sent", all().map(|f| f.sent)).means("packets sent");
    table.push_count("packets_delivered", all().map(|f| f.delivered)).means("packets delivered");
    let lost = table.push_count("packets_lost", all().map(|f| f.lost));
    lost.means("packets lost").headed("lost", ".0f").figure(COUNT);
    lost.shown(110, &[View::Terminal]).omitted(5);
    table.push_count("marked", all().map(|f| f.marked)).means("packets marked by queues");
    table.push_count("bytes_delivered", all().map(|f| f.in_order)).means("bytes delivered in order");
    let seconds = |time: Option<Duration>| time.map_or(f64::NAN, Duration::as_secs_f64);
    let completion = table.push_f64("fct_s", all().map(|f| seconds(f.completion_time)));
    completion.means("completion time").headed("time\ns", ".4g");
    completion.figure(Figure { better: Better::Less, ..Figure::NEUTRAL });
    let sent = table.push_f64("fct_sent_s", all().map(|f| seconds(f.sent_time)));
    sent.means("time until the last byte was sent");
    let acknowledged = table.push_f64("fct_acked_s", all().map(|f| seconds(f.acknowledged_time)));
    acknowledged.means("time until all bytes were acknowledged");
    let gave_up = all().map(|f| f.gave_up_at.map_or(f64::NAN, Instant::as_secs_f64));
    table.push_f64("gave_up_s", gave_up).means("first connection given up");
}

/// The columns of the one-way delay.
fn push_one_way(table: &mut Table, flows: &[&FlowRecord]) {
    const HEADINGS: [&str; 4] = ["OWD\nms", "p50\nms", "p95\nms", "p99\nms"];
    const RANKS: [u32; 4] = [11, 3, 9, 2];
    let rows: Vec<[f64; 5]> = flows.iter().map(|flow| flow.one_way()).collect();
    for (i, (end, words)) in MEASURES.into_iter().enumerate() {
        let column = table.push_f64(&format!("owd{end}"), rows.iter().map(|row| row[i]));
        column.means(format!("{words}one-way delay"));
        let Some(heading) = HEADINGS.get(i) else { continue };
        let brief = if i == 2 { "delay, p95" } else { "" };
        column.headed(heading, ".1f").figure(Figure { brief, ..delay(i) });
        let views: &[View] = match i {
            0 => &[View::Terminal, View::Sweep, View::Compare],
            2 => &View::ALL,
            _ => &[View::Terminal],
        };
        column.shown(20 + 10 * i as u32, views).omitted(RANKS[i]);
    }
}

/// The columns of the delay of bytes, `NaN` for flows without TCP connections.
pub(crate) fn push_byte_delays(table: &mut Table, flows: &[&FlowRecord]) {
    let rows: Vec<[f64; 5]> = flows.iter().map(|flow| flow.of_bytes()).collect();
    for (i, (end, words)) in MEASURES.into_iter().enumerate() {
        let column = table.push_f64(&format!("byte_delay{end}"), rows.iter().map(|row| row[i]));
        let (heading, brief) = match i {
            0 => ("byte\ndelay ms", "byte delay"),
            2 => ("bytes p95\nms", "byte delay, p95"),
            _ => ("", ""),
        };
        column.means(format!("{words}{}", if i == 0 { "delay of bytes" } else { "the delay of bytes" }));
        if !heading.is_empty() {
            column.headed(heading, ".1f").figure(Figure { brief, ..delay(i) });
            column.shown(60 + 5 * i as u32, &[View::Compare]);
        }
    }
}

pub(crate) fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

pub(crate) fn duration_ms(duration: Option<Duration>) -> f64 {
    duration.map_or(f64::NAN, Duration::as_millis_f64)
}
