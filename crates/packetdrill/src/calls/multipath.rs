//! The system calls on sockets of Multipath TCP.

use super::{argument, number};
use crate::machine::Machine;
use crate::script::{Call, Value};
use crate::stack::Answer::{self, Fails, Foreign, Returns};

impl Machine {
    /// Whether a descriptor is a socket of Multipath TCP.
    pub(super) fn is_multipath(&self, fd: i64) -> bool {
        self.sockets.get(&fd).is_some_and(|socket| socket.options.multipath)
    }

    /// The answer of a call on such a socket; none of a call that does not depend on its protocol.
    pub(super) fn execute_multipath(&mut self, fd: i64, call: &Call) -> Option<Answer> {
        let established = self.connection(fd).filter(|index| self.is_established(*index));
        Some(match &*call.name {
            "bind" | "listen" | "accept" | "accept4" | "setsockopt" | "getsockopt" | "fcntl" => return None,
            "connect" if self.connection(fd).is_none() => return None,
            "connect" => Fails("EISCONN"),
            "write" | "send" => {
                let Some(index) = established else { return Some(self.blocks(fd)) };
                let Some(bytes) = Self::length(call).and_then(|n| u64::try_from(n).ok()) else {
                    return Some(Foreign("a write of an unknown length".to_owned()));
                };
                self.on_multipath(index, |connection, _| connection.supply(bytes));
                self.flush(index);
                Returns(i64::try_from(bytes).unwrap_or(i64::MAX))
            }
            "read" | "recv" => {
                let Some(index) = self.connection(fd) else { return Some(Fails("ENOTCONN")) };
                let limit = number(call, 2).try_into().unwrap_or(0);
                let (read, at_end) = self.on_multipath(index, |connection, cx| {
                    (connection.read(cx.now, limit), connection.at_end())
                });
                self.flush(index);
                if read == 0 && !at_end { self.blocks(fd) } else { Returns(read as i64) }
            }
            "shutdown" if matches!(argument(call, 1), Value::Name(how) if how == "SHUT_WR") => {
                let Some(index) = established else { return Some(Fails("ENOTCONN")) };
                self.on_multipath(index, |connection, _| connection.close());
                self.flush(index);
                Returns(0)
            }
            name => Foreign(format!("the call {name}() on a socket of Multipath TCP")),
        })
    }
}
