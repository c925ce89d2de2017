"""Notes of the readers of recordings and movements: in results, their folder, and on the terminal."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

import airlane
from airlane.commands.main import app
from airlane.results import Results

_SCENARIO = """
[run]
duration = "3 s"
[[cell]]
name = "a"
[[ue]]
name = "phone"
mobility = { kind = "trace", file = "way.tcl", node = 4 }
[[flow]]
name = "web"
to = "phone"
app = { kind = "web", pages = "two.har", visits = "in-order" }
"""
_WAY = '$node_(4) set X_ 90 # start\n$node_(4) set Y_ 5\n$ns_ at 9 "$node_(4) reset"\n'


def _entry(second: int, url: str, **response: object) -> dict[str, object]:
    return {
        "startedDateTime": f"2025-02-03T08:00:0{second}Z",
        "request": {"url": url},
        "response": {"status": 200, "content": {"size": 700}} | response,
        "timings": {"wait": 30, "receive": 5},
    }


def _folder(folder: Path) -> Path:
    entries = [
        _entry(0, "https://x.example/", _transferSize=4_300),
        _entry(1, "https://x.example/logo.svg", _transferSize=0),
        _entry(2, "data:text/css,a"),
    ]
    pages = [{"id": "1", "title": "two", "startedDateTime": "2025-02-03T08:00:00Z"}]
    (folder / "two.har").write_text(json.dumps({"log": {"pages": pages, "entries": entries}}))
    (folder / "way.tcl").write_text(_WAY)
    (folder / "s.toml").write_text(_SCENARIO)
    return folder / "s.toml"


def _expected(folder: Path) -> tuple[str, ...]:
    pages = "left out 1 from the cache, 1 not of HTTP; kept 1 of no page, with the page that was being loaded"
    return (
        f"{folder}/two.har: read 3 entries: {pages}",
        f"{folder}/way.tcl: read 1 node: skipped 1 other statement (1 `reset`)",
    )


def test_results_have_the_notes_of_their_files(tmp_path: Path) -> None:
    results = airlane.load(_folder(tmp_path)).run()
    assert results.notes == _expected(tmp_path)
    page = results.pages.to_pylist()[0]
    assert (page["page"], page["objects"], page["bytes"]) == ("two", 1, 4_300)


def test_the_command_prints_and_keeps_them(tmp_path: Path) -> None:
    command = ["run", str(_folder(tmp_path)), "-o", str(tmp_path / "out")]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    plain = " ".join(shown.stdout.split())
    assert "read 3 entries: left out 1 from the cache, 1 not of HTTP" in plain
    assert "read 1 node: skipped 1 other statement (1 `reset`)" in plain
    assert Results.read(tmp_path / "out").notes == _expected(tmp_path)
    as_json = CliRunner().invoke(app, [*command, "--json"])
    assert json.loads(as_json.stdout)[0]["flow"] == "web", "JSON only"
    assert as_json.stderr.splitlines() == list(_expected(tmp_path))


def test_a_run_without_such_files_has_no_notes(tmp_path: Path) -> None:
    scenario = airlane.loads(_SCENARIO).set(
        {"flow.0.app.pages": "2011", "ue.0.mobility": "static", "ue.0.position": ["90 m", "5 m"]}
    )
    results = scenario.run()
    assert results.notes == ()
    results.write(tmp_path / "out", scenario.resolved)
    assert "notes" not in json.loads((tmp_path / "out" / "manifest.json").read_text())
