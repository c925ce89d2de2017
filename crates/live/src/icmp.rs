//! The ICMP errors of the router: time exceeded, packet too big, destination unreachable (RFC 792, RFC 1191 §4,
//! RFC 4443 §3).
//!
//! No error is sent about an ICMP error, about a later fragment of IPv4, about a packet to more than one host, or to a
//! source that is not one host (RFC 1122 §3.2.2, RFC 4443 §2.4). [`ErrorLimit`] bounds their rate.

use core::net::IpAddr;

use airlane_core::{Duration, Instant};
use airlane_wire::checksum::fill;
use airlane_wire::{Icmp, Ip, Ipv4, Ipv6, TIME_TO_LIVE, protocol};

use crate::ends::{ROUTER_V4, ROUTER_V6};

/// The largest error of ICMP for IPv4 (RFC 1812 §4.3.2.3).
const V4_MAX: usize = 576;
/// The largest error of ICMPv6: the minimum MTU of IPv6 (RFC 4443 §2.4 (c)).
const V6_MAX: usize = 1280;
/// Redirect, about which RFC 4443 §2.4 (e.2) forbids errors too.
const V6_REDIRECT: u8 = 137;

/// The causes of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// The hop limit became 0 on the way.
    TimeExceeded,
    /// The packet has more bytes than the next link carries. For IPv4 it is sent only if fragmentation is forbidden.
    TooBig {
        /// The largest packet of that link.
        mtu: u16,
    },
    /// No end has the destination.
    NoRoute,
}

impl Report {
    /// Type, code and second word (RFC 792; RFC 1191 §4; RFC 4443 §3.1 to §3.3).
    fn header(self, v6: bool) -> Icmp {
        let (kind, code, word) = match (self, v6) {
            (Self::TimeExceeded, false) => (11, 0, 0),
            (Self::TimeExceeded, true) => (3, 0, 0),
            (Self::TooBig { mtu }, false) => (3, 4, u32::from(mtu)),
            (Self::TooBig { mtu }, true) => (2, 0, u32::from(mtu)),
            (Self::NoRoute, false) => (3, 0, 0),
            (Self::NoRoute, true) => (1, 0, 0),
        };
        Icmp { kind, code, checksum: 0, rest: word.to_be_bytes() }
    }
}

/// Replaces `out` by the error about a packet, from the router to the packet's source. Returns false, with `out`
/// empty, if no error may be sent about it.
#[must_use]
pub fn error(report: Report, offending: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    let Ok((ip, behind)) = Ip::parse(offending) else { return false };
    if !may_be_reported(&ip, behind) {
        return false;
    }
    let whole = ip.header_len() + behind.len();
    let (limit, header_len) = match ip {
        Ip::V4(_) => (V4_MAX, Ipv4::LEN_MIN),
        Ip::V6(_) => (V6_MAX, Ipv6::LEN_MIN),
    };
    let quoted = whole.min(limit - header_len - Icmp::LEN);
    let header = match ip {
        Ip::V4(of) => Ip::V4(Ipv4 {
            total_length: (header_len + Icmp::LEN + quoted) as u16,
            protocol: protocol::ICMP,
            ..Ipv4::between(ROUTER_V4, of.source)
        }),
        Ip::V6(of) => Ip::V6(Ipv6 {
            traffic_class: 0,
            flow_label: 0,
            payload_length: (Icmp::LEN + quoted) as u16,
            next_header: protocol::ICMPV6,
            hop_limit: TIME_TO_LIVE,
            source: ROUTER_V6,
            destination: of.source,
            extensions: &[],
            protocol: protocol::ICMPV6,
            fragment: None,
        }),
    };
    header.emit(out).expect("a header without options");
    report.header(matches!(ip, Ip::V6(_))).emit(out);
    out.extend_from_slice(&offending[..quoted]);
    fill(out).expect("the packet that was just written");
    true
}

/// Whether an error about this packet is allowed.
fn may_be_reported(ip: &Ip<'_>, behind: &[u8]) -> bool {
    let (source, destination) = ip.addresses();
    let one_host = |address: IpAddr| {
        !address.is_multicast()
            && !address.is_unspecified()
            && !matches!(address, IpAddr::V4(v4) if v4.is_broadcast())
    };
    if !one_host(source) || !one_host(destination) || source.is_loopback() {
        return false;
    }
    match ip {
        Ip::V4(header) if header.fragment & 0x1fff != 0 => false,
        Ip::V4(header) if header.protocol == protocol::ICMP => {
            Icmp::parse(behind).is_ok_and(|(icmp, _)| !icmp.is_error(false))
        }
        Ip::V6(header) if header.protocol == protocol::ICMPV6 && header.fragment.unwrap_or(0) >> 3 == 0 => {
            Icmp::parse(behind).is_ok_and(|(icmp, _)| !icmp.is_error(true) && icmp.kind != V6_REDIRECT)
        }
        _ => true,
    }
}

/// A token bucket that bounds the rate of errors (RFC 4443 §2.4 (f)), with the bucket and the rate that it names for a
/// small device.
#[derive(Clone, Copy, Debug)]
pub struct ErrorLimit {
    /// Errors that may be sent now.
    tokens: u64,
    /// The time of the last token.
    filled: Instant,
}

impl ErrorLimit {
    /// Errors of a burst.
    pub const BURST: u64 = 10;
    /// The interval of tokens: ten in a second.
    pub const INTERVAL: Duration = Duration::from_millis(100);

    /// Whether an error may be sent at this time; if so, it is counted. Times must not decrease.
    #[must_use]
    pub fn allows(&mut self, now: Instant) -> bool {
        let fresh = now.saturating_since(self.filled).as_nanos() / Self::INTERVAL.as_nanos();
        self.tokens += fresh;
        self.filled += Duration::from_nanos(fresh * Self::INTERVAL.as_nanos());
        if self.tokens >= Self::BURST {
            (self.tokens, self.filled) = (Self::BURST, now);
        }
        let allowed = self.tokens > 0;
        self.tokens -= u64::from(allowed);
        allowed
    }
}

impl Default for ErrorLimit {
    fn default() -> Self {
        Self { tokens: Self::BURST, filled: Instant::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use airlane_wire::checksum::{Verdict, verify_header, verify_transport};
    use airlane_wire::{Echo, IpPacket, Transport, Udp};

    use super::*;
    use crate::ends::{EndId, Ends};

    const UE: EndId = EndId::Ue(0);

    fn v4(protocol: u8, fragment: u16, behind: &[u8]) -> Vec<u8> {
        let header = Ipv4 {
            total_length: (20 + behind.len()) as u16,
            protocol,
            fragment,
            ..Ipv4::between(Ends::v4(UE), Ends::v4(EndId::Server))
        };
        let mut bytes = vec![];
        Ip::V4(header).emit(&mut bytes).unwrap();
        bytes.extend_from_slice(behind);
        fill(&mut bytes).unwrap();
        bytes
    }

    fn v6(protocol: u8, behind: &[u8]) -> Vec<u8> {
        let header = Ipv6 {
            traffic_class: 0,
            flow_label: 0,
            payload_length: behind.len() as u16,
            next_header: protocol,
            hop_limit: 1,
            source: Ends::v6(UE),
            destination: Ends::v6(EndId::Server),
            extensions: &[],
            protocol,
            fragment: None,
        };
        let mut bytes = vec![];
        header.emit(&mut bytes).unwrap();
        bytes.extend_from_slice(behind);
        bytes
    }

    fn datagram(payload: usize) -> Vec<u8> {
        let mut bytes = vec![];
        let length = 8 + payload as u16;
        Udp { source_port: 4_000, destination_port: 53, length, checksum: 0 }.emit(&mut bytes);
        bytes.resize(8 + payload, 7);
        bytes
    }

    fn about(report: Report, offending: &[u8]) -> Option<Vec<u8>> {
        let mut out = vec![1, 2, 3];
        error(report, offending, &mut out).then_some(out)
    }

    #[test]
    fn an_error_quotes_the_packet_and_has_right_checksums() {
        for (offending, v6) in [(v4(17, 0, &datagram(20)), false), (v6(17, &datagram(20)), true)] {
            let cases = [
                (Report::TimeExceeded, if v6 { (3, 0) } else { (11, 0) }, 0),
                (Report::TooBig { mtu: 1_400 }, if v6 { (2, 0) } else { (3, 4) }, 1_400),
                (Report::NoRoute, if v6 { (1, 0) } else { (3, 0) }, 0),
            ];
            for (report, (kind, code), word) in cases {
                let bytes = about(report, &offending).unwrap();
                let packet = IpPacket::parse(&bytes).unwrap();
                assert_eq!(packet.len(), bytes.len());
                let router = if v6 { IpAddr::V6(ROUTER_V6) } else { IpAddr::V4(ROUTER_V4) };
                let ue = if v6 { IpAddr::V6(Ends::v6(UE)) } else { IpAddr::V4(Ends::v4(UE)) };
                assert_eq!(packet.ip.addresses(), (router, ue));
                let Transport::Icmp(icmp) = packet.transport else { panic!("{packet:?}") };
                assert_eq!((icmp.kind, icmp.code, icmp.rest), (kind, code, u32::to_be_bytes(word)));
                assert_eq!(packet.payload, offending);
                assert_eq!(verify_transport(&bytes), Verdict::Correct);
                assert_eq!(verify_header(&bytes), if v6 { Verdict::Absent } else { Verdict::Correct });
            }
        }
    }

    #[test]
    fn a_long_packet_is_quoted_in_part() {
        let long = about(Report::TimeExceeded, &v4(17, 0, &datagram(1_400))).unwrap();
        assert_eq!(long.len(), 576);
        let long = about(Report::TimeExceeded, &v6(17, &datagram(1_400))).unwrap();
        assert_eq!(long.len(), 1_280);
        // Bytes behind the packet are not quoted.
        let mut padded = v4(17, 0, &datagram(4));
        padded.extend_from_slice(&[9; 40]);
        assert_eq!(about(Report::NoRoute, &padded).unwrap().len(), 28 + 32);
    }

    #[test]
    fn no_error_about_errors_later_fragments_or_many_hosts() {
        let echo = |v6| {
            let mut bytes = vec![];
            Icmp::echo_message(Echo { reply: false, identifier: 1, sequence: 1 }, v6).emit(&mut bytes);
            bytes
        };
        let raw = |kind| [kind, 0, 0, 0, 0, 0, 0, 0];
        let report = |bytes: &[u8]| about(Report::TimeExceeded, bytes).is_some();
        assert!(report(&v4(1, 0, &echo(false))) && report(&v6(58, &echo(true))));
        assert!(!report(&v4(1, 0, &raw(3))) && !report(&v4(1, 0, &raw(11))));
        assert!(!report(&v6(58, &raw(1))) && !report(&v6(58, &raw(V6_REDIRECT))));
        assert!(report(&v4(17, Ipv4::MORE_FRAGMENTS, &datagram(0))) && !report(&v4(17, 2, &datagram(0))));
        let mut to_many = v6(17, &datagram(0));
        to_many[24..40].copy_from_slice(&"ff02::1".parse::<core::net::Ipv6Addr>().unwrap().octets());
        assert!(!report(&to_many));
        let mut from_none = v4(17, 0, &datagram(0));
        from_none[12..16].fill(0);
        assert!(!report(&from_none) && !report(&[0x45, 0]) && !report(&[]));
    }

    #[test]
    fn ten_errors_at_once_and_ten_in_a_second() {
        let mut limit = ErrorLimit::default();
        let count =
            |limit: &mut ErrorLimit, ms| (0..50).filter(|_| limit.allows(Instant::from_millis(ms))).count();
        assert_eq!([0, 99, 100, 350, 400, 5_000].map(|ms| count(&mut limit, ms)), [10, 0, 1, 2, 1, 10]);
    }
}
