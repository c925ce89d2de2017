//! Applications between two nodes on a wire.

mod http3;
mod nodes;
mod pages;
mod video;
mod web;
mod wire;
