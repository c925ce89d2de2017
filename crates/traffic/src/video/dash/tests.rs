use airlane_core::Seeds;

use super::super::adaptation::BolaParameters;
use super::*;

/// The example of the paper on BOLA (§IV-A): five bitrates, segments of 3 s; a buffer of 25 s as in §V.
fn example(rule: Rule, length_s: u64) -> SegmentedVideo {
    SegmentedVideo {
        bitrates: [331_000, 688_000, 1_427_000, 2_962_000, 6_000_000].map(BitRate).into(),
        segment: Duration::from_secs(3),
        length: Duration::from_secs(length_s),
        rules: PlayoutRules { start: Duration::from_secs(3), resume: Duration::from_secs(3) },
        buffer: Duration::from_secs(25),
        rule,
    }
}

const BOLA: Rule = Rule::Bola(BolaParameters { v: 0.93, gamma_p: 5.0 });
const RATE: Rule = Rule::Rate { safety: 0.9, samples: 5 };

/// The results of a view: the time of each request, the level and the bitrate then; and the steps of
/// playback.
#[derive(Debug, Default)]
struct Told {
    asked: Vec<(Instant, Duration, BitRate)>,
    steps: Vec<(Instant, PlaybackStep)>,
    bytes: Bytes,
    media: Duration,
}

/// Plays a video over a network with a rate and no delay.
fn play(video: SegmentedVideo, rate: impl Fn(Instant) -> BitRate) -> Told {
    let (mut view, mut told, mut now) = (SegmentedView::new(video.clone()), Told::default(), Instant::ZERO);
    let mut arrival = Instant::FAR_FUTURE;
    loop {
        told.steps.extend(view.advance(now).map(|step| (now, step)));
        if now == arrival {
            let (fetched, step) = view.arrive(now);
            let PlaybackStep::Fetched { bytes, media, .. } = fetched else { panic!("{fetched:?}") };
            (told.bytes, told.media) = (told.bytes + bytes, told.media + media);
            told.steps.extend(step.map(|step| (now, step)));
            arrival = Instant::FAR_FUTURE;
        }
        if let Some(segment) = view.ask(now) {
            told.asked.push((now, view.level(), segment.bitrate));
            arrival = arrives(segment.bytes, now, &rate);
        }
        assert!(view.level() <= video.buffer, "{:?}", view.level());
        let then = arrival.min(view.next_timeout());
        if view.has_ended() {
            break;
        }
        assert!(then < Instant::FAR_FUTURE && (then > now || view.next_timeout() == now), "nothing happens");
        now = then;
    }
    told
}

/// When this many bytes have arrived, at a rate that may change each second.
fn arrives(bytes: Bytes, from: Instant, rate: &impl Fn(Instant) -> BitRate) -> Instant {
    let (mut at, mut left) = (from, bytes);
    loop {
        let rate = rate(at);
        let next_second = Instant::from_millis((at.as_nanos() / 1_000_000_000 + 1) * 1_000);
        let within = rate.bytes_in(next_second - at);
        if within >= left {
            return at + rate.transmission_time(left).max(Duration::from_nanos(1));
        }
        (left, at) = (left - within, next_second);
    }
}

fn stalls(told: &Told) -> usize {
    told.steps.iter().filter(|(_, step)| *step == PlaybackStep::Stalled).count()
}

/// At 2 Mbit/s the buffer settles where 1.427 and 2.962 Mbit/s have the same score, at 16.13 s (tests of the
/// rule). A segment at 1.427 takes 2.1405 s and raises the level by 0.8595 s, one at 2.962 takes 4.443 s and
/// lowers it by 1.443 s: segments are requested between 14.68 s and 16.99 s, where no other bitrate is
/// chosen. The network's rate is 2 Mbit/s, and so is the mean bitrate played.
#[test]
fn bola_settles_at_the_level_where_two_bitrates_are_worth_the_same() {
    let told = play(example(BOLA, 3_600), |_| BitRate(2_000_000));
    let late: Vec<_> = told.asked.iter().filter(|(at, ..)| *at > Instant::from_millis(100_000)).collect();
    for (at, level, bitrate) in &late {
        assert!([1_427_000, 2_962_000].contains(&bitrate.0), "{at:?} {bitrate:?}");
        let ms = level.as_millis();
        assert!((14_680..=16_990).contains(&ms), "{at:?} {ms} ms");
    }
    let mean = late.iter().map(|(.., bitrate)| bitrate.0).sum::<u64>() / late.len() as u64;
    assert!(mean.abs_diff(2_000_000) < 10_000, "{mean}");
    assert_eq!(stalls(&told), 0);
}

/// At 8 Mbit/s the highest bitrate is fetched faster than it plays: the player requests a segment whenever
/// there is room, at a level of 22 s, once in three seconds.
#[test]
fn a_fast_network_fills_the_buffer_with_the_highest_bitrate() {
    for rule in [BOLA, RATE] {
        let told = play(example(rule, 600), |_| BitRate(8_000_000));
        let late = told.asked.iter().filter(|(at, ..)| *at > Instant::from_millis(60_000));
        for (_, level, bitrate) in late {
            assert_eq!((*level, bitrate.0), (Duration::from_secs(22), 6_000_000));
        }
        assert_eq!(stalls(&told), 0);
    }
}

/// The rate rule at 2 Mbit/s: 1.8 are allowed, so 1.427 from the second segment on, and the buffer fills. The
/// first, of 331 kbit/s or 993 kbit, takes 496.5 ms, when playback starts.
#[test]
fn the_rate_rule_stays_below_the_rate() {
    let told = play(example(RATE, 600), |_| BitRate(2_000_000));
    assert_eq!(told.asked[0].2, BitRate(331_000));
    assert!(told.asked[1..].iter().all(|(.., bitrate)| *bitrate == BitRate(1_427_000)));
    assert_eq!(told.steps[0], (Instant::from_nanos(496_500_000), PlaybackStep::Started));
    assert_eq!(told.asked.last().map(|(_, level, _)| *level), Some(Duration::from_secs(22)));
}

/// The network's rate falls from 8 Mbit/s just after a request for a segment of 18 Mbit, with 22 s in the
/// buffer. At 1 Mbit/s it takes 18 s and playback continues; with the remaining 7 s the next segment is the
/// smallest. At 500 kbit/s it takes 36 s: playback stalls for 14 s, once.
#[test]
fn a_step_down_stalls_only_if_the_buffer_does_not_last() {
    let ask = play(example(BOLA, 600), |_| BitRate(8_000_000)).asked;
    let (at, ..) = *ask
        .iter()
        .find(|(at, level, _)| at.as_nanos() > 100_000_000_000 && *level == Duration::from_secs(22))
        .unwrap();
    let step = |to: u64| move |now: Instant| if now < at { BitRate(8_000_000) } else { BitRate(to) };
    let enough = play(example(BOLA, 600), step(1_000_000));
    assert_eq!(stalls(&enough), 0);
    let after = enough.asked.iter().find(|(asked, ..)| *asked > at).unwrap();
    // Whole bytes in each second: an error of some microseconds.
    assert!(after.1.abs_diff(Duration::from_secs(7)) < Duration::from_millis(1), "{after:?}");
    assert_eq!(after.2, BitRate(331_000));
    let short = play(example(BOLA, 600), step(500_000));
    let (stalled, resumed) = (short.steps[1], short.steps[2]);
    assert_eq!(stalled, (at + Duration::from_secs(22), PlaybackStep::Stalled));
    assert!((resumed.0 - at).abs_diff(Duration::from_secs(36)) < Duration::from_millis(1), "{resumed:?}");
    assert_eq!(resumed.1, PlaybackStep::Resumed);
    assert_eq!(stalls(&short), 1);
}

/// For any network, ladder and rule: all segments are fetched, each once, the buffer's limit is never
/// exceeded (checked at each step), and the time from start to end is playback or stalls.
#[test]
fn all_segments_come_whatever_the_network() {
    for seed in 0..300 {
        let s = &mut Seeds::new(seed).stream("dash");
        let mut bitrates: Vec<BitRate> =
            (0..=s.below(6)).map(|_| BitRate(50_000 + s.below(8_000_000))).collect();
        bitrates.sort_unstable();
        bitrates.dedup();
        let segment = Duration::from_millis(500 + s.below(9_500));
        let need = Duration::from_millis(s.below(10_000));
        let buffer = need + segment + Duration::from_millis(s.below(30_000));
        let segments = buffer.as_nanos() as f64 / segment.as_nanos() as f64;
        let rule = match s.below(3) {
            0 => Rule::Rate { safety: 0.3 + s.below(70) as f64 / 100.0, samples: 1 + s.below(32) as u8 },
            1 => Rule::Bola(BolaParameters::from_gamma(&bitrates, 0.5 + s.below(10) as f64, segments)),
            _ => Rule::Bola(BolaParameters::from_levels(&bitrates, (segments - 1.0) / 3.0, segments)),
        };
        let video = SegmentedVideo {
            bitrates: bitrates.into(),
            segment,
            length: Duration::from_millis(1 + s.below(300_000)),
            rules: PlayoutRules { start: need, resume: Duration::from_millis(s.below(10_000)).min(need) },
            buffer,
            rule,
        };
        let rates: Vec<u64> = (0..64).map(|_| s.below(10_000_000)).collect();
        let rate = |at: Instant| BitRate(rates[(at.as_nanos() / 1_000_000_000 % 64) as usize]);
        let told = play(video.clone(), rate);
        let count = video.length.as_nanos().div_ceil(segment.as_nanos()) as usize;
        assert_eq!((told.asked.len(), told.media), (count, video.length), "seed {seed}");
        let stops = &told.steps[1..told.steps.len() - 1];
        let still: u64 = stops.chunks(2).map(|pair| (pair[1].0 - pair[0].0).as_nanos()).sum();
        let (first, last) = (told.steps[0], told.steps[told.steps.len() - 1]);
        assert_eq!((first.1, last.1), (PlaybackStep::Started, PlaybackStep::Ended), "seed {seed}");
        assert_eq!((last.0 - first.0).as_nanos(), video.length.as_nanos() + still, "seed {seed}");
    }
}
