"""Scenarios: a TOML file, the changes made to it, and its runs."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airlane import native
from airlane.control import OwnController
from airlane.examples import title_of
from airlane.results import Results
from airlane.runs.files import read_text
from airlane.runs.long_tables import RowFiles
from airlane.runs.settings import spelled_out

__all__ = ["Scenario", "load", "loads", "parse_setting", "seconds"]


@dataclass(frozen=True)
class Scenario:
    """A scenario file with overrides; immutable, so that variants can coexist.

    Attributes
    ----------
    text
        The TOML text.
    file_name
        Name for error messages.
    overrides
        Values by dotted key, such as `{"ue.0.count": 11}`; they take precedence over the file.
    """

    text: str
    file_name: str = "<scenario>"
    overrides: Mapping[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """File name without folder and suffix."""
        return Path(self.file_name).stem

    @property
    def title(self) -> str:
        """First sentence of the comment at the beginning of the text; empty if there is none."""
        return title_of(self.text)

    def set(self, values: Mapping[str, object]) -> Scenario:
        """Return this scenario with some values replaced, keyed by dotted path.

        An entry of a list is named by its number or its name (`cell.0.rlc.aqm`, `cell.a.rlc.aqm`); without
        either, the key applies to all entries (`cell.rlc.aqm`). `--set` and `--grid` of the command line
        take the same keys.

        Raises
        ------
        ScenarioError
            When the result is not a valid scenario; names the key.

        Examples
        --------
        >>> import airlane
        >>> base = airlane.load(airlane.example("lte-download"))
        >>> reno = base.set({"flow.transport.congestion": "newreno"})
        >>> reno.settings["flow"][0]["transport"]["congestion"]
        'newreno'
        """
        changed = Scenario(self.text, self.file_name, {**self.overrides, **values})
        _ = changed.resolved  # report mistakes here
        return changed

    @functools.cached_property
    def resolved(self) -> native.Resolved:
        """The scenario with every default filled in, checked; `resolved.json` is its text.

        Raises
        ------
        ScenarioError
            When it is not valid; names the file, line, key and value, and the valid values.
        """
        if not self.overrides:
            return native.parse(self.text, self.file_name, {})
        try:
            spelled = spelled_out(self.text, self.file_name, self.overrides)
            return native.parse(self.text, self.file_name, spelled)
        except native.ScenarioError as error:
            raise self._blamed(error) from None

    def _blamed(self, error: native.ScenarioError) -> Exception:
        """The error with its cause: the settings, where the file by itself has no error."""
        try:
            native.parse(self.text, self.file_name, {})
        except native.ScenarioError:
            return error
        message = str(error)
        if message.startswith(f"{self.file_name}: "):
            message = f"--set {message.removeprefix(f'{self.file_name}: ')} (over {self.file_name})"
        else:  # the file and the settings contradict each other
            given = " ".join(f"--set {key}={value}" for key, value in self.overrides.items())
            message += f"; the file by itself is right, so look at {given}"
        blamed = native.ScenarioError(message)
        blamed.__dict__.update(error.__dict__)
        return blamed

    def check_flows(self) -> None:
        """Check that there is something to simulate. A network for real applications needs no flow.

        Raises
        ------
        ScenarioError
            When the scenario has no flow.
        """
        if not self.settings["flow"]:
            raise native.ScenarioError(
                f"{self.file_name}: the scenario has no flow; add [[flow]] with a destination, such as "
                'to = "phone". For real applications alone there is `airlane live`'
            )

    @functools.cached_property
    def notes(self) -> list[str]:
        """Notes on settings that are valid and probably not meant, such as those of LTE in an NR network."""
        from airlane.radio import other_technology  # few scenarios need it

        return other_technology.notes(self)

    @functools.cached_property
    def settings(self) -> dict[str, Any]:
        """The resolved scenario as a dictionary."""
        value = json.loads(self.resolved.json)
        assert isinstance(value, dict)
        return value

    @property
    def seed(self) -> int:
        """Seed of the first run unless another is asked for."""
        return int(self.settings["run"]["seed"])

    def run(
        self,
        runs: int = 1,
        seed: int | None = None,
        threads: int | None = None,
        on_done: Callable[[int], None] | None = None,
        pcap: Path | None = None,
        controllers: Mapping[str, type[OwnController]] | None = None,
        on_progress: Callable[[float], None] | None = None,
        rows: Path | None = None,
    ) -> Results:
        """Run with consecutive seeds and collect the tables.

        Parameters
        ----------
        runs
            Number of runs; run i has the seed `seed + i`.
        seed
            First seed; by default that of the file.
        threads
            Threads, by default one per core. Runs take them first: each run has the integer part of threads
            over runs, at least one, and uses more than one if it has several cells. Results do not depend
            on it.
        on_done
            Called with the index of each run that ended.
        pcap
            Folder for the captures that `output.pcap` names (`server.pcapng`; of several runs
            `run0-server.pcapng`, ...), and for the qlog of QUIC if `output.qlog` is set
            (`<flow>.server.sqlog` and `<flow>.client.sqlog`). Without it no packet is captured.
        controllers
            Your controllers, by their names in `transport.controller`, or `app.controller.name` of calls. The
            time spent in them is in `Results.costs`.
        on_progress
            Called about ten times a second with the number of runs that have been simulated, parts included:
            0.5 in the middle of the first.
        rows
            Folder for rows of long tables, which are written during the runs, so that they need not be in
            memory together. `Results` reads them there when their table is asked for, until `Results.write`
            has copied them. Without it all rows are in memory.

        Examples
        --------
        >>> import airlane
        >>> results = airlane.load(airlane.example("lte-download")).run(runs=2)
        >>> results.flows.num_rows
        2
        """
        if runs < 1:
            raise ValueError(f"runs must be at least 1, not {runs}")
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self.check_flows()
        first = self.seed if seed is None else seed
        seeds = [first + i for i in range(runs)]
        jobs = [(self.resolved, s) for s in seeds]
        captures = [f"{pcap}/" if runs == 1 else f"{pcap}/run{i}-" for i in range(runs)] if pcap else None
        inputs = native.inputs(self.resolved)
        costs: dict[str, tuple[int, float]] = {}
        threads = threads or os.cpu_count() or 1
        files = RowFiles(rows) if rows else None
        take = files.add if files else None
        with closing(files) if files else nullcontext():
            outputs = native.run(
                jobs, threads, on_done, captures, controllers, costs, on_progress, on_rows=take
            )
        notes = tuple(self.resolved.file_notes())
        return dataclasses.replace(Results.collect(outputs, seeds, inputs, files), costs=costs, notes=notes)


def load(path: str | os.PathLike[str]) -> Scenario:
    """Read and check a scenario file.

    Raises
    ------
    OSError
        When the file cannot be read; names it.
    ScenarioError
        When it is not a valid scenario.
    """
    scenario = loads(read_text(path), os.fspath(path))
    _ = scenario.resolved  # report mistakes where the file is named
    return scenario


def loads(text: str, file_name: str = "<scenario>") -> Scenario:
    """Scenario from TOML text, checked when it is first resolved."""
    return Scenario(text, file_name)


def parse_setting(setting: str) -> tuple[str, object]:
    """Split `key=value` as given to `--set`: a TOML value where it is valid TOML, else the bare text.

    Examples
    --------
    >>> parse_setting("ue.0.count=11"), parse_setting("flow.0.transport.congestion=cubic")
    (('ue.0.count', 11), ('flow.0.transport.congestion', 'cubic'))
    """
    key, separator, text = setting.partition("=")
    key, text = key.strip(), text.strip()
    if not separator or not key or not text:
        raise ValueError(f"{setting!r} is not of the form KEY=VALUE, such as ue.0.count=11")
    try:
        return key, tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return key, text


def seconds(time: str) -> float:
    """A time in seconds, from its form in resolved scenarios.

    Examples
    --------
    >>> seconds("250 ms"), seconds("2s")
    (0.25, 2.0)
    """
    found = re.fullmatch(r"([0-9.e+-]+) ?(ns|us|ms|s)", time)
    if found is None:
        raise ValueError(f"{time!r} is no time with a unit, such as 300 ms")
    return float(found[1]) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[found[2]]
