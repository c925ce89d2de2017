//! UEs and flows that are added to a running network, and removed from it.

use airlane_core::{Cx, FlowId, Instant, UeId};
use airlane_engine::InUse;
use airlane_middlebox::EnbProxies;
use airlane_net::Gateway;
use airlane_ran::RadioNetwork;
use airlane_ran::config::UeConfig;
use airlane_scenario::expand::{self, OneFlow};
use airlane_scenario::format::{Flow, Resolved};
use airlane_scenario::quantity::Time;
use airlane_scenario::{RealEnd, ScenarioError};
use airlane_scenario::{applications, real, rnis};
use airlane_traffic::RelayLeg;

use crate::bearers;
use crate::embedding::FlowEnd;
use crate::run::Built;
use crate::sinks;
use crate::wiring::{BUILT, FlowPlaces, MobilePlaces};

/// The numbers of what was added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// UEs.
    pub ues: Vec<UeId>,
    /// Flows.
    pub flows: Vec<FlowId>,
}

impl Built {
    /// Adds an external flow: both of its ends are outside. In a mobile network it belongs to a UE.
    ///
    /// # Errors
    /// If a mobile network has no such UE, or no longer, or if a wired network is given one.
    pub fn open(&mut self, name: &str, ue: Option<UeId>) -> Result<FlowId, ScenarioError> {
        let ues = expand::ues(&self.construction.scenario);
        let to = match (ue, self.places.mobile.is_some()) {
            (Some(ue), true) => Some(ues.get(ue.index()).map(|ue| ue.name.clone()).ok_or_else(|| {
                let help = format!("there are {} UEs, numbered from 0", ues.len());
                ScenarioError::new("flow.to", format!("no UE has the number {}", ue.0), help)
            })?),
            (None, false) => None,
            (None, true) => {
                return Err(ScenarioError::new("flow.to", "it is missing", "name the UE of the flow"));
            }
            (Some(_), false) => {
                let what = "a wired network has one host and no UE";
                return Err(ScenarioError::new("flow.to", what, "leave it out"));
            }
        };
        let host = to.unwrap_or_default();
        self.open_real(&RealEnd { name: name.to_owned(), host, access: None, ue })
    }

    /// Adds the external flow of an end of [`Resolved::for_real`].
    ///
    /// # Errors
    /// If the network has no such UE or access.
    pub fn open_real(&mut self, end: &RealEnd) -> Result<FlowId, ScenarioError> {
        let start = Time(self.now().saturating_since(Instant::ZERO));
        let flow = Flow { start, ..real::external(end, &expand::ues(&self.construction.scenario)) };
        self.construction.scenario.flow.push(flow);
        match self.grow() {
            Ok(added) => Ok(added.flows[0]),
            Err(error) => {
                self.construction.scenario.flow.pop();
                Err(error)
            }
        }
    }

    /// Adds the UEs and flows that `scenario` has and the run's scenario does not: sections behind the others.
    /// Flows begin at their `start`, and movements now.
    ///
    /// # Errors
    /// If anything else differs, if a flow would have begun already or leads to a UE that was removed, or if a
    /// file cannot be read. The run is then unchanged.
    pub fn extend(&mut self, scenario: &Resolved) -> Result<Added, ScenarioError> {
        let given = &self.construction.given;
        if let Some(key) = other_difference(given, scenario) {
            let what = "only `[[ue]]` and `[[flow]]` can be added to a running network, behind all others";
            return Err(ScenarioError::new(key, what, "leave everything else as it is"));
        }
        for (index, flow) in scenario.flow.iter().enumerate().skip(given.flow.len()) {
            let key = |key: &str| format!("flow.{index}.{key}");
            let now = self.now().saturating_since(Instant::ZERO);
            if flow.start.0 < now {
                let mut error =
                    ScenarioError::new(key("start"), "it has passed", format!("the run is at {now}"));
                error.value = format!("{}", flow.start.0).into();
                return Err(error);
            }
        }
        let is_dual = scenario.ue.iter().any(|ue| ue.secondary_node.is_some());
        if scenario.ue.len() > given.ue.len() && is_dual {
            let what = "a UE cannot be added to a running network in which UEs have a secondary node";
            return Err(ScenarioError::new(format!("ue.{}", given.ue.len()), what, "give it from the start"));
        }
        let one_of = |flow: &OneFlow| flow.section >= given.flow.len() && rnis::subscribes(scenario, flow);
        if let Some(flow) = expand::flows(scenario).into_iter().find(one_of) {
            let what = "a flow with radio information cannot be added to a running network";
            let key = format!("flow.{}.transport", flow.section);
            return Err(ScenarioError::new(key, what, "give it from the start"));
        }
        let mut next = self.construction.scenario.clone();
        next.ue.extend_from_slice(&scenario.ue[given.ue.len()..]);
        next.flow.extend_from_slice(&scenario.flow[given.flow.len()..]);
        let before = core::mem::replace(&mut self.construction.scenario, next);
        match self.grow() {
            Ok(added) => {
                self.construction.given = scenario.clone();
                Ok(added)
            }
            Err(error) => {
                self.construction.scenario = before;
                Err(error)
            }
        }
    }

    /// Removes a flow, of one between two UEs both legs. Packets that are still on their way to one of its ends are dropped there.
    ///
    /// # Errors
    /// If one of its ends holds packets.
    ///
    /// # Panics
    /// If the flow does not exist, or was removed.
    pub fn remove_flow(&mut self, flow: FlowId) -> Result<(), InUse> {
        assert!(self.construction.present[flow.index()].is_some(), "this flow was removed");
        let server = self.node(flow, FlowEnd::Server);
        let other = self.simulation.node::<RelayLeg>(server).map(RelayLeg::other);
        [Some(flow), other].into_iter().flatten().try_for_each(|leg| self.remove_leg(leg))
    }

    fn remove_leg(&mut self, flow: FlowId) -> Result<(), InUse> {
        for end in [FlowEnd::Server, FlowEnd::Host] {
            while self.take(flow, end).is_some() {}
            let _ = self.simulation.remove(self.node(flow, end))?;
        }
        self.construction.present[flow.index()] = None;
        if let Some(mobile) = self.places.mobile {
            self.simulation.node_mut::<RadioNetwork>(mobile.radio).expect(BUILT).remove_flow(flow);
            self.simulation.node_mut::<Gateway>(mobile.gateway).expect(BUILT).remove_flow(flow);
        }
        Ok(())
    }

    /// Removes a UE and its flows. The packets of its bearer are dropped.
    ///
    /// # Errors
    /// As [`Self::remove_flow`].
    ///
    /// # Panics
    /// If the UE does not exist, or was removed.
    pub fn remove_ue(&mut self, ue: UeId) -> Result<(), InUse> {
        let present = self.construction.present.iter().enumerate();
        let own = present.filter(|(_, of)| **of == Some(Some(ue.index())));
        let own: Vec<_> = own.map(|(flow, _)| FlowId(flow as u32)).collect();
        for flow in own {
            if self.construction.present[flow.index()].is_some() {
                self.remove_flow(flow)?;
            }
        }
        let mobile = self.places.mobile.expect("only a mobile network has UEs");
        let (simulation, probe) = self.observed();
        let removed =
            simulation.visit::<RadioNetwork, _>(mobile.radio, probe, |radio, cx| radio.remove_ue(cx, ue));
        removed.expect(BUILT);
        self.construction.removed_ues.push(ue.index());
        Ok(())
    }

    /// Adds the UEs and flows of the scenario that the network does not have. Files are read first: after an
    /// error nothing has changed.
    fn grow(&mut self) -> Result<Added, ScenarioError> {
        let construction = &mut self.construction;
        let (ues, flows) = (expand::ues(&construction.scenario), expand::flows(&construction.scenario));
        let known = construction.present.len();
        let is_removed = |flow: &&OneFlow| flow.ue.is_some_and(|ue| construction.removed_ues.contains(&ue));
        if let Some(flow) = flows[known..].iter().find(is_removed) {
            let key = format!("flow.{}.to", flow.section);
            return Err(ScenarioError::new(key, "this UE was removed", "name a UE that is there"));
        }
        let contents = applications::contents(&construction.scenario, &flows[known..], &construction.files)?;
        construction.contents.extend(contents);
        let prepared =
            construction.prepare(&ues, &flows).inspect_err(|_| self.construction.contents.truncate(known));
        let (config, nodes) = prepared?;
        let mut added = Added::default();
        if let Some((mobile, config)) = self.places.mobile.zip(config) {
            added.ues =
                config.ues[self.construction.ues..].iter().map(|ue| self.add_ue(mobile, ue)).collect();
        }
        self.construction.ues = ues.len();
        for nodes in nodes {
            let at = FlowPlaces::behind_all(&mut self.simulation, &nodes);
            added.flows.push(self.places.add_flow(&mut self.simulation, nodes, &at));
        }
        self.construction.present.extend(flows[known..].iter().map(|flow| Some(flow.ue)));
        let setup = self.construction.setup();
        self.capture = sinks::capture_parameters(setup.scenario, &ues, &flows);
        let bearers = bearers::of(&self.simulation, &self.places, &flows);
        sinks::extend(&mut self.sinks, setup, &ues, &flows, bearers);
        Ok(added)
    }

    fn add_ue(&mut self, mobile: MobilePlaces, config: &UeConfig) -> UeId {
        let (seeds, router) = (self.construction.seeds, self.places.host_router);
        let (simulation, probe) = self.observed();
        let attach = |radio: &mut RadioNetwork, cx: &mut Cx<'_>| {
            let id = radio.add_ue(config, cx.now, seeds);
            (id, radio.ue_port(id.index()), radio.serving_cell(id))
        };
        let (id, port, cell) = simulation.visit(mobile.radio, probe, attach).expect(BUILT);
        simulation.connect((mobile.radio, port), (router, 0));
        let enb = u16::try_from(cell.0).expect("fewer than 65536 cells");
        simulation.node_mut::<Gateway>(mobile.gateway).expect(BUILT).attach(id, enb);
        if let Some(node) = mobile.enb_proxies {
            simulation.node_mut::<EnbProxies>(node).expect(BUILT).attach(id, cell.index());
        }
        id
    }
}

/// The first key in which two scenarios differ, apart from sections that the second has behind those of the
/// first.
fn other_difference(given: &Resolved, next: &Resolved) -> Option<String> {
    let mut same = next.clone();
    same.ue.truncate(given.ue.len());
    same.flow.truncate(given.flow.len());
    if same == *given {
        return None;
    }
    let [old, new] = [given, &same].map(|one| serde_json::to_value(one).unwrap_or_default());
    let keys = old.as_object().into_iter().flatten();
    let differing = keys.filter(|(key, value)| new.get(key) != Some(*value)).map(|(key, _)| key.clone());
    Some(differing.into_iter().next().unwrap_or_default())
}
