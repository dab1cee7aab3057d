"""Shortens the paths of context blocks for the model: makes them relative to the client's directory."""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath, PurePosixPath, PureWindowsPath

from jumpseat.chat import ContextBlock, Message
from jumpseat.dialects.context_text import path_of


@dataclass(frozen=True, slots=True)
class ShownPaths:
    """Shortens paths, based on the directories of one client."""

    directory: str
    """The absolute path of the first workspace folder or, without a workspace, of the working directory."""

    real_directory: str
    """`directory` with links resolved.

    A client may name its folder by a link, but name the folder's files without the link.
    """

    home: str
    """The home directory; empty if unknown."""

    def apply(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages with the URIs of local files replaced by the paths to show."""
        shown = list(messages)
        for index, message in enumerate(messages):
            if any(isinstance(block, ContextBlock) and block.uri for block in message.content):
                content = (
                    replace(block, uri=self.shorten(block.uri)) if isinstance(block, ContextBlock) else block
                    for block in message.content
                )
                shown[index] = replace(message, content=tuple(content))
        return shown

    def shorten(self, uri: str | None) -> str | None:
        """Return the path of a local file relative to the client's directory; other URIs are unchanged.

        A file in the home directory is shown as `~/…` if the client's directory is not in the home directory.
        Any other file that shares only the root with the client's directory is shown with its absolute path.
        """
        text = path_of(uri)
        if not text:
            return uri
        path = _normalize_path(text)
        directory, real, home = (
            type(path)(each) for each in (self.directory, self.real_directory, self.home)
        )
        if path.is_relative_to(real):
            directory = real
        is_in_home = home != type(path)(home.anchor) and path.is_relative_to(home)
        if not is_in_home or directory.is_relative_to(home):
            for up, ancestor in enumerate([directory, *directory.parents][:-1]):
                if path.is_relative_to(ancestor):
                    return "/".join([*[".."] * up, path.relative_to(ancestor).as_posix()])
        return f"~/{path.relative_to(home).as_posix()}" if is_in_home else path.as_posix()


def _normalize_path(path: str) -> PurePath:
    # `PurePath` does not resolve `..`, so normalise the path first.
    if path.startswith("/"):
        return PurePosixPath(posixpath.normpath(path))
    return PureWindowsPath(ntpath.normpath(path))
