//! Sites of the calibrations: 19 on a hexagonal grid with geographical wrap-around, or 12 in an office.

use airlane_core::Stream;

use crate::geometry::{Position, WrapAround};

/// Directions of the three sectors of a site in degrees (TR 38.901 Table 7.8-1).
pub const SECTORS_DEG: [f64; 3] = [30.0, 150.0, 270.0];

/// Rings of sites around the first: 19 sites in all.
const RINGS: i32 = 2;
/// The office: length and width in metres, and its grid of sites (TR 38.901 Table 7.2-2).
const HALL_M: [f64; 2] = [120.0, 50.0];
const HALL_SITES: [u32; 2] = [6, 2];

/// The places of sites and UEs.
#[derive(Clone, Debug)]
pub enum SiteLayout {
    /// A hexagonal grid that repeats itself.
    Hexagonal(WrappedGrid),
    /// The hall of an open office.
    Hall {
        /// Positions of the sites.
        sites: Vec<Position>,
    },
}

/// Nineteen sites, and copies of all of them around.
#[derive(Clone, Debug)]
pub struct WrappedGrid {
    inter_site_m: f64,
    sites: Vec<Position>,
    wrap: WrapAround,
}

impl SiteLayout {
    /// Nineteen sites of this height.
    #[must_use]
    pub fn hexagonal(inter_site_m: f64, height_m: f64) -> Self {
        Self::Hexagonal(WrappedGrid::new(inter_site_m, height_m))
    }

    /// Twelve sites, 20 m apart in two rows.
    #[must_use]
    pub fn hall(height_m: f64) -> Self {
        const APART_M: f64 = 20.0;
        let [columns, rows] = HALL_SITES;
        let centred = |index: u32, count: u32| (f64::from(index) - f64::from(count - 1) / 2.0) * APART_M;
        let sites = (0..rows)
            .flat_map(|row| (0..columns).map(move |column| (column, row)))
            .map(|(column, row)| Position { x: centred(column, columns), y: centred(row, rows), z: height_m })
            .collect();
        Self::Hall { sites }
    }

    /// The sites as a UE at this place sees them: of each, the nearest copy.
    #[must_use]
    pub fn sites_around(&self, ue: &Position) -> Vec<Position> {
        match self {
            Self::Hexagonal(grid) => grid.sites.iter().map(|site| grid.wrap.nearest(site, ue)).collect(),
            Self::Hall { sites } => sites.clone(),
        }
    }

    /// Draws a place on the ground: uniform over the area, and at least this far from the nearest site.
    pub fn place(&self, least_m: f64, stream: &mut Stream) -> Position {
        match self {
            Self::Hexagonal(grid) => grid.place(least_m, stream),
            Self::Hall { .. } => Position::on_ground(
                stream.uniform_in(-HALL_M[0] / 2.0, HALL_M[0] / 2.0),
                stream.uniform_in(-HALL_M[1] / 2.0, HALL_M[1] / 2.0),
            ),
        }
    }
}

impl WrappedGrid {
    fn new(inter_site_m: f64, height_m: f64) -> Self {
        // Neighbours are in the directions 30°, 90°, ...: sectors point at them.
        let at = |i: i32, j: i32| {
            let (i, j) = (f64::from(i) * inter_site_m, f64::from(j) * inter_site_m);
            [i * 0.75_f64.sqrt(), i * 0.5 + j]
        };
        let inside = |(i, j): (i32, i32)| i.abs().max(j.abs()).max((i + j).abs()) <= RINGS;
        let sites = (-RINGS..=RINGS)
            .flat_map(|i| (-RINGS..=RINGS).map(move |j| (i, j)))
            .filter(|&steps| inside(steps))
            .map(|(i, j)| at(i, j))
            .map(|[x, y]| Position { x, y, z: height_m })
            .collect();
        let wrap = WrapAround::hexagonal([0.0, 0.0], [at(1, 0), at(0, 1)], RINGS as u32);
        Self { inter_site_m, sites, wrap }
    }

    fn place(&self, least_m: f64, stream: &mut Stream) -> Position {
        let site = self.sites[stream.below(self.sites.len() as u64) as usize];
        // The cell of a site is the hexagon of the points nearest to it; its corners are this far.
        let corner = self.inter_site_m / 3.0_f64.sqrt();
        loop {
            let (x, y) = (stream.uniform_in(-corner, corner), stream.uniform_in(-corner, corner));
            let along =
                |x_share: f64, y_share: f64| (x * x_share + y * y_share).abs() <= self.inter_site_m / 2.0;
            let slant = 0.75_f64.sqrt();
            let inside = along(0.0, 1.0) && along(slant, 0.5) && along(slant, -0.5);
            if inside && (x * x + y * y).sqrt() >= least_m {
                return Position::on_ground(site.x + x, site.y + y);
            }
        }
    }
}
