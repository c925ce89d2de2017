"""`airlane node`: what all kinds of nodes have in common, shown with the DRWA agent."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import airlane
from airlane.commands import node as node_command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nodes need Linux")

COMMAND = [sys.executable, "-m", "airlane", "node", "drwa"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def node(tmp_path: Path, settings: str, *options: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "node.toml").write_text(settings, encoding="utf-8")
    command = [*COMMAND, "node.toml", *options]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def started(tmp_path: Path, settings: str) -> subprocess.Popen[str]:
    (tmp_path / "node.toml").write_text(settings, encoding="utf-8")
    return subprocess.Popen([*COMMAND, "node.toml"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)


def await_ready(port: int) -> None:
    for _ in range(200):
        try:
            if get(port, "/readyz")[0] == 200:
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("not ready after 10 s")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("[rule]\nlamda = 3\n", "2: rule.lamda = 3: unknown key `lamda`; did you mean `lambda`?"),
        ("interval = 5\n", "1: interval = 5: "),
        ('interval = "2 s"\n', '1: interval = "2 s": out of range; it must be from 100 us to 1 s'),
        ("[rule]\nalpha = 1.0\n", "2: rule.alpha = 1.0: out of range; it must be from 0 to 0.999"),
        ('[node]\nadmin = "localhost"\n', '2: node.admin = "localhost": not an address with a port;'),
        (
            '[select]\nnetworks = ["::/129"]\n',
            '2: select.networks.0 = "::/129": not an IP network;',
        ),
        ("[select\n", "1: "),
    ],
)
def test_mistakes_name_file_key_value_and_remedy(tmp_path: Path, settings: str, message: str) -> None:
    done = node(tmp_path, settings, "--check")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: node.toml:{message}"), done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "none.toml"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "none.toml: cannot be read (No such file or directory)" in done.stderr


def test_check_and_setup(tmp_path: Path) -> None:
    done = node(tmp_path, "", "--check", "--json")
    requirements = json.loads(done.stdout)["requirements"]
    assert [one["name"].split(" (")[1][:5] for one in requirements] == ["NETLI", "pidfd"]
    assert done.returncode == (1 if any(one["missing"] for one in requirements) else 0)
    shown = node(tmp_path, "", "--print-setup")
    assert (shown.returncode, shown.stdout) == (0, "# This node needs no rules, routes or parameters.\n")


@pytest.mark.parametrize("options", [("--json",), ("--check", "--print-setup", "--json")])
def test_json_is_the_answer_of_check_alone(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = node(tmp_path, "", *options)
    assert done.returncode == 2
    assert "--json prints the answer of --check alone" in done.stderr


def test_health_metrics_and_the_end_by_a_signal(tmp_path: Path) -> None:
    port = free_port()
    settings = f'[node]\nadmin = "127.0.0.1:{port}"\nlog = {{ format = "json" }}\n'
    process = started(tmp_path, settings)
    await_ready(port)
    assert get(port, "/healthz") == (200, "ok\n")
    assert get(port, "/readyz") == (200, "ready\n")
    assert get(port, "/other")[0] == 404
    status, text = get(port, "/metrics")
    assert status == 200
    assert "# TYPE airlane_drwa_connections gauge\nairlane_drwa_connections 0\n" in text.replace(
        "# HELP airlane_drwa_connections Connections under the rule.\n", ""
    )
    assert text.endswith("# EOF\n")
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=10)
    assert process.returncode == 0
    messages = [json.loads(line)["message"] for line in log.splitlines()]
    assert messages == ["ready", "stopping: no new work"]


def test_an_address_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = node(tmp_path, f'[node]\nadmin = "127.0.0.1:{port}"\n')
    assert done.returncode == 2
    assert done.stderr.startswith(f'error: admin = "127.0.0.1:{port}": cannot listen: Address already in use')


def test_the_admin_server_is_at_its_address_only(tmp_path: Path) -> None:
    port = free_port()
    process = started(tmp_path, f'[node]\nadmin = "127.0.0.1:{port}"\n')
    try:
        await_ready(port)
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", port), timeout=5).close()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["drwa"], "expected a kind and a file of settings; see airlane-node --help"),
        (["drwa", "a", "b"], "expected a kind and a file of settings; see airlane-node --help"),
        (["drwa", "a", "--chek"], "--chek is no option; see airlane-node --help"),
        (["drva", "a"], "drva is no kind of node; it must be one of "),
    ],
)
def test_wrong_arguments_of_the_program(words: list[str], message: str) -> None:
    program = node_command.program()
    assert program is not None
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {message}")


def test_the_program_names_its_kinds_and_its_version() -> None:
    program = node_command.program()
    assert program is not None
    told = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    assert told.endswith(f"KIND is one of {', '.join(sorted(node_command.Kind))}.\n")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert version.stdout == f"airlane-node {airlane.__version__}\n"


def test_a_closed_output_ends_it_as_sigpipe(tmp_path: Path) -> None:
    (tmp_path / "node.toml").touch()
    reader, writer = os.pipe()
    os.close(reader)
    command = [*COMMAND, "node.toml", "--print-setup"]
    done = subprocess.run(
        command, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")
