//! Changes of a running network: nodes and wires are added and removed.

use core::fmt;

use airlane_core::{Cx, DropCause, Instant, Node, NodeId, PacketRef, Port};

use super::{Member, Simulation, Wiring};
use crate::network::End;

/// The node still holds packets, and cannot be removed without losing them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InUse {
    /// The node.
    pub node: NodeId,
    /// The packets that it holds.
    pub held: usize,
}

impl fmt::Display for InUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} holds {} packets and cannot be removed", self.node, self.held)
    }
}

impl core::error::Error for InUse {}

/// The place of a node that was removed: it drops what still arrives.
struct Removed;

impl Node for Removed {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        cx.discard(packet, DropCause::NoRoute);
    }
    fn handle_timeout(&mut self, _: &mut Cx<'_>) {}
    fn next_timeout(&self) -> Option<Instant> {
        None
    }
    fn packets_held(&self) -> usize {
        0
    }
}

impl Simulation {
    /// Adds a node. It comes after all earlier nodes when several are due at one instant.
    pub fn add(&mut self, node: Box<dyn Node>) -> NodeId {
        let id = NodeId(u32::try_from(self.members.len()).expect("fewer than 2^32 nodes"));
        let first_wire = u32::try_from(self.wiring.wires.len()).expect("fewer than 2^32 wires");
        let (armed, wanted) = (Instant::FAR_FUTURE, Instant::FAR_FUTURE);
        self.members.push(Member { node, armed, wanted, first_wire, ports: 0 });
        self.timers.wheel.make_room(self.members.len());
        self.changed.push(id);
        id
    }

    /// Connects a port of `from` to a port of `to`, in one direction, as
    /// [`Network::connect`](crate::Network::connect) does before a run.
    ///
    /// # Panics
    /// If a node does not exist, or if the port of `from` already has a wire.
    pub fn connect(&mut self, from: (NodeId, Port), to: (NodeId, Port)) {
        assert!(to.0.index() < self.members.len(), "{:?} is not in this network", to.0);
        let wire = self.wire(from.0, from.1);
        assert!(wire.is_none(), "port {} of {:?} is connected already", from.1, from.0);
        *wire = Some(End { node: to.0, port: to.1 });
    }

    /// Removes the wire of a port. Packets that are sent out of it from now on are dropped with the cause
    /// [`DropCause::NoRoute`].
    ///
    /// # Panics
    /// If the node does not exist.
    pub fn disconnect(&mut self, from: (NodeId, Port)) {
        *self.wire(from.0, from.1) = None;
    }

    /// The wire of a port. A node that has fewer ports gets new places for all of its wires.
    fn wire(&mut self, node: NodeId, port: Port) -> &mut Option<End> {
        let Self { members, wiring: Wiring { wires, .. }, .. } = self;
        let member = members.get_mut(node.index());
        let member = member.unwrap_or_else(|| panic!("{node:?} is not in this network"));
        if u32::from(port) >= member.ports {
            let old = member.first_wire as usize..(member.first_wire + member.ports) as usize;
            // Doubled, so that the places of a node with many ports are moved rarely.
            let ports = (u32::from(port) + 1).max(2 * member.ports).min(1 << 16);
            member.first_wire = u32::try_from(wires.len()).expect("fewer than 2^32 wires");
            wires.extend_from_within(old);
            wires.resize((member.first_wire + ports) as usize, None);
            member.ports = ports;
        }
        &mut wires[member.first_wire as usize + usize::from(port)]
    }

    /// Removes a node and returns it. What still arrives for it is dropped with the cause
    /// [`DropCause::NoRoute`]. Its number is not used again.
    ///
    /// # Errors
    /// If it holds packets.
    ///
    /// # Panics
    /// If the node does not exist.
    pub fn remove(&mut self, id: NodeId) -> Result<Box<dyn Node>, InUse> {
        let member = self.members.get_mut(id.index());
        let member = member.unwrap_or_else(|| panic!("{id:?} is not in this network"));
        match member.node.packets_held() {
            0 => {
                self.changed.push(id);
                Ok(core::mem::replace(&mut member.node, Box::new(Removed)))
            }
            held => Err(InUse { node: id, held }),
        }
    }
}
