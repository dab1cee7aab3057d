"""The time after which a daemon without clients ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from jumpseat.config.daemon import read_idle_minutes
from jumpseat.config.overlay import OverlayError, merge_overlay
from jumpseat.hub import idle as module
from jumpseat.hub.idle import IdleTimer

pytestmark = pytest.mark.requirement("9:idle")


class Ending:
    """Counts the attempts to end the daemon, of which the first `failures` fail."""

    def __init__(self, failures: int = 0) -> None:
        self.attempts = 0
        self.ended = asyncio.Event()
        self._failures = failures

    async def __call__(self) -> bool:
        self.attempts += 1
        if self.attempts > self._failures:
            self.ended.set()
        return self.ended.is_set()


async def test_the_daemon_tries_again_while_another_process_holds_the_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.0)
    ending = Ending(failures=2)
    idle = IdleTimer(ending)
    idle.set_time(0.0)
    idle.resume()
    async with asyncio.timeout(20):
        await ending.ended.wait()
    assert ending.attempts == 3


async def test_the_idle_time_runs_only_without_work_and_survives_short_visits() -> None:
    ending = Ending()
    idle = IdleTimer(ending)
    idle.set_time(0.05)
    await asyncio.sleep(0.06)  # This is longer than the idle time, which does not run yet.
    assert ending.attempts == 0
    idle.resume()
    idle.pause()
    await asyncio.sleep(0)
    assert ending.attempts == 0
    idle.resume()  # The idle time is already over.
    async with asyncio.timeout(20):
        await ending.ended.wait()


async def test_a_second_resume_does_not_start_a_second_timer() -> None:
    ending = Ending()
    idle = IdleTimer(ending)
    idle.set_time(0.0)
    idle.resume()
    idle.resume()
    idle.pause()
    for _ in range(5):
        await asyncio.sleep(0)
    assert ending.attempts == 0


async def test_a_new_time_replaces_the_running_timer() -> None:
    ending = Ending()
    idle = IdleTimer(ending)
    idle.resume()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    idle.set_time(3600)
    idle.resume()
    for _ in range(5):
        await asyncio.sleep(0)
    assert ending.attempts == 0
    idle.set_time(0.0)
    async with asyncio.timeout(20):
        await ending.ended.wait()
    assert ending.attempts == 1


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("", 10.0),
        ("[daemon]\nidle_minutes = 0", 0.0),
        ("[daemon]\nidle_minutes = 0.5", 0.5),
        ("[daemon]\nidle_minutes = -1", 10.0),
        ("[daemon]\nidle_minutes = nan", 10.0),
        ("[daemon]\nidle_minutes = '5'", 10.0),
        ("daemon = 5", 10.0),
        ("not toml", 10.0),
    ],
)
def test_the_idle_time_comes_from_the_file_or_is_the_default(
    tmp_path: Path, text: str, minutes: float
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    assert read_idle_minutes(file) == minutes
    assert read_idle_minutes(tmp_path / "missing") == 10.0
    assert read_idle_minutes(None) == 10.0


def test_a_client_cannot_set_the_idle_time() -> None:
    with pytest.raises(OverlayError, match="daemon may not be set by a client"):
        merge_overlay({}, {"daemon": {"idle_minutes": 0}}, ())
