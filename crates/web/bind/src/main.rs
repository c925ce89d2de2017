//! `bind MODULE.wasm FOLDER` writes the module and the JavaScript that calls it.
//!
//! The two parts of wasm-bindgen must have the same version. Here `Cargo.lock` fixes both; the version of a
//! separately installed command would have to be updated by hand.

use std::error::Error;
use std::path::PathBuf;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [module, folder] = &arguments[..] else { return Err("usage: bind MODULE.wasm FOLDER".into()) };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).web(true)?.typescript(true).omit_default_module_path(true);
    // Names of functions are a tenth of the module, and no page shows them.
    bindgen.remove_name_section(true).remove_producers_section(true);
    Ok(bindgen.generate(folder)?)
}
