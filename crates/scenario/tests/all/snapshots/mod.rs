//! Texts compared with files that `AIRLANE_BLESS=1` writes.

/// Compares, line by line, with the file of that name in this folder, or writes it.
#[track_caller]
pub(crate) fn compare(printed: &str, name: &str) {
    let path = format!("{}/tests/all/snapshots/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("AIRLANE_BLESS").is_some() {
        std::fs::write(&path, printed).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    for (ours, theirs) in printed.lines().zip(expected.lines()) {
        assert_eq!(ours, theirs, "set AIRLANE_BLESS=1 to accept");
    }
    assert_eq!(printed, expected, "set AIRLANE_BLESS=1 to accept");
}
