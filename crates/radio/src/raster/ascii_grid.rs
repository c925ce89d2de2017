//! The ESRI ASCII grid: a header of keywords with their numbers, and the values row by row from the north.
//!
//! As Esri describes it ("Esri ASCII raster format", ArcGIS Desktop 9.3 help) and GDAL's driver `AAIGrid` writes it. Keywords
//! are in any case and order, and a row may be on several lines. `NODATA_value` is optional, and by default -9999. GDAL
//! writes `dx` and `dy` in the place of `cellsize` for cells that are no squares. A projection, which may be in a file
//! of its own (.prj), is not read: coordinates are metres.

use core::ops::RangeInclusive;

use super::{CELLS_MAX, LossKind, Raster, RasterError};

/// Esri's value of a cell without a value.
const NODATA: f32 = -9999.0;
/// Shortest and longest side of a cell in metres. Degrees are below.
const SIDES_M: RangeInclusive<f64> = 0.1..=100e3;
/// The largest coordinate in metres: those of projections are below.
const FARTHEST_M: f64 = 1e7;

const WHAT: &str = "expected an ESRI ASCII grid, whose first line is such as `ncols 400`; `gdal_translate -of AAIGrid` \
                    writes one";

/// The keywords of a header.
const KEYS: [&str; 10] = [
    "ncols",
    "nrows",
    "xllcorner",
    "yllcorner",
    "xllcenter",
    "yllcenter",
    "cellsize",
    "dx",
    "dy",
    "nodata_value",
];

/// A word of the file and its line, counted from 1.
type Word<'a> = (usize, &'a str);

pub(super) fn parse(text: &str, kind: LossKind) -> Result<Raster, RasterError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = (1..).zip(text.lines());
    let mut words =
        lines.flat_map(|(line, text)| text.split_ascii_whitespace().map(move |word| (line, word))).peekable();
    let mut header = Header::default();
    while let Some((line, word)) = words.next_if(|(_, word)| word.parse::<f32>().is_err()) {
        let key = KEYS.iter().position(|key| word.eq_ignore_ascii_case(key));
        let Some(key) = key else {
            let is_first = header.found.iter().all(Option::is_none);
            let help = if is_first {
                WHAT
            } else {
                "the keywords of a header are ncols, nrows, xllcorner or \
                xllcenter, yllcorner or yllcenter, cellsize, and NODATA_value; numbers have decimal points"
            };
            return Err(at(line, format!("found `{}`", cut(word)), help));
        };
        let value = words.next().map(|(_, value)| value).unwrap_or_default();
        header.put(key, line, value)?;
    }
    header.raster()?.filled(words, header.nodata(), kind, text.len())
}

#[derive(Default)]
struct Header {
    /// The number after each keyword, and its line.
    found: [Option<(f64, usize)>; KEYS.len()],
}

impl Header {
    fn put(&mut self, key: usize, line: usize, value: &str) -> Result<(), RasterError> {
        let name = KEYS[key];
        let Some(number) = value.parse().ok().filter(|n: &f64| n.is_finite() || name == "nodata_value")
        else {
            return Err(at(line, format!("{name} = `{}` is not a number", cut(value)), "write a number"));
        };
        if let Some((_, first)) = self.found[key].replace((number, line)) {
            return Err(at(line, format!("{name} is in line {first} already"), "write it once"));
        }
        Ok(())
    }

    fn get(&self, key: &str) -> Option<(f64, usize)> {
        KEYS.iter().position(|known| *known == key).and_then(|at| self.found[at])
    }

    fn need(&self, key: &str) -> Result<(f64, usize), RasterError> {
        self.get(key).ok_or_else(|| {
            let is_empty = self.found.iter().all(Option::is_none);
            let help = if is_empty {
                WHAT.to_owned()
            } else {
                format!("write it before the values, as `{key} NUMBER`")
            };
            file(format!("the header has no {key}"), &help)
        })
    }

    fn nodata(&self) -> f32 {
        self.get("nodata_value").map_or(NODATA, |(value, _)| value as f32)
    }

    fn count(&self, key: &str) -> Result<usize, RasterError> {
        let (number, line) = self.need(key)?;
        let help = format!("it must be an integer from 1, and ncols times nrows at most {CELLS_MAX}");
        let is_count = number.fract() == 0.0 && (1.0..=CELLS_MAX as f64).contains(&number);
        if is_count {
            Ok(number as usize)
        } else {
            Err(at(line, format!("{key} = {number} is out of range"), &help))
        }
    }

    /// A raster without values.
    fn raster(&self) -> Result<Raster, RasterError> {
        let (columns, rows) = (self.count("ncols")?, self.count("nrows")?);
        if columns * rows > CELLS_MAX {
            let message = format!("{columns} columns and {rows} rows are too many");
            let help = format!(
                "the limit is {CELLS_MAX} cells; cut the area, or take larger cells (gdalwarp -tr 10 10)"
            );
            return Err(file(message, &help));
        }
        let is_square = self.get("dx").is_none() && self.get("dy").is_none();
        let cell = if is_square { ["cellsize"; 2] } else { ["dx", "dy"] };
        let cell = [self.side(cell[0])?, self.side(cell[1])?];
        let by_centre = self.get("xllcenter").is_some() && self.get("xllcorner").is_none();
        let names = if by_centre { ["xllcenter", "yllcenter"] } else { ["xllcorner", "yllcorner"] };
        let half = if by_centre { 0.5 } else { 0.0 };
        let corner = |axis: usize| {
            let (number, line) = self.need(names[axis])?;
            let far =
                "it must be within 10000 km of (0, 0): the same metres as the positions of cells and UEs";
            let is_near = number.abs() <= FARTHEST_M;
            let corner = number - half * cell[axis];
            if is_near {
                Ok(corner)
            } else {
                Err(at(line, format!("{} = {number} is out of range", names[axis]), far))
            }
        };
        let corner = [corner(0)?, corner(1)?];
        Ok(Raster { corner, cell, columns, rows, losses: Vec::new(), roughness: (0.0, 0.0) })
    }

    fn side(&self, key: &str) -> Result<f64, RasterError> {
        let (number, line) = self.need(key)?;
        let help = "it must be from 0.1 to 100000 metres; `gdalwarp -t_srs` projects degrees to metres";
        let is_side = SIDES_M.contains(&number);
        if is_side { Ok(number) } else { Err(at(line, format!("{key} = {number} is out of range"), help)) }
    }
}

impl Raster {
    /// With its values. A text of this length has at most half as many.
    fn filled<'a>(
        mut self,
        words: impl Iterator<Item = Word<'a>>,
        nodata: f32,
        kind: LossKind,
        length: usize,
    ) -> Result<Self, RasterError> {
        let (count, known) = (self.columns * self.rows, kind.range());
        self.losses.reserve_exact(count.min(length / 2 + 1));
        let (mut last, mut has_value) = (0, false);
        for (line, word) in words {
            last = line;
            let Ok(loss) = word.parse::<f32>() else {
                let help = "values are numbers with decimal points, with blanks between them";
                return Err(at(line, format!("`{}` is not a number", cut(word)), help));
            };
            if self.losses.len() == count {
                let message = format!("there are more than {} x {} values", self.columns, self.rows);
                return Err(at(line, message, "check ncols and nrows"));
            }
            let is_none = loss.is_nan() || loss == nodata;
            if !is_none && !known.contains(&loss) {
                return Err(at(line, format!("the value {} is out of range", cut(word)), &range_help(kind)));
            }
            has_value |= !is_none;
            self.losses.push(if is_none { f32::NAN } else { loss });
        }
        if self.losses.len() < count {
            let found = self.losses.len();
            let message = format!("there are {found} values, and not {} x {}", self.columns, self.rows);
            return Err(RasterError {
                line: Some(last).filter(|line| *line > 0),
                ..file(message, "check ncols and nrows")
            });
        }
        if !has_value {
            return Err(file("no cell has a value".to_owned(), "check NODATA_value"));
        }
        Ok(self.measured())
    }
}

fn range_help(kind: LossKind) -> String {
    let most = kind.range().end().to_string();
    let empty = "cells without a value have that of NODATA_value";
    match kind {
        LossKind::PathLoss => format!(
            "path losses are from 0 to {most} dB; a path gain is the negative path loss, and a received power in dBm must be \
             subtracted from the power that is sent; {empty}"
        ),
        LossKind::Clutter => format!("additional losses are from 0 to {most} dB; {empty}"),
    }
}

fn at(line: usize, message: String, help: &str) -> RasterError {
    RasterError { line: Some(line), ..file(message, help) }
}

fn file(message: String, help: &str) -> RasterError {
    RasterError { line: None, message, help: help.to_owned() }
}

/// The word, shortened to fit on a line and without control characters.
fn cut(word: &str) -> String {
    let short: String = word.chars().take(40).map(|c| if c.is_control() { '?' } else { c }).collect();
    if word.chars().nth(40).is_some() { short + "..." } else { short }
}
