//! Page sets as tables of text.

use airlane_core::Duration;
use airlane_settings::nearest_help;

use super::{
    BYTES_MAX, Described, HEAD_BYTES, HOSTS_MAX, Kind, OBJECTS_MAX, PAGES_MAX, PageSet, REQUEST_BYTES,
    WAIT_MAX_MS, assemble,
};
use crate::ScenarioError;

const COLUMNS: [&str; 9] =
    ["page", "type", "host", "request_bytes", "head_bytes", "body_bytes", "parent", "after_bytes", "wait_ms"];
const REQUIRED: [&str; 3] = ["page", "host", "body_bytes"];

type Read<T> = Result<T, ScenarioError>;

/// A line, and the names of its columns.
struct Line<'a> {
    file: &'a str,
    number: u32,
    columns: &'a [&'a str],
    cells: Vec<&'a str>,
}

impl<'a> Line<'a> {
    fn wrong<T>(&self, key: &str, message: impl Into<Box<str>>, help: impl Into<Box<str>>) -> Read<T> {
        let mut error = ScenarioError::new(key, message, help).in_file(self.file);
        error.line = Some(self.number);
        if let Some(cell) = self.cell(key) {
            error.value = format!("{:?}", cell.chars().take(80).collect::<String>()).into();
        }
        Err(error)
    }

    /// The text in a column; `None` if it is empty, or if there is no such column.
    fn cell(&self, column: &str) -> Option<&'a str> {
        let index = self.columns.iter().position(|name| *name == column)?;
        self.cells.get(index).copied().filter(|cell| !cell.is_empty())
    }

    fn text(&self, column: &str) -> Read<&'a str> {
        match self.cell(column) {
            Some(text) => Ok(text),
            None => self.wrong(column, format!("`{column}` is missing"), "each object needs one"),
        }
    }

    fn number(&self, column: &str, (least, most): (u64, u64)) -> Read<Option<u64>> {
        let Some(text) = self.cell(column) else { return Ok(None) };
        match text.parse() {
            Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => self.wrong(
                column,
                "not a valid number",
                format!("it must be a whole number from {least} to {most}"),
            ),
        }
    }
}

/// Parses a table; errors name `file`.
pub(super) fn parse(text: &str, file: &str) -> Read<PageSet> {
    let fail = |line: Option<u32>, message: String, help: String| {
        let mut error = ScenarioError::new("", message, help).in_file(file);
        error.line = line;
        Err(error)
    };
    let numbered = (1..).zip(text.lines()).map(|(number, line)| (number, line.trim()));
    let mut lines = numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let Some((at, header)) = lines.next() else {
        return fail(
            None,
            "the file has no page".to_owned(),
            format!("begin with a line of columns: {}", COLUMNS.join(",")),
        );
    };
    let columns: Vec<&str> = header.split(',').map(str::trim).collect();
    for (index, column) in columns.iter().enumerate() {
        if !COLUMNS.contains(column) {
            return fail(Some(at), format!("unknown column `{column}`"), nearest_help(column, &COLUMNS));
        }
        if columns[..index].contains(column) {
            return fail(
                Some(at),
                format!("the column `{column}` is listed twice"),
                "list each column once".to_owned(),
            );
        }
    }
    if let Some(missing) = REQUIRED.iter().find(|column| !columns.contains(column)) {
        return fail(
            Some(at),
            format!("the column `{missing}` is missing"),
            format!("add it to the first line: {header:?}"),
        );
    }
    let mut pages: Vec<(String, Vec<Described>)> = Vec::new();
    for (number, line) in lines {
        let line = Line { file, number, columns: &columns, cells: line.split(',').map(str::trim).collect() };
        if line.cells.len() != columns.len() {
            let help = format!("expected {}: {header}", columns.len());
            return line.wrong("", format!("the line has {} columns", line.cells.len()), help);
        }
        add(&mut pages, &line)?;
    }
    if pages.is_empty() {
        return fail(None, "the file has no page".to_owned(), "add a line for each object".to_owned());
    }
    match assemble(pages) {
        Some(set) => Ok(set),
        None => fail(None, "the file has too many hosts".to_owned(), format!("the limit is {HOSTS_MAX}")),
    }
}

/// Adds the object of a line to its page.
fn add(pages: &mut Vec<(String, Vec<Described>)>, line: &Line<'_>) -> Read<()> {
    let name = line.text("page")?;
    if pages.last().is_none_or(|(last, _)| last != name) {
        if pages.iter().any(|(other, _)| other == name) {
            return line.wrong(
                "page",
                "the lines of this page are not consecutive",
                "put all lines of a page together",
            );
        }
        if pages.len() == PAGES_MAX {
            return line.wrong("page", "the file has too many pages", format!("the limit is {PAGES_MAX}"));
        }
        pages.push((name.to_owned(), Vec::new()));
    }
    let objects = &mut pages.last_mut().expect("just pushed").1;
    if objects.len() == OBJECTS_MAX {
        return line.wrong("page", "the page has too many objects", format!("the limit is {OBJECTS_MAX}"));
    }
    let object = object(objects, line)?;
    objects.push(object);
    Ok(())
}

fn object(before: &[Described], line: &Line<'_>) -> Read<Described> {
    let kind = match line.cell("type") {
        None => Kind::Other,
        Some(name) => match Kind::NAMES.iter().find(|(known, _)| *known == name) {
            Some((_, kind)) => *kind,
            None => {
                let names = Kind::NAMES.map(|(name, _)| name);
                return line.wrong("type", "unknown type of object", nearest_help(name, &names));
            }
        },
    };
    let Some(body) = line.number("body_bytes", (0, BYTES_MAX))? else {
        return line.wrong("body_bytes", "`body_bytes` is missing", "each object needs a size");
    };
    let parent = line.number("parent", (0, OBJECTS_MAX as u64))?;
    if before.is_empty() && parent.is_some() {
        return line.wrong(
            "parent",
            "the first object of a page has no parent",
            "leave it empty in the first line of a page",
        );
    }
    let parent = parent.unwrap_or(0) as usize;
    let after = line.number("after_bytes", (0, BYTES_MAX))?.unwrap_or(0);
    if !before.is_empty() {
        let Some(named_by) = before.get(parent) else {
            return line.wrong(
                "parent",
                "not the number of an earlier object of the page",
                format!("it must be from 0 to {}", before.len() - 1),
            );
        };
        if after > named_by.body {
            let help = format!("it must be at most {} bytes", named_by.body);
            return line.wrong("after_bytes", format!("beyond the end of object {parent}"), help);
        }
    }
    let wait_ms = line.number("wait_ms", (0, WAIT_MAX_MS))?.unwrap_or(0);
    Ok(Described {
        host: line.text("host")?.to_owned(),
        kind,
        request: line.number("request_bytes", (1, BYTES_MAX))?.unwrap_or(REQUEST_BYTES),
        head: line.number("head_bytes", (1, BYTES_MAX))?.unwrap_or(HEAD_BYTES),
        body,
        parent,
        after,
        wait: Duration::from_millis(wait_ms),
    })
}
