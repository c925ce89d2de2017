//! Addresses and subflows that come and go: ADD_ADDR, REMOVE_ADDR, MP_PRIO and MP_FASTCLOSE (RFC 8684 §3.3.8, §3.4, §3.5),
//! and what a host learns of its accesses.

use airlane_core::{Cx, Duration, Instant, MptcpOption, SubflowStep};

use super::connection::MptcpConnection;
use super::keys;
use super::outgoing::Reinjection;
use super::subflow::Subflow;
use crate::{ConnectionState, TcpEndpoint};

/// An address that was not echoed is announced this many times more (`ADD_ADDR_RETRANS_MAX` of Linux, net/mptcp/pm.c).
const ANNOUNCED_AGAIN: u32 = 3;

/// A notice that the initiator's host gets of one of its accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathNotice {
    /// Its time.
    pub at: Instant,
    /// The subflow.
    pub subflow: usize,
    /// Its content.
    pub news: PathNews,
}

/// An event of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathNews {
    /// The access will end soon: the subflow becomes a backup (MP_PRIO).
    Ending,
    /// The access has ended: its address is removed (REMOVE_ADDR).
    Ended,
    /// The access is there again: a new subflow is opened from this port.
    Began {
        /// The port of the host.
        port: u16,
    },
}

/// The announcement of an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Announcement {
    /// The subflow whose address it is.
    subflow: usize,
    /// When it is sent next.
    at: Instant,
    /// How often it has been sent.
    sent: u32,
}

impl MptcpConnection {
    /// Whether this end opens a subflow: the peer has announced its address, or, at the initiator, no end has.
    pub(super) fn opens(&self, index: usize) -> bool {
        let path = &self.settings.paths[index];
        path.announced.map_or(self.initiator, |(by_initiator, _)| by_initiator != self.initiator)
    }

    /// The addresses that this end announces when the connection is confirmed.
    pub(super) fn plan_announcements(&mut self, now: Instant) {
        let is_own = |by_initiator: bool| by_initiator == self.initiator;
        let all = self.settings.paths.iter().enumerate();
        let own = all.filter(|(_, path)| path.announced.is_some_and(|(by, _)| is_own(by)));
        self.announcements = own.map(|(subflow, _)| Announcement { subflow, at: now, sent: 0 }).collect();
    }

    /// When an announcement or a notice is due.
    pub(super) fn control_timeout(&self) -> Instant {
        let announcements = self.announcements.iter().map(|one| one.at);
        let notice = self.settings.notices.get(self.noticed).map_or(Instant::FAR_FUTURE, |one| one.at);
        announcements.fold(notice, Instant::min)
    }

    /// Sends what is due.
    pub(super) fn control(&mut self, cx: &mut Cx<'_>) {
        for place in 0..self.announcements.len() {
            if self.announcements[place].at <= cx.now {
                self.announce(cx, place);
            }
        }
        self.announcements.retain(|one| one.at != Instant::FAR_FUTURE);
        while let Some(notice) = self.settings.notices.get(self.noticed).filter(|one| one.at <= cx.now) {
            let (index, news) = (notice.subflow, notice.news);
            self.noticed += 1;
            match news {
                PathNews::Ending => self.set_backup(cx, index),
                PathNews::Ended => self.lose(cx, index),
                PathNews::Began { port } => self.find(cx, index, port),
            }
        }
    }

    /// Announces an address, and again after one retransmission timeout, then after twice the time before (RFC 8684 §3.4.1: a
    /// host may repeat what was not echoed). While no subflow can carry the option, it is not sent, which does not count.
    fn announce(&mut self, cx: &mut Cx<'_>, place: usize) {
        let Announcement { subflow, sent, .. } = self.announcements[place];
        let path = &self.settings.paths[subflow];
        let (Some((_, address)), Some(peer)) = (path.announced, self.peer_key) else { return };
        let hmac = Some(keys::address_hmac([self.key, peer], path.address, address));
        let option = MptcpOption::AddAddr { id: path.address, address, hmac };
        let (at, sent) = match self.signal_on_any(cx, option) {
            Some(rto) if sent < ANNOUNCED_AGAIN => (cx.now + rto * (1 << sent), sent + 1),
            None if !self.is_over() => (cx.now + self.settings.tcp.rto_initial, sent),
            _ => (Instant::FAR_FUTURE, sent),
        };
        self.announcements[place] = Announcement { subflow, at, sent };
    }

    /// The peer announces an address, or echoes an announcement.
    pub(super) fn on_add_address(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        (id, address, hmac): (u8, [u8; 4], Option<u64>),
    ) {
        let of = self.settings.paths.iter().position(|path| path.address == id);
        let (Some(announced), Some(peer)) = (of, self.peer_key) else { return };
        let Some(hmac) = hmac else {
            return self.announcements.retain(|one| one.subflow != announced);
        };
        if hmac != keys::address_hmac([peer, self.key], id, address) {
            return;
        }
        self.signal(cx, index, MptcpOption::AddAddr { id, address, hmac: None });
        self.announced_by_peer[announced] = true;
        if self.opens(announced) && self.subflows[announced].is_none() && !self.absent[announced] {
            self.open_join(cx, announced);
        }
    }

    /// Opens a subflow of an established connection.
    pub(super) fn open_join(&mut self, cx: &mut Cx<'_>, index: usize) {
        self.open(index);
        if let Some(subflow) = &mut self.subflows[index] {
            subflow.joins = true;
        }
        self.on_endpoint(cx, index, TcpEndpoint::connect);
    }

    /// The subflow becomes a backup, here and at the peer.
    fn set_backup(&mut self, cx: &mut Cx<'_>, index: usize) {
        self.settings.paths[index].backup = true;
        self.signal(cx, index, MptcpOption::Prio { backup: true });
    }

    /// An access has ended. Before the connection is confirmed, its first subflow stays.
    fn lose(&mut self, cx: &mut Cx<'_>, index: usize) {
        if self.plain || index == 0 && !self.has_joined || self.is_over() {
            return;
        }
        self.absent[index] = true;
        self.drop_subflow(cx, index);
        let id = self.settings.paths[index].address;
        for other in 0..self.subflows.len() {
            self.signal(cx, other, MptcpOption::RemoveAddr(id));
        }
    }

    /// An access is there again, without a subflow. The host has a new port, so that no segment of the last subflow is read
    /// as one of the new one.
    fn find(&mut self, cx: &mut Cx<'_>, index: usize, port: u16) {
        self.absent[index] = false;
        self.settings.paths[index].backup = self.configured_backups[index];
        if self.plain || !self.has_joined || self.subflows[index].is_some() || self.is_over() {
            return;
        }
        self.settings.paths[index].sockets.ue_port = port;
        if self.opens(index) {
            self.open_join(cx, index);
        }
    }

    /// Removes a subflow without a segment on its path. Data that it had not delivered is sent on others.
    pub(super) fn drop_subflow(&mut self, cx: &mut Cx<'_>, index: usize) {
        let Some(mut subflow) = self.subflows[index].take() else { return };
        let was_used = !subflow.failed && !subflow.ended;
        self.outgoing.forget_carrier(index);
        for part in subflow.undelivered(index) {
            self.outgoing.reinject(Reinjection { from: None, ..part });
        }
        self.group.remove(index);
        if was_used {
            self.report(cx, index, SubflowStep::Failed);
        }
    }

    /// The peer has removed an address. As in Linux, and unlike RFC 8684 §3.4.2, its subflow is not probed before.
    pub(super) fn on_remove_address(&mut self, cx: &mut Cx<'_>, id: u8) {
        let of = self.settings.paths.iter().position(|path| path.address == id);
        if let Some(index) = of.filter(|_| !self.plain) {
            self.drop_subflow(cx, index);
        }
    }

    /// The peer's use of a subflow has changed; its wish applies to what this end sends.
    pub(super) fn on_priority(&mut self, index: usize, backup: bool) {
        self.settings.paths[index].backup = backup;
    }

    /// Ends the connection at once: a RST with MP_FASTCLOSE on each subflow, as Linux sends it (RFC 8684 §3.5). Data that
    /// was not delivered is lost.
    pub fn abort(&mut self, cx: &mut Cx<'_>) {
        let key = self.peer_key.filter(|_| !self.plain);
        for index in 0..self.subflows.len() {
            self.pending = key.map(MptcpOption::FastClose);
            self.on_endpoint(cx, index, TcpEndpoint::abort);
        }
        self.pending = None;
        self.end();
    }

    /// The peer has ended the connection at once. The subflow has handled the segment with the option; as in Linux
    /// (`tcp_reset` of net/ipv4/tcp_input.c), the option of a RST counts if the RST does, and that subflow sends none.
    pub(super) fn on_fast_close(&mut self, cx: &mut Cx<'_>, index: usize, (key, is_reset): (u64, bool)) {
        let state = self.subflows[index].as_ref().map(|subflow| subflow.endpoint.state());
        if key == self.key && (!is_reset || state == Some(ConnectionState::Reset)) {
            for index in 0..self.subflows.len() {
                self.on_endpoint(cx, index, TcpEndpoint::abort);
            }
            self.end();
        }
    }

    /// Nothing follows.
    fn end(&mut self) {
        self.subflows.iter_mut().flatten().for_each(|subflow| subflow.ended = true);
        self.fin_at = Instant::FAR_FUTURE;
        self.announcements.clear();
        self.noticed = self.settings.notices.len();
        self.outgoing.abandon();
    }

    /// Whether all data was delivered in both directions.
    fn is_over(&self) -> bool {
        self.outgoing.is_finished() && self.incoming.is_complete()
    }

    /// Sends an option in an acknowledgment of a subflow, if it is open and confirmed. An ADD_ADDR leaves no room for a data
    /// sequence signal next to timestamps.
    fn signal(&mut self, cx: &mut Cx<'_>, index: usize, option: MptcpOption) {
        if self.subflows[index].as_ref().is_some_and(Subflow::can_signal) {
            self.pending = Some(option);
            self.on_endpoint(cx, index, TcpEndpoint::acknowledge_now);
            self.pending = None;
        }
    }

    /// Sends an option on the first subflow that is open and has not failed, and returns its retransmission timeout.
    fn signal_on_any(&mut self, cx: &mut Cx<'_>, option: MptcpOption) -> Option<Duration> {
        let (index, rto) = self.subflows.iter().enumerate().find_map(|(index, one)| {
            let ready = one.as_ref().filter(|one| one.can_signal() && !one.failed)?;
            Some((index, ready.endpoint.stats().rto))
        })?;
        self.signal(cx, index, option);
        Some(rto)
    }
}
