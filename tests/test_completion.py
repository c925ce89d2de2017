"""Shell completion: each shell is tested with a few words, the command itself with all of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.completion import completion_init  # type: ignore[attr-defined]
from typer.testing import CliRunner

from airlane.commands.main import app

# Each reads lines of words, and answers each with its completions and an end line.
BASH = """
eval "$(airlane completion bash)"
function_name="$(complete -p airlane | sed -E 's/.* -F ([^ ]+) .*/\\1/')"
while read -r -a COMP_WORDS; do
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
    "$function_name" airlane
    printf '%s\\n' "${COMPREPLY[@]}" ====
done
"""

FISH = """
airlane completion fish | source
while read line
    complete -C $line
    echo "===="
end
"""

# zsh completes only in its line editor: this does the same as its function, without the menu.
ZSH = """
autoload -U compinit && compinit -D -u
eval "$(airlane completion zsh)"
[[ -n $_comps[airlane] ]] || exit 1
_arguments() { print -l -- "$@" }
_describe() { print -l -- ${(P)2} }
compadd() { print -l -- "$@" }
while read -r line; do
    words=(${=line}) CURRENT=${#words}
    $_comps[airlane]
    print "===="
done
"""

SHELLS = {
    "bash": ["bash", "--norc", "-c", BASH, "bash"],
    "zsh": ["zsh", "-f", "-c", ZSH, "zsh"],
    "fish": ["fish", "--no-config", "-c", FISH],
}

WORDS = [
    ("airlane sw", ["sweep"], ["run"]),
    ("airlane run --th", ["--threads"], ["--set"]),
    ("airlane run --example lte-d", ["lte-download"], ["lte-udp"]),
    ("airlane sweep --example tr", ["trace-link"], ["lte-udp"]),
    ("airlane reproduce ltetcp", ["ltetcp/load"], ["frto"]),
    ("airlane init --kind w", ["wired"], ["cell"]),
    ("airlane trace fr", ["from-log"], []),
]


def judge(answer: str, wanted: list[str], unwanted: list[str]) -> None:
    assert all(word in answer for word in wanted), answer
    assert not any(word in answer for word in unwanted), answer


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shutil.which(shell)])
def test_a_shell_completes_commands_options_and_values(shell: str) -> None:
    asked = WORDS[:3]
    done = subprocess.run(
        SHELLS[shell],
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        input="".join(f"{words}\n" for words, _, _ in asked),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = done.stdout.split("====\n")
    assert len(answers) == len(asked) + 1, done.stdout
    for answer, (_, wanted, unwanted) in zip(answers, asked, strict=False):
        judge(answer, wanted, unwanted)


@pytest.mark.parametrize(("words", "wanted", "unwanted"), WORDS)
def test_words_are_completed(words: str, wanted: list[str], unwanted: list[str]) -> None:
    """bash's completion protocol, without bash."""
    count = len(words.split())
    environment = {
        "_AIRLANE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(count - 1),
    }
    completion_init()  # as in `main` when a shell calls it
    done = CliRunner().invoke(app, [], prog_name="airlane", env=environment)
    assert done.exit_code == 0, done.output
    judge(done.output, wanted, unwanted)


def test_bash_is_one_of_the_shells_tested() -> None:
    assert shutil.which("bash")
