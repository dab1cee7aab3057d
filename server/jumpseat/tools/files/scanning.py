"""The tools `list` and `search`. They do their work in a child process, `scan_process.py`."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from jumpseat.system.child import Child
from jumpseat.system.environment import Environment
from jumpseat.tools.display import escape
from jumpseat.tools.files.access import use_disk
from jumpseat.tools.files.arguments import ListArguments, SearchArguments
from jumpseat.tools.files.kinds import find_kind
from jumpseat.tools.files.locations import Location, Locator, resolve
from jumpseat.tools.files.resources import FileResources
from jumpseat.tools.files.text import MAX_TEXT
from jumpseat.tools.files.tool import FileCall, FileTool, make_preview
from jumpseat.tools.server import CallContext, Preview, ToolError, ToolOutput

if TYPE_CHECKING:
    # At run time, only the child process imports `scan_process` and its libraries.
    from jumpseat.tools.files.scan_process import ScanOrder, ScanSummary

MAX_ENTRIES = 2000
MAX_MATCHES = 500
SCAN_SECONDS = 10.0

START_SECONDS = 10.0
"""How long the process may take to start, even on a busy machine."""

LATE_SECONDS = 0.5
"""How far the process may exceed its time limit before it is killed.

The process checks the limit itself, but cannot interrupt a regular expression.
"""

BEGINNING = b"[]\n"
"""The first line of the output, which shows that the process has read its order."""

MAX_OUTPUT_BYTES = 4 * 1024 * 1024
"""The maximum size of the output. A process that writes more is killed."""

_VARIABLES = ("PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
"""The client's environment variables that Python may need to start."""

NO_ANSWER = "[The editor did not answer. These are the saved files; unsaved changes are missing.]"

_KINDS = {"folder": "/", "link": " (link)", "other": " (not a file)"}


class ListTool(FileTool[ListArguments]):
    """Lists the entries of folders."""

    name = "list"
    title = "List files"
    description = "List the files and folders in a folder, without those that .gitignore ignores."
    kind = "read"
    arguments = ListArguments

    def __init__(self, resources: FileResources) -> None:
        """
        Args:
            resources: the source of the permits for scans.
        """
        self._resources = resources

    async def preview(self, call: FileCall[ListArguments]) -> Preview:
        """Check the path."""
        roots = await use_disk(_find_roots, call.locator, call.arguments.path)
        if await use_disk(find_kind, roots[0].path) != "folder":
            raise ToolError(f"There is no folder {roots[0].name}.")
        return make_preview(f"List {_name_all(roots)}", roots)

    async def run(self, call: FileCall[ListArguments]) -> ToolOutput:
        """List the entries."""
        roots = await use_disk(_find_roots, call.locator, call.arguments.path)
        call.check_unmoved(*roots)
        recursive = bool(call.arguments.recursive)
        order = await use_disk(_make_order, call.locator, roots, MAX_ENTRIES, recursive)
        async with self._resources.scans:
            lines, summary = await run_scan(order, call.context.environment)
        listed = [f"{escape(name)}{_KINDS.get(kind, '')}" for name, kind in lines]
        if not listed:
            listed = ["[There are no entries.]"]
        if more := summary.get("more"):
            listed.append(f"[Entries that were left out: {more}. List one of the folders.]")
        return ToolOutput("\n".join([*listed, *_describe_rest(summary)]))


class SearchTool(FileTool[SearchArguments]):
    """Searches the texts of files."""

    name = "search"
    title = "Search files"
    description = (
        "Find the lines of text files that contain a pattern, without files that .gitignore ignores. The "
        "result has the path, the line number and the line."
    )
    kind = "search"
    arguments = SearchArguments

    def __init__(self, resources: FileResources) -> None:
        """
        Args:
            resources: the source of the permits for scans.
        """
        self._resources = resources

    async def preview(self, call: FileCall[SearchArguments]) -> Preview:
        """Check the path and the pattern."""
        if "\n" in call.arguments.pattern:
            raise ToolError("The pattern has several lines, but lines are searched separately. Use one line.")
        roots = await use_disk(_find_roots, call.locator, call.arguments.path)
        if await use_disk(find_kind, roots[0].path) not in ("file", "folder"):
            raise ToolError(f"There is no file or folder {roots[0].name}.")
        place = "" if call.arguments.path is None else f" in {_name_all(roots)}"
        return make_preview(f'Search for "{call.arguments.pattern}"{place}', roots)

    async def run(self, call: FileCall[SearchArguments]) -> ToolOutput:
        """Search the texts, including those in the editor."""
        roots = await use_disk(_find_roots, call.locator, call.arguments.path)
        call.check_unmoved(*roots)
        notes = []
        try:
            unsaved = await _find_unsaved_texts(call.context)
        except TimeoutError:
            unsaved, notes = {}, [NO_ANSWER]
        order = await use_disk(_make_order, call.locator, roots, MAX_MATCHES, True)
        order["pattern"], order["regex"] = call.arguments.pattern, bool(call.arguments.regex)
        order["unsaved"] = unsaved
        async with self._resources.scans:
            lines, summary = await run_scan(order, call.context.environment)
        found = [f"{escape(name)}:{number}: {line}" for name, number, line in lines]
        if not found:
            found = ["[There are no matches.]"]
        if summary.get("is_full"):
            found.append(f"[The search ended after {MAX_MATCHES} matches. Make the pattern more specific.]")
        return ToolOutput("\n".join([*notes, *found, *_describe_rest(summary)]))


def _find_roots(locator: Locator, path: str | None) -> Sequence[Location]:
    """Return the place to list or to search; without a path, all workspace folders."""
    return locator.folders if path is None else [locator.locate(path)]


def _name_all(roots: Sequence[Location]) -> str:
    return ", ".join(root.name for root in roots)


async def _find_unsaved_texts(context: CallContext) -> dict[str, str]:
    """Return the texts in the editor by the paths of their files, without links."""
    files = await context.workspace.find_unsaved()
    return await use_disk(lambda: {str(resolve(each.path)): each.text for each in files if each.path})


def _make_order(locator: Locator, roots: Sequence[Location], most: int, recursive: bool) -> ScanOrder:
    """Return an order that makes the child process list these places."""
    return {
        "roots": [(str(root.path), _make_prefix(root)) for root in roots],
        "recursive": recursive,
        "pattern": None,
        "regex": False,
        "own": list(map(str, locator.own)),
        "unsaved": {},
        "most": most,
        "seconds": SCAN_SECONDS,
    }


def _make_prefix(root: Location) -> str:
    """Return the prefix of `ScanOrder.roots` for a file or folder."""
    if root.name == ".":
        return ""
    return f"{root.name.rstrip('/')}/" if find_kind(root.path) == "folder" else root.name


class _ScanProcess(Child):
    """The child process of one scan, and the output of the process."""

    def __init__(self) -> None:
        super().__init__(closed_seconds=SCAN_SECONDS)
        self.has_begun = asyncio.Event()
        """Set when the process has read its order, or can no longer be used."""

        self._output = bytearray()

    def on_output(self, data: bytes) -> None:
        """Collect the output."""
        self.has_begun.set()
        self._output += data
        if len(self._output) > MAX_OUTPUT_BYTES:
            self.kill()

    def on_unusable(self, why: str) -> None:
        """Stop waiting for the output."""
        self.has_begun.set()

    def read_result(self) -> tuple[Sequence[Any], ScanSummary]:
        """Return the lines and the summary.

        If the process was killed, the output has no summary, and its last line may be incomplete.
        """
        rows = self._output.splitlines(keepends=True)
        lines = [json.loads(row) for row in rows if row.endswith(b"\n") and row != BEGINNING]
        if lines and isinstance(lines[-1], dict):
            return lines[:-1], cast("ScanSummary", lines[-1])
        return lines, {"is_long": True} if len(self._output) > MAX_OUTPUT_BYTES else {"is_late": True}


async def run_scan(order: ScanOrder, environment: Environment) -> tuple[Sequence[Any], ScanSummary]:
    """Scan in a child process. Return the lines that were found in time, and a summary of what is missing.

    Args:
        order: what to list or to search.
        environment: the client's environment.

    Raises:
        ToolError: the process cannot run, or the order cannot be carried out.
    """
    scan = _ScanProcess()
    body = await use_disk(lambda: json.dumps(order).encode() + b"\n")
    variables = {name: value for name in _VARIABLES if (value := environment.get(name))}
    # The child process must import modules from the same places as this process.
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        await scan.start(
            # -P: a file in the working directory must not be imported as a module.
            [sys.executable, "-P", "-m", "jumpseat.tools.files.scan_process"],
            env=variables,
            directory=Path(Path(sys.executable).anchor),
            stderr=subprocess.DEVNULL,
        )
        scan.write(body)
        async with asyncio.timeout(START_SECONDS):
            await scan.has_begun.wait()
        async with asyncio.timeout(order["seconds"] + LATE_SECONDS):
            await scan.wait_until_ended()
    except TimeoutError:
        pass  # The result is what the process has found so far.
    except OSError as error:
        raise ToolError(f"No process can be started: {error.strerror or type(error).__name__}.") from None
    finally:
        await scan.stop(0)
    lines, summary = scan.read_result()
    if "error" in summary:
        raise ToolError(summary["error"])
    return lines, summary


def _describe_rest(summary: ScanSummary) -> Iterator[str]:
    """Yield a note for each thing that is missing from a result."""
    if summary.get("is_late"):
        yield f"[The result is incomplete, because {SCAN_SECONDS:g} s have passed. Choose a smaller folder.]"
    if summary.get("is_long"):
        limit = MAX_OUTPUT_BYTES >> 20
        yield f"[The result is incomplete, because it has more than {limit} MiB. Choose a smaller folder.]"
    if number := summary.get("credentials"):
        yield f"[Skipped files that may contain credentials: {number}]"
    if number := summary.get("large"):
        yield f"[Skipped files of more than {MAX_TEXT >> 20} MiB: {number}]"
    if number := summary.get("hard"):
        yield f"[Skipped files for which the pattern is too complex: {number}]"
    if number := summary.get("unreadable"):
        yield f"[Files and folders that cannot be read: {number}]"
