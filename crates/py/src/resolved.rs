//! Resolved scenarios from their texts.
//!
//! Python knows a resolved scenario by its text, and passes the same text to several functions: for the files that it
//! reads, the names of its UEs, and its runs. The latest one is kept, since to read and check ten thousand UEs takes
//! a part of a second.

use std::sync::{Mutex, PoisonError};

use airlane_scenario::{Resolved, ScenarioError};

/// The latest scenario, and its text.
static LATEST: Mutex<Option<(String, Resolved)>> = Mutex::new(None);

/// [`Resolved::from_json`].
pub(crate) fn read(text: &str) -> Result<Resolved, ScenarioError> {
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, resolved)) = &*latest
        && known == text
    {
        return Ok(resolved.clone());
    }
    let resolved = Resolved::from_json(text)?;
    *latest = Some((text.to_owned(), resolved.clone()));
    Ok(resolved)
}
