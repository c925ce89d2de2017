//! The place where packets leave a simulation.

mod paths;
mod streams;

use std::collections::VecDeque;

use airlane_core::{Bytes, Cx, Event, Instant, Node, Packet, PacketRef, Port, Topic};
use paths::Paths;
use streams::{Arrived, Streams};

/// A packet that has left through an [`Exit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The port of the exit at which it arrived.
    pub port: Port,
    /// Time of the arrival.
    pub at: Instant,
    /// The packet.
    pub packet: Packet,
}

/// Keeps the packets that arrive at any of its ports until
/// [`Simulation::take`](crate::Simulation::take) removes them, in the order of their arrival. For the
/// observers of the run a packet is received and delivered here.
#[derive(Debug, Default)]
pub struct Exit {
    waiting: VecDeque<(Port, Instant, PacketRef)>,
    /// The data that its receiver outside can read.
    streams: Followed,
}

/// The data that an exit follows.
#[derive(Debug, Default)]
enum Followed {
    #[default]
    Nothing,
    Streams(Streams),
    Paths(Box<Paths>),
}

impl Exit {
    /// An exit at which nothing has arrived.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An exit that also follows the byte streams of TCP connections: for observers, bytes are delivered when their
    /// receiver can read them, and bytes that had arrived before are not fresh.
    #[must_use]
    pub fn of_streams() -> Self {
        Self { streams: Followed::Streams(Streams::default()), ..Self::default() }
    }

    /// The same for a connection over several paths, of which packets have these ports at the UE and their places in the data
    /// ([`Packet::data_position`]).
    #[must_use]
    pub fn of_paths(ports: Vec<u16>) -> Self {
        Self { streams: Followed::Paths(Box::new(Paths::new(ports))), ..Self::default() }
    }

    pub(crate) fn pop(&mut self) -> Option<(Port, Instant, PacketRef)> {
        self.waiting.pop_front()
    }
}

impl Node for Exit {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: PacketRef) {
        if cx.wants(Topic::Received) {
            cx.emit_about(&packet, |packet| Event::Received { packet });
        }
        // Without streams, only the receiver outside knows what is fresh.
        let mut arrived =
            Arrived { in_order: Bytes(u64::from(cx.pool.get(&packet).payload.len())), fresh: None };
        let is_wanted = cx.wants(Topic::Delivered);
        match &mut self.streams {
            Followed::Nothing => {}
            Followed::Streams(streams) if is_wanted => arrived = streams.arrive(cx.pool.get(&packet)),
            Followed::Streams(_) => {}
            Followed::Paths(paths) => arrived = paths.arrive(cx, &packet),
        }
        if is_wanted {
            let Arrived { in_order, fresh } = arrived;
            cx.emit_about(&packet, |packet| Event::Delivered { packet, in_order, fresh });
        }
        self.waiting.push_back((port, cx.now, packet));
    }
    fn packets_held(&self) -> usize {
        self.waiting.len()
    }
}
