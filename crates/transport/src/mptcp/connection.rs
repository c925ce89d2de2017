//! One end of a connection: the application's calls, and the subflows.

use std::sync::Arc;

use airlane_core::order::Released;
use airlane_core::{
    Bytes, Cx, Direction, Event, FlowId, Instant, MptcpOption, Outbox, SocketPair, Stream, SubflowStep,
    Topic, TopicSet,
};

use super::control::{Announcement, PathNotice};
use super::coupling::{Coupling, Group};
use super::incoming::Incoming;
use super::keys;
use super::outgoing::Outgoing;
use super::scheduler::{Scheduler, SchedulerKind, SchedulerPath};
use super::subflow::{Subflow, SubflowPath};
use crate::config::{ReceiveWindowKind, TcpConfig};
use crate::congestion::CongestionKind;
use crate::{ConnectionState, Path, TcpEndpoint};

/// The settings of both ends.
#[derive(Clone, Debug)]
pub struct MptcpSettings {
    /// TCP of each subflow. Its receive window is that of the connection.
    pub tcp: TcpConfig,
    /// The subflows; the first is opened first.
    pub paths: Vec<SubflowPath>,
    /// The scheduler.
    pub scheduler: SchedulerKind,
    /// The coupling of the congestion windows, which replaces the controller of `tcp`.
    pub coupling: Option<Coupling>,
    /// The notices that the initiator's host gets of its accesses, by time; none at the other end.
    pub notices: Vec<PathNotice>,
}

/// One end of a connection.
#[derive(Debug)]
pub struct MptcpConnection {
    pub(super) settings: MptcpSettings,
    pub(super) flow: FlowId,
    pub(super) direction: Direction,
    pub(super) initiator: bool,
    /// Keys of this end and of the peer.
    pub(super) key: u64,
    pub(super) peer_key: Option<u64>,
    pub(super) draws: Stream,
    pub(super) subflows: Vec<Option<Subflow>>,
    pub(super) incoming: Incoming,
    pub(super) outgoing: Outgoing,
    pub(super) scheduler: Box<dyn Scheduler>,
    pub(super) group: Arc<Group>,
    /// The time at which a DATA_FIN that is not acknowledged is sent again.
    pub(super) fin_at: Instant,
    /// The joins have been started.
    pub(super) has_joined: bool,
    /// A data sequence signal of the peer has arrived.
    pub(super) has_signal: bool,
    /// The connection continues as TCP.
    pub(super) plain: bool,
    /// Addresses that this end announces.
    pub(super) announcements: Vec<Announcement>,
    /// Whether the peer has announced the address of each subflow.
    pub(super) announced_by_peer: Vec<bool>,
    /// Whether the access of each subflow is not there.
    pub(super) absent: Vec<bool>,
    /// Whether each subflow is a backup by configuration.
    pub(super) configured_backups: Vec<bool>,
    /// The sockets of subflows whose place a join from a new port has taken: a late SYN from them opens nothing.
    pub(super) replaced: Vec<SocketPair>,
    /// Number of notices that have been handled.
    pub(super) noticed: usize,
    /// The option of the next acknowledgment, or of resets.
    pub(super) pending: Option<MptcpOption>,
    /// Buffers that are reused.
    pub(super) scratch: Outbox,
    pub(super) views: Vec<SchedulerPath>,
    pub(super) released: Vec<Released>,
}

impl MptcpConnection {
    /// An end that sends in this direction. It draws its key and its random numbers from `draws`.
    ///
    /// # Panics
    /// Without a path, or if the MTU leaves no room for the headers and some payload.
    #[must_use]
    pub fn new(
        settings: MptcpSettings,
        (flow, direction): (FlowId, Direction),
        initiator: bool,
        mut draws: Stream,
    ) -> Self {
        assert!(!settings.paths.is_empty(), "a connection has a path");
        let stamps = if settings.tcp.timestamps { 12 } else { 0 };
        let segment = u32::from(settings.tcp.mss()) - stamps - MptcpOption::DSS_MAPPING_LEN;
        let paths = settings.paths.len();
        Self {
            flow,
            direction,
            initiator,
            key: draws.bits(),
            peer_key: None,
            draws,
            subflows: (0..paths).map(|_| None).collect(),
            incoming: Incoming::new(settings.tcp.receive_window, segment),
            outgoing: Outgoing::new(),
            scheduler: settings.scheduler.make(),
            group: Arc::new(Group::new(paths)),
            fin_at: Instant::FAR_FUTURE,
            has_joined: false,
            has_signal: false,
            plain: false,
            announcements: vec![],
            announced_by_peer: vec![false; paths],
            absent: settings.paths.iter().map(|path| !path.present).collect(),
            configured_backups: settings.paths.iter().map(|path| path.backup).collect(),
            replaced: vec![],
            noticed: 0,
            pending: None,
            scratch: Outbox::new(),
            views: Vec::with_capacity(paths),
            released: Vec::new(),
            settings,
        }
    }

    /// Opens the connection: a SYN on the first subflow.
    ///
    /// # Panics
    /// If this is not the initiator.
    pub fn connect(&mut self, cx: &mut Cx<'_>) {
        assert!(self.initiator, "the initiator connects");
        self.open(0);
        self.on_endpoint(cx, 0, TcpEndpoint::connect);
    }

    /// The application always has more data.
    pub fn supply_endless(&mut self) {
        self.outgoing.supply_endless();
    }

    /// The application writes `bytes` more. [`Self::flush`] sends them.
    pub fn supply(&mut self, bytes: u64) {
        self.outgoing.supply(bytes);
    }

    /// An application that always had more data has none for now.
    pub fn hold_supply(&mut self) {
        self.outgoing.hold_supply();
    }

    /// The application writes no more: a DATA_FIN follows.
    pub fn close(&mut self) {
        self.outgoing.close();
    }

    /// Bytes that can be read.
    #[must_use]
    pub fn readable(&self) -> u64 {
        self.incoming.readable()
    }

    /// The application reads up to `limit` bytes; returns the number of bytes read.
    pub fn read(&mut self, now: Instant, limit: u64) -> u64 {
        let open = self.subflows.iter().flatten().filter(|subflow| subflow.is_open());
        let rtt = open.map(|subflow| subflow.endpoint.receiver_rtt()).max().unwrap_or_default();
        self.incoming.read(now, limit, rtt)
    }

    /// True when the peer has closed and all its data was read.
    #[must_use]
    pub fn at_end(&self) -> bool {
        self.incoming.at_end()
    }

    /// True when all written data has been sent at least once.
    #[must_use]
    pub const fn all_sent(&self) -> bool {
        self.outgoing.unsent() == 0
    }

    /// True when all written data is acknowledged at the level of the connection.
    #[must_use]
    pub const fn data_acknowledged(&self) -> bool {
        self.outgoing.data_acknowledged()
    }

    /// Whether the first subflow is established.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.subflows[0].as_ref().is_some_and(|first| {
            matches!(first.endpoint.state(), ConnectionState::Established | ConnectionState::Closed)
        })
    }

    /// When to call [`Self::handle_timeout`]; [`Instant::FAR_FUTURE`] for never.
    #[must_use]
    pub fn next_timeout(&self) -> Instant {
        let timeouts = self.subflows.iter().flatten().map(|subflow| subflow.endpoint.next_timeout());
        timeouts.fold(self.fin_at.min(self.control_timeout()), Instant::min)
    }

    /// Handles the timers that are due.
    pub fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        for index in 0..self.subflows.len() {
            let next = self.subflows[index].as_ref().map(|subflow| subflow.endpoint.next_timeout());
            if next.is_some_and(|at| at <= cx.now) {
                self.on_endpoint(cx, index, TcpEndpoint::handle_timeout);
                self.watch(cx, index);
            }
        }
        self.control(cx);
        if self.fin_at <= cx.now {
            self.fin_at = Instant::FAR_FUTURE;
            self.send_fin(cx.now);
        }
    }

    /// Sends what may be sent: data, and acknowledgments that are due.
    pub fn flush(&mut self, cx: &mut Cx<'_>) {
        self.join(cx);
        self.push(cx);
        self.finish(cx.now);
        for index in 0..self.subflows.len() {
            if self.subflows[index].is_some() {
                self.on_endpoint(cx, index, TcpEndpoint::flush);
            }
        }
        self.report_state(cx);
    }

    /// The end of a subflow, with the window of the connection and the shared law.
    pub(super) fn open(&mut self, index: usize) {
        let path = self.settings.paths[index];
        let mut tcp = TcpConfig {
            option_room: MptcpOption::DSS_MAPPING_LEN as u16,
            // The window of the connection applies, which is announced on every subflow. Data that waits for a gap of a
            // subflow takes room in it twice.
            receive_window: ReceiveWindowKind::Fixed(Bytes(2 * self.incoming.ceiling().get())),
            ..self.settings.tcp.clone()
        };
        if let Some(coupling) = self.settings.coupling {
            tcp.congestion = CongestionKind::Own;
            tcp.own = Some(coupling.controllers(index, &self.group));
        }
        let path = Path { flow: self.flow, direction: self.direction, sockets: path.sockets };
        let nonce = self.draws.bits() as u32;
        self.subflows[index] = Some(Subflow::new(TcpEndpoint::new(tcp, path), nonce));
    }

    /// When the peer has confirmed the first subflow, the initiator opens the others, and either end announces addresses.
    fn join(&mut self, cx: &mut Cx<'_>) {
        let confirmed = self.subflows[0].as_ref().is_some_and(|first| first.confirmed);
        if self.has_joined || !confirmed || self.plain {
            return;
        }
        self.has_joined = true;
        self.plan_announcements(cx.now);
        self.control(cx);
        for index in 1..self.settings.paths.len() {
            let is_known = self.settings.paths[index].announced.is_none() || self.announced_by_peer[index];
            if self.opens(index) && is_known && !self.absent[index] && self.subflows[index].is_none() {
                self.open_join(cx, index);
            }
        }
    }

    /// Calls an endpoint, adds the options of Multipath TCP to the segments that it sends, and passes them on.
    pub(super) fn on_endpoint<R: Default>(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        act: impl FnOnce(&mut TcpEndpoint, &mut Cx<'_>) -> R,
    ) -> R {
        let Some(subflow) = &mut self.subflows[index] else { return R::default() };
        // A segment is reported when it has its option, and the state of all subflows together.
        let own = TopicSet::NONE.with(Topic::Sent).with(Topic::FlowState);
        let topics = cx.topics.without(own);
        let mut quiet = Cx { now: cx.now, pool: cx.pool, outbox: &mut self.scratch, topics, probe: cx.probe };
        let result = act(&mut subflow.endpoint, &mut quiet);
        let mut packets = core::mem::take(&mut self.scratch);
        for (_, packet) in packets.drain(..) {
            let retransmission = self.dress(index, cx.pool.get_mut(&packet));
            if cx.wants(Topic::Sent) {
                cx.emit_about(&packet, |packet| Event::Sent { packet, retransmission });
            }
            cx.send(self.settings.paths[index].port, packet);
        }
        self.scratch = packets;
        result
    }

    /// Updates the state of a subflow after a call: acknowledged data, timeouts, and its end.
    pub(super) fn watch(&mut self, cx: &mut Cx<'_>, index: usize) {
        let Some(subflow) = &mut self.subflows[index] else { return };
        let advanced = subflow.forget_acknowledged();
        let mut step = None;
        if subflow.has_timed_out() && !advanced {
            step = (!subflow.failed).then_some(SubflowStep::Failed);
            subflow.failed = true;
            let undelivered = subflow.undelivered(index);
            undelivered.into_iter().for_each(|part| self.outgoing.reinject(part));
        } else if advanced && subflow.failed {
            subflow.failed = false;
            step = Some(SubflowStep::Restored);
        }
        let gone = matches!(subflow.endpoint.state(), ConnectionState::Reset | ConnectionState::TimedOut);
        if gone && !subflow.ended {
            subflow.ended = true;
            step = Some(SubflowStep::Failed);
            let undelivered = subflow.undelivered(index);
            undelivered.into_iter().for_each(|part| self.outgoing.reinject(part));
            self.group.remove(index);
        }
        if let Some(step) = step {
            self.report(cx, index, step);
        }
    }

    /// A DATA_FIN when all data was sent, and the ends of the subflows when both ends have acknowledged it.
    fn finish(&mut self, now: Instant) {
        if self.plain {
            if self.outgoing.end().is_some()
                && let Some(first) = &mut self.subflows[0]
            {
                first.endpoint.shutdown();
            }
        } else if self.outgoing.is_finished() {
            self.fin_at = Instant::FAR_FUTURE;
            if self.incoming.is_complete() {
                self.subflows.iter_mut().flatten().for_each(|subflow| subflow.endpoint.shutdown());
            }
        } else if self.outgoing.end().is_some() && self.fin_at == Instant::FAR_FUTURE {
            self.send_fin(now);
        }
    }

    /// All subflows send a segment, which carries the DATA_FIN; it is repeated until it is acknowledged.
    fn send_fin(&mut self, now: Instant) {
        let open = self.subflows.iter_mut().flatten().filter(|subflow| subflow.is_open());
        let mut rto = None;
        for subflow in open {
            subflow.endpoint.demand_ack();
            rto = rto.max(Some(subflow.endpoint.stats().rto));
        }
        self.fin_at = rto.map_or(Instant::FAR_FUTURE, |rto| now + rto);
    }

    /// Reports a step of a subflow.
    pub(super) fn report(&self, cx: &mut Cx<'_>, index: usize, step: SubflowStep) {
        if cx.wants(Topic::Subflow) {
            cx.emit(&Event::Subflow { flow: self.flow, subflow: index as u8, step });
        }
    }

    /// Reports the windows of all subflows together.
    fn report_state(&self, cx: &mut Cx<'_>) {
        if !cx.wants(Topic::FlowState) || self.outgoing.next() == 0 {
            return;
        }
        let bytes = |segments: u32, segment: u32| u64::from(segments) * u64::from(segment);
        let (mut window, mut in_flight) = (0, 0);
        for state in self.subflows.iter().flatten().filter_map(|one| one.endpoint.subflow_state()) {
            window += bytes(state.window, state.segment);
            in_flight += bytes(state.in_flight, state.segment);
        }
        cx.emit(&Event::FlowState {
            flow: self.flow,
            congestion_window: Bytes(window),
            ssthresh: None,
            in_flight: Bytes(in_flight),
            offered_window: Some(Bytes(self.outgoing.window())),
            cubic: None,
        });
    }

    /// The data sequence number of a position in the data that this end sends.
    pub(super) fn own_sequence(&self, position: u64) -> u64 {
        keys::initial_data_sequence(self.key).wrapping_add(1).wrapping_add(position)
    }

    /// The same of the peer's data, once its key is known.
    pub(super) fn peer_sequence(&self, position: u64) -> Option<u64> {
        Some(keys::initial_data_sequence(self.peer_key?).wrapping_add(1).wrapping_add(position))
    }
}
