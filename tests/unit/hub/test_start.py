"""The start of a daemon: the environment that it gets from its first client, its lock and its log."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jumpseat.hub import daemon as daemon_module
from jumpseat.hub import start
from jumpseat.hub.daemon import rotate
from jumpseat.hub.lock import try_lock


def test_the_daemon_gets_few_variables_of_its_first_client() -> None:
    variables = {
        "HOME": "/home/me",
        "LC_ALL": "C.UTF-8",
        "OPENAI_API_KEY": "canary",
        "GH_TOKEN": "canary",
        "HTTPS_PROXY": "http://canary",
        "JUMPSEAT_HOME": "/canary",
        "TMPDIR": "/canary",
        "PYTHONPATH": "/canary",
        "LD_PRELOAD": "/canary",
        "PYTHONUTF8": "0",
    }
    assert start._select_environment(variables) == {
        "HOME": "/home/me",
        "LC_ALL": "C.UTF-8",
        "PYTHONUTF8": "1",
    }


def test_a_search_path_is_kept_if_jumpseat_is_on_it() -> None:
    package = Path(start.__file__).parents[2]
    kept = start._select_environment({"PYTHONPATH": f"relative{os.pathsep}{package}"})
    kept.pop("PYTHONUTF8")
    assert kept == {"PYTHONPATH": f"{Path.cwd() / 'relative'}{os.pathsep}{package}"}


def test_the_lock_is_free_when_its_holder_closes_it_and_no_link_is_followed(tmp_path: Path) -> None:
    lock = try_lock(tmp_path / "lock")
    assert lock is not None
    assert try_lock(tmp_path / "lock") is None
    os.close(lock)
    again = try_lock(tmp_path / "lock")
    assert again is not None
    os.close(again)

    (tmp_path / "link").symlink_to(tmp_path / "lock")
    with pytest.raises(start.CannotShareError, match="cannot be locked"):
        try_lock(tmp_path / "link")


def test_only_one_old_log_is_kept_and_stderr_goes_to_the_new_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon_module, "MAX_LOG_BYTES", 10)
    log = tmp_path / "x.log"
    before = os.dup(2)
    try:
        rotate(log)  # stderr is not the log yet, so this opens the log.
        # A log is replaced once it has more than 10 bytes, as the first two texts have.
        for text in (b"first one\n.", b"second one\n", b"third"):
            os.write(2, text)
            rotate(log)
    finally:
        os.dup2(before, 2)
        os.close(before)

    assert log.read_bytes() == b"third"
    assert (tmp_path / "x.log.1").read_bytes() == b"second one\n"
    assert log.stat().st_mode & 0o777 == 0o600
    assert len(list(tmp_path.iterdir())) == 2
