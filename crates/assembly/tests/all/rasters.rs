//! Losses from rasters in whole runs. A raster that is sampled from a law has the geometry and the handovers of the law.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use airlane_assembly::{Built, RunOutput, build_from};
use airlane_core::UeId;
use airlane_radio::{PathLoss, Position, RadioPath};
use airlane_scenario::{Extensions, Files, Resolved, Scenario};

use crate::tables::{reals, table, texts};

/// Three sites of three sectors, without fading, so that what UEs measure is the geometry.
const CITY: &str = r#"network = "typical"
[run]
duration = "1 s"
[internet]
rate = "100 Gbit/s"
queue = "1 GB"
[layout]
kind = "map"
sites = "sites.csv"
[[cell]]
name = "cell"
height = "25 m"
resource_blocks = 50
antenna = { kind = "sector", gain = "14 dB" }
[channel]
path_loss = "tr25.814"
fading = { model = "none" }
[handover]
[[ue]]
name = "user"
height = "1.5 m"
placement = { kind = "points", file = "users.csv" }
[[flow]]
to = "user"
"#;
const SITES: [(&str, [f64; 2]); 3] = [("a", [0.0, 0.0]), ("b", [500.0, 0.0]), ("c", [250.0, 433.0])];
/// The corner in the south-west, and the side of a square of rasters.
const CORNER_M: [f64; 2] = [-300.0, -300.0];
const SIDE_M: f64 = 1100.0;

/// A square grid of losses with cells of this width.
fn grid(cell_m: f64, loss: impl Fn(f64, f64) -> f64) -> String {
    let count = (SIDE_M / cell_m) as usize;
    let [west, south] = CORNER_M;
    let mut text = format!(
        "ncols {count}\nnrows {count}\nxllcorner {west}\nyllcorner {south}\ncellsize {cell_m}\nNODATA_value -9999\n"
    );
    for row in (0..count).rev() {
        let centre = |index: usize, from: f64| from + cell_m * (index as f64 + 0.5);
        for column in 0..count {
            write!(text, "{:.4} ", loss(centre(column, west), centre(row, south))).unwrap();
        }
        text.push('\n');
    }
    text
}

/// The path loss of `tr25.814` from a site.
fn law(site: [f64; 2]) -> impl Fn(f64, f64) -> f64 {
    move |x, y| {
        let site = Position { x: site[0], y: site[1], z: 25.0 };
        PathLoss::Macro25814.loss(&RadioPath::between(&site, &Position { x, y, z: 1.5 }, true)).0
    }
}

/// The files of [`CITY`] with its laws, or with rasters of them.
fn files(users: &str, raster_m: Option<f64>) -> BTreeMap<String, Vec<u8>> {
    let mut sites = "id,x,y,azimuths,path_loss_map\n".to_owned();
    let mut files = BTreeMap::from([("users.csv".to_owned(), users.as_bytes().to_vec())]);
    for (name, at) in SITES {
        let map = raster_m.map_or(String::new(), |_| format!("{name}.asc"));
        writeln!(sites, "{name},{},{},30 150 270,{map}", at[0], at[1]).unwrap();
        files.extend(raster_m.map(|cell_m| (map, grid(cell_m, law(at)).into_bytes())));
    }
    files.insert("sites.csv".to_owned(), sites.into_bytes());
    files
}

/// Places of standing users, 35 m and farther from each site: that is the least distance of `tr25.814`.
fn users() -> (String, usize) {
    let (mut text, mut count) = ("id,x,y\n".to_owned(), 0);
    for k in 0..60 {
        let place = [-190.0 + 14.7 * f64::from(k), -150.0 + f64::from(k * 397 % 701)];
        let far = |site: [f64; 2]| {
            Position::on_ground(site[0], site[1]).ground_distance(&Position::on_ground(place[0], place[1]))
                >= 35.0
        };
        if SITES.iter().all(|(_, site)| far(*site)) {
            count += 1;
            writeln!(text, "{count},{:.1},{:.1}", place[0], place[1]).unwrap();
        }
    }
    (text, count)
}

/// A scenario with its files.
#[derive(Clone)]
struct Given {
    scenario: Resolved,
    files: Files,
}

impl Given {
    fn new(text: &str, files: BTreeMap<String, Vec<u8>>) -> Self {
        let files = Files::Given(Arc::new(files));
        let scenario = Scenario::parse(text, "city.toml").unwrap().with_files(files.clone());
        Self { scenario: scenario.resolve().unwrap_or_else(|e| panic!("{e}")), files }
    }

    fn built(&self, threads: usize) -> Built {
        let mut built = build_from(&self.scenario, 1, &Extensions::default(), &self.files).unwrap();
        built.use_threads_from(0, threads);
        assert!(built.run(&AtomicBool::new(false)));
        built
    }

    fn output(&self) -> RunOutput {
        let output = self.built(1).finish();
        assert!(output.meta.conserved);
        output
    }

    /// RSRP of each cell in dBm at each of these UEs after a run.
    fn rsrp(&self, ues: usize) -> Vec<Vec<f64>> {
        let built = self.built(1);
        let of = |ue: usize| {
            let mut cells = built.cell_qualities(UeId(ue as u32), &[0.0; 9]);
            cells.sort_by_key(|quality| quality.cell);
            cells.into_iter().map(|quality| quality.rsrp.0).collect()
        };
        (0..ues).map(of).collect()
    }
}

/// The largest difference of two lists of levels.
fn apart(one: &[Vec<f64>], other: &[Vec<f64>]) -> f64 {
    let pairs = one.iter().flatten().zip(other.iter().flatten());
    pairs.map(|(one, other)| (one - other).abs()).fold(0.0, f64::max)
}

/// At a distance r, the loss of the law bends by 16.3 dB / r², towards the site and across, with opposite signs. Between
/// centres at a distance h, linear interpolation is off by at most h² / 8 of that in either direction: at 35 m, 0.04 dB with
/// 5 m, and 0.67 dB with 20 m.
#[test]
fn a_raster_of_the_law_has_its_geometry() {
    let (users, count) = users();
    let exact = Given::new(CITY, files(&users, None)).rsrp(count);
    assert!(exact.iter().all(|cells| cells.len() == 9) && count >= 50, "{count} users");
    let spread = exact
        .iter()
        .flatten()
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], level| [low.min(*level), high.max(*level)]);
    for (raster_m, bound_db) in [(5.0, 0.05), (20.0, 0.67)] {
        let off = apart(&exact, &Given::new(CITY, files(&users, Some(raster_m))).rsrp(count));
        println!(
            "{count} users from {} to {} dBm: rasters of {raster_m} m are off by {off} dB",
            spread[0], spread[1]
        );
        assert!(off > 0.0 && off <= bound_db, "{raster_m} m: {off} dB");
    }
}

/// Cars through the city.
const DRIVES: &str = "id,x,y,speed_kmh,heading\n\
                      east,-150,40,60,90\nwest,650,200,60,270\nnorth,120,-150,60,0\nsouth,390,600,60,180\n\
                      plain,-150,250,60,90\nback,650,-50,60,270\nhill,350,-150,60,0\nvale,60,600,60,180\n";

/// UE, source and target of each handover, and the time of its report.
fn handovers(output: &RunOutput) -> Vec<([String; 3], f64)> {
    let table = table(output, "handovers");
    let [ue, from, to] = ["ue", "from", "to"].map(|name| texts(table, name));
    let cells = ue.into_iter().zip(from).zip(to).map(|((ue, from), to)| [ue, from, to]);
    cells.zip(reals(table, "report_s")).collect()
}

#[test]
fn a_raster_of_the_law_has_its_handovers() {
    let text = CITY.replace("duration = \"1 s\"", "duration = \"40 s\"");
    let law = handovers(&Given::new(&text, files(DRIVES, None)).output());
    let rasters = text.replace("[handover]", "shadowing = \"log-normal\"\n[handover]");
    let rasters = handovers(&Given::new(&rasters, files(DRIVES, Some(5.0))).output());
    assert!(law.len() >= 12, "{law:?}");
    let cells = |list: &[([String; 3], f64)]| list.iter().map(|(cells, _)| cells.clone()).collect::<Vec<_>>();
    assert_eq!(cells(&rasters), cells(&law));
    let apart =
        law.iter().zip(&rasters).map(|((_, one), (_, other))| (one - other).abs()).fold(0.0, f64::max);
    println!("{} handovers, at most {apart} s apart", law.len());
    // A level that is off by 0.04 dB may fulfil a condition one period of measurement, 200 ms, earlier or later.
    assert!(apart <= 0.2, "{apart} s");
}

/// Cells in reach alone, and any number of threads.
#[test]
fn rasters_with_the_strongest_cells_have_the_same_handovers() {
    let text = CITY.replace("duration = \"1 s\"", "duration = \"40 s\"");
    let all = Given::new(&text, files(DRIVES, Some(10.0)));
    let near =
        Given::new(&text.replace("[channel]", "[channel]\nstrongest_cells = 6"), files(DRIVES, Some(10.0)));
    let cells =
        |given: &Given| handovers(&given.output()).into_iter().map(|(cells, _)| cells).collect::<Vec<_>>();
    assert!(cells(&all).len() >= 12);
    assert_eq!(cells(&near), cells(&all));
    let bytes = |threads: usize| {
        let output = near.built(threads).finish();
        let mut bytes = Vec::new();
        output.tables.iter().for_each(|(name, table)| table.write_bytes(name, &mut bytes).unwrap());
        bytes
    };
    assert!(bytes(1) == bytes(3));
}

/// A wood of 20 dB in the east of x = 250 m.
#[test]
fn a_loss_at_the_place_of_a_ue_reduces_all_cells() {
    let users = "id,x,y\nwest,150,60\neast,350,60\n";
    let wood = |text: &str| {
        let mut files = files(users, None);
        files.insert(
            "wood.asc".to_owned(),
            grid(10.0, |x, _| if x > 250.0 { 20.0 } else { -9999.0 }).into_bytes(),
        );
        Given::new(text, files)
    };
    let text = CITY.replace("[channel]", "[channel]\nclutter_loss_map = \"wood.asc\"");
    let [open, wooded] = [CITY, &text].map(|text| wood(text).rsrp(2));
    for (ue, loss_db) in [(0, 0.0), (1, 20.0)] {
        for (open, wooded) in open[ue].iter().zip(&wooded[ue]) {
            assert!((open - wooded - loss_db).abs() < 1e-4, "{open} and {wooded} dBm");
        }
    }
    let goodput = |text: &str| {
        let weak = text.replace("resource_blocks = 50", "resource_blocks = 50\ntx_power = \"10 dBm\"");
        reals(table(&wood(&weak).output(), "flows"), "goodput_mbps")
    };
    let [open, wooded] = [CITY, &text].map(goodput);
    println!("goodput {open:?} and with the wood {wooded:?} Mbit/s");
    assert!(wooded[1] < 0.8 * open[1], "{open:?} and {wooded:?} Mbit/s");
}

/// A car through a tunnel of 60 m, which the raster does not know: nothing arrives there, and everything afterwards.
#[test]
fn nothing_is_received_where_a_raster_has_no_value() {
    let text = r#"network = "typical"
[run]
duration = "16 s"
[internet]
rate = "2 Mbit/s"
[[cell]]
name = "cell"
path_loss_map = "a.asc"
[[ue]]
name = "car"
position = ["100 m", "0 m"]
mobility = { kind = "line", heading = "0 deg", speed = "36 km/h" }
[[flow]]
to = "car"
transport = "udp"
app = { kind = "cbr", rate = "1 Mbit/s" }
"#;
    let tunnel = |x: f64, y: f64| if (140.0..200.0).contains(&x) { -9999.0 } else { law([0.0, 0.0])(x, y) };
    let given = Given::new(text, BTreeMap::from([("a.asc".to_owned(), grid(5.0, tunnel).into_bytes())]));
    let output = given.output();
    let series = table(&output, "flow_series");
    let (at, rate) = (reals(series, "t_s"), reals(series, "goodput_mbps"));
    let mean = |from: f64, to: f64| {
        let within: Vec<f64> =
            at.iter().zip(&rate).filter(|(at, _)| (from..to).contains(*at)).map(|(_, r)| *r).collect();
        within.iter().sum::<f64>() / within.len() as f64
    };
    let (before, inside, behind) = (mean(2.0, 4.0), mean(4.5, 9.8), mean(12.0, 16.0));
    println!("{before}, {inside}, {behind} Mbit/s");
    assert!(before > 0.9 && inside == 0.0 && behind > 0.9, "{before}, {inside}, {behind} Mbit/s");
}
