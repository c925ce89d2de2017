//! A script as data.

use airlane_core::{Duration, Ecn};

use crate::multipath::Multipath;

/// A whole script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// `--name=value`, with the line.
    pub(crate) settings: Vec<(usize, String, String)>,
    pub(crate) events: Vec<Event>,
}

/// An event of the script.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) line: usize,
    pub(crate) time: When,
    /// Time at which a blocking call returns.
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
    /// An action that this program does not play, with the reason.
    Foreign(String),
}

/// A segment as the script writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The flags as letters, `.` for ACK.
    pub flags: String,
    /// The value of the three ECN flags as a number (the ACE field), if they are written so.
    pub ace: Option<u8>,
    /// First sequence number, of a SYN in full, otherwise relative to the SYN.
    pub start: u32,
    /// Bytes of payload.
    pub payload: u32,
    /// The acknowledgment number, relative to the SYN.
    pub ack: Option<u32>,
    /// The field of the window, without its scale.
    pub window: Option<u16>,
    /// The urgent pointer.
    pub urgent: Option<u16>,
    /// The ECN field of its packet.
    pub ecn: Option<EcnField>,
    /// `None` for `<...>`: any options.
    pub options: Option<Vec<SegmentOption>>,
}

impl Segment {
    /// Whether the segment has a signature (RFC 2385).
    #[must_use]
    pub fn is_signed(&self) -> bool {
        self.options.iter().flatten().any(|option| *option == SegmentOption::Md5)
    }
}

/// The ECN field of the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnField {
    /// Not ECN-capable.
    NotCapable,
    /// ECT(0).
    Capable0,
    /// ECT(1).
    Capable1,
    /// ECT(0) or ECT(1).
    Capable,
    /// CE.
    Marked,
}

impl EcnField {
    /// The field of a packet that a script sends so.
    #[must_use]
    pub const fn sent(self) -> Ecn {
        match self {
            Self::NotCapable => Ecn::NotCapable,
            Self::Capable0 | Self::Capable => Ecn::Capable0,
            Self::Capable1 => Ecn::Capable1,
            Self::Marked => Ecn::CongestionExperienced,
        }
    }
}

/// An option of a segment, without padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SegmentOption {
    /// The maximum segment size in bytes.
    Mss(u16),
    /// The shift of the window.
    WindowScale(u8),
    /// SACK is permitted.
    SackPermitted,
    /// Blocks, from the first number to the one behind the last.
    Sack(Vec<(u32, u32)>),
    /// TSval and TSecr.
    Timestamps(u32, u32),
    /// A signature.
    Md5,
    /// A Fast Open cookie.
    FastOpen(String),
    /// Accurate ECN: the names of the counters and their values, in order.
    AccurateEcn(Vec<(String, u32)>),
    /// An option of Multipath TCP.
    Multipath(Multipath),
    /// Any other option.
    Other(String),
}

/// A system call and its result.
#[derive(Clone, Debug)]
pub struct Call {
    /// Name of the call.
    pub name: String,
    /// Arguments of the call.
    pub arguments: Vec<Value>,
    /// The result that the script states.
    pub result: Value,
    /// The error that the script states, such as `EAGAIN`.
    pub error: Option<String>,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `...`
    Any,
    /// A number.
    Number(i64),
    /// A name, or several that are combined by `|`.
    Name(String),
    /// A string.
    Text(String),
    /// Values in brackets.
    List(Vec<Value>),
    /// Fields in braces; a field without a name has an empty one.
    Struct(Vec<(String, Value)>),
}

impl Value {
    /// The number, if it is one.
    #[must_use]
    pub const fn number(&self) -> Option<i64> {
        match self {
            Self::Number(n) => Some(*n),
            _ => None,
        }
    }

    /// True if the name is, or contains, this flag.
    #[must_use]
    pub fn names(&self, flag: &str) -> bool {
        matches!(self, Self::Name(name) if name.split('|').any(|part| part == flag))
    }

    /// The name, or flags, as they are written; empty for everything else.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Name(name) => name,
            _ => "",
        }
    }

    /// The field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Struct(fields) => fields.iter().find(|(n, _)| n == name).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The first number in it: of `[1]`, `1` or `[{..., 1}]`.
    #[must_use]
    pub fn inner_number(&self) -> Option<i64> {
        match self {
            Self::Number(n) => Some(*n),
            Self::List(list) => list.iter().find_map(Self::inner_number),
            _ => None,
        }
    }
}
