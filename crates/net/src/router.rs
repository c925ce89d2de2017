//! A router that leads each flow to its own port.

use airlane_core::{Cx, Instant, Node, PacketRef, Port};

/// Sends every packet out of the port that bears the number of its flow, whichever port it came
/// in by. Endpoints that send the other way need no router: several wires may end at one port.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowRouter;

impl Node for FlowRouter {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        let flow = cx.pool.get(&packet).flow;
        let port = Port::try_from(flow.0).expect("a router has 65536 ports");
        cx.send(port, packet);
    }

    fn handle_timeout(&mut self, _: &mut Cx<'_>) {}

    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    fn packets_held(&self) -> usize {
        0
    }
}
