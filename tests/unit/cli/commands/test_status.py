"""`jumpseat status` and `jumpseat logout`, with the scripted daemon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.scenario import Scenario
from tests.unit.cli.test_program import run

pytestmark = pytest.mark.timeout(60)


def test_status_shows_that_a_provider_does_not_need_a_sign_in(tmp_path: Path) -> None:
    rows = [provider("one", "not_required", isDefault=True)]
    done = run(Scenario(tmp_path, answers={"providers/list": {"providers": rows}}), "status")
    assert done.stdout.startswith("one\topenai\tno sign-in needed\t")


def provider(name: str, state: str, **more: Any) -> dict[str, Any]:
    auth = {"provider": name, "state": state, "message": f"Message of {name}."}
    return {"id": name, "name": name.title(), "kind": "openai", "configured": True, "auth": auth, **more}


@pytest.mark.parametrize(
    ("providers", "expected"),
    [
        ([provider("one", "configured", isDefault=True)], 'Next: jumpseat chat "Hello"'),
        ([provider("one", "signed_out", isDefault=True)], "one is not ready. Message of one."),
        (
            [provider("one", "signed_out", isDefault=True, authMethod="api_key")],
            "Next: jumpseat keys set one (its API key)",
        ),
        ([provider("one", "expired", isDefault=True, authMethod="api_key")], "one is not ready."),
        ([provider("one", "signed_out"), provider("two", "configured")], "settings set default_provider two"),
        ([provider("one", "signed_out")], "jumpseat login"),
        ([provider("one", "signed_out")], "jumpseat local install"),
        ([provider("one", "signed_out")], "jumpseat config init"),
        (
            [provider("one", "signed_out", authMethod="api_key", builtIn=False)],
            "Next: jumpseat keys set one (its API key)",
        ),
    ],
)
def test_status_shows_the_next_step(tmp_path: Path, providers: list[dict[str, Any]], expected: str) -> None:
    done = run(Scenario(tmp_path, answers={"providers/list": {"providers": providers}}), "status")
    assert done.returncode == 0
    assert done.stdout.startswith("one\topenai\t")
    assert expected in done.stdout.splitlines()[-1]


@pytest.mark.parametrize("as_json", [False, True])
def test_status_fails_with_the_error_of_a_faulty_default(tmp_path: Path, as_json: bool) -> None:
    rows = [provider("one", "configured")]
    data = {"kind": "config", "hint": "Correct the file."}
    error = {"code": 1010, "message": "default_provider is 'won'.", "data": data}
    answers = {"providers/list": {"providers": rows}, "auth/status": {"error": error}}
    done = run(Scenario(tmp_path, answers=answers), "status", *(["--json"] if as_json else []))

    assert done.returncode == 1
    if as_json:
        assert json.loads(done.stdout) == {"providers": rows, "default": None, "error": error}
        return
    assert done.stdout == "one\topenai\tconfigured\tMessage of one.\n"
    assert done.stderr == "jumpseat: default_provider is 'won'.\nhint: Correct the file.\n"


@pytest.mark.parametrize("state", ["signed_in", "not_authorized"])
def test_a_logout_that_changes_nothing_reports_the_reason(tmp_path: Path, state: str) -> None:
    status = {"provider": "one", "state": state, "login": "octocat", "message": "octocat stays: unset it."}
    done = run(Scenario(tmp_path, answers={"auth/status": status, "auth/signOut": status}), "logout", "one")
    assert (done.returncode, done.stderr) == (0, "octocat stays: unset it.\n")


def test_a_logout_of_a_provider_without_accounts_is_reported(tmp_path: Path) -> None:
    status = {"provider": "local", "state": "not_required"}
    done = run(Scenario(tmp_path, answers={"auth/status": status, "auth/signOut": status}), "logout", "local")
    assert (done.returncode, done.stderr) == (0, "local does not need a sign-in.\n")


def test_status_as_json_names_the_default(tmp_path: Path) -> None:
    rows = [provider("one", "signed_out"), provider("two", "configured", isDefault=True)]
    done = run(Scenario(tmp_path, answers={"providers/list": {"providers": rows}}), "status", "--json")
    assert json.loads(done.stdout) == {"providers": rows, "default": "two"}
