"""The commands of `jumpseat local`."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from jumpseat_cli.command_line.groups import ListByDefault
from jumpseat_cli.command_line.options import HELP, config_option, json_option


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from jumpseat_cli.configuration.local import list_names

    found = [
        CompletionItem(name)
        for name in list_names(context.params.get("config"))
        if name.startswith(incomplete)
    ]
    return found or [CompletionItem(incomplete, type="file")]


@click.group("local", cls=ListByDefault, context_settings=HELP)
def local() -> None:
    """Manage models that run on this machine, without an account or a network.

    llama.cpp runs any GGUF file. jumpseat can install one small model for trying things out; for real use,
    download a model yourself. A file of 1 to 5 GB suits most machines: a model needs as much free memory as
    the size of its file plus about 1 GB. A larger model answers better, but more slowly.

    \b
    Examples:
      jumpseat local install
      jumpseat local install ~/models/qwen3-4b.gguf
      jumpseat local list
      jumpseat chat -m local: "Hello"
    """


@local.command("list")
@config_option
@json_option
def list_models(config: Path | None, as_json: bool) -> int:
    """List the model that can be installed, and the model files in the configuration.

    \b
    Examples:
      jumpseat local list
      jumpseat local list --json | jq -r '.models[].file'
    """
    from jumpseat_cli.configuration import local as work

    return work.list_models(config, as_json=as_json)


@local.command()
@click.argument("model", required=False, shell_complete=_complete)
@config_option
@json_option
def install(model: str | None, config: Path | None, as_json: bool) -> int:
    """Install llama.cpp and a small model, or use your own GGUF file.

    Without MODEL, this installs the small model. MODEL is the name of the small model, or the path of your
    own GGUF file. Your file is not moved or copied; the configuration file refers to its path.

    \b
    Examples:
      jumpseat local install
      jumpseat local install ~/models/qwen3-4b.gguf
    """
    from jumpseat_cli.configuration import local as work

    return work.install_model(model, config, as_json=as_json)


@local.command()
@click.argument("model", required=False, shell_complete=_complete)
@config_option
@json_option
def uninstall(model: str | None, config: Path | None, as_json: bool) -> int:
    """Delete the installed model, or stop using your own GGUF file.

    Without MODEL, this deletes the small model. Your own file is never deleted.

    \b
    Examples:
      jumpseat local uninstall
      jumpseat local uninstall qwen3-4b

    Exit codes: 0 deleted, or no longer used; 1 there is no such model; 2 wrong usage.
    """
    from jumpseat_cli.configuration import local as work

    return work.uninstall_model(model, config, as_json=as_json)
