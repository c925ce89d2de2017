//! For tests: calls a node as the engine would, and collects the packets that it sends and drops.

use airlane_core::{
    Bytes, Cx, Direction, FlowId, Header, Instant, Node, Outbox, Packet, PacketPool, PacketRef, Payload,
    Port, Silence, TopicSet, UdpHeader,
};

pub(crate) struct BenchTop {
    pub(crate) pool: PacketPool,
    outbox: Outbox,
}

/// An IP packet of `size` bytes.
pub(crate) fn packet(flow: FlowId, size: u32, now: Instant) -> Packet {
    let header = Header::Udp(UdpHeader::default());
    Packet::new(flow, Direction::Downlink, header, Payload::Length(size - 28), now)
}

impl BenchTop {
    pub(crate) fn new() -> Self {
        Self { pool: PacketPool::with_capacity(16), outbox: Outbox::new() }
    }

    pub(crate) fn call<R>(&mut self, now_ns: u64, call: impl FnOnce(&mut Cx<'_>) -> R) -> R {
        call(&mut Cx {
            now: Instant::from_nanos(now_ns),
            pool: &mut self.pool,
            outbox: &mut self.outbox,
            topics: TopicSet::NONE,
            probe: &mut Silence,
        })
    }

    /// Hands the node a fresh packet of `size` bytes at `now_ns`.
    pub(crate) fn give(&mut self, node: &mut dyn Node, port: Port, flow: FlowId, size: u32, now_ns: u64) {
        let packet = self.pool.insert(packet(flow, size, Instant::from_nanos(now_ns)));
        self.call(now_ns, |cx| node.handle_packet(cx, port, packet));
    }

    /// Runs the node's timers up to and including `end_ns`; each packet that left, with its time.
    pub(crate) fn run(&mut self, node: &mut dyn Node, end_ns: u64) -> Vec<(u64, FlowId)> {
        let mut left = Vec::new();
        while let Some(at) = node.next_timeout()
            && at.as_nanos() <= end_ns
        {
            self.call(at.as_nanos(), |cx| node.handle_timeout(cx));
            left.extend(self.sent().into_iter().map(|(_, flow, _)| (at.as_nanos(), flow)));
        }
        left
    }

    /// The packets that were sent since the last call of this function or of [`Self::sent`].
    pub(crate) fn packets(&mut self) -> Vec<PacketRef> {
        self.outbox.drain(..).map(|(_, packet)| packet).collect()
    }

    /// The packets sent since the last call of this function.
    pub(crate) fn sent(&mut self) -> Vec<(Port, FlowId, Bytes)> {
        let Self { pool, outbox } = self;
        let consume = |(port, packet): (Port, PacketRef)| {
            let packet = pool.consume(packet);
            (port, packet.flow, packet.size)
        };
        outbox.drain(..).map(consume).collect()
    }
}
