"""Settings that a file has for LTE, in a network of NR, and the reverse.

A file's own settings have precedence over the preset. If `network` alone is changed from LTE to NR, the cell
keeps the bandwidth, the RLC and the fading that the file sets for LTE.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from airlane import native

if TYPE_CHECKING:
    from airlane.scenario import Scenario

__all__ = ["notes"]

_OF_CELL = (
    "resource_blocks",
    "bandwidth",
    "frequency",
    "uplink_frequency",
    "transmission_mode",
    "control_errors",
    "harq",
    "rlc",
    "pdcp",
    "mac",
    "uplink",
)
"""Keys of a cell whose values differ between the presets of LTE and NR."""

_OF_CHANNEL = ("fading", "path_loss")

_LISTED_MAX = 12
"""Settings that a note names; the others are counted."""


def notes(scenario: Scenario) -> list[str]:
    """A note, if `network` is set to another technology than the file's and the file's settings remain."""
    network = scenario.overrides.get("network")
    if not isinstance(network, str):
        return []
    written = tomllib.loads(scenario.text)
    before = written.get("network", "typical")
    if "wired" in (network, before) or _is_nr(network) == _is_nr(str(before)):
        return []
    kept = dict(_kept(scenario, written, _of_preset(network)))
    if not kept:
        return []
    named = [f"{key} = {_text(own)} (preset: {_text(preset)})" for key, (own, preset) in kept.items()]
    more = f" and {len(named) - _LISTED_MAX} more" if len(named) > _LISTED_MAX else ""
    there, here = ("NR", "LTE") if _is_nr(network) else ("LTE", "NR")
    return [
        f"{scenario.file_name} is a scenario of {here} (network = {json.dumps(before)}), and its own "
        f"settings remain with --set network={network}: {', '.join(named[:_LISTED_MAX])}{more}. For cells "
        f"of {there} as the preset has them, take these keys out of the file, or set them too"
    ]


def _is_nr(network: str) -> bool:
    return network.startswith("nr-") or network == "nrdc"


def _of_preset(network: str) -> dict[str, Any]:
    """The values of the preset, from the smallest scenario."""
    text = (
        f'network = {json.dumps(network)}\n[[cell]]\nname = "a"\n'
        '[[ue]]\nname = "a-ue"\nposition = ["100 m", "0 m"]\n[[flow]]\nto = "a-ue"\n'
    )
    found: dict[str, Any] = json.loads(native.parse(text, "<preset>", {}).json)
    return found


def _kept(
    scenario: Scenario, written: Mapping[str, Any], preset: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[object, object]]]:
    """Keys of the file that differ from the preset: the value of the scenario, and that of the preset."""
    settings = scenario.settings
    for i, cell in enumerate(written.get("cell", ())):
        own, default = settings["cell"][i], preset["cell"][0]
        for key in (key for key in _OF_CELL if key in cell and key not in _set_anyway(scenario)):
            # A number of resource blocks replaces the preset's bandwidth, and the reverse.
            for name, pair in _differing(cell[key], own.get(key), default.get(key), key):
                yield f"cell.{own['name']}.{name}", pair
    channel = written.get("channel", {})
    for key in (key for key in _OF_CHANNEL if key in channel and key not in _set_anyway(scenario)):
        for name, pair in _differing(channel[key], settings["channel"][key], preset["channel"][key], key):
            yield f"channel.{name}", pair


def _set_anyway(scenario: Scenario) -> set[str]:
    """The keys below a cell or the channel that are set together with `network`, so that they are meant."""
    found = set[str]()
    for key in scenario.overrides:
        found.update(key.split("."))
    return found


def _differing(
    written: object, own: object, preset: object, key: str
) -> Iterator[tuple[str, tuple[object, object]]]:
    """The written keys below this one whose values differ."""
    if isinstance(own, Mapping) and isinstance(preset, Mapping):
        # A bare name, such as `fading = "eva"`, is the tag of its table.
        tags = [tag for tag in ("kind", "mode", "model") if tag in own]
        inner: Mapping[str, object] = written if isinstance(written, Mapping) else dict.fromkeys(tags)
        for name, below in inner.items():
            yield from _differing(below, own.get(name), preset.get(name), f"{key}.{name}")
    elif own is not None and own != preset:
        yield key, (own, preset)


def _text(value: object) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)
