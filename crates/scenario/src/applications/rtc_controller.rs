//! The rate controllers of calls.

use airlane_core::Ecn;
use airlane_rtc::media::FeedbackFormat;
use airlane_rtc::{
    CallParameters, Constant, Gcc, GccSettings, Nada, NadaSettings, RateController, ReportTiming, Scream,
    ScreamSettings,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rtc::check_rate;
use crate::check::{Checked, Place};
use crate::extensions::RateControllers;
use crate::format::tagged;
use crate::quantity::Rate;

/// Bounds of the weight of a flow. A choice.
const PRIORITIES: [f64; 2] = [0.1, 10.0];

/// Law that sets the rate of the media.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum RtcController {
    /// Google congestion control, as libwebrtc has it: delay by a trend line, loss, and probes.
    Gcc(GccController),
    /// SCReAM v2 (draft-ietf-ccwg-rfc8298bis-screamv2): a window by queue delay, loss and ECN marks. It takes marks for
    /// those of L4S if the flow has `transport.ecn = "ect1"`.
    Scream(ScreamController),
    /// NADA (RFC 8698): a rate by one signal of queue delay, loss and marks.
    Nada(NadaController),
    /// Keeps one rate.
    Constant(ConstantRate),
    /// Your own controller.
    Own(OwnRateController),
}
tagged!(RtcController by "kind" {
    "gcc" => Gcc(GccController),
    "scream" => Scream(ScreamController),
    "nada" => Nada(NadaController),
    "constant" => Constant(ConstantRate),
    "own" => Own(OwnRateController)
});

/// Google congestion control; it has no settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GccController {}

/// SCReAM v2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScreamController {
    /// Which algorithm and constants.
    pub variant: ScreamParameters,
}

/// The algorithm and the constants of SCReAM v2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScreamParameters {
    /// Those of the draft.
    Draft,
    /// The draft's algorithm with the constants and options of Ericsson's implementation.
    Ericsson,
    /// Those of libwebrtc.
    Libwebrtc,
}

/// NADA.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NadaController {
    /// Weight of the flow among others (`PRIO`).
    pub priority: f64,
}

/// A constant rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstantRate {
    /// The rate of all media with their headers.
    pub rate: Rate,
}

/// Your own controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnRateController {
    /// Its name, by which `--controller` or a program passes it to the run.
    pub name: String,
}

impl RtcController {
    /// Its name in results: its `kind` in scenario files, or the name of your own.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Gcc(_) => "gcc",
            Self::Scream(_) => "scream",
            Self::Nada(_) => "nada",
            Self::Constant(_) => "constant",
            Self::Own(own) => &own.name,
        }
    }

    /// The controller of a call. `own` has the user's controller that it names, as was checked when the network was built.
    pub(super) fn controller(
        &self,
        call: &CallParameters<'_>,
        own: &RateControllers,
    ) -> Box<dyn RateController> {
        let bounds = call.bounds;
        match self {
            Self::Gcc(_) => Box::new(Gcc::new(bounds, GccSettings::default(), call.start)),
            Self::Scream(scream) => {
                let settings = match scream.variant {
                    ScreamParameters::Draft => ScreamSettings::draft(),
                    ScreamParameters::Ericsson => ScreamSettings::ericsson(),
                    ScreamParameters::Libwebrtc => ScreamSettings::libwebrtc(),
                };
                let settings = if call.ecn == Ecn::Capable1 { settings.with_l4s() } else { settings };
                Box::new(Scream::new(settings, bounds))
            }
            Self::Nada(nada) => {
                let defaults = NadaSettings::default();
                let (priority, frame_rate) = (nada.priority, call.frame_rate);
                Box::new(Nada::new(NadaSettings { priority, frame_rate, ..defaults }, bounds))
            }
            Self::Constant(constant) => Box::new(Constant::new(constant.rate.0)),
            Self::Own(named) => own[&named.name].0.make(call),
        }
    }

    /// Whether feedback is that of RFC 8888, which tells ECN marks, unless the scenario says otherwise.
    pub(super) const fn takes_rfc8888(&self) -> bool {
        matches!(self, Self::Scream(_) | Self::Nada(_) | Self::Own(_))
    }

    /// Feedback of RFC 8888, at the times that the controller was made for.
    pub(super) const fn by_stream(&self) -> FeedbackFormat {
        FeedbackFormat::ByStream(match self {
            Self::Scream(ScreamController { variant: ScreamParameters::Libwebrtc }) => {
                ReportTiming::Libwebrtc
            }
            Self::Nada(_) => ReportTiming::Interval(Nada::REPORT_INTERVAL),
            Self::Gcc(_) | Self::Scream(_) | Self::Constant(_) | Self::Own(_) => ReportTiming::ScreamDraft,
        })
    }

    pub(super) fn check(&self, at: &Place<'_>) -> Checked {
        match self {
            Self::Constant(constant) => check_rate(constant.rate, "app.controller.rate", at),
            Self::Nada(nada) => {
                let [low, high] = PRIORITIES;
                let fits = (low..=high).contains(&nada.priority);
                at.require(fits, "app.controller.priority", "out of range", "it must be from 0.1 to 10")
            }
            Self::Gcc(_) | Self::Scream(_) | Self::Own(_) => Ok(()),
        }
    }
}
