"""The user's editor, for a question."""

from __future__ import annotations

import click

from jumpseat.system.threads import run_blocking


async def edited(text: str) -> str:
    """The text as the user leaves it in $VISUAL or $EDITOR; unchanged if nothing was saved.

    Raises:
        click.ClickException: the editor cannot be started, or failed.
    """
    changed = await run_blocking(lambda: click.edit(f"{text}\n" if text else "", extension=".md"))
    return text if changed is None else changed.strip()
