//! Movement traces in the format of ns-2's `setdest`, which SUMO's traceExporter and BonnMotion
//! write today.
//!
//! ```text
//! $node_(0) set X_ 10.0
//! $node_(0) set Y_ 0.0
//! $node_(0) set Z_ 0.0
//! $ns_ at 3.0 "$node_(0) setdest 12.0 5.0 13.9"
//! ```
//!
//! At the time of an order a node turns from its current position towards a point (metres) at a
//! speed (m/s), and stays there if it arrives before the next order. At speed 0 it stops, as in
//! ns-3's `Ns2MobilityHelper`. Before its first movement it stays at its initial position. Nodes
//! may be in any order, but times must not decrease for one node. Comments (`#`) and lines about
//! `$god_` are ignored. Heights (`Z_`) are parsed and not used: a UE has its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use airlane_core::{Duration, Instant};

use super::Velocity;
use crate::geometry::Position;

/// A number in a line, with its limits.
struct Kind {
    name: &'static str,
    low: f64,
    high: f64,
    limits: &'static str,
}

/// The upper limit is the duration of the longest run.
const TIME: Kind = Kind { name: "a time in seconds", low: 0.0, high: 1e6, limits: "from 0 to 1000000" };
/// The limits are those of scenarios.
const COORDINATE: Kind =
    Kind { name: "a coordinate", low: -1e7, high: 1e7, limits: "from -10000000 to 10000000" };
const SPEED: Kind =
    Kind { name: "a speed in m/s", low: 0.0, high: 2000.0 / 3.6, limits: "from 0 to 555.5 (2000 km/h)" };
/// A movement that takes longer, in seconds, ends where the node is at that time: no run lasts as long.
const WAY_MAX_S: f64 = 1e9;

/// The lines that are supported.
const FORMS: &str = "expected `$node_(0) set X_ 10.0` (also Y_, Z_) or \
                     `$ns_ at 3.0 \"$node_(0) setdest 12.0 5.0 13.9\"`";

/// The movements of the nodes in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Setdest {
    paths: BTreeMap<u32, MovementPath>,
}

/// An error in a file: its place, and the correct form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetdestError {
    /// The line, counted from 1; `None` if the error is about the file.
    pub line: Option<usize>,
    /// The text at that place.
    pub found: String,
    /// The correct form.
    pub help: String,
}

/// The position of a node over time: straight lines between knots, and no movement before the first
/// and after the last one.
#[derive(Clone, Debug, PartialEq)]
pub struct MovementPath(Arc<[Knot]>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Knot {
    at: Instant,
    x: f64,
    y: f64,
}

impl Setdest {
    /// Parses a file.
    ///
    /// # Errors
    /// The first line that is not supported or not valid.
    pub fn parse(text: &str) -> Result<Self, SetdestError> {
        let mut nodes = BTreeMap::<u32, Node>::new();
        for (index, line) in text.lines().enumerate() {
            let tokens: Vec<&str> = line.split(['"', ' ', '\t', '\r']).filter(|t| !t.is_empty()).collect();
            read_line(&tokens, index + 1, &mut nodes).map_err(|help| SetdestError {
                line: Some(index + 1),
                found: cut(line),
                help,
            })?;
        }
        if nodes.is_empty() {
            let found = "the file has no node".to_owned();
            return Err(SetdestError { line: None, found, help: FORMS.to_owned() });
        }
        let path = |(number, node): (u32, Node)| match node.place() {
            Some(place) => Ok((number, node.path(place))),
            None => Err(SetdestError {
                line: Some(node.line),
                found: cut(text.lines().nth(node.line - 1).unwrap_or_default()),
                help: format!("node {number} has no position; set both X_ and Y_ of $node_({number})"),
            }),
        };
        Ok(Self { paths: nodes.into_iter().map(path).collect::<Result<_, _>>()? })
    }

    /// The movements of a node.
    #[must_use]
    pub fn path(&self, node: u32) -> Option<&MovementPath> {
        self.paths.get(&node)
    }

    /// Numbers of the nodes, ascending.
    pub fn nodes(&self) -> impl Iterator<Item = u32> {
        self.paths.keys().copied()
    }
}

/// The state of a node while the file is parsed.
#[derive(Debug, Default)]
struct Node {
    x: Option<f64>,
    y: Option<f64>,
    z: Option<f64>,
    knots: Vec<Knot>,
    /// Time of the last order, in seconds as in the file.
    told_s: f64,
    /// The first line that names it.
    line: usize,
}

impl Node {
    fn place(&self) -> Option<(f64, f64)> {
        self.x.zip(self.y)
    }

    fn path(self, (x, y): (f64, f64)) -> MovementPath {
        if self.knots.is_empty() {
            return MovementPath([Knot { at: Instant::ZERO, x, y }].into());
        }
        MovementPath(self.knots.into())
    }

    /// Its position at `at`, where it turns; removes the knots after it.
    fn turn(&mut self, at: Instant, place: (f64, f64)) -> Knot {
        let here = match self.knots[..] {
            [] => Knot { at, x: place.0, y: place.1 },
            [.., last] if last.at <= at => Knot { at, ..last },
            // The node is moving: every order adds at most two knots, the first of them in the past.
            [.., from, to] => {
                self.knots.pop();
                between(&from, &to, at)
            }
            [only] => only,
        };
        if self.knots.last().is_none_or(|last| last.at < at) {
            self.knots.push(here);
        }
        here
    }

    fn set_destination(&mut self, at: Instant, to: [f64; 2], speed_mps: f64, place: (f64, f64)) {
        let here = self.turn(at, place);
        let (dx, dy) = (to[0] - here.x, to[1] - here.y);
        let metres = (dx * dx + dy * dy).sqrt();
        if speed_mps == 0.0 || metres == 0.0 {
            return;
        }
        let seconds = metres / speed_mps;
        let arrival = if seconds > WAY_MAX_S {
            let share = WAY_MAX_S / seconds;
            let at = at + Duration::from_secs_f64(WAY_MAX_S);
            Knot { at, x: here.x + dx * share, y: here.y + dy * share }
        } else {
            let span = Duration::from_secs_f64(seconds).max(Duration::from_nanos(1));
            Knot { at: at + span, x: to[0], y: to[1] }
        };
        self.knots.push(arrival);
    }
}

/// Parses a line; the error is the correct form.
fn read_line(tokens: &[&str], line: usize, nodes: &mut BTreeMap<u32, Node>) -> Result<(), String> {
    match *tokens {
        [] | ["$god_", ..] | ["$ns_", "at", _, "$god_", ..] => Ok(()),
        [first, ..] if first.starts_with('#') => Ok(()),
        [node, "set", axis, value] => {
            let value = number(value, &COORDINATE)?;
            let number = node_number(node)?;
            let node = nodes.entry(number).or_insert_with(|| Node { line, ..Node::default() });
            let place = match axis {
                "X_" => &mut node.x,
                "Y_" => &mut node.y,
                "Z_" => &mut node.z,
                _ => return Err(FORMS.to_owned()),
            };
            if place.is_some() {
                return Err(format!("{axis} of node {number} is set twice; set each coordinate once"));
            }
            *place = Some(value);
            Ok(())
        }
        ["$ns_", "at", time, node, "setdest", x, y, speed] => {
            let time_s = number(time, &TIME)?;
            let x = number(x, &COORDINATE)?;
            let y = number(y, &COORDINATE)?;
            let speed = number(speed, &SPEED)?;
            let number = node_number(node)?;
            let known = nodes.get_mut(&number).and_then(|node| Some((node.place()?, node)));
            let Some((place, node)) = known else {
                return Err(format!("node {number} has no position yet; set its X_ and Y_ first"));
            };
            if time_s < node.told_s {
                return Err(format!(
                    "the time is before {} s, the time of the last line of node {number}; sort the lines by time",
                    node.told_s
                ));
            }
            node.told_s = time_s;
            let at = Instant::ZERO + Duration::from_secs_f64(time_s);
            node.set_destination(at, [x, y], speed, place);
            Ok(())
        }
        ["$ns_", "at", _, _, "set", ..] => {
            Err("a position cannot be set during a run; move the node with setdest".to_owned())
        }
        _ => Err(FORMS.to_owned()),
    }
}

fn node_number(token: &str) -> Result<u32, String> {
    let inner = token.strip_prefix("$node_(").and_then(|rest| rest.strip_suffix(')'));
    let number = inner.ok_or_else(|| FORMS.to_owned())?.parse();
    number.map_err(|_| format!("`{}` is not a node; write it as $node_(0)", cut(token)))
}

fn number(token: &str, kind: &Kind) -> Result<f64, String> {
    let number = token.parse::<f64>().ok().filter(|x| (kind.low..=kind.high).contains(x));
    number.ok_or_else(|| format!("`{}` is not {} {}", cut(token), kind.name, kind.limits))
}

/// The text, shortened to fit on a line and without control characters.
fn cut(text: &str) -> String {
    let printable = text.trim().chars().map(|c| if c.is_control() { '?' } else { c });
    let mut short: String = printable.take(80).collect();
    if text.trim().chars().nth(80).is_some() {
        short += "...";
    }
    short
}

fn between(from: &Knot, to: &Knot, at: Instant) -> Knot {
    let share = (at - from.at).as_secs_f64() / (to.at - from.at).as_secs_f64();
    Knot { at, x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share }
}

impl MovementPath {
    /// The start position, at this height.
    #[must_use]
    pub fn start(&self, height_m: f64) -> Position {
        Position { x: self.0[0].x, y: self.0[0].y, z: height_m }
    }

    /// True if the path has no movement.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.0.iter().all(|knot| (knot.x, knot.y) == (self.0[0].x, self.0[0].y))
    }
}

/// A UE that follows a path.
#[derive(Clone, Debug)]
pub struct PathFollower {
    path: MovementPath,
    is_static: bool,
    height_m: f64,
    /// Number of knots passed.
    passed: usize,
}

impl PathFollower {
    /// Follows the path from time zero on, at this height.
    #[must_use]
    pub fn new(path: MovementPath, height_m: f64) -> Self {
        Self { is_static: path.is_static(), path, height_m, passed: 0 }
    }

    /// The position at `now`, which must not be before the time of an earlier call.
    pub fn position_at(&mut self, now: Instant) -> Position {
        let (from, to) = self.stretch(now);
        let here = if from.at == to.at { *to } else { between(from, to, now) };
        Position { x: here.x, y: here.y, z: self.height_m }
    }

    /// The velocity at `now`, which must not be before the time of an earlier call.
    pub fn velocity_at(&mut self, now: Instant) -> Velocity {
        let (from, to) = self.stretch(now);
        let seconds = (to.at - from.at).as_secs_f64();
        if seconds == 0.0 {
            return Velocity::default();
        }
        Velocity { x: (to.x - from.x) / seconds, y: (to.y - from.y) / seconds }
    }

    /// The knots before and after `now`; twice the same knot where the node does not move.
    fn stretch(&mut self, now: Instant) -> (&Knot, &Knot) {
        let knots = &self.path.0;
        let behind = self.passed.checked_sub(1).map_or(Instant::ZERO, |last| knots[last].at);
        assert!(now >= behind, "a walker cannot be asked about its past");
        while knots.get(self.passed).is_some_and(|knot| knot.at <= now) {
            self.passed += 1;
        }
        match self.passed {
            0 => (&knots[0], &knots[0]),
            passed => (&knots[passed - 1], &knots[passed.min(knots.len() - 1)]),
        }
    }

    /// True if the position never changes.
    #[must_use]
    pub const fn is_static(&self) -> bool {
        self.is_static
    }
}
