"""Stores the user's trust in the tool servers that a workspace defines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumpseat.system.paths import Places
from jumpseat.system.state_file import StateFile

FILE_NAME = "trusted_servers.json"


class TrustStore:
    """The fingerprints of trusted definitions, by workspace folder and server name. Every method blocks."""

    def __init__(self, places: Places) -> None:
        self._file = StateFile(places.state_dir / FILE_NAME)

    def is_trusted(self, folder: Path, server: str, fingerprint: str) -> bool:
        """Whether the user trusts this definition of a server in this folder.

        Raises:
            StateError: the file cannot be read.
        """
        return _fingerprints(self._file.read(), _folder_key(folder)).get(server) == fingerprint

    def set(self, folder: Path, server: str, fingerprint: str, *, trusted: bool) -> None:
        """Trust a definition from now on, or withdraw the trust.

        Raises:
            StateError: the file cannot be read or written.
        """
        key = _folder_key(folder)

        def change(content: dict[str, Any]) -> dict[str, Any]:
            known = {**_fingerprints(content, key), server: fingerprint}
            if not trusted:
                del known[server]
            folders = content.get("trusted")
            return {**content, "trusted": {**(folders if isinstance(folders, dict) else {}), key: known}}

        self._file.update(change)


def _folder_key(folder: Path) -> str:
    # Resolve links: if a link is later changed to lead to another folder, the trust must not apply there.
    return os.path.realpath(folder)


def _fingerprints(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    folders = content.get("trusted")
    known = folders.get(key) if isinstance(folders, Mapping) else None
    return known if isinstance(known, Mapping) else {}
