//! Copies the scenario files to the place where maturin finds them for the wheel (`include` in
//! pyproject.toml), so that `scenarios/` is their only place in the repository.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let own = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let from = Path::new(&own).join("../../scenarios");
    println!("cargo::rerun-if-changed={}", from.display());
    let to = Path::new(&out).join("scenarios");
    // A renamed file must not be shipped under both names.
    if to.exists() {
        fs::remove_dir_all(&to)?;
    }
    copy(&from, &to)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
