"""Files made by another version, another program or another file system."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path

import pytest

from jumpseat.conversations import ConversationStore, lines
from jumpseat.system.state_file import StateError
from tests.unit.conversations.support import alternate, keep, texts, turn

NEWER = {
    "a header of another shape": b'{"version":2,"born":"today"}\n{"type":"begin"}\n',
    "a line of another shape": b'{"version":2,"id":"a","createdAt":"2026-01-01T00:00:00Z","messages":'
    b'[{"role":"user","content":[]}]}\n{"type":"begin","id":7}\n{"type":"end"}\n',
    "lines that are not JSON": b'{"version":2,"id":"a","createdAt":"2026-01-01T00:00:00Z"}\n\x01\x02\n\x03\n',
}


@pytest.mark.requirement("10:newer-version")
@pytest.mark.parametrize("content", NEWER.values(), ids=NEWER)
def test_unreadable_parts_of_a_newer_version_are_not_damage(
    store: ConversationStore, directory: Path, content: bytes
) -> None:
    directory.mkdir()
    path = directory / "a.jsonl"
    path.write_bytes(content)
    store.snapshot("a")
    assert not store.is_in_use("a")
    with pytest.raises(StateError, match="newer version"):
        store.begin(turn(()))
    assert path.read_bytes() == content
    assert not list(directory.glob("*.damaged-*"))


@pytest.mark.requirement("10:newer-version")
def test_a_fork_of_a_newer_versions_conversation_is_kept(store: ConversationStore, directory: Path) -> None:
    keep(store, alternate("Hi"), "Hello")
    path = directory / "a.jsonl"
    newer = path.read_bytes().replace(b'"version":1', b'"version":2')
    path.write_bytes(newer)
    fork = keep(store, alternate("Bye"), "See you")
    assert fork.forked_from == "a"
    assert texts(store, fork.id) == ["Bye", "See you"]
    assert store.fork("a").fork_of == "a"
    assert path.read_bytes() == newer
    assert len(list(store.files())) == 3


@pytest.mark.requirement("10:newer-version")
def test_lines_of_an_unknown_type_are_preserved_and_ignored(
    store: ConversationStore, directory: Path
) -> None:
    keep(store, alternate("Hi"), "Hello")
    path = directory / "a.jsonl"
    with path.open("ab") as file:
        file.write(b'{"type":"star","at":5}\n')
    assert keep(store, alternate("Hi", "Hello", "More"), "Yes").id == "a"
    assert texts(ConversationStore(directory)) == ["Hi", "Hello", "More", "Yes"]
    assert b'{"type":"star","at":5}\n' in path.read_bytes()


@pytest.mark.requirement("10:damage")
@pytest.mark.parametrize(
    "change", [{"title": 5}, {"cwd": ["/"]}, {"settings": 3}, {"system": {}}, {"client": 1}]
)
def test_a_header_of_wrong_types_is_damage(
    store: ConversationStore, directory: Path, change: dict[str, object]
) -> None:
    keep(store, alternate("Hi"), "Hello")
    path = directory / "a.jsonl"
    header, rest = path.read_bytes().split(b"\n", 1)
    path.write_bytes(json.dumps({**json.loads(header), **change}).encode() + b"\n" + rest)
    assert ConversationStore(directory).row("a") is None
    assert len(list(directory.glob("a.jsonl.damaged-*"))) == 1


@pytest.mark.requirement("10:damage")
def test_a_damaged_file_that_cannot_be_set_aside_is_not_changed(
    store: ConversationStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, readable: bytes) -> Path:
        raise PermissionError(errno.EACCES, "Permission denied")

    keep(store, alternate("Hi"), "Hello")
    path = directory / "a.jsonl"
    data = path.read_bytes()
    begin = json.loads(data.splitlines()[1])
    damaged = data + json.dumps({**begin, "base": 0, "settings": 3}).encode() + b"\n"
    path.write_bytes(damaged)
    monkeypatch.setattr(lines, "set_aside", refuse)
    assert texts(ConversationStore(directory)) == ["Hi", "Hello"]
    assert path.read_bytes() == damaged


@pytest.mark.requirement("10:damage")
def test_times_without_a_zone_can_be_compared_with_other_times(
    store: ConversationStore, directory: Path
) -> None:
    keep(store, alternate("Hi"), "Hello")
    keep(store, alternate("Hi"), "Hello", name="b")
    path = directory / "a.jsonl"
    header, begin, _ = path.read_bytes().splitlines(keepends=True)
    path.write_bytes((header + begin).replace(b'Z"', b'"'))
    other = ConversationStore(directory)
    # A list sorts by these times.
    assert len(sorted(row.updated_at for row in map(other.row, "ab") if row is not None)) == 2
    assert keep(other, alternate("Hi"), "Hello again").id == "a"
    assert texts(other) == ["Hi", "Hello again"]


@pytest.mark.skipif(os.name == "nt", reason="needs pipes and links in the file system")
@pytest.mark.requirement("10:damage")
def test_a_pipe_a_directory_or_a_link_is_not_a_conversation(
    store: ConversationStore, directory: Path
) -> None:
    keep(store, alternate("Hi"), "Hello", name="kept")
    os.mkfifo(directory / "pipe.jsonl")
    (directory / "folder.jsonl").mkdir()
    (directory / "link.jsonl").symlink_to("kept.jsonl")
    (directory / "dangling.jsonl").symlink_to(directory.parent / "new")
    assert [each for each, _ in store.files()] == ["kept"]
    for name in ("pipe", "folder", "link", "dangling"):
        with pytest.raises(StateError):
            store.begin(turn(alternate("Hi"), name))
        with pytest.raises(StateError, match="cannot be read"):
            store.get(name)
    assert texts(store, "kept") == ["Hi", "Hello"]
    assert not (directory.parent / "new").exists()


IDS = [
    "..",
    ".",
    "...",
    "-",
    "-rf",
    "con",
    "CON",
    "nul.txt",
    "com1",
    "Com1.a.b",
    "lpt9",
    "console",
    "x" * 128,
]


@pytest.mark.requirement("10:ids")
def test_every_id_has_a_file_of_its_own(store: ConversationStore, directory: Path) -> None:
    for name in IDS:
        assert keep(store, alternate(f"Hi {name}"), "Hello", name=name).id == name
    assert all(each.parent == directory for each in directory.iterdir())
    # Windows treats these names as devices, with any extension.
    assert {each.name.split(".")[0].lower() for each in directory.iterdir()}.isdisjoint(
        {"con", "nul", "com1", "lpt9"}
    )
    assert sorted(each for each, _ in store.files()) == sorted(IDS)
    for name in IDS:
        assert texts(ConversationStore(directory), name) == [f"Hi {name}", "Hello"]
        assert store.delete(name)
    assert [each.name for each in directory.iterdir()] == ["store.lock"]


@pytest.mark.requirement("10:ids")
def test_two_spellings_are_one_conversation_if_file_names_ignore_case(
    store: ConversationStore, directory: Path
) -> None:
    keep(store, alternate("Hi"), "Hello", name="Work")
    # A file system that ignores case looks like this.
    os.link(directory / "Work.jsonl", directory / "wORK.jsonl")
    assert keep(store, alternate("Hi", "Hello", "More"), "Yes", name="wORK").id == "Work"
    assert store.get("wORK").row.id == "Work"
    assert texts(store, "Work") == ["Hi", "Hello", "More", "Yes"]


@pytest.mark.requirement("10:ids")
def test_deleting_leaves_the_copies_of_a_conversation_with_a_similar_name(
    store: ConversationStore, directory: Path
) -> None:
    similar = "a.jsonl.damaged-b"
    keep(store, alternate("Hi"), "Hello")
    keep(store, alternate("Hi"), "Hello", name=similar)
    with (directory / f"{similar}.jsonl").open("ab") as file:
        file.write(b"#\n{}\n")
    assert ConversationStore(directory).row(similar) is not None
    before = {each.name for each in directory.iterdir()}
    assert len(before) == 4
    store.delete("a")
    assert before - {each.name for each in directory.iterdir()} == {"a.jsonl"}


@pytest.mark.requirement("10:damage")
def test_damage_that_has_disappeared_once_the_lock_is_held_is_ignored(
    store: ConversationStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network file system may show zeros in the place of another machine's line."""
    keep(store, alternate("Hi"), "Hello")
    path = directory / "a.jsonl"
    status, data = path.stat(), path.read_bytes()
    line = data.splitlines(keepends=True)[1]
    zeros = data.replace(line, b"\0" * (len(line) - 1) + b"\n")
    other = ConversationStore(directory)
    lock_for_change = other._lock_for_change

    def write_line_and_lock() -> object:
        path.write_bytes(data)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        return lock_for_change()

    monkeypatch.setattr(other, "_lock_for_change", write_line_and_lock)
    path.write_bytes(zeros)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert texts(other) == ["Hi", "Hello"]
    assert not list(directory.glob("*.damaged-*"))


@pytest.mark.skipif(os.name == "nt", reason="locks of POSIX")
@pytest.mark.requirement("10:not-written")
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EIO, errno.EOPNOTSUPP])
def test_a_turn_is_refused_if_the_file_system_has_no_locks(
    store: ConversationStore, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    # Older releases of filelock retry until the timeout, and report a held lock.
    def flock(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", flock)
        with pytest.raises(StateError, match=r"cannot be locked|has been held"):
            store.begin(turn(alternate("Hi")))
    keep(store, alternate("Hi"), "Hello")
    assert texts(store) == ["Hi", "Hello"]
