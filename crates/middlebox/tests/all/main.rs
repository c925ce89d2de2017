//! Split-connection proxies on bad links. `no_alloc.rs` counts the allocations of its process.

mod handover;
mod hostile;
mod split;
mod world;
