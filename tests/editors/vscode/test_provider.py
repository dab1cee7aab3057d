"""The daemon's models as another extension uses them: `vscode.lm`, against a scripted provider."""

from __future__ import annotations

import os
import signal

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, chunk, completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.vscode.provider import hello
from tests.editors.vscode.requests import ask, begin

pytestmark = [pytest.mark.editor, pytest.mark.slow]

MODEL = "fake:fake-model"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WEATHER = {
    "name": "get_weather",
    "description": "Get the weather of a city.",
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
}

CALL = FakeCall("call_1", "get_weather", ['{"city": ', '"Rome"}'])

MAX_MS = 16
"""The time of one frame at 60 Hz, in milliseconds."""

WATCH = """
// Return the CPU time that this thread has used so far, in microseconds.
const used = () => { const { user, system } = process.threadCpuUsage(); return user + system; };
state.longest = 0;
let last = used();
state.timer = setInterval(() => {
  const now = used();
  state.longest = Math.max(state.longest, (now - last) / 1000);
  last = now;
}, 1);
"""


def test_a_model_of_the_daemon_is_listed_with_name_family_and_limit(window):
    (found,) = window.js("return lm.models({ vendor: 'jumpseat', id: values[0] })", MODEL)
    assert (found["name"], found["family"]) == ("fake-model", "fake-model")
    # The context window is unknown, so 128,000 tokens are assumed, of which 8,192 are for the answer.
    assert found["maxInputTokens"] == 128_000 - 8192


def test_a_model_that_appears_is_listed_without_a_restart(window, provider, code_server):
    file = code_server.home / "config.toml"
    text = file.read_text()
    file.write_text(f'{text}\n[providers.late]\nkind = "openai"\nbase_url = "{provider.base_url}"\n')
    try:
        window.wait("(await lm.models({ id: 'late:other-model' })).length === 1")
    finally:
        file.write_text(text)
    window.wait("(await lm.models({ id: 'late:other-model' })).length === 0")


@pytest.mark.scenario("stream")
def test_an_answer_streams_to_another_extension(window, provider):
    gate = Gate()
    provider.script(Reply.events([chunk({"content": "Hel"}), gate, *completion_stream(["lo."])]))
    begin(window, MODEL, [{"role": "user", "content": "Say hello."}])
    window.wait("state.running.parts.includes('Hel')")
    assert not window.js("return state.running.done")
    provider.open(gate)
    ended = window.js("return state.running.ended")
    texts = [part for part in ended["parts"] if isinstance(part, str)]
    assert "".join(texts) == "Hello."
    assert "error" not in ended


def test_usage_is_reported_for_the_meter_of_the_context(window, provider):
    provider.script(hello())
    usage = window.js(
        """
        const { parts } = await lm.start(values[0], [{ role: 'user', content: 'Hi' }]).ended;
        const part = parts.find(({ mime }) => mime === 'usage');
        return part && JSON.parse(Buffer.from(part.base64, 'base64'));
        """,
        MODEL,
    )
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (10, 5, 15)


@pytest.mark.scenario("stop-before-first-token")
def test_a_request_that_is_cancelled_before_the_first_token_ends(window, provider):
    provider.script(Reply.events([Gate(), *completion_stream(["Late."])]))
    begin(window, MODEL, [{"role": "user", "content": "A slow one."}])
    provider.wait_for_chat()
    ended = window.js("state.running.stop(); return state.running.ended")
    assert ended["parts"] == []
    assert ended["error"]["name"] == "Canceled"
    provider.wait_for_disconnect()


@pytest.mark.scenario("stop-after-first-token")
def test_a_request_that_is_cancelled_in_the_middle_ends_the_upstream_request(window, provider):
    provider.script(Reply.events([chunk({"content": "Half an ans"}), Gate()]))
    begin(window, MODEL, [{"role": "user", "content": "A story."}])
    window.wait("state.running.parts.length === 1")
    ended = window.js("state.running.stop(); return state.running.ended")
    assert ended["parts"] == ["Half an ans"]
    provider.wait_for_disconnect()


def test_a_tool_is_called_and_its_result_goes_back(window, provider):
    provider.script(
        Reply.events(completion_stream(tool_calls=[CALL])),
        hello(),
    )
    question = {"role": "user", "content": "The weather in Rome?"}
    parts, _ = ask(window, MODEL, [question], tools=[WEATHER])
    (call,) = [part for part in parts if isinstance(part, dict) and "call" in part]
    assert (call["name"], call["input"]) == ("get_weather", {"city": "Rome"})
    result = {"result": call["call"], "content": ["Sunny."]}
    parts, _ = ask(
        window,
        MODEL,
        [question, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}],
        tools=[WEATHER],
    )
    assert "".join(part for part in parts if isinstance(part, str)) == "Hello there."
    sent = provider.chats[1]
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "tool"]
    assert sent["messages"][1]["tool_calls"][0]["id"] == sent["messages"][2]["tool_call_id"]
    assert sent["messages"][2]["content"] == "Sunny."
    assert sent["tools"][0]["function"]["name"] == "get_weather"


def test_an_image_is_sent(window, provider):
    provider.script(hello())
    image = {"mime": "image/png", "base64": PIXEL}
    ask(window, MODEL, [{"role": "user", "content": ["What is it?", image]}])
    content = provider.chats[0]["messages"][0]["content"]
    assert content[0] == {"type": "text", "text": "What is it?"}
    assert content[1]["image_url"]["url"] == f"data:image/png;base64,{PIXEL}"


def test_parts_of_other_extensions_are_not_sent(window, provider):
    provider.script(hello())
    content = ["Hi.", *({"mime": mime, "base64": "eHg="} for mime in ("cache_control", "stateful_marker"))]
    ask(window, MODEL, [{"role": "system", "content": "Be brief."}, {"role": "user", "content": content}])
    assert provider.chats[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi."},
    ]


@pytest.mark.scenario("thinking", "opaque-data")
def test_thinking_is_a_separate_part_and_is_sent_back_in_the_second_turn(window, provider):
    provider.script(Reply.events(completion_stream(["Yes."], reasoning=["Let me ", "think."])), hello())
    question = {"role": "user", "content": "Is it?"}
    parts, _ = ask(window, MODEL, [question])
    assert "".join(part["thinking"] for part in parts if "thinking" in part) == "Let me think."
    # As VS Code's own chat does, send the text back without the thinking.
    answer = {"role": "assistant", "content": "".join(part for part in parts if isinstance(part, str))}
    ask(window, MODEL, [question, answer, {"role": "user", "content": "Sure?"}])
    sent = provider.chats[1]["messages"][1]
    assert (sent["content"], sent["reasoning_content"]) == ("Yes.", "Let me think.")


def test_tokens_are_counted_while_the_daemon_does_not_answer(window, provider, daemon):
    window.wait("(await lm.models({ id: values[0] })).length === 1", MODEL)
    pid = daemon.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        counts = window.js(
            """
            const model = await lm.model(values[0]);
            const counts = [];
            for (let i = 0; i < 200; i++) counts.push(await model.countTokens('Hello there. '.repeat(i)));
            return counts;
            """,
            MODEL,
        )
    finally:
        os.kill(pid, signal.SIGCONT)
    assert counts == sorted(counts)
    # The last text has 398 words.
    assert 300 < counts[199] < 1000
    assert provider.chats == []


def test_an_error_of_the_provider_reaches_the_other_extension(window, provider):
    provider.script(Reply.json({"error": {"message": "The model is on holiday."}}, 400))
    _, error = ask(window, MODEL, [{"role": "user", "content": "Hi"}], fails=True)
    assert "The model is on holiday." in error["message"]


@pytest.mark.scenario("settings")
def test_a_setting_that_breaks_its_rule_is_refused_with_the_rule(window, provider):
    _, error = ask(
        window,
        MODEL,
        [{"role": "user", "content": "Hi"}],
        modelOptions={"temperature": 9},
        fails=True,
    )
    assert "must be at most 2" in error["message"]
    assert provider.chats == []


@pytest.mark.scenario("many-deltas")
def test_5000_deltas_do_not_stall_the_extension_host(window, provider):
    words = [f"word{number} " for number in range(5000)]
    longest = []
    # Repeat the measurement: our code would stall in each run, but a garbage collection only in some.
    while not longest or (min(longest) > MAX_MS and len(longest) < 5):
        provider.script(Reply.events(completion_stream(words)))
        window.js(WATCH)
        parts, _ = ask(window, MODEL, [{"role": "user", "content": "Count."}])
        longest.append(window.js("clearInterval(state.timer); return state.longest"))
        assert "".join(part for part in parts if isinstance(part, str)) == "".join(words)
    print("longest steps of the extension host (ms):", longest)
    assert 0 < min(longest) <= MAX_MS
