"""A recorded live run again, in virtual time."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from importlib.metadata import version
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
        `recorded`: `whole`, or `limited` by its size. `sim_s`: virtual seconds.
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


def _release(text: str) -> tuple[int, ...] | None:
    """The numbers of a version of airlane, such as 0.1.0; None for another text."""
    found = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(number) for number in found[0].split(".")) if found else None


def _facts(path: Path) -> dict[str, Any]:
    """The facts of a live run about its ends: a mapping with `real`, `keep` and `hosts`."""
    try:
        live = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise LiveError(f"{path} cannot be read: {error}") from error
    live = {"hosts": {}} | live if isinstance(live, dict) else {}

    def is_list_of_text(value: object) -> bool:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)

    hosts = live.get("hosts")
    right = (
        is_list_of_text(live.get("real")) and is_list_of_text(live.get("keep")) and isinstance(hosts, dict)
    )
    if not right or not set(hosts or ()) <= {"server", *live["real"]}:
        raise LiveError(f"{path} does not name the ends of a live run; it is damaged")
    return live


def replay(folder: Path) -> Replay:
    """Repeat the run of a result folder of `airlane live`.

    Raises
    ------
    LiveError
        If the folder has no flight record, if the record is damaged or cut off, or if a newer version has
        written it.
    """
    from airlane import _native

    manifest = manifest_of(folder)
    if manifest is None:
        raise LiveError(f"{folder} is not a result folder; expected one that airlane live has written")
    record, facts = folder / "flight", folder / "live.json"
    if not record.exists() or not facts.exists():
        raise LiveError(f"{folder} has no flight record; airlane live writes one unless --flight-mb is 0")
    own = version("airlane")
    if (written := _release(manifest["airlane"])) is None or written > (_release(own) or ()):
        raise LiveError(
            f"{folder / 'manifest.json'}: airlane = {manifest['airlane']!r} is no version up to that of this "
            f"program, {own}; repeat the run with the version that has recorded it"
        )
    live = _facts(facts)
    scenario = json.dumps(manifest["scenario"])
    ends = ["server", *live["real"]]
    opened = [ends.index(end) for end in live["hosts"]]
    begin = time.monotonic()
    try:
        known = (live["real"], live["keep"], opened)
        report = _native.replay(scenario, manifest["seeds"][0], known, str(record))
    except _native.LiveError as error:
        raise LiveError(str(error)) from error
    return Replay(json.loads(report), time.monotonic() - begin)
