"""The project's own checkers detect what they should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import edges
import prose
import tidy


def crates(**dependencies: list[str]) -> dict[str, Any]:
    """The output of `cargo metadata` for crates with these dependencies."""
    packages = [
        {"name": f"airlane-{name}", "dependencies": [{"name": f"airlane-{d}", "kind": None} for d in wanted]}
        for name, wanted in dependencies.items()
    ]
    return {"packages": packages}


def test_downward_edges_pass() -> None:
    assert edges.complaints(crates(core=[], net=["core"], ran=["core", "net"], radio=["core"])) == []


@pytest.mark.parametrize(
    ("crate", "dependency"),
    [("ran", "engine"), ("radio", "net"), ("net", "scenario"), ("engine", "scenario")],
)
def test_an_upward_edge_is_named(crate: str, dependency: str) -> None:
    found = edges.complaints(crates(core=[], **{crate: ["core", dependency], dependency: ["core"]}))
    assert f"{crate} must not depend on {dependency} (a normal dependency)" in found


def test_an_edge_for_tests_counts_too() -> None:
    metadata = crates(core=[], engine=[], ran=["engine"])
    metadata["packages"][2]["dependencies"][0]["kind"] = "dev"
    assert edges.complaints(metadata) == ["ran must not depend on engine (a dev dependency)"]


def test_a_new_crate_has_to_be_declared() -> None:
    assert edges.complaints(crates(core=[], gadget=["core"]))[0].startswith("crate 'gadget' is not in")


def test_a_package_with_other_features_in_either_build_is_compiled_twice() -> None:
    py = "airlane-py v0.1.0|\nserde v1.0.2|derive,std\nrustix v1.1.6|fs\nserde v1.0.2|derive,std (*)"
    assert edges.compiled_twice(py, "serde v1.0.2|derive,std\nrustix v1.1.6|net\nquote v1.0.0|") == []
    (sentence,) = edges.compiled_twice(py, "serde v1.0.2|std (*)")
    assert sentence.startswith("serde v1.0.2 is compiled twice: its features are ['derive,std'] in py")


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("crates/net/src/a.rs", "use std::collections::HashMap;\n", "hash order"),
        ("crates/ran/src/a.rs", "let t = std::time::Instant::now();\n", "no clock"),
        ("crates/py/src/a.rs", "let x = y.unwrap();\n", "unwrap"),
        ("crates/py/src/a.rs", "unsafe { y() }\n", "unsafe"),
        ("crates/py/src/a.rs", "fn f() { todo" + "!() }\n", "left undone"),
        ("a.py", "x = 1  \n", "blanks"),
        ("a.py", "x = 1", "no newline"),
        ("a.py", "x = 1\n" * 801, "801 lines"),
        ("a.py", "def f():\n" + "    x = 1\n" * 90, "f has 91 lines"),
        ("crates/py/src/a.rs", "fn f() {\n" + "    x();\n" * 90 + "}\n", "f has 92 lines"),
    ],
)
def test_untidy(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert any(complaint in found for found in tidy.complaints(tmp_path, path))


def test_tidy(tmp_path: Path) -> None:
    path = tmp_path / "crates/net/src/a.rs"
    path.parent.mkdir(parents=True)
    path.write_text(
        "// HashMap is banned\nfn f() {\n    x();\n}\n#[cfg(test)]\nmod tests {\n    y.unwrap();\n}\n"
    )
    assert list(tidy.complaints(tmp_path, path)) == []


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("docs/a.md", "See `docs/b.md`.\n", ["docs/a.md:1: there is no docs/b.md"]),
        ("docs/a.md", "See `docs/a.md`, `docs` and `crates/net/src/NAME.rs`.\n", []),
        ("crates/net/src/a.rs", "// `examples/b.rs` of this crate\n", []),
        ("docs/a.md", "`tests/bsd/listen`, in another repository\n", []),
    ],
)
def test_a_path_in_a_text_exists(tmp_path: Path, name: str, text: str, found: list[str]) -> None:
    names = ["docs/a.md", "crates/net/src/a.rs", "crates/net/examples/b.rs"]
    for each in names:
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each).write_text(text if each == name else "")
    assert list(tidy.missing_paths(tmp_path, name, names)) == found


@pytest.mark.parametrize(
    ("text", "line", "instead"),
    [
        ("# Title\n\nScenarios that come along.\n", 3, "is bundled"),
        ("Every mechanism is held\nagainst CUBIC.\n", 1, "is compared with"),
        ("- A figure that did\n  not survive in it.\n", 1, "is missing from our copy of the paper"),
    ],
)
def test_a_word_that_is_not_used_is_found_across_lines_with_what_to_write(
    text: str, line: int, instead: str
) -> None:
    (found,) = prose.word_complaints("a.md", text, prose.rules()["words"])
    assert found.startswith(f"a.md:{line}: ")
    assert instead in found


def test_words_in_blocks_code_and_links_are_not_read() -> None:
    text = "```text\ncomes along\n```\n\nThe key `comes along` and a [page](comes%20along.md).\n"
    assert list(prose.word_complaints("a.md", text, prose.rules()["words"])) == []


def test_what_make_bench_writes_is_not_read() -> None:
    text = "<!-- bench conditions -->\nThe peer comes along" + " and along" * 12 + ".\n<!-- end -->\n"
    assert list(prose.word_complaints("a.md", text, prose.rules()["words"])) == []
    assert list(prose.width_complaints("a.md", text, 100)) == []


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a.py", '"""It comes along."""\n# it comes along\nx = f"comes {y} along"\n', []),
        ("a.py", 'z = "comes along"\n', [1]),
        (
            "a.py",
            'def f() -> None:\n    """Comes along."""\n    g(\n        "x comes along",\n    )\n',
            [4],
        ),
        ("a.rs", '/// It comes along.\n// "comes along"\nlet x = "comes along";\n', [3]),
        ("a.rs", 'y.expect("comes along");\nlet q = \'"\';\nf("a \\" comes along");\n', [3]),
        ("a.rs", 'f();\n#[cfg(test)]\nmod tests {\n    f("comes along");\n}\n', []),
        ("a.html.j2", "<h1>It comes along</h1>\n", [1]),
    ],
)
def test_strings_of_sources_are_read(name: str, text: str, lines: list[int]) -> None:
    found = prose.word_complaints(name, prose.strings(name, text), prose.rules()["words"])
    assert [int(one.split(":")[1]) for one in found] == lines


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a.py", '"""It comes along."""\nx = "comes along"  # it comes along\n', [1, 2]),
        ("a.py", 'X = 1\n"""It comes\nalong, as `comes along` does."""\n', [2]),
        ("a.py", "# It comes\nx = f()  # along\n", [1]),
        ("a.py", "# It comes\nx = f()\n# along\n", []),
        (
            "a.rs",
            '//! It comes\n//! along.\n/// Comes along.\nlet x = "// comes along"; // comes along\n',
            [1, 3, 4],
        ),
        (
            "a.rs",
            '/// ```\n/// x(); // comes along\n/// ```\nf(r#"" // comes along"#, \'"\', "\\"//"); // x\n',
            [],
        ),
        (
            "a.rs",
            "fn f<'a>(x: &'a str) {} // comes along\n#[cfg(test)]\nmod tests {\n    // comes along\n}\n",
            [1, 4],
        ),
        ("a.rs", "// `f() and\n\n// it comes along`\n", [3]),
    ],
)
def test_comments_and_docstrings_are_read(name: str, text: str, lines: list[int]) -> None:
    found = prose.word_complaints(name, prose.remarks(name, text), prose.rules()["words"])
    assert [int(one.split(":")[1]) for one in found] == lines


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("# What a bearer sends.\n", False),
        ("# Packets. What is lost is sent again.\n", False),
        ("# This is what a bearer sends.\n", True),
        ("# Shown beside the map.\n", False),
        ('"""A case.\n\nbeside\n    The note.\n"""\n', True),
    ],
)
def test_sentences_of_comments_begin_with_a_noun(text: str, used: bool) -> None:
    found = list(prose.word_complaints("a.py", prose.remarks("a.py", text), prose.rules()["remarks"]))
    assert (not found) == used


def test_each_listed_word_matches_and_names_another() -> None:
    rules = prose.rules()
    for word, instead in (rules["words"] | rules["messages"] | rules["remarks"]).items():
        assert instead.strip()
        assert list(prose.word_complaints("a.md", instead, {word: instead})) == [], word


@pytest.mark.parametrize(
    ("line", "long"),
    [
        ("word " * 20 + "w", True),
        ("word " * 19 + "words", False),
        ("| " + "cell | " * 30, False),
        ("# " + "word " * 30, False),
        ("word {mean}`arena: row @ " + "column " * 12 + "` word", False),
        ("`" + "code " * 30 + "`", False),
        ("- see [" + "link " * 5 + "](" + "a" * 100 + ")", True),
    ],
)
def test_lines_of_prose_wrap_at_one_width(line: str, long: bool) -> None:
    assert len(list(prose.width_complaints("a.md", f"x\n{line}\n", 100))) == int(long)
    assert list(prose.width_complaints("a.md", f"```\n{line}\n```\n", 100)) == []
