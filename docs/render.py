"""Sphinx extension: numbers and tables of docs/results in the pages of the manual.

Roles, each with the name of a cell (`cells`): `{number}` with its interval, `{mean}` alone, `{ratio}`, a
multiple. Directives: `{rows}` is a table, or its rows with a prefix; `{printed}` the output of `airlane
reproduce`; `{bench} PART` a part of the measured speed; `{public_files} KIND` what was read of public files;
`{call_agreement}` calls in real and in virtual time; `{sprout} PART` Sprout over links, or in a cell;
`{rfc9743} PART` the criteria of RFC 9743; `{controller_cost}` instructions of the mechanisms of the field;
`{field_verdicts}` verdicts on their published numbers;
`{experiments} PAPER`, `{arena} FILE` and `{validation}` all tables, under headings of their own;
`{validation} PREFIX` those of the families with this prefix.
A name that is not found is an error at its line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import cells
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

__all__ = ["setup"]

_LOGGER = logging.getLogger(__name__)


class _Number(SphinxRole):
    """A number in a sentence, in the form of the role's name."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        _depend_on_results(self.env)
        try:
            return [nodes.Text(cells.number(self.text, self.name))], []
        except cells.NotFoundError as error:
            _LOGGER.warning("%s", error, location=self.get_location())
            return [nodes.problematic(self.rawtext, self.rawtext)], []


class _Tables(SphinxDirective):
    """Markdown that is made from results, in the place of the directive."""

    optional_arguments = 1
    final_argument_whitespace = True
    made: ClassVar[dict[str, Callable[..., str]]] = {
        "rows": cells.rows,
        "printed": cells.printed,
        "experiments": cells.experiments,
        "arena": cells.arena,
        "validation": cells.validation,
        "bench": cells.bench,
        "public_files": cells.public_files,
        "call_agreement": cells.call_agreement,
        "controller_cost": cells.controller_cost,
        "field_verdicts": cells.field_verdicts,
        "rfc9743": cells.rfc9743,
        "sprout": cells.sprout,
    }

    def run(self) -> list[nodes.Node]:
        _depend_on_results(self.env)
        try:
            text = self.made[self.name](*self.arguments)
        except cells.NotFoundError as error:
            raise self.error(str(error)) from error
        parent = nodes.Element()
        self.state.nested_parse(StringList(text.splitlines(), self.name), 0, parent, match_titles=True)
        return parent.children


def _depend_on_results(env: Any) -> None:
    """Build the page again when results change."""
    for file in cells.RESULTS.rglob("*.json"):
        env.note_dependency(str(file))


def setup(app: Any) -> dict[str, bool]:
    """Register roles and directives."""
    for name in cells.FORMS:
        app.add_role(name, _Number())
    for name in _Tables.made:
        app.add_directive(name, _Tables)
    return {"parallel_read_safe": True}
