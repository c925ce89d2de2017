use airlane_core::Seeds;

use super::*;

/// The video of the paper on split-connection proxies (`splitproxy`): 512 kbit/s, 90 s, 5.76 MB.
const fn paper(limit: Option<ReadLimit>) -> Video {
    Video {
        bitrate: BitRate(512_000),
        groups: None,
        length: Duration::from_secs(90),
        rules: PlayoutRules { start: Duration::from_secs(2), resume: Duration::from_millis(500) },
        limit,
    }
}

/// Feeds a view at a constant rate, a packet of 1000 bytes each time; returns its steps other than fetches,
/// and the time when the last byte was read.
fn feed(video: Video, rate: BitRate, end: Instant) -> (Vec<(Instant, PlaybackStep)>, Instant) {
    let gap = rate.transmission_time(Bytes(1_000));
    let (mut view, mut told, mut waiting) =
        (ProgressiveView::new(video, &mut Seeds::new(1).stream("groups")), Vec::new(), Bytes::ZERO);
    let (mut sent, mut next, mut done) = (Bytes::ZERO, Instant::ZERO + gap, Instant::FAR_FUTURE);
    loop {
        let now = next.min(view.next_timeout(waiting > Bytes::ZERO));
        if now > end || view.has_ended() {
            return (told, done);
        }
        told.extend(view.advance(now).map(|step| (now, step)));
        if now == next {
            let packet = Bytes(1_000).min(video.size() - sent);
            (sent, waiting) = (sent + packet, waiting + packet);
            next = if sent == video.size() { Instant::FAR_FUTURE } else { next + gap };
        }
        let bytes = waiting.min(view.room());
        if bytes > Bytes::ZERO {
            waiting -= bytes;
            let (fetched, step) = view.take(now, bytes);
            assert!(matches!(fetched, PlaybackStep::Fetched { bytes: b, .. } if b == bytes));
            told.extend(step.map(|step| (now, step)));
            if view.left() == Bytes::ZERO {
                done = now;
            }
        }
    }
}

#[test]
fn the_file_of_the_paper_has_5_76_megabytes() {
    assert_eq!(paper(None).size(), Bytes(5_760_000));
    let odd = Video { bitrate: BitRate(3), length: Duration::from_secs(1), ..paper(None) };
    assert_eq!(odd.size(), Bytes(1));
}

/// At 1.024 Mbit/s two seconds of media arrive each second: playback starts after one, and ends 90 s later.
#[test]
fn a_network_faster_than_the_video_never_stalls() {
    let (told, done) = feed(paper(None), BitRate(1_024_000), Instant::FAR_FUTURE);
    let (start, end) = (Instant::from_millis(1_000), Instant::from_millis(91_000));
    assert_eq!(told, [(start, PlaybackStep::Started), (end, PlaybackStep::Ended)]);
    assert_eq!(done, Instant::from_millis(45_000));
}

/// At half the bitrate: 2 s of media after 4 s. From then on one second is played and half a second arrives
/// per second: the buffer is empty 4 s after the start, when 4 s of media have arrived in 8 s. The next half
/// second takes one second to arrive and, with the media that arrives meanwhile, lasts one second. This
/// repeats until all 90 s have arrived after 180 s. Because packets are discrete, the buffer is empty one or
/// two packets (31.25 ms each) earlier.
#[test]
fn at_half_the_bitrate_the_picture_moves_half_of_the_time() {
    let (told, done) = feed(paper(None), BitRate(256_000), Instant::FAR_FUTURE);
    assert_eq!(done, Instant::from_millis(180_000));
    assert_eq!(told[0], (Instant::from_millis(4_000), PlaybackStep::Started));
    let packets = Duration::from_micros(62_500);
    let second = |from: Instant, to: Instant| (to - from).abs_diff(Duration::from_secs(1)) <= packets;
    assert!((told[1].0 - told[0].0).abs_diff(Duration::from_secs(4)) <= packets, "{:?}", told[1]);
    for pair in told[1..told.len() - 2].windows(2) {
        assert!(pair[0].1 != pair[1].1 && second(pair[0].0, pair[1].0), "{pair:?}");
    }
    let stalls = told.iter().filter(|(_, step)| *step == PlaybackStep::Stalled).count();
    assert!((86..=92).contains(&stalls), "{stalls}"); // (180 - 8) s in rounds of 1.875 s to 2 s
}

/// A player that buffers at most 30 s: at 2.048 Mbit/s, four seconds of media come each second. Playback
/// starts after half a second. The buffer then grows by three seconds each second, up to 30 s; from there on
/// a block of 4 s of media is read whenever there is room. The last byte is read when at most 30 of the 90 s
/// are left to play.
#[test]
fn a_full_player_does_not_read() {
    let block = Bytes(256_000);
    let limit = ReadLimit { buffer: Duration::from_secs(30), block };
    let (told, done) = feed(paper(Some(limit)), BitRate(2_048_000), Instant::FAR_FUTURE);
    let (start, end) = (Instant::from_millis(500), Instant::from_millis(90_500));
    assert_eq!(told, [(start, PlaybackStep::Started), (end, PlaybackStep::Ended)]);
    assert!(done >= Instant::from_millis(60_500) && done <= Instant::from_millis(64_600), "{done:?}");
}

/// For any rate, limit and block: at most the limit is buffered, all bytes are read, each once, and the
/// fetched media plays exactly as long as the video.
#[test]
fn all_is_fetched_and_no_more_buffered_than_allowed() {
    for seed in 0..200 {
        let s = &mut Seeds::new(seed).stream("progressive");
        let length = Duration::from_millis(1 + s.below(100_000));
        let bitrate = BitRate(1_000 + s.below(5_000_000));
        let rules = PlayoutRules {
            start: Duration::from_millis(s.below(4_000)),
            resume: Duration::from_millis(s.below(4_000)),
        };
        let block = Bytes(1 + s.below(300_000));
        let least = rules.start.max(rules.resume) + bitrate.transmission_time(block);
        let buffer = least + Duration::from_millis(1 + s.below(20_000));
        let limit = Some(ReadLimit { buffer, block }).filter(|_| s.chance(0.8));
        let groups = s.chance(0.5).then(|| GroupLaw {
            group: Duration::from_millis(480),
            coefficient: 0.5,
            correlation: Duration::from_secs(5),
        });
        let video = Video { bitrate, groups, length, rules, limit };
        let rate = BitRate(bitrate.bits_per_second() * (1 + s.below(40)) / 10 + 1);
        check(video, rate, seed);
    }
}

fn check(video: Video, rate: BitRate, seed: u64) {
    let mut view = ProgressiveView::new(video, &mut Seeds::new(1).stream("groups"));
    let (mut now, mut media, mut bytes, mut waiting) =
        (Instant::ZERO, Duration::ZERO, Bytes::ZERO, Bytes::ZERO);
    let gap = rate.transmission_time(Bytes(1_400));
    let mut next = Instant::ZERO;
    let mut rounds = 0;
    while !view.has_ended() {
        rounds += 1;
        assert!(rounds < 2_000_000, "seed {seed}: it does not end");
        let came = bytes + waiting;
        let arrival = if came < video.size() { next } else { Instant::FAR_FUTURE };
        let then = arrival.min(view.next_timeout(waiting > Bytes::ZERO));
        assert!(then >= now && then < Instant::FAR_FUTURE, "seed {seed}: nothing more happens");
        now = then;
        view.advance(now);
        if now == arrival {
            waiting += Bytes(1_400).min(video.size() - came);
            next = now + gap;
        }
        let taken = waiting.min(view.room());
        if taken > Bytes::ZERO {
            waiting -= taken;
            let (PlaybackStep::Fetched { bytes: b, media: m, .. }, _) = view.take(now, taken) else {
                panic!("it tells what it fetched");
            };
            (bytes, media) = (bytes + b, media + m);
        }
        if let Some(limit) = video.limit {
            assert!(view.playout.level() <= limit.buffer + Duration::from_nanos(1), "seed {seed}");
        }
    }
    assert_eq!((bytes, media), (video.size(), video.length), "seed {seed}");
}
