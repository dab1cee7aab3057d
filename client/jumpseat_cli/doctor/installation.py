"""Checks that run without a daemon: programs, versions, files, configuration, the shared daemon's state."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import platform
import shutil
import ssl
import stat
import sys
from pathlib import Path

from jumpseat import __version__
from jumpseat.chat import Check, ConfigError
from jumpseat.config.editing import ConfigurationFile
from jumpseat.system.paths import Places, places_of_process
from jumpseat_cli.doctor.report import ReportSection
from jumpseat_cli.doctor.versions import LIBRARIES

PASSED_VARIABLES = ("PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "LANG")
"""The environment variables for programs that the checks start. These programs must not see keys."""

PROGRAM_SECONDS = 3.0
LOW_DISK_BYTES = 100_000_000


async def check_installation() -> ReportSection:
    """Check versions, the program on the PATH, directories and the keyring."""
    places = places_of_process()
    program, keyring = await asyncio.gather(_check_program(), _check_keyring())
    return ReportSection(
        "Installation", [_check_version(), _check_libraries(), program, *_check_directories(places), keyring]
    )


def _check_version() -> Check:
    python = f"Python {platform.python_version()}"
    system = f"{platform.system()} {platform.release()} {platform.machine()}".strip()
    return Check("version", True, f"jumpseat {__version__}, {python} ({sys.executable}), {system}.")


def _check_libraries() -> Check:
    versions, missing = [], []
    for name in LIBRARIES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        hint = "Install jumpseat again."
        return Check("libraries", False, f"These packages are not installed: {', '.join(missing)}.", hint)
    return Check("libraries", True, f"{', '.join(versions)}, {ssl.OPENSSL_VERSION}.")


async def _check_program() -> Check:
    """Check that one `jumpseat` is on the PATH; several are a failure only if their versions differ."""
    found = programs_on_path(os.environ.get("PATH", ""))
    if not found:
        here = Path(sys.executable).parent
        hint = f"Editors cannot find it by name. Add its directory to the PATH: {here}"
        return Check("program", None, "jumpseat is not on the PATH.", hint)
    if len(found) == 1:
        return Check("program", True, f"The program is {found[0]}.")
    versions = await asyncio.gather(*map(_ask_version, found))
    listed = ", ".join(f"{path} ({version})" for path, version in zip(found, versions, strict=True))
    is_same_version = len(set(versions)) == 1
    hint = "Editors start the first one. Uninstall those that you do not use."
    return Check(
        "program",
        None if is_same_version else False,
        f"Several jumpseat programs are on the PATH: {listed}.",
        hint,
    )


def programs_on_path(path: str) -> list[Path]:
    """Return each `jumpseat` program on a PATH; links to the same program are listed once.

    Relative directories are skipped, because they may belong to somebody else's workspace.
    """
    found: dict[Path, Path] = {}
    for directory in path.split(os.pathsep):
        program = shutil.which("jumpseat", path=directory) if Path(directory).is_absolute() else None
        if program is not None:
            found.setdefault(Path(program).resolve(), Path(program))
    return list(found.values())


async def _ask_version(program: Path) -> str:
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            "--version",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            # Do not pass on API keys: any program may have this name.
            env={name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ},
        )
    except OSError:
        return "cannot be started"
    try:
        async with asyncio.timeout(PROGRAM_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return "does not answer"
    words = output.decode("utf-8", "replace").split()
    return words[1] if len(words) > 1 and process.returncode == 0 else "unknown version"


def _check_directories(places: Places) -> list[Check]:
    checks = []
    for name, directory in (("state", places.state_dir), ("data", places.data_dir)):
        if name == "data" and directory == places.state_dir:
            continue
        existing = directory
        while not existing.exists() and existing != existing.parent:
            existing = existing.parent
        if not os.access(existing, os.W_OK):
            hint = f"Make {existing} writable, or set JUMPSEAT_HOME to a directory that is."
            checks.append(Check(name, False, f"The {name} directory {directory} cannot be written.", hint))
        elif directory.exists() and name == "state" and _is_open_to_others(directory):
            message = f"Other users can open {directory}, so no secrets are stored in it."
            checks.append(Check(name, False, message, f"Run `chmod 700 {directory}`."))
        elif (free := shutil.disk_usage(existing).free) < LOW_DISK_BYTES:
            message = f"The disk of {directory} has only {free // 1_000_000} MB left."
            checks.append(Check(name, False, message, "Free some space on it."))
        else:
            checks.append(Check(name, True, f"The {name} directory is {directory}."))
    return checks


def _is_open_to_others(directory: Path) -> bool:
    return sys.platform != "win32" and bool(stat.S_IMODE(directory.stat().st_mode) & 0o077)


async def _check_keyring() -> Check:
    from jumpseat.system.keyring_storage import KeyringError, find_keyring_name

    try:
        name = await find_keyring_name()
    except KeyringError as error:
        return Check("keyring", None, f"The keyring cannot be used: {error}.")
    if name is None:
        message = "There is no keyring; keys and sign-ins are stored in files that only you can read."
        return Check("keyring", None, message)
    return Check("keyring", True, f"The keyring is {name}.")


async def check_configuration(config: Path | None) -> ReportSection:
    """Check the configuration file for mistakes."""
    from jumpseat.providers.checkup import check_file
    from jumpseat.system.environment import environment_of_process

    checkup = await check_file(config, environment_of_process())
    checks = [Check("file", None, f"{checkup.file} does not exist; it is optional.")]
    if checkup.exists:
        checks = [Check("file", True, f"The configuration file is {checkup.file}.")]
    checks += [Check("error", False, _sentence(fault)) for fault in checkup.errors]
    checks += [Check("warning", None, _sentence(fault)) for fault in checkup.warnings]
    return ReportSection("Configuration", checks)


def read_default_model(config: Path | None) -> str | None:
    """Return the default model in the configuration file; None if there is none or the file is unreadable."""
    try:
        name = ConfigurationFile(config or places_of_process().config_file).tables.get("default_model")
    except ConfigError:
        return None
    return name if isinstance(name, str) else None


def _sentence(fault: object) -> str:
    text = str(fault)
    return text if text.endswith("?") else f"{text}."


def _clients(count: int) -> str:
    return f"{count} client{'' if count == 1 else 's'}"


def check_shared_daemon() -> ReportSection:
    """Check the daemon that all clients share, without starting it."""
    from jumpseat.hub import command

    try:
        status = command.daemon_status()
    except command.NoAnswerError as error:
        hint = "Run `jumpseat daemon stop`."
        return ReportSection("Daemon", [Check("daemon", False, str(error), hint)])
    checks = [Check("daemon", None, "The shared daemon was not running.")]
    if status["running"]:
        where = f"process {status['pid']}, {_clients(len(status['clients']))}, socket {status['socket']}"
        checks = [Check("daemon", True, f"The shared daemon {status['version']} is running: {where}.")]
    for other in status.get("others", ()):
        text = f"Another daemon serves clients: jumpseat {other['version']}, process {other['pid']}."
        hint = "Restart the editors that use it, or stop all daemons with `jumpseat daemon stop`."
        checks.append(Check("daemon", None, text, hint))
    return ReportSection("Daemon", checks)
