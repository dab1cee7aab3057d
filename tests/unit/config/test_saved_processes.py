"""Saved settings that several processes share, and a process that is killed during a save."""

from __future__ import annotations

import asyncio
import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from jumpseat.config import SavedSettings
from jumpseat.config.saved import FILE_NAME

pytestmark = pytest.mark.slow

SAVES = 15
PROCESSES = 3

SAVER = """\
import asyncio, sys
from pathlib import Path
from jumpseat.config import SavedSettings, SettingRow

async def main(path, me, saves):
    schemas = {me: {f"key{number}": SettingRow(type="integer") for number in range(saves)}}
    saved = SavedSettings(path)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(saves):
        await saved.save({"providers": {me: {f"key{number}": number}}}, schemas)

asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
"""

# The process saves in a loop and prints after each save, so that a kill is likely to hit the next save.
ENDLESS = """\
import asyncio, sys
from pathlib import Path
from jumpseat.config import SavedSettings

async def main(path):
    saved = SavedSettings(path)
    for number in range(1, 1_000_000):
        await saved.save({"max_tokens": number, "default_model": "m" * 5000}, {})
        print(number, flush=True)

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.mark.requirement("5:settings-two-processes")
async def test_concurrent_saves_of_daemons_are_all_kept(tmp_path: Path) -> None:
    file = tmp_path / FILE_NAME
    names = [f"p{number}" for number in range(PROCESSES)]
    running = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            SAVER,
            str(file),
            name,
            str(SAVES),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for name in names
    ]
    async with asyncio.timeout(60):
        for each in running:
            assert each.stdout is not None
            assert await each.stdout.readline() == b"ready\n"
        assert [
            code for code in await asyncio.gather(*(_wait_for_exit(each) for each in running)) if code
        ] == []

    expected = {f"key{number}": number for number in range(SAVES)}
    saved = SavedSettings(file)
    await saved.load()
    assert saved.values == {"providers": dict.fromkeys(names, expected)}


async def _wait_for_exit(process: asyncio.subprocess.Process) -> int | None:
    await process.communicate(b"go\n")
    return process.returncode


@pytest.mark.requirement("5:settings-two-processes")
@pytest.mark.parametrize("after", [1, 2, 5, 9])
def test_a_process_that_is_killed_while_it_saves_leaves_a_complete_file(tmp_path: Path, after: int) -> None:
    file = tmp_path / FILE_NAME
    with subprocess.Popen([sys.executable, "-c", ENDLESS, str(file)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(after):
            process.stdout.readline()
        process.kill()
        process.stdout.read()

    settings = json.loads(file.read_text("utf-8"))["settings"]
    assert settings["max_tokens"] >= after
    assert settings["default_model"] == "m" * 5000

    # Nothing left by the killed process delays the next one.
    saved = SavedSettings(file)
    asyncio.run(saved.save({"max_tokens": 1}, {}))
    assert saved.values["max_tokens"] == 1
    assert list(tmp_path.glob(f"{FILE_NAME}.broken-*")) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has access lists, not modes")
@pytest.mark.requirement("5:settings-two-processes")
async def test_only_the_user_can_access_the_file_and_its_directory(tmp_path: Path) -> None:
    file = tmp_path / "state" / FILE_NAME
    saved = SavedSettings(file)
    for number in (1, 2):  # The first save creates the file; the second one replaces it.
        await saved.save({"max_tokens": number}, {})

        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (file.parent, *file.parent.iterdir())}
        assert modes.pop(file.parent) == 0o700
        assert modes[file] == 0o600
        assert set(modes.values()) == {0o600}


@pytest.mark.requirement("5:settings-did-change")
async def test_a_save_by_another_process_before_the_watch_starts_is_reported(tmp_path: Path) -> None:
    saved = SavedSettings(tmp_path / "settings.json")
    await saved.load()
    notified = asyncio.Event()
    saved.on_change(notified.set)
    await SavedSettings(tmp_path / "settings.json").save({"max_tokens": 1}, {})
    watching = asyncio.create_task(saved.watch(tick=asyncio.Event().wait))

    await asyncio.wait_for(notified.wait(), 10)
    assert saved.values["max_tokens"] == 1
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
