//! Readings of the reports that other implementations have, for comparisons.

/// A reading that differs from the one taken here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Step 6: clusters are removed by their power with the ray of the line of sight, equation (7.5-8). Here it is
    /// that of equation (7.5-6), because the report has the other power for (7.5-9) and (7.5-14) only.
    RemovalWithSight,
    /// Step 6: no cluster is removed.
    NoRemoval,
    /// The power of the line of sight is spread over the rays of the first cluster. Here it is a ray of its own, as
    /// in step 11.
    SightInFirstCluster,
    /// The angle spread is that of TR 38.901 Annex A. Here it is that of TR 25.996, which Table 7.8-2 demands.
    LogarithmicSpread,
    /// The zenith of departure depends on the outdoor part of the distance. Here it depends on the whole distance
    /// (Tables 7.5-7 to 7.5-10).
    ZenithOfOutdoorPart,
    /// Positive shadowing is loss. Here it is gain, as note 2 of Table 7.5-6 says.
    ShadowingAsLoss,
    /// The least distance of UEs in buildings is that of the whole way. Here it is that of the part outdoors (TR
    /// 36.873 Table 6-1, note 1).
    LeastDistanceOfWhole,
    /// UEs attach to the site with the lowest path loss. Here it is the sector with the highest gain (Table 7.8-2).
    AttachmentByPathLoss,
}

/// Readings that apply in place of those taken here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readings(Vec<Reading>);

impl Readings {
    /// These readings.
    #[must_use]
    pub fn new(readings: &[Reading]) -> Self {
        Self(readings.to_vec())
    }

    /// Whether a reading applies.
    #[must_use]
    pub fn has(&self, reading: Reading) -> bool {
        self.0.contains(&reading)
    }
}
