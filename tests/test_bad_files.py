"""Invalid files and places: one message that names them, and exit code 2."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Airlane

SHORT = ("--set", "run.duration=2s", "--set", "run.warmup=1s")
WIRED = 'network = "wired"\n[run]\nduration = "2 s"\nwarmup = "0 s"\n[[flow]]\n'


def is_one_message(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ")
    assert len(done.stderr) < 80 * 24
    for word in words:
        assert word in done.stderr


def left_behind(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", ("the file is empty", "airlane init")),
        (b"\n\n# soon\n", ("the file is empty",)),
        (b"\0" * 100_000, ("s.toml:1", "invalid TOML")),
        (b'network = "wired"\n\xff\xfe', ("s.toml:2", "not UTF-8 text")),
        (bytes(range(256)) * 400, ("s.toml:", "not UTF-8 text")),
        (b"x" * 1_000_000, ("s.toml:1", "invalid TOML")),
        (b'network = "' + b"y" * 1_000_000 + b'"', ("s.toml:1", "unknown network")),
        (b"[" * 100_000, ("s.toml:1", "invalid TOML")),
        (b"a = " + b"[" * 100_000, ("s.toml:1",)),
        (b"a" + b".a" * 100_000 + b" = 1", ("invalid TOML", "recursion limit")),
        (b'network = "wired"\r[[flow]]', ("s.toml:1", "invalid TOML")),
        (b"a" * (17 << 20), ("s.toml", "more than")),
    ],
    ids=[
        "empty",
        "comment",
        "zeros",
        "not UTF-8",
        "bytes",
        "a word",
        "a name",
        "brackets",
        "lists",
        "keys",
        "one line",
        "huge",
    ],
)
@pytest.mark.parametrize("command", ["run", "sweep"])
def test_a_file_that_is_no_scenario(
    airlane: Airlane, tmp_path: Path, command: str, raw: bytes, words: tuple[str, ...]
) -> None:
    (tmp_path / "s.toml").write_bytes(raw)
    is_one_message(airlane(command, "s.toml", "--set", "run.seed=1"), "s.toml", *words)
    assert left_behind(tmp_path) == ["s.toml"]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("folder", "Is a directory"),
        ("absent.toml", "No such file"),
        ("s.toml/below.toml", "Not a directory"),
        ("loop.toml", "symbolic links"),
        # It can be opened but not read, even by root.
        ("/proc/self/mem", "Input/output error"),
        ("/dev/zero", "more than"),
    ],
)
def test_a_file_that_cannot_be_read(airlane: Airlane, tmp_path: Path, name: str, word: str) -> None:
    if name.startswith("/") and not Path(name).exists():
        pytest.skip(f"there is no {name}")
    (tmp_path / "folder").mkdir()
    (tmp_path / "s.toml").write_text(WIRED)
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    is_one_message(airlane("run", name), name, word)
    assert not (tmp_path / "out").exists()


PLACES = [
    (("run", "s.toml", "-o"), ""),
    (("run", "s.toml", "--pcap", "-o"), ""),
    (("sweep", "s.toml", "--set", "run.seed=1,2", "--runs", "1", "-o"), "/sweep.parquet"),
    (("reproduce", "ltetcp/load", "--quick", "-o"), ""),
    (("reproduce", "ltetcp/load", "--quick", "--cache"), ""),
    (("trace", "export", "--example", "lte-download", "--ue", "phone", *SHORT, "-o"), "/cell.trace"),
    (("init",), "/new.toml"),
]


@pytest.mark.parametrize(("arguments", "file"), PLACES, ids=lambda value: "".join(value)[:20])
@pytest.mark.parametrize("place", ["file/below", "/proc/airlane"])
def test_a_place_where_nothing_can_be_written(
    airlane: Airlane, tmp_path: Path, arguments: tuple[str, ...], file: str, place: str
) -> None:
    # Root may write everywhere, but not below a file, nor into a kernel file system.
    (tmp_path / "s.toml").write_text(WIRED)
    (tmp_path / "file").write_text("mine")
    is_one_message(airlane(*arguments, place + file), place)
    assert left_behind(tmp_path) == ["file", "s.toml"]


def limited(tmp_path: Path, limit: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command with a limit on file sizes, as on a full disk."""
    return subprocess.run(
        [sys.executable, "-m", "airlane", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )


@pytest.mark.parametrize("limit", [0, 200, 4_000])
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("run", "s.toml", "-o", "here"), "here/"),
        (("run", "s.toml", "--pcap", "-o", "here"), "server.pcapng"),
        (
            ("sweep", "s.toml", "--set", "run.seed=1,2", "--runs", "1", "-o", "here/a.parquet"),
            "here/a.parquet",
        ),
        (
            ("trace", "export", "--example", "lte-download", "--ue", "phone", *SHORT, "-o", "here"),
            "here",
        ),
        (("init", "here"), "here"),
    ],
    ids=["run", "pcap", "sweep", "trace", "init"],
)
def test_a_full_disk(tmp_path: Path, arguments: tuple[str, ...], named: str, limit: int) -> None:
    (tmp_path / "s.toml").write_text(WIRED)
    if arguments[0] == "init" and limit > 200:
        pytest.skip("a starter file has less")
    is_one_message(limited(tmp_path, limit, *arguments), named)
    whole = [path for path in left_behind(tmp_path) if "manifest" in path or path.endswith(".parquet")]
    assert whole == []
    assert list(tmp_path.rglob(".*")) == []


def test_a_full_disk_leaves_the_older_folder(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(WIRED)
    assert airlane("run", "s.toml", "-o", "here").returncode == 0
    before = {path: (tmp_path / path).read_bytes() for path in left_behind(tmp_path)}
    is_one_message(limited(tmp_path, 1_000, "run", "s.toml", "-o", "here"), "here/")
    assert {path: (tmp_path / path).read_bytes() for path in left_behind(tmp_path)} == before


def test_a_file_in_the_way_of_a_folder(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(WIRED)
    (tmp_path / "here").write_text("mine")
    is_one_message(airlane("run", "s.toml", "-o", "here"), "here", "is a file")
    is_one_message(airlane("sweep", "s.toml", "--set", "run.seed=1,2", "-o", "here"), "here", "is a file")
    (tmp_path / "x.parquet").mkdir()
    is_one_message(
        airlane("sweep", "s.toml", "--set", "run.seed=1,2", "-o", "x.parquet"), "x.parquet", "folder"
    )
    assert (tmp_path / "here").read_text() == "mine"


@pytest.mark.parametrize(
    "raw", [b"", b"\xff\xfe\0", b"t_us,highest_ack,rtt_us\n\xff,1,2\n", b'"' + b"x" * 200_000]
)
def test_a_log_that_is_none(airlane: Airlane, tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "log.csv").write_bytes(raw)
    is_one_message(airlane("trace", "from-log", "log.csv", "-o", "x.trace"), "log.csv")


def test_a_folder_with_a_broken_scenario_can_be_listed(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_bytes(b"# \xff\xfe\n")
    assert airlane("list", "scenarios", "--folder", ".").returncode == 0
