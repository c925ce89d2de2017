//! Discontinuous reception (DRX): when a UE listens to PDCCH (TS 36.321 v17.0 §5.7, TS 38.321 v18.5.0 §5.7).
//!
//! The timers are instants, so that a UE that sleeps costs nothing: whether it is in Active Time follows from the time
//! of the question, and so does the next time at which it will be. An idle UE is the same process with the cycle of
//! paging: it listens in its paging occasions.
//!
//! Timers run in time, as those of NR do with FDD and TDD (TS 38.331 §6.3.2, DRX-Config: milliseconds and slots). Those
//! of LTE count PDCCH subframes, which with FDD are all subframes; LTE with TDD is not modelled.
//!
//! A UE with several serving cells has one Active Time, in which it listens to all that are active (TS 38.321 v17 §5.7; TS
//! 36.321 §5.7, unverified). Retransmission timers are those of the HARQ processes of each cell. A second DRX group is not
//! modelled.
//!
//! Difference from the specifications: on-duration timers start where the long cycle would start them, until the first
//! short cycle begins.

use airlane_core::{Bytes, CellId, Dbm, Direction, Duration, Instant};

use super::sleep::{Phase, RadioUse, SleepTally};

/// A configuration of DRX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrxConfig {
    /// drx-onDurationTimer. Shorter than any cycle.
    pub on_duration: Duration,
    /// drx-InactivityTimer: how long a UE stays active after PDCCH has announced a new transmission.
    pub inactivity: Duration,
    /// drx-LongCycle.
    pub long_cycle: Duration,
    /// The short cycle, if there is one.
    pub short: Option<ShortCycle>,
    /// drx-RetransmissionTimerDL and drx-RetransmissionTimerUL.
    pub retransmission: [Duration; 2],
    /// The cell sends a UE the DRX command when it has no more downlink data for it, and knows of none for the uplink (TS
    /// 36.321 §6.1.3.3, unverified).
    pub command: bool,
}

/// The short cycle of DRX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortCycle {
    /// drx-ShortCycle. The long cycle is a multiple of it.
    pub length: Duration,
    /// drx-ShortCycleTimer, in short cycles.
    pub cycles: u32,
}

/// A HARQ process of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessId {
    pub(crate) cell: CellId,
    pub(crate) direction: Direction,
    pub(crate) number: u8,
}

impl ProcessId {
    /// A process of the downlink of a cell.
    pub(crate) const fn downlink(cell: CellId, number: u8) -> Self {
        Self { cell, direction: Direction::Downlink, number }
    }

    /// A process of the uplink of a cell.
    pub(crate) const fn uplink(cell: CellId, number: u8) -> Self {
        Self { cell, direction: Direction::Uplink, number }
    }
}

/// A block whose retransmission the UE waits for, and when it does.
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    process: ProcessId,
    timer: Period,
}

/// A time from its first instant to before its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Period {
    from: Instant,
    until: Instant,
}

impl Period {
    const NEVER: Self = Self { from: Instant::ZERO, until: Instant::ZERO };

    fn contains(&self, at: Instant) -> bool {
        self.from <= at && at < self.until
    }
}

/// The configuration of a UE that listens all the time, which it does not use.
const UNUSED: DrxConfig = DrxConfig {
    on_duration: Duration::from_millis(1),
    inactivity: Duration::ZERO,
    long_cycle: Duration::from_millis(2),
    short: None,
    retransmission: [Duration::ZERO; 2],
    command: false,
};

/// DRX of a UE.
#[derive(Clone, Debug)]
pub(crate) struct Drx {
    config: DrxConfig,
    /// When cycles begin: drxStartOffset and drx-SlotOffset.
    offset: Duration,
    /// The drx-InactivityTimer runs before this time.
    inactive_from: Instant,
    /// On-duration timers that started before this time have been stopped.
    stopped: Instant,
    /// When the short cycle is used: because of the latest expiry of the drx-InactivityTimer, which may be in the
    /// future, and because of the one before.
    short: [Period; 2],
    /// When a retransmission timer runs.
    retransmissions: Vec<Retransmission>,
    /// Since when a scheduling request is pending.
    request: Option<Instant>,
    /// [`Instant::FAR_FUTURE`] for a UE that listens all the time.
    held_until: Instant,
    /// Active Time and sleep are counted up to this time, which is now or the beginning of the present sleep.
    counted: Instant,
    /// When the UE last fell asleep and woke up, as far as it is counted.
    asleep_from: Instant,
    awake_from: Instant,
    /// By phase, of which this is the present one.
    tallies: [SleepTally; Phase::COUNT],
    phase: Phase,
    /// The blocks of the UE in both directions.
    pub(crate) radio_use: RadioUse,
    /// When the UE is not on its default bandwidth part, the latest time; `None` without one.
    away: Option<Period>,
}

impl DrxConfig {
    /// drx-StartOffset of a UE (TS 38.331 §6.3.2): any number of milliseconds, with the same probability.
    pub(crate) fn offset(&self, identity: u64) -> Duration {
        Duration::from_millis(identity % self.long_cycle.as_millis().max(1))
    }
}

impl Drx {
    /// A UE that begins to use DRX now, or to listen all the time. `offset` is below the long cycle.
    pub(crate) fn new(config: Option<DrxConfig>, offset: Duration, phase: Phase, now: Instant) -> Self {
        let held_until = if config.is_some() { now } else { Instant::FAR_FUTURE };
        let config = config.unwrap_or(UNUSED);
        let shortest = config.short.map_or(config.long_cycle, |short| short.length);
        assert!(config.on_duration < shortest, "a UE that listens all the time needs no DRX");
        Self {
            config,
            offset,
            inactive_from: now,
            stopped: Instant::ZERO,
            short: [Period::NEVER; 2],
            retransmissions: Vec::new(),
            request: None,
            held_until,
            counted: now,
            asleep_from: now,
            awake_from: now,
            tallies: Default::default(),
            phase,
            radio_use: RadioUse::default(),
            away: None,
        }
    }

    /// The UE has another configuration from now on; timers are as at the start.
    pub(crate) fn reconfigure(
        &mut self,
        config: Option<DrxConfig>,
        offset: Duration,
        phase: Phase,
        now: Instant,
    ) {
        self.interrupt_sleep(now);
        let Self { tallies, radio_use, asleep_from, awake_from, .. } = *self;
        *self = Self { tallies, radio_use, asleep_from, awake_from, ..Self::new(config, offset, phase, now) };
    }

    /// Whether the UE has bandwidth parts; it begins on the default one.
    pub(crate) fn set_parts(&mut self, has_parts: bool) {
        self.away = has_parts.then_some(Period::NEVER);
    }

    /// The UE is not on its default part from a time to another one, as far as is known.
    pub(crate) fn leave_default(&mut self, (from, until): (Instant, Instant)) {
        if let Some(away) = &mut self.away {
            *away = Period { from, until };
        }
    }

    /// The time of a period in which the UE is on its default part.
    fn time_on_default(&self, period: Period) -> Duration {
        let Some(away) = self.away else { return Duration::ZERO };
        let begin = period.from.max(away.from);
        (period.until - period.from) - period.until.min(away.until).saturating_since(begin)
    }

    /// A slot with a block for the UE.
    pub(crate) fn receive(&mut self, slot: Duration, bytes: Bytes, now: Instant) {
        self.radio_use.receive(slot, bytes);
        self.radio_use.on_default[0] += self.time_on_default(Period { from: now, until: now + slot });
    }

    /// A slot with a block from the UE.
    pub(crate) fn send(&mut self, slot: Duration, bytes: Bytes, power: Dbm, now: Instant) {
        self.radio_use.send(slot, bytes, power);
        self.radio_use.on_default[1] += self.time_on_default(Period { from: now, until: now + slot });
    }

    /// Whether the cell sends the DRX command.
    pub(crate) fn has_command(&self) -> bool {
        self.config.command
    }

    /// Whether the UE listens to PDCCH.
    pub(crate) fn is_active(&self, at: Instant) -> bool {
        self.active_end(at) > at
    }

    /// When the UE stops to listen that listens now, if nothing happens; [`Instant::FAR_FUTURE`] if a request keeps it
    /// active.
    pub(crate) fn active_until(&self, now: Instant) -> Instant {
        let mut until = now;
        loop {
            let end = self.active_end(until);
            if end <= until || end == Instant::FAR_FUTURE {
                return until.max(end);
            }
            until = end;
        }
    }

    /// The earliest time from now on at which the UE listens, if nothing happens.
    pub(crate) fn next_active(&self, now: Instant) -> Instant {
        if self.is_active(now) {
            return now;
        }
        let ahead = |from: Instant| if from > now { from } else { Instant::FAR_FUTURE };
        let windows = self.retransmissions.iter().map(|block| ahead(block.timer.from));
        let request = self.request.map_or(Instant::FAR_FUTURE, ahead);
        windows.fold(self.next_on_duration(now).min(request), Instant::min)
    }

    /// PDCCH that ends at this time announces a new transmission.
    pub(crate) fn on_new_transmission(&mut self, at: Instant) {
        self.count_until(at);
        self.expire_inactivity(at + self.config.inactivity, at);
    }

    /// The drx-InactivityTimer will expire at a time, or has expired now: the short cycle begins.
    fn expire_inactivity(&mut self, at: Instant, now: Instant) {
        self.inactive_from = at;
        let Some(short) = self.config.short else { return };
        let [latest, _] = self.short;
        if latest.from <= now {
            self.short[1] = latest;
        }
        self.short[0] = Period { from: at, until: at + short.length * u64::from(short.cycles) };
    }

    /// The UE sends a scheduling request.
    pub(crate) fn on_request(&mut self, at: Instant) {
        self.interrupt_sleep(at);
        self.request.get_or_insert(at);
    }

    /// The UE sends a buffer status, and no longer waits for a grant.
    pub(crate) fn on_buffer_status(&mut self, at: Instant) {
        if self.request.is_some() {
            self.count_until(at);
            self.request = None;
        }
    }

    /// A block was not decoded: its retransmission timer starts at a time, that of the expiry of its HARQ round-trip
    /// timer.
    pub(crate) fn on_undecoded(&mut self, process: ProcessId, from: Instant, now: Instant) {
        self.count_until(now);
        self.retransmissions.retain(|block| block.timer.until > now);
        let [downlink, uplink] = self.config.retransmission;
        let length = if process.direction == Direction::Downlink { downlink } else { uplink };
        let timer = Period { from, until: from + length };
        self.retransmissions.push(Retransmission { process, timer });
    }

    /// PDCCH announces the retransmission of a block, whose timer stops.
    pub(crate) fn on_retransmission(&mut self, process: ProcessId, now: Instant) {
        self.count_until(now);
        self.retransmissions.retain(|block| block.process != process);
    }

    /// The HARQ buffers of a secondary cell are flushed: the UE waits for none of its blocks.
    pub(crate) fn on_flushed(&mut self, cell: CellId, now: Instant) {
        self.count_until(now);
        self.retransmissions.retain(|block| block.process.cell != cell);
    }

    /// The UE has received the DRX command.
    pub(crate) fn on_command(&mut self, at: Instant) {
        self.count_until(at);
        self.stopped = at;
        self.expire_inactivity(at, at);
    }

    /// Active Time and sleep until now, by phase.
    pub(crate) fn tallies(&self, now: Instant) -> [SleepTally; Phase::COUNT] {
        let mut until_now = self.clone();
        until_now.interrupt_sleep(now);
        until_now.tallies
    }

    /// Active Time in all phases until now.
    pub(crate) fn listened(&self, now: Instant) -> Duration {
        self.tallies(now).iter().fold(Duration::ZERO, |sum, tally| sum + tally.active)
    }

    /// The tally of the present phase.
    fn tally(&mut self) -> &mut SleepTally {
        &mut self.tallies[self.phase as usize]
    }

    /// The latest time up to `at`, which is not after now, at which the UE listened.
    pub(crate) fn latest_active(&mut self, at: Instant, now: Instant) -> Instant {
        self.count_until(now);
        let is_awake = self.is_active(self.counted);
        match is_awake {
            true if at >= self.awake_from => at,
            true => at.min(self.asleep_from),
            false => at.min(self.counted),
        }
    }

    /// Since when the UE has been listening, if it does now.
    pub(crate) fn awake_from(&mut self, now: Instant) -> Instant {
        self.count_until(now);
        self.awake_from
    }

    /// The end of what keeps the UE active at this time, the latest; not after it if nothing does.
    fn active_end(&self, at: Instant) -> Instant {
        let windows = self.retransmissions.iter().map(|block| block.timer);
        let windows = windows.filter(|timer| timer.contains(at)).map(|timer| timer.until).max().unwrap_or(at);
        let request = if self.request.is_some_and(|from| from <= at) { Instant::FAR_FUTURE } else { at };
        let ends = [self.inactive_from, self.held_until, windows, request];
        ends.into_iter().fold(self.on_duration_end(at), Instant::max)
    }

    /// The end of the on-duration at this time, or this time if there is none.
    fn on_duration_end(&self, at: Instant) -> Instant {
        let begun = |cycle: Duration| self.latest_start(cycle, at).filter(|start| *start >= self.stopped);
        let uses_short = |start: &Instant| self.short.iter().any(|period| period.contains(*start));
        let short = self.config.short.and_then(|short| begun(short.length).filter(uses_short));
        let start = begun(self.config.long_cycle).max(short);
        start.map_or(at, |start| (start + self.config.on_duration).max(at))
    }

    /// The latest beginning of a cycle of this length that is not after a time.
    fn latest_start(&self, cycle: Duration, at: Instant) -> Option<Instant> {
        let first = Instant::ZERO + Duration::from_nanos(self.offset.as_nanos() % cycle.as_nanos());
        (first <= at).then(|| at - Duration::from_nanos((at - first).as_nanos() % cycle.as_nanos()))
    }

    /// The next beginning of an on-duration after a time.
    fn next_on_duration(&self, after: Instant) -> Instant {
        let next = |cycle: Duration, after: Instant| match self.latest_start(cycle, after) {
            Some(start) => start + cycle,
            None => Instant::ZERO + Duration::from_nanos(self.offset.as_nanos() % cycle.as_nanos()),
        };
        let long = next(self.config.long_cycle, after);
        let Some(short) = self.config.short else { return long };
        let in_period = |period: &Period| {
            let from = after.max(if period.from > Instant::ZERO {
                period.from - Duration::from_nanos(1)
            } else {
                period.from
            });
            Some(next(short.length, from)).filter(|start| period.contains(*start))
        };
        self.short.iter().filter_map(in_period).fold(long, Instant::min)
    }

    /// Counts Active Time and sleep until now. A sleep that has not ended is counted when it has.
    fn count_until(&mut self, now: Instant) {
        while self.counted < now {
            let from = self.counted;
            if self.is_active(from) {
                self.counted = self.active_until(from).min(now);
                let active = self.counted - from;
                let on_default = self.time_on_default(Period { from, until: self.counted });
                self.tally().active += active;
                self.tally().on_default += on_default;
                continue;
            }
            let until = self.next_active(from);
            if until > now {
                return;
            }
            self.wake(until);
            self.count_cycles(now);
        }
    }

    /// Counts the whole long cycles from the beginning of an on-duration on, if nothing else keeps the UE active.
    fn count_cycles(&mut self, now: Instant) {
        let from = self.counted;
        let long = self.config.long_cycle;
        let is_periodic = self.request.is_none()
            && self.latest_start(long, from) == Some(from)
            && self.short.iter().all(|period| period.until <= from)
            && self.retransmissions.iter().all(|block| block.timer.until <= from)
            && self.inactive_from.max(self.held_until) <= from
            && self.away.is_none_or(|away| away.until <= from);
        if is_periodic {
            let cycles = (now - from).as_nanos() / long.as_nanos();
            let on_duration = self.config.on_duration;
            self.tally().active += on_duration * cycles;
            if self.away.is_some() {
                self.tally().on_default += on_duration * cycles;
            }
            self.tally().sleep(long - on_duration, cycles);
            self.counted += long * cycles;
            if cycles > 0 {
                (self.asleep_from, self.awake_from) =
                    (self.counted - (long - self.config.on_duration), self.counted);
            }
        }
    }

    /// The UE becomes active now, if it sleeps.
    fn interrupt_sleep(&mut self, now: Instant) {
        self.count_until(now);
        if self.counted < now {
            self.wake(now);
        }
    }

    /// The sleep that began when the count ends is over.
    fn wake(&mut self, at: Instant) {
        let slept = at - self.counted;
        self.tally().sleep(slept, 1);
        (self.asleep_from, self.awake_from) = (self.counted, at);
        self.counted = at;
    }
}

#[cfg(test)]
mod tests;
