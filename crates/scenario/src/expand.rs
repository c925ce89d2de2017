//! Expands groups: each UE and each flow gets its own name and number.

use core::ops::Range;

use airlane_core::{Duration, Instant};

use crate::format::{Flow, Network, Resolved};

/// One UE of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OneUe {
    /// Its name in the results.
    pub(crate) name: String,
    /// The index of its `[[ue]]` section.
    pub(crate) section: usize,
    /// Its number in the group, from 0.
    pub(crate) member: u32,
}

/// One flow of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OneFlow {
    /// Its name in the results.
    pub(crate) name: String,
    /// The index of its `[[flow]]` section.
    pub(crate) section: usize,
    /// The UE at its far end; `None` in a wired network.
    pub(crate) ue: Option<usize>,
    /// Its number among the repetitions of the section, from 0.
    pub(crate) turn: u32,
}

impl OneFlow {
    /// The start of its application.
    pub(crate) fn start(&self, scenario: &Resolved) -> Instant {
        let flow = &scenario.flow[self.section];
        let every = flow.repeat.as_ref().map_or(Duration::ZERO, |repeat| repeat.every.0);
        Instant::ZERO + flow.start.0 + every * u64::from(self.turn)
    }
}

/// The UEs at the far ends of a section's flows, as numbers among all UEs.
pub(crate) struct Reach {
    ues: Range<usize>,
    group: bool,
}

impl Reach {
    /// The number of flows it becomes.
    pub(crate) fn count(&self) -> u32 {
        self.ues.len() as u32
    }
}

/// The UEs of the flow, or `None` if there are none.
pub(crate) fn reach(flow: &Flow, scenario: &Resolved) -> Option<Reach> {
    let to = flow.to.as_deref()?;
    let mut first = 0;
    for ue in &scenario.ue {
        let count = ue.count as usize;
        if ue.name == to {
            return Some(Reach { ues: first..first + count, group: count > 1 });
        }
        let member = to.strip_prefix(ue.name.as_str()).and_then(|rest| rest.strip_prefix('-'));
        if let Some(k) = member
            .filter(|k| !k.starts_with(['0', '+']))
            .and_then(|k| k.parse::<usize>().ok())
            .filter(|k| count > 1 && (1..=count).contains(k))
        {
            return Some(Reach { ues: first + k - 1..first + k, group: false });
        }
        first += count;
    }
    None
}

/// Every UE, in the order of the file.
#[must_use]
pub(crate) fn ues(scenario: &Resolved) -> Vec<OneUe> {
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
pub(crate) fn unnamed(section: usize) -> String {
    format!("flow-{}", section + 1)
}

/// Every flow, in the order of the file.
#[must_use]
pub(crate) fn flows(scenario: &Resolved) -> Vec<OneFlow> {
    let mut all = Vec::new();
    for (section, flow) in scenario.flow.iter().enumerate() {
        let base = flow.name.clone().unwrap_or_else(|| unnamed(section));
        let mut repeated = |name: &str, ue: Option<usize>| match &flow.repeat {
            None => all.push(OneFlow { name: name.to_owned(), section, ue, turn: 0 }),
            Some(repeat) => all.extend((0..repeat.count).map(|turn| {
                let name = format!("{name}-{}", turn + 1);
                OneFlow { name, section, ue, turn }
            })),
        };
        if scenario.network == Network::Wired {
            repeated(&base, None);
            continue;
        }
        let Some(Reach { ues, group }) = reach(flow, scenario) else { continue };
        for (k, ue) in ues.enumerate() {
            if group {
                repeated(&format!("{base}-{}", k + 1), Some(ue));
            } else {
                repeated(&base, Some(ue));
            }
        }
    }
    all
}
