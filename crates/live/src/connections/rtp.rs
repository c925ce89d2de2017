//! RTP and RTCP in datagrams, SRTP and SRTCP included: their fixed headers are not encrypted (RFC 3711 §3.1, §3.4)
//! (unverified).
//!
//! A first byte from 128 to 191 is RTP or RTCP among the protocols of a WebRTC connection (RFC 7983 §7), and a second
//! byte from 192 to 223 is RTCP (RFC 5761 §4). Other protocols have such bytes too: a source is valid once two packets
//! with consecutive sequence numbers were seen (RFC 3550 appendix A.1, `MIN_SEQUENTIAL`).

/// The header of RTP without contributing sources (RFC 3550 §5.1), in bytes.
const RTP_HEADER: usize = 12;
/// The header of RTCP with the sender's SSRC (RFC 3550 §6.4.1), in bytes.
const RTCP_HEADER: usize = 8;
/// Transport-layer feedback (RFC 4585 §6.1), a packet type of RTCP.
const RTPFB: u8 = 205;
/// Its format of transport-wide congestion control (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1)
/// (unverified).
const TWCC: u8 = 15;
/// Its format of congestion control feedback (RFC 8888 §3.1) (unverified).
const CCFB: u8 = 11;

/// The kind of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Rtp { source: u32, sequence: u16 },
    Rtcp { packet_type: u8, format: u8 },
}

/// Packets of RTP and RTCP in one direction of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rtp {
    pub(super) packets: u64,
    /// Packets of RTCP, which can consist of several.
    pub(super) control: u64,
    /// Those among them that begin with feedback of transport-wide congestion control.
    pub(super) twcc: u64,
    /// Those among them that begin with congestion control feedback of RFC 8888.
    pub(super) ccfb: u64,
    /// Synchronization source and sequence number of the last packet of RTP.
    last: Option<(u32, u16)>,
    /// Whether a source was valid.
    pub(super) valid: bool,
}

impl Rtp {
    /// A datagram with this payload enters.
    #[inline]
    pub(super) fn entered(&mut self, payload: &[u8]) {
        match kind(payload) {
            Some(Kind::Rtp { source, sequence }) => {
                self.packets += 1;
                self.valid |= self.last == Some((source, sequence.wrapping_sub(1)));
                self.last = Some((source, sequence));
            }
            Some(Kind::Rtcp { packet_type, format }) => {
                self.control += 1;
                self.twcc += u64::from((packet_type, format) == (RTPFB, TWCC));
                self.ccfb += u64::from((packet_type, format) == (RTPFB, CCFB));
            }
            None => {}
        }
    }
}

fn kind(payload: &[u8]) -> Option<Kind> {
    let (&first, rest) = payload.split_first()?;
    let &second = rest.first()?;
    if !matches!(first, 128..=191) {
        return None;
    }
    if matches!(second, 192..=223) {
        let header = payload.get(..RTCP_HEADER)?;
        // The length counts words of 32 bits, minus one (RFC 3550 §6.4.1).
        let length = 4 * (usize::from(u16::from_be_bytes([header[2], header[3]])) + 1);
        return (length <= payload.len()).then_some(Kind::Rtcp { packet_type: second, format: first & 0x1f });
    }
    let header = payload.get(..RTP_HEADER)?;
    Some(Kind::Rtp {
        source: u32::from_be_bytes([header[8], header[9], header[10], header[11]]),
        sequence: u16::from_be_bytes([header[2], header[3]]),
    })
}
