//! The tokens of a script.

mod conditions;

use crate::Mistake;
use conditions::Conditions;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A name: of a call, a flag, an option.
    Word(String),
    /// A number as it was written: decimal, with a point, or hexadecimal.
    Number(String),
    /// A string in quotation marks, without them.
    Text(String),
    /// A command between back-quotes.
    Command(String),
    /// Code between `%{` and `}%`.
    Code(String),
    /// A setting of packetdrill: `--name=value`.
    Setting(String, String),
    /// Three points.
    Ellipsis,
    /// Any other character.
    Mark(char),
}

/// A token and its line, from 1.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) token: Token,
    pub(crate) line: usize,
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
    tokens: Vec<Placed>,
    conditions: Conditions,
}

/// The tokens of a whole script.
pub(crate) fn tokens(text: &str) -> Result<Vec<Placed>, Mistake> {
    let conditions = Conditions::default();
    let mut lexer = Lexer { text: text.as_bytes(), at: 0, line: 1, tokens: Vec::new(), conditions };
    while lexer.at < lexer.text.len() {
        lexer.step()?;
    }
    lexer.conditions.end()?;
    Ok(lexer.tokens)
}

const fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_'
}

impl Lexer<'_> {
    fn byte(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn starts(&self, with: &str) -> bool {
        self.text[self.at..].starts_with(with.as_bytes())
    }

    fn take(&self, from: usize, to: usize) -> String {
        String::from_utf8_lossy(&self.text[from..to]).into_owned()
    }

    fn push(&mut self, token: Token, line: usize) {
        self.tokens.push(Placed { token, line });
    }

    fn step(&mut self) -> Result<(), Mistake> {
        let c = self.byte(0);
        let line = self.line;
        if c == b'\n' {
            self.line += 1;
            self.at += 1;
        } else if c.is_ascii_whitespace() {
            self.at += 1;
        } else if c == b'#' && self.begins_line() {
            self.directive()?;
        } else if self.starts("//") {
            while self.at < self.text.len() && self.byte(0) != b'\n' {
                self.at += 1;
            }
        } else if self.starts("/*") {
            self.enclosed("/*", "*/", "a comment")?;
        } else if self.starts("%{") {
            let code = self.enclosed("%{", "}%", "code")?;
            self.push(Token::Code(code), line);
        } else if c == b'`' {
            let command = self.enclosed("`", "`", "a command")?;
            self.push(Token::Command(command), line);
        } else if c == b'"' {
            let text = self.enclosed("\"", "\"", "a string")?;
            self.push(Token::Text(text), line);
        } else if self.starts("...") {
            self.at += 3;
            self.push(Token::Ellipsis, line);
        } else if self.starts("--") && self.byte(2).is_ascii_alphabetic() {
            self.setting();
        } else if c.is_ascii_digit() || (c == b'.' && self.byte(1).is_ascii_digit()) {
            self.number();
        } else if is_word(c) {
            let from = self.at;
            while is_word(self.byte(0)) {
                self.at += 1;
            }
            let word = self.take(from, self.at);
            self.push_word(word, line);
        } else {
            self.at += 1;
            self.push(Token::Mark(char::from(c)), line);
        }
        Ok(())
    }

    /// A word, or the tokens that a definition gives to it.
    fn push_word(&mut self, word: String, line: usize) {
        match self.conditions.value(&word) {
            Some(tokens) => {
                self.tokens.extend(tokens.iter().map(|token| Placed { token: token.clone(), line }))
            }
            None => self.push(Token::Word(word), line),
        }
    }

    /// True if only spaces precede on this line.
    fn begins_line(&self) -> bool {
        let before = self.text[..self.at].iter().rev().take_while(|&&c| c != b'\n');
        before.clone().all(u8::is_ascii_whitespace)
    }

    /// The rest of the line, without a comment; the end of the line stays.
    fn rest_of_line(&mut self) -> String {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|&c| c == b'\n').unwrap_or(rest.len());
        let line = self.take(self.at, self.at + length);
        self.at += length;
        line.split("//").next().unwrap_or_default().trim().to_owned()
    }

    /// `#ifdef` and similar directives; the lines that they exclude are skipped.
    fn directive(&mut self) -> Result<(), Mistake> {
        let text = self.rest_of_line();
        self.conditions.directive(&text, self.line)?;
        while !self.conditions.are_met() && self.at < self.text.len() {
            self.at += 1; // the end of the line
            self.line += 1;
            let text = self.rest_of_line();
            if text.starts_with('#') {
                self.conditions.directive(&text, self.line)?;
            }
        }
        Ok(())
    }

    /// Text between two marks; a backslash protects the next character.
    fn enclosed(&mut self, open: &str, close: &str, what: &str) -> Result<String, Mistake> {
        let began = self.line;
        self.at += open.len();
        let from = self.at;
        while self.at < self.text.len() && !self.starts(close) {
            if self.byte(0) == b'\\' && open.len() == 1 {
                self.at += 1;
            }
            if self.byte(0) == b'\n' {
                self.line += 1;
            }
            self.at += 1;
        }
        if self.at >= self.text.len() {
            return Err(Mistake::new(began, format!("{what} that begins here has no end ({close})")));
        }
        let text = self.take(from, self.at);
        self.at += close.len();
        Ok(text)
    }

    fn setting(&mut self) {
        let line = self.line;
        self.at += 2;
        let from = self.at;
        while is_word(self.byte(0)) {
            self.at += 1;
        }
        let name = self.take(from, self.at);
        let mut value = String::new();
        if self.byte(0) == b'=' {
            self.at += 1;
            let from = self.at;
            while self.at < self.text.len() && !self.byte(0).is_ascii_whitespace() {
                self.at += 1;
            }
            value = self.take(from, self.at);
        }
        if name == "define" {
            let (symbol, value) = value.split_once('=').unwrap_or((&value, ""));
            self.conditions.define(symbol, value);
        }
        self.push(Token::Setting(name, value), line);
    }

    /// A number, or a word that begins with a digit, such as a key in hexadecimal.
    fn number(&mut self) {
        let (from, line) = (self.at, self.line);
        while self.byte(0).is_ascii_digit() {
            self.at += 1;
        }
        if self.byte(0) == b'.' && self.byte(1).is_ascii_digit() {
            self.at += 1;
            while self.byte(0).is_ascii_digit() {
                self.at += 1;
            }
        } else if is_word(self.byte(0)) {
            while is_word(self.byte(0)) {
                self.at += 1;
            }
            let text = self.take(from, self.at);
            let hexadecimal = text.strip_prefix("0x").is_some_and(|d| u64::from_str_radix(d, 16).is_ok());
            let token = if hexadecimal { Token::Number(text) } else { Token::Word(text) };
            return self.push(token, line);
        }
        let text = self.take(from, self.at);
        self.push(Token::Number(text), line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_flags_and_ellipses_are_told_apart() {
        let found = tokens("+0...0.200 P.5 1:11(10) . 0x2 a1b2 // end\n`ls\n-l` %{ x }%").unwrap();
        let texts: Vec<String> = found.iter().map(|t| format!("{:?}", t.token)).collect();
        assert_eq!(
            texts,
            [
                "Mark('+')",
                "Number(\"0\")",
                "Ellipsis",
                "Number(\"0.200\")",
                "Word(\"P\")",
                "Number(\".5\")",
                "Number(\"1\")",
                "Mark(':')",
                "Number(\"11\")",
                "Mark('(')",
                "Number(\"10\")",
                "Mark(')')",
                "Mark('.')",
                "Number(\"0x2\")",
                "Word(\"a1b2\")",
                "Command(\"ls\\n-l\")",
                "Code(\" x \")",
            ]
        );
        assert_eq!(found.last().unwrap().line, 3);
    }

    #[test]
    fn what_does_not_end_is_reported_where_it_begins() {
        let mistake = tokens("1\n`ls").unwrap_err();
        assert_eq!((mistake.line, &*mistake.text), (2, "a command that begins here has no end (`)"));
    }
}
