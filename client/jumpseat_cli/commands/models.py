"""`jumpseat models`: the models with limits, abilities and cost, and the default one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from jumpseat_cli.chat.answering import daemon
from jumpseat_cli.commands.settings import save
from jumpseat_cli.terminal.failures import FAILED, OK, print_failure, print_json, say
from jumpseat_cli.terminal.tables import print_rows
from jumpseat_cli.terminal.text import clean_line
from jumpseat_client import Client

COLUMNS = ("Model", "Name", "Context", "Output", "Can", "Cost", "Notes")
SKILLS = (
    ("supportsVision", "images"),
    ("supportsToolUse", "tools"),
    ("supportsThinking", "thinking"),
    ("supportsJson", "JSON"),
)
NOTES = (("isDefault", "default"), ("preview", "preview"), ("deprecated", "deprecated"))
_PRICES = ("input_price", "output_price", "inputPrice", "outputPrice")
_SEARCHED = ("id", "name", "family", "vendor")
LISTING_SECONDS = 15.0
"""How long to wait for providers whose models are still being listed, after the daemon's first answer."""
POLL_SECONDS = 0.5
_CONNECTION = 1008
"""The code of a provider that cannot be reached or, with `retryAfter`, is still listing its models."""

_STATUS_HINT = "'jumpseat status' shows what to do next."


async def show_models(
    words: Sequence[str],
    *,
    provider: str | None,
    refresh: bool,
    daemon_command: Sequence[str],
    as_json: bool,
) -> int:
    """Print the models that have all these words; providers that failed are reported on stderr.

    Raises:
        ClientError: the models cannot be listed at all.
    """
    async with daemon(daemon_command) as client:
        answer = await _list_models(client, provider, refresh=refresh)
        errors = answer.get("errors") or []
        if errors and provider is None and not as_json:
            errors = await _of_providers_in_use(client, errors)
    every = answer.get("models") or []
    models = [model for model in every if _has(model, words)]
    code = OK if models else FAILED
    if as_json:
        print_json({**answer, "models": models})
        return code
    if models:
        print_rows(COLUMNS, [_cells(model) for model in models], stacks=True)
    elif every:
        print_failure(f"No model has {' '.join(words)!r} in its name.", _near(words, every))
    elif not errors:
        say(f"There are no models. {_STATUS_HINT}")
    for failure in errors:
        error = failure.get("error") or {}
        hint = (error.get("data") or {}).get("hint")
        print_failure(f"{failure.get('provider')}: {error.get('message')}", hint)
    return code


async def _list_models(client: Client, provider: str | None, *, refresh: bool) -> Mapping[str, Any]:
    """List the models, and wait for slow providers: no notification can add their models later."""
    answer = await client.list_models(provider=provider, refresh=refresh)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LISTING_SECONDS):
            while any(map(_is_still_listing, answer.get("errors") or [])):
                await asyncio.sleep(POLL_SECONDS)
                answer = await client.list_models(provider=provider)
    return answer


def _is_still_listing(failure: Mapping[str, Any]) -> bool:
    error = failure.get("error") or {}
    return error.get("code") == _CONNECTION and "retryAfter" in (error.get("data") or {})


async def _of_providers_in_use(client: Client, errors: Sequence[Any]) -> list[Any]:
    """The errors without those of built-in providers that the user has not set up."""
    unused = {
        row["id"]
        for row in await client.list_providers()
        if row.get("builtIn") and not row["configured"] and not row.get("isDefault")
    }
    return [error for error in errors if error.get("provider") not in unused]


def _has(model: Mapping[str, Any], words: Sequence[str]) -> bool:
    text = " ".join(str(model.get(key) or "") for key in _SEARCHED).casefold()
    return all(word.casefold() in text for word in words)


def _near(words: Sequence[str], models: Sequence[Mapping[str, Any]]) -> str | None:
    from difflib import get_close_matches

    if get_close_matches(words[0], ["default"], 1, 0.8):
        return "Did you mean: jumpseat models default"
    names = {str(model.get("model") or model.get("id")): str(model["id"]) for model in models}
    near = get_close_matches("-".join(words).casefold(), names, 3)
    return f"Did you mean {' or '.join(names[name] for name in near)}?" if near else None


def _cells(model: Mapping[str, Any]) -> tuple[str, ...]:
    notes = [word for key, word in NOTES if model.get(key)]
    if model.get("policy") in ("disabled", "unconfigured"):
        notes.append("terms not accepted")
    return (
        str(model.get("id", "")),
        str(model.get("name", "")),
        short_count(model.get("maxContextTokens")),
        short_count(model.get("maxOutputTokens")),
        ", ".join(word for key, word in SKILLS if model.get(key)),
        cost_of(model),
        ", ".join(notes),
    )


def cost_of(model: Mapping[str, Any]) -> str:
    """What a request costs, beyond a plan: in premium requests, else the prices of input and output tokens.

    Empty where the provider does not say.
    """
    billing = model.get("billing") or {}
    if is_included(model):
        return "included"
    if billing.get("multiplier") is not None:
        return f"{billing['multiplier']:g}x"
    if prices := _prices(model):
        batch = short_count((billing.get("tokenPrices") or {}).get("batch_size"))
        return "/".join(f"{price:g}" for price in prices) + (f" per {batch}" if batch else "")
    return "premium" if billing.get("isPremium") else ""


def is_included(model: Mapping[str, Any]) -> bool | None:
    """Whether a request costs nothing beyond the plan; None where the provider does not say."""
    multiplier = (model.get("billing") or {}).get("multiplier")
    if multiplier is not None:
        return bool(multiplier == 0)
    prices = _prices(model)
    return not any(prices) if prices else None


def _prices(model: Mapping[str, Any]) -> list[float]:
    """The prices of a batch of input and of output tokens, in the provider's own unit."""
    prices = ((model.get("billing") or {}).get("tokenPrices") or {}).get("default")
    if not isinstance(prices, Mapping):
        return []
    return [price for key in _PRICES if isinstance(price := prices.get(key), int | float)]


def short_count(tokens: Any) -> str:
    """A number of tokens: `128k`, `1.05M`; empty if it is none."""
    if not isinstance(tokens, int):
        return ""
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.3g}M"
    return f"{tokens // 1000}k" if tokens >= 10_000 else str(tokens)


async def show_default(*, daemon_command: Sequence[str], as_json: bool) -> int:
    """Print the model of a chat that names none.

    Raises:
        ClientError: the models cannot be listed at all.
    """
    async with daemon(daemon_command) as client:
        default = _default_in(await client.list_models())
        saved = None if default is not None else (await client.settings()).get("default_model")
    if saved is not None:
        default = {"id": saved}  # No provider lists it.
    if default is None:
        print_failure("There is no default model.", _STATUS_HINT)
        return FAILED
    if as_json:
        print_json(default)
    else:
        print(clean_line(str(default["id"])))
    return OK


async def set_default(name: str | None, *, daemon_command: Sequence[str], as_json: bool) -> int:
    """Save the default model, or with None forget it; all clients use it from now on.

    Raises:
        ClientError: the daemon rejects the name.
    """
    async with daemon(daemon_command) as client:
        if name is not None:
            # The daemon rejects a model that is missing in a list only if it has the list.
            await client.list_models()
        settings = await save(client, {"default_model": name})
    if as_json:
        print_json(settings)
    return OK


def _default_in(answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next((model for model in answer.get("models") or [] if model.get("isDefault")), None)
