//! Movements from a file, in one of two formats.

use std::collections::BTreeMap;

use super::path::MovementPath;
use super::{fcd, setdest};

/// A third above the highest speed of trains in service (350 km/h); above, the unit is improbable.
pub(super) const IMPROBABLE_MPS: f64 = 130.0;

/// The movements of the nodes in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Movements {
    pub(super) paths: BTreeMap<u32, MovementPath>,
    pub(super) note: Option<String>,
    pub(super) is_geographic: bool,
}

/// An error in a file: its place, and the correct form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovementsError {
    /// The line, counted from 1; `None` if the error is about the file.
    pub line: Option<usize>,
    /// The text at that place.
    pub found: String,
    /// The correct form.
    pub help: String,
}

impl Movements {
    /// Parses a file: SUMO's floating car data if it is XML, a script of `setdest` otherwise.
    ///
    /// # Errors
    /// The first place that is not valid, or that the file has no node.
    pub fn parse(text: &str) -> Result<Self, MovementsError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim_start().starts_with('<') { fcd::parse(text) } else { setdest::parse(text) }
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

    /// Whether the file says that its coordinates are longitudes and latitudes in degrees.
    #[must_use]
    pub const fn is_geographic(&self) -> bool {
        self.is_geographic
    }

    /// A line on skipped, assumed and improbable contents; `None` if there are none.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}

/// A number with the singular or plural of its noun.
pub(super) fn counted(count: usize, [one, many]: [&str; 2]) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The text, shortened to fit on a line and without control characters.
pub(super) fn cut(text: &str) -> String {
    let printable = text.trim().chars().map(|c| if c.is_control() { '?' } else { c });
    let mut short: String = printable.take(80).collect();
    if text.trim().chars().nth(80).is_some() {
        short += "...";
    }
    short
}
