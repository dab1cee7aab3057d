"""`system/environment.py`: what surrounds a client's process."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.system.environment import Environment
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
def test_a_path_begins_at_the_clients_directories(written: str, meant: str) -> None:
    environment = Environment({"HOME": "/home/ann"}, Path("/work/project"), PLACES)
    assert environment.absolute(written) == Path(meant)


def test_the_repr_shows_no_variable() -> None:
    assert "swordfish" not in repr(Environment({"API_KEY": "swordfish"}, Path("/"), PLACES))
