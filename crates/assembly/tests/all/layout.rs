//! Layouts: the positions of their cells and UEs, and the errors for bad ones.

use airlane_assembly::run;
use airlane_record::Column;
use airlane_scenario::format::{Antenna, Cell};
use airlane_scenario::{Resolved, Scenario};

const BASE: &str = r#"network = "lena"
[run]
duration = "100 ms"
ue_series = true
[layout]
kind = "hexagonal"
rings = 2
inter_site_distance = "500 m"
[[cell]]
name = "a"
rlc = { mode = "am", buffer = "512 KiB" }
[[ue]]
name = "phone"
count = 400
placement = "hexagonal"
[[flow]]
to = "phone-1"
"#;

fn scenario(pairs: &[(&str, &str)]) -> Result<Resolved, String> {
    let text = pairs.iter().fold(BASE.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    });
    Scenario::parse(&text, "x.toml").and_then(|s| s.resolve()).map_err(|e| e.to_string())
}

fn place(cell: &Cell) -> [f64; 2] {
    cell.position.map(|metres| metres.0)
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    libm::hypot(a[0] - b[0], a[1] - b[1])
}

#[test]
fn two_rings_are_nineteen_sites() {
    let resolved = scenario(&[("rings = 2", "rings = 2\ncentre = [\"40 m\", \"-30 m\"]")]).unwrap();
    let names: Vec<_> = resolved.cell.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!((names.len(), names[0], names[18]), (19, "a-1", "a-19"));
    let places: Vec<_> = resolved.cell.iter().map(place).collect();
    assert_eq!(places[0], [40.0, -30.0]);
    assert_eq!(places[1], [540.0, -30.0]);
    for (index, here) in places.iter().enumerate() {
        // Six neighbours in the middle, six around each site of the first ring; on the outer ring
        // three at a corner and four on a side.
        let near = places.iter().filter(|there| (distance(*here, **there) - 500.0).abs() < 1e-2).count();
        let far = places.iter().filter(|there| distance(*here, **there) < 499.9).count();
        assert_eq!(far, 1, "two sites at one place");
        let expected: &[usize] = if index < 7 { &[6] } else { &[3, 4] };
        assert!(expected.contains(&near), "{index}: {near}");
    }
    // The settings of the pattern apply to all cells.
    assert!(resolved.cell.iter().all(|cell| cell.rlc == resolved.cell[0].rlc));
}

#[test]
fn cells_beyond_the_serving_rings_interfere_and_have_no_ue() {
    let resolved = scenario(&[("rings = 2", "rings = 2\nserving_rings = 1")]).unwrap();
    let serving: Vec<_> = resolved.cell.iter().map(|cell| !cell.interferer).collect();
    assert_eq!(serving, [[true; 7].as_slice(), &[false; 12]].concat());
    let output = run(&resolved, 1).unwrap();
    let (_, table) = output.tables.iter().find(|(name, _)| *name == "ue_series").unwrap();
    let cells = table.column("cell").and_then(Column::names).expect("a column cell");
    assert_eq!(cells.iter().filter(|&&cell| !resolved.cell[..7].iter().any(|c| c.name == cell)).count(), 0);
}

#[test]
fn sites_are_the_first_of_the_rings() {
    let some = scenario(&[("rings = 2", "sites = 10")]).unwrap();
    let all = scenario(&[]).unwrap();
    assert_eq!(some.cell, all.cell[..10]);
    assert_eq!(scenario(&[("rings = 2", "sites = 1")]).unwrap().cell.len(), 1);
}

#[test]
fn three_sectors_look_three_ways() {
    let azimuths = |resolved: &Resolved| -> Vec<f64> {
        let azimuth = |cell: &Cell| match &cell.antenna {
            Antenna::Sector(sector) => sector.azimuth.0,
            Antenna::Panel(panel) => panel.azimuth.0,
            Antenna::Omni(_) => f64::NAN,
        };
        resolved.cell.iter().map(azimuth).collect()
    };
    let three = ("rings = 2", "rings = 1\nsectors = 3");
    let plain = scenario(&[three]).unwrap();
    assert_eq!(plain.cell.len(), 21);
    assert_eq!((plain.cell[0].name.as_str(), plain.cell[20].name.as_str()), ("a-1-1", "a-7-3"));
    assert_eq!(azimuths(&plain)[..4], [30.0, 150.0, 270.0, 30.0]);
    assert_eq!(place(&plain.cell[3]), place(&plain.cell[5]));
    let antenna = "name = \"a\"\nantenna = { kind = \"sector\", azimuth = \"300 deg\", gain = \"9 dB\" }";
    let turned = scenario(&[three, ("name = \"a\"", antenna)]).unwrap();
    assert_eq!(azimuths(&turned)[..3], [300.0, 60.0, 180.0]);
    assert!(turned.cell.iter().all(|cell| matches!(&cell.antenna, Antenna::Sector(s) if s.gain.0.0 == 9.0)));
    for antenna in ["\"panel\"", "{ kind = \"panel\", rows = 10 }"] {
        let panels =
            scenario(&[three, ("name = \"a\"", &format!("name = \"a\"\nantenna = {antenna}"))]).unwrap();
        assert_eq!(azimuths(&panels)[..4], [30.0, 150.0, 270.0, 30.0]);
        assert!(panels.cell.iter().all(|cell| matches!(&cell.antenna, Antenna::Panel(p) if p.rows == 10)));
    }
}

/// The wrap-around of a layout is a key of the channel once it is resolved.
#[test]
fn a_wrapped_layout_is_a_channel_that_repeats_itself() {
    let wrapped = |sites: &str| scenario(&[("rings = 2", &format!("{sites}\nwrap_around = true"))]);
    let resolved = wrapped("rings = 2").unwrap();
    let around = resolved.channel.as_ref().unwrap().wrap_around.as_ref().unwrap();
    assert_eq!((around.rings, around.inter_site_distance.0), (2, 500.0));
    assert_eq!(wrapped("sites = 19").unwrap(), resolved);
    assert_eq!(Resolved::from_json(&resolved.to_json()).unwrap(), resolved);
    assert!(scenario(&[]).unwrap().channel.unwrap().wrap_around.is_none());
    let error = wrapped("sites = 10").unwrap_err();
    assert!(error.contains("the outermost ring is not complete"), "{error}");
}

/// A resolved scenario is a scenario that resolves to itself.
#[test]
fn a_layout_is_gone_once_it_is_resolved() {
    let resolved = scenario(&[]).unwrap();
    assert!(resolved.layout.is_none());
    assert_eq!(Resolved::from_json(&resolved.to_json()).unwrap(), resolved);
}

#[test]
fn ues_stand_in_the_hexagons() {
    let resolved = scenario(&[]).unwrap();
    let output = run(&resolved, 1).unwrap();
    let (_, table) = output.tables.iter().find(|(name, _)| *name == "ue_series").unwrap();
    let column = |name: &str| match table.columns.iter().find(|(n, _)| *n == name) {
        Some((_, Column::F64(values))) => &values[..400],
        _ => panic!("no column {name}"),
    };
    let mut nearest = [0_u32; 19];
    for (x, y) in column("x_m").iter().zip(column("y_m")) {
        let to = |cell: &Cell| distance(place(cell), [*x, *y]);
        let (index, cell) =
            resolved.cell.iter().enumerate().min_by(|a, b| to(a.1).total_cmp(&to(b.1))).unwrap();
        nearest[index] += 1;
        // The width of a hexagon, between any two opposite sides, is the distance of the sites.
        for turn in [0.0, 1.0, 2.0] {
            let angle = turn * core::f64::consts::FRAC_PI_3;
            let (sin, cos) = (libm::sin(angle), libm::cos(angle));
            let [dx, dy] = [x - place(cell)[0], y - place(cell)[1]];
            assert!((dx * cos + dy * sin).abs() <= 250.001, "({x}, {y})");
        }
    }
    // 400 over 19: 21.05 each, a variance of 19.9; the sum of squares over it has 18 degrees of
    // freedom, and 42.3 is exceeded with a probability of 0.001.
    let expected = 400.0 / 19.0;
    let off = |n: &u32| f64::from(*n) - expected;
    let squares: f64 = nearest.iter().map(|n| off(n) * off(n) / expected).sum();
    assert!(squares < 42.3, "{nearest:?}");
}

#[test]
fn every_mistake_is_explained() {
    let mistake = |from: &str, to: &str| scenario(&[(from, to)]).unwrap_err();
    let printed = [
        mistake("rings = 2\n", ""),
        mistake("rings = 2", "rings = 2\nsites = 19"),
        mistake("rings = 2", "rings = 20"),
        mistake("rings = 2", "rings = 4000000000"),
        mistake("rings = 2", "sites = 0"),
        mistake("rings = 2", "sites = 400\nsectors = 3"),
        mistake("rings = 2", "rings = 2\nsectors = 2"),
        mistake("rings = 2", "rings = 2\nserving_rings = 2"),
        scenario(&[
            ("rings = 2", "rings = 2\nserving_rings = 1"),
            ("name = \"a\"", "name = \"a\"\ninterferer = true"),
        ])
        .unwrap_err(),
        mistake("name = \"a\"", "name = \"a\"\ninterferer = true"),
        scenario(&[("rings = 2", "rings = 2\nserving_rings = 1"), ("count = 400", "cell = \"a-8\"")])
            .unwrap_err(),
        mistake("rings = 2", "rings = 2\nring = 3"),
        mistake("\"500 m\"", "500"),
        mistake("\"500 m\"", "\"0 m\""),
        mistake("inter_site_distance = \"500 m\"\n", ""),
        mistake("hexagonal", "manhattan"),
        mistake("kind = \"hexagonal\"\n", ""),
        mistake("name = \"a\"", "name = \"a\"\nposition = [\"0 m\", \"0 m\"]"),
        mistake("[[ue]]", "[[cell]]\nname = \"b\"\n[[ue]]"),
        mistake("[[cell]]\nname = \"a\"\nrlc = { mode = \"am\", buffer = \"512 KiB\" }\n", ""),
        scenario(&[
            ("rings = 2", "rings = 2\nsectors = 3"),
            ("name = \"a\"", "name = \"a\"\nantenna = \"omni\""),
        ])
        .unwrap_err(),
        mistake("placement = \"hexagonal\"", "placement = \"hexagons\""),
        mistake("[layout]\nkind = \"hexagonal\"\nrings = 2\ninter_site_distance = \"500 m\"\n", ""),
        mistake(
            "placement = \"hexagonal\"",
            "placement = \"hexagonal\"\nmobility = { kind = \"levy-walk\", radius = \"900 m\" }",
        ),
        mistake("network = \"lena\"", "network = \"wired\""),
    ]
    .join("\n");
    crate::snapshots::compare(&printed, "layout-errors.txt");
}
