//! Changes of a running network: nodes and wires are added and removed.

use core::any::Any;
use core::fmt;

use airlane_core::{Cx, DropCause, Node, NodeId, PacketRef, Port, Role};

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

/// A place without a node, of one that was removed or is still to come: it drops what arrives.
struct Vacant;

impl Node for Vacant {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        cx.discard(packet, DropCause::NoRoute);
    }
    fn role(&self) -> Role {
        Role::WithoutTimers
    }
}

impl Simulation {
    /// Adds a node. It comes after all earlier nodes when several are due at one instant.
    pub fn add(&mut self, node: Box<dyn Node>) -> NodeId {
        let id = NodeId(u32::try_from(self.members.len()).expect("fewer than 2^32 nodes"));
        let first_wire = u32::try_from(self.wiring.wires.len()).expect("fewer than 2^32 wires");
        self.members.push(Member::new(node, first_wire, 0));
        self.timers.wheel.make_room(self.members.len());
        self.changed.push(id);
        id
    }

    /// A place for a node, which [`Self::fill`] puts there. The node comes after all earlier places when several nodes
    /// are due at one instant.
    pub fn reserve(&mut self) -> NodeId {
        self.add(Box::new(Vacant))
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
            0 => Ok(self.replace(id, Box::new(Vacant))),
            held => Err(InUse { node: id, held }),
        }
    }

    /// Removes a node of this type, as [`Self::remove`] does; `None` if it has another type, does not exist or holds
    /// packets.
    pub fn remove_as<T: Node>(&mut self, id: NodeId) -> Option<T> {
        let _ = self.node::<T>(id)?;
        let node: Box<dyn Any> = self.remove(id).ok()?;
        node.downcast().ok().map(|node| *node)
    }

    /// Replaces a node that holds no packets, and returns the old one. The wires stay.
    fn replace(&mut self, id: NodeId, node: Box<dyn Node>) -> Box<dyn Node> {
        self.changed.push(id);
        let member = &mut self.members[id.index()];
        member.role = node.role();
        core::mem::replace(&mut member.node, node)
    }

    /// The other end of the wire of a port.
    #[must_use]
    pub fn leads_to(&self, (node, port): (NodeId, Port)) -> Option<(NodeId, Port)> {
        let end = self.members.get(node.index())?.leads_to(port, &self.wiring.wires)?;
        Some((end.node, end.port))
    }

    /// Puts a node in a reserved place, or in that of a removed node. It is due, at one instant with others, in the order
    /// of the places.
    ///
    /// # Panics
    /// If there is a node in this place.
    pub fn fill(&mut self, place: NodeId, node: Box<dyn Node>) {
        let vacant = self.node::<Vacant>(place).is_some();
        assert!(vacant, "{place:?} is taken");
        self.replace(place, node);
    }

    /// Moves the far ends of all wires that lead to `from`: from now on they lead to `to`.
    ///
    /// # Panics
    /// If the node of `to` does not exist.
    pub fn redirect(&mut self, from: (NodeId, Port), to: (NodeId, Port)) {
        assert!(to.0.index() < self.members.len(), "{:?} is not in this network", to.0);
        let [from, to] = [from, to].map(|(node, port)| End { node, port });
        self.wiring.wires.iter_mut().filter(|wire| **wire == Some(from)).for_each(|wire| *wire = Some(to));
    }
}
