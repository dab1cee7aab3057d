"""`jumpseat local list`, `install PATH` and `uninstall`."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from jumpseat.adapters.local.model import installed_file
from jumpseat.system.paths import places_of_process
from jumpseat_cli.configuration import local

pytestmark = pytest.mark.timeout(60)

NAME = "smollm2-135m-instruct"


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace llama.cpp with a module that can be imported, and pretend that no package contains a model."""
    monkeypatch.setattr(local, "ENGINE", "json")
    monkeypatch.setattr("jumpseat.adapters.local.install.ENGINE", "json")
    monkeypatch.setattr(local, "packaged_file", lambda: None)


def list_rows(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """List the models, and return the columns of each row."""
    capsys.readouterr()
    assert local.list_models(None, as_json=False) == 0
    return [line.split("\t") for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return a model file of the user's own."""
    file = tmp_path / "Qwen3-4B.gguf"
    file.write_bytes(b"GGUF and the weights")
    return file


def test_a_model_file_stays_where_it_is_and_is_added_to_the_configuration(
    home: Path, own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "config.toml").write_text("# mine\n", "utf-8")
    assert local.install_model(str(own), None, as_json=False) == 0

    text = (home / "config.toml").read_text("utf-8")
    assert text.startswith("# mine\n")
    assert tomllib.loads(text) == {"providers": {"local": {"model_path": str(own)}}}
    assert list_rows(capsys) == [
        [NAME, "93 MB", "not installed", ""],
        ["qwen3-4b", "0 MB", "used by local", str(own)],
    ]

    assert local.uninstall_model("qwen3-4b", None, as_json=False) == 0
    assert own.exists()
    assert tomllib.loads((home / "config.toml").read_text("utf-8")) == {"providers": {"local": {}}}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("qwen3", "give the path of a GGUF file"),
        ("missing.gguf", "cannot be read"),
        ("config.toml", "not a GGUF"),
    ],
)
def test_a_file_that_is_not_a_model_is_refused_and_changes_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, words: str
) -> None:
    monkeypatch.chdir(home)
    (home / "config.toml").write_text("# mine\n", "utf-8")

    assert local.install_model(name, None, as_json=False) == 1
    message = capsys.readouterr().err
    assert words in message
    assert "model_path" not in message  # The path was typed, not configured.
    assert (home / "config.toml").read_text("utf-8") == "# mine\n"


def test_the_installed_model_is_listed_and_deleted_with_partial_downloads(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = installed_file(places_of_process())
    file.parent.mkdir(parents=True)
    file.write_bytes(b"GGUF")
    (file.parent / ".install-x").mkdir()
    assert list_rows(capsys) == [[NAME, "93 MB", "installed, used by local", str(file)]]

    assert local.uninstall_model(None, None, as_json=False) == 0
    assert list(file.parent.iterdir()) == []
    assert "pip uninstall" in capsys.readouterr().err
    assert local.uninstall_model(NAME, None, as_json=False) == 1
    assert local.uninstall_model("other", None, as_json=False) == 1


def test_a_file_that_is_gone_is_listed_as_missing(
    home: Path, own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = f'[providers.mine]\nkind = "local"\nmodel_path = "{own}"\n'
    (home / "config.toml").write_text(table, "utf-8")
    own.unlink()
    assert list_rows(capsys)[1][2] == "missing, used by mine"


def test_local_list_runs_as_a_command(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "jumpseat", "local", "list", "--json"],
        capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    assert [model["name"] for model in json.loads(done.stdout)["models"]] == [NAME]
