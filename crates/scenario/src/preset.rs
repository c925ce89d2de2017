//! Presets: TOML files of defaults that are merged into the user's text.
//!
//! [`airlane_settings::merge()`] has the rules of such files. A key in an earlier preset has precedence over a later
//! one.

use airlane_settings::{Table, Tree, Value, defaults};

use crate::technology::Technology;

mod nsa;

const AQM: &str = include_str!("presets/aqm.toml");
const COMMON: &str = include_str!("presets/common.toml");
const LAYOUT: &str = include_str!("presets/layout.toml");
const NR: &str = include_str!("presets/nr.toml");
const NR_TYPICAL_FR1: &str = include_str!("presets/nr-typical-fr1.toml");
const NR_FDD_LOWBAND: &str = include_str!("presets/nr-fdd-lowband.toml");
const NR_FR2: &str = include_str!("presets/nr-fr2.toml");
const NRDC_DEFAULTS: &str = include_str!("presets/nrdc.toml");
const NRDC_FR2: &str = include_str!("presets/nrdc-fr2.toml");
const NSA_FR1: &str = include_str!("presets/nsa-fr1.toml");
const NSA_FR2: &str = include_str!("presets/nsa-fr2.toml");
const LENA_2014: &str = include_str!("presets/lena-2014.toml");
const LENA_3_37: &str = include_str!("presets/lena-3.37.toml");
const LENA_UTAH: &str = include_str!("presets/lena-utah.toml");
const SLEEPING: &str = include_str!("presets/sleeping.toml");
const NR_SLEEPING: &str = include_str!("presets/nr-sleeping.toml");
const NR_FR2_SLEEPING: &str = include_str!("presets/nr-fr2-sleeping.toml");
const TYPICAL: &str = include_str!("presets/typical.toml");
const WIRED: &str = include_str!("presets/wired.toml");

/// Names that `network` may have.
pub(crate) const NETWORKS: [&str; 16] = [
    "typical",
    "lena",
    "lena-2014",
    "lena-3.37",
    "lena-utah",
    "nr-typical-fr1",
    "nr-fdd-lowband",
    "nr-fr2",
    "nsa-fr1",
    "nsa-fr2",
    NRDC,
    "typical-sleeping",
    "nr-typical-fr1-sleeping",
    "nr-fdd-lowband-sleeping",
    "nr-fr2-sleeping",
    "wired",
];

/// The preset with a master node and a secondary node of NR.
pub(crate) const NRDC: &str = "nrdc";

/// The end of the name of a preset whose UEs sleep.
const SLEEPS: &str = "-sleeping";

/// Fills in the keys that the user left out. `network` is one of [`NETWORKS`].
pub(crate) fn fill(scenario: &mut Tree, network: &str) {
    let awake = network.strip_suffix(SLEEPS);
    if let Some(awake) = awake {
        merge_sleep(scenario, awake);
    }
    let network = awake.unwrap_or(network);
    if nsa::is_one(network) {
        nsa::fill(scenario, network);
    }
    let own: &[&str] = match network {
        "lena" | "lena-3.37" => &[LENA_3_37],
        "lena-2014" => &[LENA_2014, LENA_3_37],
        "lena-utah" => &[LENA_UTAH, LENA_2014, LENA_3_37],
        "nr-typical-fr1" => &[NR_TYPICAL_FR1, NR],
        "nr-fdd-lowband" => &[NR_FDD_LOWBAND, NR],
        "nr-fr2" => &[NR_FR2, NR],
        "nsa-fr1" => &[NSA_FR1, TYPICAL],
        "nsa-fr2" => &[NSA_FR2, TYPICAL],
        NRDC => &[NRDC_DEFAULTS, NR_TYPICAL_FR1, NR],
        "wired" => &[WIRED],
        _ => &[TYPICAL],
    };
    let technology = Technology::of_network(network);
    let (other, of_other): (_, &[&str]) = match technology {
        Technology::Lte if network == "nsa-fr2" => (Technology::Nr, &[NR_FR2, NR]),
        Technology::Lte => (Technology::Nr, &[NR_TYPICAL_FR1, NR]),
        Technology::Nr => (Technology::Lte, &[TYPICAL]),
    };
    for text in of_other {
        let cells = defaults(text);
        merge_cells(scenario, cells.get("cell"), |cell| Technology::of_cell(cell, network) == other);
    }
    fill_fr2(scenario, network);
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

/// Fills in the cells of `nrdc` that are in FR2.
fn fill_fr2(scenario: &mut Tree, network: &str) {
    let is_of_nr = |cell: &Tree| Technology::of_cell(cell, network) == Technology::Nr;
    let files: &[&str] = if network == NRDC { &[NRDC_FR2, NR_FR2] } else { &[] };
    for text in files {
        let cells = defaults(text);
        merge_cells(scenario, cells.get("cell"), |cell| is_of_nr(cell) && nsa::is_in_fr2(cell));
    }
}

/// Fills in what lets the UEs of each cell sleep. `awake` is the preset for the rest.
fn merge_sleep(scenario: &mut Tree, awake: &str) {
    let of_fr2: &[&str] = if awake == "nr-fr2" { &[NR_FR2_SLEEPING] } else { &[] };
    for text in of_fr2.iter().chain(&[NR_SLEEPING, SLEEPING]) {
        let is_common = *text == SLEEPING;
        merge_cells(scenario, defaults(text).get("cell"), |cell| {
            is_common || Technology::of_cell(cell, awake) == Technology::Nr
        });
    }
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

/// The defaults for the TCP of flows also apply to both connections of a split-connection proxy, the peer of a
/// kernel, and the subflows of Multipath TCP; those for QUIC also to QUIC over several paths.
fn of_legs(defaults: &Tree) -> Vec<Tree> {
    let of = |kind| ["flow", "transport", kind].iter().try_fold(defaults, |tree, key| tree.get(key));
    let within = |inner: Tree, key: &str| Tree::unplaced(Value::Table(vec![(key.to_owned(), inner)]));
    let places: [&[&str]; 4] = [
        &["middlebox", "kind=split-proxy", "core"],
        &["middlebox", "kind=split-proxy", "ran"],
        &["flow", "transport", "kind=kernel", PEER],
        &["flow", "transport", "kind=mptcp", "tcp"],
    ];
    let at =
        |tcp: &Tree, place: &[&str]| place.iter().rev().fold(tcp.clone(), |inner, key| within(inner, key));
    let multipath = of("kind=quic").map(|quic| at(quic, &["flow", "transport", "kind=mpquic", "quic"]));
    of("kind=tcp").into_iter().flat_map(|tcp| places.map(|place| at(tcp, place))).chain(multipath).collect()
}

/// Fills in the missing keys of the layout, the only section of the tree.
pub(crate) fn fill_layout(section: &mut Tree) {
    merge(section, &defaults(LAYOUT));
}

/// Adds the keys of `defaults` that the user left out.
fn merge(user: &mut Tree, defaults: &Tree) {
    airlane_settings::merge(user, defaults, &only_if_written);
}

/// Whether a table lacks this key unless the user writes it. Sections that are lists have no default element.
fn only_if_written(key: &str, table: &Table) -> bool {
    LISTS.contains(&key)
        || [L4S_BEARER, BANDWIDTH_PARTS, BUILDING, SECONDARY_NODE, SCELL_EVENTS, MEASUREMENT_GAPS]
            .contains(&key)
        || (key == SCELLS && !table.iter().any(|(key, _)| key == CARRIERS))
        || (key == PEER && !has_simulated_end(table))
}

/// Whether the transport of a kernel has a simulated end.
fn has_simulated_end(transport: &Table) -> bool {
    transport.iter().any(|(key, ends)| key == "ends" && matches!(ends.text(), Some("server" | "ue")))
}

/// Sections that may occur several times.
pub(crate) const LISTS: [&str; 5] = ["cell", "middlebox", "link", "ue", "flow"];

/// Sections that exist only if the user writes the first of them.
const HANDOVER: [&str; 2] = ["handover", "x2"];
/// A section that exists only if the user writes it.
const INFORMATION: &str = "rnis";
/// A table of a cell that exists only if the user writes it.
const L4S_BEARER: &str = "l4s_bearer";
/// A table of a cell that exists only if the user writes it.
const BANDWIDTH_PARTS: &str = "bandwidth_parts";
/// The simulated TCP at the other end of a kernel: a table of a transport that has it if one end is simulated.
const PEER: &str = "peer";
/// A table of a UE that exists only if the user writes it.
const BUILDING: &str = "building";
/// A table of a UE that exists only if the user writes it.
const SECONDARY_NODE: &str = "secondary_node";
/// A table of a UE that exists only if the user writes it.
const SCELL_EVENTS: &str = "scell_events";
/// A table of a UE that exists only if the user writes it.
const MEASUREMENT_GAPS: &str = "measurement_gaps";
/// A table of a UE that exists if the UE has several carriers.
const SCELLS: &str = "scells";
const CARRIERS: &str = "carriers";

#[cfg(test)]
mod tests {
    use super::*;

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
            NRDC_DEFAULTS,
            NRDC_FR2,
            NSA_FR1,
            NSA_FR2,
            SLEEPING,
            NR_SLEEPING,
            NR_FR2_SLEEPING,
            TYPICAL,
            WIRED,
        ] {
            Tree::from_toml(text).unwrap();
        }
    }
}
