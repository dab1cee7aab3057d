"""Slash commands at the start of a prompt: built-in ones such as `/model`, and prompts such as `/explain`."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import jumpseat
from jumpseat.acp.client import AcpClient
from jumpseat.acp.conversation import AcpConversation
from jumpseat.acp.models import list_models, resolve_choice
from jumpseat.acp.options import announce_options, choose_model
from jumpseat.acp.turns import run_question
from jumpseat.acp.updates import show_text
from jumpseat.chat import ChatError, ContentBlock, ContextBlock, Message, RequestError, TextBlock
from jumpseat.config import Prompt
from jumpseat.connections.session import InFlight
from jumpseat.engine import fill_prompt
from jumpseat.providers import resolve_model

_COMMAND = re.compile(r"/([A-Za-z0-9._-]+)(?:\s+(.*))?", re.DOTALL)

NO_SYSTEM = "-"
"""The argument of `/system` that removes the system prompt."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command with its argument, and the rest of the user's prompt."""

    name: str
    argument: str
    others: Sequence[ContentBlock]
    """The blocks of the prompt before and after the command."""


def parse_command(client: AcpClient, content: Sequence[ContentBlock]) -> CommandLine | None:
    """Return the command in a prompt; None if the prompt's first text block is not a known command.

    Other blocks may precede the text, because some clients put attached files first.
    """
    first = next((block for block in content if isinstance(block, TextBlock)), None)
    match = _COMMAND.fullmatch(first.text.strip()) if first is not None else None
    if match is None or (match[1] not in COMMANDS and match[1] not in client.registry.config.offered_prompts):
        return None
    others = [block for block in content if block is not first]
    return CommandLine(match[1], (match[2] or "").strip(), others)


async def run_command(
    client: AcpClient,
    conversation: AcpConversation,
    entry: InFlight,
    line: CommandLine,
) -> str:
    """Run a command and return the protocol's stop reason.

    Args:
        entry: the request in flight.
        line: the command. If it is the name of a configured prompt, `line.others` are sent too.

    Raises:
        ChatError: the command failed.
    """
    prompt = client.registry.config.offered_prompts.get(line.name)
    if prompt is not None:
        return await _run_prompt(client, conversation, entry, prompt, line)
    return await COMMANDS[line.name].run(client, conversation, entry, line.argument)


def announce_commands(client: AcpClient, conversation: AcpConversation) -> None:
    """Send the list of commands. A prompt replaces a built-in command with the same name."""
    commands = {name: _encode_command(name, each.description, each.hint) for name, each in COMMANDS.items()}
    for name, prompt in sorted(client.registry.config.offered_prompts.items()):
        commands[name] = _encode_command(name, prompt.description or f"The prompt {name}", "text")
    client.update(conversation.id, "available_commands_update", availableCommands=list(commands.values()))


def _encode_command(name: str, description: str, hint: str | None) -> dict[str, Any]:
    command: dict[str, Any] = {"name": name, "description": description}
    return {**command, "input": {"hint": hint}} if hint else command


async def _run_prompt(
    client: AcpClient,
    conversation: AcpConversation,
    entry: InFlight,
    prompt: Prompt,
    line: CommandLine,
) -> str:
    context = [block for block in line.others if isinstance(block, ContextBlock)]
    model = prompt.model or conversation.model
    filled = await fill_prompt(client.registry, prompt, line.argument, context, model)
    for warning in filled.warnings:
        client.notify(conversation.id, "warning", warning.message)
    others = [block for block in line.others if not isinstance(block, ContextBlock)]
    question = Message("user", (TextBlock(filled.text), *filled.context, *others))
    return await run_question(
        client,
        conversation,
        entry,
        (*conversation.messages, question),
        model=prompt.model,
        system=prompt.system,
        settings=prompt.settings,
    )


async def _show_or_choose_model(
    client: AcpClient, conversation: AcpConversation, entry: InFlight, argument: str
) -> str:
    if not argument:
        target = await resolve_choice(client.registry, conversation.model)
        current = f"The model is {target.provider}:{target.model}." if target else "No model is chosen."
        models = [f"- {model}" for model in await list_models(client.registry)]
        return _end_with_text(client, conversation, "\n".join([current, "", *models]))
    target = await resolve_model(client.registry, argument)
    await choose_model(client, conversation, f"{target.provider}:{target.model}")
    await announce_options(client, conversation)
    return _end_with_text(client, conversation, f"The model is {conversation.model} from now on.")


async def _show_or_set_system(
    client: AcpClient, conversation: AcpConversation, entry: InFlight, argument: str
) -> str:
    if not argument:
        system = conversation.system
        text = "There is no system prompt." if system is None else f"The system prompt is:\n\n{system}"
    elif argument == NO_SYSTEM:
        conversation.system = None
        text = "The system prompt is removed."
    else:
        conversation.system = argument
        text = "The system prompt is set."
    return _end_with_text(client, conversation, text)


async def _show_status(
    client: AcpClient, conversation: AcpConversation, entry: InFlight, argument: str
) -> str:
    target = await resolve_choice(client.registry, conversation.model)
    model = f"{target.provider}:{target.model}" if target is not None else "none"
    lines = [f"jumpseat {jumpseat.__version__}, model {model}", ""]
    for provider in client.registry.ids:
        try:
            status = await client.registry.auth_status(provider)
        except ChatError as error:
            lines.append(f"- {provider}: {error.message}")
            continue
        facts = filter(None, (status.login, status.plan, status.message))
        lines.append(f"- {provider}: {', '.join([status.state.replace('_', ' '), *facts])}")
    return _end_with_text(client, conversation, "\n".join(lines))


async def _forget_messages(
    client: AcpClient, conversation: AcpConversation, entry: InFlight, argument: str
) -> str:
    conversation.messages = ()
    return _end_with_text(client, conversation, "The model no longer sees the messages above.")


async def _repeat_question(
    client: AcpClient, conversation: AcpConversation, entry: InFlight, argument: str
) -> str:
    messages = conversation.messages
    while messages and messages[-1].role == "assistant":
        messages = messages[:-1]
    if not messages:
        raise RequestError("There is no question to ask again.")
    return await run_question(client, conversation, entry, messages)


def _end_with_text(client: AcpClient, conversation: AcpConversation, text: str) -> str:
    """Show the text and return the stop reason of a command that does not run a turn."""
    show_text(client, conversation, text)
    return "end_turn"


_Run: TypeAlias = Callable[[AcpClient, AcpConversation, InFlight, str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A built-in command."""

    description: str
    run: _Run
    """Runs the command, given the request in flight and the argument, and returns the stop reason."""

    hint: str | None = None
    """A placeholder for the argument, for a command that accepts one."""


COMMANDS: Mapping[str, SlashCommand] = {
    "model": SlashCommand("Show or change the model", _show_or_choose_model, "provider:model"),
    "system": SlashCommand(
        "Show, set or remove the system prompt", _show_or_set_system, f"text, or {NO_SYSTEM}"
    ),
    "status": SlashCommand("Show the providers and their sign-ins", _show_status),
    "clear": SlashCommand("Forget the messages so far", _forget_messages),
    "retry": SlashCommand("Ask the last question again", _repeat_question),
}
