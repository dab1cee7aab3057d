"""Saved settings: validation, merging, persistence and notifications."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import ConfigError, InvalidRequestError
from jumpseat.config import SavedSettings, SettingRow
from jumpseat.config.saved import FILE_NAME, saved_settings_file
from jumpseat.config.saved_rules import merge_patch
from jumpseat.system import state_file
from jumpseat.system.paths import places_of_process

ROWS = {
    "temperature": SettingRow(type="number", minimum=0, maximum=2),
    "stop": SettingRow(type="list"),
    "logit_bias": SettingRow(type="map"),
    "greedy": SettingRow(type="boolean"),
}
SCHEMAS = {"local": {}, "groq": ROWS, "a.b": ROWS}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / FILE_NAME


def text_of(file: Path) -> str:
    return file.read_text("utf-8")


def settings_on_disk(file: Path) -> Any:
    return json.loads(text_of(file))["settings"]


def write_text_of(file: Path, text: str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, "utf-8")


def write_settings(file: Path, settings: Any, **other_keys: Any) -> None:
    """Write the file as an earlier run or another process would."""
    write_text_of(file, json.dumps({"version": 1, "settings": settings, **other_keys}))


def remove(file: Path) -> None:
    """Remove the file, or the directory in its place."""
    if file.is_dir():
        file.rmdir()
    else:
        file.unlink()


def make_unreadable(file: Path) -> None:
    """Replace the file with a directory, which not even root can open as a file."""
    file.mkdir(parents=True)


class LogListener(logging.Handler):
    """Sets `heard` when the text is logged."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.heard = asyncio.Event()
        logging.getLogger("jumpseat.config.saved").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if self.text in record.getMessage():
            self.heard.set()


async def read_settings(file: Path) -> Mapping[str, Any]:
    saved = SavedSettings(file)
    await saved.load()
    return saved.values


@pytest.mark.requirement("5:settings")
async def test_the_next_daemon_reads_the_saved_settings(file: Path) -> None:
    values = {
        "default_provider": "groq",
        "default_model": "groq:x",
        "max_tokens": 100,
        "providers": {"groq": {"temperature": 0.2, "stop": ["a"], "greedy": True}},
    }
    assert await SavedSettings(file).save(values, SCHEMAS) == values

    assert settings_on_disk(file) == values
    assert await read_settings(file) == values


async def test_without_saved_settings_the_values_are_empty(file: Path) -> None:
    assert await read_settings(file) == {"providers": {}}
    assert not file.parent.exists()


def test_the_file_lies_in_the_state_directory(home: Path) -> None:
    assert saved_settings_file(places_of_process()) == home / "settings.json"


@pytest.mark.requirement("5:settings-merge")
@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({}, {"max_tokens": 5, "providers": {"groq": {"temperature": 1, "stop": ["a", "b"]}}}),
        ({"max_tokens": None}, {"providers": {"groq": {"temperature": 1, "stop": ["a", "b"]}}}),
        (
            {"providers": {"groq": {"temperature": None, "greedy": True}}},
            {"max_tokens": 5, "providers": {"groq": {"stop": ["a", "b"], "greedy": True}}},
        ),
        (
            {"providers": {"groq": {"stop": ["c"]}}},
            {"max_tokens": 5, "providers": {"groq": {"temperature": 1, "stop": ["c"]}}},
        ),
        (
            {"providers": {"groq": {"stop": []}}},
            {"max_tokens": 5, "providers": {"groq": {"temperature": 1, "stop": []}}},
        ),
        (
            {"providers": {"groq": {"logit_bias": {"x": 1}}}},
            {
                "max_tokens": 5,
                "providers": {"groq": {"temperature": 1, "stop": ["a", "b"], "logit_bias": {"x": 1}}},
            },
        ),
        ({"providers": {"groq": None}}, {"max_tokens": 5, "providers": {}}),
        ({"providers": {"groq": {"temperature": None, "stop": None}}}, {"max_tokens": 5, "providers": {}}),
        ({"providers": None}, {"max_tokens": 5, "providers": {}}),
        # These patches change nothing.
        ({"default_model": None, "providers": {"unknown": None}}, None),
        ({"max_tokens": {}, "providers": {}}, None),
        ({"providers": []}, None),
        ({"providers": {"groq": []}}, None),
        ({"providers": {"groq": {"temperature": {}, "logit_bias": []}}}, None),
    ],
    ids=json.dumps,
)
async def test_a_patch_is_merged_deeply_and_its_nulls_delete_values(
    file: Path, patch: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    before = {"max_tokens": 5, "providers": {"groq": {"temperature": 1, "stop": ["a", "b"]}}}
    write_settings(file, before)

    assert await SavedSettings(file).save(patch, SCHEMAS) == (expected or before)
    assert await read_settings(file) == (expected or before)


def test_maps_merge_and_their_members_can_be_deleted() -> None:
    assert merge_patch({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": {"e": None, "f": 3}}}) == {
        "a": {"c": 2, "d": {"f": 3}}
    }
    assert merge_patch({"a": [1]}, {"a": {"b": 1}}) == {"a": {"b": 1}}


@pytest.mark.requirement("5:settings-rules")
@pytest.mark.parametrize(
    ("patch", "path", "rule"),
    [
        ({"max_tokens": 0}, "settings.max_tokens", "at least 1"),
        ({"max_tokens": True}, "settings.max_tokens", "integer"),
        ({"max_tokens": "100"}, "settings.max_tokens", "integer"),
        ({"default_provider": "unknown"}, "settings.default_provider", "local, groq"),
        ({"default_provider": ""}, "settings.default_provider", "non-empty"),
        ({"default_model": 4}, "settings.default_model", "string"),
        ({"default_modle": "x"}, "settings.default_modle", "default_model"),
        ({"providers": "x"}, "settings.providers", "object"),
        ({"providers": {"groq": "x"}}, "settings.providers.groq", "object"),
        ({"providers": {"unknown": {"a": 1}}}, "settings.providers.unknown", "local, groq"),
        ({"providers": {"groq": {"temperature": 3}}}, "settings.providers.groq.temperature", "at most 2"),
        ({"providers": {"groq": {"top_p": 1}}}, "settings.providers.groq.top_p", "vailable: temperature"),
        ({"providers": {"local": {"temperature": 1}}}, "settings.providers.local.temperature", "it has none"),
        ({"providers": {"groq": {"greedy": 1}}}, "settings.providers.groq.greedy", "boolean"),
    ],
    ids=json.dumps,
)
async def test_an_error_in_a_value_names_key_and_rule_and_nothing_is_saved(
    file: Path, patch: dict[str, Any], path: str, rule: str
) -> None:
    before = {"max_tokens": 1, "providers": {"groq": {"greedy": True}}}
    write_settings(file, before)
    with pytest.raises(InvalidRequestError) as caught:
        await SavedSettings(file).save({"default_model": "good", **patch}, SCHEMAS)

    (problem,) = caught.value.problems
    assert problem.path == path
    assert rule in problem.message
    assert settings_on_disk(file) == before


async def test_every_wrong_value_is_reported() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        await SavedSettings().save(
            {"max_tokens": -1, "providers": {"groq": {"temperature": 9, "x": 1}}}, SCHEMAS
        )

    assert [each.path.rpartition(".")[2] for each in caught.value.problems] == [
        "max_tokens",
        "temperature",
        "x",
    ]


@pytest.mark.requirement("5:settings-kept")
async def test_values_that_are_already_saved_are_kept_and_may_be_saved_again(file: Path) -> None:
    newer = {
        "theme": {"dark": True},
        "max_tokens": 5,
        "providers": {"gone": {"temperature": 0.5}, "groq": {"effort": "high"}},
    }
    write_settings(file, newer, note="of a newer version")
    saved = SavedSettings(file)

    assert await saved.save({"max_tokens": 6}, SCHEMAS) == {**newer, "max_tokens": 6}
    assert await saved.save(saved.values, SCHEMAS) == {**newer, "max_tokens": 6}
    assert json.loads(text_of(file))["note"] == "of a newer version"
    with pytest.raises(InvalidRequestError, match="gone"):
        await saved.save({"providers": {"gone": {"temperature": 0.6}}}, SCHEMAS)


async def test_a_file_of_a_newer_version_is_read_and_not_written(file: Path) -> None:
    write_settings(file, {"max_tokens": 5})
    text = text_of(file).replace('"version": 1', '"version": 2')
    write_text_of(file, text)

    with pytest.raises(ConfigError, match="newer version"):
        await SavedSettings(file).save({"max_tokens": 6}, SCHEMAS)
    assert text_of(file) == text
    assert (await read_settings(file))["max_tokens"] == 5


async def test_values_of_a_wrong_type_count_as_absent_and_can_be_replaced(file: Path) -> None:
    write_settings(
        file, {"max_tokens": "many", "default_provider": 1, "default_model": [], "providers": {"groq": 3}}
    )
    saved = SavedSettings(file)
    await saved.load()

    assert saved.values == {"providers": {}}
    assert saved.default_model(SCHEMAS) is None
    patch = {"max_tokens": 7, "providers": {"groq": {"temperature": 1}}}
    assert await saved.save(patch, SCHEMAS) == patch


async def test_settings_that_are_not_an_object_are_not_overwritten(file: Path) -> None:
    write_settings(file, ["mine"])

    assert await read_settings(file) == {"providers": {}}
    saved = SavedSettings(file)
    with pytest.raises(ConfigError, match="not an object"):
        await saved.save({"max_tokens": 1}, SCHEMAS)
    await saved.save_daemon_choice("groq", SCHEMAS)
    assert settings_on_disk(file) == ["mine"]


@pytest.mark.requirement("5:settings-broken-file")
@pytest.mark.parametrize("body", ["", "{", "[]", '{"settings": NaN}x', "\0" * 100])
async def test_a_broken_file_is_renamed_logged_and_replaced(
    file: Path, body: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_file, "UNFINISHED_SECONDS", 0.0)  # Do not wait for a writer.
    write_text_of(file, body)
    saved = SavedSettings(file)
    await saved.load()

    assert saved.values == {"providers": {}}
    (aside,) = file.parent.glob(f"{FILE_NAME}.broken-*")
    assert aside.read_text() == body
    assert str(aside) in caplog.text
    await saved.save({"max_tokens": 1}, SCHEMAS)
    assert settings_on_disk(file) == {"max_tokens": 1}


async def test_an_unreadable_file_is_logged_on_load_and_an_error_on_refresh(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_unreadable(file)
    saved = SavedSettings(file)
    await saved.load()

    assert saved.values == {"providers": {}}
    assert "cannot be read" in caplog.text
    with pytest.raises(ConfigError, match="cannot be read"):
        await saved.refresh()


@pytest.mark.requirement("5:settings-did-change")
async def test_a_listener_is_called_once_for_every_change(file: Path) -> None:
    saved = SavedSettings(file)
    notified: list[Mapping[str, Any]] = []
    saved.on_change(lambda: notified.append(saved.values))

    await saved.load()
    await saved.save({}, SCHEMAS)
    await saved.save({"max_tokens": None}, SCHEMAS)
    assert notified == []
    await saved.save({"max_tokens": 1}, SCHEMAS)
    await saved.save({"max_tokens": 1}, SCHEMAS)
    await saved.refresh()
    assert notified == [{"max_tokens": 1, "providers": {}}]
    await SavedSettings(file).save({"max_tokens": 2}, SCHEMAS)
    await saved.refresh()
    await saved.refresh()
    assert notified[1:] == [{"max_tokens": 2, "providers": {}}]


@pytest.mark.requirement("5:settings-did-change")
async def test_the_first_save_of_a_daemon_is_compared_with_the_file(file: Path) -> None:
    write_settings(file, {"max_tokens": 1})
    saved = SavedSettings(file)
    notified: list[Mapping[str, Any]] = []
    saved.on_change(lambda: notified.append(saved.values))

    await saved.save({"max_tokens": 1}, SCHEMAS)
    assert notified == []
    await saved.save({"max_tokens": 2}, SCHEMAS)
    assert len(notified) == 1


@pytest.mark.requirement("5:settings-did-change")
async def test_the_watch_reports_changes_by_others_and_survives_an_unreadable_file(file: Path) -> None:
    listener = LogListener("cannot be read")
    saved = SavedSettings(file)
    notified: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    saved.on_change(lambda: notified.put_nowait(saved.values))
    watching = asyncio.create_task(saved.watch(tick=lambda: asyncio.sleep(0)))

    async def wait_for_values() -> dict[str, Any]:
        return await asyncio.wait_for(notified.get(), 10)

    await saved.load()
    write_settings(file, {"max_tokens": 1})
    assert (await wait_for_values())["max_tokens"] == 1
    remove(file)
    assert await wait_for_values() == {"providers": {}}
    make_unreadable(file)
    await asyncio.wait_for(listener.heard.wait(), 10)
    remove(file)
    write_settings(file, {"max_tokens": 2})
    assert (await wait_for_values())["max_tokens"] == 2

    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    assert notified.empty()


@pytest.mark.requirement("4:saved-default-gone")
async def test_a_saved_model_is_ignored_while_the_provider_saved_with_it_is_absent(file: Path) -> None:
    saved = SavedSettings(file)
    await saved.save({"default_model": "groq:x"}, SCHEMAS)
    assert (saved.default_model(["groq"]), saved.default_model(["local"])) == ("groq:x", None)

    await saved.save({"default_model": "qwen3:4b"}, SCHEMAS)
    assert saved.default_model(["local"]) == "qwen3:4b"
    await saved.save({"default_model": None}, SCHEMAS)
    assert saved.default_model(["local"]) is None
    write_settings(file, {"default_model": "written:by-hand"})
    await saved.refresh()
    assert saved.default_model(["local"]) == "written:by-hand"


@pytest.mark.requirement("5:settings-kept")
async def test_a_model_saved_again_while_its_provider_is_absent_keeps_the_provider(file: Path) -> None:
    saved = SavedSettings(file)
    await saved.save({"default_model": "groq:x"}, SCHEMAS)
    await saved.save(saved.values, {"local": {}})

    assert saved.default_model(["local"]) is None
    assert saved.default_model(["groq"]) == "groq:x"


async def test_without_a_file_settings_are_kept_in_memory() -> None:
    saved = SavedSettings()
    await saved.load()
    await saved.refresh()
    await saved.watch()

    assert await saved.save({"max_tokens": 3}, SCHEMAS) == {"max_tokens": 3, "providers": {}}
    assert saved.values == {"max_tokens": 3, "providers": {}}
