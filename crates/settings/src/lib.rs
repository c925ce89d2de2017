//! Files of settings: TOML with quantities and choices, defaults, and errors that name the line and the remedy.
//!
//! Scenarios are such files, and so are the settings of `airlane node`. A file becomes typed settings in three steps:
//!
//! 1. [`Tree::from_toml`] keeps the line of each value. Overrides and stored scenarios are JSON ([`Tree::from_json`]).
//! 2. [`merge()`] adds the defaults that the file leaves out; defaults are files of the same notation.
//! 3. [`read`] deserializes the tree. [`quantity`] has the types of numbers with a unit, and [`tagged!`] makes an
//!    enum a choice whose variants have settings of their own. [`Place`] reports rules that types cannot express.
//!
//! [`from_toml`] makes all three for a program that needs nothing between them. Each error is a [`SettingsError`].

mod choice;
mod decimal;
mod error;
mod file;
mod merge;
mod place;
pub mod quantity;
mod reader;
mod tree;

pub use choice::{keys, write_variant};
pub use error::SettingsError;
pub use file::{Wrong, explained, from_toml};
pub use merge::{defaults, merge};
pub use place::{Checked, Place};
pub use reader::{nearest_help, read};
pub use serde;
pub use tree::{OVERRIDE, Table, Tree, Value};

/// Exceeds the size of any file of settings; the limit bounds the memory for parsing.
pub const TEXT_MAX: usize = 16 << 20;
