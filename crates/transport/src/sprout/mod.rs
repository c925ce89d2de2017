//! Sprout (Winstein, Sivaraman and Balakrishnan, NSDI 2013): a receiver that forecasts how many packets a cellular link
//! will deliver, and a sender that keeps no more in its queue than that.
//!
//! The receiver keeps a distribution of the rate of the link, which it changes in each tick of 20 ms: the rate has moved as
//! in Brownian motion, and the number of packets that arrived is a Poisson variable of the rate ([`Forecaster`]). From it
//! follows a low quantile of the number of packets that the link will deliver in the next eight ticks: the forecast. The
//! sender sends as much as the forecast has for the next 100 ms, less its estimate of what is in the queue
//! ([`SproutSender`]).
//!
//! Sprout is a protocol of its own over UDP. Its receiver counts arrivals by ticks, and each of its packets announces when
//! the next one follows, by which the receiver distinguishes an idle sender from an outage. TCP and QUIC have neither.
//!
//! The paper was not read (unverified). Laws and constants are those of the authors' code, keithw/sprout c8386696:
//! `src/sprout` for the receiver, `src/network/sproutconn.cc` and `network.cc` for the sender and the packets, and
//! `src/examples/sproutbt2.cc` for the program that always has data. What differs:
//!
//! - A sender computes what it may send again at the beginning of each tick of its forecast. The program does it 10 ms
//!   after it last did.
//! - Where data travels in one direction only, its receiver sends a packet as soon as it has a new forecast. The program has
//!   data in both directions, which carry the forecasts.
//! - The distribution of the rate is normalised in each tick, and more than `COUNT_MAX` packets in a tick count as
//!   `COUNT_MAX`. In the authors' code, a long outage or a fast link can make all probabilities 0.
//! - The tables have no probabilities of very large counts. Where those that they have do not reach the quantile, the
//!   forecast is the largest count of the table.
//! - Packets are at most 1500 B. The program's have 1502 B and more, which are fragmented.
//! - There is no encryption, but the packets have the bytes that it adds.
//!
//! Not included: Sprout-EWMA, whose weight is not in that code, and the tunnel for other protocols.

mod forecaster;
mod message;
mod model;
mod receiver;
mod sender;

pub use forecaster::Forecaster;
pub use message::{Forecast, Message};
pub use receiver::SproutReceiver;
pub use sender::SproutSender;

use airlane_core::Duration;

/// A tick (`receiver.hh`, `TICK_LENGTH`).
pub const TICK: Duration = Duration::from_millis(20);
/// Ticks of a forecast (`receiver.hh`, `NUM_TICKS`).
pub const TICKS: usize = 8;
/// Longest time from a packet to the next (`sproutbt2.cc`, `fallback_interval`).
pub const FALLBACK: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests;
