"""Experiments that are compared with published figures, and those figures as data."""

from __future__ import annotations

import functools
from importlib import resources
from pathlib import Path

from airlane.experiments import Experiment
from airlane.papers import own
from airlane.papers.numbers import read
from airlane.verdict import Published

__all__ = ["ABOUT", "PAPERS", "add", "experiments", "published", "readme_rows", "select"]

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
"""Title and reference of the paper behind each experiment, by the part of the id before the slash."""

_BUILT_IN = frozenset(PAPERS)

ABOUT = {
    "ltetcp": "TCP under load and handover",
    "arwa": "adaptive receive windows",
    "mdcc": "multi-domain congestion control with a lightweight PEP",
    "meld": "telling losses apart by radio information, over QUIC",
    "splitproxy": "a split-connection proxy",
}
"""Subject of each paper, in the README's second table."""


_OWN: dict[str, own.Paper] = {}
"""Papers with a folder or a file of their own, by name."""


def add(paper: own.Paper) -> None:
    """Register a paper: its numbers, its experiments, its place in the report."""
    if paper.name in _BUILT_IN:
        raise own.PaperError(f"a paper {paper.name!r} is there already: give the file another name")
    _OWN[paper.name] = paper
    PAPERS[paper.name] = (paper.title, paper.reference)
    ABOUT[paper.name] = paper.about


def published() -> dict[str, Published]:
    """Every published number by its dotted id; `airlane.papers.numbers` reads them."""
    _discover()
    numbers = dict(_read())
    for paper in _OWN.values():
        numbers |= paper.numbers
    return numbers


def readme_rows() -> list[str]:
    """Rows of the README's second table: papers, their subjects, and links to the results."""
    _discover()
    return [f"| `{name}` | {about} | {PAPERS[name][1]} |" for name, about in ABOUT.items()]


@functools.cache
def _read() -> dict[str, Published]:
    import yaml

    text = resources.files(__package__).joinpath("published.yaml").read_text(encoding="utf-8")
    return read(yaml.safe_load(text))


@functools.cache
def _discover() -> None:
    """Find the papers that have a folder here."""
    for folder in own.found_in(Path(__file__).parent):
        add(own.load(folder))


def experiments() -> list[Experiment]:
    """All experiments, in the order of their runs."""
    _discover()
    return [*_built_in(), *(experiment for paper in _OWN.values() for experiment in paper.experiments)]


def _built_in() -> list[Experiment]:
    return [*_ltetcp(), *_arwa(), *_frto(), *_mdcc(), *_meld(), *_splitproxy()]


def _ltetcp() -> list[Experiment]:
    from airlane.papers import ltetcp, ltetcp_handover

    return [
        ltetcp.load_increase(),
        ltetcp_handover.seamless(),
        ltetcp_handover.lossless(),
        ltetcp_handover.queue_sweep(),
    ]


def _arwa() -> list[Experiment]:
    from airlane.papers import arwa_limits, arwa_load, arwa_mixed, arwa_schemes, arwa_single

    return [
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
    ]


def _frto() -> list[Experiment]:
    from airlane.papers import frto

    return [frto.delay_spike()]


def _mdcc() -> list[Experiment]:
    from airlane.papers import mdcc, mdcc_beyond, mdcc_delay, mdcc_long, mdcc_short

    return [
        mdcc_delay.one_delay(),
        mdcc_delay.short_delay(),
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
    ]


def _meld() -> list[Experiment]:
    from airlane.papers import meld, meld_beyond, meld_sweep, meld_uplink

    return [
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
    ]


def _splitproxy() -> list[Experiment]:
    from airlane.papers import splitproxy_beyond, splitproxy_ftp, splitproxy_start, splitproxy_web

    return [
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
    """Experiments whose id is in `ids` or below an entry (`ltetcp` selects `ltetcp/load`); without ids, all.

    An id may be the path of a user's paper, a folder or a `.py` file.

    Raises
    ------
    KeyError
        If a name selects nothing.
    PaperError
        If a file does not define a paper.
    """
    for i, name in enumerate(ids):
        if own.is_path(name):
            paper = own.load(Path(name))
            add(paper)
            ids = [*ids[:i], paper.name, *ids[i + 1 :]]
    known = experiments()
    if not ids:
        return known
    for name in ids:
        if not any(e.id == name or e.id.startswith(f"{name}/") for e in known):
            raise KeyError(name)
    return [e for e in known if any(e.id == name or e.id.startswith(f"{name}/") for name in ids)]
