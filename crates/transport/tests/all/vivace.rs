//! PCC Vivace over whole links, compared with the authors' code (PCCproject/PCC-Uspace 30c2cfe1) over a link of the same
//! kind. `python/airlane/data/field/vivace.csv` has the figures and says how they were computed.

use airlane_core::{Bytes, Instant};
use airlane_transport::{CongestionKind, ReceiveWindowKind, TcpConfig};

use crate::harness::{FlowConfig, FlowResult, Harness, LinkConfig, RunResult};

/// Bytes of a packet on the link for each byte of its payload.
const OVERHEAD: f64 = 1500.0 / 1448.0;

fn flow(congestion: CongestionKind, start_ms: u64) -> FlowConfig {
    let receive_window = ReceiveWindowKind::Autotuned { initial: Bytes(131_072), max: Bytes(16_777_216) };
    let config = TcpConfig { congestion, receive_window, ..TcpConfig::linux() };
    let start = Instant::from_millis(start_ms);
    FlowConfig { sender: config.clone(), receiver: config, start, bytes: None }
}

fn run(link: LinkConfig, flows: Vec<FlowConfig>, seconds: u64) -> RunResult {
    Harness::new(link, flows).run(Instant::from_millis(1000 * seconds))
}

/// Mbit/s on the link between two times of the sampling grid.
fn rate(flow: &FlowResult, from_s: u64, to_s: u64) -> f64 {
    let acked = |at_s: u64| {
        let at = Instant::from_millis(1000 * at_s);
        let sample = flow.samples.iter().find(|s| s.at == at).expect("on the grid");
        sample.stats.bytes_acked.get() as f64
    };
    (acked(to_s) - acked(from_s)) * 8.0 / (to_s - from_s) as f64 / 1e6 * OVERHEAD
}

/// The 95th percentile of the smoothed round trip in milliseconds.
fn srtt_p95_ms(flow: &FlowResult, from_s: u64) -> f64 {
    let from = Instant::from_millis(1000 * from_s);
    let late = flow.samples.iter().filter(|s| s.at >= from);
    let mut values: Vec<f64> = late.map(|s| s.stats.srtt.as_millis_f64()).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() * 95 / 100]
}

/// The authors' code: 9.53 Mbit/s of 10, and a 95th percentile of 47 ms one way, whatever the buffer; the way back adds
/// 30 ms. 46.4 of 50 Mbit/s.
#[test]
fn fills_a_link_without_filling_its_buffer() {
    for buffer in [75_000, 300_000] {
        let r = run(LinkConfig::new(10, 60, buffer), vec![flow(CongestionKind::Vivace, 0)], 40);
        let got = rate(&r.flows[0], 10, 40);
        assert!((got / 9.53 - 1.0).abs() < 0.04, "{got}");
        let rtt = srtt_p95_ms(&r.flows[0], 10);
        assert!((rtt - 77.0).abs() < 8.0, "{rtt}");
    }
    let r = run(LinkConfig::new(50, 20, 500_000), vec![flow(CongestionKind::Vivace, 0)], 40);
    let got = rate(&r.flows[0], 10, 40);
    assert!((got / 46.4 - 1.0).abs() < 0.05, "{got}");
}

/// One per cent of random losses on 12 Mbit/s and 100 ms. The authors' code has 10.93 to 11.24 Mbit/s in eight runs, where it
/// learns of a loss together with the acknowledgment that shows it.
#[test]
fn random_losses_cost_little() {
    let rates = |congestion| {
        let one = |seed| {
            let mut link = LinkConfig::new(12, 100, 150_000);
            (link.loss, link.loss_seed) = (0.01, seed);
            rate(&run(link, vec![flow(congestion, 0)], 60).flows[0], 10, 60)
        };
        let mut rates: Vec<f64> = (1..=8).map(one).collect();
        rates.sort_by(f64::total_cmp);
        rates
    };
    let ours = rates(CongestionKind::Vivace);
    assert!(ours[3] >= 8.8, "{ours:?}");
    assert!(rates(CongestionKind::NewReno)[7] < 2.0);
}

/// Two flows begin 5 s apart on 24 Mbit/s and 60 ms: the authors' code has an index of Jain of 0.994.
#[test]
fn flows_share_a_link() {
    let flows = vec![flow(CongestionKind::Vivace, 0), flow(CongestionKind::Vivace, 5000)];
    let r = run(LinkConfig::new(24, 60, 180_000), flows, 120);
    let rates: Vec<f64> = r.flows.iter().map(|flow| rate(flow, 60, 120)).collect();
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
    assert!(sum * sum / 2.0 / squares >= 0.95, "{rates:?}");
}
