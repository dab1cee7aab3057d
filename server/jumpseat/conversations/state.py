"""The state of a conversation, folded from the lines of its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from jumpseat.chat import ContentBlock, Cost, Message, TextBlock, Usage
from jumpseat.chat.json_form import from_json_form, message_from_json_form
from jumpseat.chat.usage import add_costs
from jumpseat.conversations.rows import KeptConversation, Row, derive_title, list_texts

FORMAT_VERSION = 1

NEVER = datetime.min.replace(tzinfo=UTC)


class DamagedError(Exception):
    """A line does not continue the lines before it."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that runs a turn."""

    pid: int
    host: str


@dataclass(slots=True)
class TurnState:
    """One kept turn."""

    key: str
    """A key that is unique among all turns; the store creates it, because clients choose turn ids."""

    at: datetime
    owner: Owner
    before: int
    """The number of messages before this turn's question; a retry has the question of the turn before it."""

    inputs: int
    """The number of messages up to the end of this turn's question; the answer is not counted."""

    is_open: bool = True
    failed: bool = False
    """Whether the turn ended with an error or was cancelled."""

    answered: bool = False
    """Whether the turn ended successfully, or failed with some content."""

    partial: list[ContentBlock] = field(default_factory=list)
    """The answer so far, while the turn is open."""


@dataclass(frozen=True, slots=True)
class SessionUse:
    """The last turn of a client's session in a conversation."""

    at: datetime
    choices: Mapping[str, Any]
    """The choices of the session at that time; see `NewTurn.choices`."""


@dataclass(slots=True)
class State:
    """One conversation. `apply` folds the next line into it."""

    id: str
    version: int = 0
    created_at: datetime = NEVER
    updated_at: datetime = NEVER
    directory: str | None = None
    """The client's working directory."""

    client: str | None = None
    fork_of: str | None = None
    title: str | None = None
    """The title that the user chose."""

    system: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    inputs: list[Message] = field(default_factory=list)
    """All messages except the answer of the last turn."""

    ended_answer: Message | None = None
    """The answer that follows `inputs`; None if there is none.

    While the last turn is open, its partial answer is in `TurnState.partial` instead.
    """

    open_turns: dict[str, TurnState] = field(default_factory=dict)
    """All turns without an end, by key, including those whose process was killed."""

    sessions: dict[str, SessionUse] = field(default_factory=dict)
    """The last turn of each session in the conversation, by the session's id."""

    usage: Usage | None = None
    """The usage that was reported last."""

    cost: Cost | None = None
    """The total cost of the turns in this file."""

    last: TurnState | None = None
    turn_ends: list[int] = field(default_factory=list)
    """The number of messages before the answer of each turn; a retry is a turn of its own."""

    @property
    def answer(self) -> Message | None:
        """The complete or partial answer of the last turn.

        A retry has the previous answer until it has its own.
        """
        if self.last is not None and self.last.is_open and self.last.partial:
            return Message("assistant", tuple(self.last.partial))
        return self.ended_answer

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages of the whole conversation, oldest first."""
        return (*self.inputs, *([] if self.answer is None else [self.answer]))

    @property
    def row(self) -> Row:
        """The conversation's row in a list."""
        return Row(
            id=self.id,
            title=self.title or derive_title(self.inputs),
            created_at=self.created_at,
            updated_at=self.updated_at,
            turns=len(self.turn_ends),
            model=self.model,
            cwd=self.directory,
            client=self.client,
            fork_of=self.fork_of,
        )

    @property
    def kept(self) -> KeptConversation:
        """The whole conversation."""
        return KeptConversation(self.row, self.messages, self.system, self.settings)

    def apply(self, line: Mapping[str, Any]) -> list[str]:
        """Fold the next line of the file; lines of unknown types are ignored.

        Returns:
            The searchable texts that the line adds.

        Raises:
            DamagedError: the line cannot follow those before it.
        """
        try:
            if not self.version:
                return self._begin_file(line)
            match line["type"]:
                case "begin":
                    return self._begin(line)
                case "partial":
                    self._continue(line)
                case "end":
                    return self._end(line)
                case "title":
                    self.title = str(line["title"])
                    self._touch(line)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise DamagedError(str(error)) from error
        return []

    def _begin_file(self, line: Mapping[str, Any]) -> list[str]:
        # Read the version first: the rest of a newer version's header may be unreadable here.
        self.version = int(line["version"])
        created, stored_id = _parse_time(line["createdAt"]), str(line["id"])
        messages = [message_from_json_form(each) for each in line.get("messages", ())]
        self.directory, self.client = _read_text(line, "cwd"), _read_text(line, "client")
        self.fork_of, self.title = _read_text(line, "forkOf"), _read_text(line, "title")
        self.system, self.settings = _read_text(line, "system"), _read_object(line, "settings", {})
        self.model, self.turn_ends = _read_text(line, "model"), list(map(int, line.get("turnEnds", ())))
        self.created_at = self.updated_at = created
        self.inputs = messages
        # On a file system that ignores case, the file of `a` is also opened for `A`.
        if stored_id.casefold() == self.id.casefold():
            self.id = stored_id
        return list_texts(messages)

    def _begin(self, line: Mapping[str, Any]) -> list[str]:
        base, new = int(line["base"]), [message_from_json_form(each) for each in line["messages"]]
        messages = self.messages
        if not 0 <= base <= len(messages):
            raise DamagedError(f"a turn keeps {base} of {len(messages)} messages")
        is_retry = base == len(self.inputs) and not new and self.last is not None
        turn = TurnState(
            str(line["turn"]),
            _parse_time(line["at"]),
            Owner(int(line["owner"]["pid"]), str(line["owner"]["host"])),
            self.last.before if is_retry and self.last is not None else base,
            base + len(new),
        )
        # If a key is absent, its value has not changed.
        system = _read_text(line, "system") if "system" in line else self.system
        settings = _read_object(line, "settings", self.settings)
        model = f"{line['provider']}:{line['model']}"
        session = _read_text(line, "session")
        if session is not None:
            before = self.sessions.get(session)
            choices = _read_object(line, "choices", {} if before is None else before.choices)
            self.sessions[session] = SessionUse(turn.at, choices)
        if is_retry:
            self.ended_answer = self.answer
        else:
            self.inputs, self.ended_answer = [*messages[:base], *new], None
        self.last = self.open_turns[turn.key] = turn
        self.turn_ends.append(turn.inputs)
        self.system, self.settings, self.model = system, settings, model
        self._touch(line)
        return list_texts(new)

    def _continue(self, line: Mapping[str, Any]) -> None:
        content = message_from_json_form({"role": "assistant", "content": line["content"]}).content
        kept, text = int(line["blocks"]), _read_text(line, "text")
        turn = self.open_turns.get(str(line["turn"]))
        if turn is None:
            return
        partial = turn.partial[:kept]
        if text is not None:
            last = partial[-1]
            if not isinstance(last, TextBlock):
                raise DamagedError("a text continues a block that is not a text")
            partial[-1] = replace(last, text=last.text + text)
        turn.partial = [*partial, *content]

    def _end(self, line: Mapping[str, Any]) -> list[str]:
        content = message_from_json_form({"role": "assistant", "content": line["content"]})
        failed, key, at = "error" in line, str(line["turn"]), _parse_time(line["at"])
        usage = from_json_form(Usage, _read_object(line, "usage", {})) if "usage" in line else None
        turn = self.open_turns.pop(key, None)
        if turn is None:
            return []
        self.updated_at = max(self.updated_at, at)
        if usage is not None:
            self.usage, self.cost = usage, add_costs(self.cost, usage.cost)
        turn.is_open, turn.failed = False, failed
        turn.answered = bool(content.content) or not failed
        last = self.last
        # If a retry has replaced this turn, this turn's answer is used until the retry has its own.
        is_used = turn is last or (
            last is not None and turn.inputs == last.inputs == len(self.inputs) and not last.answered
        )
        turn.partial = []
        if is_used and turn.answered:
            self.ended_answer = content
        return list_texts([content])

    def _touch(self, line: Mapping[str, Any]) -> None:
        self.updated_at = max(self.updated_at, _parse_time(line["at"]))


def _parse_time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _read_text(line: Mapping[str, Any], key: str) -> str | None:
    value = line.get(key)
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"{key} is not text")


def _read_object(line: Mapping[str, Any], key: str, default: Mapping[str, Any]) -> Mapping[str, Any]:
    value = line.get(key, default)
    if isinstance(value, Mapping):
        return value
    raise TypeError(f"{key} is not an object")
