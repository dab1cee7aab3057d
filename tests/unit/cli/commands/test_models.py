"""`jumpseat models`, `status` and `tokens`, with the scripted daemon."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jumpseat_cli.commands.models import format_cost
from jumpseat_cli.commands.status import format_quota
from jumpseat_cli.daemon.rows import is_included, short_count
from tests.fakes.scenario import Scenario
from tests.fakes.terminal import Terminal
from tests.unit.cli.commands.test_status import provider
from tests.unit.cli.test_program import OWN, argv, run

pytestmark = pytest.mark.timeout(60)

PRICES = {"batch_size": 1_000_000, "default": {"input_price": 330, "output_price": 1650}}
FREE = {"batch_size": 0, "default": {"input_price": 0, "output_price": 0}}


def row(name: str, **more: Any) -> dict[str, Any]:
    provider_id, _, model = name.partition(":")
    return {"id": name, "provider": provider_id, "model": model, "name": model.title(), **more}


MODELS = [
    row("copilot:gpt-4.1", isDefault=True, maxContextTokens=128_000, maxOutputTokens=16_384),
    row("copilot:claude-opus", vendor="Anthropic", billing={"tokenPrices": PRICES}),
]
FAILURE = {"error": {"code": 1000, "message": "Not signed in."}}


def scenario_with_models(folder: Path, **answers: Any) -> Scenario:
    """Return a daemon that lists `MODELS`, and three providers that are not set up.

    Args:
        folder: the directory for the scenario.
        answers: other answers by method, with an underscore in place of the slash.
    """
    errors = [{"provider": each, **FAILURE} for each in ("copilot", "local", "mine")]
    rows = [
        provider("copilot", "signed_out", configured=False, builtIn=True),
        provider("local", "signed_out", configured=False, builtIn=True, isDefault=True),
        provider("mine", "signed_out", configured=False, builtIn=False),
    ]
    return Scenario(
        folder,
        answers={
            "models/list": {"models": MODELS, "errors": errors},
            "providers/list": {"providers": rows},
            "settings/save": {"settings": {}},
            **{name.replace("_", "/"): answer for name, answer in answers.items()},
        },
    )


def test_the_models_of_a_slow_provider_are_waited_for(tmp_path: Path) -> None:
    error = {"code": 1008, "message": "Not yet.", "data": {"retryable": True, "retryAfter": 1.0}}
    slow = {"models": [], "errors": [{"provider": "mine", "error": error}]}
    fetched = {"models": [row("mine:m")], "errors": []}
    done = run(scenario_with_models(tmp_path, models_list=[slow, slow, fetched]), "models")
    assert "mine:m" in done.stdout
    assert done.stderr == ""


def test_a_provider_that_is_not_set_up_is_not_an_error(tmp_path: Path) -> None:
    done = run(scenario_with_models(tmp_path), "models")

    assert done.returncode == 0
    # Errors are reported for the default provider and for those that the user has defined.
    assert done.stderr == "jumpseat: local: Not signed in.\njumpseat: mine: Not signed in.\n"


def test_words_are_searched_in_names_and_vendors(tmp_path: Path) -> None:
    scenario = scenario_with_models(tmp_path)
    found = json.loads(run(scenario, "models", "--json", "ANTHROPIC", "opus").stdout)
    assert [model["id"] for model in found["models"]] == ["copilot:claude-opus"]

    done = run(scenario, "models", "claude-opsu")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "jumpseat: No model has 'claude-opsu' in its name.\nhint: Did you mean copilot:claude-opus?\n"
    )


def test_models_are_readable_in_40_columns(tmp_path: Path) -> None:
    terminal = Terminal(argv(scenario_with_models(tmp_path), "models"), size=(24, 40))
    code, output = terminal.finish()
    lines = [line.rstrip() for line in OWN.sub("", output).splitlines()]

    assert code == 0
    assert lines[:3] == ["copilot:gpt-4.1", "  Gpt-4.1; context 128k; output 16k;", "  default"]
    assert max(map(len, lines[:6])) <= 40


def test_the_default_model_is_shown_and_set(tmp_path: Path) -> None:
    scenario = scenario_with_models(tmp_path)
    assert run(scenario, "models", "default").stdout == "copilot:gpt-4.1\n"

    done = run(scenario, "models", "default", "copilot:claude-opus")
    assert scenario.read_messages("settings/save")[-1]["params"] == {
        "settings": {"default_model": "copilot:claude-opus"}
    }
    assert done.stderr == ""
    methods = [message["method"] for message in scenario.read_messages() if "method" in message]
    assert methods.index("models/list") < methods.index("settings/save")
    overridden = {"settings": {}, "warnings": [{"code": "overridden", "message": "The file sets it."}]}
    warned = scenario_with_models(tmp_path, settings_save=overridden)
    for words in (["models", "default", "copilot:gpt-4.1"], ["settings", "set", "max_tokens", "5"]):
        assert run(warned, *words).stderr == "warning: The file sets it.\n"

    assert run(scenario, "models", "default", "--unset").returncode == 0
    assert scenario.read_messages("settings/save")[-1]["params"] == {"settings": {"default_model": None}}


def test_a_default_that_no_provider_lists_is_shown(tmp_path: Path) -> None:
    saved = {"settings": {"default_model": "mine:x", "providers": {}}}
    scenario = scenario_with_models(tmp_path, models_list={"models": [], "errors": []}, settings_get=saved)
    assert run(scenario, "models", "default").stdout == "mine:x\n"

    none = scenario_with_models(
        tmp_path, models_list={"models": [], "errors": []}, settings_get={"settings": {}}
    )
    assert run(none, "models", "default").returncode == 1


@pytest.mark.parametrize(
    ("billing", "cost", "included"),
    [
        (None, "", None),
        ({"multiplier": 0}, "included", True),
        ({"multiplier": 0.25}, "0.25x", False),
        ({"tokenPrices": FREE}, "included", True),
        ({"tokenPrices": PRICES}, "330/1650 per 1M", False),
        ({"isPremium": True}, "premium", None),
    ],
)
def test_the_cost_is_shown_as_the_provider_reports_it(billing: Any, cost: str, included: bool | None) -> None:
    model = {"billing": billing}
    assert (format_cost(model), is_included(model)) == (cost, included)


def test_counts_are_short() -> None:
    assert [short_count(each) for each in (None, 512, 8192, 128_000, 1_047_576)] == [
        "", "512", "8192", "128k", "1.05M",
    ]  # fmt: skip


def test_a_quota_is_a_bar_with_its_numbers() -> None:
    quota = {"name": "premium", "unlimited": False, "percentRemaining": 25.0}
    reset = datetime(2026, 12, 1, 12, tzinfo=UTC)
    numbers = {"remaining": 75, "entitlement": 300, "resetAt": reset.isoformat()}
    bar = f"{'█' * 5}{'░' * 15}"
    assert format_quota(quota) == f"{bar} 25 % left"
    assert (
        format_quota({**quota, **numbers}) == f"{bar} 75 of 300 left, resets on {reset.astimezone():%Y-%m-%d}"
    )
    assert format_quota({"unlimited": True}) == "unlimited"
    assert "further use is billed" in format_quota({**quota, "percentRemaining": 0, "overagePermitted": True})


def test_status_shows_the_quotas_of_an_account(tmp_path: Path) -> None:
    quotas = [{"name": "chat", "unlimited": True, "percentRemaining": 100.0}]
    auth = {"provider": "copilot", "state": "signed_in", "plan": "individual", "quotas": quotas}
    rows = {"providers": [provider("copilot", "signed_in", isDefault=True)]}
    scenario = Scenario(tmp_path, answers={"providers/list": rows, "auth/status": auth})

    done = run(scenario, "status")
    assert done.stdout.splitlines()[:2] == [
        "copilot\topenai\tsigned in\tdefault; individual",
        "copilot chat: unlimited",
    ]
    assert run(scenario, "status", "--probe").returncode == 0
    assert scenario.read_messages("providers/list")[-1]["params"] == {"probe": True}


@pytest.mark.parametrize("arguments", [("tokens", "Hello"), ("tokens", "--exact", "Hello")])
def test_tokens_are_a_number_in_a_pipe(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    scenario = Scenario(tmp_path, answers={"chat/countTokens": {"tokens": 7, "method": "provider"}})
    done = run(scenario, *arguments)
    assert (done.returncode, done.stdout) == (0, "7\n")
    params = scenario.read_messages("chat/countTokens")[0]["params"]
    assert params["allowEstimate"] is ("--exact" not in arguments)


def test_files_and_piped_input_are_counted(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, answers={"chat/countTokens": {"tokens": 7, "method": "estimate"}})
    file = tmp_path / "a.txt"
    file.write_text("one", "utf-8")
    done = run(scenario, "tokens", "-f", str(file), "-f", "-", "three", "-m", "p:m", piped="two")

    assert done.returncode == 0
    params = scenario.read_messages("chat/countTokens")[0]["params"]
    assert params["model"] == "p:m"
    assert [block["text"] for block in params["messages"][0]["content"]] == ["one", "two", "three"]

    assert run(scenario, "tokens", piped="two").stdout == "7\n"
    assert (
        scenario.read_messages("chat/countTokens")[1]["params"]["messages"][0]["content"][0]["text"] == "two"
    )


def test_a_count_that_the_provider_refuses_is_a_failure(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, answers={"chat/countTokens": {"tokens": -1, "method": "unsupported"}})
    done = run(scenario, "tokens", "--exact", "Hello")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Leave out --exact" in done.stderr


def test_an_empty_input_and_a_binary_file_are_reported(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    assert run(Scenario(tmp_path), "tokens").returncode == 2
    done = run(Scenario(tmp_path), "tokens", "-f", str(tmp_path / "binary"))
    assert done.returncode == 2
    assert "is not UTF-8 text" in done.stderr
