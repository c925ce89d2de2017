//! The serving gateway and the packet data network gateway in one node (TS 23.401 §4.4.3): the
//! start of the tunnels to the eNBs.
//!
//! The MME's part in a path switch is included: a PATH SWITCH REQUEST from an eNB is acknowledged
//! to it, and the old path ends with an end marker (TS 23.401 §5.5.1.1.2).
//!
//! Not included: the S5 interface between the two gateways, bearers other than the default one,
//! charging, and the signalling of an attachment, which [`Gateway::attach`] replaces.

use airlane_core::{CellId, Cx, DropCause, FlowId, Header, Node, PacketRef, Port, Role, UeId};

use crate::gtp;
use crate::paths::FlowPaths;
use crate::signalling::Message;

/// Puts downlink packets into the tunnel to the eNB of their UE and takes uplink packets out of
/// theirs. Port [`Gateway::INTERNET`] leads to the internet, [`Gateway::enb`] to the eNBs.
#[derive(Clone, Debug, Default)]
pub struct Gateway {
    /// The UE of each flow.
    ue: Vec<Option<UeId>>,
    /// The port towards the UE's eNB, by UE.
    port: Vec<Option<Port>>,
    /// The UEs of flows with several.
    paths: FlowPaths,
}

impl Gateway {
    /// The port on the internet side (SGi, TS 23.401 §4.2).
    pub const INTERNET: Port = 0;

    /// A gateway without flows and UEs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The port of the S1-U interface to the eNB with this index.
    #[must_use]
    pub const fn enb(index: u16) -> Port {
        1 + index
    }

    /// Assigns a flow to a UE.
    pub fn add_flow(&mut self, flow: FlowId, ue: UeId) {
        if self.ue.len() <= flow.index() {
            self.ue.resize(flow.index() + 1, None);
        }
        self.ue[flow.index()] = Some(ue);
    }

    /// Assigns the subflow with this port at the UE to a UE. Its flow must not be assigned as a whole.
    pub fn add_path(&mut self, flow: FlowId, ue_port: u16, ue: UeId) {
        self.paths.add(flow, ue_port, ue);
    }

    /// Removes a flow: its downlink packets are dropped from now on.
    pub fn remove_flow(&mut self, flow: FlowId) {
        self.paths.remove_flow(flow);
        if let Some(ue) = self.ue.get_mut(flow.index()) {
            *ue = None;
        }
    }

    /// Sends the UE's packets to the eNB with this index from now on.
    pub fn attach(&mut self, ue: UeId, enb: u16) {
        if self.port.len() <= ue.index() {
            self.port.resize(ue.index() + 1, None);
        }
        self.port[ue.index()] = Some(Self::enb(enb));
    }

    /// Handles a message from an eNB. The message names the eNB, since all messages arrive at one port
    /// where cells share a link.
    fn receive(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        let message = Message::decode(&cx.pool.get(&packet).payload);
        let sender = |cell: CellId| u16::try_from(cell.0).ok().filter(|cell| *cell < u16::MAX);
        let Some((ue, port)) = message.and_then(|message| match message {
            Message::PathSwitchRequest { ue, cell } => Some((ue, Self::enb(sender(cell)?))),
            Message::EndMarker { .. } | Message::PathSwitchRequestAcknowledge { .. } => None,
        }) else {
            return cx.discard(packet, DropCause::NoRoute);
        };
        let _ = cx.pool.consume(packet);
        let Some(Some(path)) = self.port.get_mut(ue.index()) else { return };
        let old = core::mem::replace(path, port);
        let acknowledgement = Message::PathSwitchRequestAcknowledge { ue }.packet(cx);
        Self::send(cx, port, acknowledgement);
        if old != port {
            let marker = Message::EndMarker { ue }.packet(cx);
            Self::send(cx, old, marker);
        }
    }

    /// Sends a packet to the eNB behind this port.
    fn send(cx: &mut Cx<'_>, port: Port, packet: PacketRef) {
        cx.pool.get_mut(&packet).set_tunnel(CellId(u32::from(port) - u32::from(Self::enb(0))));
        cx.send(port, packet);
    }

    fn downlink_port(&self, flow: FlowId) -> Option<Port> {
        let ue = (*self.ue.get(flow.index())?)?;
        *self.port.get(ue.index())?
    }

    /// A packet of a flow that is not assigned as a whole.
    #[cold]
    fn send_on_path(&self, cx: &mut Cx<'_>, packet: PacketRef) {
        let inner = cx.pool.get_mut(&packet);
        let port = self.paths.of(inner).and_then(|ue| *self.port.get(ue.index())?);
        let Some(port) = port else { return cx.discard(packet, DropCause::NoRoute) };
        gtp::encapsulate(inner);
        Self::send(cx, port, packet);
    }
}

impl Node for Gateway {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: PacketRef) {
        if port != Self::INTERNET {
            if matches!(cx.pool.get(&packet).header, Header::Signalling) {
                return self.receive(cx, packet);
            }
            gtp::decapsulate(cx.pool.get_mut(&packet));
            cx.send(Self::INTERNET, packet);
            return;
        }
        let inner = cx.pool.get_mut(&packet);
        match self.downlink_port(inner.flow) {
            Some(port) => {
                gtp::encapsulate(inner);
                Self::send(cx, port, packet);
            }
            None => self.send_on_path(cx, packet),
        }
    }

    fn role(&self) -> Role {
        Role::WithoutTimers
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::Bytes;

    use super::*;
    use crate::bench_top::BenchTop;

    #[test]
    fn tunnels_begin_and_end_here() {
        let mut top = BenchTop::new();
        let mut gateway = Gateway::new();
        gateway.add_flow(FlowId(1), UeId(2));
        gateway.attach(UeId(2), 0);
        // 100 bytes of IP, 136 in the tunnel.
        top.give(&mut gateway, Gateway::INTERNET, FlowId(1), 100, 0);
        assert_eq!(top.sent(), [(Gateway::enb(0), FlowId(1), Bytes(136))]);
        gateway.attach(UeId(2), 3); // a path switch
        top.give(&mut gateway, Gateway::INTERNET, FlowId(1), 100, 0);
        assert_eq!(top.sent(), [(4, FlowId(1), Bytes(136))]);
        top.give(&mut gateway, Gateway::enb(3), FlowId(1), 136, 0);
        assert_eq!(top.sent(), [(Gateway::INTERNET, FlowId(1), Bytes(100))]);
    }

    #[test]
    fn a_path_switch_is_acknowledged_and_ends_the_old_path_once() {
        let mut top = BenchTop::new();
        let mut gateway = Gateway::new();
        gateway.add_flow(FlowId(1), UeId(2));
        gateway.attach(UeId(2), 0);
        for old_path_ends in [true, false] {
            top.call(0, |cx| {
                let request = Message::PathSwitchRequest { ue: UeId(2), cell: CellId(3) }.packet(cx);
                gateway.handle_packet(cx, Gateway::enb(3), request);
            });
            let ports: Vec<_> = top.sent().into_iter().map(|(port, ..)| port).collect();
            let (new, old) = (Gateway::enb(3), Gateway::enb(0));
            assert_eq!(ports, if old_path_ends { vec![new, old] } else { vec![new] });
        }
        top.give(&mut gateway, Gateway::INTERNET, FlowId(1), 100, 0);
        assert_eq!(top.sent(), [(Gateway::enb(3), FlowId(1), Bytes(136))]);
    }

    #[test]
    fn a_flow_of_nobody_is_dropped() {
        let mut top = BenchTop::new();
        let mut gateway = Gateway::new();
        gateway.add_flow(FlowId(1), UeId(0)); // known, but not attached
        for flow in 0..3 {
            top.give(&mut gateway, Gateway::INTERNET, FlowId(flow), 100, 0);
        }
        assert_eq!(top.sent(), []);
        assert_eq!(top.pool.discarded(DropCause::NoRoute), 3);
    }
}
