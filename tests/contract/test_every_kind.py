"""Every kind of provider has a contract class and a folder of recordings."""

import importlib
import json
from pathlib import Path

import pytest

from jumpseat.providers.registry import KINDS
from jumpseat.testing import AdapterContract, load_recordings

HERE = Path(__file__).parent
WITHOUT_HTTP = frozenset({"copilot-language-server"})
"""The kinds without HTTP. They have no recordings; instead, the suite sends their `live_request`."""

FOLDERS = sorted(path for path in (HERE / "recordings").iterdir() if path.is_dir())


def contracts():
    """Return the contract classes of this folder's modules, with their kinds."""
    for path in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(f"tests.contract.{path.stem}")
        for value in vars(module).values():
            is_contract = isinstance(value, type) and issubclass(value, AdapterContract)
            if is_contract and value.__name__.startswith("Test") and hasattr(value, "kind"):
                yield value.kind, value


@pytest.mark.requirement("adapters:contract-suite")
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_has_a_contract_class_and_recordings(kind):
    of_kind = [cls for name, cls in contracts() if name == kind]
    assert of_kind, f"there is no class with `kind = {kind!r}` in {HERE.name}/"
    assert {cls.speaks_http for cls in of_kind} == {kind not in WITHOUT_HTTP}
    if kind in WITHOUT_HTTP:
        assert all(cls.live_request is not None for cls in of_kind)
        return
    assert all(cls.script is not None and load_recordings(cls.recordings) for cls in of_kind)
    # One class of each kind uses the recordings of the kind. Other classes may use those of other kinds.
    assert HERE / "recordings" / kind in [cls.recordings for cls in of_kind]


def test_every_folder_of_recordings_belongs_to_a_contract():
    assert {folder.name for folder in FOLDERS} <= {kind for kind, _ in contracts()}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_recording_is_small_and_contains_no_key(folder):
    for path in folder.iterdir():
        data = path.read_bytes()
        assert len(data) < 16_384, path
        assert b"Bearer " not in data
        assert b"sk-" not in data
        if path.name.endswith(".expected.json"):
            assert json.loads(data)["source"]
