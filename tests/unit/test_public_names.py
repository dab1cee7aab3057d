"""What plug-ins may import, held against a list: a name that goes or comes is a decision, not an accident."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

import jumpseat.adapters.base
import jumpseat.chat
import jumpseat.config
import jumpseat.dialects
import jumpseat.engine
import jumpseat.http
import jumpseat.providers
import jumpseat.wire

CHAT = """
BLOCK_CLASSES BLOCK_EVENTS DEFAULT_MAX_TOKENS AuthenticationError AuthorizationError Billing
BlockDoneEvent ChatCancelled ChatError ChatRequest CitationEvent ConfigError ConnectionError ContentBlock
ContentFilterError ContextBlock ContextExceededError Cost DoneEvent Fold ImageBlock Initiator
InvalidRequestError JsonSchemaOutput Message ModelInfo NamedTool Origin OtherBlock OutputMode PolicyState
Position Problem ProgressEvent ProtocolError QuotaExceededError Range RateLimitError RedactedThinkingBlock
RequestError Response ResponseEvent RetryEvent Role ServerError StartEvent StopReason StreamEvent TextBlock
TextDeltaEvent TextDoneEvent TextStartEvent ThinkingBlock ThinkingDeltaEvent ThinkingDoneEvent ThinkingLevel
ThinkingStartEvent ToolChoice ToolDefinition ToolResultBlock ToolUseBlock ToolUseDeltaEvent ToolUseDoneEvent
ToolUseStartEvent Usage UsageEvent WarningEvent as_tool_definitions merge_deltas
"""

BASE_CLASSES = ["Adapter", "Capabilities", "ChatModel", "Replan"]


def test_the_vocabulary_is_this_and_no_more() -> None:
    assert list(jumpseat.chat.__all__) == CHAT.split()


def test_the_adapter_interface_has_these_classes() -> None:
    module = jumpseat.adapters.base
    own = [name for name, value in vars(module).items() if inspect.isclass(value)]

    assert sorted(n for n in own if getattr(module, n).__module__ == module.__name__) == BASE_CLASSES


@pytest.mark.parametrize(
    "module",
    [
        jumpseat.chat,
        jumpseat.config,
        jumpseat.wire,
        jumpseat.dialects,
        jumpseat.http,
        jumpseat.providers,
        jumpseat.engine,
    ],
    ids=lambda module: module.__name__,
)
def test_exported_names_exist_once_and_in_order(module: ModuleType) -> None:
    names: list[str] = list(getattr(module, "__all__", []))

    # Constants, then classes, then functions, each by the alphabet: as isort has it, and so ruff.
    assert names == sorted(set(names), key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert [name for name in names if not hasattr(module, name)] == []


def test_a_class_that_is_public_says_what_it_is() -> None:
    silent = [
        name
        for name in CHAT.split()
        if inspect.isclass(cls := getattr(jumpseat.chat, name)) and not cls.__doc__
    ]

    assert silent == []
