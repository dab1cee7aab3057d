"""Checks a chat request without sending it, and finds the errors and warnings that the chat would have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from jumpseat.chat import ChatError, InvalidRequestError, Problem
from jumpseat.engine.prepare import Planner
from jumpseat.engine.tokens import TokenMemory
from jumpseat.engine.turn_request import TurnRequest
from jumpseat.providers import Registry, ResolvedModel, resolve_model


@dataclass(frozen=True, slots=True)
class Finding:
    """An error, which would make the chat fail, or a warning, which would not."""

    path: str
    """The path in the chat's parameters: `model`, `settings.temperature`, `messages.0.content.1`."""

    message: str
    """One or two sentences."""

    code: str
    """The kind of the error, or the code of the warning."""

    is_error: bool = True


async def check_turn(registry: Registry, turn_request: TurnRequest, tokens: TokenMemory) -> list[Finding]:
    """Resolve and plan a request as a chat would, and return all errors and warnings.

    Unlike a chat, the check does not restore blocks from the answers that the connection remembers.

    Args:
        registry: the providers.
        turn_request: the request.
        tokens: recent token counts reported by providers.
    """
    try:
        target = await resolve_model(registry, turn_request.model, offline=True)
    except ChatError as error:
        return [_error_to_finding("model", error)]
    planner = Planner(registry, target)
    return [*_check_model(registry, target), *await _check_plan(planner, turn_request, tokens)]


def _check_model(registry: Registry, target: ResolvedModel) -> Iterator[Finding]:
    """Yield a warning if the provider's last model list lacks the model, which may exist nevertheless."""
    if target.model and registry.known_models(target.provider) and target.model not in target.listed:
        near = target.nearest_models
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        message = f"{target.provider} does not list the model {target.model!r}.{hint}"
        yield Finding("model", message, "unlisted_model", is_error=False)


async def _check_plan(planner: Planner, turn_request: TurnRequest, tokens: TokenMemory) -> list[Finding]:
    try:
        planned = await planner.plan_within_limits(turn_request, tokens)
    except InvalidRequestError as error:
        found = [to_finding(problem) for problem in error.problems]
        wrong = {finding.path for finding in found}
        settings = {
            key: value for key, value in turn_request.settings.items() if f"settings.{key}" not in wrong
        }
        # Plan again without the invalid settings, which would otherwise hide later errors.
        if len(settings) < len(turn_request.settings):
            found += await _check_plan(planner, replace(turn_request, settings=settings), tokens)
        return found
    except ChatError as error:
        return [_error_to_finding("messages", error)]
    return [
        Finding(_PLACES.get(warning.code, "messages"), warning.message, warning.code, is_error=False)
        for warning in planned.warnings
    ]


_PLACES = {"thinking_dropped": "settings.thinking"}
"""The parameter paths of the warnings that do not concern a message."""


def to_finding(problem: Problem) -> Finding:
    """Return the finding for a value that a chat would reject."""
    path, message = problem.path, problem.message
    if message.startswith(("must ", "is ")):
        # The index of a message is meaningless to users, so name only the field.
        message = f"{path.rpartition('.')[2] if path.startswith('messages.') else path} {message}"
    else:
        message = message[:1].upper() + message[1:]
    return Finding(path, f"{message}.", InvalidRequestError.kind)


def _error_to_finding(path: str, error: ChatError) -> Finding:
    return Finding(path, f"{error.message} {error.hint or ''}".rstrip(), error.kind)
