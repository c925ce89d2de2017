//! `epoll`: level- and edge-triggered events of sockets.

use super::{argument, number};
use crate::machine::Machine;
use crate::names;
use crate::script::{Call, Value};
use crate::stack::Answer::{self, Blocks, Differs, Fails, Foreign, Returns};

/// The events that are modelled.
const EVENTS: [&str; 9] = [
    "EPOLLIN",
    "EPOLLOUT",
    "EPOLLERR",
    "EPOLLHUP",
    "EPOLLRDHUP",
    "EPOLLPRI",
    "EPOLLET",
    "EPOLLONESHOT",
    "EPOLLEXCLUSIVE",
];

/// A socket in an interest list.
#[derive(Debug)]
pub(crate) struct Interest {
    fd: i64,
    events: Value,
    /// An event has happened since the last report.
    woken: bool,
    /// EPOLLONESHOT: it was reported.
    done: bool,
}

impl Machine {
    pub(super) fn epoll(&mut self, call: &Call) -> Answer {
        match &*call.name {
            "epoll_create" | "epoll_create1" => {
                let fd = self.descriptor_for(call);
                self.interests.insert(fd, Vec::new());
                Returns(fd)
            }
            "epoll_ctl" => self.epoll_ctl(call),
            _ => self.epoll_wait(call),
        }
    }

    fn epoll_ctl(&mut self, call: &Call) -> Answer {
        let (operation, fd) = (argument(call, 1), number(call, 2));
        let events = argument(call, 3).field("events").cloned().unwrap_or(Value::Any);
        if let Err(reason) = names::only(&events, &EVENTS) {
            return Foreign(reason);
        }
        let known = self.sockets.contains_key(&fd);
        let Some(list) = self.interests.get_mut(&number(call, 0)) else { return Fails("EBADF") };
        let place = list.iter().position(|interest| interest.fd == fd);
        let new = Interest { fd, events, woken: true, done: false };
        match (operation.name(), place) {
            _ if !known => return Fails("EBADF"),
            ("EPOLL_CTL_ADD", None) => list.push(new),
            ("EPOLL_CTL_ADD", Some(_)) => return Fails("EEXIST"),
            ("EPOLL_CTL_MOD", Some(place)) => list[place] = new,
            ("EPOLL_CTL_DEL", Some(place)) => {
                list.remove(place);
            }
            ("EPOLL_CTL_MOD" | "EPOLL_CTL_DEL", None) => return Fails("ENOENT"),
            (name, _) => return Foreign(format!("epoll_ctl {name}")),
        }
        Returns(0)
    }

    fn epoll_wait(&mut self, call: &Call) -> Answer {
        let epoll = number(call, 0);
        let Some(mut list) = self.interests.remove(&epoll) else { return Fails("EBADF") };
        let mut found = None;
        for interest in &mut list {
            let edge = interest.events.names("EPOLLET");
            if interest.done || (edge && !interest.woken) {
                continue;
            }
            let ready: Vec<String> = self
                .readiness(interest.fd)
                .into_iter()
                .map(|event| format!("E{event}"))
                .filter(|event| matches!(&**event, "EPOLLERR" | "EPOLLHUP") || interest.events.names(event))
                .collect();
            if !ready.is_empty() {
                interest.woken = false;
                interest.done = interest.events.names("EPOLLONESHOT");
                found = Some((interest.fd, ready));
                break; // scripts ask for one event
            }
        }
        self.interests.insert(epoll, list);
        let stated = match argument(call, 1) {
            Value::List(list) => list.first().unwrap_or(&Value::Any),
            one => one,
        };
        if let Some(Err(reason)) = stated.field("events").map(|events| names::only(events, &EVENTS)) {
            return Foreign(reason);
        }
        let Some((fd, ready)) = found else {
            let waits = number(call, 3) != 0 && call.result.number() != Some(0);
            return if waits { Blocks } else { Returns(0) };
        };
        let same_fd = stated.field("fd").and_then(Value::number).is_none_or(|n| n == fd);
        let same = stated.field("events").is_some_and(|events| {
            ready.iter().all(|event| events.names(event))
                && events.name().split('|').all(|name| ready.iter().any(|event| event == name))
        });
        if same && same_fd { Returns(1) } else { Differs(format!("events={}, fd={fd}", ready.join("|"))) }
    }

    /// An event of a connection happened.
    pub(crate) fn wake(&mut self, connection: usize, event: &str) {
        let sockets = &self.sockets;
        for interest in self.interests.values_mut().flatten() {
            let its_own = sockets.get(&interest.fd).is_some_and(|s| s.connection == Some(connection));
            if its_own && (interest.events.names(event) || matches!(event, "EPOLLERR" | "EPOLLHUP")) {
                interest.woken = true;
            }
        }
    }
}
