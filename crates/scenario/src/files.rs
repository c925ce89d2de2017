//! Reads the files named by a scenario.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use airlane_net::DeliveryTrace;
use airlane_radio::mobility::{MovementPath, Movements};
use airlane_radio::{LossKind, Raster};

use crate::ScenarioError;
use crate::format::{Mobility, MovementTrace, Origin, Resolved};
use crate::map::{FARTHEST_M, Projection, from_zero};
use crate::pages;

/// Exceeds the size of any useful file; the limit bounds the memory for reading.
const BYTES_MAX: u64 = 64 << 20;

/// The source of the files that a scenario names.
#[derive(Clone, Debug, Default)]
pub enum Files {
    /// The file system.
    #[default]
    Disk,
    /// Contents by name, where there is no file system, as in a browser.
    Given(Arc<BTreeMap<String, Vec<u8>>>),
}

impl Files {
    /// The error and a hint for a path that leads to no file; `None` if it leads to one.
    pub(crate) fn complaint(&self, path: &Path) -> Option<(&'static str, String)> {
        match self {
            Self::Disk if path.is_file() => None,
            Self::Disk => {
                let what = if path.is_dir() { "this is a folder, not a file" } else { "no such file" };
                Some((what, format!("the path is {}", path.display())))
            }
            Self::Given(_) if self.given(path).is_some() => None,
            Self::Given(_) => {
                let help =
                    format!("a browser reads no files by itself: drop {} on this page", path.display());
                Some(("no such file", help))
            }
        }
    }

    /// The contents of a given file. The caller often knows only the last component of its path.
    fn given(&self, path: &Path) -> Option<&Vec<u8>> {
        let Self::Given(files) = self else { return None };
        let by_name = || files.get(path.file_name()?.to_str()?);
        path.to_str().and_then(|path| files.get(path)).or_else(by_name)
    }

    fn bytes(&self, file: &str) -> Result<Cow<'_, [u8]>, String> {
        let bytes = match self {
            Self::Disk => std::fs::metadata(file).and_then(|about| {
                // Oversized files are not read.
                if about.len() > BYTES_MAX {
                    Ok(Err(about.len()))
                } else {
                    Ok(Ok(std::fs::read(file)?.into()))
                }
            }),
            Self::Given(_) => {
                let bytes = self.given(Path::new(file)).ok_or(std::io::ErrorKind::NotFound.into());
                bytes.map(|bytes| match bytes.len() as u64 {
                    length if length > BYTES_MAX => Err(length),
                    _ => Ok(bytes.into()),
                })
            }
        };
        let bytes = bytes.map_err(|e| format!("the file cannot be read: {e}"))?;
        bytes.map_err(|length| format!("the file has {length} bytes; the limit is {BYTES_MAX}"))
    }

    /// Reads a delivery trace.
    pub fn delivery_trace(&self, file: &str) -> Result<DeliveryTrace, ScenarioError> {
        let text = self.text(file, "expected a delivery trace")?;
        DeliveryTrace::parse(&text, file)
            .map_err(|e| mistake(file, Some(e.line), format!("found `{}`", cut(&e.found)), e.help))
    }

    /// Reads movements.
    pub fn movements(&self, file: &str) -> Result<Movements, ScenarioError> {
        let text =
            self.lossy_text(file, "expected a movement trace (SUMO's floating car data, or ns-2 setdest)")?;
        Movements::parse(&text).map_err(|e| {
            let found = if e.line.is_some() { format!("found `{}`", e.found) } else { e.found };
            mistake(file, e.line, found, e.help)
        })
    }

    /// Reads a raster of losses.
    pub fn raster(&self, file: &str, kind: LossKind) -> Result<Raster, ScenarioError> {
        let text = self.lossy_text(file, "expected an ESRI ASCII grid")?;
        Raster::parse(&text, kind).map_err(|e| mistake(file, e.line, e.message, e.help))
    }

    /// The text of a file of other programs, with a replacement character for each byte that is not UTF-8, as
    /// in comments or recorded contents.
    pub(crate) fn lossy_text(&self, file: &str, help: &str) -> Result<String, ScenarioError> {
        let bytes = self.bytes(file).map_err(|message| mistake(file, None, message, help.to_owned()))?;
        Ok(match String::from_utf8_lossy(&bytes) {
            Cow::Borrowed(text) => text.to_owned(),
            Cow::Owned(text) => text,
        })
    }

    pub(crate) fn text(&self, file: &str, help: &str) -> Result<String, ScenarioError> {
        let bytes = self.bytes(file).map_err(|message| mistake(file, None, message, help.to_owned()))?;
        String::from_utf8(bytes.into_owned()).map_err(|e| {
            let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
            let line = good.iter().filter(|b| **b == b'\n').count() + 1;
            mistake(file, Some(line), "the file is not UTF-8 text".to_owned(), help.to_owned())
        })
    }
}

impl Resolved {
    /// Notes of the readers of recordings and movements on what they skipped or assumed, a line for each file
    /// that begins with its path.
    ///
    /// # Errors
    /// If a file cannot be read or is invalid.
    pub fn notes(&self, files: &Files) -> Result<Vec<String>, ScenarioError> {
        let mut notes = Vec::new();
        for name in self.page_files() {
            notes.extend(pages::load(name, files)?.note.map(|note| format!("{name}: {note}")));
        }
        for name in self.movement_files() {
            notes.extend(files.movements(name)?.note().map(|note| format!("{name}: {note}")));
        }
        Ok(notes)
    }

    /// Movement files, each once.
    fn movement_files(&self) -> BTreeSet<&str> {
        let movements = self.ue.iter().filter_map(|ue| match &ue.mobility {
            Mobility::Trace(trace) => Some(trace.file.as_str()),
            Mobility::Static
            | Mobility::Line(_)
            | Mobility::RandomWaypoint(_)
            | Mobility::RandomWalk(_)
            | Mobility::LevyWalk(_) => None,
        });
        movements.collect()
    }

    /// Files of web pages, each once.
    fn page_files(&self) -> BTreeSet<&str> {
        let pages = self.flow.iter().filter_map(|flow| flow.app.application().pages());
        pages.filter(|name| !pages::is_built_in(name)).collect()
    }

    /// Files of rasters.
    fn raster_files(&self) -> impl Iterator<Item = &str> {
        let clutter = self.channel.iter().filter_map(|channel| channel.clutter_loss_map.as_deref());
        clutter.chain(self.cell.iter().filter_map(|cell| cell.path_loss_map.as_deref()))
    }

    /// The files that a run reads, relative to the current folder; each once.
    #[must_use]
    pub fn files(&self) -> Vec<&str> {
        let links =
            [&self.internet.trace, &self.internet.uplink_trace].into_iter().filter_map(Option::as_deref);
        let files = links.chain(self.movement_files()).chain(self.page_files()).chain(self.raster_files());
        let mut files: Vec<_> = files.collect();
        files.sort_unstable();
        files.dedup();
        files
    }
}

/// The movements of one UE of a group, in metres.
///
/// # Errors
/// If the file has no such node, or its degrees have no origin or are too far from it.
pub fn path_of(
    movements: &Movements,
    trace: &MovementTrace,
    member: u32,
) -> Result<MovementPath, ScenarioError> {
    let path = node_of(movements, trace, member)?;
    if !trace.geographic.unwrap_or(movements.is_geographic()) {
        return Ok(path.clone());
    }
    let Some(origin) = trace.origin else {
        let help = "add origin = { latitude = 48.1, longitude = 11.5 } beside `file`, or a [layout] of kind \"map\" whose \
                    sites have latitudes and longitudes; with coordinates in metres, geographic = false";
        let message = "its longitudes and latitudes need an origin, which is (0, 0)".to_owned();
        return Err(mistake(&trace.file, None, message, help.to_owned()));
    };
    let outside = path.points().find(|[x, y]| x.abs() > 180.0 || y.abs() > 90.0);
    if let Some([x, y]) = outside {
        let message = format!("({x}, {y}) is not a longitude and latitude");
        return Err(mistake(&trace.file, None, message, "with metres, set geographic = false".to_owned()));
    }
    let projection = Projection::about(origin);
    let path = path.mapped(|[longitude, latitude]| projection.metres(&Origin { latitude, longitude }));
    let farthest = path.points().map(from_zero).fold(0.0, f64::max);
    if farthest > FARTHEST_M {
        let message = format!("a position is {:.0} km from the origin", farthest / 1e3);
        let help = format!("the limit is {} km; check mobility.origin or layout.origin", FARTHEST_M / 1e3);
        return Err(mistake(&trace.file, None, message, help));
    }
    Ok(path)
}

fn node_of<'a>(
    movements: &'a Movements,
    trace: &MovementTrace,
    member: u32,
) -> Result<&'a MovementPath, ScenarioError> {
    let node = u64::from(trace.node) + u64::from(member);
    let path = u32::try_from(node).ok().and_then(|node| movements.path(node));
    path.ok_or_else(|| {
        let nearest = movements.nodes().min_by_key(|n| u64::from(*n).abs_diff(node));
        let nearest = nearest.expect("a file without a node is refused when it is read");
        let count = movements.nodes().count();
        let help = format!("the file has {count} nodes up to {}; the nearest is {nearest}", last(movements));
        mistake(&trace.file, None, format!("node {node} is not in {}", trace.file), help)
    })
}

fn last(movements: &Movements) -> u32 {
    movements.nodes().last().unwrap_or_default()
}

fn mistake(file: &str, line: Option<usize>, message: String, help: String) -> ScenarioError {
    let mut error = ScenarioError::new("", message, help).in_file(file);
    error.line = line.and_then(|line| u32::try_from(line).ok());
    error
}

/// The text, shortened to fit on a line.
fn cut(text: &str) -> String {
    let printable = text.chars().map(|c| if c.is_control() { '?' } else { c });
    let mut short: String = printable.take(80).collect();
    if text.chars().nth(80).is_some() {
        short += "...";
    }
    short
}
