"""Checks that each recorded answer results in the expected response and obeys the laws of events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from jumpseat.chat import Fold, ProgressEvent, StreamEvent, ToolUseDoneEvent, ToolUseStartEvent, merge_deltas
from jumpseat.testing.laws import assert_laws, assert_response, check
from jumpseat.testing.recordings import SLICES, Recording
from jumpseat.testing.stage import ContractBase, run_as_test

_NO_FOLDER = "this contract has no folder of `recordings`"


class RecordedChecks(ContractBase):
    """The checks with answers that were recorded from the provider or written from its documentation."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Generate a test for each recording."""
        fails = {"answered": False, "failed": True}
        for name in fails.keys() & set(metafunc.fixturenames):
            try:
                found = self.list_recordings()
            except ValueError:
                found = []  # `test_the_recordings_can_be_read` reports the error.
            cases = [pytest.param(each, id=each.name) for each in found if each.fails == fails[name]]
            metafunc.parametrize(name, cases or [self._no_recording(name)])

    def _no_recording(self, name: str) -> Any:
        """Return a case that is skipped with a reason, whatever pytest's `empty_parameter_set_mark` is."""
        kind = "a failure" if name == "failed" else "an answer"
        missing = f"{self.recordings} has no recording of {kind}"
        reason = _NO_FOLDER if self.recordings is None else missing
        return pytest.param(None, id="none", marks=pytest.mark.skip(reason=reason))

    def test_the_recordings_can_be_read(self) -> None:
        """Check that the folder exists, its files belong together, and it has streamed and whole answers."""
        if self.recordings is None:
            pytest.skip(_NO_FOLDER)
        check(self.recordings.is_dir(), f"there is no folder {self.recordings}.")
        found = [each for each in self.list_recordings() if not each.fails]
        check(found, f"{self.recordings} has no recording of an answer.")
        check(any(each.streamed for each in found), "no recording contains a streamed answer.")
        check(
            not all(each.streamed for each in found), "no recording contains an answer that is not streamed."
        )

    @run_as_test
    async def test_a_recorded_answer_gives_the_expected_response_however_it_arrives(
        self, answered: Recording
    ) -> None:
        """Send the answer whole, or in pieces of 1 or 7 bytes. Only the boundaries of deltas may differ."""
        request, first = self.request_of(answered), None
        async with self.open_stage() as stage:
            for arrival, size in SLICES.items():
                stage.answer(answered.reply(size))
                events = await stage.collect_events(request)
                assert_laws(events)
                found = _comparable(events, answered)
                first = first or found
                check(
                    found == first,
                    f"arriving {arrival}, {answered.name} gives other events:\n{found}\ninstead of\n{first}",
                )
            fold = Fold(stage.provider, request.model)
            for event in events:
                fold.add(event)
            response = fold.response()
            assert_response(response, provider=stage.provider, model=request.model)
            answered.assert_matches(response)

    @run_as_test
    async def test_a_recorded_answer_is_the_same_with_and_without_stream(self, answered: Recording) -> None:
        """Check both ways: a provider may stream although `stream` is false, or the reverse."""
        request = self.request_of(answered)
        async with self.open_stage() as stage:
            stage.answer(answered.reply(), answered.reply())
            one = await stage.chat(request)
            other = await stage.chat(replace(request, stream=not request.stream))
            for response in (one, other):
                assert_response(response, provider=stage.provider, model=request.model)
                answered.assert_matches(response)

    @run_as_test
    async def test_a_recorded_failure_gives_the_expected_error(self, failed: Recording) -> None:
        """Check that the error has the right class and the provider's message."""
        request, expected = self.request_of(failed), failed.expected["error"]
        async with self.open_stage() as stage:
            for size in SLICES.values():
                stage.answer(failed.reply(size))
                error = await stage.collect_failure(request)
                name = type(error).__name__
                check(name == expected["class"], f"{failed.name} is a {name}: {error.message}")
                words = expected.get("message", "")
                check(words in error.message, f"{words!r} is not in the message {error.message!r}.")
                check(error.provider == stage.provider, f"the error's provider is {error.provider!r}.")
                check(error.partial is not None, "the error has no partial.")
                if error.partial is not None and "text" in failed.expected:
                    text = error.partial.text
                    check(text == failed.expected["text"], f"the partial's text is {text!r}.")


def _comparable(events: Sequence[StreamEvent], recording: Recording) -> list[str]:
    """Return the events as text. Deltas are joined, and ids that the adapter generated are replaced."""
    generated = [
        found
        for event in events
        if isinstance(event, ToolUseStartEvent | ToolUseDoneEvent)
        for found in [event.id if isinstance(event, ToolUseStartEvent) else event.content.id]
        if found.encode() not in recording.body
    ]
    # Progress, such as the loading of a model, is reported only with the first answer.
    texts = [repr(event) for event in merge_deltas(events) if not isinstance(event, ProgressEvent)]
    for number, found in enumerate(dict.fromkeys(generated)):
        texts = [text.replace(repr(found), f"<generated id {number}>") for text in texts]
    return texts
