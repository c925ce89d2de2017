"""The 22 test cases of the BBR draft: the expected behaviour, and the parameters that it leaves open."""

from __future__ import annotations

from airlane.arena import draft_measures as measures
from airlane.arena.draft import Case, Question

__all__ = ["CASES"]

_V1 = ("bbr",)


def _no(phase: str) -> str:
    return f"its ProbeBW has no {phase}"


CASES = (
    Case(
        "A.1",
        "exiting Startup on a plateau",
        "plain",
        "The largest rate is found to 2 %; three rounds with less than a quarter more end Startup, and"
        " Drain follows.",
        "max_bw as Startup ends, full_bw_count 3",
        "max_bw of the link's, %",
        measures.plateau,
        others=Question(measures.plateau, of=_V1),
    ),
    Case(
        "A.2",
        "exiting Startup on loss, application-limited",
        "limited-lossy",
        "Loss above 2 % in a round trip, in six ranges or more, ends Startup although the application"
        " limits the rate.",
        "a tenth is lost from 2 s on; before, every round is application-limited; Drain, or what follows"
        " it at once, without a plateau",
        "from the first loss to Drain, round trips",
        measures.startup_loss,
        others=Question(measures.startup_loss, of=_V1),
    ),
    Case(
        "A.3",
        "exiting Drain on inflight",
        "plain",
        "Drain paces at a gain of 0.5 and ends when no more than Inflight(1.0) is in flight.",
        "flight against Inflight(1.0) as Drain ends",
        "flight as Drain ends, % of Inflight(1.0)",
        measures.drained(0.5),
        others=Question(
            measures.drained(88 / 256),
            criterion="flight against Inflight(1.0) as Drain ends; paced at its own gain of 88/256",
            of=_V1,
        ),
    ),
    Case(
        "A.4",
        "exiting Drain on time",
        "plain",
        "The link loses a tenth of its rate as Drain begins: the flight stays above the BDP, and Drain"
        " ends after 3 rounds.",
        "rounds in Drain; 3 or 4, for section 5.3.2 ends it after more than 3",
        "Drain, round trips",
        measures.drain_times_out,
        (measures.narrower(0.9, "Drain", 10.0),),
        others=Question(measures.drain_lasts, criterion="rounds in Drain; 3 or 4", of=_V1),
    ),
    Case(
        "A.4b",
        "the same, with a link that loses seven tenths",
        "plain",
        "As A.4.",
        "as A.4",
        "Drain, round trips",
        measures.drain_times_out,
        (measures.narrower(0.3, "Drain", 10.0),),
        others=Question(measures.drain_lasts, criterion="rounds in Drain; 3 or 4", of=_V1),
    ),
    Case(
        "A.5",
        "exiting Up on a plateau",
        "plain",
        "Without loss, three rounds with less than a quarter more end Up, and Down follows.",
        "full_bw_count 3 as Up ends, no packet lost",
        "Up, round trips",
        measures.up_plateau,
        alone=_no("Up"),
    ),
    Case(
        "A.6",
        "exiting Up on loss, application-limited",
        "wide",
        "Loss above 2 % of a round trip ends Up, and Down follows, although the application limits the rate.",
        "half the rate from the begin of Up, a tenth lost 1.5 round trips later; no long-term bound"
        " (section 5.5.10.2)",
        "from the first loss to Down, round trips",
        measures.up_loss_limited,
        (measures.limit_and_lose,),
        alone=_no("Up"),
    ),
    Case(
        "A.7",
        "never exiting Startup when application-limited",
        "limited",
        "Without loss and with application-limited rounds, Startup does not end.",
        "nothing but ProbeRTT follows, which comes from any state (section 5.3.4.1)",
        "Startup, s",
        measures.stays("Startup"),
        others=Question(measures.stays("Startup"), of=_V1),
    ),
    Case(
        "A.7b",
        "never exiting Up when application-limited",
        "wide",
        "The same of Up.",
        "half the rate from the begin of the first Up after ProbeRTT; nothing but ProbeRTT follows",
        "Up, s",
        measures.stays("ProbeBW_UP"),
        (measures.limit_in_up,),
        alone=_no("Up"),
    ),
    Case(
        "A.8",
        "exiting Down on inflight",
        "plain",
        "Down paces at a gain of 0.9 and goes over to Cruise when no more than Inflight(1.0), and no"
        " more than the"
        " bound less its headroom, is in flight.",
        "flight against Inflight(1.0) as Cruise begins; the gain to 1/256",
        "flight as Down ends, % of Inflight(1.0)",
        measures.down,
        alone=_no("Down"),
    ),
    Case(
        "A.9",
        "exiting Down after its time",
        "plain",
        "The link loses a tenth of its rate as Down begins, so that the flight does not fall: when it is"
        " time to probe,"
        " Refill follows without Cruise.",
        "Refill after Down with the flight above Inflight(1.0); here Reno's clock (section 5.3.3.8) is"
        " the one that runs out",
        "Down, s",
        measures.skips_cruise,
        (measures.narrower(0.9, "ProbeBW_DOWN", 10.0),),
        alone=_no("Down"),
    ),
    Case(
        "A.10",
        "entering and exiting ProbeRTT",
        "plain",
        "5 s without a smaller round trip, then half of the window for 200 ms and a round trip, and ProbeBW.",
        "entered between 5 and 5.2 s, window gain 0.5, at least 200 ms",
        "ProbeRTT, ms",
        measures.probe_rtt,
        alone="its ProbeRTT is due after 10 s and goes down to four segments",
    ),
    Case(
        "A.11",
        "skipping ProbeRTT after idleness",
        "idle",
        "An application that was idle while the 5 s ran out: no ProbeRTT when it resumes.",
        "the next ProbeRTT comes 4.5 s after the silence or later",
        "from the end of the silence to ProbeRTT, s",
        measures.idle,
        alone="its ProbeRTT is due after 10 s, which do not run out within the silence",
    ),
    Case(
        "A.12",
        "Startup on a link with aggregation",
        "plain",
        "extra_acked is seen and the window is above two BDPs; all of the bandwidth is found.",
        "40 Mbit/s for 5 of each 20 ms; max_bw at least 98 % of the mean rate as Startup ends",
        "max_bw of the mean rate, %",
        measures.startup_batched,
        (measures.batches_from_start,),
        others=Question(measures.startup_batched, of=_V1),
    ),
    Case(
        "A.13",
        "Cruise on a link with aggregation",
        "plain",
        "extra_acked rises and widens the window, and the link stays full.",
        "the same from the first Cruise on; goodput at least 95 % from half a second later",
        "goodput of the mean rate, %",
        measures.cruise_batched,
        (measures.batches_in_cruise,),
        others=Question(measures.batched, criterion="goodput at least 95 % from half a second later"),
    ),
    Case(
        "A.14",
        "BDPs of less than a packet",
        "thin",
        "The window is 4 segments or more, and the pacing rate is that of the link.",
        "mean pacing rate in Cruise within 2 % of 99 % of the link's",
        "pacing rate of the link's, %",
        measures.thin,
        others=Question(
            measures.thin,
            criterion="mean pacing rate in ProbeBW at a gain of 1 within 2 % of 99 % of the link's",
            of=_V1,
        ),
    ),
    Case(
        "A.15",
        "ten times the bandwidth",
        "plain",
        "10 Mbit/s become 100: all of it is found in a number of round trips that grows with the logarithm.",
        "95 % found within 21.6 rounds of Up, twice what a gain of 1.25 x 0.99 takes; without loss there"
        " is no long-term"
        " bound whose growth could be seen",
        "rounds of Up until 95 %",
        measures.found,
        (measures.faster,),
        others=Question(
            measures.found,
            criterion="95 % found within 21.6 rounds of ProbeBW at a gain of 5/4",
            of=_V1,
        ),
    ),
    Case(
        "A.16",
        "a tenth of the bandwidth",
        "fast",
        "100 Mbit/s become 10: loss brings bw_shortterm down at once, and after two cycles max_bw is the"
        " new rate.",
        "max_bw within 2 % of the new rate after three Ups at most",
        "until max_bw has adapted, s",
        measures.adapted,
        (measures.slower,),
        others=Question(
            measures.lowered,
            criterion="max_bw within 2 % of the new rate after three times of probing at most",
            of=_V1,
        ),
    ),
    Case(
        "A.17",
        "a token bucket policer",
        "policed",
        "Its drops bring the short-term bounds down, and the connection conforms without much loss.",
        "from 10 s on, at most 2 % lost (BBR.LossThresh)",
        "lost from 10 s on, %",
        measures.policed,
        others=Question(measures.lost, criterion="from 10 s on, at most 2 % lost"),
    ),
    Case(
        "A.18",
        "a spurious fast recovery",
        "plain",
        "Reordering makes segments count as lost; when it turns out that none was, the bounds are as"
        " before and Up goes on.",
        "no bounds 2 s later, and Up again within 1 s or ended by its plateau",
        "from the loss that was none to Up again, ms",
        measures.undone(timeout=False),
        (measures.overtaken,),
        others=Question(
            measures.window_kept,
            figure="window a second later, % of before",
            criterion="segments count as lost; a second later the window is at least 90 % of before",
        ),
    ),
    Case(
        "A.19",
        "a spurious timeout",
        "plain",
        "The same after a retransmission timeout that was none.",
        "a pause of 600 ms in Up; every timeout undone, no bounds 2 s later, Up again within 1 s",
        "from the loss that was none to Up again, ms",
        measures.undone(timeout=True),
        (measures.paused,),
        others=Question(
            measures.timeouts_undone,
            figure="timeouts undone, %",
            criterion="a pause of 600 ms when BBRv3 is in Up; every timeout undone",
        ),
    ),
    Case(
        "A.20",
        "ProbeRTT during Startup",
        "limited",
        "ProbeRTT that comes before the pipe was ever full goes back to Startup.",
        "Startup after ProbeRTT, full_bw_reached false",
        "ProbeRTT, ms",
        measures.starts_again,
        others=Question(measures.starts_again, of=_V1),
    ),
    Case(
        "A.21",
        "loss in Up with a long-term bound",
        "wide",
        "Loss before the plateau lowers inflight_longterm, not below Beta, and Down follows at once.",
        "a tenth lost in the round trip from the begin of an Up that has a bound",
        "bound after of bound before, %",
        measures.bound_lowered,
        (measures.lose_in_up, measures.lose_again),
        alone="it has no long-term bound",
    ),
    Case(
        "A.22",
        "application-limited in Refill",
        "plain",
        "An application that pauses during Refill: its low samples do not lower max_bw, and Up follows.",
        "max_bw as Refill ends at least 99.9 % of before",
        "max_bw of before, %",
        measures.refill_limited,
        (measures.pause_in_refill,),
        alone=_no("Refill"),
    ),
)
"""In the order of the appendix; a letter marks a variant of ours."""
