//! Movements in SUMO's floating car data, the output of `sumo --fcd-output FILE`
//! (<https://sumo.dlr.de/docs/Simulation/Output/FCDOutput.html>, `data/xsd/fcd_file.xsd`).
//!
//! ```text
//! <fcd-export>
//!     <timestep time="0.00">
//!         <vehicle id="bus_1" x="5.10" y="-1.60" angle="90.00" speed="0.00"/>
//!         <person id="p0" x="7.00" y="3.20" angle="0.00" speed="1.20"/>
//!     </timestep>
//! </fcd-export>
//! ```
//!
//! Vehicles, persons and containers are nodes, numbered from 0 in the order in which they first occur. Between two
//! timesteps a node moves on a straight line. It stays at its first position until it enters and at its last one after it
//! has left. The first timestep is time zero.
//!
//! With `--fcd-output.geo`, `x` is the longitude and `y` the latitude in degrees. The comment in which SUMO repeats its
//! configuration says so.

use std::collections::BTreeMap;

use airlane_core::{Duration, Instant};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::movements::{IMPROBABLE_MPS, Movements, MovementsError, counted, cut};
use super::path::{Knot, MovementPath, distance};

/// Limit of coordinates in metres, as in other movement files.
const FARTHEST_M: f64 = 1e7;
/// Limit of a time in seconds: 31 years, within the range of the clock.
const LATEST_S: f64 = 1e9;

const FORM: &str = "expected the output of `sumo --fcd-output FILE`: <fcd-export> with <timestep time=\"0.00\"> and \
                    <vehicle id=\"bus\" x=\"5.1\" y=\"-1.6\"/>";

/// A node of the file.
struct Node {
    number: u32,
    knots: Vec<Knot>,
}

/// Nodes and times that have been read so far.
#[derive(Default)]
struct Contents {
    nodes: BTreeMap<String, Node>,
    /// Times of the first and of the current timestep, in seconds of the file.
    first_s: Option<f64>,
    now_s: Option<f64>,
    is_geographic: bool,
    fastest_mps: f64,
    has_root: bool,
    is_complete: bool,
}

/// Why an element is wrong, and what would be right.
type Mistake = (String, String);

/// Parses a file.
///
/// # Errors
/// The first element that is not valid, or that the file has no vehicle and no person.
pub(super) fn parse(text: &str) -> Result<Movements, MovementsError> {
    let mut reader = Reader::from_str(text);
    let mut contents = Contents::default();
    loop {
        let from = reader.buffer_position();
        let read = reader.read_event().map_err(|e| (format!("not XML: {e}"), FORM.to_owned()));
        let step = read.and_then(|event| contents.take(&event));
        match step {
            Ok(true) => {}
            Ok(false) => break,
            Err((found, help)) => {
                let end = usize::try_from(from).unwrap_or(text.len()).min(text.len());
                let behind = &text.as_bytes()[..end];
                // The blanks before an element are an event of their own.
                let line = behind.iter().filter(|byte| **byte == b'\n').count() + 1;
                return Err(MovementsError { line: Some(line), found: cut(&found), help });
            }
        }
    }
    contents.finish()
}

impl Contents {
    /// Takes an event; false at the end of the file.
    fn take(&mut self, event: &Event<'_>) -> Result<bool, Mistake> {
        match event {
            Event::Start(element) | Event::Empty(element) => self.element(element)?,
            Event::End(element) => self.is_complete |= element.name().as_ref() == "fcd-export",
            // SUMO writes its configuration into a comment before the data.
            Event::Comment(comment) if !self.has_root => {
                let says = |value: &str| comment.contains(&format!("<fcd-output.geo value=\"{value}\""));
                self.is_geographic |= ["true", "1", "on", "yes", "t"].into_iter().any(says);
            }
            Event::DocType(_) => {
                return Err(("a document type".to_owned(), format!("leave it out; {FORM}")));
            }
            Event::Eof => return Ok(false),
            _ => {}
        }
        Ok(true)
    }

    fn element(&mut self, element: &BytesStart<'_>) -> Result<(), Mistake> {
        match element.name().as_ref() {
            "fcd-export" => self.has_root = true,
            name if !self.has_root => {
                let name = cut(name);
                return Err((format!("the first element is <{name}>"), FORM.to_owned()));
            }
            "timestep" => self.timestep(element)?,
            "vehicle" | "person" | "container" => self.sample(element)?,
            _ => {}
        }
        Ok(())
    }

    fn timestep(&mut self, element: &BytesStart<'_>) -> Result<(), Mistake> {
        let help =
            "it must be a number of seconds from 0 to 1e9, ascending: run SUMO without --human-readable-time";
        let at = number(element, "time", help)?;
        let is_later = self.now_s.is_none_or(|now| at >= now);
        if !(0.0..=LATEST_S).contains(&at) || !is_later {
            return Err((format!("time=\"{at}\""), help.to_owned()));
        }
        self.first_s.get_or_insert(at);
        self.now_s = Some(at);
        Ok(())
    }

    fn sample(&mut self, element: &BytesStart<'_>) -> Result<(), Mistake> {
        let Some((first, now)) = self.first_s.zip(self.now_s) else {
            return Err(("a vehicle outside of a <timestep>".to_owned(), FORM.to_owned()));
        };
        let id = attribute(element, "id")?;
        let id = id.ok_or_else(|| ("an element without the attribute id".to_owned(), FORM.to_owned()))?;
        let help =
            format!("it must be a number up to {FARTHEST_M:e}; --fcd-output.attributes must include x and y");
        let place = [number(element, "x", &help)?, number(element, "y", &help)?];
        if let Some(far) = place.iter().find(|coordinate| coordinate.abs() > FARTHEST_M) {
            return Err((format!("the coordinate {far}"), help));
        }
        let at = Instant::ZERO + Duration::from_secs_f64(now - first);
        let number = u32::try_from(self.nodes.len()).expect("a file has fewer bytes");
        let node = self.nodes.entry(id).or_insert_with(|| Node { number, knots: Vec::new() });
        if let Some(last) = node.knots.last()
            && last.at < at
        {
            let speed = distance([last.x, last.y], place) / (at - last.at).as_secs_f64();
            self.fastest_mps = self.fastest_mps.max(speed);
        }
        node.add(Knot { at, x: place[0], y: place[1] });
        Ok(())
    }

    fn finish(self) -> Result<Movements, MovementsError> {
        let count = self.nodes.len();
        if count == 0 {
            let found = "the file has no vehicle and no person".to_owned();
            return Err(MovementsError { line: None, found, help: FORM.to_owned() });
        }
        let mut parts = Vec::new();
        if let Some(first) = self.first_s.filter(|first| *first > 0.0) {
            parts.push(format!("the run begins at its time {first} s"));
        }
        if !self.is_complete {
            parts.push("the file ends before </fcd-export>".to_owned());
        }
        // A degree of latitude is 111 km.
        if !self.is_geographic && self.fastest_mps > IMPROBABLE_MPS {
            parts.push(format!("speeds up to {:.0} m/s", self.fastest_mps));
        }
        let note = format!("read {}: {}", counted(count, ["node", "nodes"]), parts.join("; "));
        let paths = self.nodes.into_values().map(|node| (node.number, MovementPath::through(node.knots)));
        Ok(Movements {
            paths: paths.collect(),
            note: (!parts.is_empty()).then_some(note),
            is_geographic: self.is_geographic,
        })
    }
}

impl Node {
    /// Adds a position. While the node stands still, its first and its last sample are kept.
    fn add(&mut self, knot: Knot) {
        let is_at = |other: &Knot| (other.x, other.y) == (knot.x, knot.y);
        match &mut self.knots[..] {
            [.., before, last] if is_at(before) && is_at(last) => *last = knot,
            [.., last] if last.at == knot.at => *last = knot,
            _ => self.knots.push(knot),
        }
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Result<Option<String>, Mistake> {
    let wrong = |e: String| (format!("the attribute {name}: {e}"), FORM.to_owned());
    let found = element.try_get_attribute(name).map_err(|e| wrong(e.to_string()))?;
    let text =
        found.map(|found| found.normalized_value(XmlVersion::Implicit1_0).map(|text| text.into_owned()));
    text.transpose().map_err(|e| wrong(e.to_string()))
}

/// An attribute that is a finite number.
fn number(element: &BytesStart<'_>, name: &str, help: &str) -> Result<f64, Mistake> {
    let text = attribute(element, name)?;
    let Some(text) = text else {
        return Err((format!("an element without the attribute {name}"), help.to_owned()));
    };
    let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| (format!("{name}=\"{}\"", cut(&text)), help.to_owned()))
}
