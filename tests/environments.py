"""Environments of clients, for tests that need another than the process's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from jumpseat.system.environment import Environment, empty_environment, environment_of_process
from jumpseat.system.paths import Places


def environment_with(
    variables: Mapping[str, str] | None = None, *, directory: Path | None = None, home: Path | None = None
) -> Environment:
    """An environment with these variables and nothing else.

    Args:
        variables: the variables.
        directory: the working directory; the root if absent.
        home: holds configuration, state and data; nothing can exist in those if absent.
    """
    empty = empty_environment()
    return replace(
        empty,
        variables=dict(variables or {}),
        directory=directory or empty.directory,
        places=Places(home / "config.toml", home, home) if home else empty.places,
    )


def here() -> Environment:
    """The environment of the test's own process, with what `monkeypatch` has set so far."""
    return environment_of_process()
