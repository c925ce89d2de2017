//! The system calls of scripts, as calls of the agent.

use airlane_packetdrill::{Call, Value};

use super::names;
use super::packets::{LOCAL, PORT, REMOTE};
use crate::protocol::call::{AREA, DATA_MAX, Request};

/// Offset of the contents of reads and writes, behind the request itself.
const CONTENT: usize = 4096;
/// Bytes of control messages that are received.
pub(super) const CONTROL_MAX: usize = 256;

/// A call that can be made.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub(super) request: Request,
    pub(super) then: Then,
}

/// The meaning of its result.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Then {
    /// The result is the answer.
    Answer,
    /// The result is a descriptor, to which the script gives this number.
    Opens(i64),
    /// A descriptor was closed.
    Closes(i64),
    /// The call listens on, or connects, the descriptor.
    Listens(i64),
    Connects(i64),
    /// A number in the area must be this one.
    Number(usize, i64),
    /// A text in the area must be this one.
    Text(String),
    /// Events of descriptors (`struct pollfd`) must be these.
    Polled(Vec<Option<i64>>),
    /// The event (`struct epoll_event`) must be this one.
    Event(Value),
    /// Control messages must be these: the offset of their memory.
    Messages(usize, Vec<Value>),
}

/// The first bytes of the area while a request is made.
struct Area {
    address: i64,
    data: Vec<u8>,
}

impl Area {
    /// Adds bytes; their address.
    fn add(&mut self, bytes: &[u8]) -> i64 {
        self.data.resize(self.data.len().next_multiple_of(8), 0);
        let at = self.data.len() as i64;
        self.data.extend_from_slice(bytes);
        self.address + at
    }

    /// The address of the content of a read or write.
    const fn content(&self) -> i64 {
        self.address + CONTENT as i64
    }

    fn offset(&self, address: i64) -> usize {
        (address - self.address) as usize
    }
}

fn argument(call: &Call, index: usize) -> &Value {
    call.arguments.get(index).unwrap_or(&Value::Any)
}

fn number(call: &Call, index: usize) -> Result<i64, String> {
    names::number(argument(call, index))
}

/// Prepares a call. `file` maps a descriptor of the script to one of the guest, and `address` is the address of the
/// area.
///
/// # Errors
/// If it needs something that is not supported, which the error names.
pub(super) fn prepare(call: &Call, address: u64, file: &dyn Fn(i64) -> i64) -> Result<Prepared, String> {
    let mut area = Area { address: address.cast_signed(), data: Vec::new() };
    let (number, arguments, then) = match &*call.name {
        "socket" => socket(call)?,
        "epoll_create" | "epoll_create1" => (libc::SYS_epoll_create1, vec![0], opens(call)),
        "accept" | "accept4" => {
            let flags = call.arguments.get(3).map_or(Ok(0), names::number)?;
            (libc::SYS_accept4, vec![file(number(call, 0)?), 0, 0, flags], opens(call))
        }
        "close" => {
            let fd = number(call, 0)?;
            (libc::SYS_close, vec![file(fd)], Then::Closes(fd))
        }
        "listen" => {
            let fd = number(call, 0)?;
            (libc::SYS_listen, vec![file(fd), number(call, 1)?], Then::Listens(fd))
        }
        "bind" | "connect" => named(call, &mut area, file)?,
        "shutdown" => (libc::SYS_shutdown, vec![file(number(call, 0)?), number(call, 1)?], Then::Answer),
        "fcntl" => {
            let value = call.arguments.get(2).map_or(Ok(0), names::number)?;
            (libc::SYS_fcntl, vec![file(number(call, 0)?), number(call, 1)?, value], Then::Answer)
        }
        "ioctl" => ioctl(call, &mut area, file)?,
        "setsockopt" => setsockopt(call, &mut area, file)?,
        "getsockopt" => getsockopt(call, &mut area, file)?,
        "read" | "recv" | "recvfrom" | "write" | "send" | "sendto" => transfer(call, &area, file)?,
        "readv" | "writev" => vector(call, &mut area, file)?,
        "recvmsg" | "sendmsg" => message(call, &mut area, file)?,
        "poll" => poll(call, &mut area, file)?,
        "epoll_ctl" => epoll_ctl(call, &mut area, file)?,
        "epoll_wait" => epoll_wait(call, &mut area, file)?,
        name => return Err(format!("the call {name}()")),
    };
    if area.data.len() > DATA_MAX {
        return Err(format!("{}() with so many parts", call.name));
    }
    let mut six = [0; 6];
    six[..arguments.len()].copy_from_slice(&arguments);
    Ok(Prepared { request: Request { number, arguments: six, data: area.data }, then })
}

type Parts = (i64, Vec<i64>, Then);

/// The descriptor that the script states for a new one. As in packetdrill, it may use a number again.
fn opens(call: &Call) -> Then {
    Then::Opens(call.result.number().unwrap_or(-1))
}

fn socket(call: &Call) -> Result<Parts, String> {
    let domain = match argument(call, 0) {
        Value::Any => i64::from(libc::AF_INET),
        value if value.names("AF_INET6") => return Err("a socket of IPv6".to_owned()),
        value => names::number(value)?,
    };
    Ok((libc::SYS_socket, vec![domain, number(call, 1)?, number(call, 2)?], opens(call)))
}

/// `bind` and `connect`, with the address that packetdrill uses for `...`.
fn named(call: &Call, area: &mut Area, file: &dyn Fn(i64) -> i64) -> Result<Parts, String> {
    let fd = number(call, 0)?;
    if *argument(call, 1) != Value::Any {
        return Err(format!("an address in {}()", call.name));
    }
    let binds = call.name == "bind";
    let mut name = (libc::AF_INET as u16).to_ne_bytes().to_vec();
    name.extend_from_slice(&PORT.to_be_bytes());
    name.extend_from_slice(&if binds { LOCAL } else { REMOTE }.octets());
    name.resize(16, 0);
    let arguments = vec![file(fd), area.add(&name), 16];
    Ok(if binds {
        (libc::SYS_bind, arguments, Then::Answer)
    } else {
        (libc::SYS_connect, arguments, Then::Connects(fd))
    })
}

fn ioctl(call: &Call, area: &mut Area, file: &dyn Fn(i64) -> i64) -> Result<Parts, String> {
    let address = area.add(&[0; 8]);
    let then = match argument(call, 2).inner_number() {
        Some(stated) => Then::Number(0, stated),
        None => Then::Answer,
    };
    Ok((libc::SYS_ioctl, vec![file(number(call, 0)?), number(call, 1)?, address], then))
}

fn setsockopt(call: &Call, area: &mut Area, file: &dyn Fn(i64) -> i64) -> Result<Parts, String> {
    let value = argument(call, 3);
    let word = |n: i64| (n as i32).to_ne_bytes();
    let bytes = match value {
        Value::Text(text) => text.as_bytes().to_vec(),
        Value::Struct(_) if argument(call, 2).names("SO_LINGER") => {
            let field = |name| value.field(name).map_or(Ok(0), names::number);
            [word(field("onoff")?), word(field("linger")?)].concat()
        }
        value => word(
            names::number(value)
                .map_err(|_| format!("the value of the socket option {}", argument(call, 2).name()))?,
        )
        .to_vec(),
    };
    let length = argument(call, 4).number().unwrap_or(bytes.len() as i64);
    let address = area.add(&bytes);
    let arguments = vec![file(number(call, 0)?), number(call, 1)?, number(call, 2)?, address, length];
    Ok((libc::SYS_setsockopt, arguments, Then::Answer))
}

fn getsockopt(call: &Call, area: &mut Area, file: &dyn Fn(i64) -> i64) -> Result<Parts, String> {
    let stated = argument(call, 3);
    let (size, then) = match stated {
        Value::Any => (64, Then::Answer),
        Value::Text(text) => (64, Then::Text(text.clone())),
        stated => match names::number(stated) {
            Ok(stated) => (4, Then::Number(0, stated)),
            Err(_) => return Err(format!("the value of the socket option {}", argument(call, 2).name())),
        },
    };
    let value = area.add(&[0; 64]);
    let length = area.add(&i32::to_ne_bytes(size));
    let arguments = vec![file(number(call, 0)?), number(call, 1)?, number(call, 2)?, value, length];
    Ok((libc::SYS_getsockopt, arguments, then))
}

/// The address of a content of this length.
fn content(area: &Area, at: &Value, length: i64) -> Result<i64, String> {
    if usize::try_from(length).is_ok_and(|length| length > AREA - CONTENT) {
        return Err(format!("a call with {length} bytes"));
    }
    Ok(if at.names("NULL") { 0 } else { area.content() })
}

fn transfer(call: &Call, area: &Area, file: &dyn Fn(i64) -> i64) -> Result<Parts, String> {
    let length = number(call, 2)?;
    let address = content(area, argument(call, 1), length)?;
    if argument(call, 3).names("MSG_FASTOPEN") {
        return Err("Fast Open".to_owned());
    }
    let flags = call.arguments.get(3).map_or(Ok(0), names::number)?;
    let fd = file(number(call, 0)?);
    Ok(match &*call.name {
        "read" => (libc::SYS_read, vec![fd, address, length], Then::Answer),
        "write" => (libc::SYS_write, vec![fd, address, length], Then::Answer),
        "recv" | "recvfrom" => (libc::SYS_recvfrom, vec![fd, address, length, flags, 0, 0], Then::Answer),
        _ => (libc::SYS_sendto, vec![fd, address, length, flags, 0, 0], Then::Answer),
    })
}

/// The parts of a vector: `[{..., 1000}, ...]`. Their content is the same memory. Returns address and count.
fn parts(vector: &Value, area: &mut Area) -> Result<(i64, i64), String> {
    let Value::List(list) = vector else { return Err("a vector of another form".to_owned()) };
    let mut bytes = Vec::new();
    for part in list {
        let length = match part {
            Value::Struct(fields) => fields.iter().find_map(|(_, value)| value.number()),
            _ => None,
        };
        let length = length.ok_or("a part of a vector without a length")?;
        bytes.extend_from_slice(&content(area, &Value::Any, length)?.to_ne_bytes());
        bytes.extend_from_slice(&length.to_ne_bytes());
    }
    Ok((area.add(&bytes), list.len() as i64))
}

fn vector(call: &Call, area: &mut Area, file: &dyn Fn(i64) -> i64) -> Result<Parts, String> {
    let (address, count) = parts(argument(call, 1), area)?;
    let kind = if call.name == "readv" { libc::SYS_readv } else { libc::SYS_writev };
    Ok((kind, vec![file(number(call, 0)?), address, count], Then::Answer))
}

/// `recvmsg` and `sendmsg`, with `struct msghdr`.
fn message(call: &Call, area: &mut Area, file: &dyn Fn(i64) -> i64) -> Result<Parts, String> {
    let stated = argument(call, 1);
    if argument(call, 2).names("MSG_FASTOPEN") {
        return Err("Fast Open".to_owned());
    }
    let flags = number(call, 2)?;
    let receives = call.name == "recvmsg";
    let control = match stated.field("msg_control") {
        None | Some(Value::Any) => Vec::new(),
        Some(Value::List(messages)) => messages.clone(),
        Some(_) => return Err("control messages of another form".to_owned()),
    };
    if !receives && !control.is_empty() {
        return Err("control messages of sendmsg()".to_owned());
    }
    let (vector, count) = match stated.field("msg_iov") {
        Some(vector) => parts(vector, area)?,
        None => (0, 0),
    };
    let (memory, room) = if receives { (area.add(&[0; CONTROL_MAX]), CONTROL_MAX as i64) } else { (0, 0) };
    let header = area.add(&[0, 0, vector, count, memory, room, 0].map(i64::to_ne_bytes).concat());
    let then = match control.as_slice() {
        [] => Then::Answer,
        _ => Then::Messages(area.offset(header), control),
    };
    let kind = if receives { libc::SYS_recvmsg } else { libc::SYS_sendmsg };
    Ok((kind, vec![file(number(call, 0)?), header, flags], then))
}

fn poll(call: &Call, area: &mut Area, file: &dyn Fn(i64) -> i64) -> Result<Parts, String> {
    let Value::List(list) = argument(call, 0) else { return Err("poll without a list".to_owned()) };
    let (mut bytes, mut stated) = (Vec::new(), Vec::new());
    for one in list {
        let field = |name| one.field(name).map(names::number).transpose();
        let fd = field("fd")?.ok_or("poll without a descriptor")?;
        bytes.extend_from_slice(&(file(fd) as i32).to_ne_bytes());
        bytes.extend_from_slice(&(field("events")?.unwrap_or(0) as i16).to_ne_bytes());
        bytes.extend_from_slice(&[0; 2]);
        stated.push(field("revents")?);
    }
    let address = area.add(&bytes);
    Ok((libc::SYS_poll, vec![address, list.len() as i64, number(call, 2)?], Then::Polled(stated)))
}

fn epoll_ctl(call: &Call, area: &mut Area, file: &dyn Fn(i64) -> i64) -> Result<Parts, String> {
    let fd = number(call, 2)?;
    let events = argument(call, 3).field("events").map_or(Ok(0), names::number)?;
    let mut event = (events as u32).to_ne_bytes().to_vec();
    event.extend_from_slice(&fd.to_ne_bytes());
    let address = area.add(&event);
    Ok((libc::SYS_epoll_ctl, vec![file(number(call, 0)?), number(call, 1)?, file(fd), address], Then::Answer))
}

fn epoll_wait(call: &Call, area: &mut Area, file: &dyn Fn(i64) -> i64) -> Result<Parts, String> {
    let address = area.add(&[0; 12 * 8]);
    let stated = match argument(call, 1) {
        Value::List(list) => list.first().cloned().unwrap_or(Value::Any),
        one => one.clone(),
    };
    let count = number(call, 2)?.clamp(0, 8);
    let arguments = vec![file(number(call, 0)?), address, count, number(call, 3)?];
    Ok((libc::SYS_epoll_wait, arguments, Then::Event(stated)))
}
