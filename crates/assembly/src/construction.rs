//! The parts from which a network was built. They are needed again when UEs and flows are added to it.

use std::sync::Arc;

use airlane_core::Seeds;
use airlane_quic::QlogFiles;
use airlane_ran::config::RanConfig;
use airlane_scenario::Extensions;
use airlane_scenario::Files;
use airlane_scenario::ScenarioError;
use airlane_scenario::applications::Contents;
use airlane_scenario::endpoints::Setup;
use airlane_scenario::expand::{OneFlow, OneUe};
use airlane_scenario::format::Resolved;

use crate::radio;
use crate::wiring::FlowNodes;

/// The parts from which a network was built.
pub(crate) struct Construction {
    /// The scenario as its user gave it.
    pub(crate) given: Resolved,
    /// The same, with the flows that were opened.
    pub(crate) scenario: Resolved,
    pub(crate) seeds: Seeds,
    pub(crate) qlog: Option<Arc<QlogFiles>>,
    pub(crate) contents: Vec<Contents>,
    pub(crate) extensions: Extensions,
    pub(crate) files: Files,
    /// The UE of each flow, or none in a wired network; `None` for a flow that was removed.
    pub(crate) present: Vec<Option<Option<usize>>>,
    /// Number of UEs, removed ones included.
    pub(crate) ues: usize,
    /// UEs that were removed.
    pub(crate) removed_ues: Vec<usize>,
}

impl Construction {
    /// Whether UEs or flows were added or removed since the network was built.
    pub(crate) fn has_changed(&self) -> bool {
        let [now, given] = [&self.scenario, &self.given].map(|one| (one.flow.len(), one.ue.len()));
        now != given || self.present.contains(&None) || !self.removed_ues.is_empty()
    }

    pub(crate) fn setup(&self) -> Setup<'_> {
        Setup {
            scenario: &self.scenario,
            seeds: self.seeds,
            qlog: self.qlog.as_ref(),
            contents: &self.contents,
            extensions: &self.extensions,
            files: &self.files,
        }
    }

    /// The radio settings of all UEs, if there is a radio, and the nodes of the flows that the network does not have.
    ///
    /// # Errors
    /// If a file that the scenario names cannot be read.
    pub(crate) fn prepare(
        &self,
        ues: &[OneUe],
        flows: &[OneFlow],
    ) -> Result<(Option<RanConfig>, Vec<FlowNodes>), ScenarioError> {
        let setup = self.setup();
        let channel = self.scenario.channel.as_ref();
        let config = channel.map(|channel| radio::configuration(setup, channel, ues)).transpose()?;
        Ok((config, FlowNodes::of(setup, flows, self.present.len())?))
    }
}
