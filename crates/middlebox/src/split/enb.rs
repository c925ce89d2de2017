//! Split-connection proxies in eNBs: the connections of a UE move with it from cell to cell.
//!
//! The proxy of a cell is in the S1 path of its eNB. When the target of a handover requests a path switch
//! (PATH SWITCH REQUEST, TS 36.413), the proxy there requests the UE's connections from the proxy of the
//! source over X2, and receives them: the TCP state, the controllers, and every byte in the buffers. Until
//! they have arrived, packets for them are held at the target; packets that still arrive at the source follow
//! them over X2, in order. Nothing is lost or repeated, and the peers only notice a delay of two crossings of
//! X2.
//!
//! The proxies of all cells are one node, as the cells of a radio network are: X2 is internal, with its
//! delay, and its bytes are counted. Not included: a rate and losses of X2, and the encoding of the context.

use std::collections::VecDeque;

use airlane_core::{Cx, Duration, FlowId, Header, Instant, Node, Outbox, PacketRef, Port, UeId};
use airlane_net::signalling::Message;

use super::connection::Connection;
use super::time_wait::TimeWaitEntry;
use super::{SplitConfig, SplitProxy};
use crate::node::{NetworkFunction, Side};

/// Bytes of a connection's context in addition to its buffers: for each end about the size of Linux 6's
/// `tcp_info` (248 bytes), which includes the bounds of each segment under way.
const CONTEXT_BYTES: u64 = 2 * 248;

/// The connections of a UE move.
#[derive(Debug)]
struct Move {
    ue: UeId,
    from: usize,
    to: usize,
    /// Time at which the connections leave the source, or, once they have left, reach the target.
    leaves_at: Instant,
    arrives_at: Option<Instant>,
    context: HandoverContext,
    /// The packets that have arrived meanwhile, with cell and side.
    held: VecDeque<(usize, Side, PacketRef)>,
    /// The next target after this one.
    then: Option<usize>,
}

/// The state of a proxy for a UE.
#[derive(Debug, Default)]
pub(super) struct HandoverContext {
    pub(super) connections: Vec<Box<Connection>>,
    pub(super) ended: Vec<TimeWaitEntry>,
    /// Until this time, a SYN may belong to an unproxied connection that is not listed.
    pub(super) full_until: Instant,
}

/// A packet that follows connections over X2.
#[derive(Debug)]
struct Follower {
    at: Instant,
    to: usize,
    side: Side,
    packet: PacketRef,
}

/// The proxies of all cells.
#[derive(Debug)]
pub struct EnbProxies {
    cells: Vec<SplitProxy>,
    /// The UE of each flow.
    ue_of: Vec<Option<UeId>>,
    /// The cell of each UE's connections.
    home: Vec<usize>,
    moves: Vec<Move>,
    followers: VecDeque<Follower>,
    x2_delay: Duration,
    scratch: Outbox,
}

impl EnbProxies {
    /// Proxies of cells, without connections; X2 has this one-way delay.
    #[must_use]
    pub fn new(cells: Vec<SplitConfig>, x2_delay: Duration) -> Self {
        Self {
            cells: cells.into_iter().map(SplitProxy::new).collect(),
            ue_of: vec![],
            home: vec![],
            moves: vec![],
            followers: VecDeque::new(),
            x2_delay,
            scratch: Outbox::with_capacity(64),
        }
    }

    /// The port of a cell's proxy on a side.
    #[must_use]
    pub const fn port(cell: u16, side: Side) -> Port {
        2 * cell + side.port()
    }

    /// Assigns a flow to a UE.
    pub fn add_flow(&mut self, flow: FlowId, ue: UeId) {
        if self.ue_of.len() <= flow.index() {
            self.ue_of.resize(flow.index() + 1, None);
        }
        self.ue_of[flow.index()] = Some(ue);
    }

    /// Sets the cell of a UE.
    pub fn attach(&mut self, ue: UeId, cell: usize) {
        if self.home.len() <= ue.index() {
            self.home.resize(ue.index() + 1, 0);
        }
        self.home[ue.index()] = cell;
    }

    /// The proxy of a cell.
    #[must_use]
    pub fn cell(&self, cell: usize) -> &SplitProxy {
        &self.cells[cell]
    }

    /// True if there is no connection and nothing is under way between cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.moves.is_empty() && self.followers.is_empty() && self.cells.iter().all(SplitProxy::is_empty)
    }

    /// Calls the proxy of a cell, and sends its packets.
    fn with_cell<R>(
        &mut self,
        cx: &mut Cx<'_>,
        cell: usize,
        act: impl FnOnce(&mut SplitProxy, &mut Cx<'_>) -> R,
    ) -> R {
        let (now, topics, outbox) = (cx.now, cx.topics, &mut self.scratch);
        let mut inner = Cx { now, pool: &mut *cx.pool, outbox, topics, probe: &mut *cx.probe };
        let result = act(&mut self.cells[cell], &mut inner);
        for (port, packet) in self.scratch.drain(..) {
            cx.send(2 * cell as Port + port, packet);
        }
        result
    }

    /// A message passes between an eNB and the core.
    fn overhear(&mut self, cx: &mut Cx<'_>, cell: usize, message: Option<Message>) {
        match message {
            Some(Message::PathSwitchRequest { ue, .. }) => self.on_arrival_of_ue(cx.now, ue, cell),
            // The source receives no more data of the UE: its connections send nothing more there.
            Some(Message::EndMarker { ue }) => {
                let moves = |one: &Move| one.ue == ue && one.from == cell && one.arrives_at.is_none();
                if let Some(index) = self.moves.iter().position(moves) {
                    self.leave(cx, index);
                }
            }
            Some(Message::PathSwitchRequestAcknowledge { .. }) | None => {}
        }
    }

    /// A UE has reached a cell; the proxy there requests its connections.
    fn on_arrival_of_ue(&mut self, now: Instant, ue: UeId, cell: usize) {
        let Some(&from) = self.home.get(ue.index()) else { return };
        if let Some(moving) = self.moves.iter_mut().find(|moving| moving.ue == ue) {
            moving.then = (moving.to != cell).then_some(cell);
        } else if from != cell {
            self.moves.push(Move {
                ue,
                from,
                to: cell,
                leaves_at: now + self.x2_delay,
                arrives_at: None,
                context: HandoverContext::default(),
                held: VecDeque::new(),
                then: None,
            });
        }
    }

    /// The connections of a move leave the source.
    fn leave(&mut self, cx: &mut Cx<'_>, index: usize) {
        let Move { ue, from, leaves_at, .. } = self.moves[index];
        let ue_of = core::mem::take(&mut self.ue_of);
        let is_of = |flow: FlowId| ue_of.get(flow.index()).is_some_and(|owner| *owner == Some(ue));
        let context = self.with_cell(cx, from, |proxy, cx| proxy.pack(cx, is_of));
        self.ue_of = ue_of;
        let bytes = context.connections.iter().map(|connection| CONTEXT_BYTES + connection.held()).sum();
        self.cells[from].count_x2(bytes, 0);
        let moving = &mut self.moves[index];
        moving.context = context;
        moving.arrives_at = Some(leaves_at.max(cx.now) + self.x2_delay);
    }

    /// The connections of a move reach their target.
    fn arrive(&mut self, cx: &mut Cx<'_>, index: usize) {
        let Move { ue, to, context, mut held, then, .. } = self.moves.remove(index);
        self.home[ue.index()] = to;
        self.with_cell(cx, to, |proxy, cx| proxy.unpack(cx, context));
        if let Some(then) = then {
            self.on_arrival_of_ue(cx.now, ue, then);
        }
        while let Some((cell, side, packet)) = held.pop_front() {
            self.dispatch(cx, cell, side, packet);
        }
    }

    /// Passes a packet in a cell, from a side, to its connection, which may be in another cell.
    fn dispatch(&mut self, cx: &mut Cx<'_>, cell: usize, side: Side, packet: PacketRef) {
        let passing = cx.pool.get(&packet);
        let owner = self.ue_of.get(passing.flow.index()).copied().flatten();
        let Some(ue) = owner.filter(|_| matches!(passing.header, Header::Tcp(_))) else {
            return self.give(cx, cell, side, packet);
        };
        let Some(index) = self.moves.iter().position(|moving| moving.ue == ue) else {
            let home = self.home[ue.index()];
            if home == cell {
                return self.give(cx, cell, side, packet);
            }
            if self.cells[home].concerns(passing) {
                return self.follow(cx, (cell, home), side, packet);
            }
            return cx.send(2 * cell as Port + side.across().port(), packet);
        };
        let moving = &mut self.moves[index];
        let left = moving.arrives_at.is_some();
        if !left && cell == moving.from {
            return self.give(cx, cell, side, packet);
        }
        if !(moving.context.concerns(passing) || self.cells[moving.from].concerns(passing)) {
            return cx.send(2 * cell as Port + side.across().port(), packet);
        }
        if left && cell == moving.from {
            let to = moving.to;
            return self.follow(cx, (cell, to), side, packet);
        }
        moving.held.push_back((cell, side, packet));
    }

    fn give(&mut self, cx: &mut Cx<'_>, cell: usize, side: Side, packet: PacketRef) {
        let back = self.with_cell(cx, cell, |proxy, cx| proxy.on_packet(cx, side, packet));
        if let Some(packet) = back {
            cx.send(2 * cell as Port + side.across().port(), packet);
        }
    }

    /// A packet follows its connection over X2.
    fn follow(&mut self, cx: &mut Cx<'_>, (from, to): (usize, usize), side: Side, packet: PacketRef) {
        self.cells[from].count_x2(0, cx.pool.get(&packet).size.get());
        self.followers.push_back(Follower { at: cx.now + self.x2_delay, to, side, packet });
    }
}

impl Node for EnbProxies {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: PacketRef) {
        let cell = usize::from(port / 2);
        let side = if port % 2 == Side::Core.port() { Side::Core } else { Side::Ran };
        let came = cx.pool.get(&packet);
        if matches!(came.header, Header::Signalling) {
            let message = Message::decode(&came.payload);
            self.overhear(cx, cell, message);
            return cx.send(2 * cell as Port + side.across().port(), packet);
        }
        self.dispatch(cx, cell, side, packet);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        let mut index = 0;
        while index < self.moves.len() {
            let Move { leaves_at, arrives_at, .. } = self.moves[index];
            match arrives_at {
                None if leaves_at <= cx.now => self.leave(cx, index),
                Some(at) if at <= cx.now => {
                    self.arrive(cx, index);
                    continue;
                }
                None | Some(_) => {}
            }
            index += 1;
        }
        while self.followers.front().is_some_and(|follower| follower.at <= cx.now) {
            let Some(Follower { to, side, packet, .. }) = self.followers.pop_front() else { return };
            self.dispatch(cx, to, side, packet);
        }
        for cell in 0..self.cells.len() {
            if self.cells[cell].next_timeout().is_some_and(|at| at <= cx.now) {
                self.with_cell(cx, cell, |proxy, cx| proxy.on_timeout(cx));
            }
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        let cells = self.cells.iter().filter_map(NetworkFunction::next_timeout);
        let moves = self.moves.iter().map(|moving| moving.arrives_at.unwrap_or(moving.leaves_at));
        let follower = self.followers.front().map(|follower| follower.at);
        cells.chain(moves).chain(follower).min()
    }

    fn packets_held(&self) -> usize {
        self.followers.len() + self.moves.iter().map(|moving| moving.held.len()).sum::<usize>()
    }
}
