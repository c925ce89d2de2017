//! The two ends of a one-way transfer over Multipath TCP. The UE, or the host of a wired network, opens the connection.

use airlane_core::{Cx, Event, FlowId, Instant, Node, PacketRef, Port};
use airlane_transport::mptcp::MptcpConnection;

use crate::Transfer;

/// The application of an end.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// It sends a transfer, until `stop` if it has not finished before.
    Source { transfer: Transfer, stop: Option<Instant>, sent: bool, acknowledged: bool },
    /// It reads all data immediately.
    Sink { completed: bool },
}

/// An end of a transfer.
#[derive(Debug)]
pub struct MptcpEnd {
    connection: MptcpConnection,
    flow: FlowId,
    part: Part,
    is_initiator: bool,
    /// When the transfer starts, and whether it has.
    started_at: Instant,
    has_started: bool,
    /// At `stop`, it ends the connection at once.
    aborts: bool,
}

impl MptcpEnd {
    /// The end that sends a transfer, which starts at `start` and ends at `stop` if it has not finished before.
    #[must_use]
    pub fn source(
        connection: MptcpConnection,
        flow: FlowId,
        transfer: Transfer,
        (start, stop): (Instant, Option<Instant>),
        is_initiator: bool,
    ) -> Self {
        let stop = stop.filter(|_| transfer == Transfer::Bulk);
        let part = Part::Source { transfer, stop, sent: false, acknowledged: false };
        Self { connection, flow, part, is_initiator, started_at: start, has_started: false, aborts: false }
    }

    /// Whether it ends the connection with MP_FASTCLOSE when it stops, so that data under way is lost.
    #[must_use]
    pub const fn aborting(mut self, aborts: bool) -> Self {
        self.aborts = aborts;
        self
    }

    /// The end that receives a transfer, which starts at `start`.
    #[must_use]
    pub fn sink(connection: MptcpConnection, flow: FlowId, start: Instant, is_initiator: bool) -> Self {
        let part = Part::Sink { completed: false };
        Self { connection, flow, part, is_initiator, started_at: start, has_started: false, aborts: false }
    }

    /// The connection.
    #[must_use]
    pub const fn connection(&self) -> &MptcpConnection {
        &self.connection
    }

    fn begin(&mut self, cx: &mut Cx<'_>) {
        self.has_started = true;
        if let Part::Source { transfer, .. } = self.part {
            match transfer {
                Transfer::Bulk => self.connection.supply_endless(),
                Transfer::Fixed(bytes) => {
                    self.connection.supply(bytes.get());
                    self.connection.close();
                }
            }
        }
        if self.is_initiator {
            self.connection.connect(cx);
        }
    }

    /// The application's part after each call: it reads, closes, and reports the progress of a finite transfer.
    fn proceed(&mut self, cx: &mut Cx<'_>) {
        let (flow, started_at) = (self.flow, self.started_at);
        match &mut self.part {
            Part::Sink { completed } => {
                self.connection.read(cx.now, u64::MAX);
                if !*completed && self.connection.at_end() {
                    *completed = true;
                    cx.emit(&Event::FlowCompleted { flow, started_at });
                    self.connection.close();
                }
            }
            Part::Source { stop, .. } => {
                if stop.is_some_and(|at| at <= cx.now) {
                    *stop = None;
                    if self.aborts {
                        return self.connection.abort(cx);
                    }
                    self.connection.close();
                }
            }
        }
        self.connection.flush(cx);
        if let Part::Source { transfer: Transfer::Fixed(_), sent, acknowledged, .. } = &mut self.part
            && self.has_started
        {
            if !*sent && self.connection.all_sent() {
                *sent = true;
                cx.emit(&Event::FlowSent { flow, started_at });
            }
            if !*acknowledged && self.connection.data_acknowledged() {
                *acknowledged = true;
                cx.emit(&Event::FlowAcknowledged { flow, started_at });
            }
        }
    }
}

impl Node for MptcpEnd {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        self.connection.handle_packet(cx, packet);
        self.proceed(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        if !self.has_started && self.started_at <= cx.now {
            self.begin(cx);
        }
        if self.connection.next_timeout() <= cx.now {
            self.connection.handle_timeout(cx);
        }
        self.proceed(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let start = if self.has_started { Instant::FAR_FUTURE } else { self.started_at };
        let stop = match self.part {
            Part::Source { stop: Some(stop), .. } => stop,
            Part::Source { stop: None, .. } | Part::Sink { .. } => Instant::FAR_FUTURE,
        };
        let at = start.min(stop).min(self.connection.next_timeout());
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    fn packets_held(&self) -> usize {
        0
    }
}
