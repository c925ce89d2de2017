"""Experiments that stand beside published figures, and those figures as data."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

from airlane.experiments import Experiment
from airlane.verdict import Published

__all__ = ["PAPERS", "experiments", "published", "select"]

PAPERS = {
    "ltetcp": (
        "TCP when a cell fills up and when it is left",
        "Nguyen et al., Towards Understanding TCP Performance on LTE/EPC Mobile Networks, "
        "AllThingsCellular 2014",
    ),
    "arwa": (
        "Adaptive receive windows",
        "Adesh and Renuka, Adaptive Receiver-Window Adjustment for Delay Reduction in LTE Networks, "
        "Journal of Computer Networks and Communications 2019",
    ),
    "frto": ("A spurious timeout", "RFC 5682"),
    "mdcc": (
        "Multi-domain congestion control",
        "Krämer et al., On the Benefits of Multi-Domain Congestion Control in LTE Networks",
    ),
    "meld": (
        "Loss discrimination from radio information",
        "Diarra, Dabbous, Ismail, Turletti, Cross-layer Loss Discrimination Algorithms for MEC in "
        "4G networks, HPSR 2021",
    ),
    "splitproxy": (
        "A split-connection proxy",
        "Farkas, Héder and Nováczki, A Split Connection TCP Proxy in LTE Networks, EUNICE 2012",
    ),
}
"""Title and reference of what the experiments before the slash of their ids stand beside."""


@functools.cache
def published() -> dict[str, Published]:
    """Every published number by its dotted id.

    A sibling `x_ci` of `x_<unit>` is its interval and no number of its own. Settings that are words
    or flags are left out.
    """
    import yaml

    text = resources.files(__package__).joinpath("published.yaml").read_text(encoding="utf-8")
    tree = yaml.safe_load(text)
    assert tree.pop("schema") == 1, "this reader knows schema 1"
    numbers: dict[str, Published] = {}
    _collect(tree, "", numbers)
    return numbers


def _collect(node: dict[Any, Any], path: str, into: dict[str, Published]) -> None:
    if node.get("lost") is True:
        into[path.rstrip(".")] = Published(path.rstrip("."), None)
    for key, value in node.items():
        name = f"{path}{key}"
        if isinstance(value, dict):
            _collect(value, f"{name}.", into)
        elif isinstance(value, list):
            if len(value) == 2 and all(_is_number(v) for v in value):
                into[name] = Published(name, None, range=(float(value[0]), float(value[1])))
        elif _is_number(value) and not str(key).endswith("_ci"):
            interval = node.get(f"{str(key).rpartition('_')[0]}_ci")
            into[name] = Published(name, float(value), None if interval is None else float(interval))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def experiments() -> list[Experiment]:
    """All experiments, in the order in which they are run."""
    from airlane.papers import (
        arwa_limits,
        arwa_load,
        arwa_mixed,
        arwa_schemes,
        arwa_single,
        frto,
        ltetcp,
        ltetcp_handover,
        mdcc,
        mdcc_beyond,
        mdcc_delay,
        mdcc_long,
        mdcc_short,
        meld,
        meld_beyond,
        meld_sweep,
        meld_uplink,
        splitproxy_beyond,
        splitproxy_ftp,
        splitproxy_start,
        splitproxy_web,
    )

    return [
        ltetcp.load_increase(),
        ltetcp_handover.seamless(),
        ltetcp_handover.lossless(),
        ltetcp_handover.queue_sweep(),
        arwa_schemes.table6(),
        arwa_schemes.combinations(),
        arwa_single.figure3(),
        arwa_load.table2(),
        arwa_single.figure4(),
        arwa_limits.table3(),
        arwa_limits.table4(),
        arwa_limits.joint(),
        arwa_load.table5(),
        arwa_mixed.figure7(),
        arwa_mixed.figure8(),
        arwa_mixed.figure9(),
        frto.delay_spike(),
        mdcc_delay.short_delay(),
        mdcc_delay.jump_delay(),
        mdcc.table2(),
        mdcc.table3(),
        mdcc.figure4(),
        mdcc_short.table4(),
        mdcc_short.figure5(),
        mdcc_short.figure6(),
        mdcc_long.figure7(),
        mdcc_beyond.wired(),
        mdcc_beyond.faults(),
        mdcc_beyond.terms_jump(),
        mdcc_beyond.terms_short(),
        meld.table2(),
        meld.figure3(),
        meld.figure4(),
        meld.figure5(),
        meld.figure6(),
        meld_sweep.sweep(),
        meld_uplink.uplink(),
        meld_beyond.staleness(),
        meld_beyond.faults(),
        meld_beyond.short_flows(),
        meld_beyond.confusion(),
        splitproxy_start.figure2(),
        splitproxy_ftp.figure4(),
        splitproxy_ftp.figure5(),
        splitproxy_ftp.figure6(),
        splitproxy_web.figure7(),
        splitproxy_web.figure8(),
        splitproxy_beyond.places(),
        splitproxy_beyond.tuning(),
    ]


def select(ids: list[str]) -> list[Experiment]:
    """Experiments whose id is one of `ids` or lies under it (`ltetcp` selects `ltetcp/load`); all for none.

    Raises
    ------
    KeyError
        With the name that selects nothing.
    """
    known = experiments()
    if not ids:
        return known
    for name in ids:
        if not any(e.id == name or e.id.startswith(f"{name}/") for e in known):
            raise KeyError(name)
    return [e for e in known if any(e.id == name or e.id.startswith(f"{name}/") for name in ids)]
