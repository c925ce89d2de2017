//! A viewer and a server over a wire of 10 ms each way without a rate: the times can be computed by hand.

use airlane_core::{
    BitRate, Bytes, Direction, Duration, Event, FlowId, Instant, PlaybackStep, Probe, Seeds, Topic, TopicSet,
};
use airlane_traffic::dialogue::Dialogue;
use airlane_traffic::dns::{Names, Resolver};
use airlane_traffic::http::{HttpOverTcp, HttpServer, HttpSettings, Message};
use airlane_traffic::{
    BolaParameters, GroupLaw, Media, Page, PageBefore, PageObject, PlayoutRules, ReadLimit, Rule,
    SegmentedVideo, Video, Viewer, Viewing,
};
use airlane_transport::{Path, ReceiveWindowKind, TcpConfig};

use crate::wire;

const FLOW: FlowId = FlowId(0);

/// The results that the tests use: steps other than fetches, and the fetched amount.
#[derive(Default)]
struct Seen {
    steps: Vec<(u32, u64, PlaybackStep)>,
    fetched: Vec<(Instant, Bytes, Duration)>,
    pages: Vec<(Instant, Duration, u32)>,
    completed: Vec<Instant>,
}

impl Probe for Seen {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Playback).with(Topic::Page).with(Topic::FlowCompleted)
    }
    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        match *event {
            Event::Playback { step: PlaybackStep::Fetched { bytes, media, .. }, .. } => {
                self.fetched.push((now, bytes, media));
            }
            Event::Playback { view, step, .. } => {
                self.steps.push((view, now.as_nanos() / 1_000_000, step));
            }
            Event::PageLoaded { time, objects, .. } => self.pages.push((now, time, objects)),
            Event::FlowCompleted { .. } => self.completed.push(now),
            _ => {}
        }
    }
}

fn watch(media: Media, views: u32, tcp: &TcpConfig, lost: impl Fn(u64) -> bool) -> (Seen, u64) {
    watch_after(None, media, views, tcp, lost)
}

fn watch_after(
    page: Option<PageBefore>,
    media: Media,
    views: u32,
    tcp: &TcpConfig,
    lost: impl Fn(u64) -> bool,
) -> (Seen, u64) {
    let dialogue: Dialogue<Message> = Dialogue::default();
    let (up, down) = (Path::new(FLOW, Direction::Uplink), Path::new(FLOW, Direction::Downlink));
    let keep_alive = Duration::from_secs(75);
    let in_all = if page.is_some() { 8 } else { 1 };
    let settings = HttpSettings { per_server: 1, in_all, pipeline: 1, keep_alive, port: 80 };
    let http = HttpOverTcp::new(settings, tcp.clone(), up, dialogue.clone());
    let viewing = Viewing {
        media,
        page,
        views,
        pause: Duration::ZERO,
        start: Instant::from_millis(100),
        request: Bytes(400),
        head: Bytes(300),
    };
    let names = viewing
        .page
        .as_ref()
        .map(|page| Names::new(up, Duration::from_secs(300), usize::from(page.video_server) + 1));
    let mut viewer = Viewer::new(http, names, FLOW, viewing, Seeds::new(1).stream("test"));
    let mut server =
        HttpServer::new(tcp.clone(), down, dialogue.clone(), Resolver::new(down, Duration::ZERO));
    let (mut seen, end) = (Seen::default(), Instant::ZERO + Duration::from_secs(2_000));
    let pool = wire::run([&mut viewer, &mut server], end, &mut seen, lost);
    assert_eq!((pool.live(), viewer.http().tcp().connections(), server.tcp().connections()), (0, 0, 0));
    assert_eq!(dialogue.connections(), 0);
    (seen, server.tcp().totals()[0].get())
}

fn file(limit: Option<ReadLimit>) -> Video {
    Video {
        bitrate: BitRate(512_000),
        groups: None,
        length: Duration::from_secs(90),
        rules: PlayoutRules { start: Duration::from_secs(2), resume: Duration::from_millis(500) },
        limit,
    }
}

/// A window of the receiver that is never the limit.
fn wide() -> TcpConfig {
    TcpConfig { receive_window: ReceiveWindowKind::Fixed(Bytes(4 << 20)), ..TcpConfig::linux() }
}

const NEVER: fn(u64) -> bool = |_| false;

/// The SYN leaves at 100 ms, the request arrives at 130 ms, the first part of the response at 140 ms: 10
/// segments, then 20 at 160 ms, 40 at 180 ms and 80 at 200 ms, of which 19 complete the 128,000 bytes of two
/// seconds and 300 of the header. Playback starts after 100 ms and takes 90 s; the second view follows at
/// once, on the existing connection.
#[test]
fn a_file_is_played_while_it_comes_and_watched_again() {
    let (seen, sent) = watch(Media::File(file(None)), 2, &wide(), NEVER);
    assert_eq!(seen.steps[..2], [(1, 100, PlaybackStep::Requested), (1, 200, PlaybackStep::Started)]);
    assert_eq!(seen.steps[2..4], [(1, 90_200, PlaybackStep::Ended), (2, 90_200, PlaybackStep::Requested)]);
    assert_eq!(seen.steps[5].2, PlaybackStep::Ended);
    assert_eq!((seen.steps.len(), seen.completed.len()), (6, 1));
    let media: u64 = seen.fetched.iter().map(|(_, bytes, _)| bytes.get()).sum();
    assert_eq!((media, sent), (2 * 5_760_000, 2 * 5_760_300));
}

/// A page of a document of 10,000 bytes, which names an image on a second server after 5000.
fn page() -> PageBefore {
    let object = |server, body, parent, after| PageObject {
        server,
        request: Bytes(400),
        head: Bytes(300),
        body: Bytes(body),
        wait: Duration::ZERO,
        urgency: 0,
        parent,
        after: Bytes(after),
    };
    let objects = vec![object(0, 10_000, 0, 0), object(1, 20_000, 0, 5_000)];
    PageBefore { pages: vec![Page::new("page".to_owned(), objects)].into(), video_server: 2 }
}

/// The query for the first name takes 20 ms, the SYN leaves at 120 ms, and the document is complete at 160 ms, in one
/// window of ten segments. Then the names of the image's server and of the video's are queried, and the video starts as
/// without a page, 100 ms after its SYN at 180 ms. The image needs a second window, until 240 ms. The second page
/// follows at the end of the video; the names are known, but its connections have been idle for too long.
#[test]
fn a_page_is_opened_before_each_video() {
    let (seen, sent) = watch_after(Some(page()), Media::File(file(None)), 2, &wide(), NEVER);
    assert_eq!(seen.steps[..2], [(1, 160, PlaybackStep::Requested), (1, 280, PlaybackStep::Started)]);
    let second = [(1, 90_280, PlaybackStep::Ended), (2, 90_320, PlaybackStep::Requested)];
    assert_eq!(seen.steps[2..4], second);
    let loads: Vec<_> = seen.pages.iter().map(|(at, time, _)| (at.as_nanos(), time.as_nanos())).collect();
    assert_eq!(loads.len(), 2);
    assert_eq!((loads[0].0 / 1_000_000, loads[0].1 / 1_000_000), (240, 140));
    assert_eq!((seen.steps.len(), seen.completed.len()), (6, 1));
    assert_eq!(sent, 2 * (5_760_300 + 10_300 + 20_300));
}

/// Groups of pictures of different sizes: the bytes of the file and the playing time are those of a constant
/// bitrate, and the media of the first bytes is not.
#[test]
fn a_variable_bitrate_has_the_same_mean() {
    let groups = Some(GroupLaw {
        group: Duration::from_millis(480),
        coefficient: 0.5,
        correlation: Duration::from_secs(5),
    });
    let (seen, sent) = watch(Media::File(Video { groups, ..file(None) }), 1, &wide(), NEVER);
    assert_eq!(sent, 5_760_300);
    let media = seen.fetched.iter().fold(Duration::ZERO, |sum, (.., media)| sum + *media);
    assert_eq!(media, Duration::from_secs(90));
    let first = seen.fetched[0];
    let constant = BitRate(512_000).transmission_time(first.1);
    assert!(first.2.abs_diff(constant) > constant / 10, "{first:?} {constant:?}");
}

/// A player with room for 10 s reads no more than that: fetched media is never more than 10 s ahead of
/// playback; the server waits, but playback does not stall.
#[test]
fn a_full_player_holds_the_server_back() {
    let limit = ReadLimit { buffer: Duration::from_secs(10), block: Bytes(64_000) };
    let (seen, sent) = watch(Media::File(file(Some(limit))), 1, &TcpConfig::linux(), NEVER);
    let kinds: Vec<_> = seen.steps.iter().map(|(.., step)| *step).collect();
    assert_eq!(kinds, [PlaybackStep::Requested, PlaybackStep::Started, PlaybackStep::Ended]);
    assert_eq!(sent, 5_760_300);
    let started = Instant::from_millis(seen.steps[1].1);
    let (mut media, mut latest) = (Duration::ZERO, Instant::ZERO);
    for (at, _, more) in seen.fetched {
        media += more;
        let played = at.saturating_since(started);
        assert!(media.saturating_sub(played) <= limit.buffer + Duration::from_millis(1), "{at:?}");
        latest = at;
    }
    assert_eq!(media, Duration::from_secs(90));
    // The last block is read when at most 10 s are left to play; without a limit everything would have
    // arrived in a second.
    assert!(latest >= started + Duration::from_secs(79), "{latest:?}");
}

fn segmented(rule: Rule) -> SegmentedVideo {
    SegmentedVideo {
        bitrates: [331_000, 688_000, 1_427_000, 2_962_000, 6_000_000].map(BitRate).into(),
        segment: Duration::from_secs(3),
        length: Duration::from_secs(100),
        rules: PlayoutRules { start: Duration::from_secs(3), resume: Duration::from_secs(3) },
        buffer: Duration::from_secs(25),
        rule,
    }
}

/// The first segment, 124,125 bytes and a header of 300, is 86 segments of TCP: 10, 20, 40 and 16 arrive at
/// 140, 160, 180 and 200 ms. All 34 segments of video use one connection, the last of 1 s.
#[test]
fn segments_come_over_one_connection() {
    for rule in [Rule::Bola(BolaParameters { v: 0.93, gamma_p: 5.0 }), Rule::Rate { safety: 0.9, samples: 5 }]
    {
        let (seen, sent) = watch(Media::Segments(segmented(rule)), 1, &wide(), NEVER);
        assert_eq!(seen.fetched[0], (Instant::from_millis(200), Bytes(124_125), Duration::from_secs(3)));
        assert_eq!(seen.steps[1], (1, 200, PlaybackStep::Started));
        assert_eq!(seen.steps[2], (1, 100_200, PlaybackStep::Ended));
        assert_eq!((seen.fetched.len(), seen.fetched[33].2), (34, Duration::from_secs(1)));
        let media: u64 = seen.fetched.iter().map(|(_, bytes, _)| bytes.get()).sum();
        assert_eq!(sent, media + 34 * 300);
    }
}

/// For any losses, every view ends, and all media arrived.
#[test]
fn views_end_whatever_is_lost() {
    for seed in 0..20 {
        let s = &mut Seeds::new(seed).stream("video");
        let losses: Vec<bool> = (0..997).map(|_| s.chance(0.02)).collect();
        let lost = |serial: u64| serial > 40 && losses[serial as usize % losses.len()];
        let limit =
            s.chance(0.5).then_some(ReadLimit { buffer: Duration::from_secs(9), block: Bytes(50_000) });
        let (seen, sent) = watch(Media::File(file(limit)), 1, &TcpConfig::linux(), lost);
        assert_eq!((seen.completed.len(), sent), (1, 5_760_300), "seed {seed}");
        let rule = Rule::Bola(BolaParameters { v: 0.93, gamma_p: 5.0 });
        let (seen, _) = watch(Media::Segments(segmented(rule)), 2, &TcpConfig::linux(), lost);
        assert_eq!((seen.completed.len(), seen.fetched.len()), (1, 68), "seed {seed}");
    }
}
