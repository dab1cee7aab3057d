"""`jumpseat chat`: one question, one streamed answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jumpseat_cli.chat.printing import AnswerForm, format_warning, print_answer
from jumpseat_cli.chat.tool_selection import ToolSelection
from jumpseat_cli.daemon.conversations import FindContinued
from jumpseat_cli.daemon.session import daemon
from jumpseat_cli.terminal.failures import USAGE, print_failure, say
from jumpseat_cli.terminal.output import make_spinner
from jumpseat_client.client import Client

if TYPE_CHECKING:
    from jumpseat_cli.chat.approving import Approver
    from jumpseat_cli.chat.question import AskedQuestion


async def ask(
    question: AskedQuestion,
    options: Mapping[str, Any],
    *,
    settings: Mapping[str, str],
    prompt: str | None,
    tools: ToolSelection,
    keep: bool,
    find_continued: FindContinued | None,
    daemon_command: Sequence[str],
    form: AnswerForm,
) -> int:
    """Ask, print the answer as it arrives, and return the exit code.

    Args:
        question: the question, or the input for the prompt.
        options: options for `Client.chat`. Those that are None are filled in from the prompt, then from the
            continued conversation.
        settings: the values of settings as they were typed, by key.
        prompt: the name of a prompt; None to send the question itself.
        tools: the tools that the daemon runs.
        keep: whether to keep the turn.
        find_continued: returns the kept conversation to continue; None to start a new one.
        daemon_command: the daemon's command line.
        form: how to print the answer.

    Raises:
        ClientError: a request failed, or the daemon cannot be used. Without JSON, errors of the chat itself
            are printed instead.
    """
    spinner = make_spinner("Starting")
    approver = _make_approver(tools)
    decide = None if approver is None else approver.decide
    try:
        async with daemon(daemon_command, config=tools.overlay, on_approval=decide) as client:
            if (mistake := await tools.find_mistake(client)) is not None:
                return print_failure(*mistake)
            kept = {} if find_continued is None else await find_continued(client)
            if prompt is not None and question.lacks_input and await needs_input(client, prompt):
                hint = f"Add it as words, or pipe it: git diff | jumpseat chat -p {prompt}"
                print_failure(f"The prompt {prompt} needs an input.", hint)
                return USAGE
            filled = {}
            if prompt is not None:
                filled = await client.get_prompt(
                    prompt,
                    question.as_input,
                    model=options.get("model"),
                    default_model=kept.get("model"),
                )
                for warning in filled.get("warnings", ()):
                    spinner.pause()
                    say(format_warning(warning))
            if question.addresses:
                spinner.show("Reading the pages")
                question = await question.with_pages(client)
            kept_options = options_from_conversation(kept) if kept else {}
            prompt_options: dict[str, Any] = {
                key: filled[key] for key in ("model", "system", "settings") if key in filled
            }
            merged = await merge_options(client, [kept_options, prompt_options, options], settings)
            messages = [*kept.get("messages", ()), question.message(filled.get("text"))]
            spinner.show("Waiting for the model")
            stream = client.chat(
                messages,
                keep=keep,
                stream=form.streams,
                on_progress=spinner.progress,
                **tools.options(),
                **merged,
            )
            return await print_answer(stream, spinner, form, approver, options.get("output_mode"))
    finally:
        spinner.stop()


def _make_approver(tools: ToolSelection) -> Approver | None:
    if not tools.selectors:
        return None
    from jumpseat_cli.chat.approving import Approver  # Deferred: most questions use no tools.
    from jumpseat_cli.terminal.questions import ask_line, can_ask

    return Approver(tools, ask_line if can_ask() else None)


async def needs_input(client: Client, prompt: str) -> bool:
    """Return whether the prompt with this name has a place for an input."""
    rows = await client.list_prompts()
    return any(row["name"] == prompt and row.get("usesInput") for row in rows)


async def merge_options(
    client: Client, layers: Sequence[Mapping[str, Any]], settings: Mapping[str, str]
) -> dict[str, Any]:
    """Merge options for `Client.chat`, and drop those that are None.

    Args:
        client: used to look up the types of settings.
        layers: options; later layers take precedence. Their `settings` are merged key by key.
        settings: further settings as they were typed, by key; they take precedence over the layers.

    Raises:
        ClientError: `settings` is not empty, but there is no provider for the model.
    """
    merged: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for layer in layers:
        merged |= {key: value for key, value in layer.items() if value is not None}
        values |= layer.get("settings") or {}
    if settings:
        from jumpseat_cli.daemon.settings import convert_settings

        values |= convert_settings(settings, await client.settings_schema(merged.get("model")))
    return {**merged, "settings": values} if values else merged


def options_from_conversation(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that continue a kept conversation."""
    options = {key: kept.get(key) for key in ("model", "system", "settings")}
    return {**options, "conversation_id": kept["id"]}
