//! The keys and choices of the format that random scenarios contain.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

use super::generate::Drawn;

/// The format according to its JSON Schema. Names are `Type.key` for a key of a table, `Choice = value` for
/// one of several values, and `Choice.value.key` for a key of that value.
pub(crate) struct Format {
    schema: Value,
}

impl Format {
    pub(crate) fn new() -> Self {
        Self { schema: serde_json::from_str(&airlane_scenario::schema()).expect("a schema is JSON") }
    }

    /// All names.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let types = self.schema["$defs"].as_object().expect("the schema has types");
        names_of(&self.schema, "Resolved", &mut names);
        types.iter().for_each(|(name, definition)| names_of(definition, name, &mut names));
        names
    }

    /// The names in a scenario as written, without the presets.
    pub(crate) fn written(&self, drawn: &Drawn, names: &mut BTreeSet<String>) {
        let resolved = drawn.resolve().unwrap_or_else(|e| panic!("{drawn}\n{e}"));
        let resolved = serde_json::from_str(&resolved.to_json()).expect("a resolved scenario is JSON");
        let text = DeTable::parse(&drawn.text).expect("it resolved");
        let mut written = table(text.get_ref());
        for (path, value) in &drawn.settings {
            *descend(&mut written, path) = value.clone();
        }
        Walk { format: self, names }.value(&self.schema, "Resolved", &written, &resolved);
    }
}

fn names_of(definition: &Value, name: &str, names: &mut BTreeSet<String>) {
    for key in definition["properties"].as_object().into_iter().flat_map(Map::keys) {
        names.insert(format!("{name}.{key}"));
    }
    for value in definition["enum"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        names.insert(format!("{name} = {value}"));
    }
    for variant in variants(definition) {
        if let Some(value) = variant["const"].as_str() {
            names.insert(format!("{name} = {value}"));
        }
        let keys: Vec<&String> = variant["properties"].as_object().into_iter().flat_map(Map::keys).collect();
        match tag(variant) {
            Some((tag, value)) => {
                names.insert(format!("{name} = {value}"));
                names.extend(
                    keys.iter().filter(|key| **key != tag).map(|key| format!("{name}.{value}.{key}")),
                );
            }
            // A value that is a table of one key.
            None => names.extend(keys.iter().map(|key| format!("{name} = {key}"))),
        }
    }
}

fn variants(definition: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf"].into_iter().filter_map(|key| definition[key].as_array()).flatten()
}

/// The key that distinguishes a variant, and its value there.
fn tag(variant: &Value) -> Option<(&str, &str)> {
    let keys = variant["properties"].as_object()?;
    keys.iter().find_map(|(key, property)| Some((key.as_str(), property["const"].as_str()?)))
}

/// Walks through the text and its schema in parallel.
struct Walk<'a> {
    format: &'a Format,
    names: &'a mut BTreeSet<String>,
}

impl Walk<'_> {
    fn value(&mut self, schema: &Value, name: &str, written: &Value, resolved: &Value) {
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
            let format = self.format;
            return self.value(&format.schema["$defs"][name], name, written, resolved);
        }
        if let Some(items) = written.as_array() {
            for (i, item) in items.iter().enumerate() {
                self.value(&schema["items"], name, item, &resolved[i]);
            }
        } else if variants(schema).next().is_some() {
            self.choice(schema, name, written, resolved);
        } else if let Some(keys) = written.as_object() {
            self.keys(schema, name, keys, resolved);
        } else if let (Some(text), true) = (written.as_str(), schema["enum"].is_array()) {
            self.names.insert(format!("{name} = {text}"));
        }
    }

    fn keys(&mut self, schema: &Value, name: &str, keys: &Map<String, Value>, resolved: &Value) {
        for (key, value) in keys.iter().filter(|(key, _)| !key.is_empty()) {
            let name = format!("{name}.{key}");
            self.value(&schema["properties"][key.as_str()], &name, value, &resolved[key.as_str()]);
            self.names.insert(name);
        }
    }

    fn choice(&mut self, schema: &Value, name: &str, written: &Value, resolved: &Value) {
        // An optional value is a choice between null and a value.
        if variants(schema).any(|variant| variant["type"] == "null") {
            let something = variants(schema).find(|variant| variant["type"] != "null");
            return self.value(something.expect("one of two"), name, written, resolved);
        }
        if let Some(text) = written.as_str() {
            self.names.insert(format!("{name} = {text}"));
        }
        let Some(keys) = written.as_object() else { return };
        // A layout is not in the resolved scenario.
        let says = |key: &str| resolved[key].as_str().or_else(|| keys.get(key)?.as_str());
        for variant in variants(schema) {
            match tag(variant) {
                Some((key, value)) if says(key) == Some(value) => {
                    self.names.insert(format!("{name} = {value}"));
                    let rest = keys.iter().filter(|(one, _)| *one != key);
                    let rest = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
                    self.keys(variant, &format!("{name}.{value}"), &rest, resolved);
                }
                None if keys.keys().all(|key| variant["properties"].get(key).is_some()) => {
                    self.names.extend(keys.keys().map(|key| format!("{name} = {key}")));
                }
                _ => {}
            }
        }
    }
}

/// TOML as JSON.
fn table(table: &DeTable<'_>) -> Value {
    table.iter().map(|(key, value)| (key.get_ref().to_string(), value_of(value.get_ref()))).collect()
}

fn value_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => json!(text),
        // The values of numbers are irrelevant.
        DeValue::Integer(_) | DeValue::Float(_) => json!(0),
        DeValue::Boolean(truth) => json!(truth),
        DeValue::Datetime(date) => json!(date.to_string()),
        DeValue::Array(items) => items.iter().map(|item| value_of(item.get_ref())).collect(),
        DeValue::Table(entries) => table(entries),
    }
}

/// The place of a path, created if it does not exist; a bare name becomes the tag of a table, without its
/// key.
fn descend<'a>(mut tree: &'a mut Value, path: &str) -> &'a mut Value {
    for step in path.split('.') {
        if tree.is_string() {
            *tree = json!({ "": tree.take() });
        }
        tree = match step.parse::<usize>() {
            Ok(index) => &mut tree[index],
            Err(_) => &mut tree[step],
        };
    }
    tree
}
