"""The command `airlane reproduce`: runs, prints and writes."""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from airlane import native
from airlane.cache import Cache
from airlane.commands import terminal
from airlane.experiments import Experiment, Outcome
from airlane.pages import report
from airlane.runs.files import write_text
from airlane.study import record, verdict_view
from airlane.study.reproduction import Failed, Reproduction

__all__ = ["Call"]


@dataclass(frozen=True)
class Call:
    """The arguments of the command.

    Attributes
    ----------
    chosen
        Experiments, in their order.
    in_full
        Whether all tables of each are printed instead of one line.
    quick, seed, threads
        As in `airlane.experiments.conduct`.
    out
        Folder of the report.
    as_json
        Whether only JSON is printed.
    record_in
        Folder for a file of each experiment, if requested.
    """

    chosen: Sequence[Experiment]
    in_full: bool
    quick: bool
    seed: int | None
    threads: int
    out: Path
    as_json: bool
    record_in: Path | None = None

    def conduct(self, cache: Path, mistake: Callable[[BaseException], str | None]) -> bool:
        """Run all; returns whether none failed.

        Parameters
        ----------
        mistake
            Returns a short message for a user error; `None` for other errors.

        Raises
        ------
        Exception
            The error that ended the experiment, if it is the only one.
        """
        began = time.perf_counter()
        kept = Cache(cache, native.fingerprint())
        for folder in [self.out] if self.record_in is None else [self.out, self.record_in]:
            folder.mkdir(parents=True, exist_ok=True)  # reports user errors early
        book = report.Book(self.out / "index.html")

        def keep(outcome: Outcome) -> None:
            book.add(outcome)
            if self.record_in is not None:
                record.write(outcome, self.record_in)

        reproduction = Reproduction(kept, self.quick, self.seed, self.threads, keep)
        for place, experiment in enumerate(self.chosen, 1):
            with terminal.progress(experiment.id) as update:
                came = reproduction.conduct(experiment, update)
            if isinstance(came, Failed):
                if len(self.chosen) == 1:
                    raise came.error
                why = mistake(came.error) or "".join(traceback.format_exception(came.error))
                print(f"error: {experiment.id}: {why}", file=sys.stderr)
            else:
                self._show(came, place)
        self._finish(reproduction, book, began)
        return not reproduction.failed

    def _show(self, outcome: Outcome, place: int) -> None:
        if self.in_full:
            terminal.output.print(verdict_view.outcome_view(outcome))
        elif not self.as_json:
            print(verdict_view.outcome_line(outcome, place, len(self.chosen)), flush=True)

    def _finish(self, reproduction: Reproduction, book: report.Book, began: float) -> None:
        wall_s = time.perf_counter() - began
        failed = {"failed": [one.id for one in reproduction.failed]}
        found = json.dumps(report.as_json(reproduction.done, wall_s) | failed, indent=2)
        book.write(wall_s)
        write_text(self.out / "results.json", found + "\n")
        if self.as_json:
            print(found)
            return
        if len(self.chosen) > 1:
            view = verdict_view.papers_view(reproduction.done, reproduction.failed, quick=self.quick)
            terminal.output.print(view)
        took = time.perf_counter() - began
        terminal.output.print(f"\nreport: {self.out}/index.html ({took:.1f} s)", style="bold")
