"""Models of a language server: the list, the default model, and terms."""

from __future__ import annotations

import pytest

from jumpseat.adapters.base.account import AuthStatus
from jumpseat.chat import AuthenticationError, AuthorizationError, ContextExceededError, RequestError
from jumpseat.wire import RpcError
from tests.fakes.language_server import FakeLanguageServer
from tests.fakes.language_server_answers import MODELS, begin, end, turn
from tests.unit.adapters.github.language_server.adapters import (
    Make,
    ask,
    collect_events,
    remove_conversations,
)

# -- the list


@pytest.mark.requirement("language-server:models-default")
async def test_the_list_and_the_default_are_fetched_once(fake: FakeLanguageServer, make: Make) -> None:
    adapter = make()

    assert not adapter.cached_models()
    assert await adapter.find_default_model() == "gpt-4.1"
    assert [row.model for row in adapter.cached_models() if row.is_default] == ["gpt-4.1"]
    shown = [row.model for row in adapter.cached_models() if row.picker_enabled]
    assert shown == ["gpt-4.1", "claude-sonnet-4.6"]
    assert adapter.max_context_tokens("claude-sonnet-4.6") == 200_000
    assert adapter.max_context_tokens("nothing") is None
    await adapter.find_default_model()
    assert fake.methods.count("copilot/models") == 1


@pytest.mark.requirement("language-server:models-default")
async def test_the_configured_default_takes_precedence_over_the_servers(
    fake: FakeLanguageServer, make: Make
) -> None:
    adapter = make(default_model="claude-sonnet-4.6")

    assert await adapter.find_default_model() == "claude-sonnet-4.6"
    assert fake.starts == []
    rows = await adapter.list_models()
    assert [row.model for row in rows if row.is_default] == ["claude-sonnet-4.6"]


@pytest.mark.requirement("language-server:models", "language-server:auto")
async def test_a_server_without_conversations_lists_its_completion_model(
    fake: FakeLanguageServer, make: Make
) -> None:
    remove_conversations(fake)

    (row,) = await make().list_models()

    assert (row.model, row.is_default, row.supports_streaming) == ("gpt-41-copilot", True, False)


@pytest.mark.requirement("language-server:models-change", "language-server:not-ready")
async def test_models_are_not_requested_while_signed_out(fake: FakeLanguageServer, make: Make) -> None:
    fake.status = {"status": "NotSignedIn"}

    with pytest.raises(AuthenticationError) as caught:
        await make().list_models()

    assert "jumpseat login cls" in (caught.value.hint or "")
    assert "copilot/models" not in fake.methods


@pytest.mark.requirement("language-server:models-change", "language-server:did-change")
async def test_a_changed_account_drops_the_list_and_a_changed_quota_keeps_it(
    fake: FakeLanguageServer, make: Make
) -> None:
    adapter = make()
    changes: list[AuthStatus] = []
    adapter.account.on_auth_change = changes.append
    await adapter.account.auth_status(refresh=True)
    await adapter.list_models()
    connection = await adapter._server.connect()

    used = {"premium_interactions": {"percentRemaining": 1, "unlimited": False}, "copilotPlan": "individual"}
    fake.notify("copilot/quotaChange", used)
    # The response to this request shows that the notification has been handled.
    await connection.request("getVersion", seconds=20.0)
    assert adapter.cached_models()

    row = {"category": "auth", "kind": "Normal", "result": {"status": "OK", "user": "hubot"}}
    fake.notify("didChangeStatus/v2", {"statuses": [row]})
    await connection.request("getVersion", seconds=20.0)

    assert list(adapter.cached_models()) == []
    assert [change.login for change in changes[-2:]] == ["octocat", "hubot"]


# -- terms


@pytest.mark.requirement("language-server:terms")
async def test_terms_are_accepted_by_the_server(fake: FakeLanguageServer, make: Make) -> None:
    accepted = [
        {**row, "modelPolicy": {"state": "enabled"}} if "modelPolicy" in row else row for row in MODELS
    ]
    fake.on("copilot/models", list(MODELS), accepted)

    row = await make().account.accept_terms("claude-sonnet-4.6")

    assert row.policy == "enabled"
    assert fake.params("copilot/setModelPolicy") == [{"model": "claude-sonnet-4.6", "status": "enabled"}]


@pytest.mark.requirement("language-server:terms", "language-server:completion-models")
@pytest.mark.parametrize("model", ["claude-sonnet-4.6", "gpt-41-copilot"])
async def test_only_listed_models_that_have_terms_get_them_accepted(
    fake: FakeLanguageServer, make: Make, model: str
) -> None:
    adapter = make(chat_api="completion")

    with pytest.raises(RequestError):
        await adapter.account.accept_terms(model)
    assert "copilot/setModelPolicy" not in fake.methods
    assert [row.model for row in adapter.cached_models()] == ["gpt-41-copilot"]


@pytest.mark.requirement("language-server:terms", "language-server:errors")
@pytest.mark.parametrize("list_first", [True, False])
@pytest.mark.parametrize(
    ("model", "reason", "kind"),
    [
        ("claude-sonnet-4.6", "model_not_supported", AuthorizationError),
        ("claude-sonnet-4.6", "model_max_prompt_tokens_exceeded", ContextExceededError),
        ("gpt-4.1", "model_not_supported", RequestError),
        ("gone", "model_not_supported", RequestError),
    ],
)
async def test_only_a_refusal_for_unaccepted_terms_has_the_command_that_accepts_them(
    fake: FakeLanguageServer, make: Make, model: str, reason: str, kind: type[Exception], list_first: bool
) -> None:
    refused = {"message": "the model is not supported. Please try again.", "code": 400, "reason": reason}
    fake.on("conversation/create", turn(fake, begin(), end(refused)))
    adapter = make()
    if list_first:
        await adapter.list_models()

    with pytest.raises(kind) as caught:
        await collect_events(adapter, ask(model=model))

    assert type(caught.value) is kind
    is_hinted = "`jumpseat accept-terms cls:claude-sonnet-4.6`" in (caught.value.hint or "")
    assert is_hinted is (kind is AuthorizationError)
    if list_first and model != "gone":
        assert len(fake.params("copilot/models")) == 1
    assert fake.params("copilot/setModelPolicy") == []


@pytest.mark.requirement("language-server:terms")
async def test_a_failed_list_does_not_change_a_refusal(fake: FakeLanguageServer, make: Make) -> None:
    refused = {"message": "the model is not supported.", "code": 400, "reason": "model_not_supported"}
    fake.on("conversation/create", turn(fake, begin(), end(refused)))
    fake.on("copilot/models", RpcError(-32603, "HTTP 500"))

    with pytest.raises(RequestError, match="does not offer"):
        await collect_events(make(), ask(model="claude-sonnet-4.6"))
