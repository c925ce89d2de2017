//! Comparison of a sent segment with the segment that the script states.

use airlane_core::{Ecn, TcpFlags, TcpHeader};

use crate::numbering::{Numbering, flags};
use crate::script::{EcnField, Segment, SegmentOption};
use crate::stack::Sent;

/// The segments that were sent, as one: several of one size are one segment that a network card divided.
pub(crate) fn joined(parts: &[Sent]) -> Sent {
    let (mut whole, last) = (parts[0].clone(), &parts[parts.len() - 1]);
    whole.payload = parts.iter().map(|part| part.payload).sum();
    whole.header.flags = TcpFlags(whole.header.flags.0 | last.header.flags.0);
    whole
}

/// A segment in the notation of scripts.
pub(crate) fn show(sent: &Sent, numbers: &Numbering) -> String {
    let h = &sent.header;
    let mut text = letters(h.flags);
    let syn = h.flags.has(TcpFlags::SYN);
    let start = numbers.local_number(h.sequence, syn);
    text += &format!(" {start}:{}({})", start.wrapping_add(sent.payload), sent.payload);
    if h.flags.has(TcpFlags::ACK) {
        text += &format!(" ack {}", numbers.remote_number(h.acknowledgment, syn));
    }
    text += &format!(" win {}", h.window);
    let options = options_of(h, numbers);
    if !options.is_empty() {
        text += &format!(" <{}>", options.iter().map(show_option).collect::<Vec<_>>().join(","));
    }
    text
}

fn letters(flags: TcpFlags) -> String {
    let all = [
        (TcpFlags::SYN, 'S'),
        (TcpFlags::FIN, 'F'),
        (TcpFlags::RST, 'R'),
        (TcpFlags::PSH, 'P'),
        (TcpFlags::ECE, 'E'),
        (TcpFlags::CWR, 'W'),
        (TcpFlags::AE, 'A'),
        (TcpFlags::ACK, '.'),
    ];
    let text: String = all.iter().filter(|(bit, _)| flags.has(*bit)).map(|(_, letter)| *letter).collect();
    if text.is_empty() { "-".to_owned() } else { text }
}

/// The segment of the script in its notation.
pub(crate) fn show_stated(segment: &Segment) -> String {
    let letters = if segment.flags.is_empty() { "-" } else { &segment.flags };
    let ace = segment.ace.map_or_else(String::new, |ace| ace.to_string());
    let end = segment.start.wrapping_add(segment.payload);
    let mut text = format!("{letters}{ace} {}:{end}({})", segment.start, segment.payload);
    if let Some(ack) = segment.ack {
        text += &format!(" ack {ack}");
    }
    if let Some(window) = segment.window {
        text += &format!(" win {window}");
    }
    match segment.options.as_deref() {
        None => text += " <...>",
        Some([]) => {}
        Some(options) => {
            text += &format!(" <{}>", options.iter().map(show_option).collect::<Vec<_>>().join(","));
        }
    }
    text
}

fn show_option(option: &SegmentOption) -> String {
    match option {
        SegmentOption::Mss(mss) => format!("mss {mss}"),
        SegmentOption::WindowScale(scale) => format!("wscale {scale}"),
        SegmentOption::SackPermitted => "sackOK".to_owned(),
        SegmentOption::Sack(blocks) => {
            blocks.iter().fold("sack".to_owned(), |text, (left, right)| format!("{text} {left}:{right}"))
        }
        SegmentOption::Timestamps(value, echo) => format!("TS val {value} ecr {echo}"),
        SegmentOption::Md5 => "md5".to_owned(),
        SegmentOption::FastOpen(cookie) => format!("FO {cookie}"),
        SegmentOption::AccurateEcn(counters) => {
            counters.iter().fold("ECN".to_owned(), |text, (name, n)| format!("{text} {name} {n}"))
        }
        SegmentOption::Multipath(option) => format!("{option:?}"),
        SegmentOption::Other(text) => text.clone(),
    }
}

/// The options of a segment, in the order of the kinds.
fn options_of(h: &TcpHeader, numbers: &Numbering) -> Vec<SegmentOption> {
    let mut options = Vec::new();
    if h.flags.has(TcpFlags::SYN) {
        options.extend(h.syn.mss.map(|mss| SegmentOption::Mss(mss.0)));
        options.extend(h.syn.window_scale.map(SegmentOption::WindowScale));
        options.extend(h.syn.sack_permitted.then_some(SegmentOption::SackPermitted));
    }
    if !h.sack.is_empty() {
        let blocks = h.sack.as_slice().iter();
        let number = |n| numbers.remote_number(n, false);
        options.push(SegmentOption::Sack(blocks.map(|b| (number(b.left), number(b.right))).collect()));
    }
    if let Some(option) = &h.accurate_ecn {
        let order = if option.order() == 0 {
            [("e0b", Ecn::Capable0), ("ceb", Ecn::CongestionExperienced), ("e1b", Ecn::Capable1)]
        } else {
            [("e1b", Ecn::Capable1), ("ceb", Ecn::CongestionExperienced), ("e0b", Ecn::Capable0)]
        };
        let counters =
            order.iter().filter_map(|(name, ecn)| Some(((*name).to_owned(), option.counter(*ecn)?)));
        options.push(SegmentOption::AccurateEcn(counters.collect()));
    }
    options.extend(h.timestamps.map(|t| SegmentOption::Timestamps(t.value, t.echo_reply)));
    options
}

const fn rank(option: &SegmentOption) -> u8 {
    match option {
        SegmentOption::Mss(_) => 2,
        SegmentOption::WindowScale(_) => 3,
        SegmentOption::SackPermitted => 4,
        SegmentOption::Sack(_) => 5,
        SegmentOption::Timestamps(..) => 8,
        SegmentOption::Md5 => 19,
        SegmentOption::FastOpen(_) => 34,
        SegmentOption::AccurateEcn(_) => 7, // in front of the timestamps, where the host writes it
        SegmentOption::Multipath(_) => 30,
        SegmentOption::Other(_) => 255,
    }
}

/// The comparison.
pub(crate) struct Comparison<'a> {
    pub(crate) stated: &'a Segment,
    pub(crate) sent: &'a Sent,
    /// Number of segments that were joined to the sent one.
    pub(crate) parts: usize,
    /// The payload of a full segment.
    pub(crate) full: u32,
    /// Ticks of the timestamp clock by which it may differ; `None` if timestamps are not compared.
    pub(crate) ticks: Option<u32>,
}

impl Comparison<'_> {
    /// The first difference.
    pub(crate) fn difference(&self, numbers: &mut Numbering) -> Result<Option<String>, String> {
        let (stated, h) = (self.stated, &self.sent.header);
        let wanted = flags(stated)?;
        if wanted.has(TcpFlags::SYN) && h.flags.has(TcpFlags::SYN) {
            numbers.learn_start(stated.start);
        }
        // Linux sets PSH on each segment that the card divides.
        // It also depends on how Linux divides its queue into such segments whether a full one has it.
        let full = self.sent.payload > 0 && self.sent.payload == self.full && wanted.has(TcpFlags::PSH);
        let ignored = if self.parts > 1 || full { TcpFlags::PSH } else { 0 };
        let syn = h.flags.has(TcpFlags::SYN);
        for (bit, name) in [
            (TcpFlags::SYN, "SYN"),
            (TcpFlags::FIN, "FIN"),
            (TcpFlags::RST, "RST"),
            (TcpFlags::ACK, "ACK"),
            (TcpFlags::PSH, "PSH"),
            (TcpFlags::ECE, "ECE"),
            (TcpFlags::CWR, "CWR"),
            (TcpFlags::AE, "AE"),
        ] {
            if (wanted.0 ^ h.flags.0) & bit & !ignored != 0 {
                let set = if wanted.has(bit) { "set" } else { "not set" };
                return Ok(Some(format!("the flag {name} must be {set}")));
            }
        }
        let wanted_numbers = [
            ("sequence number", Some(stated.start), numbers.local_number(h.sequence, syn)),
            ("payload", Some(stated.payload), self.sent.payload),
            (
                "acknowledgment number",
                stated.ack.filter(|_| wanted.has(TcpFlags::ACK)),
                numbers.remote_number(h.acknowledgment, syn),
            ),
            ("window", stated.window.map(u32::from), u32::from(h.window)),
        ];
        for (name, wanted, found) in wanted_numbers {
            if let Some(wanted) = wanted
                && wanted != found
            {
                return Ok(Some(format!("the {name} must be {wanted}, not {found}")));
            }
        }
        if let Some(difference) = self.ecn() {
            return Ok(Some(difference));
        }
        self.options(numbers)
    }

    fn ecn(&self) -> Option<String> {
        let wanted = self.stated.ecn?;
        let same = match wanted {
            EcnField::NotCapable => self.sent.ecn == Ecn::NotCapable,
            EcnField::Capable0 => self.sent.ecn == Ecn::Capable0,
            EcnField::Capable1 => self.sent.ecn == Ecn::Capable1,
            EcnField::Capable => matches!(self.sent.ecn, Ecn::Capable0 | Ecn::Capable1),
            EcnField::Marked => self.sent.ecn == Ecn::CongestionExperienced,
        };
        (!same).then(|| format!("the ECN field must be {wanted:?}, not {:?}", self.sent.ecn))
    }

    fn options(&self, numbers: &mut Numbering) -> Result<Option<String>, String> {
        let found = options_of(&self.sent.header, numbers);
        let stated_stamp = self.stated.options.iter().flatten().find_map(|option| match option {
            SegmentOption::Timestamps(value, _) => Some(*value),
            _ => None,
        });
        let in_script = match (stated_stamp, self.sent.header.timestamps) {
            (Some(stated), Some(sent)) => Some((stated, numbers.learn_stamp(stated, sent.value))),
            _ => None,
        };
        self.sent.option.iter().for_each(|option| numbers.keys.note(option));
        let Some(stated) = &self.stated.options else { return Ok(None) };
        let mut stated = stated.clone();
        let multipath = stated.iter().position(|option| matches!(option, SegmentOption::Multipath(_)));
        let multipath = match multipath.map(|place| stated.remove(place)) {
            Some(SegmentOption::Multipath(option)) => Some(option),
            _ => None,
        };
        stated.sort_by_key(rank);
        for option in &stated {
            match option {
                SegmentOption::FastOpen(_) => return Err("Fast Open".to_owned()),
                SegmentOption::Md5 => return Err("signed segments (MD5)".to_owned()),
                SegmentOption::Other(text) => return Err(format!("the option {text:?}")),
                _ => {}
            }
        }
        if let (Some(ticks), Some((stated, sent))) = (self.ticks, in_script)
            && sent.wrapping_sub(stated).cast_signed().unsigned_abs() > ticks
        {
            return Ok(Some(format!("the timestamp must be {stated}, not {sent}")));
        }
        let same = stated.len() == found.len()
            && stated.iter().zip(&found).all(|pair| match pair {
                (SegmentOption::Timestamps(_, a), SegmentOption::Timestamps(_, b)) => a == b,
                (a, b) => a == b,
            });
        let list = |options: &[SegmentOption]| options.iter().map(show_option).collect::<Vec<_>>().join(",");
        if !same {
            return Ok(Some(format!("the options must be <{}>, not <{}>", list(&stated), list(&found))));
        }
        Ok(numbers.keys.difference(multipath.as_ref(), self.sent.option.as_ref()))
    }
}
