//! Servers, split-connection proxies and clients in a row, with bad links between them.

use airlane_core::{Cx, Direction, Instant, Node, Outbox, PacketPool, PacketRef, Stream};
use airlane_middlebox::{Middlebox, Side, SplitProxy};

use super::flights::{Channel, Flights};
use super::peer::{Peer, Script, with};

/// The row: servers are node 0, then the proxies, then the clients.
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) pool: PacketPool,
    pub(crate) servers: Vec<Peer>,
    pub(crate) clients: Vec<Peer>,
    pub(crate) proxies: Vec<Middlebox<SplitProxy>>,
    /// One more than the number of proxies.
    channels: Vec<Channel>,
    /// To a node, downlink or uplink.
    flights: Flights<(usize, bool)>,
    outbox: Outbox,
}

impl World {
    pub(crate) fn new(
        proxies: Vec<SplitProxy>,
        channels: Vec<Channel>,
        pairs: Vec<(Script, Script)>,
        draw: Stream,
    ) -> Self {
        assert_eq!(channels.len(), proxies.len() + 1);
        let (servers, clients) = Peer::pairs(pairs);
        Self {
            now: Instant::ZERO,
            pool: PacketPool::default(),
            servers,
            clients,
            proxies: proxies.into_iter().map(Middlebox::new).collect(),
            channels,
            flights: Flights::new(draw),
            outbox: vec![],
        }
    }

    const fn last(&self) -> usize {
        self.proxies.len() + 1
    }

    /// Runs until then; calls `check` after each event.
    pub(crate) fn run(&mut self, until: Instant, mut check: impl FnMut(&Self)) {
        loop {
            let flight = self.flights.next();
            let proxies = self.proxies.iter().filter_map(Node::next_timeout);
            let peers = self.servers.iter().chain(&self.clients).map(Peer::next);
            let at = proxies.chain(peers).fold(flight, Instant::min).max(self.now);
            if at > until {
                self.now = until;
                return;
            }
            self.now = at;
            if flight <= at {
                let ((node, down), packet) = self.flights.pop().expect("just seen");
                self.deliver(node, down, packet);
            } else {
                self.fire();
            }
            check(self);
        }
    }

    fn deliver(&mut self, node: usize, down: bool, packet: PacketRef) {
        let (last, flow) = (self.last(), self.pool.get(&packet).flow.index());
        if node > 0 && node < last {
            let side = if down { Side::Core } else { Side::Ran };
            self.with_proxy(node, |proxy, cx| proxy.handle_packet(cx, side.port(), packet));
        } else {
            self.with_peer(node == 0, flow, |peer, cx| peer.take(cx, packet));
        }
    }

    /// Calls the nodes that are due.
    fn fire(&mut self) {
        for node in 1..self.last() {
            if self.proxies[node - 1].next_timeout().is_some_and(|at| at <= self.now) {
                self.with_proxy(node, |proxy, cx| proxy.handle_timeout(cx));
            }
        }
        for index in 0..self.servers.len() {
            for server in [true, false] {
                let peers = if server { &self.servers } else { &self.clients };
                if peers[index].next() <= self.now {
                    self.with_peer(server, index, Peer::act);
                }
            }
        }
    }

    fn with_proxy(&mut self, node: usize, act: impl FnOnce(&mut Middlebox<SplitProxy>, &mut Cx<'_>)) {
        let mut outbox = core::mem::take(&mut self.outbox);
        with(&mut self.pool, self.now, &mut outbox, |cx| act(&mut self.proxies[node - 1], cx));
        for (port, packet) in outbox.drain(..) {
            let down = port == Side::Ran.port();
            assert_eq!(self.pool.get(&packet).direction == Direction::Downlink, down, "it goes astray");
            self.send(node, if down { Direction::Downlink } else { Direction::Uplink }, packet);
        }
        self.outbox = outbox;
    }

    fn with_peer(&mut self, server: bool, index: usize, act: impl FnOnce(&mut Peer, &mut Cx<'_>)) {
        let mut outbox = core::mem::take(&mut self.outbox);
        let peer = if server { &mut self.servers[index] } else { &mut self.clients[index] };
        peer.call((&mut self.pool, self.now), &mut outbox, act);
        let (node, direction) =
            if server { (0, Direction::Downlink) } else { (self.last(), Direction::Uplink) };
        for (_, packet) in outbox.drain(..) {
            self.send(node, direction, packet);
        }
        self.outbox = outbox;
    }

    /// Sends a packet from a node into the channel on that side.
    fn send(&mut self, node: usize, direction: Direction, packet: PacketRef) {
        let down = direction == Direction::Downlink;
        let (channel, to) = if down { (node, node + 1) } else { (node - 1, node - 1) };
        let at = (self.now, &mut self.pool);
        self.flights.send(at, self.channels[channel], (to, down), packet);
    }
}
