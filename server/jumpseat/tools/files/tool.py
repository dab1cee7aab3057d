"""The interface of one file tool."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from jumpseat.chat import FileDiff, ToolKind
from jumpseat.tools.files.arguments import FileArguments, make_schema
from jumpseat.tools.files.locations import Location, Locator
from jumpseat.tools.server import CallContext, Preview, Tool, ToolError, ToolOutput

A = TypeVar("A", bound=FileArguments)


@dataclass(frozen=True, slots=True)
class CallSubject:
    """The part of a preview that has to be the same when the call runs."""

    paths: tuple[Path, ...]
    """The resolved paths."""

    digest: bytes | None = None
    """The digest of the text that is to be changed; None if there is no file, or if nothing is changed."""


@dataclass(frozen=True, slots=True)
class FileCall(Generic[A]):
    """A call of a file tool with checked arguments."""

    arguments: A
    context: CallContext
    locator: Locator
    max_bytes: int
    """The size of the largest result that is not cut."""

    approved: Preview | None = None

    @property
    def subject(self) -> CallSubject:
        """The part of the approved preview that has to be the same when the call runs."""
        assert self.approved is not None  # noqa: S101 - `run` follows `preview`
        subject: CallSubject = self.approved.subject
        return subject

    def check_unmoved(self, *locations: Location) -> None:
        """Check that paths still lead to the places that were approved.

        Raises:
            ToolError: a link on a path has changed.
        """
        if self.subject.paths != tuple(each.path for each in locations):
            raise ToolError("A link on the path was changed in the meantime. Try again.")


def make_preview(
    title: str, locations: Sequence[Location], digest: bytes | None = None, diff: Sequence[FileDiff] = ()
) -> Preview:
    """Return the preview of a call that uses these places.

    Args:
        digest: see `CallSubject`.
        diff: the change of a file.
    """
    paths = tuple(each.path for each in locations)
    is_outside = any(each.is_outside for each in locations)
    return Preview(title, diff, is_outside, CallSubject(paths, digest), paths)


class FileTool(ABC, Generic[A]):
    """One of the file tools."""

    name: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str]
    kind: ClassVar[ToolKind]
    arguments: type[A]

    @property
    def definition(self) -> Tool:
        """The tool as the server lists it."""
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            parameters=make_schema(self.arguments),
            kind=self.kind,
        )

    @abstractmethod
    async def preview(self, call: FileCall[A]) -> Preview:
        """Check a call and describe it, as `ToolServer.preview` does."""

    @abstractmethod
    async def run(self, call: FileCall[A]) -> ToolOutput:
        """Run a call whose preview was approved, as `ToolServer.call` does."""
