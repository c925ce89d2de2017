//! A constant rate in periods, with pauses between them.

use airlane_core::{Bytes, Node};
use airlane_traffic::{self as traffic, Datagrams, OnOffSender, TcpSink, TcpSource, Transfer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Application, datagrams, transfer};
use crate::check::{Checked, Place};
use crate::endpoints::Endpoint;
use crate::format::{Flow, Resolved, tagged};
use crate::quantity::{Rate, Size, Time};
use crate::transports::{Carrier, Protocol};

/// Minimum of the mean duration of a period and its pause: many billions of them are hours of computing.
const CYCLE_MIN_S: f64 = 1e-6;
/// Maximum shape of a Pareto distribution: its durations then differ by less than a percent.
const SHAPE_MAX: f64 = 1_000.0;

/// A constant rate in periods, with pauses between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Application bits per second in the periods.
    pub rate: Rate,
    /// Application bytes per packet; over TCP, per write.
    pub payload: Size,
    /// Duration of the periods.
    pub on: Period,
    /// Duration of the pauses. The application begins with one.
    pub off: Period,
    /// Total application bytes, rounded up to whole packets. By default, there is no limit.
    pub size: Option<Size>,
}

/// Distribution of a duration.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Period {
    /// All are equal.
    Constant(ConstantPeriod),
    /// Uniform between two bounds.
    Uniform(UniformPeriod),
    /// Exponential.
    Exponential(ExponentialPeriod),
    /// Pareto: P(X > x) = (s/x)^shape for x above s, the mean times (shape - 1)/shape.
    Pareto(ParetoPeriod),
}
tagged!(Period by "kind" {
    "constant" => Constant(ConstantPeriod),
    "uniform" => Uniform(UniformPeriod),
    "exponential" => Exponential(ExponentialPeriod),
    "pareto" => Pareto(ParetoPeriod),
});

/// Equal durations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstantPeriod {
    /// The duration.
    pub length: Time,
}

/// Durations with a uniform distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UniformPeriod {
    /// Minimum.
    pub min: Time,
    /// Maximum.
    pub max: Time,
}

/// Durations with an exponential distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExponentialPeriod {
    /// Mean.
    pub mean: Time,
}

/// Durations with a Pareto distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParetoPeriod {
    /// Mean.
    pub mean: Time,
    /// Shape: above 1. Up to 2, the variance is infinite.
    pub shape: f64,
}

impl Application for OnOff {
    fn transports(&self) -> &'static [Protocol] {
        &[Protocol::Udp, Protocol::Tcp]
    }

    fn check(&self, flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
        datagrams::check_payload(self.payload, at)?;
        if let Some(size) = self.size {
            at.at_least(size, Size(Bytes(1)), "app.size", "out of range")?;
        }
        self.on.check("app.on", at)?;
        self.off.check("app.off", at)?;
        let [on, off] = [&self.on, &self.off].map(|period| period.distribution().mean_s());
        at.require(on > 0.0, "app.on", "the periods have no duration", "their mean must be above 0 s")?;
        let help = "the means of `on` and `off` must add up to at least 1 us";
        at.require(on + off >= CYCLE_MIN_S, "app.on", "too short", help)?;
        datagrams::check_number(self.rate.0.bits_per_second(), self.payload, flow, scenario, at)
    }

    fn node(&self, end: &Endpoint<'_>, carrier: Carrier) -> Box<dyn Node> {
        match carrier {
            Carrier::Tcp(tcp) if end.is_source() => transfer::tcp_source(end, tcp, |tcp| {
                TcpSource::new(tcp, end.path, Transfer::Bulk, end.start, end.stop)
                    .with_process(self.datagrams(end))
            }),
            Carrier::Tcp(tcp) => Box::new(TcpSink::new(tcp, end.path, end.start)),
            other => datagrams::node(end, other, || self.datagrams(end)),
        }
    }
}

impl OnOff {
    /// Its datagrams; over TCP, its writes.
    fn datagrams(&self, end: &Endpoint<'_>) -> Datagrams {
        let periods = [&self.off, &self.on].map(Period::distribution);
        let process = traffic::OnOff::new(periods, end.start, [end.draws("off"), end.draws("on")]);
        let payload = self.payload.0;
        let sender = OnOffSender::new(process, self.rate.0, payload, payload, end.stop_or_end());
        let packets = self.size.map_or(u64::MAX, |size| size.0.get().div_ceil(payload.get()));
        Datagrams::OnOff(Box::new(sender.with_limit(packets)))
    }
}

impl Period {
    const fn distribution(&self) -> traffic::Period {
        match self {
            Self::Constant(p) => traffic::Period::Constant(p.length.0),
            Self::Uniform(p) => traffic::Period::Uniform { min: p.min.0, max: p.max.0 },
            Self::Exponential(p) => traffic::Period::Exponential { mean: p.mean.0 },
            Self::Pareto(p) => traffic::Period::Pareto { mean: p.mean.0, shape: p.shape },
        }
    }

    fn check(&self, key: &str, at: &Place<'_>) -> Checked {
        match self {
            Self::Constant(_) => Ok(()),
            Self::Uniform(p) => {
                let help = "it must be at least `min`";
                at.require(p.min <= p.max, &format!("{key}.max"), "below `min`", help)
            }
            Self::Exponential(p) => at.positive(p.mean, &format!("{key}.mean")),
            Self::Pareto(p) => {
                at.positive(p.mean, &format!("{key}.mean"))?;
                let finite = p.shape > 1.0 && p.shape <= SHAPE_MAX;
                let help = "it must be above 1, so that the mean is finite, and at most 1000";
                at.require(finite, &format!("{key}.shape"), "out of range", help)
            }
        }
    }
}
