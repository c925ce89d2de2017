//! Files that a scenario names, handed over: a browser reads none by itself.

use std::collections::BTreeMap;

use wasm_bindgen::prelude::*;

/// Files by their names.
#[wasm_bindgen]
#[derive(Clone, Debug, Default)]
pub struct Files(BTreeMap<String, Vec<u8>>);

#[wasm_bindgen]
impl Files {
    /// None.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One more, or another one for the same name.
    pub fn add(&mut self, name: String, bytes: Vec<u8>) {
        self.0.insert(name, bytes);
    }
}

impl Files {
    pub(crate) fn given(&self) -> airlane_scenario::Files {
        airlane_scenario::Files::Given(self.0.clone())
    }
}
