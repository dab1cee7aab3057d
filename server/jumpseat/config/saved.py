"""Settings that clients save: the default provider and model, and values for providers' settings.

Manages `settings.json` in the state directory: its content, the rules for saving, and change notifications
(`docs/protocol/providers.md`). The configuration takes precedence. File access runs in a thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from jumpseat.chat import ConfigError, InvalidRequestError
from jumpseat.chat.nul import replace_nul_in
from jumpseat.config.saved_rules import (
    Schemas,
    drop_empty_objects,
    find_problems,
    merge_patch,
    prune,
    select_readable,
)
from jumpseat.config.state_files import use_state_file
from jumpseat.system.paths import Places
from jumpseat.system.state_file import StateFile
from jumpseat.system.watch import Watcher

logger = logging.getLogger(__name__)

FILE_NAME = "settings.json"

# The file's keys besides its version. Clients see only the value of `settings`.
_SETTINGS = "settings"
_CHOSEN = "chosen_default_provider"
"""The default provider that the daemon chose. It never replaces one that the user saved."""
_MODELS_PROVIDER = "provider_of_default_model"
"""The provider that `default_model` named when it was saved."""
# Without it, `groq:x` would look like a bare model name such as `qwen3:4b` once `groq` is removed.


def saved_settings_file(places: Places) -> Path:
    """Return the path of the saved settings, which may not exist yet."""
    return places.state_dir / FILE_NAME


class SavedSettings:
    """The saved settings as one connection sees them, kept in sync with the file.

    A broken file is set aside and treated as empty. Await `load` first: until then, `values` has no settings.
    """

    def __init__(self, path: Path | None = None) -> None:
        """
        Args:
            path: the file; None to keep the settings in memory only.
        """
        self._file = StateFile(path) if path is not None else None
        self._content: dict[str, Any] = {}
        self.values: Mapping[str, Any] = select_readable({})
        """The saved settings for clients. Values of a wrong type are omitted; `providers` is always set.

        The values may name a default provider that no longer exists.
        """

        self._is_loaded = path is None
        self._may_save_choice = True
        self._one_at_a_time = asyncio.Lock()
        self._on_change: list[Callable[[], None]] = []

    def default_model(self, providers: Collection[str]) -> str | None:
        """Return the saved default model; None if there is none, or if its provider is not in `providers`."""
        owner = self._content.get(_MODELS_PROVIDER)
        found: str | None = self.values.get("default_model")
        return found if owner is None or owner in providers else None

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call the listener after every change of `values`, including changes by other processes."""
        self._on_change.append(listener)

    async def load(self) -> None:
        """Read the file unless it has been read already. An unreadable file is logged and left unchanged."""
        if self._is_loaded:
            return
        try:
            await self._read(again=False)
        except ConfigError as error:
            logger.warning("the saved settings are ignored: %s", error.message)
            self._is_loaded = True

    async def refresh(self) -> None:
        """Read the file again, because other processes may have changed it.

        Raises:
            ConfigError: the file cannot be read.
        """
        await self._read(again=True)

    async def save(
        self, patch: Mapping[str, Any], schemas: Schemas, model_fault: str | None = None
    ) -> Mapping[str, Any]:
        """Merge the patch deeply into the saved settings, and return all of them.

        None deletes a value; an empty object changes nothing. Values that are already saved are not checked,
        so a client may send back a key of a newer version, or a provider that no longer exists.

        Args:
            schemas: the settings rows of each provider.
            model_fault: why a chat would reject the patch's `default_model`; None if it would not.

        Raises:
            InvalidRequestError: a value breaks its rule.
            ConfigError: the file cannot be written.
        """

        def change(content: dict[str, Any]) -> dict[str, Any]:
            before = self._validate(content)
            changes = drop_empty_objects(patch, schemas)
            problems = find_problems(changes, before, schemas, model_fault)
            if problems:
                raise InvalidRequestError(f"{problems[0].path} {problems[0].message}.", problems)
            after = {**content, _SETTINGS: prune(merge_patch(before, changes))}
            if "default_provider" in changes:
                after.pop(_CHOSEN, None)
            if "default_model" in changes:
                owner, colon, _ = str(changes["default_model"]).partition(":")
                if colon and owner in schemas:
                    after[_MODELS_PROVIDER] = owner
                elif changes["default_model"] != before.get("default_model"):
                    after.pop(_MODELS_PROVIDER, None)
            return after

        await self.load()
        await self._update(change)
        return self.values

    async def save_daemon_choice(self, provider: str, providers: Collection[str]) -> None:
        """Save the default provider that the daemon chose, unless the user saved one. Failures are logged.

        Args:
            providers: all existing providers. An earlier choice that is no longer among them is replaced.
        """
        current = self.values.get("default_provider")
        if not self._may_save_choice or not _may_replace(self._content, current, providers):
            return

        def change(content: dict[str, Any]) -> dict[str, Any]:
            settings = self._validate(content)
            if not _may_replace(content, settings.get("default_provider"), providers):
                # Another process has saved a default in the meantime.
                return content
            return {**content, _SETTINGS: {**settings, "default_provider": provider}, _CHOSEN: provider}

        try:
            await self._update(change)
        except ConfigError as error:
            self._may_save_choice = False
            logger.warning("the default provider %s cannot be saved: %s", provider, error.message)
        else:
            logger.info("%s is the default provider from now on", self.values.get("default_provider"))

    async def watch(self, *, tick: Callable[[], Any] | None = None) -> None:
        """Reload the file whenever another process changes it, until cancelled.

        Args:
            tick: awaited between polls instead of sleeping for a second; for tests.
        """
        if self._file is None:
            return
        watcher = Watcher([self._file.path], tick=tick)
        if self._is_loaded:
            # Read again: the file may have changed after its first read and before the watcher was created.
            await self._reload()
        await self.load()
        async for _ in watcher:
            await self._reload()

    async def _reload(self) -> None:
        try:
            await self.refresh()
        except ConfigError as error:
            logger.warning("a change of the saved settings cannot be read: %s", error.message)

    async def _read(self, *, again: bool) -> None:
        file = self._file
        async with self._one_at_a_time:
            if file is not None and (again or not self._is_loaded):
                self._store(await use_state_file(file.read))

    def _validate(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings in the content. Raise if they are broken, so that they are not overwritten."""
        found = content.get(_SETTINGS, {})
        if not isinstance(found, dict):
            where = str(self._file.path) if self._file is not None else FILE_NAME
            raise ConfigError(
                f"{where}: {_SETTINGS} is not an object, so nothing can be saved.",
                hint=f"Fix {where}, or move it away.",
            )
        return found

    async def _update(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Replace the content with the result of `change`, which must not modify its argument."""
        async with self._one_at_a_time:
            file = self._file
            if file is None:
                self._store(change(self._content))
            else:
                self._store(await use_state_file(file.update, change))

    def _store(self, content: dict[str, Any]) -> None:
        """Store the new content, and call the listeners if clients can see a difference."""
        before, was_loaded = self.values, self._is_loaded
        self._content, self._is_loaded = replace_nul_in(content), True
        settings = self._content.get(_SETTINGS)
        self.values = select_readable(settings if isinstance(settings, dict) else {})
        if was_loaded and self.values != before:
            for listener in self._on_change:
                listener()


def _may_replace(content: Mapping[str, Any], current: Any, providers: Collection[str]) -> bool:
    """Whether the daemon may replace the saved default with its own choice."""
    return current is None or (current == content.get(_CHOSEN) and current not in providers)
