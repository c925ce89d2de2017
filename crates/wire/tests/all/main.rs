//! Packets as bytes: there and back, from outside, and as other programs read them.

mod flows;
mod generate;
mod outside;
mod round_trip;
mod second_opinion;
