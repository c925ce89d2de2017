//! Power headroom reports: TS 36.321 §5.4.6, TS 38.321 §5.4.6.
//!
//! A report is triggered when the MAC is configured or reset, when the periodic timer expires, and when the path loss
//! has changed by more than a threshold while the prohibit timer does not run. It is a MAC control element of the next
//! block that has room for it, with the headroom of that block: P_CMAX less the power that the formula of power control
//! asks for, in levels. The cell learns it when it decodes the block.
//!
//! The path loss is that of the uplink before fading, as in [`super::power`]. Not included: power reductions (P-MPR, MPE)
//! and their triggers, reports for secondary cells and of types 2 and 3.

use airlane_core::{Decibel, Instant};

use crate::config::{HeadroomLayout, HeadroomReports};

/// The highest level of a report: the field has six bits (TS 36.321 §6.1.3.6, TS 38.321 §6.1.3.8).
const HIGHEST: u8 = 63;

/// The reporting of a UE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadroomReporting {
    /// Triggered and not sent yet.
    is_triggered: bool,
    /// The periodic timer's expiry; [`Instant::FAR_FUTURE`] while it does not run.
    periodic: Instant,
    /// The prohibit timer's expiry.
    prohibited: Instant,
    /// The path loss in dB at the last report.
    path_loss_db: f64,
}

impl Default for HeadroomReporting {
    /// After a reset of the MAC: configuration triggers a report.
    fn default() -> Self {
        Self {
            is_triggered: true,
            periodic: Instant::FAR_FUTURE,
            prohibited: Instant::ZERO,
            path_loss_db: f64::INFINITY,
        }
    }
}

impl HeadroomReporting {
    /// Whether a report is due in a new block that is built now, at this path loss in dB.
    #[inline]
    pub(crate) fn is_due(&mut self, config: &HeadroomReports, now: Instant, path_loss_db: f64) -> bool {
        let change = (path_loss_db - self.path_loss_db).abs();
        let has_changed = config.path_loss_change.is_some_and(|least| change > least.0);
        self.is_triggered |= now >= self.periodic || (has_changed && now >= self.prohibited);
        self.is_triggered
    }

    /// A report is sent: both timers start again.
    pub(crate) fn on_sent(&mut self, config: &HeadroomReports, now: Instant, path_loss_db: f64) {
        *self = Self {
            is_triggered: false,
            periodic: config.periodic.map_or(Instant::FAR_FUTURE, |time| now + time),
            prohibited: now + config.prohibit,
            path_loss_db,
        };
    }
}

/// The power of a UE, as its cell knows it from reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownPower {
    /// The power of a PRB without the limit of the UE's power, relative to full power over the band; `None` before the
    /// first report.
    pub(crate) factor: Option<f32>,
    /// The time from which on a block may contain a report.
    may_report: Instant,
}

impl Default for KnownPower {
    fn default() -> Self {
        Self { factor: None, may_report: Instant::ZERO }
    }
}

impl KnownPower {
    /// A block on `granted` of the band's PRBs that was sent at `sent` has reported this level. Returns whether the
    /// known power has changed.
    pub(crate) fn on_report(
        &mut self,
        config: &HeadroomReports,
        level: u8,
        granted: u16,
        band: u16,
        sent: Instant,
    ) -> bool {
        let headroom = headroom_of(config.layout, level);
        let before = self.factor;
        self.factor = Some((Decibel(-headroom.0).linear() * f64::from(band) / f64::from(granted)) as f32);
        let wait = config.periodic.map_or(config.prohibit, |periodic| periodic.min(config.prohibit));
        self.may_report = sent + wait;
        self.factor != before
    }

    /// The headroom on `granted` of the band's PRBs by the latest report.
    pub(crate) fn headroom(&self, band: u16, granted: u16) -> Option<Decibel> {
        let power = f64::from(self.factor?) * f64::from(granted) / f64::from(band);
        Some(Decibel(-Decibel::from_linear(power).0))
    }

    /// Bytes of a report that a block sent at this time may contain.
    #[inline]
    pub(crate) fn reserve(&self, config: &HeadroomReports, at: Instant) -> u64 {
        if at >= self.may_report { report_bytes(config.layout) } else { 0 }
    }
}

/// Bytes of a report with its subheader.
pub(crate) const fn report_bytes(layout: HeadroomLayout) -> u64 {
    match layout {
        HeadroomLayout::Lte => 1 + 1, // TS 36.321 §6.1.2, §6.1.3.6
        HeadroomLayout::Nr => 1 + 2,  // TS 38.321 §6.1.2, §6.1.3.8
    }
}

/// The reported level of a headroom. Steps are 1 dB; those of NR are 2 dB from 22 dB on.
pub(crate) fn level_of(layout: HeadroomLayout, headroom: Decibel) -> u8 {
    let level = match layout {
        // TS 36.133 table 9.1.8.4-1: level 0 is -23 to -22 dB.
        HeadroomLayout::Lte => headroom.0 + 23.0,
        // TS 38.133 table 10.1.17.1-1: level 0 is below -32 dB, 55 is 22 to 24 dB.
        HeadroomLayout::Nr if headroom.0 < 22.0 => headroom.0 + 33.0,
        HeadroomLayout::Nr => 55.0 + (headroom.0 - 22.0) / 2.0,
    };
    libm::floor(level).clamp(0.0, f64::from(HIGHEST)) as u8
}

/// The middle of a level; of the open lowest level of NR and the open highest levels, their closed end.
pub(crate) fn headroom_of(layout: HeadroomLayout, level: u8) -> Decibel {
    let step = f64::from(level);
    Decibel(match layout {
        HeadroomLayout::Lte if level >= HIGHEST => 40.0,
        HeadroomLayout::Lte => step - 23.0 + 0.5,
        HeadroomLayout::Nr if level == 0 => -32.0,
        HeadroomLayout::Nr if level >= HIGHEST => 38.0,
        HeadroomLayout::Nr if level < 55 => step - 33.0 + 0.5,
        HeadroomLayout::Nr => 22.0 + 2.0 * (step - 55.0) + 1.0,
    })
}

#[cfg(test)]
mod tests {
    use airlane_core::Duration;

    use super::*;

    const CONFIG: HeadroomReports = HeadroomReports {
        layout: HeadroomLayout::Nr,
        periodic: Some(Duration::from_millis(100)),
        prohibit: Duration::from_millis(20),
        path_loss_change: Some(Decibel(3.0)),
    };

    #[test]
    fn the_levels_of_the_tables() {
        use HeadroomLayout::{Lte, Nr};
        let lte =
            [(-30.0, 0), (-23.0, 0), (-22.5, 0), (-22.0, 1), (0.0, 23), (39.9, 62), (40.0, 63), (60.0, 63)];
        let nr =
            [(-40.0, 0), (-32.1, 0), (-32.0, 1), (0.0, 33), (21.9, 54), (22.0, 55), (23.9, 55), (36.0, 62)];
        for (layout, pairs) in [(Lte, lte), (Nr, nr)] {
            for (headroom, level) in pairs {
                assert_eq!(level_of(layout, Decibel(headroom)), level, "{layout:?}: {headroom} dB");
            }
            // A level and its middle.
            for level in 0..=HIGHEST {
                let again = level_of(layout, Decibel(headroom_of(layout, level).0 - 1e-9));
                assert!(again == level || level == HIGHEST && again == level - 1, "{layout:?}: {level}");
            }
        }
        assert_eq!(level_of(Nr, Decibel(38.0)), 63);
    }

    #[test]
    fn a_report_is_due_on_configuration_then_by_timer_or_path_loss() {
        let at = Instant::from_millis;
        let mut reporting = HeadroomReporting::default();
        assert!(reporting.is_due(&CONFIG, at(0), 100.0));
        assert!(reporting.is_due(&CONFIG, at(5), 100.0), "it stays triggered until it is sent");
        reporting.on_sent(&CONFIG, at(5), 100.0);
        assert!(!reporting.is_due(&CONFIG, at(24), 104.0), "prohibited");
        assert!(!reporting.is_due(&CONFIG, at(25), 103.0), "not more than the threshold");
        assert!(reporting.is_due(&CONFIG, at(25), 103.1));
        reporting.on_sent(&CONFIG, at(25), 103.1);
        assert!(!reporting.is_due(&CONFIG, at(124), 103.1));
        assert!(reporting.is_due(&CONFIG, at(125), 103.1), "periodic");
    }

    #[test]
    fn infinity_leaves_the_report_on_configuration() {
        let config = HeadroomReports { periodic: None, path_loss_change: None, ..CONFIG };
        let mut reporting = HeadroomReporting::default();
        assert!(reporting.is_due(&config, Instant::ZERO, 100.0));
        reporting.on_sent(&config, Instant::ZERO, 100.0);
        assert!(!reporting.is_due(&config, Instant::from_millis(1_000_000), 160.0));
    }

    #[test]
    fn a_cell_knows_the_power_of_a_block_to_half_a_level() {
        // 10 of 100 PRBs with a headroom of -3 dB: +16 dBm asked for, 13 dB above 3 dBm, that of the band.
        let mut known = KnownPower::default();
        known.on_report(&CONFIG, level_of(HeadroomLayout::Nr, Decibel(-3.0)), 10, 100, Instant::ZERO);
        let factor = known.factor.unwrap();
        assert!((10.0 * libm::log10f(factor) - 13.0).abs() <= 0.5 + 1e-4, "{factor}");
        assert_eq!(known.reserve(&CONFIG, Instant::from_millis(19)), 0);
        assert_eq!(known.reserve(&CONFIG, Instant::from_millis(20)), 3);
    }
}
