//! The tables of a run and their columns, for tests.

use airlane_assembly::RunOutput;
use airlane_record::{Column, Table};

pub(crate) fn table<'a>(output: &'a RunOutput, name: &str) -> &'a Table {
    &output.tables.iter().find(|(other, _)| *other == name).expect("the table is there").1
}

pub(crate) fn reals(table: &Table, name: &str) -> Vec<f64> {
    match table.column(name) {
        Some(Column::F64(values)) => values.clone(),
        Some(Column::I64(values)) => values.iter().map(|value| *value as f64).collect(),
        other => panic!("{name}: {other:?}"),
    }
}

pub(crate) fn texts(table: &Table, name: &str) -> Vec<String> {
    let names = table.column(name).and_then(Column::names);
    names.unwrap_or_else(|| panic!("no names in {name}")).into_iter().map(str::to_owned).collect()
}
