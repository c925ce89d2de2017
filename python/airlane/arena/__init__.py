"""The arena: every mechanism against every situation, on the same radio.

A contender changes what it is about (sender, receiver, queue of the cell, function in the path) in scenarios
that are otherwise the same; a situation is a scenario file whose flows called `tested` are the contender's.
Flows called `peer` use it too and are not measured; those called `rival`, CUBIC, share the path; whatever
else is there stays as it is.
"""

from airlane.arena.conduct import Cell, Result, conduct
from airlane.arena.contenders import BASELINE, CONTENDERS, Contender, own
from airlane.arena.situations import SITUATIONS, Situation

__all__ = [
    "BASELINE",
    "CONTENDERS",
    "SITUATIONS",
    "Cell",
    "Contender",
    "Result",
    "Situation",
    "conduct",
    "own",
]
