"""The environment of a client's process."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.system.environment import Environment, empty_environment, environment_of_process
from jumpseat.system.paths import Places

PLACES = Places(Path("/home/ann/config.toml"), Path("/home/ann/state"), Path("/home/ann/data"))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("~", "/home/ann"),
        ("~/certs/ca.pem", "/home/ann/certs/ca.pem"),
        ("ca.pem", "/work/project/ca.pem"),
        ("/etc/ca.pem", "/etc/ca.pem"),
    ],
)
def test_paths_are_resolved_from_the_clients_home_and_directory(written: str, meant: str) -> None:
    environment = Environment({"HOME": "/home/ann"}, Path("/work/project"), PLACES)
    assert environment.absolute_path(written) == Path(meant)


def test_the_repr_does_not_show_variables() -> None:
    assert "swordfish" not in repr(Environment({"API_KEY": "swordfish"}, Path("/"), PLACES))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("~", "/home/ann"),
        ("~/certs/ca.pem", "/home/ann/certs/ca.pem"),
        ("ca.pem", "ca.pem"),
        ("~bob/ca.pem", "~bob/ca.pem"),
    ],
)
def test_only_the_home_of_the_client_itself_is_expanded(written: str, meant: str) -> None:
    environment = Environment({"HOME": "/home/ann"}, Path("/work/project"), PLACES)
    assert environment.expand_path(written) == Path(meant)


def test_a_process_describes_its_own_environment(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("OF_A_TEST", "set")
    monkeypatch.chdir(home)

    environment = environment_of_process()

    assert (environment.get("OF_A_TEST"), environment.directory) == ("set", home)
    assert environment.places == Places(home / "config.toml", home, home)
    monkeypatch.delenv("OF_A_TEST")
    assert environment.get("OF_A_TEST") == "set"


def test_an_empty_environment_has_no_place_for_files() -> None:
    environment = empty_environment()

    assert not environment.variables
    with pytest.raises(OSError):
        environment.places.state_dir.mkdir(parents=True)
