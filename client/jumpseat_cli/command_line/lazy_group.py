"""A group whose commands are imported when they are used, because most runs use one."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from jumpseat_cli.command_line.groups import CommandGroup


class LazyGroup(CommandGroup):
    """Its commands are named by their modules."""

    def __init__(self, *arguments: Any, modules: Mapping[str, str] | None = None, **more: Any) -> None:
        """
        Args:
            arguments: as for `click.Group`.
            modules: where each command is, as `module:name`.
            more: as for `click.Group`.
        """
        super().__init__(*arguments, **more)
        self._modules = dict(modules or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return sorted({*super().list_commands(ctx), *self._modules})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with this name, imported if need be."""
        if (place := self._modules.pop(cmd_name, None)) is not None:
            module, _, name = place.partition(":")
            self.add_command(getattr(import_module(module), name), cmd_name)
        return super().get_command(ctx, cmd_name)
