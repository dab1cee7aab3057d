"""The daemon's files in the state directory, among them the pointer, which names the daemon's socket."""

from __future__ import annotations

import json
import os
import site
from collections.abc import Iterator
from pathlib import Path

import pytest

import jumpseat
from jumpseat.hub.failures import CannotShareError
from jumpseat.hub.names import daemon_files, find_pointers, host_name, read_installation_stamp, read_pointer
from jumpseat.hub.ownership import Ownership
from tests.hub import directory_for_sockets


def write(path: Path, **content: object) -> None:
    path.write_text(json.dumps({"socket": "/run/x.sock", "pid": 7, "daemon": "1.0", **content}))


def test_the_files_are_private_and_their_names_contain_host_and_version(tmp_path: Path) -> None:
    files = daemon_files(tmp_path / "state")

    # jumpseat refuses to use files with secrets if others can open their directory.
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert files.lock.parent == tmp_path / "state" / "daemon"
    assert files.lock.parent.stat().st_mode & 0o777 == 0o700
    assert files.pointer.name.startswith(f"{host_name()}-{jumpseat.__version__}-")
    assert {path.suffix for path in files} == {".lock", ".json", ".log"}


def test_a_directory_that_others_can_change_is_not_used(tmp_path: Path) -> None:
    directory = tmp_path / "daemon"
    directory.mkdir()
    directory.chmod(0o770)
    with pytest.raises(CannotShareError, match="can be changed by other users"):
        daemon_files(tmp_path)

    directory.rmdir()
    (tmp_path / "elsewhere").mkdir()
    directory.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CannotShareError, match="is not a directory"):
        daemon_files(tmp_path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory to another user")
def test_a_directory_of_another_user_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "daemon").mkdir()
    os.chown(tmp_path / "daemon", 65534, 65534)
    with pytest.raises(CannotShareError, match="can be changed by other users"):
        daemon_files(tmp_path)


def test_a_state_directory_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotShareError, match="cannot be used"):
        daemon_files(tmp_path / "file")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[1]",
        b"{}",
        b'{"socket": 1, "pid": 1, "daemon": "1"}',
        b'{"socket": "/x", "pid": "1", "daemon": "1"}',
        b'{"socket": "x", "pid": 1, "daemon": "1"}',
        b"[" * 10_000,
        b" " * 100_000,
    ],
)
def test_an_invalid_pointer_is_ignored(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "pointer").write_bytes(content)
    assert read_pointer(tmp_path / "pointer") is None


def test_a_pointer_is_not_read_through_a_link_and_not_from_a_pipe(tmp_path: Path) -> None:
    write(tmp_path / "real")
    assert read_pointer(tmp_path / "real") == (Path("/run/x.sock"), 7, "1.0")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe")
    assert read_pointer(tmp_path / "link") is None
    assert read_pointer(tmp_path / "pipe") is None
    assert read_pointer(tmp_path / "missing") is None


@pytest.mark.requirement("9:upgrade")
def test_an_installed_package_changes_the_stamp_of_the_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(tmp_path), str(tmp_path / "missing")])
    os.utime(tmp_path, ns=(1, 1))
    before = read_installation_stamp()
    assert read_installation_stamp() == before
    (tmp_path / "plugin-1.0.dist-info").mkdir()
    assert read_installation_stamp() != before


def test_the_daemons_of_this_host_are_found_whatever_their_version(tmp_path: Path) -> None:
    directory = daemon_files(tmp_path).pointer.parent
    for name in ("a.json", "b.json", "c.retired", "d.lock", "e.log"):
        write(directory / f"{host_name()}-{name}", daemon=name)
    (directory / f"{host_name()}-broken.json").write_text("{")
    write(directory / "another_host-9.json")

    assert [pointer.version for _, pointer in find_pointers(directory)] == ["a.json", "b.json", "c.retired"]


@pytest.fixture
def run() -> Iterator[Path]:
    """The directory of sockets."""
    with directory_for_sockets() as directory:
        yield directory


def test_a_daemon_replaces_a_stale_pointer_and_removes_only_its_own_files(tmp_path: Path, run: Path) -> None:
    files = daemon_files(tmp_path)
    killed = Ownership(files, run)
    killed.publish().close()
    assert killed.socket_path.exists()

    owner = Ownership(files, run)
    listener = owner.publish()
    try:
        assert not killed.socket_path.exists()
        assert read_pointer(files.pointer) == (owner.socket_path, os.getpid(), jumpseat.__version__)
        assert files.pointer.stat().st_mode & 0o777 == 0o600
        killed.remove()
        assert read_pointer(files.pointer) is not None
        owner.remove()
        assert list(run.iterdir()) == []
        assert read_pointer(files.pointer) is None
    finally:
        listener.close()


@pytest.mark.requirement("9:one-daemon")
def test_a_link_in_place_of_the_pointer_is_replaced_and_its_target_is_left_alone(
    tmp_path: Path, run: Path
) -> None:
    files = daemon_files(tmp_path)
    (tmp_path / "precious").write_text("x")
    files.pointer.symlink_to(tmp_path / "precious")

    owner = Ownership(files, run)
    owner.publish().close()

    assert (tmp_path / "precious").read_text() == "x"
    assert read_pointer(files.pointer) == (owner.socket_path, os.getpid(), jumpseat.__version__)


def test_a_failure_to_create_the_socket_closes_its_descriptor(tmp_path: Path, run: Path) -> None:
    owner = Ownership(daemon_files(tmp_path), run / "missing")
    before = len(list(Path("/dev/fd").iterdir()))
    with pytest.raises(FileNotFoundError) as caught:
        owner.publish()
    assert len(list(Path("/dev/fd").iterdir())) == before, caught


def test_a_file_that_a_stale_pointer_names_is_not_removed(tmp_path: Path, run: Path) -> None:
    files = daemon_files(tmp_path)
    (run / "precious").write_text("x")
    write(files.pointer, socket=str(run / "precious"))

    owner = Ownership(files, run)
    owner.publish().close()
    owner.remove()

    assert (run / "precious").read_text() == "x"


def test_another_version_counts_as_running_if_its_daemon_answers_and_is_not_retired(
    tmp_path: Path, run: Path
) -> None:
    files = daemon_files(tmp_path)
    own = Ownership(files, run)
    other = Ownership(files._replace(pointer=files.pointer.with_name("other.json")), run)
    listener = other.publish()
    try:
        for name, version in (("2.json", jumpseat.__version__), ("3.retired", "9"), ("4.json", "9")):
            assert not own.other_version_runs()
            write(
                files.pointer.with_name(f"{host_name()}-{name}"),
                daemon=version,
                socket=str(other.socket_path),
            )
        assert own.other_version_runs()
    finally:
        listener.close()
    assert not own.other_version_runs()


@pytest.mark.requirement("9:others")
def test_a_retired_daemon_keeps_its_socket_until_it_is_gone(tmp_path: Path, run: Path) -> None:
    files = daemon_files(tmp_path)
    retired, second, third = (Ownership(files, run) for _ in range(3))
    listener = retired.publish()
    retired.retire()
    second.publish().close()
    sockets = [pointer.socket for _, pointer in find_pointers(files.pointer.parent)]
    assert sorted(sockets) == sorted([retired.socket_path, second.socket_path])

    listener.close()  # This has the same effect as killing the retired daemon.
    third.publish().close()

    assert [pointer.socket for _, pointer in find_pointers(files.pointer.parent)] == [third.socket_path]
    assert list(run.iterdir()) == [third.socket_path]
