//! Checks of NR cells.

use airlane_core::{Direction, Duration};
use airlane_radio::Mcs;
use airlane_radio::link_tables::{Allocation, LinkTables};
use airlane_radio::nr::NrTables;
use airlane_ran::numerology::nr::FrequencyRange;
use airlane_ran::numerology::{SYMBOLS, UplinkOccasions};

use super::{Checked, Place};
use crate::format::{Cell, CqiToMcs, Duplex, Mimo, Nr, Radio, Tdd, TransmissionMode, Uplink};

/// PRBs of a carrier of NR: from 5 MHz with 30 kHz (TS 38.101-1 table 5.3.2-1) to the maximum of TS 38.211 §4.4.4.3.
const RESOURCE_BLOCKS: core::ops::RangeInclusive<u16> = 11..=275;
/// Slots of a pattern of TDD.
const PATTERN_MAX: usize = 64;
/// TS 38.211 §4.3.1.
const SUBFRAME: Duration = Duration::from_millis(1);
const FRAME: Duration = Duration::from_millis(10);
/// Values of xOverhead (TS 38.331 §6.3.2, PDSCH-ServingCellConfig).
const OVERHEAD_ELEMENTS: [u8; 4] = [0, 6, 12, 18];

/// The rules of a cell of NR.
pub(super) fn cell(cell: &Cell, nr: &Nr, at: &Place<'_>) -> Checked {
    carrier(cell, nr, at)?;
    radio(nr, &at.under("radio"))?;
    let blocks = RESOURCE_BLOCKS.contains(&cell.resource_blocks);
    at.require(blocks, "resource_blocks", "not a bandwidth of NR", "it must be from 11 to 275")?;
    let siso = cell.transmission_mode == TransmissionMode::Siso;
    let help = "it must be \"siso\": transmission modes are of LTE";
    at.require(siso, "transmission_mode", "not a transmission mode of NR", help)?;
    let times = [
        (cell.mac.harq_round_trip, "harq_round_trip", "radio.k1 and radio.gnb_processing"),
        (cell.mac.downlink_latency, "downlink_latency", "radio.k0"),
        (cell.mac.grant_to_pusch, "grant_to_pusch", "radio.k2"),
    ];
    for (time, key, instead) in times {
        let help = format!("leave it out; in NR it follows from {instead}");
        at.under("mac").require(time.is_none(), key, "this is a timing of LTE", &help)?;
    }
    let efficiency = cell.mac.cqi_to_mcs == CqiToMcs::Efficiency;
    let help = "it must be \"efficiency\": the other table is of LTE";
    at.require(efficiency, "mac.cqi_to_mcs", "not a mapping of NR", help)?;
    let polls = matches!(cell.uplink, Uplink::Polled(_));
    let help = "use \"scheduling-request\" or \"ideal-buffer-status\"";
    at.require(!polls, "uplink", "an NR cell does not poll", help)?;
    let help = format!(
        "leave a subframe that has a slot of the downlink with more than {} symbols, which control and DM-RS take",
        nr.control_symbols + nr.dmrs_symbols
    );
    at.under("mac").require(
        has_downlink(cell, nr),
        "blank_subframes",
        "no slot of the downlink is left for data",
        &help,
    )
}

/// Whether a slot of the downlink in a subframe that is not blank has a symbol for data.
fn has_downlink(cell: &Cell, nr: &Nr) -> bool {
    let (duplex, slot) = (nr.directions(), cell.slot());
    // Frames and patterns repeat together after at most this number of slots.
    (0..FRAME.as_nanos() / slot.as_nanos() * duplex.period()).any(|number| {
        let subframe = (slot * number).as_nanos() % FRAME.as_nanos() / SUBFRAME.as_nanos();
        let is_blank = cell.mac.blank_subframes.iter().any(|blank| u64::from(*blank) == subframe);
        !is_blank && duplex.downlink_symbols(number) > nr.control_symbols + nr.dmrs_symbols
    })
}

/// The configured grants of all UEs, which may be in one cell, fit into its band.
pub(super) fn configured_grants(cell: &Cell, ues: u64, at: &Place<'_>) -> Checked {
    let (Some(Radio::Nr(nr)), Uplink::ConfiguredGrant(grant)) = (&cell.radio, &cell.uplink) else {
        return Ok(());
    };
    let (tables, at) = (NrTables::new(nr.tables()), at.under("uplink"));
    let highest = tables.highest_mcs();
    let help = format!("it must be an MCS from 0 to {}", highest.index());
    at.require(grant.mcs <= highest.index(), "mcs", "out of range", &help)?;
    let band = cell.resource_blocks - cell.mac.pucch_resource_blocks;
    let block = |prbs| {
        let whole = Allocation { prbs, symbols: SYMBOLS, layers: 1 };
        tables.transport_block(Mcs::new(grant.mcs), whole, Direction::Uplink)
    };
    let Some(prbs) = (1..=band).find(|prbs| block(*prbs) >= grant.size.0) else {
        return at.fail(
            "size",
            "larger than a block of the whole band",
            "use a smaller one, or a higher `mcs`",
        );
    };
    let slots = |time: Duration| u32::try_from(time.as_nanos() / cell.slot().as_nanos()).unwrap_or(u32::MAX);
    let configured = UplinkOccasions { period: slots(grant.period.0), offset: slots(grant.offset.0) };
    let at_once = nr.directions().occasions_at_once(configured, ues as u32);
    let help = format!("up to {at_once} UEs would share a slot of {band} resource blocks, with {prbs} each");
    at.require(
        at_once * u64::from(prbs) <= u64::from(band),
        "period",
        "too short for this number of UEs",
        &help,
    )
}

/// The carriers, and the subcarriers that may be on them.
fn carrier(cell: &Cell, nr: &Nr, at: &Place<'_>) -> Checked {
    let range = |hz: f64| FrequencyRange::of(hz);
    let outside = "outside the frequency ranges of NR";
    let help = "it must be from 410 MHz to 7.125 GHz (FR1) or from 24.25 GHz to 52.6 GHz (FR2)";
    let Some(downlink) = range(cell.frequency.0) else { return at.fail("frequency", outside, help) };
    at.require(range(cell.uplink_frequency.0).is_some(), "uplink_frequency", outside, help)?;
    let (name, spacings) = match downlink {
        FrequencyRange::One => ("FR1", "15, 30 or 60 kHz"),
        FrequencyRange::Two => ("FR2", "60 or 120 kHz"),
    };
    let known = downlink.numerologies().contains(&nr.subcarrier_spacing.numerology());
    let message =
        format!("not a subcarrier spacing of {name}, where frequency = {:?} is", cell.frequency.to_string());
    at.require(known, "radio.subcarrier_spacing", &message, &format!("it must be {spacings}"))?;
    match nr.duplex {
        Duplex::Tdd(_) => {
            let help = format!("use {}, or leave it out: TDD has one carrier", cell.frequency);
            let one = cell.uplink_frequency == cell.frequency;
            at.require(one, "uplink_frequency", "not the carrier of the downlink", &help)
        }
        Duplex::Fdd => {
            let two = cell.uplink_frequency != cell.frequency;
            let help = "FDD has two carriers; choose another one, or radio.duplex = \"tdd\"";
            at.require(two, "uplink_frequency", "the carrier of the downlink", help)?;
            let paired = downlink == FrequencyRange::One;
            let help = "use \"tdd\" (TS 38.101-2 table 5.2-1)";
            at.require(paired, "radio.duplex", "FR2 has bands for TDD only", help)
        }
    }
}

fn radio(nr: &Nr, at: &Place<'_>) -> Checked {
    if let Duplex::Tdd(tdd) = &nr.duplex {
        pattern(tdd, &at.under("duplex"))?;
    }
    mimo(&nr.mimo, &at.under("mimo"))?;
    let controls = [
        (nr.control_symbols, "control_symbols", 3),
        (nr.uplink_control_symbols, "uplink_control_symbols", 12),
    ];
    for (symbols, key, most) in controls {
        let help = format!("it must be at most {most}");
        at.require(symbols <= most, key, "too many symbols", &help)?;
    }
    // TS 38.211 §7.4.1.1.2: a front-loaded symbol and up to three additional ones, or two double ones.
    let references = (1..=4).contains(&nr.dmrs_symbols);
    at.require(references, "dmrs_symbols", "out of range", "it must be from 1 to 4")?;
    let taken = nr.control_symbols.max(nr.uplink_control_symbols) + nr.dmrs_symbols;
    at.require(
        taken < SYMBOLS,
        "dmrs_symbols",
        "no symbol is left for data",
        "use fewer symbols for control or DM-RS",
    )?;
    let known = OVERHEAD_ELEMENTS.contains(&nr.overhead_elements);
    at.require(known, "overhead_elements", "not a value of xOverhead", "it must be 0, 6, 12 or 18")?;
    // TS 38.331 §6.3.2: k0, dl-DataToUL-ACK and k2. With k1 = 0 or k2 = 0 the UE would answer in the same slot.
    for (slots, key, range) in [
        (nr.k0, "k0", 0..=32),
        (nr.k1, "k1", 1..=15),
        (nr.k2, "k2", 1..=32),
        (nr.gnb_processing, "gnb_processing", 1..=32),
    ] {
        let help = format!("it must be from {} to {} slots", range.start(), range.end());
        at.require(range.contains(&slots), key, "out of range", &help)?;
    }
    processing(nr, at)
}

/// Symbols that a UE may need for N1 or N2: 20 slots (choice; table 6.4-1 has 36 symbols at most).
const PROCESSING_MAX: f64 = 280.0;
/// The longest processing of a packet by the gNB (choice).
const GNB_PROCESSING_MAX: Duration = Duration::from_millis(100);

/// The UE has the time that it needs (TS 38.214 §5.3, §6.4). A PDSCH lasts to the end of its slot, and PUCCH may be in
/// the last symbols of the slot of the feedback; PDCCH is in the first symbols of a slot, and PUSCH begins with its slot.
fn processing(nr: &Nr, at: &Place<'_>) -> Checked {
    for (symbols, key) in [(nr.n1, "n1"), (nr.n2, "n2")] {
        let known = (0.0..=PROCESSING_MAX).contains(&symbols);
        at.require(known, key, "out of range", "it must be from 0 to 280 symbols")?;
    }
    for (time, key) in [
        (nr.gnb_transmit_processing, "gnb_transmit_processing"),
        (nr.gnb_receive_processing, "gnb_receive_processing"),
    ] {
        at.require(time.0 <= GNB_PROCESSING_MAX, key, "out of range", "it must be at most 100 ms")?;
    }
    for (slots, taken, needs, keys) in [
        (nr.k1, nr.uplink_control_symbols, nr.n1, ("k1", "n1", "the HARQ feedback")),
        (nr.k2, nr.control_symbols, nr.n2, ("k2", "n2", "the PUSCH")),
    ] {
        let (key, need, what) = keys;
        let of = |slots: u8| f64::from(slots) * f64::from(SYMBOLS) - f64::from(taken);
        let least = (1..=u8::MAX).find(|slots| of(*slots) >= needs).unwrap_or(u8::MAX);
        let left = of(slots);
        let message =
            format!("too few slots for {what}: the UE has {left} symbols and needs {need} = {needs}");
        let help =
            format!("it must be at least {least}, or {need} lower (0 for a UE without processing time)");
        at.require(of(slots) >= needs, key, &message, &help)?;
    }
    Ok(())
}

fn mimo(mimo: &Mimo, at: &Place<'_>) -> Checked {
    for (antennas, key) in [
        (mimo.gnb_antennas, "gnb_antennas"),
        (mimo.ue_antennas, "ue_antennas"),
        (mimo.ue_transmit_antennas, "ue_transmit_antennas"),
    ] {
        let known = [1, 2, 4].contains(&antennas);
        at.require(known, key, "not a number of antennas that the model has", "it must be 1, 2 or 4")?;
    }
    let (downlink, uplink) = (mimo.ue_antennas, mimo.ue_transmit_antennas);
    for (layers, antennas, key) in
        [(mimo.layers, downlink, "layers"), (mimo.uplink_layers, uplink, "uplink_layers")]
    {
        let most = antennas.min(mimo.gnb_antennas);
        let help = format!("it must be from 1 to {most}, the antennas of the side that has fewer");
        at.require((1..=most).contains(&layers), key, "out of range", &help)?;
    }
    Ok(())
}

fn pattern(tdd: &Tdd, at: &Place<'_>) -> Checked {
    let slots = &tdd.pattern;
    let letters =
        !slots.is_empty() && slots.len() <= PATTERN_MAX && slots.bytes().all(|slot| b"DSU".contains(&slot));
    let help = "write one letter for each slot: D (downlink), S (special) or U (uplink), such as \"DDDSU\"; at most 64";
    at.require(letters, "pattern", "not a pattern of slots", help)?;
    let both = slots.contains('D') && slots.contains('U');
    at.require(both, "pattern", "a direction has no slot", "a pattern needs at least one D and one U")?;
    let used = tdd.special_downlink_symbols.saturating_add(tdd.special_uplink_symbols);
    let help =
        format!("both together must be at most {}, which leaves a symbol of guard period", SYMBOLS - 1);
    at.require(used < SYMBOLS, "special_downlink_symbols", "a special slot has 14 symbols", &help)
}

/// Cells of one carrier have the same slots: interference is computed per resource block and slot.
pub(super) fn same_slots(cell: &Cell, other: &Cell, at: &Place<'_>) -> Checked {
    let subcarriers = |cell: &Cell| match &cell.radio {
        Some(Radio::Nr(nr)) => Some(nr.subcarrier_spacing),
        Some(Radio::Lte) | None => None,
    };
    let help = match (subcarriers(cell), subcarriers(other)) {
        (Some(_), Some(_)) => format!("use radio.subcarrier_spacing as cell {:?} does", other.name),
        (None, Some(_)) => format!("use radio = \"nr\" as cell {:?} does, or another carrier", other.name),
        _ => format!("use radio = \"lte\" as cell {:?} does, or another carrier", other.name),
    };
    let same = subcarriers(cell) == subcarriers(other) && cell.slot() == other.slot();
    at.require(same, "radio", "cells on one carrier need one subcarrier spacing", &help)?;
    let (Some(Radio::Nr(own)), Some(Radio::Nr(others))) = (&cell.radio, &other.radio) else { return Ok(()) };
    let help = format!("use the pattern of cell {:?}: the slots of a carrier are synchronous", other.name);
    at.require(own.duplex == others.duplex, "radio.duplex", "cells on one carrier need the same slots", &help)
}
