"""A turn, from the request to the response, and the only retry loop."""

from jumpseat.engine.check import Finding, check_turn, to_finding
from jumpseat.engine.count import TokenCount, count_tokens
from jumpseat.engine.edit import Edit, run_edit
from jumpseat.engine.filled_prompt import FilledPrompt, fill_prompt
from jumpseat.engine.keeping import Keeper
from jumpseat.engine.memory import BlockMemory
from jumpseat.engine.reopened import restore_answers
from jumpseat.engine.shown_paths import ShownPaths
from jumpseat.engine.title import suggest_title
from jumpseat.engine.tokens import TokenMemory
from jumpseat.engine.turn import run_turn
from jumpseat.engine.turn_request import Sink, TurnRequest

__all__ = [
    "BlockMemory",
    "Edit",
    "FilledPrompt",
    "Finding",
    "Keeper",
    "ShownPaths",
    "Sink",
    "TokenCount",
    "TokenMemory",
    "TurnRequest",
    "check_turn",
    "count_tokens",
    "fill_prompt",
    "restore_answers",
    "run_edit",
    "run_turn",
    "suggest_title",
    "to_finding",
]
