"""The documentation pages agree with the code: examples, links, paths and the code map."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jumpseat.context.rules import RULE_FILES
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from jumpseat_client import Client
from tests.daemon import environment_of
from tests.fakes import tool_plugin
from tests.hub import no_daemon_afterwards
from tests.unit.pages import (
    CLIENT,
    DOCS,
    EDITOR_PAGES,
    PAGES,
    PROTOCOL,
    README,
    ROOT,
    SERVER_README,
    SOURCES,
    SUBSYSTEMS,
    TESTING,
    WAIT_SECONDS,
    Block,
    blocks,
    fences,
    names_in,
    prose,
    read,
    spans,
    table,
)

NUMBERS = DOCS / "numbers.md"

MAX_EXAMPLE_LINES = 20
MAX_LINE_LENGTH = 120
MAX_SCREEN_LINES = 40

RAW_EXAMPLE = fences(CLIENT, "python")[-1]
"""The example of a client that does not use the library."""

_LINK = re.compile(r"\]\((?!https://)([^)\s]+)\)")
"""A link to a file of the project. Tests do not use the network, so links to other sites are not checked."""


def test_the_introduction_of_the_readme_fits_on_a_screen_and_links_every_page() -> None:
    screen = read(README).split("\n## ")[0]

    assert len(screen.splitlines()) <= MAX_SCREEN_LINES
    assert len(fences(README, "sh")[0].splitlines()) == 2  # The commands to try jumpseat and to test it.
    linked = {target for target in _LINK.findall(screen) if target.startswith("docs/")}
    pages = {f"docs/{page.name}" for page in DOCS.glob("*.md")}
    assert pages <= linked
    assert "docs/pictures/chat.svg" in linked


def test_the_readme_configures_a_provider_in_five_lines() -> None:
    assert len(fences(README, "toml")[0].splitlines()) == 5


def run_example(code: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run a program as a reader does. The only provider is a fake one."""
    with ThreadedUpstream() as upstream, no_daemon_afterwards(tmp_path):
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
                **tool_plugin.install(tmp_path / "site", "files"),
                "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
            },
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
            timeout=WAIT_SECONDS,
            check=False,
        )


def test_the_raw_example_is_short_needs_only_the_standard_library_and_runs(tmp_path: Path) -> None:
    code = RAW_EXAMPLE
    imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import)]
    imported = {alias.name for node in imports for alias in node.names}

    assert len(code.splitlines()) <= MAX_EXAMPLE_LINES
    assert imported <= sys.stdlib_module_names
    assert "from " not in code

    ran = run_example(code, tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    served, *answer = ran.stdout.splitlines()
    assert ast.literal_eval(served)["name"] == "jumpseat"
    assert answer == ["Hello, reader.", "end_turn"]


def test_the_raw_example_prints_the_error_of_a_failed_chat(tmp_path: Path) -> None:
    code = RAW_EXAMPLE.replace('"content": "Say hello."', '"content": 1')

    ran = run_example(code, tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    error = ast.literal_eval(ran.stdout.splitlines()[-1])
    assert (error["code"], error["data"]["errors"][0]["path"]) == (-32602, "messages.0.content")


@pytest.mark.parametrize(
    "block",
    [block for page in (README, CLIENT) for block in blocks(page, "python") if block.text != RAW_EXAMPLE],
    ids=str,
)
def test_an_example_of_the_client_library_runs_with_the_real_daemon(tmp_path: Path, block: Block) -> None:
    ran = run_example(block.text, tmp_path)

    assert (ran.returncode, ran.stdout.rstrip("\n"), ran.stderr) == (0, "Hello, reader.", "")


def test_the_page_of_the_client_names_its_methods_and_arguments() -> None:
    methods = inspect.getmembers(Client, inspect.isfunction)
    public = [name for name, _ in methods if not name.startswith("_")]

    assert sorted(names_in(table(CLIENT, "method of `Client`"))) == sorted(public)
    sent = {row[1].split("`")[1] for row in table(CLIENT, "method of `Client`") if "`" in row[1]}
    assert sent <= set(names_in(table(PROTOCOL, "method")))
    arguments = list(inspect.signature(Client.spawn).parameters)
    assert names_in(table(CLIENT, "argument of `spawn`")) == arguments


@pytest.mark.parametrize(
    "page",
    [SERVER_README, SUBSYSTEMS, TESTING, README, CLIENT, NUMBERS],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_every_path_on_a_page_exists(page: Path) -> None:
    named = {span for span in spans(prose(page)) if re.fullmatch(r"[\w.*-]+(/[\w.*-]+)*/?", span)}
    # Neither the methods of the protocol nor the files of a user's workspace are paths of the project.
    paths = {name for name in named if "/" in name} - {*names_in(table(PROTOCOL, "method")), *RULE_FILES}
    bases = (ROOT, *SOURCES, ROOT / "client")

    assert paths != set()
    assert [path for path in sorted(paths) if not any(list(base.glob(path)) for base in bases)] == []


@pytest.mark.parametrize(
    "page", [*PAGES, *EDITOR_PAGES.values()], ids=lambda page: str(page.relative_to(ROOT))
)
def test_the_prose_of_a_page_is_wrapped(page: Path) -> None:
    # A code span or a link cannot be divided, and a row of a table is one line.
    divisible = re.compile(r"[^\s|].* .*")

    for line in prose(page).splitlines():
        whole = re.sub(r"`[^`]*`|\[[^]]*\]\([^)]*\)", lambda part: "x" * len(part[0]), line)
        too_long = len(line) > MAX_LINE_LENGTH and not line.startswith("|")
        assert not (too_long and divisible.fullmatch(whole.lstrip(" -"))), line


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, in GitHub's form."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_has_a_target(page: Path) -> None:
    for link in _LINK.findall(prose(page)):
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        assert file.is_file(), link
        assert not anchor or anchor in anchors(file), link
