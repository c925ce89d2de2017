"""What shells offer, asked of the shells themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BASH = """
eval "$(airlane completion bash)"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
"$(complete -p airlane | sed -E 's/.* -F ([^ ]+) .*/\\1/')" airlane
printf '%s\\n' "${COMPREPLY[@]}"
"""

FISH = """
airlane completion fish | source
complete -C (string join ' ' -- $argv)
"""

# zsh completes at its line editor only: this is what its function does, less the menu.
ZSH = """
autoload -U compinit && compinit -D -u
eval "$(airlane completion zsh)"
[[ -n $_comps[airlane] ]] || exit 1
words=("$@") CURRENT=$#
_arguments() { print -l -- "$@" }
_describe() { print -l -- ${(P)2} }
compadd() { print -l -- "$@" }
$_comps[airlane]
"""

SHELLS = {
    "bash": ["bash", "--norc", "-c", BASH, "bash"],
    "zsh": ["zsh", "-f", "-c", ZSH, "zsh"],
    "fish": ["fish", "--no-config", "-c", FISH],
}


def offered(shell: str, *words: str) -> str:
    """What a shell offers after these words."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*SHELLS[shell], *words],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shutil.which(shell)])
@pytest.mark.parametrize(
    ("words", "wanted", "unwanted"),
    [
        (("airlane", "sw"), ["sweep"], ["run"]),
        (("airlane", "run", "--th"), ["--threads"], ["--set"]),
        (("airlane", "run", "--example", "lte-d"), ["lte-download"], ["lte-udp"]),
        (("airlane", "sweep", "--example", "tr"), ["trace-link"], ["lte-udp"]),
        (("airlane", "reproduce", "ltetcp"), ["ltetcp/load"], ["frto"]),
        (("airlane", "init", "--kind", "w"), ["wired"], ["cell"]),
        (("airlane", "trace", "fr"), ["from-log"], []),
    ],
)
def test_words_are_completed(
    shell: str, words: tuple[str, ...], wanted: list[str], unwanted: list[str]
) -> None:
    answer = offered(shell, *words)
    assert all(word in answer for word in wanted), answer
    assert not any(word in answer for word in unwanted), answer


def test_bash_is_one_of_the_shells_tested() -> None:
    assert shutil.which("bash")
