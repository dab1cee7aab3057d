"""The commands that a user types at the start of a prompt: `/model`, `/retry` and others, and prompts."""

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
from jumpseat.chat import ChatError, ContentBlock, Message, RequestError, TextBlock
from jumpseat.config import Prompt
from jumpseat.connections.session import InFlight
from jumpseat.providers import resolve_model

_COMMAND = re.compile(r"/([A-Za-z0-9._-]+)(?:\s+(.*))?", re.DOTALL)

NO_SYSTEM = "-"
"""The argument of `/system` that removes the system prompt."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command that was found at the start of a prompt."""

    name: str
    argument: str


def parse_command(client: AcpClient, content: Sequence[ContentBlock]) -> CommandLine | None:
    """Return the command with which the first text of a prompt begins, if there is such a command."""
    first = content[0] if content else None
    match = _COMMAND.fullmatch(first.text.strip()) if isinstance(first, TextBlock) else None
    if match is None or (match[1] not in COMMANDS and match[1] not in client.registry.config.prompts):
        return None
    return CommandLine(match[1], (match[2] or "").strip())


async def run_command(
    client: AcpClient,
    conversation: AcpConversation,
    entry: InFlight,
    line: CommandLine,
    content: Sequence[ContentBlock],
) -> str:
    """Run a command and return the protocol's stop reason.

    Args:
        client: the client.
        conversation: the conversation.
        entry: the request's entry.
        line: the command.
        content: the whole prompt.

    Raises:
        ChatError: the command failed.
    """
    prompt = client.registry.config.prompts.get(line.name)
    if prompt is not None:
        return await _run_prompt(client, conversation, entry, prompt, line.argument, content[1:])
    if line.name == "retry":
        return await _retry(client, conversation, entry)
    show_text(client, conversation, await COMMANDS[line.name].run(client, conversation, line.argument))
    return "end_turn"


def announce_commands(client: AcpClient, conversation: AcpConversation) -> None:
    """Send the list of commands."""
    commands = [_encode(name, each.description, each.hint) for name, each in COMMANDS.items()]
    for name, prompt in sorted(client.registry.config.prompts.items()):
        commands.append(_encode(name, prompt.description or f"The prompt {name}", "text"))
    client.update(conversation.id, "available_commands_update", availableCommands=commands)


def _encode(name: str, description: str, hint: str | None) -> dict[str, Any]:
    command: dict[str, Any] = {"name": name, "description": description}
    return {**command, "input": {"hint": hint}} if hint else command


async def _run_prompt(
    client: AcpClient,
    conversation: AcpConversation,
    entry: InFlight,
    prompt: Prompt,
    argument: str,
    rest: Sequence[ContentBlock],
) -> str:
    question = Message("user", (TextBlock(prompt.fill(argument)), *rest))
    return await run_question(
        client,
        conversation,
        entry,
        (*conversation.messages, question),
        model=prompt.model,
        system=prompt.system,
        settings=prompt.settings,
    )


async def _retry(client: AcpClient, conversation: AcpConversation, entry: InFlight) -> str:
    messages = conversation.messages
    while messages and messages[-1].role == "assistant":
        messages = messages[:-1]
    if not messages:
        raise RequestError("There is no question to ask again.")
    return await run_question(client, conversation, entry, messages)


async def _model(client: AcpClient, conversation: AcpConversation, argument: str) -> str:
    if not argument:
        target = await resolve_choice(client.registry, conversation.model)
        current = f"The model is {target.provider}:{target.model}." if target else "No model is chosen."
        return "\n".join([current, "", *(f"- {model}" for model in await list_models(client.registry))])
    target = await resolve_model(client.registry, argument)
    await choose_model(client, conversation, f"{target.provider}:{target.model}")
    await announce_options(client, conversation)
    return f"The model is {conversation.model} from now on."


async def _system(client: AcpClient, conversation: AcpConversation, argument: str) -> str:
    if not argument:
        system = conversation.system
        return "There is no system prompt." if system is None else f"The system prompt is:\n\n{system}"
    conversation.system = None if argument == NO_SYSTEM else argument
    return "The system prompt is removed." if conversation.system is None else "The system prompt is set."


async def _status(client: AcpClient, conversation: AcpConversation, argument: str) -> str:
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
    return "\n".join(lines)


async def _clear(client: AcpClient, conversation: AcpConversation, argument: str) -> str:
    conversation.messages = ()
    return "The model no longer sees the messages above."


async def _unused(client: AcpClient, conversation: AcpConversation, argument: str) -> str:
    raise RuntimeError("this command runs a turn")


_Run: TypeAlias = Callable[[AcpClient, AcpConversation, str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A built-in command."""

    description: str
    run: _Run
    """Runs the command, given its argument, and returns the text to show."""

    hint: str | None = None
    """A few words that describe the argument."""


COMMANDS: Mapping[str, SlashCommand] = {
    "model": SlashCommand("Show or change the model", _model, "provider:model"),
    "system": SlashCommand("Show, set or remove the system prompt", _system, f"text, or {NO_SYSTEM}"),
    "status": SlashCommand("Show the providers and their sign-ins", _status),
    "clear": SlashCommand("Forget the messages so far", _clear),
    "retry": SlashCommand("Ask the last question again", _unused),
}
