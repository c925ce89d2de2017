"""Rows of the validation as a file of `airlane validate --write`; their words are in the code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airlane.runs import json_files
from airlane.validation import Row, Validation
from airlane.validation.claims import families

__all__ = ["read", "write"]


def write(validation: Validation, path: Path) -> list[str]:
    """Write the file; its folder exists.

    Families that were skipped keep the rows that the file has; their ids are returned, in order.
    """
    rows = {family.id: {row.id: _fields(row) for row in rows} for family, rows in validation.rows if rows}
    known = json_files.read(path)["families"] if path.exists() else {}
    skipped = {reason.partition(":")[0] for reason in validation.skipped}
    kept = {name: known[name] for name in skipped & known.keys() if name not in rows}
    order = [family.id for family in families()]
    found = dict(sorted((rows | kept).items(), key=lambda family: order.index(family[0])))
    without_rows = [reason for reason in validation.skipped if reason.partition(":")[0] not in kept]
    json_files.write(path, {"families": found, "skipped": without_rows})
    return [name for name in found if name in kept]


def _fields(row: Row) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "unit": row.unit,
        "reference": row.reference,
        "ours": row.ours,
        "band": row.band,
        "ok": row.ok,
    }
    if row.ci95 is not None:
        fields |= {"half_width": row.ci95, "n": row.n}
    if not row.counted:
        fields["counted"] = False
    if row.note:
        fields["note"] = row.note
    return fields


def read(path: Path) -> Validation:
    """The rows of a file, with the families of the code.

    Raises
    ------
    OSError
        If there is no such file.
    KeyError
        If there is no family of a name in the file.
    """
    data = json_files.read(path)
    declared = {family.id: family for family in families()}
    return Validation(
        [(declared[name], [_row(*one) for one in rows.items()]) for name, rows in data["families"].items()],
        data["skipped"],
    )


def _row(name: str, fields: dict[str, Any]) -> Row:
    return Row(
        name,
        fields["unit"],
        json_files.number_of(fields["reference"]),
        json_files.number_of(fields["ours"]),
        fields["band"],
        fields["ok"],
        note=fields.get("note", ""),
        counted=fields.get("counted", True),
        ci95=fields.get("half_width"),
        n=fields.get("n", 1),
    )
