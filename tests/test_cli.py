"""The command from end to end: output, files, and failures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from airlane import examples
from airlane.commands import main as cli
from conftest import Airlane

SHORT = ("--set", "run.duration=4s", "--set", "run.warmup=1s")


def left_behind(folder: Path) -> list[str]:
    """Everything in a folder, including hidden files."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_run_prints_its_figures_and_writes_its_folder(
    airlane: Airlane, scenarios: Path, tmp_path: Path
) -> None:
    done = airlane("run", scenarios / "lte-download.toml", *SHORT, "-o", "here", "--plot")
    assert done.returncode == 0, done.stderr
    for word in (
        "goodput",
        "OWD",
        "p50",
        "p95",
        "p99",
        "RTT",
        "retrans",
        "outs",
        "MCS",
        "HARQ",
        "PRB use",
        "× real time",
    ):
        assert word in done.stdout
    assert left_behind(tmp_path) == [
        "here/cells.parquet",
        "here/manifest.json",
        "here/series.png",
        "here/series/cells.parquet",
        "here/series/flows.parquet",
        "here/series/outages.parquet",
        "here/series/timeouts.parquet",
        "here/series/uplink_power.parquet",
        "here/summary.csv",
        "here/summary.parquet",
    ]
    summary = pyarrow.parquet.read_table(tmp_path / "here/summary.parquet")
    assert pyarrow.csv.read_csv(tmp_path / "here/summary.csv").column_names == summary.column_names
    # 100 RB carry 75.4 Mbit/s at most; at 100 m the channel is good for most of it.
    assert 20.0 < summary["goodput_mbps"][0].as_py() < 75.4
    series = pyarrow.parquet.read_table(tmp_path / "here/series/flows.parquet")
    assert 30 <= series.num_rows <= 40  # 100 ms bins from 0.5 s to 4 s
    manifest = json.loads((tmp_path / "here/manifest.json").read_text())
    assert manifest["seeds"] == [1]
    assert manifest["scenario"]["flow"][0]["transport"]["congestion"] == "cubic"


def test_json_is_the_summary_rows(airlane: Airlane, scenarios: Path) -> None:
    done = airlane("run", scenarios / "lte-download.toml", *SHORT, "--json", "--runs", "2", "--seed", "7")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["run"], row["seed"], row["congestion"]) for row in rows] == [
        (0, 7, "cubic"),
        (1, 8, "cubic"),
    ]
    assert rows[0]["fct_s"] is None  # a bulk flow does not end
    assert rows[0]["goodput_mbps"] != rows[1]["goodput_mbps"]
    assert rows[0]["sim_s"] == 4.0
    assert rows[0]["wall_s"] > 0.0


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("resource_blocks = 100", "resource_block = 100", ("resource_block", "resource_blocks", ":")),
        ('"30 dBm"', '"30 dBx"', ("30 dBx", "dBm")),
        ('scheduler = "pf"', 'scheduler = "fair"', ("fair", "pf", "rr")),
        ('to = "phone"', 'to = "fone"', ("fone", "phone")),
        ("[run]", "[run", (":6:", "`]`")),
    ],
)
def test_a_bad_scenario_is_named_and_nothing_is_written(
    airlane: Airlane, scenarios: Path, tmp_path: Path, before: str, after: str, words: tuple[str, ...]
) -> None:
    text = (scenarios / "lte-download.toml").read_text()
    assert before in text
    (tmp_path / "bad.toml").write_text(text.replace(before, after, 1))
    done = airlane("run", "bad.toml", "-o", "here")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "bad.toml" in done.stderr
    assert len(done.stderr.splitlines()) <= 24
    for word in words:
        assert word in done.stderr
    assert left_behind(tmp_path) == ["bad.toml"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("run", "absent.toml"), "absent.toml"),
        (("run",), "--example NAME"),
        (("run", "{scenario}", "--example", "lte-udp"), "not both"),
        (("run", "--example", "lte-downlod"), "did you mean 'lte-download'"),
        (("run", "{scenario}", "--set", "nonsense"), "KEY=VALUE"),
        (("run", "{scenario}", "--set", "run.durations=3s"), "durations"),
        (("run", "{scenario}", "--runs", "0"), "--runs"),
        (("run", "{scenario}", "--threads", "0"), "--threads"),
        (("reproduce", "ltetcp/nothing"), "ltetcp/load"),
        (("report", "."), "not a result folder"),
        (("run", "{scenario}", "-o", "."), "is the current folder"),
        (("run", "{scenario}", "-o", "../.."), "is the current folder"),
        (("run", "{scenario}", "--seed", "9223372036854775807"), "too large"),
        (("arena", "--seed", "9223372036854775807"), "too large"),
        (("sweep", "{scenario}", "--grid", "run.seed=1,2", "-o", "sweep.csv"), "ends in .parquet"),
        (("list", "--folder", "nowhere"), "nowhere is not a folder"),
        (
            ("trace", "export", "--example", "two-cells"),
            "--ue is missing; there are: near-west, edge, near-east",
        ),
        (("trace", "from-log", "absent.csv", "-o", "x.trace"), "absent.csv"),
    ],
)
def test_a_users_mistake_is_exit_code_2_and_one_message(
    airlane: Airlane, scenarios: Path, tmp_path: Path, arguments: tuple[str, ...], word: str
) -> None:
    done = airlane(*(a.format(scenario=scenarios / "lte-download.toml") for a in arguments))
    assert done.returncode == 2
    assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert left_behind(tmp_path) == []


def test_a_folder_of_something_else_is_left_alone(airlane: Airlane, scenarios: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/chapter1.tex").write_text("years of work")
    done = airlane("run", scenarios / "lte-download.toml", *SHORT, "-o", "thesis")
    assert done.returncode == 2
    assert "not a result folder" in done.stderr
    assert left_behind(tmp_path) == ["thesis/chapter1.tex"]


@pytest.mark.parametrize("manifest", ['{"name": "My app"}', "[]", "{", ""])
def test_a_manifest_of_something_else_is_left_alone(
    airlane: Airlane, scenarios: Path, tmp_path: Path, manifest: str
) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app/manifest.json").write_text(manifest)
    done = airlane("run", scenarios / "lte-download.toml", *SHORT, "-o", "app")
    assert done.returncode == 2
    assert "not a result folder" in done.stderr
    assert left_behind(tmp_path) == ["app/manifest.json"]


def test_an_older_result_folder_is_replaced(airlane: Airlane, scenarios: Path, tmp_path: Path) -> None:
    for seed in ("1", "2"):
        assert (
            airlane("run", scenarios / "lte-download.toml", *SHORT, "-o", "here", "--seed", seed).returncode
            == 0
        )
    assert json.loads((tmp_path / "here/manifest.json").read_text())["seeds"] == [2]


def test_a_report_of_a_folder(airlane: Airlane, scenarios: Path, tmp_path: Path) -> None:
    assert airlane("run", scenarios / "lte-download.toml", *SHORT, "-o", "here").returncode == 0
    assert airlane("report", "here").returncode == 0
    page = (tmp_path / "here/report.html").read_text()
    assert "data:image/png;base64," in page
    assert "goodput_mbps" in page


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("manifest.json", "[]", "not a result folder"),
        ("manifest.json", '{"airlane": "0.1.0", "runs": []}', "not a result folder"),
        ("manifest.json", "[" * 100_000, "not a result folder"),
        ("summary.parquet", "PAR1", "is incomplete"),
        ("series/flows.parquet", "", "is incomplete"),
        ("cells.parquet", None, "is incomplete"),
    ],
)
def test_a_report_of_what_is_left_of_a_folder(
    airlane: Airlane, tmp_path: Path, file: str, text: str | None, words: str
) -> None:
    run = ("run", "--example", "wired-cubic", "--set", "run.duration=2s", "--set", "run.warmup=1s")
    assert airlane(*run, "-o", "here").returncode == 0
    place = tmp_path / "here" / file
    if text is None:
        place.unlink()
    else:
        place.write_text(text)
    done = airlane("report", "here")
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_schema_and_list(airlane: Airlane, scenarios: Path) -> None:
    assert "properties" in json.loads(airlane("schema").stdout)
    listed = json.loads(airlane("list", "--json", "--folder", scenarios).stdout)
    assert "ltetcp/load" in [e["id"] for e in listed["experiments"]]
    assert str(scenarios / "lte-download.toml") in [s["file"] for s in listed["scenarios"]]
    assert all(s["title"] for s in listed["scenarios"])


def test_a_trace_made_from_a_log_drives_a_link(airlane: Airlane, scenarios: Path, tmp_path: Path) -> None:
    # 2 packets of 1500 bytes every 2 ms for 2 s: 12 Mbit/s.
    rows = "".join(f"{2000 * (i + 1)},{2 * i + 1},0\n" for i in range(1000))
    (tmp_path / "log.csv").write_text("t_us,highest_ack,rtt_us\n0,-1,0\n" + rows)
    made = airlane("trace", "from-log", "log.csv", "-o", "made.trace", "--packet-bytes", "1500")
    assert made.returncode == 0, made.stderr
    assert "mean 12.00 Mbit/s" in made.stdout
    scenario = (scenarios / "trace-link.toml").read_text().replace("traces/sawtooth.down", "made.trace")
    (tmp_path / "replay.toml").write_text(scenario)
    done = airlane("run", "replay.toml", "--set", "run.warmup=3s", "--json")
    assert done.returncode == 0, done.stderr
    # One packet of at most 1500 bytes, of which at most 1460 are payload, per opportunity: 11.68 Mbit/s.
    (row,) = json.loads(done.stdout)
    assert 0.95 * 11.68 < row["goodput_mbps"] <= 11.68


def test_an_exported_trace_makes_its_folder(airlane: Airlane, tmp_path: Path) -> None:
    done = airlane("trace", "export", "--example", "lte-udp", *SHORT, "--ue", "phone", "-o", "a/b/phone.down")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a/b/phone.down").is_file()


def test_the_only_ue_need_not_be_named(airlane: Airlane, tmp_path: Path) -> None:
    export = ("trace", "export", "--example", "lte-udp", *SHORT)
    done = airlane(*export, "-o", "only.down")
    assert done.returncode == 0, done.stderr
    assert "only.down: what phone would receive if it always had data" in done.stdout
    assert airlane(*export, "--ue", "phone", "-o", "named.down").returncode == 0
    assert (tmp_path / "only.down").read_bytes() == (tmp_path / "named.down").read_bytes()


def test_the_scenarios_that_come_along_run_by_name(airlane: Airlane, scenarios: Path, tmp_path: Path) -> None:
    listed = json.loads(airlane("list", "scenarios", "--json").stdout)["scenarios"]
    assert [s["name"] for s in listed] == sorted(f.stem for f in scenarios.glob("*.toml"))
    done = airlane("run", "--example", "trace-link", *SHORT)  # one that names another file
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/runs/trace-link/manifest.json").is_file()


@pytest.mark.parametrize(
    ("comment", "title"),
    [
        ("# One. Two.\n", "One."),
        ("# Over\n# two lines: 2.5 Mbit/s. And so on.\n", "Over two lines: 2.5 Mbit/s."),
        ("# After Nguyen et al. in a cell\n\n# not this\n", "After Nguyen et al. in a cell"),
        ('network = "lena" # preset\n', ""),
    ],
)
def test_a_scenarios_title_is_its_first_sentence(tmp_path: Path, comment: str, title: str) -> None:
    (tmp_path / "a.toml").write_text(comment)
    assert examples.title(tmp_path / "a.toml") == title


HEAVY = {"matplotlib", "numpy", "pyarrow", "pydantic", "rich", "scipy", "airlane._native"}


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_what_needs_no_simulation_loads_nothing_heavy(option: str) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "airlane", option]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("airlane 0." if option == "--version" else "Usage: ")
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "typer" in loaded  # or the test looks for the wrong names
    assert not loaded & HEAVY


def test_a_package_without_the_playground_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("airlane.pages.playground.resources.files", lambda _: tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.app(["playground", "--no-open"])
    assert ended.value.code == 2
    assert f"error: no such file: {tmp_path / 'playground.html'}" in capsys.readouterr().err
    (tmp_path / "playground.html").touch()
    with pytest.raises(SystemExit) as ended:
        cli.app(["playground", "--no-open"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"{(tmp_path / 'playground.html').as_uri()}\n"
