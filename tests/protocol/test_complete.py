"""`complete/start`: the text between two texts, from scripted servers of each kind that can fill in."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.testing.answers.ollama_chat import error as ollama_error
from jumpseat.testing.upstream import FakeUpstream, Gate, RecordedRequest, Reply
from tests.daemon import Daemon, Exchange, provider
from tests.fakes.ollama import FakeModel, FakeOllama

COMPLETIONS = "/v1/completions"
PLACE = {"prefix": "def add(a, b):\n    return ", "suffix": "\n\nprint(add(1, 2))\n"}


def completion(text: str = "a + b", **more: Any) -> dict[str, Any]:
    """Return the body of an answer of `/completions`."""
    return {
        "id": "cmpl-1",
        "object": "text_completion",
        "model": "m",
        "choices": [{"index": 0, "text": text, "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": 21, "completion_tokens": 4, "total_tokens": 25},
        **more,
    }


async def complete(daemon: Daemon, **more: Any) -> Exchange:
    return await daemon.request("complete/start", {**PLACE, **more})


@pytest.mark.requirement("14:complete", "14:openai")
async def test_the_text_between_two_texts_is_completed(chatty: Daemon, upstream: FakeUpstream) -> None:
    upstream.script(Reply.json(completion()), path=COMPLETIONS)
    exchange = await complete(chatty, languageId="python", uri="file:///home/me/add.py")
    assert exchange.result == {
        "provider": "fake",
        "model": "m",
        "text": "a + b",
        "responseId": "cmpl-1",
        "stopReason": "end_turn",
        "rawStopReason": "stop",
        "usage": {"inputTokens": 21, "outputTokens": 4, "cacheReadTokens": 0, "cacheCreationTokens": 0},
    }
    assert exchange.notifications == []
    (sent,) = upstream.requests
    assert sent.json == {
        "model": "m",
        "prompt": PLACE["prefix"],
        "suffix": PLACE["suffix"],
        "max_tokens": 256,
        "temperature": 0,
        "stream": True,
    }


@pytest.mark.requirement("14:complete")
async def test_a_streamed_completion_is_one_result(chatty: Daemon, upstream: FakeUpstream) -> None:
    pieces = [completion(text, usage=None) for text in ("a", " + ", "b")]
    for piece in pieces:
        piece["choices"][0]["finish_reason"] = None
    end = completion("", choices=[{"index": 0, "text": "", "finish_reason": "length"}])
    upstream.script(Reply.events([*pieces, end, "[DONE]"]), path=COMPLETIONS)
    result = (await complete(chatty)).result
    assert (result["text"], result["stopReason"]) == ("a + b", "max_tokens")
    assert result["usage"]["outputTokens"] == 4


@pytest.mark.requirement("14:line")
async def test_a_completion_of_a_line_ends_with_the_line_even_if_the_server_goes_on(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.json(completion("a + b\r\nreturn c\n")), path=COMPLETIONS)
    assert (await complete(chatty, extent="line")).result["text"] == "a + b"
    assert (await complete(chatty, stopSequences=["return"])).result["text"] == "a + b\r\n"
    assert (await complete(chatty, maxTokens=7, extent="block")).result["text"] == "a + b\r\nreturn c\n"
    line, stopped, block = [request.json for request in upstream.requests]
    assert (line["stop"], line["max_tokens"]) == (["\n"], 64)
    assert (stopped["stop"], stopped["max_tokens"]) == (["return"], 256)
    assert ("stop" in block, block["max_tokens"]) == (False, 7)


@pytest.mark.requirement("14:near")
async def test_only_the_text_near_the_place_is_sent(chatty: Daemon, upstream: FakeUpstream) -> None:
    upstream.script(Reply.json(completion()), path=COMPLETIONS)
    lines = [f"line {number}\n" for number in range(5000)]
    result = (await complete(chatty, prefix="".join(lines), suffix="".join(lines))).result
    assert result["text"] == "a + b"
    sent = upstream.requests[0].json
    assert 7900 < len(sent["prompt"]) <= 8000
    assert 3900 < len(sent["suffix"]) <= 4000
    assert sent["prompt"].startswith("line ")
    assert sent["prompt"].endswith("line 4999\n")
    assert sent["suffix"].startswith("line 0\n")
    assert sent["suffix"].rpartition("\n")[2].startswith("line ")


@pytest.mark.requirement("14:openai")
async def test_without_text_after_the_place_no_suffix_is_sent(chatty: Daemon, upstream: FakeUpstream) -> None:
    upstream.script(Reply.json(completion()), path=COMPLETIONS)
    assert (await chatty.request("complete/start", {"prefix": "x = "})).result["text"] == "a + b"
    assert "suffix" not in upstream.requests[0].json


@pytest.mark.requirement("14:refusal")
@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(Reply.json({"error": {"message": "suffix is not currently supported"}}, 400), id="vllm"),
        pytest.param(
            Reply.json(
                {
                    "error": {
                        "message": "This is a chat model and not supported in the v1/completions endpoint."
                    }
                },
                404,
            ),
            id="a chat model",
        ),
        pytest.param(Reply.raw(b"404 page not found", 404), id="no such path"),
    ],
)
async def test_a_model_that_cannot_fill_in_is_refused_instead_of_asked_without_the_suffix(
    chatty: Daemon, upstream: FakeUpstream, refusal: Reply
) -> None:
    upstream.script(refusal, path=COMPLETIONS)
    error = (await complete(chatty)).error
    assert error["code"] == 1004
    assert error["message"].startswith("The model m of fake cannot fill in the middle of a text")
    assert error["data"]["hint"] == "Choose a model that was trained to fill in."
    assert "partial" not in error["data"]
    assert len(upstream.requests) == 1


@pytest.mark.requirement("14:refusal")
@pytest.mark.parametrize(
    "table",
    [
        {"kind": "anthropic", "base_url": "{origin}"},
        {"kind": "openai", "url": "{origin}/v1/chat/completions"},
        {"kind": "openai", "base_url": "{origin}/v1", "models": [{"id": "m", "supports_infill": False}]},
    ],
)
async def test_a_provider_or_model_that_is_known_not_to_fill_in_is_not_asked(
    daemon: Daemon, upstream: FakeUpstream, table: dict[str, Any]
) -> None:
    filled = {
        key: value.replace("{origin}", upstream.origin) if isinstance(value, str) else value
        for key, value in table.items()
    }
    able = {"kind": "openai", "base_url": upstream.base_url, "models": [{"id": "c", "supports_infill": True}]}
    upstream.script(Reply.raw(b"", 404), path="/v1/models")
    await daemon.initialize({"providers": {"fake": {**filled, "default_model": "m"}, "able": able}})
    await daemon.request("models/list", {"provider": "able"})
    error = (await complete(daemon, model="fake:m")).error
    assert error["code"] == 1004
    assert error["data"]["hint"] == "Choose a model that was trained to fill in, such as able:c."
    assert [request.path for request in upstream.requests] == ["/v1/models"]


@pytest.mark.requirement("14:ability")
async def test_models_list_marks_the_models_that_can_fill_in(daemon: Daemon, upstream: FakeUpstream) -> None:
    rows = [
        {"id": "codestral", "capabilities": {"completion_fim": True}},
        {"id": "large", "capabilities": {"completion_fim": False}},
        {"id": "other"},
        {"id": "mine"},
    ]
    upstream.default(Reply.json({"data": rows}), path="/v1/models")
    tables = {
        "open": {
            "kind": "openai",
            "base_url": upstream.base_url,
            "models": [{"id": "mine", "supports_infill": True}],
        },
        "claude": {"kind": "anthropic", "base_url": upstream.origin},
    }
    await daemon.initialize({"providers": tables})
    listed = (await daemon.request("models/list", {})).result["models"]
    able = {row["id"]: row.get("supportsInfill") for row in listed if row["provider"] in tables}
    assert able == {
        "open:codestral": True,
        "open:large": False,
        "open:other": None,
        "open:mine": True,
        **{f"claude:{row['id']}": False for row in rows},
    }


@pytest.mark.requirement("14:cancel")
async def test_a_cancelled_completion_closes_its_connection_and_has_no_partial(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events([completion("a", usage=None), Gate()]), path=COMPLETIONS)
    request_id = chatty.start("complete/start", PLACE)
    await upstream.wait_for_request()
    chatty.notify("$/cancelRequest", {"id": request_id})
    error = (await chatty.read_until(request_id)).error
    assert error["code"] == -32800
    assert "partial" not in error["data"]
    await upstream.wait_for_disconnect()


@pytest.mark.requirement("14:failures")
async def test_a_completion_is_retried_like_a_chat(chatty: Daemon, upstream: FakeUpstream) -> None:
    busy = Reply.json({"error": {"message": "Overloaded."}}, 503, retry_after="0")
    upstream.script(busy, busy, Reply.json(completion()), path=COMPLETIONS)
    assert (await complete(chatty)).result["text"] == "a + b"
    upstream.script(busy, busy, busy, path=COMPLETIONS)
    assert (await complete(chatty)).error["code"] == 1007


@pytest.mark.requirement("14:failures")
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply.json({"error": {"message": "Bad key."}}, 401), 1000),
        (
            Reply.json(
                {"error": {"message": "The model `m` does not exist", "code": "model_not_found"}}, 404
            ),
            1004,
        ),
        (Reply.events([completion("a", choices=[{"text": "a", "finish_reason": None}])]), 1009),
        (Reply.events([{"error": {"message": "It broke.", "code": 500}}]), 1007),
        (Reply.raw(b"<html>", 200, "application/json"), 1009),
    ],
)
async def test_a_failure_has_the_same_code_as_in_a_chat(
    daemon: Daemon, upstream: FakeUpstream, reply: Reply, code: int
) -> None:
    await daemon.initialize(provider(upstream.base_url, max_retries=0))
    upstream.script(reply, path=COMPLETIONS)
    assert (await complete(daemon)).error["code"] == code


@pytest.mark.requirement("14:complete")
@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"suffix": "x"}, "prefix"),
        ({"prefix": "x", "extent": "word"}, "extent"),
        ({"prefix": "x", "maxTokens": 0}, "maxTokens"),
        ({"prefix": "x", "suffix": 1}, "suffix"),
        ({"prefix": "x", "stopSequences": [""]}, "stopSequences.0"),
    ],
)
async def test_params_are_checked(chatty: Daemon, params: dict[str, Any], path: str) -> None:
    error = (await chatty.request("complete/start", params)).error
    assert error["code"] == -32602
    assert error["data"]["errors"][0]["path"] == path


# -- llama.cpp


def infill_piece(text: str, **more: Any) -> dict[str, Any]:
    return {"index": 0, "content": text, "tokens": [], "stop": False, "id_slot": -1, **more}


@pytest.mark.requirement("14:llama")
async def test_a_server_that_is_recognised_as_llama_cpp_is_asked_to_infill_from_then_on(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    """The path `/completions` of llama.cpp ignores the suffix, so its answer is not used."""
    ignorant = Reply.events([completion("WRONG", usage=None), Gate()], Server="llama.cpp")
    end = infill_piece("", stop=True, stop_type="eos", model="m", tokens_evaluated=21, tokens_predicted=4)
    infilled = Reply.events([infill_piece("a +"), infill_piece(" b"), end])
    upstream.script(ignorant, path=COMPLETIONS)
    upstream.default(infilled, path="/infill")
    result = (await complete(chatty, extent="line")).result
    assert (result["text"], result["stopReason"], result["rawStopReason"]) == ("a + b", "end_turn", "eos")
    assert result["usage"]["inputTokens"] == 21
    assert (await complete(chatty)).result["text"] == "a + b"
    assert [request.path for request in upstream.requests] == [COMPLETIONS, "/infill", "/infill"]
    assert upstream.requests[1].json == {
        "model": "m",
        "input_prefix": PLACE["prefix"],
        "input_suffix": PLACE["suffix"],
        "n_predict": 64,
        "temperature": 0,
        "stream": True,
        "stop": ["\n"],
    }


@pytest.mark.requirement("14:llama", "14:refusal")
async def test_a_model_of_llama_cpp_without_infill_tokens_is_refused(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    words = "Infill is not supported by this model: prefix token is missing."
    refusal = {"code": 501, "message": words, "type": "not_supported_error"}
    upstream.script(Reply.json(completion(), Server="llama.cpp"), path=COMPLETIONS)
    upstream.default(Reply.json({"error": refusal}, 501), path="/infill")
    error = (await complete(chatty)).error
    assert error["code"] == 1004
    assert error["message"] == f"The model m of fake cannot fill in the middle of a text: {words}"


# -- Ollama


@pytest.fixture
async def server(daemon: Daemon, upstream: FakeUpstream) -> FakeOllama:
    """An Ollama server with two models, of which one can fill in."""
    insert = FakeModel("qwen2.5-coder:1.5b", "qwen2", 32_768, ("completion", "tools", "insert"))
    fake = FakeOllama(upstream, [FakeModel(), insert])
    table = {"kind": "ollama", "base_url": fake.base_url, "default_model": insert.name}
    more = {"keep_alive": "1h", "think": False, "options": {"num_gpu": 1}, "seed": 7}
    await daemon.initialize({"providers": {"here": {**table, "parameters": more}}})
    return fake


@pytest.mark.requirement("14:ollama")
async def test_ollama_fills_in_with_the_options_of_a_chat(daemon: Daemon, server: FakeOllama) -> None:
    result = (await complete(daemon, extent="line")).result
    assert (result["text"], result["stopReason"]) == ("a + b", "end_turn")
    assert (result["usage"]["inputTokens"], result["usage"]["outputTokens"]) == (21, 4)
    (sent,) = server.completions
    options = {
        "num_predict": 64,
        "temperature": 0,
        "num_ctx": 32_768,
        "seed": 7,
        "num_gpu": 1,
        "stop": ["\n"],
    }
    assert sent == {
        "model": "qwen2.5-coder:1.5b",
        "prompt": PLACE["prefix"],
        "suffix": PLACE["suffix"],
        "stream": True,
        "options": options,
        "keep_alive": "1h",
    }


@pytest.mark.requirement("14:ollama")
async def test_ollama_gets_a_line_ending_instead_of_an_empty_suffix(
    daemon: Daemon, server: FakeOllama
) -> None:
    """Without a suffix, Ollama would apply the template of a chat to the prompt."""
    await complete(daemon, suffix="")
    assert server.completions[0]["suffix"] == "\n"


@pytest.mark.requirement("14:ollama", "14:refusal", "14:ability")
async def test_the_refusal_of_a_model_of_ollama_names_a_model_that_can_fill_in(
    daemon: Daemon, server: FakeOllama
) -> None:
    error = (await complete(daemon, model="here:qwen3:4b")).error
    assert (error["code"], error["data"]["hint"]) == (1004, "Choose a model that was trained to fill in.")
    rows = (await daemon.request("models/list", {"provider": "here"})).result["models"]
    assert [row["supportsInfill"] for row in rows] == [False, True]
    hint = (await complete(daemon, model="here:qwen3:4b")).error["data"]["hint"]
    assert hint == "Choose a model that was trained to fill in, such as here:qwen2.5-coder:1.5b."
    assert server.completions == []


@pytest.mark.requirement("14:ollama", "14:refusal")
async def test_the_refusal_of_an_ollama_server_without_capabilities_is_reported(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    fake = FakeOllama(upstream, [FakeModel("old", capabilities=None)])

    def refuse(request: RecordedRequest) -> Reply:
        return ollama_error("registry.ollama.ai/library/old does not support insert", 400)

    upstream.default(refuse, path="/api/generate")
    await daemon.initialize(
        {"providers": {"here": {"kind": "ollama", "base_url": fake.base_url, "default_model": "old"}}}
    )
    error = (await complete(daemon)).error
    assert error["code"] == 1004
    assert "does not support insert" in error["message"]
