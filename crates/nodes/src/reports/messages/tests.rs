use std::collections::BTreeMap;

use airlane_core::SackBlock;
use airlane_net::pep::{List, Message, TcpReport};

use super::*;

const SECRET: &[u8] = b"a secret of a test";

/// The connection with this port of the client.
fn connection(client_port: u16) -> Addresses {
    let (server, client) = ("10.0.0.1:443".parse().unwrap(), ([10, 0, 0, 2], client_port).into());
    Addresses { protocol: protocol::TCP, server, client }
}

fn identifier(client_port: u16, secret: &[u8]) -> u64 {
    connection(client_port).identifier(secret)
}

/// With a connection for each of these ports of the client.
fn messages(rate: u32, ports: &[u16]) -> Messages<Addresses> {
    let peps = vec![Network("10.0.9.0/24".parse().unwrap())];
    let mut messages = Messages::new(SECRET.to_vec(), peps, vec![], rate);
    messages.connections(&ports.iter().map(|port| (connection(*port), 1)).collect());
    messages
}

fn made(port: u16, serial: u32, secret: &[u8]) -> Vec<u8> {
    let report =
        TcpReport { cumulative: serial, newest: SackBlock { left: 1, right: 2 }, ..TcpReport::default() };
    encoded(identifier(port, secret), serial, secret, Body::Tcp(report))
}

fn encoded(flow: u64, serial: u32, secret: &[u8], body: Body) -> Vec<u8> {
    let message = Message { pep: 1, flow, instance: 1, serial, delay_us: 250, body };
    let mut bytes = vec![];
    message.encode(&Key::derive(secret, flow), &mut bytes);
    bytes
}

const PEP: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 9, 1));

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn refusal(messages: &mut Messages<Addresses>, source: IpAddr, datagram: &[u8]) -> Option<Refusal> {
    messages.judge(at(1), source, datagram).err()
}

#[test]
fn an_authentic_message_names_its_connection() {
    let mut messages = messages(1000, &[5000]);
    let accepted = messages.judge(at(1), PEP, &made(5000, 1, SECRET)).unwrap();
    assert_eq!((accepted.connection, accepted.delay), (connection(5000), Duration::from_micros(250)));
    assert!(matches!(accepted.body, Body::Tcp(report) if report.cumulative == 1));
}

#[test]
fn other_messages_are_refused() {
    let mut messages = messages(1000, &[5000]);
    let stranger = "10.0.8.1".parse().unwrap();
    assert_eq!(refusal(&mut messages, stranger, &made(5000, 1, SECRET)), Some(Refusal::Source));
    assert_eq!(refusal(&mut messages, PEP, &[]), Some(Refusal::Malformed));
    // Another secret gives other identifiers; an identifier is no secret.
    assert_eq!(refusal(&mut messages, PEP, &made(5000, 1, b"another")), Some(Refusal::Connection));
    let known = encoded(identifier(5000, SECRET), 1, b"another", Body::Tcp(TcpReport::default()));
    assert_eq!(refusal(&mut messages, PEP, &known), Some(Refusal::Forged));
    assert_eq!(refusal(&mut messages, PEP, &made(5001, 1, SECRET)), Some(Refusal::Connection));
    assert_eq!(refusal(&mut messages, PEP, &made(5000, 1, SECRET)), None);
    assert_eq!(refusal(&mut messages, PEP, &made(5000, 1, SECRET)), Some(Refusal::Replayed));
    let mut bits = made(5000, 2, SECRET);
    bits[20] ^= 1;
    assert_eq!(refusal(&mut messages, PEP, &bits), Some(Refusal::Forged));
    assert_eq!(refusal(&mut messages, PEP, &made(5000, 2, SECRET)), None);
}

/// TCP has sequence numbers, and QUIC identifiers of datagrams.
#[test]
fn identifiers_are_those_of_the_protocol() {
    let quic = Addresses { protocol: protocol::UDP, ..connection(5000) };
    let mut messages = messages(1000, &[]);
    messages.connections(&BTreeMap::from([(connection(5000), 1), (quic, 2)]));
    for (connection, body, wrong) in [
        (connection(5000), Body::Tcp(TcpReport::default()), Body::Opaque(List::default())),
        (quic, Body::Opaque(List::default()), Body::Tcp(TcpReport::default())),
    ] {
        let flow = connection.identifier(SECRET);
        assert_eq!(refusal(&mut messages, PEP, &encoded(flow, 1, SECRET, wrong)), Some(Refusal::Space));
        let accepted = messages.judge(at(1), PEP, &encoded(flow, 2, SECRET, body)).unwrap();
        assert_eq!((accepted.connection, accepted.body), (connection, body));
    }
}

#[test]
fn other_clients_are_not_reported() {
    let clients = vec![Network("10.0.0.128/25".parse().unwrap())];
    let mut messages = Messages::new(SECRET.to_vec(), vec![], clients, 1000);
    messages.connections(&BTreeMap::from([(connection(5000), 1)]));
    assert_eq!(refusal(&mut messages, PEP, &made(5000, 1, SECRET)), Some(Refusal::Connection));
}

#[test]
fn a_replay_is_known_as_long_as_the_connection_lives() {
    let mut messages = messages(1000, &[5000]);
    assert_eq!(refusal(&mut messages, PEP, &made(5000, 1, SECRET)), None);
    messages.connections(&BTreeMap::from([(connection(5000), 1)]));
    assert_eq!(refusal(&mut messages, PEP, &made(5000, 1, SECRET)), Some(Refusal::Replayed));
    messages.connections(&BTreeMap::new());
    assert_eq!(refusal(&mut messages, PEP, &made(5000, 2, SECRET)), Some(Refusal::Connection));
    // A connection that has the same addresses later, and one that has replaced it between two looks.
    for began in [2, 3] {
        messages.connections(&BTreeMap::from([(connection(5000), began)]));
        assert_eq!(refusal(&mut messages, PEP, &made(5000, 1, SECRET)), None);
    }
}

#[test]
fn a_flood_is_cut_to_the_rate_of_its_source() {
    let mut messages = messages(1000, &[5000]);
    let mut accepted = 0;
    for serial in 1..=20_000_u32 {
        // 20,000 messages in a second.
        let now = Instant::from_nanos(u64::from(serial) * 50_000);
        let verdict = messages.judge(now, PEP, &made(5000, serial, SECRET));
        accepted += u32::from(verdict.map(drop) != Err(Refusal::Rate));
    }
    assert!((1050..=1150).contains(&accepted), "{accepted}"); // the rate, and a tenth of a second at once
    let other = IpAddr::from([10, 0, 9, 2]);
    assert_eq!(refusal(&mut messages, other, &made(5000, 30_000, SECRET)), None);
}

#[test]
fn memory_is_bounded() {
    let mut messages = messages(1_000_000, &[5000, 5001]);
    messages.peps.clear();
    for address in 0..5000_u32 {
        let source = IpAddr::from(address.to_be_bytes());
        assert_eq!(refusal(&mut messages, source, &made(6000, address, SECRET)), Some(Refusal::Connection));
    }
    assert_eq!((messages.sources.len(), messages.open.len()), (0, 2));
    // Authentic messages from more sources than are known: none of them is refused for that.
    for address in 0..5000_u32 {
        let source = IpAddr::from(address.to_be_bytes());
        assert_eq!(refusal(&mut messages, source, &made(5000, address + 1, SECRET)), None);
    }
    assert_eq!((messages.sources.len(), messages.open.len()), (SOURCES_MAX, 2));
    messages.forget(at(60_000));
    messages.connections(&BTreeMap::new());
    assert_eq!((messages.sources.len(), messages.open.len(), messages.identifiers.len()), (0, 0, 0));
}

/// Whatever others send, from their own addresses and from that of the PEP: the PEP's messages count, up to its rate.
#[test]
fn forged_messages_do_not_lock_out_a_pep() {
    let mut messages = messages(100, &[5000]);
    messages.peps.clear();
    let mut accepted = 0;
    for round in 0..10_000_u32 {
        let now = Instant::from_millis(u64::from(round));
        let forged = encoded(identifier(5000, SECRET), round, b"another", Body::Tcp(TcpReport::default()));
        let stranger = IpAddr::from((round | 0x0a00_0000).to_be_bytes());
        for (source, datagram) in [(stranger, &b"x"[..]), (stranger, &forged), (PEP, b"x"), (PEP, &forged)] {
            let refused = messages.judge(now, source, datagram).unwrap_err();
            assert!(matches!(refused, Refusal::Malformed | Refusal::Forged | Refusal::Rate), "{refused:?}");
            // The PEP is known after its first message: those under its address are not counted against it.
            assert!(source != PEP || round == 0 || refused != Refusal::Rate);
        }
        // A message each 20 ms, half of the rate.
        if round % 20 == 0 {
            accepted += u32::from(messages.judge(now, PEP, &made(5000, round + 1, SECRET)).is_ok());
        }
    }
    assert_eq!((accepted, messages.sources.len()), (500, 1));
}

/// Any change of a message, and any other bytes, are refused without a panic.
#[test]
fn hostile_bytes_are_refused() {
    let mut messages = messages(u32::MAX, &[5000]);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    for round in 0..200_000_u64 {
        let mut bytes = made(5000, 1, SECRET);
        match round % 3 {
            0 => bytes.truncate(next() as usize % bytes.len()),
            1 => {
                let at = next() as usize % bytes.len();
                bytes[at] ^= 1 << (next() % 8);
            }
            _ => {
                bytes = (0..next() % 256).map(|_| next() as u8).collect();
                if let Some(first) = bytes.first_mut() {
                    *first = 0x10 | (next() % 3) as u8; // a version that is read
                }
            }
        }
        assert!(refusal(&mut messages, PEP, &bytes).is_some(), "{bytes:?}");
    }
    // Nothing of it had an effect.
    assert_eq!(refusal(&mut messages, PEP, &made(5000, 1, SECRET)), None);
}
