//! Where many cells stand.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tagged;
use crate::quantity::Metres;

/// Many cells made of one. It is gone from a resolved scenario, in which its cells stand.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Layout {
    /// Sites on a hexagonal grid, in rings around one in the middle.
    Hexagonal(Hexagonal),
}
tagged!(Layout by "kind" { "hexagonal" => Hexagonal(Hexagonal) });

/// Settings of a hexagonal grid. The only `[[cell]]` is the pattern of all its cells: of the pattern
/// `a`, they are called `a-1`, `a-2`, ... from the middle outwards, and with three sectors `a-1-1`,
/// `a-1-2`, `a-1-3`, `a-2-1`, ...
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hexagonal {
    /// How many sites there are; either this or `rings`.
    pub sites: Option<u32>,
    /// Rings of sites around the one in the middle: 1 for 7 sites, 2 for 19, 3 for 37.
    pub rings: Option<u32>,
    /// Rings whose cells serve UEs, those farther out only interfere; none for all.
    pub serving_rings: Option<u32>,
    /// From one site to the next.
    pub inter_site_distance: Metres,
    /// Cells of a site: 1, or 3 with sector antennas a third of a turn apart.
    #[schemars(extend("enum" = [1, 3]))]
    pub sectors: u32,
    /// Where the site in the middle stands.
    pub centre: [Metres; 2],
}
