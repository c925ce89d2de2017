//! PCC Vivace over whole links, compared with the authors' code (PCCproject/PCC-Uspace 30c2cfe1) over a link of the same
//! kind. `python/airlane/data/field/vivace.csv` has the figures and says how they were computed.

use airlane_transport::CongestionKind;

use crate::flows::{flow, goodput_mbps, jain_index, run, srtts_ms};
use crate::harness::{FlowResult, LinkConfig};

/// Bytes of a packet on the link for each byte of its payload.
const OVERHEAD: f64 = 1500.0 / 1448.0;

/// Mbit/s on the link between two times of the sampling grid.
fn rate(flow: &FlowResult, from_s: u64, to_s: u64) -> f64 {
    goodput_mbps(flow, from_s, to_s) * OVERHEAD
}

/// The 95th percentile of the smoothed round trip in milliseconds.
fn srtt_p95_ms(flow: &FlowResult, from_s: u64) -> f64 {
    let mut values = srtts_ms(flow, from_s);
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

/// One per cent of random losses on 12 Mbit/s and 100 ms. The authors' code has a mean of 11.07 Mbit/s in eight runs, where
/// it learns of a loss together with the acknowledgment that shows it.
#[test]
fn random_losses_cost_little() {
    let rates = |congestion| -> Vec<f64> {
        let one = |seed| {
            let mut link = LinkConfig::new(12, 100, 150_000);
            (link.loss, link.loss_seed) = (0.01, seed);
            rate(&run(link, vec![flow(congestion, 0)], 60).flows[0], 10, 60)
        };
        (1..=8).map(one).collect()
    };
    let ours = rates(CongestionKind::Vivace);
    let mean = ours.iter().sum::<f64>() / 8.0;
    assert!((mean / 11.07 - 1.0).abs() < 0.05, "{ours:?}");
    assert!(rates(CongestionKind::NewReno).iter().all(|rate| *rate < 2.0));
}

/// Two flows begin 5 s apart on 24 Mbit/s and 60 ms: the authors' code has an index of Jain of 0.994.
#[test]
fn flows_share_a_link() {
    let flows = vec![flow(CongestionKind::Vivace, 0), flow(CongestionKind::Vivace, 5000)];
    let r = run(LinkConfig::new(24, 60, 180_000), flows, 120);
    let rates: Vec<f64> = r.flows.iter().map(|flow| rate(flow, 60, 120)).collect();
    assert!(jain_index(&rates) >= 0.95, "{rates:?}");
}
