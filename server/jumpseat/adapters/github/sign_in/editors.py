"""Copilot sign-ins of editor plug-ins on this machine: `hosts.json`, `apps.json`, `auth.db`.

The files belong to the plug-ins, so they are read but never locked or created. The functions block, so call
them on a worker thread. Paths and shapes come from the plug-ins that write the files.
"""

from __future__ import annotations

import contextlib
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumpseat.adapters.github.sign_in.tokens import SignIn
from jumpseat.system.environment import Environment
from jumpseat.system.secrets import Secret, register_secret
from jumpseat.wire import read_json

if TYPE_CHECKING:
    import sqlite3

JSON_FILES = ("hosts.json", "apps.json")
DATABASE = "auth.db"
MAX_FILE_BYTES = 1_000_000
DATABASE_SECONDS = 1.0
"""The time to wait for a plug-in that is writing."""

CLEAR_SCHEMA = 0
"""The `token_schema_version` of rows with a token in clear text. Rows of later versions are encrypted."""

GITHUB_TOKEN_PREFIXES = ("gh", "github_pat_")


def copilot_directory(environment: Environment, platform: str = sys.platform) -> Path | None:
    """Return the directory of the plug-ins' files; None if there is no home directory.

    Without `XDG_CONFIG_HOME`, it is below `~/.config` on Linux and macOS, and `%LOCALAPPDATA%` on Windows.
    """
    configured = environment.get("XDG_CONFIG_HOME")
    if configured:
        return environment.directory / configured / "github-copilot"
    home = environment.get("USERPROFILE" if platform == "win32" else "HOME")
    if platform == "win32":
        local = environment.get("LOCALAPPDATA")
        base = Path(local) if local else Path(home, "AppData", "Local") if home else None
    else:
        base = Path(home, ".config") if home else None
    return environment.directory / base / "github-copilot" if base is not None else None


def sign_in_files(environment: Environment) -> list[Path]:
    """Return the paths of the plug-ins' files, which need not exist."""
    directory = copilot_directory(environment)
    return (
        [] if directory is None else [directory / name for name in (*JSON_FILES, DATABASE, f"{DATABASE}-wal")]
    )


def find_editor_sign_ins(directory: Path, authority: str) -> tuple[list[SignIn], list[str]]:
    """Return the sign-ins for one host, and a note for each file that could not be used.

    Args:
        directory: the plug-ins' directory, from `copilot_directory`.
        authority: the host, with a port if it has one. Sign-ins for other hosts are skipped.
    """
    found: list[SignIn] = []
    notes: list[str] = []
    for name in JSON_FILES:
        try:
            found += _read_json(directory / name, authority)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError):
            notes.append(f"{name} in {directory} cannot be read.")
    try:
        found += _read_database(directory / DATABASE, authority, notes)
    except (OSError, ValueError):
        notes.append(f"{DATABASE} in {directory} cannot be read.")
    return found, notes


def _read_json(path: Path, authority: str) -> Iterator[SignIn]:
    # Opening a named pipe would block until it has a writer.
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError("not a file")
    with path.open("rb") as file:
        content = read_json(file.read(MAX_FILE_BYTES))
    if not isinstance(content, dict):
        raise ValueError("not an object")
    for key, entry in content.items():
        # A key is "github.com", or "github.com:Iv1.…" with the app's id.
        if not (key == authority or key.startswith(f"{authority}:")) or not isinstance(entry, dict):
            continue
        # "HOST:8443" names another port of the same host, not an app's id.
        if authority.rpartition(":")[0] == "" and key.removeprefix(f"{authority}:").isdigit():
            continue
        token = _read_token(entry.get("oauth_token"))
        user = entry.get("user")
        if token is not None:
            yield SignIn(token, path.name, user if isinstance(user, str) and user else None)


def _read_database(path: Path, authority: str, notes: list[str]) -> Iterator[SignIn]:
    if not path.is_file():
        return
    import sqlite3  # Deferred: most users have no such file.

    try:
        with contextlib.closing(_open_database(path)) as database:
            rows = _query_rows(database, authority)
    except sqlite3.Error as error:
        raise ValueError("not a readable database") from error
    encrypted = False
    for value, schema in rows:
        text = value.decode("ascii", "replace") if isinstance(value, bytes) else value
        token = _read_token(text) if schema in (CLEAR_SCHEMA, str(CLEAR_SCHEMA), None) else None
        if token is not None:
            yield SignIn(token, path.name)
        else:
            encrypted = True
    if encrypted:
        notes.append("An editor's sign-in in auth.db is encrypted for that editor and cannot be used.")


def _query_rows(database: sqlite3.Connection, authority: str) -> list[Any]:
    columns = {str(row[1]) for row in database.execute("PRAGMA table_info(oauth_tokens)")}
    if not {"auth_authority", "token_ciphertext"} <= columns:
        raise ValueError("an unknown schema")
    version = "token_schema_version" if "token_schema_version" in columns else "0"
    return database.execute(
        f"SELECT token_ciphertext, {version} FROM oauth_tokens WHERE auth_authority = ? LIMIT 20",  # noqa: S608 - one of two literals
        (authority,),
    ).fetchall()


def _open_database(path: Path) -> sqlite3.Connection:
    """Open the database without letting SQLite create or change files."""
    import sqlite3

    log, index = (path.with_name(f"{path.name}-{suffix}") for suffix in ("wal", "shm"))
    # If there is no write-ahead log to read, `immutable` keeps SQLite from creating `-wal` and `-shm` files.
    # A log with content can be read only with its index, the `-shm` file.
    live = log.is_file() and log.stat().st_size > 0 and index.is_file()
    query = "mode=ro&readonly_shm=1" if live else "mode=ro&immutable=1"
    uri = f"{path.resolve().as_uri()}?{query}"
    return sqlite3.connect(uri, uri=True, timeout=DATABASE_SECONDS)


def _read_token(value: Any) -> Secret | None:
    if isinstance(value, str) and value.startswith(GITHUB_TOKEN_PREFIXES) and value.isascii():
        text = value.strip()
        return register_secret(text) if len(text) >= 8 else None
    return None
