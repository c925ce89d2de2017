//! What types cannot say: names that must fit together, and limits that are refused before any
//! memory is taken.

mod aqm;
mod cell;
mod channel;
mod files;
mod flow;
mod handover;
mod layout;
mod middlebox;
mod output;
mod rnis;
mod service;
mod ue;
mod video;

use std::collections::BTreeSet;

use airlane_core::Duration;

use crate::error::ScenarioError;
use crate::expand;
use crate::format::{Aqm, Backhaul, Internet, Network, Resolved, Run};
use crate::quantity::{Metres, Size, Time};
use crate::tree::{OVERRIDE, Tree, Value};

pub(crate) use files::locate;
pub(crate) use layout::{degrees, layout};

/// UEs in all.
const UES_MAX: u64 = 10_000;
/// Flows in all.
const FLOWS_MAX: u64 = 10_000;
/// Channels between cells and UEs, where there are several cells: 10 KiB each.
const LINKS_MAX: u64 = 100_000;
/// Cells in all.
const CELLS_MAX: usize = 1_000;
/// Links between the core and a cell, one after the other.
const HOPS_MAX: usize = 16;
/// Rows of the time series in all, a bin of a flow each: about a gigabyte.
const ROWS_MAX: u64 = 10_000_000;
/// Slots that a setting of the MAC may count.
const SLOTS_MAX: u64 = 10_000;

type Checked = Result<(), ScenarioError>;

/// Checks everything.
pub(crate) fn check(scenario: &Resolved, tree: &Tree) -> Checked {
    let at = Place { tree, key: String::new() };
    run(&scenario.run, &at.under("run"))?;
    internet(&scenario.internet, &at.under("internet"))?;
    match scenario.network {
        Network::Wired => wired(tree)?,
        Network::Typical | Network::Lena2014 | Network::Lena337 => cellular(scenario, &at)?,
    }
    middlebox::middleboxes(scenario, &at)?;
    rnis::rnis(scenario, &at)?;
    flow::flows(scenario, &at)?;
    output::output(scenario, &at.under("output"))?;
    rows(scenario, &at.under("run"))
}

/// A key, and the tree in which to look up its line and value.
struct Place<'a> {
    tree: &'a Tree,
    key: String,
}

impl Place<'_> {
    /// A key below this one.
    fn under(&self, key: &str) -> Self {
        let key = if self.key.is_empty() { key.to_owned() } else { format!("{}.{key}", self.key) };
        Self { tree: self.tree, key }
    }

    /// An entry of the list that stands here.
    fn entry(&self, index: usize) -> Self {
        self.under(&index.to_string())
    }

    /// The error that something is wrong here.
    fn wrong(&self, message: impl Into<Box<str>>, help: impl Into<Box<str>>) -> Checked {
        let mut error = ScenarioError::new(self.key.as_str(), message, help);
        let mut tree = Some(self.tree);
        for step in self.key.split('.') {
            error.line = tree.map(|t| t.line).filter(|line| *line != 0).or(error.line);
            tree = tree.and_then(|t| match (&t.value, step.parse::<usize>()) {
                (Value::Array(items), Ok(index)) => items.get(index),
                _ => t.get(step),
            });
        }
        if let Some(tree) = tree {
            error.value = tree.written().into();
            error.line = Some(tree.line).filter(|line| *line != 0).or(error.line);
        }
        error.line = error.line.filter(|line| *line != OVERRIDE);
        Err(error)
    }

    /// The error that something is wrong with a key below.
    fn fail(&self, key: &str, message: impl Into<Box<str>>, help: impl Into<Box<str>>) -> Checked {
        self.under(key).wrong(message, help)
    }

    fn require(&self, ok: bool, key: &str, message: &str, help: &str) -> Checked {
        if ok { Ok(()) } else { self.fail(key, message, help) }
    }

    fn require_here(&self, ok: bool, message: &str, help: &str) -> Checked {
        if ok { Ok(()) } else { self.wrong(message, help) }
    }

    fn positive(&self, time: Time, key: &str) -> Checked {
        self.require(time.0 > Duration::ZERO, key, "a time of nothing", "it must be above zero")
    }

    fn slots(&self, time: Time, key: &str, least: u64) -> Checked {
        let (ns, slot) = (time.0.as_nanos(), Duration::from_millis(1).as_nanos());
        let ok = ns.is_multiple_of(slot) && (least..=SLOTS_MAX).contains(&(ns / slot));
        let help = format!("whole slots of 1 ms, from {least} ms to 10 s");
        self.require(ok, key, "no number of slots that the MAC can have", &help)
    }

    fn distance(&self, length: Metres, key: &str) -> Checked {
        self.require(length.0 >= 0.0, key, "a distance cannot be negative", "it must be 0 m or more")
    }

    fn at_least(&self, size: Size, least: Size, key: &str, message: &str) -> Checked {
        self.require(size >= least, key, message, &format!("at least {least}"))
    }
}

fn run(run: &Run, at: &Place<'_>) -> Checked {
    at.positive(run.duration, "duration")?;
    let help = "it must be below run.duration";
    at.require(run.warmup < run.duration, "warmup", "the run ends before it", help)?;
    at.positive(run.series_bin, "series_bin")?;
    at.require(i64::try_from(run.seed).is_ok(), "seed", "larger than any seed", "it must be below 2^63")
}

/// The time series must fit into memory.
fn rows(scenario: &Resolved, at: &Place<'_>) -> Checked {
    let bins = scenario.run.duration.0.as_nanos() / scenario.run.series_bin.0.as_nanos();
    let tracks =
        if scenario.run.ue_series { scenario.ue.iter().map(|ue| u64::from(ue.count)).sum() } else { 0 };
    let rows = bins.saturating_mul(expand::flows(scenario).len() as u64 + tracks);
    let help = format!("the series would have {rows} rows, at most {ROWS_MAX}; widen the bins");
    at.require(rows <= ROWS_MAX, "series_bin", "too fine for so long a run", &help)
}

fn internet(internet: &Internet, at: &Place<'_>) -> Checked {
    aqm::aqm(&internet.aqm, &at.under("aqm"))?;
    let sorted = internet.rate_steps.is_sorted_by_key(|step| step.at.0);
    at.require(sorted, "rate_steps", "not in the order of time", "sort them by `at`")?;
    impairments(internet, at)?;
    if let Some(burst) = internet.loss_burst {
        let help =
            "1 packet or more, and loss at most burst / (1 + burst): between two there is one that arrives";
        let fits = (1.0..=1e6).contains(&burst) && internet.loss.0 <= burst / (1.0 + burst);
        at.require(fits, "loss_burst", "no mean length of bursts with this loss", help)?;
        let own = internet.loss_seed.is_none();
        at.require(
            own,
            "loss_seed",
            "draws losses that know nothing of each other",
            "leave out one of loss_seed and loss_burst",
        )?;
    }
    if internet.trace.is_some() {
        let help = "a delivery trace says when packets leave; leave one of them out";
        at.require(internet.rate_steps.is_empty(), "rate_steps", "of no use with a trace", help)?;
        at.require(internet.hold.is_empty(), "hold", "of no use with a trace", help)?;
    }
    Ok(())
}

/// What the downlink does to packets at given times, and its policer.
fn impairments(internet: &Internet, at: &Place<'_>) -> Checked {
    let steps = internet.loss_steps.as_deref().unwrap_or_default();
    let sorted = steps.is_sorted_by_key(|step| step.at.0);
    at.require(sorted, "loss_steps", "not in the order of time", "sort them by `at`")?;
    let plain = internet.trace.is_none() && matches!(internet.aqm, Aqm::DropTail);
    let help = "leave it out, or `aqm` and `trace`";
    let only = "only a drop-tail link of a given rate has it";
    at.require(plain || internet.detours.is_none(), "detours", only, help)?;
    at.require(plain || internet.policer.is_none(), "policer", only, help)?;
    internet.policer.as_ref().map_or(Ok(()), |policer| {
        at.at_least(policer.burst, internet_packet(), "policer.burst", "too small for any packet")
    })
}

/// The largest packet of a common path.
const fn internet_packet() -> Size {
    Size(airlane_core::Bytes(1500))
}

/// What a wired network cannot have; asked before anything is filled in.
pub(crate) fn wired(tree: &Tree) -> Checked {
    let has = [
        ("layout", "no layout"),
        ("cell", "no cell"),
        ("ue", "no UE"),
        ("channel", "no radio channel"),
        ("backhaul", "no backhaul"),
        ("handover", "no handover"),
        ("x2", "no X2"),
        ("middlebox", "no middlebox"),
        ("rnis", "no radio network information service"),
    ];
    let found = has.into_iter().find(|(key, _)| tree.get(key).is_some_and(|t| !t.is_empty()));
    let Some((key, what)) = found else { return Ok(()) };
    let help = "it is server, link ([internet]) and host; for a cell, choose network = \"typical\"";
    Place { tree, key: key.to_owned() }.wrong(format!("a wired network has {what}"), help)
}

fn cellular(scenario: &Resolved, at: &Place<'_>) -> Checked {
    let help = "give what `parse` returned";
    at.require(scenario.channel.is_some(), "channel", "a cell needs a channel", help)?;
    at.require(scenario.backhaul.is_some(), "backhaul", "a cell needs a backhaul", help)?;
    scenario.backhaul.as_ref().map_or(Ok(()), |b| backhaul(b, &at.under("backhaul")))?;
    scenario.channel.as_ref().map_or(Ok(()), |c| channel::channel(c, &at.under("channel")))?;
    at.require(!scenario.cell.is_empty(), "cell", "no cell", "add [[cell]] with a name")?;
    at.require(scenario.cell.len() <= CELLS_MAX, "cell", "too many cells", "at most 1000")?;
    let mut names = BTreeSet::new();
    for (i, cell) in scenario.cell.iter().enumerate() {
        let at = at.under("cell").entry(i);
        name(&cell.name, &mut names, &at)?;
        cell::cell(cell, &at)?;
        cell::carrier(cell, &scenario.cell[..i], &at)?;
    }
    let serves = scenario.cell.iter().any(|cell| !cell.interferer);
    let help = "leave `interferer` out of one of them";
    at.require(serves, "cell", "all cells only interfere", help)?;
    handover::handover(scenario, at)?;
    for (i, cell) in scenario.cell.iter().enumerate() {
        service::service(cell, scenario, &at.under("cell").entry(i))?;
    }
    ue::ues(scenario, at)?;
    for (i, cell) in scenario.cell.iter().enumerate() {
        cell::queues(cell, expand::ues(scenario).len() as u64, &at.under("cell").entry(i))?;
    }
    let links = scenario.cell.len() as u64 * expand::ues(scenario).len() as u64;
    let help = format!("{links} channels between cells and UEs, at most {LINKS_MAX}");
    at.require(scenario.cell.len() == 1 || links <= LINKS_MAX, "cell", "too many for so many UEs", &help)?;
    scenario.channel.as_ref().map_or(Ok(()), |c| channel::heights(scenario, c, at))
}

fn backhaul(backhaul: &Backhaul, at: &Place<'_>) -> Checked {
    aqm::aqm(&backhaul.aqm, &at.under("aqm"))?;
    let Some(hops) = &backhaul.hop else { return Ok(()) };
    let at = at.under("hop");
    at.require_here(!hops.is_empty(), "no link leads to the cells", "leave it out for one link")?;
    let help = format!("{} links in series, at most {HOPS_MAX}", hops.len());
    at.require_here(hops.len() <= HOPS_MAX, "too many links in series", help.as_str())?;
    let mut one_each = false;
    for (i, hop) in hops.iter().enumerate() {
        let at = at.entry(i);
        aqm::aqm(&hop.aqm, &at.under("aqm"))?;
        let help = "put the links that all cells share before those of each cell";
        at.require(!(hop.shared && one_each), "shared", "links of each cell would join again", help)?;
        one_each |= !hop.shared;
    }
    Ok(())
}

/// A name is there, is short, is not a number (which a path would take for an index), and is
/// not taken.
fn name(name: &str, taken: &mut BTreeSet<String>, at: &Place<'_>) -> Checked {
    let known = |c: char| c.is_alphanumeric() || "-_/ ".contains(c);
    let fits = (1..=64).contains(&name.len()) && name.chars().all(known);
    at.require(fits, "name", "not a name", "letters, digits, space, -, _ and /, at most 64")?;
    at.require(name.parse::<u64>().is_err(), "name", "a number, not a name", "begin with a letter")?;
    at.require(taken.insert(name.to_owned()), "name", "used twice", "give each its own name")
}
