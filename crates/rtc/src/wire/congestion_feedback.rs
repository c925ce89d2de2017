//! Congestion control feedback: arrival times and ECN fields by stream (RFC 8888 section 3.1).

use airlane_core::ip_bytes::{ecn_bits, ecn_of};
use airlane_core::{Duration, Ecn, Instant};

use super::{compact_ntp, from_compact_ntp, get16, get32, put16, put32};

/// The offset of an arrival that is longer ago than can be told.
const OFFSET_OVER: u16 = 0x1ffe;
/// An arrival whose time is not available.
const OFFSET_UNKNOWN: u16 = 0x1fff;

/// The part of a report about one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Metric {
    /// When it arrived, by the clock of the receiver; `None` if it did not.
    pub(crate) at: Option<Instant>,
    /// Its ECN field as it arrived.
    pub(crate) ecn: Ecn,
}

/// The part of a report about one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamReport {
    /// Its SSRC.
    pub(crate) ssrc: u32,
    /// The sequence number of the first packet.
    pub(crate) begin: u16,
    /// The packets from there on.
    pub(crate) packets: Vec<Metric>,
}

/// Appends the content of a report that is sent now.
pub(super) fn emit(now: Instant, streams: &[StreamReport], out: &mut Vec<u8>) {
    for stream in streams {
        put32(out, stream.ssrc);
        put16(out, stream.begin);
        put16(out, stream.packets.len() as u16);
        for packet in &stream.packets {
            put16(
                out,
                packet.at.map_or(0, |at| 0x8000 | u16::from(ecn_bits(packet.ecn)) << 13 | offset(now, at)),
            );
        }
        out.resize(out.len().next_multiple_of(4), 0);
    }
    put32(out, compact_ntp(now));
}

/// The time since an arrival in units of 1/1024 s.
fn offset(now: Instant, at: Instant) -> u16 {
    let units = u128::from(now.saturating_since(at).as_nanos()) * 1024 / 1_000_000_000;
    u16::try_from(units).unwrap_or(OFFSET_OVER).min(OFFSET_OVER)
}

/// Reads the content of a report that arrives at `now`, and returns the time from the latest arrival until it was sent.
/// Times are those of the receiver's clock, of which a report tells 2^16 s: those are nearest to `now`.
pub(super) fn parse(now: Instant, content: &[u8]) -> Option<(Vec<StreamReport>, Duration)> {
    let end = content.len().checked_sub(4)?;
    let age = compact_ntp(now).wrapping_sub(get32(content, end)?);
    // A clock that is ahead reads as an age just below 2^16 s.
    let sent = match age >> 31 {
        0 => Instant::from_nanos(now.as_nanos().checked_sub(from_compact_ntp(age).as_nanos())?),
        _ => now + from_compact_ntp(age.wrapping_neg()),
    };
    let (mut streams, mut at, mut held) = (vec![], 0, None);
    while at < end {
        let (ssrc, begin, count) = (get32(content, at)?, get16(content, at + 4)?, get16(content, at + 6)?);
        at += 8;
        let mut packets = Vec::with_capacity(usize::from(count).min(end));
        for i in 0..usize::from(count) {
            let block = get16(content, at + 2 * i).filter(|_| at + 2 * i < end)?;
            let offset = block & 0x1fff;
            let arrived = block & 0x8000 != 0 && offset != OFFSET_UNKNOWN;
            let ago = Duration::from_nanos(u64::from(offset) * 1_000_000_000 / 1024);
            if arrived {
                held = Some(held.map_or(ago, |held: Duration| held.min(ago)));
            }
            let ago = arrived.then(|| Instant::from_nanos(sent.as_nanos().saturating_sub(ago.as_nanos())));
            packets.push(Metric {
                at: ago,
                ecn: if arrived { ecn_of((block >> 13) as u8) } else { Ecn::NotCapable },
            });
        }
        at += (2 * usize::from(count)).next_multiple_of(4);
        streams.push(StreamReport { ssrc, begin, packets });
    }
    Some((streams, held.unwrap_or(Duration::ZERO)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times that the units of 2^-16 s and 1/1024 s hold exactly.
    #[test]
    fn a_report_is_read_as_it_was_written() {
        let units = |units: u64| Instant::from_nanos(units * 1_000_000_000 / 1024);
        let got = |at, ecn| Metric { at: Some(at), ecn };
        let lost = Metric { at: None, ecn: Ecn::NotCapable };
        let ce = Ecn::CongestionExperienced;
        let streams = [
            StreamReport {
                ssrc: 7,
                begin: 65_535,
                packets: vec![
                    got(units(1_000 * 1_024), Ecn::Capable1),
                    lost,
                    got(units(1_000 * 1_024 + 512), ce),
                ],
            },
            StreamReport {
                ssrc: 8,
                begin: 3,
                packets: vec![got(units(1_000 * 1_024 + 256), Ecn::NotCapable)],
            },
        ];
        let sent = units(1_001 * 1_024);
        let mut report = vec![];
        emit(sent, &streams, &mut report);
        let first = [0, 0, 0, 7, 0xff, 0xff, 0, 3, 0xa4, 0, 0, 0, 0xe2, 0, 0, 0];
        let second = [0, 0, 0, 8, 0, 3, 0, 1, 0x83, 0, 0, 0];
        assert_eq!(report, [&first[..], &second, &[0x03, 0xe9, 0, 0]].concat());
        let held = Duration::from_millis(500);
        let read = parse(sent + Duration::from_millis(125), &report);
        assert_eq!(read, Some((streams.to_vec(), held)));
        // A receiver's clock may be ahead.
        assert_eq!(parse(units(999 * 1_024), &report), Some((streams.to_vec(), held)));
        assert_eq!(parse(sent, &report[4..]), None);
    }

    #[test]
    fn an_arrival_long_ago_is_at_the_bound() {
        assert_eq!(offset(Instant::from_millis(9_000), Instant::ZERO), OFFSET_OVER);
        assert_eq!(offset(Instant::from_millis(1_000), Instant::ZERO), 1024);
    }
}
