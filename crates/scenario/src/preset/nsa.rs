//! Networks of dual connectivity: a cell of LTE and one of NR, or two of NR, and UEs with both, unless the scenario says
//! otherwise.

use airlane_ran::numerology::nr::FrequencyRange;
use airlane_settings::{Table, Tree, Value, read};
use serde::Deserialize;

use super::{NRDC, SECONDARY_NODE};
use crate::quantity::Frequency;
use crate::technology::Technology;

/// Whether a network is one of these.
pub(super) fn is_one(network: &str) -> bool {
    network.starts_with("nsa-") || network == NRDC
}

const FREQUENCY: &str = "frequency";
/// The carrier of the cell of `nrdc` in FR2: band n257 (TS 38.101-2 table 5.2-1).
const FR2: &str = "28 GHz";

/// The key of a cell that tells its frequency range.
#[derive(Deserialize)]
struct Carrier {
    frequency: Frequency,
}

/// Whether the written frequency of a cell is in FR2. One that is no frequency is reported when the scenario is read.
pub(super) fn is_in_fr2(cell: &Tree) -> bool {
    let Some(written) = cell.get(FREQUENCY).cloned() else { return false };
    let keys = Tree::unplaced(Value::Table(vec![(FREQUENCY.to_owned(), written)]));
    read(&keys)
        .is_ok_and(|Carrier { frequency }| FrequencyRange::of(frequency.0) == Some(FrequencyRange::Two))
}

/// Adds the cells if the scenario has none, and gives each UE that names no cells for its secondary node all of NR.
pub(super) fn fill(scenario: &mut Tree, network: &str) {
    let Value::Table(sections) = &mut scenario.value else { return };
    if !sections.iter().any(|(key, _)| key == "cell") {
        let cells = match network {
            NRDC => [cell(&[("name", "fr1")]), cell(&[("name", "fr2"), (FREQUENCY, FR2)])],
            _ => [cell(&[("name", "lte")]), cell(&[("name", "nr"), ("radio", "nr")])],
        };
        let cells = Value::Array(cells.into());
        sections.push(("cell".to_owned(), Tree::unplaced(cells)));
    }
    let named: Vec<Tree> = list(scenario, "cell").iter().filter_map(|cell| pscell(cell, network)).collect();
    let Some(Value::Array(ues)) = scenario.get_mut("ue").map(|ues| &mut ues.value) else { return };
    for ue in ues.iter_mut().filter(|ue| ue.get("carriers").is_none()) {
        let Value::Table(keys) = &mut ue.value else { continue };
        if !keys.iter().any(|(key, _)| key == SECONDARY_NODE) {
            keys.push((SECONDARY_NODE.to_owned(), Tree::unplaced(Value::Table(Table::new()))));
        }
        let Some(Value::Table(node)) = ue.get_mut(SECONDARY_NODE).map(|node| &mut node.value) else {
            continue;
        };
        if !node.iter().any(|(key, _)| key == "cells") {
            node.push(("cells".to_owned(), Tree::unplaced(Value::Array(named.clone()))));
        }
    }
}

fn cell(keys: &[(&str, &str)]) -> Tree {
    let text = |value: &str| Tree::unplaced(Value::Text(value.to_owned()));
    Tree::unplaced(Value::Table(keys.iter().map(|(key, value)| ((*key).to_owned(), text(value))).collect()))
}

fn list<'a>(scenario: &'a Tree, key: &str) -> &'a [Tree] {
    match scenario.get(key).map(|list| &list.value) {
        Some(Value::Array(list)) => list,
        _ => &[],
    }
}

/// The name of a cell that can be a PSCell.
fn pscell(cell: &Tree, network: &str) -> Option<Tree> {
    let interferes = matches!(cell.get("interferer").map(|value| &value.value), Some(Value::Bool(true)));
    let is_nr = Technology::of_cell(cell, network) == Technology::Nr;
    let is_secondary = is_nr && (network != NRDC || is_in_fr2(cell));
    (is_secondary && !interferes).then(|| cell.get("name").cloned()).flatten()
}
