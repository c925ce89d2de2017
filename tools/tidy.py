"""Fail on obstacles for a reader that no other checker finds.

- a Rust or Python function longer than 70 lines, a source file longer than 800;
- unfinished work: `FIXME`, `XXX`, `todo!`, `unimplemented!`, `NotImplementedError`, tests ignored
  without a reason;
- a wall clock, a hash-ordered collection or a foreign source of randomness in an algorithm crate
  (its benches and tests may measure);
- `unwrap()` outside tests; `unsafe` outside of `crates/live/src/linux` and `crates/guest/src/linux`;
- tabs, trailing blanks, a missing newline at the end;
- in comments and pages, paths of files that do not exist, between backquotes.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import filter as matching
from pathlib import Path

FUNCTION_LINES = 70
FILE_LINES = 800

ALGORITHM_CRATES = ("core", "net", "transport", "radio", "ran", "middlebox", "traffic", "wire")

UNDONE = re.compile(
    r"\bFIXME\b|\bXXX\b|\btodo!\(|\bunimplemented!\(|\bNotImplementedError\b|#\[ignore\]|pytest\.mark\.(?:skip|xfail)\b"
)
WALL_CLOCK = re.compile(r"\bstd::time\b|\bSystemTime\b|\bHashMap\b|\bHashSet\b|\bthread_rng\b|\brand::")
UNWRAP = re.compile(r"\.unwrap\(\)")
MAY_BE_UNSAFE = ("crates/live/src/linux/", "crates/guest/src/linux/")
"""Processes, devices and file descriptors."""
UNSAFE = re.compile(r"\bunsafe\s*(?:\{|fn\b|impl\b)")
RUST_FUNCTION = re.compile(
    r"^(\s*)(?:pub(?:\([^)]*\))?\s+)?(?:const\s+|async\s+|extern\s+\"C\"\s+)*fn\s+(\w+)"
)
PATH = re.compile(
    r"`((?:crates|docs|python)/[\w./-]+|(?:examples|playground|scenarios|tests|tools)/[\w./-]+\.\w+)`"
)
"""A path in the repository, or in the crate of the file; `NAME` in it means any name."""
MAY_NAME_OTHERS = ("CHANGELOG.md", "tests/test_tools.py")
"""History, and examples."""


def listed(root: Path) -> list[str]:
    """The names of all files, tracked and new."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    return [name for name in names.splitlines() if (root / name).is_file()]


def rust_functions(lines: list[str]) -> Iterator[tuple[int, str, int]]:
    """(line, name, length) of each function, which ends at a brace in the column of its first line."""
    for number, line in enumerate(lines):
        match = RUST_FUNCTION.match(line)
        if not match:
            continue
        close = f"{match[1]}}}"
        for end in range(number, len(lines)):
            if lines[end].rstrip().endswith(";") and end == number:
                break  # a signature without a body
            if lines[end].rstrip() == close or (end == number and lines[end].rstrip().endswith("}")):
                yield number + 1, match[2], end - number + 1
                break


def python_functions(text: str) -> Iterator[tuple[int, str, int]]:
    """(line, name, length) of each function."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            yield node.lineno, node.name, node.end_lineno - node.lineno + 1


def is_test(path: Path) -> bool:
    """Whether a Rust file contains only tests."""
    return (
        path.name == "tests.rs"
        or "tests" in path.parts
        or "benches" in path.parts
        or "examples" in path.parts
    )


def rust_complaints(path: Path, name: str, lines: list[str]) -> Iterator[str]:
    """Check the rules that apply to Rust files only."""
    parts = path.parts
    algorithm = "crates" in parts and parts[parts.index("crates") + 1] in ALGORITHM_CRATES
    testing = is_test(path)
    for number, line in enumerate(lines, 1):
        testing = testing or line.strip() == "#[cfg(test)]"
        code = line.split("//", 1)[0]
        if algorithm and not is_test(path) and WALL_CLOCK.search(code):
            yield f"{name}:{number}: no clock, hash order or foreign randomness in an algorithm crate"
        if not testing and UNWRAP.search(code):
            yield f"{name}:{number}: unwrap() outside tests; say with expect() why it cannot fail"
        if UNSAFE.search(code) and not name.startswith(MAY_BE_UNSAFE):
            yield f"{name}:{number}: unsafe"


def complaints(root: Path, path: Path) -> Iterator[str]:
    """One sentence for each defect of a file."""
    name = str(path.relative_to(root))
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    if len(lines) > FILE_LINES:
        yield f"{name}: {len(lines)} lines; a file is one idea, split it before {FILE_LINES}"
    if text and not text.endswith("\n"):
        yield f"{name}: no newline at the end"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip() or "\t" in line:
            yield f"{name}:{number}: a tab, or blanks at the end of the line"
        if path.name != "tidy.py" and UNDONE.search(line):
            yield f"{name}:{number}: left undone: {line.strip()}"
    if path.suffix == ".rs":
        yield from rust_complaints(path.relative_to(root), name, lines)
        functions = rust_functions(lines)
    elif path.suffix == ".py":
        functions = python_functions(text)
    else:
        return
    for line_number, function, length in functions:
        if length > FUNCTION_LINES:
            yield f"{name}:{line_number}: {function} has {length} lines, {FUNCTION_LINES} fit a screen"


def missing_paths(root: Path, name: str, names: list[str]) -> Iterator[str]:
    """One sentence for each path that names no file or folder."""
    crate = root.joinpath(*Path(name).parts[:2])
    for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
        for path in PATH.findall(line):
            exists = (root / path).exists() or (crate / path).exists()
            if not exists and not ("NAME" in path and matching(names, path.replace("NAME", "*"))):
                yield f"{name}:{number}: there is no {path}"


def main() -> int:
    """Check the checkout."""
    root = Path(__file__).resolve().parent.parent
    names = listed(root)
    files = [root / name for name in names if name.endswith((".rs", ".py", ".pyi", ".sh"))]
    found = [c for path in files for c in complaints(root, path)]
    for name in names:
        if name.endswith((".md", ".rs", ".py")) and name not in MAY_NAME_OTHERS:
            found += missing_paths(root, name, names)
    for complaint in found:
        print(complaint)
    if not found:
        print(f"{len(files)} files, nothing to stumble over")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
