//! The grammar of the options of Multipath TCP.

use super::Parser;
use crate::Mistake;
use crate::lexer::Token;
use crate::multipath::{DataNumber, Multipath};
use crate::script::SegmentOption;

impl Parser {
    /// The words of an option up to its end, with the numbers that they have, such as `dack8=1`.
    fn words(&mut self) -> Result<Vec<(String, Option<u64>)>, Mistake> {
        let (mut words, mut depth) = (Vec::new(), 0_u32);
        while let Some(token) = self.peek().cloned() {
            match token {
                Token::Mark(',' | '>') if depth == 0 => break,
                Token::Mark('[') => depth += 1,
                Token::Mark(']') => depth = depth.saturating_sub(1),
                Token::Mark(',' | '=') => {}
                Token::Word(word) => words.push((word, None)),
                Token::Number(text) => {
                    let number = match text.strip_prefix("0x") {
                        Some(digits) => u64::from_str_radix(digits, 16).ok(),
                        None => text.parse().ok(),
                    };
                    match (number, words.last_mut()) {
                        (Some(number), Some((_, value))) => *value = Some(number),
                        _ => return Err(self.wrong("a number of an option")),
                    }
                }
                _ => return Err(self.wrong("an option of Multipath TCP")),
            }
            self.at += 1;
        }
        Ok(words)
    }

    /// `mpcapable v1 flags[flag_h] key[ckey=2, skey] mpcdatalen 100`.
    pub(super) fn capable(&mut self) -> Result<SegmentOption, Mistake> {
        let words = self.words()?;
        let has = |name: &str| words.iter().any(|(word, _)| word == name);
        let mut keys: Vec<_> = words.iter().skip_while(|(word, _)| word != "key").skip(1).cloned().collect();
        keys.retain(|(word, _)| word != "mpcdatalen");
        let length = words.iter().find(|(word, _)| word == "mpcdatalen").and_then(|(_, value)| *value);
        let acceptable = has("v1") && has("flag_h") && !has("flag_b");
        let length = length.and_then(|bytes| u16::try_from(bytes).ok());
        Ok(SegmentOption::Multipath(Multipath::Capable { acceptable, keys, length }))
    }

    /// `dss dack8=1 dsn8=1 ssn=1 dll=1000 nocs fin`.
    pub(super) fn signal(&mut self) -> Result<SegmentOption, Mistake> {
        let words = self.words()?;
        let of = |name: &str| words.iter().find(|(word, _)| word == name).and_then(|(_, value)| *value);
        let data_number = |narrow: &str, wide: &str| {
            let narrow = of(narrow).map(|value| DataNumber { bits: 32, value });
            narrow.or_else(|| of(wide).map(|value| DataNumber { bits: 64, value }))
        };
        let mapping = data_number("dsn4", "dsn8").map(|number| {
            let of_subflow = of("ssn").and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
            (number, of_subflow, of("dll").and_then(|n| u16::try_from(n).ok()).unwrap_or(0))
        });
        let fin = words.iter().any(|(word, _)| word == "fin");
        let ack = data_number("dack4", "dack8");
        Ok(SegmentOption::Multipath(Multipath::Signal { ack, mapping, fin }))
    }
}
