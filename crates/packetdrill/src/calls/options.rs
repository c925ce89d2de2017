//! Options of sockets.

use crate::machine::Machine;
use crate::script::Value;
use crate::stack::Answer::{self, Differs, Fails, Foreign, Returns};

/// Options without an effect on what is modelled.
const WITHOUT_EFFECT: [&str; 13] = [
    "SO_REUSEADDR",
    "SO_REUSEPORT",
    "SO_PRIORITY",
    "SO_MARK",
    "SO_BINDTODEVICE",
    "SO_RCVTIMEO",
    "IP_TOS",
    "IPV6_TCLASS",
    "IP_MTU_DISCOVER",
    "IPV6_MTU_DISCOVER",
    "IP_BIND_ADDRESS_NO_PORT",
    "IPV6_V6ONLY",
    "IP_FREEBIND",
];

impl Machine {
    pub(super) fn setsockopt(&mut self, fd: i64, arguments: &[Value]) -> Answer {
        let name = arguments.get(2).map_or("", Value::name).to_owned();
        let value = arguments.get(3).unwrap_or(&Value::Any);
        let number = value.inner_number().unwrap_or(0);
        let index = self.connection(fd);
        let Some(socket) = self.sockets.get_mut(&fd) else { return Fails("EBADF") };
        let options = &mut socket.options;
        match &*name {
            "TCP_NODELAY" | "TCP_CORK" => {
                if name == "TCP_CORK" {
                    options.cork = number != 0;
                } else {
                    options.nodelay = number != 0;
                }
                let (nodelay, cork) = (options.nodelay, options.cork);
                if let Some(index) = index {
                    // Linux: TCP_NODELAY sends what waits, also for a corked socket, once.
                    let frees = name == "TCP_NODELAY" && nodelay;
                    self.connections[index].endpoint.set_waiting(!nodelay, cork && !frees);
                    self.flush(index);
                    self.connections[index].endpoint.set_waiting(!nodelay, cork);
                }
            }
            "SO_SNDBUF" => options.send_buffer = u64::try_from(number).ok(),
            "SO_RCVBUF" if index.is_some() => {
                return Foreign("a change of the receive buffer of a connection".to_owned());
            }
            "SO_RCVBUF" => options.receive_buffer = u64::try_from(number).ok(),
            "TCP_MAXSEG" => match u16::try_from(number) {
                Ok(most) if (88..=32_767).contains(&most) => options.segment_max = Some(most),
                _ => return Fails("EINVAL"),
            },
            "TCP_SYNCNT" => options.syn_retries = u32::try_from(number).ok(),
            "SO_ZEROCOPY" => options.zero_copy = number != 0,
            "TCP_INQ" => options.reports_rest = number != 0,
            "TCP_CONGESTION" => match value {
                Value::Text(text) => options.congestion = Some(text.clone()),
                _ => return Foreign("TCP_CONGESTION without a name".to_owned()),
            },
            "SO_LINGER" => {
                let field = |name| value.field(name).and_then(Value::number);
                options.aborts = field("onoff") == Some(1) && field("linger") == Some(0);
            }
            "SO_KEEPALIVE" | "TCP_DEFER_ACCEPT" | "TCP_WINDOW_CLAMP" if number == 0 => {}
            _ if WITHOUT_EFFECT.contains(&&*name) => {}
            _ => return Foreign(format!("the socket option {name}")),
        }
        Returns(0)
    }

    pub(super) fn getsockopt(&mut self, fd: i64, arguments: &[Value]) -> Answer {
        let name = arguments.get(2).map_or("", Value::name).to_owned();
        let stated = arguments.get(3).unwrap_or(&Value::Any);
        let index = self.connection(fd);
        let now = self.now;
        let Some(socket) = self.sockets.get(&fd) else { return Fails("EBADF") };
        let options = &socket.options;
        let value = match &*name {
            "SO_ERROR" => {
                let error = index.and_then(|index| self.connections[index].error.take());
                return match (stated.inner_number(), error) {
                    (Some(0), None) => Returns(0),
                    (Some(_), Some("ECONNREFUSED")) => Returns(0),
                    (_, None) => Differs("[0]".to_owned()),
                    (_, Some(error)) => {
                        let number = match error {
                            "ECONNRESET" => 104,
                            _ => 110, // ETIMEDOUT
                        };
                        if stated.inner_number() == Some(number) {
                            Returns(0)
                        } else {
                            Differs(format!("[{number}] ({error})"))
                        }
                    }
                };
            }
            "TCP_NODELAY" => i64::from(options.nodelay),
            "TCP_CORK" => i64::from(options.cork),
            "SO_SNDBUF" if options.send_buffer.is_some() => 2 * options.send_buffer.unwrap_or(0) as i64,
            "SO_RCVBUF" if options.receive_buffer.is_some() => 2 * options.receive_buffer.unwrap_or(0) as i64,
            "TCP_MAXSEG" => match index {
                Some(index) => i64::from(self.connections[index].endpoint.info(now).snd_mss),
                None => i64::from(options.segment_max.unwrap_or(536)),
            },
            _ => return Foreign(format!("the socket option {name}")),
        };
        match stated.inner_number() {
            Some(stated) if stated != value => Differs(format!("[{value}]")),
            _ => Returns(0),
        }
    }
}
