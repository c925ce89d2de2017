//! Movement: the errors for bad descriptions, and that UEs move as described.

use std::fs;
use std::path::{Path, PathBuf};

use airlane_assembly::run;
use airlane_record::Column;
use airlane_scenario::{Resolved, Scenario};

const CELL: &str = r#"network = "lena"
[run]
duration = "2 s"
[[cell]]
name = "a"
[[flow]]
to = "phone"
[[ue]]
name = "phone"
"#;

/// A trace written by SUMO's traceExporter.
const WALK: &str = "\
$node_(0) set X_ 10.0
$node_(0) set Y_ 0.0
$node_(0) set Z_ 0
$ns_ at 0.5 \"$node_(0) setdest 30.0 0.0 20.0\"
$node_(2) set X_ -10.0
$node_(2) set Y_ 5.0
";

/// An area around the UE.
const PARK: &str = "from = [\"0 m\", \"-50 m\"], to = [\"200 m\", \"50 m\"]";

/// A folder for one test.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn resolve(folder: &Path, ue: &str) -> Result<Resolved, String> {
    let file = folder.join("s.toml");
    let scenario = Scenario::parse(&format!("{CELL}{ue}\n"), file.to_str().unwrap());
    let resolved = scenario.and_then(|s| s.resolve());
    resolved.map_err(|e| e.to_string().replace(&format!("{}/", folder.display()), ""))
}

/// The errors for bad descriptions of a movement.
fn of_form(folder: &Path) -> Vec<(&'static str, String)> {
    let at = "position = [\"100 m\", \"0 m\"]\n";
    let mobility = |text: &str| resolve(folder, &format!("{at}mobility = {text}")).unwrap_err();
    let waypoint = |text: &str| mobility(&format!("{{ kind = \"random-waypoint\", {text} }}"));
    let walk = |area: &str, keys: &str| {
        mobility(&format!("{{ kind = \"random-walk\", area = {{ {area} }}, {keys} }}").replace(", }", " }"))
    };
    vec![
        ("unknown kind", mobility("{ kind = \"lines\" }")),
        ("bare line", mobility("\"line\"")),
        ("no speed", mobility("{ kind = \"line\", heading = \"0 deg\" }")),
        ("no direction", mobility("{ kind = \"line\", speed = \"40 km/h\" }")),
        (
            "two directions",
            mobility(
                "{ kind = \"line\", speed = \"40 km/h\", heading = \"0 deg\", towards = [\"0 m\", \"0 m\"] }",
            ),
        ),
        (
            "towards itself",
            mobility("{ kind = \"line\", speed = \"4 km/h\", towards = [\"100 m\", \"0 m\"] }"),
        ),
        ("speed zero", mobility("{ kind = \"line\", speed = \"0 km/h\", heading = \"0 deg\" }")),
        ("negative speed", mobility("{ kind = \"line\", speed = \"-3 km/h\", heading = \"0 deg\" }")),
        (
            "variance without unit",
            mobility("{ kind = \"line\", speed = \"40 km/h\", heading = \"0 deg\", speed_variance = 5 }"),
        ),
        (
            "deviation and variance",
            mobility(
                "{ kind = \"line\", speed = \"40 km/h\", heading = \"0 deg\", speed_variance = \"5 (km/h)^2\", speed_deviation = \"2 km/h\" }",
            ),
        ),
        ("speeds from zero", waypoint("speed = { min = \"0 km/h\" }")),
        ("speeds out of order", waypoint("speed = { min = \"9 km/h\" }")),
        ("pauses out of order", waypoint("pause = { min = \"9 s\" }")),
        ("no room", waypoint("area = { radius = \"1 mm\" }")),
        ("small room", waypoint("area = { radius = \"0.5 m\" }")),
        ("area elsewhere", waypoint("area = { radius = \"90 m\" }")),
        (
            "rectangle elsewhere",
            waypoint("area = { kind = \"rectangle\", from = [\"0 m\", \"0 m\"], to = [\"90 m\", \"90 m\"] }"),
        ),
        (
            "rectangle upside down",
            waypoint(
                "area = { kind = \"rectangle\", from = [\"0 m\", \"0 m\"], to = [\"190 m\", \"-90 m\"] }",
            ),
        ),
        ("rectangle without corner", waypoint("area = { kind = \"rectangle\", from = [\"0 m\", \"0 m\"] }")),
        ("steps nowhere", mobility("\"random-walk\"")),
        ("steps elsewhere", walk("from = [\"0 m\", \"0 m\"], to = [\"90 m\", \"90 m\"]", "")),
        ("steps without room", walk("from = [\"100 m\", \"0 m\"], to = [\"100 m\", \"90 m\"]", "")),
        ("no steps", walk(PARK, "step = { kind = \"distance\", length = \"0 m\" }")),
        ("steps of no time", walk(PARK, "step = { kind = \"time\", duration = \"0 s\" }")),
        ("steps by both", walk(PARK, "step = { kind = \"time\", length = \"1 m\" }")),
        ("steps by neither", walk(PARK, "step = \"1 m\"")),
        ("steps without speed", walk(PARK, "speed = { min = \"0 m/s\" }")),
        ("step speeds out of order", walk(PARK, "speed = { min = \"5 m/s\" }")),
        ("walk without room", mobility("{ kind = \"levy-walk\", radius = \"0 m\" }")),
        ("trace without file", mobility("\"trace\"")),
        ("position and trace", mobility("{ kind = \"trace\", file = \"walk.tcl\" }")),
    ]
}

/// The errors for bad files of movements.
fn of_files(folder: &Path) -> Vec<(&'static str, String)> {
    let trace = |rest: &str| resolve(folder, rest).unwrap_err();
    let file = |text: &[u8]| {
        fs::write(folder.join("bad.tcl"), text).unwrap();
        trace("mobility = { kind = \"trace\", file = \"bad.tcl\" }")
    };
    let after = |line: &str| file(format!("{WALK}{line}\n").as_bytes());
    fs::create_dir(folder.join("folder.tcl")).unwrap();
    let large = fs::File::create(folder.join("large.tcl")).unwrap();
    large.set_len(100 << 30).unwrap();
    let cases = vec![
        ("no such file", trace("mobility = { kind = \"trace\", file = \"no.tcl\" }")),
        ("a folder", trace("mobility = { kind = \"trace\", file = \"folder.tcl\" }")),
        ("absurdly large", trace("mobility = { kind = \"trace\", file = \"large.tcl\" }")),
        ("no such node", trace("mobility = { kind = \"trace\", file = \"walk.tcl\", node = 9 }")),
        ("no node for the group", trace("count = 2\nmobility = { kind = \"trace\", file = \"walk.tcl\" }")),
        (
            "no node beyond 2^32",
            trace("count = 2\nmobility = { kind = \"trace\", file = \"walk.tcl\", node = 4294967295 }"),
        ),
        ("negative node", trace("mobility = { kind = \"trace\", file = \"walk.tcl\", node = -1 }")),
        ("empty", file(b"")),
        ("binary", file(b"\xff\xfe\x00\n\x01")),
        ("zeros", file(&[0; 2000])),
        ("a node of a loop", after("$node_($i) set X_ 12.0")),
        ("a coordinate of a variable", after("$ns_ at 3.0 \"$node_(0) set X_ $x\"")),
        ("an order without a time", after("$ns_ at \"$node_(0) setdest 12.0 5.0 13.9\"")),
        ("an order without a speed", after("$ns_ at 3.0 \"$node_(0) setdest 12.0 5.0\"")),
        ("negative speed in a file", after("$ns_ at 3.0 \"$node_(0) setdest 12.0 5.0 -13.9\"")),
        ("NaN in a file", after("$ns_ at 3.0 \"$node_(0) setdest nan 5.0 13.9\"")),
        ("infinite speed", after("$ns_ at 3.0 \"$node_(0) setdest 1.0 5.0 inf\"")),
        ("far away", after("$ns_ at 3.0 \"$node_(0) setdest 1e30 5.0 1.0\"")),
        ("after the longest run", after("$ns_ at 1e7 \"$node_(0) setdest 12.0 5.0 13.9\"")),
        ("another format", file(b"<fcd-export>\n<timestep time=\"0.00\"/>\n")),
    ];
    fs::remove_file(folder.join("large.tcl")).unwrap();
    cases
}

#[test]
fn every_mistake_is_explained() {
    let folder = folder("mobility-errors");
    fs::write(folder.join("walk.tcl"), WALK).unwrap();
    let cases = of_form(&folder).into_iter().chain(of_files(&folder));
    let printed: String = cases.map(|(what, text)| format!("{what}\n    {text}\n")).collect();
    crate::snapshots::compare(&printed, "mobility-errors.txt");
}

#[test]
fn files_are_named_from_where_the_scenario_is() {
    let folder = folder("mobility-files");
    fs::write(folder.join("walk.tcl"), WALK).unwrap();
    let ue = "mobility = { kind = \"trace\", file = \"walk.tcl\" }";
    let resolved = resolve(&folder, ue).unwrap();
    assert_eq!(resolved.files(), [folder.join("walk.tcl").to_str().unwrap()]);
    assert_eq!(Resolved::from_json(&resolved.to_json()).unwrap(), resolved);
    // A file may be deleted after the scenario was parsed.
    fs::remove_file(folder.join("walk.tcl")).unwrap();
    assert!(run(&resolved, 1).unwrap_err().to_string().contains("cannot be read"));
}

/// Rows of `ue_series`: time, UE, place.
fn track(ue: &str, settings: &[(&str, serde_json::Value)]) -> Vec<(f64, String, f64, f64)> {
    let folder = folder("mobility-track");
    fs::write(folder.join("walk.tcl"), WALK).unwrap();
    let file = folder.join("s.toml");
    let mut scenario = Scenario::parse(&format!("{CELL}{ue}\n"), file.to_str().unwrap()).unwrap();
    scenario.set("run.ue_series", &true.into()).unwrap();
    for (key, value) in settings {
        scenario.set(key, value).unwrap();
    }
    let output = run(&scenario.resolve().unwrap(), 1).unwrap();
    let (_, table) = output.tables.iter().find(|(name, _)| *name == "ue_series").unwrap();
    let reals = |name: &str| match table.column(name) {
        Some(Column::F64(values)) => values.clone(),
        other => panic!("{other:?}"),
    };
    let names = |column| table.column(column).and_then(Column::names).unwrap();
    assert!(names("cell").iter().all(|&cell| cell == "a"));
    let places = reals("x_m").into_iter().zip(reals("y_m"));
    reals("t_s")
        .into_iter()
        .zip(names("ue"))
        .zip(places)
        .map(|((t, ue), (x, y))| (t, ue.to_owned(), x, y))
        .collect()
}

#[test]
fn ues_go_where_the_file_sends_them() {
    let rows = track("mobility = { kind = \"trace\", file = \"walk.tcl\" }", &[]);
    assert_eq!(rows.len(), 21, "0 s to 2 s, both ends");
    // It starts at 0.5 s with 20 m/s, and arrives after 20 m.
    for (t, ue, x, y) in rows {
        let expected = 10.0 + 20.0 * (t - 0.5).clamp(0.0, 1.0);
        assert!(ue == "phone" && y == 0.0 && (x - expected).abs() < 1e-9, "{x} at {t} s");
    }
}

#[test]
fn a_heading_and_a_speed_make_a_straight_line() {
    let ue = "position = [\"1 m\", \"2 m\"]\nmobility = { kind = \"line\", heading = \"90 deg\", speed = \"36 km/h\" }";
    for (t, _, x, y) in track(ue, &[("run.series_bin", "333 us".into())]) {
        assert!((x - 1.0).abs() < 1e-9 && (y - 2.0 - 10.0 * t).abs() < 1e-9);
    }
}

/// Steps of 1 s at 20 m/s from the middle of a square of 30 m: 2 m along the path in each 100 ms, whatever the
/// direction. Only a reflection or a new direction between two rows makes their distance shorter than that.
#[test]
fn a_random_walk_stays_in_its_area_and_differs_by_ue() {
    let ue = "count = 2\nposition = [\"15 m\", \"15 m\"]\n[ue.mobility]\nkind = \"random-walk\"\n\
              area = { from = [\"0 m\", \"0 m\"], to = [\"30 m\", \"30 m\"] }\n\
              speed = { min = \"20 m/s\", max = \"20 m/s\" }\nstep = \"time\"\n";
    let rows = track(ue, &[("run.duration", "10 s".into())]);
    assert!(rows.iter().all(|(_, _, x, y)| (0.0..=30.0).contains(x) && (0.0..=30.0).contains(y)));
    let path = |name: &str| -> Vec<(f64, f64)> {
        rows.iter().filter(|(_, ue, ..)| ue == name).map(|(.., x, y)| (*x, *y)).collect()
    };
    let (one, other) = (path("phone-1"), path("phone-2"));
    assert!(one[0] == (15.0, 15.0) && one[1] != other[1]);
    let apart = |pair: &[(f64, f64)]| (pair[1].0 - pair[0].0).hypot(pair[1].1 - pair[0].1);
    let distances: Vec<f64> = one.windows(2).map(apart).collect();
    assert!(distances.iter().all(|metres| *metres < 2.0 + 1e-6));
    let whole = distances.iter().filter(|metres| **metres > 2.0 - 1e-6).count();
    // Directions change between rows, at whole seconds; a path of 200 m meets a side every 24 m or so.
    assert!((80..100).contains(&whole), "{whole} of {}", distances.len());
}

#[test]
fn drawn_speeds_differ_by_ue_and_seed() {
    let ue = "count = 3\nposition = [\"0 m\", \"0 m\"]\nmobility = { kind = \"line\", heading = \"0 deg\", speed = \"40 km/h\", speed_variance = \"5 (km/h)^2\" }";
    let rows = track(ue, &[]);
    let kmh: Vec<f64> = rows[rows.len() - 3..].iter().map(|(t, _, x, _)| 3.6 * x / t).collect();
    // Six standard deviations.
    assert!(kmh.iter().all(|v| (v - 40.0).abs() < 13.5), "{kmh:?}");
    assert!(kmh[0] != kmh[1] && kmh[1] != kmh[2]);
    let names: Vec<_> = rows[..3].iter().map(|(_, ue, ..)| ue.as_str()).collect();
    assert_eq!(names, ["phone-1", "phone-2", "phone-3"]);
}

#[test]
fn looking_at_positions_changes_nothing_else() {
    let ue = "placement = { kind = \"disc\", radius = \"200 m\" }\nmobility = \"random-waypoint\"";
    let tables = |on: bool| {
        let mut scenario = Scenario::parse(&format!("{CELL}{ue}\n"), "s.toml").unwrap();
        scenario.set("run.ue_series", &on.into()).unwrap();
        let mut tables = run(&scenario.resolve().unwrap(), 1).unwrap().tables;
        tables.retain(|(name, _)| *name != "ue_series");
        format!("{tables:?}")
    };
    assert_eq!(tables(true), tables(false));
}
