//! The results of a run, for JavaScript.

use airlane_assembly::RunOutput;
use airlane_record::{Column, Table};
use js_sys::{Array, Float64Array, Object, Reflect, Uint8Array, Uint32Array};
use wasm_bindgen::prelude::*;

/// Tables, facts and captures of a run.
#[wasm_bindgen]
pub struct Outcome {
    pub(crate) output: RunOutput,
    pub(crate) captures: Vec<(String, Vec<u8>)>,
}

#[wasm_bindgen]
impl Outcome {
    /// Facts about the run, as a JSON object.
    #[must_use]
    pub fn meta(&self) -> String {
        serde_json::to_string(&self.output.meta).expect("the facts are numbers and names")
    }

    /// An object of tables by name. A table is an object of columns by name, in their order: a `Float64Array`
    /// of numbers, a `Uint8Array` of Boolean values, an array of names, or `{labels, of}` for names with few
    /// distinct values.
    #[must_use]
    pub fn tables(&self) -> Object {
        let tables = Object::new();
        for (name, table) in &self.output.tables {
            set(&tables, name, &columns(table));
        }
        tables
    }

    /// The captures: pairs of a file name and its bytes.
    #[must_use]
    pub fn captures(&self) -> Array {
        let pair =
            |(name, bytes): &(String, Vec<u8>)| Array::of2(&name.into(), &Uint8Array::from(&bytes[..]));
        self.captures.iter().map(pair).collect()
    }

    /// Every byte of all tables, in the format of the scenario crate's example `dump`.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, table) in &self.output.tables {
            table.write_bytes(name, &mut bytes).expect("memory takes it");
        }
        bytes
    }
}

fn set(object: &Object, name: &str, value: &JsValue) {
    Reflect::set(object, &name.into(), value).expect("a plain object takes attributes");
}

fn columns(table: &Table) -> JsValue {
    let columns = Object::new();
    for (name, column) in &table.columns {
        set(&columns, name, &values(column));
    }
    columns.into()
}

fn values(column: &Column) -> JsValue {
    let names = |names: &[String]| names.iter().map(JsValue::from).collect::<Array>();
    match column {
        Column::F64(values) => Float64Array::from(&values[..]).into(),
        Column::I64(values) => {
            let values: Vec<f64> = values.iter().map(|&value| value as f64).collect();
            Float64Array::from(&values[..]).into()
        }
        Column::Bool(values) => {
            let values: Vec<u8> = values.iter().map(|&value| u8::from(value)).collect();
            Uint8Array::from(&values[..]).into()
        }
        Column::Text(values) => names(values).into(),
        Column::Labels { labels, of } => {
            let object = Object::new();
            set(&object, "labels", &names(labels));
            set(&object, "of", &Uint32Array::from(&of[..]));
            object.into()
        }
    }
}
