//! Flows of one controller over whole links, with the receive buffer of the Linux measurements.

use airlane_core::{Bytes, Instant};
use airlane_transport::{CongestionKind, ReceiveWindowKind, TcpConfig};

use crate::harness::{FlowConfig, FlowResult, Harness, LinkConfig, RunResult};

/// A bulk flow.
pub(crate) fn flow(congestion: CongestionKind, start_ms: u64) -> FlowConfig {
    let receive_window = ReceiveWindowKind::Autotuned { initial: Bytes(131_072), max: Bytes(16_777_216) };
    let config = TcpConfig { congestion, receive_window, ..TcpConfig::linux() };
    let start = Instant::from_millis(start_ms);
    FlowConfig { sender: config.clone(), receiver: config, start, bytes: None }
}

/// Runs the flows over a link.
pub(crate) fn run(link: LinkConfig, flows: Vec<FlowConfig>, seconds: u64) -> RunResult {
    Harness::new(link, flows).run(Instant::from_millis(1000 * seconds))
}

/// Acknowledged Mbit/s between two times of the sampling grid.
pub(crate) fn goodput_mbps(flow: &FlowResult, from_s: u64, to_s: u64) -> f64 {
    let acked = |at_s: u64| {
        let at = Instant::from_millis(1000 * at_s);
        let sample = flow.samples.iter().find(|s| s.at == at).expect("on the grid");
        sample.stats.bytes_acked.get() as f64
    };
    (acked(to_s) - acked(from_s)) * 8.0 / (to_s - from_s) as f64 / 1e6
}

/// The samples of the smoothed round-trip time from a time on, in milliseconds.
pub(crate) fn srtts_ms(flow: &FlowResult, from_s: u64) -> Vec<f64> {
    let from = Instant::from_millis(1000 * from_s);
    let late = flow.samples.iter().filter(|s| s.at >= from);
    late.map(|s| s.stats.srtt.as_millis_f64()).collect()
}

/// Jain's fairness index.
pub(crate) fn jain_index(rates: &[f64]) -> f64 {
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
    sum * sum / (rates.len() as f64 * squares)
}
