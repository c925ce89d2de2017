//! Defaults, which are merged into the user's text.
//!
//! A file of defaults looks like a file of settings, with two differences. A table such as `[cell]` applies to each
//! `[[cell]]`. A table whose key is a condition, such as `[cell.rlc."mode=am"]`, applies only if that key has that
//! value, so each choice has its own defaults. The user's text always has precedence.

use crate::tree::{Table, Tree, Value};

/// Names of tag keys, for a default table without conditions.
const TAGS: [&str; 3] = ["kind", "mode", "model"];

/// A file of defaults. Its lines are not kept, for they are not lines of the user's file.
///
/// # Panics
/// If it is not TOML.
#[must_use]
pub fn defaults(text: &str) -> Tree {
    let mut defaults = Tree::from_toml(text).expect("files of defaults are TOML");
    strip_lines(&mut defaults);
    defaults
}

/// Removes the lines of a preset file, which are not lines of the user's file.
fn strip_lines(tree: &mut Tree) {
    tree.line = 0;
    match &mut tree.value {
        Value::Table(entries) => entries.iter_mut().for_each(|(_, v)| strip_lines(v)),
        Value::Array(items) => items.iter_mut().for_each(strip_lines),
        _ => {}
    }
}

/// Adds the keys of `defaults` that a table lacks. A table of defaults applies to each entry of a list.
///
/// `only_if_written(key, table)` tells which keys a table does not get from defaults as a whole: if the user writes
/// one, it gets the defaults below it.
pub fn merge(user: &mut Tree, defaults: &Tree, only_if_written: &dyn Fn(&str, &Table) -> bool) {
    let Value::Table(entries) = &defaults.value else { return };
    match &mut user.value {
        Value::Array(items) => {
            for item in items.iter_mut().filter(|item| matches!(item.value, Value::Table(_))) {
                merge(item, defaults, only_if_written);
            }
        }
        Value::Text(_) => {
            expand_bare_name(user, entries);
            merge(user, defaults, only_if_written);
        }
        Value::Table(table) => {
            name_the_tag(table, entries);
            for (key, default) in entries.iter().filter(|(key, _)| condition(key).is_none()) {
                merge_entry(table, key, default, only_if_written);
            }
            for (key, conditional) in entries {
                let Some((tag, wanted)) = condition(key) else { continue };
                if user.get(tag).and_then(Tree::text) == Some(wanted) {
                    merge(user, conditional, only_if_written);
                }
            }
        }
        // A wrong type, reported when the scenario is read.
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) => {}
    }
}

fn merge_entry(table: &mut Table, key: &str, default: &Tree, only_if_written: &dyn Fn(&str, &Table) -> bool) {
    let nested = matches!(default.value, Value::Table(_));
    match table.iter().position(|(k, _)| k == key) {
        Some(index) if nested => merge(&mut table[index].1, default, only_if_written),
        Some(_) => {}
        None if only_if_written(key, table) => {}
        None if nested => {
            let mut value = Tree::unplaced(Value::Table(Table::new()));
            merge(&mut value, default, only_if_written);
            // Defaults of a choice that was not made are dropped.
            if !value.is_empty() {
                table.push((key.to_owned(), value));
            }
        }
        None => table.push((key.to_owned(), default.clone())),
    }
}

/// Splits a conditional key, `mode=am`, into key and value.
fn condition(key: &str) -> Option<(&str, &str)> {
    key.split_once('=')
}

/// The key that distinguishes the variants of a choice, from its default table.
fn tag_of(defaults: &Table) -> Option<&str> {
    let by_condition = defaults.iter().find_map(|(key, _)| condition(key).map(|(tag, _)| tag));
    by_condition.or_else(|| TAGS.into_iter().find(|tag| defaults.iter().any(|(key, _)| key == tag)))
}

/// `"friis"` becomes `{ kind = "friis" }`.
fn expand_bare_name(user: &mut Tree, defaults: &Table) {
    let tag = tag_of(defaults).unwrap_or(TAGS[0]).to_owned();
    let name = core::mem::replace(&mut user.value, Value::Null);
    user.value = Value::Table(vec![(tag, Tree { value: name, line: user.line })]);
}

/// An override of a setting below a bare name left the name under an empty key: renames that key to
/// the tag.
fn name_the_tag(table: &mut Table, defaults: &Table) {
    if let Some((key, _)) = table.iter_mut().find(|(key, _)| key.is_empty()) {
        tag_of(defaults).unwrap_or(TAGS[0]).clone_into(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(user: &str, defaults: &str) -> String {
        let mut user = Tree::from_toml(user).unwrap();
        merge(&mut user, &Tree::from_toml(defaults).unwrap(), &|key, _| key == "cell");
        show_all(&mut user);
        user.written()
    }

    /// Gives a line to all tables, since only tables with a line are printed.
    fn show_all(tree: &mut Tree) {
        tree.line = 1;
        match &mut tree.value {
            Value::Table(entries) => entries.iter_mut().for_each(|(_, v)| show_all(v)),
            Value::Array(items) => items.iter_mut().for_each(show_all),
            _ => {}
        }
    }

    #[test]
    fn what_the_user_wrote_wins() {
        assert_eq!(
            merged("a = 1\n[t]\nx = 2", "a = 5\nb = 6\n[t]\nx = 7\ny = 8"),
            "{ a = 1, t = { x = 2, y = 8 }, b = 6 }"
        );
        assert_eq!(merged("[[cell]]\nn = 1\n[[cell]]", "[cell]\nn = 3"), "{ cell = [{ n = 1 }, { n = 3 }] }");
        assert_eq!(merged("", "[cell]\nn = 3"), "{  }");
    }

    #[test]
    fn each_choice_has_its_own_defaults() {
        let defaults = "[r]\nmode = \"am\"\n[r.\"mode=am\"]\npoll = 1\n[r.\"mode=um\"]\nreorder = 2\n";
        assert_eq!(merged("", defaults), r#"{ r = { mode = "am", poll = 1 } }"#);
        assert_eq!(merged("r = \"um\"", defaults), r#"{ r = { mode = "um", reorder = 2 } }"#);
        assert_eq!(
            merged("r = { mode = \"um\", reorder = 9 }", defaults),
            r#"{ r = { mode = "um", reorder = 9 } }"#
        );
        assert_eq!(merged("r = { \"\" = \"um\" }", defaults), r#"{ r = { mode = "um", reorder = 2 } }"#);
    }
}
