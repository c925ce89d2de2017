//! Tables of figures as CSV with comments, for the tests of controllers.

/// The rows of a table, its head first, without lines that begin with `#`.
pub(crate) fn rows(table: &str) -> impl Iterator<Item = Vec<String>> {
    table.lines().filter(|line| !line.starts_with('#')).map(fields)
}

/// The fields of a line; a field in quotes may have commas.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => fields.last_mut().expect("there is one").push(character),
        }
    }
    fields
}

#[test]
fn a_field_in_quotes_may_have_commas() {
    assert_eq!(rows("# a comment\na,\"b, c\",d").collect::<Vec<_>>(), [["a", "b, c", "d"]]);
}
