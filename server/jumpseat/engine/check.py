"""The errors and warnings that a chat would have before its request to the provider, without that request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from jumpseat.chat import ChatError, InvalidRequestError, Problem
from jumpseat.chat.long import is_long
from jumpseat.engine.ask import TurnAsk
from jumpseat.engine.length import check_length
from jumpseat.engine.prepare import plan_for
from jumpseat.engine.tokens import TokenMemory
from jumpseat.providers import Registry, ResolvedModel, resolve_model
from jumpseat.system.threads import compute


@dataclass(frozen=True, slots=True)
class Finding:
    """One error or warning. With an error the chat would fail, with a warning it would run."""

    path: str
    """In the params of a chat: `model`, `settings.temperature`, `messages.0.content.1`."""

    message: str
    """One or two sentences."""

    code: str
    """The kind of the error, or the code of the warning."""

    is_error: bool = True


async def check_ask(registry: Registry, ask: TurnAsk, tokens: TokenMemory) -> list[Finding]:
    """Resolve and plan a request as a chat does, and return all errors and warnings.

    The answers that the connection remembers are not used.

    Args:
        registry: the providers.
        ask: the request.
        tokens: recent counts of providers.
    """
    try:
        target = await resolve_model(registry, ask.model, offline=True)
    except ChatError as error:
        return [_of_error("model", error)]
    return [*_of_model(registry, target), *await _of_plan(registry, ask, target, tokens)]


def _of_model(registry: Registry, target: ResolvedModel) -> Iterator[Finding]:
    """Whether the provider's last list has the model. It may have models that it does not list."""
    if target.model and registry.known_models(target.provider) and target.model not in target.listed:
        near = target.nearest_models
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        message = f"{target.provider} does not list a model {target.model!r}.{hint}"
        yield Finding("model", message, "unlisted_model", is_error=False)


async def _of_plan(
    registry: Registry, ask: TurnAsk, target: ResolvedModel, tokens: TokenMemory
) -> list[Finding]:
    try:
        planned = await plan_for(registry, ask, target)
        planned = await compute(is_long(ask.messages), check_length, target, planned, tokens)
    except InvalidRequestError as error:
        found = [finding_of(problem) for problem in error.problems]
        wrong = {finding.path for finding in found}
        settings = {key: value for key, value in ask.settings.items() if f"settings.{key}" not in wrong}
        # The first mistake must not hide those after it.
        if len(settings) < len(ask.settings):
            found += await _of_plan(registry, replace(ask, settings=settings), target, tokens)
        return found
    except ChatError as error:
        return [_of_error("messages", error)]
    return [
        Finding(_PLACES.get(warning.code, "messages"), warning.message, warning.code, is_error=False)
        for warning in planned.warnings
    ]


_PLACES = {"thinking_dropped": "settings.thinking"}
"""Where the warnings come from that are not about messages."""


def finding_of(problem: Problem) -> Finding:
    """The finding for a value that a chat would refuse."""
    path, message = problem.path, problem.message
    if message.startswith(("must ", "is ")):
        # The index of a message means nothing to a person.
        message = f"{path.rpartition('.')[2] if path.startswith('messages.') else path} {message}"
    else:
        message = message[:1].upper() + message[1:]
    return Finding(path, f"{message}.", InvalidRequestError.kind)


def _of_error(path: str, error: ChatError) -> Finding:
    return Finding(path, f"{error.message} {error.hint or ''}".rstrip(), error.kind)
