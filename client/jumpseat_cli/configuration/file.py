"""Changes keys in the configuration file without losing its comments and layout.

tomlkit is imported only here, because few commands change the file.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from jumpseat.chat import ChatError
from jumpseat_cli.files.replacing import replace_file
from jumpseat_cli.terminal.failures import FAILED, print_failure

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

P = ParamSpec("P")

MARK = b"\xef\xbb\xbf"
"""The byte order mark that editors on Windows write."""


class CannotChange(Exception):  # noqa: N818 - it is printed, not handled
    """The file cannot be read or changed; the message explains why."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def report_failures(work: Callable[P, int]) -> Callable[P, int]:
    """Wrap a command so that it prints why it failed and returns the exit code."""

    @functools.wraps(work)
    def report(*arguments: P.args, **options: P.kwargs) -> int:
        try:
            return work(*arguments, **options)
        except ChatError as error:
            print_failure(error.message, error.hint)
        except CannotChange as error:
            print_failure(str(error), error.hint)
        return FAILED

    return report


class ConfigurationFile:
    """A configuration file as it was read."""

    def __init__(self, path: Path) -> None:
        """
        Args:
            path: the file, which may be missing.

        Raises:
            CannotChange: the file cannot be read, or is not TOML.
        """
        self.path = path
        try:
            self._raw = path.read_bytes()
            text = self._raw.removeprefix(MARK).decode("utf-8")
            self.tables: dict[str, Any] = tomllib.loads(text.replace("\r\n", "\n"))
        except FileNotFoundError:
            self._raw, text, self.tables = b"", "", {}
        except OSError as error:
            raise CannotChange(f"{path} cannot be read: {error.strerror or error}.") from None
        except (ValueError, RecursionError) as error:
            raise CannotChange(f"{path} is not valid TOML: {error}.") from None
        self._text = text

    @property
    def providers(self) -> Mapping[str, Mapping[str, Any]]:
        """The providers' tables by id, without entries that are not tables."""
        tables = self.tables.get("providers")
        if not isinstance(tables, Mapping):
            return {}
        return {name: table for name, table in tables.items() if isinstance(table, Mapping)}

    def set(self, provider: str, values: Mapping[str, str | None]) -> None:
        """Set keys in a provider's table, and write the file. A missing table is added at the end.

        Args:
            provider: the provider's id.
            values: the new values by key; None removes the key.

        Raises:
            CannotChange: the file was changed in the meantime, or cannot be edited or written.
        """
        expected = deepcopy(self.tables)
        table = expected.setdefault("providers", {}).setdefault(provider, {})
        for key, value in values.items():
            if value is None:
                table.pop(key, None)
            else:
                table[key] = value
        text = self._edit_text(provider, values)
        if _parse_or_none(text) != expected:
            raise CannotChange(f"jumpseat cannot edit this layout of {self.path}. Edit the file by hand.")
        self._write(text)
        self.tables, self._text = expected, text

    def _edit_text(self, provider: str, values: Mapping[str, str | None]) -> str:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            document: TOMLDocument = tomlkit.parse(self._text)
            tables: Any = document.get("providers")
            if tables is None:
                tables = tomlkit.table(is_super_table=True)
                document["providers"] = tables
            if provider not in tables:
                new = tomlkit.table()
                for key, value in values.items():
                    if value is not None:
                        new[key] = value
                tables[provider] = new
                return document.as_string()
            for key, value in values.items():
                if value is not None:
                    tables[provider][key] = value
                elif key in tables[provider]:
                    del tables[provider][key]
            return document.as_string()
        except TOMLKitError as error:
            raise CannotChange(f"jumpseat cannot edit {self.path}: {error}. Edit the file by hand.") from None

    def _write(self, text: str) -> None:
        mark = MARK if self._raw.startswith(MARK) else b""
        content = mark + text.encode("utf-8")
        try:
            now = self.path.read_bytes() if self.path.exists() else b""
            if now != self._raw:
                raise CannotChange(
                    f"Another program changed {self.path} in the meantime, so it was not written."
                )
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.path, content)
        except OSError as error:
            raise CannotChange(f"{self.path} cannot be written: {error.strerror or error}.") from None
        self._raw = content


def _parse_or_none(text: str) -> Any:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except ValueError:
        return None
