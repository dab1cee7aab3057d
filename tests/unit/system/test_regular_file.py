"""Special files: pipes do not block, devices are not read, and large files are rejected."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jumpseat.chat import ConfigError
from jumpseat.config import SavedSettings, load_config
from jumpseat.system.regular_file import read_regular
from jumpseat.system.state_file import MAX_BYTES, StateError, StateFile

DESCRIPTORS = Path("/proc/self/fd")

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes"),
    pytest.mark.timeout(10),
]


def test_a_link_to_a_file_is_read_unless_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")

    assert read_regular(tmp_path / "link", 4) == b"text"
    with pytest.raises(OSError, match="link"):
        read_regular(tmp_path / "link", 4, follow=False)


def test_a_file_of_the_largest_size_is_read_and_a_larger_one_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")

    assert read_regular(tmp_path / "file", 5) == b"12345"
    with pytest.raises(OSError, match="it is larger than 0 KiB"):
        read_regular(tmp_path / "file", 4)


@pytest.mark.skipif(not DESCRIPTORS.exists(), reason="needs /proc")
def test_every_opened_file_is_closed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = len(list(DESCRIPTORS.iterdir()))
    for path in (tmp_path, tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises(OSError, match=r"it is (a directory|not a regular file)"):
            read_regular(path, 10)

    assert len(list(DESCRIPTORS.iterdir())) == before


@pytest.mark.requirement("7:hostile-files")
@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
def test_an_unreadable_configuration_is_a_fault(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "config.toml"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            path.write_bytes(b"#" * (1024 * 1024 + 1))

    with pytest.raises(ConfigError, match=r"config\.toml cannot be read: it is (not a regular|larger)"):
        load_config(path, None)


@pytest.mark.requirement("7:hostile-files")
async def test_saved_settings_that_are_a_pipe_are_ignored_and_unchanged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "settings.json"
    os.mkfifo(path)
    saved = SavedSettings(path)
    await saved.load()

    assert saved.values == {"providers": {}}
    assert "it is not a regular file" in caplog.text
    with pytest.raises(ConfigError, match="it is not a regular file"):
        await saved.save({"max_tokens": 5}, {})
    assert path.is_fifo()


@pytest.mark.requirement("7:hostile-files")
@pytest.mark.parametrize("private", [False, True])
def test_a_state_file_that_is_a_pipe_is_refused_and_not_set_aside(tmp_path: Path, private: bool) -> None:
    tmp_path.chmod(0o700)
    os.mkfifo(tmp_path / "sign_ins.json", 0o600)

    with pytest.raises(StateError, match="it is not a regular file"):
        StateFile(tmp_path / "sign_ins.json", private=private).read()
    assert [path.name for path in tmp_path.iterdir()] == ["sign_ins.json"]


def test_content_that_is_too_large_to_be_read_back_is_not_written(tmp_path: Path) -> None:
    file = StateFile(tmp_path / "settings.json")
    file.write({"a": 1})

    with pytest.raises(StateError, match="nothing is saved"):
        file.write({"a": "x" * MAX_BYTES})
    assert file.read() == {"a": 1}
