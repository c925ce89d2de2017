//! UEs with several carriers that move between sites and sleep, near enough to lose nothing: each of their packets has to
//! arrive.

use std::collections::BTreeMap;

use airlane_assembly::Meta;
use airlane_core::Stream;
use airlane_record::{Column, Table};
use airlane_scenario::Resolved;

use super::{Drawn, one_of, sleep};

/// What only these scenarios have as the name of a cell.
const FIRST: &str = "near 1-1";
/// When flows stop. All that waits is delivered before the end of the run: after two cycles of paging, and the set-up of a
/// connection.
const STOP_MS: u64 = 3_000;
const DURATION_MS: u64 = 8_000;
/// Distance of the sites.
const APART_M: u64 = 400;

/// A scenario of this kind.
pub(super) fn draw(s: &mut Stream) -> Drawn {
    let networks = [
        ("typical", false),
        ("typical", true),
        ("typical-sleeping", false),
        ("nr-typical-fr1", false),
        ("nr-fdd-lowband", true),
        ("nr-typical-fr1-sleeping", false),
    ];
    let (network, sleeps) = networks[s.below(networks.len() as u64) as usize];
    let (sites, carriers) = (1 + s.below(3), 2 + s.below(2));
    let fading = one_of(s, &["\"none\"", "\"flat\"", "{ model = \"eva\", speed = \"40 km/h\" }"]);
    let mut text = format!(
        "network = \"{network}\"\n[run]\nduration = \"{DURATION_MS} ms\"\n\
         [channel]\npath_loss = \"friis\"\nfading = {fading}\nshadowing = \"none\"\n\
         [internet]\nrate = \"1 Gbit/s\"\nqueue = \"64 MB\"\naqm = \"drop-tail\"\n\
         [backhaul]\nrate = \"1 Gbit/s\"\nqueue = \"64 MB\"\naqm = \"drop-tail\"\n"
    );
    if sites > 1 {
        text += &format!(
            "[handover]\nmode = \"lossless\"\na3_offset = \"{} dB\"\nhysteresis = \"{} dB\"\n\
             time_to_trigger = \"{} ms\"\ninterruption = \"{} ms\"\n[x2]\ndelay = \"{} ms\"\nloss = \"0 %\"\n",
            s.below(3),
            s.below(3),
            40 * s.below(5),
            10 + s.below(40),
            s.below(20),
        );
    }
    let (mut cells, mut settings) = (0, vec![]);
    for site in 0..sites {
        // The last site may have fewer carriers.
        let here = if site > 0 && site + 1 == sites { 1 + s.below(carriers) } else { carriers };
        cells += here;
        for carrier in 0..here {
            text += &cell(site, carrier, network);
        }
    }
    let names = ["near 1-1", "near 1-2", "near 1-3"];
    for ue in 0..=s.below(3) {
        let listed = &names[..2 + s.below(carriers - 1) as usize];
        text += &format!(
            "[[ue]]\nname = \"ue-{ue}\"\nposition = [\"{} m\", \"{} m\"]\ncarriers = {listed:?}\n",
            s.below(APART_M * sites),
            20 + s.below(40),
        );
        settings.push((format!("ue.{ue}.scells"), super::carriers::scells(s)));
        let uplink = super::carriers::uplink(s, listed);
        if let Some(uplink) = &uplink {
            settings.push((format!("ue.{ue}.uplink_carriers"), uplink.clone()));
        }
        if s.chance(0.7) {
            let heading = if s.chance(0.5) { 0 } else { 180 };
            text += &format!(
                "mobility = {{ kind = \"line\", heading = \"{heading} deg\", speed = \"{} m/s\" }}\n",
                10 + s.below(50)
            );
        }
        text += &bursts(s, ue, "downlink", 20_000, 700);
        text += &bursts(s, ue, "uplink", if uplink.is_some() { 8_000 } else { 500 }, 700);
    }
    if sleeps {
        let drx = sleep::cycles(s);
        settings.extend((0..cells).map(|cell| (format!("cell.{cell}.drx"), drx.clone())));
    }
    Drawn { text, settings }
}

/// A cell of a site, which loses nothing.
fn cell(site: u64, carrier: u64, network: &str) -> String {
    let mhz = |first: u64, apart: u64| first + apart * carrier;
    let frequencies = if network.starts_with("nr-typical-fr1") {
        format!("frequency = \"{} MHz\"\n", mhz(3_500, 113)) // TDD
    } else {
        let [down, up] = if network.starts_with("nr") { [780, 725] } else { [1_800, 1_700] };
        format!("frequency = \"{} MHz\"\nuplink_frequency = \"{} MHz\"\n", mhz(down, 43), mhz(up, 43))
    };
    let (rlc, name) = (if network.starts_with("nr") { "nr-am" } else { "am" }, [site + 1, carrier + 1]);
    format!(
        "[[cell]]\nname = \"near {}-{}\"\nposition = [\"{} m\", \"0 m\"]\n{frequencies}\
         rlc = {{ mode = \"{rlc}\", buffer = \"64 MB\" }}\npdcp = {{ discard_timer = \"60 s\" }}\n",
        name[0],
        name[1],
        APART_M * site
    )
}

/// Bursts of datagrams with up to `most_kbps`, and pauses of up to 20 ms more than `pause_ms`, in which SCells are deactivated
/// and the UE sleeps.
pub(super) fn bursts(s: &mut Stream, ue: u64, direction: &str, most_kbps: u64, pause_ms: u64) -> String {
    format!(
        "[[flow]]\nto = \"ue-{ue}\"\ndirection = \"{direction}\"\nstart = \"{} ms\"\nstop = \"{STOP_MS} ms\"\n\
         transport = \"udp\"\n[flow.app]\nkind = \"on-off\"\nrate = \"{} kbit/s\"\npayload = \"{} B\"\n\
         on = {{ kind = \"uniform\", min = \"1 ms\", max = \"150 ms\" }}\n\
         off = {{ kind = \"uniform\", min = \"1 ms\", max = \"{} ms\" }}\n",
        s.below(300),
        50 + s.below(most_kbps),
        100 + s.below(1_300),
        20 + s.below(pause_ms),
    )
}

/// Checks that the UEs of such a scenario have received, and sent, each of their packets once, and that the table of their
/// SCells makes sense.
///
/// # Panics
/// If not.
pub(super) fn check(scenario: &Resolved, meta: &Meta, tables: &[(&str, Table)]) {
    if let Some((_, carriers)) = tables.iter().find(|(name, _)| *name == "carriers") {
        check_steps(scenario, carriers);
    }
    if !is_one(scenario) {
        return;
    }
    let lost = meta.drops.0.iter().sum::<u64>();
    let arrived = meta.delivered + signalling_at_the_end(tables).min(meta.under_way);
    assert_eq!((arrived, lost), (meta.packets, 0), "{} of {} packets", meta.delivered, meta.packets);
    assert!(meta.packets > 0, "flows that send nothing");
}

/// Whether a scenario is one of these, whose UEs are within reach of their cells: all of their packets arrive.
pub(super) fn is_one(scenario: &Resolved) -> bool {
    scenario.cell.first().is_some_and(|cell| cell.name == FIRST)
}

/// The most packets of signalling that can be on their way when the run ends: a handover whose path the gateway has not
/// switched has a request for it, and then the gateway's end marker (`crates/ran/src/x2.rs`).
pub(super) fn signalling_at_the_end(tables: &[(&str, Table)]) -> u64 {
    let Some((_, handovers)) = tables.iter().find(|(name, _)| *name == "handovers") else { return 0 };
    let outcomes = handovers.column("outcome").and_then(Column::names).expect("a column of names");
    let Some(Column::F64(switched)) = handovers.column("path_switch_s") else { panic!("no path_switch_s") };
    2 * outcomes.iter().zip(switched).filter(|(outcome, at)| **outcome == "success" && at.is_nan()).count()
        as u64
}

/// Each SCell is activated after a command, and is deactivated before the next one; the number of active cells of a UE
/// follows from that.
fn check_steps(scenario: &Resolved, table: &Table) {
    let [ues, cells, steps] = ["ue", "cell", "step"]
        .map(|name| table.column(name).and_then(Column::names).expect("a column of names"));
    let Some(Column::I64(active)) = table.column("active_carriers") else {
        panic!("no column active_carriers")
    };
    let mut states: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for row in 0..steps.len() {
        let (ue, step) = (ues[row], steps[row]);
        let before = states.insert((ue, cells[row]), step);
        let fits = match step {
            // A handover or a release of the connection ends SCells without a row.
            "configured" => before != Some("activated"),
            "released" => before.is_some_and(|before| !["activated", "released"].contains(&before)),
            // A command whose block is lost is repeated.
            "commanded" => !["activated", "released"].map(Some).contains(&before),
            "activated" => before == Some("commanded"),
            // Those that are active from the start were never commanded.
            _ => before.is_none_or(|before| before == "activated"),
        };
        assert!(fits, "row {row}: {step} after {before:?}");
        let known = states.iter().filter(|((of, _), step)| *of == ue && **step == "activated").count() as i64;
        let most = scenario.ue.iter().filter_map(|ue| ue.carriers.as_ref()).map(Vec::len).max();
        assert!(
            (1 + known..=most.unwrap_or(1) as i64).contains(&active[row]),
            "row {row}: {known} {active:?}"
        );
    }
}
