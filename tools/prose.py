"""Check texts: words that airlane does not use, and the width of the manual's lines.

`tools/prose.toml` lists the files, the words with what to write instead, and the width. Fenced blocks, code
between backquotes and the targets of links are not read. Of source files, comments and docstrings are read,
and, where users see them, strings: messages, titles, notes. A failure says what to write.
"""

import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

LIST = Path(__file__).resolve().parent / "prose.toml"
_STRING = r'"(?:[^"\\]|\\.)*"'
_UNREAD_RUST = rf"//[^\n]*|(?:expect\(|reason = |unreachable!\(|assert\w*!\()\s*{_STRING}|'\\?\"'"
STRING = re.compile(rf"{_UNREAD_RUST}|(?P<read>{_STRING})", re.DOTALL)
_CHARACTER = r"'(?:\\u\{\w+\}|\\x..|\\.|[^'\\\n])'"
_RAW = r'\bb?r(?P<hashes>#*)".*?"(?P=hashes)'
REMARK = re.compile(rf"{_RAW}|{_STRING}|{_CHARACTER}|//[/!]?(?P<read>[^\n]*)", re.DOTALL)
"""Parts of a Rust file, among them those that are read."""
FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
WRITTEN = re.compile(r"^<!-- bench \w+ -->$.*?^<!-- end -->$", re.DOTALL | re.MULTILINE)
"""What `make bench ARGS=--write` writes into a page."""
_SAME = r"(?!\n[^\S\n]*\n)"
UNREAD = re.compile(
    rf"``(?:{_SAME}.)+?``|`(?:{_SAME}[^`])+`|\]\([^)]*\)|<!--.*?-->|<[^>\s](?:{_SAME}[^>])*>|https?://\S+",
    re.DOTALL,
)
"""Parts of a paragraph that are not prose."""
BLANK = r"(?: | ?\n ?)"
"""White space within a paragraph; `word_complaints` reads runs of blanks as one."""
ROLE = re.compile(r"(?<!`)(?<!` )\{(?:number|mean|ratio)\}`[^`]*`")
"""A number of docs/results: the name of its cell does not count as width."""
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
    read = re.sub(r"[^\S\n]+", " ", prose(text))
    if not pattern_of("|".join(words)).search(read):
        return
    for word, instead in words.items():
        for found in pattern_of(word).finditer(read):
            line = read.count("\n", 0, found.start()) + 1
            said = " ".join(found[0].split())
            yield f"{name}:{line}: {said!r} is not used here; write: {instead}"


@cache
def pattern_of(word: str) -> re.Pattern[str]:
    """The pattern of a word, or of several between bars."""
    return re.compile(rf"\b(?:{word.replace(' ', BLANK)})\b", re.IGNORECASE)


def strings(name: str, text: str) -> str:
    """A source file with blanks in the place of what is not a string.

    Docstrings, Rust's unit tests at the end of a file, and the reasons of `expect` and of lints are not read.
    """
    if name.endswith(".py"):
        return python_parts(text, remarks=False)
    if name.endswith(".rs"):
        return rust_parts(text.partition("#[cfg(test)]\nmod tests {")[0], STRING)
    return text


def remarks(name: str, text: str) -> str:
    """A source file with blanks in the place of what is not a comment or docstring."""
    return python_parts(text, remarks=True) if name.endswith(".py") else rust_parts(text, REMARK)


def python_parts(text: str, *, remarks: bool) -> str:
    """A Python file with only its comments and docstrings, or only its other strings."""
    lines = [" " * len(line) for line in text.splitlines()]
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        statement = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        if token.type == tokenize.COMMENT and remarks:
            put(lines, token.start, token.string.replace("#", " ", 1))
        if token.type == tokenize.STRING and statement is remarks:
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


def rust_parts(text: str, parts: re.Pattern[str]) -> str:
    """A Rust file with blanks in the place of what the pattern does not read."""
    out, end = [], 0
    for found in parts.finditer(text):
        if found["read"]:
            out += [blank(text[end : found.start("read")]), found["read"]]
            end = found.end("read")
    return "".join(out) + blank(text[end:])


def blank(text: str) -> str:
    """As many blanks, on as many lines."""
    return re.sub(r"[^\n]", " ", text)


def width_complaints(name: str, text: str, width: int) -> Iterator[str]:
    """One sentence for each line of prose that is too long."""
    fence = ""
    for number, line in enumerate(WRITTEN.sub(lambda part: "\n" * part[0].count("\n"), text).splitlines(), 1):
        mark = FENCE.match(line)
        shown = ROLE.sub("0.00", line)
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
    words = told["words"] | told["messages"]
    for part, read, listed in (("strings", strings, words), ("comments", remarks, words | told["remarks"])):
        sources = texts(root, told[part])
        for path in sources:
            name = str(path.relative_to(root))
            found += word_complaints(name, read(name, path.read_text(encoding="utf-8")), listed)
        files += sources
    print("\n".join(found) or f"{len(set(files))} texts, {len(told['words'])} words that are not in them")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
