"""How long BBR waits after an outage of its cell: our TCP compared with Linux in a guest.

    $ .venv/bin/python evidence/bbr_outage.py --runs 24

For outages of 2, 10 and 20 s: the time from the end of the outage until the goodput of a second is half of
that before the outage. Needs the guest kernel (`airlane kernel build 6.12`); takes some minutes.
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt

import airlane

SCENARIO = """
network = "typical"
[run]
duration = "{end} s"
[[cell]]
name = "cell"
resource_blocks = 50
outages = [{{ at = "10 s", duration = "{outage} s" }}]
[[ue]]
name = "phone"
position = ["200 m", "0 m"]
[[flow]]
name = "download"
to = "phone"
app = "bulk"
transport = {transport}
"""

SENDERS = {
    "TCP": '{ kind = "tcp", congestion = "bbr" }',
    # Segments of one packet each, as the simulated TCP sends them.
    "Linux": '{ kind = "kernel", congestion = "bbr", gro = false, gso = false }',
}
OUTAGES_S = (2, 10, 20)
BEGIN_S = 10
"""Time of the outage."""
AFTER_S = 60
"""Time that is simulated after the outage; the wait if the rate does not come back."""


def waits(sender: str, outage_s: int, runs: int) -> npt.NDArray[np.float64]:
    """Seconds from the end of the outage until half of the goodput is back: shape (runs,)."""
    back = BEGIN_S + outage_s
    text = SCENARIO.format(end=back + AFTER_S, outage=outage_s, transport=SENDERS[sender])
    series = airlane.loads(text).run(runs=runs).tables["flow_series"].to_pandas()
    found = []
    for _, run in series.groupby("run"):
        at, rate = run["t_s"].to_numpy(), run["goodput_mbps"].to_numpy()
        half = rate[(at >= BEGIN_S / 2) & (at < BEGIN_S)].mean() / 2
        second = round(1.0 / (at[1] - at[0]))
        ahead = np.lib.stride_tricks.sliding_window_view(rate, second).mean(axis=1)
        times = at[: len(ahead)][(at[: len(ahead)] >= back) & (ahead >= half)]
        found.append(times[0] - back if len(times) else AFTER_S)
    return np.array(found)


def ratio_of_means(
    one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]
) -> tuple[float, float, float]:
    """The ratio of two geometric means, and the ends of its 95 % interval (normal, of the logarithms)."""
    logs = [np.log(np.maximum(sample, 0.1)) for sample in (one, other)]
    difference = logs[0].mean() - logs[1].mean()
    error = np.sqrt(sum(sample.var(ddof=1) / len(sample) for sample in logs))
    low, high = difference - 1.96 * error, difference + 1.96 * error
    return float(np.exp(difference)), float(np.exp(low)), float(np.exp(high))


def main() -> None:
    """Run both for each outage, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=24)
    runs = parser.parse_args().runs
    print("| outage, s | TCP, s: median (10 to 90 %) | Linux 6.12, s | ratio of the geometric means |")
    print("|---|---|---|---|")
    for outage_s in OUTAGES_S:
        both = {sender: waits(sender, outage_s, runs) for sender in SENDERS}
        cells = []
        for sample in both.values():
            low, middle, high = np.percentile(sample, (10, 50, 90))
            cells.append(f"{middle:.1f} ({low:.1f} to {high:.1f})")
        ratio, low, high = ratio_of_means(*both.values())
        print(f"| {outage_s} | {' | '.join(cells)} | {ratio:.2f} ({low:.2f} to {high:.2f}) |", flush=True)


if __name__ == "__main__":
    main()
