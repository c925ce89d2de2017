//! The answers of calls: what the agent reports, compared with what the script states.

use airlane_packetdrill::{Answer, Value};

use super::calls::{CONTROL_MAX, Then};
use super::names;
use crate::protocol::call::Outcome;

/// The answer of a call that has returned, apart from its effect on descriptors.
pub(super) fn answer(then: &Then, outcome: &Outcome) -> Answer {
    if outcome.result < 0 {
        return Answer::Fails(names::error(outcome.error));
    }
    let returns = Answer::Returns(outcome.result);
    match then {
        Then::Answer | Then::Closes(_) | Then::Listens(_) | Then::Connects(_) => returns,
        Then::Opens(fd) => Answer::Returns(*fd),
        Then::Number(at, stated) => match word(&outcome.data, *at) {
            found if found == *stated => returns,
            found => Answer::Differs(format!("[{found}]")),
        },
        Then::Text(stated) => {
            let end = outcome.data.iter().position(|&byte| byte == 0).unwrap_or(outcome.data.len());
            let found = String::from_utf8_lossy(&outcome.data[..end]);
            if found == *stated { returns } else { Answer::Differs(format!("{found:?}")) }
        }
        Then::Polled(stated) => polled(stated, outcome),
        Then::Event(stated) => event(stated, outcome),
        Then::Messages(at, stated) => match messages(stated, &outcome.data, *at) {
            Ok(None) => returns,
            Ok(Some(content)) => Answer::Differs(content),
            Err(reason) => Answer::Foreign(reason),
        },
    }
}

/// A number of 32 bits in the area.
fn word(data: &[u8], at: usize) -> i64 {
    let bytes = data.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, |bytes| i64::from(i32::from_ne_bytes(bytes)))
}

fn polled(stated: &[Option<i64>], outcome: &Outcome) -> Answer {
    let found = outcome.data.chunks_exact(8).map(|one| i64::from(u16::from_ne_bytes([one[6], one[7]])));
    let differs = |(stated, found): (&Option<i64>, i64)| stated.is_some_and(|n| n != found).then_some(found);
    match stated.iter().zip(found).find_map(differs) {
        Some(found) => Answer::Differs(format!("revents={}", names::flags(found, "POLL"))),
        None => Answer::Returns(outcome.result),
    }
}

fn event(stated: &Value, outcome: &Outcome) -> Answer {
    let returns = Answer::Returns(outcome.result);
    if outcome.result == 0 {
        return returns;
    }
    let (events, fd) = (word(&outcome.data, 0), word(&outcome.data, 4));
    let field = |name| stated.field(name).map(names::number).transpose();
    match (field("events"), field("fd")) {
        (Err(reason), _) | (_, Err(reason)) => Answer::Foreign(reason),
        (Ok(wanted), Ok(of)) if wanted.is_none_or(|n| n == events) && of.is_none_or(|n| n == fd) => returns,
        _ => Answer::Differs(format!("events={}, fd={fd}", names::flags(events, "EPOLL"))),
    }
}

/// Compares control messages (`struct cmsghdr`) with the stated ones. `at` is the offset of the `struct msghdr`, whose
/// sixth word is their length. Returns the content instead, if it differs.
fn messages(stated: &[Value], data: &[u8], at: usize) -> Result<Option<String>, String> {
    let length = word(data, at + 40) as usize;
    let begin = at - CONTROL_MAX;
    let mut rest = data.get(begin..begin + length.min(CONTROL_MAX)).unwrap_or_default();
    for message in stated {
        let field = |name| message.field(name).map(names::number).transpose();
        if rest.len() < 16 {
            return Ok(Some("no control message".to_owned()));
        }
        let (size, level, kind) = (word(rest, 0) as usize, word(rest, 8), word(rest, 12));
        let content = rest.get(16..size).unwrap_or_default();
        if field("cmsg_level")?.is_some_and(|n| n != level) || field("cmsg_type")?.is_some_and(|n| n != kind)
        {
            return Ok(Some(format!("a control message of the level {level} and the type {kind}")));
        }
        let found = match message.field("cmsg_data") {
            None | Some(Value::Any) => None,
            Some(error @ Value::Struct(_)) => extended_error(error, content)?,
            Some(stated) => {
                let (stated, found) = (names::number(stated)?, word(content, 0));
                (stated != found).then(|| format!("cmsg_data={found}"))
            }
        };
        if found.is_some() {
            return Ok(found);
        }
        rest = rest.get(size.next_multiple_of(8)..).unwrap_or_default();
    }
    Ok(None)
}

/// Compares a `struct sock_extended_err`.
fn extended_error(stated: &Value, content: &[u8]) -> Result<Option<String>, String> {
    let byte = |at: usize| i64::from(content.get(at).copied().unwrap_or(0));
    let found = [
        ("ee_errno", word(content, 0)),
        ("ee_origin", byte(4)),
        ("ee_type", byte(5)),
        ("ee_code", byte(6)),
        ("ee_info", word(content, 8)),
        ("ee_data", word(content, 12)),
    ];
    for (name, value) in found {
        if stated.field(name).map(names::number).transpose()?.is_some_and(|stated| stated != value) {
            return Ok(Some(found.map(|(name, value)| format!("{name}={value}")).join(",")));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(result: i64, data: &[u8]) -> Outcome {
        Outcome { result, error: if result < 0 { libc::EAGAIN } else { 0 }, data: data.to_vec() }
    }

    #[test]
    fn contents_are_compared() {
        let number = Then::Number(0, 7);
        assert_eq!(answer(&number, &outcome(0, &[7, 0, 0, 0])), Answer::Returns(0));
        assert_eq!(answer(&number, &outcome(0, &[8, 0, 0, 0])), Answer::Differs("[8]".to_owned()));
        assert_eq!(answer(&number, &outcome(-1, &[7, 0, 0, 0])), Answer::Fails("EAGAIN"));
        let text = Then::Text("reno".to_owned());
        assert_eq!(answer(&text, &outcome(0, b"reno\0\0")), Answer::Returns(0));
        assert_eq!(answer(&text, &outcome(0, b"cubic\0")), Answer::Differs("\"cubic\"".to_owned()));
        let polled = Then::Polled(vec![Some(4)]);
        assert_eq!(answer(&polled, &outcome(1, &[3, 0, 0, 0, 5, 0, 4, 0])), Answer::Returns(1));
        let differs = Answer::Differs("revents=POLLIN|POLLRDNORM".to_owned());
        assert_eq!(answer(&polled, &outcome(1, &[3, 0, 0, 0, 5, 0, 0x41, 0])), differs);
        assert_eq!(answer(&Then::Opens(4), &outcome(9, &[])), Answer::Returns(4)); // as the script calls it
    }

    #[test]
    fn control_messages_are_compared() {
        let stated = |value: i64| {
            let name = |name: &str| Value::Name(name.to_owned());
            let field = |name: &str, value| (name.to_owned(), value);
            Value::Struct(vec![
                field("cmsg_level", name("SOL_TCP")),
                field("cmsg_type", name("TCP_CM_INQ")),
                field("cmsg_data", Value::Number(value)),
            ])
        };
        let mut data = vec![0; CONTROL_MAX + 56];
        data[0] = 20;
        data[8] = 6;
        data[12] = 36;
        data[16] = 9;
        let then = |value| Then::Messages(CONTROL_MAX, vec![stated(value)]);
        let none = Answer::Differs("no control message".to_owned());
        assert_eq!(answer(&then(9), &outcome(10, &data)), none);
        data[CONTROL_MAX + 40] = 24;
        assert_eq!(answer(&then(9), &outcome(10, &data)), Answer::Returns(10));
        assert_eq!(answer(&then(8), &outcome(10, &data)), Answer::Differs("cmsg_data=9".to_owned()));
    }
}
