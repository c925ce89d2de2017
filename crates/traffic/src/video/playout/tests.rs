use airlane_core::{Seeds, Stream};

use super::*;

const fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

const fn media(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const RULES: PlayoutRules = PlayoutRules { start: media(2_000), resume: media(500) };

#[test]
fn the_picture_starts_stalls_moves_again_and_ends() {
    let mut playout = Playout::new(RULES, media(5_000));
    assert_eq!(playout.receive(ms(100), media(1_999)), None);
    assert_eq!(playout.next_change(), Instant::FAR_FUTURE);
    assert_eq!(playout.receive(ms(300), media(2_000)), Some(PlaybackStep::Started));
    assert_eq!(playout.next_change(), ms(2_300));
    assert_eq!((playout.advance(ms(1_300)), playout.level()), (None, media(1_000)));
    // Half a second more: the buffer is empty at 2.8 s.
    assert_eq!(playout.receive(ms(1_300), media(2_500)), None);
    assert_eq!(playout.advance(ms(2_800)), Some(PlaybackStep::Stalled));
    assert_eq!(playout.receive(ms(4_000), media(2_999)), None);
    assert_eq!(playout.receive(ms(5_000), media(3_000)), Some(PlaybackStep::Resumed));
    assert_eq!(playout.receive(ms(5_200), media(4_900)), None);
    assert_eq!(playout.advance(ms(7_400)), Some(PlaybackStep::Stalled));
    // A tenth of a second is all that is left: playback resumes with less than the threshold.
    assert_eq!(playout.receive(ms(8_000), media(5_000)), Some(PlaybackStep::Resumed));
    assert_eq!(playout.advance(ms(8_100)), Some(PlaybackStep::Ended));
    assert!(playout.has_ended());
}

#[test]
fn a_video_shorter_than_the_start_buffer_starts_when_it_is_there() {
    let mut playout = Playout::new(RULES, media(1_000));
    assert_eq!(playout.receive(ms(10), media(999)), None);
    assert_eq!(playout.receive(ms(20), media(1_000)), Some(PlaybackStep::Started));
    assert_eq!(playout.advance(ms(1_020)), Some(PlaybackStep::Ended));
}

/// Media arrives at random times in random amounts: the time from the start to the end is playback or stalls,
/// a stall ends only with the required buffer, and only received media is played.
#[test]
fn time_is_played_or_stood_still() {
    for seed in 0..500 {
        let s = &mut Seeds::new(seed).stream("playout");
        let length = media(1 + s.below(60_000));
        let rules = PlayoutRules { start: media(s.below(5_000)), resume: media(s.below(5_000)) };
        let told = run(s, rules, length);
        let started = told.first().expect("it started");
        assert_eq!(started.1, PlaybackStep::Started);
        let &(ended, last) = told.last().expect("it ended");
        assert_eq!(last, PlaybackStep::Ended, "seed {seed}");
        let stalls = told[1..told.len() - 1].chunks(2);
        let still: u64 = stalls.map(|pair| (pair[1].0 - pair[0].0).as_nanos()).sum();
        assert_eq!((ended - started.0).as_nanos(), length.as_nanos() + still, "seed {seed}");
    }
}

/// Plays a video to its end; returns its steps, and checks the invariants at each step.
fn run(s: &mut Stream, rules: PlayoutRules, length: Duration) -> Vec<(Instant, PlaybackStep)> {
    let mut playout = Playout::new(rules, length);
    let (mut now, mut received, mut told) = (Instant::ZERO, Duration::ZERO, Vec::new());
    while !playout.has_ended() {
        let arrival = if received < length { now + media(1 + s.below(3_000)) } else { Instant::FAR_FUTURE };
        while playout.next_change() <= arrival && playout.next_change() != Instant::FAR_FUTURE {
            now = playout.next_change();
            told.extend(playout.advance(now).map(|step| (now, step)));
        }
        if arrival == Instant::FAR_FUTURE {
            continue;
        }
        now = arrival;
        told.extend(playout.advance(now).map(|step| (now, step)));
        received = length.min(received + media(s.below(3_000)));
        let step = playout.receive(now, received);
        let enough = if step == Some(PlaybackStep::Started) { rules.start } else { rules.resume };
        assert!(step.is_none() || playout.level() >= enough || received == length);
        assert!(playout.level() <= received);
        told.extend(step.map(|step| (now, step)));
    }
    told
}
