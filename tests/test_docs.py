"""Every example of the manual and of the README is run, and its output is compared with the text.

In the README and the tutorial the output must be the text. On other pages it must have the same form: the
same words, with any numbers, so that a result that moves changes no page. With AIRLANE_EXACT=1, as in
`.ci/nightly`, the output must be the text everywhere.

In a Markdown file, blocks mean:

- `console`: lines that begin with `$ ` are run by bash, and the lines after each are its output. A line
  `...` matches any lines, `...` inside a line any text; a run of blanks counts as one. `console fails`
  must fail, `console norun` is not run (its make targets must exist), `console slow` takes minutes and is
  run with AIRLANE_SLOW=1, as in `make readme-check`, `console tshark` where that tool is installed.
- `python`: run; all blocks of a file share their names. If the first line is a comment with a file name,
  the block is written to it. A `text` block right after one is its output. `python slow` as `console slow`.
- `toml`: written to the file that its first line names as a comment; without one, it must be a valid
  scenario.

`toml excerpt` and `python norun` are only read.

`AIRLANE_BLESS=1` writes the output into the files, also where only numbers differ; review the diff before
committing it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import airlane
from airlane import papers
from airlane.runs import json_files
from conftest import ROOT

FILES = [
    "README.md",
    "CONTRIBUTING.md",
    *(str(f.relative_to(ROOT)) for f in sorted(ROOT.glob("docs/**/*.md"))),
]
BLESS = os.environ.get("AIRLANE_BLESS") == "1"
EXACT = FILES if BLESS or os.environ.get("AIRLANE_EXACT") == "1" else ["README.md", "docs/tutorial.md"]
"""Files whose output must be the text."""
TOOLS = ("tshark",)
SLOW = os.environ.get("AIRLANE_SLOW") == "1"
NAMED = re.compile(r"# (\S+\.(?:toml|py))$")
NUMBER = re.compile(
    r"(?<![A-Za-z_\d.])[-+−]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?(?: ± ?[\d.]+(?:e[-+]?\d+)?)?|\bnan\b"
)
"""A number with its sign and its interval; digits of a name, such as `bbr3`, are none."""
VARIES = re.compile(
    r"of \S+ µs, \d+% of the run time|in \S+ s of run time: \S+ × real time|; \d+\.\d s$|\(\d+\.\d s\)$"
)


@dataclass
class Block:
    """A fenced block: its words after the fence, its text, and the file's lines of the text."""

    info: str
    text: str
    begin: int
    end: int


@dataclass
class Document:
    """A file that is being run in a folder of its own."""

    path: Path
    folder: Path
    names: dict[str, object] = field(default_factory=dict)
    edits: list[tuple[int, int, str]] = field(default_factory=list)

    def blocks(self) -> list[Block]:
        """Fenced blocks in their order."""
        tokens = MarkdownIt().parse(self.path.read_text(encoding="utf-8"))
        fences = [t for t in tokens if t.type == "fence" and t.map]
        return [Block(t.info.strip(), t.content, t.map[0] + 1, t.map[1] - 1) for t in fences if t.map]

    def run(self) -> None:
        """Run all executable blocks, and compare."""
        blocks = self.blocks()
        for i, block in enumerate(blocks):
            after = blocks[i + 1] if i + 1 < len(blocks) else None
            where = f"{self.path.relative_to(ROOT)}:{block.begin}"
            match block.info.split():
                case ["console", *how]:
                    self.console(block, where, *how)
                case ["python", *how] if how == [] or (how == ["slow"] and SLOW):
                    printed = self.python(block, where)
                    if after is not None and after.info == "text" and after.begin - block.end <= 3:
                        self.compare(after.text, printed, where, after.begin, after.end)
                case ["toml"]:
                    self.toml(block)

    def console(self, block: Block, where: str, how: str = "") -> None:
        """Run the commands of a block."""
        if (how == "slow" and not SLOW) or (how in TOOLS and shutil.which(how) is None):
            return
        for command, wanted, begin, end in commands(block):
            if how == "norun":
                for target in re.findall(r"^make ([\w-]+)", command):
                    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M), (
                        f"{where}: {target}"
                    )
                continue
            if how == "slow":
                self.keep_runs()
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=self.folder,
                env={**os.environ, "PATH": path},
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.returncode != 0) == (how == "fails"), (
                f"{where}: $ {command}\n{done.stdout}{done.stderr}"
            )
            printed = done.stdout + done.stderr
            if wanted or BLESS:
                self.compare(wanted, printed, f"{where}: $ {command}", begin, end)

    def keep_runs(self) -> None:
        """Use the runs in the cache of `make reproduce`, which are stored by scenario, seed and core."""
        kept = ROOT / "out/cache"
        kept.mkdir(parents=True, exist_ok=True)
        (self.folder / "out").mkdir(exist_ok=True)
        if not (self.folder / "out/cache").exists():
            (self.folder / "out/cache").symlink_to(kept)

    def python(self, block: Block, where: str) -> str:
        """Run a program; return its output."""
        named = NAMED.match(block.text.partition("\n")[0])
        if named:
            (self.folder / named[1]).write_text(block.text, encoding="utf-8")
            return ""
        printed = io.StringIO()
        code = compile(block.text, where, "exec")
        with contextlib.redirect_stdout(printed), contextlib.chdir(self.folder):
            sys.path.insert(0, str(self.folder))
            try:
                exec(code, self.names)
            finally:
                sys.path.remove(str(self.folder))
        return printed.getvalue()

    def toml(self, block: Block) -> None:
        """Write a scenario, and check it where it names no file."""
        named = NAMED.match(block.text.partition("\n")[0])
        if named:
            (self.folder / named[1]).write_text(block.text, encoding="utf-8")
        else:
            assert airlane.loads(block.text, str(self.path)).resolved

    def compare(self, wanted: str, printed: str, where: str, begin: int, end: int) -> None:
        """Compare, or record the text to be written."""
        printed = "\n".join(
            VARIES.sub("...", line).replace(str(ROOT), "...").rstrip() for line in printed.splitlines()
        )
        exact = str(self.path.relative_to(ROOT)) in EXACT
        if agrees(wanted, printed) if exact else agrees(masked(wanted), masked(printed)):
            return
        assert BLESS, f"{where}\n--- stands there\n{wanted}\n--- is printed\n{printed}"
        self.edits.append((begin, end, from_where_it_began(wanted, printed)))

    def bless(self) -> None:
        """Write the output into the file."""
        lines = self.path.read_text(encoding="utf-8").splitlines()
        for begin, end, printed in sorted(self.edits, reverse=True):
            lines[begin:end] = printed.splitlines()
        self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def commands(block: Block) -> Iterator[tuple[str, str, int, int]]:
    """Yield each command, its expected output, and the file's lines of the output."""
    lines = block.text.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
    for start, following in zip(starts, [*starts[1:], len(lines)], strict=True):
        last = start
        while lines[last].endswith("\\"):
            last += 1
        command = "\n".join([lines[start].removeprefix("$ "), *lines[start + 1 : last + 1]])
        output = lines[last + 1 : following]
        yield command, "\n".join(output), block.begin + last + 1, block.begin + following


def agrees(wanted: str, printed: str) -> bool:
    """Whether the output matches the text; a run of blanks counts as one, and `...` matches anything."""
    pattern = "\n".join(
        ".*?" if (words := " ".join(line.split())) == "..." else re.escape(words).replace(r"\.\.\.", "[^\n]*")
        for line in wanted.splitlines()
        if line.strip()
    )
    text = "\n".join(" ".join(line.split()) for line in printed.splitlines() if line.strip())
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def masked(text: str) -> str:
    """The text with `#` in the place of each run of numbers: a table may have empty cells."""
    return re.sub(r"#(?:[^\S\n]+#)+", "#", NUMBER.sub("#", text))


def from_where_it_began(wanted: str, printed: str) -> str:
    """The output without its first lines, if `...` stood for them."""
    lines = printed.splitlines()
    match wanted.splitlines():
        case ["...", first, *_]:
            begun = [i for i, line in enumerate(lines) if agrees(first, line)]
            return "\n".join(["...", *lines[begun[0] :]]) if begun else printed
        case _:
            return printed


@pytest.mark.parametrize("name", FILES)
def test_examples(name: str, tmp_path: Path) -> None:
    document = Document(ROOT / name, tmp_path)
    document.run()
    if document.edits:
        document.bless()


def test_agreement() -> None:
    assert agrees("a  b\n\nc", "a b\nc\n")
    assert agrees("a\n...\nd", "a\nb\nc\nd")
    assert agrees("ran in ... s", "ran in 0.3 s")
    assert not agrees("a 1", "a 2")
    assert not agrees("a", "a\nb")
    assert not agrees("1.5", "1x5")
    assert not agrees("", "a")


def test_only_words_and_the_form_count_in_a_masked_text() -> None:
    assert masked("bbr3 -1.5 ± 0.2 Mbit/s, 1,200 of 5") == masked("bbr3 12 ± 3 Mbit/s, 8 of 44")
    assert masked("a 1e-05 −3 nan") == masked("a 4 +2.5 7")
    assert masked("bbr3") != masked("bbr2")
    assert masked("1 of 2") != masked("1 in 2")
    assert masked("a  1     2\nb") == masked("a  1  0  2\nb")
    assert masked("a 1\nb 2") != masked("a 1 2")


def test_blessing_keeps_what_was_left_out_at_the_beginning() -> None:
    assert from_where_it_began("...\nb 1", "a\nb 1\nc") == "...\nb 1\nc"
    assert from_where_it_began("b 1", "a\nb 2") == "a\nb 2"
    assert from_where_it_began("...\nx", "a\nb") == "a\nb"


def test_readme_check_runs_the_quick_form_and_paper_tables_the_full_one(tmp_path: Path) -> None:
    """The README's block, the full form, is compared with the recorded results in test_results.py."""
    blocks = Document(ROOT / "docs/howto/reproduce.md", tmp_path).blocks()
    (slow,) = (block for block in blocks if block.info == "console slow")
    (shown,) = commands(slow)
    assert shown[0] == "airlane reproduce --quick"
    assert "quick form" in slow.text
    makefile = (ROOT / "Makefile").read_text()

    def recipe(target: str) -> str:
        return makefile.partition(f"\n{target}:")[2].partition("\n\n")[0]

    assert "airlane reproduce --quick $(ARGS)" in recipe("reproduce")
    assert "airlane reproduce $(ARGS)" in recipe("reproduce-full")
    assert "airlane reproduce --record docs/results/experiments $(ARGS)" in recipe("paper-tables")
    assert "AIRLANE_SLOW=1" in recipe("readme-check")
    pages = [name for name in FILES if re.search(r"^```\w+ slow$", (ROOT / name).read_text(), re.MULTILINE)]
    assert f'-k "{" or ".join(Path(name).name for name in reversed(pages))}"' in recipe("readme-check")


def test_the_readme_has_a_row_for_each_paper() -> None:
    """The last column, the results, is written by hand; a new paper's row has its reference there."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [row for row in papers.readme_rows() if f"\n{row.rsplit(' | ', 1)[0]} | " not in readme]
    if missing and BLESS:
        rows = [f"\n| `{one.name}` | " for one in papers.papers().values() if one.about]
        last = max(readme.index(row) for row in rows if row in readme)
        end = readme.index("\n", last + 1)
        (ROOT / "README.md").write_text("\n".join([readme[:end], *missing]) + readme[end:], encoding="utf-8")
    else:
        assert missing == []


def test_the_readme_gives_the_speed_ratios_that_make_bench_measured() -> None:
    rows = json_files.read(ROOT / "docs/results/bench.json")["scenarios"]
    ratios = [round(row["ratio"]) for row in rows if row["ratio"] is not None]
    wanted = f"| {min(ratios):,} to {max(ratios):,} × ns-3 |"
    assert wanted in (ROOT / "README.md").read_text(encoding="utf-8"), wanted


def test_slow_examples_take_their_runs_from_the_cache_of_make_reproduce(tmp_path: Path) -> None:
    document = Document(ROOT / "README.md", tmp_path)
    document.keep_runs()
    document.keep_runs()
    assert (tmp_path / "out/cache").resolve() == (ROOT / "out/cache").resolve()


@pytest.mark.parametrize(
    ("example", "subjects"),
    [
        ("lte-download", {"cells", "flows", "outages", "timeouts", "uplink_power"}),
        ("call", {"frames", "media_rate"}),
        ("nr-cloud-gaming", {"xr_frames"}),
        ("phones-asleep", {"energy", "pages", "rrc_connections"}),
        ("lte-ping", {"pings"}),
        ("lte-3cc", {"carriers"}),
        ("dash", {"views"}),
        ("mdcc", {"pep", "pep_series"}),
        ("arwa", {"codes"}),
        ("ltetcp-handover", {"handovers"}),
    ],
)
def test_every_column_of_a_run_is_described(example: str, subjects: set[str]) -> None:
    page = (ROOT / "docs/reference/results.md").read_text()
    settings = {"run.duration": "2 s", "run.warmup": "1 s"}
    tables = airlane.load(airlane.example(example)).set(settings).run().tables
    assert subjects <= set(tables)
    assert [c for table in tables.values() for c in table.column_names if f"`{c}`" not in page] == []
    assert all(f"`{name}`" in page for name in tables)
