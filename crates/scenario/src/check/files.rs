//! Checks of the files that a scenario names: their location, and that they can be read.

use std::collections::BTreeMap;
use std::path::Path;

use airlane_settings::Tree;

use super::{Checked, Place, rasters};
use crate::files::{self, Files};
use crate::format::{Mobility, Resolved};
use crate::pages;

/// File names are relative to the scenario file; from here on they are relative to the current
/// folder. Each file is parsed once, so that its errors are found before a run.
pub(crate) fn locate(scenario: &mut Resolved, tree: &Tree, file: &str, files: &Files) -> Checked {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let root = Place::root(tree);
    let internet = &mut scenario.internet;
    for (key, trace) in [("trace", &mut internet.trace), ("uplink_trace", &mut internet.uplink_trace)] {
        if let Some(trace) = trace {
            find(trace, files, folder, &root.under("internet").under(key))?;
            files.delivery_trace(trace)?;
        }
    }
    for (i, link) in scenario.link.iter_mut().enumerate() {
        for (key, trace) in [("trace", &mut link.trace), ("uplink_trace", &mut link.uplink_trace)] {
            if let Some(trace) = trace {
                find(trace, files, folder, &root.under("link").entry(i).under(key))?;
                files.delivery_trace(trace)?;
            }
        }
    }
    let mut sets: Vec<String> = Vec::new();
    for (i, flow) in scenario.flow.iter_mut().enumerate() {
        let Some(name) = flow.app.application_mut().pages_mut() else { continue };
        if pages::is_built_in(name) {
            continue;
        }
        find(name, files, folder, &root.under("flow").entry(i).under("app.pages"))?;
        if !sets.contains(name) {
            pages::load(name, files)?;
            sets.push(name.clone());
        }
    }
    let mut read = BTreeMap::new();
    for (i, ue) in scenario.ue.iter_mut().enumerate() {
        let Mobility::Trace(trace) = &mut ue.mobility else { continue };
        let at = root.under("ue").entry(i).under("mobility");
        find(&mut trace.file, files, folder, &at.under("file"))?;
        super::origin(trace.origin.as_ref(), &at)?;
        if !read.contains_key(&trace.file) {
            read.insert(trace.file.clone(), files.movements(&trace.file)?);
        }
        for member in 0..ue.count {
            if let Err(missing) = files::path_of(&read[&trace.file], trace, member) {
                at.fail("node", missing.message, missing.help)?;
            }
        }
    }
    rasters::locate(scenario, files, folder, &root)?;
    rasters::check(scenario, files, &read, &root)
}

/// Converts a name to a path.
pub(super) fn find(name: &mut String, files: &Files, folder: &Path, at: &Place<'_>) -> Checked {
    let path = folder.join(name.as_str());
    if let Some((what, help)) = files.complaint(&path) {
        return at.wrong(what, help);
    }
    if let Some(path) = path.to_str() {
        path.clone_into(name);
    }
    Ok(())
}
