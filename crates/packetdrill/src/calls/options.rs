//! Options of sockets.

use crate::machine::Machine;
use crate::names;
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

/// The levels of options that begin with a prefix, by their names and their number.
const LEVELS: [(&str, &[&str], i64); 4] = [
    ("SO_", &["SOL_SOCKET"], 1),
    ("TCP_", &["IPPROTO_TCP", "SOL_TCP"], 6),
    ("IPV6_", &["IPPROTO_IPV6", "SOL_IPV6"], 41),
    ("IP_", &["IPPROTO_IP", "SOL_IP"], 0),
];

/// Options that can be set, with an effect.
const SETTABLE: [&str; 13] = [
    "TCP_NODELAY",
    "TCP_CORK",
    "SO_SNDBUF",
    "SO_RCVBUF",
    "TCP_MAXSEG",
    "TCP_SYNCNT",
    "SO_ZEROCOPY",
    "TCP_INQ",
    "TCP_CONGESTION",
    "SO_LINGER",
    "SO_KEEPALIVE",
    "TCP_DEFER_ACCEPT",
    "TCP_WINDOW_CLAMP",
];

/// Options whose value is no number.
const WITHOUT_NUMBER: [&str; 4] = ["TCP_CONGESTION", "SO_LINGER", "SO_BINDTODEVICE", "SO_RCVTIMEO"];

/// The name of the option of a call.
///
/// # Errors
/// If it is not an option of the level that the call states.
fn option(arguments: &[Value]) -> Result<&str, String> {
    let level = arguments.get(1).unwrap_or(&Value::Any);
    let name = arguments.get(2).map_or("", Value::name);
    let known = LEVELS.iter().find(|(prefix, ..)| name.starts_with(prefix));
    match known {
        Some((_, names, number)) if names.contains(&level.name()) || level.number() == Some(*number) => {
            Ok(name)
        }
        Some(_) => Err(format!("the socket option {name} of the level {:?}", level.name())),
        None => Err(format!("the socket option {name:?}")),
    }
}

impl Machine {
    pub(super) fn setsockopt(&mut self, fd: i64, arguments: &[Value]) -> Answer {
        let name = match option(arguments) {
            Ok(name) => name.to_owned(),
            Err(reason) => return Foreign(reason),
        };
        if !SETTABLE.contains(&&*name) && !WITHOUT_EFFECT.contains(&&*name) {
            return Foreign(format!("the socket option {name}"));
        }
        let value = arguments.get(3).unwrap_or(&Value::Any);
        let number = match names::number(value) {
            _ if WITHOUT_NUMBER.contains(&&*name) => 0,
            Ok(Some(number)) => number,
            Ok(None) if WITHOUT_EFFECT.contains(&&*name) => 0,
            Ok(None) => return Foreign(format!("the socket option {name} without a value")),
            Err(reason) => return Foreign(reason),
        };
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
                let (Some(on), Some(linger)) = (field("onoff"), field("linger")) else {
                    return Foreign("SO_LINGER without onoff and linger".to_owned());
                };
                options.aborts = on != 0 && linger == 0;
            }
            "SO_KEEPALIVE" | "TCP_DEFER_ACCEPT" | "TCP_WINDOW_CLAMP" if number == 0 => {}
            _ if WITHOUT_EFFECT.contains(&&*name) => {}
            _ => return Foreign(format!("the socket option {name}")),
        }
        Returns(0)
    }

    pub(super) fn getsockopt(&mut self, fd: i64, arguments: &[Value]) -> Answer {
        let name = match option(arguments) {
            Ok(name) => name,
            Err(reason) => return Foreign(reason),
        };
        let stated = match names::number(arguments.get(3).unwrap_or(&Value::Any)) {
            Ok(stated) => stated,
            Err(reason) => return Foreign(reason),
        };
        let index = self.connection(fd);
        let now = self.now;
        let Some(socket) = self.sockets.get(&fd) else { return Fails("EBADF") };
        let options = &socket.options;
        let value = match name {
            "SO_ERROR" => {
                let error = index.and_then(|index| self.connections[index].error.take());
                let value =
                    error.map_or(Some(0), names::error).expect("an error of a connection has a number");
                return match (stated, error) {
                    (Some(stated), Some(error)) if stated != value => Differs(format!("[{value}] ({error})")),
                    (Some(stated), None) if stated != 0 => Differs("[0]".to_owned()),
                    _ => Returns(0),
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
        match stated {
            Some(stated) if stated != value => Differs(format!("[{value}]")),
            _ => Returns(0),
        }
    }
}
