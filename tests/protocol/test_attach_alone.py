"""If sharing is not possible, `attach` serves its client itself and says so in the log."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.daemon import environment_of, running_daemon
from tests.hub import ATTACH, Hub

pytestmark = [pytest.mark.requirement("9:fallback"), pytest.mark.slow]

ALONE = "this client does not use the shared daemon"


async def check_that_a_client_serves_itself(hub: Hub, reason: str) -> None:
    """Check that a client is served without the shared daemon, and that its log contains the reason."""
    async with hub.client() as client:
        assert (await client.initialize())["serverInfo"]["name"] == "jumpseat"
        await client.request("shutdown")
        client.notify("exit")
        assert await client.exit_code() == 0
        log = await client.whole_log()
    assert ALONE in log
    assert reason in log


async def test_clients_are_served_without_a_usable_state_directory(hub: Hub) -> None:
    (hub.home / "daemon").write_text("not a directory")
    await check_that_a_client_serves_itself(hub, "cannot be used (File exists)")


async def test_a_client_serves_itself_if_the_daemon_cannot_start(hub: Hub) -> None:
    (hub.home / "daemon").mkdir(0o700)
    async with hub.client() as client:
        await client.initialize()
        pointer = next(hub.home.glob("daemon/*.json"))
    await hub.kill()
    pointer.unlink()
    pointer.mkdir()  # The next daemon cannot write it.

    await check_that_a_client_serves_itself(hub, "the daemon could not start")
    assert hub.processes() == set()
    pointer.rmdir()


@pytest.mark.parametrize("kind", ["lock", "log"])
async def test_a_pipe_in_place_of_a_daemon_file_does_not_block_clients(hub: Hub, kind: str) -> None:
    async with hub.client() as client:
        await client.initialize()
        (pointer,) = hub.home.glob("daemon/*.json")
    await hub.kill()
    path = pointer.with_suffix(f".{kind}")
    path.unlink()
    os.mkfifo(path)
    try:
        async with hub.client() as client:
            assert (await client.initialize())["serverInfo"]["name"] == "jumpseat"
    finally:
        path.unlink()  # After the tests, `clean_up` reads all logs, and a pipe would block it.


@pytest.mark.requirement("9:one-daemon")
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("precious")])
async def test_a_pipe_or_a_link_in_place_of_the_pointer_is_replaced(
    hub: Hub, make: Callable[[Path], None]
) -> None:
    async with hub.client() as client:
        await client.initialize()
        (pointer,) = hub.home.glob("daemon/*.json")
    await hub.kill()
    pointer.unlink()
    make(pointer)
    (precious := pointer.with_name("precious")).write_text("x")

    async with hub.client() as first, hub.client() as second:
        await first.initialize()
        await second.initialize()
        assert len((await hub.status())["clients"]) == 2
    assert precious.read_text() == "x"


@pytest.mark.requirement("9:no-descriptors")
async def test_a_client_serves_itself_if_the_daemon_has_no_descriptors_left(hub: Hub) -> None:
    refused = "the daemon has too many open files"
    # With so few descriptors, the daemon can serve some of the six clients, but not all of them.
    limited = ("/bin/sh", "-c", 'ulimit -n 52; exec "$@"', "sh", *ATTACH)
    async with AsyncExitStack() as clients:
        for _ in range(6):
            client = await clients.enter_async_context(running_daemon(hub.home, command=limited))
            assert (await client.initialize())["serverInfo"]["name"] == "jumpseat"
            assert (await client.request("providers/list")).result["providers"]
        assert 1 <= len((await hub.status())["clients"]) < 6
        client.close_stdin()
        assert f"{ALONE}: {refused}" in await client.whole_log()


@pytest.mark.slow
async def test_a_client_serves_itself_if_the_daemon_hangs(hub: Hub) -> None:
    async with hub.client() as client:
        await client.initialize()
        pid = hub.pid
        async with hub.client() as alone:
            os.kill(pid, signal.SIGSTOP)
            try:
                assert (await alone.initialize())["serverInfo"]["name"] == "jumpseat"
            finally:
                os.kill(pid, signal.SIGCONT)
            # `whole_log` returns only if the daemon closes the streams that it received while it was stopped.
            assert "the daemon does not answer" in await alone.whole_log()
        assert (await client.request("providers/list")).result["providers"]
        assert len((await hub.status())["clients"]) == 1


def _contents(directory: Path) -> list[tuple[Path, int, int]]:
    return sorted((path, path.lstat().st_mode, path.lstat().st_uid) for path in directory.rglob("*"))


def _make_directory_of_another_user(place: Path) -> Path:
    (place / "jumpseat").mkdir(0o700)
    os.chown(place / "jumpseat", 65534, 65534)
    return place


def _make_link(place: Path) -> Path:
    (place / "target").mkdir(0o700)
    (place / "jumpseat").symlink_to(place / "target")
    return place


def _make_long_path(place: Path) -> Path:
    long = place / ("x" * 100)
    long.mkdir()
    return long


def _make_file(place: Path) -> Path:
    (place / "jumpseat").touch(0o700)
    return place


@pytest.mark.slow
@pytest.mark.skipif(Path(f"/run/user/{os.getuid()}").is_dir(), reason="the daemon would use /run/user")
@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory to another user")
@pytest.mark.requirement("9:run-directory")
@pytest.mark.parametrize("make", [_make_directory_of_another_user, _make_link, _make_long_path, _make_file])
async def test_an_unsafe_run_directory_is_passed_over_and_left_as_it_was(
    hub: Hub, make: Callable[[Path], Path]
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        place = make(Path(name))
        before = _contents(Path(name))
        async with hub.client(env={"XDG_RUNTIME_DIR": str(place)}) as client:
            await client.initialize()
            assert hub.processes()
            assert Path(name) not in hub.socket.parents
        after = _contents(Path(name))
        assert after == before


@pytest.mark.skipif(Path(f"/run/user/{os.getuid()}").is_dir(), reason="the daemon would use /run/user")
async def test_a_run_directory_that_other_users_can_read_is_not_used(hub: Hub, tmp_path: Path) -> None:
    unsafe, safe = tmp_path / "u", tmp_path / "s"
    for directory in (unsafe, safe):
        directory.mkdir()
    (unsafe / "jumpseat").mkdir()
    (unsafe / "jumpseat").chmod(0o755)

    async with hub.client(env={"XDG_RUNTIME_DIR": str(unsafe)}) as client:
        await client.initialize()
        assert unsafe not in hub.socket.parents
    await hub.kill()
    async with hub.client(env={"XDG_RUNTIME_DIR": str(safe), "TMPDIR": str(unsafe)}) as client:
        await client.initialize()
        if len(str(safe)) < 60:  # A longer path may be too long for a socket.
            assert hub.socket.parent == safe / "jumpseat"
    assert list((unsafe / "jumpseat").iterdir()) == []


def run(home: Path, *flags: str, **streams: int) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*ATTACH, *flags],
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
        timeout=20,
        check=False,
        env={**os.environ, **environment_of(home), "HOME": str(home)},
    )


async def test_a_client_with_a_closed_stderr_does_not_start_a_daemon(hub: Hub) -> None:
    script = f"exec {sys.executable} -m jumpseat attach 2>&-"
    done = await asyncio.to_thread(
        subprocess.run,
        ["/bin/sh", "-c", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        env={**os.environ, **environment_of(hub.home), "HOME": str(hub.home)},
    )
    assert done.returncode == 1
    assert hub.processes() == set()


async def test_wrong_flags_and_log_files_are_reported_as_by_serve(hub: Hub) -> None:
    done = await asyncio.to_thread(run, hub.home, "--wrong")
    assert done.returncode == 2
    assert b"usage: jumpseat attach" in done.stderr

    done = await asyncio.to_thread(run, hub.home, "--log-file", "/missing/directory/log")
    assert done.returncode == 1
    why = b"the log file /missing/directory/log cannot be opened: No such file or directory"
    assert done.stderr == b"jumpseat: " + why + b"\n"
    assert hub.processes() == set()
