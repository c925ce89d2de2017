"""The command `airlane kernel`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from airlane.commands.common import AsJson, user_errors

__all__ = ["app"]

app = typer.Typer(
    help="Linux kernels for virtual time, as the ends of flows.", no_args_is_help=True, rich_markup_mode=None
)


_OTHER_OPTIONS = (
    "it was built with other options of the kernel than this version of airlane asks for: without Multipath "
    "TCP, for example; --force builds it again"
)


@app.command(name="build")
@user_errors
def build_command(
    version: Annotated[
        str, typer.Argument(metavar="VERSION", help="Version of Debian's package linux-source.")
    ] = "6.12",
    source: Annotated[
        Path | None,
        typer.Option(metavar="TREE", help="A source tree of yours instead. It is copied, not changed."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Name of the kernel in scenarios [default: version, or name of the tree]."),
    ] = None,
    config: Annotated[
        list[str] | None, typer.Option(metavar="CONFIG_X=VALUE", help="A line of the configuration.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", min=1, help="Compilers at once [default: one per core].")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Build a kernel that is there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Build a kernel, in some minutes, and keep it in the user's cache.

    Of a source tree, the next build compiles only what has changed.
    """
    from airlane.runs import kernel

    wanted = name or version
    there = next((k for k in kernel.installed() if k.name == wanted), None)
    if there is not None and source is None and not force and there.interface == kernel.INTERFACE:
        renewed = kernel.renew_agent(there)
        if as_json:
            print(json.dumps(asdict(renewed or there), indent=2))
        elif renewed is not None:
            print(f"{there.name} is there; its agent was of another version of airlane, and is a new one now")
        else:
            print(f"{there.name} is there; --force builds it again")
        if not as_json and not there.is_current:
            print(_OTHER_OPTIONS)
        return

    def tell(step: str, seconds: float) -> None:
        if not as_json:
            print(f"{step:<10} {seconds:7.1f} s", flush=True)

    made = kernel.build(version, source=source, name=name, jobs=jobs, options=config or [], on_step=tell)
    if as_json:
        print(json.dumps(asdict(made), indent=2))
        return
    print(f"Linux {made.release} as {made.name!r} in {made.folder}")


@app.command(name="list")
@user_errors
def list_command(as_json: AsJson = False) -> None:
    """List the kernels that were built."""
    from airlane.runs import kernel

    found = kernel.installed()
    if as_json:
        print(json.dumps([asdict(one) for one in found], indent=2))
        return
    if not found:
        print(f"no kernel in {kernel.folder()}; airlane kernel build makes one")
    for one in found:
        old = "" if one.is_current else "  (built with other options: --force builds it again)"
        if one.interface != kernel.INTERFACE:
            old = "  (built for another version: --force builds it again)"
        print(f"{one.name:<16} {one.release:<24} {one.sha256['linux'][:12]}  {one.source}{old}")


@app.command(name="remove")
@user_errors
def remove_command(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of kernels.")],
) -> None:
    """Remove kernels, and the source trees in which they were built."""
    from airlane.runs import kernel

    for name in names:
        kernel.remove(name)
        print(f"{name} removed")
