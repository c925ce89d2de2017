//! A scenario as its author wrote it, with overrides, before it becomes a [`Resolved`] one.

use std::path::Path;

use airlane_settings::{TEXT_MAX, Table, Tree, Value, nearest_help, read};

use crate::ScenarioError;
use crate::bandwidth;
use crate::check;
use crate::files::Files;
use crate::format::Resolved;
use crate::layout;
use crate::map::{self, Source};
use crate::preset;

/// A scenario as written.
///
/// ```
/// let text = r#"
/// network = "wired"
/// [internet]
/// rate = "10 Mbit/s"
/// delay = "20 ms"
/// [[flow]]
/// app = "bulk"
/// "#;
/// let mut scenario = airlane_scenario::Scenario::parse(text, "example.toml")?;
/// scenario.set("flow.0.transport.congestion", &"newreno".into())?;
/// let resolved = scenario.resolve()?;
/// assert_eq!(resolved.internet.rate.to_string(), "10 Mbit/s");
/// # Ok::<(), airlane_scenario::ScenarioError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scenario {
    tree: Tree,
    file: String,
    files: Files,
}

impl Scenario {
    /// Parses TOML. `file` is its name in errors; files named inside are relative to its folder.
    ///
    /// # Errors
    /// If the text is not TOML.
    pub fn parse(text: &str, file: &str) -> Result<Self, ScenarioError> {
        if text.len() > TEXT_MAX {
            let error = ScenarioError::new(
                "",
                "the file is longer than 16 MiB",
                "check that this is a scenario file",
            );
            return Err(error.in_file(file));
        }
        let tree = Tree::from_toml(text).map_err(|e| e.in_file(file))?;
        Ok(Self { tree, file: file.to_owned(), files: Files::Disk })
    }

    /// The same scenario, with a given source of the files that it names.
    #[must_use]
    pub fn with_files(self, files: Files) -> Self {
        Self { files, ..self }
    }

    /// Replaces or adds the value at a dotted path, such as `run.duration`, `ue.0.count`,
    /// `ue.phone.count` or `ue[name=phone].count`.
    ///
    /// # Errors
    /// If the path does not exist.
    pub fn set(&mut self, path: &str, value: &serde_json::Value) -> Result<(), ScenarioError> {
        let mut tree = &mut self.tree;
        let steps = steps(path).map_err(|e| e.in_file(&self.file))?;
        for (i, step) in steps.iter().enumerate() {
            let so_far = steps[..i].join(".");
            tree = descend(tree, step, &so_far, path).map_err(|e| e.in_file(&self.file))?;
        }
        *tree = Tree::from_json(value);
        Ok(())
    }

    /// Fills in the presets and makes all checks.
    ///
    /// # Errors
    /// The first error, with its key, line, value and the correct form.
    pub fn resolve(&self) -> Result<Resolved, ScenarioError> {
        // The error may be in a file that the scenario names.
        self.resolve_unplaced().map_err(|e| if e.file.is_empty() { e.in_file(&self.file) } else { e })
    }

    fn resolve_unplaced(&self) -> Result<Resolved, ScenarioError> {
        if self.tree.is_empty() {
            let help = "`airlane init` writes a first scenario";
            return Err(ScenarioError::new("", "the file is empty", help));
        }
        let mut tree = self.tree.clone();
        let network = network(&tree)?.to_owned();
        if network == "wired" {
            check::wired(&tree)?;
        }
        let folder = Path::new(&self.file).parent().unwrap_or(Path::new(""));
        let source = Source { files: &self.files, folder };
        let origin = layout::expand(&mut tree, source)?;
        map::place(&mut tree, origin, source)?;
        preset::fill(&mut tree, &network);
        bandwidth::replace(&mut tree, &network)?;
        if let Value::Table(table) = &mut tree.value {
            for list in preset::LISTS {
                if !table.iter().any(|(key, _)| key == list) {
                    table.push((list.to_owned(), Tree::unplaced(Value::Array(Vec::new()))));
                }
            }
            if !table.iter().any(|(key, _)| key == "network") {
                table.push(("network".to_owned(), Tree::unplaced(Value::Text(network))));
            }
        }
        let mut resolved: Resolved = read(&tree)?;
        check::check(&resolved, &tree)?;
        check::locate(&mut resolved, &tree, &self.file, &self.files)?;
        Ok(resolved)
    }
}

impl Resolved {
    /// All values as JSON, which is itself a scenario that resolves to itself.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("the format has texts as keys only")
    }

    /// Parses the output of [`Resolved::to_json`], as results and flight records store it, and checks it.
    ///
    /// # Errors
    /// If it is not a complete and valid scenario.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let file = "<resolved scenario>";
        let json = serde_json::from_str(text).map_err(|e| {
            let mut error =
                ScenarioError::new("", format!("not JSON: {e}"), "pass the JSON that `to_json` returned");
            error.line = u32::try_from(e.line()).ok();
            error.in_file(file)
        })?;
        let tree = Tree::from_json(&json);
        let resolved: Self = read(&tree).map_err(|e| e.in_file(file))?;
        check::check(&resolved, &tree).map_err(|e| e.in_file(file))?;
        Ok(resolved)
    }
}

/// The name of the network, which selects its preset.
fn network(tree: &Tree) -> Result<&str, ScenarioError> {
    let Some(network) = tree.get("network") else { return Ok("typical") };
    let fail = |message: String, help: String| {
        let mut error = ScenarioError::new("network", message, help);
        error.value = network.written().into();
        error.line = network.line_in_file();
        error
    };
    let Some(name) = network.text() else {
        return Err(fail(
            format!("wrong type: found {}", network.kind()),
            "expected a string in quotes, such as \"typical\"".to_owned(),
        ));
    };
    if !preset::NETWORKS.contains(&name) {
        let help = nearest_help(name, &preset::NETWORKS);
        return Err(fail(format!("unknown network {name:?}"), help));
    }
    Ok(name)
}

/// Splits a path at its points; `ue[name=x]` is `ue` and `x`.
fn steps(path: &str) -> Result<Vec<String>, ScenarioError> {
    let bad =
        || ScenarioError::new(path, "not a valid path", "write keys separated by dots, such as ue.0.count");
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (key, name) = match part.split_once("[name=") {
            Some((key, rest)) => (key, Some(rest.strip_suffix(']').ok_or_else(bad)?)),
            None => (part, None),
        };
        if key.is_empty() {
            return Err(bad());
        }
        steps.push(key.to_owned());
        steps.extend(name.map(str::to_owned));
    }
    Ok(steps)
}

/// One step down the path; creates what does not exist.
fn descend<'a>(
    tree: &'a mut Tree,
    step: &str,
    so_far: &str,
    path: &str,
) -> Result<&'a mut Tree, ScenarioError> {
    let fail = |message: String, help: String| Err(ScenarioError::new(path, message, help));
    if let Value::Text(_) = tree.value {
        // A bare name such as "pf" becomes the tag of the new table; the presets contain the name
        // of its key.
        let name = core::mem::replace(&mut tree.value, Value::Null);
        tree.value = Value::Table(vec![(String::new(), Tree { value: name, line: tree.line })]);
    }
    let kind = tree.kind();
    match &mut tree.value {
        Value::Table(table) => Ok(entry(table, step, so_far.is_empty())),
        Value::Array(items) => {
            let names: Vec<_> =
                items.iter().filter_map(|i| i.get("name")?.text().map(str::to_owned)).collect();
            let by_name = || items.iter().position(|i| i.get("name").and_then(Tree::text) == Some(step));
            let Some(index) = step.parse::<usize>().ok().or_else(by_name) else {
                let names: Vec<_> = names.iter().map(String::as_str).collect();
                return fail(format!("{so_far} has no entry {step:?}"), nearest_help(step, &names));
            };
            let count = items.len();
            if index > count {
                let help = format!("the index of a new entry is {so_far}.{count}");
                return fail(format!("{so_far} has {count} entries"), help);
            }
            if index == count {
                items.push(Tree::unplaced(Value::Table(Table::new())));
            }
            Ok(&mut items[index])
        }
        _ => fail(format!("{so_far} is {kind} and has no key {step:?}"), String::new()),
    }
}

fn entry<'a>(table: &'a mut Table, key: &str, top: bool) -> &'a mut Tree {
    if let Some(index) = table.iter().position(|(k, _)| k == key) {
        return &mut table[index].1;
    }
    let empty = if top && preset::LISTS.contains(&key) {
        Value::Array(Vec::new())
    } else {
        Value::Table(Table::new())
    };
    table.push((key.to_owned(), Tree::unplaced(empty)));
    &mut table.last_mut().expect("just pushed").1
}
