//! A line on the contents of a movement file that are skipped, assumed or improbable.

use std::collections::BTreeMap;

use crate::mobility::movements::{IMPROBABLE_MPS, counted, cut};

/// Maximum number of commands that are counted one by one and named; the others are counted together.
const COMMANDS_MAX: usize = 6;

/// Numbers of statements and nodes.
#[derive(Debug, Default)]
pub(super) struct Tally {
    skipped: BTreeMap<String, usize>,
    more: usize,
    /// The first line that was skipped.
    first: Option<String>,
    /// Nodes of other names.
    pub(super) others: usize,
    /// Nodes without one of their initial coordinates.
    pub(super) at_origin: usize,
    /// Initial coordinates that were set again.
    pub(super) set_twice: usize,
    /// Orders of an earlier time than the one before.
    pub(super) unsorted: usize,
    /// Orders that place a node by their speed.
    pub(super) placed: usize,
    /// Highest speed of the other orders.
    pub(super) fastest_mps: f64,
}

impl Tally {
    pub(super) fn skip(&mut self, word: &str, line: &str) {
        self.first.get_or_insert_with(|| cut(line));
        let word: String = cut(word).chars().take(20).collect();
        if let Some(count) = self.skipped.get_mut(&word) {
            *count += 1;
        } else if self.skipped.len() < COMMANDS_MAX {
            self.skipped.insert(word, 1);
        } else {
            self.more += 1;
        }
    }

    /// The help for a file without a node.
    pub(super) fn help_without_node(&self, forms: &str) -> String {
        match &self.first {
            None => forms.to_owned(),
            Some(first) => format!("{forms}; the first other statement is in `{first}`"),
        }
    }

    fn skipped_in_all(&self) -> usize {
        self.skipped.values().sum::<usize>() + self.more
    }

    /// The line about a file with this number of nodes; `None` if there is nothing to report.
    pub(super) fn line(&self, nodes: usize) -> Option<String> {
        let mut parts = Vec::new();
        if !self.skipped.is_empty() {
            let mut kinds: Vec<String> =
                self.skipped.iter().map(|(word, count)| format!("{count} `{word}`")).collect();
            if self.more > 0 {
                kinds.push(format!("{} others", self.more));
            }
            let skipped = counted(self.skipped_in_all(), ["other statement", "other statements"]);
            parts.push(format!("skipped {skipped} ({})", kinds.join(", ")));
        }
        let counts = [
            (self.others, ["node", "nodes"], "of another name, left out"),
            (self.at_origin, ["node", "nodes"], "without an initial position, at x = 0 or y = 0"),
            (self.set_twice, ["initial coordinate", "initial coordinates"], "set again, the last one holds"),
            (self.unsorted, ["order", "orders"], "not in the order of time, sorted"),
            (self.placed, ["order", "orders"], "by whose speed a node is placed at once"),
        ];
        let shown = counts.iter().filter(|(count, ..)| *count > 0);
        parts.extend(shown.map(|(count, noun, words)| format!("{} {words}", counted(*count, *noun))));
        if self.fastest_mps > IMPROBABLE_MPS {
            let speed = self.fastest_mps;
            parts.push(format!("speeds up to {speed:.0} m/s ({:.0} km/h): are they in km/h?", speed * 3.6));
        }
        (!parts.is_empty())
            .then(|| format!("read {}: {}", counted(nodes, ["node", "nodes"]), parts.join("; ")))
    }
}
