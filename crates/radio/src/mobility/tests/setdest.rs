use airlane_core::Instant;

use crate::mobility::{Movements, MovementsError, PathFollower};

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
    PathFollower::new(Movements::parse(text).unwrap().path(node).unwrap().clone(), 1.5)
}

fn at(path: &mut PathFollower, ms: u64) -> (f64, f64) {
    let here = path.position_at(Instant::from_millis(ms));
    assert_eq!(here.z, 1.5);
    (here.x, here.y)
}

#[test]
fn orders_are_followed() {
    let file = Movements::parse(SUMO).unwrap();
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

fn error(text: &str) -> MovementsError {
    Movements::parse(text).unwrap_err()
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
    assert!(with("$ns_ at 1 \"$node_(x) setdest 1 2 1\"").contains("`$node_(x)` is not a node"));
    assert!(with("$node_($i) set X_ $xx").contains("`$xx` is not a coordinate"));
    assert!(with("$node_($i) set X_ 5").contains("`$node_($i)` is not a node; write it with its number"));
    assert!(with("$node_(-22) set X_ 5").contains("is not a node"));
    assert!(with("$node_(3.3) set X_ 5").contains("is not a node"));
    assert!(with("$ns_ at \"$node_(0) setdest 4 4 4\"").contains("setdest 12.0 5.0 13.9"));
    assert!(with("$ns_ at 1 \"$node_(0) setdest 4 4\"").contains("setdest 12.0 5.0 13.9"));
    assert!(with("for {set i 0} {$i < 3} {incr i} { $node_($i) set X_ 5 }").contains("expected"));
    assert_eq!(error("").found, "the file has no node");
    assert_eq!(error("# only a comment").line, None);
    let help = error("set val(x) 5\nset val(y) 5\n").help;
    assert!(help.ends_with("the first other statement is in `set val(x) 5`"), "{help}");
    // What begins as XML is read as SUMO's output.
    let help = error("<timestep time=\"0.00\">\n</timestep>\n").help;
    assert!(help.starts_with("expected the output of `sumo --fcd-output FILE`"), "{help}");
}

fn note(text: &str) -> String {
    Movements::parse(text).unwrap().note().unwrap_or_default().to_owned()
}

/// The same walk in the forms that scripts and generators use: comments behind lines, positions at the end,
/// times that go back, several statements in a line, other names of nodes, other orders between.
#[test]
fn forms_of_other_programs_are_one_walk() {
    let plain = "$node_(3) set X_ 4\n$node_(3) set Y_ 8\n$ns_ at 2 \"$node_(3) setdest 4 38 10\"\n\
                 $ns_ at 4 \"$node_(3) setdest 24 28 5\"\n";
    let walk = |text: &str| {
        let path = &mut follow(text, 3);
        [0, 2_000, 3_000, 4_000, 5_500, 8_000, 60_000].map(|ms| at(path, ms))
    };
    let (x, y) = (4.0, 28.0); // at 4 s; then 20 m to the east in 4 s
    let ours = walk(plain);
    assert_eq!(ours, [(x, 8.0), (x, 8.0), (x, 18.0), (x, y), (x + 7.5, y), (x + 20.0, y), (x + 20.0, y)]);
    let forms = [
        "$node_(3) set X_ 4 # here\n$node_(3) set Y_ 8 ;# and\n$ns_ at 2 \"$node_(3) setdest 4 38 10\" ;# go\n\
         #$node_(3) set X_ 99\n$ns_ at 4 \"$node_(3) setdest 24 28 5\" ### end",
        "$ns_ at 4 \"$node_(3) setdest 24 28 5\"\n$ns_ at 2 \"$node_(3) setdest 4 38 10\"\n\
         $node_(3) set Y_ 8\n$node_(3) set X_ 4\n",
        "$node(3) set X_ 4.0e+0; $node(3) set Y_ .8e1; $node(3) set Z_ 0\r\n\
         $ns at 2.0 { $node(3) setdest 4. 38 +10 }\r\n$ns at 4 \"$node(3) setdest 24 28 5\"; # x\r\n",
        "set val(nn) 4\n$n3 set X_ 4\n$n3 set Y_ 8\n$ns initial_node_pos $n3 20\n\
         $ns at 2.0 \" $n3 setdest 4 38 10 \" \n$ns at 4.0 \"\n  $n3 setdest 24 28 5\n\"\n$ns at 9 \"finish\"\n",
        "$node_(3) set X_ 1\n$ns_ at 0.0 \"$node_(3) set X_ 4\"\n$ns_ at 0.0 \"$node_(3) set Y_ 8\"\n\
         $ns_ at 2 \"$node_(3) setdest 4 38 10; $node_(3) color red\"\n$ns_ at 4 \"$node_(3) setdest 24 28 5",
        "$ns_ at 0.0 \"$node_(3) switch OFF\"\n$ns_ at 0.0 \"$node_(3) setdest 4 8 1e9\"\n\
         $ns_ at 0.0 \"$node_(3) switch ON\"\n$ns_ at 2 \"$node_(3) setdest 4 38 10\"\n\
         $ns_ at 4 \"$node_(3) setdest 24 28 5\"\n",
    ];
    for form in forms {
        assert_eq!(walk(form), ours, "{form}");
    }
    assert_eq!(note(plain), "");
    assert_eq!(note(forms[1]), "read 1 node: 1 order not in the order of time, sorted");
    let skipped = "skipped 3 other statements (1 `finish`, 1 `initial_node_pos`, 1 `set`)";
    assert_eq!(note(forms[3]), format!("read 1 node: {skipped}"));
    let placed = "1 node without an initial position, at x = 0 or y = 0; 1 order by whose speed a node is placed at once";
    assert_eq!(note(forms[5]), format!("read 1 node: skipped 2 other statements (2 `switch`); {placed}"));
}

/// A node without a position is at the origin; a coordinate that is set at a time is a jump, also in the
/// middle of a way.
#[test]
fn positions_are_late_absent_or_set_at_a_time() {
    let path = &mut follow("$ns_ at 1.0 \"$node_(0) setdest 0 25 5\"", 0);
    assert_eq!(
        [0, 1_000, 3_000, 6_000].map(|ms| at(path, ms)),
        [(0.0, 0.0), (0.0, 0.0), (0.0, 10.0), (0.0, 25.0)]
    );
    let text = "$node_(2) set Y_ 3\n$ns_ at 1 \"$node_(2) setdest 0 43 10\"\n$ns_ at 2 \"$node_(2) set X_ 70\"\n\
                $ns_ at 2 \"$node_(2) set Z_ 9\"\n$ns_ at 5 \"$node_(2) setdest 70 33 20\"\n";
    let path = &mut follow(text, 2);
    let seen = [0, 1_500, 1_999, 2_000, 4_900, 5_500, 6_000].map(|ms| at(path, ms));
    assert_eq!(seen[0], (0.0, 3.0));
    assert_eq!(seen[1], (0.0, 8.0));
    assert!((seen[2].1 - 12.99).abs() < 1e-9 && seen[2].0 == 0.0, "{:?}", seen[2]);
    assert_eq!(seen[3..], [(70.0, 13.0), (70.0, 13.0), (70.0, 23.0), (70.0, 33.0)]);
    assert_eq!(note(text), "read 1 node: 1 node without an initial position, at x = 0 or y = 0");
    let moved = Movements::parse("$ns_ at 0 \"$node_(0) setdest 130 40 1e9\"\n").unwrap();
    let start = moved.path(0).unwrap().start(1.5);
    assert_eq!((start.x, start.y), (130.0, 40.0), "placed before the run begins");
}

#[test]
fn one_name_of_nodes_is_read() {
    let text = "$rsu(0) set X_ 500\n$rsu(0) set Y_ 500\n$rsu(1) set X_ 1\n$rsu(1) set Y_ 1\n$node_(0) set X_ 1\n\
                $node_(0) set Y_ 2\n$ns_ at 1 \"$node_(0) setdest 1 1002 1000\"\n";
    let file = Movements::parse(text).unwrap();
    assert_eq!(file.nodes().collect::<Vec<_>>(), [0]);
    let fast = "speeds up to 1000 m/s (3600 km/h): are they in km/h?";
    assert_eq!(note(text), format!("read 1 node: 2 nodes of another name, left out; {fast}"));
    let path = &mut follow(text, 0);
    assert_eq!([1_000, 1_500, 2_000].map(|ms| at(path, ms).1), [2.0, 502.0, 1002.0]);
    assert_eq!(note("$car(0) set X_ 1\n$car(0) set Y_ 1\n"), "");
}
