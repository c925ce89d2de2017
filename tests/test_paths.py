"""Multipath TCP from Python: your own scheduler, and the panel of a run's chart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

import airlane
from airlane.control import ControllerError, PathScheduler, Subflow, Unsent
from airlane.pages.chart import Axis, Band
from airlane.pages.path_band import path_panel

_TWO = """network = "wired"
[run]
duration = "3 s"
[[link]]
name = "wifi"
[[flow]]
transport = { kind = "mptcp", scheduler = "own", policy = "mine" }
"""


class Last(PathScheduler):
    """The last subflow alone, once it is usable."""

    def select(self, subflows: Sequence[Subflow], unsent: Unsent) -> int | None:
        assert unsent.bytes is None
        assert unsent.segment > 1000
        last = subflows[-1]
        return last.index if last.usable else subflows[0].index


class Wrong(PathScheduler):
    """Returns what is no subflow."""

    def select(self, subflows: Sequence[Subflow], unsent: Unsent) -> int | None:
        return len(subflows)


def test_a_scheduler_decides_which_path_carries_the_data() -> None:
    results = airlane.loads(_TWO, "two.toml").run(controllers={"mine": Last})
    share = results.tables["paths"]["share_percent"][1].as_py()
    assert share is not None
    assert share > 98.0


def test_a_wrong_choice_is_reported() -> None:
    with pytest.raises(ControllerError, match=r"select returned 2; it must be None, or .* from 0 to 1"):
        airlane.loads(_TWO, "two.toml").run(controllers={"mine": Wrong})


def test_a_missing_scheduler_is_named() -> None:
    with pytest.raises(airlane.ScenarioError, match=r"derive its class from airlane\.PathScheduler"):
        airlane.loads(_TWO, "two.toml").run()


@pytest.mark.parametrize(
    ("transport", "says"),
    [
        ('kind = "mpquic", stream_window = "1 MB"', r"within `quic`: quic = \{ stream_window = \.\.\. \}"),
        ('kind = "mptcp", congestion = "bbr"', r"within `tcp`: tcp = \{ congestion = \.\.\. \}"),
        ('kind = "mpquic", scheduler = "weighted"', "the weighted scheduler has none"),
        ('kind = "mptcp", weights = [1, 2]', "they are for the weighted scheduler"),
        (
            'kind = "mptcp", paths = ["internet"], backup = ["wifi"]',
            '"wifi" is none of the connection\'s `paths`.*add it to `paths`, or leave it out of `backup`',
        ),
    ],
)
def test_an_error_names_the_remedy(transport: str, says: str) -> None:
    text = _TWO.replace('kind = "mptcp", scheduler = "own", policy = "mine"', transport)
    with pytest.raises(airlane.ScenarioError, match="(?s)" + says):
        airlane.loads(text, "two.toml").run()


def test_the_panel_has_a_band_for_each_subflow() -> None:
    series = pa.table(
        {
            "t_s": np.repeat([0.0, 0.1, 0.2], 2),
            "flow": ["f"] * 6,
            "subflow": [0, 1] * 3,
            "path": ["wifi", "lte"] * 3,
            "goodput_mbps": [8.0, 2.0, 0.0, 0.0, 0.0, 5.0],
        }
    )
    panel = path_panel(series, Axis())
    assert panel is not None
    bands = {item.series: item for item in panel.items if isinstance(item, Band)}
    heights = {
        name: (np.asarray(band.low) - np.asarray(band.high))[::3].round(3).tolist()
        for name, band in bands.items()
    }
    # Rows grow downwards. Shares of 0.8 and 0.2, none, then 0 and 1.
    assert {name: [abs(one) for one in of] for name, of in heights.items()} == {
        "path wifi": [0.72],
        "path lte": [0.18, 0.9],
    }
    assert path_panel(series.slice(0, 0), Axis()) is None
