"""The contract suites for all adapters and tool servers, including those of plug-ins.

The module `tool_server` describes `ToolServerContract`. To test an adapter, subclass `AdapterContract`:

    from pathlib import Path

    from jumpseat.adapters.base import Adapter
    from jumpseat.http import HttpClient
    from jumpseat.testing import AdapterContract, ChatCompletionsScript

    class TestMyProvider(AdapterContract):
        recordings = Path(__file__).with_name("recordings")  # Each recording adds tests.
        script = ChatCompletionsScript()  # Choose the provider's dialect, or write your own `Script`.

        def make_adapter(self, base_url: str, http: HttpClient) -> Adapter:
            return MyAdapter("mine", MyConfig(base_url=base_url), http)

The provider is a real, scriptable HTTP server on loopback (`FakeUpstream`). If the adapter does not send HTTP
requests, set `speaks_http = False`, and set `live_request` to a request that the adapter can really answer.
The module `recordings` describes the format of recordings.

The suite needs pytest, but no async plug-in. It is a stable API for plug-ins:
`tests/unit/test_public_names.py` checks its names.
"""

try:
    import pytest  # noqa: F401 - a missing pytest is reported here, in one sentence
except ImportError as missing:
    from jumpseat.system.packages import install_command

    raise ImportError(f"jumpseat.testing needs pytest. Run `{install_command('pytest')}`.") from missing

from jumpseat.testing.answers.anthropic_messages import AnthropicMessagesScript
from jumpseat.testing.answers.chat_completions import ChatCompletionsScript
from jumpseat.testing.answers.ollama_chat import OllamaChatScript
from jumpseat.testing.answers.responses import ResponsesScript
from jumpseat.testing.contract import AdapterContract
from jumpseat.testing.laws import assert_laws, assert_response, assert_usage
from jumpseat.testing.recordings import Recording, load_recordings
from jumpseat.testing.scripts import Answer, Script
from jumpseat.testing.stage import Stage
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.tool_server import ToolServerContract
from jumpseat.testing.upstream import FakeUpstream, Gate, RecordedRequest, Reply

__all__ = [
    "AdapterContract",
    "Answer",
    "AnthropicMessagesScript",
    "ChatCompletionsScript",
    "FakeUpstream",
    "Gate",
    "OllamaChatScript",
    "RecordedRequest",
    "Recording",
    "Reply",
    "ResponsesScript",
    "Script",
    "Stage",
    "ThreadedUpstream",
    "ToolServerContract",
    "assert_laws",
    "assert_response",
    "assert_usage",
    "load_recordings",
]
