//! Whether a run was in real time: how late its departures and its ticks were.
//!
//! A *departure* is a packet that is written to a device; it is late by the time since its virtual departure. A *tick*
//! is an event of the network, such as a slot of its cells; it is late by the time since it was due. A run is valid
//! if, for both, p99 is at most the bound and p99.9 at most ten times the bound, and no packet was dropped by a device.

use airlane_core::Duration;
use airlane_record::{Column, Histogram, Table};
use serde::Serialize;

/// The bound of p99, unless the user sets another one.
pub const BOUND: Duration = Duration::from_millis(1);
/// The bound of p99.9 as a multiple of that of p99.
const TAIL: u64 = 10;
/// Values below this do not make a histogram grow: 10 s.
const EXPECTED_MAX: u64 = 10_000_000_000;

/// Measures a run.
#[derive(Clone, Debug)]
pub struct Lateness {
    departures: Histogram,
    slots: Histogram,
    late_slots: u64,
    tun_drops: u64,
    bound: Duration,
}

/// The report about a run, in the form of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RealTime {
    /// Whether the run was in real time.
    pub valid: bool,
    /// Departures.
    pub departures: u64,
    /// Lateness of departures in µs: the median; `null` without departures.
    pub late_us_p50: Option<f64>,
    /// The 99th percentile.
    pub late_us_p99: Option<f64>,
    /// The 99.9th percentile.
    pub late_us_p999: Option<f64>,
    /// The maximum.
    pub late_us_max: Option<f64>,
    /// Ticks.
    pub slots: u64,
    /// Lateness of ticks in µs: the median; `null` without ticks.
    pub slot_late_us_p50: Option<f64>,
    /// The 99th percentile.
    pub slot_late_us_p99: Option<f64>,
    /// The 99.9th percentile.
    pub slot_late_us_p999: Option<f64>,
    /// The maximum.
    pub slot_late_us_max: Option<f64>,
    /// Ticks that were later than the bound.
    pub late_slots: u64,
    /// Packets that the devices dropped because their queue was full.
    pub tun_drops: u64,
    /// The bound of p99, in µs.
    pub bound_us: f64,
    /// Why the run is not valid: one sentence for each reason.
    pub reasons: Vec<String>,
}

/// Four values of one histogram in µs.
struct Quantiles {
    p50: Option<f64>,
    p99: Option<f64>,
    p999: Option<f64>,
    max: Option<f64>,
}

impl Quantiles {
    fn of(histogram: &Histogram) -> Self {
        let at = |parts, whole| histogram.quantile(parts, whole).map(us);
        Self { p50: at(1, 2), p99: at(99, 100), p999: at(999, 1_000), max: histogram.max().map(us) }
    }
}

impl Lateness {
    /// No measurement yet.
    #[must_use]
    pub fn new(bound: Duration) -> Self {
        Self {
            departures: Histogram::with_expected_max(EXPECTED_MAX),
            slots: Histogram::with_expected_max(EXPECTED_MAX),
            late_slots: 0,
            tun_drops: 0,
            bound,
        }
    }

    /// A packet left this long after its time.
    #[inline]
    pub fn departure(&mut self, late: Duration) {
        self.departures.record(late.as_nanos());
    }

    /// A tick was handled this long after its time.
    #[inline]
    pub fn slot(&mut self, late: Duration) {
        self.slots.record(late.as_nanos());
        self.late_slots += u64::from(late > self.bound);
    }

    /// The devices have dropped this many packets.
    pub const fn set_tun_drops(&mut self, drops: u64) {
        self.tun_drops = drops;
    }

    /// The report.
    #[must_use]
    pub fn report(&self) -> RealTime {
        let [departures, slots] = [&self.departures, &self.slots].map(Quantiles::of);
        let mut reasons = vec![];
        for (name, quantiles) in [("departures", &departures), ("slots", &slots)] {
            for (share, value, factor) in [("99 %", quantiles.p99, 1), ("99.9 %", quantiles.p999, TAIL)] {
                let bound = us(self.bound.as_nanos() * factor);
                if let Some(value) = value.filter(|value| *value > bound) {
                    reasons.push(format!(
                        "{share} of the {name} were at most {value:.0} µs late; the bound is {bound:.0} µs"
                    ));
                }
            }
        }
        match self.tun_drops {
            0 => {}
            1 => reasons.push("a device dropped 1 packet because its queue was full".to_owned()),
            n => reasons.push(format!("the devices dropped {n} packets because their queues were full")),
        }
        RealTime {
            valid: reasons.is_empty(),
            departures: self.departures.count(),
            late_us_p50: departures.p50,
            late_us_p99: departures.p99,
            late_us_p999: departures.p999,
            late_us_max: departures.max,
            slots: self.slots.count(),
            slot_late_us_p50: slots.p50,
            slot_late_us_p99: slots.p99,
            slot_late_us_p999: slots.p999,
            slot_late_us_max: slots.max,
            late_slots: self.late_slots,
            tun_drops: self.tun_drops,
            bound_us: us(self.bound.as_nanos()),
            reasons,
        }
    }

    /// The histograms: for departures and slots the buckets that have values, with their edges.
    #[must_use]
    pub fn table(&self) -> Table {
        let histograms = [&self.departures, &self.slots];
        let kinds = ["departures", "slots"];
        let rows: Vec<(u32, (u64, u64, u64))> = (0..)
            .zip(histograms)
            .flat_map(|(kind, histogram)| histogram.buckets().map(move |bucket| (kind, bucket)))
            .collect();
        let mut table = Table::default();
        let labels = kinds.map(str::to_owned).to_vec();
        table.push("of", Column::Labels { labels, of: rows.iter().map(|row| row.0).collect() });
        table.push("late_us_from", Column::F64(rows.iter().map(|(_, (from, ..))| us(*from)).collect()));
        table.push("late_us_below", Column::F64(rows.iter().map(|(_, (_, below, _))| us(*below)).collect()));
        table.push("count", Column::I64(rows.iter().map(|(_, (.., count))| *count as i64).collect()));
        table
    }
}

impl Default for Lateness {
    fn default() -> Self {
        Self::new(BOUND)
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// 1000 departures, of which `late` have this lateness and the others 20 µs.
    fn run(late: u64, by: Duration) -> Lateness {
        let mut lateness = Lateness::default();
        for index in 0..1_000 {
            lateness.departure(if index < late { by } else { us(20) });
            lateness.slot(us(5));
        }
        lateness
    }

    #[test]
    fn a_run_is_valid_while_both_percentiles_are_within_their_bounds() {
        let report = run(10, us(1_500)).report();
        assert!(report.valid && report.reasons.is_empty(), "{report:?}");
        assert_eq!((report.departures, report.slots, report.late_slots), (1_000, 1_000, 0));
        let near = |value: Option<f64>, us: f64| (value.unwrap() - us).abs() <= us / 256.0;
        assert!(near(report.late_us_p50, 20.0) && near(report.late_us_p99, 20.0));
        assert!(near(report.late_us_p999, 1_500.0) && report.late_us_max == Some(1_500.0));
        assert!(near(report.slot_late_us_p999, 5.0) && report.bound_us == 1_000.0);
        // p99.9 of 1000 values is the second largest: one value beyond all bounds is allowed.
        assert!(run(1, us(500_000)).report().valid);
    }

    #[test]
    fn each_bound_has_its_reason() {
        let report = run(11, us(1_100)).report();
        assert!(!report.valid && report.reasons.len() == 1, "{report:?}");
        assert!(report.reasons[0].starts_with("99 % of the departures"), "{report:?}");
        assert!(report.reasons[0].ends_with("the bound is 1000 µs"), "{report:?}");
        let report = run(2, us(10_200)).report();
        assert!(report.reasons[0].starts_with("99.9 % of the departures"), "{report:?}");
        let mut slots = run(0, us(0));
        (0..20).for_each(|_| slots.slot(us(2_000)));
        let report = slots.report();
        assert!(
            report.reasons[0].starts_with("99 % of the slots") && report.reasons.len() == 1,
            "{report:?}"
        );
        assert_eq!(report.late_slots, 20);
        let mut drops = run(0, us(0));
        drops.set_tun_drops(3);
        assert_eq!(drops.report().reasons, ["the devices dropped 3 packets because their queues were full"]);
        let mut wide = Lateness::new(us(2_000));
        (0..100).for_each(|_| wide.departure(us(1_900)));
        assert!(wide.report().valid);
    }

    #[test]
    fn the_json_has_the_names_of_the_design_and_null_for_what_was_not_measured() {
        let json = serde_json::to_value(Lateness::default().report()).unwrap();
        for key in ["late_us_p50", "late_us_p99", "late_us_p999", "late_us_max"] {
            assert!(json[key].is_null(), "{json}");
        }
        assert_eq!(json["valid"], true);
        assert_eq!((&json["late_slots"], &json["tun_drops"]), (&0.into(), &0.into()));
        let json = serde_json::to_value(run(0, us(0)).report()).unwrap();
        assert!(json["late_us_p50"].as_f64().is_some_and(|value| value > 19.0), "{json}");
    }

    #[test]
    fn the_table_has_every_value_once() {
        let table = run(10, us(1_500)).table();
        let Some(Column::I64(counts)) = table.column("count") else { panic!("{table:?}") };
        assert_eq!(counts, &[990, 10, 1_000]);
        let Some(Column::F64(from)) = table.column("late_us_from") else { panic!("{table:?}") };
        let Some(Column::F64(below)) = table.column("late_us_below") else { panic!("{table:?}") };
        for (index, value) in [20.0, 1_500.0, 5.0].into_iter().enumerate() {
            assert!(from[index] <= value && value < below[index], "{table:?}");
        }
    }
}
