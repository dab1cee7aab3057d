"""The paths of context blocks in requests to providers."""

from __future__ import annotations

import pytest

from jumpseat.chat import ContextBlock, Message, TextBlock
from jumpseat.engine import ShownPaths


@pytest.mark.requirement("2:context-paths")
@pytest.mark.parametrize(
    ("directory", "uri", "shown"),
    [
        ("/home/me/work/app", "file:///home/me/work/app/src/a%20b.py", "src/a b.py"),
        ("/home/me/work/app", "file:///home/me/work/app", "."),
        ("/home/me/work/app", "file:///home/me/work/app2/a.py", "../app2/a.py"),
        ("/home/me/work/app", "file:///home/me/.bashrc", "../../.bashrc"),
        ("/home/me/work/app", "file:///home/me/work/app/../x.py", "../x.py"),
        ("/home/me/work/app", "file:///etc/hosts", "/etc/hosts"),
        ("/srv/app", "file:///home/me/a.py", "~/a.py"),
        ("/home", "file:///home/me/a.py", "~/a.py"),
        ("/", "file:///home/me/a.py", "~/a.py"),
        ("/", "file:///etc/hosts", "/etc/hosts"),
        ("/srv/app", "https://example.org/a.py", "https://example.org/a.py"),
        ("/srv/app", "untitled:Untitled-1", "untitled:Untitled-1"),
        ("/srv/app", "file://[", "file://["),
    ],
)
def test_a_path_is_relative_to_the_clients_directory(directory: str, uri: str, shown: str) -> None:
    assert ShownPaths(directory, directory, "/home/me").shorten(uri) == shown


@pytest.mark.parametrize(
    ("home", "shown"), [("/", "/etc/hosts"), ("", "/etc/hosts"), ("~", "/etc/hosts"), ("/etc", "~/hosts")]
)
def test_an_unknown_home_or_the_root_does_not_shorten_paths(home: str, shown: str) -> None:
    assert ShownPaths("/srv/app", "/srv/app", home).shorten("file:///etc/hosts") == shown


def test_a_directory_named_by_a_link_counts_as_its_target() -> None:
    paths = ShownPaths("/links/app", "/srv/app", "")

    assert paths.shorten("file:///srv/app/a.py") == "a.py"
    assert paths.shorten("file:///links/app/a.py") == "a.py"


def test_a_windows_path_is_relative_too() -> None:
    paths = ShownPaths("C:\\Users\\me\\app", "C:\\Users\\me\\app", "C:\\Users\\me")

    assert paths.shorten("file:///c%3A/Users/me/app/src/a.py") == "src/a.py"
    assert paths.shorten("file:///D:/data/a.py") == "D:/data/a.py"


def test_only_context_blocks_change() -> None:
    text, context = TextBlock("file:///srv/app/a.py"), ContextBlock("x", "file:///srv/app/a.py", label="here")
    plain, mixed = Message("user", (text,)), Message("user", (text, context))
    result = ShownPaths("/srv/app", "/srv/app", "").apply([plain, mixed])

    assert result == [plain, Message("user", (text, ContextBlock("x", "a.py", label="here")))]
