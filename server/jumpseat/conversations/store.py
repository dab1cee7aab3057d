"""The store of kept conversations. Every method blocks, so the event loop calls it in a worker thread."""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from jumpseat.chat import ChatError, ContentBlock, Message, Response
from jumpseat.conversations import branches, lines
from jumpseat.conversations.changes import Change
from jumpseat.conversations.directories import check_directory
from jumpseat.conversations.files import Files, ReadFile, UnknownConversationError
from jumpseat.conversations.forks import Forks, new_fork_id
from jumpseat.conversations.placing import Placing, PlacingFacts, find_cut, place_turn
from jumpseat.conversations.records import (
    BegunTurn,
    NewTurn,
    build_begin_line,
    build_end_line,
    build_fork_header,
    build_header,
    build_partial_line,
    build_title_line,
)
from jumpseat.conversations.redaction import redact_message
from jumpseat.conversations.rows import KeptConversation, Row, list_texts
from jumpseat.conversations.running import is_running, judge_last_turn, running_here
from jumpseat.conversations.state import State
from jumpseat.system.secrets import KnownSecrets
from jumpseat.system.state_file import StateError, StateFile, sync_directory
from jumpseat.system.watch import Stamp

logger = logging.getLogger(__name__)

LOCK_SECONDS = 5.0
"""The time limit for acquiring the lock, which other daemons hold for a few milliseconds per change."""


class ConversationStore:
    """The kept conversations of one state directory. Threads and processes may use it simultaneously."""

    def __init__(self, directory: Path) -> None:
        """
        Args:
            directory: the result of `conversations_directory()`, created with the first conversation.
        """
        self.directory = directory
        self.listeners: list[Callable[[Change], None]] = []
        """The callbacks for changes, called under the store's lock and thus in order. They must be quick."""

        self._files = Files(directory)
        self._forks = Forks(directory)
        self._thread_lock = threading.RLock()
        self._lock_file = StateFile(directory / "store")
        self._unsynced_descriptors: list[int] = []
        self._has_new_files = False

    def begin(self, turn: NewTurn) -> BegunTurn:
        """Write a turn's messages to the named conversation, to a fork that they continue, or to a new fork.

        Raises:
            StateError: nothing was written.
        """
        key = secrets.token_hex(8)
        running_here.add(key)
        try:
            # Do not wait for the disk here, because that would delay the request. Until `finish` syncs the
            # data, it survives a crash of the daemon but not a power failure.
            with self._lock_for_change(synced=False):
                return self._begin(turn, key)
        except BaseException:
            running_here.discard(key)
            raise

    def save_partial(self, begun: BegunTurn, content: Sequence[ContentBlock]) -> None:
        """Write the partial answer of a running turn, in case this process is killed.

        Raises:
            StateError: nothing was written.
        """
        with self._lock_for_change(synced=False):
            read = self._read_for_change(begun.id)
            if read is None or (turn := read.state.open_turns.get(begun.key)) is None:
                return
            line = build_partial_line(begun, turn.partial, content, _now())
            if line is not None:
                # Do not announce this: the end of the turn announces the whole answer.
                self._unsynced_descriptors.append(self._files.append(read, [line], announced=False))

    def finish(self, begun: BegunTurn, response: Response, error: ChatError | None = None) -> None:
        """Write the end of a turn: its answer, or its partial answer and the error.

        A conversation that was deleted meanwhile stays deleted.

        Raises:
            StateError: nothing was written.
        """
        try:
            with self._lock_for_change():
                read = self._read_for_change(begun.id)
                if read is None:
                    return
                if begun.key not in read.state.open_turns:
                    # The turn's start was lost with the damaged part of a file.
                    begun = self._begin(begun.turn, begun.key)
                    read = self._read_for_change(begun.id)
                if read is not None:
                    self._append(read, [build_end_line(begun, response, error, _now())])
        finally:
            running_here.discard(begun.key)

    def get(self, conversation_id: str) -> KeptConversation:
        """Return the whole conversation.

        Raises:
            UnknownConversationError: it does not exist.
            StateError: it cannot be read.
        """
        state = self._read_existing(conversation_id).state
        with self._thread_lock:  # Another thread may be folding a line into the state.
            return state.kept

    def row(self, conversation_id: str) -> Row | None:
        """Return the conversation's row in a list; None if the conversation does not exist.

        Raises:
            StateError: it cannot be read.
        """
        try:
            state = self._read_existing(conversation_id).state
        except UnknownConversationError:
            return None
        with self._thread_lock:
            return state.row

    def files(self) -> Iterator[tuple[str, Stamp]]:
        """Return every conversation's id with the stamp of its file."""
        return self._files.list_files()

    def snapshot(self, conversation_id: str) -> Change | None:
        """Return the whole conversation as one change, for an index; None if it does not exist.

        Raises:
            StateError: it cannot be read.
        """
        try:
            read = self._read_existing(conversation_id, cached=False)
        except UnknownConversationError:
            return None
        with self._thread_lock:
            state, texts = read.state, tuple(list_texts(read.state.messages))
            return Change(conversation_id, state.row, read.stamp, texts, branches.find_session(state))

    def get_session(self, session_id: str) -> branches.KeptSession:
        """Return a kept session with the conversation that it used last.

        Raises:
            UnknownConversationError: it has no conversation.
            StateError: it cannot be read.
        """
        with self._lock_for_change(synced=False):  # Reading may set a damaged file aside, which is a change.
            found = self._read_branches(session_id)
            if not found:
                raise UnknownConversationError(session_id)
            return branches.describe_session(found, session_id)

    def delete_session(self, session_id: str) -> None:
        """Delete the conversations of a kept session, except forks that another kept session has used.

        Raises:
            StateError: one of them cannot be deleted.
        """
        with self._lock_for_change():
            for branch in self._read_branches(session_id):
                if branches.is_deleted_with(branch, session_id):
                    self._delete(branch.id, self._files.copies(branch.id))

    def _read_branches(self, session_id: str) -> list[State]:
        return branches.find_branches((read.state for read in self._read_family(session_id)), session_id)

    def is_in_use(self, conversation_id: str) -> bool:
        """Whether a living process runs one of the conversation's turns."""
        with self._thread_lock, contextlib.suppress(OSError):
            read = self._files.read(conversation_id, cached=False)
            return read is not None and any(map(is_running, read.state.open_turns.values()))
        return False

    def fork(
        self, conversation_id: str, messages: int | None = None, known: KnownSecrets | None = None
    ) -> Row:
        """Copy a conversation, or its beginning, into a new one.

        Args:
            conversation_id: the conversation.
            messages: how many to copy, at least 1; None for all. If this would separate a call from its
                result, the copy ends before the call.
            known: the client's secrets, which are redacted.

        Raises:
            UnknownConversationError: it does not exist.
            StateError: nothing was written.
        """
        with self._lock_for_change():
            parent = self._read_existing(conversation_id).state
            kept = parent.messages[: find_cut(parent.messages, messages)]
            ends = [end for end in dict.fromkeys(parent.turn_ends) if end <= len(kept)]
            return self._create_fork(parent, kept, ends, None, [], known or KnownSecrets()).state.row

    def rename(self, conversation_id: str, title: str, known: KnownSecrets | None = None) -> Row:
        """Change a conversation's title, redacting the client's `known` secrets in it.

        Raises:
            UnknownConversationError: it does not exist.
            StateError: nothing was written.
        """
        with self._lock_for_change():
            read = self._read_existing(conversation_id)
            self._append(read, [build_title_line(title, _now(), known or KnownSecrets())])
            return read.state.row

    def delete(self, conversation_id: str) -> bool:
        """Delete a conversation and the copies of its file; return False if the conversation does not exist.

        Raises:
            StateError: it cannot be deleted.
        """
        if self.row(conversation_id) is None:
            return False
        with self._lock_for_change():
            return self._delete(conversation_id, self._files.copies(conversation_id))

    @contextlib.contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Prevent other threads and processes from changing any conversation, or raise `StateError`."""
        with self._lock_for_change(synced=False):
            yield

    def delete_unused(self, conversation_id: str, copies: Sequence[Path]) -> bool:
        """Delete a conversation and these copies of its file; return False if it is in use. Needs the lock.

        Raises:
            OSError: it cannot be deleted.
        """
        if self.is_in_use(conversation_id):
            return False
        self._delete(conversation_id, copies, pruned=True)
        return True

    def _delete(self, conversation_id: str, copies: Sequence[Path], *, pruned: bool = False) -> bool:
        existed = self._files.delete(conversation_id, copies)
        self._forks.remove(conversation_id)
        if existed:
            self._announce(Change(conversation_id, None, None, (), pruned=pruned))
        return existed

    def _begin(self, turn: NewTurn, key: str) -> BegunTurn:
        messages, now = tuple(redact_message(each, turn.secrets) for each in turn.messages), _now()
        family = self._read_family(turn.conversation_id)
        candidates = [(each, _place_turn(each.state, messages, turn.secrets)) for each in family]
        if not candidates:
            line = build_begin_line(turn, key, 0, messages, None, now)
            self._create(turn.conversation_id, [build_header(turn, turn.conversation_id, now), line])
            return BegunTurn(turn.conversation_id, key, turn)
        read, placing = max(candidates, key=lambda candidate: candidate[1].rank)
        state, new = read.state, messages[placing.new :]
        line = build_begin_line(turn, key, placing.base, new, state, now, forks=placing.kind == "fork")
        if placing.kind != "fork":
            self._append(read, [line])
            return BegunTurn(state.id, key, turn)
        kept = state.messages[: placing.base]
        ends = [end for end in dict.fromkeys(state.turn_ends) if end < placing.base + len(new)]
        fork = self._create_fork(state, kept, ends, turn, [line], turn.secrets)
        return BegunTurn(fork.state.id, key, turn, turn.conversation_id)

    def _create_fork(
        self,
        parent: State,
        messages: Sequence[Message],
        ends: Sequence[int],
        turn: NewTurn | None,
        more: Sequence[dict[str, Any]],
        known: KnownSecrets,
    ) -> ReadFile:
        now = _now()
        id_ = new_fork_id(parent.id, now)
        self._forks.add(id_, parent.id)  # Do this first, so that a fork never exists without its entry.
        return self._create(id_, [build_fork_header(parent, messages, ends, turn, id_, now, known), *more])

    def _read_family(self, conversation_id: str) -> list[ReadFile]:
        """Return the named conversation and its forks; only the forks if the conversation was deleted."""
        family: dict[str, ReadFile] = {}
        queue: list[tuple[str, str | None]] = [(conversation_id, None)]
        for id_, parent in queue:
            fork = None if parent is None else self._files.read(id_)
            if fork is not None and not fork.state.version:
                continue  # The daemon was killed before it had written the first line of this fork.
            read = self._read_for_change(id_)
            if id_ in family or (parent is not None and (read is None or read.state.fork_of != parent)):
                continue
            if read is not None:
                family[id_] = read
            stored_id = id_ if read is None else read.state.id  # It differs if the disk ignores case.
            queue += [(fork_id, stored_id) for fork_id in self._forks.list_forks(stored_id)]
        return list(family.values())

    def _read_existing(self, conversation_id: str, *, cached: bool = True) -> ReadFile:
        """Read the conversation. If its file is damaged, first set it aside and keep the readable part."""
        check_directory(self.directory)
        try:
            with self._thread_lock:
                read = self._files.read(conversation_id, cached=cached)
            if read is not None and read.is_damaged:
                # Read again under the lock: without it, a line that is still being written looks like damage.
                with contextlib.suppress(StateError), self._lock_for_change():
                    read = self._read_for_change(conversation_id)
        except OSError as error:
            raise self._make_error("read", error) from None
        if read is None or not (read.state.inputs or read.state.answer):
            raise UnknownConversationError(conversation_id)
        return read

    def _read_for_change(self, conversation_id: str) -> ReadFile | None:
        """Read the conversation before it is changed, and set a damaged file aside. Needs the lock."""
        read = self._files.read(conversation_id)
        if read is not None and (read.is_damaged or not read.state.version):
            return self._files.set_aside(read)
        return read

    @contextlib.contextmanager
    def _lock_for_change(self, *, synced: bool = True) -> Iterator[None]:
        """Lock the store while it is changed.

        Args:
            synced: whether to wait, once the lock has been released, until the writes are on the disk.
        """
        check_directory(self.directory)
        descriptors: list[int] = []
        try:
            try:
                with self._lock_file.lock(LOCK_SECONDS), self._thread_lock:
                    try:
                        yield
                    finally:
                        descriptors, self._unsynced_descriptors = self._unsynced_descriptors, []
            finally:
                lines.close(descriptors, synced=synced)
                if synced and self._has_new_files:
                    self._has_new_files = False
                    sync_directory(self.directory)
        except OSError as error:
            raise self._make_error("written", error) from None
        except ValueError as error:
            raise StateError(f"The conversation cannot be saved: {error}.") from None

    def _create(self, conversation_id: str, new_lines: Sequence[Mapping[str, Any]]) -> ReadFile:
        read, descriptor = self._files.create(conversation_id, new_lines)
        self._unsynced_descriptors.append(descriptor)
        self._has_new_files = True
        self._announce_write(read)
        return read

    def _append(self, read: ReadFile, new_lines: Sequence[Mapping[str, Any]]) -> None:
        size_before = read.size - read.unannounced
        self._unsynced_descriptors.append(self._files.append(read, new_lines))
        self._announce_write(read, size_before)

    def _announce_write(self, read: ReadFile, size_before: int = 0) -> None:
        texts = tuple(read.new_texts)
        state = read.state
        self._announce(
            Change(state.id, state.row, read.stamp, texts, branches.find_session(state), size_before)
        )

    def _announce(self, change: Change) -> None:
        for listener in self.listeners:
            try:
                listener(change)
            except Exception:
                logger.exception("a change of the conversation %s was not indexed", change.id)

    def _make_error(self, action: Literal["read", "written"], error: OSError) -> StateError:
        reason = error.strerror or type(error).__name__
        return StateError(f"The conversations in {self.directory} cannot be {action}: {reason}.")


def _place_turn(state: State, messages: Sequence[Message], known_secrets: KnownSecrets) -> Placing:
    before_last = 0 if state.last is None else state.last.before
    facts = PlacingFacts(state.inputs, state.answer, judge_last_turn(state), before_last)
    # Redact the kept messages again: a secret may have become known after they were stored.
    return place_turn(facts, messages, lambda message: redact_message(message, known_secrets))


def _now() -> datetime:
    return datetime.now(UTC)
