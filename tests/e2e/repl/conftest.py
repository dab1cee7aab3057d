"""Fixtures for the tests that type into a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.fakes.typist import Typist, typists


@pytest.fixture
def upstream() -> Iterator[ThreadedUpstream]:
    """Start a provider on loopback that answers "Hello" by default."""
    with ThreadedUpstream() as running:
        running.default(Reply.events(completion_stream(["Hel", "lo"])))
        running.default(Reply.json({"data": [{"id": "m"}, {"id": "other-model"}]}), "/v1/models")
        yield running


@pytest.fixture
def configuration(home: Path, upstream: ThreadedUpstream) -> Path:
    """Write a configuration file with this provider as the default one."""
    file = home / "config.toml"
    file.write_text(
        f'default_provider = "fake"\n[providers.fake]\nkind = "openai"\nbase_url = "{upstream.base_url}"\n'
        'api_key = "test-key"\ndefault_model = "m"\n[prompts.shout]\ntext = "Shout: {{input}}"\n',
        encoding="utf-8",
    )
    return file


@pytest.fixture
def typist(configuration: Path) -> Iterator[Callable[..., Typist]]:
    """Return a function that starts conversations."""
    with typists() as start:
        yield partial(start, "chat")
