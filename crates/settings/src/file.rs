//! Typed settings from a file, for programs that need nothing between its text and the settings.

use serde::de::DeserializeOwned;

use crate::TEXT_MAX;
use crate::error::SettingsError;
use crate::merge::{defaults as defaults_of, merge};
use crate::place::Place;
use crate::reader::{self, HELP};
use crate::tree::Tree;

/// A rule that a value breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Dotted path of the key.
    pub key: String,
    /// The error.
    pub message: String,
    /// The correct form.
    pub help: String,
}

impl Wrong {
    /// An error for a key.
    pub fn new(key: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into(), help: help.into() }
    }
}

/// Reads settings from TOML. Quantities have units, as in scenarios. Missing keys are taken from `defaults`,
/// which is TOML, too. `check` holds the rules that types cannot express.
///
/// # Errors
/// The first error, with file, line, key, value and the correct form.
///
/// # Panics
/// If `defaults` is not TOML.
///
/// ```
/// use airlane_settings::{from_toml, quantity::Time};
///
/// #[derive(Debug, serde::Deserialize)]
/// struct Settings {
///     drain: Time,
/// }
/// let check = |_: &Settings| Ok(());
/// let read = |text| from_toml::<Settings>(text, "node.toml", "drain = '10 s'", check);
/// assert_eq!(read("")?.drain.to_string(), "10 s");
/// let error = read("drain = 5").unwrap_err().to_string();
/// assert!(error.starts_with("node.toml:1: drain = 5: "), "{error}");
/// # Ok::<(), airlane_settings::SettingsError>(())
/// ```
pub fn from_toml<T: DeserializeOwned>(
    text: &str,
    file: &str,
    defaults: &str,
    check: impl FnOnce(&T) -> Result<(), Wrong>,
) -> Result<T, SettingsError> {
    let settings = || {
        if text.len() > TEXT_MAX {
            let help = "check that this is a file of settings";
            return Err(SettingsError::new("", "the file is longer than 16 MiB", help));
        }
        let mut tree = Tree::from_toml(text)?;
        merge(&mut tree, &defaults_of(defaults), &|_, _| false);
        let settings: T = reader::read(&tree)?;
        let place = Place::root(&tree);
        check(&settings).or_else(|wrong| place.fail(&wrong.key, wrong.message, wrong.help))?;
        Ok(settings)
    };
    settings().map_err(|e| e.in_file(file))
}

/// The text of a custom error of deserialization, with the correct form.
#[must_use]
pub fn explained(message: &str, help: &str) -> String {
    format!("{message}{HELP}{help}")
}
