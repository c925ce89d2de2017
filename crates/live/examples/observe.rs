//! Time per packet of [`Connections`]: `cargo run --release -p airlane-live --example observe`.

#![expect(clippy::disallowed_types, reason = "a measurement of the host's time")]

use std::time::Instant as Wall;

use airlane_core::{
    Direction, Duration, FlowId, Header, Instant, Packet, Payload, SocketPair, TcpFlags, TcpHeader,
    TcpTimestamps,
};
use airlane_live::connections::Connections;

/// Packets of each line.
const PACKETS: u32 = 4_000_000;

fn packet(port: u16, number: u32, at: Instant) -> Packet {
    let header = TcpHeader {
        sequence: number.wrapping_mul(1_448),
        flags: TcpFlags(TcpFlags::ACK),
        timestamps: Some(TcpTimestamps { value: number / 80, echo_reply: number / 80 }),
        ..TcpHeader::default()
    };
    let mut packet =
        Packet::new(FlowId(0), Direction::Downlink, Header::Tcp(header), Payload::Length(1_448), at);
    packet.sockets = SocketPair { server: 0, server_port: 443, ue_port: port };
    packet
}

fn main() {
    for connections in [1, 100, 5_000_u32] {
        let mut seen = Connections::new(1, false);
        let mut under_way = std::collections::VecDeque::new();
        let (mut at, step) = (Instant::ZERO, Duration::from_micros(12));
        let start = Wall::now();
        for number in 0..PACKETS {
            at += step;
            let packet = packet((number % connections) as u16, number / connections, at);
            seen.entered(at, 0, Direction::Downlink, &packet);
            under_way.push_back(packet);
            if under_way.len() > 3_000
                && let Some(packet) = under_way.pop_front()
            {
                seen.left(at, 0, Direction::Downlink, &packet);
            }
        }
        let each = start.elapsed().as_nanos() as f64 / f64::from(PACKETS);
        println!("{connections:>6} connections{each:>8.0} ns for each packet that entered and left");
    }
}
