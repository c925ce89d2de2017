//! Delivery traces in Mahimahi's format: the times at which a link could deliver a full packet.
//!
//! A trace is a text file with one whole number per line: the millisecond at which 1500 bytes may
//! be delivered. Numbers never decrease; a number that occurs n times means n opportunities. The
//! trace loops: its period is its last number (Winstein, Sivaraman and Balakrishnan, NSDI 2013;
//! Netravali et al., USENIX ATC 2015, and the manual page mm-link(1)). Sizes here are those of IP
//! packets; Mahimahi also counts the four bytes of the TUN header.

use core::fmt;

use airlane_core::{Bytes, Duration, Instant};

/// The bytes that one opportunity can deliver.
pub const OPPORTUNITY: Bytes = Bytes(1500);

/// A sequence of delivery opportunities that repeats without end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryTrace {
    /// Never decreasing; the last one is the period, and is above zero.
    stamps_ms: Vec<u64>,
}

/// An error in a trace: its place, and the correct form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The file, as it was named.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The text of the line.
    pub found: String,
    /// The correct form.
    pub help: String,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: `{}`: {}", self.file, self.line, self.found, self.help)
    }
}

impl core::error::Error for TraceError {}

impl DeliveryTrace {
    /// Parses a trace; errors name `file`.
    ///
    /// # Errors
    /// If a line is not a whole number of milliseconds or is less than the one before, or if the
    /// period of the trace is zero.
    pub fn parse(text: &str, file: &str) -> Result<Self, TraceError> {
        let error = |line: usize, found: &str, help: String| TraceError {
            file: file.to_owned(),
            line: line + 1,
            found: found.to_owned(),
            help,
        };
        let mut stamps_ms = Vec::new();
        let mut last = 0;
        for (number, line) in text.lines().enumerate() {
            let Ok(stamp) = line.trim().parse::<u64>() else {
                let help = "each line must be one whole number of milliseconds, such as 17";
                return Err(error(number, line, help.to_owned()));
            };
            if stamp < last {
                let help = format!("milliseconds must not decrease; the line before has {last}");
                return Err(error(number, line, help));
            }
            // The sum with any time of a run must stay below 2^64 ns.
            if stamp > STAMP_MS_MAX {
                let help = format!("milliseconds must not exceed {STAMP_MS_MAX}");
                return Err(error(number, line, help));
            }
            stamps_ms.push(stamp);
            last = stamp;
        }
        if last == 0 {
            let help = "the last line must be above 0: it is the period after which the trace repeats";
            let number = stamps_ms.len().saturating_sub(1);
            return Err(error(number, text.lines().last().unwrap_or(""), help.to_owned()));
        }
        Ok(Self { stamps_ms })
    }

    /// The time after which it repeats.
    #[must_use]
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.stamps_ms[self.stamps_ms.len() - 1])
    }

    /// Opportunities of one period.
    #[must_use]
    pub fn opportunities(&self) -> usize {
        self.stamps_ms.len()
    }
}

/// The longest period, about eleven years.
const STAMP_MS_MAX: u64 = 1 << 38;

/// A position in a trace: the next opportunity.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    /// The start of the current period.
    round: Instant,
    index: usize,
}

impl Cursor {
    /// The time of the opportunity.
    #[inline]
    pub(crate) fn time(self, trace: &DeliveryTrace) -> Instant {
        self.round + Duration::from_millis(trace.stamps_ms[self.index])
    }

    /// Moves to the next opportunity.
    #[inline]
    pub(crate) fn advance(&mut self, trace: &DeliveryTrace) {
        self.index += 1;
        if self.index == trace.stamps_ms.len() {
            self.index = 0;
            self.round += trace.period();
        }
    }

    /// Moves to the first opportunity after `now`; those before it stay unused.
    pub(crate) fn skip_past(&mut self, trace: &DeliveryTrace, now: Instant) {
        if self.time(trace) > now {
            return;
        }
        let rounds = (now - self.round).as_nanos() / trace.period().as_nanos();
        if rounds > 0 {
            // Moves into the period that contains `now`.
            self.round += trace.period() * rounds;
            self.index = 0;
        }
        let since_ms = (now - self.round).as_millis();
        let rest = &trace.stamps_ms[self.index..];
        // An opportunity is at the beginning of its millisecond, so `<=` on whole milliseconds is exact.
        self.index += rest.partition_point(|&stamp| stamp <= since_ms);
        if self.index == trace.stamps_ms.len() {
            self.index = 0;
            self.round += trace.period();
        }
        if self.time(trace) <= now {
            self.skip_past(trace, now); // stamps of 0 ms at the start of the next period
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<DeliveryTrace, TraceError> {
        DeliveryTrace::parse(text, "cell.down")
    }

    #[test]
    fn a_trace_is_one_number_a_line() {
        let trace = parse("0\n3\n3\n 10\r\n").unwrap();
        assert_eq!((trace.opportunities(), trace.period()), (4, Duration::from_millis(10)));
    }

    #[test]
    fn an_error_says_where_and_what_would_be_right() {
        let message = |text| parse(text).unwrap_err().to_string();
        assert_eq!(
            message("1\n2.5\n"),
            "cell.down:2: `2.5`: each line must be one whole number of milliseconds, such as 17"
        );
        assert_eq!(
            message("1\n\n3\n"),
            "cell.down:2: ``: each line must be one whole number of milliseconds, such as 17"
        );
        assert_eq!(
            message("1\n7\n6\n"),
            "cell.down:3: `6`: milliseconds must not decrease; the line before has 7"
        );
        assert_eq!(
            message("0\n0\n"),
            "cell.down:2: `0`: the last line must be above 0: it is the period after which the trace repeats"
        );
        assert_eq!(parse("").unwrap_err().line, 1);
        assert!(message("99999999999999\n").contains("must not exceed"));
    }

    #[test]
    fn a_trace_repeats_after_its_last_stamp() {
        // 0, 3, 3, 10, then 10 + 0, 10 + 3, ...
        let trace = parse("0\n3\n3\n10\n").unwrap();
        let mut cursor = Cursor::default();
        let mut times = Vec::new();
        for _ in 0..9 {
            times.push(cursor.time(&trace).as_nanos() / 1_000_000);
            cursor.advance(&trace);
        }
        assert_eq!(times, [0, 3, 3, 10, 10, 13, 13, 20, 20]);
    }

    #[test]
    fn skipping_is_advancing_until_later() {
        for text in ["0\n3\n3\n10\n", "1\n", "0\n0\n5\n5\n", "4\n9\n"] {
            let trace = parse(text).unwrap();
            for from in 0..12 {
                for now_us in (0..60_000).step_by(250) {
                    let now = Instant::from_nanos(now_us * 1_000);
                    let mut walked = Cursor::default();
                    (0..from).for_each(|_| walked.advance(&trace));
                    let mut skipped = walked;
                    while walked.time(&trace) <= now {
                        walked.advance(&trace);
                    }
                    skipped.skip_past(&trace, now);
                    assert_eq!(
                        (walked.round, walked.index),
                        (skipped.round, skipped.index),
                        "{text:?} {from} {now}"
                    );
                }
            }
        }
    }
}
