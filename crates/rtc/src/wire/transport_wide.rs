//! Transport-wide feedback: the arrival times of all packets of a sender
//! (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1).

use airlane_core::{Duration, Instant};

use super::{get16, put16};

/// The unit of the reference time: 64 ms.
const REFERENCE: u64 = 64_000_000;
/// The unit of the differences: 250 µs.
const TICK: i64 = 250_000;
/// The longest run of one chunk.
const RUN_MAX: usize = 0x1fff;

/// The part of a report about one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// The lowest 16 bits of its transport-wide sequence number.
    pub(crate) sequence: u16,
    /// When it arrived, in steps of 250 µs of the receiver's clock; `None` if it did not.
    pub(crate) at: Option<Instant>,
}

/// Appends the content of a report about the packets from `base` on: for each when it arrived, if it did. The arrivals of two that
/// follow each other differ by at most 8191.75 ms, the largest difference of 16 bits with sign (section 3.1.5).
pub(super) fn emit(base: u16, count: u8, arrivals: &[Option<Instant>], out: &mut Vec<u8>) {
    let first = arrivals.iter().flatten().next().map_or(0, |at| at.as_nanos());
    let reference = first / REFERENCE;
    put16(out, base);
    put16(out, arrivals.len() as u16);
    out.extend_from_slice(&(reference as u32).to_be_bytes()[1..]);
    out.push(count);
    let mut ticks = (reference * REFERENCE) as i64 / TICK;
    let deltas: Vec<Option<i64>> = arrivals
        .iter()
        .map(|at| {
            let at = at.map(|at| at.as_nanos() as i64 / TICK)?;
            let delta = at - ticks;
            ticks = at;
            Some(delta)
        })
        .collect();
    emit_chunks(&deltas, out);
    for delta in deltas.iter().flatten() {
        match symbol(Some(*delta)) {
            1 => out.push(*delta as u8),
            _ => put16(out, i16::try_from(*delta).expect("arrivals of one interval, of at most 8 s") as u16),
        }
    }
    out.resize(out.len().next_multiple_of(4), 0);
}

/// 0 of a packet that has not arrived, 1 of a difference of one byte, 2 of one of two bytes.
fn symbol(delta: Option<i64>) -> u16 {
    delta.map_or(0, |delta| if (0..=255).contains(&delta) { 1 } else { 2 })
}

/// Runs of at least seven, and otherwise vectors of seven symbols of two bits.
fn emit_chunks(deltas: &[Option<i64>], out: &mut Vec<u8>) {
    let mut rest = deltas;
    while let Some(first) = rest.first() {
        let kind = symbol(*first);
        let run = rest.iter().take(RUN_MAX).take_while(|delta| symbol(**delta) == kind).count();
        let (chunk, taken) = if run >= 7 || run == rest.len() {
            (kind << 13 | run as u16, run)
        } else {
            let taken = rest.len().min(7);
            let symbols = rest[..taken].iter().enumerate();
            let bits = symbols.fold(0, |bits, (i, delta)| bits | symbol(*delta) << (12 - 2 * i));
            (0xc000 | bits, taken)
        };
        put16(out, chunk);
        rest = &rest[taken..];
    }
}

/// Reads the content of a report.
pub(super) fn parse(content: &[u8], into: &mut Vec<Arrival>) -> Option<()> {
    let (base, count) = (get16(content, 0)?, usize::from(get16(content, 2)?));
    let reference = u64::from(u32::from_be_bytes([0, *content.get(4)?, *content.get(5)?, *content.get(6)?]));
    let begin = into.len();
    let mut at = 8;
    while into.len() - begin < count {
        let chunk = get16(content, at)?;
        at += 2;
        let mut push = |symbol: u16| {
            if into.len() - begin < count {
                let sequence = base.wrapping_add((into.len() - begin) as u16);
                // The field has the symbol until the time is read.
                let at = (symbol & 3 != 0).then(|| Instant::from_nanos(u64::from(symbol)));
                into.push(Arrival { sequence, at });
            }
        };
        match chunk >> 14 {
            0 | 1 => (0..chunk & 0x1fff).for_each(|_| push(chunk >> 13)),
            2 => (0..14).for_each(|i| push(chunk >> (13 - i) & 1)),
            _ => (0..7).for_each(|i| push(chunk >> (12 - 2 * i) & 3)),
        }
    }
    let mut ticks = (reference * REFERENCE) as i64 / TICK;
    for arrival in &mut into[begin..] {
        let Some(symbol) = arrival.at else { continue };
        if symbol.as_nanos() == 1 {
            ticks += i64::from(*content.get(at)?);
            at += 1;
        } else {
            ticks += i64::from(get16(content, at)? as i16);
            at += 2;
        }
        arrival.at = Some(Instant::ZERO + Duration::from_nanos(u64::try_from(ticks * TICK).ok()?));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let us = |us: u64| Some(Instant::from_nanos(us * 1_000));
        let arrivals =
            [us(130_000), us(131_250), None, us(400_000), us(399_000), None, us(400_250), us(400_500)];
        let mut report = vec![];
        emit(65_533, 7, &arrivals, &mut report);
        // Reference 2 (128 ms); deltas 8, 5, 1075, -4, 5, 1: symbols 1 1 0 2 2 0 1, and a run of one.
        let head = [0xff, 0xfd, 0, 8, 0, 0, 2, 7];
        let chunks = [0xc0 | 0b01_01_00, 0b10_10_00_01, 0x20, 1];
        let deltas = [8, 5, 0x04, 0x33, 0xff, 0xfc, 5, 1];
        assert_eq!(report, [&head[..], &chunks, &deltas].concat());
        let mut read = vec![];
        parse(&report, &mut read).unwrap();
        assert_eq!(read.iter().map(|arrival| arrival.at).collect::<Vec<_>>(), arrivals);
        assert_eq!((read[0].sequence, read[7].sequence), (65_533, 4));
    }

    #[test]
    fn a_long_run_takes_one_chunk() {
        let at = Some(Instant::from_millis(64));
        let mut report = vec![];
        emit(0, 0, &[at; 100], &mut report);
        assert_eq!(report.len(), (8 + 2 + 100usize).next_multiple_of(4));
        let mut read = vec![];
        parse(&report, &mut read).unwrap();
        assert!(read.len() == 100 && read.iter().all(|arrival| arrival.at == at));
        assert_eq!(parse(&report[..60], &mut vec![]), None);
    }
}
