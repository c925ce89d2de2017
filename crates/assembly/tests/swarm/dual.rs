//! UEs with a secondary node that move, whose SCG is added, changed, released and fails, and that are handed over between master
//! nodes of LTE (EN-DC) or of NR (NR-DC), near enough to lose nothing: each of their packets has to arrive, once.

use std::collections::BTreeMap;

use airlane_assembly::Meta;
use airlane_core::Stream;
use airlane_record::{Column, Table};
use airlane_scenario::Resolved;

use super::aggregation::{bursts, signalling_at_the_end};
use super::{Drawn, one_of};

/// What only these scenarios have as the name of a cell.
const FIRST: &str = "anchor of dual";
const DURATION_MS: u64 = 8_000;

/// Whether a scenario has a UE with a secondary node.
pub(super) fn are_in(scenario: &Resolved) -> bool {
    scenario.ue.iter().any(|ue| ue.secondary_node.is_some())
}

/// The networks and the cells of a variant of dual connectivity.
pub(super) struct Variant {
    networks: [&'static str; 3],
    /// Keys of the cells of master nodes and of secondary nodes.
    master: String,
    secondary: String,
    /// Keys of `secondary_node`.
    node: &'static str,
    /// Cells that serve none of the UEs.
    others: &'static str,
}

impl Variant {
    /// Master nodes of LTE.
    pub(super) fn en_dc() -> Self {
        Self {
            networks: ["typical", "nsa-fr1", "nsa-fr2"],
            master: "rlc = { mode = \"am\", buffer = \"64 MB\", aqm = \"drop-tail\" }\n".to_owned(),
            secondary: "radio = \"nr\"\n".to_owned(),
            node: ", master = \"lte\"",
            others: "",
        }
    }

    /// Master nodes of NR in FR1, secondary nodes in FR2; some networks have a cell of LTE, too.
    pub(super) fn nr_dc(s: &mut Stream) -> Self {
        let mhz = one_of(s, &["20", "40", "100"]);
        let secondary =
            one_of(s, &["28 GHz", "26 GHz\"\nbandwidth = \"200 MHz", "28 GHz\"\nbandwidth = \"400 MHz"]);
        let has_lte = s.chance(0.3);
        Self {
            networks: ["nrdc"; 3],
            master: format!(
                "bandwidth = \"{mhz} MHz\"\nrlc = {{ mode = \"nr-am\", buffer = \"64 MB\", aqm = \"drop-tail\" }}\n\
                 pdcp = {{ discard_timer = \"60 s\" }}\n"
            ),
            secondary: format!("frequency = \"{secondary}\"\n"),
            node: if has_lte { ", master = \"nr\"" } else { "" },
            others: if has_lte { "[[cell]]\nname = \"lte\"\nradio = \"lte\"\n" } else { "" },
        }
    }
}

/// A scenario of this kind.
pub(super) fn draw(s: &mut Stream, variant: &Variant) -> Drawn {
    let network = one_of(s, &variant.networks);
    let Variant { master, secondary, others, .. } = variant;
    let fading = one_of(s, &["\"none\"", "\"flat\"", "{ model = \"eva\", speed = \"40 km/h\" }"]);
    let mut text = format!(
        "network = \"{network}\"\n[run]\nduration = \"{DURATION_MS} ms\"\n\
         [channel]\npath_loss = \"friis\"\nfading = {fading}\nshadowing = \"none\"\nblockage = \"none\"\n\
         [internet]\nrate = \"1 Gbit/s\"\nqueue = \"64 MB\"\naqm = \"drop-tail\"\n\
         [backhaul]\nrate = \"1 Gbit/s\"\nqueue = \"64 MB\"\naqm = \"drop-tail\"\n\
         [[cell]]\nname = \"{FIRST}\"\n{master}{others}"
    );
    if s.chance(0.5) {
        text += &second_anchor(s, master);
    }
    // Radios that are switched off need radio link failures in a network with handovers.
    let may_be_off = !text.contains("radio_link_failure = false");
    let cells = 1 + s.below(3);
    let names: Vec<_> = (0..cells).map(|cell| format!("nr {cell}")).collect();
    for (place, name) in names.iter().enumerate() {
        text += &format!(
            "[[cell]]\nname = \"{name}\"\n{secondary}position = [\"{} m\", \"0 m\"]\n\
             rlc = {{ mode = \"nr-am\", buffer = \"64 MB\", aqm = \"drop-tail\" }}\n\
             pdcp = {{ discard_timer = \"60 s\" }}\n",
            200 * place
        );
        if may_be_off && s.chance(0.4) {
            let (at, lasts) = (s.below(3_000), 1 + s.below(2_000));
            text += &format!("outages = [{{ at = \"{at} ms\", duration = \"{lasts} ms\" }}]\n");
        }
    }
    for ue in 0..=s.below(3) {
        text += &format!(
            "[[ue]]\nname = \"ue-{ue}\"\nposition = [\"{} m\", \"{} m\"]\nmobility = {}\nsecondary_node = {}\n",
            s.below(400),
            20 + s.below(40),
            movement(s),
            node(s, &names, variant),
        );
        for direction in ["downlink", "uplink"] {
            text += &bursts(s, ue, direction, if direction == "downlink" { 20_000 } else { 500 }, 400);
        }
    }
    Drawn { text, settings: vec![] }
}

/// The cells of some of these scenarios have DRX.
pub(super) fn sleep(s: &mut Stream, drawn: &mut Drawn) {
    if s.chance(0.4) {
        let cells = drawn.text.matches("[[cell]]").count();
        drawn.settings.extend((0..cells).map(|cell| (format!("cell.{cell}.drx"), super::sleep::cycles(s))));
    }
}

/// A second cell that can be the master node, and handovers between both that lose no link.
fn second_anchor(s: &mut Stream, master: &str) -> String {
    let mut text = format!(
        "[[cell]]\nname = \"{FIRST} 2\"\nposition = [\"{} m\", \"0 m\"]\n{master}\
         [handover]\nmode = \"lossless\"\na3_offset = \"{} dB\"\nhysteresis = \"{} dB\"\n\
         time_to_trigger = \"{} ms\"\ninterruption = \"{} ms\"\n",
        100 + s.below(400),
        s.below(3),
        s.below(2),
        40 * s.below(5),
        s.below(80),
    );
    if s.chance(0.5) {
        text += "radio_link_failure = false\n";
    }
    text + &format!("[x2]\ndelay = \"{} ms\"\n", s.below(30))
}

fn movement(s: &mut Stream) -> String {
    if s.chance(0.3) {
        return "\"static\"".to_owned();
    }
    let heading = if s.chance(0.5) { 0 } else { 180 };
    format!("{{ kind = \"line\", heading = \"{heading} deg\", speed = \"{} m/s\" }}", 10 + s.below(60))
}

/// A secondary node whose cells are added and left within hundreds of metres. t-Reordering is longer than all that the loss
/// of the SCG takes.
fn node(s: &mut Stream, names: &[String], variant: &Variant) -> String {
    let listed = &names[..1 + s.below(names.len() as u64) as usize];
    let add_above = 60 + s.below(40);
    let mut keys = vec![
        format!("cells = {listed:?}"),
        format!("at_handover = \"{}\"", one_of(s, &["release", "keep"])),
        format!("bearer = \"{}\"", one_of(s, &["mcg", "scg", "split", "split"])),
        format!("x2_delay = \"{} ms\"", s.below(20)),
        "t_reordering = \"3000 ms\"".to_owned(),
        format!("uplink = \"{}\"", one_of(s, &["mcg", "scg"])),
        format!("add_above = \"-{add_above} dBm\""),
        format!("release_below = \"-{} dBm\"", add_above + s.below(10)),
        format!("change_offset = \"{} dB\"", s.below(6)),
        format!("time_to_trigger = \"{} ms\"", 40 * s.below(9)),
        format!("preparation = \"{} ms\"", s.below(80)),
        format!("execution = \"{} ms\"", s.below(80)),
        format!("t310 = \"{} ms\"", one_of(s, &["0", "50", "200", "1000"])),
        format!("retry_after = \"{} ms\"", s.below(1_000)),
    ];
    if s.chance(0.4) {
        keys.push(format!("x2_rate = \"{} Mbit/s\"", 20 + s.below(1_000)));
    }
    if s.chance(0.5) {
        keys.push(format!("uplink_split_threshold = \"{} B\"", one_of(s, &["0", "100", "51200"])));
    }
    format!("{{ {}{} }}", keys.join(", "), variant.node)
}

/// Whether a scenario is one of these.
pub(super) fn is_one(scenario: &Resolved) -> bool {
    scenario.cell.first().is_some_and(|cell| cell.name == FIRST)
}

/// Checks that each packet of such a scenario has arrived once, and that the table `scg` makes sense.
///
/// # Panics
/// If not.
pub(super) fn check(scenario: &Resolved, meta: &Meta, tables: &[(&str, Table)]) {
    if let Some((_, scg)) = tables.iter().find(|(name, _)| *name == "scg") {
        check_steps(scg);
    }
    if !is_one(scenario) {
        return;
    }
    let lost = meta.drops.0.iter().sum::<u64>();
    let arrived = meta.delivered + signalling_at_the_end(tables).min(meta.under_way);
    assert_eq!((arrived, lost), (meta.packets, 0), "{} of {} packets", meta.delivered, meta.packets);
    assert!(meta.packets > 0, "flows that send nothing");
}

/// A UE has an SCG after an addition, and none after a release or a failure, which are of a cell that it had or tried.
fn check_steps(table: &Table) {
    let [ues, cells, steps] = ["ue", "cell", "step"]
        .map(|name| table.column(name).and_then(Column::names).expect("a column of names"));
    let Some(Column::I64(has_scg)) = table.column("has_scg") else { panic!("no column has_scg") };
    let mut pscells: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for row in 0..steps.len() {
        let before = pscells.get(ues[row]).copied();
        let after = match steps[row] {
            "added" => {
                assert!(before.is_none_or(|cell| cell.is_none()), "row {row}: added beside {before:?}");
                Some(Some(cells[row]))
            }
            "released" | "failed" => {
                let had = before.flatten();
                assert!(
                    had.is_none_or(|cell| cell == cells[row]),
                    "row {row}: {had:?} left as {}",
                    cells[row]
                );
                Some(None)
            }
            _ => before,
        };
        if let Some(pscell) = after {
            pscells.insert(ues[row], pscell);
            assert_eq!(has_scg[row] == 1, pscell.is_some(), "row {row}");
        }
    }
}
