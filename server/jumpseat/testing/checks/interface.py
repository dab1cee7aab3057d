"""Checks of the adapter interface: the types of results, and the methods that must not send requests."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

from jumpseat.adapters.base import (
    Adapter,
    AuthState,
    AuthStatus,
    Capabilities,
    ChatModel,
    ChatTraits,
    EditsInline,
)
from jumpseat.chat import DEFAULT_MAX_TOKENS, ChatError, ConfigError, ModelInfo
from jumpseat.chat.errors import AuthenticationError
from jumpseat.config import SettingRow
from jumpseat.http import HttpClient
from jumpseat.testing.laws import check
from jumpseat.testing.stage import ContractBase, run_as_test

_INPUT_AND_OUTPUT = frozenset(
    {"open", "socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.fork", "os.posix_spawn"}
)
_watched: list[str] | None = None
_watching_thread = 0
_installed = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched is None or event not in _INPUT_AND_OUTPUT or threading.get_ident() != _watching_thread:
        return
    # An adapter may import modules at any time.
    if event == "open" and str(arguments[0]).endswith((".py", ".pyc", ".pyd", ".so", ".dylib", ".zip")):
        return
    _watched.append(f"{event} {arguments[0]!r}")


@contextmanager
def watched_input_and_output() -> Iterator[list[str]]:
    """Yield a list of the files, connections and processes opened in the context, except imported files."""
    global _installed, _watched, _watching_thread
    if not _installed:  # Install the hook only once because Python cannot remove an audit hook.
        sys.addaudithook(_hook)
        _installed = True
    opened: list[str] = []
    _watched, _watching_thread = opened, threading.get_ident()
    try:
        yield opened
    finally:
        _watched = None


class InterfaceChecks(ContractBase):
    """The checks of the promises in `adapters/base/interface.py`."""

    def test_constructing_does_no_input_or_output(self) -> None:
        """Check this because the start of a client may construct the adapters of all providers."""
        http = HttpClient()
        with watched_input_and_output() as opened:
            adapter = self.make_adapter("http://127.0.0.1:9", http)
        check(isinstance(adapter, Adapter), f"{type(adapter).__name__} is not a subclass of Adapter.")
        check(not opened, f"the constructor does input or output: {', '.join(opened)}")

    @run_as_test
    async def test_constructing_reads_no_credential(self) -> None:
        """Check that an unreadable credential fails only the chat that needs it, before a request is sent."""
        script = self.answers()
        async with self.open_stage() as stage:
            base_url = f"{stage.upstream.origin}{script.base_path}"
            adapter = self.make_adapter_without_credential(base_url, stage.http)
            if adapter is None:
                pytest.skip("this contract has no make_adapter_without_credential")
            stage.adapter, before = adapter, stage.adapter
            error = await stage.collect_failure(self.hello())
            stage.adapter = before
            is_expected = isinstance(error, ConfigError | AuthenticationError)
            check(is_expected, f"a missing credential is a {type(error).__name__}, not a ConfigError.")
            check(not stage.chats, "a chat was sent without its credential.")
            if adapter.account is None:
                pytest.fail("an adapter that needs a credential has no account.")
            status = await adapter.account.auth_status()
            check(status.state == "signed_out", f"auth_status is {status.state} without a credential.")
            check(status.message, "auth_status has no message about the missing credential.")

    @run_as_test
    async def test_name_capabilities_and_traits_need_no_request(self) -> None:
        """Check that they also have the types of the interface."""
        async with self.open_stage() as stage:
            adapter = stage.adapter
            named = isinstance(adapter.provider_name, str) and adapter.provider_name
            check(named, "provider_name is the provider's id, and never empty.")
            known = isinstance(adapter.capabilities, Capabilities)
            check(known, f"capabilities is a {type(adapter.capabilities).__name__}, not Capabilities.")
            traits = adapter.traits
            check(isinstance(traits, ChatTraits), f"traits is a {type(traits).__name__}, not ChatTraits.")
            check(traits.default_model != "", "traits has an empty default_model.")
            check(not stage.upstream.requests, "the name, capabilities or traits needed a request.")

    @run_as_test
    async def test_settings_and_watched_files_need_no_request(self) -> None:
        """Check the settings rows, the files to watch and the result of `inline_output`."""
        async with self.open_stage() as stage:
            adapter = stage.adapter
            for name, row in adapter.settings_rows.items():
                known = isinstance(name, str) and isinstance(row, SettingRow)
                check(known, f"the setting {name!r} is a {type(row).__name__}, not a SettingRow.")
            files = adapter.account.watched_files() if adapter.account is not None else []
            check(
                all(isinstance(file, Path) for file in files), f"watched_files returns {files!r}, not paths."
            )
            replacement = adapter.inline_output("x = 1") if isinstance(adapter, EditsInline) else None
            check(
                replacement is None or isinstance(replacement, str), f"inline_output returns {replacement!r}."
            )
            check(not stage.upstream.requests, "the settings or watched files needed a request.")

    @run_as_test
    async def test_bind_gives_a_model_with_its_names_and_limits(self) -> None:
        """Check the entry point for programs that do not use a daemon."""
        async with self.open_stage() as stage:
            bound = stage.adapter.bind(self.model)
            check(isinstance(bound, ChatModel), f"bind returns a {type(bound).__name__}, not a ChatModel.")
            check(bound.model_name == self.model, f"model_name is {bound.model_name!r}, not {self.model!r}.")
            check(bound.provider_name == stage.provider, "a bound model has another provider_name.")
            check(bound.max_tokens == DEFAULT_MAX_TOKENS, f"max_tokens is {bound.max_tokens} by default.")
            limit = bound.max_context_tokens
            check(limit is None or (type(limit) is int and limit > 0), f"max_context_tokens is {limit!r}.")

    @run_as_test
    async def test_nothing_is_sent_before_the_first_event_is_requested(self) -> None:
        """Check that `stream` only returns the iterator."""
        async with self.open_stage() as stage:
            events = stage.adapter.stream(self.hello())
            check(hasattr(events, "__anext__"), "stream does not return an asynchronous iterator.")
            close = getattr(events, "aclose", None)
            if close is not None:
                await close()
            check(not stage.upstream.requests, "stream made a request before the first event was requested.")

    @run_as_test
    async def test_the_list_of_models_has_valid_rows_of_this_provider(self) -> None:
        """Check also that unknown limits are absent, not 0."""
        if self.speaks_http:
            self.answers()  # This skips the check if there is no script.
        async with self.open_stage() as stage:
            try:
                models = await stage.adapter.list_models()
            except NotImplementedError:
                pytest.skip("this adapter lists no models")
            for model in models:
                check(isinstance(model, ModelInfo), f"a row is a {type(model).__name__}, not a ModelInfo.")
                check(model.provider == stage.provider, f"{model.model} is listed under {model.provider!r}.")
                limits = (model.max_context_tokens, model.max_prompt_tokens, model.max_output_tokens)
                check(all(each is None or each > 0 for each in limits), f"{model.model} has a limit of 0.")
            names = [model.model for model in models]
            check(len(names) == len(set(names)), f"a model is listed twice: {names}.")
            check(sum(model.is_default for model in models) <= 1, "several models are the default.")
            if self.speaks_http:
                missing = [name for name in self.models if name not in names]
                check(not missing, f"the provider lists {missing}, which list_models leaves out.")

    @run_as_test
    async def test_a_count_of_tokens_is_a_number_or_minus_one(self) -> None:
        """Check that the count is -1, not an estimate or 0, if the provider cannot count."""
        async with self.open_stage() as stage:
            tokens = await stage.adapter.count_tokens(self.hello())
            check(type(tokens) is int and (tokens > 0 or tokens == -1), f"count_tokens returns {tokens!r}.")

    @run_as_test
    async def test_the_state_of_the_credential_needs_no_request(self) -> None:
        """Check the state without `refresh`."""
        async with self.open_stage() as stage:
            if stage.adapter.account is None:
                return  # The provider does not need a credential.
            status = await stage.adapter.account.auth_status()
            check(isinstance(status, AuthStatus), f"auth_status returns a {type(status).__name__}.")
            check(status.provider == stage.provider, f"auth_status is for {status.provider!r}.")
            check(status.state in get_args(AuthState), f"auth_status has the state {status.state!r}.")
            check(not stage.upstream.requests, "auth_status makes a request though refresh is false.")

    @run_as_test
    async def test_a_probe_gives_capabilities_or_nothing(self) -> None:
        """Check that a probe returns `Capabilities`, some of its fields by name, or None."""
        async with self.open_stage() as stage:
            try:
                probed = await stage.adapter.probe()
            except ChatError:
                return
            if probed is None or isinstance(probed, Capabilities):
                return
            check(isinstance(probed, Mapping), f"probe returns a {type(probed).__name__}.")
            unknown = sorted(set(probed) - {field.name for field in fields(Capabilities)})
            check(not unknown, f"probe returns {unknown}, which are not fields of Capabilities.")
            check(
                all(type(each) is bool for each in probed.values()),
                f"probe returns {probed!r}, not booleans.",
            )

    @run_as_test
    async def test_closing_twice_is_harmless(self) -> None:
        """Close twice, because the registry also closes an adapter that a plug-in has already closed."""
        async with self.open_stage() as stage:
            await stage.adapter.aclose()
            await stage.adapter.aclose()
