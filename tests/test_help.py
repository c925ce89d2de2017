"""Texts of `--help`: their width, and their form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from airlane.commands import main as cli

WIDTH = 80


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The command and all below it, by their full names."""
    yield name, command
    for below, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {below}")


COMMANDS = dict(commands(typer.main.get_command(cli.app), "airlane"))


@pytest.mark.parametrize("terminal", [None, "60", "80", "200"])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_is_wider_than_a_terminal(
    name: str, terminal: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if terminal is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", terminal)
    text = COMMANDS[name].get_help(typer.Context(COMMANDS[name], info_name=name))
    assert [line for line in text.splitlines() if len(line) > WIDTH] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_each_text_is_a_sentence(name: str) -> None:
    command = COMMANDS[name]
    texts = [command.help, *(getattr(parameter, "help", None) for parameter in command.params)]
    for text in texts:
        assert text, f"{name}: an option or argument without help"
        assert text[0].isupper(), text
        assert text.rstrip().endswith((".", "].")), text


def test_the_commands_are_found() -> None:
    assert {"airlane run", "airlane sweep", "airlane arena", "airlane trace export"} <= set(COMMANDS)
