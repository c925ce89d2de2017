"""Scripts of packetdrill, played against the simulated TCP or a guest kernel: `airlane packetdrill`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from airlane import _native

__all__ = ["TOLERANCE_MS", "Played", "compared", "differing", "exit_code", "play", "summary", "text_of"]

TOLERANCE_MS = 4.0
"""By how much an event may be earlier or later than a script states; packetdrill's default."""

_Result = Literal["pass", "fail", "not-applicable"]


@dataclass(frozen=True)
class Played:
    """The result of a script.

    Attributes
    ----------
    path
        The script, as the caller named it.
    result
        `pass`, `fail` or `not-applicable`.
    line
        Line of the script from 1; None for a script that passed.
    reason
        The expected event and the actual one; what is not modelled, or not understood.
    printed
        The lines that the script has printed.
    """

    path: str
    result: _Result
    line: int | None
    reason: str | None
    printed: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The lines that were printed, and `file:line: result: reason`."""
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        words = self.result.replace("-", " ")
        last = f"{place}: {words}" if self.reason is None else f"{place}: {words}: {self.reason}"
        return "\n".join([*self.printed, last])


def play(
    path: Path, *, ipv6: bool = False, tolerance_ms: float = TOLERANCE_MS, kernel: str | None = None
) -> Played:
    """Play a script in virtual time.

    Parameters
    ----------
    path
        The script. Shell scripts that it calls, such as `./defaults.sh`, are interpreted from its folder.
    ipv6
        IPv6 instead of IPv4.
    tolerance_ms
        By how much an event may be earlier or later than stated.
    kernel
        Name of the guest kernel that is tested (`airlane kernel list`); the simulated TCP without it.

    Raises
    ------
    OSError
        If the script cannot be read.
    GuestError
        If the kernel is missing or fails.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    found = json.loads(_native.play_script(text, str(path.parent), ipv6, round(tolerance_ms * 1000), kernel))
    return Played(str(path), found["result"], found["line"], found["reason"], tuple(found["printed"]))


def summary(played: Sequence[Played]) -> dict[str, object]:
    """The results of scripts, for `airlane packetdrill --json`."""
    counts = Counter(each.result for each in played)
    scripts = [
        {"path": each.path, "result": each.result, "line": each.line, "reason": each.reason}
        for each in played
    ]
    return {
        "scripts": scripts,
        "pass": counts["pass"],
        "fail": counts["fail"],
        "not_applicable": counts["not-applicable"],
    }


def exit_code(played: Sequence[Played]) -> int:
    """The exit code of `airlane packetdrill`: 1 if a script fails, 3 if none has judged TCP, else 0."""
    results = {each.result for each in played}
    return 1 if "fail" in results else 0 if "pass" in results else 3


def differing(simulated: Sequence[Played], kernel: Sequence[Played]) -> list[tuple[Played, Played]]:
    """The scripts that one of the two passes and the other fails."""
    judged = ("pass", "fail")
    return [
        (ours, theirs)
        for ours, theirs in zip(simulated, kernel, strict=True)
        if ours.result in judged and theirs.result in judged and ours.result != theirs.result
    ]


def compared(simulated: Sequence[Played], kernel: Sequence[Played], name: str) -> str:
    """Counts of the simulated TCP and of a kernel, for each folder, and where the two differ.

    Parameters
    ----------
    simulated, kernel
        The same scripts, in the same order.
    name
        Name of the kernel.
    """
    results: tuple[_Result, ...] = ("pass", "fail", "not-applicable")
    rows = [["folder", "of", *(word.replace("-", " ") for word in results), "differ"]]
    for folder in dict.fromkeys(Path(each.path).parent for each in simulated):
        for who, played in (("simulated", simulated), (name, kernel)):
            here = [each for each in played if Path(each.path).parent == folder]
            counts = Counter(each.result for each in here)
            rows.append([str(folder), who, *(str(counts[word]) for word in results), ""])
        both = differing(simulated, kernel)
        rows[-1][-1] = str(sum(Path(ours.path).parent == folder for ours, _ in both))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    for ours, theirs in differing(simulated, kernel):
        lines += [f"differ, simulated: {ours}", f"differ, {name}: {theirs}"]
    return "\n".join(line.rstrip() for line in lines)


def text_of(played: Sequence[Played]) -> str:
    """A line for each script, and one of counts."""
    counts = Counter(each.result for each in played)
    total = f"pass {counts['pass']} fail {counts['fail']} not applicable {counts['not-applicable']}"
    return "\n".join([*map(str, played), total])
