//! Statements of a movement file.

use super::{FORMS, cut};

/// A number in a statement, with its limits.
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
/// A speed may place a node immediately: at the highest, no way takes more than a nanosecond.
const SPEED: Kind = Kind { name: "a speed in m/s", low: 0.0, high: 1e18, limits: "from 0 to 1e18" };
/// The limit of speeds in scenarios, 2000 km/h.
pub(super) const SPEED_LIMIT_MPS: f64 = 2000.0 / 3.6;

/// A coordinate of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    X,
    Y,
    Z,
}

impl Axis {
    /// The index of the axis in a position on the ground.
    pub(super) const fn index(self) -> Option<usize> {
        match self {
            Self::X => Some(0),
            Self::Y => Some(1),
            Self::Z => None,
        }
    }
}

/// An action of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Order {
    /// Sets a coordinate.
    Set(Axis, f64),
    /// Turns towards a point at a speed.
    GoTo([f64; 2], f64),
}

/// An order for a node, at a time.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) node: (String, u32),
    pub(super) at_s: Option<f64>,
    pub(super) order: Order,
}

/// The meaning of a statement.
#[derive(Debug)]
pub(super) enum Read<'a> {
    Statement(Statement),
    /// Another statement, by its command.
    Skipped(&'a str),
    /// A statement without effect, about heights or `$god_`.
    Nothing,
}

/// Splits lines into statements.
#[derive(Debug, Default)]
pub(super) struct Splitter<'a> {
    /// The words before a quote that the last line left open: `$ns_ at 3.0 "`.
    open: Option<Vec<&'a str>>,
}

impl<'a> Splitter<'a> {
    /// The statements of a line, each as its words. In Tcl a semicolon ends a statement; the commands between
    /// quotes share the time before them. A line may end with the opening quote, or without the closing one.
    pub(super) fn split(&mut self, line: &'a str) -> Vec<Vec<&'a str>> {
        let code = line.split('#').next().unwrap_or_default();
        let mut all = Vec::new();
        let mut time = self.open.take().unwrap_or_default();
        let inside_first = usize::from(!time.is_empty());
        let pieces: Vec<&str> = code.split('"').collect();
        for (index, piece) in pieces.iter().enumerate() {
            let inside = (index + inside_first) % 2 == 1;
            for (part_index, part) in piece.split(';').enumerate() {
                // The end of a quote, or a semicolon outside of quotes, ends the command of the time.
                if !inside && (part_index > 0 || index > 0) {
                    time.clear();
                }
                let words: Vec<&str> = part
                    .split(|c: char| c.is_whitespace() || matches!(c, '{' | '}' | '[' | ']' | '\\'))
                    .filter(|word| !word.is_empty())
                    .collect();
                match words[..] {
                    [] => {}
                    [_, "at"] | [_, "at", _] if !inside => time = words,
                    _ => all.push(time.iter().copied().chain(words).collect()),
                }
            }
            if inside && index + 1 == pieces.len() && piece.trim().is_empty() {
                self.open = Some(core::mem::take(&mut time));
            }
        }
        self.open = self.open.take().filter(|words| !words.is_empty());
        all
    }
}

/// Reads a statement; the error is the correct form.
pub(super) fn read<'a>(words: &[&'a str]) -> Result<Read<'a>, String> {
    let (at, command) = match words {
        [_, "at", at, command @ ..] => (Some(*at), command),
        _ => (None, words),
    };
    match *command {
        [] | ["$god_", ..] => Ok(Read::Nothing),
        [node, "set", axis @ ("X_" | "Y_" | "Z_"), value] => {
            let at_s = at.map(|time| number(time, &TIME)).transpose()?;
            let value = number(value, &COORDINATE)?;
            let axis = match axis {
                "X_" => Axis::X,
                "Y_" => Axis::Y,
                _ => Axis::Z,
            };
            Ok(Read::Statement(Statement { node: node_of(node)?, at_s, order: Order::Set(axis, value) }))
        }
        [node, "setdest", x, y, speed] => {
            let at_s = at.map(|time| number(time, &TIME)).transpose()?;
            let to = [number(x, &COORDINATE)?, number(y, &COORDINATE)?];
            let order = Order::GoTo(to, number(speed, &SPEED)?);
            Ok(Read::Statement(Statement { node: node_of(node)?, at_s, order }))
        }
        // A position or a movement in another form, as in a loop, is not left out in silence.
        _ if command.iter().any(|word| matches!(*word, "setdest" | "X_" | "Y_"))
            && words.iter().any(|word| word.starts_with('$')) =>
        {
            Err(FORMS.to_owned())
        }
        [variable, command, ..] if variable.starts_with('$') => Ok(Read::Skipped(command)),
        [command, ..] => Ok(Read::Skipped(command)),
    }
}

/// The name of a node in lower case and without its final underscore, and its number: `$node_(0)`, `$node(0)`,
/// `$n0`.
fn node_of(word: &str) -> Result<(String, u32), String> {
    let named = || {
        let name = word.strip_prefix('$')?;
        let (name, digits) = match name.strip_suffix(')') {
            Some(name) => name.split_once('(')?,
            None => name.split_at(name.trim_end_matches(|c: char| c.is_ascii_digit()).len()),
        };
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = Some(digits).filter(|_| plain)?.parse().ok()?;
        Some((name.trim_end_matches('_').to_ascii_lowercase(), number))
    };
    named().ok_or_else(|| format!("`{}` is not a node; write it with its number, as $node_(0)", cut(word)))
}

fn number(word: &str, kind: &Kind) -> Result<f64, String> {
    let number = word.parse::<f64>().ok().filter(|x| (kind.low..=kind.high).contains(x));
    number.ok_or_else(|| format!("`{}` is not {} {}", cut(word), kind.name, kind.limits))
}
