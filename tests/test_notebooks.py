"""The notebooks of the manual are run, and their output is compared with the stored one.

`AIRLANE_BLESS=1` runs them and stores their output and figures in the files.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode, v4

from conftest import ROOT

BLESS = os.environ.get("AIRLANE_BLESS") == "1"
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def read(path: Path) -> NotebookNode:
    """A notebook in the format that we write."""
    return v4.reads_json(path.read_text(encoding="utf-8"))  # type: ignore[no-untyped-call, no-any-return]


def shown(notebook: NotebookNode) -> list[list[tuple[str, str]]]:
    """The output of each code cell, and whether it drew something."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            printed = "".join(o.text for o in cell.outputs if o.output_type == "stream")
            data = [o.data for o in cell.outputs if o.output_type != "stream"]
            found.append([("printed", printed), *((kind, "") for d in data for kind in sorted(d))])
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_shows(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "IPYTHONDIR",
        "JUPYTER_CONFIG_DIR",
        "JUPYTER_DATA_DIR",
        "JUPYTER_RUNTIME_DIR",
        "MPLCONFIGDIR",
    ):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    kept, new = read(path), read(path)
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(new, timeout=120, kernel_name="python3", resources=where).execute()
    if not BLESS:
        assert shown(new) == shown(kept)
    elif shown(new) != shown(kept):
        for cell in new.cells:
            cell.metadata = {}
        new.metadata = kept.metadata
        path.write_text(v4.writes_json(new) + "\n", encoding="utf-8")  # type: ignore[no-untyped-call]


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["first-run", "own-controller", "paper-figure"]
