//! Sites and UEs from files of maps: CSV or GeoJSON, in degrees or in metres.
//!
//! They are expanded before presets fill in the rest: a resolved scenario contains positions in metres and none of these
//! files.

mod column;
mod places;
mod projection;
mod sites;
mod table;

use std::path::Path;

use airlane_settings::Place;

use crate::ScenarioError;
use crate::files::Files;

pub(crate) use places::place;
pub(crate) use projection::{FARTHEST_M, Projection, from_zero};
pub(crate) use sites::{Site, sites};

/// Where the files of a scenario are.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) files: &'a Files,
    /// The folder of the scenario file.
    pub(crate) folder: &'a Path,
}

impl Source<'_> {
    /// Path and text of a file that the scenario names at this place.
    fn text(&self, name: &str, at: &Place<'_>) -> Result<(String, String), ScenarioError> {
        let path = self.folder.join(name);
        if let Some((what, help)) = self.files.complaint(&path) {
            at.wrong(what, help)?;
        }
        let path = path.to_string_lossy().into_owned();
        let text = self.files.lossy_text(&path, "expected a CSV or GeoJSON file")?;
        Ok((path, text))
    }
}
