//! Cells of NR in the place of those of LTE.

use airlane_core::Stream;

use super::one_of;

/// The carrier that the cells of a scenario share, and what follows from it.
struct Carrier {
    /// The lines of each cell.
    lines: String,
    is_tdd: bool,
    /// Cells of a layout may need an antenna of a sector.
    is_layout: bool,
    /// Downlink of the shared carrier in MHz.
    mhz: u64,
    /// Uplink access by configured grants, in the place of scheduling requests.
    configured: Option<&'static str>,
}

/// The spacing in kHz, the bandwidths in MHz, and whether it is in FR2.
const CHANNELS: [(u64, &[&str], bool); 5] = [
    (15, &["5", "5", "10", "20", "50"], false),
    (30, &["5", "5", "10", "20", "40", "100"], false),
    (60, &["10", "10", "20", "40", "100"], false),
    (60, &["50", "100", "200"], true),
    (120, &["50", "100", "400"], true),
];

/// Sometimes makes all cells of a text cells of NR.
pub(super) fn cells(text: String, s: &mut Stream, later: &mut Stream) -> String {
    if !text.contains("[[cell]]") {
        return text;
    }
    if !s.chance(0.3) {
        // Sometimes it says that they are of LTE.
        let named = if s.chance(0.05) { "[[cell]]\nradio = \"lte\"\n" } else { "[[cell]]\n" };
        return text.replace("[[cell]]\n", named);
    }
    let carrier = Carrier { is_layout: text.contains("[layout]"), ..carrier(s, later) };
    // Sometimes a network of NR, and sometimes cells of NR in a network of LTE.
    let network = one_of(s, &["lena", "typical", "nr-typical-fr1", "nr-fdd-lowband", "nr-fr2"]);
    let mut blocks = text.split("[[cell]]\n");
    let head = blocks.next().unwrap_or_default();
    let named = |line: &str| match line.starts_with("network = ") {
        true => format!("network = \"{network}\"\n"),
        false => format!("{line}\n"),
    };
    let mut out: String = head.lines().map(named).collect();
    // Cells that differ have blocks of different sizes, and the threshold is another one. No cell of NR polls.
    out = out.replace("threshold = \"present\"", "threshold = \"derived\"");
    for (index, block) in blocks.enumerate() {
        out += "[[cell]]\n";
        out += &cell(block, &carrier, index as u64)
            .replace("threshold = \"present\"", "threshold = \"derived\"");
    }
    out
}

/// A cell, and what follows it up to the next one.
fn cell(block: &str, carrier: &Carrier, index: u64) -> String {
    let end = block.find("\n[").map_or(block.len(), |end| end + 1);
    let (own, rest) = block.split_at(end);
    let own = match carrier.configured {
        Some(access) if own.contains("uplink = \"scheduling-request\"") => {
            own.replace("uplink = \"scheduling-request\"", access)
        }
        _ => own.to_owned(),
    };
    let lte =
        ["resource_blocks = ", "bandwidth = ", "frequency = ", "uplink_frequency = ", "transmission_mode = "];
    let is_apart = own.contains("\nfrequency = ");
    let kept = own.lines().filter(|line| !lte.iter().any(|key| line.starts_with(key)));
    let mut text: String = kept.map(|line| format!("{line}\n")).collect();
    let mhz = carrier.mhz + if is_apart { 200 * index } else { 0 };
    text += &format!("frequency = \"{mhz} MHz\"\n");
    if !own.contains("antenna = ") && !carrier.is_layout {
        text += "antenna = { kind = \"omni\", gain = \"12 dB\" }\n"; // an array
    }
    if !carrier.is_tdd {
        text += &format!("uplink_frequency = \"{} MHz\"\n", mhz - 95);
    }
    text + &carrier.lines + rest
}

/// Antennas and layers.
fn mimo(s: &mut Stream) -> String {
    let [gnb, ue, ue_transmit] = core::array::from_fn(|_| 1 << s.below(3));
    format!(
        "mimo = {{ gnb_antennas = {gnb}, ue_antennas = {ue}, ue_transmit_antennas = {ue_transmit}, layers = {}, \
         uplink_layers = {}, correlation = \"{}\", precoding = \"{}\" }}\n",
        1 + s.below(gnb.min(ue)),
        1 + s.below(gnb.min(ue_transmit)),
        one_of(s, &["low", "medium", "medium-a", "high"]),
        one_of(s, &["singular", "codebook"]),
    )
}

/// Processing times, which are drawn from a stream of their own. A UE needs at most these numbers of symbols.
fn processing(s: &mut Stream, (n1, n2): (u64, u64)) -> String {
    format!(
        "n1 = {}\nn2 = {}\ngnb_transmit_processing = \"{} us\"\ngnb_receive_processing = \"{} us\"\n",
        s.below(n1 + 1),
        s.below(n2 + 1),
        [0, s.below(3_000)][s.below(2) as usize],
        [0, s.below(3_000)][s.below(2) as usize],
    )
}

fn carrier(s: &mut Stream, later: &mut Stream) -> Carrier {
    // Mostly in FR1 and on narrow channels, where UEs are within reach.
    let (khz, bandwidths, fr2) = CHANNELS[[0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4][s.below(11) as usize]];
    let is_tdd = fr2 || s.chance(0.6);
    let duplex = if is_tdd {
        let pattern = one_of(s, &["DDDSU", "DDSU", "DSUUU", "DDDDDDDSUU", "DU", "SDU", "UDDDDDDDDS"]);
        let downlink = s.below(14);
        let uplink = s.below(14 - downlink);
        format!(
            "{{ kind = \"tdd\", pattern = \"{pattern}\", special_downlink_symbols = {downlink}, \
             special_uplink_symbols = {uplink} }}"
        )
    } else {
        "\"fdd\"".to_owned()
    };
    let table = |s: &mut Stream| one_of(s, &["64qam", "256qam", "64qam-low-se"]).to_owned();
    let (bandwidth, mcs, cqi) = (one_of(s, bandwidths), table(s), table(s));
    let ldpc = one_of(s, &["sionna", "5g-lena", "oai"]);
    let (control, uplink_control, dmrs) = (s.below(4), s.below(6), 1 + s.below(4));
    let overhead = one_of(s, &["0", "6", "12", "18"]);
    let (k0, k1, k2, gnb) = (s.below(4), 1 + s.below(8), 1 + s.below(5), 1 + s.below(6));
    let processing = processing(later, (14 * k1 - uplink_control, 14 * k2 - control));
    let lines = format!(
        "bandwidth = \"{bandwidth} MHz\"\ntransmission_mode = \"siso\"\n[cell.radio]\nkind = \"nr\"\nsubcarrier_spacing = \"{khz} kHz\"\n\
         duplex = {duplex}\nmcs_table = \"{mcs}\"\ncqi_table = \"{cqi}\"\nldpc = \"{ldpc}\"\n\
         control_symbols = {control}\nuplink_control_symbols = {uplink_control}\ndmrs_symbols = {dmrs}\n\
         overhead_elements = {overhead}\nk0 = {k0}\nk1 = {k1}\nk2 = {k2}\ngnb_processing = {gnb}\n{processing}"
    );
    let lines = lines + &mimo(s);
    // Many UEs share the smallest band.
    let grants = "uplink = { kind = \"configured-grant\", period = \"160 ms\", offset = \"3 ms\", size = \"20 B\", mcs = 12 }";
    let configured = s.chance(0.3).then_some(grants);
    Carrier {
        configured,
        lines,
        is_tdd,
        is_layout: false,
        mhz: if fr2 { 28_000 } else { 2_000 + 500 * s.below(4) },
    }
}
