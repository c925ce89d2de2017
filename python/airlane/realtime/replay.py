"""A recorded live run again, in virtual time."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airlane.realtime.process import LiveError
from airlane.results import manifest_of

__all__ = ["Replay", "replay"]


@dataclass(frozen=True)
class Replay:
    """The result of a repetition.

    Attributes
    ----------
    report
        `entered` and `left`: packets of the record. `equal`: whether each departure had the same place in the
        order, the same virtual time to the nanosecond and the same header. `first_difference`, or None.
        `recorded`: `whole`, `limited` (by its size), or where the file is cut off. `sim_s`: virtual seconds.
    wall_s
        Seconds of the repetition.
    """

    report: dict[str, Any]
    wall_s: float

    def describe(self) -> str:
        """One paragraph for a terminal."""
        report = self.report
        text = (
            f"{report['entered']:,} packets and bursts entered, {report['left']:,} packets left in "
            f"{report['sim_s']:.3f} s; repeated in {self.wall_s:.2f} s"
        )
        if report["recorded"] != "whole":
            text += f"\nthe record does not reach the end of the run: {report['recorded']}"
        if report["equal"]:
            return (
                text + "\nequal: order, virtual time to the nanosecond, headers and lengths of all departures"
            )
        difference = report["first_difference"]
        return text + (
            f"\nNOT equal: packet {difference['index']} that left at end {difference['end']}: recorded "
            f"{difference['expected']}, repeated {difference['got']}"
        )


def replay(folder: Path) -> Replay:
    """Repeat the run of a result folder of `airlane live`.

    Raises
    ------
    LiveError
        If the folder has no flight record, or the record is damaged.
    """
    from airlane import _native

    manifest = manifest_of(folder)
    if manifest is None:
        raise LiveError(f"{folder} is not a result folder; expected one that airlane live has written")
    record, facts = folder / "flight", folder / "live.json"
    if not record.exists() or not facts.exists():
        raise LiveError(f"{folder} has no flight record; airlane live writes one unless --flight-mb is 0")
    live = json.loads(facts.read_text(encoding="utf-8"))
    scenario = json.dumps(manifest["scenario"])
    ends = ["server", *live["real"]]
    opened = [ends.index(end) for end in live.get("hosts", {})]
    begin = time.monotonic()
    try:
        known = (live["real"], live["keep"], opened)
        report = _native.replay(scenario, manifest["seeds"][0], known, str(record))
    except _native.LiveError as error:
        raise LiveError(str(error)) from error
    return Replay(json.loads(report), time.monotonic() - begin)
