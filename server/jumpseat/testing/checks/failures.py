"""Checks that each failure raises an error of the right class, with a message and the answer received so far.

`jumpseat/chat/errors.py` defines the classes.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from jumpseat.adapters.base import events_of
from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatError,
    ConnectionError,
    ProtocolError,
    QuotaExceededError,
    RateLimitError,
    RequestError,
    ServerError,
    StreamEvent,
    TextDeltaEvent,
)
from jumpseat.system.secrets import SHORTEST_REDACTED
from jumpseat.testing.laws import assert_laws, check
from jumpseat.testing.stage import ContractBase, Stage, run_as_test
from jumpseat.testing.upstream import Gate, Reply

BEFORE, AFTER = "Half-of-it", "and-the-rest"
MAX_MESSAGE = 1000

STATUSES: Sequence[tuple[int, type[ChatError]]] = (
    (400, RequestError),
    (401, AuthenticationError),
    (402, QuotaExceededError),
    (403, AuthorizationError),
    (404, RequestError),
    (422, RequestError),
    (429, RateLimitError),
    (500, ServerError),
    (503, ServerError),
    (529, ServerError),
)

_HTML = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>Oh</h1></body></html>"
_TAG = re.compile(r"<[a-zA-Z!/][^>]*>")


class FailureChecks(ContractBase):
    """The checks of failures of the provider and of the connection."""

    @pytest.mark.parametrize(("status", "cls"), STATUSES, ids=lambda value: getattr(value, "kind", None))
    @run_as_test
    async def test_a_refusal_has_its_class(self, status: int, cls: type[ChatError]) -> None:
        """Check that the error also has the status, and the provider's message or name."""
        script = self.answers()
        for stream in (True, False):
            async with self.open_stage() as stage:
                stage.answer(script.error_answer(status, "The provider has its reasons."))
                error = await stage.collect_failure(self.hello(stream=stream))
                self._assert_error(error, cls, stage, status)
                # An adapter may replace the provider's message with a better one.
                is_named = "has its reasons" in error.message or stage.provider in error.message
                check(is_named, f"neither the provider's name nor its message is in {error.message!r}.")
                is_authorization = cls is AuthenticationError and isinstance(error, AuthorizationError)
                check(
                    not is_authorization,
                    "401 means a wrong credential (AuthenticationError), not a missing permission.",
                )
                check(error.partial is not None and not error.partial.content, "the partial is not empty.")

    @run_as_test
    async def test_a_rate_limit_has_the_delay_of_the_provider(self) -> None:
        """Send `retry-after` in seconds and as a date."""
        script = self.answers()
        async with self.open_stage() as stage:
            stage.answer(script.error_answer(429, "Too many requests.", retry_after="7"))
            error = await stage.collect_failure(self.hello())
            self._assert_error(error, RateLimitError, stage, 429)
            check(error.retry_after == 7, f"retry-after 7 is {error.retry_after!r}.")
            moment = format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)
            stage.answer(script.error_answer(429, "Too many requests.", retry_after=moment))
            waits = (await stage.collect_failure(self.hello())).retry_after
            check(waits is not None and 20 < waits <= 41, f"a date 40 s from now is {waits!r} s.")

    @run_as_test
    async def test_an_html_page_of_a_proxy_becomes_a_sentence(self) -> None:
        """Check that HTML never reaches the user."""
        self.answers()  # This skips the check if there is no script.
        async with self.open_stage() as stage:
            stage.answer(Reply.raw(_HTML.encode(), 502, "text/html; charset=utf-8"))
            self._assert_error(await stage.collect_failure(self.hello()), ServerError, stage, 502)

    @run_as_test
    async def test_a_body_that_is_not_an_answer_is_a_protocol_error(self) -> None:
        """Send a sign-in page with status 200, then an empty body."""
        self.answers()  # This skips the check if there is no script.
        async with self.open_stage() as stage:
            for body, kind in ((_HTML.encode(), "text/html"), (b"", "application/json")):
                stage.answer(Reply.raw(body, 200, kind))
                self._assert_error(await stage.collect_failure(self.hello()), ProtocolError, stage, None)

    @run_as_test
    async def test_a_credential_reaches_the_provider_but_is_not_in_errors(self) -> None:
        """Check this even if the provider's message contains the credential."""
        script = self.answers()
        if self.secret is None:
            pytest.skip("this contract has no `secret`")
        long_enough = len(self.secret) >= SHORTEST_REDACTED
        check(long_enough, f"the contract's `secret` must have {SHORTEST_REDACTED} characters or more.")
        async with self.open_stage() as stage:
            stage.answer(script.error_answer(401, f"Incorrect API key provided: {self.secret}."))
            error = await stage.collect_failure(self.hello())
            self._assert_error(error, AuthenticationError, stage, 401)
            sent = " ".join(stage.chats[-1].headers.values())
            check(self.secret in sent, "the credential did not reach the provider in a header.")
            check(self.secret not in stage.chats[-1].query, "the credential is in the URL.")

    @run_as_test
    async def test_an_unreachable_provider_is_a_connection_error(self) -> None:
        """Use a base URL at which no server listens."""
        script = self.answers()
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))  # Bind without listening so that no other process gets the port.
            async with self.open_stage() as stage:
                address = f"http://127.0.0.1:{closed.getsockname()[1]}{script.base_path}"
                adapter, stage.adapter = stage.adapter, self.make_adapter(address, stage.http)
                error = await stage.collect_failure(self.hello())
                await stage.adapter.aclose()
                stage.adapter = adapter
                self._assert_error(error, ConnectionError, stage, None)

    @run_as_test
    async def test_a_connection_that_breaks_in_mid_stream_keeps_the_answer_so_far(self) -> None:
        """Reset the connection after half of the answer."""
        gate = Gate()
        half = self._half()
        reply = replace(half, pieces=(*half.pieces, gate), ending="reset")
        await self._assert_broken_answer(reply, gate, (ConnectionError, ProtocolError))

    @run_as_test
    async def test_a_connection_that_closes_in_mid_stream_keeps_the_answer_so_far(self) -> None:
        """Close the connection within a chunked body."""
        await self._assert_broken_answer(
            replace(self._half(), ending="close"), None, (ConnectionError, ProtocolError)
        )

    @run_as_test
    async def test_an_answer_that_ends_early_is_a_protocol_error(self) -> None:
        """Complete the HTTP body without the dialect's end mark."""
        await self._assert_broken_answer(self._half(), None, (ProtocolError,))

    async def _assert_broken_answer(
        self, reply: Reply, gate: Gate | None, classes: tuple[type[ChatError], ...]
    ) -> None:
        async with self.open_stage() as stage:
            # The first reply is for the events below, the second for the partial response.
            stage.answer(reply, replace(reply, ending="close") if gate is None else reply)
            events: list[StreamEvent] = []
            try:
                async with events_of(stage.adapter, self.hello()) as incoming:
                    async for event in incoming:
                        events.append(event)
                        if gate is not None and isinstance(event, TextDeltaEvent):
                            gate.open()
            except ChatError as failed:
                error = failed
            else:
                raise AssertionError(f"the failure was not raised: the events end with {events[-1:]!r}.")
            self._assert_error(error, classes, stage, None)
            assert_laws(events, ended=False)
            text = "".join(event.text for event in events if isinstance(event, TextDeltaEvent))
            check(text == BEFORE, f"before the failure {text!r} was yielded; the provider sent {BEFORE!r}.")
            partial = (await stage.collect_failure(self.hello())).partial
            check(partial is not None and partial.text == BEFORE, f"the partial is {partial!r}.")
            stage.answer(self.answers().text_answer(["Again."], streamed=True))
            again = await stage.chat(self.hello())
            check(again.text == "Again.", f"after a failure the next chat's text is {again.text!r}.")

    def _half(self) -> Reply:
        """Return a streamed answer that ends after the first half of its text but is a complete HTTP body."""
        whole = self.answers().text_answer([BEFORE, AFTER], streamed=True)
        return up_to(whole, BEFORE)

    def _assert_error(
        self,
        error: ChatError,
        cls: type[ChatError] | tuple[type[ChatError], ...],
        stage: Stage,
        status: int | None,
    ) -> None:
        check(isinstance(error, cls), f"it is a {type(error).__name__}: {error.message}")
        check(error.status_code == status, f"status_code is {error.status_code!r}, not {status!r}.")
        check(error.provider == stage.provider, f"provider is {error.provider!r}, not {stage.provider!r}.")
        texts = " ".join(filter(None, (error.message, error.hint, str(error), repr(error))))
        check(error.message.strip(), "the message is empty.")
        check(len(error.message) <= MAX_MESSAGE, f"the message has {len(error.message)} characters.")
        check(not _TAG.search(texts), f"the error contains HTML: {texts!r}")
        check("Traceback" not in texts, f"the error contains a traceback: {texts!r}")
        if self.secret is not None:
            check(self.secret not in texts, f"the error contains the credential: {texts!r}")


def up_to(reply: Reply, words: str) -> Reply:
    """Return the answer up to and including the write that contains these words.

    Raises:
        AssertionError: no single write contains them, so the script does not stream the answer.
    """
    for number, piece in enumerate(reply.pieces):
        if isinstance(piece, bytes) and words.encode() in piece:
            return replace(reply, pieces=reply.pieces[: number + 1])
    raise AssertionError(f"no write of the script's text_answer contains {words!r}: {reply.body!r}")
