"""A conversations directory that other users can change."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jumpseat.conversations import ConversationStore, Limits
from jumpseat.conversations.index import ConversationIndex
from jumpseat.conversations.prune import Pruner
from jumpseat.system.state_file import StateError
from tests.unit.conversations.support import alternate, keep, texts, turn

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="needs owners and modes"),
    pytest.mark.requirement("10:unsafe-directory"),
]


def replace_with_a_link(directory: Path) -> None:
    directory.rename(directory.with_name("elsewhere"))
    directory.symlink_to("elsewhere")


def change_owner(directory: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(directory, 12345, -1)


UNSAFE: dict[str, Callable[[Path], None]] = {
    "is a symbolic link": replace_with_a_link,
    "belongs to another user": change_owner,
    "can be written by other users": lambda directory: directory.chmod(0o777),
    "can be written": lambda directory: directory.chmod(0o770),
}


@pytest.mark.parametrize("fault", UNSAFE)
def test_a_directory_that_others_can_change_is_not_used(
    store: ConversationStore, directory: Path, fault: str
) -> None:
    keep(store, alternate("Hi"), "Hello")
    before = sorted(directory.iterdir())
    UNSAFE[fault](directory)
    index = ConversationIndex(store)
    uses: list[Callable[[], object]] = [
        lambda: store.begin(turn(alternate("Hi", "Hello", "More"))),
        lambda: store.get("a"),
        lambda: store.fork("a"),
        lambda: store.rename("a", "Title"),
        lambda: store.delete("a"),
        index.page,
    ]
    for use in uses:
        with pytest.raises(StateError, match=fault) as caught:
            use()
        assert caught.value.hint is not None
        assert str(directory) in caught.value.hint
    assert Pruner(store).prune(Limits(0, 0.000001)) == []
    assert sorted(directory.iterdir()) == before
    index.close()


def test_a_directory_that_others_can_only_read_is_used(store: ConversationStore, directory: Path) -> None:
    keep(store, alternate("Hi"), "Hello")
    directory.chmod(0o755)
    keep(store, alternate("Hi", "Hello", "More"), "Yes")
    assert texts(store) == ["Hi", "Hello", "More", "Yes"]
