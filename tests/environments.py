"""Client environments that differ from the environment of the test process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from jumpseat.system.environment import Environment, empty_environment, environment_of_process
from jumpseat.system.paths import Places


def environment_with(
    variables: Mapping[str, str] | None = None, *, directory: Path | None = None, home: Path | None = None
) -> Environment:
    """Return an environment with only these variables.

    Args:
        variables: the environment variables.
        directory: the working directory; None for the root directory.
        home: the directory for configuration, state and data; None for paths at which no file can exist.
    """
    empty = empty_environment()
    return replace(
        empty,
        variables=dict(variables or {}),
        directory=directory or empty.directory,
        places=Places(home / "config.toml", home, home) if home else empty.places,
    )


def here() -> Environment:
    """Return the environment of the test process, including changes by `monkeypatch`."""
    return environment_of_process()
