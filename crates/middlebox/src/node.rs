//! A network function, and the node that puts it in the path.

use airlane_core::{Cx, Instant, Node, PacketRef, Port};

/// The side from which a packet arrives.
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

    /// The opposite side.
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
/// It sends its own packets with [`Cx::send`] out of [`Side::port`].
pub trait NetworkFunction: Send + 'static {
    /// A packet arrives from a side. A returned packet is forwarded to the other side; otherwise
    /// the function has kept, consumed or discarded it.
    fn on_packet(&mut self, cx: &mut Cx<'_>, side: Side, packet: PacketRef) -> Option<PacketRef>;

    /// To be called at [`Self::next_timeout`].
    fn on_timeout(&mut self, cx: &mut Cx<'_>);

    /// When to call [`Self::on_timeout`].
    fn next_timeout(&self) -> Option<Instant>;

    /// Packets held.
    fn packets_held(&self) -> usize;
}

/// The node: a packet that the function returns leaves on the other side, immediately and in order.
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

    /// The function, with its counters.
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
