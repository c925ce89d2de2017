//! A script as data.

use airlane_core::Duration;

/// A whole script.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    /// `--name=value`, with the line.
    pub(crate) settings: Vec<(usize, String, String)>,
    pub(crate) events: Vec<Event>,
}

/// What happens at a time.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) line: usize,
    pub(crate) time: When,
    /// When a blocking call returns, counted as its beginning.
    pub(crate) returns: Option<Duration>,
    pub(crate) action: Action,
}

/// The time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// As soon as possible: of commands without a time.
    Now,
    /// At any time.
    Any,
    /// Since the start of the script.
    At(Duration),
    /// Since the previous event.
    After(Duration),
    /// Between two times since the start of the script.
    Within(Duration, Duration),
    /// Between two times since the previous event.
    AfterWithin(Duration, Duration),
}

/// The kinds of events.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Receive(Segment),
    Expect(Segment),
    Call(Call),
    Command(String),
    Code(String),
    /// Something that this program does not play, with the reason.
    Foreign(String),
}

/// A segment as the script writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The flags as letters, `.` for ACK.
    pub(crate) flags: String,
    /// The value of the three ECN flags as a number (the ACE field), if they are written so.
    pub(crate) ace: Option<u8>,
    pub(crate) start: u32,
    pub(crate) payload: u32,
    pub(crate) ack: Option<u32>,
    pub(crate) window: Option<u16>,
    pub(crate) urgent: Option<u16>,
    pub(crate) ecn: Option<EcnField>,
    /// `None` for `<...>`: any options.
    pub(crate) options: Option<Vec<SegmentOption>>,
}

/// The ECN field of the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EcnField {
    NotCapable,
    Capable0,
    Capable1,
    /// ECT(0) or ECT(1).
    Capable,
    Marked,
}

/// An option of a segment, without padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SegmentOption {
    Mss(u16),
    WindowScale(u8),
    SackPermitted,
    Sack(Vec<(u32, u32)>),
    Timestamps(u32, u32),
    Md5,
    /// A Fast Open cookie.
    FastOpen(String),
    /// Accurate ECN: the names of the counters and their values, in order.
    AccurateEcn(Vec<(String, u32)>),
    Other(String),
}

/// A system call and its result.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) arguments: Vec<Value>,
    pub(crate) result: Value,
    pub(crate) error: Option<String>,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// `...`
    Any,
    Number(i64),
    /// A name, or several that are combined by `|`.
    Name(String),
    Text(String),
    List(Vec<Value>),
    /// Fields in braces; a field without a name has an empty one.
    Struct(Vec<(String, Value)>),
}

impl Value {
    pub(crate) const fn number(&self) -> Option<i64> {
        match self {
            Self::Number(n) => Some(*n),
            _ => None,
        }
    }

    /// True if the name is, or contains, this flag.
    pub(crate) fn names(&self, flag: &str) -> bool {
        matches!(self, Self::Name(name) if name.split('|').any(|part| part == flag))
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Name(name) => name,
            _ => "",
        }
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Struct(fields) => fields.iter().find(|(n, _)| n == name).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The first number in it: of `[1]`, `1` or `[{..., 1}]`.
    pub(crate) fn inner_number(&self) -> Option<i64> {
        match self {
            Self::Number(n) => Some(*n),
            Self::List(list) => list.iter().find_map(Self::inner_number),
            _ => None,
        }
    }
}
