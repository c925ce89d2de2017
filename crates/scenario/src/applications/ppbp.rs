//! Overlapping bursts: a Poisson Pareto Burst Process.

use airlane_core::{Bytes, Node};
use airlane_traffic::{BurstParameters, Bursts, Datagrams, PpbpSender, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Application, datagrams};
use crate::check::{Checked, Place};
use crate::endpoints::Endpoint;
use crate::format::{Flow, Resolved};
use crate::quantity::{Rate, Size, Time};
use crate::transports::{Carrier, Protocol, Refusal};

/// Maximum mean number of active bursts.
const BURSTS_MAX: f64 = 10_000.0;

/// Bursts that arrive as a Poisson process and whose length follows a Pareto distribution (Zukerman, Neame and Addie,
/// INFOCOM 2003).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ppbp {
    /// Bit rate of each active burst; see `spacing`.
    pub rate: Rate,
    /// Mean length of a burst, as `reading` defines it.
    pub length: Time,
    /// Mean number of active bursts, as `reading` defines it.
    pub active: f64,
    /// Hurst parameter: above 0.5 and below 1.
    pub hurst: f64,
    /// Meaning of `length` and `active`.
    pub reading: PpbpReading,
    /// Application bytes per packet.
    pub payload: Size,
    /// Bytes per packet in the computation of the rate.
    pub spacing: Size,
}

/// Meaning of the length and the number of bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PpbpReading {
    /// As in the module for ns-3 (Ammar, Begin and Guérin-Lassous, SIMUTools 2011): `active` is the number of bursts that
    /// start per second, at most 3 s apart, and `length` is the minimum length of a burst.
    Module,
    /// `active` is the mean number of active bursts, and `length` is their mean length.
    Literal,
}

impl Ppbp {
    /// The parameters of the process.
    const fn process(&self) -> BurstParameters {
        BurstParameters {
            active: self.active,
            length: self.length.0,
            hurst: self.hurst,
            reading: match self.reading {
                PpbpReading::Module => Reading::Module,
                PpbpReading::Literal => Reading::Literal,
            },
        }
    }
}

impl Application for Ppbp {
    fn transports(&self) -> &'static [Protocol] {
        &[Protocol::Udp]
    }

    fn refusal(&self, other: Protocol) -> Refusal {
        datagrams::refusal(other)
    }

    fn check(&self, flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
        datagrams::check_payload(self.payload, at)?;
        at.at_least(self.spacing, Size(Bytes(1)), "app.spacing", "out of range")?;
        at.require(
            self.rate.0.bits_per_second() > 0,
            "app.rate",
            "out of range",
            "it must be above 0 bit/s",
        )?;
        at.positive(self.length, "app.length")?;
        let long_range = self.hurst > 0.5 && self.hurst < 1.0;
        at.require(
            long_range,
            "app.hurst",
            "out of range for Pareto burst lengths",
            "it must be above 0.5 and below 1",
        )?;
        let some = self.active > 0.0 && self.active <= BURSTS_MAX;
        at.require(some, "app.active", "out of range", "it must be above 0 and at most 10000")?;
        let active = self.process().mean_active();
        let help = format!("{active:.0} bursts would be active on average; the limit is {BURSTS_MAX}");
        at.require(active <= BURSTS_MAX, "app.length", "too long for this number of bursts", &help)?;
        let rate = self.rate.0.bits_per_second().saturating_mul(active.max(1.0) as u64);
        datagrams::check_number(rate, self.spacing, flow, scenario, at)
    }

    fn node(&self, end: &Endpoint<'_>, carrier: Carrier) -> Box<dyn Node> {
        datagrams::node(end, carrier, || {
            let bursts = Bursts::new(self.process(), end.start, end.draws("bursts"));
            let (rate, payload, spacing) = (self.rate.0, self.payload.0, self.spacing.0);
            let sender = PpbpSender::new(bursts, rate, payload, spacing, end.stop_or_end());
            Datagrams::Bursts(Box::new(sender))
        })
    }
}
