//! Figures of others, from files in `data`.

use std::collections::BTreeMap;

use crate::csv::rows;

/// The figures of a file: `key`, `metric` and `value`, with their source and conditions.
pub(crate) struct Figures {
    values: BTreeMap<(String, String), String>,
    file: &'static str,
}

impl Figures {
    /// A file with the columns key, metric, value and others.
    pub(crate) fn new(file: &'static str, text: &str) -> Self {
        let mut rows = rows(text);
        let names = rows.next().expect("a line with the names of the columns");
        let column =
            |name: &str| names.iter().position(|found| found == name).expect("a column of this name");
        let (key, metric, value) = (column("key"), column("metric"), column("value"));
        let values = rows.map(|row| ((row[key].clone(), row[metric].clone()), row[value].clone())).collect();
        Self { values, file }
    }

    fn text(&self, key: &str, metric: &str) -> &str {
        let found = self.values.get(&(key.to_owned(), metric.to_owned()));
        found.unwrap_or_else(|| panic!("{}: no row with key \"{key}\" and metric \"{metric}\"", self.file))
    }

    /// A figure.
    pub(crate) fn get(&self, key: &str, metric: &str) -> f64 {
        self.text(key, metric).parse().expect("a number")
    }

    /// A range, written as `low-high`.
    pub(crate) fn range(&self, key: &str, metric: &str) -> (f64, f64) {
        let (low, high) = self.text(key, metric).split_once('-').expect("a range");
        (low.parse().expect("a number"), high.parse().expect("a number"))
    }
}
