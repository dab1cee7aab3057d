"""The command groups: help, lists, and suggestions for the command names of other programs."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from jumpseat_cli.program import MODULES, jumpseat
from jumpseat_cli.program import run as run_command_line
from tests.fakes.scenario import Scenario
from tests.fakes.terminal import Terminal
from tests.unit.cli.test_program import OWN, argv, run

LISTS = ("conversations", "keys", "local", "mcp", "models", "prompts", "settings", "tools")


def groups() -> dict[str, click.Group]:
    context = click.Context(jumpseat)
    commands = {name: jumpseat.get_command(context, name) for name in MODULES}
    return {name: command for name, command in commands.items() if isinstance(command, click.Group)}


def commands(
    command: click.Command = jumpseat, context: click.Context | None = None
) -> Iterator[tuple[str, click.Command]]:
    """Yield every command that is not a group, with the words that call it."""
    context = context or click.Context(jumpseat, info_name="jumpseat")
    if not isinstance(command, click.Group):
        yield context.command_path.removeprefix("jumpseat "), command
        return
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from commands(found, click.Context(found, parent=context, info_name=name))


def test_every_command_prints_json_and_takes_a_configuration_file() -> None:
    options = {
        words: {name for parameter in command.params for name in parameter.opts}
        for words, command in commands()
    }
    daemons = {"serve", "attach", "acp"}  # These have the flags of a language server instead.
    reads_no_file = {"daemon status", "daemon stop", "config path"}

    assert {words for words, names in options.items() if "--json" not in names} == daemons
    assert {words for words, names in options.items() if "--config" not in names} == daemons | reads_no_file


def outcome(*arguments: str) -> tuple[int, str]:
    """Run a command; return the exit code and the last line of its output."""
    done = CliRunner().invoke(jumpseat, arguments)
    return done.exit_code, done.output.strip().splitlines()[-1]


def test_a_group_with_a_list_shows_it_without_a_command() -> None:
    found = groups()
    assert {name for name, group in found.items() if "list" in group.commands} == set(LISTS)
    for name in LISTS:
        context = found[name].make_context(name, [])
        assert context._protected_args == ["list"], name


@pytest.mark.parametrize("name", [None, "conversations", "daemon", "local"])
def test_the_help_of_a_group_has_whole_sentences(name: str | None) -> None:
    text = CliRunner().invoke(jumpseat, [*([name] if name else []), "--help"]).output
    commands = text.partition("\nCommands:\n")[2]
    assert commands
    assert "..." not in commands


def test_each_paragraph_of_the_help_starts_with_a_capital() -> None:
    for command in [jumpseat, *groups().values(), *(command for _, command in commands())]:
        assert command.help
        paragraphs = inspect.cleandoc(command.help).split("\n\n")
        beginnings = [text.removeprefix("\b\n")[:10] for text in paragraphs]
        assert [text for text in beginnings if text[0].islower() and text != "llama.cpp "] == []


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("keys", "rm"), "remove"),
        (("keys", "ls"), "list"),
        (("conversations", "rm"), "remove"),
        (("local", "remove"), "uninstall"),
        (("settings", "rm"), "unset"),
        (("settings", "show"), "get"),
        (("config", "get"), "show"),
        (("conversations", "shwo"), "show"),
        (("help",), "--help"),
        (("version",), "--version"),
    ],
)
def test_a_synonym_of_a_command_suggests_the_command(arguments: tuple[str, ...], meant: str) -> None:
    message = f"Error: No such command {arguments[-1]!r}. Did you mean {meant!r}?"
    assert outcome(*arguments) == (2, message)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--modle", "No such option '--modle'. Did you mean '--model'?"),
        ("--no-steam", "No such option '--no-steam'. Did you mean '--no-stream' or '--no-stdin'?"),
        ("--xyzzy", "No such option '--xyzzy'."),
    ],
)
def test_a_mistyped_option_suggests_the_nearest_first(
    option: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["chat", option, "x"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"Error: {message}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("settings", "--json", "get", "max_tokens"), "Put the options after 'get'."),
        (("conversations", "--limit", "0"), "Invalid value for '-n' / '--limit'"),
        (("keys", "--own"), "No such option '--own'."),
    ],
)
def test_a_group_reports_wrong_uses_of_the_options_of_its_list(
    arguments: tuple[str, ...], message: str
) -> None:
    code, output = outcome(*arguments)
    assert (code, message in output) == (2, True), output


def test_an_empty_list_of_settings_is_reported(tmp_path: Path) -> None:
    done = run(Scenario(tmp_path, answers={"settings/get": {"settings": {"providers": {}}}}), "settings")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("There are no saved settings.")


def test_unsetting_a_setting_that_is_not_saved_fails(tmp_path: Path) -> None:
    saved = {"settings": {"max_tokens": 5, "providers": {"one": {"temperature": 1}}}}
    scenario = Scenario(tmp_path, answers={"settings/get": saved, "settings/save": saved})

    done = run(scenario, "settings", "unset", "providers.one.top_p")
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        1, "jumpseat: Nothing is saved as providers.one.top_p.",
    )  # fmt: skip
    assert not scenario.read_messages("settings/save")
    done = run(scenario, "settings", "unset", "default_model", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout)["error"]["message"] == "Nothing is saved as default_model."
    assert run(scenario, "settings", "unset", "providers.one.temperature").returncode == 0
    assert run(scenario, "settings", "unset", "providers.one").returncode == 0


def test_conversations_have_whole_ids_and_titles_in_40_columns(tmp_path: Path) -> None:
    row = {"id": "20261122-165609-abeb5544", "title": "Why?", "turns": 2, "cwd": "/srv"}
    changed = datetime(2026, 11, 22, 16, 56, tzinfo=UTC)
    rows = {"conversations": [{**row, "updatedAt": changed.isoformat()}]}
    command = argv(Scenario(tmp_path, answers={"conversations/list": rows}), "conversations")
    terminal = Terminal(command, size=(24, 40))
    code, output = terminal.finish()
    text = " ".join(OWN.sub("", output).split())

    assert code == 0
    assert text.startswith(f"20261122-165609-abeb5544 changed {changed.astimezone():%Y-%m-%d} ")
    assert text.endswith("; Why?; turns 2; /srv")


@pytest.mark.parametrize(
    "arguments",
    [
        ("-m", "x", "conversation"),
        ("keys", "remove", "a-provider-that-nobody-has"),
        ("local", "install", "missing"),
        ("config", "check"),
    ],
)
def test_a_message_is_cut_between_words_in_40_columns(
    home: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (home / "config.toml").write_text("[prompts.one]\ntext = 3\n", "utf-8")
    terminal = Terminal(argv(Scenario(tmp_path), *arguments), size=(24, 40))
    code, output = terminal.finish()
    lines = output.replace("\r", "").splitlines()

    assert code in (1, 2)
    assert len(lines) > 1
    assert [line for line in lines if len(line) > 40 and " " in line.strip()] == []
