"""The fixture `cell` for pytest: a network for the programs of a test.

A test names its scenario with the marker `cell`, see the how-to "Your QUIC stack over a cellular link in CI".
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from airlane.realtime.cell import Cell

__all__ = ["cell", "unavailable"]


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    options = "scenario, ues=None, seed=None, settings=None, real_time=True"
    config.addinivalue_line("markers", f"cell({options}): the network of the fixture `cell`")


@functools.cache
def unavailable() -> str | None:
    """Why this machine cannot make live runs; None if it can."""
    import airlane

    try:
        with airlane.live(airlane.example("wired-cubic")):
            pass
    except airlane.LiveError as error:
        return str(error)
    return None


@pytest.fixture
def cell(request: pytest.FixtureRequest) -> Iterator[Cell]:
    """A running network, with the scenario of the marker `cell`.

    The test is skipped where the machine cannot make live runs. It fails after its end if the run was not in
    real time, unless the marker says `real_time=False`.
    """
    import airlane

    marker = request.node.get_closest_marker("cell")
    if marker is None or len(marker.args) != 1:
        pytest.fail("the fixture `cell` needs a scenario: @pytest.mark.cell('scenario.toml')")
    options: dict[str, Any] = dict(marker.kwargs)
    real_time = options.pop("real_time", True)
    reason = unavailable()
    if reason is not None:
        pytest.skip(f"no live runs here: {reason}")
    with airlane.live(marker.args[0], **options) as network:
        yield network
    if real_time and not network.facts["real_time"]["valid"]:
        pytest.fail("the run was not in real time: " + "; ".join(network.facts["real_time"]["reasons"]))
