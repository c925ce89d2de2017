use airlane_core::Instant;

use crate::mobility::{PathFollower, Setdest, SetdestError};

/// As written by SUMO's traceExporter: one node enters, another follows, orders sorted by time.
const SUMO: &str = "\
$node_(0) set X_ 10.0
$node_(0) set Y_ 0.0
$node_(0) set Z_ 0
$ns_ at 1.0 \"$node_(0) setdest 20.0 0.0 5.0\"
$node_(7) set X_ 0
$node_(7) set Y_ -3
$ns_ at 2.0 \"$node_(0) setdest 15.0 3.0 1.0\"
$ns_ at 4.5 \"$node_(7) setdest 0 5 2\"
";

fn follow(text: &str, node: u32) -> PathFollower {
    PathFollower::new(Setdest::parse(text).unwrap().path(node).unwrap().clone(), 1.5)
}

fn at(path: &mut PathFollower, ms: u64) -> (f64, f64) {
    let here = path.position_at(Instant::from_millis(ms));
    assert_eq!(here.z, 1.5);
    (here.x, here.y)
}

#[test]
fn orders_are_followed() {
    let file = Setdest::parse(SUMO).unwrap();
    assert_eq!(file.nodes().collect::<Vec<_>>(), [0, 7]);
    assert!(file.path(1).is_none());
    let path = &mut follow(SUMO, 0);
    // Until 1 s it does not move; at 2 s it has moved 5 of its 10 m and turns north, 3 m in 3 s.
    let seen = [0, 1_000, 1_500, 2_000, 3_000, 5_000, 5_001, 1_000_000].map(|ms| at(path, ms));
    let up = |y| (15.0, y);
    assert_eq!(seen, [(10.0, 0.0), (10.0, 0.0), (12.5, 0.0), up(0.0), up(1.0), up(3.0), up(3.0), up(3.0)]);
    let path = &mut follow(SUMO, 7);
    assert_eq!([0, 4_500, 6_500, 8_500, 9_000].map(|ms| at(path, ms).1), [-3.0, -3.0, 1.0, 5.0, 5.0]);
}

#[test]
fn velocity_is_that_of_the_way() {
    let path = &mut follow(SUMO, 0);
    let velocities = [0, 1_000, 1_999, 2_000, 5_000, 6_000].map(|ms| {
        let v = path.velocity_at(Instant::from_millis(ms));
        (v.x, v.y)
    });
    assert_eq!(velocities, [(0.0, 0.0), (5.0, 0.0), (5.0, 0.0), (0.0, 1.0), (0.0, 0.0), (0.0, 0.0)]);
}

#[test]
fn speed_zero_stops() {
    let text = SUMO.replace("setdest 15.0 3.0 1.0", "setdest 15.0 3.0 0.0");
    let path = &mut follow(&text, 0);
    assert_eq!([1_500, 2_000, 3_000, 90_000].map(|ms| at(path, ms).0), [12.5, 15.0, 15.0, 15.0]);
}

#[test]
fn an_order_replaces_that_of_the_same_time() {
    let text = SUMO.replace("at 2.0", "at 1.0");
    let path = &mut follow(&text, 0);
    // From (10, 0) to (15, 3) at 1 m/s.
    let (x, y) = at(path, 2_000);
    assert!((x - 10.0 - 5.0 / 34.0_f64.sqrt()).abs() < 1e-9 && (y - 3.0 / 34.0_f64.sqrt()).abs() < 1e-9);
    assert_eq!(at(path, 10_000), (15.0, 3.0));
}

#[test]
fn what_never_moves_is_static() {
    let text = "# a comment\n\n$god_ set-dist 0 1 2\r\n$node_(0) set X_ 1\r\n$node_(0) set Y_ 2\r\n";
    let mut path = follow(text, 0);
    assert!(path.is_static());
    assert_eq!(at(&mut path, 5), (1.0, 2.0));
    assert!(follow(&format!("{text}$ns_ at 1 \"$node_(0) setdest 1 2 3\"\n"), 0).is_static());
    assert!(!follow(&format!("{text}$ns_ at 1 \"$node_(0) setdest 1 3 3\"\n"), 0).is_static());
}

#[test]
fn a_way_without_end_stays_within_the_clock() {
    let crawl = "$node_(0) set X_ 0\n$node_(0) set Y_ 0\n$ns_ at 0 \"$node_(0) setdest 1e7 0 1e-300\"\n";
    let path = &mut follow(crawl, 0);
    // 1e-300 m/s for a million seconds.
    assert_eq!(at(path, 1_000_000_000), (1e-294, 0.0));
}

fn error(text: &str) -> SetdestError {
    Setdest::parse(text).unwrap_err()
}

#[test]
fn mistakes_are_placed() {
    let placed = "$node_(0) set X_ 1\n$node_(0) set Y_ 2\n";
    let with = |line: &str| {
        let e = error(&format!("{placed}{line}\n"));
        assert_eq!((e.line, e.found.as_str()), (Some(3), line));
        e.help
    };
    assert!(with("$ns_ at 1 \"$node_(0) setdest 1 2 -1\"").contains("`-1` is not a speed in m/s from 0"));
    assert!(with("$ns_ at 1 \"$node_(0) setdest nan 2 1\"").contains("`nan` is not a coordinate"));
    assert!(with("$ns_ at 1 \"$node_(0) setdest 1 1e8 1\"").contains("from -10000000 to 10000000"));
    assert!(with("$ns_ at -1 \"$node_(0) setdest 1 2 1\"").contains("`-1` is not a time"));
    assert!(with("$ns_ at 1 \"$node_(1) setdest 1 2 1\"").contains("node 1 has no position yet"));
    assert!(with("$ns_ at 1 \"$node_(x) setdest 1 2 1\"").contains("`$node_(x)` is not a node"));
    assert!(with("$node_(0) set X_ 5").contains("is set twice"));
    assert!(with("$ns_ at 1 \"$node_(0) set X_ 5\"").contains("cannot be set during a run"));
    assert!(with("hello").contains("setdest 12.0 5.0 13.9"));
    let back = "$ns_ at 2 \"$node_(0) setdest 1 2 3\"\n$ns_ at 1 \"$node_(0) setdest 1 2 3\"\n";
    let e = error(&format!("{placed}{back}"));
    assert_eq!(
        (e.line, e.help.as_str()),
        (Some(4), "the time is before 2 s, the time of the last line of node 0; sort the lines by time")
    );
    assert_eq!(error("").found, "the file has no node");
    assert_eq!(error("# only a comment").line, None);
    let half = error("$node_(0) set X_ 1\n$node_(0) set Z_ 1\n");
    assert_eq!((half.line, half.found.as_str()), (Some(1), "$node_(0) set X_ 1"));
    assert!(half.help.starts_with("node 0 has no position; set both X_ and Y_"));
}
