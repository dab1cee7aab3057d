"""The command `/tools`: shows the tools of a conversation, or selects others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jumpseat.tools.selectors import Selector, matches_any
from jumpseat_cli.chat.tool_selection import find_mistake, parse_selectors
from jumpseat_cli.repl.conversation import TerminalConversation
from jumpseat_cli.repl.link import Link
from jumpseat_cli.terminal.failures import print_failure
from jumpseat_cli.terminal.styles import note
from jumpseat_cli.terminal.text import clean_line
from jumpseat_cli.terminal.wrapping import wrap

INDENT = "    "
DECISIONS = {"allow": "Allowed", "ask": "Asks", "deny": "Denied"}


async def run_tools_command(conversation: TerminalConversation, link: Link, argument: str) -> None:
    """Select the tools that the argument names, or show those that are selected.

    Raises:
        ClientError: the tools cannot be listed.
    """
    if argument == "-":
        conversation.tools = conversation.tools._replace(selectors=())
        note("The next answers do not use tools.")
        return
    listed = await link.request(lambda client: client.list_tools())
    if not argument:
        _show(listed, conversation.tools.selectors)
        return
    try:
        selectors = parse_selectors([argument])
    except ValueError as error:
        print_failure(str(error))
        return
    if (mistake := find_mistake(selectors, listed)) is not None:
        print_failure(*mistake)
        return
    conversation.tools = conversation.tools._replace(selectors=selectors)
    note(f"The next answers may use {', '.join(selectors)}.")


def _show(listed: Mapping[str, Any], selectors: Sequence[str]) -> None:
    if not selectors:
        servers = ", ".join(f"{row['name']} ({row['state']})" for row in listed["servers"]) or "none"
        note(clean_line(f"No tools are selected. The servers are: {servers}."))
        note("To select all tools of a server, type /tools and its name.")
        return
    parsed = [selector for text in selectors if (selector := Selector.parse(text)) is not None]
    rows = [row for row in listed["tools"] if matches_any(parsed, row["server"], row["tool"])]
    for row in rows:
        name = clean_line(f"{row['server']}/{row['tool']}")
        about = clean_line(f"{DECISIONS.get(row['decision'], row['decision'])}. {row['description']}")
        print(wrap(f"{name:28} {about}", INDENT))
    tokens = sum(row["tokens"] for row in rows if row["decision"] != "deny")
    note(f"Selected: {', '.join(selectors)}. Their definitions cost about {tokens} tokens in each request.")
