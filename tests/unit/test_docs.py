"""The pages that people read say what the code does: tables, commands, examples and paths are checked."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from jumpseat import wire
from jumpseat.auth.status import AuthState
from jumpseat.chat import BLOCK_CLASSES, StopReason
from jumpseat.config import load_config
from jumpseat.config.schema import Config, ProviderConfig
from jumpseat.providers import BUILT_IN
from jumpseat.providers.registry import KINDS
from jumpseat.rpc.faults import CODES, RpcFault, wire_error
from jumpseat.rpc.handlers.lifecycle import DELTA_TYPES
from jumpseat.rpc.methods import METHODS, NOTIFICATIONS_SENT, REQUESTS_SENT
from jumpseat.rpc.params import ChatStartParams, InitializationOptions
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.daemon import environment_of

ROOT = Path(__file__).parents[2]
README, BUILT, PROTOCOL, PLUGINS, RECIPES = PAGES = [
    ROOT / name
    for name in ("README.md", "server/README.md", "docs/protocol.md", "docs/plugins.md", "docs/recipes.md")
]
SOURCES = (ROOT / "server" / "jumpseat", ROOT / "client" / "jumpseat_client")

WAIT_SECONDS = 30.0
"""Far more than a command takes; one that takes longer hangs."""

LONGEST_EXAMPLE = 20

_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def read(page: Path) -> str:
    return page.read_text("utf-8")


def fences(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page that are marked with this language."""
    return [body for name, body in _FENCE.findall(read(page)) if name == language]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", read(page))


def spans(text: str) -> list[str]:
    """What stands between backticks."""
    return _CODE_SPAN.findall(text)


def table(page: Path, *header: str) -> list[list[str]]:
    """The rows of the one table whose header begins so."""
    lines = iter(prose(page).splitlines())
    found = []
    for line in lines:
        if line.startswith("|") and cells(line)[: len(header)] == list(header):
            next(lines)
            rows = []
            while (row := next(lines, "")).startswith("|"):
                rows.append(cells(row))
            found.append(rows)
    assert len(found) == 1, f"{page.name} has {len(found)} tables that begin with {header}"
    return found[0]


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def names_in(rows: list[list[str]]) -> list[str]:
    """The code spans of the first column."""
    return [name for row in rows for name in spans(row[0])]


# -- the protocol page


def methods_of_the_page(direction: str, works: str) -> dict[str, str]:
    return {
        spans(name)[0]: kind
        for name, kind, way, state, *_ in table(PROTOCOL, "method", "kind")
        if (way, state) == (direction, works)
    }


def test_the_method_table_is_the_codes_method_table() -> None:
    assert methods_of_the_page("client → daemon", "yes") == {
        method.name: method.kind for method in METHODS.values()
    }


def test_the_method_table_has_everything_that_is_sent() -> None:
    assert methods_of_the_page("daemon → client", "yes") == {
        **dict.fromkeys(NOTIFICATIONS_SENT, "notification"),
        **dict.fromkeys(REQUESTS_SENT, "request"),
    }


def test_a_row_of_the_method_table_is_in_a_known_direction_and_state_and_there_once() -> None:
    rows = table(PROTOCOL, "method", "kind")

    assert {row[1] for row in rows} <= {"request", "notification"}
    assert {row[2] for row in rows} <= {"client → daemon", "daemon → client"}
    assert {row[3] for row in rows} <= {"yes", "not yet"}
    assert len(names_in(rows)) == len(set(names_in(rows))) == len(rows)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param(("`delta.type`",), DELTA_TYPES, id="delta types"),
        pytest.param(("type", "keys"), [block.type for block in BLOCK_CLASSES], id="block types"),
        pytest.param(("`stopReason`",), get_args(StopReason), id="stop reasons"),
        pytest.param(("`state`",), get_args(AuthState), id="authentication states"),
        pytest.param(
            ("param",),
            [field.alias for field in ChatStartParams.model_fields.values()],
            id="params of chat/start",
        ),
        pytest.param(
            ("`initializationOptions`",),
            [field.alias for field in InitializationOptions.model_fields.values()],
            id="initialization options",
        ),
        pytest.param(("key of a provider",), list(ProviderConfig.model_fields), id="keys of a provider"),
    ],
)
def test_the_names_in_a_table_are_the_codes(header: tuple[str, ...], expected: list[str]) -> None:
    assert sorted(names_in(table(PROTOCOL, *header))) == sorted(expected)


def test_the_warnings_are_those_that_the_code_gives() -> None:
    given = {
        node.args[0].value
        for path in SOURCES[0].rglob("*.py")
        for node in ast.walk(ast.parse(read(path)))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "WarningEvent"
        if node.args and isinstance(node.args[0], ast.Constant)
    }

    assert set(names_in(table(PROTOCOL, "warning"))) == given


def test_the_error_codes_and_kinds_are_the_codes() -> None:
    faults = [code for code in vars(wire).values() if type(code) is int and code < 0]
    expected = {code: wire_error(RpcFault(code, "")).data["kind"] for code in faults}
    expected |= {code: error.kind for error, code in CODES.items()}

    assert {int(row[0]): spans(row[1])[0] for row in table(PROTOCOL, "code")} == expected


def test_the_kinds_of_providers_and_the_top_level_keys_are_named() -> None:
    kinds = next(row[2] for row in table(PROTOCOL, "key of a provider") if row[0] == "`kind`")
    top = next(line for line in read(PROTOCOL).splitlines() if line.startswith("Top level: "))

    assert set(spans(kinds)) == set(KINDS)
    assert {name.partition(".")[0] for name in spans(top)} >= set(Config.model_fields)


def test_the_answer_to_initialize_is_shown_as_it_is() -> None:
    shown = json.loads(fences(PROTOCOL, "json")[0])["capabilities"]["experimental"]["jumpseat"]

    assert shown["methods"] == [method.name for method in METHODS.values() if not method.lifecycle]
    assert tuple(shown["deltaTypes"]) == DELTA_TYPES
    assert shown["blockTypes"] == [block.type for block in BLOCK_CLASSES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_json_and_toml_example_can_be_read(page: Path) -> None:
    assert all(json.loads(text) for text in fences(page, "json"))
    assert all(tomllib.loads(text) for text in fences(page, "toml"))


# -- the README


def test_the_readme_says_the_same_of_each_method_as_the_protocol_page() -> None:
    def stated(page: Path, first: str, column: int) -> dict[str, str]:
        return {name: row[column] for row in table(page, first) for name in spans(row[0])}

    of_the_page = stated(PROTOCOL, "method", 3)
    del of_the_page["window/showDocument"]  # LSP's, which a later sign-in will use.
    assert stated(README, "method of the protocol", 1) == of_the_page


def test_every_configuration_in_the_readme_is_read_without_a_warning(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number, text in enumerate(fences(README, "toml")):
        file = home / f"{number}.toml"
        file.write_text(text, "utf-8")
        load_config(file, None, built_in=BUILT_IN)

    assert caplog.messages == []


def test_a_provider_takes_five_lines() -> None:
    assert len(fences(README, "toml")[0].splitlines()) == 5


def shell_lines(page: Path) -> list[str]:
    """The commands of a page: its shell blocks line by line, and the code spans."""
    blocks = [*fences(page, "sh"), *fences(page, "")]
    return [line for block in blocks for line in block.splitlines()] + spans(prose(page))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read(ROOT / "Makefile"), re.MULTILINE))
    named = {
        found[1] for line in shell_lines(page) if (found := re.match(r"make ([a-z-]+)", line)) is not None
    }

    assert named <= targets
    assert page != README or named >= {"chat", "test"}


def jumpseat_commands(line: str) -> Iterator[list[str]]:
    """The words of each `jumpseat …` in a pipeline."""
    if "jumpseat" not in line or "_JUMPSEAT_COMPLETE" in line:
        return
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return
    command: list[str] | None = None
    for word in [*words, "|"]:
        if word in ("|", ">", "&&", ";"):
            if command is not None:
                yield command
            command = None
        elif command is not None:
            command.append(word.strip("[]"))
        elif word == "jumpseat":
            command = []


@cache
def help_of(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "jumpseat", *command, "--help"],
        capture_output=True,
        encoding="utf-8",
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"jumpseat {' '.join(command)}: {done.stderr}"
    return done.stdout


def subcommands(*command: str) -> list[str]:
    """The commands in the help of a group."""
    _, _, listed = help_of(*command).partition("\nCommands:\n")
    return re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE)


def flags(*command: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", help_of(*command)))


COMMAND_LINES = [
    pytest.param(words, id=f"{page.parent.name}: {' '.join(words)[:60]}")
    for page in PAGES
    for line in shell_lines(page)
    for words in jumpseat_commands(line)
]


@pytest.mark.xdist_group("help")  # Each help is a process, whose words are kept where they were read.
@pytest.mark.parametrize("words", COMMAND_LINES)
def test_every_command_and_flag_that_a_page_names_exists(words: list[str]) -> None:
    command: list[str] = []
    rest = list(words)
    while rest and not rest[0].startswith("-") and "Commands:" in help_of(*command):
        assert rest[0] in subcommands(*command)
        command.append(rest.pop(0))

    assert {word for word in rest if word.startswith("-")} <= flags(*command)


def test_every_command_is_named_in_the_readme_and_every_stray_flag_is_one_of_theirs() -> None:
    commands = [(name,) for name in subcommands()] + [("local", name) for name in subcommands("local")]
    text = read(README)

    assert [command for command in commands if f"jumpseat {' '.join(command)}" not in text] == []
    known = flags().union(*(flags(*command) for command in commands))
    stray = {span.split()[0] for span in spans(prose(README)) if span.startswith("--")}
    assert stray <= known
    assert stray != set()


def run_example(code: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run a program as a reader would, but with a fake provider as the only one."""
    with ThreadedUpstream() as upstream:
        upstream.default(Reply.events(completion_stream(["Hel", "lo, ", "reader."])))
        (tmp_path / "config.toml").write_text(
            f'[providers.fake]\nkind = "openai"\nbase_url = "{upstream.base_url}"\ndefault_model = "m"\n',
            "utf-8",
        )
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            env={
                **os.environ,
                **environment_of(tmp_path),
                "JUMPSEAT_CONFIG": "",
                "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
            },
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
            timeout=WAIT_SECONDS,
            check=False,
        )


def test_the_raw_example_is_short_needs_the_standard_library_alone_and_runs(tmp_path: Path) -> None:
    code = fences(README, "python")[0]
    imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import)]
    imported = {alias.name for node in imports for alias in node.names}

    assert len(code.splitlines()) <= LONGEST_EXAMPLE
    assert imported <= sys.stdlib_module_names
    assert "from " not in code

    ran = run_example(code, tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    served, *answer = ran.stdout.splitlines()
    assert ast.literal_eval(served)["name"] == "jumpseat"
    assert answer == ["Hello, reader.", "end_turn"]


def test_the_raw_example_says_what_is_wrong_where_the_chat_fails(tmp_path: Path) -> None:
    code = fences(README, "python")[0].replace('"content": "Say hello."', '"content": 1')

    ran = run_example(code, tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    error = ast.literal_eval(ran.stdout.splitlines()[-1])
    assert (error["code"], error["data"]["errors"][0]["path"]) == (-32602, "messages.0.content")


def test_the_example_of_the_client_library_runs(tmp_path: Path) -> None:
    ran = run_example(fences(README, "python")[1], tmp_path)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "Hello, reader.", "")


# -- the contributor's page


def modules() -> set[str]:
    """Every module, as the code map names it."""
    server, client = SOURCES
    return {path.relative_to(server).as_posix() for path in server.rglob("*.py")} | {
        path.relative_to(client.parent).as_posix() for path in client.rglob("*.py")
    }


def code_map() -> list[str]:
    text = prose(BUILT)
    section = text[text.index("## Code map") : text.index("## Invariants")]
    return re.findall(r"^\| `([^`]+)` \| \S", section, re.MULTILINE)


def test_every_module_has_one_line_in_the_code_map_and_no_vanished_one_has() -> None:
    mapped = code_map()

    assert sorted(modules() - set(mapped)) == []
    assert sorted(set(mapped) - modules()) == []
    assert len(mapped) == len(set(mapped))


@pytest.mark.parametrize("page", [BUILT, README], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    named = {span for span in spans(prose(page)) if re.fullmatch(r"[\w.*-]+(/[\w.*-]+)*/?", span)}
    paths = {name for name in named if "/" in name} - set(names_in(table(PROTOCOL, "method")))
    below = (ROOT, *SOURCES, SOURCES[1].parent)

    assert paths != set()
    assert [path for path in sorted(paths) if not any(list(base.glob(path)) for base in below)] == []


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in _LINK.findall(prose(page)):
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        assert file.is_file(), link
        assert not anchor or anchor in anchors(file), link
