"""A question about a call of a tool: what would run, and the answers that are possible."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urlsplit

from jumpseat_cli.terminal.styles import note, print_diff, print_styled
from jumpseat_cli.terminal.wrapping import wrap

if TYPE_CHECKING:
    from jumpseat_client.tools import ToolApproval, ToolDecision

AskLine: TypeAlias = Callable[[str], Awaitable[str | None]]
"""Returns a line that the user types, or None at the end of the input. May raise KeyboardInterrupt."""

MAX_LINES = 60
"""The maximum number of lines of a diff or of arguments to print at first."""

MAX_LINE = 1000
"""The maximum number of characters of each such line to print at first."""

REASONS = {
    "rule": "A rule of your configuration asks about each call.",
    "changed": "The tool has changed since you allowed it.",
    "outside": "It uses a path outside the workspace.",
}


class ToolQuestion:
    """The question about one call."""

    def __init__(self, approval: ToolApproval, folders: Sequence[str]) -> None:
        """
        Args:
            approval: the call.
            folders: the workspace; names of files in it are shortened. Empty for the working directory.
        """
        self._approval = approval
        self._folders = [*map(Path, folders)] or [Path.cwd()]
        self._is_cut = False
        """Whether the call was last printed without some of its lines or characters."""

    async def ask(self, ask_line: AskLine) -> ToolDecision:
        """Print the call, ask until the answer is one of those offered, and return the decision.

        If the input ends, the call is denied.

        Raises:
            KeyboardInterrupt: the user pressed Ctrl-C.
        """
        from jumpseat_client.tools import ToolDecision

        self._print()
        while True:
            offered = self._list_answers()
            note(" · ".join(f"{key}: {meaning}" for key, meaning in offered.items()))
            answer = await ask_line(f"Allow it? [{'/'.join(offered)}] ")
            if answer is None:
                return ToolDecision(False)
            match _normalize(answer):
                case "y":
                    return ToolDecision(True)
                case "n":
                    return ToolDecision(False)
                case "e":
                    reason = await ask_line("Why not? ")
                    return ToolDecision(False, message=(reason or "").strip() or None)
                case "a" if "a" in offered:
                    is_for_conversation = "conversation" in self._approval.remember
                    return ToolDecision(True, "conversation" if is_for_conversation else "turn")
                case "A" if "A" in offered:
                    return ToolDecision(True, "always")
                case "d":
                    self._print_details(whole=True)

    def _list_answers(self) -> dict[str, str]:
        """Return the keys that are offered, with their meanings."""
        remember = self._approval.remember
        offered = {"y": "yes", "n": "no"}
        if "conversation" in remember:
            offered["a"] = "allow this tool in this conversation"
        elif "turn" in remember:
            offered["a"] = "allow this tool in this answer"
        if "always" in remember:
            offered["A"] = "always allow this tool"
        offered["e"] = "no, and explain why"
        if self._is_cut:
            offered["d"] = "show all of it"
        return offered

    def _print(self) -> None:
        approval = self._approval
        tool = f"{approval.server}/{approval.tool}"
        title = approval.title if tool in approval.title else f"{approval.title} · {tool}"
        for line in wrap(f"? {title}", "  ").split("\n"):
            print_styled(line, err=True, bold=True, fg="yellow")
        if approval.reason in REASONS:
            note(f"  {REASONS[approval.reason]}")
        self._print_details(whole=False)

    def _print_details(self, *, whole: bool) -> None:
        """Print the proposed changes, or the arguments if the title does not contain them."""
        if self._approval.diff:
            lines = [line for each in self._approval.diff for line in self._diff_file(each)]
        else:
            lines = list(_list_arguments(self._approval))
        shown = lines if whole else [_cut(line) for line in lines[:MAX_LINES]]
        if self._approval.diff:
            print_diff(shown, err=True)
        else:
            for line in shown:
                print_styled(line, err=True)
        left_out = len(lines) - len(shown)
        self._is_cut = shown != lines
        if left_out:
            note(f"… {left_out} more line{'' if left_out == 1 else 's'}")

    def _diff_file(self, change: Mapping[str, Any]) -> Iterator[str]:
        """Yield the lines of a diff of one file."""
        from jumpseat_cli.files.diffs import diff_texts

        name, new = self._shorten_uri(str(change.get("uri") or "")), str(change.get("newText") or "")
        old = change.get("oldText")
        return diff_texts(str(old or ""), new, "/dev/null" if old is None else name, name)

    def _shorten_uri(self, uri: str) -> str:
        """Return the path of a file's URI, relative to its workspace folder."""
        parts = urlsplit(uri)
        if parts.scheme != "file":
            return uri
        path = Path(unquote(parts.path).lstrip("/" if sys.platform == "win32" else ""))
        folder = next((each for each in self._folders if path.is_relative_to(each)), None)
        return str(path if folder is None else path.relative_to(folder))


def _normalize(answer: str) -> str:
    """Return the key for an answer, which may be a whole word."""
    answer = answer.strip()
    word = answer.lower()
    return {"yes": "y", "no": "n", "always": "A"}.get(word, answer if answer in ("a", "A") else word)


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}… ({len(line)} characters)"


def _list_arguments(approval: ToolApproval) -> Iterator[str]:
    """Yield the lines that show the arguments; none if the title contains all of them."""
    whole = json.dumps(approval.arguments, ensure_ascii=False, separators=(",", ":"))
    if not approval.arguments or approval.title.endswith(whole):
        return
    for key, value in approval.arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        first, *rest = text.split("\n")
        if rest:
            yield f"  {key}:"
            yield from (f"    {line}" for line in [first, *rest])
        else:
            yield f"  {key}: {first}"
