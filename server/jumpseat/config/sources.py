"""Value sources: where a configured value comes from, by its prefix, and how each kind is read.

Reading one is bounded, never blocks the loop, and shows nothing of the value in an error. Above it is
`values`, which knows the table and remembers; below it are commands, the keyring, and secrets.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jumpseat.chat import ConfigError
from jumpseat.system.bounded import in_time
from jumpseat.system.commands import CommandError, output_of
from jumpseat.system.keyring_storage import BoundedKeyring, KeyringError, system_keyring
from jumpseat.system.regular_file import read_regular

SOURCE_PREFIXES = ("env:", "cmd:", "file:", "keyring:", "python:", "schema:")

READ_SECONDS = 10.0
"""How long a file or a function may take."""

MAX_FILE_BYTES = 64 * 1024


class SourceError(Exception):
    """A source that gives nothing: why, as the end of a sentence, and what to do about it."""

    def __init__(self, why: str, hint: str) -> None:
        """
        Args:
            why: without a value.
            hint: a sentence.
        """
        super().__init__(why)
        self.hint = hint


def source_prefix(value: str) -> str | None:
    """The source prefix that a configured value begins with, if it does."""
    return next((prefix for prefix in SOURCE_PREFIXES if value.startswith(prefix)), None)


def failed(provider: str, key: str, source: str, error: SourceError) -> ConfigError:
    """What is raised for a source that gives nothing. Of a command line only the program is told."""
    if source.startswith("cmd:"):
        program, *others = source.split(maxsplit=1)
        source = f"{program} …" if others else program
    return ConfigError(
        f"providers.{provider}.{key} is {source}, but {error}.", provider=provider, hint=error.hint
    )


def read_variable(name: str) -> str:
    """The value of an environment variable, read now.

    Raises:
        SourceError: it is not set, or empty.
    """
    # A value that ends a line in a file or a shell often brings the line's end with it.
    found = os.environ.get(name, "").strip()
    if not found:
        raise SourceError(
            f"the environment variable {name} is not set",
            f"Set {name} in the environment that jumpseat is started in, and start it again.",
        )
    return found


async def read_source(source: str, directory: Path) -> str:
    """What a `cmd:`, `file:`, `keyring:` or `python:` gives, read now: these take time.

    Args:
        source: prefix and argument.
        directory: that of the configuration file, for relative paths.

    Raises:
        SourceError: it gives nothing.
    """
    prefix, _, argument = source.partition(":")
    match prefix:
        case "cmd":
            found = await _command(argument, directory)
        case "file":
            found = await _on_a_thread(lambda: _file(argument, directory), f"reading {argument}")
        case "keyring":
            found = await _keyring(argument)
        case _:
            found = await _on_a_thread(lambda: _function(argument), f"{argument}()")
    if not found:
        raise SourceError("it gives nothing", "Have it give the value, or use another source.")
    return found


async def _on_a_thread(work: Any, what: str) -> str:
    try:
        found: str = await in_time(work, READ_SECONDS, "value source")
    except TimeoutError:
        raise SourceError(
            f"{what} did not end within {READ_SECONDS:g} s", "Use a source that answers sooner."
        ) from None
    return found


async def _command(line: str, directory: Path) -> str:
    try:
        return await output_of(line, directory)
    except CommandError as error:
        raise SourceError(
            str(error), "Run it in a terminal to see what it writes; its output is never logged."
        ) from None


def _file(name: str, directory: Path) -> str:
    told = f"{name!r}"
    try:
        content = read_regular(directory / Path(name).expanduser(), MAX_FILE_BYTES)
    except FileNotFoundError:
        raise SourceError(f"the file {told} does not exist", "Make it, or correct its path.") from None
    except (OSError, ValueError, RuntimeError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
        raise SourceError(
            f"the file {told} cannot be read: {why}",
            "Name the file that holds the value; check its permissions.",
        ) from None
    try:
        return content.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise SourceError(f"the file {told} is not UTF-8 text", "Write the value as UTF-8.") from None


async def _keyring(place: str) -> str:
    # A service is often an address, so the user is what comes after the last slash.
    service, _, user = place.rpartition("/")
    if not (service and user):
        raise SourceError("that is not of the form keyring:service/user", "Name both.")
    try:
        found = await BoundedKeyring(system_keyring).get(user, service)
    except KeyringError as error:
        if find_spec("keyring") is None:
            raise SourceError(
                "the package keyring is not installed", "Install it: `pip install 'jumpseat[keyring]'`."
            ) from None
        raise SourceError(
            f"the system's keyring cannot be asked: {error}", "Unlock it, or use another source."
        ) from None
    if found is None:
        raise SourceError(
            "the keyring has no such entry", f"Make it: `python -m keyring set {service} {user}`."
        )
    return found


def _function(place: str) -> str:
    module, _, name = place.partition(":")
    if not (module and name):
        raise SourceError("that is not of the form python:package.module:function", "Name both.")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError, TypeError):
        raise SourceError(
            f"{module} has no {name} that can be imported",
            "Install the package where the daemon is; the name is that of a function.",
        ) from None
    except BaseException as error:
        # The words of somebody else's exception may hold the value.
        raise SourceError(f"importing {module} raised {type(error).__name__}", "Mend the module.") from None
    try:
        value = found()
    except BaseException as error:
        raise SourceError(f"{name}() raised {type(error).__name__}", "Mend the function.") from None
    if not isinstance(value, str):
        if hasattr(value, "close"):
            value.close()  # A coroutine complains that nobody has awaited it.
        raise SourceError(f"{name}() gave no str but {type(value).__name__}", "Have it return a str.")
    return value.strip()
