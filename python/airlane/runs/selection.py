"""Flows by name, and groups of flows: the rows of which figures are asked for.

Figures are values of a table `flows`: of one flow, of a group of flows, or of all. One function selects the
rows, for runs, sweeps and comparisons alike.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import pyarrow as pa

from airlane.user_error import UserError

__all__ = ["ALL", "Selection", "SelectionError"]


class SelectionError(UserError):
    """There are no such flows or groups; the message names those that there are."""


_NAMES_MAX = 12
"""Names of flows in a message; others are counted."""


@dataclass(frozen=True)
class Selection:
    """The flows, and the groups of them, of which figures are asked for.

    Attributes
    ----------
    flow
        Names of flows, or patterns such as `phone-*`, separated by commas; empty for all.
    by
        A column of names in `flows`, such as `congestion`, `app` or `ue`: each of its values is a group.
        Empty for one group of all.
    """

    flow: str = ""
    by: str = ""

    def __bool__(self) -> bool:
        """Whether anything is selected."""
        return bool(self.flow or self.by)

    def check(self, names: Sequence[str]) -> None:
        """Check before a run that its flows, which have these names, are those that are asked for.

        The second direction of a real connection has a name that begins with that of its flow.

        Raises
        ------
        SelectionError
            If a name or pattern has no flow.
        """
        for pattern in self._patterns:
            if not any(fnmatchcase(name, pattern) or pattern.startswith(name) for name in names):
                raise _no_flow(pattern, names)

    def of(self, flows: pa.Table) -> pa.Table:
        """The rows of the selected flows.

        Raises
        ------
        SelectionError
            If a name or pattern has no flow.

        Examples
        --------
        >>> flows = pa.table({"flow": ["call", "phone-1", "phone-2"]})
        >>> Selection("phone-*").of(flows)["flow"].to_pylist()
        ['phone-1', 'phone-2']
        """
        if not self.flow:
            return flows
        names = [str(name) for name in flows["flow"].to_pylist()]
        for pattern in self._patterns:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise _no_flow(pattern, names)
        return _rows(flows, [any(fnmatchcase(name, pattern) for pattern in self._patterns) for name in names])

    def within(self, flows: pa.Table) -> dict[str, pa.Table]:
        """As `groups`, for one point of a sweep: names and patterns without a flow there are left out."""
        names = {str(name) for name in flows["flow"].to_pylist()}
        here = [one for one in self._patterns if any(fnmatchcase(name, one) for name in names)]
        if self.flow and not here:
            return {}
        return Selection(",".join(here), self.by).groups(flows)

    @property
    def _patterns(self) -> list[str]:
        return [pattern.strip() for pattern in self.flow.split(",")] if self.flow else []

    def groups(self, flows: pa.Table) -> dict[str, pa.Table]:
        """The rows of each group of the selected flows, in the order of their first rows.

        Without `by`, the one group has no name.

        Raises
        ------
        SelectionError
            If there is no such flow, or no such column of names.

        Examples
        --------
        >>> flows = pa.table({"flow": ["a", "b", "c"], "app": ["bulk", "web", "bulk"]})
        >>> {name: group["flow"].to_pylist() for name, group in Selection(by="app").groups(flows).items()}
        {'bulk': ['a', 'c'], 'web': ['b']}
        """
        flows = self.of(flows)
        if not self.by:
            return {"": flows}
        known = [field.name for field in flows.schema if _is_text(field.type)]
        if self.by not in known:
            raise SelectionError(
                f"--by {self.by}: flows have no such column of names; there are: {', '.join(known)}"
            )
        values = [str(value or "none") for value in flows[self.by].to_pylist()]
        return {value: _rows(flows, [other == value for other in values]) for value in dict.fromkeys(values)}


ALL = Selection()
"""All flows, as one group."""


def _rows(flows: pa.Table, wanted: list[bool]) -> pa.Table:
    return flows.take(np.flatnonzero(wanted))


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_dictionary(kind)


def _no_flow(pattern: str, names: Sequence[str]) -> SelectionError:
    near = difflib.get_close_matches(pattern, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return SelectionError(f"--flow {pattern}: there is no such flow; {hint}there are: {_listed(names)}")


def _listed(names: Sequence[str]) -> str:
    once = list(dict.fromkeys(names))
    more = f" and {len(once) - _NAMES_MAX} more" if len(once) > _NAMES_MAX else ""
    return ", ".join(once[:_NAMES_MAX]) + more
