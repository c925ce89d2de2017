//! The paths of a connection: opened, given up, and opened again.

use airlane_core::{Cx, Instant, SubflowStep};
use airlane_transport::mptcp::PathNews;
use noq_proto::{PathId, PathStatus, Transmit, TransportErrorCode};

use super::endpoint::MultipathEndpoint;
use super::scheduler::Candidate;
use super::sender::PathSender;
use super::setup::{client_ip, network_path};
use crate::Role;
use crate::time::QuinnInstant;

/// A path of noq.
#[derive(Debug)]
pub(super) struct LivePath {
    pub(super) id: PathId,
    /// Its place among the paths of the configuration.
    pub(super) place: usize,
    pub(super) sender: PathSender,
    /// The peer has answered on it.
    pub(super) established: bool,
    /// One end has given it up.
    pub(super) abandoned: bool,
    /// It sends data only if no other path can.
    pub(super) backup: bool,
    /// A probe timeout has expired since its last acknowledgment.
    pub(super) failed: bool,
    /// When a datagram was sent on it last, and the last one that was the probe of a timeout.
    pub(super) sent_at: Instant,
    pub(super) probed_at: Option<Instant>,
    pub(super) lost_packets: u64,
}

impl MultipathEndpoint {
    fn path_mut(&mut self, id: PathId) -> Option<&mut LivePath> {
        self.live.iter_mut().find(|path| path.id == id)
    }

    /// Finds the paths that noq has made since the last call, after a call about the path at this place.
    pub(super) fn discover(&mut self, now: Instant, place: usize) {
        let is_known = self.live.iter().any(|path| path.place == place && !path.abandoned);
        let Some((_, connection)) = self.connection.as_ref().filter(|_| !is_known) else { return };
        for id in connection.paths() {
            let (Some(controller), Ok(network)) =
                (connection.congestion_state(id), connection.network_path(id))
            else {
                continue;
            };
            if self.live.iter().any(|path| path.id == id) {
                continue;
            }
            let places = 0..self.config.paths.len();
            let place = match self.role {
                Role::Client => {
                    network.local_ip().and_then(|ip| places.clone().find(|i| client_ip(*i) == ip))
                }
                Role::Server => {
                    places.clone().find(|i| network_path(Role::Server, *i).remote() == network.remote())
                }
            };
            self.live.push(LivePath {
                id,
                place: place.unwrap_or(0),
                sender: PathSender::of(controller),
                established: false,
                abandoned: false,
                backup: false,
                failed: false,
                sent_at: now,
                probed_at: None,
                lost_packets: 0,
            });
        }
        self.follow_statuses();
    }

    /// The path of a datagram. The client's first has no address before the server's first datagram.
    pub(super) fn place_of(&self, transmit: &Transmit) -> usize {
        let mut places = 0..self.config.paths.len();
        let found = match self.role {
            Role::Client => transmit.src_ip.and_then(|ip| places.find(|i| client_ip(*i) == ip)),
            Role::Server => places.find(|i| network_path(Role::Server, *i).remote() == transmit.destination),
        };
        found.unwrap_or(0)
    }

    /// The client opens a path over each access that is there and has none, and gives up those whose access has ended.
    pub(super) fn open_paths(&mut self, now: Instant, at: QuinnInstant) {
        if self.role == Role::Server || !self.confirmed || !core::mem::take(&mut self.may_open) {
            return;
        }
        for place in 0..self.config.paths.len() {
            let has_one = self.live.iter().any(|path| path.place == place && !path.abandoned);
            if has_one && !self.present[place] && self.has_other(place) {
                self.give_up(place, at);
            }
            let Some((_, connection)) = self.connection.as_mut().filter(|(_, one)| !one.is_closed()) else {
                return;
            };
            if has_one || !self.present[place] {
                continue;
            }
            // Fails while the server has not announced connection ids for another path: the next datagram may.
            let network = network_path(Role::Client, place);
            if let Ok(id) = connection.open_path(network, PathStatus::Available, at) {
                self.discover(now, place);
                if self.config.paths[place].backup {
                    self.set_status(id, PathStatus::Backup); // with the path itself, noq does not announce it
                }
            }
        }
    }

    /// The connection exists on its first path.
    pub(super) fn on_connected(&mut self, cx: &mut Cx<'_>) {
        if self.role == Role::Server {
            self.confirmed = true;
        }
        self.on_established(cx, PathId::ZERO);
        if self.role == Role::Client && self.config.paths[0].backup {
            self.set_status(PathId::ZERO, PathStatus::Backup);
        }
    }

    /// The peer has answered on a path.
    pub(super) fn on_established(&mut self, cx: &mut Cx<'_>, id: PathId) {
        let Some(path) = self.path_mut(id) else { return };
        path.established = true;
        let place = path.place;
        self.report(cx, place, SubflowStep::Established, Role::Client);
    }

    /// One end has given a path up: what it has not delivered is sent on others when noq forgets it.
    pub(super) fn on_abandoned(&mut self, cx: &mut Cx<'_>, id: PathId) {
        self.may_open = true;
        let Some(path) = self.path_mut(id) else { return };
        path.abandoned = true;
        if path.established && !core::mem::replace(&mut path.failed, true) {
            let place = path.place;
            self.report_sender(cx, place, SubflowStep::Failed);
        }
    }

    /// The peer has set the status of a path; noq leaves it to the application to follow.
    pub(super) fn on_remote_status(&mut self, id: PathId, status: PathStatus) {
        if self.role == Role::Server {
            self.statuses.retain(|(other, _)| *other != id);
            self.statuses.push((id, status));
            self.follow_statuses();
        }
    }

    /// Sets the statuses that the peer has asked for, of paths that exist already.
    fn follow_statuses(&mut self) {
        let Some((_, connection)) = self.connection.as_mut().filter(|_| !self.statuses.is_empty()) else {
            return;
        };
        let live = &mut self.live;
        self.statuses.retain(|(id, status)| {
            let Some(path) = live.iter_mut().find(|path| path.id == *id) else { return true };
            let is_set = connection.set_path_status(*id, *status).is_ok();
            if is_set {
                path.backup = *status == PathStatus::Backup;
            }
            !is_set
        });
    }

    fn set_status(&mut self, id: PathId, status: PathStatus) {
        let Some((_, connection)) = &mut self.connection else { return };
        // Fails only for a path that has ended, or if the peer has no multipath.
        if connection.set_path_status(id, status).is_ok()
            && let Some(path) = self.path_mut(id)
        {
            path.backup = status == PathStatus::Backup;
        }
    }

    /// When a path needs the next keep-alive: nothing was sent on it for a while. noq's own are for paths on which nothing
    /// arrives either, and it acknowledges on the first path what arrives on another.
    pub(super) fn next_keep_alive(&self) -> Instant {
        let Some(after) = self.config.keep_alive().filter(|_| self.confirmed) else {
            return Instant::FAR_FUTURE;
        };
        let open = self.live.iter().filter(|path| path.established && !path.abandoned);
        open.map(|path| path.sent_at + after).min().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Sends the keep-alives that are due.
    pub(super) fn keep_alive(&mut self, now: Instant) {
        if self.next_keep_alive() > now {
            return;
        }
        let Some(after) = self.config.keep_alive() else { return };
        let Some((_, connection)) = self.connection.as_mut() else { return };
        for path in self.live.iter_mut().filter(|path| path.sent_at + after <= now) {
            path.sent_at = now;
            // Fails only for a path that has ended.
            let _ = connection.ping_path(path.id);
        }
    }

    /// When the host gets the next notice of an access.
    pub(super) fn next_notice(&self) -> Instant {
        self.config.notices.get(self.noticed).map_or(Instant::FAR_FUTURE, |notice| notice.at)
    }

    /// Handles the notices that are due.
    pub(super) fn take_notices(&mut self, now: Instant, at: QuinnInstant) {
        while let Some(notice) = self.config.notices.get(self.noticed).filter(|notice| notice.at <= now) {
            let (place, news) = (notice.subflow, notice.news);
            self.noticed += 1;
            let id = self.live.iter().find(|path| path.place == place && !path.abandoned).map(|path| path.id);
            match news {
                PathNews::Ending => id.into_iter().for_each(|id| self.set_status(id, PathStatus::Backup)),
                PathNews::Ended => {
                    self.present[place] = false;
                    self.give_up(place, at);
                }
                PathNews::Began { .. } => {
                    (self.present[place], self.may_open) = (true, true);
                    id.into_iter().for_each(|id| {
                        let status = self.config.paths[place].status();
                        self.set_status(id, status);
                    });
                }
            }
        }
    }

    /// Whether the peer has answered on a path over another access that is there.
    fn has_other(&self, place: usize) -> bool {
        let serves = |path: &LivePath| path.established && !path.abandoned && self.present[path.place];
        self.live.iter().any(|path| path.place != place && serves(path))
    }

    /// Gives up the path over an access. The last path stays open (draft-ietf-quic-multipath-21 §3.4), until there is another.
    fn give_up(&mut self, place: usize, at: QuinnInstant) {
        let path = self.live.iter().find(|path| path.place == place && !path.abandoned);
        if let Some(((_, connection), id)) = self.connection.as_mut().zip(path.map(|path| path.id)) {
            let _ = connection.close_path(at, id, TransportErrorCode::PATH_UNSTABLE_OR_POOR.into());
        }
    }

    /// The paths among which the scheduler chooses.
    pub(super) fn find_candidates(&self, found: &mut Vec<Candidate>) {
        let usable = |path: &&LivePath| path.established && !path.abandoned && !path.failed;
        let has_active = self.live.iter().filter(usable).any(|path| !path.backup);
        let chosen = self.live.iter().filter(usable).filter(|path| path.backup != has_active);
        found.clear();
        found.extend(chosen.map(|path| Candidate { place: path.place, srtt: self.srtt(path.place) }));
    }

    /// Lets data leave on these paths only, each a bit. A path that is not validated has no data, and needs its window for the
    /// validation; nor has a backup next to another path, which needs it for keep-alives.
    pub(super) fn limit_to(&self, places: u64) {
        let has_active = self.live.iter().any(|path| !path.abandoned && !path.backup);
        for path in &self.live {
            let has_data = path.established && !(has_active && path.backup && !path.abandoned);
            path.sender.choose(!has_data || places >> path.place & 1 != 0);
        }
    }
}

impl super::PathSetup {
    const fn status(self) -> PathStatus {
        if self.backup { PathStatus::Backup } else { PathStatus::Available }
    }
}
