//! Whole runs of scenarios. One program: each program of tests links the simulator again.
//!
//! Apart are `memory.rs`, which counts all allocations of its process, and `swarm.rs`, whose scenarios the example
//! `swarm` draws, too.

mod backhaul;
mod bearers;
mod behaviour;
mod between_ues;
mod byte_stream;
mod carriers;
mod carriers_uplink;
mod cell_use;
mod coverage;
mod dual_connectivity;
mod embedding;
mod errors;
#[path = "../../../wire/tests/all/generate/mod.rs"]
mod generate;
mod handover;
mod http3;
mod kernel_errors;
mod l4s_bearer;
mod layout;
mod long_tables;
mod look;
mod mdcc;
mod mirror;
mod mobility;
mod mpquic;
mod nr;
mod nr_behaviour;
mod nr_dc;
mod on_off;
mod outside;
mod own_call;
mod path_events;
mod paths;
mod ping;
mod quality;
mod quic;
mod rasters;
mod reach;
mod real;
mod real_bytes;
mod real_tcp;
mod rnis;
mod runs;
mod service;
mod several_paths;
#[path = "../../../scenario/tests/all/snapshots/mod.rs"]
mod snapshots;
mod split_proxy;
mod tables;
mod threads;
mod uplink;
