//! Servers, a gateway, the proxies of eNBs and UEs that move from cell to cell while their connections
//! continue.
//!
//! Gateway, signalling and proxies are the real ones. A radio link is a bad link that a UE leaves and
//! establishes elsewhere. Packets on it are sent again from there (a lossless handover, TS 36.300
//! §10.1.2.3.1) or lost (a seamless one). Packets that arrive at an eNB that the UE has left follow it over
//! X2, possibly out of order.

use std::collections::VecDeque;

use airlane_core::{
    CellId, Cx, Direction, DropCause, Duration, FlowId, Header, Instant, Node, Outbox, PacketPool, PacketRef,
    Port, Stream, UeId,
};
use airlane_middlebox::{EnbProxies, Middlebox, Side, SplitConfig, SplitProxy};
use airlane_net::signalling::Message;
use airlane_net::{Gateway, gtp};

use super::flights::{Channel, Flights};
use super::peer::{Peer, Script, with};

/// How long an eNB waits for an answer to its PATH SWITCH REQUEST.
const ASKS_AGAIN: Duration = Duration::from_millis(300);

/// A UE leaves its cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    pub(crate) at: Instant,
    /// How long it is in no cell.
    pub(crate) away: Duration,
    /// The cell where it appears again; may be the same one.
    pub(crate) to: usize,
    /// Its link failed, and the data in its cell, or arriving there, is lost.
    pub(crate) forgets: bool,
}

/// The parameters of the network.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) internet: Channel,
    /// By cell.
    pub(crate) s1: Vec<Channel>,
    /// By cell.
    pub(crate) radio: Vec<Channel>,
    pub(crate) x2_delay: Duration,
    /// Packets on the radio link are sent again.
    pub(crate) lossless: bool,
    /// By UE: its first cell, and its movements, in order.
    pub(crate) ues: Vec<(usize, Vec<Hop>)>,
}

/// The place where a packet arrives.
#[derive(Clone, Copy, Debug)]
enum Stop {
    Server,
    /// The gateway, or the proxy before it.
    Core,
    Gateway(Port),
    S1(usize),
    /// The eNB of a UE at that time, over X2.
    X2(usize),
    /// A UE, if it still has the same link.
    Ue(usize, u32),
    /// An eNB, with the same condition.
    Enb(usize, usize, u32),
}

struct Ue {
    cell: Option<usize>,
    /// Number of links so far.
    epoch: u32,
    hops: VecDeque<Hop>,
    /// When it appears again, and where.
    returns: Option<(Instant, usize)>,
    /// When its cell requests the path (again).
    asks: Option<Instant>,
    /// Packets that wait for its return, downlink and uplink.
    waiting: [Vec<PacketRef>; 2],
    forgets: bool,
}

/// The whole network.
pub(crate) struct Cells {
    pub(crate) now: Instant,
    pub(crate) pool: PacketPool,
    pub(crate) servers: Vec<Peer>,
    pub(crate) clients: Vec<Peer>,
    /// An optional proxy between internet and gateway.
    pub(crate) front: Option<Middlebox<SplitProxy>>,
    pub(crate) enbs: EnbProxies,
    gateway: Gateway,
    plan: Plan,
    ues: Vec<Ue>,
    flights: Flights<Stop>,
}

impl Cells {
    /// The connections are assigned to the UEs in turn.
    pub(crate) fn new(
        (front, enbs): (Option<SplitConfig>, Vec<SplitConfig>),
        plan: Plan,
        pairs: Vec<(Script, Script)>,
        draw: Stream,
    ) -> Self {
        let mut enbs = EnbProxies::new(enbs, plan.x2_delay);
        let mut gateway = Gateway::new();
        let ues = plan.ues.iter().zip(0..).map(|((cell, hops), id)| {
            gateway.attach(UeId(id), *cell as u16);
            enbs.attach(UeId(id), *cell);
            Ue {
                cell: Some(*cell),
                epoch: 0,
                hops: hops.iter().copied().collect(),
                returns: None,
                asks: None,
                waiting: [vec![], vec![]],
                forgets: false,
            }
        });
        let ues: Vec<Ue> = ues.collect();
        for flow in 0..pairs.len() as u32 {
            let ue = UeId(flow % ues.len() as u32);
            gateway.add_flow(FlowId(flow), ue);
            enbs.add_flow(FlowId(flow), ue);
        }
        let (servers, clients) = Peer::pairs(pairs);
        Self {
            now: Instant::ZERO,
            pool: PacketPool::default(),
            servers,
            clients,
            front: front.map(|config| Middlebox::new(SplitProxy::new(config))),
            enbs,
            gateway,
            plan,
            ues,
            flights: Flights::new(draw),
        }
    }

    /// All proxies: those of the cells first.
    pub(crate) fn proxies(&self) -> impl Iterator<Item = &SplitProxy> {
        let cells = (0..self.plan.s1.len()).map(|cell| self.enbs.cell(cell));
        cells.chain(self.front.iter().map(|front| front.function()))
    }

    /// Runs until then; calls `check` after each event.
    pub(crate) fn run(&mut self, until: Instant, mut check: impl FnMut(&Self)) {
        loop {
            let flight = self.flights.next();
            let nodes = self.enbs.next_timeout().into_iter();
            let nodes = nodes.chain(self.front.as_ref().and_then(Node::next_timeout));
            let peers = self.servers.iter().chain(&self.clients).map(Peer::next);
            let at = nodes.chain(peers).chain(self.ues.iter().map(Ue::next)).fold(flight, Instant::min);
            let at = at.max(self.now);
            if at > until {
                self.now = until;
                return;
            }
            self.now = at;
            if flight <= at {
                let (stop, packet) = self.flights.pop().expect("just seen");
                self.deliver(stop, packet);
            } else {
                self.fire();
            }
            check(self);
        }
    }

    fn deliver(&mut self, stop: Stop, packet: PacketRef) {
        let flow = self.pool.get(&packet).flow.index();
        match stop {
            Stop::Server => self.with_peer((true, flow), |server, cx| server.take(cx, packet)),
            Stop::Core if self.front.is_some() => {
                self.with_front(|front, cx| front.handle_packet(cx, Side::Core.port(), packet));
            }
            Stop::Core => self.at_gateway(Gateway::INTERNET, packet),
            Stop::Gateway(port) => self.at_gateway(port, packet),
            Stop::S1(cell) => self.at_proxy(cell, Side::Core, packet),
            Stop::X2(ue) => match self.ues[ue].cell {
                Some(cell) => self.downlink(cell, ue, packet),
                None => self.ues[ue].waiting[Direction::Downlink as usize].push(packet),
            },
            Stop::Ue(ue, epoch) if epoch == self.ues[ue].epoch => {
                self.with_peer((false, flow), |client, cx| client.take(cx, packet));
            }
            Stop::Enb(cell, ue, epoch) if epoch == self.ues[ue].epoch => {
                gtp::encapsulate(self.pool.get_mut(&packet));
                self.at_proxy(cell, Side::Ran, packet);
            }
            // The link no longer exists.
            Stop::Ue(ue, _) if self.is_kept(ue) => self.over_x2(ue, packet),
            Stop::Enb(_, ue, _) if self.is_kept(ue) => self.uplink(ue, packet),
            Stop::Ue(..) | Stop::Enb(..) => self.lose(packet),
        }
    }

    fn is_kept(&self, ue: usize) -> bool {
        self.plan.lossless && !self.ues[ue].forgets
    }

    fn lose(&mut self, packet: PacketRef) {
        let lost = self.pool.discard(packet, DropCause::RandomLoss);
        self.pool.recycle(lost);
    }

    /// Calls the nodes that are due.
    fn fire(&mut self) {
        let due = |at: Option<Instant>, now| at.is_some_and(|at| at <= now);
        if due(self.enbs.next_timeout(), self.now) {
            self.with_enbs(|enbs, cx| enbs.handle_timeout(cx));
        }
        if due(self.front.as_ref().and_then(Node::next_timeout), self.now) {
            self.with_front(|front, cx| front.handle_timeout(cx));
        }
        for ue in 0..self.ues.len() {
            if self.ues[ue].next() <= self.now {
                self.move_on(ue);
            }
        }
        for index in 0..self.servers.len() {
            for server in [true, false] {
                let peers = if server { &self.servers } else { &self.clients };
                if peers[index].next() <= self.now {
                    self.with_peer((server, index), Peer::act);
                }
            }
        }
    }

    /// A UE leaves or appears, or its cell requests its path.
    fn move_on(&mut self, index: usize) {
        let (now, ue) = (self.now, &mut self.ues[index]);
        if let Some(hop) = ue.hops.front().copied().filter(|hop| hop.at <= now && ue.returns.is_none()) {
            ue.hops.pop_front();
            ue.epoch += 1;
            (ue.cell, ue.returns, ue.asks) = (None, Some((now + hop.away, hop.to)), None);
            ue.forgets = hop.forgets;
        }
        if let Some((_, to)) = ue.returns.filter(|(at, _)| *at <= now) {
            (ue.cell, ue.returns, ue.asks) = (Some(to), None, Some(now));
            let [down, up] = core::mem::take(&mut ue.waiting);
            down.into_iter().for_each(|packet| self.downlink(to, index, packet));
            up.into_iter().for_each(|packet| self.uplink(index, packet));
        }
        if let Some(cell) = self.ues[index].cell
            && self.ues[index].asks.is_some_and(|at| at <= now)
        {
            self.ues[index].asks = Some(now + ASKS_AGAIN);
            let message = Message::PathSwitchRequest { ue: UeId(index as u32), cell: CellId(cell as u32) };
            self.with_enbs(|enbs, cx| {
                let request = message.packet(cx);
                enbs.handle_packet(cx, EnbProxies::port(cell as u16, Side::Ran), request);
            });
        }
    }

    /// A packet for a UE is at an eNB.
    fn downlink(&mut self, cell: usize, ue: usize, packet: PacketRef) {
        let Ue { cell: serving, epoch, forgets, .. } = self.ues[ue];
        if serving == Some(cell) {
            let at = (self.now, &mut self.pool);
            self.flights.send(at, self.plan.radio[cell], Stop::Ue(ue, epoch), packet);
        } else if serving.is_none() && forgets {
            self.lose(packet);
        } else {
            self.over_x2(ue, packet);
        }
    }

    fn over_x2(&mut self, ue: usize, packet: PacketRef) {
        let link = Channel::of_delay(self.plan.x2_delay.as_nanos() / 1_000);
        self.flights.send((self.now, &mut self.pool), link, Stop::X2(ue), packet);
    }

    /// A UE has a packet to send.
    fn uplink(&mut self, ue: usize, packet: PacketRef) {
        let Ue { cell, epoch, .. } = self.ues[ue];
        let Some(cell) = cell else {
            return self.ues[ue].waiting[Direction::Uplink as usize].push(packet);
        };
        let at = (self.now, &mut self.pool);
        self.flights.send(at, self.plan.radio[cell], Stop::Enb(cell, ue, epoch), packet);
    }

    fn at_proxy(&mut self, cell: usize, side: Side, packet: PacketRef) {
        let port = EnbProxies::port(cell as u16, side);
        self.with_enbs(|enbs, cx| enbs.handle_packet(cx, port, packet));
    }

    fn with_enbs(&mut self, act: impl FnOnce(&mut EnbProxies, &mut Cx<'_>)) {
        let mut outbox = Outbox::new();
        with(&mut self.pool, self.now, &mut outbox, |cx| act(&mut self.enbs, cx));
        for (port, packet) in outbox {
            let (cell, down) = (usize::from(port / 2), port % 2 == Side::Ran.port());
            assert_eq!(self.pool.get(&packet).direction == Direction::Downlink, down, "it goes astray");
            if down {
                self.at_enb(cell, packet);
            } else {
                let stop = Stop::Gateway(Gateway::enb(cell as u16));
                self.flights.send((self.now, &mut self.pool), self.plan.s1[cell], stop, packet);
            }
        }
    }

    /// A packet or a message arrives at an eNB over S1.
    fn at_enb(&mut self, cell: usize, packet: PacketRef) {
        let came = self.pool.get(&packet);
        if came.header != Header::Signalling {
            let ue = came.flow.index() % self.ues.len();
            gtp::decapsulate(self.pool.get_mut(&packet));
            return self.downlink(cell, ue, packet);
        }
        if let Some(Message::PathSwitchRequestAcknowledge { ue }) = Message::decode(&came.payload)
            && self.ues[ue.index()].cell == Some(cell)
        {
            self.ues[ue.index()].asks = None;
        }
        let message = self.pool.consume(packet);
        self.pool.recycle(message);
    }

    fn at_gateway(&mut self, port: Port, packet: PacketRef) {
        let mut outbox = Outbox::new();
        with(&mut self.pool, self.now, &mut outbox, |cx| self.gateway.handle_packet(cx, port, packet));
        for (port, packet) in outbox {
            if port == Gateway::INTERNET {
                if self.front.is_some() {
                    self.with_front(|front, cx| front.handle_packet(cx, Side::Ran.port(), packet));
                } else {
                    self.through_internet(Stop::Server, packet);
                }
            } else {
                let cell = usize::from(port - Gateway::enb(0));
                let at = (self.now, &mut self.pool);
                self.flights.send(at, self.plan.s1[cell], Stop::S1(cell), packet);
            }
        }
    }

    fn with_front(&mut self, act: impl FnOnce(&mut Middlebox<SplitProxy>, &mut Cx<'_>)) {
        let (mut outbox, front) = (Outbox::new(), self.front.as_mut().expect("there is one"));
        with(&mut self.pool, self.now, &mut outbox, |cx| act(front, cx));
        for (port, packet) in outbox {
            if port == Side::Ran.port() {
                self.at_gateway(Gateway::INTERNET, packet);
            } else {
                self.through_internet(Stop::Server, packet);
            }
        }
    }

    fn through_internet(&mut self, stop: Stop, packet: PacketRef) {
        self.flights.send((self.now, &mut self.pool), self.plan.internet, stop, packet);
    }

    fn with_peer(&mut self, (server, index): (bool, usize), act: impl FnOnce(&mut Peer, &mut Cx<'_>)) {
        let mut outbox = Outbox::new();
        let peer = if server { &mut self.servers[index] } else { &mut self.clients[index] };
        peer.call((&mut self.pool, self.now), &mut outbox, act);
        for (_, packet) in outbox {
            if server {
                self.through_internet(Stop::Core, packet);
            } else {
                self.uplink(index % self.ues.len(), packet);
            }
        }
    }
}

impl Ue {
    /// When its next event is due. It does not leave while it is away.
    fn next(&self) -> Instant {
        let (returns, asks) = (self.returns.map(|(at, _)| at), self.asks);
        let hop = self.hops.front().map(|hop| hop.at).filter(|_| returns.is_none());
        returns.into_iter().chain(asks).chain(hop).fold(Instant::FAR_FUTURE, Instant::min)
    }
}
