//! A scenario for a run in which applications of the real world take the place of simulated ones.
//!
//! The program that runs it opens an external flow (`open` of `airlane_assembly::Built`) for each UE that has such
//! applications. The simulated flows of these UEs are left out, and all other flows are as they were.

use std::collections::BTreeSet;

use airlane_core::{Duration, UeId};

use crate::ScenarioError;
use crate::check;
use crate::expand::{self, Leg, OneFlow, OneUe};
use crate::format::{App, Bulk, Flow, FlowDirection, Network, Resolved, Transport};
use crate::quantity::Time;

/// The name of the host of a wired network.
pub const HOST: &str = "host";
/// Maximum number of names that a message lists.
const NAMES_MAX: usize = 20;

/// An end with applications of the real world: the arguments of `open` of `airlane_assembly::Built`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealEnd {
    /// Name of its flow in the results: the name of the UE, with `-real` behind it as long as another flow has
    /// this name.
    pub name: String,
    /// The UE, or none in a wired network.
    pub ue: Option<UeId>,
}

impl Resolved {
    /// The names of all UEs as in results; of a wired network, the name of its host.
    #[must_use]
    pub fn ue_names(&self) -> Vec<String> {
        host_names(&expand::ues(self))
    }

    /// The names of all flows as in results; a section for a group of UEs, or one that is repeated, is several flows.
    #[must_use]
    pub fn flow_names(&self) -> Vec<String> {
        expand::flows(self).into_iter().map(|flow| flow.name).collect()
    }

    /// Checks that a simulation of the scenario has something to carry. A network for real applications needs no
    /// simulated flow.
    ///
    /// # Errors
    /// If it has no flow.
    pub fn with_flows(&self) -> Result<(), ScenarioError> {
        if !self.flow.is_empty() {
            return Ok(());
        }
        Err(ScenarioError::new("flow", "the scenario has no flow", "add [[flow]]"))
    }

    /// The scenario for a run in which the UEs `real` have applications of the real world. A member of a group
    /// has its name in results, such as `phones-3`; the host of a wired network is `host`.
    ///
    /// The simulated flows of these UEs are left out, except those that `keep` names as in results. All others
    /// keep their names. Such a run has no planned end: `run.duration` is the longest time for which results fit
    /// into memory, at most 1000000 s, and `run.warmup` is zero.
    ///
    /// # Errors
    /// If a name of `real` is no UE or a name of `keep` is no flow of such a UE, or a name occurs twice, or a flow that
    /// stays has a kernel, or the results of no duration would fit into memory.
    pub fn for_real(&self, real: &[String], keep: &[String]) -> Result<(Self, Vec<RealEnd>), ScenarioError> {
        let names = self.ue_names();
        distinct("ue", real)?;
        distinct("keep", keep)?;
        let chosen: Vec<usize> =
            real.iter().map(|name| self.real_ue(name, &names)).collect::<Result<_, _>>()?;
        let wired = self.network == Network::Wired;
        let is_real = |flow: &OneFlow| {
            let ends = [Some(flow.ue.unwrap_or(0)), flow.relayed.map(|relayed| relayed.other_ue)];
            ends.into_iter().flatten().any(|ue| chosen.contains(&ue))
        };
        let mut flows = expand::flows(self);
        flows.retain(|flow| flow.leg() != Some(Leg::First));
        check_kept(keep, &flows, is_real)?;
        let mut scenario = self.clone();
        scenario.flow = remaining(self, &flows, |flow| !is_real(flow) || keep.contains(&flow.name));
        scenario.without_kernels("kernels run in virtual time only; use transport = \"tcp\" here")?;
        scenario.run.warmup = Time(Duration::ZERO);

        let mut taken: BTreeSet<String> =
            expand::flows(&scenario).into_iter().map(|flow| flow.name).collect();
        let end = |ue: &usize| {
            let mut name = names[*ue].clone();
            while !taken.insert(name.clone()) {
                name.push_str("-real");
            }
            RealEnd { name, ue: (!wired).then_some(UeId(*ue as u32)) }
        };
        let ends: Vec<RealEnd> = chosen.iter().map(end).collect();
        let mut whole = scenario.clone();
        for end in &ends {
            let flow = external(&end.name, end.ue.map(|ue| names[ue.index()].clone()));
            whole.flow.extend([flow.clone(), flow]); // its series has rows of both directions
        }
        scenario.run.duration = Time(check::duration_max(&whole)?);
        Ok((scenario, ends))
    }

    /// The number of a UE with this name, or 0 for the host.
    fn real_ue(&self, name: &str, names: &[String]) -> Result<usize, ScenarioError> {
        if let Some(ue) = names.iter().position(|known| known == name) {
            return Ok(ue);
        }
        let group = self.ue.iter().find(|ue| ue.name == name && ue.count > 1);
        Err(match group {
            Some(group) => {
                let help = format!("name its members: {name}-1 to {name}-{}", group.count);
                wrong("ue", name, &format!("this is a group of {} UEs", group.count), &help)
            }
            None if self.network == Network::Wired => {
                wrong("ue", name, "a wired network has one host and no UE", "use the name host")
            }
            None => wrong("ue", name, "no UE has this name", &known(names)),
        })
    }
}

/// An external flow. Its name in results is `name`.
pub fn external(name: &str, to: Option<String>) -> Flow {
    Flow {
        name: Some(name.to_owned()),
        to,
        from: None,
        access: None,
        direction: FlowDirection::Downlink,
        app: App::Bulk(Bulk {}),
        transport: Transport::External,
        start: Time(Duration::ZERO),
        stop: None,
        writes: None,
        repeat: None,
        server_delay: None,
        five_qi: None,
        qos: None,
    }
}

/// The names of the UEs, or of the host if there are none.
pub fn host_names(ues: &[OneUe]) -> Vec<String> {
    if ues.is_empty() { vec![HOST.to_owned()] } else { ues.iter().map(|ue| ue.name.clone()).collect() }
}

fn wrong(key: &str, value: &str, message: &str, help: &str) -> ScenarioError {
    let mut error = ScenarioError::new(key, message, help);
    error.value = format!("\"{value}\"").into();
    error
}

fn known(names: &[String]) -> String {
    let listed = names.iter().take(NAMES_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "there is none".to_owned(),
        count if count > NAMES_MAX => format!("known: {listed} and {} more", count - NAMES_MAX),
        _ => format!("known: {listed}"),
    }
}

fn distinct(key: &str, names: &[String]) -> Result<(), ScenarioError> {
    let mut seen = BTreeSet::new();
    let twice = names.iter().find(|name| !seen.insert(name.as_str()));
    twice.map_or(Ok(()), |name| Err(wrong(key, name, "named twice", "name it once")))
}

/// Each name of `keep` is that of a flow of a real UE.
fn check_kept(
    keep: &[String],
    flows: &[OneFlow],
    is_real: impl Fn(&OneFlow) -> bool,
) -> Result<(), ScenarioError> {
    for name in keep {
        let own =
            || flows.iter().filter(|flow| is_real(flow)).map(|flow| flow.name.clone()).collect::<Vec<_>>();
        match flows.iter().find(|flow| flow.name == *name) {
            Some(flow) if is_real(flow) => {}
            Some(_) => {
                let message = "this flow belongs to a UE without real applications";
                return Err(wrong("keep", name, message, "leave it out: the flow is simulated anyway"));
            }
            None => return Err(wrong("keep", name, "no flow has this name", &known(&own()))),
        }
    }
    Ok(())
}

/// The sections of the flows that stay. Where one loses some of its flows, there is a section for each of the
/// others, or for those of a UE that has all.
fn remaining(scenario: &Resolved, flows: &[OneFlow], stays: impl Fn(&OneFlow) -> bool) -> Vec<Flow> {
    let mut sections = Vec::new();
    for of_section in flows.chunk_by(|a, b| a.section == b.section) {
        let flow = &scenario.flow[of_section[0].section];
        if of_section.iter().all(&stays) {
            let name = flow.name.clone().unwrap_or_else(|| expand::unnamed(of_section[0].section));
            sections.push(Flow { name: Some(name), ..flow.clone() });
            continue;
        }
        for of_ue in of_section.chunk_by(|a, b| a.ue == b.ue) {
            let to = of_ue[0].ue.map(|ue| expand::ues(scenario)[ue].name.clone());
            let section = |one: &OneFlow, name: &str| Flow {
                name: Some(name.to_owned()),
                to: to.clone(),
                from: one.relayed.map(|relayed| expand::ues(scenario)[relayed.other_ue].name.clone()),
                start: Time(one.start(scenario) - airlane_core::Instant::ZERO),
                ..flow.clone()
            };
            match &flow.repeat {
                Some(_) if of_ue.iter().all(&stays) => {
                    let first = &of_ue[0];
                    let name = first.name.strip_suffix("-1").expect("a repeated flow is numbered from 1");
                    sections.push(section(first, name));
                }
                _ => {
                    let rest = of_ue.iter().filter(|one| stays(one));
                    sections.extend(rest.map(|one| Flow { repeat: None, ..section(one, &one.name) }));
                }
            }
        }
    }
    sections
}
