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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_is_euclidean() {
        let a = Position { x: 1.0, y: 2.0, z: 30.0 };
        let b = Position { x: 4.0, y: 6.0, z: 42.0 };
        assert_eq!(a.ground_distance(&b), 5.0); // 3, 4
        assert_eq!(a.distance(&b), 13.0); // 5, 12
        assert_eq!(b.distance(&a), 13.0);
    }
}
