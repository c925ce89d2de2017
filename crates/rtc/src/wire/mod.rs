//! The packets of a call as bytes: RTP (RFC 3550) and RTCP, as SRTP (RFC 3711) sends them.
//!
//! The authentication tags are zero, and nothing is encrypted: sizes are as on the wire, and an analyser can read the content.

mod congestion_feedback;
mod repair;
mod rtcp;
mod rtp;
mod transport_wide;
mod unwrap;

pub(crate) use congestion_feedback::{Metric, StreamReport};
pub(crate) use repair::{REACH, protect, protected, recover};
pub use rtcp::is_rtcp;
pub(crate) use rtcp::{Rtcp, RtcpReader, RtcpWriter};
pub use rtp::{MediaStream, Ssrcs};
pub(crate) use rtp::{RtpHeader, VP8_DESCRIPTOR, VideoPayload, original_sequence};
pub(crate) use transport_wide::Arrival;
pub(crate) use unwrap::Unwrapper;

use airlane_core::{Duration, Instant};

/// The authentication tag of SRTP with HMAC-SHA1-80 (RFC 3711 section 5.2).
pub(crate) const SRTP_TAG: usize = 10;

/// The headers of IPv4 (20 B) and UDP (8 B), which the rates of a call count.
pub(crate) const LOWER_HEADERS: u64 = 28;

/// The middle 32 bits of an NTP timestamp, in units of 2^-16 s (RFC 3550 section 4). The clock of a simulation begins at 0.
#[must_use]
pub(crate) fn compact_ntp(at: Instant) -> u32 {
    let units = (u128::from(at.as_nanos()) << 16) / 1_000_000_000;
    units as u32
}

/// The length of a number of units of 2^-16 s.
#[must_use]
pub(crate) fn from_compact_ntp(units: u32) -> Duration {
    Duration::from_nanos((u64::from(units) * 1_000_000_000) >> 16)
}

fn put16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

fn put32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes());
}

fn get16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn get32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
