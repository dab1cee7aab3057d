"""`jumpseat tokens`: the length of a text in a model's tokens."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jumpseat_client import Client, ClientError
from jumpseat_client.cli.chat import daemon, read_messages
from jumpseat_client.cli.failures import FAILED, OK, print_failure, print_json
from jumpseat_client.cli.models import short_count

HOW = {"provider": "counted by the provider", "estimate": "estimated"}


class CannotReadError(Exception):
    """A file cannot be counted; the message says why."""


def message_of(text: Sequence[str], files: Sequence[Path]) -> list[dict[str, Any]] | None:
    """The chat to count: files, then the text, or the text and stdin; None if there is nothing.

    Raises:
        CannotReadError: a file cannot be read, or is not text.
    """
    blocks = [{"type": "context", "text": _read(file), "label": str(file)} for file in files]
    # With files, only `-` reads stdin: a script's may never end.
    typed = read_messages(text) if not files else None
    blocks += [{"type": "text", "text": " ".join(text)}] if files and text else []
    blocks += typed[0]["content"] if typed is not None else []
    return [{"role": "user", "content": blocks}] if blocks else None


def _read(file: Path) -> str:
    try:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        return content.decode("utf-8")
    except OSError as error:
        raise CannotReadError(f"{file} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise CannotReadError(f"{file} is not UTF-8 text.") from None


async def show_tokens(
    messages: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
    *,
    exact: bool,
    daemon_command: Sequence[str],
    as_json: bool,
) -> int:
    """Print how many tokens a chat has.

    Args:
        messages: the chat.
        options: model and system prompt.
        exact: whether an estimate is a failure.
        daemon_command: the daemon's command line.
        as_json: print the result as JSON.

    Raises:
        ClientError: the daemon cannot be used, or rejects the model.
    """
    async with daemon(daemon_command) as client:
        counted = await client.count_tokens(messages, allow_estimate=not exact, **options)
        shows_limit = sys.stdout.isatty() and not as_json
        limit = await _limit(client, options.get("model")) if shows_limit else None
    tokens = counted.get("tokens", -1)
    if as_json:
        print_json(counted)
    elif tokens < 0:
        print_failure("The provider does not count tokens.", "Leave out --exact for an estimate.")
    elif shows_limit:
        how = HOW.get(str(counted.get("method")), "")
        share = f", {tokens / limit:.1%} of {short_count(limit)}" if limit else ""
        print(f"{tokens} tokens, {how}{share}")
    else:
        print(tokens)
    return OK if tokens >= 0 else FAILED


async def _limit(client: Client, name: str | None) -> int | None:
    """The longest prompt of the model, if its provider's list says so."""
    try:
        models = (await client.list_models(provider=_provider_of(name)))["models"]
    except ClientError:
        return None
    for model in models:
        if name in (model["id"], model.get("model")) or (name is None and model.get("isDefault")):
            limit = model.get("maxPromptTokens") or model.get("maxContextTokens")
            return limit if isinstance(limit, int) else None
    return None


def _provider_of(name: str | None) -> str | None:
    provider, colon, _ = (name or "").partition(":")
    return provider if colon else None
