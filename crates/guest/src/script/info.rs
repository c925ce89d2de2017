//! The state of a socket: the fields of `struct tcp_info` (`include/uapi/linux/tcp.h` of Linux 6.12), by their offsets,
//! and its memory (`SO_MEMINFO`). A connection without a descriptor is asked for by its addresses (`linux/inet_diag.h`).

use super::packets::{LOCAL, Ports, REMOTE};
use super::stack::GuestStack;
use crate::protocol::call::Request;

/// Bytes of `struct tcp_info`.
const SIZE: usize = 248;

/// Fields of one byte.
const BYTES: [(&str, usize); 6] = [
    ("tcpi_state", 0),
    ("tcpi_ca_state", 1),
    ("tcpi_retransmits", 2),
    ("tcpi_probes", 3),
    ("tcpi_backoff", 4),
    ("tcpi_options", 5),
];

/// Fields of four bytes.
const WORDS: [(&str, usize); 39] = [
    ("tcpi_rto", 8),
    ("tcpi_ato", 12),
    ("tcpi_snd_mss", 16),
    ("tcpi_rcv_mss", 20),
    ("tcpi_unacked", 24),
    ("tcpi_sacked", 28),
    ("tcpi_lost", 32),
    ("tcpi_retrans", 36),
    ("tcpi_fackets", 40),
    ("tcpi_last_data_sent", 44),
    ("tcpi_last_ack_sent", 48),
    ("tcpi_last_data_recv", 52),
    ("tcpi_last_ack_recv", 56),
    ("tcpi_pmtu", 60),
    ("tcpi_rcv_ssthresh", 64),
    ("tcpi_rtt", 68),
    ("tcpi_rttvar", 72),
    ("tcpi_snd_ssthresh", 76),
    ("tcpi_snd_cwnd", 80),
    ("tcpi_advmss", 84),
    ("tcpi_reordering", 88),
    ("tcpi_rcv_rtt", 92),
    ("tcpi_rcv_space", 96),
    ("tcpi_total_retrans", 100),
    ("tcpi_segs_out", 136),
    ("tcpi_segs_in", 140),
    ("tcpi_notsent_bytes", 144),
    ("tcpi_min_rtt", 148),
    ("tcpi_data_segs_in", 152),
    ("tcpi_data_segs_out", 156),
    ("tcpi_delivered", 192),
    ("tcpi_delivered_ce", 196),
    ("tcpi_dsack_dups", 216),
    ("tcpi_reord_seen", 220),
    ("tcpi_rcv_ooopack", 224),
    ("tcpi_snd_wnd", 228),
    ("tcpi_rcv_wnd", 232),
    ("tcpi_rehash", 236),
    ("tcpi_total_rto_time", 244),
];

/// Fields of two bytes.
const HALVES: [(&str, usize); 2] = [("tcpi_total_rto", 240), ("tcpi_total_rto_recoveries", 242)];

/// Fields of eight bytes.
const LONG: [(&str, usize); 10] = [
    ("tcpi_pacing_rate", 104),
    ("tcpi_max_pacing_rate", 112),
    ("tcpi_bytes_acked", 120),
    ("tcpi_bytes_received", 128),
    ("tcpi_delivery_rate", 160),
    ("tcpi_busy_time", 168),
    ("tcpi_rwnd_limited", 176),
    ("tcpi_sndbuf_limited", 184),
    ("tcpi_bytes_sent", 200),
    ("tcpi_bytes_retrans", 208),
];

/// The memory of a socket, as numbers of four bytes (`include/uapi/linux/sock_diag.h`).
const MEMORY: [&str; 9] = [
    "SK_MEMINFO_RMEM_ALLOC",
    "SK_MEMINFO_RCVBUF",
    "SK_MEMINFO_WMEM_ALLOC",
    "SK_MEMINFO_SNDBUF",
    "SK_MEMINFO_FWD_ALLOC",
    "SK_MEMINFO_WMEM_QUEUED",
    "SK_MEMINFO_OPTMEM",
    "SK_MEMINFO_BACKLOG",
    "SK_MEMINFO_DROPS",
];
/// Bytes of the fields in `MEMORY`.
const MEMORY_SIZE: usize = MEMORY.len() * 4;

/// The state of a connection that does not exist (`TCP_CLOSE`).
const CLOSED: i64 = 7;
/// Bytes of `struct nlmsghdr`, and of `struct inet_diag_msg` behind it.
const NETLINK: usize = 16;
const DIAGNOSIS: usize = 72;
/// The message that asks for a socket, and the attribute with its `tcp_info`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;

impl GuestStack {
    /// The state of the guest's socket with this descriptor.
    pub(super) fn socket_state(&mut self, fd: i64) -> Result<Vec<(&'static str, i64)>, String> {
        let mut found = fields(&self.option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, SIZE)?);
        let memory = self.option(fd, libc::SOL_SOCKET, libc::SO_MEMINFO, MEMORY_SIZE)?;
        found.extend(memory_fields(&memory));
        Ok(found)
    }

    /// The value of a socket option of at most `size` bytes.
    fn option(&mut self, fd: i64, level: i32, name: i32, size: usize) -> Result<Vec<u8>, String> {
        let (level, name, area) = (i64::from(level), i64::from(name), self.area());
        let mut data = vec![0; size];
        data.extend_from_slice(&(size as u32).to_ne_bytes());
        let arguments = [fd, level, name, area, area + size as i64, 0];
        let mut outcome = self.made_meanwhile(&Request { number: libc::SYS_getsockopt, arguments, data })?;
        if outcome.result < 0 {
            return Err(format!("the state of a socket: {}", super::names::error(outcome.error)));
        }
        let filled = number(&outcome.data, size, 4).unwrap_or(0);
        outcome.data.truncate(usize::try_from(filled).unwrap_or(0).min(size));
        Ok(outcome.data)
    }

    /// The state of a connection that has no descriptor, because it was closed or not accepted. One that has lost most
    /// of its state, as in TIME-WAIT, has only `tcpi_state`.
    pub(super) fn connection_state(&mut self, ports: Ports) -> Result<Vec<(&'static str, i64)>, String> {
        let (link, area, data) = (self.diagnosis, self.area(), question(ports));
        let arguments = [link, area, data.len() as i64, 0, 0, 0];
        let asked = self.made_meanwhile(&Request { number: libc::SYS_sendto, arguments, data })?;
        let (room, at_once) = (crate::protocol::call::DATA_MAX, i64::from(libc::MSG_DONTWAIT));
        let arguments = [link, area, room as i64, at_once, 0, 0];
        let answer = Request { number: libc::SYS_recvfrom, arguments, data: vec![0; room] };
        let answer = self.made_meanwhile(&answer)?;
        match usize::try_from(answer.result) {
            Ok(length) if asked.result >= 0 => Ok(diagnosed(&answer.data[..length.min(room)])),
            _ => Err(format!("the state of a connection: {}", super::names::error(answer.error))),
        }
    }
}

/// The message that asks for a connection (`struct inet_diag_req_v2`).
fn question(ports: Ports) -> Vec<u8> {
    let mut message = (NETLINK as u32 + 56).to_ne_bytes().to_vec();
    message.extend_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    message.extend_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
    message.extend_from_slice(&[0; 8]); // number and port
    let extensions = 1 << (INET_DIAG_INFO - 1);
    message.extend_from_slice(&[libc::AF_INET as u8, libc::IPPROTO_TCP as u8, extensions, 0]);
    message.extend_from_slice(&u32::MAX.to_ne_bytes()); // in any state
    message.extend_from_slice(&ports.local.to_be_bytes());
    message.extend_from_slice(&ports.remote.to_be_bytes());
    for address in [LOCAL, REMOTE] {
        message.extend_from_slice(&address.octets());
        message.extend_from_slice(&[0; 12]);
    }
    message.extend_from_slice(&[0; 4]); // any interface
    message.extend_from_slice(&[0xff; 8]); // any socket
    message
}

/// The fields of an answer. An error, or a socket that listens instead, means that the connection does not exist.
fn diagnosed(answer: &[u8]) -> Vec<(&'static str, i64)> {
    let none = vec![("tcpi_state", CLOSED)];
    let kind = number(answer, 4, 2);
    let (Some(state), Some(remote)) = (number(answer, NETLINK + 1, 1), number(answer, NETLINK + 6, 2)) else {
        return none;
    };
    if kind != Some(i64::from(SOCK_DIAG_BY_FAMILY)) || remote == 0 {
        return none;
    }
    let mut rest = answer.get(NETLINK + DIAGNOSIS..).unwrap_or_default();
    while let (Some(length), Some(kind)) = (number(rest, 0, 2), number(rest, 2, 2)) {
        let length = length as usize;
        if kind == i64::from(INET_DIAG_INFO) {
            return fields(rest.get(4..length).unwrap_or_default());
        }
        rest = rest.get(length.next_multiple_of(4).max(4)..).unwrap_or_default();
    }
    vec![("tcpi_state", state)]
}

/// The number of this many bytes at an offset.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<i64> {
    let mut word = [0; 8];
    word[..length].copy_from_slice(bytes.get(at..at + length)?);
    i64::try_from(u64::from_ne_bytes(word)).ok()
}

/// The fields that the kernel has filled in. Older kernels have fewer at the end.
fn fields(bytes: &[u8]) -> Vec<(&'static str, i64)> {
    let mut found = Vec::new();
    let lengths = [(&BYTES[..], 1), (&HALVES[..], 2), (&WORDS[..], 4), (&LONG[..], 8)];
    for (fields, length) in lengths {
        found.extend(fields.iter().filter_map(|&(name, at)| Some((name, number(bytes, at, length)?))));
    }
    // Both scales are in one byte (a bit field, from its lowest bit).
    if let Some(scales) = number(bytes, 6, 1) {
        found.extend([("tcpi_snd_wscale", scales & 15), ("tcpi_rcv_wscale", scales >> 4)]);
    }
    found
}

/// The memory of a socket.
fn memory_fields(bytes: &[u8]) -> Vec<(&'static str, i64)> {
    let fields = MEMORY.iter().enumerate();
    fields.filter_map(|(index, &name)| Some((name, number(bytes, 4 * index, 4)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_their_sizes() {
        let mut bytes = [0; SIZE];
        bytes[0] = 1;
        bytes[6] = 0x87;
        bytes[80] = 10;
        bytes[120..128].copy_from_slice(&(1_u64 << 40).to_ne_bytes());
        bytes[240] = 3;
        bytes[242] = 4;
        let of = |bytes: &[u8], name| fields(bytes).iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
        assert_eq!(of(&bytes, "tcpi_state"), Some(1));
        assert_eq!((of(&bytes, "tcpi_snd_wscale"), of(&bytes, "tcpi_rcv_wscale")), (Some(7), Some(8)));
        assert_eq!(of(&bytes, "tcpi_snd_cwnd"), Some(10));
        assert_eq!(of(&bytes, "tcpi_bytes_acked"), Some(1 << 40));
        assert_eq!(
            (of(&bytes, "tcpi_total_rto"), of(&bytes, "tcpi_total_rto_recoveries")),
            (Some(3), Some(4))
        );
        assert_eq!(of(&bytes[..240], "tcpi_total_rto"), None);
    }

    #[test]
    fn a_connection_is_asked_for_by_its_addresses() {
        let message = question(Ports { local: 8080, remote: 40_000 });
        assert_eq!((message.len(), message[0]), (72, 72));
        assert_eq!(message[24..32], [0x1f, 0x90, 0x9c, 0x40, 192, 168, 0, 1]);
    }

    #[test]
    fn an_answer_has_the_state_if_there_is_a_connection() {
        let mut answer = vec![0; NETLINK + DIAGNOSIS];
        answer[4] = 20;
        answer[NETLINK + 1] = 6;
        assert_eq!(diagnosed(&answer), [("tcpi_state", CLOSED)]); // without a remote port, it listens
        answer[NETLINK + 6] = 0x9c;
        assert_eq!(diagnosed(&answer), [("tcpi_state", 6)]);
        answer.extend_from_slice(&[8, 0, 2, 0, 4, 0, 0, 0]);
        assert_eq!(diagnosed(&answer)[0], ("tcpi_state", 4));
        answer[4] = 2;
        assert_eq!(diagnosed(&answer), [("tcpi_state", CLOSED)]);
    }
}
