//! Layouts of many cells.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Origin, tagged};
use crate::quantity::Metres;

/// A layout of many cells with the same settings. A resolved scenario contains the cells and no layout.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Layout {
    /// Sites on a hexagonal grid, in rings around a centre site.
    Hexagonal(Hexagonal),
    /// Sites from a file.
    Map(Map),
}
tagged!(Layout by "kind" { "hexagonal" => Hexagonal(Hexagonal), "map" => Map(Map) });

/// Sites from a file. The only `[[cell]]` holds the settings of all cells. If its name is `a`, the cell of the site `7` is
/// named `a-7`, and those of its sectors `a-7-1`, `a-7-2`, ...
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Map {
    /// Path of a CSV or GeoJSON file, relative to the scenario file. A site has a position and, if the file has them, id,
    /// height, azimuths of its sectors (clockwise from north), transmit power, carrier frequencies and raster of path loss.
    pub sites: String,
    /// Number of cells of a site without azimuths: 1, or 3 with sector antennas 120 degrees apart.
    #[schemars(extend("enum" = [1, 3]))]
    pub sectors: u32,
    /// The point that is (0, 0), for files with latitudes and longitudes. By default, it is the middle of the sites.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// Settings of a hexagonal grid. The only `[[cell]]` holds the settings of all cells. If its name is `a`, the
/// cells are named `a-1`, `a-2`, ... from the centre outwards, and with three sectors `a-1-1`, `a-1-2`,
/// `a-1-3`, `a-2-1`, ...
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hexagonal {
    /// Number of sites. Write either this or `rings`.
    pub sites: Option<u32>,
    /// Number of rings of sites around the centre site: 1 for 7 sites, 2 for 19, 3 for 37.
    pub rings: Option<u32>,
    /// Number of rings whose cells serve UEs. Cells farther out are interferers. By default, all cells serve
    /// UEs.
    pub serving_rings: Option<u32>,
    /// Distance between neighbouring sites.
    pub inter_site_distance: Metres,
    /// Number of cells of a site: 1, or 3 with sector antennas 120 degrees apart.
    #[schemars(extend("enum" = [1, 3]))]
    pub sectors: u32,
    /// Position of the centre site.
    pub centre: [Metres; 2],
    /// Geographical wrap-around: each UE receives the nearest copy of each site, so that no UE is at the edge. By
    /// default, the grid ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrap_around: Option<bool>,
}
