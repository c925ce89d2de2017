//! The scenarios in the repository, as examples of the format.

use std::path::{Path, PathBuf};

use airlane_scenario::{Resolved, Scenario, format, schema};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn load(path: &Path) -> Scenario {
    let text = std::fs::read_to_string(path).unwrap();
    Scenario::parse(&text, path.to_str().unwrap()).unwrap()
}

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().path());
    let files: Vec<_> = entries.filter(|p| p.extension().is_some_and(|e| e == "toml")).collect();
    assert!(files.len() >= 6);
    files
}

#[test]
fn each_resolves_to_itself() {
    for file in files() {
        let resolved = load(&file).resolve().unwrap_or_else(|e| panic!("{e}"));
        let again = Resolved::from_json(&resolved.to_json()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(resolved, again, "{}", file.display());
    }
}

#[test]
fn the_download_says_what_it_says() {
    let resolved = load(&folder().join("lte-download.toml")).resolve().unwrap();
    assert_eq!(resolved.network, format::Network::Lena337);
    assert_eq!(resolved.run.duration.to_string(), "30 s");
    assert_eq!(resolved.cell[0].resource_blocks, 100);
    let format::Rlc::Am(rlc) = &resolved.cell[0].rlc else { panic!("not AM") };
    assert_eq!(rlc.buffer.to_string(), "512 KiB");
    assert_eq!(rlc.aqm, format::Aqm::DropTail);
    assert_eq!(rlc.poll_retransmit.to_string(), "20 ms"); // the preset's
    let channel = resolved.channel.unwrap();
    assert_eq!(channel.path_loss, format::PathLoss::Friis);
    let format::Fading::Eva(doppler) = channel.fading else { panic!("not EVA") };
    assert!((doppler.speed.metres_per_second() - 16.666_67).abs() < 1e-5);
    assert_eq!(resolved.ue[0].position.map(|p| p.map(|m| m.0)), Some([100.0, 0.0]));
    assert_eq!(resolved.flow[0].start.to_string(), "500 ms");
    let format::Transport::Tcp(tcp) = &resolved.flow[0].transport else { panic!("not TCP") };
    assert_eq!(tcp.congestion, format::Congestion::Cubic);
    assert!(tcp.frto && tcp.sack && tcp.hystart);
}

#[test]
fn presets_differ_where_they_should() {
    let base = load(&folder().join("lte-download.toml"));
    let with = |path: &str, value: &str| {
        let mut scenario = base.clone();
        scenario.set(path, &value.into()).unwrap();
        scenario.resolve().unwrap()
    };
    let typical = with("network", "typical");
    assert_eq!(typical.ue[0].tx_power.to_string(), "23 dBm");
    assert_eq!(typical.cell[0].tx_power.to_string(), "30 dBm"); // the file's
    assert!(matches!(typical.cell[0].uplink, format::Uplink::SchedulingRequest(_)));
    let old = with("network", "lena-2014");
    assert_eq!(old.cell[0].mac.cqi_reference, format::CqiReference::ControlRegion);
    let mut new = with("network", "lena");
    assert_eq!(new.cell[0].mac.cqi_reference, format::CqiReference::PdschInterference);
    (new.network, new.cell[0].mac.cqi_reference) = (old.network, old.cell[0].mac.cqi_reference);
    assert_eq!(new, old, "they differ in nothing else");
    let old = with("flow.0.transport.preset", "ns3.26");
    let format::Transport::Tcp(tcp) = &old.flow[0].transport else { panic!("not TCP") };
    assert_eq!(tcp.initial_window, 1);
    assert_eq!(tcp.congestion, format::Congestion::Cubic); // the file's
}

#[test]
fn the_schema_knows_every_key_of_a_resolved_scenario() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let id = format!(
        "https://github.com/airlane/airlane/releases/download/v{}/scenario.schema.json",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(schema["$id"], *id);
    let resolved = load(&folder().join("lte-download.toml")).resolve().unwrap();
    let resolved: serde_json::Value = serde_json::from_str(&resolved.to_json()).unwrap();
    let mut unknown = Vec::new();
    walk(&schema, &schema, &resolved, "", &mut unknown);
    assert_eq!(unknown, Vec::<String>::new());
}

/// Collects the keys that no part of the schema allows.
fn walk(
    root: &serde_json::Value,
    schema: &serde_json::Value,
    value: &serde_json::Value,
    path: &str,
    unknown: &mut Vec<String>,
) {
    match value {
        serde_json::Value::Object(entries) => {
            for (key, value) in entries {
                let path = format!("{path}.{key}");
                match property(root, schema, key, 0) {
                    Some(inner) => walk(root, inner, value, &path, unknown),
                    None => unknown.push(path),
                }
            }
        }
        serde_json::Value::Array(items) => {
            let inner = find(root, schema, "items", 0).unwrap_or(schema);
            items.iter().for_each(|item| walk(root, inner, item, path, unknown));
        }
        _ => {}
    }
}

fn property<'a>(
    root: &'a serde_json::Value,
    schema: &'a serde_json::Value,
    key: &str,
    depth: u32,
) -> Option<&'a serde_json::Value> {
    if depth > 8 {
        return None;
    }
    if let Some(found) = schema.get("properties").and_then(|p| p.get(key)) {
        return Some(found);
    }
    parts(root, schema).into_iter().find_map(|part| property(root, part, key, depth + 1))
}

fn find<'a>(
    root: &'a serde_json::Value,
    schema: &'a serde_json::Value,
    key: &str,
    depth: u32,
) -> Option<&'a serde_json::Value> {
    if depth > 8 {
        return None;
    }
    schema
        .get(key)
        .or_else(|| parts(root, schema).into_iter().find_map(|part| find(root, part, key, depth + 1)))
}

/// The schemas to which this one refers, or of which it consists.
fn parts<'a>(root: &'a serde_json::Value, schema: &'a serde_json::Value) -> Vec<&'a serde_json::Value> {
    let reference = schema.get("$ref").and_then(|r| r.as_str()).and_then(|r| r.strip_prefix("#/$defs/"));
    let mut all: Vec<_> = reference.and_then(|name| root["$defs"].get(name)).into_iter().collect();
    for list in ["oneOf", "anyOf", "allOf"] {
        all.extend(schema.get(list).and_then(|l| l.as_array()).into_iter().flatten());
    }
    all
}
