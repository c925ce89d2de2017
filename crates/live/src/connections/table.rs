//! The table `connections`.

use airlane_record::{Column, Table};
use airlane_wire::protocol;

use super::row::{DirectionState, Method, Row};
use crate::ends::{EndId, Ends};
use crate::sockets;

pub(super) fn connections(rows: &[Row], ends: &Ends) -> Table {
    let mut table = Table::default();
    let text = |value: &dyn Fn(&Row) -> String| Column::Text(rows.iter().map(value).collect());
    let number = |value: &dyn Fn(&Row) -> f64| Column::F64(rows.iter().map(value).collect());
    let count = |value: &dyn Fn(&Row) -> u64| Column::I64(rows.iter().map(|row| value(row) as i64).collect());
    table.push("ue", text(&|row| ends.host_name(EndId::Ue(row.key.ue)).to_owned()));
    table.push("protocol", text(&protocol_name));
    table.push("ue_address", text(&|row| address(row, EndId::Ue(row.key.ue), ends)));
    table.push("ue_port", count(&|row| u64::from(row.key.sockets.ue_port)));
    table.push("peer_address", text(&|row| address(row, peer(row), ends)));
    table.push("peer_port", count(&|row| u64::from(row.key.sockets.server_port)));
    table.push("first_s", number(&|row| row.first.as_secs_f64()));
    table.push("last_s", number(&|row| row.last.as_secs_f64()));
    for (direction, name) in ["downlink", "uplink"].into_iter().enumerate() {
        let mut push = |column: &str, values| {
            table.push(&format!("{name}_{column}"), values);
        };
        let count = |value: fn(&DirectionState) -> u64| count(&move |row| value(&row.directions[direction]));
        let number =
            |value: fn(&DirectionState) -> f64| number(&move |row| value(&row.directions[direction]));
        push("packets", count(|state| state.entered));
        push("packets_lost", count(|state| state.entered.saturating_sub(state.left)));
        push("bytes_delivered", count(|state| state.payload));
        let goodput = rows.iter().map(|row| goodput_mbps(row, &row.directions[direction])).collect();
        push("goodput_mbps", Column::F64(goodput));
        push("owd_ms", number(|state| state.delays.mean_ms()));
        push("owd_p50_ms", number(|state| state.delays.percentile_ms(50)));
        push("owd_p95_ms", number(|state| state.delays.percentile_ms(95)));
        push("owd_max_ms", number(|state| state.delays.max_ms()));
        push("marked", count(|state| state.marked));
        push("retransmissions", count(|state| state.retransmissions));
        push("retransmitted_bytes", count(|state| state.retransmitted));
        let rtp = |value: fn(&DirectionState) -> u64| {
            let value = move |row: &Row| if row.is_rtp() { value(&row.directions[direction]) } else { 0 };
            Column::I64(rows.iter().map(|row| value(row) as i64).collect())
        };
        push("rtp_packets", rtp(|state| state.rtp.packets));
        push("rtcp_packets", rtp(|state| state.rtp.control));
        push("twcc_packets", rtp(|state| state.rtp.twcc));
        push("ccfb_packets", rtp(|state| state.rtp.ccfb));
    }
    table.push("rtt_method", text(&|row| method_name(row.method).to_owned()));
    table.push("rtt_samples", count(&samples));
    let handshake = |row: &Row| row.handshake.map_or(f64::NAN, |span| span.as_nanos() as f64 / 1e6);
    let rtt = |row: &Row, value: f64| if row.method == Method::Handshake { handshake(row) } else { value };
    table.push("rtt_ms", number(&|row| rtt(row, row.rtt.mean_ms())));
    table.push("rtt_min_ms", number(&|row| rtt(row, row.rtt.min_ms())));
    table.push("rtt_p50_ms", number(&|row| rtt(row, row.rtt.percentile_ms(50))));
    table.push("rtt_p95_ms", number(&|row| rtt(row, row.rtt.percentile_ms(95))));
    table.push("rtt_max_ms", number(&|row| rtt(row, row.rtt.max_ms())));
    table.push("handshake_ms", number(&handshake));
    table.push("end", text(&|row| end_name(row).to_owned()));
    table
}

/// The other end of the connection: the server, or another UE.
const fn peer(row: &Row) -> EndId {
    sockets::peer(row.key.sockets).0
}

/// Empty where it is unknown: several hosts can be behind an open end.
fn address(row: &Row, end: EndId, ends: &Ends) -> String {
    if ends.is_open(end) {
        return String::new();
    }
    if row.key.v6 { Ends::v6(end).to_string() } else { Ends::v4(end).to_string() }
}

fn protocol_name(row: &Row) -> String {
    match row.key.protocol {
        protocol::TCP => "tcp".to_owned(),
        protocol::UDP if row.is_quic() => "quic".to_owned(),
        protocol::UDP if row.is_rtp() => "rtp".to_owned(),
        protocol::UDP => "udp".to_owned(),
        protocol::ICMP | protocol::ICMPV6 => "icmp".to_owned(),
        number => number.to_string(),
    }
}

const fn method_name(method: Method) -> &'static str {
    match method {
        Method::None => "",
        Method::Handshake => "handshake",
        Method::Timestamps => "timestamps",
        Method::Spin => "spin",
    }
}

fn samples(row: &Row) -> u64 {
    match row.method {
        Method::Handshake => 1,
        _ => row.rtt.count(),
    }
}

/// How the connection ended, as far as it was seen; only TCP shows it.
fn end_name(row: &Row) -> &'static str {
    match (row.key.protocol, row.reset, row.directions.iter().filter(|state| state.fin).count()) {
        (protocol::TCP, true, _) => "rst",
        (protocol::TCP, false, 2) => "fin",
        (protocol::TCP, false, 1) => "half-closed",
        (protocol::TCP, ..) => "open",
        _ => "",
    }
}

/// Payload that was delivered, over the time from the first packet to the last one of the connection.
fn goodput_mbps(row: &Row, state: &DirectionState) -> f64 {
    let span = row.last.saturating_since(row.first);
    if span.is_zero() { f64::NAN } else { (state.payload * 8_000) as f64 / span.as_nanos() as f64 }
}
