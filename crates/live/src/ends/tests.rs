use airlane_wire::{Ipv4, Ipv6};

use super::*;

fn ends(names: &[&str]) -> Ends {
    Ends::new(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
}

fn v4(source: [u8; 4], destination: [u8; 4]) -> Vec<u8> {
    let mut bytes = vec![];
    let header = Ipv4::between(source.into(), destination.into());
    Ip::V4(Ipv4 { total_length: 20, protocol: 17, ..header }).emit(&mut bytes).unwrap();
    bytes
}

fn v6(source: &str, destination: &str) -> Vec<u8> {
    let mut bytes = vec![];
    let header = Ipv6 {
        traffic_class: 0,
        flow_label: 0,
        payload_length: 0,
        next_header: 59,
        hop_limit: 64,
        source: source.parse().unwrap(),
        destination: destination.parse().unwrap(),
        extensions: &[],
        protocol: 59,
        fragment: None,
    };
    header.emit(&mut bytes).unwrap();
    bytes
}

#[test]
fn ues_have_the_addresses_behind_each_other() {
    let names: Vec<String> = (0..UES_MAX).map(|i| format!("ue{i}")).collect();
    let ends = Ends::new(&names);
    let of = |number| (Ends::v4(EndId::Ue(number)).to_string(), Ends::v6(EndId::Ue(number)).to_string());
    assert_eq!(of(0), ("198.19.0.1".into(), "2001:2:0:1::1".into()));
    assert_eq!(of(255), ("198.19.1.0".into(), "2001:2:0:1::100".into()));
    assert_eq!(of(9_999), ("198.19.39.16".into(), "2001:2:0:1::2710".into()));
    for end in ends.iter() {
        assert_eq!(ends.end_of(Ends::v4(end).into()), Some(end));
        assert_eq!(ends.end_of(Ends::v6(end).into()), Some(end));
        assert_eq!(EndId::from_index(end.index()), end);
    }
    assert_eq!(ends.end_of("198.19.39.17".parse().unwrap()), None);
    assert_eq!(ends.end_of("198.19.0.0".parse().unwrap()), None);
    assert_eq!(ends.end_of("2001:2:0:1::2711".parse().unwrap()), None);
}

#[test]
fn the_hosts_file_has_all_ends() {
    let text = ends(&["phone"]).hosts_file();
    assert_eq!(
        text,
        "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n198.18.0.1 server\n2001:2::1 server\n\
         198.19.0.1 phone\n2001:2:0:1::1 phone\n"
    );
}

fn real(ends: &[(&str, Option<&str>)]) -> Vec<RealEnd> {
    let of = |(host, access): &(&str, Option<&str>)| RealEnd {
        host: (*host).to_owned(),
        access: access.map(str::to_owned),
        ..RealEnd::default()
    };
    ends.iter().map(of).collect()
}

#[test]
fn a_ue_with_several_accesses_has_its_name_and_one_for_each() {
    // The name of the second UE is that of an access of the first.
    let real = real(&[("phone", Some("lte")), ("phone", Some("wifi")), ("phone-lte", None)]);
    let text = Ends::of(&real).hosts_file();
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("198.19")).collect();
    let expected =
        ["198.19.0.1 phone-lte-2", "198.19.0.2 phone-wifi", "198.19.0.3 phone-lte", "198.19.0.1 phone"];
    assert_eq!(lines, expected);
    assert_eq!(by_host(&real), [0..2, 2..3]);
    let ends = (0..4).map(|number| end_of_host(&real, number)).collect::<Vec<_>>();
    assert_eq!(ends, [Some(EndId::Server), Some(EndId::Ue(0)), Some(EndId::Ue(2)), None]);
}

#[test]
fn every_ue_gets_a_host_name_of_its_own() {
    let long = "x".repeat(80);
    let names =
        ["a b", "my_phone", "a-b", "A-B", "server", "Localhost", "  ", "-", "überall", "cell.ue-1", &long];
    let ends = ends(&names);
    assert_eq!(
        ends.hosts[..10],
        ["a-b-2", "my-phone", "a-b", "A-B-3", "server-2", "Localhost-2", "ue", "ue-2", "berall", "cell.ue-1"]
    );
    let distinct: BTreeSet<_> = ends.hosts.iter().map(|name| name.to_ascii_lowercase()).collect();
    assert_eq!(distinct.len(), names.len());
    assert!(ends.hosts.iter().all(|name| is_host_name(name)), "{:?}", ends.hosts);
}

#[test]
fn packets_go_to_the_end_of_their_destination() {
    let ends = ends(&["a", "b"]);
    let (server, a, b) = ([198, 18, 0, 1], [198, 19, 0, 1], [198, 19, 0, 2]);
    let to = Route::To;
    assert_eq!(ends.route(&v4(server, a), EndId::Server), to(EndId::Ue(0)));
    assert_eq!(ends.route(&v4(a, server), EndId::Ue(0)), to(EndId::Server));
    assert_eq!(ends.route(&v4(a, b), EndId::Ue(0)), to(EndId::Ue(1)));
    assert_eq!(ends.route(&v6("2001:2:0:1::2", "2001:2::1"), EndId::Ue(1)), to(EndId::Server));
    assert_eq!(ends.route(&v6("2001:2::1", "2001:2:0:1::2"), EndId::Server), to(EndId::Ue(1)));
}

#[test]
fn other_packets_are_dropped_for_a_reason() {
    let ends = ends(&["a", "b"]);
    let (server, a, b) = ([198, 18, 0, 1], [198, 19, 0, 1], [198, 19, 0, 2]);
    let check = |bytes: &[u8], why| {
        assert_eq!(ends.route(bytes, EndId::Ue(0)), Route::Unroutable(why));
    };
    check(&v4(a, [224, 0, 0, 251]), Unroutable::Multicast);
    check(&v6("fe80::1", "ff02::2"), Unroutable::Multicast);
    check(&v4(a, [255; 4]), Unroutable::Broadcast);
    check(&v4(a, [169, 254, 0, 1]), Unroutable::LinkLocal);
    check(&v6("fe80::1", "2001:2::1"), Unroutable::LinkLocal);
    check(&v6("2001:2:0:1::1", "::1"), Unroutable::LinkLocal);
    check(&v4([0; 4], server), Unroutable::LinkLocal);
    check(&v4(b, server), Unroutable::Martian);
    check(&v4([224, 0, 0, 1], server), Unroutable::Martian);
    check(&v6("2001:2::1", "2001:2::1"), Unroutable::Martian);
    check(&v4(a, [198, 19, 0, 3]), Unroutable::UnknownDestination);
    check(&v4(a, a), Unroutable::UnknownDestination);
    check(&v4(a, [198, 18, 255, 254]), Unroutable::UnknownDestination);
    check(&[], Unroutable::Garbage(Error::Empty));
    for length in 1..20 {
        let route = ends.route(&v4(a, server)[..length], EndId::Ue(0));
        assert!(matches!(route, Route::Unroutable(Unroutable::Garbage(_))), "{length}: {route:?}");
    }
}

#[test]
fn unknown_addresses_are_behind_the_open_end_of_the_other_side() {
    let (ours, theirs, elsewhere) = ([198, 19, 0, 1], [10, 0, 0, 7], [192, 0, 2, 9]);
    let (ue, unknown) = (EndId::Ue(0), Route::Unroutable(Unroutable::UnknownDestination));
    let (mut ends, to) = (ends(&["a", "b"]), Route::To);
    ends.open_to(EndId::Server).unwrap();
    assert_eq!(ends.route(&v4(ours, theirs), ue), to(EndId::Server));
    assert_eq!(ends.route(&v4(theirs, ours), EndId::Server), to(ue));
    assert_eq!(ends.route(&v4(theirs, elsewhere), EndId::Server), unknown);
    // A closed end sends from its own address only, and an open one not from that of another end.
    let martian = Route::Unroutable(Unroutable::Martian);
    assert_eq!(ends.route(&v4(theirs, elsewhere), ue), martian);
    assert_eq!(ends.route(&v4([198, 19, 0, 2], ours), EndId::Server), martian);
    ends.open_to(ue).unwrap();
    assert_eq!(ends.route(&v4(theirs, elsewhere), EndId::Server), to(ue));
    assert_eq!(ends.route(&v4(theirs, elsewhere), ue), to(EndId::Server));
    assert!(ends.open_to(EndId::Ue(1)).is_err() && ends.open_to(EndId::Ue(2)).is_err());
}
