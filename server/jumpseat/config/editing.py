"""Changes keys in the configuration file without losing its comments and layout.

Few commands and requests change the file, so tomlkit is imported only when one does.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumpseat.chat import ConfigError
from jumpseat.config.reading import MAX_BYTES, parse_tables
from jumpseat.system.regular_file import read_regular
from jumpseat.system.replacing import replace_file

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""The bytes that some editors on Windows write before the text."""


class ConfigurationFile:
    """A configuration file, read for editing. It is not written if another program has changed it since."""

    def __init__(self, path: Path) -> None:
        """
        Args:
            path: the file, which may be missing.

        Raises:
            ConfigError: the file cannot be read, or is not TOML.
        """
        self.path = path
        self._raw = self._read()
        source = parse_tables(path, self._raw)
        self.tables: Mapping[str, Any] = source.tables
        self._text = source.text

    @property
    def providers(self) -> Mapping[str, Mapping[str, Any]]:
        """The providers' tables by id, without entries that are not tables."""
        tables = self.tables.get("providers")
        if not isinstance(tables, Mapping):
            return {}
        return {name: table for name, table in tables.items() if isinstance(table, Mapping)}

    def set(self, provider: str, values: Mapping[str, str | None]) -> None:
        """Set keys in a provider's table, and write the file. A missing table is added.

        Args:
            provider: the provider's id.
            values: the new values by key; None removes the key.

        Raises:
            ConfigError: the file was changed in the meantime, or cannot be edited or written.
        """
        expected = deepcopy(dict(self.tables))
        table = expected.setdefault("providers", {}).setdefault(provider, {})
        for key, value in values.items():
            if value is None:
                table.pop(key, None)
            else:
                table[key] = value
        text = self._edit_text(provider, values)
        if self._parse_or_none(text) != expected:
            raise ConfigError(f"jumpseat cannot edit this layout of {self.path}. Edit the file by hand.")
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
            raise ConfigError(f"jumpseat cannot edit {self.path}: {error}. Edit the file by hand.") from None

    def _parse_or_none(self, text: str) -> Mapping[str, Any] | None:
        try:
            return parse_tables(self.path, text.encode("utf-8")).tables
        except ConfigError:
            return None

    def _read(self) -> bytes:
        try:
            return read_regular(self.path, MAX_BYTES)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be read: {error.strerror or error}.") from None

    def _write(self, text: str) -> None:
        mark = BYTE_ORDER_MARK if self._raw.startswith(BYTE_ORDER_MARK) else b""
        content = mark + text.encode("utf-8")
        if self._read() != self._raw:
            raise ConfigError(f"Another program changed {self.path} in the meantime, so it was not written.")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.path, content)
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror or error}.") from None
        self._raw = content
