use airlane_core::Instant;

use crate::mobility::{Movements, MovementsError, PathFollower};

/// As SUMO writes it, with a vehicle that enters later, a person and an element that is not read.
const SUMO: &str = r#"<?xml version="1.0" encoding="UTF-8"?>

<!-- generated on 2026-01-01 by Eclipse SUMO sumo
<sumoConfiguration><output><fcd-output value="fcd.xml"/></output></sumoConfiguration>
-->

<fcd-export xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
    <timestep time="25200.00">
        <vehicle id="bus &amp; tram" x="10.00" y="0.00" angle="90.00" type="bus" speed="0.00" pos="1" lane="e0_0"/>
    </timestep>
    <timestep time="25201.00">
        <vehicle id="bus &amp; tram" x="15.00" y="0.00" speed="5.00"><param key="a" value="b"/></vehicle>
        <person id="p0" x="7.00" y="3.00" speed="0.00"/>
    </timestep>
    <timestep time="25203.00">
        <person id="p0" x="7.00" y="5.00" speed="1.00"/>
    </timestep>
</fcd-export>
"#;

fn at(text: &str, node: u32, ms: &[u64]) -> Vec<(f64, f64)> {
    let mut follower = PathFollower::new(Movements::parse(text).unwrap().path(node).unwrap().clone(), 1.5);
    let mut place = |ms: &u64| {
        let here = follower.position_at(Instant::from_millis(*ms));
        (here.x, here.y)
    };
    ms.iter().map(&mut place).collect()
}

fn error(text: &str) -> MovementsError {
    Movements::parse(text).unwrap_err()
}

#[test]
fn nodes_follow_their_timesteps() {
    let file = Movements::parse(SUMO).unwrap();
    assert_eq!(file.nodes().collect::<Vec<_>>(), [0, 1]);
    assert!(!file.is_geographic());
    assert_eq!(file.note(), Some("read 2 nodes: the run begins at its time 25200 s"));
    // The first timestep is time zero, and half of the way of a second is 2.5 m. The bus stays where it left.
    assert_eq!(at(SUMO, 0, &[0, 500, 1000, 9000]), [(10.0, 0.0), (12.5, 0.0), (15.0, 0.0), (15.0, 0.0)]);
    // The person stays at its first position until it enters, and then walks 2 m in 2 s.
    assert_eq!(at(SUMO, 1, &[0, 1000, 2000, 3000]), [(7.0, 3.0), (7.0, 3.0), (7.0, 4.0), (7.0, 5.0)]);
}

#[test]
fn the_head_says_whether_coordinates_are_degrees() {
    let option = "<fcd-output value=\"fcd.xml\"/><fcd-output.geo value=\"true\"/>";
    let geo = SUMO.replace("<fcd-output value=\"fcd.xml\"/>", option);
    assert!(Movements::parse(&geo).unwrap().is_geographic());
    assert!(
        !Movements::parse(&geo.replace("geo value=\"true\"", "geo value=\"false\"")).unwrap().is_geographic()
    );
}

#[test]
fn a_node_that_stands_still_has_two_knots() {
    let step =
        |t: u32, x: f64| format!("<timestep time=\"{t}\"><vehicle id=\"a\" x=\"{x}\" y=\"0\"/></timestep>");
    let text: String = (0..1000).map(|t| step(t, 5.0)).chain([step(1000, 10.0)]).collect();
    let text = format!("\u{feff}<fcd-export>{text}</fcd-export>");
    let path = Movements::parse(&text).unwrap().path(0).unwrap().clone();
    assert_eq!(path.points().count(), 3);
    assert_eq!(at(&text, 0, &[998_000, 999_500]), [(5.0, 0.0), (7.5, 0.0)]);
}

#[test]
fn a_file_that_ends_early_is_read_with_a_note() {
    let text = SUMO.replace("</fcd-export>\n", "");
    assert!(Movements::parse(&text).unwrap().note().unwrap().ends_with("the file ends before </fcd-export>"));
}

#[test]
fn errors_have_line_and_remedy() {
    for (from, to, line, found) in [
        ("time=\"25201.00\"", "time=\"0:00:01\"", 11, "time=\"0:00:01\""),
        ("time=\"25201.00\"", "time=\"25199\"", 11, "time=\"25199\""),
        ("time=\"25201.00\"", "time=\"NaN\"", 11, "time=\"NaN\""),
        ("x=\"15.00\"", "x=\"abc\"", 12, "x=\"abc\""),
        ("x=\"15.00\"", "x=\"inf\"", 12, "x=\"inf\""),
        ("x=\"15.00\"", "x=\"1e8\"", 12, "the coordinate 100000000"),
        ("x=\"15.00\" ", "", 12, "an element without the attribute x"),
        (
            "id=\"p0\" x=\"7.00\" y=\"3.00\"",
            "x=\"7.00\" y=\"3.00\"",
            13,
            "an element without the attribute id",
        ),
        ("x=\"15.00\" ", "x=\"15.00 ", 12, "not XML: syntax error"),
    ] {
        let e = error(&SUMO.replacen(from, to, 1));
        assert_eq!(e.line, Some(line), "{to}: {e:?}");
        assert!(e.found.starts_with(found), "{e:?}");
        assert!(!e.help.is_empty());
    }
    assert_eq!(error("<routes></routes>").found, "the first element is <routes>");
    assert_eq!(error("<fcd-export></fcd-export>").found, "the file has no vehicle and no person");
    assert_eq!(error("<!DOCTYPE a [<!ENTITY b \"c\">]><fcd-export/>").found, "a document type");
    let lost = "<fcd-export><vehicle id=\"a\" x=\"0\" y=\"0\"/></fcd-export>";
    assert_eq!(error(lost).found, "a vehicle outside of a <timestep>");
}
