"""The tool calls of an answer, each shown in one line unless it failed."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jumpseat_cli.terminal.failures import say
from jumpseat_cli.terminal.styles import note
from jumpseat_cli.terminal.text import can_print, clean_line
from jumpseat_cli.terminal.wrapping import columns, cut_line
from jumpseat_client.results import Delta

if TYPE_CHECKING:
    from jumpseat_client.tools import ToolStatus

WAITING = "Waiting for the model"
MAX_VALUE = 60
"""The maximum length of an argument's value."""

MAX_LINE = 200
"""The maximum length of an outcome, and of a completed call's line if stderr is not a terminal."""

ENDED = frozenset({"completed", "failed", "denied"})
"""The statuses of calls that have ended."""


@dataclass(slots=True)
class ShownCall:
    """A tool call of the model."""

    name: str
    """The tool as `server/tool`; a guess from the model's name for the tool until the daemon names it."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    status: str = ""
    """The status in the last `tool_status`; empty for a call that the daemon does not run."""

    progress: str = ""
    """The server's latest progress, as a suffix of the summary: `: 40%`."""

    output: str = ""
    """The text of the result."""

    def set_status(self, status: ToolStatus) -> None:
        """Store the call's new status and progress."""
        self.status = status.status
        progress = "" if status.progress is None else _format_progress(status.progress, status.total)
        self.progress = "".join(f": {each}" for each in (clean_line(status.message or ""), progress) if each)

    def set_result(self, result: Mapping[str, Any]) -> None:
        """Store the result, a block of the type `tool_result`."""
        # In the origin of a result, the daemon names the tool as `model`.
        self.name = str((result.get("origin") or {}).get("model") or self.name)
        self.output = _text_of(result.get("content"))
        if self.status not in ENDED:
            # The call was interrupted, a limit prevented it, or the result comes from a kept conversation,
            # which has no statuses.
            self.status = "failed" if result.get("isError") else "completed"

    @property
    def summary(self) -> str:
        """The tool and the arguments, shortened, in one line."""
        return " ".join([self.name, *(f"{key}={_shorten(value)}" for key, value in self.arguments.items())])


def guess_tool(name: str) -> str:
    """Return the tool as `server/tool`, given the name that the model uses."""
    return name.replace("__", "/", 1)


def is_about_call(delta: Delta) -> bool:
    """Return whether a delta concerns a tool call. Text after such a delta begins a new line."""
    return delta.type.startswith("tool_") or _is_result(delta)


class ShownCalls:
    """The calls of one answer."""

    def __init__(self) -> None:
        self.progress = WAITING
        """The text for the spinner."""

        self._calls: dict[str, ShownCall] = {}

    def handle(self, delta: Delta) -> ShownCall | None:
        """Record a delta for which `is_about_call` is true; return the call if it has ended."""
        if delta.type == "tool_use_start":
            call = ShownCall(guess_tool(str(delta.get("name"))))
            self._calls[str(delta.get("id"))] = call
            self.progress = f"Preparing {call.name}"
        elif delta.type == "tool_use_done":
            content = delta.get("content") or {}
            if (found := self._calls.get(str(content.get("id")))) is not None:
                found.arguments = content.get("arguments") or {}
        elif (approval := delta.tool_approval) is not None:
            self._find(approval.tool_use_id).name = f"{approval.server}/{approval.tool}"
        elif (status := delta.tool_status) is not None:
            self._find(status.tool_use_id).set_status(status)
            self.progress = self._describe_progress()
        elif _is_result(delta):
            return self._end(delta["content"])
        return None

    @property
    def rows(self) -> list[dict[str, str]]:
        """The calls that the daemon ran or refused, for JSON: `toolUseId`, `tool` and `status`."""
        return [
            {"toolUseId": tool_use_id, "tool": call.name, "status": call.status}
            for tool_use_id, call in self._calls.items()
            if call.status
        ]

    def _find(self, tool_use_id: str) -> ShownCall:
        return self._calls.setdefault(tool_use_id, ShownCall("a tool"))

    def _end(self, result: Mapping[str, Any]) -> ShownCall:
        call = self._find(str(result.get("toolUseId")))
        call.set_result(result)
        self.progress = self._describe_progress()
        return call

    def _describe_progress(self) -> str:
        running = [call for call in self._calls.values() if call.status == "running"]
        return f"Running {running[-1].summary}{running[-1].progress}" if running else WAITING


def print_call(call: ShownCall) -> None:
    """Print one line about a call that has ended, on stderr; the reason for a failure may need more lines."""
    width = columns() if sys.stderr.isatty() else MAX_LINE
    line = format_call(call, width)
    if call.status == "completed":
        note(line)
    else:
        say(line, "  ")


def format_call(call: ShownCall, width: int) -> str:
    """Return one line about a call; only the reason for a failure can make it longer than `width`."""
    is_good = call.status == "completed"
    mark = ("✓" if is_good else "✗") if can_print("✓✗") else ("+" if is_good else "!")
    outcome = cut_line(clean_line(_describe(call)), MAX_LINE)
    # Cut a long summary, so that the whole outcome fits or, if it is long too, gets half of the line.
    summary = cut_line(clean_line(call.summary), max(width - len(outcome) - 5, width // 2 - 5))
    line = f"{mark} {summary} · {outcome}"
    return cut_line(line, width) if is_good else line


def _describe(call: ShownCall) -> str:
    first, _, rest = call.output.strip().partition("\n")
    if not call.status:
        return "no result"
    if call.status == "denied":
        return first or "denied"
    if call.status == "failed":
        return f"failed: {first}" if first else "failed"
    if rest:
        return f"{rest.count(chr(10)) + 2} lines"
    return first or "no output"


def _is_result(delta: Delta) -> bool:
    content = delta.get("content")
    return (
        delta.type == "block_done" and isinstance(content, Mapping) and content.get("type") == "tool_result"
    )


def _text_of(content: Any) -> str:
    """Return the text of a result; images and documents are replaced with their type in brackets."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in parts)


def _shorten(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return cut_line(text, MAX_VALUE)


def _format_progress(progress: float, total: float | None) -> str:
    return f"{progress:g}" if not total else f"{min(progress / total, 1):.0%}"
