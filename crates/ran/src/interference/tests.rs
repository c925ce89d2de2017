//! Two and more cells, by hand.

use airlane_core::{Dbm, Decibel, Seeds, UeId};
use airlane_radio::Position;
use airlane_radio::path_loss::{Scene, Surroundings};
use pulp::{Scalar, WithSimd};

use super::*;
use crate::build;
use crate::config::{FadingConfig, PathLossModel, RanConfig, ShadowingConfig, Start, UplinkAccess};
use crate::link::ServingLink;
use crate::tests::network;
use crate::ue::Ue;

const EARLY: Instant = Instant::ZERO;

/// Cells on a line, a kilometre apart, and UEs at these distances from the first cell, which serves
/// them.
fn line(cells: usize, ues_m: &[f64]) -> RanConfig {
    let mut config = network(ues_m.len(), UplinkAccess::IdealBufferStatus { delay: 1 });
    for k in 1..cells {
        let mut cell = config.cells[0].clone();
        cell.position = Position::on_ground(1000.0 * k as f64, 0.0);
        config.cells.push(cell);
    }
    for (ue, x) in config.ues.iter_mut().zip(ues_m) {
        ue.start = Start::At(Position::on_ground(*x, 0.0));
    }
    config
}

fn built(config: &RanConfig) -> (Air, Vec<Ue>) {
    (Air::new(&config.cells), build::Environment::new(config).ues(config, Seeds::new(1)))
}

fn data(air: &Air, ue: &mut Ue, slot: u64, rbgs: RbgSet) -> Option<Noise> {
    let link = ue.links.primary_mut();
    let snapshot = air.snapshot(EARLY, &mut link.neighbours, &mut ue.mobility);
    let moment = Moment { snapshot, fading: EARLY };
    air.data_noise(link.cell, slot, rbgs, moment, &mut link.neighbours).cloned()
}

fn send_uplink(air: &mut Air, ue: &mut Ue, prbs: Range<usize>, factor: f32) {
    let link = ue.links.primary_mut();
    let sent = SentPusch { cell: link.cell, prbs, factor };
    air.send_uplink(EARLY, sent, &mut link.neighbours, &mut ue.mobility);
}

#[test]
fn one_cell_is_never_disturbed() {
    let (air, mut ues) = built(&line(1, &[500.0]));
    assert!(air.is_quiet() && ues[0].links.primary().neighbours.channels.is_empty());
    assert_eq!(data(&air, &mut ues[0], 3, RbgSet::MAX), None);
}

#[test]
fn a_neighbour_is_heard_where_and_when_it_sends() {
    let (mut air, mut ues) = built(&line(2, &[500.0]));
    assert_eq!(data(&air, &mut ues[0], 7, RbgSet::MAX), None);
    air.send_downlink(CellId(1), 7, 0b101);
    let noise = data(&air, &mut ues[0], 7, RbgSet::MAX).unwrap();
    // 30 dBm over 100 PRBs is 10 dBm; the Friis loss at 2120 MHz and 500 m is 92.954 dB; a PRB's
    // noise is -174 + 52.5527 + 7 = -114.4473 dBm: 31.493 dB over the noise.
    let level = Decibel(10.0 - 92.9540 + 114.4473).linear() as f32;
    for (rbg, heard) in noise.rbgs[..25].iter().enumerate() {
        let expected = if rbg == 0 || rbg == 2 { 1.0 + level } else { 1.0 };
        assert!((heard / expected - 1.0).abs() < 1e-3, "RBG {rbg}: {heard} against {expected}");
    }
    // The PRBs of RBG 0 and 2 are 0 to 3 and 8 to 11.
    let mut sinr = [level; 100];
    noise.weaken(&mut sinr);
    assert!((sinr[3] - level / (1.0 + level)).abs() < 1e-3 && sinr[4] == level && sinr[12] == level);
    // Not in the adjacent slots, and not on other RBGs.
    assert_eq!(data(&air, &mut ues[0], 6, RbgSet::MAX), None);
    assert_eq!(data(&air, &mut ues[0], 8, RbgSet::MAX), None);
    assert_eq!(data(&air, &mut ues[0], 7, 0b010), None);
}

#[test]
fn an_interferer_is_heard_all_the_time_and_serves_nobody() {
    let mut config = line(2, &[500.0]);
    let at = |x| Start::At(Position::on_ground(x, 0.0));
    config.cells[1].interferer = true;
    config.ues[0].start = at(900.0); // nearer to the interferer
    config.ues[0].cell = None;
    let (air, mut ues) = built(&config);
    assert_eq!(ues[0].cell(), CellId(0));
    let always = data(&air, &mut ues[0], 7, RbgSet::MAX);
    config.cells[1].interferer = false;
    config.ues[0].cell = Some(CellId(0));
    let (mut air, mut ues) = built(&config);
    assert_eq!(data(&air, &mut ues[0], 7, RbgSet::MAX), None);
    air.send_downlink(CellId(1), 7, RbgSet::MAX);
    assert_eq!(data(&air, &mut ues[0], 7, RbgSet::MAX).map(|n| n.rbgs), always.map(|n| n.rbgs));
    // It is also in no UE's report.
    config.cells[1].interferer = true;
    assert_eq!(build::neighbours(&config), [vec![], vec![CellId(0)]]);
}

#[test]
fn the_control_region_is_always_there() {
    let (air, mut ues) = built(&line(2, &[500.0]));
    let Ue { mobility, links, .. } = &mut ues[0];
    let link = links.primary_mut();
    let snapshot = air.snapshot(EARLY, &mut link.neighbours, mobility);
    let moment = Moment { snapshot, fading: EARLY };
    let noise = air.control_noise(link.cell, moment, &mut link.neighbours).unwrap();
    let own = link.downlink.channel.mean_sinr(EARLY, mobility);
    let mut sinr = [own; 100];
    noise.weaken(&mut sinr);
    // Half-way between two cells: 0 dB, less a negligible contribution of noise.
    assert!(sinr.iter().all(|s| (s - 1.0).abs() < 1e-3), "{}", sinr[0]);
}

#[test]
fn the_sinr_of_the_control_region_is_that_of_each_middle() {
    let gain = |cell: usize, rbg: usize| ((3 * cell + 7 * rbg) % 11) as f32 * 0.3;
    let gains: Vec<_> = (0..4).map(|c| core::array::from_fn(|rbg| gain(c, rbg))).collect();
    for (prbs, rbg_size) in [(6, 1), (25, 2), (50, 3), (100, 4), (68, 4), (100, 8), (273, 16)] {
        let rbgs = usize::div_ceil(prbs, rbg_size);
        let own: Vec<f32> = (0..prbs).map(|prb| 0.1 + (prb % 13) as f32).collect();
        for fading in [&[][..], &[(2, 3.0)], &[(0, 0.5), (3, 2.0)]] {
            let control = Control { fading, gains: &gains, flat: 0.25, rbgs, rbg_size, arch: Arch::new() };
            let mut seen = [0.0; PLACES];
            let (seen, least) = control.sinr_by_rbg(Some(&own), 20.0, &mut seen);
            assert_eq!(seen.len(), rbgs);
            for (rbg, seen) in seen.iter().enumerate() {
                let middle = own[(rbg * rbg_size + rbg_size / 2).min(prbs - 1)];
                let noise = fading.iter().fold(1.0, |sum, (cell, level)| sum + level * gain(*cell, rbg));
                assert_eq!(*seen, middle * 20.0 / (noise + 0.25), "RBG {rbg} of {prbs} PRBs");
            }
            assert_eq!(least, seen.iter().copied().fold(f32::INFINITY, f32::min));
        }
    }
}

#[test]
fn the_sinrs_of_a_block_stand_side_by_side() {
    for (prbs, rbg_size) in [(6, 1), (25, 2), (50, 3), (100, 4), (99, 8), (273, 16)] {
        let rbgs = usize::div_ceil(prbs, rbg_size);
        let mut noise = Noise::alone(rbgs, rbg_size);
        (0..rbgs).for_each(|rbg| noise.rbgs[rbg] = 1.0 + rbg as f32);
        let sinr: Vec<f32> = (0..prbs).map(|prb| (prb * prb % 17) as f32 + 2.0).collect();
        for set in [1, 0b101, 1 << (rbgs - 1), ((1_u64 << rbgs) - 1) as RbgSet] {
            let of = |prb: usize| sinr[prb] * 3.0 * (1.0 / noise.rbgs[prb / rbg_size]);
            let wanted: Vec<_> = (0..prbs).filter(|prb| set >> (prb / rbg_size) & 1 == 1).map(of).collect();
            let mut to = vec![0.0; prbs];
            let (count, least) = noise.gather(set, ScaledSinr { by_prb: &sinr, scale: 3.0 }, &mut to);
            assert_eq!(to[..count], wanted, "RBGs {set:b} of {prbs} PRBs");
            assert_eq!(least, wanted.iter().copied().fold(f32::INFINITY, f32::min));
        }
    }
}

#[test]
fn another_carrier_does_not_disturb() {
    let mut config = line(2, &[500.0]);
    config.cells[1].downlink_hz += 20e6;
    config.cells[1].uplink_hz += 20e6;
    let (mut air, mut ues) = built(&config);
    air.send_downlink(CellId(1), 7, RbgSet::MAX);
    assert_eq!(data(&air, &mut ues[0], 7, RbgSet::MAX), None);
    send_uplink(&mut air, &mut ues[0], 0..100, 1.0);
    assert!(air.sites[1].rise.iter().all(|&rise| rise == 0.0));
}

#[test]
fn what_is_more_than_30_db_under_the_noise_is_silent() {
    // At 500 m it is 31.493 dB above the noise of 7 dB; reaching -30 dB takes 61.493 dB.
    for (weaker_db, heard) in [(61.4, true), (61.6, false)] {
        let mut config = line(2, &[500.0]);
        config.cells[1].tx_power = Dbm(30.0 - weaker_db);
        let (mut air, mut ues) = built(&config);
        air.send_downlink(CellId(1), 7, RbgSet::MAX);
        assert_eq!(data(&air, &mut ues[0], 7, RbgSet::MAX).is_some(), heard, "{weaker_db} dB");
    }
}

/// With EVA: the mean and deviation of a third cell's contribution, over many moments.
fn fades(third_m: f64) -> (f64, f64) {
    const LOOKS: u64 = 2000;
    let mut config = line(3, &[500.0]);
    config.cells[2].position = Position::on_ground(500.0, third_m);
    config.channel.fading = Some(FadingConfig {
        profile: airlane_radio::Profile::Eva,
        speed_mps: 60.0 / 3.6,
        prb_spacing_hz: None,
    });
    let (mut air, mut ues) = built(&config);
    let Ue { mobility, links, .. } = &mut ues[0];
    let other = &mut links.primary_mut().neighbours.channels[1];
    let level = other.downlink.interference(EARLY, mobility, &mut None);
    let (mut sum, mut square) = (0.0, 0.0);
    for k in 0..LOOKS {
        let Ue { mobility, links, .. } = &mut ues[0];
        let ServingLink { cell, neighbours, .. } = links.primary_mut();
        let mut snapshot = |air: &Air| {
            let snapshot = air.snapshot(EARLY, neighbours, mobility);
            let moment = Moment { snapshot, fading: Instant::from_millis(37 * k) };
            let noise = air.data_noise(*cell, 7, 1, moment, neighbours);
            f64::from(noise.unwrap().rbgs[0])
        };
        air.send_downlink(CellId(1), 7, RbgSet::MAX);
        air.send_downlink(CellId(2), 7, 0);
        let without = snapshot(&air);
        air.send_downlink(CellId(2), 7, RbgSet::MAX);
        let added = (snapshot(&air) - without) / f64::from(level);
        sum += added;
        square += added * added;
    }
    let mean = sum / LOOKS as f64;
    (mean, (square / LOOKS as f64 - mean * mean).max(0.0).sqrt())
}

#[test]
fn a_strong_interferer_fades_and_a_weak_one_counts_with_its_mean() {
    // As strong as the other: the standard deviation of Rayleigh power equals its mean, here one. Standard
    // error of the mean over 74 s at 118 Hz Doppler: below 0.03.
    let (mean, deviation) = fades(500.0);
    assert!((mean - 1.0).abs() < 0.12 && (deviation - 1.0).abs() < 0.2, "{mean} ± {deviation}");
    // 4 times as far is 1/16 of it, 5.9 % of the sum: its mean, except for the rounding of the sum.
    let (mean, deviation) = fades(2000.0);
    assert!((mean - 1.0).abs() < 1e-2 && deviation < 1e-2, "{mean} ± {deviation}");
}

#[test]
fn an_enb_hears_the_ues_of_others_on_their_prbs() {
    let mut config = line(2, &[600.0]);
    config.cells[0].noise_figure = Decibel(5.0);
    let (mut air, mut ues) = built(&config);
    air.begin_uplink(Instant::from_millis(1));
    send_uplink(&mut air, &mut ues[0], 10..20, 2.0);
    // 23 dBm over 100 PRBs is 3 dBm, twice that 6.0103 dBm; the Friis loss at 1930 MHz and 400 m is
    // 90.200 dB; a PRB's noise is -174 + 52.5527 + 5 = -116.4473 dBm.
    let level = Decibel(6.0103 - 90.2004 + 116.4473).linear() as f32;
    for (prb, rise) in air.sites[1].rise.iter().enumerate() {
        let expected = if (10..20).contains(&prb) { level } else { 0.0 };
        assert!((rise - expected).abs() <= 1e-3 * level, "PRB {prb}: {rise} against {expected}");
    }
    assert!(air.sites[0].rise.iter().all(|&rise| rise == 0.0), "its own cell hears a signal");
    // One slot in 32 enters the average, which decays over slots without transmissions.
    air.begin_uplink(Instant::from_millis(2));
    assert!((air.sites[1].mean_rise[10] - level / 32.0).abs() < 1e-3 * level);
    air.begin_uplink(Instant::from_millis(34));
    let later = level / 32.0 * libm::powf(31.0 / 32.0, 32.0);
    assert!((air.sites[1].mean_rise[10] / later - 1.0).abs() < 1e-3);
}

#[test]
fn a_ue_is_served_by_the_cell_that_it_receives_best() {
    let mut config = line(2, &[400.0, 600.0]);
    config.ues.iter_mut().for_each(|ue| ue.cell = None);
    let cells = |config: &RanConfig| built(config).1.iter().map(|ue| ue.cell().0).collect::<Vec<_>>();
    assert_eq!(cells(&config), [0, 1]);
    // 20 log10(600 / 400) = 3.52 dB: with 3.6 dB more, the second cell is stronger at the first UE.
    config.cells[1].tx_power = Dbm(33.6);
    assert_eq!(cells(&config), [1, 1]);
    // Transmit diversity does not increase the power of reference signals.
    config.cells[1].tx_power = Dbm(30.0);
    config.cells[1].transmission_mode = airlane_radio::TransmissionMode::TransmitDiversity;
    assert_eq!(cells(&config), [0, 1]);
    // 30 dBm over 1200 subcarriers is -0.7918 dBm, less Friis at 400 m: 91.0158 dB.
    let mut ue = built(&config).1.swap_remove(0);
    let rsrp = ue.links.primary_mut().downlink.channel.rsrp(EARLY, &mut ue.mobility, &mut None);
    assert!((rsrp.0 + 91.8076).abs() < 1e-3, "{rsrp:?}");
    assert_eq!(ue.id, UeId(0));
}

/// Eleven rectangles of ns-3's tests: SINR of the PRBs in both directions while both cells transmit.
#[test]
fn sinr_beside_a_neighbour_is_that_of_ns3() {
    let text = include_str!("../../data/interference_ns3.csv");
    let mut compared = 0;
    for line in text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
        let row: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
        let (d1, d2) = (row[0], row[1]);
        let mut config = rectangle(d1, d2);
        config.ues.iter_mut().for_each(|ue| (ue.tx_power, ue.noise_figure) = (Dbm(10.0), Decibel(9.0)));
        let (mut air, mut ues) = built(&config);
        (0..2).for_each(|cell| air.send_downlink(CellId(cell), 7, RbgSet::MAX));
        for ue in &mut ues {
            send_uplink(&mut air, ue, 0..25, 1.0);
        }
        let ue = &mut ues[0];
        let link = ue.links.primary_mut();
        let mut downlink = [link.downlink.channel.mean_sinr(EARLY, &mut ue.mobility); 25];
        let mut uplink = [link.uplink.channel.mean_sinr(EARLY, &mut ue.mobility); 25];
        data(&air, ue, 7, RbgSet::MAX).inspect(|noise| noise.weaken(&mut downlink));
        air.weaken_uplink(CellId(0), 0..25, &mut uplink);
        // ns-3 uses the path loss at the PRB's own frequency, which differs by 0.01 dB from that of
        // the carrier.
        for (ours, expected) in [(downlink[0], row[2]), (uplink[0], row[3])] {
            let apart = Decibel::from_linear(f64::from(ours) / expected).0;
            assert!(apart.abs() < 0.02, "{d1} m, {d2} m: {ours} against {expected}");
            compared += 1;
        }
    }
    assert_eq!(compared, 22);
}

/// The cells are at (0, 0) and (d2, d1), their UEs at (0, d1) and (d2, 0).
fn rectangle(d1: f64, d2: f64) -> RanConfig {
    let mut config = line(2, &[0.0, 0.0]);
    config.cells.iter_mut().for_each(|cell| cell.resource_blocks = 25);
    config.cells[1].position = Position::on_ground(d2, d1);
    for (ue, (cell, x, y)) in config.ues.iter_mut().zip([(0, 0.0, d1), (1, d2, 0.0)]) {
        (ue.cell, ue.start) = (Some(CellId(cell)), Start::At(Position::on_ground(x, y)));
    }
    config
}

/// Noise and interference of these cells on these RBGs, with these vectors.
fn added(levels: &[f32], sent: &[RbgSet], wanted: RbgSet, vectors: Option<Arch>) -> (f32, Noise) {
    let rivals = vec![RbgSet::MAX; levels.len()];
    let (mut heard, mut noise) = (Heard::new(levels.len()), Noise::alone(17, 3));
    let listen = Listen { heard: &mut heard, levels, sent, rivals: &rivals, wanted, share: SMALL };
    let total = match vectors {
        Some(arch) => arch.dispatch(listen),
        None => listen.with_simd(Scalar),
    };
    let gains: [f32; PLACES] = core::array::from_fn(|rbg| 0.1 + rbg as f32 / 7.0);
    let fades =
        |cell: usize, level: f32| (!cell.is_multiple_of(3) && level >= SMALL * total).then_some(&gains);
    let add_up = AddUp { noise: &mut noise, heard: &mut heard, wanted, fades };
    match vectors {
        Some(arch) => arch.dispatch(add_up),
        None => add_up.with_simd(Scalar),
    }
    (total, noise)
}

#[test]
fn interference_is_the_same_in_vectors_of_any_width() {
    let mut stream = Seeds::new(1).stream("cells");
    for _ in 0..500 {
        let wanted = (stream.bits() as RbgSet & 0x1_ffff) | 1;
        let levels: Vec<f32> = (0..24).map(|_| (20.0 * stream.uniform() - 4.0).max(0.0) as f32).collect();
        let sent: Vec<RbgSet> = (0..24)
            .map(|_| match stream.bits() % 3 {
                0 => 0,
                1 => RbgSet::MAX,
                _ => stream.bits() as RbgSet,
            })
            .collect();
        let (total, noise) = added(&levels, &sent, wanted, None);
        assert_eq!((total, noise.clone()), added(&levels, &sent, wanted, Some(Arch::new())));
        // By hand on the lowest RBG, up to rounding: what is sent there, and its fading.
        let mut expected = 1.0;
        for (cell, (level, sent)) in
            levels.iter().zip(&sent).enumerate().filter(|(_, (_, sent))| **sent & 1 == 1)
        {
            let fades = !cell.is_multiple_of(3) && *level >= SMALL * total;
            expected += if fades { 0.1 * level } else { *level };
            assert!(sent & wanted != 0);
        }
        assert!((noise.rbgs[0] / expected - 1.0).abs() < 1e-5, "{} against {expected}", noise.rbgs[0]);
    }
}

/// 91 sites 500 m apart, and UEs around the middle one, in the urban macro cells of TR 36.814 with shadowing.
fn town(strongest_cells: Option<usize>) -> RanConfig {
    let mut config = line(1, &[0.0; 200]);
    let cell = CellConfig { position: Position { x: 0.0, y: 0.0, z: 25.0 }, ..config.cells[0].clone() };
    let row = |j: i32| (-5..=5).filter(move |i: &i32| (i + j).abs() <= 5).map(move |i| (i, j));
    let site = |(i, j): (i32, i32)| {
        let (i, j) = (f64::from(i), f64::from(j));
        Position { x: 500.0 * (i + j / 2.0), y: 250.0 * 3.0_f64.sqrt() * j, z: 25.0 }
    };
    let cells = (-5..=5).flat_map(row).map(|at| CellConfig {
        position: site(at),
        tx_power: Dbm(46.0),
        ..cell.clone()
    });
    config.cells = cells.collect();
    let surroundings =
        Surroundings { scene: Scene::UrbanMacro, street_width_m: 20.0, building_height_m: 20.0 };
    config.channel.path_loss = PathLossModel::Macro36814 { surroundings };
    config.channel.shadowing =
        Some(ShadowingConfig { deviation: None, correlation_m: None, site_correlation: 0.5 });
    config.channel.links.strongest_cells = strongest_cells;
    for (place, ue) in config.ues.iter_mut().enumerate() {
        let (radius, angle) = (35.0 + 215.0 * (place as f64 / 200.0).sqrt(), 2.4 * place as f64);
        ue.cell = None;
        ue.start = Start::At(Position { x: radius * libm::cos(angle), y: radius * libm::sin(angle), z: 1.5 });
    }
    config
}

/// Interference over noise of each UE in dB, with all cells or every third one sending.
fn geometry(strongest_cells: Option<usize>, every: usize) -> Vec<f64> {
    let (mut air, mut ues) = built(&town(strongest_cells));
    (0..91).step_by(every).for_each(|cell| air.send_downlink(CellId(cell), 7, RbgSet::MAX >> 7));
    let of = |ue: &mut Ue| f64::from(data(&air, ue, 7, RbgSet::MAX).unwrap().mean());
    ues.iter_mut().map(|ue| 10.0 * libm::log10(of(ue))).collect()
}

#[test]
fn weak_cells_count_with_their_mean() {
    for every in [1, 3] {
        let whole = geometry(None, every);
        for (cells, mean, most) in [(20, 0.1, 1.0), (30, 0.05, 0.5)] {
            let near = geometry(Some(cells), every);
            let off: Vec<f64> = near.iter().zip(&whole).map(|(near, whole)| near - whole).collect();
            let average = off.iter().sum::<f64>() / off.len() as f64;
            let worst = off.iter().fold(0.0_f64, |worst, off| worst.max(off.abs()));
            assert!(average.abs() <= mean && worst <= most, "{cells} cells: {average} dB, worst {worst} dB");
        }
    }
    assert_eq!(geometry(Some(91), 1), geometry(None, 1));
}

mod moving;
