//! Points in metres, and distances.

/// A point in metres. The plane is x and y; z is the height above ground.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// East, metres.
    pub x: f64,
    /// North, metres.
    pub y: f64,
    /// Height, metres.
    pub z: f64,
}

impl Position {
    /// A point on the ground.
    #[must_use]
    pub const fn on_ground(x: f64, y: f64) -> Self {
        Self { x, y, z: 0.0 }
    }

    /// The straight distance to `other` in metres.
    #[must_use]
    pub fn distance(&self, other: &Self) -> f64 {
        let (dx, dy, dz) = (self.x - other.x, self.y - other.y, self.z - other.z);
        (dx * dx + dy * dy + dz * dz).sqrt()
    }

    /// The distance to `other` along the ground in metres.
    #[must_use]
    pub fn ground_distance(&self, other: &Self) -> f64 {
        let (dx, dy) = (self.x - other.x, self.y - other.y);
        (dx * dx + dy * dy).sqrt()
    }
}

/// A cluster of sites on a hexagonal grid that repeats itself over the whole plane (geographical wrap-around).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrapAround {
    centre: [f64; 2],
    /// The six neighbours of the cluster.
    shifts: [[f64; 2]; 6],
}

impl WrapAround {
    /// The cluster of this many rings around a site. `axes` are the ways in metres from that site to two of its
    /// neighbours, the second a sixth of a turn after the first.
    #[must_use]
    pub fn hexagonal(centre: [f64; 2], axes: [[f64; 2]; 2], rings: u32) -> Self {
        // One ring more along one axis and all rings along the next: (R + 1)² + (R + 1) R + R² is the number of
        // sites, so that the copies tile the plane. A sixth of a turn takes (i, j) to (-j, i + j).
        let mut step = (f64::from(rings) + 1.0, f64::from(rings));
        let shifts = core::array::from_fn(|_| {
            let (i, j) = step;
            step = (-j, i + j);
            core::array::from_fn(|axis| i * axes[0][axis] + j * axes[1][axis])
        });
        Self { centre, shifts }
    }

    /// The copy of a site of the cluster that is nearest to a UE. The UE may be anywhere.
    #[must_use]
    pub fn nearest(&self, site: &Position, ue: &Position) -> Position {
        let within = self.folded(ue);
        let mut best = *site;
        let squared = |at: &Position| {
            let (dx, dy) = (at.x - within.x, at.y - within.y);
            dx * dx + dy * dy
        };
        for [x, y] in self.shifts {
            let copy = Position { x: site.x + x, y: site.y + y, z: site.z };
            if squared(&copy) < squared(&best) {
                best = copy;
            }
        }
        // Back by the way by which the UE was folded.
        Position { x: best.x + (ue.x - within.x), y: best.y + (ue.y - within.y), z: best.z }
    }

    /// The point of the first cluster that has the same surroundings as this one.
    fn folded(&self, ue: &Position) -> Position {
        let from_centre = |at: &Position| {
            let (dx, dy) = (at.x - self.centre[0], at.y - self.centre[1]);
            dx * dx + dy * dy
        };
        let mut here = *ue;
        loop {
            let moved = self.shifts.map(|[x, y]| Position { x: here.x + x, y: here.y + y, z: here.z });
            let closer = moved.iter().find(|at| from_centre(at) < from_centre(&here) * (1.0 - 1e-12));
            match closer {
                Some(at) => here = *at,
                None => return here,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nineteen sites, 200 m apart.
    fn cluster() -> (WrapAround, Vec<Position>) {
        let axes = [[200.0, 0.0], [100.0, 200.0 * 0.75_f64.sqrt()]];
        let sites = (-2..=2_i32)
            .flat_map(|i| (-2..=2_i32).map(move |j| (i, j)))
            .filter(|(i, j)| (i + j).abs() <= 2)
            .map(|(i, j)| {
                let (i, j) = (f64::from(i), f64::from(j));
                Position::on_ground(i * axes[0][0] + j * axes[1][0], j * axes[1][1])
            })
            .collect();
        (WrapAround::hexagonal([0.0, 0.0], axes, 2), sites)
    }

    #[test]
    fn each_site_of_a_wrapped_cluster_has_the_same_neighbours() {
        let (wrap, sites) = cluster();
        assert_eq!(sites.len(), 19);
        for here in &sites {
            let mut away: Vec<f64> =
                sites.iter().map(|site| wrap.nearest(site, here).ground_distance(here)).collect();
            away.sort_by(f64::total_cmp);
            // Six at one distance, six at sqrt 3, six at two.
            let expected = [0.0, 200.0, 200.0, 346.41, 346.41, 400.0, 400.0];
            for (index, distance) in [0, 1, 6, 7, 12, 13, 18].into_iter().zip(expected) {
                assert!((away[index] - distance).abs() < 0.01, "{index}: {away:?}");
            }
        }
    }

    #[test]
    fn a_ue_far_away_is_among_copies_of_the_sites() {
        let (wrap, sites) = cluster();
        for (x, y) in [(10.0, 3.0), (700.0, -250.0), (5000.0, 12_345.0), (-80_000.0, 44.0)] {
            let ue = Position::on_ground(x, y);
            let nearest = sites.iter().map(|site| wrap.nearest(site, &ue).ground_distance(&ue));
            // The corner of a hexagon is 200 / sqrt 3 from its site.
            assert!(nearest.fold(f64::INFINITY, f64::min) <= 115.5, "({x}, {y})");
        }
    }

    #[test]
    fn distance_is_euclidean() {
        let a = Position { x: 1.0, y: 2.0, z: 30.0 };
        let b = Position { x: 4.0, y: 6.0, z: 42.0 };
        assert_eq!(a.ground_distance(&b), 5.0); // 3, 4
        assert_eq!(a.distance(&b), 13.0); // 5, 12
        assert_eq!(b.distance(&a), 13.0);
    }
}
