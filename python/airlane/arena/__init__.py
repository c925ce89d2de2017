"""The arena: every mechanism in every situation, on the same radio channel.

A contender changes only its own part of a scenario (sender, receiver, queue of the cell, middlebox
function); a situation is a scenario file whose flows called `tested` are the contender's. Flows called
`peer` use it too and are not measured; those called `rival`, with CUBIC, share the path; everything else
stays as it is.
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
