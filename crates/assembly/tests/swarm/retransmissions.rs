//! The waiting times of blocks for their next transmission.

use std::collections::BTreeMap;

use airlane_ran::numerology::Numerology;
use airlane_record::{Column, Table};
use airlane_scenario::{Resolved, format};

use super::radio_settings::is_nr;

/// Subframes of a frame.
const FRAME: u64 = 10;

/// Blocks of a UE in the downlink of a cell of LTE that may wait at once: one for each of its HARQ processes (eight with FDD,
/// TS 36.213 §7) on each layer.
fn blocks(cell: &format::Cell) -> u64 {
    let layers = if cell.transmission_mode == format::TransmissionMode::Tm3 { 2 } else { 1 };
    layers * u64::from(Numerology::LTE.harq.processes)
}

/// The longest allowed time from one transmission of a block to the next in the downlink HARQ of a
/// cell, in slots.
///
/// Blocks sent in one slot fit into one slot together, and retransmissions precede new blocks. Each slot that
/// is not blank therefore has room for all waiting blocks of the oldest slot. The longest waits occur if all
/// blocks fail: then the blocks of each slot need a slot of their own, one round trip later or in the first
/// slot after that that is neither blank nor used by the blocks of an earlier slot.
fn most_slots(round_trip: u64, blank: impl Fn(u64) -> bool) -> u64 {
    let (mut free_from, mut most) = (0, 0);
    // The backlog from frame to frame is constant after a few frames.
    for sent in (0..100 * FRAME).filter(|&slot| !blank(slot)) {
        let again = (free_from.max(sent + round_trip)..).find(|&slot| !blank(slot));
        let again = again.expect("a cell has a subframe that is not blank");
        (free_from, most) = (again + 1, most.max(again - sent));
    }
    most
}

/// The longest allowed time from one transmission of a block to the next in the downlink of a cell, in slots. Each of the
/// blocks of a UE may need an on-duration of its own. A UE with several carriers has the DRX of its primary cell.
fn most_in_downlink(scenario: &Resolved, cell: &format::Cell) -> u64 {
    let is_blank = |slot: u64| cell.mac.blank_subframes.iter().any(|&one| u64::from(one) == slot % FRAME);
    let primary =
        if super::carriers::are_in(scenario) { &scenario.cell[..] } else { core::slice::from_ref(cell) };
    let sleep = primary.iter().map(super::sleep::longest).max().unwrap_or(0);
    let usable = (0..FRAME).filter(|&slot| !is_blank(slot)).count() as u64;
    let in_gaps = super::gaps::in_downlink(scenario, blocks(cell), usable);
    most_slots(slots(cell), is_blank) + blocks(cell) * sleep + in_gaps
}

/// One row of the RAN log: one transmission of a block.
#[derive(Clone, Copy, Debug)]
struct Sent {
    slot: u64,
    cell: usize,
    transmission: u64,
    decoded: bool,
}

/// Checks the log of a run, and returns the longest time from one transmission of a block to the next
/// in slots, and the part of it beyond the cell's round trip.
///
/// # Panics
/// If a block waited too long: in the downlink longer than [`most_slots`], in the uplink longer than the
/// round trip, since retransmissions are synchronous there (TS 36.213 v17.1 §8), and what gaps add to it.
pub(super) fn longest_wait(scenario: &Resolved, log: &Table, tables: &[(&str, Table)]) -> (u64, u64) {
    let number = |name: &str| match log.column(name) {
        Some(Column::I64(values)) => values,
        other => panic!("{name}: {other:?}"),
    };
    let label = |name: &str| match log.column(name) {
        Some(Column::Labels { of, .. }) => of,
        other => panic!("{name}: {other:?}"),
    };
    let Some(Column::Bool(decoded)) = log.column("decoded") else { panic!("no column decoded") };
    let in_uplink = |cell| slots(cell) * (1 + super::gaps::round_trips(scenario, cell));
    let bounds: Vec<_> =
        scenario.cell.iter().map(|cell| [most_in_downlink(scenario, cell), in_uplink(cell)]).collect();
    // Carriers of a UE have processes of their own; in a handover, blocks are lost.
    let aggregates = super::carriers::are_in(scenario) || super::dual::are_in(scenario);
    let mut latest: BTreeMap<(u32, u32, u32, i64), Sent> = BTreeMap::new();
    let (mut longest, mut beyond) = (0, 0);
    let (slot, transmission) = (number("slot"), number("transmission"));
    let (process, cell) = (number("harq_process"), label("cell"));
    let (ue, direction) = (label("ue"), label("direction"));
    let Some(Column::Labels { labels: ue_names, .. }) = log.column("ue") else { panic!("no column ue") };
    let deactivations = super::carriers::deactivations(tables);
    for row in 0..decoded.len() {
        let now = Sent {
            slot: slot[row] as u64,
            cell: cell[row] as usize,
            transmission: transmission[row] as u64,
            decoded: decoded[row],
        };
        let carrier = if aggregates { cell[row] } else { 0 };
        let before = latest.insert((ue[row], carrier, direction[row], process[row]), now);
        let Some(before) = before.filter(|_| now.transmission > 1) else { continue };
        assert!(!before.decoded && before.cell == now.cell, "{before:?}, then {now:?}");
        if is_nr(&scenario.cell[now.cell]) {
            continue; // the bound of a pattern of slots is another one
        }
        let (wait, most) = (now.slot - before.slot, bounds[now.cell][direction[row] as usize]);
        assert!(wait <= most, "{before:?}, then {now:?}: {wait} slots apart, {most} at most");
        (longest, beyond) = (longest.max(wait), beyond.max(wait - slots(&scenario.cell[now.cell])));
    }
    if scenario.handover.is_none() {
        // Slots of NR may be shorter, and have numbers of their own.
        let of_lte = slot.iter().zip(cell).filter(|(_, cell)| !is_nr(&scenario.cell[**cell as usize]));
        let end = of_lte.map(|(slot, _)| *slot as u64).max().unwrap_or(0);
        for (&(ue, _, direction, _), last) in
            latest.iter().filter(|(_, last)| !is_nr(&scenario.cell[last.cell]))
        {
            let cell = &scenario.cell[last.cell];
            if !cell.rrc.is_always_connected() {
                continue; // a random access that fails resets the MAC
            }
            let over =
                last.decoded || !cell.harq || last.transmission >= u64::from(cell.mac.harq_transmissions);
            let most = bounds[last.cell][direction as usize];
            // Blocks that wait when the radio is switched off are lost, and so are those sent in the slot
            // that ends then. The HARQ buffers of a secondary cell are flushed when it is deactivated (TS 36.321 §5.13).
            let outages = cell.outages.iter().flatten().map(|one| one.at.0.as_nanos() / 1_000_000);
            let key = (ue_names[ue as usize].clone(), cell.name.clone());
            let mut starts = outages.chain(deactivations.get(&key).into_iter().flatten().copied());
            let lost = starts.any(|at| at.saturating_sub(most + 1) <= last.slot && last.slot <= at);
            assert!(over || lost || end - last.slot <= most, "{last:?} is not sent again until {end}");
        }
    }
    (longest, beyond)
}

/// The HARQ round trip of a cell in slots of 1 ms.
fn slots(cell: &format::Cell) -> u64 {
    cell.mac.harq_round_trip.map_or(0, |time| time.0.as_nanos() / 1_000_000)
}

#[test]
fn the_bound_is_what_a_round_trip_and_blank_subframes_make() {
    let blank = |subframes: &'static [u64]| move |slot: u64| subframes.contains(&(slot % FRAME));
    assert_eq!(most_slots(8, blank(&[])), 8);
    // Sent in 2, due in 0, which is blank.
    assert_eq!(most_slots(8, blank(&[0, 5])), 9);
    // Sent in 1, 2, ..., 9, due in 9, 0, ..., 7: blocks due in 0 are sent in 1, and so on until 8, where none
    // is due.
    assert_eq!(most_slots(8, blank(&[0])), 9);
    // With 9, blocks sent in 1 are due in 0 and are sent in 1 of the next frame, 10 slots later, and so are
    // all later ones.
    assert_eq!(most_slots(9, blank(&[0])), 10);
    // Only 0 and 1 are left: a block sent in 0 is due in 8 and is sent again in 10; in 11 the block sent
    // in 1.
    assert_eq!(most_slots(8, blank(&[2, 3, 4, 5, 6, 7, 8, 9])), 10);
    // Only 0, 1 and 5 are left. With 6, blocks sent in 0 and in 1 are sent again in 10 and 11; a block sent
    // in 5 is due in 11, which is used, and is sent again in 15.
    assert_eq!(most_slots(6, blank(&[2, 3, 4, 6, 7, 8, 9])), 10);
    // Only 0 is left.
    assert_eq!(most_slots(12, blank(&[1, 2, 3, 4, 5, 6, 7, 8, 9])), 20);
}
