"""Write the pages of the manual that are generated from the program.

They are the command line, the keys of the scenario format with their defaults, the bundled scenarios, and
the list of crates.
`make docs` calls this; the pages go to docs/reference and are not tracked.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from airlane import examples
from airlane.commands.main import app
from airlane.keys import Key, keys

ROOT = Path(__file__).resolve().parent.parent
PRESETS = ROOT / "crates/scenario/src/presets"
NETWORKS = {
    "typical": ("typical",),
    "lena": ("lena-3.37",),
    "lena-2014": ("lena-2014", "lena-3.37"),
    "lena-utah": ("lena-utah", "lena-2014", "lena-3.37"),
    "nr-typical-fr1": ("nr-typical-fr1", "nr"),
    "nr-fdd-lowband": ("nr-fdd-lowband", "nr"),
    "nr-fr2": ("nr-fr2", "nr"),
    "nsa-fr1": ("nsa-fr1", "typical"),
    "nsa-fr2": ("nsa-fr2", "typical"),
    "nrdc": ("nrdc", "nr-typical-fr1", "nr"),
    "typical-sleeping": ("sleeping", "typical"),
    "nr-typical-fr1-sleeping": ("nr-sleeping", "sleeping", "nr-typical-fr1", "nr"),
    "nr-fdd-lowband-sleeping": ("nr-sleeping", "sleeping", "nr-fdd-lowband", "nr"),
    "nr-fr2-sleeping": ("nr-fr2-sleeping", "nr-sleeping", "sleeping", "nr-fr2", "nr"),
    "wired": ("wired",),
}
"""Files of each preset, the first of which takes precedence, as in `preset::fill`."""

ALIKE = {
    "lena-2014": "lena",
    "lena-utah": "lena",
    "nr-fdd-lowband": "nr-typical-fr1",
    "nr-fr2": "nr-typical-fr1",
    "nsa-fr1": "typical",
    "nsa-fr2": "nsa-fr1",
    "nrdc": "nr-typical-fr1",
    "typical-sleeping": "typical",
    "nr-typical-fr1-sleeping": "nr-typical-fr1",
    "nr-fdd-lowband-sleeping": "nr-fdd-lowband",
    "nr-fr2-sleeping": "nr-fr2",
}
"""Presets that have a column only where they differ from another one."""

SECTIONS = ("network", "run", "layout", "cell", "channel", "backhaul", "internet", "ue", "flow", "output")
RADIO = ("cell", "channel", "backhaul", "ue")
QUEUES = (("internet",), ("backhaul",), ("cell", "rlc"))
"""Places to which the defaults of queue disciplines apply."""

Defaults = dict[tuple[str, ...], object]


def flattened(tree: dict[str, Any], path: tuple[str, ...] = ()) -> Defaults:
    """Defaults of a preset by path, whose steps with a `=` are conditions."""
    found: Defaults = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            found |= flattened(value, (*path, name))
        else:
            found[*path, name] = value
    return found


def defaults(network: str) -> Defaults:
    """All defaults of a network, merged as in the scenario reader."""
    read = {
        name: flattened(tomllib.loads((PRESETS / f"{name}.toml").read_text(encoding="utf-8")))
        for name in (*NETWORKS[network], "common", "aqm", "layout")
    }
    places = [p for p in QUEUES if network != "wired" or p == ("internet",)]
    queues = {(*place, "aqm", *path): value for place in places for path, value in read["aqm"].items()}
    own = [read[name] for name in reversed(NETWORKS[network])]
    return functools.reduce(
        lambda later, earlier: {**later, **earlier}, [queues, read["layout"], read["common"], *own]
    )


def default(of: Defaults, key: Key) -> str:
    """Default of a key: one value, or one for each further condition."""
    tag = (key.tag,) if key.tag else ()
    plain = tuple(step for step in (*key.path, *tag) if "=" not in step)
    found: dict[str, object] = {}
    for path, value in of.items():
        conditions = [step for step in path if "=" in step]
        if tuple(step for step in path if "=" not in step) != plain:
            continue
        # Conditions of the key itself are stated with its table; others, such as preset=rfc, here.
        further = [c for c in conditions if c not in key.conditions]
        if any(c.partition("=")[0] in {k.partition("=")[0] for k in key.conditions} for c in further):
            continue
        found[", ".join(c.partition("=")[2] for c in further)] = value
    return "<br>".join(f"{name}: `{_shown(v)}`" if name else f"`{_shown(v)}`" for name, v in found.items())


def _shown(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case list():
            return f"[{', '.join(_shown(v) for v in value)}]"
        case _:
            return str(value)


def scenario_page() -> Iterator[str]:
    """Yield the reference of the scenario format."""
    yield "# Scenario files"
    yield (
        "A scenario is a TOML file. Every quantity has a unit, and unknown keys are errors. The preset that "
        "`network` names supplies all values that the file does not set. A choice with own keys may be "
        'written as a name, `rlc = "am"`, or as a table, `rlc = { mode = "am", buffer = "1 MiB" }`. '
        "`airlane schema` prints the same as JSON Schema, `airlane init --full` as a file with every key."
    )
    yield (
        "The columns *typical*, *lena*, *nr-typical-fr1* and *wired* are the defaults of these presets. If "
        "*lena-2014* or *lena-utah* has no column, its values are those of *lena*; without a column, "
        "*nr-fdd-lowband* and *nr-fr2* have those of *nr-typical-fr1*, *nsa-fr1* and *nsa-fr2* have those of "
        "*typical* in cells of LTE and those of *nr-typical-fr1* and *nr-fr2* in cells of NR, *nrdc* has "
        "those of *nr-fr2* in cells of FR2, and a preset whose name ends in "
        "*-sleeping* those of the one without this end. An empty cell means that the key "
        "has no default in this preset, or does not apply. The files in "
        "`crates/scenario/src/presets` name the source of each value."
    )
    known = keys()
    of = {name: defaults(name) for name in NETWORKS}
    for section in SECTIONS:
        yield f"## `{section}`"
        inside = [key for key in known if key.path[0] == section]
        yield inside[0].description
        if section == "network":
            yield choices(inside[0])
        yield from tables(inside, of)


def tables(inside: list[Key], of: dict[str, Defaults]) -> Iterator[str]:
    """Yield a table for each table of the format, and for each variant of each choice."""
    parents = {key.path[:-1] for key in inside if len(key.path) > 1}
    described = {key.path: key for key in inside}
    # Queue disciplines are described once, at their first place.
    seen: set[tuple[tuple[str, ...], str]] = set()
    for parent in sorted(parents, key=lambda p: (len(p) > 1, [k.path[:-1] for k in inside].index(p))):
        group = [key for key in inside if key.path[:-1] == parent]
        names = tuple(key.path[-1] for key in group)
        if len(parent) > 1:
            if "aqm" in parent[:-1] and (parent[-2:], str(names)) in seen:
                continue
            seen.add((parent[-2:], str(names)))
            yield heading(parent, described)
        yield table(group, of)
        for key in group:
            if key.choices and any(meaning for _, meaning in key.choices):
                yield f"`{key.dotted}`" + (f", by `{key.tag}`" if key.tag else "")
                yield choices(key)


def heading(parent: tuple[str, ...], described: dict[tuple[str, ...], Key]) -> str:
    """Name a table inside a section."""
    dotted = ".".join(step for step in parent if "=" not in step).replace(".[]", "[]")
    conditions = ", ".join(step.replace("=", ' = "') + '"' for step in parent if "=" in step)
    title = f"### `{dotted}`" + (f" with `{conditions}`" if conditions else "")
    description = described[parent].description if parent in described else ""
    return f"{title}\n\n{description}".rstrip()


def choices(key: Key) -> str:
    """List the values of a choice."""
    return "\n".join(f"- `{name}`: {meaning or 'see its name.'}" for name, meaning in key.choices)


def table(group: list[Key], of: dict[str, Defaults]) -> str:
    """Write a table of keys."""
    apply = [name for name in of if name != "wired" or group[0].path[0] not in RADIO]
    columns = [name for name in apply if any(default(of[name], key) for key in group)]
    for name, like in ALIKE.items():
        if all(default(of[like], key) == default(of[name], key) for key in group):
            columns = [column for column in columns if column != name]
    head = ["key", "meaning", "value", *columns]
    rows = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for key in group:
        values = [default(of[name], key) for name in columns]
        if key.required:
            values = ["required", *values[1:]] if values else []
        what = key.description + (" Required." if key.required and not values else "")
        cells = [f"`{key.path[-1]}`", what, form(key), *values]
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows)


def form(key: Key) -> str:
    """Describe the valid values of a key."""
    if key.choices:
        names = ", ".join(f"`{name}`" for name, _ in key.choices)
        return names if key.form != "list of" else f"list of {names}"
    return f"{key.form}: {key.units}" if key.units else key.form


def scenarios_page() -> Iterator[str]:
    """The bundled scenarios: their text, and a link that runs each in the browser."""
    yield "# Bundled scenarios"
    yield (
        "`airlane run --example NAME` runs a scenario, and `airlane list scenarios` lists them. The links "
        "open the [playground](../howto/playground.md) with the scenario loaded."
    )
    for name in examples.names():
        path = examples.path(name)
        yield f"## {name}"
        link = f'<a href="../playground.html#scenario={name}">Run it in the browser</a>'
        yield f"{examples.title(path)} {link}."
        yield f"```toml excerpt\n{path.read_text(encoding='utf-8').rstrip()}\n```"


def command_page() -> Iterator[str]:
    """Yield the reference of the command line."""
    yield "# Command line"
    yield (
        "Exit codes: 0 success; 1 a check failed; 2 an error in the arguments or files, with one message; "
        '130 interrupted, 143 terminated. `eval "$(airlane completion bash)"` in `~/.bashrc` completes '
        "commands, options and names; zsh and fish are also supported."
    )
    group: Any = typer.main.get_command(app)
    yield from commands(group, "airlane", None)


def commands(command: Any, name: str, parent: Any) -> Iterator[str]:
    """Yield the help of a command and of those below it."""
    context = command.make_context(name.rpartition(" ")[2], [], parent=parent, resilient_parsing=True)
    context.terminal_width = 100
    if parent is not None:
        yield f"## `{name}`"
    yield f"```text\n{command.get_help(context)}\n```"
    for below in getattr(command, "commands", {}).values():
        yield from commands(below, f"{name} {below.name}", context)


def rust_page() -> Iterator[str]:
    """Yield the list of crates, each with the first paragraph of its documentation."""
    yield "# Rust"
    yield (
        "Protocols are libraries without a clock, a socket or a thread of their own. The documentation of "
        "all crates is part of this site; "
        '<a href="../rust/airlane_scenario/index.html">start with the scenario crate</a>.'
    )
    rows = ["| crate | contents |", "|---|---|"]
    for manifest in sorted(ROOT.glob("crates/*/Cargo.toml")):
        crate = manifest.parent.name
        lines = (manifest.parent / "src/lib.rs").read_text(encoding="utf-8").splitlines()
        first: list[str] = []
        for line in lines:
            if not line.removeprefix("//!").strip():
                break
            first.append(line.removeprefix("//!").strip())
        text = " ".join(first).replace("[`", "`").replace("`]", "`")
        link = (
            f'<a href="../rust/{"_native" if crate == "py" else f"airlane_{crate}"}/index.html">{crate}</a>'
        )
        rows.append(f"| {link} | {text} |")
    yield "\n".join(rows)


PAGES = (
    ("scenario", scenario_page),
    ("scenarios", scenarios_page),
    ("cli", command_page),
    ("rust", rust_page),
)


def main() -> None:
    """Write the pages."""
    folder = ROOT / "docs/reference"
    for name, page in PAGES:
        (folder / f"{name}.md").write_text("\n\n".join(page()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
