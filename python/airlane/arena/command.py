"""The command `airlane arena`: selects, runs, prints and writes."""

from __future__ import annotations

import difflib
import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from airlane import native
from airlane.arena import draft, draft_view, record, view
from airlane.arena.conduct import conduct
from airlane.arena.contenders import CONTENDERS, ArenaError, Contender, own
from airlane.arena.draft_cases import CASES
from airlane.arena.publish import publish
from airlane.arena.sets import SETS
from airlane.arena.situations import Situation, from_file
from airlane.cache import Cache
from airlane.commands import terminal
from airlane.control import OwnController
from airlane.pages import report
from airlane.runs.files import write_text

__all__ = ["Call", "list_sets"]

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """Arguments of the command line.

    Attributes
    ----------
    contenders, situations
        Names; empty for all. A situation may be a scenario file, which ends in `.toml`.
    controllers
        The user's controllers by name.
    quick
        Three runs per cell.
    seed, threads
        First seed; worker threads.
    out
        Output folder.
    as_json
        Whether only JSON is printed.
    record_in
        File for the results, or None.
    chosen_set
        A name of `sets.SETS`: which contenders and situations there are.
    flow
        Patterns of the flows whose figures count; empty for those of each situation.
    publish_in
        Folder for an archive, or None.
    """

    contenders: Sequence[str]
    situations: Sequence[str]
    controllers: Mapping[str, type[OwnController]]
    quick: bool
    seed: int
    threads: int
    out: Path
    as_json: bool
    record_in: Path | None = None
    chosen_set: str = "situations"
    flow: str = ""
    publish_in: Path | None = None

    def meet(self, cache: Path) -> None:
        """Every contender in every situation.

        Raises
        ------
        ArenaError
            When there is no such contender or situation.
        """
        chosen = SETS[self.chosen_set]
        brought = self._own(chosen.contenders)
        known = {one.name: one for one in chosen.contenders}
        who = _chosen("contender", self.contenders, known, chosen.baseline) + brought
        where = self._situations()
        kept = Cache(cache, native.fingerprint())
        with terminal.progress("arena") as update:
            result = conduct(
                who,
                where,
                kept,
                quick=self.quick,
                seed=self.seed,
                threads=self.threads,
                on_done=update,
                baseline=chosen.baseline,
            )
        self.out.mkdir(parents=True, exist_ok=True)
        # The figures first: they are then written even if the page fails.
        write_text(self.out / "cells.csv", view.cells_csv(result))
        report.write_arena_html(result, self.out / "index.html")
        if self.record_in is not None:
            self.record_in.parent.mkdir(parents=True, exist_ok=True)
            record.write(result, self.chosen_set, self.record_in)
        if self.publish_in is not None:
            publish(result, chosen.title, self.chosen_set, self._arguments(), self.publish_in)
        if self.as_json:
            print(json.dumps(view.as_json(result), indent=2))
            return
        terminal.output.print(view.terminal_view(result))
        also = "".join(f", and {one}" for one in (self.record_in, self.publish_in) if one is not None)
        print(f"written to {self.out}/index.html and cells.csv{also}")

    def _arguments(self) -> list[str]:
        """The command line that gives the same values."""
        words = ["airlane", "arena", "--set", self.chosen_set]
        for option, values in (("--contender", self.contenders), ("--situation", self.situations)):
            words += [word for value in values for word in (option, value)]
        for name, made in self.controllers.items():
            words += ["--controller", f"{name}=FILE.py:{made.__name__}"]
        words += ["--flow", self.flow] if self.flow else []
        words += ["--quick"] if self.quick else []
        return [*words, "--seed", str(self.seed)]

    def judge(self) -> None:
        """The test cases of the BBR draft.

        Raises
        ------
        ArenaError
            When there is no such contender or case.
        """
        cases = _chosen("case", self.situations, {case.section: case for case in CASES})
        known = {one.name: one for one in CONTENDERS if one.name != draft.SUBJECT}
        known = {name: known[name] for name in draft.OTHERS} | known
        others = _chosen("contender", self.contenders or draft.OTHERS, known) + self._own(CONTENDERS)
        runs = draft.QUICK_RUNS if self.quick else draft.RUNS
        with terminal.progress("cases") as update:
            judged = draft.conduct(
                cases, others, runs=runs, seed=self.seed, threads=self.threads, on_done=update
            )
        self.out.mkdir(parents=True, exist_ok=True)
        place = self.out / "bbr-draft.csv"
        write_text(place, draft_view.as_csv(judged))
        if self.as_json:
            print(json.dumps(draft_view.as_json(judged), indent=2))
            return
        terminal.output.print(draft_view.terminal_view(judged))
        print(f"written to {place}")

    def _situations(self) -> list[Situation]:
        names = [name for name in self.situations if not name.endswith(".toml")]
        files = [Path(name) for name in dict.fromkeys(self.situations) if name.endswith(".toml")]
        known = {one.name: one for one in SETS[self.chosen_set].situations}
        found = _chosen("situation", names, known) if names or not files else []
        for file in files:
            if not file.is_file():
                there = ", ".join(known)
                raise ArenaError(f"{file}: no such file; a situation is a scenario file, or one of: {there}")
            situation = from_file(file)
            if any(one.name == situation.name for one in found):
                raise ArenaError(f"{file}: a situation is already named {situation.name!r}; rename the file")
            found.append(situation)
        return [one.about(self.flow) for one in found] if self.flow else found

    def _own(self, others: Sequence[Contender]) -> list[Contender]:
        brought = [one for name, made in self.controllers.items() for one in own(name, made)]
        names = [one.name for one in (*others, *brought)]
        for one in brought:
            if names.count(one.name) > 1:
                raise ArenaError(f"a contender is already named {one.name!r}; write --controller OTHER=FILE")
        return brought


def _chosen(what: str, names: Sequence[str], known: Mapping[str, T], always: str = "") -> list[T]:
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name.lower(), known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ArenaError(f"unknown {what} {name!r}; {hint}known: {', '.join(known)}")
    return [one for name, one in known.items() if not names or name in (*names, always)]


def list_sets() -> str:
    """The situations and contenders of all sets, and the test cases of the BBR draft."""
    lines = ["bbr-draft: test cases of the BBR draft", *(f"  {one.section:<20} {one.title}" for one in CASES)]
    for name, one in SETS.items():
        names = ", ".join(contender.name for contender in one.contenders)
        lines += [f"{name}: {one.title}"]
        lines += [f"  {situation.name:<20} {situation.title}" for situation in one.situations]
        lines += textwrap.wrap(f"contenders: {names}", 100, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines)
