"""A turn, from the request to the response; the one retry budget of the house."""

from jumpseat.engine.ask import Sink, TurnAsk
from jumpseat.engine.turn import run_turn

__all__ = ["Sink", "TurnAsk", "run_turn"]
