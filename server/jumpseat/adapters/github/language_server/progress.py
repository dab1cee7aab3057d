"""Decodes the Copilot language server's reports about a turn into events. Pure: no I/O, no clock.

Sources of the shapes of `$/progress`: `@github/copilot-language-server` 1.539; for older versions, copilot.el
and GitHub's own clients for Xcode and Eclipse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from jumpseat.adapters.github.account import CURRENCY
from jumpseat.adapters.github.language_server.errors import is_cut_off, turn_error
from jumpseat.adapters.github.language_server.notices import Notice
from jumpseat.adapters.github.language_server.words import clean_text
from jumpseat.chat import (
    CitationEvent,
    Cost,
    DoneEvent,
    ProgressEvent,
    ProtocolError,
    ResponseEvent,
    StopReason,
    StreamEvent,
    Usage,
    UsageEvent,
    WarningEvent,
)
from jumpseat.dialects.assembly import BlockAssembler
from jumpseat.dialects.loose_values import count_in, mapping_in, mappings_in, number_in, text_in


class ProgressDecoder:
    """Decodes one turn: `feed` each report, then `finish` once."""

    def __init__(
        self,
        provider: str,
        model: str,
        warnings: Sequence[WarningEvent] = (),
        *,
        expects_thinking: bool = False,
        reset_at: datetime | None = None,
    ) -> None:
        """
        Args:
            provider: the configured provider's id, for origins and errors.
            model: the model's name in the request.
            warnings: warnings about changes to the request, to emit when the answer begins.
            expects_thinking: whether the request has a thinking level. If so, an answer without reasoning
                gets a warning.
            reset_at: the end of a limit that was reported as used up before this turn.
        """
        self.begun = False
        """Whether a report was received. If so, the turn may have been billed."""

        self.ended = False
        """Whether the last report was received."""

        self.conversation_id: str | None = None
        """The server's id of the conversation; None until it is received."""

        self._provider = provider
        self._model = model
        self._warnings = warnings
        self._misses_thinking = expects_thinking
        """Whether reasoning is expected and none was received yet."""

        self._blocks = BlockAssembler(provider, model)
        self._has_response = False
        """Whether the `ResponseEvent` was emitted."""

        self._turn_id: str | None = None
        self._has_text = False
        self._text: list[str] = []
        self._round: Any = None
        """The id of the round that the last text belongs to."""

        self._usage: Usage | None = None
        self._cited: set[str] = set()
        self._warned: set[str] = set()
        self._steps: dict[str, str] = {}
        """The title that was last emitted for each step, by the step's id."""

        self._last_notification = ""
        self._end: Mapping[str, Any] = {}
        """The last report; empty until it is received."""

        self._reset_at = reset_at
        self._is_limited = False
        """Whether a notice about a used-up limit arrived in this turn."""

    @property
    def text(self) -> str:
        """The text so far, identical to the text in the server's history."""
        return "".join(self._text)

    def feed(self, value: Mapping[str, Any]) -> list[StreamEvent]:
        """Return the events of one report, ignoring reports after the last one."""
        if self.ended:
            return []
        self.begun = True
        conversation_id = value.get("conversationId")
        if self.conversation_id is None and isinstance(conversation_id, str):
            self.conversation_id = conversation_id
        kind = value.get("kind")
        turn_id = value.get("turnId")
        if self._turn_id is None and isinstance(turn_id, str):
            self._turn_id = turn_id
        if kind == "report":
            self._decode_report(value)
        elif kind == "end":
            self.ended = True
            self._end = value
        return self._blocks.take()

    def add_notice(self, notice: Notice) -> None:
        """Handle a notice; its warning is emitted with the next report."""
        self._warn(notice.message)
        if notice.reset_at is not None:
            self._reset_at, self._is_limited = notice.reset_at, True

    def finish(self, answer: Any) -> list[StreamEvent]:
        """Return the events at the end of the turn.

        Args:
            answer: the result of the turn's request; None if there is none.

        Raises:
            ChatError: the turn ended with an error, or before it was complete.
        """
        stop_reason, raw = self._stop_reason()
        if not self.ended and not (self._has_response and isinstance(answer, Mapping)):
            what = "early" if self._has_response else "without output"
            raise ProtocolError(f"{self._provider} ended its answer {what}.", provider=self._provider)
        self._start_answer()
        self._blocks.close_all()
        if self._misses_thinking:
            message = (
                "The answer has no reasoning, because the language server sets the thinking level only for "
                "some models."
            )
            self._blocks.emit(WarningEvent("thinking_ignored", message))
        self._add_cost(mapping_in(answer).get("preciseCredits"))
        self._blocks.emit(DoneEvent(stop_reason, self._usage, raw))
        return self._blocks.take()

    def _stop_reason(self) -> tuple[StopReason, str | None]:
        failure = self._in_last_report("error")
        if failure is not None:
            # Treat a value of any type as an error: a failed answer must not be reported as complete.
            error = failure if isinstance(failure, Mapping) else {"message": failure}
            if is_cut_off(error):
                return "max_tokens", "length"
            if error.get("responseIsFiltered") is True and self._has_text:
                return "content_filter", "filtered"
            raise turn_error(
                error,
                provider=self._provider,
                model=self._model,
                reset_at=self._reset_at,
                is_limited=self._is_limited,
            )
        if isinstance(self._in_last_report("unauthorized"), Mapping):
            unauthorized = {"message": "Authorization required"}
            raise turn_error(unauthorized, provider=self._provider, model=self._model)
        if (reason := self._in_last_report("cancellationReason")) is not None:
            words = clean_text(text_in(reason))
            raise ProtocolError(
                f"{self._provider} cancelled the chat{f': {words}' if words else ''}.",
                provider=self._provider,
            )
        if self._last_notification and not self._has_text:
            # With some models, the server reports a failure only as a notification.
            raise turn_error({"message": self._last_notification}, provider=self._provider, model=self._model)
        return "end_turn", None

    def _in_last_report(self, key: str) -> Any:
        """Return the value of a key in the last report, or in its `result`, where older versions have it."""
        value = self._end.get(key)
        return mapping_in(self._end.get("result")).get(key) if value is None else value

    def _decode_report(self, report: Mapping[str, Any]) -> None:
        for notice in mappings_in(report.get("notifications")):
            self._last_notification = text_in(notice.get("message"))
            self._warn(self._last_notification)
        for step in mappings_in(report.get("steps")):
            self._decode_step(step)
        # The value is a text, or a list of the parts of a summary.
        thinking = mapping_in(report.get("thinking")).get("text")
        thinking = "".join(map(text_in, thinking)) if isinstance(thinking, list) else text_in(thinking)
        if thinking:
            self._start_answer()
            self._misses_thinking = False
            self._blocks.add_thinking(thinking)
        # Hidden text is meant for GitHub's own plug-ins.
        if report.get("hideText") is not True:
            rounds = mappings_in(report.get("editAgentRounds"))
            if any(text_in(each.get("reply")) for each in rounds):
                for each in rounds:
                    self._decode_round(each)
            else:
                self._add_text(text_in(report.get("reply")))
        for url, title in _sources(report):
            self._cite(url, title)
        self._decode_usage(report.get("tokenUsage"))

    def _decode_round(self, edit_round: Mapping[str, Any]) -> None:
        reply = text_in(edit_round.get("reply"))
        if not reply:
            return
        if self._round not in (None, edit_round.get("roundId")):
            self._blocks.close_prose()
        self._round = edit_round.get("roundId")
        self._add_text(reply)

    def _add_text(self, piece: str) -> None:
        if piece:
            self._start_answer()
            self._has_text = True
            self._text.append(piece)
            self._blocks.add_text(piece)

    def _start_answer(self) -> None:
        """Emit the start of the answer, if it was not emitted yet."""
        # The server's report `begin` does not start the answer, because it precedes the request to GitHub.
        if not self._has_response:
            self._has_response = True
            self._blocks.emit(ResponseEvent(self._model, self._turn_id))
            for warning in self._warnings:
                self._blocks.emit(warning)

    def _warn(self, message: str) -> None:
        words = clean_text(message)
        if words and words not in self._warned:
            self._warned.add(words)
            self._blocks.emit(WarningEvent("provider_notice", words))

    def _decode_step(self, step: Mapping[str, Any]) -> None:
        """Emit the title of one of the server's steps when the step starts."""
        key, title = text_in(step.get("id")), clean_text(text_in(step.get("title")))
        if step.get("status") == "running" and title and self._steps.get(key) != title:
            self._steps[key] = title
            self._blocks.emit(ProgressEvent(title))

    def _cite(self, url: str, title: str) -> None:
        if url and url not in self._cited:
            self._cited.add(url)
            self._start_answer()
            self._blocks.emit(CitationEvent(self._blocks.text_block, url, title or None))

    def _decode_usage(self, counts: Any) -> None:
        """Update the turn's token counts; `promptTokens` includes `cachedTokens`."""
        if not isinstance(counts, Mapping) or not counts:
            return
        prompt, cached = count_in(counts.get("promptTokens")) or 0, count_in(counts.get("cachedTokens")) or 0
        usage = Usage(
            input_tokens=max(prompt, cached),
            output_tokens=count_in(counts.get("completionTokens")) or 0,
            cache_read_tokens=cached,
        )
        if usage != self._usage:
            self._usage = usage
            self._start_answer()
            self._blocks.emit(UsageEvent(usage))

    def _add_cost(self, credits_used: Any) -> None:
        amount = number_in(credits_used)
        if amount is not None and amount >= 0:
            self._usage = replace(self._usage or Usage(), cost=Cost(float(amount), CURRENCY))
            self._blocks.emit(UsageEvent(self._usage))


def _sources(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield `(URL, licence)` of public code that the answer matches, and `(URL, title)` of search results."""
    for annotation in mappings_in(report.get("annotations")):
        if annotation.get("type") == "ip_code_citations":
            citation = mapping_in(annotation.get("citations"))
            yield text_in(citation.get("url")), text_in(citation.get("license"))
    for reference in mappings_in(report.get("references")):
        for result in mappings_in(mapping_in(reference.get("data")).get("results")):
            yield text_in(result.get("url")), text_in(result.get("title"))
