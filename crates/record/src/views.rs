//! Views of videos: waiting times and stalls.

use airlane_core::{BitRate, Bytes, Duration, Event, FlowId, Instant, PlaybackStep, Topic, TopicSet};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::{Column, Table};

/// A viewer's criteria of satisfaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Satisfaction {
    /// The start-up time is less than this.
    pub startup: Duration,
    /// The number of stalls is at most this.
    pub stalls: u32,
    /// The total time of stalls is at most this.
    pub stalled: Duration,
}

/// One view.
#[derive(Clone, Debug)]
struct View {
    flow: FlowId,
    number: u32,
    requested_at: Instant,
    started_at: Option<Instant>,
    ended_at: Option<Instant>,
    stalls: u32,
    /// Total time of stalls without the current one, whose start is the second value.
    stalled: Duration,
    stalled_since: Option<Instant>,
    bytes: Bytes,
    fetched_at: Option<Instant>,
    /// Playing time of received media, and the sum of bitrate times playing time in bit/s times ns.
    media: Duration,
    weighted: u128,
    last: Option<BitRate>,
    switches: u64,
}

impl View {
    const fn new(flow: FlowId, number: u32, requested_at: Instant) -> Self {
        Self {
            flow,
            number,
            requested_at,
            started_at: None,
            ended_at: None,
            stalls: 0,
            stalled: Duration::ZERO,
            stalled_since: None,
            bytes: Bytes::ZERO,
            fetched_at: None,
            media: Duration::ZERO,
            weighted: 0,
            last: None,
            switches: 0,
        }
    }

    fn add(&mut self, now: Instant, step: PlaybackStep) {
        match step {
            PlaybackStep::Requested => {}
            PlaybackStep::Fetched { bytes, media, bitrate } => {
                self.bytes += bytes;
                self.media += media;
                self.weighted += u128::from(bitrate.bits_per_second()) * u128::from(media.as_nanos());
                self.switches += u64::from(self.last.is_some_and(|last| last != bitrate));
                self.last = Some(bitrate);
                self.fetched_at = Some(now);
            }
            PlaybackStep::Started => self.started_at = Some(now),
            PlaybackStep::Stalled => {
                self.stalls += 1;
                self.stalled_since = Some(now);
            }
            PlaybackStep::Resumed => {
                if let Some(since) = self.stalled_since.take() {
                    self.stalled += now - since;
                }
            }
            PlaybackStep::Ended => self.ended_at = Some(now),
        }
    }

    /// Total time of stalls until the end of the run.
    fn stalled(&self, end: Instant) -> Duration {
        self.stalled_since.map_or(self.stalled, |since| self.stalled + end.saturating_since(since))
    }

    /// Playback time until the end of the run.
    fn played(&self, end: Instant) -> Duration {
        let Some(started) = self.started_at else { return Duration::ZERO };
        self.ended_at.unwrap_or(end).saturating_since(started).saturating_sub(self.stalled(end))
    }

    /// True if no criterion is violated by the end of the run: an unfinished wait counts with its
    /// duration so far.
    fn satisfies(&self, rule: &Satisfaction, end: Instant) -> bool {
        let startup = self.started_at.unwrap_or(end).saturating_since(self.requested_at);
        startup < rule.startup && self.stalls <= rule.stalls && self.stalled(end) <= rule.stalled
    }

    fn bitrate_kbps(&self) -> f64 {
        let media = self.media.as_nanos();
        if media == 0 { f64::NAN } else { self.weighted as f64 / media as f64 / 1e3 }
    }
}

/// All views of a run, in the order of their requests.
#[derive(Debug, Default)]
pub(crate) struct ViewLog {
    views: Vec<View>,
    /// The last view of each flow.
    last: Vec<Option<usize>>,
}

impl ViewLog {
    pub(crate) fn add(&mut self, now: Instant, flow: FlowId, number: u32, step: PlaybackStep) {
        if self.last.len() <= flow.index() {
            self.last.resize(flow.index() + 1, None);
        }
        if step == PlaybackStep::Requested {
            self.last[flow.index()] = Some(self.views.len());
            self.views.push(View::new(flow, number, now));
        }
        if let Some(index) = self.last[flow.index()] {
            self.views[index].add(now, step);
        }
    }

    /// The table `views`: one row per view.
    pub(crate) fn into_table(
        self,
        flow_names: &[&str],
        viewers: &[(FlowId, Satisfaction)],
        end: Instant,
    ) -> Table {
        let mut table = Table::default();
        let all = || self.views.iter();
        let since = |view: &View, at: Option<Instant>| {
            at.map_or(f64::NAN, |at| (at - view.requested_at).as_secs_f64())
        };
        let satisfied = |view: &View| {
            let rule = viewers.iter().find(|(flow, _)| *flow == view.flow);
            rule.is_some_and(|(_, rule)| view.satisfies(rule, end))
        };
        table.push_text("flow", all().map(|view| flow_names[view.flow.index()])).means("flow");
        table
            .push_count("view", all().map(|view| u64::from(view.number)))
            .means("number of the view, from 1");
        table
            .push_f64("start_s", all().map(|view| view.requested_at.as_secs_f64()))
            .means("request of the video");
        table.push_f64("startup_s", all().map(|view| since(view, view.started_at))).means("start-up delay");
        table.push_count("stalls", all().map(|view| u64::from(view.stalls))).means("stalls after the start");
        table
            .push_f64("stalled_s", all().map(|view| view.stalled(end).as_secs_f64()))
            .means("duration of the stalls");
        table.push_f64("played_s", all().map(|view| view.played(end).as_secs_f64())).means("playing time");
        table
            .push_f64("fetched_s", all().map(|view| since(view, view.fetched_at)))
            .means("time until the last received data");
        table.push_count("bytes", all().map(|view| view.bytes.get())).means("bytes of media received");
        table.push_f64("bitrate_kbps", all().map(View::bitrate_kbps)).means("bitrate of the media");
        table.push_count("switches", all().map(|view| view.switches)).means("changes of the bitrate");
        table
            .push("finished", Column::Bool(all().map(|view| view.ended_at.is_some()).collect()))
            .means("whether it was played to its end");
        table
            .push("satisfied", Column::Bool(all().map(satisfied).collect()))
            .means("whether no bound of the application is broken");
        table
    }
}

impl Log for ViewLog {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        (!parameters.viewers.is_empty()).then(Self::default)
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Playback)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        if let Event::Playback { flow, view, step } = *event {
            self.add(now, flow, view, step);
        }
    }

    fn finish(self: Box<Self>, run: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        let (viewers, end) = (&run.parameters.viewers, run.parameters.end);
        vec![("views", self.into_table(&run.flow_names(), viewers, end))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_told_in_one_row() {
        let mut log = ViewLog::default();
        let (flow, ms) = (FlowId(1), Instant::from_millis);
        let fetched = |kbps: u64, ms: u64| PlaybackStep::Fetched {
            bytes: Bytes(kbps * ms / 8),
            media: Duration::from_millis(ms),
            bitrate: BitRate(kbps * 1000),
        };
        log.add(ms(1_000), flow, 1, PlaybackStep::Requested);
        log.add(ms(2_000), flow, 1, fetched(500, 4_000));
        log.add(ms(2_000), flow, 1, PlaybackStep::Started);
        log.add(ms(6_000), flow, 1, PlaybackStep::Stalled);
        log.add(ms(6_500), flow, 1, fetched(1_500, 4_000));
        log.add(ms(6_500), flow, 1, PlaybackStep::Resumed);
        log.add(ms(10_500), flow, 1, PlaybackStep::Ended);
        // The next view waits for its first byte when the run ends; that of the other flow is stalled.
        log.add(ms(12_000), flow, 2, PlaybackStep::Requested);
        log.add(ms(13_000), FlowId(0), 1, PlaybackStep::Requested);
        log.add(ms(13_500), FlowId(0), 1, fetched(500, 1_000));
        log.add(ms(13_500), FlowId(0), 1, PlaybackStep::Started);
        log.add(ms(14_500), FlowId(0), 1, PlaybackStep::Stalled);
        let patient =
            Satisfaction { startup: Duration::from_secs(8), stalls: 3, stalled: Duration::from_secs(2) };
        let table = log.into_table(&["a", "b"], &[(FlowId(0), patient), (flow, patient)], ms(20_000));
        let reals = |name: &str| match table.column(name) {
            Some(Column::F64(values)) => values.clone(),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(reals("startup_s")[0], 1.0);
        assert!(reals("startup_s")[1].is_nan());
        assert_eq!(reals("stalled_s"), [0.5, 0.0, 5.5]);
        assert_eq!(reals("played_s"), [8.0, 0.0, 1.0]);
        assert_eq!(reals("bitrate_kbps")[0], 1_000.0);
        assert_eq!(reals("fetched_s")[0], 5.5);
        assert_eq!(table.column("switches"), Some(&Column::I64(vec![1, 0, 0])));
        assert_eq!(table.column("bytes"), Some(&Column::I64(vec![1_000_000, 0, 62_500])));
        assert_eq!(table.column("finished"), Some(&Column::Bool(vec![true, false, false])));
        // The second has waited exactly the limit, which must not be reached; the third stalls for
        // too long.
        assert_eq!(table.column("satisfied"), Some(&Column::Bool(vec![true, false, false])));
    }
}
