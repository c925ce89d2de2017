//! Conditions and definitions of [nplab's packetdrill](https://github.com/nplab/packetdrill), with which one script
//! states the behaviour of several systems: `#ifdef NAME`, `#endif`, and `--define=NAME=VALUE`. `#ifndef`, `#else`,
//! `#define` and conditions within conditions, which it does not have, are those of the C preprocessor.

use std::collections::BTreeMap;

use super::{Token, tokens};
use crate::Mistake;

/// The system whose behaviour is modelled; nplab's program defines the name of the system that it runs on.
const SYSTEM: &str = "Linux";

/// A condition that has not ended.
#[derive(Debug)]
struct Condition {
    line: usize,
    met: bool,
    /// After `#else`.
    inverted: bool,
}

/// The conditions around a place of a script, and the names that are defined there.
#[derive(Debug)]
pub(super) struct Conditions {
    open: Vec<Condition>,
    /// The names that are defined, with the tokens of their values.
    names: BTreeMap<String, Vec<Token>>,
}

impl Default for Conditions {
    fn default() -> Self {
        Self { open: Vec::new(), names: BTreeMap::from([(SYSTEM.to_owned(), Vec::new())]) }
    }
}

impl Conditions {
    /// True if the lines that follow belong to the script.
    pub(super) fn are_met(&self) -> bool {
        self.open.iter().all(|condition| condition.met)
    }

    /// The tokens that replace a word; `None` for a word without a value.
    pub(super) fn value(&self, word: &str) -> Option<&[Token]> {
        self.names.get(word).map(Vec::as_slice).filter(|tokens| !tokens.is_empty())
    }

    pub(super) fn define(&mut self, name: &str, value: &str) {
        let tokens = tokens(value).unwrap_or_default().into_iter().map(|placed| placed.token);
        self.names.insert(name.to_owned(), tokens.collect());
    }

    /// A line that begins with `#`.
    pub(super) fn directive(&mut self, text: &str, line: usize) -> Result<(), Mistake> {
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        let mistake = |text: String| Err(Mistake::new(line, text));
        match word {
            "#ifdef" | "#ifndef" if rest.is_empty() || rest.contains(char::is_whitespace) => {
                return mistake(format!("{word} needs one name, not {rest:?}"));
            }
            "#ifdef" | "#ifndef" => {
                let met = self.names.contains_key(rest) == (word == "#ifdef");
                self.open.push(Condition { line, met, inverted: false });
            }
            "#else" => match self.open.last_mut() {
                Some(condition) if !condition.inverted => {
                    condition.met = !condition.met;
                    condition.inverted = true;
                }
                _ => return mistake("#else without a #ifdef".to_owned()),
            },
            "#endif" => {
                if self.open.pop().is_none() {
                    return mistake("#endif without a #ifdef".to_owned());
                }
            }
            // In excluded lines, only the ends of conditions have a meaning.
            _ if !self.are_met() => {}
            "#define" if rest.is_empty() => return mistake("#define needs a name".to_owned()),
            "#define" => {
                let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                self.define(name, value);
            }
            "#undef" => {
                self.names.remove(rest);
            }
            _ => return mistake(format!("the directive {word:?} is not known")),
        }
        Ok(())
    }

    /// The script ends.
    pub(super) fn end(&self) -> Result<(), Mistake> {
        match self.open.last() {
            None => Ok(()),
            Some(condition) => {
                Err(Mistake::new(condition.line, "a #ifdef that begins here has no #endif".to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Vec<String>, (usize, String)> {
        let found = tokens(text).map_err(|mistake| (mistake.line, mistake.text))?;
        Ok(found.into_iter().map(|placed| format!("{}:{:?}", placed.line, placed.token)).collect())
    }

    #[test]
    fn only_what_is_for_this_system_is_read() {
        let found = words(
            "#ifdef Linux // this one\na\n#else\nb `\n#endif\n  #ifdef FreeBSD\nc\n#else\nd\n#endif\ne",
        );
        assert_eq!(found.unwrap(), ["2:Word(\"a\")", "9:Word(\"d\")", "11:Word(\"e\")"]);
        let nested =
            words("#ifdef FreeBSD\n#ifdef Linux\na\n#else\nb\n#endif\n#if 1\n#endif\n#ifndef X\nc\n#endif");
        // Of the lines that are excluded, the directive of line 7 is not read.
        assert_eq!(nested.unwrap(), ["10:Word(\"c\")"]);
    }

    #[test]
    fn definitions_have_values() {
        let found = words("#define MSS 1000\n--define=WIN=50\nMSS WIN\n#undef MSS\nMSS `# no`").unwrap();
        assert_eq!(
            found[1..],
            ["3:Number(\"1000\")", "3:Number(\"50\")", "5:Word(\"MSS\")", "5:Command(\"# no\")"]
        );
        assert_eq!(words("#define A\n#ifdef A\nA\n#endif").unwrap(), ["3:Word(\"A\")"]);
    }

    #[test]
    fn what_is_no_condition_is_reported_with_its_line() {
        for (text, line, reason) in [
            ("a\n#ifdef Linux\nb", 2, "a #ifdef that begins here has no #endif"),
            ("#else", 1, "#else without a #ifdef"),
            ("#ifdef Linux\n#else\n#else\n#endif", 3, "#else without a #ifdef"),
            ("#ifdef\n#endif", 1, "#ifdef needs one name, not \"\""),
            ("#if 1\n#endif", 1, "the directive \"#if\" is not known"),
        ] {
            assert_eq!(words(text).unwrap_err(), (line, reason.to_owned()));
        }
    }
}
