use airlane_core::{Seeds, Stream};

use super::super::sleep::{Depth, Sleeps};
use super::*;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn long(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn config(short: Option<(u64, u32)>) -> DrxConfig {
    DrxConfig {
        on_duration: long(10),
        inactivity: long(100),
        long_cycle: long(320),
        short: short.map(|(length, cycles)| ShortCycle { length: long(length), cycles }),
        retransmission: [long(8), long(4)],
        command: false,
    }
}

/// The process of TS 36.321 §5.7, subframe by subframe, with timers that count down.
#[derive(Default)]
struct BySubframes {
    on_duration: u64,
    inactivity: u64,
    short_cycle: u64,
    uses_short: bool,
    windows: Vec<(u64, u64)>,
    request: bool,
}

impl BySubframes {
    /// Begins a subframe; returns whether it is in Active Time.
    fn begin(&mut self, config: &DrxConfig, offset: u64, subframe: u64) -> bool {
        let short = config.short.map(|short| (short.length.as_millis(), u64::from(short.cycles)));
        let tick = |timer: &mut u64| {
            let expires = *timer == 1;
            *timer = timer.saturating_sub(1);
            expires
        };
        tick(&mut self.on_duration);
        if tick(&mut self.short_cycle) {
            self.uses_short = false;
        }
        if tick(&mut self.inactivity) {
            self.expire(short);
        }
        let cycle = match short {
            Some((length, _)) if self.uses_short => length,
            _ => config.long_cycle.as_millis(),
        };
        if subframe % cycle == offset % cycle {
            self.on_duration = config.on_duration.as_millis();
        }
        let retransmits = self.windows.iter().any(|(from, until)| (*from..*until).contains(&subframe));
        self.on_duration > 0 || self.inactivity > 0 || self.request || retransmits
    }

    fn expire(&mut self, short: Option<(u64, u64)>) {
        if let Some((length, cycles)) = short {
            (self.uses_short, self.short_cycle) = (true, length * cycles);
        }
    }
}

/// Random events while the UE is active, and requests at any time.
#[test]
fn active_time_is_that_of_the_specification_subframe_by_subframe() {
    for (seed, short) in [(1, None), (2, Some((20, 2))), (3, Some((80, 3))), (4, Some((160, 1)))] {
        let (config, offset) = (config(short), 37);
        let mut drx = Drx::new(Some(config), long(offset), Phase::Connected, Instant::ZERO);
        let (mut reference, mut draws) = (BySubframes::default(), Seeds::new(seed).stream("drx"));
        let mut total = [0, 0];
        let mut events = 0;
        for subframe in 0..200_000 {
            let expected = reference.begin(&config, offset, subframe);
            assert_eq!(drx.is_active(ms(subframe)), expected, "subframe {subframe} with {short:?}");
            total[usize::from(expected)] += 1;
            events += u32::from(happen(&mut drx, &mut reference, &config, &mut draws, subframe, expected));
        }
        assert!(events > 300, "{events}");
        let tally = drx.tallies(ms(200_000))[0];
        assert_eq!((tally.active, tally.total()), (long(total[1]), long(200_000)), "{short:?}");
    }
}

/// Perhaps something happens in a subframe. Returns whether it does.
fn happen(
    drx: &mut Drx,
    reference: &mut BySubframes,
    config: &DrxConfig,
    draws: &mut Stream,
    subframe: u64,
    active: bool,
) -> bool {
    let end = ms(subframe + 1);
    if reference.request && draws.chance(0.1) {
        reference.request = false;
        drx.on_buffer_status(end);
        reference.inactivity = config.inactivity.as_millis() + 1;
        drx.on_new_transmission(end);
        return true;
    }
    if !reference.request && draws.chance(0.001) {
        reference.request = true;
        drx.on_request(end);
        return true;
    }
    if !active || reference.request || !draws.chance(0.02) {
        return false;
    }
    match draws.below(4) {
        0 | 1 => {
            reference.inactivity = config.inactivity.as_millis() + 1;
            drx.on_new_transmission(end);
        }
        2 => {
            reference.windows.push((subframe + 8, subframe + 16));
            let process = ProcessId::downlink(CellId(0), 0);
            drx.on_undecoded(process, ms(subframe + 8), end);
        }
        _ => {
            (reference.on_duration, reference.inactivity) = (0, 0);
            reference.expire(config.short.map(|short| (short.length.as_millis(), u64::from(short.cycles))));
            // The timer counts from the next subframe on.
            reference.short_cycle += u64::from(reference.short_cycle > 0);
            drx.on_command(end);
        }
    }
    true
}

#[test]
fn the_next_active_time_is_the_first_one() {
    let mut drx = Drx::new(Some(config(Some((20, 2)))), long(5), Phase::Connected, Instant::ZERO);
    assert_eq!(drx.next_active(ms(0)), ms(5));
    drx.on_new_transmission(ms(7));
    assert_eq!(drx.active_until(ms(7)), ms(107));
    // Short cycles from 107 to 147: on-durations at 125 and 145.
    assert_eq!(drx.next_active(ms(107)), ms(125));
    assert_eq!(drx.active_until(ms(125)), ms(135));
    assert_eq!(drx.next_active(ms(135)), ms(145));
    assert_eq!(drx.next_active(ms(155)), ms(325));
    drx.on_request(ms(200));
    assert_eq!(drx.active_until(ms(200)), Instant::FAR_FUTURE);
}

#[test]
fn a_long_sleep_is_counted_at_once_and_by_its_depth() {
    let mut drx = Drx::new(Some(config(None)), long(0), Phase::Connected, Instant::ZERO);
    let tally = drx.tallies(ms(320 * 1_000_000))[0];
    assert_eq!(tally.active, long(10_000_000));
    assert_eq!(tally.sleeps[Depth::Deep as usize].count, 1_000_000);
    assert_eq!(tally.total(), long(320 * 1_000_000));
    // A request ends a sleep of 10 ms.
    drx.on_request(ms(320 * 1_000_000 + 20));
    drx.on_buffer_status(ms(320 * 1_000_000 + 20));
    let tally = drx.tallies(ms(320 * 1_000_000 + 20))[0];
    assert_eq!(tally.sleeps[Depth::Light as usize], Sleeps { time: long(10), count: 1 });
}
