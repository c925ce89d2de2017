//! The code between `%{` and `}%`: the statements and expressions of Python that scripts use.
//!
//! Statements are `assert`, `print` and assignments to variables, which stay for the rest of the script.
//! Anything else is reported as such, and the script is not applicable.

mod read;

use std::collections::BTreeMap;

use read::Reader;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Int(i64),
    Real(f64),
    Text(String),
    List(Vec<Item>),
}

/// The reason for which an evaluation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// An assertion does not hold: its text, and its message or values.
    Untrue(String),
    /// The code uses something that is not known here.
    Unknown(String),
}

/// The variables of a script.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    values: BTreeMap<String, Item>,
    /// The lines that the script has printed.
    pub(crate) printed: Vec<String>,
}

impl Item {
    fn is_true(&self) -> bool {
        match self {
            Self::Int(n) => *n != 0,
            Self::Real(x) => *x != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(list) => !list.is_empty(),
        }
    }

    pub(crate) fn show(&self) -> String {
        match self {
            Self::Int(n) => n.to_string(),
            Self::Real(x) => x.to_string(),
            Self::Text(text) => text.clone(),
            Self::List(list) => list.iter().map(Self::show).collect::<Vec<_>>().join(", "),
        }
    }

    fn real(&self) -> Result<f64, Failure> {
        match self {
            Self::Int(n) => Ok(*n as f64),
            Self::Real(x) => Ok(*x),
            _ => Err(Failure::Unknown(format!("a calculation with {:?}", self.show()))),
        }
    }
}

impl Variables {
    /// Runs the code; `known` gives the value of a name that is no variable.
    pub(crate) fn run(&mut self, code: &str, known: &dyn Fn(&str) -> Option<i64>) -> Result<(), Failure> {
        for statement in statements(code) {
            self.statement(&statement, known)?;
        }
        Ok(())
    }

    fn evaluate(&self, text: &str, known: &dyn Fn(&str) -> Option<i64>) -> Result<Item, Failure> {
        let look = |name: &str| self.values.get(name).cloned().or_else(|| known(name).map(Item::Int));
        Reader::new(text, &look)?.whole()
    }

    fn statement(&mut self, text: &str, known: &dyn Fn(&str) -> Option<i64>) -> Result<(), Failure> {
        if let Some(rest) = after_word(text, "assert") {
            let parts = split_outside(rest, ',');
            let (condition, message) = parts.split_first().expect("a split gives at least one part");
            if self.evaluate(condition, known)?.is_true() {
                return Ok(());
            }
            let mut reason = format!("assert {}", condition.trim());
            if !message.is_empty() {
                reason = format!("{reason}: {}", self.evaluate(&message.join(","), known)?.show());
            }
            return Err(Failure::Untrue(reason));
        }
        if let Some(rest) = after_word(text, "print") {
            let value = self.evaluate(if rest.is_empty() { "''" } else { rest }, known)?;
            self.printed.push(value.show());
            return Ok(());
        }
        if let Some((name, operator, value)) = assignment(text) {
            let value = match operator {
                "" => self.evaluate(value, known)?,
                _ => self.evaluate(&format!("{name} {operator} ({value})"), known)?,
            };
            self.values.insert(name.to_owned(), value);
            return Ok(());
        }
        if text == "pass" {
            return Ok(());
        }
        Err(Failure::Unknown(format!("the statement {text:?}")))
    }
}

fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    (!rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')).then(|| rest.trim())
}

/// `name = value`, `name += value`: the name, the operator, the value.
fn assignment(text: &str) -> Option<(&str, &str, &str)> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
    let (name, rest) = text.split_at(end);
    let rest = rest.trim_start();
    for operator in ["", "+", "-", "*", "//", "|", "&"] {
        if let Some(value) = rest.strip_prefix(operator).and_then(|r| r.strip_prefix('='))
            && !value.starts_with('=')
            && !name.is_empty()
        {
            return Some((name, operator, value.trim()));
        }
    }
    None
}

/// The statements of the code: separated by line ends and semicolons, without comments.
fn statements(code: &str) -> Vec<String> {
    let code = code.replace("\\\n", " ");
    let (mut found, mut current, mut depth) = (Vec::new(), String::new(), 0_i32);
    let (mut quote, mut comment) = (None, false);
    for c in code.chars() {
        match (quote, c) {
            _ if comment && c != '\n' => continue,
            (Some(open), _) => {
                quote = (c != open).then_some(open);
                current.push(c);
                continue;
            }
            (None, '\'' | '"') => quote = Some(c),
            (None, '#') => {
                comment = true;
                continue;
            }
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            _ => {}
        }
        if (c == '\n' && depth <= 0) || c == ';' {
            found.push(core::mem::take(&mut current));
        } else {
            current.push(c);
        }
        comment &= c != '\n';
    }
    found.push(current);
    found.iter().map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect()
}

/// The parts between a mark, outside of quotes and brackets.
fn split_outside(text: &str, mark: char) -> Vec<String> {
    let (mut parts, mut depth, mut quote) = (vec![String::new()], 0_i32, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), _) => quote = (c != open).then_some(open),
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            (None, _) if c == mark && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("it is never empty").push(c);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(code: &str) -> Result<Vec<String>, Failure> {
        let mut variables = Variables::default();
        let known = |name: &str| match name {
            "tcpi_snd_cwnd" => Some(10),
            "TCP_CA_Open" => Some(0),
            _ => None,
        };
        variables.run(code, &known).map(|()| variables.printed)
    }

    #[test]
    fn assertions_compare_as_in_python() {
        for code in [
            " assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd ",
            "assert 5 <= tcpi_snd_cwnd < 11 and not 3 > 4, 'cwnd=%d' % tcpi_snd_cwnd",
            "assert (tcpi_snd_cwnd & 0x8) != 0; assert tcpi_snd_cwnd // 3 == 3 or 1 / 0",
            "n = 4\nn += 6 # a comment; no end\nassert n == tcpi_snd_cwnd in (10, 12), ('a', n)",
            "assert -(2 + 3) * 2 == -10 and 7 % 4 == 3 and 1 << 3 | 1 == 9 and 'a' != 'b'",
            "assert abs(-3) == 3 and min(4, 2) == 2 and max([1, 5]) == 5 and 10 / 4 == 2.5",
        ] {
            assert_eq!(run(code), Ok(Vec::new()), "{code}");
        }
    }

    #[test]
    fn what_does_not_hold_is_reported_with_its_message() {
        let code = "assert tcpi_snd_cwnd == 9, 'cwnd=%d not %s' % (tcpi_snd_cwnd, 9)";
        let reason = "assert tcpi_snd_cwnd == 9: cwnd=10 not 9".to_owned();
        assert_eq!(run(code), Err(Failure::Untrue(reason)));
        assert_eq!(run("print(tcpi_snd_cwnd); print('a', 2)"), Ok(vec!["10".into(), "a, 2".into()]));
    }

    #[test]
    fn what_is_unknown_is_named() {
        assert_eq!(
            run("assert tcpi_busy_time > 0"),
            Err(Failure::Unknown("the name \"tcpi_busy_time\"".into()))
        );
        assert_eq!(run("import os"), Err(Failure::Unknown("the statement \"import os\"".into())));
    }
}
