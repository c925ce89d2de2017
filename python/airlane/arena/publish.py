"""A folder of an arena that an archive such as Zenodo takes: data, page, citation, and how to repeat it."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from airlane import native
from airlane.arena import record, rfc9743, view
from airlane.arena.conduct import Result
from airlane.pages import report
from airlane.runs.files import write_text

__all__ = ["publish"]

_CITATION = """\
cff-version: 1.2.0
message: "Replace the authors by your own, and add the DOI that the archive assigns."
type: dataset
title: "Congestion control in cellular networks: {title}"
version: "{version}"
authors:
  - name: "The authors of this data set"
keywords:
  - congestion control
  - cellular networks
  - network simulation
references:
  - type: software
    title: airlane
    version: "{version}"
    authors:
      - name: "The airlane authors"
    repository-code: "https://github.com/airlane/airlane"
"""

_README = """\
# Congestion control in cellular networks: {title}

{contenders} contenders in {situations} situations, {runs} runs of each on the same seeds, simulated with
airlane {version} (core {core}). The same version and command give the same values:

    pip install airlane=={version}
    {command}

| file | contents |
|---|---|
| `cells.csv` | figures by contender and situation: mean, 95 % interval, difference from {reference} |
| `runs.json` | the values of all runs, in the order of the seeds |
| `rfc9743.csv` | the figures that decide criteria of RFC 9743, with bars{rfc_note} |
| `scenarios/` | the scenario file of each situation; `tested` flows carry the contender |
| `index.html` | the page, which needs no network |
| `CITATION.cff` | how to cite; replace the authors, and add the DOI |

Units are at the end of the names of columns. `mean` with `low` and `high` is the mean over the runs with
its 95 % interval; `over_cubic` the ratio to {reference} on the same seeds; `minus_cubic` the paired
difference, and `minus_cubic_ci95` half the width of its 95 % interval.
"""


def publish(result: Result, title: str, chosen_set: str, arguments: Sequence[str], folder: Path) -> None:
    """Write the folder; it is made if it is not there, and files of these names are replaced.

    Parameters
    ----------
    title
        The situations, in a phrase.
    arguments
        The command that made the result, as a list of words.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    (folder / "scenarios").mkdir(parents=True, exist_ok=True)
    criteria = list(rfc9743.rows(result))
    about = {
        "title": title,
        "version": version("airlane"),
        "core": native.fingerprint()[:16],
        "contenders": len(result.contenders),
        "situations": len(result.situations),
        "runs": " or ".join(map(str, result.runs())),
        "reference": result.reference,
        "command": shlex.join(arguments),
        "rfc_note": "" if criteria else "; none is decided by these situations",
    }
    write_text(folder / "CITATION.cff", _CITATION.format(**about))
    write_text(folder / "README.md", _README.format(**about))
    write_text(folder / "cells.csv", view.cells_csv(result))
    write_text(folder / "rfc9743.csv", _criteria_csv(criteria))
    record.write(result, chosen_set, folder / "runs.json")
    for situation in result.situations:
        write_text(folder / "scenarios" / f"{situation.name}.toml", situation.scenario().text)
    report.write_arena_html(result, folder / "index.html", "runs.json")


def _criteria_csv(criteria: Sequence[dict[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, rfc9743.COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(criteria)
    return text.getvalue()
