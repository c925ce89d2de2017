//! Networks of non-standalone 5G: a cell of LTE and one of NR, and UEs with both, unless the scenario says otherwise.

use airlane_settings::{Table, Tree, Value};

use super::SECONDARY_NODE;
use crate::technology::Technology;

/// The beginning of the names of these networks.
pub(super) const PREFIX: &str = "nsa-";

/// Adds the cells if the scenario has none, and gives each UE that names no cells for its secondary node all of NR.
pub(super) fn fill(scenario: &mut Tree, network: &str) {
    let Value::Table(sections) = &mut scenario.value else { return };
    if !sections.iter().any(|(key, _)| key == "cell") {
        let cells = Value::Array(vec![cell(&[("name", "lte")]), cell(&[("name", "nr"), ("radio", "nr")])]);
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
    (is_nr && !interferes).then(|| cell.get("name").cloned()).flatten()
}
