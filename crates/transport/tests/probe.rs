mod harness;
use airlane_core::*;
use airlane_transport::*;
use harness::*;

fn cfg(cc: CongestionKind, ts: bool, frto: bool, hystart: bool) -> TcpConfig {
    TcpConfig {
        congestion: cc,
        timestamps: ts,
        frto,
        hystart,
        receive_window: ReceiveWindowKind::Autotuned { initial: Bytes(131072), max: Bytes(16 << 20) },
        ..TcpConfig::linux()
    }
}
fn flow(c: TcpConfig, start_s: u64, bytes: Option<u64>) -> FlowConfig {
    FlowConfig { sender: c.clone(), receiver: c, start: Instant::from_millis(start_s * 1000), bytes }
}
fn show(id: &str, link: LinkConfig, flows: Vec<FlowConfig>, end_s: u64, every_ms: u64) {
    if let Ok(f) = std::env::var("ONLY") {
        if !id.contains(&f) {
            return;
        }
    }
    let n = flows.len();
    let starts: Vec<_> = flows.iter().map(|f| f.start).collect();
    let mut h = Harness::new(link, flows);
    h.sample_every = Duration::from_millis(every_ms);
    let end = Instant::from_millis(end_s * 1000);
    let r = h.run(end);
    for i in 0..n {
        let f = &r.flows[i];
        let s = f.sender;
        let dur = (end - starts[i]).as_secs_f64();
        let good = s.bytes_acked.get() as f64 * 8.0 / dur / 1e6;
        let est: Vec<_> = f.samples.iter().filter(|x| !x.stats.srtt.is_zero()).collect();
        let srtt = est.iter().map(|x| x.stats.srtt.as_millis_f64()).sum::<f64>() / est.len() as f64;
        let cw = est.iter().map(|x| x.stats.congestion_window.get() as f64).sum::<f64>()
            / est.len() as f64
            / 1448.0;
        println!(
            "{id} fl {i} gw {good:.4} seg {} rtx {} rto {} tlp {} rec {} undone {}/{} ds {} qd {} {} srtt {srtt:.3} cw {cw:.2} fct {:?} {:?}",
            s.data_segments_sent,
            s.retransmissions,
            s.timeouts,
            s.loss_probes,
            s.recoveries,
            s.timeouts_undone,
            s.recoveries_undone,
            s.dsack_received,
            r.queue_drops,
            r.random_drops,
            f.last_byte_read.map(|t| t.as_secs_f64()),
            f.sender_saw_fin.map(|t| t.as_secs_f64())
        );
        if std::env::var("SERIES").is_ok() {
            for x in &f.samples {
                println!(
                    "{:.4},{},{},{},{},{},{}",
                    x.at.as_secs_f64(),
                    x.stats.congestion_window.get() / 1448,
                    x.stats.ssthresh.map_or(-1, |s| s.get() as i64 / 1448),
                    x.stats.srtt.as_micros(),
                    x.stats.rto.as_micros(),
                    x.stats.bytes_acked.get(),
                    x.stats.retransmissions
                );
            }
            for e in &r.events {
                println!("{e}");
            }
        }
    }
}
#[test]
#[ignore = "prints"]
fn all() {
    use CongestionKind::*;
    for (name, cc) in [("reno", NewReno), ("cubic", Cubic)] {
        let c = cfg(cc, true, true, true);
        show(
            &format!("A-{name}-buf1bdp"),
            LinkConfig::new(10, 40, 50000),
            vec![flow(c.clone(), 0, None)],
            60,
            100,
        );
        show(
            &format!("A-{name}-buf0.25bdp"),
            LinkConfig::new(10, 40, 12500),
            vec![flow(c.clone(), 0, None)],
            60,
            100,
        );
        show(&format!("B-{name}"), LinkConfig::new(75, 60, 524288), vec![flow(c.clone(), 0, None)], 30, 100);
        for seed in 1..=3 {
            for (ln, p) in [("1", 0.01), ("0.1", 0.001)] {
                let l = LinkConfig { loss: p, loss_seed: seed, ..LinkConfig::new(50, 40, 1048576) };
                show(
                    &format!("C-{name}-loss{ln}pct-seed{seed}"),
                    l,
                    vec![flow(c.clone(), 0, None)],
                    60,
                    if seed == 1 { 100 } else { 200 },
                );
            }
        }
        show(
            &format!("D-{name}-{name}"),
            LinkConfig::new(20, 40, 100000),
            vec![flow(c.clone(), 0, None), flow(c.clone(), 5, None)],
            90,
            100,
        );
        show(
            &format!("E-{name}-10to50"),
            LinkConfig {
                rate_step: Some((Instant::from_millis(20000), BitRate(50_000_000))),
                ..LinkConfig::new(10, 60, 524288)
            },
            vec![flow(c.clone(), 0, None)],
            40,
            100,
        );
        for frto in [true, false] {
            for ts in [true, false] {
                let l = LinkConfig {
                    hold: Some((Instant::from_millis(10000), Instant::from_millis(11000))),
                    ..LinkConfig::new(20, 40, 1048576)
                };
                show(
                    &format!("F-{name}-frto{}{}", if frto { 2 } else { 0 }, if ts { "" } else { "-nots" }),
                    l,
                    vec![flow(cfg(cc, ts, frto, true), 0, None)],
                    20,
                    100,
                );
            }
        }
        for b in [30_000, 100_000, 10_000_000] {
            show(
                &format!("G-{name}-{b}"),
                LinkConfig::new(50, 40, 1048576),
                vec![flow(c.clone(), 0, Some(b))],
                10,
                10,
            );
        }
    }
    let c = cfg(Cubic, true, true, false);
    show("B-cubic-nohystart", LinkConfig::new(75, 60, 524288), vec![flow(c.clone(), 0, None)], 30, 100);
    show(
        "G-cubic-nohystart-10MB",
        LinkConfig::new(50, 40, 1048576),
        vec![flow(c.clone(), 0, Some(10_000_000))],
        10,
        10,
    );
    show(
        "D-reno-then-cubic",
        LinkConfig::new(20, 40, 100000),
        vec![flow(cfg(NewReno, true, true, true), 0, None), flow(cfg(Cubic, true, true, true), 5, None)],
        90,
        100,
    );
}
#[test]
#[ignore = "prints"]
fn acks() {
    let c = cfg(CongestionKind::Cubic, true, true, true);
    let mut h = Harness::new(LinkConfig::new(10, 60, 524288), vec![flow(c, 0, None)]);
    h.fate_back = Some(Box::new(|_, now, h, _| {
        println!(
            "{:.3} ack {} win {}",
            now.as_secs_f64() * 1e3,
            (h.acknowledgment.wrapping_sub(1)) as f64 / 1448.0,
            (h.window as u64) << 9
        );
        false
    }));
    h.run(Instant::from_millis(250));
}
#[test]
#[ignore = "prints"]
fn acks_c() {
    let c = cfg(CongestionKind::NewReno, true, true, true);
    let l = LinkConfig { loss: 0.01, loss_seed: 1, ..LinkConfig::new(50, 40, 1048576) };
    let mut h = Harness::new(l, vec![flow(c, 0, None)]);
    h.fate_back = Some(Box::new(|_, now, h, _| {
        println!(
            "{:.3} ack {} win {} sack {:?}",
            now.as_secs_f64() * 1e3,
            (h.acknowledgment.wrapping_sub(1)) as f64 / 1448.0,
            (h.window as u64) << 9,
            h.sack.as_slice().iter().map(|b| ((b.left - 1) / 1448, (b.right - 1) / 1448)).collect::<Vec<_>>()
        );
        false
    }));
    h.run(Instant::from_millis(450));
}
#[test]
#[ignore = "prints"]
fn acks_a() {
    let c = cfg(CongestionKind::NewReno, true, true, true);
    let l = LinkConfig::new(10, 40, 12500);
    let mut h = Harness::new(l, vec![flow(c, 0, None)]);
    h.fate_back = Some(Box::new(|_, now, h, _| {
        println!(
            "{:.3} ack {} win {} sack {:?}",
            now.as_secs_f64() * 1e3,
            (h.acknowledgment.wrapping_sub(1)) as f64 / 1448.0,
            (h.window as u64) << 9,
            h.sack.as_slice().iter().map(|b| ((b.left - 1) / 1448, (b.right - 1) / 1448)).collect::<Vec<_>>()
        );
        false
    }));
    h.fate = Some(Box::new(|_, now, h, _| {
        println!("{:.3} data {}", now.as_secs_f64() * 1e3, (h.sequence.wrapping_sub(1)) as f64 / 1448.0);
        false
    }));
    h.run(Instant::from_millis(4200));
}
