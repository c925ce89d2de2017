//! The radios of flows with several: each subflow of Multipath TCP has a path of its own.

use airlane_core::{FlowId, Packet, UeId};

/// The radio of each subflow of such flows, by flow and port at the UE.
#[derive(Clone, Debug, Default)]
pub struct FlowPaths(Vec<(FlowId, u16, UeId)>);

impl FlowPaths {
    /// Adds the subflow with this port at the UE.
    pub fn add(&mut self, flow: FlowId, ue_port: u16, ue: UeId) {
        let place = self.0.partition_point(|(other, port, _)| (*other, *port) < (flow, ue_port));
        self.0.insert(place, (flow, ue_port, ue));
    }

    /// Removes a flow.
    pub fn remove_flow(&mut self, flow: FlowId) {
        self.0.retain(|(other, ..)| *other != flow);
    }

    /// Removes a UE.
    pub fn remove_ue(&mut self, ue: UeId) {
        self.0.retain(|(.., other)| *other != ue);
    }

    /// The radio to which a packet leads.
    #[must_use]
    pub fn of(&self, packet: &Packet) -> Option<UeId> {
        let key = (packet.flow, packet.sockets.ue_port);
        let place = self.0.binary_search_by_key(&key, |(flow, port, _)| (*flow, *port)).ok()?;
        Some(self.0[place].2)
    }
}
