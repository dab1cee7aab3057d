"""State files: private from creation, replaced atomically, locked across processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from jumpseat.system import state_file
from jumpseat.system.state_file import StateError, StateFile
from jumpseat.system.watch import stamp_of

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="uses POSIX modes")

INCREMENT = """
import sys
from pathlib import Path
from jumpseat.system.state_file import StateFile

file = StateFile(Path(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    file.update(lambda content: {**content, "count": content.get("count", 0) + 1})
"""

WRITE_FOR_EVER = """
import itertools, sys
from pathlib import Path
from jumpseat.system.state_file import StateFile

file = StateFile(Path(sys.argv[1]))
print("ready", flush=True)
for number in itertools.count():
    file.write({"number": number, "padding": str(number % 10) * 100_000})
"""


@pytest.fixture
def file(tmp_path: Path) -> StateFile:
    return StateFile(tmp_path / "state" / "settings.json")


def test_a_missing_file_is_empty_and_reading_creates_nothing(file: StateFile) -> None:
    assert file.read() == {}
    assert not file.path.parent.exists()


def test_a_written_value_is_read_without_its_version(file: StateFile) -> None:
    file.write({"größe": [1, None, {"a": True}]})

    assert file.read() == {"größe": [1, None, {"a": True}]}
    assert json.loads(file.path.read_text("utf-8"))["version"] == 1


@POSIX
def test_file_lock_and_directory_are_private_for_any_umask(file: StateFile) -> None:
    before = os.umask(0)
    try:
        file.update(lambda content: {"a": 1})
    finally:
        os.umask(before)

    modes = {path.name: path.stat().st_mode & 0o777 for path in file.path.parent.iterdir()}
    assert modes == {"settings.json": 0o600, "settings.json.lock": 0o600}
    assert file.path.parent.stat().st_mode & 0o777 == 0o700


@POSIX
def test_missing_parents_of_the_directory_are_private_too(tmp_path: Path) -> None:
    StateFile(tmp_path / "state" / "conversations" / "a.json").write({"a": 1})

    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


@POSIX
@pytest.mark.parametrize(("loose", "mode"), [("file", "600"), ("directory", "700")])
def test_secrets_that_others_can_open_are_refused_with_the_command_that_fixes_it(
    tmp_path: Path, loose: str, mode: str
) -> None:
    file = StateFile(tmp_path / "auth" / "tokens.json", private=True)
    file.write({"a": 1})
    path = file.path if loose == "file" else file.path.parent
    path.chmod(path.stat().st_mode | 0o040)

    with pytest.raises(StateError) as caught:
        file.read()

    assert caught.value.hint == f"Run: chmod {mode} {path}"


@POSIX
def test_secrets_are_not_read_through_a_symbolic_link(tmp_path: Path) -> None:
    elsewhere = StateFile(tmp_path / "elsewhere" / "tokens.json", private=True)
    elsewhere.write({"a": 1})
    file = StateFile(tmp_path / "auth" / "tokens.json", private=True)
    file.path.parent.mkdir(mode=0o700)
    file.path.symlink_to(elsewhere.path)

    with pytest.raises(StateError, match="is a symbolic link"):
        file.read()


@POSIX
def test_a_link_to_a_file_of_the_users_own_stays_a_link(tmp_path: Path, file: StateFile) -> None:
    dotfiles = tmp_path / "dotfiles" / "settings.json"
    dotfiles.parent.mkdir()
    file.path.parent.mkdir()
    file.path.symlink_to(dotfiles)

    file.write({"a": 1})

    assert file.path.is_symlink()
    assert json.loads(dotfiles.read_text("utf-8"))["a"] == 1


def test_an_escaped_half_of_a_surrogate_pair_is_kept(file: StateFile) -> None:
    file.path.parent.mkdir()
    file.path.write_text('{"a": "\\ud83d"}', "utf-8")

    file.update(lambda content: {**content, "b": "é"})

    assert file.read() == {"a": "\ud83d", "b": "é"}


def test_a_file_that_an_editor_writes_in_place_is_awaited(
    file: StateFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_file, "UNFINISHED_SECONDS", 10.0)
    file.path.parent.mkdir()
    lock = file.path.with_name("settings.json.lock")
    with ThreadPoolExecutor(1) as pool, file.path.open("w", encoding="utf-8") as editor:
        changed = pool.submit(file.update, lambda content: {**content, "b": 2})
        deadline = time.monotonic() + 10
        while not lock.exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        editor.write('{"a": 1}')
        editor.flush()

        assert changed.result(10) == {"a": 1, "b": 2}
    assert sorted(path.name for path in file.path.parent.iterdir()) == ["settings.json", "settings.json.lock"]


def test_a_broken_file_that_another_process_completes_is_not_set_aside(
    file: StateFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_file, "UNFINISHED_SECONDS", 0.0)
    file.path.parent.mkdir()
    file.path.write_text("{", "utf-8")
    with ThreadPoolExecutor(1) as pool:
        with file.lock():
            found = pool.submit(file.read)
            # A reader without the lock would have finished by now.
            assert not wait([found], timeout=0.3).done
            file.write({"a": 1})

        assert found.result(10) == {"a": 1}


@pytest.mark.parametrize("broken", ["", "{", "[1]", "\x00\x00", "[" * 100_000])
def test_a_broken_file_is_set_aside_whole_and_counts_as_empty(
    file: StateFile, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_file, "UNFINISHED_SECONDS", 0.0)  # Nothing is being written, so do not wait.
    file.path.parent.mkdir()
    file.path.write_text(broken, "utf-8")

    assert file.read() == {}

    (aside,) = file.path.parent.glob("settings.json.broken-*")
    assert aside.read_text("utf-8") == broken
    assert not file.path.exists()


def test_a_file_of_a_newer_version_is_read_but_never_overwritten(file: StateFile) -> None:
    newer = '{"version": 2, "a": 1}'
    file.path.parent.mkdir()
    file.path.write_text(newer, "utf-8")

    assert file.read() == {"a": 1}
    with pytest.raises(StateError, match="newer version"):
        file.write({})
    with pytest.raises(StateError, match="newer version"):
        file.erase(lambda content: content)
    assert file.path.read_text("utf-8") == newer


def test_updates_of_several_processes_are_all_kept(file: StateFile) -> None:
    each, processes = 25, 4
    running = [
        subprocess.Popen([sys.executable, "-c", INCREMENT, str(file.path), str(each)])
        for _ in range(processes)
    ]

    assert [process.wait(timeout=60) for process in running] == [0] * processes
    assert file.read() == {"count": each * processes}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_process_killed_while_it_writes_leaves_a_whole_file(file: StateFile) -> None:
    for _ in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITE_FOR_EVER, str(file.path)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        with process.stdout as output:
            assert output.readline() == b"ready\n"
        before = stamp_of(file.path)
        while stamp_of(file.path) == before:  # The process writes in a loop. Kill it during a write.
            assert process.poll() is None
        process.kill()
        process.wait(timeout=10)

        content = file.read()
        assert content["padding"] == str(content["number"] % 10) * 100_000
    assert list(file.path.parent.glob("*.broken-*")) == []


def test_a_wait_for_a_lock_ends_with_a_clear_error(file: StateFile) -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with file.lock():
            held.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(10)
        with (
            pytest.raises(StateError, match="has been held by another process"),
            file.lock(0.05),
        ):
            pass
    finally:
        done.set()
        thread.join(10)


def test_a_thread_that_holds_the_lock_can_acquire_it_again(file: StateFile) -> None:
    with file.lock(), file.lock(1):
        file.write({"a": 1})

    assert file.read() == {"a": 1}


def test_the_stamp_changes_with_every_write(file: StateFile) -> None:
    assert stamp_of(file.path) is None
    file.write({"a": 1})
    first = stamp_of(file.path)
    file.write({"a": 1})

    assert stamp_of(file.path) not in (None, first)


def test_a_failed_write_has_a_clear_error_and_leaves_no_file(tmp_path: Path) -> None:
    in_the_way = tmp_path / "state"
    in_the_way.write_text("a file", "utf-8")

    with pytest.raises(StateError, match="cannot be read: Not a directory"):
        StateFile(in_the_way / "settings.json").write({})
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_the_temporary_file_of_a_killed_writer_is_removed_by_a_later_one(file: StateFile) -> None:
    file.write({"a": 1})
    old, fresh = (file.path.with_name(f".settings.json.{name}") for name in ("old", "fresh"))
    for path in (old, fresh):
        path.write_text("half a secr", "utf-8")
    os.utime(old, (0, 0))

    file.write({"a": 2})

    assert not old.exists()
    assert fresh.exists()  # The writer of this file may still run.
