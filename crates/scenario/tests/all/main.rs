//! Scenarios that are resolved, and not run. `crates/assembly/tests` runs scenarios.

mod air_errors;
mod bandwidth;
mod bandwidth_parts;
mod files;
mod maps;
mod rasters;
mod snapshots;
