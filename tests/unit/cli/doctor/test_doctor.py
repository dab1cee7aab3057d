"""`jumpseat doctor`: the choice of the model, the report, the programs on the PATH."""

from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import Check
from jumpseat.config.redaction import hide_secrets
from jumpseat.system.environment import environment_of_process
from jumpseat.system.secrets import redact
from jumpseat_cli.doctor.installation import check_configuration, check_installation, programs_on_path
from jumpseat_cli.doctor.providers import choose_model, default_for
from jumpseat_cli.doctor.report import ReportSection, make_redactor, show_section

SECTION = ReportSection(
    "Title", [Check("a", True, "good"), Check("b", False, "bad", "Do it."), Check("c", None, "so")]
)


def model(name: str, multiplier: float | None, **more: Any) -> dict[str, Any]:
    billing = {} if multiplier is None else {"billing": {"multiplier": multiplier}}
    return {"id": f"p:{name}", **billing, **more}


def test_the_default_model_is_tried_whatever_it_costs() -> None:
    models = [model("free", 0), model("dear", 10, isDefault=True)]
    assert (choose_model(models, "p") or {})["id"] == "p:dear"


def test_without_a_default_the_chat_uses_a_model_that_the_plan_includes() -> None:
    models = [model("dear", 1), model("no", 0, policy="disabled"), model("free", 0)]
    assert (choose_model(models, "p") or {})["id"] == "p:free"
    assert choose_model(models[:2], "p") is None


def test_a_provider_that_does_not_report_costs_chooses_the_model_itself() -> None:
    assert choose_model([model("a", None)], "p") == {"id": "p:"}
    assert choose_model([], "p") == {"id": "p:"}


def test_a_default_that_is_not_listed_is_tried() -> None:
    """Every chat without a model uses the default, so a typo in the default breaks all these chats."""
    assert choose_model([model("a", 0)], "p", "typo") == {"id": "typo"}


@pytest.mark.parametrize(
    ("name", "default", "tried"),
    [("p:x", False, "p:x"), ("x", True, "x"), ("x", False, None), ("q:x", True, None), (None, True, None)],
)
def test_a_default_model_is_tried_only_at_its_own_provider(
    name: str | None, default: bool, tried: str | None
) -> None:
    assert default_for({"id": "p", "isDefault": default}, name) == tried


@pytest.mark.parametrize(
    ("encoding", "lines"),
    [
        ("utf-8", ["Title", "  ✓ good", "  ✗ bad", "    Do it.", "  - so"]),
        ("ascii", ["Title", "  ok   good", "  FAIL bad", "       Do it.", "  -    so"]),
    ],
)
def test_a_line_begins_with_a_mark_that_the_terminal_can_show(
    monkeypatch: pytest.MonkeyPatch, encoding: str, lines: list[str]
) -> None:
    output = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    monkeypatch.setattr(sys, "stdout", output)
    show_section(SECTION)
    output.flush()
    assert output.buffer.getvalue().decode(encoding).splitlines() == lines


def test_a_narrow_terminal_wraps_at_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    show_section(ReportSection("Title", [Check("a", True, "word " * 20, "hint " * 20)]))
    lines = capsys.readouterr().out.splitlines()

    assert max(map(len, lines)) < 40
    assert {line[:4] for line in lines[2:]} == {"    "}


def test_the_report_does_not_show_secrets_or_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        '[providers.a]\napi_key = "canary-of-the-key"\nproxy = "http://me:canary-of-a-proxy@host:1"\n'
        'headers = { "X-Team" = "canary-of-a-header" }\nquery = { "sig" = "canary-of-the-query" }\n'
    )
    monkeypatch.setenv("SOME_TOKEN", "canary-of-a-variable")
    monkeypatch.setenv("HTTPS_PROXY", "me:canary-of-another@host:1")
    monkeypatch.setenv("HOME", str(tmp_path))
    hide_secrets(environment_of_process(), file)
    secrets = ("the-key", "a-proxy", "a-header", "the-query", "a-variable", "another")
    text = " ".join(f"canary-of-{each}" for each in secrets)

    assert make_redactor(redact)(f"{text} {file}") == f"{' '.join(['***'] * 6)} ~/config.toml"


def test_links_to_the_same_program_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    for name in ("a", "c"):
        (tmp_path / name / "jumpseat").write_text("#!/bin/sh\necho jumpseat 0.0.9\n")
        (tmp_path / name / "jumpseat").chmod(0o755)
    (tmp_path / "b" / "jumpseat").symlink_to(tmp_path / "a" / "jumpseat")
    path = ":".join(str(tmp_path / name) for name in ("a", "b", "none", "c"))

    assert programs_on_path(path) == [tmp_path / "a" / "jumpseat", tmp_path / "c" / "jumpseat"]
    # Relative directories and empty entries of the PATH are skipped.
    monkeypatch.chdir(tmp_path)
    assert programs_on_path("a:.:") == []


async def test_several_programs_of_different_versions_are_a_problem(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        folder = tmp_path / f"bin{number}"
        folder.mkdir()
        (folder / "jumpseat").write_text(f"#!/bin/sh\necho jumpseat 0.0.{number}$SOME_TOKEN\n")
        (folder / "jumpseat").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin1'}:{tmp_path / 'bin2'}")
    monkeypatch.setenv("SOME_TOKEN", "canary")  # This must not be passed to other programs.
    checks = {check.name: check for check in (await check_installation()).checks}

    assert checks["program"].ok is False
    assert "bin1/jumpseat (0.0.1)" in checks["program"].message
    assert "bin2/jumpseat (0.0.2)" in checks["program"].message


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_a_state_directory_that_others_can_open_is_a_problem(home: Path) -> None:
    home.chmod(0o755)
    checks = {check.name: check for check in asyncio.run(check_installation()).checks}

    assert checks["state"].ok is False
    assert checks["state"].hint == f"Run `chmod 700 {home}`."


async def test_a_warning_that_ends_with_a_question_mark_gets_no_full_stop(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('defualt_model = "m"\n[prompts.p]\n', "utf-8")
    texts = [check.message for check in (await check_configuration(file)).checks]

    assert next(text for text in texts if "did you mean" in text).endswith("did you mean default_model?")
    assert next(text for text in texts if "prompts.p" in text).endswith("is missing.")
