//! Expands groups: each UE and each flow gets its own name and number.

use core::ops::Range;
use std::collections::BTreeMap;

use airlane_core::{Duration, FlowId, Instant};

use crate::format::{Flow, Network, Resolved};

/// One UE of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneUe {
    /// Its name in the results.
    pub name: String,
    /// The index of its `[[ue]]` section.
    pub section: usize,
    /// Its number in the group, from 0.
    pub member: u32,
}

/// One flow of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneFlow {
    /// Its name in the results.
    pub name: String,
    /// The index of its `[[flow]]` section.
    pub section: usize,
    /// The UE at its far end; `None` in a wired network.
    pub ue: Option<usize>,
    /// Its number among the repetitions of the section, from 0.
    pub turn: u32,
    /// The leg that it is, if its section leads from one UE to another.
    pub relayed: Option<Relayed>,
}

/// A leg of what goes from one UE to another, over a relay at the server (TURN, RFC 8656). The legs are neighbours, the
/// second leg first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relayed {
    /// Which leg.
    pub leg: Leg,
    /// The UE at the end of the other leg.
    pub other_ue: usize,
}

/// A leg to or from a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// From the UE of `from` to the relay.
    First,
    /// From the relay to the UE of `to`. It has the name of the flow.
    Second,
}

impl OneFlow {
    /// The start of its application.
    pub fn start(&self, scenario: &Resolved) -> Instant {
        let flow = &scenario.flow[self.section];
        let every = flow.repeat.as_ref().map_or(Duration::ZERO, |repeat| repeat.every.0);
        Instant::ZERO + flow.start.0 + every * u64::from(self.turn)
    }

    /// The leg, if it is one.
    pub fn leg(&self) -> Option<Leg> {
        self.relayed.map(|relayed| relayed.leg)
    }

    /// The number of the other leg, if this flow is a leg and has number `own`.
    pub fn other_leg(&self, own: FlowId) -> Option<FlowId> {
        self.leg().map(|leg| FlowId(if leg == Leg::First { own.0 - 1 } else { own.0 + 1 }))
    }
}

/// The UEs at the far ends of a section's flows, as numbers among all UEs.
pub struct Reach {
    ues: Range<usize>,
    group: bool,
}

impl Reach {
    /// The UEs.
    pub(crate) fn ues(&self) -> Range<usize> {
        self.ues.clone()
    }

    /// The number of flows it becomes.
    pub fn count(&self) -> u32 {
        self.ues.len() as u32
    }

    /// Whether a UE is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.ues.start < other.ues.end && other.ues.start < self.ues.end
    }
}

/// The sections of UEs by their names, so that the far end of each of many flows is found at once.
pub struct UeNames<'a>(BTreeMap<&'a str, Range<usize>>);

impl<'a> UeNames<'a> {
    /// The sections of a scenario.
    pub fn of(scenario: &'a Resolved) -> Self {
        let (mut sections, mut first) = (BTreeMap::new(), 0);
        for ue in &scenario.ue {
            let count = ue.count as usize;
            sections.entry(ue.name.as_str()).or_insert(first..first + count);
            first += count;
        }
        Self(sections)
    }

    /// The UEs of the flow, or `None` if there are none.
    pub fn reach(&self, flow: &Flow) -> Option<Reach> {
        self.named(flow.to.as_deref()?)
    }

    /// The UEs with this name, or `None` if there are none: those of the section, or one member of a group. If both
    /// exist, the first in the file counts.
    pub fn named(&self, to: &str) -> Option<Reach> {
        let section = self.0.get(to).cloned().map(|ues| Reach { group: ues.len() > 1, ues });
        let first_of = |reach: &Reach| reach.ues.start;
        section.into_iter().chain(self.member(to)).min_by_key(first_of)
    }

    /// The member of a group with this name.
    fn member(&self, to: &str) -> Option<Reach> {
        let (group, number) = to.rsplit_once('-')?;
        let ues = self.0.get(group).filter(|ues| ues.len() > 1)?;
        let k = Some(number).filter(|k| !k.starts_with(['0', '+']))?.parse::<usize>().ok()?;
        let ue = ues.start + k.checked_sub(1)?;
        ues.contains(&ue).then_some(Reach { ues: ue..ue + 1, group: false })
    }
}

/// Every UE, in the order of the file.
#[must_use]
pub fn ues(scenario: &Resolved) -> Vec<OneUe> {
    let mut all = Vec::new();
    for (section, ue) in scenario.ue.iter().enumerate() {
        for k in 1..=ue.count {
            let name = if ue.count > 1 { format!("{}-{k}", ue.name) } else { ue.name.clone() };
            all.push(OneUe { name, section, member: k - 1 });
        }
    }
    all
}

/// The name of a flow whose section has none.
pub fn unnamed(section: usize) -> String {
    format!("flow-{}", section + 1)
}

/// Every flow, in the order of the file.
#[must_use]
pub fn flows(scenario: &Resolved) -> Vec<OneFlow> {
    let mut all = Vec::new();
    let names = UeNames::of(scenario);
    for (section, flow) in scenario.flow.iter().enumerate() {
        let base = flow.name.clone().unwrap_or_else(|| unnamed(section));
        let mut repeated = |name: &str, ue: Option<usize>, from: Option<usize>| {
            for turn in 0..flow.repeat.as_ref().map_or(1, |repeat| repeat.count) {
                let name = match &flow.repeat {
                    None => name.to_owned(),
                    Some(_) => format!("{name}-{}", turn + 1),
                };
                let one = OneFlow { name, section, ue, turn, relayed: None };
                match ue.zip(from) {
                    None => all.push(one),
                    Some((to, from)) => all.extend(legs(&one, from, to, flow)),
                }
            }
        };
        if scenario.network == Network::Wired {
            repeated(&base, None, None);
            continue;
        }
        let Some(Reach { ues, group }) = names.reach(flow) else { continue };
        let from = flow.from.as_deref().and_then(|from| names.named(from)).map(|from| from.ues.start);
        for (k, ue) in ues.enumerate() {
            let name = if group { format!("{base}-{}", k + 1) } else { base.clone() };
            repeated(&name, Some(ue), from.map(|first| first + k));
        }
    }
    all
}

/// The two legs of a flow between two UEs.
fn legs(one: &OneFlow, from: usize, to: usize, flow: &Flow) -> [OneFlow; 2] {
    let leg = |name: String, ue: usize, leg: Leg, other_ue: usize| OneFlow {
        name,
        ue: Some(ue),
        relayed: Some(Relayed { leg, other_ue }),
        ..one.clone()
    };
    let first = format!("{} from {}", one.name, flow.from.as_deref().unwrap_or_default());
    [leg(one.name.clone(), to, Leg::Second, from), leg(first, from, Leg::First, to)]
}
