"""Checks over the recordings: each answer, in every arrival, comes to what it should and keeps the laws.

Above it is `contract`; below it are the format of recordings and the hooks in `stage`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from jumpseat.chat import Fold, ProgressEvent, StreamEvent, ToolUseDoneEvent, ToolUseStartEvent, merge_deltas
from jumpseat.testing.laws import assert_laws, assert_response, check
from jumpseat.testing.recordings import SLICES, Recording
from jumpseat.testing.stage import ContractBase, bounded

_NO_FOLDER = "this contract names no folder of `recordings`"


class RecordedChecks(ContractBase):
    """What the provider really says, or would say by its documentation."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """A test for each recording; an empty or missing folder fails in a check of its own."""
        wanted = {"answered": False, "failed": True}
        for name in wanted.keys() & set(metafunc.fixturenames):
            try:
                found = self.loaded_recordings()
            except ValueError:
                found = []  # `test_the_recordings_can_be_read` says what is wrong with them.
            cases = [pytest.param(each, id=each.name) for each in found if each.fails == wanted[name]]
            metafunc.parametrize(name, cases or [self._no_recording(name)])

    def _no_recording(self, name: str) -> Any:
        """A case that is skipped with its reason, whatever pytest is configured to do without any case."""
        kind = "a failure" if name == "failed" else "an answer"
        told = f"{self.recordings} holds no recording of {kind}"
        reason = _NO_FOLDER if self.recordings is None else told
        return pytest.param(None, id="none", marks=pytest.mark.skip(reason=reason))

    def test_the_recordings_can_be_read(self) -> None:
        """The folder is there, its files belong together, and both kinds of answer are among them."""
        if self.recordings is None:
            pytest.skip(_NO_FOLDER)
        check(self.recordings.is_dir(), f"there is no folder {self.recordings}.")
        found = [each for each in self.loaded_recordings() if not each.fails]
        check(found, f"{self.recordings} holds no recording of an answer.")
        check(any(each.streamed for each in found), "no recording is of a streamed answer.")
        check(not all(each.streamed for each in found), "no recording is of an answer that came whole.")

    @bounded
    async def test_a_recorded_answer_comes_to_what_it_should_in_every_arrival(
        self, answered: Recording
    ) -> None:
        """In one write, byte by byte, in sevens: the same events but for where deltas are cut."""
        request, first = self.request_of(answered), None
        async with self.stage() as stage:
            for arrival, size in SLICES.items():
                stage.answer(answered.reply(size))
                events = await stage.events(request)
                assert_laws(events)
                same = _comparable(events, answered)
                first = first or same
                check(
                    same == first,
                    f"arriving {arrival}, {answered.name} gives other events:\n{same}\ninstead of\n{first}",
                )
            fold = Fold(stage.provider, request.model)
            for event in events:
                fold.add(event)
            response = fold.response()
            assert_response(response, provider=stage.provider, model=request.model)
            answered.assert_comes_to(response)

    @bounded
    async def test_a_recorded_answer_is_the_same_whatever_was_asked_for(self, answered: Recording) -> None:
        """A provider may stream though it was told not to, and the other way round."""
        request = self.request_of(answered)
        async with self.stage() as stage:
            stage.answer(answered.reply(), answered.reply())
            one = await stage.chat(request)
            other = await stage.chat(replace(request, stream=not request.stream))
            for response in (one, other):
                assert_response(response, provider=stage.provider, model=request.model)
                answered.assert_comes_to(response)

    @bounded
    async def test_a_recorded_failure_is_the_error_it_should_be(self, failed: Recording) -> None:
        """Of its class, with the provider's words in it."""
        request, wanted = self.request_of(failed), failed.expected["error"]
        async with self.stage() as stage:
            for size in SLICES.values():
                stage.answer(failed.reply(size))
                error = await stage.failure(request)
                found = type(error).__name__
                check(found == wanted["class"], f"{failed.name} is a {found}: {error.message}")
                words = wanted.get("message", "")
                check(words in error.message, f"{words!r} is not in the message {error.message!r}.")
                check(error.provider == stage.provider, f"the error's provider is {error.provider!r}.")
                check(error.partial is not None, "the error has no partial.")
                if error.partial is not None and "text" in failed.expected:
                    text = error.partial.text
                    check(text == failed.expected["text"], f"the partial's text is {text!r}.")


def _comparable(events: Sequence[StreamEvent], recording: Recording) -> list[str]:
    """The events as text, deltas joined, and without ids that the adapter had to make up.

    What was made up is what the answer does not hold.
    """
    made_up = [
        found
        for event in events
        if isinstance(event, ToolUseStartEvent | ToolUseDoneEvent)
        for found in [event.id if isinstance(event, ToolUseStartEvent) else event.content.id]
        if found.encode() not in recording.body
    ]
    # A wait that is not the model's, as for a model that is loaded, is over when the next answer comes.
    texts = [repr(event) for event in merge_deltas(events) if not isinstance(event, ProgressEvent)]
    for number, found in enumerate(dict.fromkeys(made_up)):
        texts = [text.replace(repr(found), f"<made-up id {number}>") for text in texts]
    return texts
