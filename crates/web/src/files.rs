//! The files that a scenario names, passed by the caller: a browser cannot read them itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use wasm_bindgen::prelude::*;

/// Files by their names.
#[wasm_bindgen]
#[derive(Clone, Debug, Default)]
pub struct Files(Arc<BTreeMap<String, Vec<u8>>>);

#[wasm_bindgen]
impl Files {
    /// An empty set.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file, or replaces the one of this name.
    pub fn add(&mut self, name: String, bytes: Vec<u8>) {
        Arc::make_mut(&mut self.0).insert(name, bytes);
    }
}

impl Files {
    pub(crate) fn given(&self) -> airlane_scenario::Files {
        airlane_scenario::Files::Given(Arc::clone(&self.0))
    }
}
