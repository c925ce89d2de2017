//! The names that scripts use: fields of `tcp_info`, constants of Linux, flags and errors. A name that is not known is
//! never interpreted as a value: the script is then not applicable.

use crate::script::Value;

const CONSTANTS: [(&str, i64); 24] = [
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_ECN_SEEN", 16),
    ("TCPI_OPT_SYN_DATA", 32),
    ("TCPI_OPT_USEC_TS", 64),
    ("TCPI_OPT_TFO_CHILD", 128),
];

/// The value of a name: a constant, or one of these fields.
pub(crate) fn value(name: &str, fields: &[(&'static str, i64)]) -> Option<i64> {
    let found = CONSTANTS.iter().chain(fields).find(|(known, _)| *known == name);
    found.map(|(_, value)| *value)
}

/// Errors of calls (Linux, `asm-generic/errno-base.h` and `errno.h`).
const ERRORS: [(&str, i64); 52] = [
    ("EPERM", 1),
    ("ENOENT", 2),
    ("EINTR", 4),
    ("EIO", 5),
    ("ENXIO", 6),
    ("EBADF", 9),
    ("EAGAIN", 11),
    ("EWOULDBLOCK", 11),
    ("ENOMEM", 12),
    ("EACCES", 13),
    ("EFAULT", 14),
    ("EBUSY", 16),
    ("EEXIST", 17),
    ("ENODEV", 19),
    ("ENOTDIR", 20),
    ("EINVAL", 22),
    ("ENFILE", 23),
    ("EMFILE", 24),
    ("ENOSPC", 28),
    ("ESPIPE", 29),
    ("EPIPE", 32),
    ("EDOM", 33),
    ("ERANGE", 34),
    ("ENOSYS", 38),
    ("EPROTO", 71),
    ("EOVERFLOW", 75),
    ("ENOTSOCK", 88),
    ("EDESTADDRREQ", 89),
    ("EMSGSIZE", 90),
    ("EPROTOTYPE", 91),
    ("ENOPROTOOPT", 92),
    ("EPROTONOSUPPORT", 93),
    ("ESOCKTNOSUPPORT", 94),
    ("EOPNOTSUPP", 95),
    ("ENOTSUP", 95),
    ("EPFNOSUPPORT", 96),
    ("EAFNOSUPPORT", 97),
    ("EADDRINUSE", 98),
    ("EADDRNOTAVAIL", 99),
    ("ENETDOWN", 100),
    ("ENETUNREACH", 101),
    ("ENETRESET", 102),
    ("ECONNABORTED", 103),
    ("ECONNRESET", 104),
    ("ENOBUFS", 105),
    ("EISCONN", 106),
    ("ENOTCONN", 107),
    ("ETIMEDOUT", 110),
    ("ECONNREFUSED", 111),
    ("EHOSTUNREACH", 113),
    ("EALREADY", 114),
    ("EINPROGRESS", 115),
];

/// The number of an error.
pub(crate) fn error(name: &str) -> Option<i64> {
    let found = ERRORS.iter().find(|(known, _)| *known == name);
    found.map(|(_, number)| *number)
}

/// Flags of messages (`linux/socket.h`).
const MESSAGE_FLAGS: [(&str, i64); 13] = [
    ("MSG_OOB", 1),
    ("MSG_PEEK", 2),
    ("MSG_DONTROUTE", 4),
    ("MSG_CTRUNC", 8),
    ("MSG_TRUNC", 0x20),
    ("MSG_DONTWAIT", 0x40),
    ("MSG_EOR", 0x80),
    ("MSG_WAITALL", 0x100),
    ("MSG_ERRQUEUE", 0x2000),
    ("MSG_NOSIGNAL", 0x4000),
    ("MSG_MORE", 0x8000),
    ("MSG_ZEROCOPY", 0x0400_0000),
    ("MSG_FASTOPEN", 0x2000_0000),
];

/// Values of socket options (`linux/in.h`, `linux/in6.h`).
const OPTION_VALUES: [(&str, i64); 8] = [
    ("IP_PMTUDISC_DONT", 0),
    ("IP_PMTUDISC_WANT", 1),
    ("IP_PMTUDISC_DO", 2),
    ("IP_PMTUDISC_PROBE", 3),
    ("IPV6_PMTUDISC_DONT", 0),
    ("IPV6_PMTUDISC_WANT", 1),
    ("IPV6_PMTUDISC_DO", 2),
    ("IPV6_PMTUDISC_PROBE", 3),
];

/// Flags of files and sockets (`asm-generic/fcntl.h`; `SOCK_NONBLOCK` and `SOCK_CLOEXEC` are those of a file).
const FILE_FLAGS: [(&str, i64); 6] = [
    ("O_RDONLY", 0),
    ("O_WRONLY", 1),
    ("O_RDWR", 2),
    ("O_NONBLOCK", 0o4000),
    ("SOCK_NONBLOCK", 0o4000),
    ("SOCK_CLOEXEC", 0o2_000_000),
];

fn digits(text: &str) -> Option<i64> {
    text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| i64::from_str_radix(hex, 16).ok())
}

/// The number of a value: itself, of a name or names that are combined, or of the only one in a list. `None` for `...`.
///
/// # Errors
/// The name that is not known, or that it is no number.
pub(crate) fn number(value: &Value) -> Result<Option<i64>, String> {
    let one = |name: &str| {
        let mut tables = CONSTANTS.iter().chain(&MESSAGE_FLAGS).chain(&FILE_FLAGS).chain(&OPTION_VALUES);
        let known = tables.find(|(known, _)| *known == name).map(|(_, number)| *number);
        known.or_else(|| error(name)).or_else(|| digits(name)).ok_or_else(|| format!("the name {name:?}"))
    };
    match value {
        Value::Any => Ok(None),
        Value::Number(number) => Ok(Some(*number)),
        Value::Name(names) if names == "NULL" => Ok(Some(0)),
        Value::Name(names) => names.split('|').try_fold(0, |all, name| Ok(all | one(name)?)).map(Some),
        Value::List(list) if list.len() == 1 => number(&list[0]),
        Value::Text(_) | Value::List(_) | Value::Struct(_) => Err("a value that is no number".to_owned()),
    }
}

/// The flags of a message, by name.
///
/// # Errors
/// The first value that is not known.
pub(crate) fn message_flags(value: &Value) -> Result<Vec<&'static str>, String> {
    let Some(mut bits) = number(value)? else { return Err("flags that the script does not give".to_owned()) };
    let mut found = Vec::new();
    for (name, bit) in MESSAGE_FLAGS {
        if bits & bit != 0 {
            found.push(name);
            bits &= !bit;
        }
    }
    if bits == 0 { Ok(found) } else { Err(format!("the flags {bits:#x} of a message")) }
}

/// Checks that a value combines only names of `known`.
///
/// # Errors
/// The first one that is not among them.
pub(crate) fn only(value: &Value, known: &[&str]) -> Result<(), String> {
    let parts = value.name().split('|').filter(|name| !name.is_empty() && digits(name).is_none());
    match parts.into_iter().find(|name| !known.contains(name)) {
        Some(name) => Err(format!("the name {name:?}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Value {
        Value::Name(text.to_owned())
    }

    #[test]
    fn names_are_numbers_and_others_are_no_values() {
        let list = |value| Value::List(vec![value]);
        assert_eq!(number(&list(name("ECONNRESET"))), Ok(Some(104)));
        assert_eq!(number(&name("O_RDWR|O_NONBLOCK")), Ok(Some(0o4002)));
        assert_eq!(number(&name("O_RDWR|0x800")), Ok(Some(0o4002)));
        assert_eq!(number(&list(name("ECONRESET"))), Err("the name \"ECONRESET\"".to_owned()));
        assert_eq!(number(&Value::Any), Ok(None));
        assert!(number(&Value::Text("1".to_owned())).is_err());
    }

    #[test]
    fn flags_are_the_same_as_names_and_as_numbers() {
        for value in [name("MSG_PEEK|MSG_DONTWAIT"), Value::Number(0x42)] {
            assert_eq!(message_flags(&value), Ok(vec!["MSG_PEEK", "MSG_DONTWAIT"]));
        }
        assert_eq!(message_flags(&Value::Number(0)), Ok(vec![]));
        assert_eq!(message_flags(&name("MSG_DONTWAITT")), Err("the name \"MSG_DONTWAITT\"".to_owned()));
        assert_eq!(message_flags(&Value::Number(0x10)), Err("the flags 0x10 of a message".to_owned()));
    }
}
