"""The directory of the daemon's socket: safe, and found without TMPDIR."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.hub import run_directory as module
from jumpseat.hub.failures import CannotShareError
from jumpseat.hub.run_directory import find_fault, list_candidates, prepare_run_directory
from tests.hub import directory_for_sockets

pytestmark = pytest.mark.requirement("9:run-directory")


@pytest.fixture
def base() -> Iterator[Path]:
    with directory_for_sockets() as directory:
        yield directory


@pytest.fixture
def places(base: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Two places in which the directory may be, the better one first."""
    places = [base / name / "jumpseat" for name in ("run", "tmp")]
    monkeypatch.setattr(module, "list_candidates", lambda uid, variables: iter(places))
    return places


def test_the_first_place_that_exists_is_used_and_made_private(places: list[Path]) -> None:
    places[1].parent.mkdir()
    assert prepare_run_directory({}) == places[1]

    places[0].parent.mkdir()
    assert prepare_run_directory({}) == places[0]
    assert prepare_run_directory({}) == places[0]
    assert places[0].stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701, 0o500, 0o1777])
def test_a_directory_of_another_mode_is_neither_used_nor_repaired(places: list[Path], mode: int) -> None:
    for place in places:
        place.parent.mkdir()
    places[0].mkdir()
    places[0].chmod(mode)

    assert prepare_run_directory({}) == places[1]
    assert places[0].stat().st_mode & 0o7777 == mode
    assert f"its mode is {mode & 0o777:04o}, not 0700" in (find_fault(places[0]) or "")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory to another user")
def test_a_directory_of_another_user_is_not_used(places: list[Path]) -> None:
    for place in places:
        place.parent.mkdir()
    places[0].mkdir(0o700)
    os.chown(places[0], 65534, 65534)

    assert prepare_run_directory({}) == places[1]
    assert find_fault(places[0]) == "it belongs to another user"


def test_a_link_is_not_followed(places: list[Path], base: Path) -> None:
    for place in places:
        place.parent.mkdir()
    (base / "target").mkdir(0o700)
    places[0].symlink_to(base / "target")

    assert prepare_run_directory({}) == places[1]
    assert find_fault(places[0]) == "it is a symbolic link"


def test_a_file_and_a_path_that_is_too_long_are_not_used(places: list[Path], base: Path) -> None:
    places[0].parent.mkdir()
    places[0].touch()
    assert find_fault(places[0]) == "it is not a directory"
    long = base / ("x" * 100)
    long.mkdir()
    places[1] = long / "jumpseat"

    with pytest.raises(CannotShareError, match=r"it is not a directory.*too long"):
        prepare_run_directory({})


def test_the_places_depend_on_the_runtime_directory_and_never_on_tmpdir(base: Path) -> None:
    variables = {"TMPDIR": str(base), "XDG_RUNTIME_DIR": "/run/other"}

    found = [str(path) for path in list_candidates(1000, variables)]

    assert found[:2] == ["/run/user/1000/jumpseat", "/run/other/jumpseat"]
    assert found[-1] == "/tmp/jumpseat-1000"
    assert list(list_candidates(1000, {"XDG_RUNTIME_DIR": "relative"})) == list(list_candidates(1000, {}))
