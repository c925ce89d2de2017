//! Losses over the plane from a raster, as planning tools and ray tracers export it.
//!
//! A value belongs to the centre of its cell. Between the centres of four cells with values, the loss is bilinear in both
//! coordinates; from the outermost centres to the edge of the raster it is that of the nearest cell. Next to a cell without
//! a value, it is that of the cell at this place.

mod ascii_grid;

use core::fmt;
use core::ops::RangeInclusive;

use airlane_core::Decibel;

use crate::geometry::Position;

/// The greatest number of cells of a raster: 3 km by 3 km at 1 m.
pub const CELLS_MAX: usize = 10_000_000;

/// Meaning of the values of a raster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// The path loss of a cell.
    PathLoss,
    /// An additional loss at the place of a UE.
    Clutter,
}

impl LossKind {
    /// The values that are admitted, in dB.
    fn range(self) -> RangeInclusive<f32> {
        match self {
            Self::PathLoss => 0.0..=Raster::UNREACHED.0 as f32,
            Self::Clutter => 0.0..=100.0,
        }
    }
}

/// A raster of losses. The first coordinate is towards the east, the second towards the north.
#[derive(Clone, PartialEq)]
pub struct Raster {
    /// The corner in the south-west, metres.
    corner: [f64; 2],
    /// Width and height of a cell in metres.
    cell: [f64; 2],
    columns: usize,
    rows: usize,
    /// Losses in dB, rows from north to south; not a number where a cell has no value.
    losses: Vec<f32>,
    roughness: (f64, f64),
}

/// An error in a file: its place, and the correct form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RasterError {
    /// The line, counted from 1; `None` if the error is about the file.
    pub line: Option<usize>,
    /// The error.
    pub message: String,
    /// The correct form.
    pub help: String,
}

impl Raster {
    /// The path loss to a place without a value. With it, 80 dBm are received 40 dB below the noise of a PRB.
    pub const UNREACHED: Decibel = Decibel(250.0);

    /// Parses an ESRI ASCII grid.
    ///
    /// # Errors
    /// The first place that is not valid.
    pub fn parse(text: &str, kind: LossKind) -> Result<Self, RasterError> {
        ascii_grid::parse(text, kind)
    }

    /// The loss at a place; `None` outside of the raster, and in a cell without a value.
    #[must_use]
    pub fn at(&self, place: &Position) -> Option<Decibel> {
        let along = (place.x - self.corner[0]) / self.cell[0];
        let up = (place.y - self.corner[1]) / self.cell[1];
        let (columns, rows) = (self.columns as f64, self.rows as f64);
        if !(0.0..=columns).contains(&along) || !(0.0..=rows).contains(&up) {
            return None;
        }
        let nearest = self.loss(cell_of(along, self.columns), cell_of(up, self.rows));
        if nearest.is_nan() {
            return None;
        }
        let ([west, east], right) = between_centres(along, self.columns);
        let ([south, north], above) = between_centres(up, self.rows);
        let in_row = |row| self.loss(west, row) * (1.0 - right) + self.loss(east, row) * right;
        let loss = in_row(south) * (1.0 - above) + in_row(north) * above;
        Some(Decibel(if loss.is_nan() { nearest } else { loss }))
    }

    /// The loss of a cell, the row counted from the south.
    fn loss(&self, column: usize, row: usize) -> f64 {
        f64::from(self.losses[(self.rows - 1 - row) * self.columns + column])
    }

    /// The corners in the south-west and in the north-east, metres.
    #[must_use]
    pub fn extent(&self) -> [[f64; 2]; 2] {
        let far = [
            self.corner[0] + self.cell[0] * self.columns as f64,
            self.corner[1] + self.cell[1] * self.rows as f64,
        ];
        [self.corner, far]
    }

    /// The number of cells.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.losses.len()
    }

    /// How much the loss differs between neighbouring cells, in the terms of shadowing: a standard deviation σ in dB, and a
    /// distance D in metres at which the correlation is 1/e. The mean square of the change over a short distance d is then
    /// 2 σ² d / D; over the width of a cell, D, it is that of the raster.
    #[must_use]
    pub const fn roughness(&self) -> (f64, f64) {
        self.roughness
    }

    /// [`Self::roughness`] of the values.
    fn measured(self) -> Self {
        let (mut squares, mut pairs) = (0.0, 0_u64);
        let mut compare = |one: f32, other: f32| {
            let step = f64::from(one) - f64::from(other);
            if !step.is_nan() {
                squares += step * step;
                pairs += 1;
            }
        };
        for row in self.losses.chunks_exact(self.columns) {
            row.windows(2).for_each(|pair| compare(pair[0], pair[1]));
        }
        let south = self.losses.get(self.columns..).unwrap_or_default();
        self.losses.iter().zip(south).for_each(|(one, other)| compare(*one, *other));
        let mean_square = if pairs == 0 { 0.0 } else { squares / pairs as f64 };
        let roughness = ((mean_square / 2.0).sqrt(), self.cell[0].min(self.cell[1]));
        Self { roughness, ..self }
    }
}

/// The cell that contains a place, which is measured in cells from the first edge.
fn cell_of(cells: f64, count: usize) -> usize {
    (cells as usize).min(count - 1)
}

/// The cells whose centres are before and behind a place, and its distance from the former as a share of theirs.
fn between_centres(cells: f64, count: usize) -> ([usize; 2], f64) {
    let from_first = (cells - 0.5).clamp(0.0, (count - 1) as f64);
    let before = cell_of(from_first, count);
    ([before, (before + 1).min(count - 1)], from_first - before as f64)
}

/// Without the values, which are millions.
impl fmt::Debug for Raster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { corner, cell, columns, rows, .. } = self;
        write!(f, "Raster({columns} x {rows} cells of {cell:?} m from {corner:?})")
    }
}

#[cfg(test)]
mod tests;
