//! Nodes and the wires between their ports, before a run.

use airlane_core::{Node, NodeId, Port};

/// The end of a wire: a port of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) node: NodeId,
    pub(crate) port: Port,
}

/// A network under construction.
#[derive(Default)]
pub struct Network {
    pub(crate) nodes: Vec<Box<dyn Node>>,
    /// For each node and port, the other end of its wire.
    pub(crate) wires: Vec<Vec<Option<End>>>,
}

impl Network {
    /// A network without nodes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node. Nodes that are due at the same instant are called in the order in which they
    /// were added.
    pub fn add(&mut self, node: Box<dyn Node>) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes"));
        self.nodes.push(node);
        self.wires.push(Vec::new());
        id
    }

    /// Connects a port of `from` to a port of `to`, in one direction. Several wires may end at one
    /// port. A packet that is sent out of a port without a wire is dropped with the cause
    /// [`airlane_core::DropCause::NoRoute`].
    ///
    /// # Panics
    /// If a node does not exist, or if the port of `from` already has a wire.
    pub fn connect(&mut self, from: (NodeId, Port), to: (NodeId, Port)) {
        assert!(to.0.index() < self.nodes.len(), "{:?} is not in this network", to.0);
        let ports = self.wires.get_mut(from.0.index());
        let ports = ports.unwrap_or_else(|| panic!("{:?} is not in this network", from.0));
        let port = usize::from(from.1);
        if ports.len() <= port {
            ports.resize(port + 1, None);
        }
        assert!(ports[port].is_none(), "port {port} of {:?} is connected already", from.0);
        ports[port] = Some(End { node: to.0, port: to.1 });
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True if there is no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}
