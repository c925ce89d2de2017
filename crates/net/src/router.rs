//! Routers: one by flow, one by tunnel.

use airlane_core::{Cx, DropCause, Node, PacketRef, Port, Role};

/// Sends every packet out of the port with the number of its flow, independent of the port at which
/// it arrived. The opposite direction needs no router: several wires may end at one port.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowRouter;

impl Node for FlowRouter {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        let flow = cx.pool.get(&packet).flow;
        let port = Port::try_from(flow.0).expect("a router has 65536 ports");
        cx.send(port, packet);
    }

    fn role(&self) -> Role {
        Role::FlowRouter
    }
}

/// Sends every packet of a link that cells share out of the port of the cell at the end of its tunnel.
#[derive(Clone, Copy, Debug, Default)]
pub struct TunnelRouter;

impl TunnelRouter {
    /// The input port.
    pub const INPUT: Port = 0;

    /// The port that leads to the cell with this index.
    #[must_use]
    pub const fn cell(index: u16) -> Port {
        1 + index
    }
}

impl Node for TunnelRouter {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        match cx.pool.get(&packet).tunnel().map(|cell| u16::try_from(cell.0)) {
            Some(Ok(cell)) => cx.send(Self::cell(cell), packet),
            Some(Err(_)) | None => cx.discard(packet, DropCause::NoRoute),
        }
    }

    fn role(&self) -> Role {
        Role::WithoutTimers
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::{FlowId, Instant, UeId};

    use super::*;
    use crate::Gateway;
    use crate::bench_top::BenchTop;

    #[test]
    fn a_shared_link_ends_where_the_gateway_sent_each_packet() {
        let mut top = BenchTop::new();
        let mut gateway = Gateway::new();
        for (flow, cell) in [(0, 4), (1, 0)] {
            gateway.add_flow(FlowId(flow), UeId(flow));
            gateway.attach(UeId(flow), cell);
            let packet = top.pool.insert(crate::bench_top::packet(FlowId(flow), 100, Instant::ZERO));
            top.call(0, |cx| gateway.handle_packet(cx, Gateway::INTERNET, packet));
        }
        let tunnelled = top.packets();
        for packet in tunnelled {
            top.call(0, |cx| TunnelRouter.handle_packet(cx, TunnelRouter::INPUT, packet));
        }
        let out: Vec<_> = top.sent().into_iter().map(|(port, flow, _)| (port, flow)).collect();
        assert_eq!(out, [(TunnelRouter::cell(4), FlowId(0)), (TunnelRouter::cell(0), FlowId(1))]);
        // A packet without a tunnel has no route.
        top.give(&mut TunnelRouter, TunnelRouter::INPUT, FlowId(0), 100, 0);
        assert_eq!(top.pool.discarded(DropCause::NoRoute), 1);
    }
}
