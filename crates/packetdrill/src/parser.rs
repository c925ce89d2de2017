//! The grammar of scripts.

mod multipath;
mod segment;

use airlane_core::Duration;

use crate::Mistake;
use crate::lexer::{Placed, Token, tokens};
use crate::script::{Action, Call, Event, Script, Value, When};

/// Reads a script.
pub(crate) fn parse(text: &str) -> Result<Script, Mistake> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0 };
    let mut script = Script::default();
    while let Some(token) = parser.peek().cloned() {
        let line = parser.line();
        if let Token::Setting(name, value) = token {
            parser.at += 1;
            script.settings.push((line, name, value));
        } else {
            script.events.push(parser.event()?);
        }
    }
    Ok(script)
}

struct Parser {
    tokens: Vec<Placed>,
    at: usize,
}

/// A time in seconds as exact nanoseconds.
fn seconds(text: &str, line: usize) -> Result<Duration, Mistake> {
    let mistake = || Mistake::new(line, format!("{text:?} is no time in seconds, such as 0.25"));
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| mistake())? };
    if part.len() > 9 || part.bytes().any(|b| !b.is_ascii_digit()) || whole > 1_000_000_000 {
        return Err(mistake());
    }
    let nanos: u64 = format!("{part:0<9}").parse().map_err(|_| mistake())?;
    Ok(Duration::from_nanos(whole * 1_000_000_000 + nanos))
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|t| &t.token)
    }

    fn peek_after(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead).map(|t| &t.token)
    }

    /// The line of the next token, or of the last one at the end.
    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |t| t.line)
    }

    fn is(&self, mark: char) -> bool {
        self.peek() == Some(&Token::Mark(mark))
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(w)) if w == word)
    }

    fn skip(&mut self, mark: char) -> bool {
        let found = self.is(mark);
        self.at += usize::from(found);
        found
    }

    fn skip_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn wrong(&self, wanted: &str) -> Mistake {
        let found = match self.peek() {
            None => "the end of the script".to_owned(),
            Some(Token::Word(text) | Token::Number(text)) => format!("{text:?}"),
            Some(Token::Mark(mark)) => format!("{mark:?}"),
            Some(Token::Ellipsis) => "...".to_owned(),
            Some(Token::Text(_)) => "a string".to_owned(),
            Some(Token::Command(_)) => "a command".to_owned(),
            Some(Token::Code(_)) => "code".to_owned(),
            Some(Token::Setting(name, _)) => format!("--{name}"),
        };
        Mistake::new(self.line(), format!("expected {wanted}, not {found}"))
    }

    fn expect(&mut self, mark: char) -> Result<(), Mistake> {
        if self.skip(mark) { Ok(()) } else { Err(self.wrong(&format!("{mark:?}"))) }
    }

    fn event(&mut self) -> Result<Event, Mistake> {
        let line = self.line();
        if let Some(Token::Command(command)) = self.peek().cloned() {
            self.at += 1;
            return Ok(Event { line, time: When::Now, returns: None, action: Action::Command(command) });
        }
        let time = self.time()?;
        let mut returns = None;
        if self.peek() == Some(&Token::Ellipsis) {
            self.at += 1;
            returns = Some(self.seconds()?);
        }
        let line = self.line();
        let action = match self.peek().cloned() {
            Some(Token::Command(command)) => {
                self.at += 1;
                Action::Command(command)
            }
            Some(Token::Code(code)) => {
                self.at += 1;
                Action::Code(code)
            }
            Some(Token::Mark('<')) => {
                self.at += 1;
                self.segment(true)?
            }
            Some(Token::Mark('>')) => {
                self.at += 1;
                self.segment(false)?
            }
            Some(Token::Word(_)) => Action::Call(self.call()?),
            _ => return Err(self.wrong("a packet (< or >), a call, `a command` or %{ code }%")),
        };
        Ok(Event { line, time, returns, action })
    }

    fn seconds(&mut self) -> Result<Duration, Mistake> {
        let line = self.line();
        if let Some(Token::Number(text)) = self.peek().cloned() {
            self.at += 1;
            return seconds(&text, line);
        }
        Err(self.wrong("a time in seconds"))
    }

    fn time(&mut self) -> Result<When, Mistake> {
        if self.skip('*') {
            return Ok(When::Any);
        }
        let relative = self.skip('+');
        let from = self.seconds()?;
        if self.skip('~') {
            self.skip('+');
            let to = self.seconds()?;
            return Ok(if relative { When::AfterWithin(from, to) } else { When::Within(from, to) });
        }
        Ok(if relative { When::After(from) } else { When::At(from) })
    }

    fn call(&mut self) -> Result<Call, Mistake> {
        let Some(Token::Word(name)) = self.peek().cloned() else { return Err(self.wrong("a call")) };
        self.at += 1;
        self.expect('(')?;
        let arguments = self.values(')')?;
        self.expect('=')?;
        let result = self.value()?;
        let mut error = None;
        if let Some(Token::Word(word)) = self.peek()
            && word.starts_with('E')
        {
            error = Some(word.clone());
            self.at += 1;
        }
        if self.skip('(') {
            while !self.is(')') {
                if self.peek().is_none() {
                    return Err(self.wrong("')'"));
                }
                self.at += 1;
            }
            self.at += 1;
        }
        Ok(Call { name, arguments, result, error })
    }

    /// Values up to a closing mark, which is consumed.
    fn values(&mut self, close: char) -> Result<Vec<Value>, Mistake> {
        let mut values = Vec::new();
        while !self.skip(close) {
            values.push(self.value()?);
            if !self.skip(',') && !self.is(close) {
                return Err(self.wrong(&format!("',' or {close:?}")));
            }
        }
        Ok(values)
    }

    fn value(&mut self) -> Result<Value, Mistake> {
        let Some(token) = self.peek().cloned() else { return Err(self.wrong("a value")) };
        self.at += 1;
        Ok(match token {
            Token::Ellipsis => Value::Any,
            Token::Text(text) => Value::Text(text),
            Token::Number(text) => Value::Number(self.integer(&text)?),
            Token::Mark('-') => match self.value()? {
                Value::Number(n) => Value::Number(-n),
                _ => return Err(self.wrong("a number after '-'")),
            },
            Token::Mark('[') => Value::List(self.values(']')?),
            Token::Mark('{') => Value::Struct(self.fields()?),
            Token::Word(name) => self.named(name)?,
            _ => {
                self.at -= 1;
                return Err(self.wrong("a value"));
            }
        })
    }

    /// A name, flags, or a function of one value, such as `htons(8080)`.
    fn named(&mut self, name: String) -> Result<Value, Mistake> {
        if self.skip('(') {
            let inner = self.values(')')?;
            return Ok(match inner.as_slice() {
                [Value::Number(n)] if name == "htons" => Value::Number(*n),
                _ => Value::Struct(vec![(name, Value::List(inner))]),
            });
        }
        let mut names = name;
        while self.skip('|') {
            match self.peek().cloned() {
                Some(Token::Word(next) | Token::Number(next)) => {
                    self.at += 1;
                    names = format!("{names}|{next}");
                }
                _ => return Err(self.wrong("a name after '|'")),
            }
        }
        Ok(Value::Name(names))
    }

    fn integer(&self, text: &str) -> Result<i64, Mistake> {
        let parsed = match text.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        parsed.ok_or_else(|| Mistake::new(self.line(), format!("{text:?} is no whole number")))
    }

    /// `{name=value, …}`, where a name may have a count, such as `msg_iov(1)=[…]`, or be absent.
    fn fields(&mut self) -> Result<Vec<(String, Value)>, Mistake> {
        let mut fields = Vec::new();
        while !self.skip('}') {
            let mut name = String::new();
            if let (Some(Token::Word(word)), Some(Token::Mark('=' | '('))) =
                (self.peek().cloned(), self.peek_after(1))
            {
                let begin = self.at;
                self.at += 1;
                if self.skip('(') {
                    self.values(')')?;
                }
                if self.skip('=') {
                    name = word;
                } else {
                    self.at = begin;
                }
            }
            fields.push((name, self.value()?));
            if !self.skip(',') && !self.is('}') {
                return Err(self.wrong("',' or '}'"));
            }
        }
        Ok(fields)
    }
}
