//! UEs that move with channels to the strongest cells alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use airlane_radio::antenna::{Antenna, Sector};
use airlane_radio::mobility::{Course, Movement, SpeedLaw};

use super::*;
use crate::config::ChannelConfig;

const SPEED_MPS: f64 = 14.0;
const UES: usize = 60;

/// [`town`] with every UE on a straight line.
fn drives(strongest_cells: Option<usize>) -> RanConfig {
    let mut config = town(strongest_cells);
    config.ues.truncate(UES);
    for (place, ue) in config.ues.iter_mut().enumerate() {
        let heading = Course::Heading(137.5 * place as f64);
        ue.movement = Movement::Line(heading, SpeedLaw::Constant(SPEED_MPS));
    }
    config
}

/// The middle 19 sites of [`drives`] with three sectors each.
fn sectors(strongest_cells: Option<usize>) -> RanConfig {
    let mut config = drives(strongest_cells);
    config.cells.retain(|cell| cell.position.ground_distance(&Position::on_ground(0.0, 0.0)) < 1001.0);
    let of = |cell: &CellConfig| {
        [30.0, 150.0, 270.0].map(|azimuth_deg| CellConfig {
            antenna: Antenna::Sector(Sector {
                gain: Decibel(14.0),
                azimuth_deg,
                beamwidth_deg: 70.0,
                front_to_back: Decibel(20.0),
            }),
            ..cell.clone()
        })
    };
    config.cells = config.cells.iter().flat_map(of).collect();
    config
}

fn snapshot(air: &Air, ue: &mut Ue, at: Instant) -> Snapshot {
    air.snapshot(at, &mut ue.links.primary_mut().neighbours, &mut ue.mobility)
}

/// Interference over noise of each UE in dB while all cells send, every 100 ms of 20 s.
fn heard(config: &RanConfig) -> Vec<f64> {
    let (mut air, mut ues) = built(config);
    (0..config.cells.len()).for_each(|cell| air.send_downlink(CellId(cell as u32), 7, RbgSet::MAX >> 7));
    let mut heard = Vec::new();
    for step in 0..200 {
        for ue in &mut ues {
            let snapshot = snapshot(&air, ue, Instant::from_millis(100 * step));
            let moment = Moment { snapshot, fading: EARLY };
            let link = ue.links.primary_mut();
            let noise = air.data_noise(link.cell, 7, RbgSet::MAX, moment, &mut link.neighbours);
            heard.push(10.0 * f64::from(libm::log10f(noise.unwrap().mean())));
        }
    }
    heard
}

/// Mean, root of the mean square, and largest difference.
fn apart(one: &[f64], other: &[f64]) -> [f64; 3] {
    let off: Vec<f64> = one.iter().zip(other).map(|(one, other)| one - other).collect();
    let count = off.len() as f64;
    let square = off.iter().map(|off| off * off).sum::<f64>() / count;
    [off.iter().sum::<f64>() / count, square.sqrt(), off.iter().fold(0.0, |most, off| most.max(off.abs()))]
}

/// All cells send, so that those out of reach count with their power.
#[test]
fn path_loss_and_angles_are_renewed_within_their_bound() {
    for (of, cells) in [(drives as fn(_) -> _, 30), (drives, 10), (sectors, 20)] {
        let still = |strongest| RanConfig {
            channel: ChannelConfig { shadowing: None, ..of(strongest).channel },
            ..of(strongest)
        };
        let [_, _, most] = apart(&heard(&still(Some(cells))), &heard(&still(None)));
        println!("{cells} cells: {most} dB");
        assert!(most <= 0.1 && most > 0.0, "{cells} cells: {most} dB");
    }
}

#[test]
fn shadowing_out_of_reach_is_renewed_within_its_bound() {
    for (of, cells, largest) in [(drives as fn(_) -> _, 30, 0.5), (sectors, 20, 1.0)] {
        let [mean, deviation, most] = apart(&heard(&of(Some(cells))), &heard(&of(None)));
        println!("{cells} cells: {mean} ± {deviation} dB, at most {most} dB");
        assert!(
            mean.abs() <= 0.01 && deviation <= 0.1 && most <= largest,
            "{cells} cells: {mean} ± {deviation} dB"
        );
    }
    assert_eq!(heard(&drives(Some(91))), heard(&drives(None)));
}

/// A channel is a function of place, time and the names of its streams, however often its cell left and returned.
#[test]
fn a_cell_that_returns_has_the_channel_that_it_had() {
    const CELLS: usize = 10;
    let with_fading = |strongest| {
        let mut config = drives(strongest);
        let profile = airlane_radio::Profile::Eva;
        config.channel.fading = Some(FadingConfig { profile, speed_mps: SPEED_MPS, prb_spacing_hz: None });
        config
    };
    let (air, mut near) = built(&with_fading(Some(CELLS)));
    let (_, mut all) = built(&with_fading(None));
    let (mut returned, mut largest) = (0, 0);
    for (near, all) in near.iter_mut().zip(&mut all) {
        let (mut seen, mut before) = (BTreeSet::new(), BTreeSet::new());
        for step in 0..100 {
            let now = Instant::from_millis(200 * step);
            snapshot(&air, near, now);
            let here = near.mobility.position_at(now);
            let links = &mut near.links.primary_mut().neighbours.channels;
            let cells: BTreeSet<_> = links.iter().map(|link| link.cell).collect();
            returned += cells.difference(&before).filter(|cell| !seen.insert(**cell)).count();
            largest = largest.max(cells.len());
            before = cells;
            let whole = &mut all.links.primary_mut().neighbours.channels;
            for link in links {
                let same = whole.iter_mut().find(|other| other.cell == link.cell).unwrap();
                let [mut here_gains, mut whole_gains] = [[0.0; PLACES]; 2];
                link.downlink.rbg_gains(now, &mut here_gains[..25]);
                same.downlink.rbg_gains(now, &mut whole_gains[..25]);
                assert_eq!(here_gains, whole_gains);
                let level = |channel: &mut Channel| channel.interference_at(&here, &mut None);
                assert_eq!(level(&mut link.downlink), level(&mut same.downlink));
                assert_eq!(level(&mut link.uplink), level(&mut same.uplink));
            }
        }
    }
    println!("{returned} cells returned; at most {largest} in reach beside the serving one");
    assert!(returned > UES, "{returned} cells returned");
    // Those within 3 dB of the weakest of the strongest stay.
    assert!((CELLS..2 * CELLS).contains(&largest), "{largest} cells in reach");
}

#[test]
fn a_cell_in_use_stays_in_reach() {
    let (air, mut ues) = built(&drives(Some(5)));
    let (mut stayed, mut left) = (0, 0);
    for ue in &mut ues {
        snapshot(&air, ue, EARLY);
        let serving = ue.cell();
        let held: Vec<_> = ue.links.primary().neighbours.channels.iter().map(|link| link.cell).collect();
        ue.links.primary_mut().neighbours.hold(held.iter().copied());
        let in_reach = |ue: &Ue, cell: CellId| {
            ue.links.primary().neighbours.reach.as_ref().unwrap().cells.contains(&cell)
        };
        // 840 m farther.
        snapshot(&air, ue, Instant::from_millis(60_000));
        assert!(held.iter().chain([&serving]).all(|cell| in_reach(ue, *cell)));
        stayed += held.len();
        ue.links.primary_mut().neighbours.hold([].into_iter());
        snapshot(&air, ue, Instant::from_millis(70_000));
        assert!(in_reach(ue, serving));
        left += held.iter().filter(|cell| !in_reach(ue, **cell)).count();
    }
    assert!(left * 2 > stayed, "{left} of {stayed} cells left");
}

/// An eNB may choose a cell that is not in reach, such as one of a report that is old.
#[test]
fn a_ue_may_enter_a_cell_that_is_out_of_reach() {
    let config = drives(Some(5));
    let (air, mut ues) = built(&config);
    let (_, mut all) = built(&drives(None));
    for (ue, whole) in ues.iter_mut().zip(&mut all) {
        let at = Instant::from_millis(1000);
        for ue in [&mut *ue, &mut *whole] {
            snapshot(&air, ue, EARLY);
            ue.links.primary_mut().enter(ue.id, CellId(90), &config.cells[90]);
            snapshot(&air, ue, at);
        }
        assert_eq!(ue.cell(), CellId(90));
        let rsrp =
            |ue: &mut Ue| ue.links.primary_mut().downlink.channel.rsrp(at, &mut ue.mobility, &mut None);
        assert_eq!(rsrp(ue), rsrp(whole));
    }
}

/// [`sectors`] with the laws and the shadowing of a town as rasters of 10 m.
fn surveyed(strongest_cells: Option<usize>) -> RanConfig {
    use std::fmt::Write;

    use airlane_radio::shadowing::Field;
    use airlane_radio::{LossKind, PathLoss, RadioPath, Raster, Shadowing};

    const SIDE: i32 = 60;
    let mut config = sectors(strongest_cells);
    let mut known: Vec<(Position, Arc<Raster>)> = Vec::new();
    for cell in &mut config.cells {
        if let Some((_, raster)) = known.iter().find(|(site, _)| *site == cell.position) {
            cell.path_loss_map = Some(Arc::clone(raster));
            continue;
        }
        let field = |what: &str| Field::new(&mut Seeds::new(3).stream(&format!("{what}/{}", known.len())));
        let hills = Shadowing::new(field("common"), field("own"), 0.0);
        let mut text = format!(
            "ncols {0} nrows {0} xllcenter -{1} yllcenter -{1} cellsize 10\n",
            2 * SIDE + 1,
            10 * SIDE
        );
        for north in (-SIDE..=SIDE).rev() {
            for east in -SIDE..=SIDE {
                let place = Position { x: f64::from(10 * east), y: f64::from(10 * north), z: 1.5 };
                let law = PathLoss::Macro25814.loss(&RadioPath::between(&cell.position, &place, false)).0;
                let loss = law + 6.0 * hills.at(&place, 50.0);
                write!(text, "{loss:.2} ").unwrap();
            }
        }
        let raster = Arc::new(Raster::parse(&text, LossKind::PathLoss).unwrap());
        cell.path_loss_map = Some(Arc::clone(&raster));
        known.push((cell.position, raster));
    }
    config
}

#[test]
fn rasters_out_of_reach_are_renewed_within_the_bound_of_shadowing() {
    let [mean, deviation, most] = apart(&heard(&surveyed(Some(20))), &heard(&surveyed(None)));
    println!("{mean} ± {deviation} dB, at most {most} dB");
    assert!(mean.abs() <= 0.01 && deviation <= 0.1 && deviation > 0.0, "{mean} ± {deviation} dB");
}
