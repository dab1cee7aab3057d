"""Asks the model a new question, the last question again, or the question of a prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import click

from jumpseat.system.threads import run_blocking
from jumpseat_cli.chat.answering import needs_input
from jumpseat_cli.chat.approving import Approver
from jumpseat_cli.chat.printing import format_warning
from jumpseat_cli.chat.usage import format_usage
from jumpseat_cli.daemon.rows import has_sign_in
from jumpseat_cli.repl.commands import find_near_name
from jumpseat_cli.repl.conversation import TerminalConversation
from jumpseat_cli.repl.history import InputHistory
from jumpseat_cli.repl.interrupts import Interrupts
from jumpseat_cli.repl.link import Link
from jumpseat_cli.repl.terminal_modes import QuietTerminal
from jumpseat_cli.repl.turn import TerminalTurn, TurnOutcome
from jumpseat_cli.terminal.failures import print_client_error, print_failure
from jumpseat_cli.terminal.styles import note
from jumpseat_cli.terminal.text import clean_line
from jumpseat_client.connection import OnProgress
from jumpseat_client.errors import ClientError, DaemonDied, RequestFailed
from jumpseat_client.stream import ChatStream

MAX_ECHO_LINES = 10
"""The maximum number of lines of the question that are printed before the answer."""


class Asker:
    """Runs the turns of one conversation."""

    def __init__(
        self,
        conversation: TerminalConversation,
        link: Link,
        interrupts: Interrupts,
        terminal: QuietTerminal,
        history: InputHistory,
        approver: Approver,
        *,
        keep: bool,
    ) -> None:
        self._conversation = conversation
        self._link = link
        self._interrupts = interrupts
        self._terminal = terminal
        self._history = history
        self._approver = approver
        self._keep = keep
        self._keep_warning: str | None = None
        """The last warning that the conversation is not kept."""

        self._rules_note: str | None = None
        """The last note about the workspace's rules."""

        self.unanswered = ""
        """A question that was stopped before the answer began, to prefill the next input line."""

    async def ask(self, text: str) -> None:
        """Ask a new question.

        Raises:
            ClientError: no daemon can be started. The other methods raise it too; the methods for prompts
                also raise it if a request fails.
        """
        await self._run_turn(self._conversation.ask(text))

    async def retry(self, model: str) -> None:
        """Ask the last question again. If `model` is not empty, ask that model."""
        if not self._conversation.question:
            note("There is no question yet.")
            return
        _echo(self._conversation.question_text, 1)
        await self._run_turn(self._conversation.ask_again(), **({"model": model} if model else {}))

    async def go_on(self) -> None:
        """Continue an answer that the user or a limit stopped after the result of a tool."""
        if not self._conversation.can_continue:
            note("There is nothing to continue: the last answer does not end with the result of a tool.")
            return
        await self._run_turn(self._conversation.go_on())

    async def edit(self) -> None:
        """Let the user edit the last question, and ask the edited question instead."""
        before = self._conversation.question_text
        try:
            # Ctrl-C is for the editor, so ignore it here.
            with self._terminal.with_usual_modes(), self._interrupts.stopped_by(lambda: None):
                text = await _edit(before)
        except click.ClickException as error:
            print_failure(error.message, "Set $EDITOR to the command of your editor.")
            return
        if not text:
            note("The question is empty, so it was not asked.")
            return
        if text == before:
            note("The question is unchanged, so it was not asked again.")
            return
        _echo(text, MAX_ECHO_LINES)
        await self._run_turn(self._conversation.ask_again(text))

    async def run_prompt_command(self, argument: str) -> None:
        """Ask the question of a prompt. The argument is the prompt's name and its input.

        If the argument is empty, list all prompts.
        """
        name, _, text = argument.strip().partition(" ")
        if name:
            await self._ask_prompt(name, text)
            return
        rows = await self._link.request(lambda client: client.list_prompts())
        for row in rows:
            note(f"/{row['name']}: {row.get('description') or 'no description'}")

    async def ask_named_prompt(self, name: str, argument: str) -> None:
        """Ask the question of the prompt with this name, or report that there is no such command."""
        rows = await self._link.try_request(lambda client: client.list_prompts()) or ()
        names = [str(row["name"]) for row in rows]
        if name in names:
            await self._ask_prompt(name, argument)
            return
        near = find_near_name(name, names)
        print_failure(
            f"There is no command /{name}." + (f" Did you mean /{near}?" if near else ""),
            "/help lists the commands. To send a question, put a space before the slash.",
        )

    async def _ask_prompt(self, name: str, text: str) -> None:
        lacks_input = not text.strip() and not self._conversation.attachments
        if lacks_input and await self._link.request(lambda client: needs_input(client, name)):
            print_failure(f"The prompt {name} needs an input.", f"Type it after the name: /{name} TEXT")
            return
        options = self._conversation.options
        model = options.get("model")
        found = await self._link.request(lambda client: client.get_prompt(name, text, default_model=model))
        for warning in found.get("warnings", ()):
            note(format_warning(warning))
        options |= {key: found[key] for key in ("model", "system") if key in found}
        if "settings" in found:
            options["settings"] = {**(options.get("settings") or {}), **found["settings"]}
        _echo(found["text"], MAX_ECHO_LINES)
        await self._run_turn(self._conversation.ask(found["text"]))

    async def _run_turn(self, messages: Sequence[dict[str, Any]], **overrides: Any) -> None:
        outcome = await self._chat(messages, overrides)
        if isinstance(outcome.error, DaemonDied) and not outcome.model:
            # The daemon had ended before the turn, for example because the user stopped it. Use a new one.
            outcome = await self._chat(messages, overrides)
        self._apply(outcome, await self._find_sign_in(outcome.error))
        if isinstance(outcome.error, DaemonDied):
            await self._link.connect()
            note("Another daemon was started. The conversation continues; /retry asks again.")

    async def _chat(self, messages: Sequence[dict[str, Any]], overrides: dict[str, Any]) -> TurnOutcome:
        client = await self._link.connect()
        conversation = self._conversation
        options = {**conversation.options, **conversation.tools.options(), **overrides}
        conversation_id = conversation.id
        if conversation_id is None and (not self._keep or self._keep_warning is not None):
            conversation_id = conversation.unkept_id

        def chat(on_progress: OnProgress) -> ChatStream:
            return client.chat(
                messages,
                keep=self._keep,
                conversation_id=conversation_id,
                on_progress=on_progress,
                **options,
            )

        turn = TerminalTurn(
            chat,
            approver=self._approver,
            output_mode=options.get("output_mode"),
            shows_thinking=conversation.shows_thinking,
            is_raw=conversation.is_raw,
        )
        with self._interrupts.stopped_by(turn.stop):
            try:
                outcome = await turn.run()
            except asyncio.CancelledError:
                # The user pressed Ctrl-C a second time while the daemon was still stopping the turn.
                if turn.outcome.content:
                    conversation.set_answer(turn.outcome.content)
                raise
        if isinstance(outcome.error, DaemonDied):
            await self._link.close()
        return outcome

    async def _find_sign_in(self, error: ClientError | None) -> str | None:
        """Return the command that signs in, if a sign-in can correct the error; otherwise None."""
        if not isinstance(error, RequestFailed) or error.kind != "authentication":
            return None
        provider = error.data.get("provider")
        if provider is None:
            return "/login"  # No provider is ready.
        rows = await self._link.try_request(lambda client: client.list_providers()) or ()
        return (
            f"/login {provider}" if any(row["id"] == provider and has_sign_in(row) for row in rows) else None
        )

    def _apply(self, outcome: TurnOutcome, sign_in: str | None) -> None:
        conversation = self._conversation
        if outcome.conversation_id is not None:
            conversation.id = outcome.conversation_id
            self._history.allow_writing()
        if outcome.keep_warning is not None:
            self._history.forbid_writing()
            # Ignore a repeated warning. The daemon warns once for each conversation id. After the first
            # warning, `_chat` sends `unkept_id`. This id is new to the daemon, so it warns once more.
            if outcome.keep_warning != self._keep_warning:
                outcome.notes.append(outcome.keep_warning)
            self._keep_warning = outcome.keep_warning
        # Every turn has a note about the rules, so print the note only if it has changed.
        if outcome.rules_note is not None and outcome.rules_note != self._rules_note:
            outcome.notes.append(outcome.rules_note)
            self._rules_note = outcome.rules_note
        conversation.thinking = outcome.thinking
        if outcome.content or outcome.error is None:
            conversation.set_answer(outcome.content)
        if outcome.model:
            conversation.totals.add(outcome.usage, outcome.seconds)
        for line in outcome.notes:
            note(line)
        if outcome.was_stopped:
            self._report_stop(outcome)
        elif outcome.error is not None:
            print_client_error(outcome.error, as_json=False)
            if sign_in is not None:
                note(clean_line(f"To sign in, type {sign_in}."))
        elif not outcome.content:
            note("The answer is empty.")
        if outcome.usage or outcome.content:
            note(format_usage(outcome.usage, outcome.seconds, outcome.model))
        note("")

    def _report_stop(self, outcome: TurnOutcome) -> None:
        if outcome.content:
            go_on = " To continue it: /continue" if self._conversation.can_continue else ""
            note(f"Stopped. The text so far is kept.{go_on}")
        else:
            note("Stopped.")
            if not self._conversation.extends_answer:
                self.unanswered = self._conversation.question_text


def _echo(text: str, most: int) -> None:
    lines = text.splitlines()
    note("\n".join(f"> {line}" for line in lines[:most]))
    if len(lines) > most:
        note(f"> … ({len(lines) - most} more lines)")


async def _edit(text: str) -> str:
    """Open a text in $VISUAL or $EDITOR, and return the saved text, or `text` if nothing was saved."""
    changed = await run_blocking(lambda: click.edit(f"{text}\n" if text else "", extension=".md"))
    return text if changed is None else changed.strip()
