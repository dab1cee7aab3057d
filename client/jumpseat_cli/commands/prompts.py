"""`jumpseat prompts`: the prompts of the configuration."""

from __future__ import annotations

from collections.abc import Sequence

from jumpseat_cli.chat.answering import daemon
from jumpseat_cli.terminal.failures import OK, print_json, say
from jumpseat_cli.terminal.output import print_text
from jumpseat_cli.terminal.tables import print_rows


async def show_list(*, daemon_command: Sequence[str], as_json: bool) -> int:
    """Print the prompts.

    Raises:
        ClientError: the daemon cannot be used.
    """
    async with daemon(daemon_command) as client:
        rows = await client.list_prompts()
    if as_json:
        print_json({"prompts": rows})
    elif rows:
        cells = [(row["name"], row.get("description", ""), row.get("model", "")) for row in rows]
        print_rows(("Name", "Description", "Model"), cells)
    else:
        say("There are no prompts. A table [prompts.NAME] in the configuration file adds one.")
    return OK


async def show(name: str, given: str, *, daemon_command: Sequence[str], as_json: bool) -> int:
    """Print the text of a prompt with its input; the rest of it is written above, on stderr.

    Raises:
        ClientError: there is no such prompt.
    """
    async with daemon(daemon_command) as client:
        prompt = await client.get_prompt(name, given)
    if as_json:
        print_json(prompt)
        return OK
    for key in ("model", "system"):
        if key in prompt:
            say(f"{key}: {prompt[key]}")
    for key, value in prompt.get("settings", {}).items():
        say(f"{key}: {value}")
    print_text(prompt["text"])
    return OK
