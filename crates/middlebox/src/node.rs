//! A network function, and the node that puts it in the path.

use airlane_core::{Cx, Instant, Node, PacketRef, Port};

/// From which side a packet comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// From the core network and the internet.
    Core,
    /// From the radio access network.
    Ran,
}

impl Side {
    /// The port of [`Middlebox`] on this side.
    #[must_use]
    pub const fn port(self) -> Port {
        match self {
            Self::Core => 0,
            Self::Ran => 1,
        }
    }

    /// The other side.
    #[must_use]
    pub const fn across(self) -> Self {
        match self {
            Self::Core => Self::Ran,
            Self::Ran => Self::Core,
        }
    }
}

/// An algorithm that sees every packet of a path, in both directions.
///
/// Packets of its own it sends with [`Cx::send`] out of [`Side::port`].
pub trait NetworkFunction: 'static {
    /// A packet comes from a side. What is given back goes on across; what is not, the function has
    /// kept, consumed or discarded.
    fn on_packet(&mut self, cx: &mut Cx<'_>, side: Side, packet: PacketRef) -> Option<PacketRef>;

    /// [`Self::next_timeout`] has come.
    fn on_timeout(&mut self, cx: &mut Cx<'_>);

    /// When to call [`Self::on_timeout`].
    fn next_timeout(&self) -> Option<Instant>;

    /// Packets it keeps.
    fn packets_held(&self) -> usize;
}

/// The node: what a function gives back goes out on the other side, at once and in order.
#[derive(Debug)]
pub struct Middlebox<F> {
    function: F,
}

impl<F: NetworkFunction> Middlebox<F> {
    /// A node with this function in it.
    #[must_use]
    pub const fn new(function: F) -> Self {
        Self { function }
    }

    /// The function, with what it has counted.
    #[must_use]
    pub const fn function(&self) -> &F {
        &self.function
    }
}

impl<F: NetworkFunction> Node for Middlebox<F> {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: PacketRef) {
        let side = if port == Side::Core.port() { Side::Core } else { Side::Ran };
        if let Some(packet) = self.function.on_packet(cx, side, packet) {
            cx.send(side.across().port(), packet);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.function.on_timeout(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.function.next_timeout()
    }

    fn packets_held(&self) -> usize {
        self.function.packets_held()
    }
}
