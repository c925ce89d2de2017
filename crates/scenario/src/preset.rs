//! Presets: TOML files of defaults that are merged into the user's text.
//!
//! A preset file looks like a scenario, with two differences. A table such as `[cell]` applies to
//! each `[[cell]]`. A table whose key is a condition, such as `[cell.rlc."mode=am"]`, applies only
//! if that key has that value, so each choice has its own defaults. The user's text always has
//! precedence; a key in an earlier preset has precedence over a later one.

use crate::technology::Technology;
use crate::tree::{Table, Tree, Value};

const AQM: &str = include_str!("presets/aqm.toml");
const COMMON: &str = include_str!("presets/common.toml");
const LAYOUT: &str = include_str!("presets/layout.toml");
const NR: &str = include_str!("presets/nr.toml");
const NR_TYPICAL_FR1: &str = include_str!("presets/nr-typical-fr1.toml");
const NR_FDD_LOWBAND: &str = include_str!("presets/nr-fdd-lowband.toml");
const NR_FR2: &str = include_str!("presets/nr-fr2.toml");
const LENA_2014: &str = include_str!("presets/lena-2014.toml");
const LENA_3_37: &str = include_str!("presets/lena-3.37.toml");
const TYPICAL: &str = include_str!("presets/typical.toml");
const WIRED: &str = include_str!("presets/wired.toml");

/// Names that `network` may have.
pub(crate) const NETWORKS: [&str; 8] =
    ["typical", "lena", "lena-2014", "lena-3.37", "nr-typical-fr1", "nr-fdd-lowband", "nr-fr2", "wired"];

/// Names of tag keys, for a default table without conditions.
const TAGS: [&str; 3] = ["kind", "mode", "model"];

/// Fills in the keys that the user left out. `network` is one of [`NETWORKS`].
pub(crate) fn fill(scenario: &mut Tree, network: &str) {
    let own: &[&str] = match network {
        "lena" | "lena-3.37" => &[LENA_3_37],
        "lena-2014" => &[LENA_2014, LENA_3_37],
        "nr-typical-fr1" => &[NR_TYPICAL_FR1, NR],
        "nr-fdd-lowband" => &[NR_FDD_LOWBAND, NR],
        "nr-fr2" => &[NR_FR2, NR],
        "wired" => &[WIRED],
        _ => &[TYPICAL],
    };
    let technology = Technology::of_network(network);
    let (other, of_other): (_, &[&str]) = match technology {
        Technology::Lte => (Technology::Nr, &[NR_TYPICAL_FR1, NR]),
        Technology::Nr => (Technology::Lte, &[TYPICAL]),
    };
    for text in of_other {
        let cells = defaults(text);
        merge_cells(scenario, cells.get("cell"), |cell| Technology::of_cell(cell, network) == other);
    }
    let hands_over = scenario.get("handover").is_some();
    let informs = scenario.get(INFORMATION).is_some();
    for text in own.iter().chain(&[COMMON]) {
        let mut defaults = defaults(text);
        let legs = of_legs(&defaults);
        if let (Value::Table(sections), false) = (&mut defaults.value, hands_over) {
            let is_written = |key: &str| scenario.get(key).is_some();
            sections.retain(|(key, _)| !HANDOVER.contains(&key.as_str()) || is_written(key));
        }
        if let (Value::Table(sections), false) = (&mut defaults.value, informs) {
            sections.retain(|(key, _)| key != INFORMATION);
        }
        let cells = take_cells(&mut defaults);
        merge(scenario, &defaults);
        let is_common = *text == COMMON;
        merge_cells(scenario, cells.as_ref(), |cell| {
            is_common || Technology::of_cell(cell, network) == technology
        });
        legs.iter().for_each(|leg| merge(scenario, leg));
    }
    let queues: &[&[&str]] = match network {
        "wired" => &[&["internet"]],
        _ => &[&["internet"], &["backhaul"], &["cell", "rlc"], &["cell", L4S_BEARER]],
    };
    for place in queues {
        let within = |inner: Tree, key: &str| Tree::unplaced(Value::Table(vec![(key.to_owned(), inner)]));
        let aqm = within(defaults(AQM), "aqm");
        merge(scenario, &place.iter().rev().fold(aqm, |inner, key| within(inner, key)));
    }
    fill_hops(scenario);
    join_carriers(scenario);
}

/// Takes the settings of cells out of a preset.
fn take_cells(defaults: &mut Tree) -> Option<Tree> {
    let Value::Table(sections) = &mut defaults.value else { return None };
    let place = sections.iter().position(|(key, _)| key == "cell")?;
    Some(sections.remove(place).1)
}

/// Fills in the missing keys of some cells.
fn merge_cells(scenario: &mut Tree, defaults: Option<&Tree>, takes: impl Fn(&Tree) -> bool) {
    let cells = scenario.get_mut("cell").map(|cells| &mut cells.value);
    let (Some(Value::Array(cells)), Some(defaults)) = (cells, defaults) else { return };
    for cell in cells.iter_mut().filter(|cell| matches!(cell.value, Value::Table(_)) && takes(cell)) {
        merge(cell, defaults);
    }
}

/// The uplink of a cell with TDD has the carrier of the downlink.
fn join_carriers(scenario: &mut Tree) {
    let Some(Value::Array(cells)) = scenario.get_mut("cell").map(|cells| &mut cells.value) else { return };
    for cell in cells {
        let duplex = cell.get("radio").and_then(|radio| radio.get("duplex"));
        let is_tdd = duplex.and_then(|duplex| duplex.get("kind")).and_then(Tree::text) == Some("tdd");
        let carrier = cell.get("frequency").cloned();
        if let (Value::Table(cell), Some(carrier), true) = (&mut cell.value, carrier, is_tdd) {
            // A preset of FDD has a second carrier; what is written is checked later.
            cell.retain(|(key, value)| key != "uplink_frequency" || value.line != 0);
            if !cell.iter().any(|(key, _)| key == "uplink_frequency") {
                cell.push(("uplink_frequency".to_owned(), carrier));
            }
        }
    }
}

/// Missing keys of a link in series are taken from the backhaul. The settings of its queue discipline are the
/// backhaul's if both have the same discipline, and otherwise those of the presets.
fn fill_hops(scenario: &mut Tree) {
    let Some(backhaul) = scenario.get_mut("backhaul") else { return };
    let mut rest = Tree::unplaced(backhaul.value.clone());
    let mut rule = Tree::unplaced(Value::Table(Table::new()));
    let (Value::Table(keys), Value::Table(rules)) = (&mut rest.value, &mut rule.value) else { return };
    keys.retain(|(key, _)| key != "hop");
    rules.extend(keys.extract_if(.., |(key, _)| key == "aqm"));
    let Some(Value::Array(hops)) = backhaul.get_mut("hop").map(|hops| &mut hops.value) else { return };
    let aqm = Tree::unplaced(Value::Table(vec![("aqm".to_owned(), defaults(AQM))]));
    let kind = |tree: &Tree| tree.get("aqm").and_then(|aqm| aqm.get("kind")?.text().map(str::to_owned));
    for hop in hops.iter_mut().filter(|hop| matches!(hop.value, Value::Table(_))) {
        let says = hop.get("aqm").is_some_and(|own| own.text().is_some() || own.get("kind").is_some());
        let mut with_presets = hop.clone();
        merge(&mut with_presets, &aqm);
        if says && kind(&with_presets) != kind(&rule) {
            *hop = with_presets;
        } else {
            merge(hop, &rule);
        }
        merge(hop, &rest);
    }
}

/// The defaults for the TCP of flows also apply to both connections of a split-connection proxy, and to the peer of a
/// kernel.
fn of_legs(defaults: &Tree) -> Vec<Tree> {
    let tcp = ["flow", "transport", "kind=tcp"].iter().try_fold(defaults, |tree, key| tree.get(key));
    let within = |inner: Tree, key: &str| Tree::unplaced(Value::Table(vec![(key.to_owned(), inner)]));
    let places: [&[&str]; 3] = [
        &["middlebox", "kind=split-proxy", "core"],
        &["middlebox", "kind=split-proxy", "ran"],
        &["flow", "transport", "kind=kernel", PEER],
    ];
    let at =
        |tcp: &Tree, place: &[&str]| place.iter().rev().fold(tcp.clone(), |inner, key| within(inner, key));
    tcp.into_iter().flat_map(|tcp| places.map(|place| at(tcp, place))).collect()
}

/// Fills in the missing keys of the layout, the only section of the tree.
pub(crate) fn fill_layout(section: &mut Tree) {
    merge(section, &defaults(LAYOUT));
}

/// Adds the missing keys of settings from `text`.
pub(crate) fn complete(settings: &mut Tree, text: &str) {
    merge(settings, &defaults(text));
}

/// The defaults of a preset file.
fn defaults(text: &str) -> Tree {
    let mut defaults = Tree::from_toml(text).expect("the preset files are TOML, which a test checks");
    strip_lines(&mut defaults);
    defaults
}

/// Removes the lines of a preset file, which are not lines of the user's file.
fn strip_lines(tree: &mut Tree) {
    tree.line = 0;
    match &mut tree.value {
        Value::Table(entries) => entries.iter_mut().for_each(|(_, v)| strip_lines(v)),
        Value::Array(items) => items.iter_mut().for_each(strip_lines),
        _ => {}
    }
}

fn merge(user: &mut Tree, defaults: &Tree) {
    let Value::Table(entries) = &defaults.value else { return };
    match &mut user.value {
        Value::Array(items) => {
            for item in items.iter_mut().filter(|item| matches!(item.value, Value::Table(_))) {
                merge(item, defaults);
            }
        }
        Value::Text(_) => {
            expand_bare_name(user, entries);
            merge(user, defaults);
        }
        Value::Table(table) => {
            name_the_tag(table, entries);
            for (key, default) in entries.iter().filter(|(key, _)| condition(key).is_none()) {
                merge_entry(table, key, default);
            }
            for (key, conditional) in entries {
                let Some((tag, wanted)) = condition(key) else { continue };
                if user.get(tag).and_then(Tree::text) == Some(wanted) {
                    merge(user, conditional);
                }
            }
        }
        // A wrong type, reported when the scenario is read.
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) => {}
    }
}

fn merge_entry(table: &mut Table, key: &str, default: &Tree) {
    let nested = matches!(default.value, Value::Table(_));
    let lacks_peer = key == PEER && !has_simulated_end(table);
    match table.iter_mut().find(|(k, _)| k == key) {
        Some((_, value)) if nested => merge(value, default),
        Some(_) => {}
        // Sections that are lists have no default element.
        None if LISTS.contains(&key) || [L4S_BEARER, BUILDING].contains(&key) => {}
        None if lacks_peer => {}
        None if nested => {
            let mut value = Tree::unplaced(Value::Table(Table::new()));
            merge(&mut value, default);
            // Defaults of a choice that was not made are dropped.
            if !value.is_empty() {
                table.push((key.to_owned(), value));
            }
        }
        None => table.push((key.to_owned(), default.clone())),
    }
}

/// Whether the transport of a kernel has a simulated end.
fn has_simulated_end(transport: &Table) -> bool {
    transport.iter().any(|(key, ends)| key == "ends" && matches!(ends.text(), Some("server" | "ue")))
}

/// Sections that may occur several times.
pub(crate) const LISTS: [&str; 4] = ["cell", "middlebox", "ue", "flow"];

/// Sections that exist only if the user writes the first of them.
const HANDOVER: [&str; 2] = ["handover", "x2"];
/// A section that exists only if the user writes it.
const INFORMATION: &str = "rnis";
/// A table of a cell that exists only if the user writes it.
const L4S_BEARER: &str = "l4s_bearer";
/// The simulated TCP at the other end of a kernel: a table of a transport that has it if one end is simulated.
const PEER: &str = "peer";
/// A table of a UE that exists only if the user writes it.
const BUILDING: &str = "building";

/// Splits a conditional key, `mode=am`, into key and value.
fn condition(key: &str) -> Option<(&str, &str)> {
    key.split_once('=')
}

/// The key that distinguishes the variants of a choice, from its default table.
fn tag_of(defaults: &Table) -> Option<&str> {
    let by_condition = defaults.iter().find_map(|(key, _)| condition(key).map(|(tag, _)| tag));
    by_condition.or_else(|| TAGS.into_iter().find(|tag| defaults.iter().any(|(key, _)| key == tag)))
}

/// `"friis"` becomes `{ kind = "friis" }`.
fn expand_bare_name(user: &mut Tree, defaults: &Table) {
    let tag = tag_of(defaults).unwrap_or(TAGS[0]).to_owned();
    let name = core::mem::replace(&mut user.value, Value::Null);
    user.value = Value::Table(vec![(tag, Tree { value: name, line: user.line })]);
}

/// An override of a setting below a bare name left the name under an empty key: renames that key to
/// the tag.
fn name_the_tag(table: &mut Table, defaults: &Table) {
    if let Some((key, _)) = table.iter_mut().find(|(key, _)| key.is_empty()) {
        tag_of(defaults).unwrap_or(TAGS[0]).clone_into(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(user: &str, defaults: &str) -> String {
        let mut user = Tree::from_toml(user).unwrap();
        merge(&mut user, &Tree::from_toml(defaults).unwrap());
        show_all(&mut user);
        user.written()
    }

    /// Gives a line to all tables, since only tables with a line are printed.
    fn show_all(tree: &mut Tree) {
        tree.line = 1;
        match &mut tree.value {
            Value::Table(entries) => entries.iter_mut().for_each(|(_, v)| show_all(v)),
            Value::Array(items) => items.iter_mut().for_each(show_all),
            _ => {}
        }
    }

    #[test]
    fn the_preset_files_are_toml() {
        for text in [
            AQM,
            COMMON,
            LAYOUT,
            LENA_2014,
            LENA_3_37,
            NR,
            NR_FDD_LOWBAND,
            NR_FR2,
            NR_TYPICAL_FR1,
            TYPICAL,
            WIRED,
        ] {
            Tree::from_toml(text).unwrap();
        }
    }

    #[test]
    fn what_the_user_wrote_wins() {
        assert_eq!(
            merged("a = 1\n[t]\nx = 2", "a = 5\nb = 6\n[t]\nx = 7\ny = 8"),
            "{ a = 1, t = { x = 2, y = 8 }, b = 6 }"
        );
        assert_eq!(merged("[[cell]]\nn = 1\n[[cell]]", "[cell]\nn = 3"), "{ cell = [{ n = 1 }, { n = 3 }] }");
        assert_eq!(merged("", "[cell]\nn = 3"), "{  }");
    }

    #[test]
    fn each_choice_has_its_own_defaults() {
        let defaults = "[r]\nmode = \"am\"\n[r.\"mode=am\"]\npoll = 1\n[r.\"mode=um\"]\nreorder = 2\n";
        assert_eq!(merged("", defaults), r#"{ r = { mode = "am", poll = 1 } }"#);
        assert_eq!(merged("r = \"um\"", defaults), r#"{ r = { mode = "um", reorder = 2 } }"#);
        assert_eq!(
            merged("r = { mode = \"um\", reorder = 9 }", defaults),
            r#"{ r = { mode = "um", reorder = 9 } }"#
        );
        assert_eq!(merged("r = { \"\" = \"um\" }", defaults), r#"{ r = { mode = "um", reorder = 2 } }"#);
    }
}
