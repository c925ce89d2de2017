//! The cells that a UE has channels with in a large network, and the mean interference of all others.
//!
//! The cells of each carrier that a UE receives strongest are in its reach. The power of the others is a constant: in the
//! control region of each slot all of it counts, and in the data region the share of the band that all cells use.
//!
//! The cells in reach of a UE that moves, and the constant, are renewed ([`renewal`]).

mod renewal;

use airlane_core::CellId;
use airlane_radio::Position;

use crate::build::ChannelSource;
use crate::config::CellConfig;
use crate::interference::whole_vectors;
use crate::mac::grid::RbgSet;
pub(crate) use renewal::NEARNESS;
use renewal::{Drift, Renewal};

/// The cells in reach of a UE.
#[derive(Debug)]
pub(crate) struct Reach {
    /// Ascending.
    pub(crate) cells: Vec<CellId>,
    /// The power of all other cells over the noise of a PRB, by downlink carrier ([`carriers`]).
    pub(crate) far: Vec<f32>,
    /// The RBGs that the cells in reach use, and all RBGs for those that are relevant, in whole vectors.
    sent: Vec<RbgSet>,
    rivals: Vec<RbgSet>,
    /// `None` for a UE with one carrier that does not move.
    renewal: Option<Box<Renewal>>,
}

/// A cell as a UE receives it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    pub(crate) cell: CellId,
    /// The place of its downlink carrier.
    pub(crate) carrier: usize,
    /// Mean power over the noise of a PRB.
    pub(crate) level: f32,
    /// The level with a line of sight, if one appears before the UE has moved by [`NEARNESS`]; or `level`.
    pub(crate) greatest: f32,
    pub(crate) change: Change,
    /// Whether it may serve the UE from the start.
    pub(crate) serves: bool,
}

/// Causes of changes of the level of a cell when the UE moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// Distance along the ground to the site.
    pub(crate) ground_m: f64,
    /// Shadowing: its standard deviation in dB, and the distance in metres at which its correlation is 1/e.
    pub(crate) shadowing: Option<(f64, f64)>,
    /// Whether there is no line of sight, and will be one when the UE has come closer by the share.
    pub(crate) comes_into_sight: bool,
}

/// The cells of a selection, ascending, and the power and the drift of the others by carrier.
#[derive(Debug)]
struct Selection {
    cells: Vec<CellId>,
    far: Vec<f32>,
    drift: Vec<Drift>,
}

impl Selection {
    /// The `most` strongest cells of each carrier, and those that `keeps` keeps, by their level relative to that of the
    /// weakest of the former.
    fn of(mut received: Vec<Received>, most: usize, keeps: impl Fn(&Received, f32) -> bool) -> Self {
        let carriers = received.iter().map(|cell| cell.carrier + 1).max().unwrap_or_default();
        received.sort_unstable_by(|a, b| b.greatest.total_cmp(&a.greatest).then(a.cell.cmp(&b.cell)));
        let (mut cells, mut far, mut taken) = (Vec::new(), vec![0.0; carriers], vec![0; carriers]);
        let (mut drift, mut least) = (vec![Drift::default(); carriers], vec![0.0; carriers]);
        for cell in received {
            let carrier = cell.carrier;
            drift[carrier].hear(&cell);
            if taken[carrier] < most || keeps(&cell, cell.greatest / least[carrier]) {
                cells.push(cell.cell);
                if taken[carrier] < most {
                    least[carrier] = cell.greatest;
                }
                taken[carrier] += 1;
            } else {
                far[carrier] += cell.level;
                drift[carrier].leave_out(&cell);
            }
        }
        cells.sort_unstable();
        Self { cells, far, drift }
    }
}

impl Reach {
    /// The `most` strongest cells of each carrier, and the strongest that may serve the UE.
    pub(crate) fn of(received: Vec<Received>, most: usize) -> Self {
        let first = strongest_to_serve(&received);
        let Selection { cells, far, .. } = Selection::of(received, most, |cell, _| first == Some(cell.cell));
        let places = whole_vectors(cells.len());
        Self { cells, far, sent: vec![0; places], rivals: vec![0; places], renewal: None }
    }

    /// [`Self::of`] for a UE that begins to move here, or is here and has several carriers.
    pub(crate) fn moving(
        received: Vec<Received>,
        most: usize,
        here: Position,
        source: ChannelSource,
    ) -> Self {
        let first = strongest_to_serve(&received);
        let mut reach = Self {
            cells: first.into_iter().collect(),
            far: Vec::new(),
            sent: Vec::new(),
            rivals: Vec::new(),
            renewal: Some(Box::new(Renewal::new(source, most))),
        };
        reach.renew_from(received, here, first);
        reach
    }

    /// The place of a cell among those in reach.
    pub(crate) fn place_of(&self, cell: CellId) -> usize {
        self.cells.binary_search(&cell).expect("a cell in reach")
    }

    /// The RBGs of the cells in reach, and those that are relevant, from the ones of all cells.
    pub(crate) fn gather(&mut self, sent: &[RbgSet], rivals: &[RbgSet]) -> (&[RbgSet], &[RbgSet]) {
        for (place, cell) in self.cells.iter().enumerate() {
            (self.sent[place], self.rivals[place]) = (sent[cell.index()], rivals[cell.index()]);
        }
        (&self.sent, &self.rivals)
    }

    fn put(&mut self, cells: Vec<CellId>) {
        let places = whole_vectors(cells.len());
        self.cells = cells;
        (self.sent, self.rivals) = (vec![0; places], vec![0; places]);
    }
}

/// The strongest cell that may serve a UE from its start; the first of equal ones.
fn strongest_to_serve(received: &[Received]) -> Option<CellId> {
    let serving = received.iter().filter(|cell| cell.serves);
    serving.min_by(|a, b| b.level.total_cmp(&a.level).then(a.cell.cmp(&b.cell))).map(|found| found.cell)
}

/// The place of each cell's downlink carrier among those of the network, which are in the order of the cells.
pub(crate) fn carriers<'a>(cells: impl Iterator<Item = &'a CellConfig>) -> Vec<usize> {
    let mut known: Vec<f64> = Vec::new();
    let place = |cell: &CellConfig| {
        known.iter().position(|hz| *hz == cell.downlink_hz).unwrap_or_else(|| {
            known.push(cell.downlink_hz);
            known.len() - 1
        })
    };
    cells.map(place).collect()
}
