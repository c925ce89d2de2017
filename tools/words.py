"""Check texts: words that airlane does not use, and the width of the manual's lines.

`tools/words.toml` lists the files, the words with what to write instead, and the width. Fenced blocks, code
between backquotes and the targets of links are not read. Of source files, strings are read: messages, titles,
notes. The descriptions of keys, which are comments of Rust, are read too. A failure says what to write.
"""

import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

LIST = Path(__file__).resolve().parent / "words.toml"
_STRING = r'"(?:[^"\\]|\\.)*"'
_UNREAD_RUST = rf"//[^\n]*|(?:expect\(|reason = |unreachable!\(|assert\w*!\()\s*{_STRING}|'\\?\"'"
STRING = re.compile(rf"{_UNREAD_RUST}|(?P<read>{_STRING})", re.DOTALL)
DESCRIPTION = re.compile(rf"(?P<read>///[^\n]*)|{_UNREAD_RUST}|(?:{_STRING})", re.DOTALL)
"""Parts of a Rust file, among them those that are read."""
FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
WRITTEN = re.compile(r"^<!-- bench \w+ -->$.*?^<!-- end -->$", re.DOTALL | re.MULTILINE)
"""What `make bench ARGS=--write` writes into a page."""
UNREAD = re.compile(r"``.+?``|`[^`]+`|\]\([^)]*\)|<!--.*?-->|<[^>\s][^>]*>|https?://\S+", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->")
"""Such as those that bind a number to a table: they do not count as width."""
UNWRAPPED = re.compile(r"^\s*(?:\||#|<|:::|!\[|\[[^\]]+\]:)")
"""Lines that cannot be broken: tables, headings, HTML, directives, pictures, link definitions."""


def rules(path: Path = LIST) -> dict[str, Any]:
    """The list of files, words and width."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def texts(root: Path, files: dict[str, list[str]]) -> list[Path]:
    """The files that are checked, tracked and new."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *files["include"]],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    checked = [name for name in listed if not any(fnmatch(name, pattern) for pattern in files["exclude"])]
    return [root / name for name in checked if (root / name).is_file()]


def prose(text: str) -> str:
    """The text with blanks in the place of what is not prose, so that every line keeps its number."""
    lines = []
    fence = ""
    for line in WRITTEN.sub(lambda part: re.sub(r"[^\n]", "", part[0]), text).splitlines():
        mark = FENCE.match(line)
        if fence:
            fence = "" if line.strip() == fence else fence
            lines.append("")
        elif mark:
            fence = mark[1]
            lines.append("")
        else:
            lines.append(line)
    return UNREAD.sub(lambda unread: blank(unread[0]), "\n".join(lines))


def word_complaints(name: str, text: str, words: dict[str, str]) -> Iterator[str]:
    """One sentence for each word that is not used here."""
    read = prose(text)
    for word, instead in words.items():
        across_lines = word.replace(" ", r"\s+")
        pattern = re.compile(rf"\b(?:{across_lines})\b", re.IGNORECASE)
        for found in pattern.finditer(read):
            line = read.count("\n", 0, found.start()) + 1
            said = " ".join(found[0].split())
            yield f"{name}:{line}: {said!r} is not a word of this manual; write: {instead}"


def strings(name: str, text: str, descriptions: list[str]) -> str:
    """A source file with blanks in the place of what is not read."""
    if name.endswith(".py"):
        return python_strings(text)
    if name.endswith(".rs"):
        return rust_strings(text, any(fnmatch(name, pattern) for pattern in descriptions))
    return text


def python_strings(text: str) -> str:
    """A Python file with blanks in the place of what is no string; docstrings are not read."""
    lines = [" " * len(line) for line in text.splitlines()]
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        statement = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        if token.type == tokenize.STRING and not statement:
            put(lines, token.start, token.string)
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type
    return "\n".join(lines)


def put(lines: list[str], start: tuple[int, int], string: str) -> None:
    """Put a string back into its place."""
    row, column = start
    for offset, part in enumerate(string.split("\n")):
        line = lines[row - 1 + offset]
        lines[row - 1 + offset] = line[:column] + part + line[column + len(part) :]
        column = 0


def rust_strings(text: str, descriptions: bool) -> str:
    """A Rust file with blanks in the place of what is no string, nor, if asked for, a description of a key.

    Unit tests at its end, and the reasons of `expect` and of lints, are not read.
    """
    text = text.partition("#[cfg(test)]\nmod tests {")[0]
    read = DESCRIPTION if descriptions else STRING
    out, end = [], 0
    for found in read.finditer(text):
        out += [blank(text[end : found.start()]), found[0] if found["read"] else blank(found[0])]
        end = found.end()
    return "".join(out) + blank(text[end:])


def blank(text: str) -> str:
    """As many blanks, on as many lines."""
    return re.sub(r"[^\n]", " ", text)


def width_complaints(name: str, text: str, width: int) -> Iterator[str]:
    """One sentence for each line of prose that is too long."""
    fence = ""
    for number, line in enumerate(WRITTEN.sub(lambda part: "\n" * part[0].count("\n"), text).splitlines(), 1):
        mark = FENCE.match(line)
        shown = COMMENT.sub("", line)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif mark:
            fence = mark[1]
        elif len(shown) > width and not UNWRAPPED.match(line) and breaks(shown, width):
            yield f"{name}:{number}: {len(shown)} characters; lines of prose wrap at {width}"


def breaks(line: str, width: int) -> bool:
    """Whether a line has a blank at which it could be broken: outside of code and of a link's words."""
    whole = re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)", lambda kept: re.sub(r"\s", "_", kept[0]), line)
    indent = len(whole) - len(whole.lstrip(" *+-"))
    return " " in whole[indent : width + 1]


def main() -> int:
    """Check the checkout."""
    root = LIST.parent.parent
    told = rules()
    files = texts(root, told["files"])
    found: list[str] = []
    for path in files:
        name, text = str(path.relative_to(root)), path.read_text(encoding="utf-8")
        found += word_complaints(name, text, told["words"])
        if path.suffix == ".md" and name not in told["wrap"]["exclude"]:
            found += width_complaints(name, text, told["wrap"]["width"])
    sources = texts(root, told["code"])
    for path in sources:
        name = str(path.relative_to(root))
        read = strings(name, path.read_text(encoding="utf-8"), told["code"]["descriptions"])
        found += word_complaints(name, read, told["words"] | told["messages"])
    files += sources
    print("\n".join(found) or f"{len(files)} texts, {len(told['words'])} words that are not in them")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
