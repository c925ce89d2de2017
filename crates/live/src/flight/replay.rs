//! A recorded run again, in virtual time.

use std::collections::VecDeque;
use std::io::Read;

use airlane_core::Instant;
use airlane_scenario::{RealEnd, Resolved, ScenarioError};

use super::{FlightError, Print, Reader, Record};
use crate::cell::Cell;
use crate::ends::EndId;

/// How a record ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The record ended with the run.
    Whole,
    /// At the limit of its size.
    Limited,
    /// The record is cut off or damaged. The part before is compared, but without the checksum of the trailer it may
    /// differ from the part that was written.
    Damaged(FlightError),
}

/// The first packet that left differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The end.
    pub end: EndId,
    /// The number of the packet among those that left there, from 0 on.
    pub index: u64,
    /// The packet of the record; nothing if it has fewer packets.
    pub expected: Option<Print>,
    /// The packet of the repetition; nothing if it gave fewer packets.
    pub got: Option<Print>,
}

/// The result of a repetition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayReport {
    /// Packets and bursts that entered.
    pub entered: u64,
    /// Packets that left, in the record.
    pub left: u64,
    /// Whether each packet left again at the same end, in the same order, at the same nanosecond and with the same
    /// fingerprint, and no other packet left. Always false for a damaged record.
    pub equal: bool,
    /// The first difference.
    pub first_difference: Option<Difference>,
    /// How the record ends.
    pub recorded: Recorded,
    /// The virtual time at its end.
    pub end: Instant,
}

/// Repeats a recorded run. Hosts with other addresses belonged to the ends that are `open`.
///
/// # Errors
/// If the scenario cannot be built.
///
/// # Panics
/// If the record has another number of UEs, or an end cannot be open.
pub fn replay<R: Read>(
    scenario: &Resolved,
    seed: u64,
    real: &[RealEnd],
    open: &[EndId],
    mut reader: Reader<R>,
) -> Result<ReplayReport, ScenarioError> {
    assert_eq!(reader.ues(), real.len(), "the record and the scenario have the same UEs");
    let mut cell = Cell::new(scenario, seed, real, reader.mtu())?;
    for &end in open {
        cell.open_to(end).expect("the run had this end");
    }
    let mut compared = Compared::new(1 + real.len());
    let mut buffer = Vec::new();
    let (mut entered, mut left, mut last) = (0, 0, Instant::ZERO);
    let recorded = loop {
        match reader.next_record() {
            Ok(Record::Entered { at, end, gso, bytes }) => {
                cell.enter(end, bytes, gso, at);
                compared.take_all(&mut cell, &mut buffer);
                (entered, last) = (entered + 1, last.max(at));
            }
            Ok(Record::Left { end, print }) => {
                compared.expect(end, print);
                (left, last) = (left + 1, last.max(print.at));
            }
            Ok(Record::Trailer(trailer)) => {
                last = trailer.end;
                break if trailer.limited { Recorded::Limited } else { Recorded::Whole };
            }
            Err(error) => break Recorded::Damaged(error),
        }
    };
    cell.advance(last.max(cell.now()));
    compared.take_all(&mut cell, &mut buffer);
    compared.finish(recorded == Recorded::Whole);
    let first_difference = compared.first;
    Ok(ReplayReport {
        entered,
        left,
        equal: first_difference.is_none() && !matches!(recorded, Recorded::Damaged(_)),
        first_difference,
        recorded,
        end: last,
    })
}

/// Packets of one end that the other side does not have yet.
#[derive(Debug, Default)]
struct Pending {
    expected: VecDeque<Print>,
    got: VecDeque<Print>,
    /// Packets that both sides have.
    index: u64,
}

/// The comparison of what left.
struct Compared {
    ends: Vec<Pending>,
    first: Option<Difference>,
}

impl Compared {
    fn new(ends: usize) -> Self {
        Self { ends: (0..ends).map(|_| Pending::default()).collect(), first: None }
    }

    fn take_all(&mut self, cell: &mut Cell, buffer: &mut Vec<u8>) {
        while let Some(left) = cell.leave(buffer) {
            if self.first.is_none() {
                self.ends[left.end.index()].got.push_back(Print::of(left.at, buffer));
                self.match_end(left.end);
            }
        }
    }

    fn expect(&mut self, end: EndId, print: Print) {
        if self.first.is_none() {
            self.ends[end.index()].expected.push_back(print);
            self.match_end(end);
        }
    }

    fn match_end(&mut self, end: EndId) {
        let pending = &mut self.ends[end.index()];
        if pending.expected.is_empty() || pending.got.is_empty() {
            return;
        }
        let (expected, got) = (pending.expected.pop_front(), pending.got.pop_front());
        if expected != got {
            self.first = Some(Difference { end, index: pending.index, expected, got });
        }
        pending.index += 1;
    }

    /// A packet of one side only is a difference, but an incomplete record may lack the last packets.
    fn finish(&mut self, whole: bool) {
        for (index, pending) in self.ends.iter().enumerate() {
            let (expected, got) = (pending.expected.front().copied(), pending.got.front().copied());
            if self.first.is_none() && (expected.is_some() || whole && got.is_some()) {
                let end = EndId::from_index(index);
                self.first = Some(Difference { end, index: pending.index, expected, got });
            }
        }
    }
}
