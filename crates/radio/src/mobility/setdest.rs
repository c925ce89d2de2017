//! Movement traces in the format of ns-2's `setdest`, which SUMO's traceExporter and BonnMotion
//! write today.
//!
//! ```text
//! $node_(0) set X_ 10.0
//! $node_(0) set Y_ 0.0
//! $node_(0) set Z_ 0.0
//! $ns_ at 3.0 "$node_(0) setdest 12.0 5.0 13.9"   # text behind # is a comment
//! ```
//!
//! At the time of an order a node turns from its current position towards a point (metres) at a
//! speed (m/s), and stays there if it arrives before the next order. At speed 0 it stops, as in
//! ns-3's `Ns2MobilityHelper`. A coordinate that is set at a time (`$ns_ at 3.0 "$node_(0) set X_ 1"`)
//! is a jump, and so is an order with a speed above 2000 km/h if it ends within 10 ms: such orders
//! place vehicles that enter. Before its first movement a node stays at its initial position, which
//! may be anywhere in the file; a coordinate that is never set is 0. Orders are followed by their
//! times, and those of the same time by their order in the file, as ns-2 does.
//!
//! A file is a script in Tcl, of which the two kinds of line are read. Others are skipped and counted
//! ([`Movements::note`]); lines about `$god_` and heights (`Z_`) have no effect. The node is written as
//! `$node_(0)`, `$node(0)` or `$n0`. Of a file with several names of nodes, such as `$node_(0)` and
//! `$rsu(0)`, only the nodes of one are read.

mod report;
mod statement;

use std::collections::BTreeMap;

use airlane_core::{Duration, Instant};

use super::movements::{Movements, MovementsError, cut};
use super::path::{MovementPath, PathBuilder, distance};
use report::Tally;
use statement::{Axis, Order, Read, SPEED_LIMIT_MPS, Splitter, Statement};

/// The lines that are supported.
const FORMS: &str = "expected `$node_(0) set X_ 10.0` (also Y_, Z_) or \
                     `$ns_ at 3.0 \"$node_(0) setdest 12.0 5.0 13.9\"`";
/// An order that ends within this time may have any speed: it places the node.
const PLACING_S: f64 = 0.01;

/// The name of a node without its number, and the number.
type NodeKey = (String, u32);

/// Initial position and orders of a node.
#[derive(Debug, Default)]
struct Node {
    start: [Option<f64>; 2],
    orders: Vec<(f64, Order)>,
}

/// Parses a file.
///
/// # Errors
/// The first line about a position or a movement that is not valid, or that the file has no node.
pub(super) fn parse(text: &str) -> Result<Movements, MovementsError> {
    let mut nodes = BTreeMap::<NodeKey, Node>::new();
    let mut tally = Tally::default();
    let mut splitter = Splitter::default();
    for (index, line) in text.lines().enumerate() {
        for words in splitter.split(line) {
            let read = statement::read(&words).map_err(|help| MovementsError {
                line: Some(index + 1),
                found: cut(line),
                help,
            })?;
            match read {
                Read::Statement(statement) => add(&mut nodes, statement, &mut tally),
                Read::Skipped(word) => tally.skip(word, line),
                Read::Nothing => {}
            }
        }
    }
    let Some(name) = most_nodes(&nodes) else {
        let found = "the file has no node".to_owned();
        return Err(MovementsError { line: None, found, help: tally.help_without_node(FORMS) });
    };
    let all = nodes.len();
    let mut paths = BTreeMap::new();
    for ((_, number), node) in nodes.into_iter().filter(|((own, _), _)| *own == name) {
        paths.insert(number, node.path(&mut tally));
    }
    tally.others = all - paths.len();
    Ok(Movements { note: tally.line(paths.len()), paths, is_geographic: false })
}

/// The name with the most nodes; `node`, as ns-2's scripts call them, comes first.
fn most_nodes(nodes: &BTreeMap<NodeKey, Node>) -> Option<String> {
    let mut counts = BTreeMap::<&str, usize>::new();
    for (name, _) in nodes.keys() {
        *counts.entry(name).or_default() += 1;
    }
    let most = counts.iter().max_by_key(|(name, count)| (**name == "node", **count));
    most.map(|(name, _)| (*name).to_owned())
}

fn add(nodes: &mut BTreeMap<NodeKey, Node>, statement: Statement, tally: &mut Tally) {
    let node = nodes.entry(statement.node).or_default();
    match (statement.at_s, statement.order) {
        (None, Order::Set(axis, value)) => {
            let Some(index) = axis.index() else { return };
            tally.set_twice += usize::from(node.start[index].is_some_and(|known| known != value));
            node.start[index] = Some(value);
        }
        (at_s, order) => {
            let at_s = at_s.unwrap_or(0.0);
            tally.unsorted += usize::from(node.orders.last().is_some_and(|(last, _)| at_s < *last));
            node.orders.push((at_s, order));
        }
    }
}

impl Node {
    fn path(mut self, tally: &mut Tally) -> MovementPath {
        let set_at_zero = |axis: Axis| {
            let is_own = |(at, order): &(f64, Order)| {
                *at == 0.0 && matches!(order, Order::Set(own, _) if *own == axis)
            };
            self.orders.iter().any(is_own)
        };
        let unset = [(0, Axis::X), (1, Axis::Y)]
            .iter()
            .any(|(i, axis)| self.start[*i].is_none() && !set_at_zero(*axis));
        tally.at_origin += usize::from(unset);
        self.orders.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let mut path = PathBuilder::new(self.start.map(|coordinate| coordinate.unwrap_or(0.0)));
        for (at_s, order) in self.orders {
            let at = Instant::ZERO + Duration::from_secs_f64(at_s);
            let here = path.position_at(at);
            match order {
                Order::Set(axis, value) => {
                    let mut to = here;
                    let Some(index) = axis.index() else { continue };
                    to[index] = value;
                    path.place(at, to);
                }
                Order::GoTo(to, speed)
                    if speed > SPEED_LIMIT_MPS && distance(here, to) <= speed * PLACING_S =>
                {
                    tally.placed += 1;
                    path.place(at, to);
                }
                Order::GoTo(to, speed) => {
                    let moves = distance(here, to) > 0.0;
                    tally.fastest_mps = tally.fastest_mps.max(if moves { speed } else { 0.0 });
                    path.set_destination(at, to, speed);
                }
            }
        }
        path.finish()
    }
}
