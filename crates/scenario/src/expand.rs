//! Expands groups: each UE and each flow gets its own name and number.

use core::ops::Range;
use std::collections::BTreeMap;

use airlane_core::{Duration, FlowId, Instant};

use crate::format::{Flow, Network, Resolved, Ue};

/// One UE of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneUe {
    /// Its name in the results.
    pub name: String,
    /// The index of its `[[ue]]` section.
    pub section: usize,
    /// Its number in the group, from 0.
    pub member: u32,
    /// The cell of its radio, where a UE has several accesses: each cell is then a UE of the radio network.
    pub cell: Option<String>,
}

/// The way between the server of a flow and its other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Through the radio of this UE.
    Ue(usize),
    /// Over the internet link of a wired network.
    Internet,
    /// Over this `[[link]]`.
    Link(usize),
}

impl Route {
    /// The radio that it uses.
    fn radio(&self) -> Option<usize> {
        match self {
            Self::Ue(ue) => Some(*ue),
            Self::Internet | Self::Link(_) => None,
        }
    }
}

/// One flow of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneFlow {
    /// Its name in the results.
    pub name: String,
    /// The index of its `[[flow]]` section.
    pub section: usize,
    /// The UE at its far end, or the first of its radios that the flow uses; `None` in a wired network.
    pub ue: Option<usize>,
    /// Its number among the repetitions of the section, from 0.
    pub turn: u32,
    /// Its routes: one, or of a flow over Multipath TCP one for each path.
    pub routes: Vec<Route>,
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
#[derive(Clone)]
pub struct Reach {
    ues: Range<usize>,
    /// The number of radios of each.
    radios: usize,
    group: bool,
    /// The flow leads to one of several radios of a UE.
    is_radio: bool,
}

impl Reach {
    /// The UEs.
    pub(crate) fn ues(&self) -> Range<usize> {
        self.ues.clone()
    }

    /// The number of flows it becomes.
    pub fn count(&self) -> u32 {
        (self.ues.len() / self.radios) as u32
    }

    /// Whether a UE is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.ues.start < other.ues.end && other.ues.start < self.ues.end
    }
}

/// The sections of UEs by their names, so that the far end of each of many flows is found at once.
pub struct UeNames<'a> {
    sections: BTreeMap<&'a str, Section<'a>>,
    /// The radios of each member of a group with positions given one by one, by the name of the member.
    of_points: BTreeMap<String, Reach>,
}

/// The UEs of a section, by the numbers of their radios.
struct Section<'a> {
    ues: Range<usize>,
    /// The cells of the radios of each.
    cells: Vec<Option<&'a str>>,
    /// Whether the positions of the members are given one by one.
    has_points: bool,
}

impl Section<'_> {
    fn is_group(&self) -> bool {
        self.ues.len() > self.cells.len()
    }
}

impl<'a> UeNames<'a> {
    /// The sections of a scenario.
    pub fn of(scenario: &'a Resolved) -> Self {
        let (mut sections, mut of_points, mut first) = (BTreeMap::new(), BTreeMap::new(), 0);
        for ue in &scenario.ue {
            let cells = radios(ue, scenario);
            let ues = first..first + ue.count as usize * cells.len();
            first = ues.end;
            if ue.count > 1 && ue.point(0).is_some() {
                for member in 0..ue.count {
                    let at = ues.start + member as usize * cells.len();
                    let reach = Reach {
                        ues: at..at + cells.len(),
                        radios: cells.len(),
                        group: false,
                        is_radio: false,
                    };
                    of_points.entry(format!("{}-{}", ue.name, ue.suffix(member))).or_insert(reach);
                }
            }
            sections.entry(ue.name.as_str()).or_insert(Section {
                ues,
                cells,
                has_points: ue.point(0).is_some(),
            });
        }
        Self { sections, of_points }
    }

    /// The UEs of the flow, or `None` if there are none.
    pub fn reach(&self, flow: &Flow) -> Option<Reach> {
        self.named(flow.to.as_deref()?)
    }

    /// The UEs with this name, or `None` if there are none: those of the section, or one member of a group. If both
    /// exist, the first in the file counts. Otherwise it is one radio of a UE with several.
    pub fn named(&self, to: &str) -> Option<Reach> {
        self.host(to).or_else(|| to.match_indices('/').find_map(|(at, _)| self.radio(to, at)))
    }

    fn host(&self, to: &str) -> Option<Reach> {
        let section = self.sections.get(to).map(|section| Reach {
            group: section.is_group(),
            radios: section.cells.len(),
            ues: section.ues.clone(),
            is_radio: false,
        });
        let first_of = |reach: &Reach| reach.ues.start;
        section.into_iter().chain(self.member(to)).min_by_key(first_of)
    }

    /// The radio of a UE, whose name ends at `at`, in the cell with the rest of the name.
    fn radio(&self, to: &str, at: usize) -> Option<Reach> {
        let host = self.host(&to[..at]).filter(|host| !host.group && host.radios > 1)?;
        let section = self.sections.values().find(|section| section.ues.contains(&host.ues.start))?;
        let place = section.cells.iter().position(|cell| *cell == Some(&to[at + 1..]))?;
        let ue = host.ues.start + place;
        Some(Reach { ues: ue..ue + 1, radios: 1, group: false, is_radio: true })
    }

    /// The member of a group with this name.
    fn member(&self, to: &str) -> Option<Reach> {
        if let Some(reach) = self.of_points.get(to) {
            return Some(reach.clone());
        }
        let (group, number) = to.rsplit_once('-')?;
        let section = self.sections.get(group).filter(|section| section.is_group() && !section.has_points)?;
        let (ues, radios) = (&section.ues, section.cells.len());
        let k = Some(number).filter(|k| !k.starts_with(['0', '+']))?.parse::<usize>().ok()?;
        let ue = k.checked_sub(1)?.checked_mul(radios)?.checked_add(ues.start)?;
        let reach = Reach { ues: ue..ue + radios, radios, group: false, is_radio: false };
        ues.contains(&ue).then_some(reach)
    }
}

/// Every UE, in the order of the file.
#[must_use]
pub fn ues(scenario: &Resolved) -> Vec<OneUe> {
    let mut all = Vec::new();
    for (section, ue) in scenario.ue.iter().enumerate() {
        for k in 1..=ue.count {
            let name =
                if ue.count > 1 { format!("{}-{}", ue.name, ue.suffix(k - 1)) } else { ue.name.clone() };
            let radios = radios(ue, scenario);
            for cell in &radios {
                let name = match cell {
                    Some(cell) if radios.len() > 1 => format!("{name}/{cell}"),
                    _ => name.clone(),
                };
                all.push(OneUe { name, section, member: k - 1, cell: cell.map(str::to_owned) });
            }
        }
    }
    all
}

/// The cells of the radios of a UE; `None` for a UE with one radio whose cell is not one of its accesses.
fn radios<'a>(ue: &'a Ue, scenario: &Resolved) -> Vec<Option<&'a str>> {
    let is_cell = |name: &&str| scenario.cell.iter().any(|cell| cell.name == **name);
    let names = ue.access.iter().flatten().map(String::as_str);
    let cells: Vec<_> = names.filter(is_cell).map(Some).collect();
    if cells.is_empty() { vec![None] } else { cells }
}

/// The accesses by name: those of the UE whose first radio has this number, or those of the host of a wired network.
fn accesses(scenario: &Resolved, ue: Option<(usize, &Ue)>) -> Vec<(String, Route)> {
    let links = scenario.link.iter().enumerate();
    let links = links.map(|(index, link)| (link.name.clone(), Route::Link(index)));
    let Some((first, ue)) = ue else {
        return core::iter::once((INTERNET.to_owned(), Route::Internet)).chain(links).collect();
    };
    let Some(names) = &ue.access else { return vec![(String::new(), Route::Ue(first))] };
    let mut radios = first..;
    let mut route = |name: &String| match links.clone().find(|(link, _)| link == name) {
        Some(link) => link,
        None => (name.clone(), Route::Ue(radios.next().unwrap_or(first))),
    };
    names.iter().map(&mut route).collect()
}

/// The routes of a flow to a UE, whose first radio has this number, or to the host.
fn routes(scenario: &Resolved, flow: &Flow, ue: Option<(usize, &Ue)>) -> Vec<Route> {
    let all = accesses(scenario, ue);
    let of = |name: &String| all.iter().find(|(access, _)| access == name).map(|(_, route)| *route);
    let first = all.iter().take(1).map(|(_, route)| *route);
    let Some(keys) = flow.transport.path_keys() else {
        return flow.access.as_ref().map_or_else(|| first.collect(), |name| of(name).into_iter().collect());
    };
    let subflows = keys.subflows;
    let paths: Vec<Route> = match keys.paths {
        Some(names) => names.iter().filter_map(of).collect(),
        None => all.iter().map(|(_, route)| *route).collect(),
    };
    paths.into_iter().flat_map(|route| (0..subflows).map(move |_| route)).collect()
}

/// The names of the accesses of a flow's UE, or of the host.
#[must_use]
pub fn access_names(scenario: &Resolved, flow: &Flow) -> Vec<String> {
    let reach = UeNames::of(scenario).reach(flow);
    if reach.as_ref().is_some_and(|reach| reach.is_radio) {
        return vec![String::new()];
    }
    let ue = reach.map(|reach| reach.ues.start);
    let ue = ue.map(|first| (first, &scenario.ue[ues(scenario)[first].section]));
    accesses(scenario, ue).into_iter().map(|(name, _)| name).collect()
}

/// A UE with all of its radios, or the host of a wired network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// Its name.
    pub(crate) name: String,
    /// The numbers of its radios; none of the host of a wired network.
    pub(crate) radios: Range<usize>,
    /// Its accesses with their names. The name of a single access may be empty.
    pub(crate) accesses: Vec<(String, Route)>,
}

/// Every UE, in the order of the file, or the host of a wired network, which has the name `wired`.
pub(crate) fn hosts(scenario: &Resolved, wired: &str) -> Vec<Host> {
    if scenario.network == Network::Wired {
        let accesses = accesses(scenario, None);
        return vec![Host { name: wired.to_owned(), radios: 0..0, accesses }];
    }
    let (all, mut first) = (ues(scenario), 0);
    let of_one = |radios: &[OneUe]| {
        let (ue, one) = (&scenario.ue[radios[0].section], &radios[0]);
        let numbers = first..first + radios.len();
        first = numbers.end;
        let name =
            if ue.count > 1 { format!("{}-{}", ue.name, ue.suffix(one.member)) } else { ue.name.clone() };
        Host { name, accesses: accesses(scenario, Some((numbers.start, ue))), radios: numbers }
    };
    all.chunk_by(|a, b| (a.section, a.member) == (b.section, b.member)).map(of_one).collect()
}

/// The access of a wired network's internet link.
pub const INTERNET: &str = "internet";

/// The name of a flow whose section has none.
pub fn unnamed(section: usize) -> String {
    format!("flow-{}", section + 1)
}

/// The number of the first radio of each section of UEs.
fn first_radios(scenario: &Resolved) -> Vec<usize> {
    let mut next = 0;
    let count = |ue: &Ue| ue.count as usize * radios(ue, scenario).len();
    let mut first = |ue: &Ue| {
        let first = next;
        next += count(ue);
        first
    };
    scenario.ue.iter().map(&mut first).collect()
}

/// Every flow, in the order of the file.
#[must_use]
pub fn flows(scenario: &Resolved) -> Vec<OneFlow> {
    let mut all = Vec::new();
    let names = UeNames::of(scenario);
    let firsts = first_radios(scenario);
    let section_of = |ue: usize| firsts.partition_point(|first| *first <= ue) - 1;
    for (section, flow) in scenario.flow.iter().enumerate() {
        let base = flow.name.clone().unwrap_or_else(|| unnamed(section));
        let reach = names.reach(flow);
        let from = flow.from.as_deref().and_then(|from| names.named(from));
        let [to_radio, from_radio] =
            [&reach, &from].map(|reach| reach.as_ref().is_some_and(|reach| reach.is_radio));
        let routes_of = |ue: Option<usize>, is_radio: bool| match ue.filter(|_| is_radio) {
            Some(radio) => vec![Route::Ue(radio)],
            None => routes(scenario, flow, ue.map(|first| (first, &scenario.ue[section_of(first)]))),
        };
        let mut repeated = |name: &str, ue: Option<usize>, from: Option<usize>| {
            for turn in 0..flow.repeat.as_ref().map_or(1, |repeat| repeat.count) {
                let name = match &flow.repeat {
                    None => name.to_owned(),
                    Some(_) => format!("{name}-{}", turn + 1),
                };
                let routes = routes_of(ue, to_radio);
                let radio = routes.iter().find_map(Route::radio).or(ue);
                let one = OneFlow { name, section, ue: radio, turn, routes, relayed: None };
                match ue.zip(from) {
                    None => all.push(one),
                    Some((to, from)) => {
                        let routes = routes_of(Some(from), from_radio);
                        all.extend(legs(one, to, (from, routes), flow));
                    }
                }
            }
        };
        if scenario.network == Network::Wired {
            repeated(&base, None, None);
            continue;
        }
        let Some(Reach { ues, radios, group, .. }) = reach else { continue };
        let mut senders = from.into_iter().flat_map(|from| from.ues.step_by(from.radios));
        for (k, ue) in ues.step_by(radios).enumerate() {
            let suffix = || scenario.ue[section_of(ue)].suffix(k as u32);
            let name = if group { format!("{base}-{}", suffix()) } else { base.clone() };
            repeated(&name, Some(ue), senders.next());
        }
    }
    all
}

/// The two legs of a flow between two UEs. `second` is the flow to `to`; the sender has a number and routes.
fn legs(second: OneFlow, to: usize, (from, routes): (usize, Vec<Route>), flow: &Flow) -> [OneFlow; 2] {
    let relayed = |leg, other_ue| Some(Relayed { leg, other_ue });
    let first = OneFlow {
        name: format!("{} from {}", second.name, flow.from.as_deref().unwrap_or_default()),
        ue: Some(from),
        routes,
        relayed: relayed(Leg::First, to),
        ..second
    };
    [OneFlow { relayed: relayed(Leg::Second, from), ..second }, first]
}
