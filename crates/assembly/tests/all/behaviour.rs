//! The behaviour of TCP in tables for readers: random loss × round trip, buffer × controller,
//! fairness, unfairness by round trip. The head of each table gives the theoretical expectation and
//! its reason. `AIRLANE_BLESS=1` writes a new table, and the change of the file is reviewed. The
//! heads are in `behaviour/*.md`, the tables with their heads in `snapshots/behaviour-*.txt`.

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use airlane_assembly::run;
use airlane_core::{BitRate, Bytes, Direction, Duration, FlowId, Instant, Node};
use airlane_engine::{Network, Simulation};
use airlane_net::{FlowRouter, Link, LinkParameters};
use airlane_record::{Column, Recorder, RecorderParameters, Table};
use airlane_scenario::Scenario;
use airlane_traffic::{PORT, TcpSink, TcpSource, Transfer};
use airlane_transport::{CongestionKind, Path, TcpConfig};

/// Payload of a full segment: 1500 bytes without 20 of IP, 20 of TCP and 12 of timestamps.
const SEGMENT_BITS: f64 = 1448.0 * 8.0;
/// Share of payload in a full packet.
const PAYLOAD: f64 = 1448.0 / 1500.0;

const CONTROLLERS: [&str; 7] = ["newreno", "cubic", "scalable", "vegas", "westwood", "veno", "bbr"];

/// Compares a table under its head with the accepted one.
fn check(name: &str, head: &str, table: &str) {
    let printed = format!("{head}\n{table}");
    crate::snapshots::compare(&printed, &format!("behaviour-{name}.txt"));
}

/// The results of all jobs in order, on both cores of a small machine.
fn each<T: Send>(jobs: usize, job: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let results = airlane_engine::parallel(jobs, 2, &AtomicBool::new(false), job, |_| ());
    results.into_iter().map(|result| result.expect("nobody cancels")).collect()
}

/// One link and its flows, measured from `warmup_s` on.
struct Wired {
    rate_mbps: u32,
    rtt_ms: u32,
    queue_bytes: u64,
    loss_percent: f64,
    warmup_s: u32,
    duration_s: u32,
    flows: Vec<&'static str>,
}

/// The `flows` table of a run.
fn flows(wired: &Wired) -> Table {
    let mut text = format!(
        "network = \"wired\"\n[run]\nduration = \"{} s\"\nwarmup = \"{} s\"\nseries_bin = \"10 s\"\n\
         [internet]\nrate = \"{} Mbit/s\"\ndelay = \"{} ms\"\nqueue = \"{} B\"\nloss = \"{} %\"\n",
        wired.duration_s,
        wired.warmup_s,
        wired.rate_mbps,
        wired.rtt_ms / 2,
        wired.queue_bytes,
        wired.loss_percent,
    );
    // Half a second between the starts, so that the flows are not synchronized.
    for (i, congestion) in wired.flows.iter().enumerate() {
        let _ = write!(
            text,
            "[[flow]]\nstart = \"{} ms\"\ntransport = {{ kind = \"tcp\", congestion = \"{congestion}\" }}\n",
            500 * i,
        );
    }
    let scenario = Scenario::parse(&text, "behaviour.toml").unwrap().resolve().unwrap();
    let output = run(&scenario, 1).unwrap();
    output.tables.into_iter().find(|(name, _)| *name == "flows").unwrap().1
}

fn reals<'a>(table: &'a Table, column: &str) -> &'a [f64] {
    match table.column(column) {
        Some(Column::F64(values)) => values,
        other => panic!("{column}: {other:?}"),
    }
}

fn counts<'a>(table: &'a Table, column: &str) -> &'a [i64] {
    match table.column(column) {
        Some(Column::I64(values)) => values,
        other => panic!("{column}: {other:?}"),
    }
}

/// Jain's index: one for equal shares, 1/n if one flow has everything (Jain, Chiu and Hawe, 1984).
fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    sum * sum / (shares.len() as f64 * squares)
}

/// Mean window of Reno in segments under loss `p`: 1.22/sqrt(p) (Mathis, Semke, Mahdavi and Ott, 1997,
/// for acknowledgment of every segment, which is equivalent to counting the acknowledged bytes).
fn reno_window(p: f64) -> f64 {
    (1.5 / p).sqrt()
}

/// Mean window of CUBIC: RFC 9438 §5.1 equation 6 (C = 0.4, beta = 0.7), or that of its Reno-friendly
/// region where it is larger (§4.3), whose window is Reno's.
fn cubic_window(p: f64, rtt_s: f64) -> f64 {
    let cubic = libm::pow(0.4 * 3.7 / 1.2, 0.25) * libm::pow(rtt_s / p, 0.75);
    cubic.max(reno_window(p))
}

/// Goodput under random loss on a link that is never full, as a mean window: goodput × round trip.
#[test]
fn random_loss_and_round_trip() {
    let mut cases = Vec::new();
    for congestion in ["newreno", "cubic"] {
        for loss_percent in [0.01, 0.1, 1.0] {
            cases.extend([10, 40, 160].map(|rtt_ms| (congestion, loss_percent, rtt_ms)));
        }
    }
    let theory = |(congestion, loss_percent, rtt_ms): (&str, f64, u32)| {
        let (p, rtt_s) = (loss_percent / 100.0, f64::from(rtt_ms) / 1000.0);
        if congestion == "cubic" { cubic_window(p, rtt_s) } else { reno_window(p) }
    };
    let measured = each(cases.len(), |i| {
        let case @ (congestion, loss_percent, rtt_ms) = cases[i];
        // Until about 80 losses, or 400 where the run is short.
        let losses = if loss_percent < 0.05 { 80.0 } else { 400.0 };
        let packets_per_s = theory(case) / (f64::from(rtt_ms) / 1000.0);
        let span_s = losses / (loss_percent / 100.0) / packets_per_s;
        let table = flows(&Wired {
            rate_mbps: 1000,
            rtt_ms,
            queue_bytes: 10_000_000,
            loss_percent,
            warmup_s: 5 + (span_s / 10.0) as u32,
            duration_s: 5 + (span_s * 1.1) as u32 + 1,
            flows: vec![congestion],
        });
        (reals(&table, "goodput_mbps")[0], counts(&table, "timeouts")[0])
    });
    let mut printed = String::from("controller  loss %  rtt ms  Mbit/s   window  theory  ratio  timeouts\n");
    for (&case, (goodput, timeouts)) in cases.iter().zip(measured) {
        let (congestion, loss_percent, rtt_ms) = case;
        let window = goodput * 1e6 * f64::from(rtt_ms) / 1000.0 / SEGMENT_BITS;
        let (expected, ratio) = (theory(case), window / theory(case));
        let _ = writeln!(
            printed,
            "{congestion:<10}  {loss_percent:>6}  {rtt_ms:>6}  {goodput:>6.2}  {window:>7.1}  {expected:>6.1}  \
             {ratio:>5.2}  {timeouts:>8}",
        );
        // The theory excludes timeouts and time in recovery and assumes a single steady cycle.
        assert!((0.6..1.4).contains(&ratio), "{case:?}: {ratio}");
    }
    check("loss", include_str!("behaviour/loss.md"), &printed);
}

/// Use of the link, queueing delay and retransmissions of one flow, by buffer and controller.
#[test]
fn buffer_and_controller() {
    // 20 Mbit/s × 40 ms: 100 000 bytes.
    let buffers = [("0.1", 10_000), ("0.25", 25_000), ("0.5", 50_000), ("1", 100_000), ("2", 200_000)];
    let cases: Vec<_> = CONTROLLERS.iter().flat_map(|c| buffers.map(|b| (*c, b))).collect();
    let measured = each(cases.len(), |i| {
        let (congestion, (_, queue_bytes)) = cases[i];
        flows(&Wired {
            rate_mbps: 20,
            rtt_ms: 40,
            queue_bytes,
            loss_percent: 0.0,
            warmup_s: 10,
            duration_s: 40,
            flows: vec![congestion],
        })
    });
    let mut printed = String::from("controller  buffer BDP  use %  queue ms  retransmitted %  timeouts\n");
    let mut use_of = Vec::new();
    for (&(congestion, (buffer, _)), table) in cases.iter().zip(&measured) {
        let used = reals(table, "goodput_mbps")[0] / (20.0 * PAYLOAD);
        // A single packet takes 20 ms and 0.6 ms of transmission.
        let queue_ms = reals(table, "owd_ms")[0] - 20.6;
        let sent = counts(table, "packets_sent")[0] as f64;
        let again = counts(table, "retransmissions")[0] as f64 / sent;
        let timeouts = counts(table, "timeouts")[0];
        let _ = writeln!(
            printed,
            "{congestion:<10}  {buffer:>10}  {:>5.1}  {queue_ms:>8.1}  {:>15.3}  {timeouts:>8}",
            100.0 * used,
            100.0 * again,
        );
        use_of.push((congestion, buffer, used));
    }
    // A buffer of one bandwidth-delay product keeps the link busy while Reno's window halves.
    for (congestion, buffer, used) in use_of {
        // At the start of the measurement, data waited at the receiver behind a hole.
        assert!(used <= 1.01, "{congestion} {buffer}: {used}");
        let full = matches!(buffer, "1" | "2");
        assert!(!full || used > 0.97, "{congestion} with {buffer} leaves the link idle: {used}");
    }
    check("buffer", include_str!("behaviour/buffer.md"), &printed);
}

/// How two and ten flows share a link, and two of different kinds.
#[test]
fn fairness() {
    let mut cases: Vec<Vec<&'static str>> = Vec::new();
    for congestion in CONTROLLERS {
        cases.push(vec![congestion; 2]);
        cases.push(vec![congestion; 10]);
    }
    cases.extend(["cubic", "vegas", "bbr"].map(|other| vec!["newreno", other]));
    let measured = each(cases.len(), |i| {
        flows(&Wired {
            rate_mbps: 20,
            rtt_ms: 40,
            queue_bytes: 100_000,
            loss_percent: 0.0,
            warmup_s: 20,
            duration_s: 80,
            flows: cases[i].clone(),
        })
    });
    let mut printed = String::from("flows                 Jain   least  greatest  together Mbit/s\n");
    for (case, table) in cases.iter().zip(&measured) {
        let shares = reals(table, "goodput_mbps");
        let (least, greatest) =
            shares.iter().fold((f64::INFINITY, 0.0_f64), |(l, g), &x| (l.min(x), g.max(x)));
        let name = if case[0] == case[1] {
            format!("{} {}", case.len(), case[0])
        } else {
            format!("{} and {}", case[0], case[1])
        };
        let (index, sum) = (jain(shares), shares.iter().sum::<f64>());
        let _ = writeln!(printed, "{name:<20}  {index:.3}  {least:>5.2}  {greatest:>8.2}  {sum:>15.2}");
        assert!(sum > 0.95 * 20.0 * PAYLOAD, "{name}: the link is idle");
    }
    check("fairness", include_str!("behaviour/fairness.md"), &printed);
}

/// Ten flows of BBR version 1 have unequal shares if two bandwidth-delay products in flight fill
/// link and buffer, and almost equal shares with a deep buffer (Hock, Bless and Zitterbart 2017):
/// there the limit on the data in flight applies, and all flows drain at the same time to measure
/// the minimum round trip. Ten times the rate changes neither result, so the minimum window of four
/// segments is not the cause.
#[test]
fn ten_bbr_flows_need_a_deep_buffer() {
    let cases = [(20, 1), (20, 4), (200, 1), (200, 4)];
    let indices = each(cases.len(), |i| {
        let (rate_mbps, products) = cases[i];
        let table = flows(&Wired {
            rate_mbps,
            rtt_ms: 40,
            queue_bytes: u64::from(rate_mbps) * 5000 * products,
            loss_percent: 0.0,
            warmup_s: 20,
            duration_s: 80,
            flows: vec!["bbr"; 10],
        });
        jain(reals(&table, "goodput_mbps"))
    });
    for (case, index) in cases.iter().zip(indices) {
        let expected = if case.1 == 1 { 0.3..0.8 } else { 0.9..1.0 };
        assert!(expected.contains(&index), "{case:?}: {index}");
    }
}

/// Two flows of one kind over one bottleneck, the second with a longer path on both sides of it.
fn two_round_trips(kind: CongestionKind, rtt_ms: [u64; 2], seconds: u64) -> [(f64, f64); 2] {
    let rate = BitRate(20_000_000);
    let mut network = Network::new();
    let config = || TcpConfig { congestion: kind, ..TcpConfig::linux() };
    let ids = [FlowId(0), FlowId(1)];
    let path = |flow, direction| Path::new(flow, direction);
    let begin = |i: usize| Instant::ZERO + Duration::from_millis(500 * i as u64);
    let link = |parameters| -> Box<dyn Node> { Box::new(Link::new(parameters)) };
    let wire = |ms| link(LinkParameters { delay: Duration::from_millis(ms), ..LinkParameters::default() });

    let bottleneck = network.add(link(LinkParameters {
        rate: Some(rate),
        queue: Some(Bytes(100_000)),
        ..LinkParameters::default()
    }));
    let router = network.add(Box::new(FlowRouter));
    network.connect((bottleneck, Link::OUTPUT), (router, 0));
    let sources = [0, 1].map(|i| {
        let (flow, down, up) = (ids[i], Direction::Downlink, Direction::Uplink);
        let source = TcpSource::new(config(), path(flow, down), Transfer::Bulk, begin(i), None);
        let source = network.add(Box::new(source));
        let sink = network.add(Box::new(TcpSink::new(config(), path(flow, up), begin(i))));
        let (out, back) = (network.add(wire(rtt_ms[i] / 2)), network.add(wire(rtt_ms[i] / 2)));
        network.connect((source, PORT), (bottleneck, Link::INPUT));
        network.connect((router, i as u16), (out, Link::INPUT));
        network.connect((out, Link::OUTPUT), (sink, PORT));
        network.connect((sink, PORT), (back, Link::INPUT));
        network.connect((back, Link::OUTPUT), (source, PORT));
        source
    });
    let end = Instant::ZERO + Duration::from_secs(seconds);
    let mut nobody = Recorder::new(RecorderParameters {
        flows: Vec::new(),
        cells: Vec::new(),
        ues: 0,
        warmup: Instant::ZERO,
        end,
        bin: None,
        ..RecorderParameters::default()
    });
    let mut simulation = Simulation::new(network, 4096);
    let mut look = |at| {
        simulation.run_until(at, &mut nobody);
        sources.map(|id| simulation.node::<TcpSource>(id).expect("it was put there").stats())
    };
    let (from, until) = (look(Instant::ZERO + Duration::from_secs(20)), look(end));
    [0, 1].map(|i| {
        let bits = (until[i].bytes_acked.get() - from[i].bytes_acked.get()) as f64 * 8.0;
        let samples = (until[i].rtt_samples - from[i].rtt_samples) as f64;
        let rtt_s = (until[i].rtt_sum - from[i].rtt_sum).as_secs_f64() / samples;
        (bits / (seconds - 20) as f64 / 1e6, rtt_s * 1000.0)
    })
}

/// The effect of a longer round trip: the ratio of two goodputs as a power of the ratio of the
/// round trips.
#[test]
fn unfairness_by_round_trip() {
    let kinds = [
        CongestionKind::NewReno,
        CongestionKind::Cubic,
        CongestionKind::Scalable,
        CongestionKind::Vegas,
        CongestionKind::Bbr,
    ];
    let ways = [[20, 40], [20, 80], [20, 160]];
    let cases: Vec<_> = kinds.iter().flat_map(|kind| ways.map(|way| (*kind, way))).collect();
    let measured = each(cases.len(), |i| two_round_trips(cases[i].0, cases[i].1, 120));
    let mut printed =
        String::from("controller  ways ms    Mbit/s          round trips ms  ratio  of trips  exponent\n");
    for ((kind, way), [near, far]) in cases.iter().zip(measured) {
        let (ratio, trips) = (near.0 / far.0, far.1 / near.1);
        let _ = writeln!(
            printed,
            "{:<10}  {:>2} / {:>3}   {:>5.2} / {:>5.2}   {:>5.1} / {:>5.1}  {ratio:>5.2}  {trips:>8.2}  {:>8.2}",
            kind.name(),
            way[0],
            way[1],
            near.0,
            far.0,
            near.1,
            far.1,
            libm::log(ratio) / libm::log(trips),
        );
        assert!(near.0 + far.0 > 0.9 * 20.0 * PAYLOAD, "{}: the link is idle", kind.name());
    }
    check("round-trips", include_str!("behaviour/round-trips.md"), &printed);
}
