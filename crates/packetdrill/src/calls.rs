//! The system calls of a script.

mod epoll;
mod multipath;
mod options;

use airlane_transport::{ConnectionState, info::state};

use crate::host::SocketOptions;
use crate::machine::{Machine, Socket};
use crate::names;
use crate::script::{Call, Value};
use crate::stack::Answer;
use crate::zero_copy::PAGES_MAX;

pub(crate) use epoll::Interest;

use Answer::{Blocks, Differs, Fails, Foreign, Returns};

/// Flags of `fcntl` (`asm-generic/fcntl.h`).
const O_RDWR: i64 = 2;
const O_NONBLOCK: i64 = 0o4000;

/// Flags of a read or write that are not modelled, where they are not named by themselves.
const FOREIGN_FLAGS: [(&str, &str); 3] =
    [("MSG_FASTOPEN", "Fast Open"), ("MSG_OOB", "urgent data"), ("MSG_EOR", "ends of records (MSG_EOR)")];
/// The flags that are modelled. A signal is never sent, and bytes have no content that `MSG_TRUNC` could discard.
const READ_FLAGS: [&str; 5] = ["MSG_PEEK", "MSG_ERRQUEUE", "MSG_DONTWAIT", "MSG_TRUNC", "MSG_NOSIGNAL"];
const WRITE_FLAGS: [&str; 4] = ["MSG_MORE", "MSG_ZEROCOPY", "MSG_DONTWAIT", "MSG_NOSIGNAL"];

const SOCKET_FLAGS: [&str; 3] = ["SOCK_STREAM", "SOCK_NONBLOCK", "SOCK_CLOEXEC"];
/// The events of `poll` that are modelled; urgent data, which is not, has POLLPRI.
const POLL_EVENTS: [&str; 7] =
    ["POLLIN", "POLLOUT", "POLLERR", "POLLHUP", "POLLNVAL", "POLLRDHUP", "POLLPRI"];

fn argument(call: &Call, index: usize) -> &Value {
    call.arguments.get(index).unwrap_or(&Value::Any)
}

fn number(call: &Call, index: usize) -> i64 {
    argument(call, index).inner_number().unwrap_or(-1)
}

impl Machine {
    /// Makes a call.
    pub(crate) fn execute(&mut self, call: &Call) -> Answer {
        if let Some(error) = call.error.as_deref().filter(|error| names::error(error).is_none()) {
            return Foreign(format!("the error {error:?}"));
        }
        let fd = number(call, 0);
        match &*call.name {
            "socket" => return self.socket(call),
            "poll" => return self.poll(call),
            "epoll_create" | "epoll_create1" | "epoll_ctl" | "epoll_wait" => return self.epoll(call),
            "close" if self.interests.remove(&fd).is_some() => return Returns(0),
            "close" => return if self.close(fd) { Returns(0) } else { Fails("EBADF") },
            "bind" | "listen" | "accept" | "accept4" | "connect" | "read" | "recv" | "recvfrom"
            | "recvmsg" | "readv" | "write" | "send" | "sendto" | "sendmsg" | "writev" | "shutdown"
            | "setsockopt" | "getsockopt" | "fcntl" | "ioctl" => {}
            name => return Foreign(format!("the call {name}()")),
        }
        if argument(call, 0).number().is_none() {
            return Foreign(format!("the descriptor {:?}", argument(call, 0).name()));
        }
        if !self.sockets.contains_key(&fd) {
            return Fails("EBADF");
        }
        if self.is_multipath(fd)
            && let Some(answer) = self.execute_multipath(fd, call)
        {
            return answer;
        }
        if matches!(&*call.name, "read" | "recv" | "recvfrom" | "write" | "send" | "sendto")
            && argument(call, 1).names("NULL")
            && number(call, 2) > 0
        {
            return Fails("EFAULT");
        }
        match &*call.name {
            "bind" => Returns(0),
            "listen" => {
                self.listen(fd);
                Returns(0)
            }
            "accept" | "accept4" => self.accept(fd, call),
            "connect" => self.connect_call(fd),
            "shutdown" => self.shutdown(fd, argument(call, 1)),
            "setsockopt" => self.setsockopt(fd, &call.arguments),
            "getsockopt" => self.getsockopt(fd, &call.arguments),
            "fcntl" => self.fcntl(fd, call),
            "ioctl" => self.ioctl(fd, call),
            "write" | "send" | "sendto" | "sendmsg" | "writev" => self.write(fd, call),
            _ => self.read(fd, call),
        }
    }

    fn socket(&mut self, call: &Call) -> Answer {
        let (kind, protocol) = (argument(call, 1), argument(call, 2));
        let multipath = protocol.names("IPPROTO_MPTCP");
        let is_tcp = multipath || protocol.names("IPPROTO_TCP") || protocol.number() == Some(0);
        if !kind.names("SOCK_STREAM") || !is_tcp {
            return Foreign(format!("sockets of the kind {} {}", kind.name(), protocol.name()));
        }
        if let Err(reason) = names::only(kind, &SOCKET_FLAGS) {
            return Foreign(reason);
        }
        let fd = self.descriptor_for(call);
        let options = SocketOptions { multipath, ..SocketOptions::default() };
        let nonblocking = kind.names("SOCK_NONBLOCK");
        self.sockets.insert(fd, Socket { options, nonblocking, ..Socket::default() });
        Returns(fd)
    }

    /// The descriptor that the script states. As in packetdrill, it may use a number again.
    fn descriptor_for(&self, call: &Call) -> i64 {
        call.result.number().filter(|n| *n > 2).unwrap_or_else(|| self.new_descriptor())
    }

    fn blocks(&self, fd: i64) -> Answer {
        if self.sockets.get(&fd).is_some_and(|s| s.nonblocking) { Fails("EAGAIN") } else { Blocks }
    }

    fn accept(&mut self, fd: i64, call: &Call) -> Answer {
        let Some(socket) = self.sockets.get_mut(&fd) else { return Fails("EBADF") };
        if !socket.listening {
            return Fails("EINVAL");
        }
        let flags = call.arguments.get(3).unwrap_or(&Value::Number(0));
        if let Err(reason) = names::only(flags, &SOCKET_FLAGS[1..]) {
            return Foreign(reason);
        }
        let Some(connection) = socket.backlog.pop_front() else { return self.blocks(fd) };
        let options = socket.options.clone();
        let new = self.descriptor_for(call);
        let nonblocking = flags.names("SOCK_NONBLOCK");
        let connection = Some(connection);
        self.sockets.insert(new, Socket { options, connection, nonblocking, ..Socket::default() });
        Returns(new)
    }

    fn connect_call(&mut self, fd: i64) -> Answer {
        let Some(socket) = self.sockets.get(&fd) else { return Fails("EBADF") };
        let Some(index) = socket.connection else {
            return match self.connect(fd) {
                Err(reason) => Foreign(reason),
                Ok(()) if self.sockets[&fd].nonblocking => Fails("EINPROGRESS"),
                Ok(()) => Blocks,
            };
        };
        if let Some(error) = self.connections[index].error.take() {
            return Fails(error);
        }
        match self.connections[index].endpoint.state() {
            ConnectionState::SynSent if socket.nonblocking => Fails("EALREADY"),
            ConnectionState::SynSent => Blocks,
            _ => Fails("EISCONN"),
        }
    }

    /// The answer of a `connect` that has waited.
    pub(crate) fn connected(&mut self, fd: i64) -> Answer {
        let Some(index) = self.connection(fd) else { return Fails("EBADF") };
        if let Some(error) = self.connections[index].error.take() {
            return Fails(error);
        }
        if self.is_multipath(fd) {
            return if self.is_established(index) { Returns(0) } else { Blocks };
        }
        match self.connections[index].endpoint.state() {
            ConnectionState::SynSent => Blocks,
            _ => Returns(0),
        }
    }

    fn shutdown(&mut self, fd: i64, how: &Value) -> Answer {
        let (read, write) = match (how.name(), how.number()) {
            ("SHUT_RD", _) | (_, Some(0)) => (true, false),
            ("SHUT_WR", _) | (_, Some(1)) => (false, true),
            ("SHUT_RDWR", _) | (_, Some(2)) => (true, true),
            (name, _) => return Foreign(format!("shutdown {name:?}")),
        };
        let Some(index) = self.connection(fd) else { return Fails("ENOTCONN") };
        if self.connections[index].gone {
            return Fails("ENOTCONN");
        }
        if let Some(socket) = self.sockets.get_mut(&fd) {
            socket.shut_read |= read;
        }
        if write {
            self.connections[index].endpoint.shutdown();
            self.flush(index);
        }
        Returns(0)
    }

    /// The bytes that a read or write is for: its length, or the sum of the lengths of a vector.
    fn length(call: &Call) -> Option<i64> {
        let sum = |list: &Value| match list {
            Value::List(parts) => parts
                .iter()
                .map(|part| match part {
                    Value::Struct(fields) => fields.iter().find_map(|(_, v)| v.number()),
                    _ => None,
                })
                .sum::<Option<i64>>(),
            _ => None,
        };
        match &*call.name {
            "sendmsg" | "recvmsg" => sum(argument(call, 1).field("msg_iov")?),
            "writev" | "readv" => sum(argument(call, 1)),
            _ => argument(call, 2).number(),
        }
    }

    /// The flags of a read or write, of which `known` are modelled.
    fn message_flags(call: &Call, known: &[&str]) -> Result<Vec<&'static str>, String> {
        let flags = match &*call.name {
            "read" | "readv" | "write" | "writev" => return Ok(Vec::new()),
            "sendmsg" | "recvmsg" => argument(call, 2),
            _ => argument(call, 3),
        };
        let flags = names::message_flags(flags)?;
        match flags.iter().find(|flag| !known.contains(flag)) {
            None => Ok(flags),
            Some(flag) => {
                let what = FOREIGN_FLAGS.iter().find(|(name, _)| name == flag);
                Err(what.map_or_else(|| format!("the flag {flag}"), |(_, what)| (*what).to_owned()))
            }
        }
    }

    /// The answer of a call that cannot continue.
    fn waits(&self, fd: i64, flags: &[&str]) -> Answer {
        if flags.contains(&"MSG_DONTWAIT") { Fails("EAGAIN") } else { self.blocks(fd) }
    }

    fn write(&mut self, fd: i64, call: &Call) -> Answer {
        let flags = match Self::message_flags(call, &WRITE_FLAGS) {
            Ok(flags) => flags,
            Err(reason) => return Foreign(reason),
        };
        let Some(index) = self.connection(fd) else { return Fails("EPIPE") };
        if let Some(error) = self.connections[index].error.take() {
            return Fails(error);
        }
        let now = self.now;
        let connection = &mut self.connections[index];
        if connection.gone || connection.endpoint.is_closing() {
            return Fails("EPIPE");
        }
        if connection.endpoint.info(now).state == state::SYN_SENT {
            return self.waits(fd, &flags);
        }
        let Some(bytes) = Self::length(call).and_then(|n| u64::try_from(n).ok()) else {
            return Foreign("a write of an unknown length".to_owned());
        };
        if self.lacks_room(fd, index) {
            return self.waits(fd, &flags);
        }
        let zero_copy = flags.contains(&"MSG_ZEROCOPY") && self.sockets[&fd].options.zero_copy;
        let parts = argument(call, 1).field("msg_iov");
        if zero_copy && parts.is_some_and(|v| matches!(v, Value::List(parts) if parts.len() > PAGES_MAX)) {
            return Foreign("a zero-copy send of more pages than fit into a segment".to_owned());
        }
        let connection = &mut self.connections[index];
        connection.written += bytes;
        if zero_copy && bytes > 0 {
            connection.zero_copy.send(connection.written);
        }
        if flags.contains(&"MSG_MORE") {
            connection.endpoint.supply_more(bytes);
        } else {
            connection.endpoint.supply(bytes);
        }
        self.flush(index);
        Returns(i64::try_from(bytes).unwrap_or(i64::MAX))
    }

    /// True if the send buffer, if it was set, is full of payload (Linux counts its memory).
    fn lacks_room(&self, fd: i64, index: usize) -> bool {
        let Some(buffer) = self.sockets.get(&fd).and_then(|s| s.options.send_buffer) else { return false };
        let info = self.connections[index].endpoint.info(self.now);
        info.notsent_bytes + u64::from(info.unacked) * u64::from(info.snd_mss) >= 2 * buffer
    }

    fn read(&mut self, fd: i64, call: &Call) -> Answer {
        let flags = match Self::message_flags(call, &READ_FLAGS) {
            Ok(flags) => flags,
            Err(reason) => return Foreign(reason),
        };
        if flags.contains(&"MSG_ERRQUEUE") {
            return self.read_notice(fd, call);
        }
        let Some(index) = self.connection(fd) else { return Fails("ENOTCONN") };
        let Some(limit) = Self::length(call).and_then(|n| u64::try_from(n).ok()) else {
            return Foreign("a read of an unknown length".to_owned());
        };
        let now = self.now;
        let shut = self.sockets[&fd].shut_read;
        let connection = &mut self.connections[index];
        let available = connection.endpoint.readable();
        if available == 0 {
            // The end of the peer's data comes before an error that followed it (Linux `tcp_recvmsg`, SOCK_DONE).
            let ended = connection.error == Some("EPIPE");
            if let Some(error) = connection.error.take_if(|_| !ended) {
                return Fails(error);
            }
            let at_end = connection.gone || shut || connection.endpoint.at_end();
            if connection.endpoint.info(now).state == state::SYN_SENT || !at_end {
                return self.waits(fd, &flags);
            }
            return self.rest(fd, index, call).unwrap_or(Returns(0));
        }
        let read = if flags.contains(&"MSG_PEEK") {
            available.min(limit)
        } else {
            connection.endpoint.read(now, limit)
        };
        self.flush(index);
        let returned = Returns(i64::try_from(read).unwrap_or(i64::MAX));
        self.rest(fd, index, call).unwrap_or(returned)
    }

    /// Reads the error queue, which has the notifications of zero-copy sends.
    fn read_notice(&mut self, fd: i64, call: &Call) -> Answer {
        let stated = argument(call, 1).field("msg_control").cloned();
        let notice =
            self.connection(fd).and_then(|index| self.connections[index].zero_copy.read(stated.as_ref()));
        match notice {
            None => Fails("EAGAIN"),
            Some(Ok(())) => Returns(0),
            Some(Err(content)) => Differs(content),
        }
    }

    /// Checks the control messages of `recvmsg`: how much is left (TCP_INQ), one "byte" for the end.
    fn rest(&self, fd: i64, index: usize, call: &Call) -> Option<Answer> {
        let Value::List(messages) = call.arguments.get(1)?.field("msg_control")? else { return None };
        let endpoint = &self.connections[index].endpoint;
        let left = match endpoint.readable() {
            0 => i64::from(endpoint.at_end()),
            n => i64::try_from(n).unwrap_or(i64::MAX),
        };
        for message in messages {
            if !message.field("cmsg_type").is_some_and(|kind| kind.names("TCP_CM_INQ")) {
                return Some(Foreign("control messages other than TCP_CM_INQ".to_owned()));
            }
            if !self.sockets.get(&fd).is_some_and(|s| s.options.reports_rest) {
                return Some(Differs("no control message: TCP_INQ is not set".to_owned()));
            }
            let stated = message.field("cmsg_data").and_then(Value::number);
            if stated != Some(left) {
                return Some(Differs(format!("cmsg_data={left}")));
            }
        }
        None
    }

    fn fcntl(&mut self, fd: i64, call: &Call) -> Answer {
        let Some(socket) = self.sockets.get_mut(&fd) else { return Fails("EBADF") };
        let command = argument(call, 1);
        if command.names("F_GETFL") {
            return Returns(O_RDWR | if socket.nonblocking { O_NONBLOCK } else { 0 });
        }
        if command.names("F_SETFL") {
            return match names::number(argument(call, 2)) {
                Ok(Some(flags)) if flags & !(O_RDWR | O_NONBLOCK) == 0 => {
                    socket.nonblocking = flags & O_NONBLOCK != 0;
                    Returns(0)
                }
                Ok(_) => Foreign("fcntl F_SETFL with other flags than O_RDWR and O_NONBLOCK".to_owned()),
                Err(reason) => Foreign(reason),
            };
        }
        Foreign(format!("fcntl {}", command.name()))
    }

    fn ioctl(&self, fd: i64, call: &Call) -> Answer {
        let Some(index) = self.connection(fd) else { return Fails("EINVAL") };
        let request = argument(call, 1);
        let endpoint = &self.connections[index].endpoint;
        let info = endpoint.info(self.now);
        let value = match request.name() {
            "SIOCINQ" | "FIONREAD" => endpoint.readable(),
            "SIOCOUTQ" | "TIOCOUTQ" => endpoint.unacknowledged(),
            "SIOCOUTQNSD" => info.notsent_bytes,
            name => return Foreign(format!("ioctl {name}")),
        };
        match argument(call, 2).inner_number() {
            Some(stated) if u64::try_from(stated) != Ok(value) => Differs(format!("[{value}]")),
            _ => Returns(0),
        }
    }

    fn poll(&self, call: &Call) -> Answer {
        let Value::List(files) = argument(call, 0) else { return Foreign("poll without a list".to_owned()) };
        let (mut ready, mut differs) = (0, None);
        for file in files {
            let fd = file.field("fd").and_then(Value::number).unwrap_or(-1);
            if self.is_multipath(fd) {
                return Foreign("poll() of a socket of Multipath TCP".to_owned());
            }
            let wanted = file.field("events").cloned().unwrap_or(Value::Any);
            for events in [Some(&wanted), file.field("revents")].into_iter().flatten() {
                if let Err(reason) = names::only(events, &POLL_EVENTS) {
                    return Foreign(reason);
                }
            }
            let found: Vec<&str> = self
                .readiness(fd)
                .into_iter()
                .filter(|event| matches!(*event, "POLLERR" | "POLLHUP" | "POLLNVAL") || wanted.names(event))
                .collect();
            ready += i64::from(!found.is_empty());
            if let Some(stated) = file.field("revents") {
                let same = stated.name().split('|').filter(|n| !n.is_empty()).all(|n| found.contains(&n))
                    && found.iter().all(|n| stated.names(n));
                if !same {
                    differs = Some(format!("revents={}", found.join("|")));
                }
            }
        }
        let waits = number(call, 2) != 0;
        match differs {
            _ if ready == 0 && waits && call.result.number() != Some(0) => Blocks,
            Some(text) => Differs(text),
            None => Returns(ready),
        }
    }

    /// The events that `poll` reports of a socket.
    fn readiness(&self, fd: i64) -> Vec<&'static str> {
        let Some(socket) = self.sockets.get(&fd) else { return vec!["POLLNVAL"] };
        let mut found = Vec::new();
        let Some(index) = socket.connection else {
            if socket.listening {
                return if socket.backlog.is_empty() { found } else { vec!["POLLIN"] };
            }
            return vec!["POLLOUT", "POLLHUP"];
        };
        let connection = &self.connections[index];
        let state = connection.endpoint.info(self.now).state;
        let ended = connection.gone
            || socket.shut_read
            || matches!(state, state::CLOSE_WAIT | state::LAST_ACK | state::CLOSING | state::TIME_WAIT);
        if connection.endpoint.readable() > 0 || ended {
            found.push("POLLIN");
        }
        if ended {
            found.push("POLLRDHUP");
        }
        if !matches!(state, state::SYN_SENT | state::SYN_RECV) && !self.lacks_room(fd, index) {
            found.push("POLLOUT");
        }
        if connection.error.is_some() || connection.zero_copy.has_notice() {
            found.push("POLLERR");
        }
        if connection.gone || (ended && connection.endpoint.is_closing()) {
            found.push("POLLHUP");
        }
        found
    }
}
