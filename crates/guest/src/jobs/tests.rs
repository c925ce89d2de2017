use airlane_assembly::build;
use airlane_core::FlowId;
use airlane_scenario::Scenario;

use super::*;

/// The flows of a scenario with a kernel at two UEs.
fn flows(settings: &str) -> Vec<KernelFlow> {
    let text = format!(
        "[[cell]]\nname = \"a\"\n[[ue]]\nname = \"x\"\nposition = [\"50 m\", \"0 m\"]\n\
         [[ue]]\nname = \"y\"\nposition = [\"90 m\", \"0 m\"]\n\
         [[flow]]\nto = \"y\"\nstart = \"1 s\"\n{settings}"
    );
    let resolved = Scenario::parse(&text, "test.toml").unwrap().resolve().unwrap();
    build(&resolved, 1).unwrap().kernel_flows()
}

#[test]
fn a_transfer_has_a_sender_and_a_sink_with_the_addresses_of_captures() {
    let flows = flows("transport = { kind = \"kernel\", congestion = \"bbr\", sysctl = { tcp_ecn = 3 } }");
    assert_eq!(flows[0].flow, FlowId(0));
    let hosts = hosts(&flows, &[0]);
    let text = jobs(&flows, &hosts, Duration::from_millis(100));
    let lines: Vec<_> = text.lines().collect();
    let [server, ue] = [0, lines.len() / 2].map(|line| lines[line]);
    assert!(
        server.starts_with("host nic=1 address=10.0.0.1 mtu=1500 gro=1 gso=1 role=send to=10.1.0.2 "),
        "{server}"
    );
    assert!(
        server.contains(" from_port=50000 to_port=5203 start=1700000001000000000 stop=0 bytes=0 "),
        "{server}"
    );
    assert!(server.contains(" congestion=bbr every=100000000 sample_from=1700000000099950000"), "{server}");
    assert!(
        ue.starts_with("host nic=2 address=10.1.0.2 mtu=1500 gro=1 gso=1 role=sink to=10.0.0.1 "),
        "{ue}"
    );
    assert!(ue.contains(" from_port=5203 to_port=50000 "), "{ue}");
    assert_eq!(lines.iter().filter(|&&line| line == "sysctl net.ipv4.tcp_ecn=3").count(), 2);
    assert_eq!(lines.iter().filter(|line| line.starts_with("sysctl net.ipv4.tcp_mem=")).count(), 2);
}

#[test]
fn the_data_of_an_uplink_flow_begins_at_the_ue() {
    let flows =
        flows("direction = \"uplink\"\napp = { kind = \"fixed\", size = \"3 kB\" }\ntransport = \"kernel\"");
    let text = jobs(&flows, &hosts(&flows, &[0]), Duration::from_millis(100));
    let hosts: Vec<_> = text.lines().filter(|line| line.starts_with("host ")).collect();
    assert!(hosts[0].contains(" role=sink "), "{}", hosts[0]);
    assert!(hosts[1].contains(" role=send to=10.0.0.1 from_port=50000 to_port=5203 "), "{}", hosts[1]);
    assert!(hosts[1].contains(" bytes=3000 "), "{}", hosts[1]);
}

#[test]
fn programs_start_with_the_server() {
    let exec = "exec = { server = \"iperf3 -s -1\", ue = \"iperf3 -c 10.0.0.1\" }";
    let flows = flows(&format!("transport = {{ kind = \"kernel\", {exec} }}"));
    let text = jobs(&flows, &hosts(&flows, &[0]), Duration::from_millis(100));
    let starts: Vec<_> = text.lines().filter_map(|line| line.split(" start=").nth(1)).collect();
    assert!(starts[0].starts_with("1700000000900000000 "), "{}", starts[0]);
    assert!(starts[1].starts_with("1700000001000000000 "), "{}", starts[1]);
    assert_eq!(text.matches("\nrun iperf3 -s -1\n").count(), 1);
    assert_eq!(text.matches("\nrun iperf3 -c 10.0.0.1\n").count(), 1);
}

#[test]
fn the_receiver_asks_and_the_sender_answers() {
    let requests = "requests = { request = \"100 B\", reply = \"9 kB\", count = 3, interval = \"1 s\" }";
    let flows = flows(&format!("transport = {{ kind = \"kernel\", {requests} }}"));
    let text = jobs(&flows, &hosts(&flows, &[0]), Duration::from_millis(100));
    let hosts: Vec<_> = text.lines().filter(|line| line.starts_with("host ")).collect();
    assert!(hosts[0].contains(" role=answer ") && hosts[0].contains(" every=100000000 "), "{}", hosts[0]);
    assert!(hosts[1].contains(" role=ask to=10.0.0.1 ") && hosts[1].contains(" every=0 "), "{}", hosts[1]);
    for host in hosts {
        assert!(host.contains(" bytes=9000 ") && host.ends_with(" request=100 count=3 interval=1000000000"));
    }
}

#[test]
fn an_end_of_the_simulated_tcp_is_no_host() {
    let flows = flows("transport = { kind = \"kernel\", ends = \"ue\" }");
    assert!(flows[0].has(FlowEnd::Host) && !flows[0].has(FlowEnd::Server));
    let hosts = hosts(&flows, &[0]);
    assert_eq!(hosts, [Host { flow: 0, end: FlowEnd::Host, nic: 1, nics: 1 }]);
    let text = jobs(&flows, &hosts, Duration::from_millis(100));
    assert!(text.starts_with("host nic=1 address=10.1.0.2 mtu=1500 gro=1 gso=1 role=sink "), "{text}");
}

/// The flow of a wired network with two more links.
fn wired(mptcp: &str) -> Vec<KernelFlow> {
    let text = format!(
        "network = \"wired\"\n[[link]]\nname = \"wifi\"\n[[link]]\nname = \"sat\"\n\
         [[flow]]\ntransport = {{ kind = \"kernel\", mptcp = {mptcp} }}\n"
    );
    let resolved = Scenario::parse(&text, "test.toml").unwrap().resolve().unwrap();
    build(&resolved, 1).unwrap().kernel_flows()
}

#[test]
fn the_host_has_an_interface_and_an_endpoint_for_each_path() {
    let flows = wired("{ paths = [\"internet\", \"wifi\", \"sat\"], backup = [\"sat\"] }");
    let hosts = hosts(&flows, &[0]);
    let [server, host] = [0, 1].map(|index| hosts[index].clone());
    assert_eq!((server.nic, server.nics, host.nic, host.nics), (1, 1, 2, 3));
    assert_eq!([1, 2, 4, 5].map(|nic| host.path(nic)), [None, Some(0), Some(2), None]);
    let text = jobs(&flows, &hosts, Duration::from_millis(100));
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with("sysctl ")).collect();
    assert!(
        lines[0].contains(" role=send ") && lines[0].ends_with(" mptcp=1 nics=1 opens=0"),
        "{}",
        lines[0]
    );
    assert!(
        lines[2].contains(" nic=2 address=10.1.0.1 ") || lines[2].starts_with("host nic=2 address=10.1.0.1 ")
    );
    assert!(lines[2].contains(" role=sink to=10.0.0.1 ") && lines[2].contains(" every=0 "), "{}", lines[2]);
    assert!(lines[2].ends_with(" mptcp=1 nics=3 opens=1"), "{}", lines[2]);
    let of_host = [
        "limits 2 0",
        "interface 3 10.5.0.1",
        "endpoint 3 10.5.0.1 2", // subflow
        "interface 4 10.6.0.1",
        "endpoint 4 10.6.0.1 6", // subflow and backup
    ];
    assert_eq!((lines[1], &lines[3..]), ("limits 2 0", &of_host[..]));
}

#[test]
fn a_server_that_announces_an_address_has_it_and_the_host_a_route_to_it() {
    let flows = wired("{ paths = [\"sat\", \"wifi\"], announced = { server = [\"wifi\"] } }");
    let text = jobs(&flows, &hosts(&flows, &[0]), Duration::from_millis(100));
    let lines: Vec<_> =
        text.lines().filter(|line| !line.starts_with("sysctl ") && !line.starts_with("host ")).collect();
    let expected = [
        "limits 1 0",
        "address 1 10.0.0.2",
        "endpoint 1 10.0.0.2 1", // signal
        "limits 1 1",
        "interface 3 10.5.0.1",
        "route 3 10.0.0.2",
    ];
    assert_eq!(lines, expected);
    // The connection begins on the first path, whichever that is.
    assert!(text.contains("\nhost nic=2 address=10.6.0.1 "), "{text}");
}
