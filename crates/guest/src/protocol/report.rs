//! Reports of the agent, which is the first program of a guest.

use core::net::Ipv4Addr;

use airlane_core::{BitRate, Bytes, Duration};

/// A report about a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The number of the host.
    pub host: u16,
    /// Content of the report.
    pub what: What,
}

/// The content of an agent's report.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// All hosts are set up; the release of the kernel.
    Ready(String),
    /// A step was not possible.
    Failed(String),
    /// The application asked to connect.
    Started,
    /// The state of a connection.
    State(Box<TcpState>),
    /// The state of a subflow of Multipath TCP.
    Subflow(Box<SubflowState>),
    /// The peer has acknowledged everything that was sent, and has closed.
    Acknowledged,
    /// Everything that was sent has been read.
    Completed,
    /// A connection failed; the error of the system.
    GaveUp(String),
    /// A request was answered after this time.
    Replied(Duration),
    /// Output of a program.
    Output(Vec<u8>),
    /// The exit code of a program.
    Exited(i32),
}

impl Report {
    /// Reads a report; `None` for a frame without a report.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (&[kind, high, low], data) = bytes.split_first_chunk::<3>()?;
        let text = || String::from_utf8_lossy(data).into_owned();
        let what = match kind {
            b'k' => What::Ready(text()),
            b'e' => What::Failed(text()),
            b's' => What::Started,
            b't' => What::State(Box::new(TcpState::decode(data)?)),
            b'm' => What::Subflow(Box::new(SubflowState::decode(data)?)),
            b'a' => What::Acknowledged,
            b'd' => What::Completed,
            b'g' => What::GaveUp(text()),
            b'r' => What::Replied(Duration::from_nanos(u64::from_ne_bytes(data.get(..8)?.try_into().ok()?))),
            b'o' => What::Output(data.to_vec()),
            b'x' => What::Exited(text().parse().ok()?),
            _ => return None,
        };
        Some(Self { host: u16::from_be_bytes([high, low]), what })
    }
}

/// The state of a connection: fields of `struct tcp_info` of Linux (`include/uapi/linux/tcp.h`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpState {
    /// `tcpi_rto`.
    pub rto: Duration,
    /// `tcpi_rtt`: the smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// `tcpi_min_rtt`.
    pub rtt_min: Option<Duration>,
    /// `tcpi_snd_cwnd` times `tcpi_snd_mss`.
    pub congestion_window: Bytes,
    /// `tcpi_snd_ssthresh` times `tcpi_snd_mss`; `None` while it is unset.
    pub ssthresh: Option<Bytes>,
    /// `tcpi_unacked - tcpi_sacked - tcpi_lost + tcpi_retrans`, as `tcp_packets_in_flight`, times `tcpi_snd_mss`.
    pub in_flight: Bytes,
    /// `tcpi_total_retrans`.
    pub retransmissions: u32,
    /// `tcpi_backoff`: consecutive timeouts.
    pub backoff: u8,
    /// `tcpi_pacing_rate`; `None` without pacing.
    pub pacing_rate: Option<BitRate>,
    /// `tcpi_delivery_rate`.
    pub delivery_rate: BitRate,
    /// `tcpi_snd_wnd`: the window that the peer offers, in kernels since 5.4.
    pub offered_window: Option<Bytes>,
    /// `tcpi_delivered_ce`: segments that were marked.
    pub delivered_marked: u32,
}

/// The state of a subflow of Multipath TCP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubflowState {
    /// Whether it is the first, and the last, of the subflows of this moment.
    pub place: [bool; 2],
    /// Its own address.
    pub local: Ipv4Addr,
    /// That of its peer.
    pub remote: Ipv4Addr,
    /// Its state.
    pub tcp: TcpState,
}

impl SubflowState {
    /// Reads a number and the count of the subflows, both addresses, and a `struct tcp_info`.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&[index, count, ref addresses @ ..], tcp) = bytes.split_first_chunk::<10>()?;
        let address = |at: usize| {
            let four: [u8; 4] = addresses[at..at + 4].try_into().expect("four bytes");
            Ipv4Addr::from(four)
        };
        Some(Self {
            place: [index == 0, index + 1 == count],
            local: address(0),
            remote: address(4),
            tcp: TcpState::decode(tcp)?,
        })
    }
}

/// The threshold that was never set (`TCP_INFINITE_SSTHRESH`).
const UNSET: u32 = 0x7fff_ffff;

impl TcpState {
    /// Reads a `struct tcp_info` of a guest of this machine's byte order. Older kernels have fewer fields at its end.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let u32_at = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
        let u64_at = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes);
        let time = |microseconds: u32| Duration::from_micros(u64::from(microseconds));
        let mss = u64::from(u32_at(16)?);
        let [unacknowledged, sacked, lost, resent] = [u32_at(24)?, u32_at(28)?, u32_at(32)?, u32_at(36)?];
        let (rtt, rtt_min) = (u32_at(68)?, u32_at(148)?);
        Some(Self {
            rto: time(u32_at(8)?),
            srtt: (rtt > 0).then(|| time(rtt)),
            rtt_min: (rtt_min < u32::MAX).then(|| time(rtt_min)),
            congestion_window: Bytes(u64::from(u32_at(80)?) * mss),
            ssthresh: u32_at(76).filter(|&segments| segments < UNSET).map(|n| Bytes(u64::from(n) * mss)),
            in_flight: Bytes(u64::from((unacknowledged + resent).saturating_sub(sacked + lost)) * mss),
            retransmissions: u32_at(100)?,
            backoff: *bytes.get(4)?,
            pacing_rate: u64_at(104).filter(|&rate| rate < u64::MAX).map(bits),
            delivery_rate: bits(u64_at(160)?),
            offered_window: u32_at(228).map(|window| Bytes(u64::from(window))),
            delivered_marked: u32_at(196)?,
        })
    }
}

fn bits(bytes_per_second: u64) -> BitRate {
    BitRate(bytes_per_second.saturating_mul(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state of Linux 6.12 with 240 bytes.
    fn info() -> Vec<u8> {
        let mut bytes = vec![0; 240];
        let mut set = |at: usize, value: u32| bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        set(8, 240_000); // rto
        set(16, 1448); // mss
        set(24, 12); // unacknowledged
        set(28, 3); // sacked
        set(32, 2); // lost
        set(36, 1); // retransmitted
        set(68, 40_123); // srtt
        set(76, UNSET);
        set(80, 10); // window
        set(100, 7);
        set(148, 39_000);
        set(228, 65_536);
        bytes
    }

    #[test]
    fn a_state_is_read_by_its_offsets() {
        let state = TcpState::decode(&info()).unwrap();
        assert_eq!(state.rto, Duration::from_millis(240));
        assert_eq!(state.srtt, Some(Duration::from_micros(40_123)));
        assert_eq!(state.congestion_window, Bytes(14_480));
        assert_eq!(state.ssthresh, None);
        assert_eq!(state.in_flight, Bytes((12 - 3 - 2 + 1) * 1448));
        assert_eq!(state.offered_window, Some(Bytes(65_536)));
        assert_eq!(state.retransmissions, 7);
    }

    #[test]
    fn a_subflow_has_its_place_and_addresses() {
        let mut bytes = vec![1, 2, 10, 0, 0, 1, 10, 5, 0, 1];
        bytes.extend(info());
        let subflow = SubflowState::decode(&bytes).unwrap();
        assert_eq!(subflow.place, [false, true]);
        assert_eq!(subflow.local, Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(subflow.remote, Ipv4Addr::new(10, 5, 0, 1));
        assert_eq!(subflow.tcp.retransmissions, 7);
        assert_eq!(SubflowState::decode(&bytes[..60]), None);
    }

    #[test]
    fn an_older_kernel_has_fewer_fields() {
        assert_eq!(TcpState::decode(&info()[..228]).unwrap().offered_window, None);
        assert_eq!(TcpState::decode(&info()[..100]), None);
    }

    #[test]
    fn a_report_names_its_host() {
        let report = Report::decode(b"e\x00\x02no such file").unwrap();
        assert_eq!(report, Report { host: 2, what: What::Failed("no such file".to_owned()) });
        assert_eq!(Report::decode(b"?\x00\x00"), None);
    }
}
