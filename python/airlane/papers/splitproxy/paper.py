"""A split-connection proxy: the experiments on the paper's tables and figures."""

from __future__ import annotations

from airlane.experiments import Experiment
from airlane.papers.splitproxy import adaptive, beyond, ftp, radio, regions, start, video, web

__all__ = ["experiments"]

TITLE = "A split-connection proxy"
REFERENCE = "Farkas, Héder and Nováczki, A Split Connection TCP Proxy in LTE Networks, EUNICE 2012"
ABOUT = "a split-connection proxy"


def experiments() -> list[Experiment]:
    """All experiments, in the order of their runs."""
    return [
        start.figure2(),
        ftp.figure4(),
        ftp.figure5(),
        ftp.figure6(),
        web.figure7(),
        video.figure8(),
        video.readings(),
        regions.regions(),
        beyond.places(),
        beyond.tuning(),
        adaptive.adaptive(),
        radio.radio(),
    ]
