"""`airlane live --ue [NAME=]COMMAND`: which UE a command is for."""

from __future__ import annotations

import pytest

from airlane.realtime.conduct import Command, commands
from airlane.realtime.process import LiveError
from conftest import Airlane

UES = ["phone", "tablet", "car-1", "car-2"]


@pytest.mark.parametrize(
    ("given", "ue", "line"),
    [
        ("curl http://server/", "phone", "curl http://server/"),
        ("tablet=ping -c 3 server", "tablet", "ping -c 3 server"),
        ("car-2=sh -c 'A=1 true'", "car-2", "sh -c 'A=1 true'"),
        # Variables of the environment, as in a shell.
        ("LANG=C date", "phone", "LANG=C date"),
        ("tablet=LANG=C date", "tablet", "LANG=C date"),
        ("sh -c 'x=1'", "phone", "sh -c 'x=1'"),
        ("curl http://server/?a=b", "phone", "curl http://server/?a=b"),
    ],
)
def test_a_command_and_its_ue(given: str, ue: str, line: str) -> None:
    assert commands([given], UES) == [Command(ue, line)]


@pytest.mark.parametrize(
    ("given", "near"),
    [
        ("fone=ping server", "did you mean phone?"),
        ("tablett=ping server", "did you mean tablet?"),
        ("car-3=ping server", "did you mean car-1 or car-2?"),
        ("laptop-of-someone=ping server", "known: phone, tablet, car-1, car-2"),
        ("x=1 date", "For an environment variable of the command write --ue 'env x=1 date'"),
    ],
)
def test_a_name_that_no_ue_has(given: str, near: str) -> None:
    with pytest.raises(LiveError) as error:
        commands([given], UES)
    name = given.partition("=")[0]
    assert f"no UE has the name '{name}'" in str(error.value)
    assert near in str(error.value)


def test_a_name_in_other_letters() -> None:
    with pytest.raises(LiveError, match=r"did you mean PHONE\?"):
        commands(["phone=ping server"], ["PHONE", "OTHER"])


def test_of_many_names_some_are_listed() -> None:
    with pytest.raises(LiveError, match=r"known: u0, .*, u19 and 80 more"):
        commands(["zzzzzz=true"], [f"u{i}" for i in range(100)])


def test_the_command_refuses_it_before_it_begins(airlane: Airlane) -> None:
    done = airlane("live", "--example", "lte-drive", "--ue", "fone=true")
    assert done.returncode == 2
    assert done.stderr.startswith("error: --ue 'fone=true': no UE has the name 'fone'; did you mean phone?")
