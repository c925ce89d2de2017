//! How far a UE moves until the cells in its reach, and the mean interference of the others, are computed again.
//!
//! There are two circles. The cells in reach are chosen from a few times as many, which are watched; and these from all
//! cells, when the UE has moved farther. Either distance follows from the power that is left out. When the UE has moved by
//! it, path loss and angles have changed noise and interference by at most [`GEOMETRY_DB`]. Shadowing has changed it by
//! [`SHADOWING_DB`] in the root of the mean square if that of all cells left out changed alike, and by less as it does not.
//!
//! A cell without a line of sight counts as one with it, if its draw gives it one before the UE has moved by
//! [`NEARNESS`]. Where lines of sight are a field (`spatial_consistency`), one may appear up to a renewal earlier.
//!
//! A cell that is in reach stays there while it is at most [`KEPT`] weaker than the weakest of the strongest cells, while
//! it serves, and while an event of the UE's measurements has it as a neighbour.

use airlane_core::CellId;
use airlane_radio::Position;

use super::{Reach, Received, Selection};
use crate::build::ChannelSource;
use crate::interference::{CellChannels, STEP_M};

/// The largest change of noise and interference by path loss and angles, for either circle: together 0.1 dB.
const GEOMETRY_DB: f64 = 0.05;
/// That by shadowing, as the root of the mean square.
const SHADOWING_DB: f64 = 0.1;
/// The largest relative change of a power, per relative change of the distance. The exponent of path loss is at most 4.5
/// (COST-231 Hata; other laws are below, but `log-distance` may be above). The pattern of a sector (TR 38.901 Table 7.3-1:
/// 12 (φ / 65°)² dB, up to 30 dB) falls by at most 0.58 dB per degree in azimuth, which is a factor of exp(7.7) per radian.
/// A pattern of 10° in elevation, up to 20 dB, falls by 3.1 dB per degree, exp(41) per radian, of which there are 0.03 per
/// relative change of the distance at 800 m from a mast of 25 m. The sum is 13.5; within [`NEARNESS`], the power
/// changes by a third more than its tangent.
const RATE: f64 = 18.0;
/// The largest movement, as a share of the distance to the nearest cell that is left out.
pub(crate) const NEARNESS: f64 = 1.0 / 26.0;
/// The largest movement, as a share of the correlation distance of shadowing, of the cells that are watched, and of all.
const GRAINS: [f64; 2] = [0.25, 1.0];
/// Number of cells watched for each one in reach; choice.
const WATCHED: usize = 4;
/// How much weaker a cell in reach becomes than the weakest of the strongest cells until it is left out: 3 dB; choice.
const KEPT: f32 = 0.5;

/// The state from which the reach of a UE is renewed.
#[derive(Debug)]
pub(super) struct Renewal {
    source: ChannelSource,
    most: usize,
    /// The cells from which those in reach are chosen, ascending, and the power of all others by carrier.
    watched: Vec<CellId>,
    beyond: Vec<f32>,
    /// The places of the latest renewals from watched cells and from all cells, and how far the UE moves until the next.
    near: (Position, f64),
    wide: (Position, f64),
    /// Cells in an event of the UE's measurements.
    held: Vec<CellId>,
}

impl Renewal {
    pub(super) fn new(source: ChannelSource, most: usize) -> Self {
        let never = (Position::default(), 0.0);
        Self { source, most, watched: vec![], beyond: vec![], near: never, wide: never, held: vec![] }
    }
}

impl Reach {
    /// Whether the UE has moved so far that the cells in reach must be renewed.
    #[inline]
    pub(crate) fn is_due(&self, here: &Position) -> bool {
        self.renewal.as_ref().is_some_and(|renewal| has_moved(renewal.near, here))
    }

    /// Whether it is ever renewed.
    pub(crate) fn follows(&self) -> bool {
        self.renewal.is_some()
    }

    /// Renews the cells in reach of a UE at this position, which one of them serves.
    pub(crate) fn renew(&mut self, here: Position, serving: Option<CellId>) {
        let Some(renewal) = &self.renewal else { return };
        let cells = (!has_moved(renewal.wide, &here)).then_some(&renewal.watched[..]);
        let received = renewal.source.receive(cells, &here);
        self.renew_from(received, here, serving);
    }

    /// [`Self::renew`] from the received power of all cells, or of those that are watched.
    pub(super) fn renew_from(
        &mut self,
        mut received: Vec<Received>,
        here: Position,
        serving: Option<CellId>,
    ) {
        let Some(renewal) = &mut self.renewal else { return };
        let is_used = |cell: CellId| serving == Some(cell) || renewal.held.contains(&cell);
        if has_moved(renewal.wide, &here) {
            let keeps =
                |cell: &Received, _| is_used(cell.cell) || self.cells.binary_search(&cell.cell).is_ok();
            let Selection { cells, far, drift } =
                Selection::of(received.clone(), WATCHED * renewal.most, keeps);
            received.retain(|cell| cells.binary_search(&cell.cell).is_ok());
            (renewal.watched, renewal.beyond) = (cells, far);
            renewal.wide = (here, Drift::bound(&drift, GRAINS[1]));
        }
        let keeps = |cell: &Received, level| {
            is_used(cell.cell) || (level >= KEPT && self.cells.binary_search(&cell.cell).is_ok())
        };
        let Selection { cells, mut far, drift } = Selection::of(received, renewal.most, keeps);
        far.resize(renewal.beyond.len(), 0.0);
        far.iter_mut().zip(&renewal.beyond).for_each(|(far, beyond)| *far += beyond);
        renewal.near = (here, Drift::bound(&drift, GRAINS[0]).min(renewal.wide.1));
        self.far = far;
        self.put(cells);
    }

    /// Takes a cell into reach that will serve the UE, until the next renewal, which is due now.
    ///
    /// # Panics
    /// If the UE neither moves nor has several carriers.
    pub(crate) fn admit(&mut self, cell: CellId) {
        let renewal = self.renewal.as_mut().expect("a UE has a link to each other cell in reach");
        (renewal.near.1, renewal.wide.1) = (0.0, 0.0);
        let mut cells = self.cells.clone();
        cells.insert(cells.partition_point(|other| *other < cell), cell);
        self.put(cells);
    }

    /// The channels of a UE that moves with these cells.
    pub(crate) fn channels(&self, cells: &[CellId]) -> Vec<CellChannels> {
        self.renewal.as_ref().map_or_else(Vec::new, |renewal| renewal.source.channels(cells))
    }

    /// These cells stay in reach until the next call.
    pub(crate) fn hold(&mut self, cells: impl Iterator<Item = CellId>) {
        if let Some(renewal) = &mut self.renewal {
            renewal.held.clear();
            renewal.held.extend(cells);
        }
    }
}

fn has_moved((from, by_m): (Position, f64), here: &Position) -> bool {
    from.ground_distance(here) >= by_m
}

/// How fast the power of the cells of a carrier that are left out changes with the position of the UE.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drift {
    /// Noise and the power of all cells, and of the strongest of them.
    total: f64,
    strongest: f64,
    /// Sums over the cells left out: power over distance, and power times standard deviation over the square root of the
    /// correlation distance of shadowing.
    slope: f64,
    spread: f64,
    /// The least of their distances, and of the correlation distances.
    nearest_m: f64,
    correlation_m: f64,
}

impl Default for Drift {
    fn default() -> Self {
        let (nearest_m, correlation_m) = (f64::INFINITY, f64::INFINITY);
        Self { total: 1.0, strongest: 0.0, slope: 0.0, spread: 0.0, nearest_m, correlation_m }
    }
}

impl Drift {
    pub(super) fn hear(&mut self, cell: &Received) {
        let level = f64::from(cell.level);
        self.total += level;
        self.strongest = self.strongest.max(level);
    }

    pub(super) fn leave_out(&mut self, cell: &Received) {
        let (level, ground_m) = (f64::from(cell.level), cell.change.ground_m.max(STEP_M));
        self.slope += level / ground_m;
        self.nearest_m = self.nearest_m.min(ground_m);
        if let Some((sigma_db, correlation_m)) = cell.change.shadowing {
            self.spread += level * sigma_db / correlation_m.sqrt();
            self.correlation_m = self.correlation_m.min(correlation_m);
        }
    }

    /// How far a UE may move, in metres, by the carrier with the fastest change.
    fn bound(carriers: &[Self], grains: f64) -> f64 {
        let of = |carrier: &Self| {
            // The strongest cell is no interference where it serves.
            let total = carrier.total - carrier.strongest;
            let tolerance = libm::pow(10.0, GEOMETRY_DB / 10.0) - 1.0;
            let geometry = (tolerance * total / (RATE * carrier.slope)).min(NEARNESS * carrier.nearest_m);
            // Gaussian, with a correlation of exp(-d / correlation distance): the mean square of its change over d
            // is 2 σ² d over that distance.
            let deviation = SHADOWING_DB * total / carrier.spread;
            let shadowing = (deviation * deviation / 2.0).min(grains * carrier.correlation_m);
            geometry.min(shadowing)
        };
        carriers.iter().map(of).fold(f64::INFINITY, f64::min).max(STEP_M)
    }
}
