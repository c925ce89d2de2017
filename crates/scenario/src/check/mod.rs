//! Checks that types cannot express: consistency of names and keys, and limits that are checked
//! before any memory is allocated.

mod carriers;
mod cell;
mod channel;
mod duration;
mod files;
mod flow;
mod handover;
mod kernel;
mod kernel_paths;
mod layout;
mod middlebox;
mod mpquic;
mod nr;
mod output;
mod paths;
mod qos;
mod rasters;
mod rnis;
mod secondary_node;
mod service;
mod ue;

use std::collections::BTreeSet;

use airlane_core::Duration;
use airlane_settings::Tree;
pub(crate) use airlane_settings::{Checked, Place};

use crate::expand;
use crate::format::{Aqm, Backhaul, Internet, Middlebox, Network, Resolved, Run, Ue};
use crate::middlebox::proxy_names;
use crate::quantity::{Size, Time};

pub(crate) use duration::duration_max;
pub(crate) use files::locate;
pub(crate) use layout::{degrees, layout, map, origin};

/// Maximum number of UEs.
pub(crate) const UES_MAX: u64 = 10_000;
/// Maximum number of flows.
const FLOWS_MAX: u64 = 10_000;
/// Maximum number of channels between cells and UEs, if there are several cells: 61 sites of three sectors with ten UEs
/// each are 334,890. With fading and shadowing these take 1 GiB, and 3 KiB more for each that is strong enough to fade.
const LINKS_MAX: u64 = 350_000;
/// Maximum number of cells.
pub(crate) const CELLS_MAX: usize = 1_000;
/// Maximum number of links in series between the core and a cell.
const HOPS_MAX: usize = 16;
/// Maximum number of rows of all time series. A row has up to 156 bytes, and columns grow by doubling, so that
/// they take about a gigabyte.
const ROWS_MAX: u64 = 5_000_000;
/// A full packet of an ordinary path, the minimum size of a queue.
pub(crate) const PACKET: Size = Size(airlane_core::Bytes(1500));
/// Maximum number of slots in a setting of the MAC.
const SLOTS_MAX: u64 = 10_000;

/// Checks everything.
pub(crate) fn check(scenario: &Resolved, tree: &Tree) -> Checked {
    let at = Place::root(tree);
    run(&scenario.run, &at.under("run"))?;
    internet(&scenario.internet, &at.under("internet"))?;
    match scenario.network {
        Network::Wired => wired(tree)?,
        Network::Typical
        | Network::Lena2014
        | Network::LenaUtah
        | Network::Lena337
        | Network::NrTypicalFr1
        | Network::NrFddLowband
        | Network::NrFr2
        | Network::NsaFr1
        | Network::NsaFr2
        | Network::Nrdc
        | Network::TypicalSleeping
        | Network::NrTypicalFr1Sleeping
        | Network::NrFddLowbandSleeping
        | Network::NrFr2Sleeping => cellular(scenario, &at)?,
    }
    paths::links(scenario, &at)?;
    middlebox::middleboxes(scenario, &at)?;
    rnis::rnis(scenario, &at)?;
    flow::flows(scenario, &at)?;
    output::output(scenario, &at.under("output"))?;
    rows(scenario, &at.under("run"))
}

/// A time in subframes of 1 ms, which are the slots of LTE.
pub(crate) fn whole_subframes(at: &Place<'_>, time: Time, key: &str, least: u64) -> Checked {
    whole_slots(at, Duration::from_millis(1), time, key, least)
}

/// A time in slots of this length.
pub(crate) fn whole_slots(at: &Place<'_>, slot: Duration, time: Time, key: &str, least: u64) -> Checked {
    let (ns, length) = (time.0.as_nanos(), slot.as_nanos());
    let ok = ns.is_multiple_of(length) && (least..=SLOTS_MAX).contains(&(ns / length));
    let (unit, high) = (Time(slot), Time(slot * SLOTS_MAX));
    let low = if least == 0 { "0 ms".to_owned() } else { Time(slot * least).to_string() };
    let help = format!("it must be a multiple of {unit} from {low} to {high}");
    at.require(ok, key, "not a whole number of slots, or out of range", &help)
}

fn run(run: &Run, at: &Place<'_>) -> Checked {
    at.positive(run.duration, "duration")?;
    let help = "it must be below run.duration";
    at.require(run.warmup < run.duration, "warmup", "not before the end of the run", help)?;
    at.positive(run.series_bin, "series_bin")?;
    at.require(i64::try_from(run.seed).is_ok(), "seed", "the seed is too large", "it must be below 2^63")
}

/// The time series must fit into memory.
fn rows(scenario: &Resolved, at: &Place<'_>) -> Checked {
    let bins = scenario.run.duration.0.as_nanos() / scenario.run.series_bin.0.as_nanos();
    let flows = expand::flows(scenario).len() as u64;
    let tracks =
        if scenario.run.ue_series { scenario.ue.iter().map(|ue| u64::from(ue.count)).sum() } else { 0 };
    let has_pep = scenario.middlebox.iter().any(|one| matches!(one, Middlebox::Pep(_)));
    let proxies = if scenario.output.proxy_series { proxy_names(scenario).len() as u64 } else { 0 };
    let of_flows = flows * (1 + u64::from(has_pep) + proxies);
    let rows = bins.saturating_mul(of_flows + scenario.cell.len() as u64 + tracks);
    let help = format!("the series would have {rows} rows, and the limit is {ROWS_MAX}; use wider bins");
    at.require(rows <= ROWS_MAX, "series_bin", "too short for the duration of the run", &help)
}

fn internet(internet: &Internet, at: &Place<'_>) -> Checked {
    internet.aqm.check(&at.under("aqm"))?;
    let sorted = internet.rate_steps.is_sorted_by_key(|step| step.at.0);
    at.require(sorted, "rate_steps", "the entries are not in order of time", "sort them by `at`")?;
    uplink_steps(internet, at)?;
    impairments(internet, at)?;
    if let Some(burst) = internet.loss_burst {
        let help = "it must be 1 packet or more, and `loss` at most loss_burst / (1 + loss_burst), since a packet arrives between two bursts";
        let fits = (1.0..=1e6).contains(&burst) && internet.loss.0 <= burst / (1.0 + burst);
        at.require(fits, "loss_burst", "out of range for this `loss`", help)?;
        let own = internet.loss_seed.is_none();
        at.require(
            own,
            "loss_seed",
            "it cannot be combined with loss_burst",
            "leave out one of them: loss_seed draws independent losses",
        )?;
    }
    if internet.trace.is_some() {
        let help = "leave out one of them: the delivery trace sets when packets leave";
        at.require(internet.rate_steps.is_empty(), "rate_steps", "it cannot be combined with `trace`", help)?;
        at.require(internet.hold.is_empty(), "hold", "it cannot be combined with `trace`", help)?;
    }
    Ok(())
}

fn uplink_steps(internet: &Internet, at: &Place<'_>) -> Checked {
    let Some(steps) = &internet.uplink_rate_steps else { return Ok(()) };
    let (key, help) =
        ("uplink_rate_steps", "leave out one of them: the delivery trace sets when packets leave");
    let sorted = steps.is_sorted_by_key(|step| step.at.0);
    at.require(sorted, key, "the entries are not in order of time", "sort them by `at`")?;
    at.require(internet.uplink_trace.is_none(), key, "it cannot be combined with `uplink_trace`", help)
}

/// The scheduled changes of the downlink, and its policer.
fn impairments(internet: &Internet, at: &Place<'_>) -> Checked {
    let steps = internet.loss_steps.as_deref().unwrap_or_default();
    let sorted = steps.is_sorted_by_key(|step| step.at.0);
    at.require(sorted, "loss_steps", "the entries are not in order of time", "sort them by `at`")?;
    let plain = internet.trace.is_none() && matches!(internet.aqm, Aqm::DropTail);
    let help = "leave it out, or leave out `aqm` and `trace`";
    let only = "it needs a drop-tail link with a set rate";
    at.require(plain || internet.detours.is_none(), "detours", only, help)?;
    at.require(plain || internet.policer.is_none(), "policer", only, help)?;
    internet.policer.as_ref().map_or(Ok(()), |policer| {
        at.at_least(policer.burst, PACKET, "policer.burst", "too small for a full packet")
    })
}

/// Sections that a wired network cannot have; checked before presets fill in the rest.
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
    let help = "leave it out, or choose network = \"typical\"; a wired network is server, link ([internet]) and host";
    Place::root(tree).under(key).wrong(format!("a wired network has {what}"), help)
}

fn cellular(scenario: &Resolved, at: &Place<'_>) -> Checked {
    let help = "pass the scenario that `parse` returned";
    at.require(scenario.channel.is_some(), "channel", "a cell needs a channel", help)?;
    at.require(scenario.backhaul.is_some(), "backhaul", "a cell needs a backhaul", help)?;
    scenario.backhaul.as_ref().map_or(Ok(()), |b| backhaul(b, &at.under("backhaul")))?;
    scenario.channel.as_ref().map_or(Ok(()), |c| channel::channel(c, &at.under("channel")))?;
    at.require(!scenario.cell.is_empty(), "cell", "the scenario has no cell", "add [[cell]] with a name")?;
    at.require(
        scenario.cell.len() <= CELLS_MAX,
        "cell",
        "the scenario has too many cells",
        "the limit is 1000",
    )?;
    let mut names = BTreeSet::new();
    for (i, cell) in scenario.cell.iter().enumerate() {
        let at = at.under("cell").entry(i);
        name(&cell.name, &mut names, &at)?;
        cell::cell(cell, &at)?;
        cell::carrier(cell, &scenario.cell[..i], &at)?;
    }
    cell::connections(&scenario.cell, &at.under("cell"))?;
    let serves = scenario.cell.iter().any(|cell| !cell.interferer);
    let help = "at least one cell must serve UEs; leave `interferer` out of one cell";
    at.require(serves, "cell", "every cell is an interferer", help)?;
    handover::handover(scenario, at)?;
    for (i, cell) in scenario.cell.iter().enumerate() {
        service::service(cell, scenario, &at.under("cell").entry(i))?;
    }
    ue::ues(scenario, at)?;
    let ues: u64 = scenario.ue.iter().map(|ue| u64::from(ue.count)).sum();
    for (i, cell) in scenario.cell.iter().enumerate() {
        let at = at.under("cell").entry(i);
        cell::queues(cell, ues, &at)?;
        nr::configured_grants(cell, ues, &at)?;
    }
    channels(scenario, at)?;
    let Some(propagation) = &scenario.channel else { return Ok(()) };
    rasters::rules(scenario, at)?;
    channel::heights(scenario, propagation, at)?;
    channel::doppler(scenario, propagation, &at.under("channel"))
}

/// The number of channels between cells and UEs.
fn channels(scenario: &Resolved, at: &Place<'_>) -> Checked {
    if scenario.cell.len() == 1 {
        return Ok(());
    }
    let cells = scenario.cell.len() as u64;
    let carriers = |ue: &Ue| ue.carriers.as_ref().map_or(1, Vec::len) as u64 * u64::from(ue.count);
    let ues: u64 = scenario.ue.iter().map(carriers).sum();
    let Some(most) = scenario.channel.as_ref().and_then(|channel| channel.strongest_cells) else {
        let links = ues * cells;
        let help = format!(
            "there would be {links} channels between cells and UEs; the limit is {LINKS_MAX}. With \
             `strongest_cells = 30` in [channel], UEs have channels with the cells that they receive strongest, and other \
             cells interfere with their mean power"
        );
        return at.require(links <= LINKS_MAX, "cell", "too many cells for this number of UEs", &help);
    };
    let carriers: BTreeSet<_> = scenario.cell.iter().map(|cell| cell.frequency.0.to_bits()).collect();
    let links = ues * (u64::from(most) * carriers.len() as u64).min(cells);
    let help = format!("there would be {links} channels between cells and UEs; the limit is {LINKS_MAX}");
    let at = at.under("channel");
    at.require(links <= LINKS_MAX, "strongest_cells", "too many cells for this number of UEs", &help)
}

fn backhaul(backhaul: &Backhaul, at: &Place<'_>) -> Checked {
    backhaul.aqm.check(&at.under("aqm"))?;
    let Some(hops) = &backhaul.hop else { return Ok(()) };
    let at = at.under("hop");
    at.require_here(!hops.is_empty(), "the list of links is empty", "leave it out for one link")?;
    let help = format!("the list has {} links; the limit is {HOPS_MAX}", hops.len());
    at.require_here(hops.len() <= HOPS_MAX, "too many links in series", help.as_str())?;
    let mut one_each = false;
    for (i, hop) in hops.iter().enumerate() {
        let at = at.entry(i);
        hop.aqm.check(&at.under("aqm"))?;
        let help = "list shared links first, then the links of each cell";
        at.require(
            !(hop.shared && one_each),
            "shared",
            "a shared link cannot follow links of single cells",
            help,
        )?;
        one_each |= !hop.shared;
    }
    Ok(())
}

/// A name must exist, be short and unique, and not be a number (which a path would interpret as an
/// index).
fn name(name: &str, taken: &mut BTreeSet<String>, at: &Place<'_>) -> Checked {
    let known = |c: char| c.is_alphanumeric() || "-_/ ".contains(c);
    let fits = (1..=64).contains(&name.len()) && name.chars().all(known);
    at.require(
        fits,
        "name",
        "not a valid name",
        "use 1 to 64 characters: letters, digits, space, -, _ and /",
    )?;
    at.require(name.parse::<u64>().is_err(), "name", "a name cannot be a number", "begin with a letter")?;
    at.require(taken.insert(name.to_owned()), "name", "the name is used twice", "give each its own name")
}
