//! The JSON Schema of scenario files, for editors.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::format::Resolved;

/// Keys that no preset fills, by the type that needs them.
const REQUIRED: [(&str, &[&str]); 11] = [
    ("Cell", &["name"]),
    ("Ue", &["name"]),
    ("Fixed", &["size"]),
    ("Cbr", &["rate"]),
    ("FixedWindow", &["size"]),
    ("Disc", &["radius"]),
    ("Linear", &["speed"]),
    ("RateStep", &["at", "rate"]),
    ("Hold", &["at", "duration"]),
    ("Doppler", &[]),
    ("Resolved", &["flow"]),
];

/// The JSON Schema (draft 2020-12) of scenario files.
///
/// It is derived from the types of [`crate::format`], with two differences that the presets make:
/// what they fill need not be written, and a choice may be written as its bare name.
#[must_use]
pub fn schema() -> String {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema: Schema = generator.into_root_schema_for::<Resolved>();
    let root = schema.ensure_object();
    root.insert("title".to_owned(), json!("airlane scenario"));
    relax(root, "Resolved");
    if let Some(Value::Object(types)) = root.get_mut("$defs") {
        for (name, value) in types {
            if let Value::Object(object) = value {
                relax(object, name);
                allow_bare_name(object);
            }
        }
    }
    serde_json::to_string_pretty(&schema).expect("a schema is JSON")
}

/// What the presets fill is not required.
fn relax(object: &mut Map<String, Value>, name: &str) {
    if !object.contains_key("properties") {
        return;
    }
    object.remove("required");
    if let Some((_, keys)) = REQUIRED.iter().find(|(type_name, keys)| *type_name == name && !keys.is_empty())
    {
        object.insert("required".to_owned(), json!(keys));
    }
}

/// `{ kind = "friis" }` may be written as `"friis"`, and the tag may be left to the preset.
fn allow_bare_name(object: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = object.get("oneOf") else { return };
    let names: Vec<_> = variants.iter().filter_map(tag_value).collect();
    if names.len() != variants.len() {
        return;
    }
    let mut choices = variants.clone();
    choices.push(json!({ "type": "string", "enum": names }));
    object.remove("oneOf");
    object.insert("anyOf".to_owned(), Value::Array(choices));
}

/// The constant by which a variant is known.
fn tag_value(variant: &Value) -> Option<Value> {
    let properties = variant.get("properties")?.as_object()?;
    properties.values().find_map(|property| property.get("const").cloned())
}
