//! Whether a UE receives a cell, by events: A1 or A4 above a threshold of RSRP, and A2 below another one (TS 36.331 v17
//! §5.5.4.2, §5.5.4.5 and §5.5.4.3, TS 38.331 v17 §5.5.4.2, §5.5.4.5 and §5.5.4.3). They add and release secondary cells
//! (SCells), and end and begin measurement gaps.
//!
//! A connected UE measures the cell in each period of 200 ms and filters what it measures. An event is reported when its condition
//! has been fulfilled for the time to trigger, and the message of RRC that follows from it takes effect some time later. The
//! message that completes the set-up of a connection or a handover has its effect at once, by the RSRP then.
//!
//! Simplifications: messages of RRC are not lost, and the UE needs no measurement gaps for a carrier without a configured
//! SCell.

use airlane_core::{Dbm, Duration, Instant};

use super::measurement::Filter;

/// How often the UE measures: the measurement period of layer 1 for a cell on the frequency of a serving cell, without DRX
/// (TS 36.133 §8.1.2.2.1, unverified).
pub(crate) const PERIOD: Duration = Duration::from_millis(200);
/// Filter coefficient k: fc4, the default (TS 38.331 §6.3.2, FilterCoefficient).
const COEFFICIENT: u8 = 4;

/// When a cell counts as received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoverageConfig {
    /// Events A1 and A4: a cell with a higher RSRP is received.
    pub above: Dbm,
    /// Event A2: a cell with a lower RSRP is not received any more.
    pub below: Dbm,
    /// Time to trigger of both events.
    pub time_to_trigger: Duration,
    /// From a report until the UE has carried out the message that follows from it.
    pub preparation: Duration,
}

/// The events of one cell.
#[derive(Debug)]
pub(crate) struct CoverageEvents {
    config: CoverageConfig,
    rsrp: Filter,
    /// Before fading, at the end of the latest period.
    pub(crate) before: Option<Dbm>,
    /// The next measurement; [`Instant::FAR_FUTURE`] without a connection.
    measures_at: Instant,
    /// Since when the condition of the event that is possible is fulfilled.
    since: Option<Instant>,
    changes_at: Option<Instant>,
    /// The next measurement is that of the message that completes a connection or a handover.
    is_first: bool,
}

impl CoverageEvents {
    /// Those of a UE that is not connected.
    pub(crate) fn new(config: CoverageConfig) -> Self {
        Self {
            config,
            rsrp: Filter::default(),
            before: None,
            measures_at: Instant::FAR_FUTURE,
            since: None,
            changes_at: None,
            is_first: false,
        }
    }

    /// The UE is connected to a primary cell.
    pub(crate) fn begin(&mut self, now: Instant) {
        *self = Self { measures_at: now, is_first: true, ..Self::new(self.config) };
    }

    /// The UE leaves its primary cell or its connection.
    pub(crate) fn end(&mut self) {
        *self = Self::new(self.config);
    }

    /// When something is due.
    pub(crate) fn due(&self) -> Instant {
        self.measures_at.min(self.changes_at.unwrap_or(Instant::FAR_FUTURE))
    }

    /// Whether the UE measures now.
    pub(crate) fn measures(&self, now: Instant) -> bool {
        self.measures_at <= now
    }

    /// RSRP of the cell over the last period; minus infinity if its radio is off.
    pub(crate) fn measure(&mut self, now: Instant, measured: Dbm, is_received: bool) {
        self.measures_at = now + PERIOD;
        let filtered = if measured.0 == f64::NEG_INFINITY {
            self.rsrp = Filter::default();
            measured.0
        } else {
            self.rsrp.sample(measured.0, COEFFICIENT)
        };
        let is_fulfilled = match is_received {
            true => filtered < self.config.below.0,
            false => filtered > self.config.above.0,
        };
        if core::mem::take(&mut self.is_first) {
            self.changes_at = is_fulfilled.then_some(now);
            return;
        }
        if self.changes_at.is_some() {
            return; // a message is under way
        }
        self.since = is_fulfilled.then(|| self.since.unwrap_or(now));
        if self.since.is_some_and(|since| since + self.config.time_to_trigger <= now) {
            (self.since, self.changes_at) = (None, Some(now + self.config.preparation));
        }
    }

    /// Whether a message takes effect now, once: the cell is received from now on, or is not any more.
    pub(crate) fn changes(&mut self, now: Instant) -> bool {
        self.changes_at.take_if(|at| *at <= now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn events() -> CoverageEvents {
        let config = CoverageConfig {
            above: Dbm(-110.0),
            below: Dbm(-116.0),
            time_to_trigger: Duration::from_millis(300),
            preparation: Duration::from_millis(40),
        };
        let mut events = CoverageEvents::new(config);
        events.begin(ms(0));
        events
    }

    #[test]
    fn a_cell_that_is_received_at_the_start_is_added_at_once() {
        let mut events = events();
        assert!(events.measures(ms(0)) && !events.changes(ms(0)));
        events.measure(ms(0), Dbm(-109.0), false);
        assert!(events.changes(ms(0)) && !events.changes(ms(0)));
    }

    #[test]
    fn it_is_released_and_added_again_after_the_time_to_trigger_and_the_message() {
        let mut events = events();
        events.measure(ms(0), Dbm(-90.0), false);
        assert!(events.changes(ms(0)));
        let mut is_received = true;
        let mut changes = Vec::new();
        for now in (1..8_000).map(ms) {
            if events.measures(now) {
                let measured = if now < ms(4_000) { -130.0 } else { -90.0 };
                events.measure(now, Dbm(measured), is_received);
            }
            if events.changes(now) {
                is_received = !is_received;
                changes.push(now);
            }
        }
        // The filter, from -90 dBm by halves towards -130 dBm, is below -116 dBm at 400 ms. The trigger is 300 ms, and the
        // next measurement is at 800 ms; and so, with -110 dBm at the second measurement or the first, after 4 s.
        assert_eq!(changes, [ms(840), ms(4_440)]);
    }

    #[test]
    fn a_shorter_change_has_no_effect_and_a_connection_that_ends_forgets_all() {
        let mut events = events();
        events.measure(ms(0), Dbm(-109.0), false);
        assert!(events.changes(ms(0)));
        for (at, dbm) in [(200, -130.0), (400, -80.0), (600, -130.0), (800, -130.0)] {
            events.measure(ms(at), Dbm(dbm), true);
            assert_eq!(events.due(), ms(at + 200), "{at}");
        }
        events.end();
        assert_eq!(events.due(), Instant::FAR_FUTURE);
    }

    #[test]
    fn a_radio_that_is_off_is_not_received() {
        let mut events = events();
        events.measure(ms(0), Dbm(-80.0), false);
        assert!(events.changes(ms(0)));
        for at in [200, 400, 600] {
            events.measure(ms(at), Dbm(f64::NEG_INFINITY), true);
        }
        assert!(events.changes(ms(640)));
    }
}
