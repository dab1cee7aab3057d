"""The contract suite itself: it fails for an adapter that breaks a rule, and names the rule."""

import asyncio
import gc

import pytest

from jumpseat.chat import (
    ChatError,
    ConnectionError,
    DoneEvent,
    RequestError,
    TextDoneEvent,
    ThinkingDoneEvent,
    ToolUseDoneEvent,
)
from jumpseat.testing import Reply
from jumpseat.testing.checks import failures
from tests.unit.testing import broken
from tests.unit.testing.broken import (
    change_contents,
    change_each,
    contract_for,
    messages_contract_for,
    raises,
    replace,
    sends,
    yields,
)

pytestmark = pytest.mark.slow

TEXT = "a_text_becomes_blocks_streamed_and_not"
ARRIVAL = "a_recorded_answer_gives_the_expected_response_however_it_arrives"
REPLAY = "provider_data_is_sent_back_byte_for_byte"
MIXED = "many_simultaneous_chats_do_not_mix"


def find_recording(contract, name):
    return next(each for each in contract.list_recordings() if each.name == name)


def run(contract, check, *arguments):
    """Run one check as pytest does."""
    found = [find_recording(contract, each) if isinstance(each, str) else each for each in arguments]
    getattr(contract, f"test_{check}")(*found)


EVENTS = [
    (broken.add_late_delta, "belongs to block 0, which was done already"),
    (broken.renumber, "has the block number 1; the next one is 0"),
    (broken.add_start, "is an event of the turn engine"),
    (broken.drop_done, "is not done, which ends every answer"),
    (broken.drop_starts, "belongs to block 0, which never started"),
    (broken.exclude_cached_tokens, "cannot include 64 cached ones"),
    (lambda events: [*events, DoneEvent("end_turn")], "comes after done"),
    (change_contents(TextDoneEvent, origin=None), "contains a block without an origin"),
    (change_contents(TextDoneEvent, text="Other."), "says 'Other.', but its deltas join to"),
    (change_each(DoneEvent, stop_reason="stop"), "has the stop reason 'stop', which is not one of"),
    (change_each(TextDoneEvent, content="Paris"), "contains a str, not a TextBlock"),
]


@pytest.mark.requirement("adapters:contract-can-fail")
@pytest.mark.parametrize(("change", "sentence"), EVENTS, ids=[sentence for _, sentence in EVENTS])
def test_events_that_break_a_rule_fail_with_the_event(change, sentence):
    with pytest.raises(AssertionError, match=sentence):
        run(contract_for(yields(change)), ARRIVAL, "llama-text-whole")


RECORDED = [
    (
        yields(change_contents(ToolUseDoneEvent, arguments={})),
        ARRIVAL,
        "parallel-tool-calls",
        "arguments is {}",
    ),
    (sends(broken.tidy_arguments), REPLAY, "parallel-tool-calls", "is not in the next request"),
    (
        yields(change_contents(ToolUseDoneEvent, id="")),
        ARRIVAL,
        "parallel-tool-calls",
        "a call without an id",
    ),
    (
        raises(lambda error: None),
        "a_recorded_failure_gives_the_expected_error",
        "quota-used-up",
        "the failure was not raised",
    ),
    (
        raises(lambda error: RequestError("No.", provider="acme")),
        "a_recorded_failure_gives_the_expected_error",
        "quota-used-up",
        "quota-used-up is a RequestError",
    ),
]
"""Broken adapters, the checks with recordings that they fail, the recordings, and words of the failures."""


@pytest.mark.parametrize(
    ("adapter", "check", "name", "sentence"), RECORDED, ids=[each[-1] for each in RECORDED]
)
def test_an_answer_or_error_that_differs_from_its_recording_fails(adapter, check, name, sentence):
    with pytest.raises(AssertionError, match=sentence):
        run(contract_for(adapter), check, name)


def test_a_signature_that_is_missing_in_the_next_request_is_found():
    adapter = yields(change_contents(ThinkingDoneEvent, signature=None), base=broken.GoodMessages)
    with pytest.raises(AssertionError, match="of thinking-and-a-call is not in the next request"):
        run(messages_contract_for(adapter), REPLAY, "thinking-and-a-call")


def test_a_signature_that_is_lost_in_json_is_found():
    known = set()
    kept_alive = []  # Otherwise another block could get the id of a known one.

    def change(adapter, request):
        blocks = [block for message in request.messages for block in message.content]
        all_known = all(id(block) in known for block in blocks if block.type == "thinking")
        return request if all_known else replace(request, messages=request.messages[:1], thinking=None)

    def remember(events):
        known.update(id(event.content) for event in events if isinstance(event, ThinkingDoneEvent))
        kept_alive.extend(events)
        return events

    adapter = sends(change, base=yields(remember, base=broken.GoodMessages))
    contract = messages_contract_for(adapter)
    with pytest.raises(AssertionError, match="through JSON it sends"):
        run(contract, "an_answer_that_was_stored_as_json_is_sent_back_the_same", "thinking-and-a-call")


INVENTED = [
    (broken.SaysString, TEXT, "content is a str; it is always a list of blocks"),
    (
        broken.SharesState,
        MIXED,
        "one request contains|without its own tool|names the origin|its text is|it received",
    ),
    (broken.SharesAnswers, MIXED, "deltas join to|its text is"),
    (broken.Retries, "one_chat_sends_one_request", "was sent 2 times"),
    (broken.LeavesATask, TEXT, "tasks are left behind"),
    (broken.ReadsAFile, "constructing_does_no_input_or_output", "does input or output: open"),
    (broken.AsksForItsState, "the_state_of_the_credential_needs_no_request", "though refresh is false"),
    (broken.ListsForAnother, "the_list_of_models_has_valid_rows_of_this_provider", "is listed under 'other'"),
    (broken.ProbesAnother, "a_probe_gives_capabilities_or_nothing", "not fields of Capabilities"),
    (broken.Remembers, "a_chat_does_not_change_the_next_one", "the second time it sends"),
    (
        sends(broken.send_system_as_message),
        "the_system_prompt_reaches_the_provider_and_is_not_a_user_message",
        "is sent as a message of the user",
    ),
    (
        sends(lambda _, request: replace(request, max_tokens=8192)),
        "the_limit_of_tokens_reaches_the_provider",
        "the limit 4321 is not in the request",
    ),
    (
        sends(lambda _, request: replace(request, messages=request.messages[-1:])),
        "consecutive_messages_of_one_role_are_complete_and_in_order",
        "is not exactly once in the request",
    ),
    (
        sends(lambda _, request: replace(request, messages=request.messages[::-1])),
        "consecutive_messages_of_one_role_are_complete_and_in_order",
        "lost their order",
    ),
    (
        sends(lambda _, request: replace(request, tools=request.tools[:1])),
        "tools_as_mappings_and_as_definitions_are_the_same",
        "the tool 'clock' is not in the request",
    ),
    (
        sends(lambda _, request: replace(request, model="other")),
        "the_model_reaches_the_provider",
        "the model 'contract-model-a' is not in the request",
    ),
    (
        sends(lambda _, request: replace(request, stream=True)),
        TEXT,
        "stream is False, but the request has True",
    ),
]
"""Broken adapters, the checks with invented answers that they fail, and words of the failures."""


@pytest.mark.requirement("adapters:contract-can-fail")
@pytest.mark.parametrize(
    ("adapter", "check", "sentence"), INVENTED, ids=[sentence for *_, sentence in INVENTED]
)
def test_an_adapter_that_breaks_a_rule_fails_with_a_sentence(adapter, check, sentence, monkeypatch):
    monkeypatch.setattr("jumpseat.testing.stage.TIDY_SECONDS", 0.1)
    with pytest.raises(AssertionError, match=sentence):
        run(contract_for(adapter), check)


def change_errors(**changes):
    """Return a class of adapters that changes these attributes of its errors."""

    def change(error):
        for name, value in changes.items():
            setattr(error, name, value)
        return error

    return raises(change)


ERRORS = [
    (raises(lambda error: None), "the failure was not raised"),
    (raises(lambda error: ValueError("Ouch")), "ValueError, which is not a ChatError"),
    (raises(lambda error: ConnectionError("Gone.", provider="acme")), "it is a ConnectionError"),
    (change_errors(status_code=None), "status_code is None, not 500"),
    (change_errors(provider=None), "provider is None, not 'acme'"),
    (change_errors(message="<html><p>The provider has its reasons.</p>"), "the error contains HTML"),
    (
        change_errors(message=f"The provider has its reasons: {broken.SECRET}."),
        "the error contains the credential",
    ),
    (change_errors(message="It failed."), "neither the provider's name nor its message is in 'It failed.'"),
    (change_errors(message=" "), "the message is empty"),
    (change_errors(hint="Traceback (most recent call last)"), "the error contains a traceback"),
]


@pytest.mark.parametrize(("adapter", "sentence"), ERRORS, ids=[sentence for _, sentence in ERRORS])
def test_a_wrong_error_fails_with_a_sentence(adapter, sentence):
    with pytest.raises(AssertionError, match=sentence):
        run(contract_for(adapter), "a_refusal_has_its_class", 500, failures.ServerError)


def test_a_lost_retry_after_fails():
    with pytest.raises(AssertionError, match="retry-after 7 is None"):
        run(contract_for(change_errors(retry_after=None)), "a_rate_limit_has_the_delay_of_the_provider")


def test_a_secret_that_is_too_short_to_be_hidden_fails():
    contract = contract_for(broken.Good)
    contract.secret = "short"
    with pytest.raises(AssertionError, match="`secret` must have 12 characters or more"):
        run(contract, "a_credential_reaches_the_provider_but_is_not_in_errors")


@pytest.mark.parametrize(
    "check",
    [
        "an_answer_that_ends_early_is_a_protocol_error",
        "a_connection_that_breaks_in_mid_stream_keeps_the_answer_so_far",
        "a_connection_that_closes_in_mid_stream_keeps_the_answer_so_far",
    ],
)
def test_a_failure_in_mid_stream_that_is_swallowed_or_loses_the_partial_fails(check, monkeypatch):
    monkeypatch.setattr("jumpseat.testing.stage.CHECK_SECONDS", 1.0)
    with pytest.raises(AssertionError, match="the failure was not raised"):
        run(contract_for(raises(lambda error: None)), check)
    # An adapter that buffers everything waits for the provider, which waits until the first delta is read.
    with pytest.raises((AssertionError, TimeoutError)):
        run(contract_for(broken.HoldsBack), check)


CANCELS = [
    (broken.IgnoresCancel, "closing_the_events_in_mid_stream_closes_the_connection", "is still open"),
    (broken.IgnoresCancel, "a_cancel_before_the_first_byte_closes_the_connection", "is still open"),
    (broken.IgnoresCancel, "a_cancel_in_mid_stream_closes_the_connection", "is still open"),
    (broken.SwallowsCancel, "a_cancel_in_mid_stream_closes_the_connection", "ended normally"),
    (broken.HoldsBack, "a_cancel_in_mid_stream_closes_the_connection", "the answer is held back"),
]


@pytest.mark.parametrize(
    ("adapter", "check", "sentence"), CANCELS, ids=lambda value: getattr(value, "__name__", None)
)
def test_an_adapter_that_continues_after_a_cancel_fails(adapter, check, sentence, monkeypatch):
    for module in ("checks.cancel", "stage"):
        monkeypatch.setattr(f"jumpseat.testing.{module}.TIDY_SECONDS", 0.2)
    with pytest.raises(AssertionError, match=sentence):
        run(contract_for(adapter), check)


# The garbage collector also warns about an open connection.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_connection_that_is_left_open_at_the_end_fails(monkeypatch):
    monkeypatch.setattr("jumpseat.testing.upstream.WAIT_SECONDS", 0.2)
    with pytest.raises(AssertionError, match="connections are still open"):
        run(contract_for(broken.KeepsItsConnection), TEXT)
    gc.collect()


@pytest.mark.parametrize("check", [MIXED, "a_cancel_before_the_first_byte_closes_the_connection"])
def test_a_chat_that_fails_before_its_request_fails_immediately(check):
    class Fails(broken.Good):
        async def stream(self, request):
            raise RequestError("The moon is full.", provider="acme")
            yield

    with pytest.raises(AssertionError, match=r"ended before its provider could answer.*The moon is full"):
        run(contract_for(Fails), check)


def test_a_chat_that_goes_to_another_path_fails_with_that_path(monkeypatch):
    monkeypatch.setattr("jumpseat.testing.upstream.WAIT_SECONDS", 0.2)

    def prepare(self, upstream):
        upstream.default(Reply.json({}).stall_after(0), path="/v1/chat/completions")

    elsewhere = broken.ChatCompletionsScript(chat_path="/v2/chat")
    contract = contract_for(broken.Good, script=elsewhere, prepare=prepare)
    sentence = "/v2/chat got 0 of 1 chats; requests went to: /v1/chat/completions"
    with pytest.raises(AssertionError, match=sentence):
        run(contract, "a_cancel_before_the_first_byte_closes_the_connection")


def test_a_constructor_that_requires_its_credential_fails():
    with pytest.raises(Exception, match="JUMPSEAT_NO_SUCH_KEY"):
        run(contract_for(broken.ReadsItsKey), "constructing_reads_no_credential")


def test_a_correct_adapter_passes_every_check():
    for adapter, contract in ((broken.Good, contract_for), (broken.GoodMessages, messages_contract_for)):
        mine = contract(adapter)
        for _, check, *_ in INVENTED:
            run(mine, check)
        for _, check, _ in CANCELS:
            run(mine, check)
        for answered in mine.list_recordings():
            if not answered.fails:
                run(mine, ARRIVAL, answered)
                run(mine, REPLAY, answered)


def test_checks_that_a_contract_does_not_configure_are_skipped_with_the_reason():
    class NoHttp(type(contract_for(broken.Good))):
        speaks_http = False

    class NoScript(type(contract_for(broken.Good))):
        script = None

    with pytest.raises(pytest.skip.Exception, match="does not send HTTP requests"):
        run(NoHttp(), TEXT)
    with pytest.raises(pytest.skip.Exception, match="has no `script`"):
        run(NoScript(), TEXT)
    with pytest.raises(pytest.skip.Exception, match="has no `live_request`"):
        run(NoHttp(), "a_real_provider_answers_and_accepts_its_answer_in_the_next_chat")


def test_a_check_that_hangs_is_ended(monkeypatch):
    class Hangs(broken.Good):
        async def stream(self, request):
            await asyncio.Event().wait()
            yield DoneEvent("end_turn")

    monkeypatch.setattr("jumpseat.testing.stage.CHECK_SECONDS", 0.2)
    with pytest.raises(TimeoutError):
        run(contract_for(Hangs), TEXT)


class RewordsFailures(broken.Good):
    """Replaces the provider's message with the result of `words(message)`."""

    words = staticmethod(lambda message: "acme failed.")

    async def stream(self, request):
        try:
            async for event in super().stream(request):
                yield event
        except ChatError as error:
            error.message = self.words(error.message)
            raise


def test_an_adapter_may_replace_a_message_but_not_with_one_of_another_chat():
    run(contract_for(RewordsFailures), MIXED)

    class Mixes(RewordsFailures):
        words = staticmethod(lambda message: "acme failed: marker-4711-answered.")

    with pytest.raises(AssertionError, match="has the words of the chats"):
        run(contract_for(Mixes), MIXED)
