//! The cost of the radio computations of one UE per slot.

use std::hint::black_box;
use std::sync::Arc;

use airlane_core::Direction::Downlink;
use airlane_core::{Instant, Seeds};
use airlane_radio::link_tables::LTE;
use airlane_radio::mutual_information;
use airlane_radio::{Amc, AmcRule, CodedBlock, Cqi, Fading, FrequencyGrid, HarqSoftState, Mcs, Profile};
use criterion::Criterion;

fn fading(c: &mut Criterion) {
    for profile in [Profile::Epa, Profile::Eva, Profile::Etu, Profile::Flat] {
        let grid = Arc::new(FrequencyGrid::new(profile, 100, 4));
        let links: Vec<Fading> = (0..100)
            .map(|ue| {
                let mut stream = Seeds::new(1).stream(&format!("cell/0/ue/{ue}/fading"));
                Fading::new(&grid, 16.7, 2120e6, &mut stream)
            })
            .collect();
        let mut out = [0.0; 100];
        let mut tick = 0_u64;
        let mut next = || {
            tick += 1;
            (Instant::from_millis(tick / 100), (tick % 100) as usize)
        };
        c.bench_function(&format!("fading/{profile:?}/100 PRB of 100 UEs in turn"), |b| {
            b.iter(|| {
                let (now, ue) = next();
                links[ue].gains(now, &mut out);
                black_box(&out);
            });
        });
        c.bench_function(&format!("fading/{profile:?}/25 RBG of 100 UEs in turn"), |b| {
            b.iter(|| {
                let (now, ue) = next();
                links[ue].gains_at_rbg(now, &mut out[..25]);
                black_box(&out);
            });
        });
    }
}

fn link_adaptation(c: &mut Criterion) {
    let amc = Amc::new(&LTE, AmcRule::MUTUAL_INFORMATION, Downlink, 100, 4);
    let sinr: Vec<f32> = (0..100).map(|k| 1.0 + 0.7 * k as f32).collect();
    let mut cqi = [Cqi::OUT_OF_RANGE; 25];
    c.bench_function("information/100 PRB", |b| b.iter(|| mutual_information::mean(black_box(&sinr))));
    c.bench_function("cqi/report, 100 PRB", |b| b.iter(|| amc.report(black_box(&sinr), 4, &mut cqi)));
    c.bench_function("cqi/report, 25 RBG", |b| b.iter(|| amc.report(black_box(&sinr[..25]), 1, &mut cqi)));
    c.bench_function("cqi/wideband, flat", |b| b.iter(|| amc.wideband_cqi(black_box(&sinr[..1]))));
    let mcs = Mcs::new(20);
    let size = mcs.transport_block(100, Downlink);
    for (name, points) in [("flat", 1), ("100 PRB", 100)] {
        c.bench_function(&format!("block/new, receive, error rate, {name}"), |b| {
            b.iter(|| {
                let block = CodedBlock::new(mcs, Downlink, black_box(size));
                let mut state = HarqSoftState::default();
                state.receive(&block, black_box(&sinr[..points]));
                block.error_rate(&state)
            });
        });
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    fading(&mut criterion);
    link_adaptation(&mut criterion);
    criterion.final_summary();
}
