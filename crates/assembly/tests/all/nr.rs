//! Scenarios with cells of NR: their rates by hand, their bandwidths, and the errors for users.

use crate::tables::{reals, table, texts};
use airlane_assembly::run;
use airlane_scenario::Scenario;

/// One UE near a gNB, in free space.
const BASE: &str = r#"network = "nr-typical-fr1"
[run]
duration = "600 ms"
warmup = "100 ms"
[channel]
path_loss = "friis"
fading = "none"
[[cell]]
name = "gnb"
[[ue]]
name = "phone"
position = ["50 m", "0 m"]
[[flow]]
to = "phone"
transport = "udp"
app = { kind = "cbr", rate = "2 Gbit/s" }
"#;

/// A cell with one antenna on each side.
const ONE_LAYER: &str =
    "name = \"gnb\"\nradio = { mimo = { layers = 1, gnb_antennas = 1, ue_antennas = 1 } }";

fn parse(changes: &[(&str, &str)]) -> Scenario {
    let text = changes.iter().fold(BASE.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    });
    Scenario::parse(&text, "x.toml").unwrap()
}

fn goodput_mbps(changes: &[(&str, &str)]) -> f64 {
    let resolved = parse(changes).resolve().unwrap_or_else(|error| panic!("{error}"));
    let output = run(&resolved, 1).unwrap();
    let flows = table(&output, "flows");
    assert_eq!(texts(flows, "flow"), ["flow-1"]);
    reals(flows, "goodput_mbps")[0]
}

/// What blocks of these bytes carry of payloads of 1400 bytes, in Mbit/s: packets of 1428 bytes, a header of PDCP of
/// 3 bytes, one of RLC and one of MAC of 3 bytes each; the segments at both ends of a block have two bytes more, and
/// one packet more has headers.
fn carried_mbps(blocks: &[u32], period_s: f64) -> f64 {
    let packets: f64 = blocks.iter().map(|bytes| (f64::from(*bytes) - 10.0) / 1437.0).sum();
    packets * 1400.0 * 8.0 / period_s / 1e6
}

#[track_caller]
fn carries(changes: &[(&str, &str)], blocks: &[u32], period_s: f64) {
    let (found, expected) = (goodput_mbps(changes), carried_mbps(blocks, period_s));
    assert!((found / expected - 1.0).abs() < 0.004, "{found} against {expected} Mbit/s");
}

/// CQI 15 is MCS 27 of table 2 of TS 38.214: 8 bits and a code rate of 948/1024. A PRB of a whole slot has 12
/// subcarriers on 14 symbols less 2 of PDCCH and 2 of DM-RS, and 6 elements less for CSI-RS: 114 elements. The
/// information of 273 PRBs is 273 × 114 × 8 × 948/1024 = 230497.6 bits (TS 38.214 §5.1.3.2). In steps of 2^12, 56 of
/// them are 229376 bits: 28 code blocks, and 8·28·⌈229400 / (8·28)⌉ − 24 = 229576 bits, 28697 bytes. The special slot
/// has 10 symbols: 66 elements of a PRB, 133445.8 bits, 33 steps are 135168 bits: 17 code blocks, 135296 bits, 16912
/// bytes.
#[test]
fn a_tdd_carrier_of_100_mhz_carries_what_its_blocks_hold() {
    carries(&[("name = \"gnb\"", ONE_LAYER)], &[28697, 28697, 28697, 16912], 2.5e-3);
}

/// One code word on four layers: 921990.4 bits, 56 steps of 2^14 are 917504 bits: 109 code blocks, 8·109·⌈917528 / 872⌉ −
/// 24 = 918192 bits, 114774 bytes. The special slot: 533783.3 bits, 33 steps are 540672: 65 code blocks, 540776 bits,
/// 67597 bytes.
#[test]
fn four_layers_carry_one_code_word() {
    carries(&[], &[114_774, 114_774, 114_774, 67_597], 2.5e-3);
}

/// Of ten slots, seven are whole.
#[test]
fn another_pattern() {
    let pattern = (
        "name = \"gnb\"",
        "name = \"gnb\"\nradio = { mimo = { layers = 1, gnb_antennas = 1, ue_antennas = 1 }, duplex = { kind = \"tdd\", pattern = \"DDDDDDDSUU\" } }",
    );
    carries(&[pattern], &[28697, 28697, 28697, 28697, 28697, 28697, 28697, 16912], 5e-3);
}

/// 20 MHz with subcarriers of 15 kHz are 106 PRBs: 106 × 114 × 8 × 948/1024 = 89497.3 bits, in steps of 2^11: 44 of them
/// are 90112 bits, 11 code blocks, 8·11·⌈90136 / 88⌉ − 24 = 90176 bits, 11272 bytes in each ms.
#[test]
fn an_fdd_carrier_of_20_mhz_carries_what_its_blocks_hold() {
    let cell = "name = \"gnb\"\nbandwidth = \"20 MHz\"\nfrequency = \"780 MHz\"\nuplink_frequency = \"725 MHz\"\n\
                radio = { subcarrier_spacing = \"15 kHz\", duplex = \"fdd\", mimo = { layers = 1, gnb_antennas = 1, ue_antennas = 1 } }";
    carries(&[("name = \"gnb\"", cell)], &[11272], 1e-3);
}

/// 400 MHz at 120 kHz are 264 PRBs: 264 × 114 × 8 × 948/1024 = 222898.8 bits, 54 steps of 2^12 are 221184 bits, 27
/// code blocks: 8·27·⌈221208 / 216⌉ − 24 = 221376 bits, 27672 bytes. The special slot: 264 × 66 elements, 129046.6 bits,
/// in steps of 2^11: 63 are 129024 bits, 16 code blocks: 8·16·⌈129048 / 128⌉ − 24 = 129128 bits, 16141 bytes.
#[test]
fn a_carrier_of_400_mhz_carries_what_its_blocks_hold() {
    let cell = "name = \"gnb\"\nbandwidth = \"400 MHz\"\nfrequency = \"28 GHz\"\n\
                radio = { subcarrier_spacing = \"120 kHz\", mimo = { layers = 1, gnb_antennas = 1, ue_antennas = 1 } }";
    carries(&[("name = \"gnb\"", cell)], &[27672, 27672, 27672, 16141], 0.625e-3);
}

#[test]
fn a_bandwidth_becomes_resource_blocks_of_its_spacing() {
    let of = |cell: &str| {
        let resolved = parse(&[("name = \"gnb\"", &format!("name = \"gnb\"\n{cell}"))]).resolve();
        resolved.map(|resolved| resolved.cell[0].resource_blocks).map_err(|error| error.to_string())
    };
    // TS 38.101-1 and TS 38.101-2, table 5.3.2-1.
    assert_eq!(of(""), Ok(273));
    assert_eq!(of("bandwidth = \"5 MHz\""), Ok(11));
    assert_eq!(of("bandwidth = \"50 MHz\"\nradio = { subcarrier_spacing = \"15 kHz\" }"), Ok(270));
    assert_eq!(of("radio = { subcarrier_spacing = \"60 kHz\" }"), Ok(135));
    let fr2 = "frequency = \"28 GHz\"\nradio = { subcarrier_spacing = \"60 kHz\" }";
    assert_eq!(of(fr2), Ok(132));
    // The file has precedence over the bandwidth of the preset.
    assert_eq!(of("resource_blocks = 24"), Ok(24));
    // In a network of LTE, too.
    let mixed = Scenario::parse(
        "network = \"typical\"\n[[cell]]\nname = \"a\"\n[[cell]]\nname = \"b\"\nradio = \"nr\"\n[[ue]]\n\
         name = \"u\"\ncell = \"b\"\nposition = [\"9 m\", \"0 m\"]\n[[flow]]\nto = \"u\"\n",
        "x.toml",
    );
    let mixed = mixed.and_then(|one| one.resolve()).unwrap_or_else(|error| panic!("{error}"));
    let cells: Vec<_> = mixed.cell.iter().map(|cell| (cell.resource_blocks, cell.frequency.0)).collect();
    assert_eq!(cells, [(100, 2.14e9), (273, 3.5e9)]);
}

#[test]
fn a_resolved_cell_resolves_to_itself() {
    let resolved = parse(&[]).resolve().unwrap();
    assert_eq!(airlane_scenario::format::Resolved::from_json(&resolved.to_json()), Ok(resolved));
}

/// The error for a cell with these settings.
fn error(cell: &str) -> String {
    let changed = parse(&[("name = \"gnb\"", &format!("name = \"gnb\"\n{cell}"))]).resolve();
    changed.expect_err("the scenario is wrong").to_string()
}

/// A special slot with as many symbols as control and DM-RS take, in the only subframes that are not blank.
const EMPTY: &str =
    "radio = { duplex = { special_downlink_symbols = 4 } }\nmac.blank_subframes = [0, 1, 2, 3, 5, 6, 7, 8]";

fn mistakes() -> Vec<(&'static str, String)> {
    let tdd = |settings: &str| error(&format!("radio = {{ duplex = {{ kind = \"tdd\", {settings} }} }}"));
    let radio = |settings: &str| error(&format!("radio = {{ {settings} }}"));
    vec![
        ("an unknown technology", error("radio = \"6g\"")),
        ("a spacing without unit", radio("subcarrier_spacing = 30")),
        ("a spacing that is none", radio("subcarrier_spacing = \"45 kHz\"")),
        ("a spacing of FR2", radio("subcarrier_spacing = \"120 kHz\"")),
        ("a spacing of FR1", error("frequency = \"28 GHz\"\nbandwidth = \"100 MHz\"")),
        ("between the ranges", error("frequency = \"10 GHz\"")),
        ("a bandwidth of LTE", error("bandwidth = \"3 MHz\"")),
        ("a bandwidth of another spacing", radio("subcarrier_spacing = \"15 kHz\"")),
        ("both", error("bandwidth = \"20 MHz\"\nresource_blocks = 51")),
        ("too wide", error("resource_blocks = 276")),
        ("two carriers", error("uplink_frequency = \"3.6 GHz\"")),
        ("one carrier", error("uplink_frequency = \"3.5 GHz\"\nradio = { duplex = \"fdd\" }")),
        ("no second carrier", error("radio = { duplex = \"fdd\" }")),
        (
            "FDD in FR2",
            error(
                "frequency = \"28 GHz\"\nuplink_frequency = \"27 GHz\"\nradio = { duplex = \"fdd\", \
                 subcarrier_spacing = \"120 kHz\" }",
            ),
        ),
        ("another letter", tdd("pattern = \"DDFSU\"")),
        ("no slot", tdd("pattern = \"\"")),
        ("no uplink", tdd("pattern = \"DDDS\"")),
        ("no guard period", tdd("special_downlink_symbols = 12")),
        ("no data", radio("dmrs_symbols = 4, uplink_control_symbols = 10")),
        ("special slots without data", error(EMPTY)),
        ("four symbols of PDCCH", radio("control_symbols = 4")),
        ("an overhead between", radio("overhead_elements = 7")),
        ("feedback at once", radio("k1 = 0")),
        ("feedback before it is ready", radio("k1 = 1, n1 = 20")),
        ("a grant too late for a PUSCH", radio("control_symbols = 3, k2 = 1")),
        ("a time between slots", error("mac = { cqi_period = \"750 us\" }")),
        ("a request between slots", error("uplink = { processing = \"0.7 ms\" }")),
        ("a timing of LTE", error("mac = { harq_round_trip = \"8 ms\" }")),
        ("a transmission mode", error("transmission_mode = \"tm2\"")),
        ("a table of LTE", error("mac = { cqi_to_mcs = \"openairinterface\" }")),
        (
            "polling",
            error(
                "uplink = { kind = \"polled\", interval = \"10 ms\", initial_grant = \"32 B\", polls = 1, processing = \"1 ms\" }",
            ),
        ),
        (
            "one carrier, two slots",
            error(
                "[[cell]]\nname = \"b\"\nbandwidth = \"100 MHz\"\nradio = { subcarrier_spacing = \"60 kHz\" }",
            ),
        ),
        (
            "one carrier, two patterns",
            error("[[cell]]\nname = \"b\"\nradio = { duplex = { kind = \"tdd\", pattern = \"DDSU\" } }"),
        ),
        (
            "one carrier, two technologies",
            error("[[cell]]\nname = \"b\"\nradio = \"lte\"\nfrequency = \"3.5 GHz\""),
        ),
        (
            "an MCS of LTE",
            parse(&[("name = \"phone\"", "name = \"phone\"\nfixed_mcs = 28")])
                .resolve()
                .unwrap_err()
                .to_string(),
        ),
        ("settings of NR in LTE", error("radio = { kind = \"lte\", k1 = 2 }")),
    ]
}

/// The help of each error is a part of its text.
#[test]
fn each_mistake_has_its_error() {
    let printed: String =
        mistakes().into_iter().map(|(what, error)| format!("{what}\n    {error}\n")).collect();
    crate::snapshots::compare(&printed, "nr-errors.txt");
}
