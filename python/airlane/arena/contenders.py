"""The contenders of the arena, as changes to a scenario."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from airlane.control import CallController, OwnController, PathScheduler
from airlane.native import ScenarioError
from airlane.scenario import Scenario
from airlane.user_error import UserError

__all__ = ["BASELINE", "CONTENDERS", "FIELD", "ArenaError", "Contender", "NotForError", "own"]

BASELINE = "cubic"
"""The reference of all comparisons: the controller that most senders use."""

_CARRIED = ("tested", "peer")
"""Flows that a contender carries, by the start of their names."""


class ArenaError(UserError):
    """An unknown name; the message lists the known ones."""


class NotForError(Exception):
    """A contender does not apply to a situation; the message gives the reason."""


@dataclass(frozen=True)
class Contender:
    """A mechanism, as the settings that it changes.

    Attributes
    ----------
    name, title
        For tables, and in full.
    transport
        Settings of the flows that it carries; with `kind` all of them. Over QUIC, browsers and
        segment players use HTTP/3.
    cell
        Settings of every cell, by the key below the cell.
    middleboxes
        Middlebox functions on the path.
    settings
        Other settings, by dotted key.
    app
        Settings of the calls that it carries, by the key below their application.
    endless
        The application that takes the place of endless transfers, if it carries no others.
    needs_cell
        Whether a contender with settings of cells does not apply to a scenario without a cell.
    downlink_only
        Why it does not apply to uploads; empty if it does.
    own
        Its class by the name in the scenario, if it is a controller of the user.
    """

    name: str
    title: str
    transport: Mapping[str, object] = field(default_factory=dict)
    cell: Mapping[str, object] = field(default_factory=dict)
    middleboxes: Sequence[Mapping[str, object]] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    app: Mapping[str, object] = field(default_factory=dict)
    endless: Mapping[str, object] = field(default_factory=dict)
    needs_cell: bool = True
    downlink_only: str = ""
    own: Mapping[str, type[OwnController]] = field(default_factory=dict)

    def enter(self, scenario: Scenario, *, every: bool = False) -> Scenario:
        """The scenario with this contender.

        Parameters
        ----------
        every
            Whether it carries every flow over TCP or QUIC to which it applies, of any name.

        Raises
        ------
        NotForError
            When it does not apply to the scenario.
        """
        told = scenario.settings
        changed: dict[str, object] = dict(self.settings)
        for i, flow in enumerate(told["flow"]):
            is_call = flow["app"]["kind"] == "rtc"
            if every and not (self.app if is_call else _is_carried(flow)):
                continue
            if not every and not str(flow["name"]).startswith(_CARRIED):
                continue
            if flow["direction"] == "uplink" and self.downlink_only:
                if every:
                    continue
                raise NotForError(self.downlink_only)
            if self.endless and flow["app"]["kind"] != "bulk":
                if every:
                    continue
                raise NotForError("it carries endless transfers only")
            if "kind" in self.transport:
                changed[f"flow.{i}.transport"] = dict(self.transport)
                if flow["app"]["kind"] in ("web", "dash"):
                    changed[f"flow.{i}.app.http"] = "3"  # HTTP version of browsers and players over QUIC
            else:
                changed |= {f"flow.{i}.transport.{key}": value for key, value in self.transport.items()}
            if self.endless:
                changed[f"flow.{i}.app"] = dict(self.endless)
            if is_call:
                changed |= {f"flow.{i}.app.{key}": value for key, value in self.app.items()}
        if self.app and not any(key.startswith("flow.") for key in changed):
            raise NotForError("there is no call")
        if self.cell and self.needs_cell and not told["cell"]:
            raise NotForError("there is no cell")
        if told["cell"]:
            changed |= {f"cell.{key}": value for key, value in self.cell.items()}  # of every [[cell]]
        if self.middleboxes:
            changed["middlebox"] = [dict(one) for one in self.middleboxes]
        try:
            return scenario.set(changed)
        except ScenarioError as error:
            # Such as an application that no PEP supports: the format checks which settings exclude each
            # other.
            why = str(error).removeprefix("--set ").removesuffix(f" (over {scenario.file_name})")
            raise NotForError(why.removeprefix(f"{scenario.file_name}: ")) from error


def _is_carried(flow: Mapping[str, Any]) -> bool:
    """Whether a flow has a congestion control."""
    return flow.get("transport") is not None and flow["transport"]["kind"] in ("tcp", "quic")


def _sender(name: str, title: str, **transport: Any) -> Contender:
    return Contender(name, title, {"congestion": name} | transport)


def own(name: str, made: type[OwnController]) -> tuple[Contender, ...]:
    """A controller of the user as contenders: for calls or paths one, else over TCP, and as `quic-NAME`."""
    title = (inspect.getdoc(made) or "of your own").splitlines()[0].removesuffix(".")
    if issubclass(made, CallController):
        return (Contender(name, title, app={"controller": {"kind": "own", "name": name}}, own={name: made}),)
    if issubclass(made, PathScheduler):
        paths = {"kind": "mptcp", "scheduler": "own", "policy": name}
        return (Contender(name, title, paths, own={name: made}),)
    law = {"congestion": "own", "controller": name}
    return (
        Contender(name, title, law, own={name: made}),
        Contender(f"quic-{name}", f"{title}, over QUIC", {"kind": "quic"} | law, own={name: made}),
    )


_PEP = {"kind": "pep", "at": "gateway"}


def _meld(rule: str, congestion: str) -> Contender:
    titles = {"newreno": "NewReno", "cubic": "CUBIC"}
    return Contender(
        f"{rule}-{congestion}",
        f"{titles[congestion]}, with {rule.upper()} from the eNB's radio information",
        {"congestion": congestion, "loss_discriminator": rule},
        settings={"rnis": {}},
        downlink_only="an eNB informs servers, not UEs",
    )


def _split(*places: str) -> Contender:
    told = " and ".join({"gateway": "the gateway", "enb": "the eNB"}[place] for place in places)
    return Contender(
        f"split-{'-'.join(places)}",
        f"CUBIC, split by a proxy in {told}",
        {"congestion": "cubic"},
        middleboxes=[{"kind": "split-proxy", "at": place} for place in places],
    )


def _quic(congestion: str, title: str) -> Contender:
    return Contender(f"quic-{congestion}", f"{title} over QUIC", {"kind": "quic", "congestion": congestion})


_QUIC_ABE = {"kind": "quic", "congestion": "cubic", "abe": True}


CONTENDERS = (
    _sender("newreno", "NewReno (RFC 5681, RFC 6582)"),
    _sender("cubic", "CUBIC (RFC 9438)"),
    Contender(
        "cubic-codel",
        "CUBIC, with CoDel on the cell's queues",
        {"congestion": "cubic"},
        cell={"rlc.aqm": {"kind": "codel", "target": "20 ms"}},
    ),
    _sender("bbr", "BBRv1"),
    _sender("bbr3", "BBRv3 (draft-ietf-ccwg-bbr)"),
    _sender("dctcp", "DCTCP (RFC 8257), with accurate ECN", ecn="accurate"),
    _sender("prague", "Prague, the congestion control of L4S, with accurate ECN", ecn="accurate"),
    Contender(
        "cubic-abe",
        "CUBIC, which reduces less at congestion marks (RFC 8511)",
        {"congestion": "cubic", "ecn": True, "abe": True},
    ),
    _sender("scalable", "Scalable TCP"),
    _sender("vegas", "Vegas"),
    _sender("westwood", "Westwood+"),
    _sender("veno", "Veno"),
    Contender(
        "drwa",
        "CUBIC, with DRWA at the receiver",
        {"congestion": "cubic", "receive_window": "drwa"},
        downlink_only="its receiver must be the UE",
    ),
    Contender(
        "arwa",
        "NewReno, with ARWA at the receiver",
        {"congestion": "newreno", "receive_window": "arwa"},
        downlink_only="its receiver must be the UE",
    ),
    Contender(
        "mdcc",
        "MD-CC, with a lightweight PEP at the gateway",
        {"congestion": "mdcc"},
        middleboxes=(_PEP,),
        downlink_only="a PEP informs servers, not UEs",
    ),
    _meld("meld-de", "newreno"),
    _meld("meld-de", "cubic"),
    _meld("meld-me", "newreno"),
    _meld("meld-me", "cubic"),
    _split("gateway"),
    _split("enb"),
    _split("gateway", "enb"),
    _quic("newreno", "NewReno"),
    _quic("cubic", "CUBIC"),
    _quic("dctcp", "DCTCP"),
    _quic("prague", "Prague"),
    Contender("quic-cubic-abe", "CUBIC, which reduces less at congestion marks, over QUIC", _QUIC_ABE),
)


_WIDE_QUIC = {"kind": "quic", "stream_window": "24 MiB"}
"""Flow control as wide as that of TCP in situations of NR; quinn's 1.25 MB would set the rate there."""


def _both(name: str, title: str, **transport: Any) -> tuple[Contender, Contender]:
    """A mechanism over TCP, and as `quic-NAME` over QUIC."""
    return (
        Contender(name, title, transport),
        Contender(f"quic-{name}", f"{title}, over QUIC", _WIDE_QUIC | transport),
    )


def _marked(sender: Contender) -> Contender:
    """A sender of ABC, with ABC's marks in the downlink queues of the cells."""
    return replace(
        sender,
        cell={"rlc.aqm": {"kind": "abc"}},
        downlink_only="the uplink queue of a UE does not know its capacity",
    )


def _informed(sender: Contender) -> Contender:
    """A sender that needs radio information, with a service that gives it."""
    return replace(sender, settings={"rnis": {}}, downlink_only="radio information describes the downlink")


FIELD = (
    _sender("newreno", "NewReno (RFC 5681, RFC 6582)"),
    *_both("cubic", "CUBIC (RFC 9438)", congestion="cubic"),
    _sender("bbr3", "BBRv3 (draft-ietf-ccwg-bbr)"),
    *_both("cubic-hystartpp", "CUBIC with HyStart++ (RFC 9406)", congestion="cubic", slow_start="hystart++"),
    *_both(
        "cubic-search",
        "CUBIC with SEARCH (draft-chung-ccwg-search)",
        congestion="cubic",
        slow_start="search",
    ),
    *_both("copa", "Copa (NSDI 2018), with mode switching", congestion="copa"),
    *_both("copa-constant", "Copa with a constant delta", congestion="copa", copa_mode_switching=False),
    *_both("c2tcp", "C2TCP (JSAC 2019) on CUBIC, target twice the minimum round trip", congestion="c2tcp"),
    *_both("c4", "C4 (draft-huitema-ccwg-c4)", congestion="c4"),
    *_both("vivace", "PCC Vivace (NSDI 2018)", congestion="vivace"),
    *_both("verus", "Verus (SIGCOMM 2015)", congestion="verus"),
    *map(_informed, _both("pbe", "PBE-CC (SIGCOMM 2020), with radio information", congestion="pbe")),
    *map(_marked, _both("abc", "ABC (NSDI 2020)", congestion="abc")),
    *_both("ledbatpp", "LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus)", congestion="ledbat++"),
    Contender("sprout", "Sprout (NSDI 2013)", {"kind": "udp"}, endless={"kind": "sprout"}),
)
"""The mechanisms that papers on cellular congestion control compare with, and four known ones."""
