"""Checks each provider through the daemon that the command uses."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from jumpseat.chat import Check
from jumpseat_cli.daemon.rows import is_included
from jumpseat_cli.doctor.report import ReportSection
from jumpseat_client import Client, ClientError

DIAGNOSIS_SECONDS = 15.0
LIST_SECONDS = 8.0
CHAT_SECONDS = 20.0
"""The time limit for the short chat, including the time to load a local model."""

QUESTION = "Reply with the word ok."
QUESTION_TOKENS = 64
"""The output limit of the short chat; some models reject a lower limit."""


async def check_providers(
    client: Client, *, only: str | None, chat: bool, default_model: str | None
) -> AsyncIterator[ReportSection]:
    """Check the providers concurrently, and yield the result for each, in the daemon's order.

    A built-in provider that is not set up gets one line, and no request is sent to it.

    Args:
        client: a client of the daemon.
        only: the id of the only provider to check; None for all.
        chat: whether to send a short chat to each provider that works.
        default_model: the default model in the configuration file, which takes precedence over the saved one.

    Raises:
        ClientError: the providers cannot be listed, or there is no such provider.
    """
    rows = await client.list_providers()
    if only is not None and only not in {row["id"] for row in rows}:
        await client.diagnose(only)  # This raises an error that suggests similar names.
    chosen = [row for row in rows if only in (None, row["id"])]
    default_model = default_model or (await client.settings()).get("default_model")
    used = {
        row["id"]
        for row in chosen
        if row["configured"] or row["isDefault"] or not row["builtIn"] or row["id"] == only
    }
    tasks = [
        asyncio.create_task(
            _check(client, row, chat, default_for(row, default_model))
            if row["id"] in used
            else _describe_unused(row)
        )
        for row in chosen
    ]
    try:
        for row, task in zip(chosen, tasks, strict=True):
            default = ", the default" if row["isDefault"] else ""
            title = f"Provider {row['id']} ({row['kind']}{default})"
            yield ReportSection(title, await task, row["id"])
        if not used:
            hint = (
                "Run `jumpseat login` for GitHub Copilot, `jumpseat local install` for a local model, "
                "or `jumpseat config init` for others."
            )
            yield ReportSection("Providers", [Check("providers", False, "No provider is ready.", hint)])
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _describe_unused(row: Mapping[str, Any]) -> list[Check]:
    message = (row.get("auth") or {}).get("message") or f"{row['id']} is not set up."
    return [Check("setup", None, str(message))]


def default_for(row: Mapping[str, Any], name: str | None) -> str | None:
    """Return the default model if requests for it go to this provider; None otherwise."""
    provider, colon, _ = (name or "").partition(":")
    is_used = provider == row["id"] if colon else row["isDefault"]
    return name if is_used else None


async def _check(client: Client, row: Mapping[str, Any], chat: bool, default: str | None) -> list[Check]:
    provider = str(row["id"])
    try:
        params = {"provider": provider}
        answer = await client.request("providers/diagnose", params, timeout=DIAGNOSIS_SECONDS)
    except ClientError as error:
        return [Check("diagnosis", False, str(error), error.hint)]
    checks = [
        Check(each["name"], each["ok"], each["message"], each.get("hint"), each.get("durationMs"))
        for each in answer["checks"]
    ]
    if any(check.ok is False for check in checks):
        # The other checks would fail for the same reason.
        return checks
    models, listed = await _list_models(client, provider)
    checks.append(listed)
    if chat:
        checks.append(await _try_chat(client, provider, models, default))
    return checks


async def _list_models(client: Client, provider: str) -> tuple[list[dict[str, Any]], Check]:
    begin = time.monotonic()
    try:
        params = {"provider": provider}
        answer = await client.request("models/list", params, timeout=LIST_SECONDS)
    except ClientError as error:
        return [], Check("models", False, str(error), error.hint)
    for failure in answer["errors"]:
        why = failure["error"]
        return [], Check("models", False, str(why["message"]), (why.get("data") or {}).get("hint"))
    models = answer["models"]
    number = "1 model" if len(models) == 1 else f"{len(models)} models"
    return models, Check(
        "models", bool(models), f"{provider} lists {number}.", None, _milliseconds_since(begin)
    )


def choose_model(
    models: Sequence[Mapping[str, Any]], provider: str, default: str | None = None
) -> Mapping[str, Any] | None:
    """Return the model for the short chat; None if every model costs more than the plan includes.

    The default model for chats is chosen if it belongs to this provider, whatever it costs and even if it is
    not listed. Otherwise, the choice depends on whether the provider reports costs. If it does, a model that
    costs nothing beyond the plan is chosen; if it does not, the provider's own default.

    Args:
        models: the rows of the provider's list.
        provider: the provider's id.
        default: the default model's name, if it belongs to this provider.
    """
    listed = next((model for model in models if model.get("isDefault")), None)
    if listed is not None:
        return listed
    if default is not None:
        return {"id": default}
    if all(is_included(model) is None for model in models):
        return {"id": f"{provider}:"}
    free = (model for model in models if is_included(model) and model.get("policy") in (None, "enabled"))
    return next(free, None)


async def _try_chat(
    client: Client, provider: str, models: Sequence[Mapping[str, Any]], default: str | None
) -> Check:
    model = choose_model(models, provider, default)
    if model is None:
        return Check("chat", None, "No chat was sent: every model costs more than the plan includes.")
    begin = time.monotonic()
    try:
        async with asyncio.timeout(CHAT_SECONDS):
            result = await client.chat(QUESTION, model=model["id"], max_tokens=QUESTION_TOKENS).response()
    except TimeoutError:
        message = f"{model['id']} did not answer within {CHAT_SECONDS:g} s."
        return Check("chat", False, message, None, _milliseconds_since(begin))
    except ClientError as error:
        if str(model["id"]).endswith(":") and getattr(error, "code", None) == 1004:
            hint = f"Set providers.{provider}.default_model to send one."
            return Check("chat", None, f"No chat was sent: {provider} has no default model.", hint)
        return Check("chat", False, str(error), error.hint, _milliseconds_since(begin))
    name = f"{result.get('provider', provider)}:{result.get('model', '')}"
    message = f"{name} answered a short chat ({_format_cost(result, model)})."
    return Check("chat", True, message, None, _milliseconds_since(begin))


def _format_cost(result: Mapping[str, Any], model: Mapping[str, Any]) -> str:
    usage = result.get("usage") or {}
    parts = []
    with suppress(KeyError):
        parts.append(f"{usage['inputTokens'] + usage['outputTokens']} tokens")
    if cost := usage.get("cost"):
        parts.append(f"{cost['amount']:g} {cost['currency']}")
    multiplier = (model.get("billing") or {}).get("multiplier")
    if is_included(model):
        parts.append("included in the plan")
    elif multiplier is not None:
        parts.append(f"{multiplier:g} premium requests")
    return ", ".join(parts) or "the provider does not report the cost"


def _milliseconds_since(begin: float) -> int:
    return round((time.monotonic() - begin) * 1000)
