"""`jumpseat chat`: its options and their shell completion."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from jumpseat_cli.chat.tool_selection import ToolSelection
from jumpseat_cli.command_line.completion import (
    complete_conversation,
    complete_file,
    complete_prompt,
    make_completion,
    match_prefix,
    values_of,
)
from jumpseat_cli.command_line.options import daemon_options, json_option, rules_option
from jumpseat_cli.command_line.question_options import files_option, max_tokens_option, model_option
from jumpseat_cli.command_line.tool_options import tool_options
from jumpseat_cli.daemon.settings import THINKING_LEVELS
from jumpseat_cli.terminal.running import run_work
from jumpseat_client.client import Client

JSON_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def complete_setting(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the keys of the model's settings, and the values of those that have a list of choices."""

    async def find(client: Client, incomplete: str) -> list[CompletionItem]:
        key, equals, _ = incomplete.partition("=")
        rows = await client.settings_schema(context.params.get("model"))
        if not equals:
            return match_prefix(key, ((f"{row['key']}=", row["description"]) for row in rows))
        values = (value for row in rows if row["key"] == key for value in values_of(row))
        return match_prefix(incomplete, ((f"{key}={value}", None) for value in values))

    return make_completion(find)(context, parameter, incomplete)


def parse_settings(
    context: click.Context, parameter: click.Parameter, pairs: tuple[str, ...]
) -> dict[str, str]:
    """Parse `KEY=VALUE` options; the values remain strings."""
    settings = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"{pair!r} is not KEY=VALUE, such as temperature=0.2.")
        settings[key] = text
    return settings


def read_schema(
    context: click.Context, parameter: click.Parameter, file: Path | None
) -> dict[str, Any] | None:
    """Read a JSON schema from a file."""
    if file is None:
        return None
    schema = _read_json(file)
    if not isinstance(schema, dict):
        raise click.BadParameter(f"{file} must contain a JSON object.")
    from jumpseat_cli.chat.json_answers import fault_of_schema

    if (fault := fault_of_schema(schema)) is not None:
        raise click.BadParameter(f"{file} is not a JSON schema: {fault}")
    return schema


def read_tools(
    context: click.Context, parameter: click.Parameter, files: tuple[Path, ...]
) -> list[dict[str, Any]]:
    """Read tool definitions from files, each of which contains one definition or a list of them."""
    tools: list[dict[str, Any]] = []
    for file in files:
        content = _read_json(file)
        found = content if isinstance(content, list) else [content]
        if not all(isinstance(tool, dict) and isinstance(tool.get("name"), str) for tool in found):
            raise click.BadParameter(
                f"{file} must contain a tool with name, description and parameters, or a list of tools."
            )
        tools += found
    return tools


def _read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except OSError as error:
        raise click.BadParameter(f"{file} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"{file} is not JSON: {error}.") from None


@click.command()
@click.argument("question", nargs=-1)
@model_option("The model to ask; 'jumpseat models' lists them.")
@click.option("-s", "--system", metavar="TEXT", help="The system prompt.")
@click.option(
    "-p",
    "--prompt",
    metavar="NAME",
    shell_complete=complete_prompt,
    help="Use this prompt, such as explain or review; its input is the question and stdin.",
)
@files_option(
    "Add a file, some of its lines, all files that match a quoted pattern, or a page (https://…). Repeatable."
)
@click.option(
    "-a",
    "--attach",
    "images",
    multiple=True,
    metavar="FILE",
    shell_complete=complete_file,
    help="Add an image or a PDF from a file, or an image from a URL. Repeatable.",
)
@rules_option
@click.option("--no-stdin", is_flag=True, help="Do not read stdin.")
@max_tokens_option
@click.option("--thinking", type=click.Choice(THINKING_LEVELS), help="How much the model thinks.")
@click.option(
    "-o",
    "--option",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    callback=parse_settings,
    shell_complete=complete_setting,
    help="Change a setting of the model's provider. Repeatable.",
)
@click.option(
    "--schema",
    type=JSON_FILE,
    callback=read_schema,
    metavar="FILE",
    help="Answer in JSON that matches this JSON schema; exit with 1 if it does not.",
)
@click.option("--json-mode", is_flag=True, help="Answer in JSON; exit with 1 if it is not valid.")
@click.option(
    "--tool",
    "tools",
    multiple=True,
    type=JSON_FILE,
    callback=read_tools,
    metavar="FILE",
    help="Offer the tools that this file defines; requires --json. Repeatable.",
)
@tool_options
@click.option(
    "-c", "--continue", "is_continued", is_flag=True, help="Continue this directory's last conversation."
)
@click.option(
    "--conversation", metavar="ID", shell_complete=complete_conversation, help="Continue this conversation."
)
@click.option("--no-keep", is_flag=True, help="Do not keep the question and the answer.")
@click.option(
    "--show-thinking",
    is_flag=True,
    help="Print the thinking on stderr; in a conversation, show it in full instead of in one line.",
)
@click.option("--raw", is_flag=True, help="Do not render Markdown.")
@click.option("--no-stream", is_flag=True, help="Print the answer when it is complete.")
@click.option("--usage", is_flag=True, help="Print tokens, time and cost on stderr.")
@daemon_options
@json_option
def chat(
    question: tuple[str, ...],
    *,
    prompt: str | None,
    files: tuple[str, ...],
    images: tuple[str, ...],
    no_stdin: bool,
    settings: dict[str, str],
    schema: dict[str, Any] | None,
    json_mode: bool,
    tools: list[dict[str, Any]],
    selection: ToolSelection,
    is_continued: bool,
    conversation: str | None,
    no_keep: bool,
    show_thinking: bool,
    raw: bool,
    no_stream: bool,
    usage: bool,
    daemon_command: list[str],
    as_json: bool,
    **options: Any,
) -> int:
    """Ask a question and stream the answer; without a question, have a conversation.

    Piped input is added to the question as context; without a question, the piped input is the question. '-'
    reads stdin even if it is a terminal, and --no-stdin ignores stdin. On a terminal, the answer is rendered
    as Markdown; in a pipe, it is plain text. Ctrl-C cancels the turn and keeps the text so far.

    On a terminal, 'jumpseat chat' without a question starts a conversation, in which /help shows the commands
    and the keys.

    With --tools, the daemon runs tools for the model. It asks you before a call that your rules do not allow:
    y allows the call, n denies it, a allows the tool in this conversation, A allows the tool always, and e
    denies the call with an explanation. Without a terminal, such a call is denied, and the exit code is 3.

    Conversations are kept on this machine; 'jumpseat conversations' lists them. A conversation continues with
    its messages, system prompt, settings and model.

    \b
    Examples:
      jumpseat chat
      jumpseat chat "Why is the sky blue?"
      jumpseat chat -c "And at sunset?"
      cat main.py | jumpseat chat "Explain this"
      jumpseat chat -f main.py:10-40 -f 'tests/*.py' "Which test is missing?"
      jumpseat chat -f https://peps.python.org/pep-0020/ "Summarize this"
      jumpseat chat -a chart.png "What does this show?"
      git diff | jumpseat chat -p review
      jumpseat chat -m local:smollm2-135m-instruct -s "Answer in one sentence." "What is photosynthesis?"
      jumpseat chat --tools files
      jumpseat chat --tools 'files/*,github/search_*' --allow files/edit "Correct the spelling in docs"
      jumpseat chat -o temperature=0 --thinking high --usage "Prove it"
      jumpseat chat --schema person.json --no-keep "Ada Lovelace, born 1815" | jq .
      jumpseat chat --json "Say hello" | jq -r .text
    """
    from jumpseat_cli.chat.answering import ask
    from jumpseat_cli.chat.printing import AnswerForm
    from jumpseat_cli.chat.question import read_question
    from jumpseat_cli.daemon.conversations import choose_continued

    _refuse(is_continued and conversation is not None, "--continue and --conversation cannot be combined.")
    _refuse(schema is not None and json_mode, "--schema and --json-mode cannot be combined.")
    _refuse(bool(tools) and not as_json, "--tool requires --json, which prints the tool calls.")
    _refuse(
        no_stream and bool(selection.selectors),
        "--no-stream and --tools cannot be combined: calls are approved while the answer streams.",
    )
    _refuse(
        no_stdin and "-" in (*question, *files, *images),
        "- reads stdin, so it cannot be combined with --no-stdin.",
    )
    asked = read_question(question, files, images, has_prompt=prompt is not None, with_stdin=not no_stdin)
    if schema is not None or json_mode:
        options["output_mode"] = "json" if schema is None else {"schema": schema}
    if tools:
        options["tools"] = tools
    # Do not render JSON as Markdown.
    is_raw = raw or "output_mode" in options
    common: dict[str, Any] = {
        "settings": settings,
        "tools": selection,
        "keep": not no_keep,
        "find_continued": choose_continued(conversation, uses_last=is_continued),
        "daemon_command": daemon_command,
    }
    if asked.is_empty and prompt is None:
        if question or as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise click.UsageError('There is no question. Try: jumpseat chat "Why is the sky blue?"')
        from jumpseat_cli.repl.loop import converse

        conversing = converse(options, question=asked, shows_thinking=show_thinking, is_raw=is_raw, **common)
        return run_work(conversing, as_json=False)
    _refuse(
        selection.is_pointless,
        "--allow, --deny, --workspace and --max-rounds require --tools, except in a conversation.",
    )
    form = AnswerForm(
        as_json=as_json,
        is_raw=is_raw,
        streams=not no_stream,
        shows_thinking=show_thinking,
        shows_usage=usage,
    )
    return run_work(ask(asked, options, prompt=prompt, form=form, **common), as_json=as_json)


def _refuse(is_wrong: bool, message: str) -> None:
    if is_wrong:
        raise click.UsageError(message)
