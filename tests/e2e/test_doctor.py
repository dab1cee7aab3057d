"""`jumpseat doctor` with the real daemon and with good and bad providers. It must never show a secret."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.fakes.tls_front import Authority, TlsFront
from tests.unit.pages import COMMAND_LINE, fences

pytestmark = [pytest.mark.timeout(60), pytest.mark.slow, pytest.mark.usefixtures("no_proxies")]

BAD = """
[providers.down]
kind = "openai"
base_url = "http://127.0.0.1:9/v1?sig=canary-of-the-query"
api_key = "cmd:false canary-of-a-command"
headers = { "X-Team" = "canary-of-a-header" }
[providers.away]
kind = "openai"
base_url = "https://no-such-host.invalid/v1"
api_key = "canary-of-the-file"
[providers.wrong]
kind = "openai"
api_key = ["canary-of-a-list"]
"""


@pytest.fixture
def upstream() -> Iterator[ThreadedUpstream]:
    with ThreadedUpstream() as running:
        running.default(Reply.json({"data": [{"id": "m"}]}), path="/v1/models")
        running.default(Reply.events(completion_stream(["ok"])), path="/v1/chat/completions")
        yield running


def write_configuration(home: Path, upstream: ThreadedUpstream, more: str = "") -> None:
    home.chmod(0o700)
    (home / "config.toml").write_text(
        f'default_provider = "good"\n[providers.good]\nkind = "openai"\nbase_url = "{upstream.base_url}"\n'
        f'api_key = "env:GOOD_KEY"\ndefault_model = "m"\n{more}'
    )


def doctor(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "jumpseat", "doctor", *arguments],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", timeout=45, check=False,
        env={**os.environ, "GOOD_KEY": "canary-of-a-variable", **variables},
    )  # fmt: skip


def problems(done: subprocess.CompletedProcess[str]) -> dict[str, set[str]]:
    """Return the names of the failed checks by provider or section; assert that `ok` agrees with them."""
    report: dict[str, Any] = json.loads(done.stdout)
    found = {
        section.get("provider", section["title"]): {
            check["name"] for check in section["checks"] if check["ok"] is False
        }
        for section in report["sections"]
    }
    assert report["ok"] is not any(found.values())
    return found


def test_a_file_that_is_not_toml_is_reported_as_one_problem(home: Path) -> None:
    home.chmod(0o700)
    (home / "config.toml").write_text("[providers\n", "utf-8")
    done = doctor("--json")

    assert problems(done)["Configuration"] == {"error"}
    assert problems(done)["Providers"] == set()
    assert "The providers were not checked" in done.stdout


def test_a_machine_that_works_has_no_problems(home: Path, upstream: ThreadedUpstream) -> None:
    write_configuration(home, upstream)
    done = doctor()

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\nNo problems.\n")
    assert "  ✓ good lists 1 model.\n" in done.stdout
    assert "answered a short chat (15 tokens)" in done.stdout
    paths = [(request.method, request.path) for request in upstream.requests]
    assert paths.count(("POST", "/v1/chat/completions")) == 1


def test_the_no_chat_option_prevents_the_chat(home: Path, upstream: ThreadedUpstream) -> None:
    write_configuration(home, upstream)
    assert doctor("--no-chat", "good").returncode == 0
    assert {request.method for request in upstream.requests} == {"HEAD", "GET"}


def test_each_problem_is_reported_without_secrets(home: Path, upstream: ThreadedUpstream) -> None:
    write_configuration(home, upstream, BAD)
    proxy = {"HTTPS_PROXY": "http://me:canary-of-a-proxy@127.0.0.1:9"}
    as_json, as_text = doctor("--json", **proxy), doctor(**proxy)

    assert problems(as_json) == {
        "Installation": set(),
        "Configuration": {"error"},
        "Daemon": set(),
        "copilot": set(),
        "local": set(),
        "good": set(),
        "down": {"credential", "connection"},
        "away": {"connection"},
        "wrong": {"configuration"},
    }
    assert as_json.returncode == as_text.returncode == 1
    assert "problems.\n" in as_text.stdout
    for done in (as_json, as_text):
        assert "canary" not in done.stdout + done.stderr


def test_an_unknown_provider_is_reported_with_the_most_similar_name(
    home: Path, upstream: ThreadedUpstream
) -> None:
    write_configuration(home, upstream)
    done = doctor("goood")

    assert done.returncode == 1
    assert "good" in done.stdout.partition("Providers")[2]


@pytest.mark.parametrize("provider", ["good:", ""])
def test_a_mistyped_default_model_of_the_configuration_file_is_found(
    home: Path, upstream: ThreadedUpstream, provider: str
) -> None:
    write_configuration(home, upstream)
    file = home / "config.toml"
    file.write_text(f'default_model = "{provider}typo"\n' + file.read_text("utf-8"), "utf-8")
    refused = {"error": {"message": "The model typo does not exist", "code": "model_not_found"}}
    upstream.default(Reply.json(refused, status=404), path="/v1/chat/completions")
    done = doctor()

    assert done.returncode == 1
    assert "typo" in done.stdout.partition("Provider good")[2]
    asked = [request.json["model"] for request in upstream.requests if request.path.endswith("completions")]
    assert set(asked) == {"typo"}


def write_groq_configuration(home: Path, front: TlsFront, authority: Authority) -> None:
    home.chmod(0o700)
    (home / "config.toml").write_text(
        f'[providers.groq]\nkind = "openai"\nbase_url = "https://localhost:{front.port}/v1"\n'
        f'api_key = "env:GROQ_API_KEY"\nca_file = "{authority.file}"\n',
        "utf-8",
    )


async def test_the_report_on_the_page_matches_the_output(
    home: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shown,) = (text for text in fences(COMMAND_LINE, "text") if text.startswith("Provider groq"))
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    async with FakeUpstream() as upstream, TlsFront(authority.server("localhost"), upstream.origin) as front:
        date = format_datetime(datetime.now(UTC), usegmt=True)
        upstream.default(Reply.json({}, status=404, date=date), path="/")
        write_groq_configuration(home, front, authority)
        done = await asyncio.to_thread(doctor, "groq")
        host = f"localhost:{front.port}"

    printed = done.stdout.replace(host, "api.groq.com:443").replace("localhost", "api.groq.com")
    assert remove_facts(printed).endswith(remove_facts(shown)), printed


def remove_facts(report: str) -> str:
    """Remove from a report the facts that depend on the host: addresses, the issuer, the TLS version."""
    report = re.sub(r"(api\.groq\.com resolves to) .*", r"\1 ADDRESSES.", report)
    return re.sub(r"issued by .*, is trusted \(.*\)", "issued by SOMEBODY, is trusted", report)
