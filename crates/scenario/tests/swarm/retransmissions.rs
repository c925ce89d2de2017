//! How long blocks wait for their next transmission.

use std::collections::BTreeMap;

use airlane_record::{Column, Table};
use airlane_scenario::Resolved;

/// Subframes of a frame.
const FRAME: u64 = 10;

/// The longest time from one transmission of a block to the next that HARQ of a cell may take in the
/// downlink, in slots.
///
/// Blocks sent in one slot fit into one slot together, and new blocks come after those that are sent again. So
/// each slot that is not blank has room for all blocks of the oldest slot of which any wait. Nothing waits
/// longer than where all fail: then the blocks of each slot take a slot for themselves, one round trip later
/// or in the first slot after that that is neither blank nor taken by the blocks of an earlier slot.
fn most_slots(round_trip: u64, blank: impl Fn(u64) -> bool) -> u64 {
    let (mut free_from, mut most) = (0, 0);
    // What is left over from frame to frame is the same after a few of them.
    for sent in (0..100 * FRAME).filter(|&slot| !blank(slot)) {
        let again = (free_from.max(sent + round_trip)..).find(|&slot| !blank(slot));
        let again = again.expect("a cell has a subframe that is not blank");
        (free_from, most) = (again + 1, most.max(again - sent));
    }
    most
}

/// One row of the RAN log: a block in the air.
#[derive(Clone, Copy, Debug)]
struct Sent {
    slot: u64,
    cell: usize,
    transmission: u64,
    decoded: bool,
}

/// Checks the log of a run, and tells the longest time from one transmission of a block to the next in
/// slots, and how much of it was not the cell's round trip.
///
/// # Panics
/// If a block waited longer than it may: in the downlink longer than [`most_slots`], in the uplink any longer
/// than the round trip, since retransmissions are synchronous there (TS 36.213 v17.1 §8).
pub(super) fn longest_wait(scenario: &Resolved, log: &Table) -> (u64, u64) {
    let number = |name: &str| match log.column(name) {
        Some(Column::I64(values)) => values,
        other => panic!("{name}: {other:?}"),
    };
    let label = |name: &str| match log.column(name) {
        Some(Column::Labels { of, .. }) => of,
        other => panic!("{name}: {other:?}"),
    };
    let Some(Column::Bool(decoded)) = log.column("decoded") else { panic!("no column decoded") };
    let round_trip = |cell: usize| slots(scenario, cell);
    let bounds: Vec<[u64; 2]> = (0..scenario.cell.len())
        .map(|cell| {
            let blank = &scenario.cell[cell].mac.blank_subframes;
            let blank = |slot: u64| blank.iter().any(|&subframe| u64::from(subframe) == slot % FRAME);
            [most_slots(round_trip(cell), blank), round_trip(cell)]
        })
        .collect();
    let mut latest: BTreeMap<(u32, u32, i64), Sent> = BTreeMap::new();
    let (mut longest, mut beyond) = (0, 0);
    let (slot, transmission) = (number("slot"), number("transmission"));
    let (process, cell) = (number("harq_process"), label("cell"));
    let (ue, direction) = (label("ue"), label("direction"));
    for row in 0..decoded.len() {
        let now = Sent {
            slot: slot[row] as u64,
            cell: cell[row] as usize,
            transmission: transmission[row] as u64,
            decoded: decoded[row],
        };
        let before = latest.insert((ue[row], direction[row], process[row]), now);
        let Some(before) = before.filter(|_| now.transmission > 1) else { continue };
        assert!(!before.decoded && before.cell == now.cell, "{before:?}, then {now:?}");
        let (wait, most) = (now.slot - before.slot, bounds[now.cell][direction[row] as usize]);
        assert!(wait <= most, "{before:?}, then {now:?}: {wait} slots apart, {most} at most");
        (longest, beyond) = (longest.max(wait), beyond.max(wait - round_trip(now.cell)));
    }
    if scenario.handover.is_none() {
        let end = slot.iter().max().map_or(0, |&slot| slot as u64);
        for (&(_, direction, _), last) in &latest {
            let cell = &scenario.cell[last.cell];
            let over =
                last.decoded || !cell.harq || last.transmission >= u64::from(cell.mac.harq_transmissions);
            let most = bounds[last.cell][direction as usize];
            // What waits when the radio goes off is lost, and so is what is sent in the slot that ends then.
            let starts = cell.outages.iter().flatten().map(|one| one.at.0.as_nanos() / 1_000_000);
            let lost =
                starts.into_iter().any(|at| at.saturating_sub(most + 1) <= last.slot && last.slot <= at);
            assert!(over || lost || end - last.slot <= most, "{last:?} is not sent again until {end}");
        }
    }
    (longest, beyond)
}

/// The HARQ round trip of a cell in slots of 1 ms.
fn slots(scenario: &Resolved, cell: usize) -> u64 {
    scenario.cell[cell].mac.harq_round_trip.0.as_nanos() / 1_000_000
}

#[test]
fn the_bound_is_what_a_round_trip_and_blank_subframes_make() {
    let blank = |subframes: &'static [u64]| move |slot: u64| subframes.contains(&(slot % FRAME));
    assert_eq!(most_slots(8, blank(&[])), 8);
    // Sent in 2, due in 0, which is blank.
    assert_eq!(most_slots(8, blank(&[0, 5])), 9);
    // Sent in 1, 2, ..., 9, due in 9, 0, ..., 7: what is due in 0 goes out in 1, and so on until 8, where nothing is due.
    assert_eq!(most_slots(8, blank(&[0])), 9);
    // With 9 what is sent in 1 is due in 0 and goes out in 1 of the frame after, 10 slots later, and so do all after it.
    assert_eq!(most_slots(9, blank(&[0])), 10);
    // Only 0 and 1 are left: sent in 0 and due in 8, it is sent again in 10, as in 11 what was sent in 1.
    assert_eq!(most_slots(8, blank(&[2, 3, 4, 5, 6, 7, 8, 9])), 10);
    // Only 0, 1 and 5 are left. With 6 what is sent in 0 and in 1 goes out in 10 and 11; what is sent in 5 is
    // due in 11, which is taken, and goes out in 15.
    assert_eq!(most_slots(6, blank(&[2, 3, 4, 6, 7, 8, 9])), 10);
    // Only 0 is left.
    assert_eq!(most_slots(12, blank(&[1, 2, 3, 4, 5, 6, 7, 8, 9])), 20);
}
