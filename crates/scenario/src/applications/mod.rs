//! Applications of flows. Each is a value: its settings are a type that implements `Application`, with its checks and
//! its two ends.
//!
//! A new application is a module here and a line in the list below. The defaults of its settings are in
//! `presets/common.toml`, its nodes in `airlane_traffic`. A table of its own is a log in `airlane_record`.

mod bulk;
mod cbr;
mod dash;
mod datagrams;
mod fixed;
mod http;
mod on_off;
mod ping;
mod ppbp;
mod rtc;
mod rtc_controller;
mod sprout;
mod transfer;
mod video;
mod viewing;
mod web;
mod xr;

pub use bulk::Bulk;
pub use cbr::Cbr;
pub use dash::{BolaRule, Dash, DashRule, RateRule};
pub use fixed::Fixed;
pub use http::HttpVersion;
pub use on_off::{ConstantPeriod, ExponentialPeriod, OnOff, ParetoPeriod, Period, UniformPeriod};
pub use ping::Ping;
pub use ppbp::{Ppbp, PpbpReading};
pub use rtc::{Opus, Rtc, RtcAudio, RtcEncoder, RtcFeedback, RtcPacer, RtcPause, RtcVideo};
pub use rtc_controller::{
    ConstantRate, GccController, NadaController, OwnRateController, RtcController, ScreamController,
    ScreamParameters,
};
pub use sprout::Sprout;
pub use video::{LogNormalGroups, Variation, Video, VideoPage};
pub use viewing::{PageBefore, Satisfied, Watching};
pub use web::{Visits, Web};
pub use xr::{Xr, XrJitter, XrPose, XrService, XrUplink, XrVideo};

use std::collections::BTreeMap;

use airlane_core::Node;
use airlane_record::Satisfaction;
use airlane_traffic::dialogue::Dialogue;
use airlane_traffic::http::Message;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ScenarioError;
use crate::check::{Checked, Place};
use crate::endpoints::Endpoint;
use crate::expand::OneFlow;
use crate::files::Files;
use crate::format::{Flow, Resolved, tagged};
use crate::pages::{self, PageSet};
use crate::transports::{Carrier, Protocol, Refusal};

/// Defines [`App`] from the list of applications: `kind` in scenario files and type of the settings.
macro_rules! applications {
    ($($(#[$meaning:meta])* $kind:literal => $application:ident),+ $(,)?) => {
        /// An application.
        #[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum App {
            $($(#[$meaning])* #[serde(rename = $kind)] $application($application),)+
        }
        tagged!(App by "kind" { $($kind => $application($application)),+ });

        impl App {
            /// Its `kind` in scenario files.
            #[must_use]
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$application(_) => $kind,)+ }
            }

            /// The criteria of a satisfied viewer, if it plays videos.
            #[must_use]
            pub fn satisfaction(&self) -> Option<Satisfaction> {
                self.application().satisfaction()
            }

            /// The controller of its rate, if it has one of its own.
            #[must_use]
            pub fn rate_controller(&self) -> Option<&str> {
                self.application().rate_controller()
            }

            /// Whether it carries data in the direction that is not the flow's, too.
            #[must_use]
            pub fn carries_both_directions(&self) -> bool {
                self.application().carries_both_directions()
            }

            pub(crate) fn application(&self) -> &dyn Application {
                match self { $(Self::$application(settings) => settings,)+ }
            }

            pub(crate) fn application_mut(&mut self) -> &mut dyn Application {
                match self { $(Self::$application(settings) => settings,)+ }
            }
        }
    };
}

applications! {
    /// Sends as much as the transport accepts.
    "bulk" => Bulk,
    /// Sends a given number of bytes.
    "fixed" => Fixed,
    /// Sends at a constant rate.
    "cbr" => Cbr,
    /// Sends overlapping bursts: a Poisson Pareto Burst Process.
    "ppbp" => Ppbp,
    /// Sends at a constant rate in periods, with pauses between them, as ns-3's OnOffApplication. Over UDP or TCP.
    "on-off" => OnOff,
    /// Plays a video by progressive download.
    "video" => Video,
    /// Loads web pages with a browser at the UE, over several connections.
    "web" => Web,
    /// Plays a video in segments (DASH).
    "dash" => Dash,
    /// Measures round-trip times with ICMP echo messages, as ping(8) does. The flow's direction is that of the requests:
    /// with `uplink`, the UE asks and the server answers.
    "ping" => Ping,
    /// A call: audio and video in real time, at the rate of a controller. Over UDP.
    "rtc" => Rtc,
    /// Sends frames of virtual or augmented reality or of cloud gaming (3GPP TR 38.838), with pose or control in the
    /// uplink. Over UDP.
    "xr" => Xr,
    /// Sends as much as the forecasts of its receiver allow: Sprout. Over UDP.
    "sprout" => Sprout,
}

/// An application of a flow, with its settings.
pub(crate) trait Application {
    /// The transports that carry it.
    fn transports(&self) -> &'static [Protocol];

    /// The error for a flow over a transport that is not one of these.
    fn refusal(&self, other: Protocol) -> Refusal {
        Refusal::of(other).unwrap_or_else(|| Refusal::needs(self.transports(), other))
    }

    /// Checks the settings, and the keys of the flow that they depend on. `at` is the place of the flow, whose transport
    /// is one of [`Self::transports`].
    fn check(&self, flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked;

    /// The node at an end of the flow.
    fn node(&self, end: &Endpoint<'_>, carrier: Carrier) -> Box<dyn Node>;

    /// The criteria of a satisfied viewer, if it plays videos.
    fn satisfaction(&self) -> Option<Satisfaction> {
        None
    }

    /// The name of the controller of its rate, if it has one of its own.
    fn rate_controller(&self) -> Option<&str> {
        None
    }

    /// Whether it carries data in the direction that is not the flow's, too.
    fn carries_both_directions(&self) -> bool {
        false
    }

    /// Whether both ends can be UEs, with a relay between them.
    fn goes_between_ues(&self) -> bool {
        false
    }

    /// Whether its data is in one connection, whose sender may use radio information.
    fn has_one_connection(&self) -> bool {
        true
    }

    /// The name of the page set that it loads.
    fn pages(&self) -> Option<&str> {
        None
    }

    /// The name of the page set, which becomes a path relative to the working directory.
    fn pages_mut(&mut self) -> Option<&mut String> {
        None
    }
}

/// Checks that the transport of a flow carries its application, and the settings of the application.
pub fn check(flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
    let (application, protocol) = (flow.app.application(), flow.transport.protocol());
    if protocol == Protocol::External {
        return Ok(());
    }
    if application.transports().contains(&protocol) {
        return application.check(flow, scenario, at);
    }
    let Refusal { key, message, help } = application.refusal(protocol);
    at.fail(key, message, help)
}

/// The data that the two ends of a flow exchange, apart from their packets, which have only the lengths of payloads.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// The pages of a browser.
    pub pages: Option<PageSet>,
    /// The messages of HTTP over TCP.
    pub dialogue: Dialogue<Message>,
}

/// The contents of each flow. Each file of pages is parsed once.
///
/// # Errors
/// If a file cannot be read or is invalid.
pub fn contents(
    scenario: &Resolved,
    flows: &[OneFlow],
    files: &Files,
) -> Result<Vec<Contents>, ScenarioError> {
    let mut sets: BTreeMap<&str, PageSet> = BTreeMap::new();
    let mut contents = |flow: &OneFlow| {
        let Some(name) = scenario.flow[flow.section].app.application().pages() else {
            return Ok(Contents::default());
        };
        if !sets.contains_key(name) {
            sets.insert(name, pages::load(name, files)?);
        }
        Ok(Contents { pages: sets.get(name).cloned(), dialogue: Dialogue::default() })
    };
    flows.iter().map(&mut contents).collect()
}

/// The names of the pages of each flow; empty if no flow has a browser.
pub fn page_names(contents: &[Contents]) -> Vec<Vec<String>> {
    let names = |one: &Contents| {
        let pages = one.pages.iter().flat_map(|set| set.pages.iter());
        pages.map(|page| page.name().to_owned()).collect()
    };
    if contents.iter().all(|one| one.pages.is_none()) { vec![] } else { contents.iter().map(names).collect() }
}
