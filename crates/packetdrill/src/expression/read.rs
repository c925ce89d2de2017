//! Expressions: read and evaluated in one pass, with Python's precedence.

use super::{Failure, Item};

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Item(Item),
    Name(String),
    Mark(&'static str),
}

const MARKS: [&str; 25] = [
    "==", "!=", "<=", ">=", "<<", ">>", "//", "**", "<", ">", "+", "-", "*", "/", "%", "&", "|", "^", "~",
    "(", ")", "[", "]", ",", ".",
];

/// An expression that is being read.
pub(super) struct Reader<'a> {
    parts: Vec<Part>,
    at: usize,
    look: &'a dyn Fn(&str) -> Option<Item>,
}

type Result<T> = core::result::Result<T, Failure>;

fn unknown<T>(what: impl Into<String>) -> Result<T> {
    Err(Failure::Unknown(what.into()))
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &str, look: &'a dyn Fn(&str) -> Option<Item>) -> Result<Self> {
        let (mut parts, mut rest) = (Vec::new(), text.trim_start());
        while let Some(c) = rest.chars().next() {
            let length = if c == '\'' || c == '"' {
                let end = rest[1..].find(c).map_or(rest.len(), |e| e + 2);
                let inner = rest.get(1..end - 1).unwrap_or("").replace("\\n", "\n");
                parts.push(Part::Item(Item::Text(inner)));
                end
            } else if c.is_ascii_digit() {
                let (number, length) = number(rest)?;
                parts.push(Part::Item(number));
                length
            } else if c.is_alphabetic() || c == '_' {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                parts.push(Part::Name(rest[..end].to_owned()));
                end
            } else if let Some(mark) = MARKS.iter().find(|m| rest.starts_with(**m)) {
                parts.push(Part::Mark(mark));
                mark.len()
            } else {
                return unknown(format!("{c:?} in an expression"));
            };
            rest = rest[length..].trim_start();
        }
        Ok(Self { parts, at: 0, look })
    }

    /// The value of the whole text: a tuple if there are commas.
    pub(super) fn whole(mut self) -> Result<Item> {
        let items = self.items(None)?;
        if self.at < self.parts.len() {
            return unknown(format!("the rest of an expression from {:?}", self.parts[self.at]));
        }
        Ok(items)
    }

    fn skip(&mut self, mark: &str) -> bool {
        let found = self.parts.get(self.at).is_some_and(|p| matches!(p, Part::Mark(m) if *m == mark));
        self.at += usize::from(found);
        found
    }

    fn skip_name(&mut self, name: &str) -> bool {
        let found = self.parts.get(self.at).is_some_and(|p| matches!(p, Part::Name(n) if n == name));
        self.at += usize::from(found);
        found
    }

    /// Values with commas, up to a closing mark, which is consumed.
    fn items(&mut self, close: Option<&str>) -> Result<Item> {
        let (mut items, mut tuple) = (Vec::new(), false);
        loop {
            if close.is_some_and(|close| self.skip(close)) {
                break;
            }
            items.push(self.choice()?);
            if self.skip(",") {
                tuple = true;
            } else if let Some(close) = close {
                if !self.skip(close) {
                    return unknown(format!("an expression without {close:?}"));
                }
                break;
            } else {
                break;
            }
        }
        Ok(if items.len() == 1 && !tuple { items.remove(0) } else { Item::List(items) })
    }

    /// `a if b else c`.
    fn choice(&mut self) -> Result<Item> {
        let value = self.either()?;
        if !self.skip_name("if") {
            return Ok(value);
        }
        let condition = self.either()?;
        if !self.skip_name("else") {
            return unknown("an if without else");
        }
        let other = self.choice()?;
        Ok(if condition.is_true() { value } else { other })
    }

    fn either(&mut self) -> Result<Item> {
        let mut value = self.both()?;
        while self.skip_name("or") {
            let other = self.both();
            if !value.is_true() {
                value = other?;
            }
        }
        Ok(value)
    }

    fn both(&mut self) -> Result<Item> {
        let mut value = self.negated()?;
        while self.skip_name("and") {
            let other = self.negated();
            if value.is_true() {
                value = other?;
            }
        }
        Ok(value)
    }

    fn negated(&mut self) -> Result<Item> {
        if self.skip_name("not") {
            return Ok(Item::Int(i64::from(!self.negated()?.is_true())));
        }
        self.comparison()
    }

    /// A chain such as `1 <= x < 3`.
    fn comparison(&mut self) -> Result<Item> {
        let mut left = self.binary(0)?;
        let mut holds = None;
        loop {
            let mark = ["==", "!=", "<=", ">=", "<", ">"].into_iter().find(|m| self.skip(m));
            let negated = mark.is_none() && self.skip_name("not");
            if mark.is_none() && !self.skip_name("in") {
                return Ok(holds.map_or(left, |h| Item::Int(i64::from(h))));
            }
            let right = self.binary(0)?;
            let result = match mark {
                Some(mark) => compare(mark, &left, &right)?,
                None => {
                    let Item::List(list) = &right else { return unknown("'in' without a list") };
                    list.contains(&left) != negated
                }
            };
            holds = Some(holds.unwrap_or(true) && result);
            left = right;
        }
    }

    fn binary(&mut self, level: usize) -> Result<Item> {
        const LEVELS: [&[&str]; 6] =
            [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "//", "/", "%"]];
        let Some(marks) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(mark) = marks.iter().find(|m| self.skip(m)) {
            let right = self.binary(level + 1)?;
            left = calculate(mark, &left, &right)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Item> {
        if self.skip("-") {
            return Ok(match self.unary()? {
                Item::Int(n) => Item::Int(-n),
                other => Item::Real(-other.real()?),
            });
        }
        if self.skip("+") {
            return self.unary();
        }
        if self.skip("~") {
            return match self.unary()? {
                Item::Int(n) => Ok(Item::Int(!n)),
                _ => unknown("~ of something that is no whole number"),
            };
        }
        let value = self.primary()?;
        if self.skip("**") {
            if let (Item::Int(base), Item::Int(exponent)) = (&value, self.unary()?)
                && let Some(power) = u32::try_from(exponent).ok().and_then(|e| base.checked_pow(e))
            {
                return Ok(Item::Int(power));
            }
            return unknown("a power that is no whole number");
        }
        Ok(value)
    }

    fn primary(&mut self) -> Result<Item> {
        let Some(part) = self.parts.get(self.at).cloned() else { return unknown("an incomplete expression") };
        self.at += 1;
        match part {
            Part::Item(item) => Ok(item),
            Part::Mark("(") => self.items(Some(")")),
            Part::Mark("[") => Ok(match self.items(Some("]"))? {
                Item::List(list) => Item::List(list),
                one => Item::List(vec![one]),
            }),
            Part::Name(name) if self.skip("(") => {
                let arguments = match self.items(Some(")"))? {
                    Item::List(list) => list,
                    one => vec![one],
                };
                function(&name, arguments)
            }
            Part::Name(name) => match &*name {
                "True" => Ok(Item::Int(1)),
                "False" => Ok(Item::Int(0)),
                _ => (self.look)(&name).map_or_else(|| unknown(format!("the name {name:?}")), Ok),
            },
            Part::Mark(mark) => unknown(format!("{mark:?} where a value is expected")),
        }
    }
}

fn number(text: &str) -> Result<(Item, usize)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).unwrap_or(text.len());
    let digits = &text[..end];
    let item = match digits.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok().map(Item::Int),
        None => digits.parse().ok().map(Item::Int).or_else(|| digits.parse().ok().map(Item::Real)),
    };
    item.map_or_else(|| unknown(format!("the number {digits:?}")), |item| Ok((item, end)))
}

fn compare(mark: &str, left: &Item, right: &Item) -> Result<bool> {
    use core::cmp::Ordering::{Equal, Greater, Less};
    let order = match (left, right) {
        (Item::Int(a), Item::Int(b)) => a.cmp(b),
        (Item::Text(a), Item::Text(b)) => a.cmp(b),
        (Item::List(_), Item::List(_)) if mark == "==" || mark == "!=" => {
            return Ok((left == right) == (mark == "=="));
        }
        _ => left.real()?.total_cmp(&right.real()?),
    };
    Ok(match mark {
        "==" => order == Equal,
        "!=" => order != Equal,
        "<=" => order != Greater,
        ">=" => order != Less,
        "<" => order == Less,
        _ => order == Greater,
    })
}

fn calculate(mark: &str, left: &Item, right: &Item) -> Result<Item> {
    match (left, right) {
        (Item::Text(format), _) if mark == "%" => return fill(format, right),
        (Item::Text(a), Item::Text(b)) if mark == "+" => return Ok(Item::Text(format!("{a}{b}"))),
        (Item::Int(a), Item::Int(b)) if mark != "/" => {
            let shift = || u32::try_from(*b).ok();
            let result = match mark {
                "|" => Some(a | b),
                "^" => Some(a ^ b),
                "&" => Some(a & b),
                "<<" => shift().and_then(|s| a.checked_shl(s)),
                ">>" => shift().and_then(|s| a.checked_shr(s)),
                "+" => a.checked_add(*b),
                "-" => a.checked_sub(*b),
                "*" => a.checked_mul(*b),
                "//" => a.checked_div(*b).map(|q| q - i64::from(a % b != 0 && (a % b < 0) != (*b < 0))),
                _ => a.checked_rem(*b).map(|r| if r != 0 && (r < 0) != (*b < 0) { r + b } else { r }),
            };
            return result.map_or_else(|| unknown(format!("{a} {mark} {b}")), |n| Ok(Item::Int(n)));
        }
        _ => {}
    }
    let (a, b) = (left.real()?, right.real()?);
    Ok(Item::Real(match mark {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" if b != 0.0 => a / b,
        _ => return unknown(format!("{a} {mark} {b}")),
    }))
}

/// Python's `format % values`.
fn fill(format: &str, values: &Item) -> Result<Item> {
    let one = [values.clone()];
    let mut values = match values {
        Item::List(list) => list.iter(),
        _ => one.iter(),
    };
    let (mut text, mut rest) = (String::new(), format);
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            text.push('%');
            rest = after;
            continue;
        }
        let Some(kind) = rest.find(|c: char| c.is_alphabetic()) else { return unknown("a format") };
        let Some(value) = values.next() else { return unknown("a format with too few values") };
        text.push_str(&value.show());
        rest = &rest[kind + 1..];
    }
    Ok(Item::Text(text + rest))
}

fn function(name: &str, arguments: Vec<Item>) -> Result<Item> {
    let list = match arguments.as_slice() {
        [Item::List(list)] => list.clone(),
        _ => arguments,
    };
    let pick = |least: bool| {
        let mut best: Option<Item> = None;
        for item in &list {
            let better = match &best {
                None => true,
                Some(best) => compare(if least { "<" } else { ">" }, item, best)?,
            };
            if better {
                best = Some(item.clone());
            }
        }
        best.map_or_else(|| unknown(format!("{name} of nothing")), Ok)
    };
    match (name, list.as_slice()) {
        ("min", _) => pick(true),
        ("max", _) => pick(false),
        ("abs", [Item::Int(n)]) => Ok(Item::Int(n.abs())),
        ("abs", [other]) => Ok(Item::Real(other.real()?.abs())),
        ("int", [Item::Int(n)]) => Ok(Item::Int(*n)),
        ("int", [Item::Real(x)]) => Ok(Item::Int(x.trunc() as i64)),
        ("str", [item]) => Ok(Item::Text(item.show())),
        _ => unknown(format!("the function {name:?}")),
    }
}
