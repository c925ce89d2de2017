//! The grammar of packets.

use super::Parser;
use crate::Mistake;
use crate::lexer::Token;
use crate::script::{Action, EcnField, Segment, SegmentOption};

impl Parser {
    fn unsigned(&mut self, what: &str) -> Result<u32, Mistake> {
        if let Some(Token::Number(text)) = self.peek().cloned() {
            let parsed = match text.strip_prefix("0x") {
                Some(digits) => u32::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            };
            if let Some(number) = parsed {
                self.at += 1;
                return Ok(number);
            }
            if text.bytes().all(|digit| digit.is_ascii_digit()) {
                let text = format!("{text} is above {}, the largest number of 32 bits", u32::MAX);
                return Err(Mistake::impossible(self.line(), text));
            }
        }
        Err(self.wrong(what))
    }

    fn small<T: TryFrom<u32>>(&mut self, what: &str) -> Result<T, Mistake> {
        let line = self.line();
        let number = self.unsigned(what)?;
        T::try_from(number)
            .map_err(|_| Mistake::impossible(line, format!("{number} is too large for {what}")))
    }

    /// A packet, of which `<` or `>` was read.
    pub(super) fn segment(&mut self, inbound: bool) -> Result<Action, Mistake> {
        if let (Some(Token::Mark('[')), Some(Token::Number(_))) = (self.peek(), self.peek_after(1)) {
            self.skip_event();
            return Ok(Action::Foreign("ICMP packets".to_owned()));
        }
        let (ecn, other) = self.ip_fields()?;
        if let Some(field) = other.filter(|_| !inbound) {
            self.skip_event();
            return Ok(Action::Foreign(format!("the field {field:?} of the IP header")));
        }
        let mut segment = Segment { ecn, ..Segment::default() };
        for (word, reason) in [
            ("udp", "UDP packets"),
            ("udplite", "UDP-Lite packets"),
            ("sctp", "SCTP packets"),
            ("icmp", "ICMP packets"),
            ("ipv4", "packets in tunnels"),
            ("ipv6", "packets in tunnels"),
            ("gre", "packets in tunnels"),
            ("mpls", "packets in tunnels"),
            ("psp", "PSP encryption"),
            ("addr", "packets with addresses"),
        ] {
            if self.is_word(word) {
                self.skip_event();
                return Ok(Action::Foreign(reason.to_owned()));
            }
        }
        if let (Some(Token::Number(_)), Some(Token::Mark('>'))) = (self.peek(), self.peek_after(1)) {
            self.skip_event();
            return Ok(Action::Foreign("packets with port numbers".to_owned()));
        }
        self.flags(&mut segment)?;
        segment.start = self.unsigned("the first sequence number")?;
        self.expect(':')?;
        let end = self.unsigned("the sequence number behind the last byte")?;
        self.expect('(')?;
        let line = self.line();
        segment.payload = self.unsigned("the number of bytes")?;
        self.expect(')')?;
        if self.is('!') {
            self.skip_event();
            return Ok(Action::Foreign("sequence numbers that are not relative (!)".to_owned()));
        }
        if segment.start.wrapping_add(segment.payload) != end {
            return Err(Mistake::new(
                line,
                format!("{}:{end} are not {} bytes", segment.start, segment.payload),
            ));
        }
        if self.skip_word("ack") {
            segment.ack = Some(self.unsigned("an acknowledgment number")?);
        }
        if self.skip_word("win") {
            segment.window = Some(self.small("the window field")?);
        }
        if self.skip_word("urg") {
            segment.urgent = Some(self.small("the urgent pointer")?);
        }
        segment.options = self.options()?;
        if self.is('/') {
            self.skip_event();
            return Ok(Action::Foreign("TCP over UDP".to_owned()));
        }
        Ok(if inbound { Action::Receive(segment) } else { Action::Expect(segment) })
    }

    /// Skips what belongs to a packet that is not played: everything up to a line that begins the next event.
    fn skip_event(&mut self) {
        let mut line = self.line();
        while let Some(token) = self.peek() {
            let begins = matches!(
                token,
                Token::Mark('+' | '*') | Token::Number(_) | Token::Command(_) | Token::Setting(..)
            );
            if self.line() != line && begins {
                return;
            }
            line = self.line();
            self.at += 1;
        }
    }

    /// `[ect0]`, `[noecn, ttl 64]` and so on: the ECN field, and the name of another stated field.
    fn ip_fields(&mut self) -> Result<(Option<EcnField>, Option<String>), Mistake> {
        let (mut ecn, mut other) = (None, None);
        let close = if self.skip('[') {
            ']'
        } else if self.is('(') {
            self.at += 1;
            ')'
        } else {
            return Ok((None, None));
        };
        while !self.skip(close) {
            match self.peek().cloned() {
                Some(Token::Word(word)) => {
                    self.at += 1;
                    ecn = match &*word {
                        "noecn" => Some(EcnField::NotCapable),
                        "ect0" => Some(EcnField::Capable0),
                        "ect1" => Some(EcnField::Capable1),
                        "ect01" => Some(EcnField::Capable),
                        "ce" => Some(EcnField::Marked),
                        "tos" => {
                            let tos = self.unsigned("a type of service")?;
                            Some(match tos & 3 {
                                0 => EcnField::NotCapable,
                                1 => EcnField::Capable1,
                                2 => EcnField::Capable0,
                                _ => EcnField::Marked,
                            })
                        }
                        "ttl" | "hlim" | "flowlabel" => {
                            self.unsigned("a number")?;
                            other = Some(word);
                            ecn
                        }
                        _ => {
                            self.at -= 1;
                            return Err(
                                self.wrong("noecn, ect0, ect1, ect01, ce, tos, ttl, hlim or flowlabel")
                            );
                        }
                    };
                }
                Some(Token::Mark(',')) => self.at += 1,
                _ => return Err(self.wrong(&format!("{close:?}"))),
            }
        }
        Ok((ecn, other))
    }

    /// `S`, `P.`, `.`, `-`, or with the ACE field as a number, `S.5`.
    fn flags(&mut self, segment: &mut Segment) -> Result<(), Mistake> {
        if self.skip('-') {
            return Ok(());
        }
        let begin = self.at;
        if let Some(Token::Word(word)) = self.peek().cloned() {
            let (letters, ace) = match word.find(|c: char| c.is_ascii_digit()) {
                Some(digit) => word.split_at(digit),
                None => (&*word, ""),
            };
            let wrong = letters.chars().find(|c| !"SFRPEWAU".contains(*c));
            if wrong.is_some() || ace.len() > 1 {
                return Err(self.wrong("flags of the letters S, F, R, P, E, W, A, U and '.'"));
            }
            letters.clone_into(&mut segment.flags);
            segment.ace = ace.parse().ok();
            self.at += 1;
        }
        if let Some(Token::Number(text)) = self.peek().cloned()
            && let Some(digits) = text.strip_prefix('.')
        {
            self.at += 1;
            segment.flags.push('.');
            segment.ace = Some(digits.parse().ok().filter(|ace| *ace < 8).ok_or_else(|| {
                Mistake::new(self.line(), format!("{digits:?} is no value of the ACE field, 0 to 7"))
            })?);
        } else if self.skip('.') {
            segment.flags.push('.');
        }
        if self.at == begin { Err(self.wrong("the flags of a segment")) } else { Ok(()) }
    }

    /// The options in angle brackets, without padding; `None` for `<...>`.
    fn options(&mut self) -> Result<Option<Vec<SegmentOption>>, Mistake> {
        let mut options = Vec::new();
        // A segment without options is followed by the time of the next event, never by `<`.
        if !self.skip('<') {
            return Ok(Some(options));
        }
        if self.peek() == Some(&Token::Ellipsis) {
            self.at += 1;
            self.expect('>')?;
            return Ok(None);
        }
        while !self.skip('>') {
            if self.skip(',') {
                continue;
            }
            if let Some(option) = self.option()? {
                options.push(option);
            }
        }
        Ok(Some(options))
    }

    fn option(&mut self) -> Result<Option<SegmentOption>, Mistake> {
        let Some(Token::Word(name)) = self.peek().cloned() else {
            return Err(self.wrong("an option, such as mss 1460"));
        };
        self.at += 1;
        Ok(Some(match &*name {
            "nop" | "eol" => return Ok(None),
            "mss" => SegmentOption::Mss(self.small("a segment size")?),
            "wscale" => SegmentOption::WindowScale(self.small("a window scale")?),
            "sackOK" => SegmentOption::SackPermitted,
            "sack" => self.sack()?,
            "TS" => {
                if !self.skip_word("val") {
                    return Err(self.wrong("val"));
                }
                let value = self.unsigned("a timestamp")?;
                if !self.skip_word("ecr") {
                    return Err(self.wrong("ecr"));
                }
                SegmentOption::Timestamps(value, self.unsigned("a timestamp")?)
            }
            "mpcapable" => self.capable()?,
            "dss" => self.signal()?,
            "md5" => {
                self.rest_of_option();
                SegmentOption::Md5
            }
            "FO" | "FOEXP" => SegmentOption::FastOpen(self.rest_of_option()),
            "ECN" => {
                let mut counters = Vec::new();
                while let Some(Token::Word(counter)) = self.peek().cloned() {
                    self.at += 1;
                    counters.push((counter, self.unsigned("a counter")?));
                }
                SegmentOption::AccurateEcn(counters)
            }
            _ => {
                self.skip_option();
                SegmentOption::Other(name)
            }
        }))
    }

    fn sack(&mut self) -> Result<SegmentOption, Mistake> {
        let mut blocks = Vec::new();
        while let Some(Token::Number(_)) = self.peek() {
            let left = self.unsigned("a sequence number")?;
            self.expect(':')?;
            blocks.push((left, self.unsigned("a sequence number")?));
        }
        Ok(SegmentOption::Sack(blocks))
    }

    /// Skips an option that is not known, up to the comma or the end of the list.
    fn skip_option(&mut self) {
        let mut depth = 0_i32;
        while let Some(token) = self.peek() {
            match token {
                Token::Mark('[' | '(') => depth += 1,
                Token::Mark(']' | ')') => depth -= 1,
                Token::Mark(',' | '>') if depth <= 0 => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn rest_of_option(&mut self) -> String {
        let mut text = String::new();
        while let Some(Token::Word(part) | Token::Number(part)) = self.peek() {
            text.push_str(part);
            self.at += 1;
        }
        text
    }
}
