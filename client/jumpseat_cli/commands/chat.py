"""`jumpseat chat`: its options."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from jumpseat_cli.command_line.completion import complete_conversation, complete_model, complete_prompt
from jumpseat_cli.command_line.options import THINKING_LEVELS, daemon_options, json_option, run_work
from jumpseat_cli.commands.chat_inputs import (
    complete_file,
    complete_setting,
    schema_of,
    settings_of,
    tools_of,
)

JSON_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("question", nargs=-1)
@click.option(
    "-m",
    "--model",
    metavar="NAME",
    shell_complete=complete_model,
    help="The model; 'jumpseat models' lists them.",
)
@click.option("-s", "--system", metavar="TEXT", help="The system prompt.")
@click.option(
    "-p",
    "--prompt",
    metavar="NAME",
    shell_complete=complete_prompt,
    help="A prompt of the configuration; the question and stdin are its input.",
)
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    metavar="PATH[:A-B]",
    shell_complete=complete_file,
    help="Add a file, some of its lines, or the files of a pattern in quotation marks. Repeatable.",
)
@click.option(
    "-a",
    "--attach",
    "images",
    multiple=True,
    metavar="FILE",
    shell_complete=complete_file,
    help="Add an image or a PDF: a file, or an image's URL. Repeatable.",
)
@click.option("--no-stdin", is_flag=True, help="Do not read stdin.")
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="The limit for the answer.")
@click.option("--thinking", type=click.Choice(THINKING_LEVELS), help="How much to think.")
@click.option(
    "-o",
    "--option",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    callback=settings_of,
    shell_complete=complete_setting,
    help="A setting of the model's provider. Repeatable.",
)
@click.option(
    "--schema",
    type=JSON_FILE,
    callback=schema_of,
    metavar="FILE",
    help="Answer in JSON by this JSON schema; exit code 1 if it is broken.",
)
@click.option("--json-mode", is_flag=True, help="Answer in JSON; exit code 1 if it is not.")
@click.option(
    "--tool",
    "tools",
    multiple=True,
    type=JSON_FILE,
    callback=tools_of,
    metavar="FILE",
    help="Offer the tools that this file defines; needs --json. Repeatable.",
)
@click.option("-c", "--continue", "is_continued", is_flag=True, help="Continue this directory's last chat.")
@click.option("--conversation", metavar="ID", shell_complete=complete_conversation, help="Continue this one.")
@click.option("--no-keep", is_flag=True, help="Do not keep the question and the answer.")
@click.option(
    "--show-thinking",
    is_flag=True,
    help="Print the thinking too: on stderr, or in a conversation instead of one line about it.",
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

    Piped input is added to the question as context; without a question it is the question. '-' reads stdin
    wherever it comes from, --no-stdin leaves it alone. On a terminal the answer is rendered as Markdown; in a
    pipe it is plain text. Ctrl-C cancels the turn and keeps the text so far.

    On a terminal, 'jumpseat chat' alone begins a conversation; in it, /help shows the commands and the keys.

    The conversation is kept on this machine; 'jumpseat conversations' lists those that are kept. A continued
    one goes on with its messages, system prompt, settings and model.

    \b
    Examples:
      jumpseat chat
      jumpseat chat "Why is the sky blue?"
      jumpseat chat -c "And at sunset?"
      cat main.py | jumpseat chat "Explain this"
      jumpseat chat -f main.py:10-40 -f 'tests/*.py' "Which test is missing?"
      jumpseat chat -a chart.png "What does this show?"
      git diff | jumpseat chat -p review
      jumpseat chat -m local:smollm2-135m-instruct -s "Answer in one sentence." "What is photosynthesis?"
      jumpseat chat -o temperature=0 --thinking high --usage "Prove it"
      jumpseat chat --schema person.json --no-keep "Ada Lovelace, born 1815" | jq .
      jumpseat chat --json "Say hello" | jq -r .text
    """
    from jumpseat_cli.chat.answering import AnswerForm, ask
    from jumpseat_cli.chat.continuing import continued
    from jumpseat_cli.chat.question import read_question

    _refuse(is_continued and conversation is not None, "--continue and --conversation exclude each other.")
    _refuse(schema is not None and json_mode, "--schema and --json-mode exclude each other.")
    _refuse(bool(tools) and not as_json, "--tool needs --json, which prints the calls of the tools.")
    _refuse(no_stdin and "-" in (*question, *files, *images), "- reads stdin, and --no-stdin does not.")
    asked = read_question(question, files, images, has_prompt=prompt is not None, with_stdin=not no_stdin)
    if schema is not None or json_mode:
        options["output_mode"] = "json" if schema is None else {"schema": schema}
    if tools:
        options["tools"] = tools
    to_continue = continued(conversation, last=is_continued)
    if asked.is_empty and prompt is None:
        if question or as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise click.UsageError('There is no question. Try: jumpseat chat "Why is the sky blue?"')
        from jumpseat_cli.repl.loop import converse

        conversing = converse(
            options,
            settings=settings,
            attached=asked.blocks,
            keep=not no_keep,
            continued=to_continue,
            daemon_command=daemon_command,
            shows_thinking=show_thinking,
            is_raw=raw or "output_mode" in options,
        )
        return run_work(conversing, as_json=False)
    form = AnswerForm(
        as_json=as_json,
        # JSON is no Markdown.
        is_raw=raw or "output_mode" in options,
        streams=not no_stream,
        shows_thinking=show_thinking,
        shows_usage=usage,
    )
    work = ask(
        asked,
        options,
        settings=settings,
        prompt=prompt,
        keep=not no_keep,
        continued=to_continue,
        daemon_command=daemon_command,
        form=form,
    )
    return run_work(work, as_json=as_json)


def _refuse(is_wrong: bool, message: str) -> None:
    if is_wrong:
        raise click.UsageError(message)
