//! QoS classes: the standardized QCI of LTE (TS 23.203 tables 6.1.7-A and 6.1.7-B) and 5QI of NR (TS 23.501 table
//! 5.7.4-1).
//!
//! A value that both tables have means the same in both, and a priority level of NR is ten times that of LTE: one table
//! is enough, with the priority levels of NR. The values are those of the copies at tech-invite.com (TS 23.203, TS 26.925
//! clause with table 5.7.4-1) and, for the delay-critical classes, of `five_qi_qos_mapping.cpp` in srsRAN_Project at
//! 10081bf. That 82 to 85 have the same values in LTE is not verified.
//!
//! ```
//! use airlane_core::Duration;
//! use airlane_ran::qos::{QosClass, ResourceType};
//!
//! let video = QosClass::of(2).expect("conversational video");
//! assert_eq!((video.resource, video.priority), (ResourceType::Gbr, 40));
//! assert_eq!(video.delay_budget, Duration::from_millis(150));
//! assert!(QosClass::of(11).is_none());
//! ```

use airlane_core::{Bytes, Duration};

/// The resource type of a class (TS 23.501 §5.7.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceType {
    /// Guaranteed bit rate.
    Gbr,
    /// Guaranteed bit rate, delay-critical: bursts up to [`QosClass::burst`] have to arrive within the delay budget.
    DelayCriticalGbr,
    /// No guaranteed bit rate.
    NonGbr,
}

impl ResourceType {
    /// The name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gbr => "gbr",
            Self::DelayCriticalGbr => "delay-critical-gbr",
            Self::NonGbr => "non-gbr",
        }
    }
}

/// A standardized QoS class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QosClass {
    /// QCI in LTE, 5QI in NR.
    pub qi: u8,
    /// Resource type.
    pub resource: ResourceType,
    /// Default priority level of NR, ten times that of LTE; the lowest number is served first.
    pub priority: u8,
    /// Packet delay budget between the UE and the gateway: an upper bound for 98 % of the packets of a flow that does not
    /// exceed its guaranteed bit rate (TS 23.203 §6.1.7.2, TS 23.501 §5.7.3.4).
    pub delay_budget: Duration,
    /// Packet error (loss) rate.
    pub error_rate: f64,
    /// Maximum data burst volume, of delay-critical classes.
    pub burst: Option<Bytes>,
}

/// The averaging window of guaranteed bit rates: the default of all classes in TS 23.501 table 5.7.4-1.
pub const AVERAGING_WINDOW: Duration = Duration::from_millis(2000);

/// The share of packets that may take longer than the delay budget, whose bound has a confidence level of 98 %.
pub const LATE_SHARE: f64 = 0.02;

const fn class(
    (qi, resource, priority): (u8, ResourceType, u8),
    budget_ms: u64,
    error_rate: f64,
    burst: Option<u64>,
) -> QosClass {
    let burst = match burst {
        Some(bytes) => Some(Bytes(bytes)),
        None => None,
    };
    QosClass { qi, resource, priority, delay_budget: Duration::from_millis(budget_ms), error_rate, burst }
}

const fn gbr(qi: u8, priority: u8, budget_ms: u64, error_rate: f64) -> QosClass {
    class((qi, ResourceType::Gbr, priority), budget_ms, error_rate, None)
}

const fn other(qi: u8, priority: u8, budget_ms: u64, error_rate: f64) -> QosClass {
    class((qi, ResourceType::NonGbr, priority), budget_ms, error_rate, None)
}

const fn critical(qi: u8, priority: u8, budget_ms: u64, error_rate: f64, burst: u64) -> QosClass {
    class((qi, ResourceType::DelayCriticalGbr, priority), budget_ms, error_rate, Some(burst))
}

/// All classes, in ascending order.
pub const CLASSES: [QosClass; 27] = [
    gbr(1, 20, 100, 1e-2),
    gbr(2, 40, 150, 1e-3),
    gbr(3, 30, 50, 1e-3),
    gbr(4, 50, 300, 1e-6),
    other(5, 10, 100, 1e-6),
    other(6, 60, 300, 1e-6),
    other(7, 70, 100, 1e-3),
    other(8, 80, 300, 1e-6),
    other(9, 90, 300, 1e-6),
    other(10, 90, 1100, 1e-6),
    gbr(65, 7, 75, 1e-2),
    gbr(66, 20, 100, 1e-2),
    gbr(67, 15, 100, 1e-3),
    other(69, 5, 60, 1e-6),
    other(70, 55, 200, 1e-6),
    gbr(71, 56, 150, 1e-6),
    gbr(72, 56, 300, 1e-4),
    gbr(73, 56, 300, 1e-8),
    gbr(74, 56, 500, 1e-8),
    gbr(75, 25, 50, 1e-2),
    gbr(76, 56, 500, 1e-4),
    other(79, 65, 50, 1e-2),
    other(80, 68, 10, 1e-6),
    critical(82, 19, 10, 1e-4, 255),
    critical(83, 22, 10, 1e-4, 1354),
    critical(84, 24, 30, 1e-5, 1354),
    critical(85, 21, 5, 1e-5, 255),
];

/// The largest packet error rate of a bearer whose losses RLC repairs. Classes that tolerate more use unacknowledged
/// mode: those of calls and games, as 5QI 1, 2 and 7 in `configs/qos.yml` of srsRAN_Project at 02c940e, which has
/// acknowledged mode for 5 and 9.
const ACKNOWLEDGED_MOST: f64 = 1e-4;

impl QosClass {
    /// The class of default bearers.
    pub const DEFAULT: Self = CLASSES[8];

    /// The class with this QCI or 5QI; `None` if it is not standardized.
    #[must_use]
    pub fn of(qi: u8) -> Option<Self> {
        CLASSES.binary_search_by_key(&qi, |class| class.qi).ok().map(|place| CLASSES[place])
    }

    /// Whether it has a guaranteed bit rate.
    #[must_use]
    pub const fn has_guaranteed_rate(&self) -> bool {
        !matches!(self.resource, ResourceType::NonGbr)
    }

    /// Whether RLC repairs its losses.
    #[must_use]
    pub const fn is_acknowledged(&self) -> bool {
        self.error_rate <= ACKNOWLEDGED_MOST
    }
}

/// The data of a bearer of a UE in the downlink, for scheduler policies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BearerDemand {
    /// Its class.
    pub class: QosClass,
    /// Bytes waiting, headers included.
    pub backlog: Bytes,
    /// The time that its oldest packet of which no byte has been sent has waited (head-of-line delay).
    pub waited: Duration,
    /// Those of `backlog` that its guaranteed bit rate covers now.
    pub guaranteed: Bytes,
}

impl BearerDemand {
    /// Control elements of the MAC without data of any bearer, in the class of the default bearer.
    pub(crate) const fn of_control(bytes: Bytes) -> Self {
        let (waited, guaranteed) = (Duration::ZERO, Bytes::ZERO);
        Self { class: QosClass::DEFAULT, backlog: bytes, waited, guaranteed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_sorted_and_found() {
        assert!(CLASSES.is_sorted_by(|a, b| a.qi < b.qi));
        assert!(CLASSES.iter().all(|class| QosClass::of(class.qi) == Some(*class)));
        assert_eq!((QosClass::DEFAULT.qi, QosClass::of(81)), (9, None));
    }

    #[test]
    fn calls_and_games_use_unacknowledged_mode() {
        let acknowledged = |qi| QosClass::of(qi).expect("a class").is_acknowledged();
        assert_eq!([1, 2, 5, 7, 9].map(acknowledged), [false, false, true, false, true]);
    }

    #[test]
    fn only_delay_critical_classes_have_a_burst_volume() {
        let critical = |class: &QosClass| class.resource == ResourceType::DelayCriticalGbr;
        assert!(CLASSES.iter().all(|class| critical(class) == class.burst.is_some()));
    }
}
