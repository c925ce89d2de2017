"""`airlane kernel`, as far as it needs no build; and what a scenario with a kernel does without one."""

from __future__ import annotations

import json
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from airlane import native
from airlane.runs import kernel
from conftest import Airlane

SCENARIO = """\
network = "wired"
[run]
duration = "1 s"
[[flow]]
transport = { kind = "kernel", kernel = "6.12", congestion = "bbr" }
"""


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of kernels without kernels."""
    folder = tmp_path / "kernels"
    monkeypatch.setenv("AIRLANE_KERNELS", str(folder))
    return folder


def install(folder: Path, name: str, interface: int = kernel.INTERFACE) -> kernel.Kernel:
    """A description, as a build leaves it."""
    own = folder / name
    own.mkdir(parents=True)
    made: dict[str, Any] = {
        "name": name,
        "release": f"{name}.1",
        "source": "Debian linux-source",
        "interface": interface,
        "sha256": {"linux": "ab" * 32, "agent": "cd" * 32, "config": "ef" * 32},
        "congestion": ["cubic", "reno"],
        "compiler": "gcc 12",
        "build_s": {"compile": 90.0},
    }
    (own / "kernel.json").write_text(json.dumps(made))
    return kernel.Kernel(**made)


def test_a_cache_without_kernels_says_how_to_get_one(airlane: Airlane) -> None:
    listed = airlane("kernel", "list")
    assert listed.returncode == 0
    assert "airlane kernel build" in listed.stdout
    assert json.loads(airlane("kernel", "list", "--json").stdout) == []


def test_a_run_without_its_kernel_names_the_command(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "k.toml").write_text(SCENARIO)
    failed = airlane("run", "k.toml")
    assert failed.returncode == 2
    assert "no kernel '6.12'" in failed.stderr
    assert "airlane kernel build 6.12" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_kernels_are_listed_and_removed(airlane: Airlane, empty: Path) -> None:
    install(empty, "6.1")
    old = install(empty, "mine", interface=0)
    assert [one.name for one in kernel.installed()] == ["6.1", "mine"]
    listed = airlane("kernel", "list").stdout.splitlines()
    assert listed[0].split()[:3] == ["6.1", "6.1.1", "ab" * 6]
    assert "--force builds it again" in listed[1]
    assert kernel.find("mine") == old
    removed = airlane("kernel", "remove", "6.1")
    assert (removed.returncode, removed.stdout) == (0, "6.1 removed\n")
    again = airlane("kernel", "remove", "6.1")
    assert again.returncode == 2
    assert "known: mine" in again.stderr
    assert airlane("kernel", "remove", "../kernels").returncode == 2


def test_the_hashes_of_a_kernel_are_inputs_of_a_run(empty: Path) -> None:
    install(empty, "6.12")
    inputs = native.inputs(native.parse(SCENARIO, "k.toml", {}))
    assert inputs == {
        "kernel 6.12/linux": "ab" * 32,
        "kernel 6.12/agent": "cd" * 32,
        "kernel 6.12/config": "ef" * 32,
    }


def test_an_agent_of_another_version_is_compiled_again(airlane: Airlane, empty: Path) -> None:
    install(empty, "6.12")
    (empty / "6.12" / "agent").write_text("of an older version")
    built = airlane("kernel", "build", "6.12")
    if "a kernel needs tools that are missing" in built.stderr:
        pytest.skip(built.stderr)
    assert (built.returncode, built.stderr) == (0, "")
    assert "its agent was of another version of airlane" in built.stdout
    made = kernel.find("6.12")
    assert made.sha256["agent"] == kernel.sha256(empty / "6.12" / "agent") != "cd" * 32
    assert made.sha256["linux"] == "ab" * 32
    assert sorted(f.name for f in (empty / "6.12").iterdir()) == ["agent", "kernel.json"]
    assert "is there; --force builds it again" in airlane("kernel", "build", "6.12").stdout


def test_names_and_versions_are_checked(airlane: Airlane) -> None:
    assert "cannot be the name of a kernel" in airlane("kernel", "build", "--name", "a/b").stderr
    wrong = airlane("kernel", "build", "six")
    assert wrong.returncode == 2
    assert "'six' is not a version" in wrong.stderr or "apt install" in wrong.stderr


CLOCK = """\
\t\t\tif (time < time_travel_shm->free_until)
\t\t\t\ttime_travel_shm->free_until = time;

\ttime_travel_ext_req(UM_TIMETRAVEL_WAIT, -1);
"""


def tree(folder: Path) -> Path:
    """The files of a source tree that airlane changes, as far as it looks at them."""
    um = folder / "arch" / "um"
    (um / "os-Linux").mkdir(parents=True)
    (um / "kernel").mkdir()
    (um / "kernel" / "time.c").write_text(CLOCK)
    (um / "Kconfig").write_text("config NR_IRQS\n\tint\n\nconfig HZ\n\tint\n\tdefault 100\n\nconfig X\n")
    code = "#include <stdlib.h>\n\nssize_t os_getrandom(void *buf, size_t len, unsigned int flags)\n"
    (um / "os-Linux" / "util.c").write_text(f"{code}{{\n\treturn getrandom(buf, len, flags);\n}}\n")
    return folder


def test_the_changes_are_made_once(tmp_path: Path) -> None:
    folder = tree(tmp_path / "linux")
    patch = kernel._change(folder)
    config = (folder / "arch/um/Kconfig").read_text()
    assert 'config HZ\n\tint "Frequency of the timer"\n\tdefault 1000\n' in config
    code = (folder / "arch/um/os-Linux/util.c").read_text()
    assert code.index("ssize_t airlane_getrandom(") < code.index("ssize_t os_getrandom(")
    assert code.count("return getrandom(") == 1, "the call that remains is that of airlane_getrandom"
    clock = (folder / "arch/um/kernel/time.c").read_text()
    assert "if (running != time_travel_shm_client && time < time_travel_shm->free_until)" in clock
    assert "time_travel_ext_req(UM_TIMETRAVEL_WAIT, idle ? -2 : -1);" in clock
    assert "+++ b/arch/um/Kconfig" in patch
    assert "+++ b/arch/um/kernel/time.c" in patch
    assert kernel._change(folder) == ""
    assert (folder / "arch/um/os-Linux/util.c").read_text() == code


def test_a_clock_of_messages_stays_as_it_is(tmp_path: Path) -> None:
    """Linux before 6.10 has no shared memory of the clock."""
    folder = tree(tmp_path / "linux")
    clock = folder / "arch" / "um" / "kernel" / "time.c"
    clock.write_text("\ttime_travel_ext_req(UM_TIMETRAVEL_WAIT, -1);\n")
    assert "time.c" not in kernel._change(folder)
    assert clock.read_text() == "\ttime_travel_ext_req(UM_TIMETRAVEL_WAIT, -1);\n"


def test_another_tree_is_refused(tmp_path: Path) -> None:
    folder = tree(tmp_path / "linux")
    (folder / "arch/um/Kconfig").write_text("config HZ\n\tint\n\tdefault 250\n")
    with pytest.raises(kernel.KernelError, match="arch/um/Kconfig of this tree is not as in Linux"):
        kernel._change(folder)
    with pytest.raises(kernel.KernelError, match="is no source tree of Linux"):
        kernel._copy(tmp_path, tmp_path / "copy")


def test_a_repository_is_copied_without_what_was_built_in_it(tmp_path: Path) -> None:
    source = tree(tmp_path / "linux")
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", "-C", str(source), *command], check=True)
    (source / "vmlinux.o").write_text("built")
    copy = tmp_path / "copy"
    kernel._copy(source, copy)
    files = sorted(str(f.relative_to(copy)) for f in copy.rglob("*") if f.is_file())
    assert files == ["arch/um/Kconfig", "arch/um/kernel/time.c", "arch/um/os-Linux/util.c"]
    kernel._change(copy)
    kernel._copy(source, copy)  # nothing is newer: the changes stay
    assert kernel._change(copy) == ""


def test_the_agent_compiles(tmp_path: Path) -> None:
    sources = [str(kernel._DATA / file) for file in kernel._AGENT if file.endswith(".c")]
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", *sources, "-o", str(tmp_path / "agent")]
    subprocess.run(command, check=True)


def test_a_kernel_with_other_options_is_marked(airlane: Airlane, empty: Path) -> None:
    made = install(empty, "6.12")
    assert not made.is_current
    listed = airlane("kernel", "list")
    assert "built with other options: --force builds it again" in listed.stdout
    current = dict(made.__dict__, fragment=kernel._fragment())
    (empty / "6.12" / "kernel.json").write_text(json.dumps(current))
    assert "--force" not in airlane("kernel", "list").stdout


needs_x86 = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="guests need Linux on x86-64"
)


def install_program(folder: Path, program: bytes) -> None:
    """A kernel that is another program."""
    install(folder, "6.12")
    (folder / "6.12" / "agent").write_bytes(b"an agent")
    file = folder / "6.12" / "linux"
    file.write_bytes(program)
    file.chmod(0o755)


@needs_x86
@pytest.mark.parametrize(
    ("program", "code", "words"),
    [
        (b"", 2, "linux cannot be started: Exec format error"),
        (b"\x7fELF and no more", 2, "linux cannot be started: Exec format error"),
        (b"#!/bin/sh\nexit 3\n", 1, "halted at its start, with exit code 3; airlane kernel build --force"),
        (b"#!/bin/sh\nkill -11 $$\n", 1, "killed at its start, by SIGSEGV; airlane kernel build --force"),
        (b"#!/bin/sh\nexec sleep 100\n", 1, "hangs at its start: it did nothing for 1 s of real time"),
    ],
)
def test_a_damaged_kernel_is_named(
    airlane: Airlane,
    tmp_path: Path,
    empty: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: bytes,
    code: int,
    words: str,
) -> None:
    monkeypatch.setenv("AIRLANE_KERNEL_WATCHDOG", "1")
    install_program(empty, program)
    (tmp_path / "k.toml").write_text(SCENARIO)
    failed = airlane("run", "k.toml")
    assert failed.returncode == code
    assert words in failed.stderr
    assert "airlane kernel build" in failed.stderr


def test_a_description_that_cannot_be_read_is_named(airlane: Airlane, tmp_path: Path, empty: Path) -> None:
    install(empty, "6.12")
    (empty / "6.12" / "kernel.json").write_text("{")
    (tmp_path / "k.toml").write_text(SCENARIO)
    failed = airlane("run", "k.toml")
    assert failed.returncode == 2
    assert "kernel.json cannot be read; airlane kernel build 6.12 --force" in failed.stderr


@needs_x86
@pytest.mark.parametrize(("does", "code"), [("run()", 0), ("os.fork()", -signal.SIGABRT)])
def test_kernels_start_without_the_handlers_for_fork(empty: Path, does: str, code: int) -> None:
    # That of OpenBLAS ends its threads, so that a matrix product in another thread of the user never ends.
    install_program(empty, b"#!/bin/sh\nexit 3\n")
    script = (
        "import ctypes, faulthandler, os, sys\n"
        "from airlane import _native\n"
        "faulthandler.dump_traceback_later(30, exit=True)\n"
        "libc = ctypes.CDLL(None)\n"
        "assert libc.__register_atfork(libc.abort, None, None, None) == 0\n"
        "def run():\n"
        "    try:\n"
        "        _native.run([(_native.Resolved.from_json(sys.argv[1]), 1)], 1)\n"
        "    except _native.GuestError as error:\n"
        "        assert 'exit code 3' in str(error)\n"
        "    else:\n"
        "        sys.exit('no kernel was started')\n"
        f"{does}\n"
    )
    resolved = native.parse(SCENARIO, "k.toml", {})
    done = subprocess.run([sys.executable, "-c", script, resolved.json], check=False, timeout=60)
    assert done.returncode == code


@needs_x86
def test_a_run_that_fails_ends_those_under_way(empty: Path) -> None:
    install_program(empty, b"#!/bin/sh\nexit 3\n")
    long = SCENARIO.replace("1 s", "400000 s").replace('kind = "kernel", kernel = "6.12"', 'kind = "tcp"')
    jobs = [(native.parse(text, "k.toml", {}), 1) for text in (long, SCENARIO)]
    begin = time.monotonic()
    with pytest.raises(native.GuestError, match="exit code 3"):
        native.run(jobs, 2)
    assert time.monotonic() - begin < 20
