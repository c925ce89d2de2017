"""The published figures: readable, complete, and each compared by an experiment or used as setup."""

from __future__ import annotations

import pytest

from airlane import papers
from airlane.experiments import stated
from airlane.study.verdict import Published


def test_intervals_and_ranges_belong_to_their_number() -> None:
    numbers = papers.published()
    assert numbers["mdcc.table2.d100.cubic_s"].value == 9.48
    assert numbers["mdcc.table2.d100.cubic_s"].ci == 0.54
    assert "mdcc.table2.d100.cubic_ci" not in numbers
    assert numbers["mdcc.table2.d100.reduction_pct"].ci is None
    assert numbers["splitproxy.ftp_fig4_delay50ms.gain_pct_4_6users"].range == (2.0, 17.0)
    assert numbers["arwa.table6"].lost


def test_a_range_has_two_ends() -> None:
    known = papers.published()
    name = "arwa.claims_vs_users_20_100.pdf_gain_vs_autotuning_pct"
    assert stated(f"{name}.low", known) == Published(f"{name}.low", 0.36)
    assert stated(f"{name}.high", known) == Published(f"{name}.high", 2.17)
    assert stated(name, known).range == (0.36, 2.17)
    for unknown in (f"{name}.middle", "arwa.nothing.low", "mdcc.table2.d100.cubic_s.low"):
        with pytest.raises(KeyError):
            stated(unknown, known)


@pytest.mark.parametrize("experiment", papers.experiments(), ids=lambda e: e.id)
def test_every_number_of_an_experiment_was_published(experiment: object) -> None:
    from airlane.experiments import Experiment

    assert isinstance(experiment, Experiment)
    known = papers.published()
    for number in experiment.numbers:
        assert stated(number.id, known).id == number.id
    assert [name for name in experiment.setup if name not in known] == []


def test_every_number_of_the_load_increase_is_answered_once() -> None:
    (load,) = papers.select(["ltetcp/load"])
    answered = [n.id for n in load.numbers] + list(load.setup)
    wanted = [name for name in papers.published() if name.startswith("ltetcp.load_increase.")]
    assert sorted(answered) == sorted(wanted)


def test_every_number_of_the_handovers_is_answered_once() -> None:
    names = ["ltetcp/handover-seamless", "ltetcp/handover-lossless", "ltetcp/queue-sweep"]
    handovers = papers.select(names)
    answered = [name for e in handovers for name in [*(n.id for n in e.numbers), *e.setup]]
    wanted = [name for name in papers.published() if name.startswith("ltetcp.handover.")]
    assert sorted(answered) == sorted(wanted)


def test_ids_select_what_lies_under_them() -> None:
    assert [e.id for e in papers.select(["ltetcp/load"])] == ["ltetcp/load"]
    assert {e.id.partition("/")[0] for e in papers.select(["ltetcp"])} == {"ltetcp"}
    assert len(papers.select(["ltetcp"])) > 1
    assert [e.id for e in papers.select([])] == [e.id for e in papers.experiments()]
    with pytest.raises(KeyError, match="ltetcp/loa"):
        papers.select(["ltetcp/loa"])


def test_every_number_of_multi_domain_control_is_answered_once() -> None:
    answered = [name for e in papers.select(["mdcc"]) for name in [*(n.id for n in e.numbers), *e.setup]]
    wanted = [name for name in papers.published() if name.startswith("mdcc.")]
    assert sorted(answered) == sorted(wanted)


def test_no_number_of_multi_domain_control_is_scored_where_it_was_fitted() -> None:
    from airlane.papers.mdcc.setup import LEFT_OUT_MS

    numbers = {n.id: n for e in papers.select(["mdcc"]) for n in e.numbers}
    words = {"table2": "Table II", "table3": "III", "table4": "IV"}
    for table, delay_ms in LEFT_OUT_MS.items():
        rows = [n for name, n in numbers.items() if name.startswith(f"mdcc.{table}.")]
        assert len(rows) in (9, 12)
        # All rows of a table at one delay, which was fitted without the rows of the table.
        assert {row.fitted for row in rows} == {rows[0].fitted}
        assert f"{delay_ms:g} ms" in rows[0].fitted
        own = words[table].split()[-1]
        assert own not in rows[0].fitted.partition("Tables ")[2].split(" and ")
