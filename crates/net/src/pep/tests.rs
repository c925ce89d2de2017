use airlane_core::SackBlock;

use super::*;

fn full() -> Message {
    let mut report = TcpReport { first: 1, cumulative: 1000, ..TcpReport::default() };
    report.newest = SackBlock { left: 900, right: 1000 };
    for i in 0..LIST_MAX as u32 {
        assert!(report.ranges.push(SackBlock { left: 2000 + 10 * i, right: 2005 + 10 * i }));
        assert!(report.holes.push(SackBlock { left: 1000 + 10 * i, right: 1005 + 10 * i }));
    }
    assert!(!report.holes.push(SackBlock::default()));
    Message { pep: 3, flow: 7, instance: 2, serial: 9, delay_us: 1500, body: Body::Tcp(report) }
}

fn encoded(message: &Message, key: &Key) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(key, &mut bytes);
    bytes
}

#[test]
fn messages_are_read_as_they_were_written() {
    let key = Key::derive(b"secret", 7);
    let mut ids = List::default();
    (0..LIST_MAX as u64).for_each(|id| assert!(ids.push(id << 40)));
    for body in
        [full().body, Body::Tcp(TcpReport::default()), Body::Opaque(ids), Body::Opaque(List::default())]
    {
        let message = Message { body, ..full() };
        let bytes = encoded(&message, &key);
        assert!(bytes.len() <= LENGTH_MAX);
        assert_eq!(Message::decode(&bytes, &key), Ok(message));
    }
    assert_eq!(encoded(&full(), &key).len(), LENGTH_MAX);
    assert_eq!(encoded(&Message::default(), &key).len(), 60); // §3: the size for a flow without loss
}

#[test]
fn no_other_bytes_are_believed() {
    let key = Key::derive(b"secret", 7);
    let bytes = encoded(&full(), &key);
    for short in 0..bytes.len() {
        assert_eq!(Message::decode(&bytes[..short], &key), Err(Rejected::Malformed));
    }
    for at in 0..8 * bytes.len() {
        let mut other = bytes.clone();
        other[at / 8] ^= 1 << (at % 8);
        assert!(Message::decode(&other, &key).is_err(), "bit {at}");
    }
    for other in [Key::derive(b"secret", 8), Key::derive(b"Secret", 7)] {
        assert_eq!(Message::decode(&bytes, &other), Err(Rejected::Forged));
    }
    // A message about another flow is rejected even if the key fits.
    let mut receiver = Receiver::new(key.clone(), 8);
    assert_eq!(receiver.accept(&bytes), Err(Rejected::Forged));
}

#[test]
fn each_message_counts_once() {
    let key = Key::derive(b"secret", 7);
    let mut receiver = Receiver::new(key.clone(), 7);
    let mut give = |pep, instance, serial| {
        receiver.accept(&encoded(&Message { pep, instance, serial, ..full() }, &key)).is_ok()
    };
    assert!(give(1, 5, 100));
    assert!(!give(1, 5, 100));
    assert!(give(1, 5, 98)); // late
    assert!(!give(1, 5, 98));
    assert!(!give(1, 5, 36)); // too late to decide
    assert!(give(1, 5, 37));
    assert!(give(1, 5, 500));
    assert!(!give(1, 5, 99));
    assert!(!give(1, 4, 501)); // from before a restart
    assert!(give(1, 6, 1));
    assert!(give(2, 1, 1)); // another PEP
    assert!(!give(1, 6, 1));
    for pep in 10..10 + PEPS {
        assert!(give(pep, 1, 1) && !give(pep, 1, 1));
    }
    assert!(give(2, 1, 1)); // its state was evicted: the list of PEPs is full
}

/// As many further PEPs as a receiver distinguishes.
const PEPS: u32 = 8;

#[test]
fn the_example_of_the_specification_is_what_is_made() {
    let key = Key::derive(b"airlane", 1);
    let report = TcpReport {
        newest: SackBlock { left: 1449, right: 2897 },
        first: 1,
        cumulative: 2897,
        ..TcpReport::default()
    };
    let message = Message { pep: 1, flow: 1, instance: 1, serial: 2, delay_us: 0, body: Body::Tcp(report) };
    let hex: String = encoded(&message, &key).iter().map(|byte| format!("{byte:02x}")).collect();
    let document = include_str!("../../../../docs/pep-wire-format.md");
    let words: String = document.split_whitespace().collect();
    assert!(words.contains(&hex), "{hex}");
}

#[test]
fn the_identifier_of_the_specification_is_what_is_computed() {
    let (server, client) = ("192.0.2.1:443".parse().unwrap(), "198.51.100.7:50000".parse().unwrap());
    let addresses = Addresses { protocol: 6, server, client };
    let identifier = format!("{:016x}", addresses.identifier(b"airlane"));
    let document = include_str!("../../../../docs/pep-wire-format.md");
    assert!(document.contains(&identifier), "{identifier}");
    let mapped = Addresses { server: "[::ffff:192.0.2.1]:443".parse().unwrap(), ..addresses };
    assert_eq!(mapped.identifier(b"airlane"), addresses.identifier(b"airlane"));
    for other in [
        Addresses { protocol: 17, ..addresses },
        Addresses { server: client, client: server, ..addresses },
        Addresses { client: "198.51.100.7:50001".parse().unwrap(), ..addresses },
        Addresses { client: "[2001:db8::7]:50000".parse().unwrap(), ..addresses },
    ] {
        assert_ne!(other.identifier(b"airlane"), addresses.identifier(b"airlane"));
    }
    assert_ne!(addresses.identifier(b"airlane2"), addresses.identifier(b"airlane"));
}
