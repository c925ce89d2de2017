//! Constants of Linux on x86-64, by the names that scripts use.

use airlane_packetdrill::Value;

macro_rules! constants {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), libc::$name as i64)),*] };
}

/// Constants that the C library has.
const CONSTANTS: &[(&str, i64)] = constants![
    AF_INET,
    AF_UNSPEC,
    PF_INET,
    SOCK_STREAM,
    SOCK_NONBLOCK,
    SOCK_CLOEXEC,
    IPPROTO_TCP,
    IPPROTO_IP,
    SOL_SOCKET,
    SOL_TCP,
    SOL_IP,
    SO_REUSEADDR,
    SO_REUSEPORT,
    SO_PRIORITY,
    SO_MARK,
    SO_RCVBUF,
    SO_RCVBUFFORCE,
    SO_SNDBUF,
    SO_SNDBUFFORCE,
    SO_RCVLOWAT,
    SO_KEEPALIVE,
    SO_LINGER,
    SO_ERROR,
    SO_ZEROCOPY,
    SO_BUSY_POLL,
    SO_MAX_PACING_RATE,
    SO_INCOMING_CPU,
    SO_OOBINLINE,
    SO_TIMESTAMPING,
    TCP_NODELAY,
    TCP_MAXSEG,
    TCP_CORK,
    TCP_KEEPIDLE,
    TCP_KEEPINTVL,
    TCP_KEEPCNT,
    TCP_SYNCNT,
    TCP_LINGER2,
    TCP_DEFER_ACCEPT,
    TCP_WINDOW_CLAMP,
    TCP_INFO,
    TCP_QUICKACK,
    TCP_CONGESTION,
    TCP_THIN_LINEAR_TIMEOUTS,
    TCP_THIN_DUPACK,
    TCP_USER_TIMEOUT,
    TCP_FASTOPEN,
    TCP_TIMESTAMP,
    TCP_FASTOPEN_CONNECT,
    TCP_NOTSENT_LOWAT,
    TCP_SAVE_SYN,
    TCP_INQ,
    IP_TOS,
    IP_TTL,
    IP_MTU_DISCOVER,
    IP_BIND_ADDRESS_NO_PORT,
    IP_FREEBIND,
    IP_RECVERR,
    IP_PMTUDISC_DONT,
    IP_PMTUDISC_WANT,
    IP_PMTUDISC_DO,
    IP_PMTUDISC_PROBE,
    MSG_DONTWAIT,
    MSG_PEEK,
    MSG_OOB,
    MSG_MORE,
    MSG_EOR,
    MSG_WAITALL,
    MSG_TRUNC,
    MSG_CTRUNC,
    MSG_NOSIGNAL,
    MSG_ERRQUEUE,
    MSG_ZEROCOPY,
    SHUT_RD,
    SHUT_WR,
    SHUT_RDWR,
    F_GETFL,
    F_SETFL,
    F_GETFD,
    F_SETFD,
    O_RDWR,
    O_RDONLY,
    O_WRONLY,
    O_NONBLOCK,
    POLLIN,
    POLLOUT,
    POLLERR,
    POLLHUP,
    POLLNVAL,
    POLLPRI,
    POLLRDHUP,
    POLLRDNORM,
    POLLWRNORM,
    EPOLLIN,
    EPOLLOUT,
    EPOLLERR,
    EPOLLHUP,
    EPOLLRDHUP,
    EPOLLPRI,
    EPOLLET,
    EPOLLONESHOT,
    EPOLLEXCLUSIVE,
    EPOLL_CTL_ADD,
    EPOLL_CTL_MOD,
    EPOLL_CTL_DEL,
    FIONREAD,
    FIONBIO,
    TIOCOUTQ,
];

/// Others, from `linux/sockios.h`, `linux/tcp.h` and `linux/errqueue.h`, and packetdrill's own names.
const OTHERS: [(&str, i64); 11] = [
    ("NULL", 0),
    ("SIOCINQ", 0x541b),
    ("SIOCOUTQ", 0x5411),
    ("SIOCOUTQNSD", 0x894b),
    ("TCP_CM_INQ", 36),
    ("CMSG_LEVEL_IP", 0),
    ("CMSG_TYPE_RECVERR", 11),
    ("SO_EE_ORIGIN_ZEROCOPY", 5),
    ("SO_EE_CODE_ZEROCOPY_COPIED", 1),
    ("SO_EE_ORIGIN_NONE", 0),
    ("SO_EE_ORIGIN_LOCAL", 1),
];

macro_rules! errors {
    ($($name:ident),* $(,)?) => { &[$((libc::$name, stringify!($name))),*] };
}

const ERRORS: &[(i32, &str)] = errors![
    EPERM,
    ENOENT,
    EINTR,
    EIO,
    EBADF,
    EAGAIN,
    ENOMEM,
    EACCES,
    EFAULT,
    EBUSY,
    EEXIST,
    ENODEV,
    EINVAL,
    EMFILE,
    ENOSPC,
    EPIPE,
    EDOM,
    ERANGE,
    ENOSYS,
    ENOTSOCK,
    EDESTADDRREQ,
    EMSGSIZE,
    EPROTOTYPE,
    ENOPROTOOPT,
    EPROTONOSUPPORT,
    EOPNOTSUPP,
    EAFNOSUPPORT,
    EADDRINUSE,
    EADDRNOTAVAIL,
    ENETDOWN,
    ENETUNREACH,
    ECONNABORTED,
    ECONNRESET,
    ENOBUFS,
    EISCONN,
    ENOTCONN,
    ETIMEDOUT,
    ECONNREFUSED,
    EHOSTUNREACH,
    EALREADY,
    EINPROGRESS,
];

/// The number of a name or of names that are combined.
pub(super) fn number(value: &Value) -> Result<i64, String> {
    let constant = |name: &str| {
        let known = CONSTANTS.iter().chain(&OTHERS).find(|(known, _)| *known == name);
        let digits = || name.parse().ok();
        let error = || ERRORS.iter().find(|(_, known)| *known == name).map(|(number, _)| i64::from(*number));
        known
            .map(|(_, number)| *number)
            .or_else(error)
            .or_else(digits)
            .ok_or_else(|| format!("the name {name:?}"))
    };
    match value {
        Value::Number(number) => Ok(*number),
        Value::Name(names) => names.split('|').try_fold(0, |all, name| Ok(all | constant(name)?)),
        Value::List(list) if list.len() == 1 => number(&list[0]),
        Value::Any | Value::Text(_) | Value::List(_) | Value::Struct(_) => {
            Err("a call with another value than a number".to_owned())
        }
    }
}

/// The flags of a bit set, by their names; `prefix` begins them.
pub(super) fn flags(bits: i64, prefix: &str) -> String {
    let set = CONSTANTS.iter().filter(|(name, value)| name.starts_with(prefix) && bits & value != 0);
    let names: Vec<&str> = set.map(|(name, _)| *name).filter(|name| !name.starts_with("EPOLL_CTL")).collect();
    if names.is_empty() { bits.to_string() } else { names.join("|") }
}

/// The name of an error.
pub(super) fn error(number: i32) -> &'static str {
    ERRORS.iter().find(|(known, _)| *known == number).map_or("another error", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_combined() {
        let of = |text: &str| number(&Value::Name(text.to_owned()));
        assert_eq!(of("O_RDWR|O_NONBLOCK"), Ok(0o4002));
        assert_eq!(number(&Value::List(vec![Value::Number(7)])), Ok(7));
        assert_eq!(of("SO_UNHEARD_OF"), Err("the name \"SO_UNHEARD_OF\"".to_owned()));
        assert_eq!(flags(0x9, "POLL"), "POLLIN|POLLERR");
        assert_eq!(error(libc::EAGAIN), "EAGAIN");
    }
}
