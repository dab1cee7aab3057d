"""A turn, from the request to the response, and the only retry loop."""

from jumpseat.engine.ask import Sink, TurnAsk
from jumpseat.engine.check import Finding, check_ask, finding_of
from jumpseat.engine.count import TokenCount, count_tokens
from jumpseat.engine.edit import Edit, run_edit
from jumpseat.engine.keeping import Keeper
from jumpseat.engine.memory import BlockMemory
from jumpseat.engine.reopened import restore_answers
from jumpseat.engine.shown_paths import ShownPaths
from jumpseat.engine.tokens import TokenMemory
from jumpseat.engine.turn import run_turn

__all__ = [
    "BlockMemory",
    "Edit",
    "Finding",
    "Keeper",
    "ShownPaths",
    "Sink",
    "TokenCount",
    "TokenMemory",
    "TurnAsk",
    "check_ask",
    "count_tokens",
    "finding_of",
    "restore_answers",
    "run_edit",
    "run_turn",
]
