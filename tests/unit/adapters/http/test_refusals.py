"""The parameter named in the refusal of a vendor or a gateway."""

import pytest

from jumpseat.adapters.http.refusals import find_refused_parameter
from jumpseat.chat import ConnectionError, RequestError
from jumpseat.dialects import ProviderFault

DROP = (
    "To drop these, set `litellm.drop_params=True` or for proxy:\n\n`litellm_settings:\n drop_params: true`\n"
)
GPT_5 = (
    "Only temperature=1 is supported unless {} resolves to 'none', either set explicitly on the request "
    "or declared as the model's default_reasoning_effort. To drop unsupported params set "
    "`litellm.drop_params = True`"
)
ESSENTIAL = {"model", "messages", "input", "stream", "tools", "tool_choice", "response_format", "text.format"}
CHAT = {
    "model": "gpt-4o",
    "messages": [],
    "stream": True,
    "stream_options": {"include_usage": True},
    "max_tokens": 10,
    "reasoning_effort": "low",
    "stop": ["X"],
    "seed": 7,
    "frequency_penalty": 0.5,
    "temperature": 0.2,
    "top_p": 0.5,
    "tools": [],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "response_format": {"type": "json_object"},
}
RESPONSES = {
    "model": "gpt-4o",
    "input": [],
    "include": ["reasoning.encrypted_content"],
    "store": False,
    "prompt_cache_key": "x",
    "reasoning": {"effort": "low", "summary": "auto"},
    "seed": 7,
    "temperature": 0.2,
    "top_p": 0.5,
    "text": {"format": {"type": "json_object"}, "verbosity": "low"},
}
MESSAGES = {
    "model": "gpt-4o",
    "messages": [],
    "max_tokens": 10,
    "stop_sequences": ["X"],
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "output_config": {"effort": "low"},
    "seed": 7,
    "temperature": 0.2,
    "top_p": 0.5,
}


def litellm(text):
    """Return a refusal with the text of LiteLLM 1.106."""
    end = "LiteLLM: model group 'gpt-4o' failed with the error above. No fallback was attempted."
    message = f"litellm.UnsupportedParamsError: {text}\n\n{end}"
    return ProviderFault(message, "400", "invalid_request_error")


def refusal_by_litellm(*names, provider="openai", model="gpt-4o"):
    text = f"{provider} does not support parameters: {list(names)}, for model={model}. {DROP}. \n "
    allowed = f"allowed_openai_params={list(names)} in your request."
    return litellm(f"{text}If you want to use these params dynamically send {allowed}")


def find_parameter(fault, body, status=400):
    return find_refused_parameter(fault, RequestError("x", status_code=status), body, ESSENTIAL)


@pytest.mark.requirement("chat:refused-parameter")
@pytest.mark.parametrize(
    "name", ["reasoning_effort", "stop", "seed", "frequency_penalty", "top_p", "stream_options"]
)
def test_a_gateways_list_names_the_parameter(name):
    assert find_parameter(refusal_by_litellm(name), CHAT) == name


@pytest.mark.requirement("chat:refused-parameter")
@pytest.mark.parametrize(
    ("text", "body", "name"),
    [
        (
            "O-series models don't support temperature=0.2. Only temperature=1 is supported.",
            CHAT,
            "temperature",
        ),
        (
            "gpt-5 doesn't support temperature=0.2 while reasoning is active. "
            + GPT_5.format("reasoning_effort"),
            CHAT,
            "temperature",
        ),
        (
            "gpt-5 doesn't support temperature=0.2 while reasoning is active. "
            + GPT_5.format("reasoning.effort"),
            RESPONSES,
            "temperature",
        ),
        ("gpt-5 only supports top_p when reasoning.effort resolves to 'none'", RESPONSES, "top_p"),
        ("gpt-5 only supports top_p when reasoning.effort resolves to 'none'", MESSAGES, "top_p"),
        (
            "gpt-4o doesn't support `reasoning.effort` (its model cost map entry lacks `supports_reasoning`)",
            RESPONSES,
            "reasoning.effort",
        ),
        (
            "gpt-4o doesn't support `reasoning.effort` (its model cost map entry lacks `supports_reasoning`)",
            MESSAGES,
            "thinking",
        ),
        (
            "LlmProviders.PERPLEXITY does not support parameters: {'store': False}, for model=x",
            RESPONSES,
            "store",
        ),
        (
            "LlmProviders.ACME does not support parameters: {'include': ['reasoning.encrypted_content']}",
            RESPONSES,
            "include",
        ),
        ("GradientAI does not support parameter 'seed'.", CHAT, "seed"),
        ("Setting `seed` is not supported by acme, gpt-4o.", CHAT, "seed"),
        ("together_ai does not support parameters: seed, temperature, for model=x.", CHAT, "seed"),
    ],
)
def test_a_gateways_sentence_names_the_parameter(text, body, name):
    assert find_parameter(litellm(text), body) == name


@pytest.mark.requirement("chat:refused-parameter")
@pytest.mark.parametrize(
    ("said", "body", "name"),
    [
        ("reasoning_effort", RESPONSES, "reasoning"),
        ("reasoning_effort", MESSAGES, "thinking"),
        ("stop", MESSAGES, "stop_sequences"),
        ("seed", MESSAGES, "seed"),
    ],
)
def test_a_parameter_is_found_by_its_name_in_the_dialect_behind_the_gateway(said, body, name):
    assert find_parameter(refusal_by_litellm(said, provider="perplexity"), body) == name


@pytest.mark.requirement("chat:refused-parameter")
@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (ProviderFault("Unrecognized request argument supplied: seed"), "seed"),
        (ProviderFault("Unsupported parameter: 'max_tokens'. Use 'top_p' instead."), "max_tokens"),
        (ProviderFault("", "unsupported_parameter", param="seed"), "seed"),
        (ProviderFault("", "unsupported_parameter", param="stop[0]"), "stop"),
        (ProviderFault("No 'temperature' here", "unsupported_parameter", param="elsewhere"), None),
        (ProviderFault("This model does not support temperature"), "temperature"),
        (ProviderFault("Invalid 'temperature': decimal above maximum value."), None),
        (ProviderFault("the seed-model does not support images"), None),
    ],
)
def test_a_vendors_message_names_the_parameter_too(fault, name):
    assert find_parameter(fault, CHAT) == name


@pytest.mark.requirement("chat:refused-parameter")
@pytest.mark.parametrize(
    ("said", "body"),
    [
        ("tools", CHAT),
        ("tool_choice.function", CHAT),
        ("messages[0].content", CHAT),
        ("response_format", CHAT),
        ("text", RESPONSES),
        ("text.format", RESPONSES),
        ("text.format.schema", RESPONSES),
    ],
)
def test_an_essential_parameter_is_not_dropped(said, body):
    assert find_parameter(ProviderFault("Unsupported parameter", param=said), body) is None
    assert find_parameter(refusal_by_litellm(said), body) is None


def test_a_parameter_with_an_essential_member_loses_only_the_refused_member():
    assert (
        find_parameter(ProviderFault("Unknown parameter", param="text.verbosity"), RESPONSES)
        == "text.verbosity"
    )
    assert find_parameter(ProviderFault("Unknown parameter: 'stream_options.x'"), CHAT) == "stream_options"


def test_only_errors_of_refused_requests_are_examined():
    assert find_parameter(refusal_by_litellm("seed"), CHAT, status=500) is None
    assert (
        find_refused_parameter(refusal_by_litellm("seed"), ConnectionError("x", status_code=400), CHAT, ())
        is None
    )
