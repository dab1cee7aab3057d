"""Every block of every page is run or checked by a test, or listed with the reason why no test can do so."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from click.testing import CliRunner

from jumpseat.hub.attach import main as attach
from jumpseat.rpc.serve import main as serve
from jumpseat_cli.program import jumpseat
from tests.fakes.tls_front import Authority
from tests.unit.pages import (
    CLIENT,
    COMMAND_LINE,
    CONFIGURATION,
    DOCS,
    EDITOR_PAGES,
    PAGES,
    PROTOCOL,
    README,
    ROOT,
    SERVER_README,
    TESTING,
    Block,
    blocks,
    read,
)

EVERY_PAGE = [*PAGES, *EDITOR_PAGES.values()]
NEOVIM, EMACS = EDITOR_PAGES["neovim"], EDITOR_PAGES["emacs"]
ACP, PLUGINS, RECIPES = DOCS / "acp.md", DOCS / "plugins.md", DOCS / "recipes.md"

TESTS = {
    "unit/test_docs_blocks.py": {
        "test_config_check_accepts_every_configuration": ([README, CONFIGURATION, RECIPES], "toml", ""),
        "test_the_flags_of_the_protocol_page_match_the_programs": ([PROTOCOL], "text", "jumpseat"),
        "test_the_example_of_a_mark_with_requirements_is_a_real_test": ([TESTING], "python", "@pytest"),
    },
    "unit/test_docs_acp.py": {
        "test_the_configuration_of_an_editor_starts_the_agent": ([ACP], "json|lua|elisp", ""),
    },
    "unit/test_docs.py": {
        "test_an_example_of_the_client_library_runs_with_the_real_daemon": (
            [README, CLIENT],
            "python",
            "(?!import json, subprocess)",
        ),
        "test_the_raw_example_is_short_needs_only_the_standard_library_and_runs": (
            [CLIENT],
            "python",
            "import json, subprocess",
        ),
    },
    "plugins/test_page.py": {
        "test_every_block_of_code_on_the_page_is_in_the_example": ([PLUGINS], "python|toml", ""),
    },
    "unit/chat/test_transcript.py": {
        "test_the_example_of_the_protocol_page_is_what_would_be_written": ([PROTOCOL], "markdown", ""),
        "test_the_expressions_of_the_page_restore_copied_code": ([PROTOCOL], "js", ""),
    },
    "unit/chat/test_transcript_org.py": {
        "test_the_org_example_of_the_page_is_what_would_be_written": ([PROTOCOL], "org", ""),
    },
    "protocol/test_page_exchange.py": {
        "test_the_daemon_sends_exactly_the_frames_of_the_page": ([PROTOCOL], "text", "→"),
    },
    "protocol/test_page_blocks.py": {
        "test_the_daemon_accepts_and_sends_the_messages_on_the_page": ([PROTOCOL], "json", ""),
    },
    "e2e/test_pages.py": {"test_every_command_of_a_page_runs": (EVERY_PAGE, "sh", "")},
    "e2e/test_pages_for_contributors.py": {
        "test_a_test_module_of_the_page_passes": ([TESTING], "python", "(?!@pytest)"),
    },
    "e2e/test_doctor.py": {
        "test_the_report_on_the_page_matches_the_output": ([COMMAND_LINE], "text", "Provider groq")
    },
    "e2e/repl/test_tools.py": {
        "test_the_screen_on_the_page_is_what_a_user_sees": ([COMMAND_LINE], "text", "Let me look"),
    },
    "editors/neovim/test_page.py": {"test_every_block_of_the_readme_runs": ([NEOVIM], "lua", "")},
    "editors/emacs/test_details.py": {
        "test_the_readme_takes_a_key_from_auth_source": ([EMACS], "toml", ""),
    },
    "editors/emacs/test_page.py": {"test_every_block_of_the_readme_is_evaluated": ([EMACS], "elisp", "")},
}
"""Each test that runs or checks blocks, with the pages, the languages and the first words of these blocks."""

NOT_RUN = [
    (README, "text", "  Neovim", "a drawing of the parts"),
    (SERVER_README, "text", " editors", "a drawing of the packages"),
    (NEOVIM, "text", "def f", "a screen, copied from a run; the tests of the plug-in look at such screens"),
]
"""Blocks that are not code: the page, the language, the first words, and a description."""


def test_every_block_of_every_page_has_a_test_or_a_reason() -> None:
    rows = [row for tests in TESTS.values() for row in tests.values()]
    rows += [([page], language, re.escape(begin)) for page, language, begin, _ in NOT_RUN]
    every = [block for page in EVERY_PAGE for block in blocks(page)]

    def covers(row: tuple[list[Path], str, str], block: Block) -> bool:
        pages, languages, begin = row
        known = block.language in languages.split("|")
        placed = not {block.page, block.page.parent}.isdisjoint(pages)
        return known and placed and re.match(begin, block.text) is not None

    assert [str(block) for block in every if sum(covers(row, block) for row in rows) != 1] == []
    assert [row for row in rows if not any(covers(row, block) for block in every)] == []


@pytest.mark.parametrize("module", TESTS)
def test_every_test_that_is_listed_for_blocks_exists(module: str) -> None:
    functions = {
        node.name
        for node in ast.parse(read(ROOT / "tests" / module)).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }

    assert {*TESTS[module]} <= functions


KIND = {"kind": "openai", "base_url": "http://127.0.0.1:1/v1"}
REST_OF_FILE = {
    "[providers.gateway]\nroles": {"providers": {"gateway": KIND}},
    "[providers.other.roles]": {"providers": {"other": KIND}},
    "[settings]\nmax_tokens": {"providers": {"groq": KIND}},
    "[prompts.review]": {"providers": {"groq": KIND}},
    "[providers.groq]\nproxy": {"providers": {"groq": KIND}},
}
"""The rest of the user's file for blocks that show only a part of it, by the first words of the block."""

WARNINGS = {"[providers.gateway]\nroles": "providers.gateway.roles.assistant: is one lower-case word"}
"""The expected warning of a block, by its first words."""


def merge(first: Any, second: Any) -> Any:
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return second
    return {
        key: merge(first[key], second[key]) if key in first and key in second else {**first, **second}[key]
        for key in [*first, *(key for key in second if key not in first)]
    }


CONFIGURATIONS = [block for page in (README, CONFIGURATION, RECIPES) for block in blocks(page, "toml")]


@pytest.fixture
def users_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create the files, programs and variables that the configurations of the pages name."""
    authority = Authority(tmp_path / "authority")
    (tmp_path / "corp-ca.pem").write_bytes(authority.file.read_bytes())
    for name in ("me.pem", "me.key"):
        (tmp_path / name).write_bytes(authority.client().read_bytes())
    program = tmp_path / "copilot-language-server"
    program.write_text("#!/bin/sh\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    for block in CONFIGURATIONS:
        for name in re.findall(r"env:([A-Z_]+)", block.text):
            monkeypatch.setenv(name, "a-value")


@pytest.mark.parametrize("block", CONFIGURATIONS, ids=str)
def test_config_check_accepts_every_configuration(home: Path, users_files: None, block: Block) -> None:
    rest = [table for begin, table in REST_OF_FILE.items() if block.text.startswith(begin)]
    file = home / "config.toml"
    file.write_text(block.text, "utf-8")
    if rest:
        file.write_text(tomlkit.dumps(merge(rest[0], tomllib.loads(block.text))), "utf-8")

    done = CliRunner().invoke(jumpseat, ["config", "check"], standalone_mode=False)

    assert done.return_value == 0, done.output
    expected = [text for begin, text in WARNINGS.items() if block.text.startswith(begin)]
    lines = done.output.strip().replace(f"{file}:", "").splitlines()
    if expected:
        assert len(lines) == 1
        assert expected[0] in lines[0]
    else:
        assert lines == [" no mistakes."]


def test_the_rest_of_a_file_and_each_warning_belong_to_a_block() -> None:
    for begin in (*REST_OF_FILE, *WARNINGS):
        assert any(block.text.startswith(begin) for block in CONFIGURATIONS), begin


def test_the_flags_of_the_protocol_page_match_the_programs(capsys: pytest.CaptureFixture[str]) -> None:
    attaching, serving = (
        block.text for block in blocks(PROTOCOL, "text") if block.text.startswith("jumpseat")
    )
    flags = []
    for program in (serve, attach):
        with pytest.raises(SystemExit):
            program(["--help"])
        usage = capsys.readouterr().out.partition("\n\n")[0]
        flags.append(sorted(set(re.findall(r"--\w[\w-]*", usage))))

    assert sorted(re.findall(r"--\w[\w-]*", serving)) == flags[0] == flags[1]
    assert attaching == "jumpseat attach [the flags of jumpseat serve]\n"


def test_the_example_of_a_mark_with_requirements_is_a_real_test() -> None:
    (shown,) = (block.text for block in blocks(TESTING, "python") if block.text.startswith("@pytest"))
    marker, head, *_ = shown.splitlines()
    name = head.partition("(")[0]

    assert any(f"{marker}\n{name}(" in read(path) for path in (ROOT / "tests").rglob("test_*.py"))


def test_every_extra_that_a_page_names_exists() -> None:
    extras = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    named = {
        extra.strip()
        for page in EVERY_PAGE
        for listed in re.findall(r"(?:['\"/ ]\.\[|extra `)([a-z, ]+)[\]`]", read(page))
        for extra in listed.split(",")
    }

    assert {"local", "keyring", "testing"} <= named <= {*extras}
