"""Converts MCP servers of other programs to tables `[mcp.NAME]`, without printing their secrets.

Any value of an environment variable or a header may be a secret. Values that are certainly harmless are
copied. All others become the value source `env:NAME`; a comment says which variables the user must set. In
arguments and URLs, `***` replaces each text that looks like a secret.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jumpseat.config.sources import source_prefix
from jumpseat.system.secrets import credentials_in_url, names_credential
from jumpseat_cli.configuration.mcp_files import ForeignServer
from jumpseat_cli.terminal.text import clean_line

HIDDEN = "***"

_HARMLESS = re.compile(
    r"(true|false|yes|no|on|off|\d{1,6}|debug|info|warn|warning|error|trace|production|development|test"
    r"|utf-?8|[a-z]{2}_[A-Z]{2}(\.UTF-8)?|(/|~/|\./|[A-Z]:\\)[\w ./\\~-]{0,200}|https?://(localhost|127\.0\.0\.1)"
    r"(:\d+)?/?)",
    re.IGNORECASE,
)
"""Values, such as numbers, log levels and paths, that are certainly neither secrets nor value sources."""

_TOKEN = re.compile(
    r"(?<![A-Za-z0-9])("
    r"(gh[oprsu]_|github_pat_|glpat-|xox[a-z]-|sk[-_]|[pr]k_|hf_|npm_|pypi-|AKIA|ASIA|AIza|ya29\.|eyJ)"
    r"[-_.A-Za-z0-9]{12,}"
    r"|(Bearer|Basic) +\S+"
    r"|(?=[A-Za-z+=]*\d)(?=[\d+=]*[A-Za-z])[A-Za-z0-9+=]{20,})"
)
"""A text that looks like a secret: by its prefix, or as a long run that mixes letters and digits."""

_COMMIT = re.compile(r"@[0-9a-f]{40}\b")
"""A Git commit in the address of a package. It looks like a secret, but is not."""

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_OPTION = re.compile(r"(--?[\w-]+)=(.*)", re.DOTALL)
_HEADER = re.compile(r"([\w-]+): *(.*)", re.DOTALL)


@dataclass(slots=True)
class McpTable:
    """A table `[mcp.NAME]`, with the comments to print above it."""

    name: str
    values: dict[str, Any] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    """The environment variables that the user has to set."""

    def as_dict(self) -> dict[str, Any]:
        """Return the table in its JSON form."""
        comments = [*map(clean_line, self.comments)]
        return {"name": self.name, "table": self.values, "comments": comments, "variables": self.variables}

    def as_toml(self) -> str:
        """Return the comments and the table as TOML, with invisible characters escaped."""
        import tomlkit  # Deferred: it is slow to import.

        table = tomlkit.table()
        for key, value in self.values.items():
            if isinstance(value, Mapping):
                inline = tomlkit.inline_table()
                inline.update(value)
                value = inline
            table[key] = value
        servers = tomlkit.table(is_super_table=True)
        servers.append(self.name, table)
        text = tomlkit.dumps({"mcp": servers}) if self.values else ""
        return "".join(f"# {clean_line(comment)}\n" for comment in self.comments) + _escape(text)


def convert_server(server: ForeignServer, name: str) -> McpTable:
    """Convert a server.

    Args:
        server: the server in the other program's file.
        name: its name in jumpseat.
    """
    return _Conversion(server, name).run()


class _Conversion:
    def __init__(self, server: ForeignServer, name: str) -> None:
        self._server = server
        self._entry = server.entry
        self._table = McpTable(name, comments=[f"{server.name}, from {server.file}"])

    def run(self) -> McpTable:
        if self._entry.get("disabled") is True or self._entry.get("enabled") is False:
            self._comment("It is disabled there, so it was left out.")
            return self._table
        if isinstance(command := self._entry.get("command"), str):
            self._convert_command(command)
        elif isinstance(url := self._entry.get("url") or self._entry.get("serverUrl"), str):
            self._convert_url(url)
        else:
            self._comment("It has neither a command nor a url, so it was left out.")
            return self._table
        if isinstance(file := self._entry.get("envFile"), str):
            self._comment(f"It also reads variables from the file {file}. Copy those that it needs into env.")
        if any(self._entry.get(key) for key in ("autoApprove", "alwaysAllow")):
            self._comment(
                "Some of its tools are approved there. To approve them here, add them to allow in [tools]."
            )
        return self._table

    def _comment(self, text: str) -> None:
        if text not in self._table.comments:
            self._table.comments.append(text)

    def _convert_command(self, command: str) -> None:
        env = _mapping(self._entry.get("env"))
        arguments = self._entry.get("args")
        words = [str(each) for each in arguments] if isinstance(arguments, list) else []
        self._table.values["command"] = [command, *self._convert_arguments(words, env)]
        if env:
            self._table.values["env"] = {
                key: self._convert_value(key, value, key) for key, value in env.items()
            }
        cwd = self._entry.get("cwd")
        used = " ".join([command, *words, str(cwd or "")])
        if "${workspaceFolder" in used:
            # `_expand` replaces the variable with `.`, which is the directory in which the server runs.
            self._table.values |= {"cwd": ".", "scope": "workspace"}
        elif isinstance(cwd, str):
            self._table.values["cwd"] = self._expand(cwd)

    def _convert_url(self, url: str) -> None:
        if self._entry.get("type") == "sse" or url.rstrip("/").endswith("/sse"):
            self._comment(
                "It uses the old transport SSE, which jumpseat does not support. "
                "Use its streamable HTTP address."
            )
        self._table.values["url"] = self._hide_in_url(url)
        headers = _mapping(self._entry.get("headers"))
        if headers:
            self._table.values["headers"] = {
                key: self._convert_value(key, value, f"{self._table.name}_{key}")
                for key, value in headers.items()
            }

    def _convert_value(self, key: str, value: str, variable: str) -> str:
        """Return a harmless value unchanged, and a value source in place of any other value.

        Args:
            key: the name of the variable or the header.
            value: the value in the other program's file.
            variable: the environment variable for the secret, if the value does not name one.
        """
        if (whole := _VARIABLE.fullmatch(value)) is not None:
            return f"env:{whole[1] or whole[2]}"
        if not names_credential(key) and _HARMLESS.fullmatch(value) and not _TOKEN.search(value):
            return value
        variable = re.sub(r"\W", "_", variable).upper()
        self._table.variables.append(variable)
        asked = re.search(r"\$\{input:([^}]*)\}", value)
        about = self._server.inputs.get(asked[1], "") if asked else ""
        text = f"Set the environment variable {variable} to the value of {key}"
        if asked is not None and asked[0] == value:
            self._comment(f"{text}: {about}" if about else f"{text}.")
        elif "${" in value:
            self._comment(f"{text}, with the parts in ${{…}} filled in{f': {about}' if about else '.'}")
        else:
            self._comment(f"{text} in that file.")
        return f"env:{variable}"

    def _convert_arguments(self, words: list[str], env: dict[str, str]) -> Iterator[str]:
        """Yield the arguments without secrets; move values from `docker run -e NAME=VALUE` to `env`."""
        previous = ""
        for word in words:
            assigned = _ASSIGNMENT.fullmatch(word)
            if previous in ("-e", "--env") and assigned is not None:
                env[assigned[1]] = assigned[2]
                word = assigned[1]
            yield self._hide_in_argument(self._expand(word), previous)
            previous = word

    def _hide_in_argument(self, word: str, previous: str) -> str:
        """Return an argument with `***` in place of a secret; `previous` is the argument before it."""
        hidden = word
        option, assigned, header = (pattern.fullmatch(word) for pattern in (_OPTION, _ASSIGNMENT, _HEADER))
        parts = option or assigned or header
        if (
            previous.startswith("-")
            and "=" not in previous
            and names_credential(previous)
            and not word.startswith("-")
        ):
            hidden = HIDDEN
        elif parts is not None and names_credential(parts[1]) and not _is_reference(parts[2]):
            hidden = word.removesuffix(parts[2]) + HIDDEN
        elif "://" in word:
            hidden = _mask_url(word)
        elif not _COMMIT.search(word):
            hidden = _TOKEN.sub(HIDDEN, word)
        if hidden != word:
            self._comment(
                f"{HIDDEN} stands for a secret in the arguments, where other users could see it. "
                "If the server can read it from a variable, use env instead."
            )
        elif "${" in word:
            self._comment(f"Replace {word}: jumpseat does not fill in arguments.")
        return hidden

    def _hide_in_url(self, url: str) -> str:
        hidden = _mask_url(url)
        if hidden != url:
            self._comment(f"{HIDDEN} stands for a secret in the address.")
        elif "${" in url:
            self._comment("Fill in the address.")
        return hidden

    def _expand(self, word: str) -> str:
        """Replace the variables with which VS Code and Cursor name directories."""
        for variable in ("${workspaceFolder}", "${workspaceFolderBasename}"):
            word = word.replace(variable, ".")
        return word.replace("${userHome}", str(Path.home())).replace("${pathSeparator}", "/")


def _is_reference(value: str) -> bool:
    """Whether a value is a value source, or has parts that the other program fills in."""
    return source_prefix(value) is not None or "${" in value


def _mapping(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    return {str(key): str(item) for key, item in value.items() if isinstance(item, str | int | float)}


def _mask_url(url: str) -> str:
    """Replace passwords, parameters whose names suggest a credential, and texts that match `_TOKEN`."""
    for secret in credentials_in_url(url):
        url = url.replace(secret, HIDDEN)
    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN
    rest = url.removeprefix(f"{parts.scheme}://{parts.netloc}")
    return url.removesuffix(rest) + (rest if _COMMIT.search(rest) else _TOKEN.sub(HIDDEN, rest))


def _escape(text: str) -> str:
    """Escape characters of TOML strings that could hide or reorder text on a terminal."""
    return "".join(
        character
        if character == "\n" or unicodedata.category(character) not in ("Cf", "Cc", "Zl", "Zp", "Co", "Cn")
        else f"\\U{ord(character):08x}"
        for character in text
    )
