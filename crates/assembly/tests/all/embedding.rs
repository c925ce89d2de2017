//! A scenario that a program drives: packets from outside, and flows and UEs that come and go.

use airlane_assembly::{Built, FlowEnd, RunOutput, build};
use airlane_core::{
    Direction, Duration, FlowId, Header, Instant, Packet, Payload, Seeds, SocketPair, Stream, UdpHeader, UeId,
};
use airlane_record::Column;
use airlane_scenario::{Resolved, Scenario};

const CELL: &str = r#"
network = "typical"
[run]
duration = "20 s"
warmup = "0 s"
[[cell]]
name = "a"
position = ["0 m", "0 m"]
[[ue]]
name = "phone"
position = ["400 m", "0 m"]
[[flow]]
name = "download"
to = "phone"
direction = "downlink"
app = "bulk"
transport = "tcp"
"#;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn resolve(text: &str) -> Resolved {
    Scenario::parse(text, "cell.toml")
        .and_then(|scenario| scenario.resolve())
        .unwrap_or_else(|e| panic!("{e}"))
}

fn start(text: &str) -> Built {
    build(&resolve(text), 1).unwrap()
}

fn datagram(serial: u64, payload: u32, now: Instant) -> Packet {
    let header = Header::Udp(UdpHeader { serial });
    // Flow and direction are set where it is injected.
    Packet::new(FlowId(u32::MAX), Direction::Downlink, header, Payload::Length(payload), now)
}

fn serial(packet: &Packet) -> u64 {
    match packet.header {
        Header::Udp(udp) => udp.serial,
        _ => panic!("only datagrams were injected"),
    }
}

/// The value of a column in the row of a flow.
fn of_flow(output: &RunOutput, flow: &str, column: &str) -> f64 {
    let table = &output.tables.iter().find(|(name, _)| *name == "flows").unwrap().1;
    let Some(Column::Text(names)) = table.column("flow") else { panic!("no names") };
    let row = names.iter().position(|name| name == flow).unwrap_or_else(|| panic!("no row of {flow}"));
    match table.column(column) {
        Some(Column::F64(values)) => values[row],
        Some(Column::I64(values)) => values[row] as f64,
        _ => panic!("no numbers in {column}"),
    }
}

#[test]
fn packets_from_outside_cross_the_cell_in_both_directions() {
    let mut run = start(CELL);
    let flow = run.open("shell", Some(UeId(0))).unwrap();
    for step in 0..100 {
        let now = ms(1_000 + 10 * step);
        run.inject(flow, FlowEnd::Server, datagram(step, 1_000, now), now);
        run.inject(flow, FlowEnd::Host, datagram(step, 100, now), now);
    }
    run.advance(ms(4_000));
    let mut delays = vec![];
    for end in [FlowEnd::Host, FlowEnd::Server] {
        let arrived: Vec<_> = std::iter::from_fn(|| run.take(flow, end)).collect();
        assert_eq!(
            arrived.iter().map(|(_, packet)| serial(packet)).collect::<Vec<_>>(),
            Vec::from_iter(0..100)
        );
        assert!(arrived.iter().all(|(_, packet)| packet.flow == flow));
        delays.push(arrived.iter().map(|(at, packet)| (*at - packet.sent_at).as_millis()).max().unwrap());
        assert!(arrived.iter().all(|(at, packet)| *at - packet.sent_at >= Duration::from_millis(1)));
    }
    // The download fills the queue of the bearer: what comes down waits in it.
    assert!(delays[0] > 50 && delays[1] < 100, "{delays:?}");
    run.check_conservation().unwrap();
    run.advance(ms(20_000));
    let output = run.finish();
    assert_eq!(of_flow(&output, "shell", "packets_lost"), 0.0);
    assert_eq!(of_flow(&output, "shell", "packets_sent"), 100.0); // of the data's direction, the downlink
    assert_eq!(of_flow(&output, "shell", "packets_delivered"), 100.0);
    assert_eq!(of_flow(&output, "shell", "bytes_delivered"), 100_000.0);
    // The other direction has a row of its own.
    assert_eq!(of_flow(&output, "shell (uplink)", "packets_sent"), 100.0);
    assert_eq!(of_flow(&output, "shell (uplink)", "packets_delivered"), 100.0);
    assert_eq!(of_flow(&output, "shell (uplink)", "bytes_delivered"), 10_000.0);
    assert!((of_flow(&output, "shell (uplink)", "owd_max_ms") - delays[1] as f64).abs() <= 1.0);
    assert!((of_flow(&output, "shell", "owd_max_ms") - delays[0] as f64).abs() <= 1.0);
    let series = &output.tables.iter().find(|(name, _)| *name == "flow_series").unwrap().1;
    let flows = series.column("flow").and_then(Column::names).unwrap();
    let Some(Column::F64(rates)) = series.column("goodput_mbps") else { panic!("no rates") };
    let rates = flows.iter().zip(rates).filter(|(flow, _)| **flow == "shell (uplink)").map(|(_, rate)| rate);
    let bytes = rates.sum::<f64>() * 0.1 / 8.0 * 1e6;
    assert!((bytes - 10_000.0).abs() < 1e-3, "{bytes} bytes in bins of 100 ms");
    assert!(of_flow(&output, "download", "goodput_mbps") > 10.0);
}

#[test]
fn the_same_inputs_at_the_same_times_give_the_same_outputs() {
    let inputs: Vec<_> = {
        let mut stream = Seeds::new(3).stream("inputs");
        let mut at = 500_000_000;
        let mut input = |serial| {
            at += stream.below(4_000_000);
            let end = if stream.chance(0.5) { FlowEnd::Server } else { FlowEnd::Host };
            (Instant::from_nanos(at), end, serial, 40 + stream.below(1_400) as u32)
        };
        (0..1_000).map(&mut input).collect()
    };
    // One driver only injects; the other wakes up at random times and at each event, and takes what is there.
    let drive = |steps: bool| {
        let mut run = start(CELL);
        let flow = run.open("shell", Some(UeId(0))).unwrap();
        let mut stream = Seeds::new(9).stream("steps");
        let mut out: [Vec<(Instant, u64)>; 2] = Default::default();
        let mut collect = |run: &mut Built| {
            for (end, out) in [FlowEnd::Server, FlowEnd::Host].into_iter().zip(&mut out) {
                out.extend(std::iter::from_fn(|| run.take(flow, end)).map(|(at, p)| (at, serial(&p))));
            }
        };
        for (at, end, serial, payload) in &inputs {
            while steps && run.now() < *at && stream.chance(0.7) {
                let random = run.now() + Duration::from_nanos(stream.below((*at - run.now()).as_nanos() + 1));
                let next = run.next_event().filter(|_| stream.chance(0.5)).unwrap_or(random);
                run.advance(next.min(*at));
                collect(&mut run);
            }
            run.inject(flow, *end, datagram(*serial, *payload, *at), *at);
        }
        run.advance(ms(8_000));
        collect(&mut run);
        run.check_conservation().unwrap();
        out
    };
    let (whole, stepped) = (drive(false), drive(true));
    assert_eq!(whole.each_ref().map(Vec::len), stepped.each_ref().map(Vec::len));
    assert!(whole.iter().all(|arrived| arrived.len() > 300));
    assert!(whole == stepped, "the steps of a driver change what comes out");
}

const MORE: &str = r#"
[[ue]]
name = "tablet"
position = ["250 m", "0 m"]
[[flow]]
name = "video"
to = "tablet"
direction = "downlink"
app = { kind = "fixed", size = "2 MB" }
transport = "tcp"
start = "6 s"
[[flow]]
name = "calls"
to = "phone"
direction = "uplink"
app = { kind = "cbr", rate = "64 kbit/s", payload = "160 B" }
transport = "udp"
start = "6 s"
[[flow]]
name = "page"
to = "tablet"
app = { kind = "web" }
transport = "tcp"
start = "7 s"
"#;

#[test]
fn a_scenario_grows_while_it_runs() {
    let mut run = start(CELL);
    run.advance(ms(5_000));
    let added = run.extend(&resolve(&format!("{CELL}{MORE}"))).unwrap();
    assert_eq!((added.ues, added.flows), (vec![UeId(1)], vec![FlowId(1), FlowId(2), FlowId(3)]));
    run.advance(ms(20_000));
    run.check_conservation().unwrap();
    let output = run.finish();
    // 14 s of 50 packets per second, less what is still on its way.
    let calls = of_flow(&output, "calls", "packets_delivered");
    assert!((695.0..=700.0).contains(&calls), "{calls} packets");
    assert!(of_flow(&output, "video", "fct_s") > 0.0);
    let pages = &output.tables.iter().find(|(name, _)| *name == "pages").unwrap().1;
    assert!(pages.rows() > 0);
}

#[test]
fn what_cannot_be_added_is_refused_and_changes_nothing() {
    let mut run = start(CELL);
    run.advance(ms(5_000));
    let error = |run: &mut Built, text: &str| run.extend(&resolve(text)).unwrap_err().to_string();
    let later = CELL.replace("20 s", "30 s");
    assert!(error(&mut run, &later).contains("only `[[ue]]` and `[[flow]]`"), "{}", error(&mut run, &later));
    let early = format!("{CELL}{MORE}").replace("7 s", "4 s");
    let told = error(&mut run, &early);
    assert!(told.contains("flow.3.start") && told.contains("it has passed"), "{told}");
    for ue in [None, Some(UeId(4))] {
        assert!(run.open("shell", ue).unwrap_err().to_string().contains("flow.to"));
    }
    let added = run.extend(&resolve(&format!("{CELL}{MORE}"))).unwrap();
    assert_eq!(added.flows.len(), 3);
    run.advance(ms(8_000));
    run.check_conservation().unwrap();
}

#[test]
fn a_ue_that_was_removed_gets_no_flow() {
    let mut run = start(CELL);
    let more = format!("{CELL}{MORE}");
    run.extend(&resolve(&more)).unwrap();
    run.advance(ms(8_000));
    run.remove_ue(UeId(1)).unwrap();
    let late = "[[flow]]\nto = \"tablet\"\napp = \"bulk\"\ntransport = \"tcp\"\nstart = \"9 s\"\n";
    let refused = [
        run.open("shell", Some(UeId(1))).unwrap_err(),
        run.extend(&resolve(&format!("{more}{late}"))).unwrap_err(),
    ];
    for error in refused.map(|error| error.to_string()) {
        assert!(error.contains("flow.4.to") && error.contains("this UE was removed"), "{error}");
    }
    // Nothing has changed: the next flow has the next number.
    assert_eq!(run.open("shell", Some(UeId(0))).unwrap(), FlowId(4));
    run.advance(ms(9_000));
    run.check_conservation().unwrap();
}

#[test]
fn a_run_can_be_driven_on_another_thread() {
    let mut run = start(CELL);
    let run = std::thread::spawn(move || {
        run.advance(ms(1_000));
        run
    });
    assert_eq!(run.join().unwrap().now(), ms(1_000));
}

#[test]
fn a_wired_network_has_flows_from_outside_too() {
    for shared in [true, false] {
        let text = format!(
            "network = \"wired\"\n[run]\nduration = \"2 s\"\n[internet]\nshared = {shared}\ndelay = \"10 ms\"\n\
             [[flow]]\nname = \"download\"\napp = \"bulk\"\ntransport = \"tcp\"\n"
        );
        let mut run = start(&text);
        let flow = run.open("shell", None).unwrap();
        run.inject(flow, FlowEnd::Host, datagram(1, 100, ms(100)), ms(100));
        run.advance(ms(200));
        let (at, _) = run.take(flow, FlowEnd::Server).unwrap();
        assert!(at >= ms(110) && at < ms(112), "{at}");
        run.remove_flow(flow).unwrap();
        run.advance(ms(2_000));
        run.check_conservation().unwrap();
    }
}

/// One random change of a running network.
fn change(
    run: &mut Built,
    stream: &mut Stream,
    text: &mut String,
    ues: &mut Vec<UeId>,
    open: &mut Vec<(FlowId, UeId)>,
) {
    let now = run.now();
    match stream.below(5) {
        0 => {
            let name = format!("ue{}", text.len());
            text.push_str(&format!(
                "[[ue]]\nname = \"{name}\"\nposition = [\"{} m\", \"0 m\"]\n[[flow]]\nto = \"{name}\"\napp = \"bulk\"\n\
                 transport = \"{}\"\nstart = \"{} ns\"\n",
                100 + stream.below(800),
                if stream.chance(0.5) { "tcp" } else { "quic" },
                now.as_nanos() + 100_000_000,
            ));
            ues.extend(run.extend(&resolve(text)).unwrap().ues);
        }
        1 if ues.len() > 1 => {
            let ue = ues.swap_remove(stream.below(ues.len() as u64) as usize);
            run.remove_ue(ue).unwrap();
            open.retain(|(_, of)| *of != ue);
        }
        2 if !open.is_empty() => {
            let (flow, _) = open.swap_remove(stream.below(open.len() as u64) as usize);
            run.remove_flow(flow).unwrap();
        }
        _ => {
            let ue = ues[stream.below(ues.len() as u64) as usize];
            open.push((run.open(&format!("shell-{}", text.len()), Some(ue)).unwrap(), ue));
        }
    }
}

#[test]
fn ues_and_flows_come_and_go_and_no_packet_is_lost_from_sight() {
    for seed in 0..10 {
        let mut stream = Seeds::new(seed).stream("changes");
        let mut text = CELL.to_owned();
        let mut run = build(&resolve(&text), seed).unwrap();
        let (mut ues, mut open) = (vec![UeId(0)], vec![]);
        for step in 0..600 {
            run.advance(run.now() + Duration::from_nanos(stream.below(20_000_000)));
            if step % 20 == 19 {
                change(&mut run, &mut stream, &mut text, &mut ues, &mut open);
            }
            for (flow, _) in &open {
                let end = if stream.chance(0.5) { FlowEnd::Server } else { FlowEnd::Host };
                let mut packet = datagram(step, 1_200, run.now());
                packet.sockets = SocketPair { server: 0, server_port: 7, ue_port: stream.below(4) as u16 };
                run.inject(*flow, end, packet, run.now());
                let _ = run.take(*flow, FlowEnd::Host);
            }
            run.check_conservation().unwrap_or_else(|counts| panic!("seed {seed}, step {step}: {counts}"));
        }
        assert!(run.finish().meta.delivered > 1_000);
    }
}
