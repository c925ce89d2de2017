//! TCP endpoints and congestion controllers on one link, and under segments made by hand.

mod acceptance;
mod accurate_ecn;
mod bbr3;
mod discriminator;
mod ecn;
mod ecn_rules;
mod flows;
mod harness;
mod linux;
mod mdcc;
mod receive_windows;
mod recovery;
mod reordering;
mod swarm;
mod table;
mod vivace;
mod wire;
