//! The two ends of a flow: an application on a transport.

use std::sync::Arc;

use airlane_core::{Direction, FlowId, Instant, Node, Seeds, Stream};
use airlane_quic::QlogFiles;
use airlane_traffic::RelayLeg;
use airlane_transport::Path;

use crate::applications::Contents;
use crate::expand::{Leg, OneFlow};
use crate::extensions::Extensions;
use crate::files::Files;
use crate::format::{Flow, Resolved};
use crate::transports::Carrier;

/// The data that the ends of all flows share.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// The scenario.
    pub scenario: &'a Resolved,
    /// The seeds of the run's random streams.
    pub seeds: Seeds,
    /// The qlog files for the ends of QUIC, if qlog is enabled.
    pub qlog: Option<&'a Arc<QlogFiles>>,
    /// The data that the two ends of each flow exchange apart from packets.
    pub contents: &'a [Contents],
    /// Users' own controllers and scheduler policies.
    pub extensions: &'a Extensions,
    /// The source of the files that the scenario names.
    pub files: &'a Files,
}

/// An end of a flow.
#[derive(Clone, Copy)]
pub(crate) struct Endpoint<'a> {
    pub(crate) setup: Setup<'a>,
    pub(crate) one: &'a OneFlow,
    /// The section of the flow.
    pub(crate) flow: &'a Flow,
    /// The path along which this end sends.
    pub(crate) path: Path,
    /// The flow and direction of the data that this end sends. It is `path`, unless that leads to a relay.
    pub(crate) data: Path,
    /// When the application starts.
    pub(crate) start: Instant,
    /// When the application stops, if the section says so.
    pub(crate) stop: Option<Instant>,
}

impl<'a> Endpoint<'a> {
    fn new(setup: Setup<'a>, id: FlowId, one: &'a OneFlow, direction: Direction) -> Self {
        let flow = &setup.scenario.flow[one.section];
        let path = Path::new(id, direction);
        let data = match one.leg() {
            Some(Leg::First) => Path::new(one.other_leg(id).expect("it is a leg"), direction.reversed()),
            Some(Leg::Second) | None => path,
        };
        let stop = flow.stop.map(|stop| Instant::ZERO + stop.0);
        Self { setup, one, flow, path, data, start: one.start(setup.scenario), stop }
    }

    /// Whether this is the server's end.
    pub(crate) fn is_server(&self) -> bool {
        self.path.direction == Direction::Downlink
    }

    /// Whether this end sends the data of the flow.
    pub(crate) fn is_source(&self) -> bool {
        self.data.direction == self.flow.direction.data()
    }

    /// When the application stops: at the latest with the run.
    pub(crate) fn stop_or_end(&self) -> Instant {
        self.stop.unwrap_or(Instant::ZERO + self.setup.scenario.run.duration.0)
    }

    /// A random stream of the flow.
    pub(crate) fn draws(&self, name: &str) -> Stream {
        self.setup.seeds.stream(&format!("flow/{}/{name}", self.one.name))
    }

    /// The data that the two ends of the flow exchange apart from packets.
    pub(crate) fn contents(&self) -> &'a Contents {
        &self.setup.contents[self.path.flow.index()]
    }

    fn node(&self) -> Box<dyn Node> {
        match self.flow.transport.carrier(self) {
            Carrier::Outside(exit) => exit,
            carrier => self.flow.app.application().node(self, carrier),
        }
    }
}

/// The server's end of a flow, or the relay's end of a leg.
pub fn server(setup: Setup<'_>, id: FlowId, one: &OneFlow) -> Box<dyn Node> {
    if let Some(other) = one.other_leg(id) {
        return Box::new(RelayLeg::new(id, other));
    }
    Endpoint::new(setup, id, one, Direction::Downlink).node()
}

/// The end in the UE, or the host.
pub fn host(setup: Setup<'_>, id: FlowId, one: &OneFlow) -> Box<dyn Node> {
    Endpoint::new(setup, id, one, Direction::Uplink).node()
}
