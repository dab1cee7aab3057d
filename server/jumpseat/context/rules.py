"""Reads the rules of a workspace: files in which a project tells models how to work on it.

The files may come from somebody else, like the rest of a workspace. So they are read only if a client asks
for them, and links that lead out of the workspace are not followed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from jumpseat.chat import WarningEvent
from jumpseat.chat.fence import make_fence
from jumpseat.chat.nul import replace_nul
from jumpseat.context.cut_off import cut_off
from jumpseat.system.regular_file import open_regular

RULE_FILES = ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md")

MAX_BYTES = 64 * 1024
"""The maximum length of the text of one file."""


@dataclass(frozen=True, slots=True)
class WorkspaceRules:
    """The rules of one workspace."""

    names: tuple[str, ...]
    """The files whose texts are in `prompt`, relative to the workspace folder."""

    prompt: str
    """The texts of the files under the files' names, for the system prompt; empty if there are none."""

    warnings: Sequence[WarningEvent]
    """The files that exist and were not read, each with the reason."""


def read_rules(folder: Path) -> WorkspaceRules:
    """Read the rules of a workspace folder. Blocks.

    Args:
        folder: the absolute path of the folder, which may not exist.
    """
    root = Path(os.path.realpath(folder))
    names: dict[Path, list[str]] = {}
    texts: dict[Path, str] = {}
    warnings = []
    for name in RULE_FILES:
        # Resolve all links first, because any directory on the path may be a link.
        file = Path(os.path.realpath(root / name))
        try:
            if not file.is_relative_to(root):
                raise OSError("it is a link that leads out of the workspace")
            texts[file] = texts.get(file) or _read_text(file, name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            why = error.strerror or error
            warnings.append(WarningEvent("rules_skipped", f"{name} was not read: {why}."))
            continue
        if texts[file]:
            # Projects often make one file a link to another. The text that they share is sent once.
            names.setdefault(file, []).append(name)
    parts = [_put_in_fence(named, texts[file]) for file, named in names.items()]
    return WorkspaceRules(tuple(chain.from_iterable(names.values())), "\n\n".join(parts), warnings)


def _read_text(file: Path, name: str) -> str:
    # Read past the limit, so that a longer file is noticed even if it starts with a byte order mark.
    with os.fdopen(open_regular(file, follow=False), "rb") as opened:
        content = opened.read(MAX_BYTES + 4)
    note = f"[{name} is longer than {MAX_BYTES // 1024} KiB; the rest was left out.]"
    text = replace_nul(content.decode("utf-8-sig", "replace"))
    return cut_off(text, MAX_BYTES, note) if text.strip() else ""


def _put_in_fence(names: Sequence[str], text: str) -> str:
    """Return the text under a heading, in a fence that the text cannot close."""
    named = " and ".join(f"`{name}`" for name in names)
    fence = make_fence(text)
    end = "" if text.endswith("\n") else "\n"
    return f"The rules of the user's workspace in {named}:\n{fence}\n{text}{end}{fence}"
