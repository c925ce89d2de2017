//! Rate controllers over one link in virtual time, and the published figures that they are held to.

mod call;
#[path = "../support/csv.rs"]
mod csv;
mod drift;
mod figures;
mod link;
mod nada;
mod scream;
mod trace;
