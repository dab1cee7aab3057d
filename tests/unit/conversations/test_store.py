"""The turns that the store saves, and the conversations that it returns."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import ChatCancelled, ContextBlock, Usage, WarningEvent
from jumpseat.conversations import Change, ConversationStore, UnknownConversationError
from jumpseat.conversations.rows import derive_title
from jumpseat.system.secrets import KnownSecrets, Secret, register_secret
from jumpseat.system.state_file import StateError
from tests.unit.conversations.support import (
    FAILED,
    alternate,
    assistant,
    call,
    keep,
    make_answer,
    result,
    texts,
    thought,
    turn,
    user,
)


def lines(directory: Path, name: str = "a") -> list[dict[str, Any]]:
    """Return the lines of a file."""
    return [json.loads(line) for line in (directory / f"{name}.jsonl").read_bytes().splitlines()]


@pytest.mark.requirement("10:continue")
def test_the_kept_blocks_stay_when_a_client_sends_less(store: ConversationStore) -> None:
    rich = assistant(thought("Hm."), "Hello", call(path="."))
    keep(store, alternate("Hi"), *rich.content)
    thin = assistant("Hello", call(path="."))
    keep(store, [user("Hi"), thin, user(result())], "Done.")
    assert store.get("a").messages == (user("Hi"), rich, user(result()), assistant("Done."))


@pytest.mark.requirement("10:retry")
def test_a_retry_takes_the_place_of_the_answer_and_the_file_has_both(
    store: ConversationStore, directory: Path
) -> None:
    keep(store, alternate("Hi"), "One")
    assert keep(store, alternate("Hi"), "Two").forked_from is None
    assert texts(store) == ["Hi", "Two"]
    answers = [line["content"][0]["text"] for line in lines(directory) if line.get("type") == "end"]
    assert answers == ["One", "Two"]
    row = store.row("a")
    assert row is not None
    assert row.turns == 2


@pytest.mark.requirement("10:retry")
def test_a_retry_without_output_leaves_the_old_answer(store: ConversationStore) -> None:
    keep(store, alternate("Hi"), "One")
    begun = store.begin(turn(alternate("Hi")))
    assert texts(store) == ["Hi", "One"]
    store.finish(begun, make_answer(), FAILED)
    assert texts(store) == ["Hi", "One"]
    assert keep(store, alternate("Hi", "One", "More"), "Yes").forked_from is None


@pytest.mark.requirement("10:retry")
def test_simultaneous_retries_do_not_lose_an_answer(store: ConversationStore) -> None:
    first, second = store.begin(turn(alternate("Hi"))), store.begin(turn(alternate("Hi")))
    assert (first.id, second.id) == ("a", "a")
    store.finish(first, make_answer("One"))
    assert texts(store) == ["Hi", "One"]
    store.finish(second, make_answer(), FAILED)
    assert texts(store) == ["Hi", "One"]
    third, fourth = store.begin(turn(alternate("Hi"))), store.begin(turn(alternate("Hi")))
    store.finish(fourth, make_answer("Four"))
    store.finish(third, make_answer("Three"))
    assert texts(store) == ["Hi", "Four"]


@pytest.mark.requirement("10:partial")
@pytest.mark.parametrize("error", [FAILED, ChatCancelled("Cancelled.")])
@pytest.mark.parametrize("sent", [alternate("Hi", "Hel", "More"), (user("Hi"), user("More"))])
def test_an_unfinished_turn_is_continued_with_its_partial_or_without(
    store: ConversationStore, error: Any, sent: Any
) -> None:
    keep(store, alternate("Hi"), "Hel", error=error)
    assert texts(store) == ["Hi", "Hel"]
    assert keep(store, sent, "Yes").id == "a"
    assert texts(store) == [*(list_texts_of(sent)), "Yes"]


@pytest.mark.requirement("10:replace")
def test_an_edited_question_takes_the_place_of_one_that_failed_without_output(
    store: ConversationStore, directory: Path
) -> None:
    keep(store, alternate("Hi"), "Hello")
    keep(store, alternate("Hi", "Hello", "Moer"), error=FAILED)
    keep(store, alternate("Hi", "Hello", "Moer"), error=ChatCancelled("Cancelled."))
    for question in ("Mroe", "More"):
        begun = store.begin(turn(alternate("Hi", "Hello", question)))
        assert (begun.id, begun.forked_from) == ("a", None)
        assert texts(store) == ["Hi", "Hello", question]
        store.finish(begun, make_answer(), FAILED)
    assert keep(store, alternate("Hi", "Hello", "More!"), "Yes").id == "a"
    assert texts(ConversationStore(directory)) == ["Hi", "Hello", "More!", "Yes"]
    kept = (directory / "a.jsonl").read_text("utf-8")
    assert all(f'"{question}"' in kept for question in ("Moer", "Mroe", "More"))
    assert keep(store, alternate("Hi", "Hello", "Again"), "No").forked_from == "a"


@pytest.mark.requirement("10:replace")
def test_a_failed_retry_of_an_answered_question_is_not_replaced(store: ConversationStore) -> None:
    keep(store, alternate("Hi"), "Hello")
    keep(store, alternate("Hi"), error=FAILED)
    assert keep(store, alternate("Hey"), "Yes").forked_from == "a"
    assert texts(store) == ["Hi", "Hello"]


def list_texts_of(sent: Any) -> list[str]:
    """Return the text of each message."""
    return [message.content[0].text for message in sent]


def test_the_last_line_of_a_turn_has_the_data_of_the_response(
    store: ConversationStore, directory: Path
) -> None:
    begun = store.begin(turn(alternate("Hi")))
    warning = WarningEvent("thinking_dropped", "No thinking.")
    store.finish(begun, make_answer("A", usage=Usage(3, 2), response_id="r", warnings=[warning]), FAILED)
    end = lines(directory)[-1]
    assert end["usage"]["inputTokens"] == 3
    assert (end["responseId"], end["stopReason"]) == ("r", "end_turn")
    assert end["warnings"][0]["code"] == "thinking_dropped"
    assert end["error"] == {"kind": "server", "message": "Overloaded."}


@pytest.mark.requirement("10:private")
def test_only_the_user_can_access_the_directory_and_its_files(
    store: ConversationStore, directory: Path
) -> None:
    keep(store, alternate("Hi"), "Hello")
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert [stat.S_IMODE(each.stat().st_mode) for each in directory.iterdir()] == [0o600, 0o600]


@pytest.mark.requirement("10:secrets")
def test_secrets_are_redacted_and_redaction_does_not_cause_a_fork(
    store: ConversationStore, directory: Path
) -> None:
    keep(store, [user("The key is sk-late-secret-1.")], "I see sk-late-secret-1.")
    known = KnownSecrets()
    secret = known.add(Secret('sk-"quoted"-secret')).reveal()
    known.add(Secret("sk-late-secret-1"))
    sent = [
        user("The key is sk-late-secret-1."),
        assistant("I see sk-late-secret-1."),
        user(f"And {secret}."),
    ]
    begun = store.begin(turn(sent, system=f"Use {secret}.", settings={secret: [secret]}, secrets=known))
    store.finish(begun, make_answer(call(key=secret, **{secret: {"deep": [secret]}})))
    assert begun.id == "a"
    new = "".join(json.dumps(line) for line in lines(directory)[3:])
    assert "quoted" not in new
    assert "late" not in new
    assert texts(store)[2] == "And ***."
    assert store.get("a").system == "Use ***."
    # The turn is still a retry and can be continued.
    assert store.begin(turn(sent, secrets=known)).id == "a"
    assert store.rename("a", f"Use {secret}.", known).title == "Use ***."
    fork = store.fork("a", known=known)
    assert texts(store, fork.id)[:2] == ["The key is ***.", "I see ***."]


@pytest.mark.requirement("10:secrets", "10:byte-for-byte")
def test_a_secret_of_another_client_is_not_redacted(store: ConversationStore) -> None:
    register_secret("configuration")
    keep(store, alternate("Explain the configuration file."), "The configuration file has tables.")
    assert texts(store) == ["Explain the configuration file.", "The configuration file has tables."]


@pytest.mark.requirement("10:secrets")
def test_a_secret_that_equals_a_conversation_id_does_not_damage_files(store: ConversationStore) -> None:
    known = KnownSecrets()
    known.add(Secret("conversation-a"))
    for question in ("Hi", "Bye"):
        begun = store.begin(turn(alternate(question), "conversation-a", secrets=known))
        store.finish(begun, make_answer("Hello"))
    assert store.get(begun.id).row.fork_of == "conversation-a"
    more = store.begin(turn(alternate("Bye", "Hello", "Why?"), "conversation-a", secrets=known))
    assert more.id == begun.id


@pytest.mark.requirement("10:title")
@pytest.mark.parametrize(
    ("messages", "title"),
    [
        (alternate("  How do I\tsort?\nIn Python"), "How do I sort?"),
        ((user(ContextBlock("x = 1"), " \n", "Rename x."),), "Rename x."),
        ((user(result()), assistant("So"), user("Why?")), "Why?"),
        ((user(result()),), "(no text)"),
        (alternate("word " * 40), "word " * 15 + "word…"),
        (alternate("x" * 80), "x" * 80),
        (alternate("x" * 81), "x" * 79 + "…"),
    ],
)
def test_the_title_is_the_first_line_of_the_first_question(messages: Any, title: str) -> None:
    assert derive_title(messages) == title


@pytest.mark.requirement("10:store-fork")
@pytest.mark.parametrize(
    ("count", "kept", "turns"),
    [(None, 6, 3), (9, 6, 3), (6, 6, 3), (4, 3, 2), (3, 3, 2), (2, 2, 1), (1, 1, 1)],
)
def test_a_fork_after_any_message_never_divides_a_call_from_its_result(
    store: ConversationStore, count: int | None, kept: int, turns: int
) -> None:
    messages = (*alternate("Hi", "Hello", "List it"), assistant(call()), user(result()), assistant("Done."))
    for end in (1, 3, 5):
        keep(store, messages[:end], *messages[end].content)
    row = store.fork("a", count)
    assert store.get(row.id).messages == messages[:kept]
    assert (row.fork_of, row.turns, row.model, row.title) == ("a", turns, "fake:m", "Hi")
    assert keep(store, (*messages[:kept], user("More")), "Yes", name=row.id).id == row.id


@pytest.mark.requirement("10:store-fork")
def test_a_call_with_the_id_of_an_answered_call_is_a_new_call(store: ConversationStore) -> None:
    messages = (
        user("List it"),
        assistant(call()),
        user(result()),
        assistant(call()),
        user(result("1", "b.py")),
        assistant("Done."),
    )
    keep(store, messages[:-1], "Done.")
    assert store.get(store.fork("a", 4).id).messages == messages[:3]


@pytest.mark.requirement("10:store-rename")
def test_a_conversation_can_be_renamed_and_deleted(store: ConversationStore, directory: Path) -> None:
    keep(store, alternate("Hi"), "Hello")
    assert store.rename("a", "Greetings").title == "Greetings"
    keep(store, alternate("Hi", "Hello", "More"), "Yes")
    assert ConversationStore(directory).get("a").row.title == "Greetings"
    assert store.fork("a").title == "Greetings"
    assert [store.delete("a"), store.delete("a")] == [True, False]
    assert store.row("a") is None
    # A turn that ends later does not restore the conversation.
    begun = store.begin(turn(alternate("Hi"), "b"))
    store.delete("b")
    store.finish(begun, make_answer("Hello"))
    assert store.row("b") is None


@pytest.mark.parametrize("name", ["missing", "", "../a", "a/b", "x" * 129])
def test_an_unknown_conversation_is_an_error(store: ConversationStore, name: str, directory: Path) -> None:
    keep(store, alternate("Hi"), "Hello")
    (directory.parent / "a.jsonl").write_bytes((directory / "a.jsonl").read_bytes())
    for change in (store.get, store.fork, lambda name: store.rename(name, "x")):
        with pytest.raises(UnknownConversationError):
            change(name)
    assert not store.delete(name)
    assert not store.is_in_use(name)
    assert store.snapshot(name) is None


def test_listeners_get_every_change_with_the_texts_that_it_adds(store: ConversationStore) -> None:
    seen: list[Change] = []

    def fail_to_index(change: Change) -> None:
        raise RuntimeError("no index")

    store.listeners += [fail_to_index, seen.append]
    begun = store.begin(turn(alternate("Hi")))
    store.finish(begun, make_answer("Hello"))
    store.rename("a", "Greetings")
    fork = store.fork("a").id
    store.delete("a")
    assert [(each.id, each.texts) for each in seen] == [
        ("a", ("Hi",)),
        ("a", ("Hello",)),
        ("a", ()),
        (fork, ("Hi", "Hello")),
        ("a", ()),
    ]
    assert [each.row is None for each in seen] == [False] * 4 + [True]
    assert dict(store.files()) == {fork: seen[3].stamp}
    whole = store.snapshot(fork)
    assert whole is not None
    assert (whole.row, whole.stamp, whole.texts) == (seen[3].row, seen[3].stamp, ("Hi", "Hello"))
    assert [each.row.title for each in seen[2:4] if each.row is not None] == ["Greetings", "Greetings"]
    assert [each.size_before for each in seen[:3]] == [0, *(each.stamp[2] for each in seen[:2] if each.stamp)]


def test_a_file_of_a_newer_version_is_read_and_left_alone(store: ConversationStore, directory: Path) -> None:
    keep(store, alternate("Hi"), "Hello")
    path = directory / "a.jsonl"
    newer = path.read_bytes().replace(b'"version":1', b'"version":2') + b'{"type":"star"}\n'
    path.write_bytes(newer)
    other = ConversationStore(directory)
    assert texts(other) == ["Hi", "Hello"]
    with pytest.raises(StateError, match="newer version"):
        other.begin(turn(alternate("Hi", "Hello", "More")))
    assert path.read_bytes() == newer


@pytest.mark.requirement("10:several-writers")
def test_a_reader_never_sees_half_of_a_turn(
    store: ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a line is folded, the messages and the answer change one after the other."""
    keep(store, alternate("Hi"), "Hello")
    read = store._read_existing("a")
    state, reader = read.state, ThreadPoolExecutor(1)
    monkeypatch.setattr(store, "_read_existing", lambda name: read)
    with reader, store._thread_lock:
        state.inputs = [*state.messages, user("More")]
        reading = reader.submit(store.get, "a")
        with pytest.raises(TimeoutError):
            reading.result(timeout=0.05)
        state.ended_answer = None
    assert len(reading.result(timeout=20).messages) == 3
