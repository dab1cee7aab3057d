"""Stores which definitions of servers in workspaces the user trusts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumpseat.system.paths import Places
from jumpseat.system.state_file import StateFile

FILE_NAME = "trusted_servers.json"


class TrustStore:
    """The fingerprints of trusted definitions, by folder and name of the server. The methods block."""

    def __init__(self, places: Places) -> None:
        self._file = StateFile(places.state_dir / FILE_NAME)

    def is_trusted(self, folder: Path, server: str, fingerprint: str) -> bool:
        """Whether the user trusts this definition of a server in this folder.

        Raises:
            StateError: the file cannot be read.
        """
        return _fingerprints(self._file.read(), _name(folder)).get(server) == fingerprint

    def set(self, folder: Path, server: str, fingerprint: str, *, trusted: bool) -> None:
        """Trust a definition from now on, or withdraw the trust.

        Raises:
            StateError: the file cannot be written.
        """
        name = _name(folder)

        def change(content: dict[str, Any]) -> dict[str, Any]:
            known = {**_fingerprints(content, name), server: fingerprint}
            if not trusted:
                del known[server]
            folders = content.get("trusted")
            return {**content, "trusted": {**(folders if isinstance(folders, dict) else {}), name: known}}

        self._file.update(change)


def _name(folder: Path) -> str:
    # Resolve links: if a link leads to another folder later, that folder is another workspace.
    return os.path.realpath(folder)


def _fingerprints(content: Mapping[str, Any], folder: str) -> Mapping[str, Any]:
    folders = content.get("trusted")
    known = folders.get(folder) if isinstance(folders, Mapping) else None
    return known if isinstance(known, Mapping) else {}
