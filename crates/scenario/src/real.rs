//! A scenario for a run in which applications of the real world take the place of simulated ones.
//!
//! The program that runs it opens an external flow (`open` of `airlane_assembly::Built`) for each UE that has such
//! applications. The simulated flows of these UEs are left out, and all other flows are as they were.

use std::collections::BTreeSet;

use airlane_core::{Duration, UeId};

use crate::ScenarioError;
use crate::check;
use crate::expand::{self, Host, Leg, OneFlow, OneUe, Route};
use crate::format::{App, Bulk, Flow, FlowDirection, Network, Resolved, Transport};
use crate::quantity::Time;

/// The name of the host of a wired network.
pub const HOST: &str = "host";
/// The largest number of ends, which is that of UEs.
const ENDS_MAX: usize = 10_000;
/// Maximum number of names that a message lists.
const NAMES_MAX: usize = 20;

/// An access of a UE that has applications of the real world, or of the host of a wired network: the argument of
/// `open_real` of `airlane_assembly::Built`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RealEnd {
    /// Name of its flow in the results: the name of the UE, of one with several accesses followed by `/` and that of
    /// the access, with `-real` behind it as long as another flow has this name.
    pub name: String,
    /// The name of the UE, or of the host.
    pub host: String,
    /// The name of the access, of a UE or host with several.
    pub access: Option<String>,
    /// The radio, or none in a wired network and over a link next to the mobile network.
    pub ue: Option<UeId>,
}

impl RealEnd {
    /// The name of the end: that of its UE, of one with several accesses followed by `/` and that of the access.
    #[must_use]
    pub fn label(&self) -> String {
        match &self.access {
            Some(access) => format!("{}/{access}", self.host),
            None => self.host.clone(),
        }
    }
}

impl Resolved {
    /// The names of all UEs; of a wired network, the name of its host. A UE with radios in several cells has one.
    #[must_use]
    pub fn ue_names(&self) -> Vec<String> {
        expand::hosts(self, HOST).into_iter().map(|host| host.name).collect()
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
    /// has its name in results, such as `phones-3`; the host of a wired network is `host`. The ends are the accesses
    /// of each of `real` in its order, and those of a UE in the order of its `access`.
    ///
    /// The simulated flows of these UEs are left out, except those that `keep` names as in results. All others
    /// keep their names. Such a run has no planned end: `run.duration` is the longest time for which results fit
    /// into memory, at most 1000000 s, and `run.warmup` is zero.
    ///
    /// # Errors
    /// If a name of `real` is no UE or a name of `keep` is no flow of such a UE, or a name occurs twice, or a flow that
    /// stays has a kernel, or the UEs have too many accesses, or the results of no duration would fit into memory.
    pub fn for_real(&self, real: &[String], keep: &[String]) -> Result<(Self, Vec<RealEnd>), ScenarioError> {
        let hosts = expand::hosts(self, HOST);
        distinct("ue", real)?;
        distinct("keep", keep)?;
        let chosen: Vec<&Host> =
            real.iter().map(|name| self.real_host(name, &hosts)).collect::<Result<_, _>>()?;
        let wired = self.network == Network::Wired; // all flows belong to its host
        let is_real = |flow: &OneFlow| {
            let ends = [flow.ue, flow.relayed.map(|relayed| relayed.other_ue)];
            chosen.iter().any(|host| wired || ends.into_iter().flatten().any(|ue| host.radios.contains(&ue)))
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
        let mut ends: Vec<RealEnd> = chosen.into_iter().flat_map(ends_of).collect();
        if ends.len() > ENDS_MAX {
            let message = format!("the real UEs have {} accesses", ends.len());
            return Err(ScenarioError::new("ue", message, format!("at most {ENDS_MAX} can be real")));
        }
        let mut whole = scenario.clone();
        for end in &mut ends {
            end.name = end.label();
            while !taken.insert(end.name.clone()) {
                end.name.push_str("-real");
            }
            let flow = external(end, &expand::ues(&scenario));
            whole.flow.extend([flow.clone(), flow]); // its series has rows of both directions
        }
        scenario.run.duration = Time(check::duration_max(&whole)?);
        Ok((scenario, ends))
    }

    /// The UE with this name, or the host.
    fn real_host<'a>(&self, name: &str, hosts: &'a [Host]) -> Result<&'a Host, ScenarioError> {
        if let Some(host) = hosts.iter().find(|known| known.name == name) {
            return Ok(host);
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
            None => {
                let names: Vec<_> = hosts.iter().map(|host| host.name.clone()).collect();
                wrong("ue", name, "no UE has this name", &known(&names))
            }
        })
    }
}

/// The ends of a UE or host, still without names of their flows.
fn ends_of(host: &Host) -> Vec<RealEnd> {
    let several = host.accesses.len() > 1;
    let end = |(access, route): &(String, Route)| RealEnd {
        name: String::new(),
        host: host.name.clone(),
        access: several.then(|| access.clone()),
        ue: match *route {
            Route::Ue(ue) => Some(UeId(ue as u32)),
            Route::Link(_) | Route::Internet => None,
        },
    };
    host.accesses.iter().map(end).collect()
}

/// The external flow of an end. `ues` are the radios of the network.
pub fn external(end: &RealEnd, ues: &[OneUe]) -> Flow {
    let host = || (!ues.is_empty()).then(|| end.host.clone());
    // A radio of a UE with several has a name, which is that of its flow's UE.
    let to = end.ue.and_then(|ue| ues.get(ue.index())).map(|ue| ue.name.clone()).or_else(host);
    Flow {
        name: Some(end.name.clone()),
        to,
        from: None,
        access: end.access.clone(),
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
