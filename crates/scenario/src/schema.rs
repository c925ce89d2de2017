//! The JSON Schema of scenario files, for editors.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::format::Resolved;

/// Required keys that no preset sets, by their type.
const REQUIRED: [(&str, &[&str]); 12] = [
    ("Resolved", &["flow"]),
    ("Cell", &["name"]),
    ("Ue", &["name"]),
    ("Origin", &["latitude", "longitude"]),
    ("Point", &["position"]),
    ("Rectangle", &["from", "to"]),
    ("RateStep", &["at", "rate"]),
    ("Hold", &["at", "duration"]),
    ("CellOutage", &["at", "duration"]),
    ("Shedding", &["at", "duration"]),
    ("Repeat", &["count", "every"]),
    ("WrapAround", &["centre", "rings", "inter_site_distance"]),
];

/// The same for the variants of choices: type, variant, key.
const REQUIRED_BY_VARIANT: [(&str, &str, &str); 21] = [
    ("App", "fixed", "size"),
    ("App", "cbr", "rate"),
    ("App", "ppbp", "rate"),
    ("Layout", "hexagonal", "inter_site_distance"),
    ("Layout", "map", "sites"),
    ("Placement", "disc", "radius"),
    ("Mobility", "line", "speed"),
    ("Mobility", "random-walk", "area"),
    ("Mobility", "trace", "file"),
    ("Area", "rectangle", "from"),
    ("Area", "rectangle", "to"),
    ("PepFault", "dies", "at"),
    ("PepFault", "lies", "from"),
    ("PepFault", "lies", "claim"),
    ("PepFault", "loses", "share"),
    ("PepFault", "reorders", "share"),
    ("PepFault", "duplicates", "share"),
    ("PepFault", "truncates", "share"),
    ("RnisFault", "late", "by"),
    ("RnisFault", "reorders", "share"),
    ("RnisFault", "nonsense", "share"),
];

/// The identifier of the schema: the file of this version's release (`.github/workflows/wheels.yml`).
const ID: &str = concat!(
    env!("CARGO_PKG_REPOSITORY"),
    "/releases/download/v",
    env!("CARGO_PKG_VERSION"),
    "/scenario.schema.json"
);

/// The JSON Schema (draft 2020-12) of scenario files.
///
/// It is derived from the types of [`crate::format`], with two differences because of the presets:
/// keys with a preset are optional, and a choice may be written as its bare name.
#[must_use]
pub fn schema() -> String {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema: Schema = generator.into_root_schema_for::<Resolved>();
    let root = schema.ensure_object();
    root.insert("$id".to_owned(), json!(ID));
    root.insert("title".to_owned(), json!("airlane scenario"));
    relax(root, "Resolved");
    if let Some(Value::Object(types)) = root.get_mut("$defs") {
        for (name, value) in types.iter_mut() {
            if let Value::Object(object) = value {
                relax(object, name);
                open_choice(object, name);
            }
        }
        allow_alias(types);
    }
    serde_json::to_string_pretty(&schema).expect("a schema is JSON")
}

/// `lena` is an alias of its latest version.
fn allow_alias(types: &mut Map<String, Value>) {
    let network = types.get_mut("Network").and_then(|n| n.get_mut("oneOf")).and_then(Value::as_array_mut);
    let choices = network.expect("the network is a choice of names");
    choices.push(json!({ "const": "lena", "description": "Short for lena-3.37.", "type": "string" }));
}

/// Makes keys with a preset optional.
fn relax(object: &mut Map<String, Value>, name: &str) {
    if !object.contains_key("properties") {
        return;
    }
    object.remove("required");
    if let Some((_, keys)) = REQUIRED.iter().find(|(type_name, _)| *type_name == name) {
        object.insert("required".to_owned(), json!(keys));
    }
}

/// A choice by tag may be written as its bare name, and the tag may be omitted if a preset sets it.
fn open_choice(object: &mut Map<String, Value>, name: &str) {
    let Some(Value::Array(variants)) = object.get("oneOf") else { return };
    let tags: Vec<_> = variants.iter().filter_map(tag_value).collect();
    if tags.len() != variants.len() {
        return;
    }
    let mut choices = variants.clone();
    for (variant, tag) in choices.iter_mut().filter_map(Value::as_object_mut).zip(&tags) {
        variant.insert("additionalProperties".to_owned(), json!(false));
        let needs = |(of, which, _): &&(&str, &str, &str)| *of == name && tag == which;
        let required: Vec<_> = REQUIRED_BY_VARIANT.iter().filter(needs).map(|(.., key)| *key).collect();
        variant.insert("required".to_owned(), json!(required));
    }
    choices.push(json!({ "type": "string", "enum": tags }));
    object.remove("oneOf");
    object.insert("anyOf".to_owned(), Value::Array(choices));
}

/// The constant that identifies a variant.
fn tag_value(variant: &Value) -> Option<Value> {
    let properties = variant.get("properties")?.as_object()?;
    properties.values().find_map(|property| property.get("const").cloned())
}
