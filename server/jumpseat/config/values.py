"""Resolves the values in one table: reads value sources on first use, and replaces `${name}`.

Slow sources are read once for all callers. They are read again if reading failed, or if the provider rejects
a value.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

from jumpseat.chat import ConfigError
from jumpseat.config.schema import ProviderConfig
from jumpseat.config.source_cache import SourceCache
from jumpseat.config.sources import SourceError, read_source, source_error, source_of, source_prefix
from jumpseat.config.sources.environment import ENVIRONMENT
from jumpseat.config.sources.file import FILE
from jumpseat.config.sources.own_table import as_text, own_value
from jumpseat.config.table_names import name_table
from jumpseat.config.templates import (
    Template,
    TemplateError,
    encode_for_url,
    fault_of_address,
    has_templates,
    is_template,
    names_in,
    split_template,
)
from jumpseat.system.environment import Environment
from jumpseat.system.secrets import Secret, credentials_in_url, names_credential, register_secret

_TEMPLATES = ("base_url", "url")
"""Keys that templates may refer to and that may be templates themselves."""

_ADDRESSES = (*_TEMPLATES, "proxy")
"""Keys whose values are URLs, which may contain a credential."""

MAX_CHARACTERS = 1024 * 1024
"""The maximum length of a text after each `${name}` in it is replaced."""

_CREDENTIAL_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*_([A-Z0-9]+_)*(KEY|TOKEN|SECRET|PASSWORD)")


class Values:
    """The resolved values of one provider's table."""

    def __init__(
        self,
        provider: str,
        table: ProviderConfig,
        *,
        source_keys: Collection[str] = (),
        cache: SourceCache | None = None,
        may_be_costly: bool = True,
    ) -> None:
        """
        Args:
            provider: the id of the provider or MCP server, for errors.
            source_keys: further keys of the provider's kind that may refer to a source, as `api_key` may.
            cache: a cache for slow sources; None for the one that all readers of the table share.
            may_be_costly: whether to read costly sources. If False, only their cached values are available.
        """
        self._provider = provider
        self._table = table
        self._source_keys = {"api_key", *source_keys}
        self._cache = table.origin.cache if cache is None else cache
        self._may_be_costly = may_be_costly
        self._latest: dict[str, Secret] = {}

    @property
    def read_count(self) -> int:
        """The number of successful slow reads so far. Note it before a request, for `refresh_rejected`."""
        return self._cache.read_count

    def forget(self) -> None:
        """Clear the cache, so that slow sources are read again when next needed."""
        self._cache.forget()

    async def read_credentials(self, model: str = "") -> None:
        """Read every value of the table that may be a credential, so that it is redacted from now on.

        Files are read again. Values that cannot be read are skipped. Values of `query` never name sources.

        Args:
            model: the request's model, for `${model}`.
        """
        for key, text in self._list_possible_credentials():
            with suppress(ConfigError):
                if key.startswith("query.") or (source_of(text) is None and is_template(text)):
                    value = self._to_latest_secret(key, await self.fill(key, text, model))
                else:
                    if source_of(text) is FILE and not self._table.is_from_client:
                        await self._read_slow(key, text, again=True)
                    value = await self.resolve(key, text)
                for each in credentials_in_url(value.reveal()):
                    self._register_secret(each, short_lived=True)

    def _list_possible_credentials(self) -> Iterator[tuple[str, str]]:
        table = self._table
        for name, value in table:
            if isinstance(value, str) and (name in _ADDRESSES or names_credential(name)):
                yield name, value
        for key in ("headers", "query", "env"):
            for name, value in getattr(table, key).items():
                yield f"{key}.{name}", as_text(value)
        if table.client_cert is not None and table.client_cert.password is not None:
            yield "client_cert.password", table.client_cert.password

    async def resolve(self, key: str, value: str) -> Secret:
        """Return the value of a configured text.

        Args:
            key: the key of the text, for errors: `api_key`, `headers.X-Team`.
            value: a source with its prefix, the name of a variable in the environment, or the value itself.

        Raises:
            ConfigError: the source has no value; the error names provider, key and source, but never a value.
        """
        return await self._resolve(key, value, (key,))

    def resolve_now(self, key: str, value: str) -> Secret | None:
        """Return what `resolve` returns if that is possible without blocking, else None.

        Raises:
            ConfigError: see `resolve`.
        """
        source = source_of(value)
        if self._table.is_from_client:
            # The table may come from a workspace, which must not make the daemon read the user's data.
            if source is not None:
                raise self._error(key, f"may not use the source {source.prefix}")
            return self._to_secret(key, value)
        if source is None and value in self._table.origin.environment.variables:
            source, value = ENVIRONMENT, f"{ENVIRONMENT.prefix}{value}"
        if source is None:
            return self._to_secret(key, value)
        if source.read_now is None:
            return None
        name = value.removeprefix(source.prefix)
        try:
            found = source.read_now(name, self._table)
        except SourceError as error:
            raise source_error(self._provider, key, value, error) from None
        return self._register_secret(found) if names_credential(name) else self._to_secret(key, found)

    async def fill(self, key: str, text: str, model: str | None = None) -> str:
        """Return the text with each `${name}` replaced.

        Args:
            key: the key of the text, for errors.
            text: a configured text, which need not be a template.
            model: the request's model, for `${model}`.

        Raises:
            ConfigError: a name is unknown, or its source has no value.
        """
        return await self._fill(key, text, model, (key,), {})

    async def fill_url(self, key: str, text: str, model: str | None = None) -> str:
        """Return the URL with each `${name}` replaced, percent-encoding each value as its place requires.

        Raises:
            ConfigError: see `fill`. Also raised if the result is not an http or https address.
        """
        url = await self._fill(key, text, model, (key,), {}, is_url=True)
        scheme, _, rest = url.partition("://")
        if scheme.lower() not in ("http", "https") or rest[:1] in ("", "/", "?", "#"):
            raise self._error(key, "is not an http or https address once its ${…} are replaced")
        if is_template(text) and (fault := fault_of_address(url)) is not None:
            raise self._error(key, f"{fault}, once its ${{…}} are replaced")
        return url

    async def fill_all(self, key: str, value: Any, model: str | None = None) -> Any:
        """Return a TOML value with each `Template` replaced, at any depth.

        Raises:
            ConfigError: see `fill`.
        """
        if isinstance(value, Template):
            return await self.fill(key, value, model)
        if not has_templates(value):
            return value
        if isinstance(value, Mapping):
            return {name: await self.fill_all(f"{key}.{name}", each, model) for name, each in value.items()}
        return [await self.fill_all(f"{key}.{place}", each, model) for place, each in enumerate(value)]

    async def fill_headers(self, model: str | None = None) -> dict[str, str]:
        """Return the configured headers with lower-case names.

        If `model` is None, headers that use `${model}` are omitted.

        Raises:
            ConfigError: see `fill`.
        """
        headers = {}
        for name, value in self._table.headers.items():
            key = f"headers.{name}"
            if source_prefix(value) is not None or not is_template(value):
                headers[name.lower()] = (await self.resolve(key, value)).reveal()
            elif model is not None or not needs_model(value):
                headers[name.lower()] = self._to_latest_secret(
                    key, await self.fill(key, value, model)
                ).reveal()
        return headers

    async def fill_query(self, model: str | None = None) -> dict[str, str]:
        """Return the configured query parameters, not percent-encoded.

        If `model` is None, parameters that use `${model}` are omitted.

        Raises:
            ConfigError: see `fill`.
        """
        query = {}
        for name, value in self._table.query.items():
            key = f"query.{name}"
            text = as_text(value)
            if model is not None or not needs_model(text):
                query[name] = self._to_latest_secret(key, await self.fill(key, text, model)).reveal()
        return query

    async def fill_body(self, body: Mapping[str, Any], model: str) -> Mapping[str, Any]:
        """Return a request's body with each `Template` filled in; these come from the table's `parameters`.

        Raises:
            ConfigError: see `fill`.
        """
        if not has_templates(self._table.parameters):
            return body
        return {name: await self.fill_all(f"parameters.{name}", value, model) for name, value in body.items()}

    async def refresh_rejected(self, since: int) -> bool:
        """After the provider rejected a request, read each slow source that was not read since the request.

        Args:
            since: the value of `read_count` when the request was made.

        Returns:
            Whether any value has changed since then. If a source cannot be read, its last value stays in use.
        """
        for source in self._cache.list_older_than(since):
            with suppress(ConfigError):
                await self._read_slow("api_key", source, again=True)
        return self._cache.has_changed(since)

    # -- sources

    async def _resolve(self, key: str, value: str, path: tuple[str, ...]) -> Secret:
        known = self.resolve_now(key, value)
        if known is not None:
            return known
        source = source_of(value)
        if source is None or source.refer is None:
            return await self._read_slow(key, value)
        try:
            if value in path:
                raise SourceError("that leads back to itself", "Name another key.")
            text = source.refer(value.removeprefix(source.prefix), self._table)
        except SourceError as error:
            raise source_error(self._provider, key, value, error) from None
        if source_prefix(text) is not None:
            return await self._resolve(key, text, (*path, value))
        return self._to_secret(key, text)

    async def _read_slow(self, key: str, source: str, *, again: bool = False) -> Secret:
        known = self._cache.find(source)
        if known is not None and not again:
            return known
        if not self._may_be_costly and is_costly(source):
            raise self._error(key, "is not read here, because that may run a program or ask for a password")
        try:
            return await self._cache.read(source, lambda: self._read(source))
        except SourceError as error:
            # Concurrent callers share the read, but each error names the key of its own caller.
            raise source_error(self._provider, key, source, error) from None

    async def _read(self, source: str) -> Secret:
        return self._register_secret(await read_source(source, self._table), short_lived=True)

    # -- templates

    async def _fill(
        self,
        key: str,
        text: str,
        model: str | None,
        path: tuple[str, ...],
        known: dict[str, str],
        *,
        is_url: bool = False,
    ) -> str:
        """Return the text with each `${name}` replaced. `known` caches the values by name."""
        if not is_template(text) or self._table.is_from_client:
            return text
        filled = ""
        try:
            for plain, name in split_template(text):
                filled += plain
                if name is not None:
                    # Without this cache, names that use other names could take exponential time.
                    if name not in known:
                        known[name] = await self._resolve_name(key, name, model, path, known)
                    filled += encode_for_url(filled, name, known[name]) if is_url else known[name]
                if len(filled) > MAX_CHARACTERS:
                    raise self._error(key, f"is longer than {MAX_CHARACTERS} characters once filled")
        except TemplateError as error:
            raise self._error(key, str(error)) from None
        return filled

    async def _resolve_name(
        self, key: str, name: str, model: str | None, path: tuple[str, ...], known: dict[str, str]
    ) -> str:
        """Return the value of `${name}`: `env.name`, else the table's key, else the request's model."""
        env = self._table.env
        place = f"env.{name}" if name in env else name
        if place in path:
            raise self._error(key, f"uses ${{{name}}}, which leads back to itself")
        path = (*path, place)
        if name in env:
            if source_prefix(env[name]) is None and is_template(env[name]):
                return self._to_latest_secret(
                    place, await self._fill(place, env[name], model, path, known)
                ).reveal()
            return (await self._resolve(place, env[name], path)).reveal()
        value = own_value(self._table, name)
        if isinstance(value, str) and name in _TEMPLATES:
            return await self._fill(name, value, model, path, known)
        if isinstance(value, str) and (name in self._source_keys or source_prefix(value) is not None):
            return (await self._resolve(name, value, path)).reveal()
        if isinstance(value, str | int | float):
            return self._to_secret(name, as_text(value)).reveal()
        if name == "model" and model is not None:
            return model
        raise self._error(key, f"uses ${{{name}}}, which neither env nor this table defines")

    def _to_secret(self, key: str, value: str) -> Secret:
        return self._register_secret(value) if names_credential(key) else Secret(value)

    def _to_latest_secret(self, key: str, value: str) -> Secret:
        """Return a filled template as a secret. If it is a credential, the latest value stays redacted."""
        if not names_credential(key):
            return Secret(value)
        self._latest[key] = self._register_secret(value, short_lived=True)
        return self._latest[key]

    def _register_secret(self, value: str, *, short_lived: bool = False) -> Secret:
        secret = register_secret(value, short_lived=short_lived)
        self._table.origin.environment.withhold(secret, short_lived=short_lived)
        return secret

    def _error(self, key: str, why: str) -> ConfigError:
        place, hint = name_table(self._provider), "Define names for ${…} in"
        return ConfigError(f"{place}.{key} {why}.", provider=self._provider, hint=f"{hint} {place}.env.")


def resolve(provider: str, key: str, value: str, table: ProviderConfig) -> Secret:
    """Return the value of a configured text, read now and not cached.

    Blocks until the source is read or its time limit expires, so call it in a worker thread. Use `Values` on
    the event loop, and for a value that is needed more than once. Keep a reference to the `Secret` while the
    value is in use, so that it stays redacted.

    Args:
        provider: the provider's id, for the error.
        key: the key of the text, for the error: `api_key`.
        value: a source with its prefix, the name of a variable in the environment, or the value itself.
        table: the table that contains the text.

    Raises:
        ConfigError: the source has no value; the error names provider, key and source, but never a value.
    """
    values = Values(provider, table, cache=SourceCache())
    known = values.resolve_now(key, value)
    if known is not None:
        return known
    from concurrent.futures import ThreadPoolExecutor  # Imported late because it is rarely needed.

    # Use a new thread, because the current thread may already have a running event loop.
    with ThreadPoolExecutor(1, "value source") as pool:
        return pool.submit(asyncio.run, values.resolve(key, value)).result()


def is_costly(value: str) -> bool:
    """Whether reading a configured value may run a program or prompt the user for a password."""
    source = source_of(value)
    return source is not None and source.costly


def is_unset_variable(value: str, environment: Environment) -> bool:
    """Whether a configured credential looks like the name of an environment variable that is not set."""
    return _CREDENTIAL_VARIABLE.fullmatch(value) is not None and value not in environment.variables


def needs_model(text: str) -> bool:
    """Whether a template uses `${model}`. Malformed templates are reported elsewhere."""
    return "model" in names_in(text)
